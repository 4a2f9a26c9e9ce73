//! Libraries with the interface of FFTW: FFTW itself, and MKL.

use crate::open::Open;
use crate::{CallMemory, Called, Found, Peer, Ready, Source};
use proofmark_contract::{ExplicitCase, KernelError, Signature, Unsupported};
use proofmark_schema::Receipt;
use proofmark_tensor::AlignedBuffer;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::rc::Rc;

/// Planning tries several ways and takes the fastest.
const MEASURE: c_uint = 0;
/// Operands may lie anywhere.
const UNALIGNED: c_uint = 1 << 1;
/// Transforms of reals leave their input unchanged.
const PRESERVE_INPUT: c_uint = 1 << 4;
const FORWARD: c_int = -1;

type Ints = *const c_int;

/// Rank and lengths, how many, then either side with its embedding, step and distance.
type PlanReal = unsafe extern "C" fn(
    c_int,
    Ints,
    c_int,
    *mut f32,
    Ints,
    c_int,
    c_int,
    *mut f32,
    Ints,
    c_int,
    c_int,
    c_uint,
) -> *mut c_void;
/// The same with the sign of the exponent.
type PlanComplex = unsafe extern "C" fn(
    c_int,
    Ints,
    c_int,
    *mut f32,
    Ints,
    c_int,
    c_int,
    *mut f32,
    Ints,
    c_int,
    c_int,
    c_int,
    c_uint,
) -> *mut c_void;
type Execute = unsafe extern "C" fn(*mut c_void, *mut f32, *mut f32);

/// The library FFTW.
pub(crate) struct Fftw;

impl Peer for Fftw {
    fn name(&self) -> &'static str {
        "fftw"
    }

    fn summary(&self) -> &'static str {
        "FFTW, the fastest Fourier transform in the west; plans are measured"
    }

    fn ops(&self) -> &'static [&'static str] {
        &["fft"]
    }

    fn source(&self) -> Source {
        Source::System { debian: "libfftw3-single3" }
    }

    fn system_names(&self) -> &'static [&'static str] {
        &["libfftw3f.so.3"]
    }

    fn supports(&self, case: &ExplicitCase) -> Result<(), Unsupported> {
        supports(case)
    }

    fn load(
        &self,
        found: &Found,
        case: &ExplicitCase,
        _: &Signature,
        threads: usize,
    ) -> Result<Ready, String> {
        let library = Open::at(&found.library, true)?;
        let threaded = found.library.with_file_name("libfftw3f_threads.so.3");
        let threaded = if threaded.is_file() {
            Open::at(&threaded, true)?
        } else {
            return Err("libfftw3f_threads is not beside it: install the whole package".to_owned());
        };
        // SAFETY: a text that ends in 0 and never changes.
        let version = unsafe { CStr::from_ptr(library.get::<*const c_char>("fftwf_version")?) };
        let (run, empty, set_threads) = transforming(&library, &threaded, case, threads)?;
        let receipt = Receipt {
            version: version.to_string_lossy().into_owned(),
            build: "plans by FFTW_MEASURE".to_owned(),
            isa: "as it finds it".to_owned(),
            device: "cpu".to_owned(),
            ..Receipt::default()
        };
        Ok(Ready {
            device_times: None,
            place: None,
            receipt,
            set_threads: Some(set_threads),
            run,
            settle: None,
            empty: Some(empty),
            memory: CallMemory::default(),
        })
    }
}

/// Whether the interface has an equal of a case.
///
/// # Errors
/// Why not.
pub(crate) fn supports(case: &ExplicitCase) -> Result<(), Unsupported> {
    let is_inverse = case.word("direction")? == "inverse";
    match is_inverse || case.word("kind")? == "c2r" {
        true => Err(Unsupported("its inverse does not divide by the number of points".to_owned())),
        false => Ok(()),
    }
}

/// The sizes of a case as the interface takes them.
#[derive(Clone)]
struct Sizes {
    lengths: Vec<c_int>,
    many: c_int,
    /// Elements of one transform, read and written: complex numbers, or reals.
    distances: [c_int; 2],
    is_real: bool,
    /// Bytes of all, read and written.
    bytes: [usize; 2],
}

impl Sizes {
    fn of(case: &ExplicitCase) -> Result<Sizes, String> {
        let size = |axis: &str| case.size(axis).unwrap_or(1);
        let axes = ["x", "y", "z"].map(size);
        let is_real = case.word("kind")? == "r2c";
        let too_long = |_| "an axis is too long for its integers".to_owned();
        let int = |size: u64| c_int::try_from(size).map_err(too_long);
        let used = axes.iter().enumerate().filter(|(i, length)| **length > 1 || *i == 2);
        let lengths = used.map(|(_, &length)| int(length)).collect::<Result<Vec<_>, _>>()?;
        let planes = axes[0] * axes[1];
        let bins = if is_real { axes[2] / 2 + 1 } else { axes[2] };
        let (read, written) = (planes * axes[2], planes * bins);
        let many = size("b");
        let read_bytes = if is_real { 4 } else { 8 } * read * many;
        Ok(Sizes {
            lengths,
            many: int(many)?,
            distances: [int(read)?, int(written)?],
            is_real,
            bytes: [read_bytes as usize, (8 * written * many) as usize],
        })
    }
}

