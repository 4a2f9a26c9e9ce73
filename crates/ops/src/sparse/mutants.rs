//! Wrong products and conversions that the gate must refuse: each is right but for one slip.

use super::convert::{Conversion, Way};
use super::definition::Problem;
use crate::flawed::{read, stepped, write};
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_tensor::{Tensor, bf16};
use proofmark_terms::DType;

/// All that these do.
const F32: &[DType] = &[DType::F32];

/// An entry as a slip sees it.
#[derive(Clone, Copy)]
struct Entry {
    row: usize,
    column: usize,
    value: f32,
    /// Its number among the entries of its row, and how many these are.
    place: (usize, usize),
}

/// The steps of a product; a mutant replaces one.
#[derive(Clone, Copy)]
struct Steps {
    /// Whether an entry counts; rows in all.
    takes: fn(Entry, usize) -> bool,
    /// Which row of x is read, given their number.
    x: fn(Entry, usize) -> usize,
    /// The row that an entry is added to, given the number of rows.
    to: fn(Entry, usize) -> usize,
    /// The product.
    term: fn(f32, f32) -> f32,
    /// The sum with one more.
    add: fn(f32, f32) -> f32,
    /// What is written of a sum.
    round: fn(f32) -> f32,
    /// Whether a row of this many entries is written.
    writes: fn(usize, usize, usize) -> bool,
}

const RIGHT: Steps = Steps {
    takes: |_, _| true,
    x: |entry, _| entry.column,
    to: |entry, _| entry.row,
    term: |value, x| value * x,
    add: |sum, term| sum + term,
    round: |sum| sum,
    writes: |_, _, _| true,
};

/// Every mutant of the products.
pub(super) static PRODUCT: &[Mutant] = stepped! { product;
    "last_entry_of_rows_dropped", F32, "the loop over a row ends early",
        Steps { takes: |entry, _| entry.place.0 + 1 < entry.place.1, ..RIGHT };
    "first_entry_of_rows_dropped", F32, "the loop over a row starts late",
        Steps { takes: |entry, _| entry.place.0 > 0, ..RIGHT };
    "tail_dropped", F32, "entries past the last whole vector of 16 are left out",
        Steps { takes: |entry, _| entry.place.0 < entry.place.1 / 16 * 16, ..RIGHT };
    "long_rows_cut", F32, "entries past 64 of a row are left out",
        Steps { takes: |entry, _| entry.place.0 < 64, ..RIGHT };
    "last_row_unwritten", F32, "the loop over rows ends early",
        Steps { writes: |row, rows, _| row + 1 < rows, ..RIGHT };
    "empty_rows_unwritten", F32, "rows without entries are passed over",
        Steps { writes: |_, _, entries| entries > 0, ..RIGHT };
    "column_off_by_one", F32, "columns are counted from 1",
        Steps { x: |entry, columns| entry.column.max(1).min(columns) - 1, ..RIGHT };
    "row_off_by_one", F32, "entries go to the row before",
        Steps { to: |entry, _| entry.row.max(1) - 1, ..RIGHT };
    "row_for_column", F32, "x is read by row",
        Steps { x: |entry, columns| entry.row.min(columns - 1), ..RIGHT };
    "entry_for_column", F32, "x is read in the order of entries",
        Steps { x: |entry, columns| entry.place.0 % columns, ..RIGHT };
    "duplicates_overwrite", F32, "of a row only what came last stays",
        Steps { add: |_, term| term, ..RIGHT };
    "magnitudes", F32, "products have no sign", Steps { term: |a, x| (a * x).abs(), ..RIGHT };
    "pattern_only", F32, "every entry counts as 1", Steps { term: |_, x| x, ..RIGHT };
    "sums_in_bf16", F32, "every partial sum is rounded to bf16",
        Steps { add: |sum, term| narrowed(sum + term), ..RIGHT };
    "values_in_bf16", F32, "entries lose bits first",
        Steps { term: |a, x| narrowed(a) * x, ..RIGHT };
    "result_scaled", F32, "sums are a thousandth too large",
        Steps { round: |sum| sum * 1.001, ..RIGHT };
    "nan_passed_over", F32, "terms that are NaN count as 0",
        Steps { add: |sum, term| if term.is_nan() { sum } else { sum + term }, ..RIGHT };
};

fn moved_on<T>(all: &mut [T]) {
    let count = all.len();
    all.rotate_right(1.min(count));
}

fn narrowed(value: f32) -> f32 {
    bf16::from_f32(value).to_f32()
}

fn whole(tensor: &Tensor) -> Vec<usize> {
    tensor.to_f64().into_iter().map(|index| index as usize).collect()
}

/// The row of each entry, of row pointers.
fn rows_of(pointers: &[usize]) -> Vec<usize> {
    let row = |(row, ends): (usize, &[usize])| vec![row; ends[1] - ends[0]];
    pointers.windows(2).enumerate().flat_map(row).collect()
}

