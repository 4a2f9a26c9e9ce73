//! The product of two matrices, plainly and with what else the product can do.
//!
//! ```text
//! cargo run --release -p proofmark-ops --example matmul
//! ```
#![expect(clippy::print_stdout, reason = "a program of its own, which prints")]

use proofmark_ops::matmul::{Activation, Options, matmul};
use proofmark_ops::{Context, Mat, MatMut};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = Context::serial();
    let a = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    let b = [1.0f32, 0.0, 0.0, 1.0, 1.0, 1.0];
    let mut c = [0.0f32; 4];

    // 2 x 3 by 3 x 2.
    matmul(&context, Mat::new(&a, 2, 3), Mat::new(&b, 3, 2), MatMut::new(&mut c, 2, 2))?;
    println!("a b = {c:?}");

    // `b` stored as its transpose, with a bias and an activation.
    let transposed = [1.0f32, 0.0, 1.0, 0.0, 1.0, 1.0];
    let bias = [-10.0f32, 0.5];
    let layer = Options { bias: Some(&bias), activation: Activation::Relu, ..Options::default() };
    let right = Mat::new(&transposed, 2, 3).transposed();
    layer.run(&context, Mat::new(&a, 2, 3), right, MatMut::new(&mut c, 2, 2))?;
    println!("relu(a b + bias) = {c:?}");
    Ok(())
}
