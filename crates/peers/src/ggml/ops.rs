//! Each op as nodes of ggml's graphs, or the reason why they are not its equal.

use super::graph::{Bound, Maker};
use super::library::Handle;
use proofmark_contract::{ExplicitCase, KernelError};
use proofmark_schema::DType;
use std::ffi::{CStr, c_int};
use std::ptr::null_mut;

/// The last nodes of a case's graph over operands in the order of calls.
type Nodes = fn(&mut Maker<'_>, &ExplicitCase, &[Bound]) -> Result<Vec<Handle>, KernelError>;

/// An op: what its element types are, and its nodes.
pub(super) struct Op {
    dtypes: &'static [DType],
    nodes: Nodes,
}

const ALL: &[DType] = &[DType::F32, DType::Bf16, DType::F16];
const HALF: &[DType] = &[DType::F32, DType::F16];
const SINGLE: &[DType] = &[DType::F32];

const fn op(dtypes: &'static [DType], nodes: Nodes) -> Op {
    Op { dtypes, nodes }
}

/// Every op that there are nodes for. In place, the written operand follows those that are only
/// read. Its geglu is left out because it looks the gate up in a table of f16 numbers before the
/// product.
pub(super) const OPS: &[(&str, Op)] = &[
    ("add", op(ALL, |m, _, given| two(m, [c"ggml_add", c"ggml_add_inplace"], given))),
    ("sub", op(ALL, |m, _, given| two(m, [c"ggml_sub", c"ggml_sub_inplace"], given))),
    ("mul", op(ALL, |m, _, given| two(m, [c"ggml_mul", c"ggml_mul_inplace"], given))),
    ("div", op(ALL, |m, _, given| two(m, [c"ggml_div", c"ggml_div_inplace"], given))),
    ("relu", op(ALL, |m, _, given| one(m, [c"ggml_relu", c"ggml_relu_inplace"], given))),
    ("exp", op(ALL, |m, _, given| one(m, [c"ggml_exp", c"ggml_exp_inplace"], given))),
    ("tanh", op(ALL, |m, _, given| one(m, [c"ggml_tanh", c"ggml_tanh_inplace"], given))),
    ("sigmoid", op(ALL, |m, _, given| one(m, [c"ggml_sigmoid", c"ggml_sigmoid_inplace"], given))),
    ("silu", op(HALF, |m, _, given| one(m, [c"ggml_silu", c"ggml_silu_inplace"], given))),
    ("gelu", op(HALF, |m, _, given| one(m, [c"ggml_gelu_erf", c"ggml_gelu_erf_inplace"], given))),
    ("gelu_tanh", op(HALF, |m, _, given| one(m, [c"ggml_gelu", c"ggml_gelu_inplace"], given))),
    (
        "gelu_quick",
        op(HALF, |m, _, given| one(m, [c"ggml_gelu_quick", c"ggml_gelu_quick_inplace"], given)),
    ),
    ("swiglu", op(HALF, |m, _, given| two(m, [c"ggml_swiglu_split", NONE], given))),
    ("axpy", op(SINGLE, axpy)),
    ("dot", op(ALL, dot)),
    ("softmax", op(SINGLE, softmax)),
    (
        "rms_norm",
        op(SINGLE, |m, case, given| Ok(vec![rms_norm(m, case, given[0], given[1], given[2])?])),
    ),
    ("layer_norm", op(SINGLE, layer_norm)),
    ("add_rms_norm", op(SINGLE, add_rms_norm)),
    ("qk_norm", op(SINGLE, qk_norm)),
    ("rope", op(HALF, rope)),
    ("attention", op(SINGLE, attention)),
    ("transpose", op(ALL, transpose)),
    ("cast", op(ALL, cast)),
    ("matmul", op(ALL, matmul)),
];

/// There is no such function.
const NONE: &CStr = c"";

/// Whether the library has an equal of a case.
///
/// # Errors
/// The reason why not, as a fragment.
pub(super) fn supports(case: &ExplicitCase) -> Result<(), String> {
    let op = find(case)?;
    let unless = |is_other: bool, words: &str| match is_other {
        true => Err(words.to_owned()),
        false => Ok(()),
    };
    if !op.dtypes.contains(&case.dtype) {
        return Err(format!("its {} has no {}", case.op, case.dtype));
    }
    unless(case.is("rounding", "stochastic"), "it rounds to the nearest")?;
    unless(case.is("variant", "gemma"), "it has no weight of 1 + w")?;
    let is_in_place = case.is_set("inplace");
    let size = |axis: &str| case.size(axis).unwrap_or(1);
    match case.op.as_str() {
        "matmul" => {
            unless(case.word("layout")? != "nt", "it has weights of [n,k] only: --attr layout=nt")?;
            unless(
                case.dtype != DType::F32 && case.word("out")? != "f32",
                "its products are f32: --attr out=f32",
            )?;
            let is_plain = !case.flag("bias")? && case.word("activation")? == "none";
            unless(!is_plain, "nothing follows inside its products")
        }
        // Its results are f16 numbers, whatever the element type is.
        "gelu_tanh" | "gelu_quick" => unless(
            case.dtype == DType::F32,
            "it looks f32 up in a table of f16 numbers: --dtype f16",
        ),
        "swiglu" | "axpy" => unless(is_in_place, "it has none of it in place"),
        "softmax" => {
            let is_masked = case.word("mask")? != "none";
            unless(is_masked && size("d") < size("s"), "its mask has at least as many columns")?;
            unless(is_masked && is_in_place, "its mask is another operand's copy")
        }
        "rope" => {
            let is_table = case.word("angles")? == "table";
            unless(is_table, "it computes its angles: --attr angles=exact")?;
            unless(case.word("scaling")? == "llama3", "it scales by factors of its own")
        }
        "attention" => unless(case.word("mask")? == "window", "its masks are given to it"),
        _ => Ok(()),
    }
}

/// The last nodes of a case's graph.
pub(super) fn nodes(
    maker: &mut Maker<'_>,
    case: &ExplicitCase,
    given: &[Bound],
) -> Result<Vec<Handle>, KernelError> {
    (find(case).map_err(KernelError::Refused)?.nodes)(maker, case, given)
}

fn find(case: &ExplicitCase) -> Result<&'static Op, String> {
    let known = OPS.iter().find(|(name, _)| *name == case.op);
    known.map(|(_, op)| op).ok_or_else(|| format!("it has no `{}`", case.op))
}

