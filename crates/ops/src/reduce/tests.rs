//! Known answers, edges, threads and refusals of reductions.

use super::*;
use crate::blocks::row::trial::{self, Setup};
use proofmark_contract::{Filling, Values, Want, check_case};
use proofmark_simd::available;
use proofmark_tensor::{Fill, bf16};
use proofmark_terms::{Case, Isa};

static MEMBERS: [&Entry; 5] = [&SUM, &MEAN, &MAX, &ARGMAX, &VARIANCE];

fn case(entry: &Entry, shape: &str) -> Case {
    format!("{}:f32[{shape}]", entry.op.name()).parse().unwrap()
}

/// What every kernel on every path, dense and padded, makes of a case.
fn results(entry: &Entry, shape: &str, x: &[f64]) -> Vec<Vec<f64>> {
    let case = case(entry, shape);
    let inputs = Values { tensors: vec![x.to_vec(), Vec::new()] };
    let mut all = vec![entry.op.oracle(&case, &inputs, 0, &Want::all()).value];
    for kernel in entry.kernels {
        for &isa in kernel.isas().iter().filter(|&&isa| available(isa)) {
            for padding in [0, 5] {
                let setup = Setup { isa, threads: 2, padding };
                all.extend(trial::call(entry.op, *kernel, &case, setup, &inputs));
            }
        }
    }
    all
}

#[test]
fn oracle_and_kernels_give_answers_found_by_hand_on_every_axis() {
    let x = [1.0, 5.0, 2.0, 7.0, -1.0, 7.0, 0.0, 5.0, 4.0, 3.0, 3.0, 0.0];
    let answers: [(&Entry, [&[f64]; 4]); 5] = [
        (
            &SUM,
            [
                &[8.0, 13.0, 9.0, 6.0],
                &[8.0, 4.0, 9.0, 3.0, 8.0, 4.0],
                &[1.0, 10.0, 6.0, 10.0, 2.0, 7.0],
                &[36.0],
            ],
        ),
        (
            &MEAN,
            [
                &[8.0 / 3.0, 13.0 / 3.0, 3.0, 2.0],
                &[4.0, 2.0, 4.5, 1.5, 4.0, 2.0],
                &[0.5, 5.0, 3.0, 5.0, 1.0, 3.5],
                &[3.0],
            ],
        ),
        (
            &MAX,
            [
                &[5.0, 7.0, 5.0, 3.0],
                &[7.0, 5.0, 7.0, 3.0, 5.0, 4.0],
                &[1.0, 5.0, 4.0, 7.0, 3.0, 7.0],
                &[7.0],
            ],
        ),
        (
            &ARGMAX,
            [
                &[1.0, 0.0, 1.0, 0.0],
                &[1.0, 0.0, 1.0, 1.0, 0.0, 0.0],
                &[0.0, 0.0, 1.0, 0.0, 1.0, 0.0],
                &[3.0],
            ],
        ),
        (
            &VARIANCE,
            [
                &[26.0 / 9.0, 128.0 / 9.0, 14.0 / 3.0, 2.0],
                &[9.0, 9.0, 6.25, 2.25, 1.0, 4.0],
                &[0.25, 0.0, 1.0, 4.0, 4.0, 12.25],
                &[80.0 / 12.0],
            ],
        ),
    ];
    for (entry, wanted) in answers {
        for (axis, wanted) in ["d", "s", "b", "all"].into_iter().zip(wanted) {
            for got in results(entry, &format!("b=2,s=2,d=3;axis={axis}"), &x) {
                let apart = got.iter().zip(wanted).map(|(got, want)| (got - want).abs());
                assert!(apart.fold(0.0, f64::max) < 1e-5, "{axis}: {got:?}, not {wanted:?}");
                assert_eq!(got.len(), wanted.len());
            }
        }
    }
}

#[test]
fn nothing_and_one_term_have_the_results_of_the_card() {
    let all = |entry: &Entry, shape: &str| results(entry, shape, &[]).concat();
    for axis in ["d", "all"] {
        let shape = format!("b=1,s=1,d=0;axis={axis}");
        assert!(all(&SUM, &shape).iter().all(|&y| y == 0.0));
        assert!(all(&MEAN, &shape).iter().all(|y| y.is_nan()));
        assert!(all(&MAX, &shape).iter().all(|&y| y == f64::NEG_INFINITY));
        assert!(all(&VARIANCE, &shape).iter().all(|y| y.is_nan()));
        assert!(check_case(ARGMAX.op, &case(&ARGMAX, &shape)).is_err(), "no place in nothing");
    }
    assert!(all(&MEAN, "b=0,s=1,d=2;axis=b").iter().all(|y| y.is_nan()));
    assert!(all(&VARIANCE, "b=1,s=0,d=2;axis=s").iter().all(|y| y.is_nan()));
    let one = |shape: &str| results(&VARIANCE, shape, &[5.0]).concat();
    assert!(one("b=1,s=1,d=1").iter().all(|&y| y == 0.0));
    assert!(one("b=1,s=1,d=1;correction=1").iter().all(|y| y.is_nan()));
    assert!(one("b=1,s=1,d=1;axis=s,correction=1").iter().all(|y| y.is_nan()));
}

