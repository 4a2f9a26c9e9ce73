//! Python frameworks, called in an interpreter inside the worker: NumPy, PyTorch, JAX.
//!
//! A framework is a script beside this file and a constant below. The script says what a user of
//! the framework would write for an op; `bridge.py` stands between it and this file.

mod composed;
mod interpreter;

use crate::peer::{FLUSHED, PLAIN};
use crate::{Found, Peer, Ready, Source};
use interpreter::{Interpreter, Object};
use proofmark_contract::{Call, ExplicitCase, KernelError, Signature, Unsupported};
use proofmark_schema::{AttrValue, DType, ErrorContract, Receipt};
use proofmark_tensor::Tensor;
use serde::Deserialize;
use serde_json::{Value, json};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What differs between the frameworks.
pub(crate) struct Framework {
    name: &'static str,
    summary: &'static str,
    packages: &'static [&'static str],
    /// The name on the shelf, where another's packages serve this one too.
    shelved_as: &'static str,
    script: &'static str,
    environment: &'static [(&'static str, &'static str)],
    ops: &'static [&'static str],
    supports: fn(&ExplicitCase) -> Result<(), Unsupported>,
    /// Ops in which it loses subnormals.
    flushes: &'static [&'static str],
    /// Cases in which it follows no rule for NaN and infinities.
    finite_only: fn(&ExplicitCase) -> bool,
    /// Milliseconds until a worker has it ready for a case: fitted to the proofs and a quick race
    /// of `add` on two processors.
    opens_ms: u32,
}

#[rustfmt::skip] // By kind.
const TORCH_OPS: &[&str] = &[
    "matmul", "softmax", "rms_norm", "add", "sub", "mul", "div", "axpy", "relu", "exp", "tanh",
    "sigmoid", "silu", "gelu", "gelu_tanh", "gelu_quick", "swiglu", "geglu", "cast", "dot",
    "transpose", "layer_norm", "add_rms_norm", "qk_norm", "log_softmax", "rope",
    "dequantize_fp8", "dequantize_int8", "matmul_fp8_block", "matmul_int8", "matmul_q8",
    "quantize_fp8", "quantize_int8", "attention", "sum", "mean", "max", "argmax", "variance", "mse",
    "cross_entropy", "layer_norm_grad", "softmax_grad",
    "conv1d", "conv2d", "gru", "lstm",
    "fft", "spmv", "spmm", "coo_to_csr", "csr_to_coo",
];

pub(crate) const NUMPY: Framework = Framework {
    name: "numpy",
    summary: "NumPy with SciPy: one call where they have one, else a few",
    packages: &["numpy", "scipy"],
    shelved_as: "numpy",
    script: include_str!("numpy.py"),
    // Idle threads sleep at once instead of after 2^26 cycles.
    environment: &[("OPENBLAS_THREAD_TIMEOUT", "4"), ONE_BLAS_THREAD],
    ops: composed::NUMPY_OPS,
    supports: composed::numpy_supports,
    flushes: composed::NUMPY_SIGMOID,
    // SciPy takes 0 for a greatest element that is infinite. The result is -infinity where NaN is
    // due, in the losses too. Its softmax returns NaN for scores that are all -infinity.
    finite_only: |case| matches!(case.op.as_str(), "cross_entropy" | "log_softmax" | "attention"),
    opens_ms: 60,
};

pub(crate) const PYTORCH: Framework = Framework {
    name: "pytorch",
    summary: "PyTorch, eager: one call of torch or torch.nn.functional",
    packages: TORCH,
    shelved_as: "pytorch",
    script: include_str!("pytorch.py"),
    environment: &[("PROOFMARK_TORCH_COMPILE", "0"), ONE_BLAS_THREAD],
    ops: TORCH_OPS,
    supports: torch_supports,
    flushes: SIGMOID,
    finite_only: torch_is_finite_only,
    opens_ms: 400,
};