fn one(
    maker: &mut Maker<'_>,
    [anew, in_place]: [&CStr; 2],
    given: &[Bound],
) -> Result<Vec<Handle>, KernelError> {
    Ok(vec![match *given {
        [x] => maker.unary(in_place, maker.tensor(x)?)?,
        [x, y, ..] => maker.lay(maker.unary(anew, maker.tensor(x)?)?, y)?,
        [] => null_mut(),
    }])
}

fn two(
    maker: &mut Maker<'_>,
    [anew, in_place]: [&CStr; 2],
    given: &[Bound],
) -> Result<Vec<Handle>, KernelError> {
    Ok(vec![match *given {
        [b, a] => maker.binary(in_place, maker.tensor(a)?, maker.tensor(b)?)?,
        [a, b, c, ..] => maker.lay(maker.binary(anew, maker.tensor(a)?, maker.tensor(b)?)?, c)?,
        _ => null_mut(),
    }])
}

fn axpy(
    maker: &mut Maker<'_>,
    case: &ExplicitCase,
    given: &[Bound],
) -> Result<Vec<Handle>, KernelError> {
    let scale: unsafe extern "C" fn(Handle, Handle, f32) -> Handle =
        maker.function(c"ggml_scale")?;
    let alpha = case.real("alpha")? as f32;
    // SAFETY: the declared type, on tensors of this context.
    let scaled = unsafe { scale(maker.context, maker.tensor(given[0])?, alpha) };
    let scaled = maker.lay(scaled, given[2])?;
    Ok(vec![maker.binary(c"ggml_add_inplace", scaled, maker.tensor(given[1])?)?])
}

/// Each pair of rows is a product of matrices of one row.
fn dot(
    maker: &mut Maker<'_>,
    _: &ExplicitCase,
    given: &[Bound],
) -> Result<Vec<Handle>, KernelError> {
    let (x, y) = (maker.tensor(given[0].row_by_row())?, maker.tensor(given[1].row_by_row())?);
    let product = maker.binary(c"ggml_mul_mat", x, y)?;
    Ok(vec![maker.lay(product, given[2])?])
}

fn softmax(
    maker: &mut Maker<'_>,
    case: &ExplicitCase,
    given: &[Bound],
) -> Result<Vec<Handle>, KernelError> {
    let names = [c"ggml_soft_max", c"ggml_soft_max_inplace"];
    if case.word("mask")? == "none" {
        return one(maker, names, given);
    }
    let mask: unsafe extern "C" fn(Handle, Handle, c_int) -> Handle =
        maker.function(c"ggml_diag_mask_inf")?;
    let before = given[0].sizes[0] - given[0].sizes[1];
    // SAFETY: the declared type, on a tensor of this context.
    let masked = unsafe { mask(maker.context, maker.tensor(given[0])?, before as c_int) };
    let masked = maker.lay(masked, given[1])?;
    Ok(vec![maker.unary(names[1], masked)?])
}

