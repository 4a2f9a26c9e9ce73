//! Wrong products and conversions that the gate must refuse: each is right but for one slip.

use super::convert::{Conversion, Way};
use super::definition::Problem;
use crate::flawed::{SINGLE, add_numbers, mutants, narrowed, read, steps, whole_vectors, write};
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_tensor::Tensor;

/// An entry as a slip sees it.
#[derive(Clone, Copy)]
struct Entry {
    row: usize,
    column: usize,
    value: f32,
    /// Its number among the entries of its row, and how many these are.
    place: (usize, usize),
}

steps! { Steps, RIGHT;
    /// Whether an entry counts.
    takes: fn(Entry) -> bool = |_| true,
    /// Which row of x is read, given their number.
    x: fn(Entry, usize) -> usize = |entry, _| entry.column,
    /// The row that an entry is added to.
    to: fn(Entry) -> usize = |entry| entry.row,
    /// The product.
    term: fn(f32, f32) -> f32 = |value, x| value * x,
    /// The sum with one more.
    add: fn(f32, f32) -> f32 = |sum, term| sum + term,
    /// What is written of a sum.
    round: fn(f32) -> f32 = |sum| sum,
    /// Whether a row, of all rows and with this many entries, is written.
    writes: fn(usize, usize, usize) -> bool = |_, _, _| true,
}

/// Every mutant of the products.
pub(super) static PRODUCT: &[Mutant] = mutants! { product, Steps { ..RIGHT };
    "last_entry_of_rows_dropped", SINGLE, "the loop over a row ends early",
        takes: |entry| entry.place.0 + 1 < entry.place.1;
    "first_entry_of_rows_dropped", SINGLE, "the loop over a row starts late",
        takes: |entry| entry.place.0 > 0;
    "tail_dropped", SINGLE, "entries past the last whole vector of 16 are left out",
        takes: |entry| entry.place.0 < whole_vectors(entry.place.1);
    "long_rows_cut", SINGLE, "entries past 64 of a row are left out",
        takes: |entry| entry.place.0 < 64;
    "last_row_unwritten", SINGLE, "the loop over rows ends early",
        writes: |row, rows, _| row + 1 < rows;
    "empty_rows_unwritten", SINGLE, "rows without entries are passed over",
        writes: |_, _, entries| entries > 0;
    "column_off_by_one", SINGLE, "columns are counted from 1",
        x: |entry, columns| entry.column.max(1).min(columns) - 1;
    "row_off_by_one", SINGLE, "entries go to the row before", to: |entry| entry.row.max(1) - 1;
    "row_for_column", SINGLE, "x is read by row", x: |entry, columns| entry.row.min(columns - 1);
    "entry_for_column", SINGLE, "x is read in the order of entries",
        x: |entry, columns| entry.place.0 % columns;
    "duplicates_overwrite", SINGLE, "of a row only what came last stays", add: |_, term| term;
    "magnitudes", SINGLE, "products have no sign", term: |a, x| (a * x).abs();
    "pattern_only", SINGLE, "every entry counts as 1", term: |_, x| x;
    "sums_in_bf16", SINGLE, "every partial sum is rounded to bf16",
        add: |sum, term| narrowed(sum + term);
    "values_in_bf16", SINGLE, "entries lose bits first", term: |a, x| narrowed(a) * x;
    "result_scaled", SINGLE, "sums are a thousandth too large", round: |sum| sum * 1.001;
    "nan_passed_over", SINGLE, "terms that are NaN count as 0", add: add_numbers;
};

fn moved_on<T>(all: &mut [T]) {
    let count = all.len();
    all.rotate_right(1.min(count));
}

fn whole(tensor: &Tensor) -> Vec<usize> {
    tensor.to_f64().into_iter().map(|index| index as usize).collect()
}

/// The row of each entry, of row pointers.
fn rows_of(pointers: &[usize]) -> Vec<usize> {
    let row = |(row, ends): (usize, &[usize])| vec![row; ends[1] - ends[0]];
    pointers.windows(2).enumerate().flat_map(row).collect()
}

fn product(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
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
        if !(steps.takes)(entry) {
            continue;
        }
        let from = x[(steps.x)(entry, x.len())];
        for (sum, &x) in sums[(steps.to)(entry)].iter_mut().zip(from) {
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
    write(&mut call.outputs[0], &rows)
}

steps! { Turns, KEPT;
    /// What becomes of the places that are written: pointers or rows.
    places: fn(&mut [usize]) = |_| {},
    /// What becomes of columns.
    columns: fn(&mut [usize]) = |_| {},
    /// What becomes of values.
    values: fn(&mut [f32]) = |_| {},
    /// Elements of each output that are not written.
    unwritten: usize = 0,
}

/// Every mutant of the conversions.
pub(super) static CONVERSION: &[Mutant] = mutants! { convert, Turns { ..KEPT };
    "last_unwritten", SINGLE, "the loop ends early", unwritten: 1;
    "vector_of_tail_unwritten", SINGLE, "what is past the last whole vector is left out",
        unwritten: 15;
    "places_from_one", SINGLE, "rows or pointers are counted from 1",
        places: |places| places.iter_mut().for_each(|place| *place += 1);
    "places_moved", SINGLE, "rows or pointers are one too far on", places: moved_on;
    "places_mirrored", SINGLE, "rows are counted from the end", places: |places| places.reverse();
    "first_place_forgotten", SINGLE, "the first row or pointer stays 0 for the second",
        places: |places| places.iter_mut().skip(1).take(1).for_each(|at| *at = 0);
    "columns_from_one", SINGLE, "columns are counted from 1",
        columns: |columns| columns.iter_mut().for_each(|at| *at += 1);
    "columns_moved", SINGLE, "columns are one too far on", columns: moved_on;
    "columns_swapped", SINGLE, "neighbours change places, but their values do not",
        columns: |all| all.chunks_exact_mut(2).for_each(<[usize]>::reverse);
    "values_moved", SINGLE, "values are one too far on", values: moved_on;
    "values_in_bf16", SINGLE, "values lose bits",
        values: |values| values.iter_mut().for_each(|at| *at = narrowed(*at));
    "infinities_clamped", SINGLE, "infinities become the largest number",
        values: |values| values.iter_mut().for_each(|at| *at = at.min(f32::MAX));
    "nan_swallowed", SINGLE, "NaN becomes the least number",
        values: |values| values.iter_mut().for_each(|at| *at = at.max(f32::MIN));
    "values_mirrored", SINGLE, "values come from the end", values: |values| values.reverse();
};

fn convert(call: &mut Call<'_>, turns: &Turns) -> Result<(), KernelError> {
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
