//! The C interface of a peer, as a plug-in in Rust fills it in: `proofmark_peer.h`.
#![allow(dead_code, reason = "each plug-in takes what it needs")]

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};

/// One operand: rows are dense, from one to the next are `row_stride` elements.
#[repr(C)]
pub struct Operand {
    pub data: *mut u8,
    dtype: *const c_char,
    shape: *const usize,
    dims: usize,
    pub row_stride: usize,
}

/// One call.
#[repr(C)]
pub struct Call {
    size: usize,
    op: *const c_char,
    dtype: *const c_char,
    axes: usize,
    axis_names: *const *const c_char,
    axis_sizes: *const u64,
    attributes: usize,
    attribute_names: *const *const c_char,
    attribute_values: *const *const c_char,
    pub threads: usize,
    inputs: usize,
    outputs: usize,
    operands: *const Operand,
    all_attributes: usize,
}

type Asked = unsafe extern "C" fn(*const Call, *mut c_char, usize) -> c_int;

/// What the plug-in exports.
#[repr(C)]
pub struct Info {
    abi: u32,
    size: u32,
    version: *const c_char,
    build: *const c_char,
    isa: *const c_char,
    supports: Asked,
    run: Asked,
    set_threads: Option<unsafe extern "C" fn(usize)>,
    settle: Option<Asked>,
    memory: *const c_char,
}

// SAFETY: texts and functions that never change.
unsafe impl Send for Info {}
// SAFETY: as above.
unsafe impl Sync for Info {}

/// A crate behind the interface.
pub trait Peer {
    /// Features, profile, target.
    const BUILD: &'static CStr;
    /// It has a path for AVX-512; if not, one for AVX2.
    const HAS_AVX512: bool = false;
    /// It can be given threads; if not, it has one.
    const HAS_THREADS: bool = true;
    /// Where results go, if not into the operands: then [`Peer::settle`] brings them there.
    const MEMORY: Option<&'static CStr> = None;
    /// The instruction set that it uses here; by default what a crate can use that does not tell.
    fn isa() -> &'static CStr {
        best_isa(Self::HAS_AVX512)
    }
    /// Whether it does the case, or why not; the calls that follow are on it.
    fn supports(call: &Call) -> Result<(), String>;
    /// Computes once.
    fn run(call: &Call) -> Result<(), String>;
    /// The number of threads from now on.
    fn set_threads(_: usize) {}
    /// Brings the last result into the outputs.
    fn settle(_: &Call) -> Result<(), String> {
        Ok(())
    }
}

/// The description of a plug-in; `version` ends in 0.
pub fn info<P: Peer>(version: &'static str) -> Info {
    Info {
        abi: 1,
        size: size_of::<Info>() as u32,
        version: version.as_ptr().cast(),
        build: P::BUILD.as_ptr(),
        isa: P::isa().as_ptr(),
        supports: asked::<Supports<P>>,
        run: asked::<Run<P>>,
        set_threads: P::HAS_THREADS.then_some(set_threads::<P>),
        settle: P::MEMORY.map(|_| asked::<Settle<P>> as Asked),
        memory: P::MEMORY.map_or(std::ptr::null(), CStr::as_ptr),
    }
}

/// The best path that it has and the processor too.
fn best_isa(has_avx512: bool) -> &'static CStr {
    #[cfg(target_arch = "x86_64")]
    {
        if has_avx512 && std::is_x86_feature_detected!("avx512f") {
            return c"avx512f";
        }
        if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
            return c"avx2 fma";
        }
    }
    c"of the target"
}

trait Question {
    fn ask(call: &Call) -> Result<(), String>;
}

struct Supports<P>(P);
struct Run<P>(P);
struct Settle<P>(P);

impl<P: Peer> Question for Supports<P> {
    fn ask(call: &Call) -> Result<(), String> {
        P::supports(call)
    }
}

impl<P: Peer> Question for Run<P> {
    fn ask(call: &Call) -> Result<(), String> {
        P::run(call)
    }
}

impl<P: Peer> Question for Settle<P> {
    fn ask(call: &Call) -> Result<(), String> {
        P::settle(call)
    }
}

/// # Safety
/// As the interface has it: a call that is valid until this returns, and room for so many bytes.
unsafe extern "C" fn asked<Q: Question>(call: *const Call, why: *mut c_char, room: usize) -> c_int {
    // SAFETY: the interface passes a call that is valid until this returns. Its size comes first.
    let size = unsafe { (&raw const (*call).size).read() };
    let answer = match size < size_of::<Call>() {
        true => Err("the program is older than this plug-in, which it must build anew".to_owned()),
        // SAFETY: as above; it is as long as its type.
        false => Q::ask(unsafe { &*call }),
    };
    let Err(reason) = answer else { return 0 };
    let words = &reason.as_bytes()[..reason.len().min(room.saturating_sub(1))];
    if room > 0 {
        // SAFETY: so many bytes fit, and one more.
        unsafe {
            why.cast::<u8>().copy_from_nonoverlapping(words.as_ptr(), words.len());
            why.cast::<u8>().add(words.len()).write(0);
        }
    }
    1
}

