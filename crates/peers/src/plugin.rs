//! Peers that are shared libraries with our C interface: `plugins/proofmark_peer.h`.

use crate::open::Open;
use crate::{CallMemory, Called, Found, Peer, PeerShelf, Ready, Source};
use proofmark_contract::{Call, ExplicitCase, KernelError, Signature, Unsupported};
use proofmark_schema::wire::MAX_OPERANDS;
use proofmark_schema::{DType, Family, Receipt};
use proofmark_tensor::Tensor;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::{MaybeUninit, offset_of};
use std::path::{Path, PathBuf};
use std::ptr::null;
use std::rc::Rc;

/// The version of the interface.
const ABI: u32 = 1;
/// Bytes for a library's reason.
const WHY_BYTES: usize = 512;

#[repr(C)]
#[derive(Clone, Copy)]
struct RawOperand {
    data: *mut c_void,
    dtype: *const c_char,
    shape: *const usize,
    dims: usize,
    row_stride: usize,
}

#[repr(C)]
struct RawCall {
    size: usize,
    op: *const c_char,
    dtype: *const c_char,
    axes: usize,
    axis_names: *const *const c_char,
    axis_sizes: *const u64,
    attributes: usize,
    attribute_names: *const *const c_char,
    attribute_values: *const *const c_char,
    threads: usize,
    inputs: usize,
    outputs: usize,
    operands: *const RawOperand,
    /// The first that older plug-ins do not know.
    all_attributes: usize,
}

type Asked = unsafe extern "C" fn(*const RawCall, *mut c_char, usize) -> c_int;

#[repr(C)]
#[derive(Clone, Copy)]
struct RawPeer {
    abi: u32,
    size: u32,
    version: *const c_char,
    build: *const c_char,
    isa: *const c_char,
    supports: Option<Asked>,
    run: Option<Asked>,
    set_threads: Option<unsafe extern "C" fn(usize)>,
    /// The first that older plug-ins do not have.
    settle: Option<Asked>,
    memory: *const c_char,
}

/// A peer that a user put on the shelf and that this program knows nothing else about.
pub struct Plugin {
    name: &'static str,
    submitted: Option<SubmittedLibrary>,
}

/// A library that is on no shelf.
struct SubmittedLibrary {
    /// The one op that it is judged on.
    ops: &'static [&'static str],
    library: PathBuf,
    /// The files of the op.
    judged_by: Vec<PathBuf>,
}

impl Plugin {
    /// The peer of that name on the shelf, also where its library has gone.
    pub fn on(shelf: &PeerShelf, name: &str) -> Option<&'static dyn Peer> {
        shelf.note(name)?;
        // Leaked once for each peer of a process, so that it is like those that are built in.
        let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
        Some(Box::leak(Box::new(Plugin { name, submitted: None })))
    }

    /// A library that was submitted for an op and is on no shelf: a kernel `own/<name>`.
    /// `judged_by` are the files of an op of the user.
    pub fn submitted(
        name: &str,
        op: &'static str,
        library: &Path,
        judged_by: Vec<PathBuf>,
    ) -> &'static dyn Peer {
        let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
        let library = library.to_owned();
        let submitted =
            Some(SubmittedLibrary { ops: Box::leak(Box::new([op])), library, judged_by });
        Box::leak(Box::new(Plugin { name, submitted }))
    }
}

impl Peer for Plugin {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        "a library of your own, by its C interface"
    }

    fn family(&self) -> Family {
        if self.submitted.is_some() { Family::Own } else { Family::Peer }
    }

    fn ops(&self) -> &'static [&'static str] {
        self.submitted.as_ref().map_or(&[], |submitted| submitted.ops)
    }

    fn elsewhere(&self) -> Option<Result<Found, String>> {
        let SubmittedLibrary { library, judged_by, .. } = self.submitted.as_ref()?;
        Some(Ok(Found {
            version: None,
            place: Some(library.clone()),
            library: library.clone(),
            lock: None,
            python: None,
            has_jit: false,
            files: judged_by.clone(),
        }))
    }

    fn source(&self) -> Source {
        Source::Registered
    }

    fn supports(&self, _: &ExplicitCase) -> Result<(), Unsupported> {
        Ok(())
    }

    fn open(&self, found: &Found) -> Result<(), String> {
        open(found).map(drop)
    }

    fn load(
        &self,
        found: &Found,
        case: &ExplicitCase,
        _: &Signature,
        threads: usize,
    ) -> Result<Ready, String> {
        let mut ready = load(found, case, threads)?;
        // What an unknown library does after its calls is not known, so it is timed too.
        if let Some(settle) = ready.settle.take() {
            let run = ready.run;
            ready.run = Box::new(move |call| run(call).and_then(|()| settle(call)));
            ready.receipt.memory.clear();
        }
        Ok(ready)
    }
}

/// A plug-in's description of itself, with the functions that it must have.
pub(crate) struct Opened {
    peer: RawPeer,
    supports: Asked,
    run: Asked,
}

