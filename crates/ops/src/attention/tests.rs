//! Known answers, masks, threads and refusals of attention.

use super::ENTRY;
use super::definition::{Attention, Problem};
use crate::blocks::row::trial::{self, Setup};
use proofmark_contract::{Op, Values, Want, check_case};
use proofmark_simd::available;
use proofmark_terms::Case;

fn case(text: &str) -> Case {
    text.parse().unwrap()
}

/// Calls every kernel that does the case, on every path, and hands over what it wrote.
fn with_every_kernel(case: &Case, inputs: &[Vec<f64>], check: impl Fn(&str, &[f64])) {
    let tensors = inputs.iter().cloned().chain([Vec::new()]).collect();
    for kernel in ENTRY.kernels {
        for &isa in kernel.isas().iter().filter(|&&isa| available(isa)) {
            if kernel.supports(case, isa).is_err() {
                continue;
            }
            let setup = Setup { isa, threads: 2, padding: 3 };
            let inputs = Values { tensors: Vec::clone(&tensors) };
            let got = trial::call(ENTRY.op, *kernel, case, setup, &inputs);
            check(&format!("{} on {isa}", kernel.name()), &got[0]);
        }
    }
}

#[test]
fn the_oracle_gives_values_computed_by_hand() {
    let case = case("attention:f32[b=1,h=1,kv=1,q=1,t=2,d=1]");
    let ln3 = 3f64.ln();
    let tensors = vec![vec![1.0], vec![ln3, 0.0], vec![4.0, 8.0], vec![]];
    let truth = Attention.oracle(&case, &Values { tensors }, 0, &Want::all());
    assert!((truth.value[0] - 5.0).abs() < 1e-14, "3/4 of 4 and 1/4 of 8, not {}", truth.value[0]);
    // A = s for both keys; the mean of A and |s−m| under p is 3/4·ln 3 + 1/4·ln 3.
    let common = ln3 + 4.0 + 1.0 + 2f64.sqrt() / 4.0;
    let scale = 3.0 * (ln3 + common) + 2.0 * (ln3 + common);
    assert!((truth.scale[0] - scale).abs() < 1e-12, "{} is not {scale}", truth.scale[0]);
    // Weights rounded to f32 once more: terms of 3 and 2.
    assert!((truth.forgiven[0] - 2.0 * 13f64.sqrt()).abs() < 1e-12, "{:?}", truth.forgiven);
}

#[test]
fn masks_show_what_the_card_says() {
    let visible = |text: &str, query| Problem::of(&case(text)).visible(query);
    let causal = "attention:f32[b=1,h=1,kv=1,q=2,t=5,d=1;mask=causal]";
    assert_eq!([visible(causal, 0), visible(causal, 1)], [0..4, 0..5]);
    let window = "attention:f32[b=1,h=1,kv=1,q=2,t=5,d=1;mask=window,window=2]";
    assert_eq!([visible(window, 0), visible(window, 1)], [2..4, 3..5]);
    let more_queries = "attention:f32[b=1,h=1,kv=1,q=4,t=2,d=1;mask=causal]";
    let seen: Vec<usize> = (0..4).map(|query| visible(more_queries, query).len()).collect();
    assert_eq!(seen, [0, 0, 1, 2]);
}

#[test]
fn the_pairs_seen_are_those_of_each_query_counted() {
    for (queries, keys) in [(0, 5), (1, 5), (5, 5), (7, 5), (3, 9), (4, 0)] {
        for mask in ["mask=none", "mask=causal", "mask=window,window=2", "mask=window,window=70"] {
            let text = format!("attention:f32[b=1,h=1,kv=1,q={queries},t={keys},d=1;{mask}]");
            let problem = Problem::of(&case(&text));
            let counted: usize = (0..queries).map(|query| problem.visible(query).len()).sum();
            assert_eq!(problem.seen(), counted, "{text}");
        }
    }
}

#[test]
fn heads_that_do_not_share_evenly_are_refused() {
    for text in
        ["attention:f32[b=1,h=3,kv=2,q=1,t=1,d=1]", "attention:f32[b=1,h=3,kv=0,q=1,t=1,d=1]"]
    {
        assert!(check_case(ENTRY.op, &case(text)).is_err(), "{text}");
    }
}

