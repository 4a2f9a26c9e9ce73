//! The kernels of conversions: places counted, entries put where they belong.
//!
//! Idea: to rows, entries are counted by row, put there with their column and number in one word,
//! and each row's words are sorted, so that entries of one place keep their order. Each thread
//! counts and puts a range of the entries, with counts of its own, and sorts as many entries'
//! rows. From rows, the number of each row is repeated. 8 bytes of scratch memory an entry, and 4
//! a row for each thread.

use super::csr::Csr;
use super::{no_matrix, of_row};
use crate::blocks::made::Made;
use crate::blocks::scratch::elements_mut;
use crate::sparse::convert::Conversion;
use crate::sparse::structure::Structure;
use proofmark_contract::{Call, Kernel, KernelError};
use proofmark_tensor::{Element, Pool, RowsMut, SharedRows, split};
use proofmark_terms::{Case, Isa};
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// The kernels of `coo_to_csr`, best first.
pub(crate) static TO_CSR: &[&dyn Kernel] = &[
    &Made {
        workspace,
        ..Made::parallel("entries counted, put in rows and sorted by all threads", |call| {
            to_csr(call, call.threads)
        })
        .exact()
    },
    &Made {
        workspace,
        ..Made::simd("entries counted, put in rows and sorted", |call| to_csr(call, 1)).exact()
    },
    &Made {
        workspace,
        ..Made::scalar("entries counted, put in rows and sorted", |call| to_csr(call, 1))
    },
];

/// The kernels of `csr_to_coo`, best first.
pub(crate) static TO_COO: &[&dyn Kernel] = &[
    &Made::parallel("entries of as many rows for each thread", |call| to_coo(call, call.threads))
        .exact(),
    &Made::simd("row numbers repeated, entries copied", |call| to_coo(call, 1)).exact(),
    &Made::scalar("row numbers repeated, entries copied", |call| to_coo(call, 1)),
];

/// Entries that are worth a thread.
const GRAIN: usize = 16_384;

/// How many threads share the entries.
fn parts(entries: usize, threads: usize) -> usize {
    threads.min(entries / GRAIN).max(1)
}

fn workspace(case: &Case, _: Isa, threads: usize) -> usize {
    let matrix = Conversion::of(case).matrix;
    8 * matrix.entries() + 4 * matrix.rows * parts(matrix.entries(), threads)
}

/// A handle on a slice, of which threads take ranges.
///
/// # Safety
/// The slice is used through the handle only while the handle is.
unsafe fn shared<T: Element>(slice: &mut [T]) -> SharedRows<'_, T> {
    let count = slice.len();
    // SAFETY: as the caller vouches.
    unsafe { RowsMut::from_slice(slice, count, 1).share() }
}

/// A range of a shared slice.
///
/// # Safety
/// No other thread has an element of it.
unsafe fn part<'a, T: Element>(slice: &SharedRows<'a, T>, range: Range<usize>) -> &'a mut [T] {
    assert!(range.start <= range.end && range.end <= slice.rows(), "a range of the slice");
    // SAFETY: within the slice, as just seen, and as the caller vouches.
    unsafe { std::slice::from_raw_parts_mut(slice.as_mut_ptr().add(range.start), range.len()) }
}

/// Entries in no order, and how many threads share them.
struct Coo<'a> {
    rows: &'a [i32],
    columns: &'a [i32],
    parts: usize,
}

impl Coo<'_> {
    /// The number, row and column of each entry of a part.
    fn part(&self, index: usize) -> impl Iterator<Item = (usize, i32, i32)> {
        let range = split(self.rows.len(), self.parts, index, 1);
        let places = self.rows[range.clone()].iter().zip(&self.columns[range.clone()]);
        range.zip(places).map(|(entry, (&row, &column))| (entry, row, column))
    }

    /// Counts the entries of each row for each part, which has `counts` of its own.
    fn count(
        &self,
        matrix: &Structure,
        counts: &mut [i32],
        pool: &Pool,
    ) -> Result<(), KernelError> {
        let outside = AtomicBool::new(false);
        // SAFETY: the counts are used through the handle alone.
        let counts = unsafe { shared(counts) };
        pool.run(self.parts, &|index| {
            // SAFETY: the counts of different parts do not meet.
            let counts = unsafe { part(&counts, index * matrix.rows..(index + 1) * matrix.rows) };
            counts.fill(0);
            for (_, row, column) in self.part(index) {
                // A negative one becomes large.
                match counts.get_mut(row as usize) {
                    Some(count) if (column as usize) < matrix.cols => *count += 1,
                    _ => return outside.store(true, Relaxed),
                }
            }
        });
        if outside.into_inner() { Err(no_matrix()) } else { Ok(()) }
    }

    /// Puts a word for each entry, its column and number, where its part's `next` of its row is.
    ///
    /// # Safety
    /// Each part's places, from its `next` of a row on, are within `words`, as many as the part has
    /// entries of the row, and no other's.
    unsafe fn put(&self, rows: usize, next: &mut [i32], words: &mut [i64], pool: &Pool) {
        // SAFETY: both are used through their handles alone.
        let (next, words) = unsafe { (shared(next), shared(words)) };
        pool.run(self.parts, &|index| {
            // SAFETY: the places of different parts do not meet.
            let next = unsafe { part(&next, index * rows..(index + 1) * rows) };
            for (entry, row, column) in self.part(index) {
                let at = &mut next[row as usize];
                // SAFETY: a place of this part's own, as the caller vouches.
                let word = unsafe { part(&words, *at as usize..*at as usize + 1) };
                word[0] = i64::from(column) << 32 | entry as i64;
                *at += 1;
            }
        });
    }
}