/// Opens the plug-in and reads what it reports about itself.
pub(crate) fn open(found: &Found) -> Result<Opened, String> {
    let library = Open::at(&found.library, false)?;
    // SAFETY: the interface's one export, with its documented type.
    let enter: unsafe extern "C" fn() -> *const RawPeer = unsafe { library.get("proofmark_peer")? };
    // SAFETY: takes nothing; gives a structure that lives as long as the library.
    let peer = unsafe { RawPeer::read(enter()) }?;
    let supports = peer.supports.ok_or("its `supports` is null")?;
    let run = peer.run.ok_or("its `run` is null")?;
    Ok(Opened { peer, supports, run })
}

/// Opens the plug-in and asks it whether it does the case.
pub(crate) fn load(found: &Found, case: &ExplicitCase, threads: usize) -> Result<Ready, String> {
    let Opened { peer, supports, run } = open(found)?;
    let words = Rc::new(Words::of(case));
    ask(supports, &words.call(threads, &[], 0))?;
    if let Some(set_threads) = peer.set_threads {
        // SAFETY: the interface's function, on the one thread that uses the library.
        unsafe { set_threads(threads) };
    }
    let mut receipt = Receipt {
        version: text(peer.version),
        build: text(peer.build),
        isa: text(peer.isa),
        device: "cpu".to_owned(),
        memory: if peer.memory.is_null() { String::new() } else { text(peer.memory) },
        ..Receipt::default()
    };
    let set_threads = peer.set_threads.map(|set_threads| -> Box<dyn Fn(usize)> {
        // SAFETY: as above.
        Box::new(move |threads| unsafe { set_threads(threads) })
    });
    let called = |asked: Asked| -> Called {
        let words = Rc::clone(&words);
        Box::new(move |call| words.pass(asked, call))
    };
    if peer.settle.is_some() && receipt.memory.is_empty() {
        receipt.memory = "results come into the outputs after the clock has stopped".to_owned();
    }
    Ok(Ready {
        device_times: None,
        place: None,
        receipt,
        set_threads,
        run: called(run),
        settle: peer.settle.map(called),
        empty: None,
        memory: CallMemory::default(),
    })
}

impl RawPeer {
    /// A copy of a plug-in's description, with nothing where an older one ends.
    ///
    /// # Safety
    /// It is null, or its first fields are there and as many bytes as they say.
    unsafe fn read(given: *const RawPeer) -> Result<RawPeer, String> {
        if given.is_null() {
            return Err("it gives no description of itself".to_owned());
        }
        // SAFETY: the caller's promise.
        let (abi, size) = unsafe { ((*given).abi, (*given).size as usize) };
        if abi != ABI || size < offset_of!(RawPeer, settle) {
            return Err(format!("it speaks version {abi} of the interface, not {ABI}"));
        }
        let mut whole = MaybeUninit::<RawPeer>::zeroed();
        let known = size.min(size_of::<RawPeer>());
        // SAFETY: so many bytes are there by the caller's promise, and fit; zeros are valid in
        // every field.
        unsafe {
            given.cast::<u8>().copy_to_nonoverlapping(whole.as_mut_ptr().cast(), known);
            Ok(whole.assume_init())
        }
    }
}

fn ask(asked: Asked, call: &RawCall) -> Result<(), String> {
    let mut why = [0u8; WHY_BYTES];
    // SAFETY: a function of the interface with a call whose pointers are valid until it returns,
    // and room for so many bytes of words.
    let answer = unsafe { asked(call, why.as_mut_ptr().cast(), WHY_BYTES) };
    if answer == 0 {
        return Ok(());
    }
    let words = CStr::from_bytes_until_nul(&why).map(|words| words.to_string_lossy().into_owned());
    Err(words.ok().filter(|words| !words.is_empty()).unwrap_or(format!("it returned {answer}")))
}

fn text(words: *const c_char) -> String {
    if words.is_null() {
        return "unknown".to_owned();
    }
    // SAFETY: the interface gives texts that end in 0 and live as long as the library.
    unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned()
}

/// The words of a case as C reads them, kept for every call on it.
struct Words {
    op: CString,
    dtype: CString,
    _names: Vec<CString>,
    axis_names: Vec<*const c_char>,
    axis_sizes: Vec<u64>,
    /// How many attributes the case names; they come first.
    named: usize,
    attribute_names: Vec<*const c_char>,
    attribute_values: Vec<*const c_char>,
}

