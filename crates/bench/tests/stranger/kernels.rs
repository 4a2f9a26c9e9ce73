//! A bench of a stranger: an op of its own, and kernels for it and for a built-in op.

use proofmark::Real;

#[proofmark::op(
    r#"
summary = "softmax over groups of g neighbouring columns"
axes = { rows = 128, cols = 1024 }
attributes = { g = { values = [4, 8, 16], default = 8 } }
valid = "cols % g == 0"

[operands]
x = { role = "input", shape = ["rows", "cols"] }
y = { role = "output", shape = ["rows", "cols"] }

[work]
flops = "5 * rows * cols"
"#
)]
fn group_softmax<T: Real>(x: &[T], y: &mut [T], g: usize) {
    for (x, y) in x.chunks_exact(g).zip(y.chunks_exact_mut(g)) {
        let max = x.iter().fold(T::NEG_INFINITY, |max, x| max.max(*x));
        let sum: T = x.iter().map(|x| (*x - max).exp()).sum();
        for (x, y) in x.iter().zip(y) {
            *y = (*x - max).exp() / sum;
        }
    }
}

/// The library's softmax on groups.
#[proofmark::kernel(op = "group_softmax")]
fn fast(x: &[f32], y: &mut [f32], g: i32) -> Result<(), String> {
    let g = usize::try_from(g).map_err(|error| error.to_string())?;
    stranger::softmax(x, y, g);
    Ok(())
}

/// The library's softmax, on rows that need not lie densely.
#[proofmark::kernel(op = "softmax")]
fn mine(x: &[f32], x_stride: usize, y: &mut [f32], y_stride: usize, d: usize) {
    for (x, y) in x.chunks(x_stride.max(1)).zip(y.chunks_mut(y_stride.max(1))) {
        stranger::softmax(&x[..d], &mut y[..d], d);
    }
}

#[proofmark::op(
    r#"
summary = "y = 2 * weight * x in each row"
axes = { rows = 64, cols = 256 }

[operands]
x = { role = "input", shape = ["rows", "cols"] }
weight = { role = "weight", shape = ["cols"] }
y = { role = "output", shape = ["rows", "cols"] }
"#
)]
fn doubled<T: Real>(x: &[T], weight: &[T], y: &mut [T], cols: usize) {
    for (x, y) in x.chunks_exact(cols).zip(y.chunks_exact_mut(cols)) {
        for at in 0..cols {
            y[at] = T::of(2.0) * weight[at] * x[at];
        }
    }
}

#[proofmark::setup(op = "doubled", name = "packed", packed_bytes = "4 * cols")]
fn pack(weight: &[f32], packed: &mut [f32]) {
    stranger::packed(weight, packed);
}

/// It multiplies by weights that were doubled before.
#[proofmark::kernel(op = "doubled", packed_bytes = "4 * cols")]
fn packed(x: &[f32], y: &mut [f32], packed: &[f32], cols: usize) {
    for (x, y) in x.chunks_exact(cols).zip(y.chunks_exact_mut(cols)) {
        for at in 0..cols {
            y[at] = packed[at] * x[at];
        }
    }
}

proofmark::main!();
