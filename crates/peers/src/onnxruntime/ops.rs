//! What ONNX has for each op: nodes, or the reason why they are not its equal.

use super::model::{Graph, element};
use proofmark_contract::{ExplicitCase, Unsupported};
use proofmark_schema::DType;

/// The nodes of an op's case.
type Nodes = fn(&ExplicitCase) -> Result<Graph, String>;

/// Every op that there are nodes for.
pub(super) const OPS: &[(&str, Nodes)] = &[
    ("add", |case| f32_only(case, "y0 = Add(x0, x1)")),
    ("sub", |case| f32_only(case, "y0 = Sub(x0, x1)")),
    ("mul", |case| f32_only(case, "y0 = Mul(x0, x1)")),
    ("div", |case| f32_only(case, "y0 = Div(x0, x1)")),
    ("relu", |case| f32_only(case, &activation("relu", "x0", "y0")?)),
    ("exp", |case| f32_only(case, "y0 = Exp(x0)")),
    ("tanh", |case| f32_only(case, "y0 = Tanh(x0)")),
    ("sigmoid", |case| f32_only(case, "y0 = Sigmoid(x0)")),
    ("silu", |case| f32_only(case, &activation("silu", "x0", "y0")?)),
    ("gelu", |case| f32_only(case, &activation("gelu", "x0", "y0")?)),
    ("gelu_tanh", |case| f32_only(case, &activation("gelu_tanh", "x0", "y0")?)),
    ("gelu_quick", |case| f32_only(case, "y0 = own.QuickGelu<alpha=1.702>(x0)")),
    ("swiglu", |case| gated(case, "silu")),
    ("geglu", |case| gated(case, "gelu_tanh")),
    ("axpy", axpy),
    ("dot", dot),
    ("softmax", softmax),
    ("log_softmax", |case| f32_only(case, "y0 = LogSoftmax<axis=-1>(x0)")),
    ("rms_norm", |case| norm(case, &simplified(case, "y0", "x0", "x1")?)),
    ("layer_norm", layer_norm),
    ("add_rms_norm", add_rms_norm),
    ("qk_norm", qk_norm),
    ("rope", rope),
    ("attention", attention),
    ("sum", |case| reduction(case, "ReduceSum")),
    ("mean", |case| reduction(case, "ReduceMean")),
    ("max", |case| reduction(case, "ReduceMax")),
    ("mse", mse),
    ("softmax_grad", softmax_grad),
    ("transpose", |case| in_new_memory(case, "y0 = Transpose<perm=0:2:1>(x0)")),
    ("cast", cast),
    ("conv1d", conv),
    ("conv2d", conv),
    ("dequantize_int8", dequantize_int8),
    ("lstm", lstm),
    ("gru", gru),
    ("matmul", matmul),
    ("matmul_int8", matmul_int8),
];

/// The graph of a case.
///
/// # Errors
/// The reason why it has none, as a fragment.
pub(super) fn graph(case: &ExplicitCase) -> Result<Graph, String> {
    let known = OPS.iter().find(|(name, _)| *name == case.op);
    let (_, nodes) = known.ok_or_else(|| format!("it has no `{}`", case.op))?;
    nodes(case)
}

fn size(case: &ExplicitCase, axis: &str) -> usize {
    case.size(axis).unwrap_or(1) as usize
}

fn unless(is_other: bool, words: &str) -> Result<(), String> {
    if is_other { Err(words.to_owned()) } else { Ok(()) }
}

fn in_new_memory(case: &ExplicitCase, nodes: &str) -> Result<Graph, String> {
    unless(case.is_set("inplace"), "it writes results beside its inputs")?;
    Ok(Graph::from(nodes.to_owned()))
}

fn f32_only(case: &ExplicitCase, nodes: &str) -> Result<Graph, String> {
    unless(case.dtype != DType::F32, "its CPU kernels of this op are for f32")?;
    in_new_memory(case, nodes)
}

/// An activation from one value to another.
fn activation(name: &str, from: &str, to: &str) -> Result<String, String> {
    Ok(match name {
        "relu" => format!("{to} = Relu({from})"),
        "gelu" => format!("{to} = own.Gelu({from})"),
        "gelu_tanh" => format!("{to} = own.FastGelu({from})"),
        // The usual two ops, which the optimiser fuses into one.
        "silu" => format!("{to}_s = Sigmoid({from})\n{to} = Mul({from}, {to}_s)"),
        other => return Err(format!("it has no activation `{other}`")),
    })
}