impl Words {
    fn of(case: &ExplicitCase) -> Words {
        let mut kept = Vec::new();
        let mut keep = |text: &str| {
            kept.push(CString::new(text).unwrap_or_default());
            kept.last().map_or(null(), |text| text.as_ptr())
        };
        let axis_names = case.axes.iter().map(|(name, _)| keep(name)).collect();
        let attribute_names = case.attrs.iter().map(|(name, _)| keep(name)).collect();
        let attribute_values =
            case.attrs.iter().map(|(_, value)| keep(&value.to_string())).collect();
        Words {
            op: CString::new(case.op.as_str()).unwrap_or_default(),
            dtype: CString::new(case.dtype.name()).unwrap_or_default(),
            axis_names,
            axis_sizes: case.axes.iter().map(|(_, size)| *size).collect(),
            named: case.named(),
            attribute_names,
            attribute_values,
            _names: kept,
        }
    }

    /// Asks with a call's operands.
    fn pass(&self, asked: Asked, call: &mut Call<'_>) -> Result<(), KernelError> {
        let mut operands = [RawOperand::NONE; MAX_OPERANDS];
        let tensors = call.inputs.iter().chain(call.outputs.iter());
        let mut count = 0;
        for (place, tensor) in operands.iter_mut().zip(tensors) {
            *place = RawOperand::of(tensor);
            count += 1;
        }
        let raw = self.call(call.threads, &operands[..count], call.inputs.len());
        ask(asked, &raw).map_err(KernelError::Refused)
    }

    fn call(&self, threads: usize, operands: &[RawOperand], inputs: usize) -> RawCall {
        RawCall {
            size: size_of::<RawCall>(),
            op: self.op.as_ptr(),
            dtype: self.dtype.as_ptr(),
            axes: self.axis_sizes.len(),
            axis_names: self.axis_names.as_ptr(),
            axis_sizes: self.axis_sizes.as_ptr(),
            attributes: self.named,
            attribute_names: self.attribute_names.as_ptr(),
            attribute_values: self.attribute_values.as_ptr(),
            threads,
            inputs,
            outputs: operands.len() - inputs,
            operands: if operands.is_empty() { null() } else { operands.as_ptr() },
            all_attributes: self.attribute_names.len(),
        }
    }
}

impl RawOperand {
    const NONE: RawOperand = RawOperand {
        data: std::ptr::null_mut(),
        dtype: null(),
        shape: null(),
        dims: 0,
        row_stride: 0,
    };

    fn of(tensor: &Tensor) -> RawOperand {
        let shape = tensor.layout.shape.as_slice();
        RawOperand {
            data: tensor.base().cast(),
            dtype: c_name(tensor.dtype).as_ptr(),
            shape: shape.as_ptr(),
            dims: shape.len(),
            row_stride: tensor.layout.row_stride,
        }
    }
}

fn c_name(dtype: DType) -> &'static CStr {
    match dtype {
        DType::F64 => c"f64",
        DType::F32 => c"f32",
        DType::F16 => c"f16",
        DType::Bf16 => c"bf16",
        DType::F8e4m3 => c"f8e4m3",
        DType::F8e5m2 => c"f8e5m2",
        DType::I8 => c"i8",
        DType::U8 => c"u8",
        DType::I32 => c"i32",
        DType::U32 => c"u32",
        DType::I64 => c"i64",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::explicit;

    #[test]
    fn what_an_older_plug_in_does_not_have_is_not_read() {
        // Rubbish where the description of an older one has ended.
        let older = RawPeer {
            abi: ABI,
            size: offset_of!(RawPeer, settle) as u32,
            version: c"1".as_ptr(),
            build: null(),
            isa: null(),
            supports: None,
            run: None,
            set_threads: None,
            settle: None,
            memory: std::ptr::without_provenance(1),
        };
        // SAFETY: whole descriptions, or null.
        unsafe {
            let read = RawPeer::read(&raw const older).unwrap();
            assert_eq!(text(read.version), "1");
            assert!(read.memory.is_null() && read.settle.is_none());
            let newer = RawPeer { size: 4096, ..older };
            assert!(!RawPeer::read(&raw const newer).unwrap().memory.is_null());
            let other = RawPeer { abi: 9, ..older };
            assert!(RawPeer::read(&raw const other).err().unwrap().contains("version 9"));
            assert!(RawPeer::read(null()).is_err());
        }
    }

    #[test]
    fn attributes_that_a_case_does_not_name_follow_those_that_it_names() {
        let case = "matmul:f32[b=1,m=2,n=3,k=4;layout=nt,bias=true]";
        let words = Words::of(&explicit(&case.parse().unwrap()));
        let call = words.call(1, &[], 0);
        assert_eq!((call.attributes, call.all_attributes), (2, 5));
        let told = |list: &[*const c_char]| -> Vec<String> {
            list.iter().map(|&word| text(word)).collect()
        };
        let names = told(&words.attribute_names);
        assert_eq!(names, ["layout", "bias", "activation", "out", "shared"]);
        let values = told(&words.attribute_values);
        assert_eq!(values, ["nt", "true", "none", "same", "false"]);
    }

    #[test]
    fn element_types_have_the_same_name_in_c() {
        for dtype in DType::ALL {
            assert_eq!(c_name(dtype).to_str(), Ok(dtype.name()));
        }
    }
}
