//! Known answers, exact integers, the audit, threads and refusals of products.

use super::definition::{Matmul, Shape};
use super::{ENTRY, matmul, oracle};
use crate::blocks::row::trial::{self, Setup};
use crate::{Context, Mat, MatMut};
use proofmark_contract::{Kernel, Op, Values, Want, check_case};
use proofmark_terms::{Case, DType, Isa};

/// One call of a kernel on padded operands with a workspace full of rubbish.
fn call(kernel: &dyn Kernel, case: &Case, isa: Isa, threads: usize, inputs: &Values) -> Vec<f64> {
    trial::call(&Matmul, kernel, case, Setup { isa, threads, padding: 3 }, inputs).remove(0)
}

fn cases() -> Vec<Case> {
    [DType::F32, DType::Bf16, DType::F16]
        .into_iter()
        .flat_map(|dtype| Matmul.proof_cases(dtype))
        .collect()
}

/// Every kernel on every path of this machine that does the case.
fn contenders(case: &Case) -> Vec<(&'static dyn Kernel, Isa)> {
    let paths = |kernel: &&'static dyn Kernel| {
        let kernel = *kernel;
        let usable = kernel.isas().iter().filter(|&&isa| proofmark_simd::available(isa));
        usable.map(move |&isa| (kernel, isa)).collect::<Vec<_>>()
    };
    let all = ENTRY.kernels.iter().flat_map(paths);
    all.filter(|(kernel, isa)| kernel.supports(case, *isa).is_ok()).collect()
}

fn parse(text: &str) -> Case {
    text.parse().unwrap()
}

fn given(a: &[f64], b: &[f64]) -> Values {
    Values { tensors: vec![a.to_vec(), b.to_vec()] }
}

#[test]
fn products_known_by_hand_come_out_of_every_kernel() {
    let a = [1.0, 2.0, 3.0, 4.0];
    let b = [5.0, 6.0, 7.0, 8.0];
    let known = [
        ("matmul:f32[b=1,m=2,n=2,k=2]", vec![19.0, 22.0, 43.0, 50.0]),
        ("matmul:f32[b=1,m=2,n=2,k=2;layout=nt]", vec![17.0, 23.0, 39.0, 53.0]),
        ("matmul:bf16[b=1,m=2,n=2,k=2;out=f32]", vec![19.0, 22.0, 43.0, 50.0]),
        ("matmul:f32[b=2,m=1,n=1,k=2]", vec![17.0, 53.0]),
        ("matmul:f32[b=2,m=1,n=2,k=2;shared=true]", vec![19.0, 22.0, 43.0, 50.0]),
        ("matmul:f16[b=1,m=2,n=2,k=2]", vec![19.0, 22.0, 43.0, 50.0]),
        ("matmul:f32[b=1,m=4,n=4,k=1]", a.iter().flat_map(|a| b.map(|b| a * b)).collect()),
    ];
    for (text, want) in known {
        let case = parse(text);
        for (kernel, isa) in contenders(&case) {
            assert_eq!(
                call(kernel, &case, isa, 1, &given(&a, &b)),
                want,
                "{text} by {}@{isa}",
                kernel.name()
            );
        }
        let truth = Matmul.oracle(&case, &given(&a, &b), 0, &Want::all());
        assert_eq!(truth.value, want, "{text} by the oracle");
    }
}

#[test]
fn the_oracle_gives_magnitudes_and_only_what_is_wanted() {
    let case = parse("matmul:f32[b=2,m=2,n=3,k=2]");
    let a = [1.0, -2.0, 3.0, 4.0, 0.0, 1.0, 1.0, 0.0];
    let b = [1.0, 2.0, 3.0, 4.0, -5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0];
    let want = Want::some(Some(vec![0, 3]), Some(vec![1, 2]));
    let truth = Matmul.oracle(&case, &given(&a, &b), 0, &want);
    assert_eq!(truth.value, [12.0, -9.0, 8.0, 9.0]);
    assert_eq!(truth.scale, [12.0, 15.0, 8.0, 9.0]);
}

/// The attributes of what is done to a sum.
const EPILOGUE: [&str; 2] = ["activation", "bias"];

#[test]
fn exact_integers_are_exact_and_pass_the_audit() {
    for case in cases() {
        let signature = check_case(&Matmul, &case).unwrap();
        for filling in Matmul.portfolio(&case, &signature).exact {
            let inputs = trial::fill(&signature, &filling, 11);
            let truth = Matmul.oracle(&case, &inputs, 0, &Want::all());
            let largest = truth.scale.iter().fold(0.0f64, |most, &scale| most.max(scale));
            let bits = signature.outputs()[0].dtype.significand_bits();
            assert!(largest <= 2f64.powi(bits as i32), "{case}: sums reach {largest}");
            let is_plain = case.attrs.iter().all(|(name, _)| !EPILOGUE.contains(&&**name));
            let audited = is_plain.then_some(Ok(()));
            assert_eq!(Matmul.audit(&case, &inputs, &[truth.value], 3), audited, "{case}");
        }
    }
}

#[test]
fn the_audit_sees_one_changed_element_anywhere() {
    let case = parse("matmul:f32[b=2,m=5,n=7,k=9;layout=nt]");
    let signature = check_case(&Matmul, &case).unwrap();
    let filling = &Matmul.portfolio(&case, &signature).exact[0];
    let inputs = trial::fill(&signature, filling, 5);
    let right = Matmul.oracle(&case, &inputs, 0, &Want::all()).value;
    for at in 0..right.len() {
        for change in [1.0, 0.5, f64::NAN] {
            let mut wrong = right.clone();
            wrong[at] += change;
            assert!(matches!(Matmul.audit(&case, &inputs, &[wrong], 3), Some(Err(_))), "{at}");
        }
    }
    let reals = trial::fill(&signature, &Matmul.portfolio(&case, &signature).zero_mean[0], 5);
    assert_eq!(oracle::freivalds(Shape::of(&case), &reals, &right, 3), None);
}