pub(crate) const PYTORCH_COMPILE: Framework = Framework {
    name: "pytorch_compile",
    summary: "PyTorch, compiled: the same functions through torch.compile; needs a C++ compiler",
    packages: TORCH,
    shelved_as: "pytorch",
    script: include_str!("pytorch.py"),
    environment: &[
        ("PROOFMARK_TORCH_COMPILE", "1"),
        ("TORCHINDUCTOR_COMPILE_THREADS", "1"),
        ONE_BLAS_THREAD,
    ],
    ops: TORCH_OPS,
    supports: |case| match case.op.as_str() {
        _ if case.is_set("inplace") => no("a compiled function returns its result in new memory"),
        "fft" | "spmv" | "spmm" | "coo_to_csr" | "csr_to_coo" => {
            no("its compiler leaves complex numbers and sparse matrices to the eager functions")
        }
        "quantize_int8" if composed::has_rest(case)? => {
            no("the code that inductor 2.15 makes of a padded row reads past its end")
        }
        "matmul_fp8_block" if has_one_short_row_of_scales(case)? => {
            no("the code of inductor 2.15 reads past one row of scales whose last block is short")
        }
        _ => torch_supports(case),
    },
    flushes: SIGMOID,
    finite_only: torch_is_finite_only,
    opens_ms: 2600,
};

pub(crate) const JAX: Framework = Framework {
    name: "jax",
    summary: "JAX on the CPU: one function through jax.jit",
    packages: &["jax", "jaxlib", "numpy"],
    shelved_as: "jax",
    script: include_str!("jax.py"),
    environment: &[("JAX_PLATFORMS", "cpu"), ONE_BLAS_THREAD],
    ops: composed::OPS,
    supports: composed::jax_supports,
    // XLA makes the processor flush subnormals.
    flushes: composed::OPS,
    // Its max ignores NaN, and scores that are all -infinity give NaN.
    finite_only: |case| matches!(case.op.as_str(), "max" | "attention"),
    opens_ms: 900,
};

/// Whether the weight's scales are one row of several, and its last block is short.
fn has_one_short_row_of_scales(case: &ExplicitCase) -> Result<bool, Unsupported> {
    let block = case.int("block")?.max(1) as u64;
    let (n, k) = (case.size("n").unwrap_or(0), case.size("k").unwrap_or(0));
    Ok(n <= block && k > block && !k.is_multiple_of(block))
}

/// Sigmoids by an exponential that overflows where the result is not zero yet.
const SIGMOID: &[&str] = &["silu", "sigmoid", "gelu_quick", "lstm"];

/// Activations that use `1 + erf` or `1 + tanh`, which is 0 where the result is not zero yet, and
/// those that multiply what a sigmoid has lost.
const TEXTBOOK: &[&str] = &["gelu", "gelu_tanh", "geglu", "swiglu"];

const TORCH: &[&str] = &["torch", "numpy"];

/// Every framework brings NumPy and its BLAS along. Threads that the BLAS starts while it is loaded
/// would be missing from copies of the process. For calls that want threads they are started later.
const ONE_BLAS_THREAD: (&str, &str) = ("OPENBLAS_NUM_THREADS", "1");

/// The answer of a framework to a case that it has no equal of.
fn no(reason: &str) -> Result<(), Unsupported> {
    Err(Unsupported(reason.to_owned()))
}

fn torch_supports(case: &ExplicitCase) -> Result<(), Unsupported> {
    let is_empty = case.axes.iter().any(|(_, size)| *size == 0);
    if is_empty && (case.op.contains("quantize") || case.op.starts_with("matmul_")) {
        return no("it has no greatest element of a group without elements, nor empty sums");
    }
    match case.op.as_str() {
        "max" if is_empty => return no("it has no largest of no elements"),
        "layer_norm_grad" if is_empty => return no("it is not called without elements"),
        "mean" if case.dtype != DType::F32 => {
            return no("it rounds the sum to the element type before it divides");
        }
        "layer_norm_grad" if case.dtype != DType::F32 => {
            return no("it keeps mean and root in the element type");
        }
        "layer_norm" if case.dtype != DType::F32 && case.size("d") == Some(1) => {
            return no("in 16 bits it subtracts x · r and mean · r, which leaves their rounding");
        }
        "conv1d" | "conv2d" if case.size("c") == Some(0) => {
            return no("it has no convolution without channels");
        }
        "gru" | "lstm" if is_empty => return no("its recurrent layers have no empty axes"),
        "dot" if case.dtype != DType::F32 => {
            return no("its results have the element type of its operands");
        }
        "axpy" if case.dtype != DType::F32 => {
            return no("it rounds alpha · x to the element type before it adds y");
        }
        "gelu_quick" | "swiglu" | "geglu" if case.dtype != DType::F32 => {
            return no("composed of its functions, it rounds to the element type in between");
        }
        "gelu" | "gelu_tanh" | "gelu_quick" | "swiglu" | "geglu" if case.is_set("inplace") => {
            return no("it has no such function in place");
        }
        "matmul" => torch_multiplies(case)?,
        // Seen with PyTorch 2.15; only unscaled elements overflow.
        "quantize_fp8"
            if case.word("block")? == "unit"
                && case.word("overflow")? == "nan"
                && case.word("format")? == "e4m3" =>
        {
            return no("its conversion to e4m3 saturates");
        }
        "log_softmax" if case.dtype != DType::F32 => {
            return no("it rounds the logarithm of the sum to the element type on the way");
        }
        "spmv" | "spmm" if case.word("format")? == "coo" => {
            return no("its indices of entries are one tensor of 64 bits");
        }
        "rope" if case.flag("inplace")? => {
            return no("its users make new memory of a turned head");
        }
        _ => {}
    }
    one_entry_a_place(case)?;
    no_softmax_in_place(case)
}