/// # Safety
/// As the interface has it: on the one thread that uses the plug-in.
unsafe extern "C" fn set_threads<P: Peer>(threads: usize) {
    P::set_threads(threads);
}

impl Operand {
    pub fn dtype(&self) -> &str {
        text(self.dtype)
    }

    pub fn shape(&self) -> &[usize] {
        // SAFETY: the interface gives so many sizes.
        unsafe { slice(self.shape, self.dims) }
    }

    /// Rows and elements of a row.
    pub fn rows(&self) -> (usize, usize) {
        let (length, before) = self.shape().split_last().unwrap_or((&1, &[]));
        (before.iter().product(), *length)
    }

    pub fn is_dense(&self) -> bool {
        let (rows, length) = self.rows();
        rows <= 1 || self.row_stride == length
    }
}

impl Call {
    pub fn op(&self) -> &str {
        text(self.op)
    }

    pub fn dtype(&self) -> &str {
        text(self.dtype)
    }

    /// An axis' size, 1 if the case does not name it.
    pub fn size(&self, axis: &str) -> usize {
        // SAFETY: the interface gives so many names and sizes.
        let (names, sizes) =
            unsafe { (slice(self.axis_names, self.axes), slice(self.axis_sizes, self.axes)) };
        let place = names.iter().position(|&name| text(name) == axis);
        place.map_or(1, |place| sizes[place] as usize)
    }

    /// The value of an attribute of the op.
    ///
    /// # Errors
    /// If the op has no such attribute.
    pub fn attribute(&self, name: &str) -> Result<&str, String> {
        // SAFETY: the interface gives so many names and values.
        let (names, values) = unsafe {
            let count = self.all_attributes;
            (slice(self.attribute_names, count), slice(self.attribute_values, count))
        };
        let place = names.iter().position(|&known| text(known) == name);
        let missing = || format!("`{}` has no `{name}`, which the plug-in reads", self.op());
        place.map(|place| text(values[place])).ok_or_else(missing)
    }

    /// Whether the op has this attribute and this is its value.
    pub fn has(&self, name: &str, value: &str) -> bool {
        self.attribute(name).is_ok_and(|given| given == value)
    }

    pub fn inputs(&self) -> &[Operand] {
        // SAFETY: the interface gives so many operands.
        unsafe { slice(self.operands, self.inputs) }
    }

    pub fn outputs(&self) -> &[Operand] {
        // SAFETY: the interface gives so many operands, first those that are read.
        unsafe { &slice(self.operands, self.inputs + self.outputs)[self.inputs..] }
    }

    /// Refuses all but products of f32, and reads the sizes of one.
    pub fn take_matmul(&self) -> Result<(), String> {
        match (self.op(), self.dtype()) {
            ("matmul", "f32") => {}
            ("matmul", other) => return Err(format!("it has no {other}")),
            (other, _) => return Err(format!("it has no `{other}`")),
        }
        let [b, m, n, k] = ["b", "m", "n", "k"].map(|axis| self.size(axis));
        let is_transposed = self.attribute("layout")? == "nt";
        let is_shared = self.attribute("shared")? == "true";
        SHAPE.set(Shape { b, m, n, k, is_transposed, is_shared });
        Ok(())
    }

    /// The products of the matmul that was taken, one for each batch.
    pub fn products(&self) -> impl Iterator<Item = Product> {
        let Shape { b, m, n, k, is_transposed, is_shared } = SHAPE.get();
        let [left, right, result] = [&self.inputs()[0], &self.inputs()[1], &self.outputs()[0]];
        let strides = [left, right, result].map(|operand| operand.row_stride.max(1) as isize);
        let right_rows = if is_transposed { n } else { k };
        (0..b).map(move |batch| {
            let skip = |operand: &Operand, rows: usize, stride: isize| {
                operand.data.cast::<f32>().wrapping_offset((batch * rows) as isize * stride)
            };
            Product {
                m,
                n,
                k,
                left: (skip(left, m, strides[0]), strides[0]),
                right: skip(right, if is_shared { 0 } else { right_rows }, strides[1]),
                right_strides: if is_transposed { (1, strides[1]) } else { (strides[1], 1) },
                result: (skip(result, m, strides[2]), strides[2]),
            }
        })
    }
}

thread_local! {
    /// Read where the case is taken and not in a timed call.
    static SHAPE: Cell<Shape> = const {
        Cell::new(Shape { b: 0, m: 0, n: 0, k: 0, is_transposed: false, is_shared: false })
    };
}

#[derive(Clone, Copy)]
struct Shape {
    b: usize,
    m: usize,
    n: usize,
    k: usize,
    is_transposed: bool,
    is_shared: bool,
}

/// One product of f32 matrices; rows of the left and of the result are dense.
pub struct Product {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub left: (*const f32, isize),
    pub right: *const f32,
    /// From row to row, and from column to column.
    pub right_strides: (isize, isize),
    pub result: (*mut f32, isize),
}

fn text<'a>(words: *const c_char) -> &'a str {
    // SAFETY: texts of the interface end in 0 and are valid as long as the call.
    unsafe { CStr::from_ptr(words) }.to_str().unwrap_or("")
}

/// # Safety
/// So many elements are there, or it is null.
unsafe fn slice<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if first.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(first, count) }
}
