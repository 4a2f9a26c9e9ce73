//! A Python interpreter inside this process, opened at run time by its stable functions.

use crate::open::Open;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::null_mut;

type Raw = *mut c_void;

/// The start symbol by which the compiler reads the text of a module: `Py_file_input`.
const MODULE: c_int = 257;
/// Errors are reported up to this length, because some frameworks add pages of advice.
const LONGEST: usize = 500;

/// The functions that are used. All are of the stable ABI, so that one build of this program
/// opens every Python from 3.10 on.
struct Functions {
    call_no_args: unsafe extern "C" fn(Raw) -> Raw,
    call: unsafe extern "C" fn(Raw, ...) -> Raw,
    attribute: unsafe extern "C" fn(Raw, *const c_char) -> Raw,
    item: unsafe extern "C" fn(Raw, isize) -> Raw,
    is_callable: unsafe extern "C" fn(Raw) -> c_int,
    from_utf8: unsafe extern "C" fn(*const c_char, isize) -> Raw,
    as_utf8: unsafe extern "C" fn(Raw, *mut isize) -> *const c_char,
    to_text: unsafe extern "C" fn(Raw) -> Raw,
    take_error: unsafe extern "C" fn(*mut Raw, *mut Raw, *mut Raw),
    compile: unsafe extern "C" fn(*const c_char, *const c_char, c_int) -> Raw,
    import: unsafe extern "C" fn(*const c_char, Raw) -> Raw,
    release: unsafe extern "C" fn(Raw),
}

/// The interpreter. It stays, as does its lock, which the starting thread never gives away: while
/// a worker sleeps, no other Python thread runs.
#[derive(Clone, Copy)]
pub(crate) struct Interpreter {
    functions: &'static Functions,
}

/// An object of the interpreter, held until it is dropped.
pub(crate) struct Object {
    interpreter: Interpreter,
    raw: Raw,
}

impl Interpreter {
    /// Starts the interpreter of a library. Its environment must name its home; it takes no
    /// signals. To be called once in a process.
    pub(crate) fn start(library: &Path) -> Result<Interpreter, String> {
        // Global: modules written in C take the interpreter's functions from the process.
        let library = Open::at(library, true)?;
        // SAFETY: each is the type that Python's documentation of the C interface gives.
        let functions = unsafe {
            Functions {
                call_no_args: library.get("PyObject_CallNoArgs")?,
                call: library.get("PyObject_CallFunctionObjArgs")?,
                attribute: library.get("PyObject_GetAttrString")?,
                item: library.get("PySequence_GetItem")?,
                is_callable: library.get("PyCallable_Check")?,
                from_utf8: library.get("PyUnicode_FromStringAndSize")?,
                as_utf8: library.get("PyUnicode_AsUTF8AndSize")?,
                to_text: library.get("PyObject_Str")?,
                take_error: library.get("PyErr_Fetch")?,
                compile: library.get("Py_CompileString")?,
                import: library.get("PyImport_ExecCodeModule")?,
                release: library.get("Py_DecRef")?,
            }
        };
        // SAFETY: as above.
        let initialize: unsafe extern "C" fn(c_int) = unsafe { library.get("Py_InitializeEx")? };
        // SAFETY: nothing of Python has run in this process; 0 leaves signals alone.
        unsafe { initialize(0) };
        Ok(Interpreter { functions: Box::leak(Box::new(functions)) })
    }

    /// Runs the text of a module.
    pub(crate) fn module(self, name: &CStr, text: &str) -> Result<Object, String> {
        let text = CString::new(text).map_err(|_| "a script with a zero byte".to_owned())?;
        // SAFETY: the interpreter runs, this thread holds its lock, the texts end in 0.
        let code = unsafe { (self.functions.compile)(text.as_ptr(), name.as_ptr(), MODULE) };
        let code = self.object(code)?;
        // SAFETY: as above; the code was just compiled.
        self.object(unsafe { (self.functions.import)(name.as_ptr(), code.raw) })
    }