fn normal(
    maker: &Maker<'_>,
    name: &CStr,
    x: Handle,
    eps: f64,
    y: Bound,
) -> Result<Handle, KernelError> {
    let norm: unsafe extern "C" fn(Handle, Handle, f32) -> Handle = maker.function(name)?;
    // SAFETY: the declared type, on a tensor of this context.
    maker.lay(unsafe { norm(maker.context, x, eps as f32) }, y)
}

fn rms_norm(
    maker: &Maker<'_>,
    case: &ExplicitCase,
    x: Bound,
    w: Bound,
    y: Bound,
) -> Result<Handle, KernelError> {
    let normal = normal(maker, c"ggml_rms_norm", maker.tensor(x)?, case.real("eps")?, y)?;
    // In place, as the library's allocator of graphs lays it out.
    maker.binary(c"ggml_mul_inplace", normal, maker.tensor(w)?)
}

fn layer_norm(
    maker: &mut Maker<'_>,
    case: &ExplicitCase,
    given: &[Bound],
) -> Result<Vec<Handle>, KernelError> {
    let x = maker.tensor(given[0])?;
    let normal = normal(maker, c"ggml_norm", x, case.real("eps")?, given[3])?;
    let scaled = maker.binary(c"ggml_mul_inplace", normal, maker.tensor(given[1])?)?;
    Ok(vec![maker.binary(c"ggml_add_inplace", scaled, maker.tensor(given[2])?)?])
}

fn add_rms_norm(
    maker: &mut Maker<'_>,
    case: &ExplicitCase,
    given: &[Bound],
) -> Result<Vec<Handle>, KernelError> {
    let sum = maker.binary(c"ggml_add", maker.tensor(given[0])?, maker.tensor(given[1])?)?;
    let sum = maker.lay(sum, given[3])?;
    let normal = normal(maker, c"ggml_rms_norm", sum, case.real("eps")?, given[4])?;
    Ok(vec![maker.binary(c"ggml_mul_inplace", normal, maker.tensor(given[2])?)?])
}

fn qk_norm(
    maker: &mut Maker<'_>,
    case: &ExplicitCase,
    given: &[Bound],
) -> Result<Vec<Handle>, KernelError> {
    // All inputs come first, then all weights, then all outputs: one each for q, for k, or for
    // both.
    let count = given.len() / 3;
    let norm = |place: usize| {
        rms_norm(maker, case, given[place], given[count + place], given[2 * count + place])
    };
    (0..count).map(norm).collect()
}

fn rope(
    maker: &mut Maker<'_>,
    case: &ExplicitCase,
    given: &[Bound],
) -> Result<Vec<Handle>, KernelError> {
    type Rope = unsafe extern "C" fn(
        Handle,
        Handle,
        Handle,
        Handle,
        c_int,
        c_int,
        c_int,
        f32,
        f32,
        f32,
        f32,
        f32,
        f32,
    ) -> Handle;
    let is_in_place = case.flag("inplace")?;
    let name = if is_in_place { c"ggml_rope_ext_inplace" } else { c"ggml_rope_ext" };
    let rope: Rope = maker.function(name)?;
    // In place, the written operand follows the positions.
    let (x, positions) = if is_in_place { (given[1], given[0]) } else { (given[0], given[1]) };
    let part = match case.int("part")? as usize {
        0 => x.sizes[0],
        part => part,
    };
    let mode = if case.word("pairing")? == "gptj" { 0 } else { 2 };
    let slower = match case.word("scaling")? {
        "linear" => 1.0 / case.real("factor")? as f32,
        _ => 1.0,
    };
    let (x, positions) = (maker.tensor(x)?, maker.tensor(positions)?);
    let theta = case.real("theta")? as f32;
    // SAFETY: the declared type, on tensors of this context; there are no factors.
    let turned = unsafe {
        rope(
            maker.context,
            x,
            positions,
            null_mut(),
            part as c_int,
            mode,
            0,
            theta,
            slower,
            0.0,
            1.0,
            32.0,
            1.0,
        )
    };
    Ok(vec![if is_in_place { turned } else { maker.lay(turned, given[2])? }])
}

