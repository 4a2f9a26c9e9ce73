//! Strides, refusals and plans, seen through the doors of a few ops.

use super::{Context, Error, Mat, MatMut};
use crate::matmul::{Activation, Options, Packed, matmul};
use crate::rms_norm::Variant;
use crate::softmax::softmax;
use proofmark_tensor::bf16;

#[test]
fn rows_may_be_padded_and_what_lies_between_them_stays() {
    let context = Context::serial();
    let x = [1.0f32, 1.0, 9.0, 0.0, 0.0, 9.0, 2.0, 2.0];
    let mut y = [7.0f32; 11];
    let to = MatMut::new(&mut y, 3, 2).stride(4);
    softmax(&context, Mat::new(&x, 3, 2).stride(3), to).unwrap();
    assert_eq!(y, [0.5, 0.5, 7.0, 7.0, 0.5, 0.5, 7.0, 7.0, 0.5, 0.5, 7.0]);
}

#[test]
fn misfits_are_refused_by_name_and_nothing_is_written() {
    let context = Context::serial();
    let x = [1.0f32; 8];
    let mut y = [7.0f32; 8];
    let mut refused = |x: Mat<'_, f32>, rows: usize, cols: usize, stride: usize| {
        softmax(&context, x, MatMut::new(&mut y, rows, cols).stride(stride)).unwrap_err()
    };
    let square = Mat::new(&x, 2, 4);
    assert!(matches!(refused(square, 4, 2, 2), Error::Shape { name: "y", need: (2, 4), .. }));
    assert!(matches!(refused(square, 2, 4, 3), Error::Stride { name: "y", stride: 3, .. }));
    assert!(matches!(refused(square, 2, 4, 5), Error::Stride { name: "y", stride: 5, .. }));
    let transposed = refused(square.transposed(), 2, 4, 4);
    assert!(matches!(transposed, Error::Transposed { name: "x" }), "{transposed}");
    let short = refused(Mat::new(&x[..7], 2, 4), 2, 4, 4);
    assert!(short.to_string().contains("`x`"), "{short}");
    assert_eq!(y, [7.0; 8]);
}

#[test]
fn a_plan_serves_calls_of_its_own_kind_only() {
    let context = Context::serial();
    let x: Vec<f32> = (0..24).map(|i| i as f32).collect();
    // Each size twice, in turns, and more sizes than plans are kept.
    for round in 0..2 {
        for cols in 1..=80 {
            let x = vec![1.0f32; cols];
            let mut y = vec![0.0f32; cols];
            softmax(&context, &x, &mut y).unwrap();
            assert!((y[0] - 1.0 / cols as f32).abs() < 1e-6, "{cols} in round {round}");
        }
    }
    for (rows, cols) in [(4, 6), (6, 4), (3, 8), (4, 6)] {
        let (left, right) = (Mat::new(&x, rows, cols), Mat::new(&x, rows, cols).transposed());
        let mut c = vec![0.0f32; rows * rows];
        matmul(&context, left, right, MatMut::new(&mut c, rows, rows)).unwrap();
        let want: f32 = x[..cols].iter().map(|x| x * x).sum();
        assert_eq!(c[0], want, "{rows} x {cols}");
    }
}

#[test]
fn packed_weights_serve_any_number_of_rows_and_every_option() {
    let context = Context::with_threads(2).unwrap();
    let of = |count: usize| -> Vec<bf16> {
        (0..count).map(|i| bf16::from_f32((i % 5) as f32 - 2.0)).collect()
    };
    let (k, n) = (40, 24);
    let (weight, bias) = (of(n * k), of(n));
    let b = Mat::new(&weight, n, k).transposed();
    let packed = Packed::new(&context, b).unwrap();
    let options = Options { bias: Some(&bias), activation: Activation::Relu, ..Options::default() };
    for rows in [1, 2, 7, 33] {
        let x = of(rows * k);
        let (mut plain, mut fast) = (vec![0.0f32; rows * n], vec![0.0f32; rows * n]);
        let a = Mat::new(&x, rows, k);
        options.run(&context, a, b, MatMut::new(&mut plain, rows, n)).unwrap();
        options.run(&context, a, &packed, MatMut::new(&mut fast, rows, n)).unwrap();
        // Small integers: every order of summation is exact.
        assert_eq!(plain, fast, "{rows} rows");
    }
}

#[test]
fn batches_stand_below_each_other_and_may_share_the_right_operand() {
    let context = Context::serial();
    let (a, b) = ([1.0f32, 2.0, 3.0, 4.0], [1.0f32, 10.0, 100.0, 1000.0]);
    let mut c = [0.0f32; 2];
    let two = Options { batches: 2, ..Options::default() };
    let column = Mat::new(&b, 4, 1);
    two.run(&context, Mat::new(&a, 2, 2), column, MatMut::new(&mut c, 2, 1)).unwrap();
    assert_eq!(c, [21.0, 4300.0]);
    let packed = Packed::new(&context, column).unwrap();
    let own = two.run(&context, Mat::new(&a, 2, 2), &packed, MatMut::new(&mut c, 2, 1));
    assert!(matches!(own, Err(Error::NoKernel(_))), "one packed operand, two products");
    let shared = Options { shares_right: true, ..two };
    let column = Mat::new(&b[..2], 2, 1);
    shared.run(&context, Mat::new(&a, 2, 2), column, MatMut::new(&mut c, 2, 1)).unwrap();
    assert_eq!(c, [21.0, 43.0]);
}

#[test]
fn a_short_row_needs_no_plan_and_gives_the_same_bits() {
    let context = Context::serial();
    for length in [0, 1, 15, 16, 17, 100, 1024, 4096, 4097] {
        let x: Vec<f32> = (0..2 * length).map(|i| (i as f32 * 0.37).sin()).collect();
        let (one, w) = x.split_at(length);
        let mut planned = [0.0f32];
        crate::dot::rows(&context, one, w, &mut planned).unwrap();
        let short = crate::dot::dot(&context, one, w).unwrap();
        assert_eq!(short.to_bits(), planned[0].to_bits(), "dot of {length}");
        let gemma = crate::rms_norm::Options { variant: Variant::Gemma, ..Default::default() };
        let (mut short, mut planned) = (vec![0.0f32; length], vec![0.0f32; 2 * length]);
        gemma.run(&context, one, w, &mut short[..]).unwrap();
        let (x, y) = (Mat::new(&x, 2, length), MatMut::new(&mut planned, 2, length));
        gemma.run(&context, x, w, y).unwrap();
        assert_eq!(short, planned[..length], "rms_norm of {length}");
    }
    assert!(crate::dot::dot(&context, &[1.0f32; 3], &[1.0; 2]).is_err());
    let gemma = crate::rms_norm::Options { eps: 2.0, ..Default::default() };
    assert!(gemma.run(&context, &[1.0f32; 2], &[1.0; 2], &mut [0.0; 2]).is_err());
}
