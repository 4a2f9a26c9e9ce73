//! ONNX Runtime's C interface: a session for a model, and operands bound to it.

use super::model::{Model, Value, element};
use crate::open::Open;
use ort_sys::{
    ExecutionMode, ORT_API_VERSION, OrtAllocatorType, OrtApi, OrtApiBase, OrtEnv, OrtIoBinding,
    OrtLoggingLevel, OrtMemType, OrtMemoryInfo, OrtSession, OrtSessionOptions, OrtStatusPtr,
    OrtValue,
};
use std::ffi::{CStr, c_char, c_int};
use std::path::Path;
use std::ptr::{null, null_mut};

/// The library with an environment. It stays as long as the process.
pub(super) struct Runtime {
    api: &'static OrtApi,
    environment: *mut OrtEnv,
    memory: *mut OrtMemoryInfo,
    /// Its version.
    pub(super) version: String,
    /// What it says of its build.
    pub(super) build: String,
}

impl Runtime {
    pub(super) fn open(path: &Path) -> Result<Runtime, String> {
        let library = Open::at(path, false)?;
        // SAFETY: the library's one entry, with its documented type; what it gives stays.
        let base = unsafe {
            let enter: unsafe extern "system" fn() -> *const OrtApiBase =
                library.get("OrtGetApiBase")?;
            enter().as_ref().ok_or("it gives no interface")?
        };
        // SAFETY: as documented: a text that stays, and the functions up to the version asked
        // for, or null.
        let (version, api) =
            unsafe { (text((base.GetVersionString)()), (base.GetApi)(ORT_API_VERSION).as_ref()) };
        let needed = || format!("ONNX Runtime {version} is too old: 1.{ORT_API_VERSION} is needed");
        let api = api.ok_or_else(needed)?;
        let (mut environment, mut memory) = (null_mut(), null_mut());
        let quiet = OrtLoggingLevel::ORT_LOGGING_LEVEL_FATAL;
        let (kind, place) = (OrtAllocatorType::OrtDeviceAllocator, OrtMemType::OrtMemTypeDefault);
        // SAFETY: the functions of the interface, as documented.
        let build = unsafe {
            done(api, (api.CreateEnv)(quiet, c"proofmark".as_ptr(), &raw mut environment))?;
            done(api, (api.CreateCpuMemoryInfo)(kind, place, &raw mut memory))?;
            text((api.GetBuildInfoString)())
        };
        Ok(Runtime { api, environment, memory, version, build })
    }

    /// A session that runs a model on this many threads.
    pub(super) fn session(&'static self, model: &Model, threads: usize) -> Result<Session, String> {
        let api = self.api;
        let mut options = null_mut();
        // SAFETY: as documented.
        done(api, unsafe { (api.CreateSessionOptions)(&raw mut options) })?;
        let session = self.with(options, &model.bytes, threads);
        // SAFETY: made above, and the session has what it needs of them.
        unsafe { (api.ReleaseSessionOptions)(options) };
        Ok(Session {
            runtime: self,
            session: session?,
            values: model.values.clone(),
            inputs: model.inputs,
            bindings: Vec::new(),
            last: 0,
        })
    }

    fn with(
        &self,
        options: *mut OrtSessionOptions,
        model: &[u8],
        threads: usize,
    ) -> Result<*mut OrtSession, String> {
        let api = self.api;
        let threads = c_int::try_from(threads).unwrap_or(c_int::MAX);
        let spinning = c"session.intra_op.allow_spinning";
        let one_by_one = ExecutionMode::ORT_SEQUENTIAL;
        let mut session = null_mut();
        // SAFETY: as documented; the options and the model's bytes are alive.
        unsafe {
            done(api, (api.SetIntraOpNumThreads)(options, threads))?;
            done(api, (api.SetInterOpNumThreads)(options, 1))?;
            done(api, (api.SetSessionExecutionMode)(options, one_by_one))?;
            // Idle threads sleep while others are measured.
            done(api, (api.AddSessionConfigEntry)(options, spinning.as_ptr(), c"0".as_ptr()))?;
            let (bytes, length) = (model.as_ptr().cast(), model.len());
            let environment = self.environment;
            let made =
                (api.CreateSessionFromArray)(environment, bytes, length, options, &raw mut session);
            done(api, made)?;
        }
        Ok(session)
    }
}

