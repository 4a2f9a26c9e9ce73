//! Known answers, all kernels on all paths against the oracle, threads, laws and mutants.

use super::definition::{Matmul, Shape};
use super::{ENTRY, matmul, oracle};
use proofmark_contract::{
    Call, Filling, Kernel, Observed, Op, Portfolio, Signature, Truth, Values, Want, check_case,
};
use proofmark_schema::{Case, DType, Isa, Underflow};
use proofmark_tensor::{AlignedBuffer, Layout, Pool, Tensor};

/// Operands in memory, rows padded by `pad` elements, everything but the inputs NaN.
struct Memory {
    buffers: Vec<AlignedBuffer>,
    layouts: Vec<Layout>,
}

/// A byte that makes NaN in every float type.
const RUBBISH: u8 = 0xff;

impl Memory {
    fn new(signature: &Signature, pad: usize) -> Memory {
        let (mut buffers, mut layouts) = (Vec::new(), Vec::new());
        for operand in signature.operands() {
            let layout = Layout::padded(operand.shape.clone(), operand.layout().cols() + pad);
            let mut buffer = AlignedBuffer::new(layout.span() * operand.dtype.size());
            buffer.as_mut_slice().fill(RUBBISH);
            buffers.push(buffer);
            layouts.push(layout);
        }
        Memory { buffers, layouts }
    }

    fn tensor(&mut self, index: usize, dtype: DType) -> Tensor {
        let base = self.buffers[index].as_mut_slice().as_mut_ptr();
        // SAFETY: the buffer was made for this layout and type, and each is used by one tensor.
        unsafe { Tensor::from_raw(base, dtype, self.layouts[index].clone(), true) }
    }
}

/// One call of a kernel on padded operands with a workspace full of rubbish.
fn call(kernel: &dyn Kernel, case: &Case, isa: Isa, threads: usize, inputs: &Values) -> Vec<f64> {
    let signature = check_case(&Matmul, case).unwrap();
    let mut memory = Memory::new(&signature, 3);
    let dtypes = signature.operands().iter().map(|operand| operand.dtype).enumerate();
    let mut tensors: Vec<Tensor> =
        dtypes.map(|(index, dtype)| memory.tensor(index, dtype)).collect();
    let last = signature.inputs().len();
    let mut outputs = tensors.split_off(last);
    for (tensor, values) in tensors.iter_mut().zip(&inputs.tensors) {
        tensor.from_f64(values);
    }
    let mut workspace = AlignedBuffer::new(kernel.workspace_bytes(case, isa, threads));
    workspace.as_mut_slice().fill(RUBBISH);
    let mut prepared = AlignedBuffer::new(kernel.prepared_bytes(case, isa));
    let pool = Pool::new(threads);
    let mut call = Call {
        case,
        isa,
        threads,
        pool: &pool,
        inputs: &tensors,
        outputs: &mut outputs,
        workspace: workspace.as_mut_slice(),
        prepared: &[],
    };
    kernel.prepare(&mut call, prepared.as_mut_slice()).unwrap();
    call.prepared = prepared.as_slice();
    kernel.run(&mut call).unwrap();
    let result = outputs[0].to_f64();
    assert_padding_is_rubbish(&memory, last, signature.outputs()[0].dtype.size());
    result
}

fn assert_padding_is_rubbish(memory: &Memory, index: usize, size: usize) {
    let (layout, bytes) = (&memory.layouts[index], memory.buffers[index].as_slice());
    for row in bytes.chunks(layout.row_stride * size) {
        let padding = row.get(layout.cols() * size..).unwrap_or(&[]);
        assert!(padding.iter().all(|&byte| byte == RUBBISH), "padding of the result was written");
    }
}

fn values(signature: &Signature, filling: &Filling, seed: u64) -> Values {
    let read = signature.operands().iter().zip(&filling.fills).enumerate();
    let of = |(stream, (operand, fill)): (usize, (&proofmark_contract::Operand, _))| {
        let fill: &proofmark_tensor::Fill = fill;
        let cols = operand.layout().cols();
        let element = |index| fill.value(operand.dtype, seed, stream as u64, index, cols);
        (0..operand.len() as u64).map(element).collect()
    };
    Values { tensors: read.take(signature.inputs().len()).map(of).collect() }
}

