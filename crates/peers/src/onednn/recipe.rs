//! Each op in oneDNN's terms: the formula, how its operands lie, and what follows it.

use super::primitive::{After, Formula, Moves, Recipe, View, algorithm, role};
use proofmark_contract::{ExplicitCase, Operand, Unsupported};
use proofmark_schema::DType;
use proofmark_tensor::Tensor;
use std::ffi::c_int;

/// How an operand lies.
#[derive(Clone, Debug)]
pub(super) struct Lay {
    dtype: DType,
    shape: Vec<usize>,
    row_stride: usize,
}

impl Lay {
    /// An operand without padding, in which empty axes have size 1.
    pub(super) fn inhabited(operand: &Operand) -> Lay {
        let shape: Vec<usize> = operand.shape.iter().map(|&size| size.max(1)).collect();
        Lay { dtype: operand.dtype, row_stride: shape.last().copied().unwrap_or(1), shape }
    }

    /// An operand of a call.
    pub(super) fn of(tensor: &Tensor) -> Lay {
        let row_stride = tensor.layout.row_stride;
        Lay { dtype: tensor.dtype, shape: tensor.layout.shape.clone(), row_stride }
    }

    fn columns(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }

    fn rows(&self) -> usize {
        self.shape.iter().rev().skip(1).product()
    }
}

/// Makes the recipe of a case whose operands have these layouts.
type Make = fn(&ExplicitCase, &[Lay]) -> Result<Recipe, Unsupported>;

/// Every op that there is a recipe for. Two ops are left out because the library computes them
/// wrong: its gelu is infinite above half of the greatest number, and the logarithm of its
/// log_softmax is off by up to 10 units.
pub(super) const OPS: &[(&str, Make)] = &[
    ("add", |_, lays| binary(algorithm::ADD, lays)),
    ("sub", |_, lays| binary(algorithm::SUB, lays)),
    ("mul", |_, lays| binary(algorithm::MUL, lays)),
    ("div", |_, lays| binary(algorithm::DIV, lays)),
    ("relu", |_, lays| Ok(relu(lays))),
    ("exp", |_, lays| eltwise(algorithm::EXP, 0.0, lays)),
    ("tanh", |_, lays| eltwise(algorithm::TANH, 0.0, lays)),
    ("sigmoid", |_, lays| eltwise(algorithm::LOGISTIC, 0.0, lays)),
    ("silu", |_, lays| eltwise(algorithm::SWISH, 1.0, lays)),
    ("gelu_tanh", |_, lays| eltwise(algorithm::GELU_TANH, 0.0, lays)),
    ("gelu_quick", |_, lays| eltwise(algorithm::SWISH, 1.702, lays)),
    ("swiglu", |_, lays| then(algorithm::SWISH, 1.0, algorithm::MUL, lays)),
    ("geglu", |_, lays| then(algorithm::GELU_TANH, 0.0, algorithm::MUL, lays)),
    ("axpy", |case, lays| {
        then(algorithm::LINEAR, case.real("alpha")? as f32, algorithm::ADD, lays)
    }),
    ("softmax", |_, lays| Ok(along_rows(Formula::Softmax(algorithm::SOFTMAX), lays))),
    ("layer_norm", layer_norm),
    ("sum", |case, lays| reduction(algorithm::REDUCE_SUM, case, lays)),
    ("mean", |case, lays| reduction(algorithm::REDUCE_MEAN, case, lays)),
    ("max", |case, lays| reduction(algorithm::REDUCE_MAX, case, lays)),
    ("transpose", |_, lays| {
        let mut turned = planes(role::RESULT, 1, lays);
        turned.swap_last();
        Ok(Formula::Reorder.of(vec![planes(role::SOURCE, 0, lays), turned]))
    }),
    ("cast", |_, lays| Ok(along_rows(Formula::Reorder, lays))),
    ("conv1d", conv),
    ("conv2d", conv),
    ("dequantize_int8", dequantize_int8),
    ("matmul", matmul),
    ("matmul_int8", matmul_int8),
];

/// The recipe of a case.
pub(super) fn recipe(case: &ExplicitCase, lays: &[Lay]) -> Result<Recipe, String> {
    let known = OPS.iter().find(|(name, _)| *name == case.op);
    let (_, make) = known.ok_or_else(|| format!("it has no `{}`", case.op))?;
    Ok(make(case, lays)?)
}