fn gated(case: &ExplicitCase, name: &str) -> Result<Graph, String> {
    let opened = activation(name, "x0", "opened")?;
    f32_only(case, &format!("{opened}\ny0 = Mul(opened, x1)"))
}

fn axpy(case: &ExplicitCase) -> Result<Graph, String> {
    let alpha = case.real("alpha")?;
    let nodes = "scaled = Mul(alpha, x0)\ny0 = Add(scaled, x1)";
    f32_only(case, &format!("alpha = Constant<value_float={alpha:e}>()\n{nodes}"))
}

fn reduction(case: &ExplicitCase, op: &str) -> Result<Graph, String> {
    let is_empty = case.axes.iter().any(|(_, size)| *size == 0);
    unless(is_empty, "it does not reduce what is empty")?;
    let along = match case.word("axis")? {
        "s" => "1:",
        "b" => "0:",
        "all" => "0:1:2",
        _ => "2:",
    };
    // In this set of ops only sums take their axes as an operand.
    let nodes = match op {
        "ReduceSum" => {
            format!("along = Constant<value_ints={along}>()\ny0 = ReduceSum<keepdims=0>(x0, along)")
        }
        op => format!("y0 = {op}<axes={along},keepdims=0>(x0)"),
    };
    let graph = f32_only(case, &nodes)?;
    Ok(if along.len() > 2 { graph.shaped("y0", []) } else { graph })
}

fn mse(case: &ExplicitCase) -> Result<Graph, String> {
    let is_empty = case.axes.iter().any(|(_, size)| *size == 0);
    unless(is_empty, "it does not reduce what is empty")?;
    unless(case.word("reduction")? != "mean", "only the mean is composed")?;
    let nodes = "apart = Sub(x0, x1)\nsquares = Mul(apart, apart)\n\
                 y0 = ReduceMean<axes=0:1:2,keepdims=0>(squares)";
    Ok(f32_only(case, nodes)?.shaped("y0", []))
}

fn softmax_grad(case: &ExplicitCase) -> Result<Graph, String> {
    let nodes = "along = Constant<value_ints=2:>()\nproducts = Mul(x0, x1)\n\
                 sum = ReduceSum<keepdims=1>(products, along)\n\
                 apart = Sub(x1, sum)\ny0 = Mul(x0, apart)";
    f32_only(case, nodes)
}

/// Multiplies each pair of rows as a matrix of one row and a matrix of one column.
fn dot(case: &ExplicitCase) -> Result<Graph, String> {
    let (rows, d) = (size(case, "b") * size(case, "s"), size(case, "d"));
    let graph = f32_only(case, "y0 = MatMul(x0, x1)")?;
    Ok(graph.shaped("x0", [rows, 1, d]).shaped("x1", [rows, d, 1]).shaped("y0", [rows, 1, 1]))
}

fn softmax(case: &ExplicitCase) -> Result<Graph, String> {
    unless(case.word("mask")? != "none", "it has no mask inside its softmax")?;
    f32_only(case, "y0 = Softmax<axis=-1>(x0)")
}

/// Normalisations exist for the shorter floats too.
fn norm(case: &ExplicitCase, nodes: &str) -> Result<Graph, String> {
    unless(case.is("variant", "gemma"), "it weights by w, not by 1 + w")?;
    in_new_memory(case, nodes)
}

fn simplified(
    case: &ExplicitCase,
    to: &str,
    from: &str,
    weight: &str,
) -> Result<String, Unsupported> {
    let norm = format!("SimplifiedLayerNormalization<axis=-1,epsilon={:e}>", case.real("eps")?);
    Ok(format!("{to} = {norm}({from}, {weight})"))
}

fn layer_norm(case: &ExplicitCase) -> Result<Graph, String> {
    let eps = case.real("eps")?;
    let nodes = format!("y0 = LayerNormalization<axis=-1,epsilon={eps:e}>(x0, x1, x2)");
    norm(case, &nodes)
}

fn add_rms_norm(case: &ExplicitCase) -> Result<Graph, String> {
    let eps = case.real("eps")?;
    unless(case.dtype != DType::F32, "it normalises the sum before it is rounded")?;
    let op = format!("own.SkipSimplifiedLayerNormalization<epsilon={eps:e}>");
    norm(case, &format!("y1,,,y0 = {op}(x0, x1, x2)"))
}

