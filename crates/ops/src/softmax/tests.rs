//! Known answers, views, threads and refusals of softmax.

use super::ENTRY;
use super::definition::Problem;
use super::oracle;
use crate::blocks::row::trial::{self, Setup};
use crate::{Context, Mat, MatMut};
use proofmark_contract::{Call, KernelError, Values, Want, check_case};
use proofmark_simd::available;
use proofmark_tensor::{Layout, Pool, Tensor, bf16};
use proofmark_terms::{Case, Isa};

fn case(text: &str) -> Case {
    text.parse().unwrap()
}

/// Calls every kernel on every path, dense and padded, and hands over what it wrote.
fn with_every_kernel(case: &Case, x: &[f64], check: impl Fn(&str, &[f64])) {
    let inputs = Values { tensors: vec![x.to_vec(), Vec::new()] };
    for kernel in ENTRY.kernels {
        for &isa in kernel.isas().iter().filter(|&&isa| available(isa)) {
            for padding in [0, 5] {
                let setup = Setup { isa, threads: 2, padding };
                let got = trial::call(ENTRY.op, *kernel, case, setup, &inputs);
                check(&format!("{} on {isa}", kernel.name()), &got[0]);
            }
        }
    }
}

#[test]
fn the_oracle_gives_values_computed_by_hand() {
    let problem = Problem { rows: 2, length: 2, is_in_place: false, causal: None };
    let ln3 = 3f64.ln();
    let truth = oracle::truth(&problem, &[ln3, 0.0, 5.0, f64::NEG_INFINITY], &Want::all());
    for (got, want) in truth.value.iter().zip([0.75, 0.25, 1.0, 0.0]) {
        assert!((got - want).abs() < 1e-15, "{got} is not {want}");
    }
    // p = 1/4: |x−m| = ln 3, mean |x−m| = ln 3 / 4, and 4 + g(2).
    let scale = 0.25 * (ln3 + 0.25 * ln3 + 4.0 + 1.0 + 2f64.sqrt() / 4.0);
    assert!((truth.scale[1] - scale).abs() < 1e-14);
    assert!(truth.scale.iter().all(|scale| scale.is_finite()), "also beside -infinity");
}

#[test]
fn the_oracle_gives_only_the_wanted_elements() {
    let problem = Problem { rows: 3, length: 4, is_in_place: false, causal: None };
    let x: Vec<f64> = (0..12).map(|i| f64::from(i * i % 7)).collect();
    let all = oracle::truth(&problem, &x, &Want::all());
    let want = Want::some(Some(vec![0, 2]), Some(vec![1, 3]));
    let picked: Vec<f64> = want.indices(3, 4).into_iter().map(|i| all.value[i]).collect();
    assert_eq!(oracle::truth(&problem, &x, &want).value, picked);
}

#[test]
fn rows_of_equal_elements_are_exactly_uniform() {
    for text in ["softmax:f32[b=1,s=2,d=32]", "softmax:bf16[b=2,s=1,d=32;inplace=true]"] {
        let mut x = vec![-300.0; 64];
        x[32..].fill(1e30);
        with_every_kernel(&case(text), &x, |who, y| {
            assert!(y.iter().all(|&y| y == 1.0 / 32.0), "{who}: {y:?}");
        });
    }
}

#[test]
fn masks_give_zero_and_nan_or_infinity_take_the_whole_row() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let mut x = vec![1.0; 6 * 19];
    // Row 0: all but one masked; 1: all masked; 2: +infinity; 3: NaN in the tail; 4: a finite
    // spread that overflows; 5: untouched.
    x[..38].fill(-inf);
    x[18] = 2.0;
    x[2 * 19 + 4] = inf;
    x[3 * 19 + 18] = nan;
    x[4 * 19..5 * 19].fill(-3e38);
    x[4 * 19 + 7] = 3e38;
    for text in ["softmax:f32[b=2,s=3,d=19]", "softmax:bf16[b=2,s=3,d=19;inplace=true]"] {
        with_every_kernel(&case(text), &x, |who, y| {
            let (masked, rest) = y.split_at(19);
            assert!(masked[..18].iter().all(|&y| y == 0.0) && masked[18] == 1.0, "{who}");
            assert!(rest[..3 * 19].iter().all(|y| y.is_nan()), "{who}");
            let spread = &y[4 * 19..5 * 19];
            assert!(spread[7] == 1.0 && spread.iter().sum::<f64>() == 1.0, "{who}");
            assert!((y[5 * 19] * 19.0 - 1.0).abs() < 0.01, "{who}: a row beside NaN is right");
        });
    }
}