/// The result has the heads of a query side by side, so it is copied to where heads are apart.
fn attention(
    maker: &mut Maker<'_>,
    case: &ExplicitCase,
    given: &[Bound],
) -> Result<Vec<Handle>, KernelError> {
    type Attend =
        unsafe extern "C" fn(Handle, Handle, Handle, Handle, Handle, f32, f32, f32) -> Handle;
    type Permute = unsafe extern "C" fn(Handle, Handle, c_int, c_int, c_int, c_int) -> Handle;
    let attend: Attend = maker.function(c"ggml_flash_attn_ext")?;
    let permute: Permute = maker.function(c"ggml_permute")?;
    let [q, k, v, o] = [given[0], given[1], given[2], given[3]];
    let [d, queries, heads, batches] = q.sizes;
    let scale = match case.real("scale")? {
        0.0 => (d as f64).sqrt().recip(),
        scale => scale,
    };
    let mask = match case.word("mask")? {
        "causal" => {
            let keys = k.sizes[1];
            let before = keys as isize - queries as isize;
            let hidden = (0..queries)
                .flat_map(|query| (0..keys).map(move |key| key as isize > before + query as isize));
            // Minus infinity in f16, where a key is hidden from a query.
            let bits = hidden.flat_map(|is_hidden| if is_hidden { [0x00, 0xfc] } else { [0; 2] });
            maker.constant(DType::F16, [keys, queries, 1, 1], &bits.collect::<Vec<u8>>())?
        }
        _ => null_mut(),
    };
    let (q, k, v) = (maker.tensor(q)?, maker.tensor(k)?, maker.tensor(v)?);
    // SAFETY: the declared types, on tensors of this context.
    let permuted = unsafe {
        let result = attend(maker.context, q, k, v, mask, scale as f32, 0.0, 0.0);
        let result = maker.keep(result, d * heads * queries * batches * size_of::<f32>())?;
        permute(maker.context, result, 0, 2, 1, 3)
    };
    Ok(vec![maker.lay(maker.unary(c"ggml_cont", permuted)?, o)?])
}

fn transpose(
    maker: &mut Maker<'_>,
    _: &ExplicitCase,
    given: &[Bound],
) -> Result<Vec<Handle>, KernelError> {
    let turned = maker.unary(c"ggml_transpose", maker.tensor(given[0])?)?;
    Ok(vec![maker.lay(maker.unary(c"ggml_cont", turned)?, given[1])?])
}

fn cast(
    maker: &mut Maker<'_>,
    _: &ExplicitCase,
    given: &[Bound],
) -> Result<Vec<Handle>, KernelError> {
    let (x, y) = (maker.tensor(given[0])?, maker.tensor(given[1])?);
    Ok(vec![maker.binary(c"ggml_cpy", x, y)?])
}

fn matmul(
    maker: &mut Maker<'_>,
    _: &ExplicitCase,
    given: &[Bound],
) -> Result<Vec<Handle>, KernelError> {
    let (left, right) = (maker.tensor(given[0])?, maker.tensor(given[1])?);
    Ok(vec![maker.lay(maker.binary(c"ggml_mul_mat", right, left)?, given[2])?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::explicit;

    #[test]
    fn cases_without_an_equal_are_refused_with_what_would_do() {
        let refused =
            |case: &str| supports(&explicit(&case.parse().unwrap())).err().unwrap_or_default();
        assert!(refused("matmul:f32[m=2,n=2,k=2]").contains("--attr layout=nt"));
        assert_eq!(refused("matmul:f32[m=2,n=2,k=2;layout=nt]"), "");
        assert!(refused("matmul:bf16[m=2,n=2,k=2;layout=nt]").contains("--attr out=f32"));
        assert_eq!(refused("matmul:bf16[m=2,n=2,k=2;layout=nt,out=f32]"), "");
        assert!(refused("matmul:f32[m=2,n=2,k=2;layout=nt,bias=true]").contains("follows"));
        assert_eq!(refused("softmax:bf16[d=8]"), "its softmax has no bf16");
        assert_eq!(refused("add:bf16[d=8;inplace=true]"), "");
        assert!(refused("rope:f32[d=8;angles=table]").contains("--attr angles=exact"));
        assert!(refused("rms_norm:f32[d=8;variant=gemma]").contains("1 + w"));
        assert!(refused("gelu_tanh:f32[d=8]").contains("--dtype f16"));
        assert_eq!(refused("gelu_tanh:f16[d=8]") + &refused("gelu:f32[d=8]"), "");
        assert!(refused("log_softmax:f32[d=8]").contains("no `log_softmax`"));
    }
}
