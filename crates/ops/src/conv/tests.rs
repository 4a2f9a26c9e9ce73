//! Known answers, threads and edges of convolutions.

use super::definition::Problem;
use super::{CONV1D, CONV2D, Weights, conv2d};
use crate::Context;
use crate::blocks::row::trial::{self, Setup, call};
use proofmark_contract::{Filling, Values, Want};
use proofmark_tensor::Fill;
use proofmark_terms::{Case, Isa};

const ONES: Weights<'_, 2> = Weights {
    data: &[1.0; 9],
    outputs: 1,
    taps: [3, 3],
    bias: None,
    stride: 1,
    pad: 1,
    dilation: 1,
    groups: 1,
};

#[test]
fn sums_of_neighbours_known_by_hand_come_out() {
    let x: Vec<f32> = (1..=9u8).map(f32::from).collect();
    let mut y = [0.0; 9];
    conv2d(&Context::serial(), &x, [1, 1, 3, 3], ONES, &mut y).unwrap();
    assert_eq!(y, [12.0, 21.0, 16.0, 27.0, 45.0, 33.0, 24.0, 39.0, 28.0]);
    let mut y = [0.0; 4];
    let strided = Weights { bias: Some(&[0.5]), stride: 2, ..ONES };
    let two = Context::with_threads(2).unwrap();
    conv2d(&two, &x, [1, 1, 3, 3], strided, &mut y).unwrap();
    assert_eq!(y, [12.5, 16.5, 24.5, 28.5]);
    let wrong = Weights { groups: 2, ..ONES };
    assert!(conv2d(&two, &x, [1, 1, 3, 3], wrong, &mut y).is_err());
}

#[test]
fn taps_that_do_not_fit_are_refused_with_their_span() {
    let case: Case = "conv2d:f32[b=1,c=1,o=1,h=2,w=9;pad=0]".parse().unwrap();
    let refused = CONV2D.op.signature(&case).unwrap_err().to_string();
    assert!(refused.contains("span 3") && refused.contains("raise pad"), "{refused}");
}

#[test]
fn a_line_is_a_plane_of_one_row() {
    let line: Case = "conv1d:f32[b=2,c=3,o=4,l=9;k=5,stride=2,pad=2]".parse().unwrap();
    let of = Problem::of(&line);
    assert_eq!((of.size, of.taps, of.result), ([1, 9], [1, 5], [1, 5]));
}

#[test]
fn thread_counts_do_not_change_a_bit() {
    trial::threads_change_nothing(&CONV2D, "conv2d:f32[b=2,c=5,o=31,h=9,w=20]");
    trial::threads_change_nothing(&CONV2D, "conv2d:f32[b=1,c=6,o=6,h=9,w=20;groups=3]");
    trial::threads_change_nothing(&CONV1D, "conv1d:f32[b=1,c=6,o=60,l=31;stride=2]");
}

/// Rows and panels that come out uneven, an edge of one column, blocks of columns, groups.
#[test]
fn products_give_the_same_bits_on_any_number_of_threads() {
    for text in [
        "conv2d:f32[b=2,c=33,o=37,h=7,w=7;kh=1,kw=1,pad=0,bias=true]",
        "conv2d:f32[b=1,c=32,o=101,h=14,w=15;stride=2]",
        "conv2d:f32[b=1,c=64,o=194,h=6,w=9;groups=2]",
        "conv2d:f32[b=1,c=450,o=97,h=9,w=10;pad=0]",
    ] {
        let case: Case = text.parse().unwrap();
        let signature = proofmark_contract::check_case(CONV2D.op, &case).unwrap();
        let filling = Filling::uniform(&signature, &Fill::Normal);
        let inputs = trial::fill(&signature, &filling, 5);
        for isa in Isa::ALL.into_iter().filter(|&isa| proofmark_simd::available(isa)) {
            let run = |name: &str, threads| {
                let kernel = CONV2D.kernel(name).unwrap();
                call(CONV2D.op, kernel, &case, Setup { isa, threads, padding: 0 }, &inputs)
            };
            let alone = run("im2col", 1);
            for threads in 1..=5 {
                assert_eq!(run("parallel", threads), alone, "{text} on {threads} threads, {isa}");
            }
        }
    }
}

/// What an infinity or an overflow makes of the squares around it, compared with the direct
/// algorithm.
#[test]
fn winograd_gives_the_infinities_of_the_direct_algorithm_and_no_other() {
    let case: Case = "conv2d:f32[b=1,c=2,o=3,h=6,w=7]".parse().unwrap();
    let kernel = CONV2D.kernel("winograd").unwrap();
    for planted in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 3e38] {
        let mut x = vec![1.0; 2 * 42];
        x[17] = planted;
        let inputs = Values { tensors: vec![x, vec![1.5; 54], Vec::new()] };
        let truth = CONV2D.op.oracle(&case, &inputs, 0, &Want::all()).value;
        for isa in Isa::ALL.into_iter().filter(|&isa| proofmark_simd::available(isa)) {
            let got = call(CONV2D.op, kernel, &case, Setup::plain(isa), &inputs);
            for (at, (got, want)) in got[0].iter().zip(&truth).enumerate() {
                let want = f64::from(*want as f32);
                let same = got == &want || got.is_nan() && want.is_nan();
                assert!(same, "{planted} at {at} on {isa}: {got}, not {want}");
            }
        }
    }
}

#[test]
fn the_audit_sees_one_changed_element_anywhere() {
    let case: Case = "conv2d:f32[b=2,c=4,o=6,h=3,w=4;groups=2,bias=true]".parse().unwrap();
    let whole = |count: usize| (0..count).map(|at| (at * 7 % 9) as f64 - 4.0).collect();
    let inputs = Values { tensors: vec![whole(96), whole(108), whole(6), Vec::new()] };
    let right = CONV2D.op.oracle(&case, &inputs, 0, &Want::all()).value;
    assert_eq!(CONV2D.op.audit(&case, &inputs, std::slice::from_ref(&right), 3), Some(Ok(())));
    for at in 0..right.len() {
        let mut wrong = right.clone();
        wrong[at] += 1.0;
        let audited = CONV2D.op.audit(&case, &inputs, &[wrong], 3);
        assert!(matches!(audited, Some(Err(_))), "{at}");
    }
}
