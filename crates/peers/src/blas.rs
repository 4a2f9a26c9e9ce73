//! Libraries with the C interface of BLAS: OpenBLAS, MKL, BLIS.

use crate::open::Open;
use crate::{CallMemory, Called, Found, Peer, Ready, Source, fftw, vectors};
use proofmark_contract::{Call, ExplicitCase, KernelError, Signature, Unsupported};
use proofmark_schema::{DType, Receipt};
use proofmark_tensor::Tensor;
use std::ffi::{CStr, c_char, c_int};

/// Row-major order, as C has it.
const ROW_MAJOR: c_int = 101;
const AS_IT_IS: c_int = 111;
const TRANSPOSED: c_int = 112;

/// What differs between the libraries.
pub(crate) struct Blas {
    name: &'static str,
    summary: &'static str,
    source: Source,
    system_names: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
    /// Whether it multiplies bf16 into f32.
    has_bf16: bool,
    /// What it has an equal of.
    ops: &'static [&'static str],
    /// Opened before it, where it needs another library's symbols.
    before: &'static [&'static str],
    introduce: fn(&Open) -> Result<Introduced, String>,
}

/// A library as it introduces itself.
struct Introduced {
    version: String,
    build: String,
    isa: String,
    set_threads: Box<dyn Fn(usize)>,
    /// The width of its integers, and what its names begin and end with.
    wide: bool,
    prefix: &'static str,
    suffix: &'static str,
}

pub(crate) const OPENBLAS: Blas = Blas {
    name: "openblas",
    summary: "OpenBLAS, the BLAS of NumPy and most distributions",
    source: Source::Wheels {
        packages: &["scipy-openblas64"],
        lock: include_str!("../locks/openblas.txt"),
        library: "libscipy_openblas64_",
    },
    system_names: &["libopenblas.so.0", "openblas-pthread/libopenblas.so.0"],
    // Idle threads sleep at once instead of after 2^26 cycles.
    environment: &[("OPENBLAS_THREAD_TIMEOUT", "4")],
    has_bf16: false,
    ops: &["matmul", "dot", "axpy"],
    before: &[],
    introduce: introduce_openblas,
};

pub(crate) const MKL: Blas = Blas {
    name: "mkl",
    summary: "Intel's Math Kernel Library",
    source: Source::Wheels {
        packages: &["mkl", "intel-openmp"],
        lock: include_str!("../locks/mkl.txt"),
        library: "libmkl_rt.so",
    },
    system_names: &["libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so"],
    environment: &[("MKL_THREADING_LAYER", "INTEL"), ("MKL_INTERFACE_LAYER", "LP64")],
    has_bf16: true,
    ops: &["matmul", "dot", "axpy", "fft"],
    before: &["libiomp5.so"],
    introduce: introduce_mkl,
};

pub(crate) const BLIS: Blas = Blas {
    name: "blis",
    summary: "BLIS, the BLAS-like library of the science of high-performance computing group",
    source: Source::System { debian: "libblis4-openmp" },
    system_names: &[
        "libblis.so.4",
        "blis-openmp/libblis.so.4",
        "blis-pthread/libblis.so.4",
        "blis-serial/libblis.so.4",
    ],
    environment: &[],
    has_bf16: false,
    ops: &["matmul", "dot", "axpy"],
    before: &[],
    introduce: introduce_blis,
};