/// A model that can be run, with the operands that it has met.
pub(super) struct Session {
    runtime: &'static Runtime,
    session: *mut OrtSession,
    values: Vec<Value>,
    /// How many of them are read; they come first.
    inputs: usize,
    bindings: Vec<Binding>,
    /// The binding that was run last.
    last: usize,
}

/// Operands at these addresses.
struct Binding {
    addresses: Vec<*mut u8>,
    binding: *mut OrtIoBinding,
    values: Vec<*mut OrtValue>,
}

impl Session {
    /// Runs the model once.
    ///
    /// # Safety
    /// At each address lies an operand of the model without padding.
    pub(super) unsafe fn run(&mut self, addresses: &[*mut u8]) -> Result<(), String> {
        let is_it = |binding: &Binding| binding.addresses == addresses;
        if !self.bindings.get(self.last).is_some_and(is_it) {
            // Sets of operands come in order, so the next binding is usually the right one.
            let next = self.last + 1;
            self.last = match self.bindings.get(next).is_some_and(is_it) {
                true => next,
                false => match self.bindings.iter().position(is_it) {
                    Some(known) => known,
                    None => self.bind(addresses)?,
                },
            };
        }
        let api = self.runtime.api;
        let binding = self.bindings[self.last].binding;
        // SAFETY: the session's own binding, and the caller's promise about what it binds.
        done(api, unsafe { (api.RunWithBinding)(self.session, null(), binding) })
    }

    /// Binds operands to the model's names and returns the index of the binding.
    fn bind(&mut self, addresses: &[*mut u8]) -> Result<usize, String> {
        let api = self.runtime.api;
        let mut binding = null_mut();
        // SAFETY: as documented; the session is alive.
        done(api, unsafe { (api.CreateIoBinding)(self.session, &raw mut binding) })?;
        let mut bound = Binding { addresses: addresses.to_vec(), binding, values: Vec::new() };
        for (place, value) in self.values.iter().enumerate() {
            let shape: Vec<i64> = value.shape.iter().map(|&size| size as i64).collect();
            let bytes = value.shape.iter().product::<usize>() * value.dtype.size();
            let mut tensor = null_mut();
            let (memory, data) = (self.runtime.memory, addresses[place].cast());
            // SAFETY: as documented; the data is not touched until the model is run.
            unsafe {
                let (sizes, axes, element) = (shape.as_ptr(), shape.len(), element(value.dtype));
                done(
                    api,
                    (api.CreateTensorWithDataAsOrtValue)(
                        memory,
                        data,
                        bytes,
                        sizes,
                        axes,
                        element,
                        &raw mut tensor,
                    ),
                )?;
                bound.values.push(tensor);
                let is_read = place < self.inputs;
                let bind = if is_read { api.BindInput } else { api.BindOutput };
                done(api, bind(binding, value.name.as_ptr(), tensor))?;
            }
        }
        self.bindings.push(bound);
        Ok(self.bindings.len() - 1)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let api = self.runtime.api;
        // SAFETY: everything was made by this session and ends here once, users first.
        unsafe {
            for binding in &self.bindings {
                (api.ReleaseIoBinding)(binding.binding);
                binding.values.iter().for_each(|&value| (api.ReleaseValue)(value));
            }
            (api.ReleaseSession)(self.session);
        }
    }
}

/// The error that a status holds, if it holds one.
fn done(api: &OrtApi, status: OrtStatusPtr) -> Result<(), String> {
    if status.0.is_null() {
        return Ok(());
    }
    // SAFETY: a status that is not null holds a text, and is given back once.
    unsafe {
        let words = text((api.GetErrorMessage)(status.0));
        (api.ReleaseStatus)(status.0);
        Err(words)
    }
}

/// The words of the library that end in 0.
fn text(words: *const c_char) -> String {
    // SAFETY: as this function's callers vouch: never null, and ends in 0.
    unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned()
}