/// From the one source to the result, which may be the same operand.
fn along_rows(formula: Formula, lays: &[Lay]) -> Recipe {
    let last = lays.len() - 1;
    formula.of(vec![matrix(role::SOURCE, 0, lays), matrix(role::RESULT, last, lays)])
}

fn eltwise(kind: c_int, alpha: f32, lays: &[Lay]) -> Result<Recipe, Unsupported> {
    Ok(along_rows(Formula::Eltwise(kind, alpha), lays))
}

/// The recipe of `relu`, which has no attribute that matters.
pub(super) fn relu(lays: &[Lay]) -> Recipe {
    along_rows(Formula::Eltwise(algorithm::RELU, 0.0), lays)
}

/// The indices of the first source, the second source and the result. In place, the written operand
/// follows the one that is only read.
fn pair(lays: &[Lay]) -> [usize; 3] {
    if lays.len() == 2 { [1, 0, 1] } else { [0, 1, 2] }
}

fn binary(kind: c_int, lays: &[Lay]) -> Result<Recipe, Unsupported> {
    let [first, second, result] = pair(lays);
    Ok(Formula::Binary(kind).of(vec![
        matrix(role::SOURCE, first, lays),
        matrix(role::SECOND_SOURCE, second, lays),
        matrix(role::RESULT, result, lays),
    ]))
}

/// A function of the first source, then an operation with the second.
fn then(kind: c_int, alpha: f32, after: c_int, lays: &[Lay]) -> Result<Recipe, Unsupported> {
    let [first, second, result] = pair(lays);
    let views = vec![matrix(role::SOURCE, first, lays), matrix(role::RESULT, result, lays)];
    let second = After::Binary(after, matrix(role::SECOND_SOURCE, second, lays));
    Ok(Formula::Eltwise(kind, alpha).of(views).after(second))
}

/// A result whose reduced axes have one element each; it lies without gaps.
fn reduction(kind: c_int, case: &ExplicitCase, lays: &[Lay]) -> Result<Recipe, Unsupported> {
    let [b, s, d] = [0, 1, 2].map(|axis| lays[0].shape[axis] as i64);
    let source = View {
        dims: vec![b, s, d],
        strides: vec![s * lays[0].row_stride as i64, lays[0].row_stride as i64, 1],
        ..matrix(role::SOURCE, 0, lays)
    };
    let dims = match case.word("axis")? {
        "s" => vec![b, 1, d],
        "b" => vec![1, s, d],
        "all" => vec![1, 1, 1],
        _ => vec![b, s, 1],
    };
    let strides = vec![dims[1] * dims[2], dims[2], 1];
    let result = View { dims, strides, ..matrix(role::RESULT, 1, lays) };
    Ok(Formula::Reduction(kind).of(vec![source, result]))
}

fn layer_norm(case: &ExplicitCase, lays: &[Lay]) -> Result<Recipe, Unsupported> {
    let vector = |role, operand: usize| View {
        dims: vec![lays[operand].columns() as i64],
        strides: vec![1],
        ..matrix(role, operand, lays)
    };
    Ok(Formula::LayerNorm(case.real("eps")? as f32).of(vec![
        matrix(role::SOURCE, 0, lays),
        vector(role::SCALE, 1),
        vector(role::SHIFT, 2),
        matrix(role::RESULT, 3, lays),
    ]))
}

/// Codes times scales that are broadcast: one for all, for each row, or for each group of a row.
fn dequantize_int8(case: &ExplicitCase, lays: &[Lay]) -> Result<Recipe, Unsupported> {
    let scheme = case.word("scheme")?;
    let (rows, columns) = (lays[0].rows(), lays[0].columns());
    let (groups, each) = match scheme {
        "group" => (lays[1].columns(), columns / lays[1].columns()),
        _ => (1, columns),
    };
    let split = |role, operand: usize| View {
        dims: [rows, groups, each].map(|size| size as i64).to_vec(),
        strides: [lays[operand].row_stride, each, 1].map(|step| step as i64).to_vec(),
        ..matrix(role, operand, lays)
    };
    let scales = match scheme {
        "tensor" => ([1, 1, 1], [1, 1, 1]),
        "group" => ([rows, groups, 1], [lays[1].row_stride, 1, 1]),
        _ => ([rows, 1, 1], [1, 1, 1]),
    };
    Ok(Formula::Binary(algorithm::MUL).of(vec![
        split(role::SOURCE, 0),
        View {
            dims: scales.0.map(|size| size as i64).to_vec(),
            strides: scales.1.map(|step| step as i64).to_vec(),
            ..matrix(role::SECOND_SOURCE, 1, lays)
        },
        split(role::RESULT, lays.len() - 1),
    ]))
}

