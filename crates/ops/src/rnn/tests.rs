//! Known answers and threads of recurrent layers.

use super::{GRU, LSTM, State, StateMut, Weights, gru, lstm};
use crate::Context;
use crate::blocks::row::trial;
use proofmark_contract::{Entry, Values, Want};

const WEIGHTS: Weights<'_> = Weights {
    w_ih: &[1.0, -1.0, 0.5, 2.0],
    w_hh: &[0.5, 1.0, -1.0, 0.25],
    b_ih: &[0.1, 0.2, 0.3, 0.4],
    b_hh: &[0.0, -0.2, 0.1, 0.6],
};

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

#[test]
fn one_unit_known_by_hand_comes_out_of_an_lstm() {
    let (mut y, mut h, mut c) = ([0.0], [0.0], [0.0]);
    let (first, last) = (State { h: &[0.5], c: &[2.0] }, StateMut { h: &mut h, c: &mut c });
    lstm(&Context::serial(), &[0.75], [1, 1, 1], WEIGHTS, first, &mut y, last).unwrap();
    // Sums by hand: i 0.75+0.1+0.25, f -0.75+0.2+0.5-0.2, g 0.375+0.3-0.5+0.1, o 1.5+0.4+0.125+0.6.
    let state = sigmoid(-0.25) * 2.0 + sigmoid(1.1) * 0.275f32.tanh();
    assert!((c[0] - state).abs() < 1e-6, "{} {state}", c[0]);
    assert!((y[0] - sigmoid(2.625) * state.tanh()).abs() < 1e-6 && y == h, "{}", y[0]);
}

#[test]
fn one_unit_known_by_hand_comes_out_of_a_gru() {
    let Weights { w_ih, w_hh, b_ih, b_hh } = WEIGHTS;
    let weights =
        Weights { w_ih: &w_ih[..3], w_hh: &w_hh[..3], b_ih: &b_ih[..3], b_hh: &b_hh[..3] };
    let (mut y, mut h, context) = ([0.0], [0.0], Context::serial());
    gru(&context, &[0.75], [1, 1, 1], weights, &[0.5], &mut y, &mut h).unwrap();
    let (r, z) = (sigmoid(1.1), sigmoid(-0.25));
    let n = (0.675 + r * -0.4).tanh();
    let want = (1.0 - z) * n + z * 0.5;
    assert!((y[0] - want).abs() < 1e-6 && y == h, "{} {want}", y[0]);
    assert!(gru(&context, &[0.75], [2, 1, 1], weights, &[0.5], &mut y, &mut h).is_err());
}

#[test]
fn thread_counts_do_not_change_a_bit() {
    trial::threads_change_nothing(&LSTM, "lstm:f32[t=3,b=2,i=5,h=70]");
    trial::threads_change_nothing(&GRU, "gru:f32[t=3,b=19,i=5,h=70]");
}

/// The mean scale of the error of `hn` after this many steps of 96 units, and the mean of |hn|.
fn after(entry: &Entry, steps: usize) -> (f64, f64) {
    let op = entry.op;
    let case = format!("{}:f32[t={steps},b=1,i=32,h=96]", op.name()).parse().unwrap();
    let signature = op.signature(&case).unwrap();
    let filling = &op.portfolio(&case, &signature).zero_mean[0];
    let inputs = trial::fill(&signature, filling, 7);
    let truth = op.oracle(&case, &inputs, 1, &Want::all());
    let mean = |of: &[f64]| of.iter().map(|value| value.abs()).sum::<f64>() / of.len() as f64;
    (mean(&truth.scale), mean(&truth.value))
}

#[test]
fn the_error_allowed_after_many_steps_is_more_than_of_one_and_far_from_hiding_the_output() {
    for entry in [&LSTM, &GRU] {
        let ((one, _), (many, value)) = (after(entry, 1), after(entry, 100));
        assert!(many > one && many < 10.0 * one, "{} {one} {many}", entry.op.name());
        // 2⁻²⁴ is a unit of f32's roundoff; a gate's limit is a few hundred of them at most.
        assert!(many * 1000.0 / 2f64.powi(24) < value, "{} {many} {value}", entry.op.name());
    }
}

#[test]
fn what_a_sigmoid_loses_beside_1_is_forgiven_apart_from_the_scale() {
    // All gates are about e^-64, and the state is 2: it is lost where a sigmoid is `1/2 + …`.
    let case = "lstm:f32[t=1,b=1,i=1,h=1]".parse().unwrap();
    let gates = vec![1.0; 4];
    let [x, h0, c0] = [vec![-64.0], vec![0.0], vec![2.0]];
    let nothing = vec![0.0; 4];
    let tensors = vec![x, h0, c0, gates, nothing.clone(), nothing.clone(), nothing];
    let truth = LSTM.op.oracle(&case, &Values { tensors }, 2, &Want::all());
    assert!(truth.value[0].abs() < 1e-20 && truth.scale[0] < 1e-20, "{truth:?}");
    // Twice an error of 1 in the second gate, and tanh of -64 times one in the first.
    assert!((truth.forgiven[0] - 3.0).abs() < 1e-9, "{truth:?}");
}