#[test]
fn the_first_place_wins_among_equals_infinities_and_nans() {
    let minus = f64::NEG_INFINITY;
    for axis in ["d", "all"] {
        for length in [1, 3, 16, 17, 70, 4100, 9000] {
            let shape = format!("b=1,s=1,d={length};axis={axis}");
            let place = |x: &[f64]| results(&ARGMAX, &shape, x).concat();
            assert!(place(&vec![minus; length]).iter().all(|&y| y == 0.0), "{length}");
            for at in [0, length / 2, length - 1] {
                let mut x = vec![-1.0; length];
                x[at..].fill(-0.0);
                assert!(place(&x).iter().all(|&y| y == at as f64), "{at} of {length}");
                x[at..].fill(f64::NAN);
                x[0] = if at == 0 { f64::NAN } else { f64::INFINITY };
                assert!(place(&x).iter().all(|&y| y == at as f64), "NaN {at} of {length}");
            }
        }
    }
    for rows in [1, 7, 9, 600] {
        let mut x = vec![minus; 3 * rows];
        x[3 * (rows - 1) + 1] = f64::NAN;
        let places = results(&ARGMAX, &format!("b=1,s={rows},d=3;axis=s"), &x);
        assert!(places.iter().all(|y| *y == [0.0, (rows - 1) as f64, 0.0]), "{rows}: {places:?}");
    }
}

#[test]
fn a_variance_far_from_zero_keeps_its_digits() {
    // ±4 around 2^20 is exact in f32, and so are means of pieces and what joins them.
    let far = |i: usize| 1048576.0 + if i.is_multiple_of(2) { -4.0 } else { 4.0 };
    let x: Vec<f64> = (0..8192).map(far).collect();
    for shape in ["b=1,s=1,d=8192", "b=1,s=1,d=8192;axis=all", "b=1,s=4,d=2048"] {
        let all = results(&VARIANCE, shape, &x).concat();
        assert!(all.iter().all(|&y| y == 16.0), "{shape}: {all:?}");
    }
    let tall: Vec<f64> = (0..8192).map(|i| far(i / 4)).collect();
    let all = results(&VARIANCE, "b=1,s=2048,d=4;axis=s", &tall).concat();
    assert!(all.iter().all(|&y| (y - 16.0).abs() < 1e-3), "{all:?}");
}

#[test]
fn threads_do_not_change_a_bit() {
    for entry in MEMBERS {
        for shape in [
            "b=3,s=17,d=1021",
            "b=1,s=2,d=70001",
            "b=2,s=3,d=9001;axis=all",
            "b=1,s=3000,d=7;axis=s",
            "b=40,s=9,d=700;axis=b",
        ] {
            let case = case(entry, shape);
            let signature = check_case(entry.op, &case).unwrap();
            let inputs = trial::fill(&signature, &Filling::uniform(&signature, &Fill::Normal), 3);
            for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
                for padding in [0, 3] {
                    let run = |name: &str, threads| {
                        let setup = Setup { isa, threads, padding };
                        let kernel = entry.kernel(name).unwrap();
                        trial::call(entry.op, kernel, &case, setup, &inputs)
                    };
                    let alone = run("simd", 1);
                    for threads in 1..=4 {
                        assert_eq!(run("parallel", threads), alone, "{case}, {threads} on {isa}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_library_function_takes_16_bit_elements_and_refuses_misfits() {
    let context = Context::with_threads(2).unwrap();
    let ones = vec![bf16::ONE; 100_000];
    let mut y = [bf16::ZERO];
    mean(&context, &ones, [1, 1, 100_000], Axis::All, &mut y).unwrap();
    assert_eq!(y, [bf16::ONE]);
    let mut place = [1u32];
    argmax(&context, &ones, [1, 1, 100_000], Axis::D, &mut place).unwrap();
    assert_eq!(place, [0]);
    variance(&context, &ones, [1, 1, 100_000], Axis::D, 1, &mut y).unwrap();
    assert_eq!(y, [bf16::ZERO]);
    assert!(sum(&context, &ones, [1, 2, 100_000], Axis::D, &mut y).is_err(), "x is shorter");
}

#[test]
fn the_list_of_ops_has_every_member_with_its_edges() {
    for member in MEMBERS {
        let name = member.op.name();
        assert!(crate::find(name).is_some_and(|found| std::ptr::eq(found, member)), "{name}");
        assert!(member.op.edges().len() >= 2, "{name}");
    }
}
