//! Twelve ops, each called once and checked against a result that is known.
//!
//! ```text
//! cargo run --release -p proofmark-ops --example twelve_ops
//! ```
#![expect(clippy::print_stdout, reason = "a program of its own, which prints")]

use proofmark_ops::reduce::{Axis, sum};
use proofmark_ops::{Context, Mat, MatMut, bf16, cast, cross_entropy, dot, elementwise};
use proofmark_ops::{layer_norm, log_softmax, matmul, mse, rms_norm, softmax, transpose};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = Context::with_threads(2)?;
    let (two, four) = ([1.0f32, 3.0], [1.0f32, 2.0, 3.0, 4.0]);
    let mut pair = [0.0f32; 2];
    let mut square = [0.0f32; 4];

    elementwise::add(&context, &two, &two, &mut pair)?;
    assert_eq!(pair, [2.0, 6.0]);

    assert_eq!(dot::dot(&context, &two, &two)?, 10.0);

    assert_eq!(mse::mse(&context, &two, &[0.0, 0.0])?, 5.0);

    let mut halves = [bf16::ZERO; 2];
    cast::cast(&context, &two, &mut halves)?;
    assert_eq!(halves, [bf16::from_f32(1.0), bf16::from_f32(3.0)]);

    softmax::softmax(&context, &[0.0f32, 0.0], &mut pair)?;
    assert_eq!(pair, [0.5, 0.5]);

    log_softmax::log_softmax(&context, &[0.0f32, 0.0], &mut pair)?;
    assert!(pair.iter().all(|y| (y + std::f32::consts::LN_2).abs() < 1e-6));

    rms_norm::rms_norm(&context, &[2.0f32, -2.0], &[1.0, 0.5], &mut pair)?;
    assert!((pair[0] - 1.0).abs() < 1e-5 && (pair[1] + 0.5).abs() < 1e-5);

    layer_norm::layer_norm(&context, &two, &[1.0, 1.0], &[0.0, 10.0], &mut pair)?;
    assert!((pair[0] + 1.0).abs() < 1e-4 && (pair[1] - 11.0).abs() < 1e-4);

    let matrix = Mat::new(&four, 2, 2);
    matmul::matmul(&context, matrix, matrix, MatMut::new(&mut square, 2, 2))?;
    assert_eq!(square, [7.0, 10.0, 15.0, 22.0]);

    transpose::transpose(&context, matrix, MatMut::new(&mut square, 2, 2))?;
    assert_eq!(square, [1.0, 3.0, 2.0, 4.0]);

    sum(&context, &four, [1, 2, 2], Axis::D, &mut pair)?;
    assert_eq!(pair, [3.0, 7.0]);

    let loss = cross_entropy::cross_entropy(&context, Mat::new(&[0.0f32, 0.0], 1, 2), &[1])?;
    assert!((loss - std::f32::consts::LN_2).abs() < 1e-6);

    println!("12 calls, 12 results as expected");
    Ok(())
}