impl Peer for Blas {
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
        self.source
    }

    fn system_names(&self) -> &'static [&'static str] {
        self.system_names
    }

    fn environment(&self) -> &'static [(&'static str, &'static str)] {
        self.environment
    }

    fn supports(&self, case: &ExplicitCase) -> Result<(), Unsupported> {
        if case.op == "fft" {
            return fftw::supports(case);
        }
        if case.op == "axpy" && case.flag("inplace")? {
            return Err(Unsupported("it overwrites y, not x".to_owned()));
        }
        if case.op == "matmul" {
            product_only(case)?;
        }
        match case.dtype {
            DType::F32 => Ok(()),
            DType::Bf16 if case.op != "matmul" => Err(Unsupported("it has no bf16".to_owned())),
            DType::Bf16 if self.has_bf16 && case.word("out")? == "f32" => Ok(()),
            DType::Bf16 if self.has_bf16 => {
                Err(Unsupported("it has bf16 with f32 results only: --attr out=f32".to_owned()))
            }
            other => Err(Unsupported(format!("it has no {other}"))),
        }
    }

    fn load(
        &self,
        found: &Found,
        case: &ExplicitCase,
        _: &Signature,
        threads: usize,
    ) -> Result<Ready, String> {
        for name in self.before {
            let beside = found.library.with_file_name(name);
            if beside.is_file() {
                Open::at(&beside, true)?;
            }
        }
        let library = Open::at(&found.library, true)?;
        let introduced = (self.introduce)(&library)?;
        (introduced.set_threads)(threads);
        let Introduced { wide, prefix, suffix, .. } = introduced;
        let name = |routine: &str| format!("{prefix}cblas_{routine}{suffix}");
        let receipt = Receipt {
            version: introduced.version,
            build: introduced.build,
            isa: introduced.isa,
            device: "cpu".to_owned(),
            ..Receipt::default()
        };
        if case.op == "fft" {
            let (run, empty, set) = fftw::transforming(&library, &library, case, threads)?;
            let set_threads: Box<dyn Fn(usize)> = Box::new(move |threads| {
                (introduced.set_threads)(threads);
                set(threads);
            });
            let (set_threads, empty) = (Some(set_threads), Some(empty));
            return Ok(Ready {
                device_times: None,
                place: None,
                receipt,
                set_threads,
                run,
                settle: None,
                empty,
                memory: CallMemory::default(),
            });
        }
        let (run, empty) = match (case.op.as_str(), wide) {
            ("matmul", _) => multiplying(&library, case, &name, wide)?,
            (_, true) => vectors::by::<i64>(&library, case, &name)?,
            (_, false) => vectors::by::<i32>(&library, case, &name)?,
        };
        Ok(Ready {
            device_times: None,
            place: None,
            receipt,
            set_threads: Some(introduced.set_threads),
            run,
            settle: None,
            empty: Some(empty),
            memory: CallMemory::default(),
        })
    }
}

/// The call of a case, and an empty call.
pub(crate) type CalledAndEmpty = (Called, Box<dyn Fn()>);