fn to_csr(call: &mut Call<'_>, threads: usize) -> Result<(), KernelError> {
    let matrix = Conversion::of(call.case).matrix;
    let (rows, columns) = (call.inputs[0].slice::<i32>()?, call.inputs[1].slice::<i32>()?);
    let values = call.inputs[2].slice::<f32>()?;
    let [pointers, to_columns, to_values] = call.outputs else { return Err(no_matrix()) };
    let pointers = pointers.slice_mut::<i32>()?;
    let entries = values.len();
    let parts = parts(entries, threads);
    let words = elements_mut::<i64>(call.workspace, entries, "the workspace")?.len() * 8;
    let (words, counts) = call.workspace.split_at_mut(words);
    let words = elements_mut::<i64>(words, entries, "the workspace")?;
    let counts = elements_mut::<i32>(counts, parts * matrix.rows, "the workspace")?;
    let coo = Coo { rows, columns, parts };
    coo.count(&matrix, counts, call.pool)?;
    let mut place = 0;
    for row in 0..matrix.rows {
        pointers[row] = place;
        for count in counts[row..].iter_mut().step_by(matrix.rows) {
            // A count becomes the place of the first that it counted.
            (*count, place) = (place, place + *count);
        }
    }
    pointers[matrix.rows] = place;
    // SAFETY: the places were just made of the counts of the same entries.
    unsafe { coo.put(matrix.rows, counts, words, call.pool) };
    // SAFETY: all three are used through their handles from here on.
    let (words, to_columns, to_values) = unsafe {
        let (to_columns, to_values) = (to_columns.slice_mut()?, to_values.slice_mut()?);
        (shared::<i64>(words), shared::<i32>(to_columns), shared::<f32>(to_values))
    };
    let made = Csr { pointers, columns, values };
    call.pool.run(parts, &|index| {
        for row in made.cut(parts, index)..made.cut(parts, index + 1) {
            let range = of_row(made.pointers, row);
            // SAFETY: rows of different indices do not meet, nor do their entries: the pointers
            // were just counted.
            let (words, to_columns, to_values) = unsafe {
                (
                    part(&words, range.clone()),
                    part(&to_columns, range.clone()),
                    part(&to_values, range),
                )
            };
            words.sort_unstable();
            for ((word, column), value) in words.iter().zip(to_columns).zip(to_values) {
                *column = (word >> 32) as i32;
                *value = values[(word & 0xffff_ffff) as usize];
            }
        }
    });
    Ok(())
}

fn to_coo(call: &mut Call<'_>, threads: usize) -> Result<(), KernelError> {
    let (pointers, columns) = (call.inputs[0].slice::<i32>()?, call.inputs[1].slice::<i32>()?);
    let values = call.inputs[2].slice::<f32>()?;
    let entries = values.len();
    let ends = pointers.first().zip(pointers.last());
    if !pointers.is_sorted() || ends != Some((&0, &(entries as i32))) {
        return Err(no_matrix());
    }
    let [rows, to_columns, to_values] = call.outputs else { return Err(no_matrix()) };
    // SAFETY: all three are used through their handles from here on.
    let (rows, to_columns, to_values) = unsafe {
        let slices = (rows.slice_mut()?, to_columns.slice_mut()?, to_values.slice_mut()?);
        (shared::<i32>(slices.0), shared::<i32>(slices.1), shared::<f32>(slices.2))
    };
    let parts = parts(entries, threads);
    call.pool.run(parts, &|index| {
        let range = split(entries, parts, index, 1);
        // SAFETY: the ranges of different indices do not meet.
        let (rows, to_columns, to_values) = unsafe {
            (
                part(&rows, range.clone()),
                part(&to_columns, range.clone()),
                part(&to_values, range.clone()),
            )
        };
        to_columns.copy_from_slice(&columns[range.clone()]);
        to_values.copy_from_slice(&values[range.clone()]);
        let mut row = pointers.partition_point(|&at| at as usize <= range.start);
        let mut at = range.start;
        while at < range.end {
            // `row` is the one after that of entry `at`.
            let end = (pointers[row] as usize).min(range.end);
            rows[at - range.start..end - range.start].fill(row as i32 - 1);
            (at, row) = (end, row + 1);
        }
    });
    Ok(())
}
