//! Python frameworks, called in an interpreter inside the worker: NumPy, PyTorch, JAX.
//!
//! A framework is a script beside this file and a constant below. The script says what a user of
//! the framework would write for an op; `bridge.py` stands between it and this file.

mod composed;
mod frameworks;
pub(crate) mod home;
mod interpreter;
mod words;

pub(crate) use frameworks::{JAX, NUMPY, PYTORCH, PYTORCH_COMPILE};

use crate::peer::{FLUSHED, PLAIN};
use crate::{CallMemory, Called, Found, Needs, Packing, Peer, Ready, Source};
use composed::no;
use frameworks::TEXTBOOK;
use interpreter::{Interpreter, Object};
use proofmark_contract::{Call, DeviceTimes, ExplicitCase, KernelError, Signature, Unsupported};
use proofmark_schema::{DType, ErrorContract, Receipt};
use serde_json::{Value, json};
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use words::{Introduced, SaidTimes, declared, operand, words};

/// What differs between the frameworks.
pub(crate) struct Framework {
    name: &'static str,
    summary: &'static str,
    packages: &'static [&'static str],
    /// Their versions and hashes.
    lock: &'static str,
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
    /// What its process does besides computing.
    needs: Needs,
    /// Milliseconds until a worker has imported it, on a machine whose files are in memory.
    opens_ms: u32,
    /// Milliseconds until it is ready for one case more: the mean over the 22 cases that prove
    /// `rms_norm`.
    prepares_ms: u32,
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
        Source::Python { packages: self.packages, lock: self.lock }
    }

    fn shelved_as(&self) -> &'static str {
        self.shelved_as
    }

    fn environment(&self) -> &'static [(&'static str, &'static str)] {
        self.environment
    }

    fn needs(&self) -> Needs {
        self.needs
    }

    fn opens_ms(&self) -> u32 {
        self.opens_ms
    }

    fn prepares_ms(&self) -> u32 {
        self.prepares_ms
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
        self.script(found).begin(found).map(|_| true)
    }

    fn open(&self, found: &Found) -> Result<(), String> {
        self.script(found).begin(found).map(drop)
    }

    fn load(
        &self,
        found: &Found,
        case: &ExplicitCase,
        signature: &Signature,
        threads: usize,
    ) -> Result<Ready, String> {
        self.script(found).load(found, case, signature, threads)
    }
}

impl Framework {
    fn script(&self, found: &Found) -> Script {
        Script {
            name: format!("{}.py", self.name),
            text: self.script,
            given: json!({ "place": found.place }),
            told: Value::Null,
        }
    }
}

/// A script that stands between the interpreter and what it calls. It defines `introduce(case)`,
/// `set_threads(count)` and `bind(case)`, and `prepare(case)` if it packs weights.
pub struct Script {
    /// Its name in messages.
    pub name: String,
    /// Its text.
    pub text: &'static str,
    /// Variables that it finds defined: a JSON object.
    pub given: Value,
    /// What its `introduce` is given besides the case: a JSON object, or nothing.
    pub told: Value,
}