fn torch_multiplies(case: &ExplicitCase) -> Result<(), Unsupported> {
    let is_short = case.dtype != DType::F32;
    if is_short && !matches!(case.word("activation")?, "none" | "relu") {
        return no("it rounds the sum to the element type before the activation");
    }
    if case.flag("bias")? && case.size("b").unwrap_or(1) > 1 && !case.flag("shared")? {
        return no("a linear layer has one weight for all batches");
    }
    if is_short && case.word("out")? == "f32" {
        return no("its results have the element type of its operands");
    }
    // Seen with PyTorch 2.15 on AMX: the last pair of a row is read whole, which includes the first
    // element of the next row, or what lies behind the operand.
    if is_short && case.size("k").unwrap_or(0) % 2 == 1 {
        return no("with an odd k it reads past the end of A");
    }
    Ok(())
}

/// Seen with PyTorch 2.15: a row of NaN scores gives zeros, gelu returns NaN for +infinity, and AMX
/// tiles of 16 bits reach into the next rows and multiply by 0 what they find there.
fn torch_is_finite_only(case: &ExplicitCase) -> bool {
    match case.op.as_str() {
        "attention" => true,
        "matmul" => case.dtype != DType::F32 || case.is("activation", "gelu"),
        _ => false,
    }
}

/// Refuses conversions to rows that would add up entries of one place, which the op keeps.
fn one_entry_a_place(case: &ExplicitCase) -> Result<(), Unsupported> {
    match case.op.as_str() {
        "coo_to_csr" if !matches!(case.word("pattern")?, "stencil" | "banded") => {
            no("it adds up entries of one place: --attr pattern=stencil has none")
        }
        "coo_to_csr" if case.size("n") == Some(0) => no("a matrix has columns"),
        _ => Ok(()),
    }
}

fn no_softmax_in_place(case: &ExplicitCase) -> Result<(), Unsupported> {
    match case.op == "softmax" && case.flag("inplace")? {
        true => no("it has no softmax in place"),
        false => Ok(()),
    }
}