/// What makes and runs plans.
struct Planner {
    complex: PlanComplex,
    real: PlanReal,
    execute: Execute,
    alignment: unsafe extern "C" fn(*mut f32) -> c_int,
    destroy: unsafe extern "C" fn(*mut c_void),
    sizes: Sizes,
    /// For aligned operands, and for others.
    plans: RefCell<[Option<*mut c_void>; 2]>,
}

impl Planner {
    /// The plan for aligned operands or for any. It is made on memory of its own, because planning
    /// overwrites it.
    fn plan(&self, is_aligned: bool) -> Result<*mut c_void, String> {
        let slot = usize::from(!is_aligned);
        if let Some(plan) = self.plans.borrow()[slot] {
            return Ok(plan);
        }
        let [mut from, mut to] = self.sizes.bytes.map(AlignedBuffer::new);
        let (from, to) = (from.as_mut_slice().as_mut_ptr(), to.as_mut_slice().as_mut_ptr());
        let flags = MEASURE | if is_aligned { 0 } else { UNALIGNED };
        let Sizes { ref lengths, many, distances: [read, written], is_real, .. } = self.sizes;
        let (rank, lengths) = (lengths.len() as c_int, lengths.as_ptr());
        let (from, to, none) = (from.cast::<f32>(), to.cast::<f32>(), std::ptr::null());
        // SAFETY: the documented arguments; both sides have room for all transforms.
        let plan = unsafe {
            if is_real {
                let flags = flags | PRESERVE_INPUT;
                (self.real)(rank, lengths, many, from, none, 1, read, to, none, 1, written, flags)
            } else {
                (self.complex)(
                    rank, lengths, many, from, none, 1, read, to, none, 1, written, FORWARD, flags,
                )
            }
        };
        if plan.is_null() {
            return Err("it makes no plan for this case".to_owned());
        }
        self.plans.borrow_mut()[slot] = Some(plan);
        Ok(plan)
    }

    fn forget(&self) {
        for plan in self.plans.borrow_mut().iter_mut().filter_map(Option::take) {
            // SAFETY: a plan of this library, used no more.
            unsafe { (self.destroy)(plan) };
        }
    }
}

/// A call, an empty call, and a function that sets the number of threads.
type Transforming = (Called, Box<dyn Fn()>, Box<dyn Fn(usize)>);

/// The calls of a case; threads are counted by what `threaded` exports.
///
/// # Errors
/// If the library lacks a function or makes no plan.
pub(crate) fn transforming(
    library: &Open,
    threaded: &Open,
    case: &ExplicitCase,
    threads: usize,
) -> Result<Transforming, String> {
    let sizes = Sizes::of(case)?;
    let execute = if sizes.is_real { "fftwf_execute_dft_r2c" } else { "fftwf_execute_dft" };
    // SAFETY: the documented types.
    let (planner, count) = unsafe {
        let init: unsafe extern "C" fn() -> c_int = threaded.get("fftwf_init_threads")?;
        init();
        let count: unsafe extern "C" fn(c_int) = threaded.get("fftwf_plan_with_nthreads")?;
        let planner = Planner {
            complex: library.get("fftwf_plan_many_dft")?,
            real: library.get("fftwf_plan_many_dft_r2c")?,
            execute: library.get(execute)?,
            alignment: library.get("fftwf_alignment_of")?,
            destroy: library.get("fftwf_destroy_plan")?,
            sizes,
            plans: RefCell::new([None; 2]),
        };
        (Rc::new(planner), count)
    };
    let alignment = planner.alignment;
    let set = {
        let (planner, last) = (Rc::clone(&planner), Cell::new(0));
        move |threads: usize| {
            if last.replace(threads) != threads {
                planner.forget();
                // SAFETY: the documented call; plans made from now on have so many threads.
                unsafe { count(threads as c_int) };
            }
        }
    };
    set(threads);
    if planner.sizes.many > 0 {
        planner.plan(true)?;
    }
    let run: Called = Box::new(move |call| {
        let ([from], [to]) = (call.inputs, &mut *call.outputs) else {
            return Err(KernelError::Refused("a transform has one input and a result".to_owned()));
        };
        if planner.sizes.many == 0 {
            return Ok(());
        }
        let (from, to) = (from.base().cast::<f32>(), to.base().cast::<f32>());
        // SAFETY: addresses only.
        let is_aligned = unsafe { (planner.alignment)(from) == 0 && (planner.alignment)(to) == 0 };
        let plan = planner.plan(is_aligned).map_err(KernelError::Refused)?;
        // SAFETY: operands of the plan's sizes, aligned as it was told; the input is only read.
        unsafe { (planner.execute)(plan, from, to) };
        Ok(())
    });
    let nothing = move || {
        // SAFETY: an address only.
        unsafe { alignment(std::ptr::null_mut()) };
    };
    Ok((run, Box::new(nothing), Box::new(set)))
}