impl Script {
    /// Makes the interpreter ready for calls on a case with these operands. A process has one
    /// interpreter with one script: later scripts are ignored.
    ///
    /// # Errors
    /// Why the script does not start, or does not do the case.
    pub fn load(
        &self,
        found: &Found,
        case: &ExplicitCase,
        signature: &Signature,
        threads: usize,
    ) -> Result<Ready, String> {
        let bridge = self.begin(found)?;
        let mut told = words(case);
        told["threads"] = json!(threads);
        for (name, value) in self.told.as_object().into_iter().flatten() {
            told[name] = value.clone();
        }
        told["operands"] = signature.operands().iter().map(declared).collect();
        let said = bridge.ask(c"introduce", &told.to_string())?.to_text().unwrap_or_default();
        let said: Introduced = serde_json::from_str(&said).map_err(|error| error.to_string())?;
        let binder = Rc::new(Binder {
            bridge: Rc::clone(&bridge),
            case: case.clone(),
            signature: signature.clone(),
            bound: RefCell::default(),
            last: Cell::new(0),
        });
        let [settler, counter, packer, placer, clock] = [(); 5].map(|()| Rc::clone(&binder));
        let packing = said.packs.then(|| Packing {
            bytes: PACKED_IN_PYTHON,
            pack: Box::new(move |call, _| packer.prepare(call).map_err(KernelError::Refused)),
        });
        let empty = bridge.get(c"empty")?;
        Ok(Ready {
            device_times: said.on.is_some().then(|| {
                let times = move || clock.device_times();
                Box::new(times) as Box<dyn Fn() -> DeviceTimes>
            }),
            place: said.on.is_some().then(|| {
                let place = move |call: &mut Call<'_>| {
                    placer.with(call, |bound| bound.place.as_ref().map_or(Ok(()), Object::call))
                };
                Box::new(place) as Called
            }),
            receipt: Receipt {
                version: said.version,
                build: said.build,
                isa: said.isa,
                device: said.on.as_ref().map_or_else(|| "cpu".to_owned(), |on| on.name.clone()),
                on: said.on.map(Box::new),
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
            memory: CallMemory { workspace_bytes: None, packing },
        })
    }

    /// Starts the interpreter and runs the script, once in a process.
    ///
    /// # Errors
    /// What the interpreter or the script says.
    pub fn start(&self, found: &Found) -> Result<(), String> {
        self.begin(found).map(drop)
    }

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
            "given": self.given,
            "name": self.name,
            "script": self.text,
        });
        bridge.ask(c"begin", &told.to_string())?;
        Ok(BRIDGE.with(|place| Rc::clone(place.get_or_init(|| Rc::new(bridge)))))
    }
}

thread_local! {
    /// The bridge to the one script of this process, after it was run.
    static BRIDGE: OnceCell<Rc<Object>> = const { OnceCell::new() };
}

/// Python keeps what it packs in its own memory, whose size is not known. This number states that
/// there is something to pack.
const PACKED_IN_PYTHON: usize = 1;

/// A call of Python on operands that it knows.
struct Bound {
    /// Where the operands lie, and how far apart their rows.
    operands: Vec<(usize, usize)>,
    call: Object,
    settle: Option<Object>,
    place: Option<Object>,
}

/// Sets of operands are kept up to this many: more than a race rotates through.
const MOST_BOUND: usize = 600;

/// Finds the Python call for operands, and makes it when they are met first.
struct Binder {
    bridge: Rc<Object>,
    case: ExplicitCase,
    signature: Signature,
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
        let made = self.bridge.ask(c"bind", &self.words(call))?;
        let mut bound = self.bound.borrow_mut();
        if bound.len() == MOST_BOUND {
            bound.clear();
        }
        bound.push(Bound {
            operands: places(call).collect(),
            call: made.item(0)?,
            settle: made.item(1)?.callable(),
            place: made.item(2)?.callable(),
        });
        Ok(bound.len() - 1)
    }

    /// A call in the words of the scripts.
    fn words(&self, call: &Call<'_>) -> String {
        let mut told = words(&self.case);
        told["inputs"] = call.inputs.iter().zip(self.signature.inputs()).map(operand).collect();
        told["outputs"] = call.outputs.iter().zip(self.signature.outputs()).map(operand).collect();
        told.to_string()
    }

    /// Packs the weights of a call. Calls that are bound hold what was packed before.
    fn prepare(&self, call: &Call<'_>) -> Result<(), String> {
        self.bound.borrow_mut().clear();
        self.bridge.ask(c"prepare", &self.words(call)).map(drop)
    }

    /// The times on the clock of the device; none if it cannot be asked, because no decision
    /// depends on them.
    fn device_times(&self) -> DeviceTimes {
        let said = self.bridge.ask(c"device_times", "").ok().and_then(|said| said.to_text());
        let said = said.and_then(|text| serde_json::from_str::<SaidTimes>(&text).ok());
        said.map_or_else(DeviceTimes::default, |SaidTimes { calls, kernel_ns, copy_ns }| {
            DeviceTimes { calls, kernel_ns, copy_ns }
        })
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
    use proofmark_schema::{AttrValue, Case, Underflow};

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