fn conv(case: &ExplicitCase, lays: &[Lay]) -> Result<Recipe, Unsupported> {
    let moves = Moves {
        stride: case.int("stride")?,
        between: case.int("dilation")? - 1,
        pad: case.int("pad")?,
    };
    let (groups, last) = (case.int("groups")?, lays.len() - 1);
    let mut weights = whole(role::WEIGHTS, 1, lays);
    if groups > 1 {
        let each = weights.dims[0] / groups;
        weights.dims.splice(0..1, [groups, each]);
        weights.strides.insert(0, each * weights.strides[0]);
    }
    let mut views = vec![whole(role::SOURCE, 0, lays), weights, whole(role::RESULT, last, lays)];
    if last == 3 {
        views.push(whole(role::BIAS, 2, lays));
    }
    Ok(Formula::Convolution(moves).of(views))
}

/// An operand with all its axes, whose rows lie densely.
fn whole(role: c_int, operand: usize, lays: &[Lay]) -> View {
    let dims: Vec<i64> = lays[operand].shape.iter().map(|&size| size as i64).collect();
    let stride = |axis: usize| dims[axis + 1..].iter().product::<i64>().max(1);
    let strides = (0..dims.len()).map(stride).collect();
    View { strides, dims, ..matrix(role, operand, lays) }
}

fn matmul(case: &ExplicitCase, lays: &[Lay]) -> Result<Recipe, Unsupported> {
    let (last, is_shared) = (lays.len() - 1, case.flag("shared")?);
    // Products that share the right side are one taller product, as in calls of linear layers.
    let view = |role, operand| match is_shared {
        true => matrix(role, operand, lays),
        false => planes(role, operand, lays),
    };
    let mut right = view(role::WEIGHTS, 1);
    if case.word("layout")? == "nt" {
        right.swap_last();
    }
    let mut views = vec![view(role::SOURCE, 0), right, view(role::RESULT, last)];
    if last == 3 {
        let axes = views[0].dims.len();
        views.push(row_of(role::BIAS, 2, lays, axes));
    }
    let recipe = Formula::Matmul.of(views);
    Ok(match case.word("activation")? {
        "relu" => recipe.after(After::Eltwise(algorithm::RELU, 0.0)),
        "gelu" => recipe.after(After::Eltwise(algorithm::GELU_ERF, 0.0)),
        "gelu_tanh" => recipe.after(After::Eltwise(algorithm::GELU_TANH, 0.0)),
        "silu" => recipe.after(After::Eltwise(algorithm::SWISH, 1.0)),
        _ => recipe,
    })
}

fn matmul_int8(_: &ExplicitCase, lays: &[Lay]) -> Result<Recipe, Unsupported> {
    let last = lays.len() - 1;
    let mut right = matrix(role::WEIGHTS, 1, lays);
    right.swap_last();
    let product = Formula::Matmul.of(vec![
        matrix(role::SOURCE, 0, lays),
        right,
        matrix(role::RESULT, last, lays),
    ]);
    if last < 4 {
        return Ok(product);
    }
    let mut of_rows = row_of(role::SECOND_SOURCE, 2, lays, 2);
    of_rows.swap_last();
    let of_columns = row_of(role::SECOND_SOURCE, 3, lays, 2);
    Ok(product
        .after(After::Binary(algorithm::MUL, of_rows))
        .after(After::Binary(algorithm::MUL, of_columns)))
}

/// All rows of an operand as one matrix.
fn matrix(role: c_int, operand: usize, lays: &[Lay]) -> View {
    let lay = &lays[operand];
    View {
        role,
        operand,
        dtype: number(lay.dtype).unwrap_or(0),
        dims: vec![lay.rows() as i64, lay.columns() as i64],
        // A stride is at least 1, even for an empty operand.
        strides: vec![lay.row_stride.max(1) as i64, 1],
    }
}

/// The matrices of an operand's first axis; a single one is just a matrix.
fn planes(role: c_int, operand: usize, lays: &[Lay]) -> View {
    let mut view = matrix(role, operand, lays);
    if let [planes, rows, _] = lays[operand].shape[..]
        && planes != 1
    {
        view.dims = vec![planes as i64, rows as i64, view.dims[1]];
        view.strides.insert(0, rows as i64 * view.strides[0]);
    }
    view
}

