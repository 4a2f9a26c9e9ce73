//! The functions of ggml's libraries, as `ggml.h`, `ggml-backend.h` and `ggml-cpu.h` declare them.

use crate::open::Open;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

/// A context, tensor, graph, buffer, backend or thread pool of the library.
pub(super) type Handle = *mut c_void;

/// How the files of its variants begin.
const VARIANT: &str = "libggml-cpu-";

#[repr(C)]
pub(super) struct InitParams {
    pub(super) mem_size: usize,
    pub(super) mem_buffer: Handle,
    pub(super) no_alloc: bool,
}

#[repr(C)]
struct ThreadpoolParams {
    cpumask: [bool; 512],
    n_threads: c_int,
    priority: c_int,
    poll: u32,
    strict_cpu: bool,
    paused: bool,
    /// Room for what later versions add.
    _more: [u64; 8],
}

/// What is called, with the names that the library gives it.
pub(super) struct Library {
    /// The library with the functions that make nodes.
    pub(super) base: Open,
    pub(super) init: unsafe extern "C" fn(InitParams) -> Handle,
    pub(super) tensor_overhead: unsafe extern "C" fn() -> usize,
    pub(super) graph_overhead_custom: unsafe extern "C" fn(usize, bool) -> usize,
    pub(super) new_graph_custom: unsafe extern "C" fn(Handle, usize, bool) -> Handle,
    pub(super) build_forward_expand: unsafe extern "C" fn(Handle, Handle),
    pub(super) new_tensor_4d: unsafe extern "C" fn(Handle, c_int, i64, i64, i64, i64) -> Handle,
    pub(super) backend_cpu_buffer_from_ptr: unsafe extern "C" fn(*mut u8, usize) -> Handle,
    pub(super) backend_tensor_alloc: unsafe extern "C" fn(Handle, Handle, *mut u8) -> c_int,
    pub(super) backend_graph_compute: unsafe extern "C" fn(Handle, Handle) -> c_int,
    params_init: unsafe extern "C" fn(*mut ThreadpoolParams, c_int),
    threadpool_new: unsafe extern "C" fn(*mut ThreadpoolParams) -> Handle,
    threadpool_free: unsafe extern "C" fn(Handle),
    threadpool_pause: unsafe extern "C" fn(Handle),
    set_threadpool: unsafe extern "C" fn(Handle, Handle),
    set_n_threads: unsafe extern "C" fn(Handle, c_int),
    backend_cpu_init: unsafe extern "C" fn() -> Handle,
    /// The version and commit.
    pub(super) version: String,
    /// The variant that was chosen, by its file's name.
    pub(super) variant: String,
}

impl Library {
    /// Opens the base library and the variant that suits this processor best.
    pub(super) fn open(base: &Path) -> Result<Library, String> {
        let base_library = Open::at(base, true)?;
        let (path, cpu) = best_variant(base)?;
        let base = &base_library;
        let text = |name: &str| -> Result<String, String> {
            // SAFETY: the declared type: no argument, a text that stays.
            let ask: unsafe extern "C" fn() -> *const c_char = unsafe { base.get(name)? };
            // SAFETY: as declared; the text ends in 0.
            Ok(unsafe { CStr::from_ptr(ask()) }.to_string_lossy().into_owned())
        };
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let version = format!("{} ({})", text("ggml_version")?, text("ggml_commit")?);
        // SAFETY: the types that the library's headers declare for these names.
        unsafe {
            Ok(Library {
                init: base.get("ggml_init")?,
                tensor_overhead: base.get("ggml_tensor_overhead")?,
                graph_overhead_custom: base.get("ggml_graph_overhead_custom")?,
                new_graph_custom: base.get("ggml_new_graph_custom")?,
                build_forward_expand: base.get("ggml_build_forward_expand")?,
                new_tensor_4d: base.get("ggml_new_tensor_4d")?,
                backend_cpu_buffer_from_ptr: base.get("ggml_backend_cpu_buffer_from_ptr")?,
                backend_tensor_alloc: base.get("ggml_backend_tensor_alloc")?,
                backend_graph_compute: base.get("ggml_backend_graph_compute")?,
                params_init: base.get("ggml_threadpool_params_init")?,
                threadpool_new: cpu.get("ggml_threadpool_new")?,
                threadpool_free: cpu.get("ggml_threadpool_free")?,
                threadpool_pause: cpu.get("ggml_threadpool_pause")?,
                set_threadpool: cpu.get("ggml_backend_cpu_set_threadpool")?,
                set_n_threads: cpu.get("ggml_backend_cpu_set_n_threads")?,
                backend_cpu_init: cpu.get("ggml_backend_cpu_init")?,
                version,
                variant: name.strip_prefix(VARIANT).unwrap_or(&name).to_owned(),
                base: base_library,
            })
        }
    }

    /// The processor as the library's backend.
    pub(super) fn backend(&self) -> Result<Handle, String> {
        // SAFETY: takes nothing.
        let backend = unsafe { (self.backend_cpu_init)() };
        if backend.is_null() { Err("its backend does not start".to_owned()) } else { Ok(backend) }
    }

    /// Gives a backend a pool of this many threads in place of `old`. Between calls they look for
    /// more work, for some tenths of a second, unless they are told to [`Library::rest`].
    pub(super) fn pool(
        &self,
        backend: Handle,
        old: Handle,
        threads: usize,
    ) -> Result<Handle, String> {
        let count = c_int::try_from(threads).unwrap_or(c_int::MAX);
        let mut params = ThreadpoolParams {
            cpumask: [false; 512],
            n_threads: 0,
            priority: 0,
            poll: 0,
            strict_cpu: false,
            paused: false,
            _more: [0; 8],
        };
        // SAFETY: a structure with more room than the declared one.
        unsafe { (self.params_init)(&raw mut params, count) };
        if params.n_threads != count {
            return Err(format!("version {} has other thread pools", self.version));
        }
        // SAFETY: handles of the library's own, used on the one thread that calls it; the old
        // pool is no longer the backend's when it is freed.
        unsafe {
            let pool = (self.threadpool_new)(&raw mut params);
            (self.set_threadpool)(backend, pool);
            (self.set_n_threads)(backend, count);
            if !old.is_null() {
                (self.threadpool_free)(old);
            }
            Ok(pool)
        }
    }

    /// Sends the threads of a pool to sleep; the next call wakes them.
    pub(super) fn rest(&self, pool: Handle) {
        // SAFETY: a pool of the library's own, used on the one thread that calls it.
        unsafe { (self.threadpool_pause)(pool) };
    }
}

/// The variant with the highest score, as the library's own loader chooses it; 0 is for those that
/// this processor cannot run.
fn best_variant(base: &Path) -> Result<(PathBuf, Open), String> {
    let folder = base.parent().unwrap_or(base);
    let files = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    let is_variant = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(VARIANT))
    };
    let mut best: Option<(c_int, PathBuf, Open)> = None;
    for path in files.flatten().map(|file| file.path()).filter(is_variant) {
        let library = Open::at(&path, false)?;
        // SAFETY: the declared type.
        let score: unsafe extern "C" fn() -> c_int = unsafe { library.get("ggml_backend_score")? };
        // SAFETY: takes nothing.
        let score = unsafe { score() };
        if score > best.as_ref().map_or(0, |best| best.0) {
            best = Some((score, path, library));
        }
    }
    let best = best.ok_or("none of its variants is for this processor")?;
    Ok((best.1, best.2))
}