#[test]
fn a_causal_row_sees_the_columns_up_to_its_own() {
    let x: Vec<f64> = (0..2 * 3 * 5).map(|i| if i % 5 == 4 { f64::NAN } else { 1.0 }).collect();
    let case = case("softmax:f32[b=2,s=3,d=5;mask=causal]");
    with_every_kernel(&case, &x, |who, y| {
        let third = [1.0f32 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 0.0, 0.0].map(f64::from);
        for rows in y.chunks(15) {
            assert_eq!(rows[..5], third, "{who}");
            assert_eq!(rows[5..10], [0.25, 0.25, 0.25, 0.25, 0.0], "{who}");
            assert!(rows[10..].iter().all(|y| y.is_nan()), "{who}: the last row sees the NaN");
        }
    });
}

#[test]
fn a_row_that_sees_no_column_is_nan() {
    with_every_kernel(&case("softmax:f32[b=1,s=3,d=1;mask=causal]"), &[5.0; 3], |who, y| {
        assert!(y[0].is_nan() && y[1].is_nan() && y[2] == 1.0, "{who}: {y:?}");
    });
}

#[test]
fn threads_do_not_change_a_bit() {
    trial::threads_change_nothing(&ENTRY, "softmax:f32[b=3,s=17,d=1021]");
    trial::threads_change_nothing(&ENTRY, "softmax:bf16[b=3,s=17,d=509;inplace=true]");
    trial::threads_change_nothing(&ENTRY, "softmax:f32[b=3,s=37,d=509;mask=causal]");
}

#[test]
fn very_long_rows_stay_within_the_limits() {
    let case = case("softmax:f32[b=1,s=1,d=200001]");
    for kernel in ENTRY.kernels {
        let isa = kernel.isas().iter().rev().copied().find(|&isa| available(isa)).unwrap();
        trial::is_within_limits(&ENTRY, *kernel, &case, Setup::plain(isa));
    }
}

#[test]
fn a_workspace_that_is_too_small_is_refused() {
    let case = case("softmax:bf16[b=1,s=1,d=64;inplace=true]");
    let mut values = [bf16::ONE; 64];
    let base = values.as_mut_ptr().cast();
    // SAFETY: the array has the layout's 64 elements and is used through the tensor only.
    let x = unsafe { Tensor::from_raw(base, case.dtype, Layout::dense([1, 1, 64]), true) };
    let mut call = Call {
        case: &case,
        isa: Isa::Scalar,
        threads: 1,
        pool: &Pool::serial(),
        inputs: &[],
        outputs: &mut [x],
        workspace: &mut [0; 16],
        prepared: &[],
    };
    for name in ["simd", "parallel"] {
        let refusal = ENTRY.kernel(name).unwrap().run(&mut call);
        assert!(matches!(refusal, Err(KernelError::TooSmall { got: 16, need: 256, .. })));
    }
}

#[test]
fn the_library_functions_agree_and_refuse_misfits() {
    let (context, two) = (Context::serial(), Context::with_threads(2).unwrap());
    let x: Vec<bf16> = (0..60).map(|i| bf16::from_f32(i as f32 / 7.0)).collect();
    let mut y = vec![bf16::ZERO; 60];
    super::softmax(&two, Mat::new(&x, 3, 20), MatMut::new(&mut y, 3, 20)).unwrap();
    let mut in_place = x.clone();
    super::in_place(&context, MatMut::new(&mut in_place, 3, 20)).unwrap();
    assert_eq!(y, in_place);
    let seven = super::softmax(&context, Mat::new(&x, 9, 7), MatMut::new(&mut y, 9, 7));
    assert!(seven.is_err(), "60 elements are fewer than 9 rows of 7");
    let short = super::softmax(&context, Mat::new(&x, 3, 20), MatMut::new(&mut y, 2, 20));
    assert!(short.is_err(), "y has fewer rows than x");
    let mut nothing = [0.0f32; 0];
    super::softmax(&context, &[], &mut nothing).unwrap();
}

#[test]
fn proof_cases_fit_the_op_and_stay_small() {
    for &dtype in ENTRY.op.dtypes() {
        for case in ENTRY.op.proof_cases(dtype) {
            let signature = check_case(ENTRY.op, &case).unwrap();
            assert!(signature.operands()[0].len() <= 1 << 16, "{case}");
        }
    }
}
