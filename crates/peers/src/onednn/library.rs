//! oneDNN's C interface, version 3: the library itself, with an engine and a stream of calls.

use crate::open::Open;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::ptr::null_mut;

/// Any of the library's objects.
pub(super) type Handle = *mut c_void;

const CPU: c_int = 1;
const IN_ORDER: c_uint = 1;
/// Builds whose threads this program can count: without any, and with OpenMP's.
const SEQUENTIAL: c_uint = 1;
const OPENMP: c_uint = 2;

/// The sets of instructions by the numbers that the library has for them.
const ISAS: &[(c_int, &str)] = &[
    (0x1, "sse41"),
    (0x3, "avx"),
    (0x7, "avx2"),
    (0xf, "avx2_vnni"),
    (0x1f, "avx2_vnni_2"),
    (0x27, "avx512_core"),
    (0x67, "avx512_core_vnni"),
    (0xe7, "avx512_core_bf16"),
    (0x1ef, "avx512_core_fp16"),
    (0xfef, "avx512_core_amx"),
    (0x1fef, "avx512_core_amx_fp16"),
];

#[repr(C)]
struct Version {
    numbers: [c_int; 3],
    hash: *const c_char,
    cpu_runtime: c_uint,
    gpu_runtime: c_uint,
}

/// Calls a function that makes something and answers with a status: an error unless it is 0.
///
/// The caller vouches for the types, as for [`Open::get`].
macro_rules! make {
    ($library:expr, $name:literal, $($value:expr => $type:ty),+) => {{
        let make: unsafe extern "C" fn($($type),+) -> c_int = $library.get($name)?;
        done(make($($value),+), $name)
    }};
}
pub(super) use make;

/// The library, ready for calls.
pub(super) struct Library {
    pub(super) open: Open,
    pub(super) engine: Handle,
    pub(super) stream: Handle,
    /// Its version.
    pub(super) version: String,
    /// Which sources, and whose threads.
    pub(super) build: String,
    /// Sets OpenMP's number of threads; none in a build without threads.
    pub(super) set_threads: Option<unsafe extern "C" fn(c_int)>,
}

impl Library {
    pub(super) fn open(path: &Path) -> Result<Library, String> {
        let open = Open::at(path, false)?;
        // SAFETY: the documented type; the structure that it points to stays.
        let version = unsafe {
            let ask: unsafe extern "C" fn() -> *const Version = open.get("dnnl_version")?;
            ask().as_ref().ok_or("it does not tell its version")?
        };
        let [major, minor, patch] = version.numbers;
        if major < 3 {
            return Err(format!("oneDNN {major}.{minor} has another interface: 3 is needed"));
        }
        let set_threads = match version.cpu_runtime {
            SEQUENTIAL => None,
            // SAFETY: a function of the runtime that the library is linked with, as documented.
            OPENMP => Some(unsafe { open.get("omp_set_num_threads")? }),
            other => {
                return Err(format!("its threads are of kind {other}: only OpenMP's can be told"));
            }
        };
        let (mut engine, mut stream) = (null_mut(), null_mut());
        // SAFETY: the documented types; the engine is made before its stream.
        unsafe {
            make!(open, "dnnl_engine_create",
                &raw mut engine => *mut Handle, CPU => c_int, 0 => usize)?;
            make!(open, "dnnl_stream_create",
                &raw mut stream => *mut Handle, engine => Handle, IN_ORDER => c_uint)?;
        }
        let threads = if set_threads.is_some() { "OpenMP" } else { "no threads" };
        Ok(Library {
            open,
            engine,
            stream,
            version: format!("{major}.{minor}.{patch}"),
            build: format!("sources {}, {threads}", text(version.hash)),
            set_threads,
        })
    }

    /// The set of instructions that it keeps to on this processor.
    pub(super) fn isa(&self) -> Result<String, String> {
        // SAFETY: the documented type.
        let isa = unsafe {
            let ask: unsafe extern "C" fn() -> c_int =
                self.open.get("dnnl_get_effective_cpu_isa")?;
            ask()
        };
        let known = ISAS.iter().find(|(number, _)| *number == isa);
        Ok(known.map_or_else(|| format!("isa {isa:#x}"), |(_, name)| (*name).to_owned()))
    }
}

/// An error unless a status is 0.
pub(super) fn done(status: c_int, what: &str) -> Result<(), String> {
    let why = match status {
        0 => return Ok(()),
        1 => "out of memory".to_owned(),
        2 => "invalid arguments".to_owned(),
        3 => "not implemented".to_owned(),
        other => format!("status {other}"),
    };
    Err(format!("`{what}` answers: {why}"))
}

/// A text of the library, which ends in 0 and stays.
pub(super) fn text(words: *const c_char) -> String {
    if words.is_null() {
        return "unknown".to_owned();
    }
    // SAFETY: as this function's caller vouches.
    unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned()
}