fn qk_norm(case: &ExplicitCase) -> Result<Graph, String> {
    let nodes = match case.word("which")? {
        "both" => {
            let [q, k] = [("y0", "x0", "x2"), ("y1", "x1", "x3")];
            let nodes = [q, k].map(|(to, from, weight)| simplified(case, to, from, weight));
            nodes.into_iter().collect::<Result<Vec<_>, _>>()?.join("\n")
        }
        _ => simplified(case, "y0", "x0", "x1")?,
    };
    norm(case, &nodes)
}

/// The library treats heads side by side as one axis. Positions count from 0, as the rows of the
/// tables do.
fn rope(case: &ExplicitCase) -> Result<Graph, String> {
    let is_exact = case.word("angles")? != "table";
    unless(is_exact, "its angles come from tables: --attr angles=table")?;
    let [b, s, h, d] = ["b", "s", "h", "d"].map(|axis| size(case, axis));
    let interleaved = u8::from(case.word("pairing")? == "gptj");
    let part = match case.int("part")? as usize {
        part if part == d => 0,
        part => part,
    };
    let attributes = format!("interleaved={interleaved},num_heads={h},rotary_embedding_dim={part}");
    let nodes = format!(
        "first = Constant<value_ints=0:>()\n\
         y0 = own.RotaryEmbedding<{attributes}>(x0, first, x1, x2)"
    );
    Ok(f32_only(case, &nodes)?.shaped("x0", [b, s, h * d]).shaped("y0", [b, s, h * d]))
}

/// ONNX's own attention, whose causal mask aligns the first query with the first key.
fn attention(case: &ExplicitCase) -> Result<Graph, String> {
    let mask = case.word("mask")?;
    unless(mask == "window", "it has no window")?;
    unless(size(case, "t") == 0, "it has no attention without keys")?;
    let is_causal = mask == "causal";
    let is_square = size(case, "q") == size(case, "t");
    unless(is_causal && !is_square, "its causal mask aligns the first query with the first key")?;
    let scale = match case.real("scale")? {
        0.0 => String::new(),
        scale => format!(",scale={scale:e}"),
    };
    let causal = u8::from(is_causal);
    let graph = f32_only(case, &format!("y0 = Attention<is_causal={causal}{scale}>(x0, x1, x2)"))?;
    Ok(Graph { opset: (23, 11), ..graph })
}

fn cast(case: &ExplicitCase) -> Result<Graph, String> {
    let to = match case.word("to")? {
        "bf16" => DType::Bf16,
        "f16" => DType::F16,
        _ => DType::F32,
    };
    in_new_memory(case, &format!("y0 = Cast<to={}>(x0)", element(to) as u32))
}

fn conv(case: &ExplicitCase) -> Result<Graph, String> {
    unless(case.size("c") == Some(0), "it has no convolution without channels")?;
    let sides = if case.op == "conv1d" { 1 } else { 2 };
    // One number for each axis, or two for each: before and after.
    let list = |value: i64, count: usize| format!("{value}:").repeat(count);
    let attributes = format!(
        "strides={},pads={},dilations={},group={}",
        list(case.int("stride")?, sides),
        list(case.int("pad")?, 2 * sides),
        list(case.int("dilation")?, sides),
        case.int("groups")?
    );
    let bias = if case.flag("bias")? { ", x2" } else { "" };
    f32_only(case, &format!("y0 = Conv<{attributes}>(x0, x1{bias})"))
}

fn dequantize_int8(case: &ExplicitCase) -> Result<Graph, String> {
    let [b, s, d] = ["b", "s", "d"].map(|axis| size(case, axis));
    unless(!case.flag("symmetric")?, "its zero points have the type of the codes, not i32")?;
    let rows = b * s;
    let (attributes, scales) = match case.word("scheme")? {
        "tensor" => ("axis=0".to_owned(), vec![]),
        "channel" => ("axis=0".to_owned(), vec![rows]),
        _ => {
            let group = case.int("group")? as usize;
            (format!("axis=1,block_size={group}"), vec![rows, d.div_ceil(group.max(1))])
        }
    };
    let graph = f32_only(case, &format!("y0 = DequantizeLinear<{attributes}>(x0, x1)"))?;
    let graph = graph.shaped("x0", [rows, d]).shaped("x1", scales).shaped("y0", [rows, d]);
    Ok(Graph { opset: (21, 10), ..graph })
}

