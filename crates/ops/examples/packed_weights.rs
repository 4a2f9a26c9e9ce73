//! A linear layer in bf16 on two threads: the weight is packed once and used for many products.
//!
//! ```text
//! cargo run --release -p proofmark-ops --example packed_weights
//! ```
#![expect(clippy::print_stdout, reason = "a program of its own, which prints")]

use proofmark_ops::matmul::{Activation, Options, Packed};
use proofmark_ops::{Context, Mat, MatMut, bf16};

const TOKENS: usize = 8;
const INPUTS: usize = 256;
const OUTPUTS: usize = 128;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = Context::with_threads(2)?;
    let of = |i: usize| bf16::from_f32((i % 7) as f32 / 8.0 - 0.375);
    let weight: Vec<bf16> = (0..OUTPUTS * INPUTS).map(of).collect();
    let bias = [bf16::from_f32(0.5); OUTPUTS];
    let x: Vec<bf16> = (0..TOKENS * INPUTS).map(|i| of(i * 3)).collect();

    // Stored as [outputs, inputs], as most models do: the product takes the transpose.
    let packed = Packed::new(&context, Mat::new(&weight, OUTPUTS, INPUTS).transposed())?;
    let layer = Options { bias: Some(&bias), activation: Activation::Silu, ..Options::default() };
    // Sums are f32, and so may the result be.
    let mut y = vec![0.0f32; TOKENS * OUTPUTS];
    let x = Mat::new(&x, TOKENS, INPUTS);
    layer.run(&context, x, &packed, MatMut::new(&mut y, TOKENS, OUTPUTS))?;
    println!("first results: {:?}", &y[..4]);
    Ok(())
}
