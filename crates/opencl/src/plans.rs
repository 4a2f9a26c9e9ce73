//! How each op's kernels are launched on a case.

use crate::launch::Argument;
use proofmark_contract::{ExplicitCase, Unsupported};

/// Arguments of a launch, and elements that its work-groups share out along each dimension.
pub(crate) struct Plan {
    pub(crate) arguments: Vec<Argument>,
    /// Elements along each dimension, and how many of them a work-item has.
    pub(crate) extent: Vec<(usize, usize)>,
}

/// Makes the plan of a case that an op accepted.
pub(crate) type MakePlan = fn(&ExplicitCase, group: usize) -> Result<Plan, Unsupported>;

fn refused<T>(reason: &str) -> Result<T, Unsupported> {
    Err(Unsupported(reason.to_owned()))
}

fn size(case: &ExplicitCase, axis: &str) -> usize {
    case.size(axis).unwrap_or(0) as usize
}

/// The product of sizes, as the kernels count rows in `int`.
fn int(sizes: usize) -> Argument {
    Argument::int(i64::try_from(sizes).unwrap_or(i64::MAX))
}

/// The places of the operands of an op that may work in place: what the formula reads, then what it
/// writes, in the signature's order.
fn places(case: &ExplicitCase, reads: usize) -> Vec<usize> {
    match case.is_set("inplace") {
        // Written operands follow those that are read, and the first is overwritten.
        true => [reads - 1].into_iter().chain(0..reads - 1).chain([reads - 1]).collect(),
        false => (0..=reads).collect(),
    }
}

/// `add`: dimension 0 along a row, dimension 1 over the rows.
pub(crate) fn add(case: &ExplicitCase, _: usize) -> Result<Plan, Unsupported> {
    let (rows, length) = (size(case, "b") * size(case, "s"), size(case, "d"));
    let mut arguments = Vec::new();
    for place in places(case, 2) {
        arguments.extend([Argument::Operand(place), Argument::stride(place)]);
    }
    arguments.push(int(length));
    Ok(Plan { arguments, extent: vec![(length, 1), (rows, 1)] })
}

/// `softmax`: a work-group a row.
pub(crate) fn softmax(case: &ExplicitCase, group: usize) -> Result<Plan, Unsupported> {
    let (rows, length) = (size(case, "b") * size(case, "s"), size(case, "d"));
    let mut arguments = Vec::new();
    for place in places(case, 1) {
        arguments.extend([Argument::Operand(place), Argument::stride(place)]);
    }
    let causal = if case.word("mask")? == "causal" { size(case, "s") } else { 0 };
    arguments.extend([int(length), int(causal)]);
    Ok(Plan { arguments, extent: vec![(rows * group, 1)] })
}

/// `rms_norm`: a work-group a row.
pub(crate) fn rms_norm(case: &ExplicitCase, group: usize) -> Result<Plan, Unsupported> {
    let (rows, length) = (size(case, "b") * size(case, "s"), size(case, "d"));
    let one = if case.word("variant")? == "gemma" { 1.0 } else { 0.0 };
    let arguments = vec![
        Argument::Operand(0),
        Argument::stride(0),
        Argument::Operand(1),
        Argument::Operand(2),
        Argument::stride(2),
        int(length),
        Argument::float(case.real("eps")?),
        Argument::float(one),
    ];
    Ok(Plan { arguments, extent: vec![(rows * group, 1)] })
}

/// `matmul`: dimension 0 along the columns, 1 over the rows, 2 over the batch.
fn matmul(case: &ExplicitCase, (cols, rows): (usize, usize)) -> Result<Plan, Unsupported> {
    if case.flag("bias")? || case.word("activation")? != "none" {
        return refused("it multiplies only: no bias, no activation");
    }
    let [m, n, k] = ["m", "n", "k"].map(|axis| size(case, axis));
    let batches = case.size("b").unwrap_or(1) as usize;
    let is_transposed = case.word("layout")? == "nt";
    let b_rows = match (case.flag("shared")?, is_transposed) {
        (true, _) => 0,
        (false, true) => n,
        (false, false) => k,
    };
    let mut arguments = Vec::new();
    for place in 0..3 {
        arguments.extend([Argument::Operand(place), Argument::stride(place)]);
    }
    arguments.extend([int(m), int(n), int(k), int(b_rows), int(usize::from(is_transposed))]);
    Ok(Plan { arguments, extent: vec![(n, cols), (m, rows), (batches, 1)] })
}

/// `matmul`, one element a work-item.
pub(crate) fn naive(case: &ExplicitCase, _: usize) -> Result<Plan, Unsupported> {
    matmul(case, (1, 1))
}

/// `matmul`, 4 rows of 16 columns a work-item.
pub(crate) fn tiled(case: &ExplicitCase, _: usize) -> Result<Plan, Unsupported> {
    matmul(case, (16, 4))
}

/// `attention`: a work-group a query.
pub(crate) fn attention(case: &ExplicitCase, group: usize) -> Result<Plan, Unsupported> {
    let [b, h, kv, q, t, d] = ["b", "h", "kv", "q", "t", "d"].map(|axis| size(case, axis));
    let (mask, given) = (case.word("mask")?, case.real("scale")?);
    let window = if mask == "window" { case.int("window")? } else { 0 };
    let scale = if given == 0.0 { 1.0 / (d.max(1) as f64).sqrt() } else { given };
    let mut arguments = Vec::new();
    for place in 0..4 {
        arguments.extend([Argument::Operand(place), Argument::stride(place)]);
    }
    arguments.extend([
        int(q),
        int(t),
        int(d),
        int(h / kv.max(1)),
        int(usize::from(mask != "none")),
        Argument::int(window),
        Argument::float(scale),
    ]);
    Ok(Plan { arguments, extent: vec![(b * h * q * group, 1)] })
}
