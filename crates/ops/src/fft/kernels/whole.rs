//! A whole transform: the plan made once, lines along z and columns along y and x by threads.
//!
//! Whatever the number of threads, every number is computed by the same operations in the same
//! order; only the thread that computes it differs.

use super::line::{Ends, Lines, Way};
use super::memory::{Own, Sizes, lanes, taken};
use super::pass::{Pass, Passes, Sink, Source};
use super::plan::{Line, Plan};
use super::tables::Tables;
use crate::blocks::scratch::{elements, elements_mut};
use crate::fft::definition::{Kind, Problem};
use proofmark_contract::{Call, KernelError};
use proofmark_simd::dispatch;
use proofmark_tensor::{Pool, RowsMut, SharedRows, split};
use proofmark_terms::{Case, Isa};

/// Complex numbers that are worth a thread: about 2 µs of work, where a hand-over takes 1.2.
const GRAIN: usize = 2048;

/// The header before the tables. It holds the problem too, because reading a case takes as long as
/// transforming 100 points.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Head {
    problem: Problem,
    plan: Plan,
    sizes: Sizes,
}

/// Bytes of it.
const HEAD: usize = size_of::<Head>().next_multiple_of(64);

fn head(case: &Case, isa: Isa, tables: &mut Tables) -> Head {
    let problem = Problem::of(case);
    let lanes = lanes(taken(&problem, isa));
    let plan = Plan::new(&problem, lanes, tables);
    Head { problem, plan, sizes: Sizes::of(&plan, &problem, lanes) }
}

/// Bytes of a plan with its tables.
pub(super) fn prepared_bytes(case: &Case, isa: Isa) -> usize {
    HEAD + head(case, isa, &mut Tables::new(true)).plan.floats * size_of::<f32>()
}

/// Bytes of scratch memory.
pub(super) fn workspace_bytes(case: &Case, isa: Isa, threads: usize) -> usize {
    head(case, isa, &mut Tables::new(true)).sizes.bytes(threads.max(1))
}

/// Makes the plan.
pub(super) fn prepare(call: &mut Call<'_>, prepared: &mut [u8]) -> Result<(), KernelError> {
    let mut tables = Tables::new(false);
    let made = head(call.case, call.isa, &mut tables);
    elements_mut::<i64>(prepared, HEAD / 8, "the plan")?;
    let (head, rest) = prepared.split_at_mut(HEAD);
    // SAFETY: the bytes are there, and aligned as integers of 64 bits are.
    unsafe { head.as_mut_ptr().cast::<Head>().write(made) };
    elements_mut::<f32>(rest, made.plan.floats, "the plan")?.copy_from_slice(tables.values());
    Ok(())
}

/// Makes one call on this many threads.
pub(super) fn run(call: &mut Call<'_>, threads: usize) -> Result<(), KernelError> {
    elements::<i64>(call.prepared, HEAD / 8, "the plan")?;
    // SAFETY: the bytes are there and aligned, and `prepare` left a head in them.
    let Head { problem, plan, sizes } = unsafe { &*call.prepared.as_ptr().cast::<Head>() };
    if problem.batch == 0 {
        return Ok(());
    }
    let tables = elements::<f32>(&call.prepared[HEAD..], plan.floats, "the plan")?;
    let floats = sizes.bytes(threads) / size_of::<f32>();
    let workspace = elements_mut::<f32>(call.workspace, floats, "the workspace")?;
    let (shared, own) = workspace.split_at_mut(sizes.shared);
    let lines = Lines { plan, tables, isa: taken(problem, call.isa) };
    let from = call.inputs[0].slice::<f32>()?;
    let to = call.outputs[0].slice_mut::<f32>()?;
    let [read, written] = problem.batch_floats().map(|floats| problem.batch * floats);
    assert!(from.len() == read && to.len() == written, "the operands of the plan's case");
    if threads == 1 && problem.points() == problem.z && is_plain(problem, &plan.z) {
        // Short lines take less time than setting up a team of threads.
        let own = Own::new(own, sizes);
        lines.direct(&plan.z, from, to, problem.scale() as f32, &own);
        return Ok(());
    }
    let own = RowsMut::from_slice(own, threads, sizes.own());
    // SAFETY: `own` is not used again but through the handle.
    let own = unsafe { own.share() };
    let team = Team { problem, lines, sizes, own, pool: call.pool, threads };
    team.transform(from, to, shared);
    Ok(())
}

