//! Softmax of some columns of a larger matrix, in place.
//!
//! ```text
//! cargo run --release -p proofmark-ops --example softmax
//! ```
#![expect(clippy::print_stdout, reason = "a program of its own, which prints")]

use proofmark_ops::{Context, MatMut, softmax};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = Context::serial();
    // Three rows of four scores, each followed by two numbers that stay.
    let mut scores = [
        1.0f32, 2.0, 3.0, 4.0, -1.0, -1.0, //
        0.0, 0.0, 0.0, 0.0, -1.0, -1.0, //
        9.0, 1.0, 1.0, 1.0, -1.0, -1.0,
    ];
    softmax::in_place(&context, MatMut::new(&mut scores, 3, 4).stride(6))?;
    for row in scores.chunks_exact(6) {
        println!("{row:.3?}");
    }
    Ok(())
}
