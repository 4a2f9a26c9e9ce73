//! Calls a function in Python on operands where they lie.

use super::header::{PythonCode, Tensors};
use proofmark_contract::{ExplicitCase, Operand, Signature, Unsupported};
use proofmark_peers::{Found, NotLoaded, Ready, Script};
use proofmark_schema::DType;
use serde_json::json;
use std::path::PathBuf;

use crate::reference::MODULES;

/// Frameworks bring a BLAS along. Threads that it starts while it is loaded would be counted as the
/// kernel's.
const ENVIRONMENT: &[(&str, &str)] = &[("OPENBLAS_NUM_THREADS", "1"), ("JAX_PLATFORMS", "cpu")];

/// Triton reads it when it is imported: kernels run in its interpreter, on the processor.
const INTERPRETED: &[(&str, &str)] = &[("TRITON_INTERPRET", "1")];

/// Kinds of devices of PyTorch, and the files by which the system offers them. PyTorch calls those
/// of ROCm `cuda` too.
const DEVICES: &[(&str, &[&str])] = &[
    ("cuda", &["/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm", "/dev/kfd", "/dev/dxg"]),
    ("xpu", &["/dev/dri", "/dev/dxg"]),
];

/// The files of a device that are on this machine; none of a kind that is not known here.
pub(super) fn device_files(device: &str) -> Vec<PathBuf> {
    let of_kind = DEVICES.iter().filter(|(kind, _)| device.split(':').next() == Some(kind));
    let files = of_kind.flat_map(|(_, files)| files.iter().map(PathBuf::from));
    files.filter(|file| file.exists()).collect()
}

/// Whether this machine offers a device. A kind that is not known here may come with PyTorch.
pub(super) fn has_device(device: &str) -> Result<(), String> {
    let is_known = DEVICES.iter().any(|(kind, _)| device.split(':').next() == Some(kind));
    match is_known && device_files(device).is_empty() {
        true => Err(format!(
            "this machine has no `{device}`: it needs the device, its driver and a PyTorch that is \
             built for it"
        )),
        false => Ok(()),
    }
}

/// Whether its operands have these element types.
pub(super) fn supports(code: &PythonCode, signature: &Signature) -> Result<(), Unsupported> {
    let short = |operand: &&Operand| operand.dtype == DType::Bf16;
    if let (true, Some(operand)) = (code.is_interpreted, signature.operands().iter().find(short)) {
        return Err(Unsupported(format!(
            "`{}` is bf16, which the interpreter of Triton computes wrongly",
            operand.name
        )));
    }
    let is_missing = |dtype: DType| {
        let is_short = matches!(dtype, DType::Bf16 | DType::F8e4m3 | DType::F8e5m2);
        code.takes == Tensors::Numpy && is_short
    };
    match signature.operands().iter().find(|operand| is_missing(operand.dtype)) {
        Some(operand) => Err(Unsupported(format!(
            "`{}` is {}, which NumPy does not have: take `torch` or `jax`",
            operand.name, operand.dtype
        ))),
        None => Ok(()),
    }
}

/// The modules that call answers of other formats, by name.
fn modules() -> serde_json::Value {
    MODULES.iter().map(|(name, text)| ((*name).to_owned(), json!(text))).collect()
}

/// Starts the interpreter, imports the file and makes it ready for a case.
pub(super) fn load(
    code: &PythonCode,
    python: Option<&Found>,
    (case, signature): (&ExplicitCase, &Signature),
    threads: usize,
    version: Option<&str>,
) -> Result<Ready, NotLoaded> {
    let found = python.ok_or_else(|| {
        let words = "it needs an interpreter: name one that has a shared library and its packages";
        NotLoaded::Broken(words.to_owned())
    })?;
    proofmark_peers::set_environment(ENVIRONMENT);
    if code.is_interpreted {
        proofmark_peers::set_environment(INTERPRETED);
    }
    let script = Script {
        name: "callable.py".to_owned(),
        text: concat!(
            include_str!("../reference/finder.py"),
            include_str!("placed.py"),
            include_str!("callable.py")
        ),
        told: serde_json::Value::Null,
        given: json!({
            "file": code.file,
            "function": code.function,
            "takes": code.takes.name(),
            "device": code.device,
            "modules": modules(),
        }),
    };
    script.start(found).map_err(NotLoaded::Broken)?;
    let loaded = script.load(found, case, signature, threads);
    let mut ready = loaded.map_err(NotLoaded::Unsupported)?;
    if let Some(version) = version {
        ready.receipt.version = version.to_owned();
    }
    Ok(ready)
}