impl Peer for Framework {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn ops(&self) -> &'static [&'static str] {
        self.ops
    }

    fn source(&self) -> Source {
        Source::Python { packages: self.packages }
    }

    fn shelved_as(&self) -> &'static str {
        self.shelved_as
    }

    fn environment(&self) -> &'static [(&'static str, &'static str)] {
        self.environment
    }

    fn opens_ms(&self) -> u32 {
        self.opens_ms
    }

    fn supports(&self, case: &ExplicitCase) -> Result<(), Unsupported> {
        if case.is("rounding", "stochastic") {
            return no("it rounds to nearest only");
        }
        (self.supports)(case)
    }

    fn contract(&self, case: &ExplicitCase) -> ErrorContract {
        let op = case.op.as_str();
        ErrorContract {
            finite_only: (self.finite_only)(case),
            cancels: TEXTBOOK.contains(&op),
            // Weights are rounded to the element type before their product with the values.
            rounds_inside: op == "attention" && case.dtype != DType::F32,
            ..if self.flushes.contains(&op) { FLUSHED } else { PLAIN }
        }
    }

    fn warm(&self, found: &Found) -> Result<bool, String> {
        self.begin(found).map(|_| true)
    }

    fn open(&self, found: &Found) -> Result<(), String> {
        self.begin(found).map(drop)
    }

    fn load(
        &self,
        found: &Found,
        case: &ExplicitCase,
        _: &Signature,
        threads: usize,
    ) -> Result<Ready, String> {
        let bridge = self.begin(found)?;
        let mut told = words(case);
        told["threads"] = json!(threads);
        let said = bridge.ask(c"introduce", &told.to_string())?.to_text().unwrap_or_default();
        let said: Introduced = serde_json::from_str(&said).map_err(|error| error.to_string())?;
        let binder = Rc::new(Binder {
            bridge: Rc::clone(&bridge),
            case: case.clone(),
            bound: RefCell::default(),
            last: Cell::new(0),
        });
        let (settler, counter) = (Rc::clone(&binder), Rc::clone(&binder));
        let empty = bridge.get(c"empty")?;
        Ok(Ready {
            receipt: Receipt {
                version: said.version,
                build: said.build,
                isa: said.isa,
                device: "cpu".to_owned(),
                memory: said.memory,
                ..Receipt::default()
            },
            set_threads: said.parallel.then(|| {
                let set = move |threads| counter.set_threads(threads);
                Box::new(set) as Box<dyn Fn(usize)>
            }),
            run: Box::new(move |call| binder.with(call, |bound| bound.call.call())),
            settle: Some(Box::new(move |call| {
                settler.with(call, |bound| bound.settle.as_ref().map_or(Ok(()), Object::call))
            })),
            // It was called once when it was made, so it does not fail.
            empty: Some(Box::new(move || drop(empty.call()))),
        })
    }
}

thread_local! {
    /// The bridge to the one framework of this process, after it was imported.
    static BRIDGE: OnceCell<Rc<Object>> = const { OnceCell::new() };
}

impl Framework {
    /// Starts the interpreter and imports the framework, once.
    fn begin(&self, found: &Found) -> Result<Rc<Object>, String> {
        if let Some(bridge) = BRIDGE.with(|bridge| bridge.get().cloned()) {
            return Ok(bridge);
        }
        let python = found.python.as_ref().ok_or("its note on the shelf names no interpreter")?;
        let home = [("PYTHONHOME", python.prefix.as_os_str()), ("PYTHONNOUSERSITE", "1".as_ref())];
        for (name, value) in home {
            // SAFETY: a worker has one thread when it loads a contender, so no other reads
            // meanwhile.
            unsafe { std::env::set_var(name, value) };
        }
        let interpreter = Interpreter::start(&found.library)?;
        let bridge = interpreter.module(c"proofmark_bridge", include_str!("bridge.py"))?;
        let told = json!({
            "packages": python.packages,
            "place": found.place,
            "name": format!("{}.py", self.name),
            "script": self.script,
        });
        bridge.ask(c"begin", &told.to_string())?;
        Ok(BRIDGE.with(|place| Rc::clone(place.get_or_init(|| Rc::new(bridge)))))
    }
}

/// What a script says of its framework.
#[derive(Deserialize)]
struct Introduced {
    version: String,
    build: String,
    isa: String,
    memory: String,
    /// Whether it uses more than one thread for the op.
    parallel: bool,
}

/// A case in the words of the scripts.
fn words(case: &ExplicitCase) -> Value {
    let axes: BTreeMap<&str, u64> = case.axes.iter().map(|(name, size)| (&**name, *size)).collect();
    let value = |value: &AttrValue| match value {
        AttrValue::Flag(flag) => json!(flag),
        AttrValue::Int(number) => json!(number),
        AttrValue::Real(number) => json!(number),
        AttrValue::Word(word) => json!(word),
    };
    let attrs: BTreeMap<&str, Value> =
        case.attrs.iter().map(|(name, given)| (&**name, value(given))).collect();
    json!({
        "op": case.op,
        "dtype": case.dtype.to_string(),
        "axes": axes,
        "attrs": attrs,
    })
}

fn operand(tensor: &Tensor) -> Value {
    json!({
        "address": tensor.base() as usize,
        "dtype": tensor.dtype.to_string(),
        "item_bytes": tensor.dtype.size(),
        "shape": tensor.layout.shape,
        "row_stride": tensor.layout.row_stride,
    })
}

/// A call of Python on operands that it knows.
struct Bound {
    /// Where the operands lie, and how far apart their rows.
    operands: Vec<(usize, usize)>,
    call: Object,
    settle: Option<Object>,
}

/// Sets of operands are kept up to this many: more than a race rotates through.
const MOST_BOUND: usize = 600;