/// The gates of ours (i, f, g, o) in its order, in each call: weights are inputs.
fn lstm(case: &ExplicitCase) -> Result<Graph, String> {
    let order = ["i", "o", "f", "g"];
    let nodes = format!(
        "{}y0,y1,y2 = LSTM<hidden_size={}>(x0, w, u, bias, , x1, x2)",
        gates(["x3", "x4", "x5", "x6"], &["i", "f", "g", "o"], &order),
        size(case, "h")
    );
    Ok(recurrent(case, &nodes, ["x3", "x4", "x5", "x6"], 4)?
        .shaped("x2", [1, size(case, "b"), size(case, "h")])
        .shaped("y2", [1, size(case, "b"), size(case, "h")]))
}

/// The gates of ours (r, z, n) in its order, in each call: weights are inputs.
fn gru(case: &ExplicitCase) -> Result<Graph, String> {
    let order = ["z", "r", "n"];
    let nodes = format!(
        "{}y0,y1 = GRU<hidden_size={},linear_before_reset=1>(x0, w, u, bias, , x1)",
        gates(["x2", "x3", "x4", "x5"], &["r", "z", "n"], &order),
        size(case, "h")
    );
    recurrent(case, &nodes, ["x2", "x3", "x4", "x5"], 3)
}

/// Nodes that put the gates of both weights and both biases into another order: `w`, `u`, `bias`.
fn gates(operands: [&str; 4], given: &[&str], wanted: &[&str]) -> String {
    let named = |operand: &str, gates: &[&str]| {
        gates.iter().map(|gate| format!("{operand}{gate}")).collect::<Vec<_>>().join(",")
    };
    let split = |operand: &str| {
        let parts = named(operand, given);
        format!("{parts} = Split<axis=1>({operand})\n")
    };
    let [w, u, b, d] = operands;
    let parts: String = operands.map(split).concat();
    let joined = |parts: &str| format!("Concat<axis=1>({parts})\n");
    let (weights, states) = (joined(&named(w, wanted)), joined(&named(u, wanted)));
    let biases = joined(&format!("{},{}", named(b, wanted), named(d, wanted)));
    format!("{parts}w = {weights}u = {states}bias = {biases}")
}