#[test]
fn queries_that_see_no_key_give_zeros() {
    let more = case("attention:f32[b=1,h=2,kv=1,q=3,t=1,d=2;mask=causal]");
    let inputs = [vec![1.0; 12], vec![1.0; 2], vec![5.0, 7.0]];
    with_every_kernel(&more, &inputs, |who, got| {
        let head = [0.0, 0.0, 0.0, 0.0, 5.0, 7.0];
        assert_eq!(got, [head, head].concat(), "{who}");
    });
    let none = case("attention:f32[b=1,h=1,kv=1,q=2,t=0,d=3]");
    with_every_kernel(&none, &[vec![1.0; 6], vec![], vec![]], |who, got| {
        assert_eq!(got, [0.0; 6], "{who}");
    });
}

#[test]
fn a_query_whose_scores_are_all_minus_infinity_gives_zeros() {
    let case = case("attention:f32[b=1,h=1,kv=1,q=1,t=2,d=1]");
    let inputs = [vec![1.0], vec![f64::NEG_INFINITY; 2], vec![1.0, 2.0]];
    with_every_kernel(&case, &inputs, |who, got| assert_eq!(got, [0.0], "{who}"));
}

#[test]
fn nan_in_a_query_and_nan_or_infinity_in_a_key_fill_the_rows_that_see_it() {
    for (queries, heads) in [(2, 2), (20, 2)] {
        let case = case(&format!("attention:f32[b=1,h={heads},kv=1,q={queries},t=3,d=2]"));
        let mut q = vec![1.0; heads * queries * 2];
        q[3] = f64::NAN;
        let inputs = [q, vec![1.0; 6], vec![1.0; 6]];
        with_every_kernel(&case, &inputs, |who, got| {
            let expected = |at: usize| at / 2 == 1;
            let is_right = |(at, o): (usize, &f64)| o.is_nan() == expected(at);
            assert!(got.iter().enumerate().all(is_right), "{who}: {got:?}");
        });
        for bad in [f64::NAN, f64::INFINITY] {
            let keys = vec![1.0, 1.0, bad, 1.0, 1.0, 1.0];
            let inputs = [vec![1.0; heads * queries * 2], keys, vec![1.0; 6]];
            with_every_kernel(&case, &inputs, |who, got| {
                assert!(got.iter().all(|o| o.is_nan()), "{who}: {got:?}");
            });
        }
    }
}

#[test]
fn an_infinite_value_makes_its_column_infinite_in_rows_that_give_it_weight() {
    for dtype in ["f32", "bf16"] {
        let case = case(&format!("attention:{dtype}[b=1,h=2,kv=1,q=20,t=40,d=17]"));
        let mut values = vec![1.0; 40 * 17];
        values[39 * 17 + 5] = f64::NEG_INFINITY;
        let inputs = [vec![0.5; 2 * 20 * 17], vec![0.25; 40 * 17], values];
        with_every_kernel(&case, &inputs, |who, got| {
            let expected = |at: usize| if at % 17 == 5 { f64::NEG_INFINITY } else { 1.0 };
            let is_right = |(at, o): (usize, &f64)| *o == expected(at);
            assert!(got.iter().enumerate().all(is_right), "{who}: {got:?}");
        });
    }
}

#[test]
fn a_maximum_that_moves_late_by_more_than_exp_can_bridge_is_right() {
    for (queries, heads) in [(1, 1), (40, 2)] {
        let text = format!("attention:f32[b=1,h={heads},kv=1,q={queries},t=700,d=1]");
        let case = case(&text);
        let mut keys = vec![0.0; 700];
        (keys[100], keys[699]) = (500.0, 1000.0);
        let values = (0..700).map(f64::from).collect();
        let inputs = [vec![1.0; heads * queries], keys, values];
        with_every_kernel(&case, &inputs, |who, got| {
            assert!(got.iter().all(|&o| o == 699.0), "{who}: {got:?}");
        });
    }
}