/// The greatest q of a result; infinite if an element is not a number.
fn greatest_q(dtype: DType, got: &[f64], truth: &Truth) -> f64 {
    let mut greatest = 0.0f64;
    // The first value that is no longer finite stands for infinity.
    let ceiling = dtype.largest() + dtype.ulp(dtype.largest());
    for (at, &got) in got.iter().enumerate() {
        let (value, scale) = (truth.value[at].clamp(-ceiling, ceiling), truth.scale[at]);
        let got = got.clamp(-ceiling, ceiling);
        let error = ((got - value).abs() - 0.5 * dtype.ulp(value)).max(0.0);
        let q = if error == 0.0 { 0.0 } else { error / (DType::F32.unit() * scale) };
        greatest = greatest.max(if q.is_nan() { f64::INFINITY } else { q });
    }
    greatest
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

#[test]
fn every_kernel_on_every_path_is_within_the_limits_on_every_case() {
    for case in cases() {
        let signature = check_case(&Matmul, &case).unwrap();
        let Portfolio { zero_mean, structured, .. } = Matmul.portfolio(&case, &signature);
        let (limits, growth) = (Matmul.limits(&case), growth(&case));
        let zero_mean = zero_mean.iter().map(|filling| (filling, limits.q_max));
        let structured = structured.iter().map(|filling| (filling, limits.structured * growth));
        for (at, (filling, limit)) in zero_mean.chain(structured).enumerate() {
            let inputs = values(&signature, filling, 7);
            let truth = Matmul.oracle(&case, &inputs, 0, &Want::all());
            // The plain loops have the longest chain of roundings: they try every filling.
            let tried = contenders(&case).into_iter();
            for (kernel, isa) in tried.filter(|(kernel, _)| at == 0 || kernel.name() == "scalar") {
                let got = call(kernel, &case, isa, 1, &inputs);
                let q = greatest_q(signature.outputs()[0].dtype, &got, &truth);
                let name = filling.describe(&signature);
                assert!(q <= limit, "{case} {name} by {}@{isa}: q {q}", kernel.name());
            }
        }
    }
}

/// The factor of the structured limit for sums of this length.
fn growth(case: &Case) -> f64 {
    1.0 + (Matmul.reduction(case) as f64).sqrt() / 4.0
}

#[test]
fn special_values_come_out_as_in_the_oracle() {
    for text in ["matmul:f32[b=1,m=5,n=18,k=33]", "matmul:bf16[b=1,m=5,n=18,k=33;layout=nt]"] {
        let case = parse(text);
        let signature = check_case(&Matmul, &case).unwrap();
        let specials = Matmul.specials(&case, &signature);
        let filling = &Matmul.portfolio(&case, &signature).zero_mean[0];
        let dtype = signature.outputs()[0].dtype;
        let limit = Matmul.limits(&case).structured * growth(&case);
        for (at, &special) in specials.values.iter().enumerate() {
            let mut inputs = values(&signature, filling, 31);
            for &operand in &specials.operands {
                let tensor = &mut inputs.tensors[operand];
                let place = (at * 41 + 32) % tensor.len();
                tensor[place] = special;
                // A zero where the other operand may hold an infinity.
                tensor[(place + 7) % 33] = 0.0;
            }
            let truth = Matmul.oracle(&case, &inputs, 0, &Want::all());
            let is_tiny = special != 0.0 && special.abs() < 2f64.powi(case.dtype.min_exponent());
            for (kernel, isa) in contenders(&case) {
                if is_tiny && kernel.contract(&case).underflow == Underflow::Flushed {
                    continue;
                }
                let got = call(kernel, &case, isa, 1, &inputs);
                for (index, (&got, &want)) in got.iter().zip(&truth.value).enumerate() {
                    let same = got == want || (got.is_nan() && want.is_nan());
                    let one = Truth {
                        value: vec![want],
                        scale: vec![truth.scale[index]],
                        ..Truth::default()
                    };
                    let close = want.is_finite() && greatest_q(dtype, &[got], &one) <= limit;
                    let name = kernel.name();
                    assert!(same || close, "{text} {special} {name}@{isa}: {got}, not {want}");
                }
            }
        }
    }
}

/// The attributes of what is done to a sum.
const EPILOGUE: [&str; 2] = ["activation", "bias"];

#[test]
fn integers_come_out_exactly_and_pass_the_audit() {
    for case in cases() {
        let signature = check_case(&Matmul, &case).unwrap();
        for filling in Matmul.portfolio(&case, &signature).exact {
            let inputs = values(&signature, &filling, 11);
            let truth = Matmul.oracle(&case, &inputs, 0, &Want::all());
            let largest = truth.scale.iter().fold(0.0f64, |most, &scale| most.max(scale));
            let bits = signature.outputs()[0].dtype.significand_bits();
            assert!(largest <= 2f64.powi(bits as i32), "{case}: sums reach {largest}");
            for (kernel, isa) in contenders(&case) {
                let got = call(kernel, &case, isa, 1, &inputs);
                assert_eq!(got, truth.value, "{case} by {}@{isa}", kernel.name());
                let is_plain = case.attrs.iter().all(|(name, _)| !EPILOGUE.contains(&&**name));
                let audited = is_plain.then_some(Ok(()));
                assert_eq!(Matmul.audit(&case, &inputs, &[got], 3), audited, "{case}");
            }
        }
    }
}

#[test]
fn the_audit_sees_one_changed_element_anywhere() {
    let case = parse("matmul:f32[b=2,m=5,n=7,k=9;layout=nt]");
    let signature = check_case(&Matmul, &case).unwrap();
    let filling = &Matmul.portfolio(&case, &signature).exact[0];
    let inputs = values(&signature, filling, 5);
    let right = Matmul.oracle(&case, &inputs, 0, &Want::all()).value;
    for at in 0..right.len() {
        for change in [1.0, 0.5, f64::NAN] {
            let mut wrong = right.clone();
            wrong[at] += change;
            assert!(matches!(Matmul.audit(&case, &inputs, &[wrong], 3), Some(Err(_))), "{at}");
        }
    }
    let reals = values(&signature, &Matmul.portfolio(&case, &signature).zero_mean[0], 5);
    assert_eq!(oracle::freivalds(Shape::of(&case), &reals, &right, 3), None);
}

#[test]
fn thread_counts_do_not_change_a_bit() {
    for text in [
        "matmul:f32[b=1,m=70,n=33,k=300]",
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
        let inputs = values(&signature, filling, 13);
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

/// The name of the first law that a kernel breaks.
fn broken_law(kernel: &dyn Kernel, case: &Case, isa: Isa, inputs: &Values) -> Option<String> {
    let before = call(kernel, case, isa, 1, inputs);
    for law in Matmul.laws() {
        let mut changed = inputs.clone();
        if !(law.change)(case, &mut changed, 17) {
            continue;
        }
        let signature = check_case(&Matmul, case).unwrap();
        for (tensor, operand) in changed.tensors.iter_mut().zip(signature.operands()) {
            for value in tensor {
                *value = proofmark_tensor::round_to(operand.dtype, *value);
            }
        }
        let after = call(kernel, case, isa, 1, &changed);
        let held = (law.holds)(
            case,
            Observed { inputs, outputs: std::slice::from_ref(&before) },
            Observed { inputs: &changed, outputs: &[after] },
        );
        if let Err(why) = held {
            return Some(format!("{}: {why}", law.name));
        }
    }
    None
}

#[test]
fn every_kernel_obeys_the_laws() {
    for case in cases() {
        let signature = check_case(&Matmul, &case).unwrap();
        let portfolio = Matmul.portfolio(&case, &signature);
        for filling in portfolio.exact.first().into_iter().chain(portfolio.zero_mean.first()) {
            let inputs = values(&signature, filling, 19);
            // The laws are about the op: the best path of each kernel stands for the others.
            let best = |(kernel, isa): &(&'static dyn Kernel, Isa)| {
                let higher = kernel.isas().iter().filter(|&other| other > isa);
                !higher.copied().any(proofmark_simd::available)
            };
            for (kernel, isa) in contenders(&case).into_iter().filter(best) {
                let broken = broken_law(kernel, &case, isa, &inputs);
                assert_eq!(broken, None, "{case} by {}@{isa}", kernel.name());
            }
        }
    }
}

/// Whether a wrong kernel shows on some case: an inexact integer, a large error, a broken law.
fn is_caught(kernel: &dyn Kernel, dtype: DType) -> bool {
    Matmul.proof_cases(dtype).iter().any(|case| {
        let signature = check_case(&Matmul, case).unwrap();
        let portfolio = Matmul.portfolio(case, &signature);
        let dtype = signature.outputs()[0].dtype;
        let wrong_on = |filling: &Filling, limit: f64| {
            let inputs = values(&signature, filling, 23);
            let truth = Matmul.oracle(case, &inputs, 0, &Want::all());
            greatest_q(dtype, &call(kernel, case, Isa::Scalar, 1, &inputs), &truth) > limit
        };
        portfolio.exact.first().is_some_and(|filling| wrong_on(filling, 0.0))
            || wrong_on(&portfolio.zero_mean[0], Matmul.limits(case).q_max)
            || {
                let inputs = values(&signature, &portfolio.zero_mean[0], 29);
                broken_law(kernel, case, Isa::Scalar, &inputs).is_some()
            }
    })
}

#[test]
fn every_mutant_goes_wrong_on_a_proof_case_of_each_of_its_types() {
    for mutant in ENTRY.mutants {
        for &dtype in Matmul.dtypes() {
            let any = &Matmul.proof_cases(dtype)[0];
            if mutant.kernel.supports(any, Isa::Scalar).is_ok() {
                assert!(is_caught(mutant.kernel, dtype), "{} at {dtype}", mutant.name);
            }
        }
    }
    let scalar = ENTRY.kernel("scalar").unwrap();
    assert!(!is_caught(scalar, DType::F32), "a right kernel must pass the same test");
    assert!(!is_caught(scalar, DType::Bf16), "a right kernel must pass the same test");
    assert!(!is_caught(scalar, DType::F16), "a right kernel must pass the same test");
}

#[test]
fn the_public_function_multiplies_and_refuses_wrong_lengths() {
    let (a, b) = ([1.0, 0.0, 2.0, -1.0, 3.0, 1.0], [3.0, 1.0, 2.0, 1.0, 1.0, 0.0]);
    let mut c = [0.0; 4];
    matmul(&a, &b, &mut c, 2, 2, 3).unwrap();
    assert_eq!(c, [5.0, 1.0, 4.0, 2.0]);
    assert!(matmul(&a, &b[..5], &mut c, 2, 2, 3).is_err());
}