/// Whether lines are plain transforms of complex numbers.
fn is_plain(problem: &Problem, line: &Line) -> bool {
    problem.kind == Kind::Complex && !line.is_convolved()
}

/// Threads at work on a call.
struct Team<'a> {
    problem: &'a Problem,
    lines: Lines<'a>,
    sizes: &'a Sizes,
    own: SharedRows<'a, f32>,
    pool: &'a Pool,
    threads: usize,
}

/// Memory of which threads use parts that do not meet.
#[derive(Clone, Copy)]
struct Shared(*mut f32);

// SAFETY: the code that hands it to threads keeps their parts apart.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// The floats from `start` on.
    ///
    /// # Safety
    /// They are valid, and no other code uses them while the slice is used.
    unsafe fn slice<'a>(self, start: usize, count: usize) -> &'a mut [f32] {
        // SAFETY: as the caller vouches.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(start), count) }
    }
}

impl Team<'_> {
    fn transform(&self, from: &[f32], to: &mut [f32], shared: &mut [f32]) {
        let &Problem { batch, x, y, .. } = self.problem;
        let inner = self.problem.bins();
        // Both are used at once: neither pointer may come from a slice over the other's floats.
        let (spectrum, middle) = shared.split_at_mut(self.sizes.shared - self.middle());
        let (spectrum, middle) = (Shared(spectrum.as_mut_ptr()), Shared(middle.as_mut_ptr()));
        let axes = [(&self.lines.plan.across[0], batch * x, inner)];
        let across = axes.into_iter().chain([(&self.lines.plan.across[1], batch, y * inner)]);
        let across = across.filter(|(line, ..)| line.n > 1);
        if self.problem.kind == Kind::ToReal {
            let mut source = from.as_ptr();
            for (line, outer, inner) in across {
                self.across(line, outer, inner, source, spectrum);
                source = spectrum.0;
            }
            // SAFETY: as many floats as the input has, of it or of its transform.
            let source = unsafe { std::slice::from_raw_parts(source, from.len()) };
            return self.along(source, Shared(to.as_mut_ptr()), middle);
        }
        let target = Shared(to.as_mut_ptr());
        self.along(from, target, middle);
        for (line, outer, inner) in across {
            self.across(line, outer, inner, target.0, target);
        }
    }

    fn middle(&self) -> usize {
        self.lines.plan.z.middle(lanes(self.lines.isa)).next_multiple_of(16)
    }

    fn way(&self, scale: f64) -> Way {
        Way { is_inverse: self.problem.is_inverse, scale: scale as f32 }
    }

    /// Threads for this many complex numbers in this many pieces.
    fn parts(&self, numbers: usize, pieces: usize) -> usize {
        self.threads.min(numbers / GRAIN).min(pieces).max(1)
    }

    /// This thread's memory.
    ///
    /// # Safety
    /// No other thread has this index.
    unsafe fn own(&self, index: usize) -> Own<'_> {
        // SAFETY: as the caller vouches.
        let row = unsafe { self.own.range_mut(index..index + 1) };
        let floats = Shared(row.as_ptr().cast_mut());
        // SAFETY: the row is as long, and this thread's alone.
        Own::new(unsafe { floats.slice(0, self.sizes.own()) }, self.sizes)
    }

    /// Every line along z.
    fn along(&self, from: &[f32], to: Shared, middle: Shared) {
        let problem = self.problem;
        let [read, write] = problem.line_floats();
        let lines = problem.batch * problem.x * problem.y;
        let way = self.way(problem.scale());
        let parts = self.parts(lines * problem.z, usize::MAX);
        let is_plain = is_plain(problem, &self.lines.plan.z);
        if lines < parts && is_plain && self.lines.plan.z.first.n > 1 {
            for line in 0..lines {
                // SAFETY: a line each.
                let to = unsafe { to.slice(line * write, write) };
                self.together(&from[line * read..][..read], to, way, middle, parts);
            }
            return;
        }
        let parts = parts.min(lines);
        self.pool.run(parts, &|index| {
            // SAFETY: every index is run once at a time.
            let mut own = unsafe { self.own(index) };
            let range = split(lines, parts, index, 1);
            if is_plain {
                let from = &from[range.start * read..range.end * read];
                // SAFETY: lines of different indices do not meet.
                let to = unsafe { to.slice(range.start * write, from.len()) };
                return self.lines.direct(&self.lines.plan.z, from, to, way.scale, &own);
            }
            for line in range {
                let from = &from[line * read..][..read];
                // SAFETY: lines of different indices do not meet.
                let to = unsafe { to.slice(line * write, write) };
                self.lines.any(problem, from, to, way, &mut own);
            }
        });
    }

    /// One line by all threads.
    fn together(&self, from: &[f32], to: &mut [f32], way: Way, middle: Shared, parts: usize) {
        let line = &self.lines.plan.z;
        let (source, target) = (Shared(from.as_ptr().cast_mut()), Shared(to.as_mut_ptr()));
        let lanes = lanes(self.lines.isa);
        let pass = |is_first: bool| {
            let columns = if is_first { line.second.n } else { line.first.n };
            self.pool.run(parts, &|index| {
                let ends = Ends { from: { source }.0, to: { target }.0 };
                // A last group that is not whole overlaps the one before: one thread does both.
                let mut range = split((columns / lanes).max(1), parts, index, 1);
                if range.end == (columns / lanes).max(1) && !range.is_empty() {
                    range.end = columns.div_ceil(lanes);
                }
                let ranges = if is_first { [range, 0..0] } else { [0..0, range] };
                // SAFETY: every index is run once at a time, and has groups of its own.
                unsafe {
                    let buffers = self.own(index).buffers;
                    self.lines.passes(line, ends, way.scale, { middle }.0, buffers, ranges);
                }
            });
        };
        pass(true);
        pass(false);
    }

    /// Columns of `outer` matrices of `inner` columns each.
    fn across(&self, line: &Line, outer: usize, inner: usize, from: *const f32, to: Shared) {
        let from = Shared(from.cast_mut());
        let floats = 2 * line.n * inner;
        let is_convolved = line.is_convolved();
        let groups = inner.div_ceil(if is_convolved { 1 } else { lanes(self.lines.isa) });
        let parts = self.parts(outer * line.n * inner, outer * groups);
        let way = self.way(1.0);
        self.pool.run(parts, &|index| {
            // SAFETY: every index is run once at a time.
            let mut own = unsafe { self.own(index) };
            for piece in split(outer * groups, parts, index, 1) {
                let (matrix, group) = (piece / groups * floats, piece % groups);
                // SAFETY: the matrix lies within both, and pieces do not meet.
                let (from, to) =
                    unsafe { ({ from }.0.add(matrix).cast_const(), { to }.0.add(matrix)) };
                if is_convolved {
                    // SAFETY: as above: a column of the matrix.
                    unsafe { self.gathered(line, inner, (from, to), group, way, &mut own) };
                    continue;
                }
                let stride = 2 * inner;
                let pass = Pass {
                    column: &line.second,
                    tables: self.lines.tables,
                    columns: inner,
                    groups: group..group + 1,
                    is_in_place: true,
                    source: Source::Pairs { first: from, stride },
                    sink: Sink::Pairs { first: to, stride, scale: way.scale },
                    scratch: own.buffers,
                };
                dispatch(self.lines.isa, Passes(&[pass]));
            }
        });
    }

    /// One column as a line: where factors have no butterfly.
    ///
    /// # Safety
    /// The column is readable and writable, and no other code uses it.
    unsafe fn gathered(
        &self,
        line: &Line,
        inner: usize,
        (from, to): (*const f32, *mut f32),
        column: usize,
        way: Way,
        own: &mut Own<'_>,
    ) {
        let [x, y] = std::mem::take(&mut own.rows);
        let at = |row: usize| 2 * (row * inner + column);
        for row in 0..line.n {
            // SAFETY: as the caller vouches.
            unsafe {
                (x[2 * row], x[2 * row + 1]) = (*from.add(at(row)), *from.add(at(row) + 1));
            }
        }
        self.lines.complex(line, x, y, way, own);
        for row in 0..line.n {
            // SAFETY: as the caller vouches.
            unsafe {
                (*to.add(at(row)), *to.add(at(row) + 1)) = (y[2 * row], y[2 * row + 1]);
            }
        }
        own.rows = [x, y];
    }
}