    fn text(self, text: &str) -> Result<Object, String> {
        let length = isize::try_from(text.len()).unwrap_or(isize::MAX);
        // SAFETY: so many bytes are read of a text that is UTF-8.
        self.object(unsafe { (self.functions.from_utf8)(text.as_ptr().cast(), length) })
    }

    /// A new object, or what went wrong in the making of it.
    fn object(self, raw: Raw) -> Result<Object, String> {
        if raw.is_null() { Err(self.error()) } else { Ok(Object { interpreter: self, raw }) }
    }

    /// The error that a function has just left, as one line.
    fn error(self) -> String {
        let (mut kind, mut value, mut trace) = (null_mut(), null_mut(), null_mut());
        // SAFETY: three places for what the interpreter gives away.
        unsafe { (self.functions.take_error)(&raw mut kind, &raw mut value, &raw mut trace) };
        let held = |raw: Raw| (!raw.is_null()).then(|| Object { interpreter: self, raw });
        let (kind, value, _trace) = (held(kind), held(value), held(trace));
        let name = kind.and_then(|kind| kind.get(c"__name__").ok()?.to_text());
        let said = value.and_then(|value| value.to_text()).unwrap_or_default();
        let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        let words = format!("{}: {}", name.unwrap_or_default(), lines.join("; "));
        words.chars().take(LONGEST).collect()
    }
}

impl Object {
    /// Calls it without arguments and lets the result go.
    #[inline]
    pub(crate) fn call(&self) -> Result<(), String> {
        let functions = self.interpreter.functions;
        // SAFETY: the object is held and this thread holds the interpreter's lock.
        let result = unsafe { (functions.call_no_args)(self.raw) };
        if result.is_null() {
            return Err(self.interpreter.error());
        }
        // SAFETY: a result is the caller's to release.
        unsafe { (functions.release)(result) };
        Ok(())
    }

    /// Calls one of its methods with a text.
    pub(crate) fn ask(&self, method: &CStr, text: &str) -> Result<Object, String> {
        let (method, text) = (self.get(method)?, self.interpreter.text(text)?);
        let end: Raw = null_mut();
        // SAFETY: objects that are held, then the null that ends the arguments.
        let result = unsafe { (self.interpreter.functions.call)(method.raw, text.raw, end) };
        self.interpreter.object(result)
    }

    /// An attribute.
    pub(crate) fn get(&self, name: &CStr) -> Result<Object, String> {
        // SAFETY: a held object and a text that ends in 0.
        let raw = unsafe { (self.interpreter.functions.attribute)(self.raw, name.as_ptr()) };
        self.interpreter.object(raw)
    }

    /// An element of a sequence.
    pub(crate) fn item(&self, index: isize) -> Result<Object, String> {
        // SAFETY: a held object; what is no sequence or too short gives an error.
        self.interpreter.object(unsafe { (self.interpreter.functions.item)(self.raw, index) })
    }

    /// It, if it can be called; `None` of Python cannot.
    pub(crate) fn callable(self) -> Option<Object> {
        // SAFETY: a held object.
        (unsafe { (self.interpreter.functions.is_callable)(self.raw) } != 0).then_some(self)
    }

    /// It as text, as `str` gives it.
    pub(crate) fn to_text(&self) -> Option<String> {
        let functions = self.interpreter.functions;
        // SAFETY: a held object.
        let text = self.interpreter.object(unsafe { (functions.to_text)(self.raw) }).ok()?;
        let mut length = 0;
        // SAFETY: a text that is held while its bytes are copied below.
        let bytes = unsafe { (functions.as_utf8)(text.raw, &raw mut length) };
        if bytes.is_null() {
            self.interpreter.error();
            return None;
        }
        let length = usize::try_from(length).unwrap_or(0);
        // SAFETY: the interpreter gave the text and its length in bytes.
        let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), length) };
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: held until now, by the thread that holds the interpreter's lock.
        unsafe { (self.interpreter.functions.release)(self.raw) };
    }
}