/// The call of a case of matmul, and an empty call.
fn multiplying(
    library: &Open,
    case: &ExplicitCase,
    name: &dyn Fn(&str) -> String,
    wide: bool,
) -> Result<CalledAndEmpty, String> {
    let multiply: Multiply = match (case.dtype, wide) {
        // SAFETY: the documented type of `cblas_sgemm` for integers of 32 bits.
        (DType::F32, false) => by::<f32, i32>(unsafe { library.get(&name("sgemm"))? }),
        // SAFETY: the same for integers of 64 bits.
        (DType::F32, true) => by::<f32, i64>(unsafe { library.get(&name("sgemm"))? }),
        // SAFETY: the documented type; bf16 are passed as their bits.
        _ => by::<u16, i32>(unsafe { library.get(&name("gemm_bf16bf16f32"))? }),
    };
    let multiply = std::rc::Rc::new(multiply);
    let product = Product::of(case)?;
    let nothing = Matrices { m: 0, n: 0, k: 0, ..Matrices::NONE };
    let of_nothing = std::rc::Rc::clone(&multiply);
    let called = Box::new(move |call: &mut Call<'_>| product.run(call, &*multiply));
    Ok((called, Box::new(move || of_nothing(&nothing))))
}

/// One product of row-major matrices, as BLAS takes it.
#[derive(Clone, Copy)]
struct Matrices {
    m: usize,
    n: usize,
    k: usize,
    is_transposed: bool,
    left: (*const u8, usize),
    right: (*const u8, usize),
    result: (*mut u8, usize),
}

impl Matrices {
    const NONE: Matrices = Matrices {
        m: 0,
        n: 0,
        k: 0,
        is_transposed: false,
        left: (std::ptr::null(), 1),
        right: (std::ptr::null(), 1),
        result: (std::ptr::null_mut(), 1),
    };
}

type Multiply = Box<dyn Fn(&Matrices)>;

/// `gemm` for elements `T` and integers `I`: order, transpositions, sizes, then the matrices with
/// their leading dimensions; sums are f32, and so is the result.
type Gemm<T, I> = unsafe extern "C" fn(
    c_int,
    c_int,
    c_int,
    I,
    I,
    I,
    f32,
    *const T,
    I,
    *const T,
    I,
    f32,
    *mut f32,
    I,
);

fn by<T: 'static, I: TryFrom<usize> + 'static>(gemm: Gemm<T, I>) -> Multiply {
    Box::new(move |of| {
        // Sizes were taken from tensors in memory; one beyond 2^31 cannot be passed at all.
        let int = |size: usize| I::try_from(size).ok();
        let sizes = (int(of.m), int(of.n), int(of.k), int(of.left.1), int(of.right.1));
        let (Some(m), Some(n), Some(k), Some(lda), Some(ldb)) = sizes else { return };
        let Some(ldc) = int(of.result.1) else { return };
        let right = if of.is_transposed { TRANSPOSED } else { AS_IT_IS };
        // SAFETY: sizes and leading dimensions are those of the operands behind the pointers.
        unsafe {
            gemm(
                ROW_MAJOR,
                AS_IT_IS,
                right,
                m,
                n,
                k,
                1.0,
                of.left.0.cast(),
                lda,
                of.right.0.cast(),
                ldb,
                0.0,
                of.result.0.cast(),
                ldc,
            );
        }
    })
}

/// The products of a case, one call of the library each.
#[derive(Clone, Copy)]
struct Product {
    batches: usize,
    m: usize,
    n: usize,
    k: usize,
    is_transposed: bool,
    is_shared: bool,
}

/// Refuses a bias or an activation after a product, which libraries of products do not have.
pub(crate) fn product_only(case: &ExplicitCase) -> Result<(), Unsupported> {
    let is_product = !case.flag("bias")? && case.word("activation")? == "none";
    match is_product {
        true => Ok(()),
        false => Err(Unsupported("it has no bias and no activation".to_owned())),
    }
}

impl Product {
    fn of(case: &ExplicitCase) -> Result<Product, Unsupported> {
        let size = |axis: &str| case.size(axis).unwrap_or(1) as usize;
        Ok(Product {
            batches: size("b"),
            m: size("m"),
            n: size("n"),
            k: size("k"),
            is_transposed: case.word("layout")? == "nt",
            is_shared: case.flag("shared")?,
        })
    }

    fn run(&self, call: &mut Call<'_>, multiply: &dyn Fn(&Matrices)) -> Result<(), KernelError> {
        let ([left, right], [result]) = (call.inputs, &*call.outputs) else {
            return Err(KernelError::Refused("matmul has two inputs and a result".to_owned()));
        };
        // A leading dimension is at least 1, even where rows are empty.
        let stride = |tensor: &Tensor| tensor.layout.row_stride.max(1);
        let right_rows = if self.is_transposed { self.n } else { self.k };
        for batch in 0..self.batches {
            let of_right = if self.is_shared { 0 } else { batch };
            // A batch is `rows` rows further on, in bytes.
            let skip = |tensor: &Tensor, batch: usize, rows: usize| {
                tensor.base().wrapping_add(batch * rows * stride(tensor) * tensor.dtype.size())
            };
            multiply(&Matrices {
                m: self.m,
                n: self.n,
                k: self.k,
                is_transposed: self.is_transposed,
                left: (skip(left, batch, self.m), stride(left)),
                right: (skip(right, of_right, right_rows), stride(right)),
                result: (skip(result, batch, self.m), stride(result)),
            });
        }
        Ok(())
    }
}

fn introduce_openblas(library: &Open) -> Result<Introduced, String> {
    // The build of the Python wheels has names of its own and integers of 64 bits.
    // SAFETY: only asked whether it is there.
    let is_wheel =
        unsafe { library.get::<unsafe extern "C" fn()>("scipy_openblas_get_config64_") }.is_ok();
    let (prefix, suffix) = if is_wheel { ("scipy_", "64_") } else { ("", "") };
    let text = |routine: &str| -> Result<String, String> {
        // SAFETY: the documented type: no argument, a text that stays.
        let ask: unsafe extern "C" fn() -> *const c_char =
            unsafe { library.get(&format!("{prefix}openblas_{routine}{suffix}"))? };
        // SAFETY: as documented; the text ends in 0.
        Ok(unsafe { CStr::from_ptr(ask()) }.to_string_lossy().into_owned())
    };
    let name = format!("{prefix}openblas_set_num_threads{suffix}");
    // SAFETY: the documented type.
    let set: unsafe extern "C" fn(c_int) = unsafe { library.get(&name)? };
    let config = text("get_config")?;
    Ok(Introduced {
        version: config.split_whitespace().nth(1).unwrap_or("unknown").to_owned(),
        isa: text("get_corename")?,
        build: config,
        // SAFETY: a count of threads, from the one thread that calls.
        set_threads: Box::new(move |threads| unsafe { set(count(threads)) }),
        wide: is_wheel,
        prefix,
        suffix,
    })
}

fn introduce_mkl(library: &Open) -> Result<Introduced, String> {
    #[repr(C)]
    struct Version {
        numbers: [c_int; 3],
        status: *const c_char,
        build: *const c_char,
        processor: *const c_char,
        platform: *const c_char,
    }
    // SAFETY: the documented type.
    let ask: unsafe extern "C" fn(*mut Version) = unsafe { library.get("mkl_get_version")? };
    // SAFETY: the documented type.
    let set: unsafe extern "C" fn(c_int) = unsafe { library.get("MKL_Set_Num_Threads")? };
    let none = std::ptr::null();
    let mut version =
        Version { numbers: [0; 3], status: none, build: none, processor: none, platform: none };
    // SAFETY: a structure of the documented form to be filled in.
    unsafe { ask(&raw mut version) };
    let text = |words: *const c_char| match words.is_null() {
        true => "unknown".to_owned(),
        // SAFETY: texts of the library that end in 0 and stay.
        false => unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned(),
    };
    let [major, minor, update] = version.numbers;
    Ok(Introduced {
        version: format!("{major}.{minor}.{update}"),
        build: format!("build {}, {}", text(version.build), text(version.platform)),
        isa: text(version.processor),
        // SAFETY: a count of threads, from the one thread that calls.
        set_threads: Box::new(move |threads| unsafe { set(count(threads)) }),
        wide: false,
        prefix: "",
        suffix: "",
    })
}

fn introduce_blis(library: &Open) -> Result<Introduced, String> {
    let text = |routine: &str| -> Result<String, String> {
        // SAFETY: the documented type: no argument, a text that stays.
        let ask: unsafe extern "C" fn() -> *const c_char = unsafe { library.get(routine)? };
        // SAFETY: as documented; the text ends in 0.
        Ok(unsafe { CStr::from_ptr(ask()) }.to_string_lossy().into_owned())
    };
    // SAFETY: the documented type; its integers have 64 bits.
    let set: unsafe extern "C" fn(i64) = unsafe { library.get("bli_thread_set_num_threads")? };
    // SAFETY: the documented types: the architecture chosen, and its name.
    let isa = unsafe {
        let id: unsafe extern "C" fn() -> c_int = library.get("bli_arch_query_id")?;
        let name: unsafe extern "C" fn(c_int) -> *const c_char = library.get("bli_arch_string")?;
        CStr::from_ptr(name(id())).to_string_lossy().into_owned()
    };
    Ok(Introduced {
        version: text("bli_info_get_version_str")?,
        build: format!("integers of {} bits", text("bli_info_get_int_type_size_str")?),
        isa,
        // SAFETY: a count of threads, from the one thread that calls.
        set_threads: Box::new(move |threads| unsafe { set(i64::from(count(threads))) }),
        wide: false,
        prefix: "",
        suffix: "",
    })
}

fn count(threads: usize) -> c_int {
    c_int::try_from(threads).unwrap_or(c_int::MAX)
}
