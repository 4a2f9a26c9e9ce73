//! One complex number after the other: the kernel that does every case anywhere.
//!
//! Idea: each line is gathered, split by its prime factors in turn (Stockham's order, so that
//! results come out sorted), and scattered. A prime factor p costs p products a number, so that a
//! prime length is the defining sum. One table of roots for each axis, made by `prepare`.

use super::tables::root;
use crate::blocks::made::Made;
use crate::blocks::scratch::{elements, elements_mut};
use crate::fft::definition::{Kind, Problem};
use proofmark_contract::{Call, KernelError};

/// The kernel.
pub(crate) static SCALAR: Made = Made {
    prepared: |case, _| 8 * lengths(&Problem::of(case)).iter().sum::<usize>(),
    prepare,
    workspace: |case, _, _| {
        let problem = Problem::of(case);
        8 * (problem.points() + 2 * lengths(&problem).into_iter().max().unwrap_or(0))
    },
    ..Made::scalar("one number at a time, a prime factor after the other", run)
};

fn lengths(problem: &Problem) -> [usize; 3] {
    [problem.x, problem.y, problem.z]
}

fn prepare(call: &mut Call<'_>, prepared: &mut [u8]) -> Result<(), KernelError> {
    let lengths = lengths(&Problem::of(call.case));
    let count = 2 * lengths.iter().sum::<usize>();
    let mut table = elements_mut::<f32>(prepared, count, "the table of roots")?.chunks_exact_mut(2);
    for n in lengths {
        for (k, pair) in (0..n).zip(&mut table) {
            let [re, im] = root(k, n);
            (pair[0], pair[1]) = (re as f32, im as f32);
        }
    }
    Ok(())
}

type Number = [f32; 2];

fn run(call: &mut Call<'_>) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let axes = lengths(&problem);
    let longest = axes.into_iter().max().unwrap_or(0);
    let roots = elements::<f32>(call.prepared, 2 * axes.iter().sum::<usize>(), "the roots")?;
    let count = 2 * (problem.points() + 2 * longest);
    let workspace = elements_mut::<f32>(call.workspace, count, "the workspace")?;
    let (numbers, lines) = workspace.as_chunks_mut::<2>().0.split_at_mut(problem.points());
    let from = call.inputs[0].slice::<f32>()?.chunks(problem.batch_floats()[0]);
    let to = call.outputs[0].slice_mut::<f32>()?.chunks_mut(problem.batch_floats()[1]);
    for (from, to) in from.zip(to) {
        match problem.kind {
            Kind::FromReal => numbers.iter_mut().zip(from).for_each(|(z, &x)| *z = [x, 0.0]),
            _ => read(&problem, from, numbers),
        }
        let mut first = 0;
        for (axis, n) in axes.into_iter().enumerate() {
            let roots = roots[2 * first..].as_chunks::<2>().0;
            let is_last_real = axis == 2 && problem.kind == Kind::ToReal;
            let step = axes[axis + 1..].iter().product::<usize>();
            for line in 0..problem.points() / n {
                let start = line / step * step * n + line % step;
                transform(&problem, &mut numbers[start..], step, n, roots, lines, is_last_real);
            }
            first += n;
        }
        write(&problem, numbers, to);
    }
    Ok(())
}

/// Complex numbers of a batch; of half a spectrum, the bins that are there.
fn read(problem: &Problem, from: &[f32], numbers: &mut [Number]) {
    let bins = problem.bins();
    let rows = numbers.chunks_mut(problem.z).zip(from.as_chunks::<2>().0.chunks(bins));
    for (numbers, from) in rows {
        let each = numbers.iter_mut().zip(from);
        each.for_each(|(number, &[re, im])| {
            *number = if problem.is_inverse { [im, re] } else { [re, im] };
        });
        numbers[bins..].fill([0.0; 2]);
    }
}

fn write(problem: &Problem, numbers: &[Number], to: &mut [f32]) {
    let scale = problem.scale() as f32;
    let of = |&[re, im]: &Number| if problem.is_inverse { [im, re] } else { [re, im] };
    if problem.kind == Kind::ToReal {
        to.iter_mut().zip(numbers).for_each(|(to, number)| *to = scale * of(number)[0]);
        return;
    }
    let bins = problem.bins();
    let rows = to.as_chunks_mut::<2>().0.chunks_mut(bins).zip(numbers.chunks(problem.z));
    for (to, numbers) in rows {
        let each = to.iter_mut().zip(numbers);
        each.for_each(|(to, number)| *to = of(number).map(|part| scale * part));
    }
}

/// One line, `step` numbers apart, in place.
fn transform(
    problem: &Problem,
    numbers: &mut [Number],
    step: usize,
    n: usize,
    roots: &[Number],
    lines: &mut [Number],
    is_half: bool,
) {
    let (mut a, mut b) = lines.split_at_mut(lines.len() / 2);
    (0..n).for_each(|i| a[i] = numbers[i * step]);
    if is_half {
        // Parts are swapped: the imaginary ones of real bins come first, and are not read.
        a[0][0] = 0.0;
        if n.is_multiple_of(2) {
            a[n / 2][0] = 0.0;
        }
        (problem.bins()..n).for_each(|k| a[k] = [-a[n - k][0], a[n - k][1]]);
    }
    let (mut length, mut stride) = (n, 1);
    while let Some(p) = (2..=length).find(|p| length.is_multiple_of(*p)) {
        let m = length / p;
        for i in 0..m {
            for q in 0..stride {
                for j in 0..p {
                    // A long prime is a long sum, which f32 would not carry.
                    let mut sum = [0.0f64; 2];
                    for k in 0..p {
                        let [re, im] = a[q + stride * (i + m * k)].map(f64::from);
                        // exp(−2πi·j·k/p), of the whole line's roots.
                        let [c, s] = roots[j * k % p * (n / p)].map(f64::from);
                        sum = [sum[0] + (re * c - im * s), sum[1] + (re * s + im * c)];
                    }
                    let [c, s] = roots[i * j * stride % n];
                    let [re, im] = sum.map(|part| part as f32);
                    b[q + stride * (p * i + j)] = [re * c - im * s, re * s + im * c];
                }
            }
        }
        (length, stride) = (m, stride * p);
        std::mem::swap(&mut a, &mut b);
    }
    (0..n).for_each(|i| numbers[i * step] = a[i]);
}