/// Finds the Python call for operands, and makes it when they are met first.
struct Binder {
    bridge: Rc<Object>,
    case: ExplicitCase,
    bound: RefCell<Vec<Bound>>,
    /// The index that was used last: the next call uses the same or the one after.
    last: Cell<usize>,
}

impl Binder {
    fn with(
        &self,
        call: &Call<'_>,
        deed: impl FnOnce(&Bound) -> Result<(), String>,
    ) -> Result<(), KernelError> {
        let index = match self.find(call) {
            Some(index) => index,
            None => self.bind(call).map_err(KernelError::Refused)?,
        };
        self.last.set(index);
        deed(&self.bound.borrow()[index]).map_err(KernelError::Refused)
    }

    fn find(&self, call: &Call<'_>) -> Option<usize> {
        let bound = self.bound.borrow();
        let (last, count) = (self.last.get(), bound.len());
        let from_last = (last..count).chain(0..last.min(count));
        from_last.into_iter().find(|&index| places(call).eq(bound[index].operands.iter().copied()))
    }

    fn bind(&self, call: &Call<'_>) -> Result<usize, String> {
        let mut told = words(&self.case);
        told["inputs"] = call.inputs.iter().map(operand).collect();
        told["outputs"] = call.outputs.iter().map(operand).collect();
        let made = self.bridge.ask(c"bind", &told.to_string())?;
        let mut bound = self.bound.borrow_mut();
        if bound.len() == MOST_BOUND {
            bound.clear();
        }
        bound.push(Bound {
            operands: places(call).collect(),
            call: made.item(0)?,
            settle: made.item(1)?.callable(),
        });
        Ok(bound.len() - 1)
    }

    /// # Panics
    /// If the framework does not take that many; the worker tells its supervisor.
    fn set_threads(&self, threads: usize) {
        self.bound.borrow_mut().clear();
        if let Err(words) = self.bridge.ask(c"set_threads", &threads.to_string()) {
            panic!("{words}");
        }
    }
}