/// A recurrent layer in one direction, which is an axis of its own in all but the inputs.
fn recurrent(
    case: &ExplicitCase,
    nodes: &str,
    [w, u, b, d]: [&'static str; 4],
    gates: usize,
) -> Result<Graph, String> {
    let [t, batch, inputs, units] = ["t", "b", "i", "h"].map(|axis| size(case, axis));
    unless(t * batch * inputs * units == 0, "it has no layer without steps, inputs or units")?;
    Ok(f32_only(case, nodes)?
        .shaped("x1", [1, batch, units])
        .shaped(w, [1, gates * units, inputs])
        .shaped(u, [1, gates * units, units])
        .shaped(b, [1, gates * units])
        .shaped(d, [1, gates * units])
        .shaped("y0", [t, 1, batch, units])
        .shaped("y1", [1, batch, units]))
}

fn matmul(case: &ExplicitCase) -> Result<Graph, String> {
    let product = match case.word("layout")? {
        "nt" => "own.FusedMatMul<transB=1>",
        _ => "MatMul",
    };
    let has_bias = case.flag("bias")?;
    let mut nodes = format!("product = {product}(x0, x1)\n");
    let mut last = "product";
    if has_bias {
        nodes += "biased = Add(product, x2)\n";
        last = "biased";
    }
    // The last node writes the result.
    nodes = match case.word("activation")? {
        "none" => nodes.replace(&format!("{last} = "), "y0 = "),
        name => nodes + &activation(name, last, "y0")?,
    };
    f32_only(case, &nodes)
}

/// Weights come transposed to what it multiplies with, as all weights do here.
fn matmul_int8(case: &ExplicitCase) -> Result<Graph, String> {
    let product = "right = Transpose<perm=1:0>(x1)\nsum = MatMulInteger(x0, right)\n";
    if case.word("out")? == "i32" {
        return in_new_memory(case, &product.replace("sum = ", "y0 = "));
    }
    let scaled = "wide = Cast<to=1>(sum)\nhalf = Mul(wide, x2)\ny0 = Mul(half, x3)";
    Ok(in_new_memory(case, &format!("{product}{scaled}"))?.shaped("x2", [size(case, "m"), 1]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::explicit;

    fn nodes(case: &str) -> Result<String, String> {
        graph(&explicit(&case.parse().unwrap())).map(|graph| graph.nodes)
    }

    #[test]
    fn an_epilogue_follows_the_product_and_the_last_node_writes_the_result() {
        let plain = nodes("matmul:f32[m=3,n=5,k=7]").unwrap();
        assert_eq!(plain, "y0 = MatMul(x0, x1)\n");
        let bias = nodes("matmul:f32[m=3,n=5,k=7;layout=nt,bias=true]").unwrap();
        assert!(bias.ends_with("y0 = Add(product, x2)\n"), "{bias}");
        let both = nodes("matmul:f32[m=3,n=5,k=7;bias=true,activation=relu]").unwrap();
        assert!(both.ends_with("y0 = Relu(biased)"), "{both}");
    }

    #[test]
    fn a_reduction_is_along_the_axis_of_the_case() {
        let mean = nodes("mean:f32[b=2,s=3,d=4;axis=s]").unwrap();
        assert_eq!(mean, "y0 = ReduceMean<axes=1:,keepdims=0>(x0)");
        let sum = graph(&explicit(&"sum:f32[b=2,s=3,d=4;axis=all]".parse().unwrap())).unwrap();
        assert!(sum.nodes.contains("value_ints=0:1:2"), "{}", sum.nodes);
        assert_eq!(sum.shapes, [("y0", vec![])]);
        assert!(nodes("max:f32[b=2,s=0,d=4;axis=s]").is_err());
    }

    #[test]
    fn taps_are_told_for_each_axis() {
        let line = nodes("conv1d:f32[b=1,c=4,o=4,l=9;pad=2,groups=2]").unwrap();
        let told = "y0 = Conv<strides=1:,pads=2:2:,dilations=1:,group=2>(x0, x1)";
        assert_eq!(line, told);
        let plane = nodes("conv2d:f32[b=1,c=4,o=4,h=9,w=9;stride=2,bias=true]").unwrap();
        assert!(plane.contains("strides=2:2:,pads=1:1:1:1:") && plane.ends_with("x2)"), "{plane}");
    }

    #[test]
    fn gates_are_brought_into_its_order() {
        let gru = nodes("gru:f32[t=2,b=3,i=4,h=5]").unwrap();
        assert!(gru.starts_with("x2r,x2z,x2n = Split<axis=1>(x2)\n"), "{gru}");
        let bias = "bias = Concat<axis=1>(x4z,x4r,x4n,x5z,x5r,x5n)\n";
        assert!(gru.contains("w = Concat<axis=1>(x2z,x2r,x2n)\n") && gru.contains(bias), "{gru}");
        let lstm = nodes("lstm:f32[t=2,b=3,i=4,h=5]").unwrap();
        assert!(lstm.contains("u = Concat<axis=1>(x4i,x4o,x4f,x4g)\n"), "{lstm}");
        assert!(nodes("lstm:f32[t=0,b=3,i=4,h=5]").is_err());
    }

    #[test]
    fn what_it_has_no_equal_of_is_refused_with_the_reason() {
        let refused = |case: &str| nodes(case).expect_err(case);
        assert!(refused("add:bf16[d=8]").contains("f32"));
        assert!(refused("add:f32[d=8;inplace=true]").contains("beside"));
        assert!(refused("rms_norm:f32[d=8;variant=gemma]").contains("1 + w"));
        assert!(refused("attention:f32[q=1,t=8;mask=causal]").contains("aligns"));
        assert!(refused("attention:f32[q=8,t=0]").contains("without keys"));
        assert!(refused("attention:f32[q=8,t=8;mask=window,window=2]").contains("window"));
        assert!(refused("rope:f32[s=8;angles=exact]").contains("--attr angles=table"));
        assert!(refused("matmul_q8:f32[m=1]").contains("no `matmul_q8`"));
        assert!(nodes("attention:f32[q=8,t=8;mask=causal]").unwrap().contains("is_causal=1"));
        assert!(nodes("rms_norm:bf16[d=8]").is_ok());
    }
}