#[test]
fn thread_counts_do_not_change_a_bit() {
    for text in [
        "matmul:f32[b=1,m=70,n=33,k=300]",
        "matmul:f32[b=1,m=70,n=300,k=300]",
        "matmul:f32[b=1,m=20,n=82,k=300;bias=true]",
        "matmul:f32[b=1,m=20,n=40,k=300;layout=nt,bias=true,activation=gelu]",
        "matmul:f32[b=1,m=5,n=130,k=257;layout=nt]",
        "matmul:f16[b=1,m=5,n=130,k=257;bias=true,activation=silu]",
        "matmul:bf16[b=1,m=70,n=100,k=600]",
        "matmul:bf16[b=3,m=7,n=9,k=270]",
        "matmul:f32[b=1,m=1,n=1,k=2]",
    ] {
        let case = parse(text);
        let signature = check_case(&Matmul, &case).unwrap();
        let filling = &Matmul.portfolio(&case, &signature).zero_mean[0];
        let inputs = trial::fill(&signature, filling, 13);
        for (kernel, isa) in contenders(&case) {
            let one = call(kernel, &case, isa, 1, &inputs);
            for threads in [2, 3, 4, 5] {
                let several = call(kernel, &case, isa, threads, &inputs);
                assert_eq!(one, several, "{text} {}@{isa} on {threads} threads", kernel.name());
            }
        }
    }
}

#[test]
fn partial_sums_are_never_rounded_to_bf16() {
    // After 256 terms the sum is 257, which bf16 does not hold; 255 more take it to 2.
    let case = parse("matmul:bf16[b=1,m=1,n=1,k=511]");
    let mut b = vec![1.0; 256];
    b[3] = 2.0;
    b.extend(vec![-1.0; 255]);
    for (kernel, isa) in contenders(&case) {
        let got = call(kernel, &case, isa, 1, &given(&[1.0; 511], &b));
        assert_eq!(got, [2.0], "{}@{isa}", kernel.name());
    }
}

#[test]
fn sums_without_terms_are_zeros() {
    let case = parse("matmul:f32[b=2,m=3,n=5,k=0]");
    for (kernel, isa) in contenders(&case) {
        let got = call(kernel, &case, isa, 2, &given(&[], &[]));
        assert_eq!(got, [0.0; 30], "{}@{isa}", kernel.name());
    }
}

#[test]
fn bias_and_activation_known_by_hand_come_out_of_every_kernel() {
    let inputs = Values {
        tensors: vec![vec![1.0, 2.0, 3.0, 4.0], vec![5.0, 6.0, 7.0, 8.0], vec![-20.0, 1.0]],
    };
    let known = [
        ("matmul:f32[b=1,m=2,n=2,k=2;bias=true]", [-1.0, 23.0, 23.0, 51.0]),
        ("matmul:bf16[b=1,m=2,n=2,k=2;bias=true,activation=relu]", [0.0, 23.0, 23.0, 51.0]),
        (
            "matmul:f32[b=1,m=2,n=2,k=2;bias=true,activation=silu]",
            [-0.268_941_42, 23.0, 23.0, 51.0],
        ),
        (
            "matmul:f32[b=1,m=2,n=2,k=2;bias=true,activation=gelu]",
            [-0.158_655_25, 23.0, 23.0, 51.0],
        ),
        (
            "matmul:f32[b=1,m=2,n=2,k=2;bias=true,activation=gelu_tanh]",
            [-0.158_808, 23.0, 23.0, 51.0],
        ),
    ];
    for (text, want) in known {
        let case = parse(text);
        let truth = Matmul.oracle(&case, &inputs, 0, &Want::all()).value;
        for (kernel, isa) in contenders(&case) {
            let got = call(kernel, &case, isa, 1, &inputs);
            for (at, want) in want.iter().enumerate() {
                let name = kernel.name();
                assert!((got[at] - want).abs() < 1e-6, "{text} {name}@{isa}: {} at {at}", got[at]);
                assert!((truth[at] - want).abs() < 1e-6, "{text} by the oracle");
            }
        }
    }
}

#[test]
fn a_weight_is_packed_once_only_if_batches_share_it() {
    let prepacked = ENTRY.kernel("prepacked").unwrap();
    let supports = |text: &str| prepacked.supports(&parse(text), Isa::Scalar).is_ok();
    assert!(supports("matmul:f32[b=1,m=2,n=2,k=2]"));
    assert!(supports("matmul:f32[b=2,m=2,n=2,k=2;shared=true]"));
    assert!(!supports("matmul:f32[b=2,m=2,n=2,k=2]"));
}

#[test]
fn the_public_function_multiplies_and_refuses_wrong_lengths() {
    let (a, b) = ([1.0, 0.0, 2.0, -1.0, 3.0, 1.0], [3.0, 1.0, 2.0, 1.0, 1.0, 0.0]);
    let mut c = [0.0; 4];
    let context = Context::serial();
    let a = Mat::new(&a, 2, 3);
    matmul(&context, a, Mat::new(&b, 3, 2), MatMut::new(&mut c, 2, 2)).unwrap();
    assert_eq!(c, [5.0, 1.0, 4.0, 2.0]);
    let short = matmul(&context, a, Mat::new(&b[..5], 3, 2), MatMut::new(&mut c, 2, 2));
    assert!(short.is_err());
}
