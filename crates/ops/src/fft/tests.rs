//! Known answers, ways there and back, threads and refusals of the Fourier transform.

use super::{ENTRY, Transform, fft};
use crate::Context;
use crate::blocks::row::trial;
use proofmark_contract::{Values, Want};
use proofmark_terms::Case;

fn oracle(case: &str, x: &[f64]) -> Vec<f64> {
    let case: Case = case.parse().unwrap();
    let inputs = Values { tensors: vec![x.to_vec(), Vec::new()] };
    ENTRY.op.oracle(&case, &inputs, 0, &Want::all()).value
}

fn is_near(got: &[f64], want: &[f64]) -> bool {
    got.len() == want.len() && got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-9)
}

#[test]
fn the_oracle_gives_transforms_by_hand() {
    let four = oracle("fft:f32[b=1,x=1,y=1,z=4]", &[1.0, 0.0, 2.0, 0.0, 3.0, 0.0, 4.0, 0.0]);
    assert!(is_near(&four, &[10.0, 0.0, -2.0, 2.0, -2.0, 0.0, -2.0, -2.0]), "{four:?}");
    let real = oracle("fft:f32[b=1,x=1,y=1,z=4;kind=r2c]", &[1.0, 2.0, 3.0, 4.0]);
    assert!(is_near(&real, &four[..6]), "{real:?}");
    // Imaginary parts of bins 0 and 2 are not read.
    let spectrum = [10.0, 7.0, -2.0, 2.0, -2.0, 7.0];
    let back = oracle("fft:f32[b=1,x=1,y=1,z=4;kind=c2r]", &spectrum);
    assert!(is_near(&back, &[1.0, 2.0, 3.0, 4.0]), "{back:?}");
    let square = oracle("fft:f32[b=1,x=1,y=2,z=2;kind=r2c]", &[1.0, 2.0, 3.0, 4.0]);
    assert!(is_near(&square, &[10.0, 0.0, -2.0, 0.0, -4.0, 0.0, 0.0, 0.0]), "{square:?}");
}

#[test]
fn the_oracle_of_a_long_prime_is_the_sum_itself() {
    let n = 521;
    let x: Vec<f64> = (0..2 * n).map(|i| f64::from((i * i % 19) as u32) - 9.0).collect();
    let got = oracle(&format!("fft:f32[b=1,x=1,y=1,z={n}]"), &x);
    for k in [0, 1, 7, 260, 520] {
        let mut sum = [0.0; 2];
        for j in 0..n {
            let angle = -std::f64::consts::TAU * ((j * k % n) as f64 / n as f64);
            let (sin, cos) = angle.sin_cos();
            sum[0] += x[2 * j] * cos - x[2 * j + 1] * sin;
            sum[1] += x[2 * j] * sin + x[2 * j + 1] * cos;
        }
        assert!(is_near(&got[2 * k..2 * k + 2], &sum), "bin {k}");
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    for case in
        ["b=1,x=1,y=1,z=10000", "b=1,x=1,y=1,z=16384", "b=3,x=1,y=50,z=96", "b=1,x=1,y=1,z=4099"]
    {
        trial::threads_change_nothing(&ENTRY, &format!("fft:f32[{case}]"));
    }
}

#[test]
fn what_goes_there_comes_back() {
    let context = Context::serial();
    for shape in [[2, 1, 1, 37], [1, 3, 5, 8], [1, 1, 1, 1000], [2, 1, 4, 9], [1, 1, 34, 34]] {
        let points: usize = shape.iter().product();
        let bins = points / shape[3] * (shape[3] / 2 + 1);
        let x: Vec<f32> = (0..2 * points).map(|i| (i * i % 23) as f32 - 11.0).collect();
        let (mut y, mut back) = (vec![0.0; 2 * points], vec![0.0; 2 * points]);
        fft(&context, Transform::Forward, shape, &x, &mut y).unwrap();
        fft(&context, Transform::Inverse, shape, &y, &mut back).unwrap();
        assert!(x.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-4), "{shape:?}");
        let (x, y) = (&x[..points], &mut y[..2 * bins]);
        fft(&context, Transform::FromReal, shape, x, y).unwrap();
        fft(&context, Transform::ToReal, shape, y, &mut back[..points]).unwrap();
        assert!(x.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-4), "{shape:?} real");
    }
}

#[test]
fn wrong_lengths_and_directions_are_refused() {
    let context = Context::serial();
    let mut y = [0.0; 8];
    let short = fft(&context, Transform::Forward, [1, 1, 1, 4], &[0.0; 7], &mut y);
    assert!(short.is_err());
    let none = fft(&context, Transform::Forward, [1, 0, 1, 4], &[], &mut []);
    assert!(none.is_err());
    let case: Case = "fft:f32[b=1,x=1,y=1,z=4;kind=r2c,direction=inverse]".parse().unwrap();
    assert!(ENTRY.op.signature(&case).is_err());
}