fn product(call: &mut Call<'_>, steps: Steps) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let (count, width) = (problem.matrix.rows, problem.columns());
    let places = whole(&call.inputs[0]);
    let rows = if problem.is_coo { places } else { rows_of(&places) };
    let columns = whole(&call.inputs[1]);
    let values = call.inputs[2].slice::<f32>()?;
    let x: Vec<f32> = read(&call.inputs[3]).concat();
    let x: Vec<&[f32]> = x.chunks(width.max(1)).collect();
    let mut lengths = vec![0; count];
    rows.iter().for_each(|&row| lengths[row] += 1);
    let (mut sums, mut seen) = (vec![vec![0.0; width]; count], vec![0; count]);
    for ((&row, &column), &value) in rows.iter().zip(&columns).zip(values) {
        let entry = Entry { row, column, value, place: (seen[row], lengths[row]) };
        seen[row] += 1;
        if !(steps.takes)(entry, count) {
            continue;
        }
        let from = x[(steps.x)(entry, x.len())];
        for (sum, &x) in sums[(steps.to)(entry, count)].iter_mut().zip(from) {
            *sum = (steps.add)(*sum, (steps.term)(entry.value, x));
        }
    }
    let mut old = read(&call.outputs[0]).concat();
    for (row, sums) in sums.iter().enumerate() {
        if (steps.writes)(row, count, lengths[row]) {
            let to = old.chunks_mut(width.max(1)).nth(row);
            let each = to.into_iter().flatten().zip(sums);
            each.for_each(|(to, &sum)| *to = (steps.round)(sum));
        }
    }
    let cols = call.outputs[0].layout.cols();
    let rows: Vec<Vec<f32>> = old.chunks(cols.max(1)).map(<[f32]>::to_vec).collect();
    write(&mut call.outputs[0], &rows);
    Ok(())
}

/// The steps of a conversion; a mutant replaces one.
#[derive(Clone, Copy)]
struct Turns {
    /// What becomes of the places that are written: pointers or rows.
    places: fn(&mut [usize]),
    /// What becomes of columns.
    columns: fn(&mut [usize]),
    /// What becomes of values.
    values: fn(&mut [f32]),
    /// Elements of each output that are not written.
    unwritten: usize,
}

const KEPT: Turns = Turns { places: |_| {}, columns: |_| {}, values: |_| {}, unwritten: 0 };

/// Every mutant of the conversions.
pub(super) static CONVERSION: &[Mutant] = stepped! { convert;
    "last_unwritten", F32, "the loop ends early", Turns { unwritten: 1, ..KEPT };
    "vector_of_tail_unwritten", F32, "what is past the last whole vector is left out",
        Turns { unwritten: 15, ..KEPT };
    "places_from_one", F32, "rows or pointers are counted from 1",
        Turns { places: |places| places.iter_mut().for_each(|place| *place += 1), ..KEPT };
    "places_moved", F32, "rows or pointers are one too far on",
        Turns { places: moved_on, ..KEPT };
    "places_mirrored", F32, "rows are counted from the end",
        Turns { places: |places| places.reverse(), ..KEPT };
    "first_place_forgotten", F32, "the first row or pointer stays 0 for the second",
        Turns { places: |places| places.iter_mut().skip(1).take(1).for_each(|at| *at = 0), ..KEPT };
    "columns_from_one", F32, "columns are counted from 1",
        Turns { columns: |columns| columns.iter_mut().for_each(|at| *at += 1), ..KEPT };
    "columns_moved", F32, "columns are one too far on",
        Turns { columns: moved_on, ..KEPT };
    "columns_swapped", F32, "neighbours change places, but their values do not",
        Turns { columns: |all| all.chunks_exact_mut(2).for_each(<[usize]>::reverse), ..KEPT };
    "values_moved", F32, "values are one too far on",
        Turns { values: moved_on, ..KEPT };
    "values_in_bf16", F32, "values lose bits",
        Turns { values: |values| values.iter_mut().for_each(|at| *at = narrowed(*at)), ..KEPT };
    "infinities_clamped", F32, "infinities become the largest number",
        Turns { values: |values| values.iter_mut().for_each(|at| *at = at.min(f32::MAX)), ..KEPT };
    "nan_swallowed", F32, "NaN becomes the least number",
        Turns { values: |values| values.iter_mut().for_each(|at| *at = at.max(f32::MIN)), ..KEPT };
    "values_mirrored", F32, "values come from the end",
        Turns { values: |values| values.reverse(), ..KEPT };
};

fn convert(call: &mut Call<'_>, turns: Turns) -> Result<(), KernelError> {
    let problem = Conversion::of(call.case);
    let (places, columns) = (whole(&call.inputs[0]), whole(&call.inputs[1]));
    let values = call.inputs[2].slice::<f32>()?;
    let to_csr = problem.way == Way::ToCsr;
    let rows = if to_csr { places } else { rows_of(&places) };
    let mut order: Vec<usize> = (0..rows.len()).collect();
    if to_csr {
        order.sort_by_key(|&i| (rows[i], columns[i], i));
    }
    let mut places: Vec<usize> = order.iter().map(|&i| rows[i]).collect();
    if to_csr {
        let before = |row: usize| rows.iter().filter(|&&at| at < row).count();
        places = (0..=problem.matrix.rows).map(before).collect();
    }
    let mut columns: Vec<usize> = order.iter().map(|&i| columns[i]).collect();
    let mut values: Vec<f32> = order.iter().map(|&i| values[i]).collect();
    (turns.places)(&mut places);
    (turns.columns)(&mut columns);
    (turns.values)(&mut values);
    let keep = |count: usize| count - turns.unwritten.min(count);
    let wide = |all: &[usize]| all.iter().map(|&at| at as i32).collect::<Vec<i32>>();
    for (output, all) in [(0, wide(&places)), (1, wide(&columns))] {
        let to = call.outputs[output].slice_mut::<i32>()?;
        to[..keep(all.len())].copy_from_slice(&all[..keep(all.len())]);
    }
    let to = call.outputs[2].slice_mut::<f32>()?;
    to[..keep(values.len())].copy_from_slice(&values[..keep(values.len())]);
    Ok(())
}