/// An operand of one axis as the only row of a view with this many axes.
fn row_of(role: c_int, operand: usize, lays: &[Lay], axes: usize) -> View {
    let length = lays[operand].columns() as i64;
    let mut view = matrix(role, operand, lays);
    (view.dims, view.strides) = (vec![1; axes], vec![length; axes]);
    (view.dims[axes - 1], view.strides[axes - 1]) = (length, 1);
    view
}

impl View {
    /// The same operand with its last two axes in the other order.
    fn swap_last(&mut self) {
        let last = self.dims.len() - 1;
        self.dims.swap(last - 1, last);
        self.strides.swap(last - 1, last);
    }
}

/// The library's number of an element type that it computes with.
pub(super) fn number(dtype: DType) -> Option<c_int> {
    match dtype {
        DType::F16 => Some(1),
        DType::Bf16 => Some(2),
        DType::F32 => Some(3),
        DType::I32 => Some(4),
        DType::I8 => Some(5),
        DType::U8 => Some(6),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::explicit;

    fn lay(dtype: DType, shape: &[usize], row_stride: usize) -> Lay {
        Lay { dtype, shape: shape.to_vec(), row_stride }
    }

    fn made(case: &str, lays: &[Lay]) -> Recipe {
        recipe(&explicit(&case.parse().unwrap()), lays).unwrap()
    }

    fn shapes(recipe: &Recipe) -> Vec<(usize, Vec<i64>, Vec<i64>)> {
        let views = recipe.views.iter();
        views.map(|view| (view.operand, view.dims.clone(), view.strides.clone())).collect()
    }

    #[test]
    fn a_transposed_right_side_is_a_matter_of_strides() {
        let lays = [
            lay(DType::Bf16, &[2, 3, 7], 8),
            lay(DType::Bf16, &[2, 5, 7], 9),
            lay(DType::F32, &[2, 3, 5], 6),
        ];
        let made = made("matmul:bf16[b=2,m=3,n=5,k=7;layout=nt,out=f32]", &lays);
        let expected = [
            (0, vec![2, 3, 7], vec![24, 8, 1]),
            (1, vec![2, 7, 5], vec![45, 1, 9]),
            (2, vec![2, 3, 5], vec![18, 6, 1]),
        ];
        assert_eq!(shapes(&made), expected);
        let types: Vec<c_int> = made.views.iter().map(|view| view.dtype).collect();
        assert_eq!(types, [2, 2, 3]);
    }

    #[test]
    fn products_with_one_right_side_are_one_product_with_its_bias() {
        let lays = [
            lay(DType::F32, &[2, 3, 7], 7),
            lay(DType::F32, &[7, 5], 5),
            lay(DType::F32, &[5], 5),
            lay(DType::F32, &[2, 3, 5], 5),
        ];
        let made = made("matmul:f32[b=2,m=3,n=5,k=7;shared=true,bias=true,activation=silu]", &lays);
        let expected = [
            (0, vec![6, 7], vec![7, 1]),
            (1, vec![7, 5], vec![5, 1]),
            (3, vec![6, 5], vec![5, 1]),
            (2, vec![1, 5], vec![5, 1]),
        ];
        assert_eq!(shapes(&made), expected);
        assert!(matches!(made.after[..], [After::Eltwise(algorithm::SWISH, _)]));
    }

    #[test]
    fn in_place_the_result_is_the_first_source() {
        let row = || lay(DType::F32, &[2, 3, 5], 5);
        let operands = |recipe: &Recipe| -> Vec<usize> {
            recipe.views.iter().map(|view| view.operand).collect()
        };
        let sum = made("add:f32[b=2,s=3,d=5;inplace=true]", &[row(), row()]);
        assert_eq!(operands(&sum), [1, 0, 1]);
        let softmax = made("softmax:f32[b=2,s=3,d=5;inplace=true]", &[row()]);
        assert_eq!(operands(&softmax), [0, 0]);
    }

    #[test]
    fn scales_of_codes_are_broadcast() {
        let lays = [
            lay(DType::I8, &[1, 2, 8], 9),
            lay(DType::F32, &[1, 2, 2], 2),
            lay(DType::F32, &[1, 2, 8], 8),
        ];
        let made = made("dequantize_int8:f32[b=1,s=2,d=8;scheme=group,group=4]", &lays);
        let expected = [
            (0, vec![2, 2, 4], vec![9, 4, 1]),
            (1, vec![2, 2, 1], vec![2, 1, 1]),
            (2, vec![2, 2, 4], vec![8, 4, 1]),
        ];
        assert_eq!(shapes(&made), expected);
    }
}