fn places(call: &Call<'_>) -> impl Iterator<Item = (usize, usize)> {
    let all = call.inputs.iter().chain(call.outputs.iter());
    all.map(|tensor| (tensor.base() as usize, tensor.layout.row_stride))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::explicit;
    use proofmark_schema::{Case, Underflow};

    #[test]
    fn what_a_framework_has_no_equal_of_is_refused_before_it_is_loaded() {
        let case = |op, dtype| Case::new(op, dtype).axis("d", 8);
        let in_place = |case: Case| case.attr("inplace", AttrValue::Flag(true));
        let word = |case: Case, name, word: &str| case.attr(name, AttrValue::Word(word.to_owned()));
        let all = [&NUMPY, &PYTORCH, &PYTORCH_COMPILE, &JAX];
        let done_by = |case: Case| all.map(|peer| peer.supports(&explicit(&case)).is_ok());
        assert_eq!(done_by(case("add", DType::F32)), [true; 4]);
        assert_eq!(done_by(in_place(case("add", DType::F32))), [true, true, false, false]);
        assert_eq!(done_by(in_place(case("softmax", DType::F32))), [false; 4]);
        assert_eq!(done_by(case("silu", DType::F16)), [false, true, true, false]);
        assert_eq!(done_by(case("matmul", DType::Bf16)), [false, true, true, true]);
        for dtype in [DType::Bf16, DType::F16] {
            let odd = case("matmul", dtype).axis("k", 61);
            assert_eq!(done_by(odd), [false, false, false, true]);
            let single = Case::new("layer_norm", dtype).axis("d", 1);
            assert!(PYTORCH.supports(&explicit(&single)).is_err(), "a mean that is the element");
        }
        let blind = word(case("attention", DType::F32).axis("q", 9), "mask", "causal");
        assert_eq!(done_by(blind.clone().axis("t", 4)), [false, true, true, false]);
        assert_eq!(done_by(blind.axis("t", 9)), [true; 4]);
        let keyless = case("attention", DType::F32).axis("q", 3).axis("t", 0);
        assert!(NUMPY.supports(&explicit(&keyless)).is_err(), "no greatest of no scores");
        let rounds = |dtype| PYTORCH.contract(&explicit(&case("attention", dtype))).rounds_inside;
        let types = [DType::F32, DType::Bf16, DType::F16];
        assert_eq!(types.map(rounds), [false, true, true], "weights in 16 bits");
        let wide = word(case("matmul", DType::Bf16), "out", "f32");
        assert_eq!(done_by(wide), [false, false, false, true]);
        let torch = |op, dtype| PYTORCH.supports(&explicit(&case(op, dtype))).is_ok();
        for op in ["axpy", "dot", "gelu_quick", "swiglu", "geglu", "mean", "layer_norm_grad"] {
            assert!(torch(op, DType::F32) && !torch(op, DType::Bf16), "{op}");
        }
        let gelu = PYTORCH.contract(&explicit(&case("gelu", DType::F16)));
        assert!(torch("gelu", DType::F16) && gelu.cancels);
        let torch_does = |case: Case| PYTORCH.supports(&explicit(&case)).is_ok();
        let activated = |dtype, name| torch_does(word(case("matmul", dtype), "activation", name));
        assert!(activated(DType::F32, "silu") && activated(DType::Bf16, "relu"));
        assert!(!activated(DType::Bf16, "silu"), "it rounds twice");
        let biased = case("matmul", DType::F32).attr("bias", AttrValue::Flag(true)).axis("b", 2);
        assert!(
            !torch_does(biased.clone()) && torch_does(biased.attr("shared", AttrValue::Flag(true)))
        );
        let nothing = |op| case(op, DType::F32).axis("s", 0);
        assert_eq!(done_by(nothing("max")), [false; 4]);
        assert_eq!(done_by(nothing("sum")), [true; 4]);
        let random = word(case("add", DType::Bf16), "rounding", "stochastic");
        assert_eq!(done_by(random), [false; 4]);
    }

    #[test]
    fn a_framework_promises_what_it_does_on_the_op_and_no_more() {
        let case = |op| explicit(&Case::new(op, DType::F32).axis("d", 8));
        let said = |peer: &Framework, op| peer.contract(&case(op)).concessions().len();
        let all = [&NUMPY, &PYTORCH, &PYTORCH_COMPILE, &JAX];
        let finite_only = |op| all.map(|peer| peer.contract(&case(op)).finite_only);
        assert_eq!(
            finite_only("attention"),
            [true; 4],
            "zeros of NaN scores, or NaN of hidden ones"
        );
        assert_eq!(finite_only("log_softmax"), [true, false, false, false]);
        assert_eq!(finite_only("matmul"), [false; 4]);
        let tiles = explicit(&Case::new("matmul", DType::F16).axis("k", 34));
        assert!(PYTORCH.contract(&tiles).finite_only, "they reach into the next rows");
        // XLA flushes subnormals, whatever else is lost.
        let gelu = JAX.contract(&case("gelu"));
        assert!(gelu.cancels && gelu.underflow == Underflow::Flushed, "{gelu:?}");
        assert_eq!([&NUMPY, &PYTORCH].map(|peer| said(peer, "gelu")), [1, 1]);
        assert_eq!(all.map(|peer| said(peer, "add")), [0, 0, 0, 1]);
    }

    #[test]
    fn a_case_is_told_with_its_defaults() {
        let case = Case::new("rms_norm", DType::Bf16).axis("b", 2).axis("d", 8);
        let gemma = case.attr("variant", AttrValue::Word("gemma".to_owned()));
        let told = words(&explicit(&gemma));
        assert_eq!(told["axes"], json!({"b": 2, "d": 8}));
        assert_eq!(told["dtype"], json!("bf16"));
        assert_eq!(told["attrs"], json!({"eps": 1e-6, "variant": "gemma"}));
    }

    #[test]
    fn a_script_reads_only_attributes_that_some_op_has() {
        let known: Vec<&str> = proofmark_ops::OPS
            .iter()
            .flat_map(|entry| entry.op.attributes().iter().map(|attribute| attribute.name))
            .collect();
        for framework in [&NUMPY, &PYTORCH, &JAX] {
            let reads = ["attrs[\"", "has(case, \""];
            let reads = reads.map(|read| framework.script.split(read).skip(1));
            let names: Vec<&str> =
                reads.into_iter().flatten().filter_map(|rest| rest.split('"').next()).collect();
            assert!(names.len() > 20, "{}: {names:?}", framework.name);
            let unknown: Vec<&&str> = names.iter().filter(|name| !known.contains(name)).collect();
            assert!(unknown.is_empty(), "{}: {unknown:?}", framework.name);
        }
    }
}
