//! What is launched: a kernel with its arguments, made ready for calls.

use crate::launcher::{Launcher, release};
use crate::session::Session;
use cl3::command_queue::enqueue_nd_range_kernel;
use proofmark_contract::KernelError;
use proofmark_peers::{CallMemory, Ready};
use proofmark_schema::Receipt;
use std::cell::RefCell;
use std::ptr::null;
use std::rc::Rc;

/// A kernel with what it is launched with on a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The program's text.
    pub source: String,
    /// What the compiler is told.
    pub options: String,
    /// The kernel's name in the program.
    pub function: String,
    /// Its arguments in order.
    pub arguments: Vec<Argument>,
    /// Work-items along each dimension, a multiple of those of a work-group.
    pub global: Vec<usize>,
    /// Work-items of a work-group along each dimension.
    pub local: Vec<usize>,
}

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// The operand at this place of the signature.
    Operand(usize),
    /// Elements from one row to the next of the operand at this place, as an integer of 4 or 8
    /// bytes.
    Stride {
        /// The place of the operand.
        place: usize,
        /// Bytes of the argument.
        bytes: usize,
    },
    /// A number, as its bytes.
    Scalar(Vec<u8>),
    /// So many bytes of local memory.
    Local(usize),
}

impl Argument {
    /// An `int`.
    pub(crate) fn int(value: i64) -> Argument {
        // Sizes of an axis are checked before any plan is made.
        Argument::Scalar(i32::try_from(value).unwrap_or(i32::MAX).to_ne_bytes().to_vec())
    }

    /// A `float`.
    pub(crate) fn float(value: f64) -> Argument {
        Argument::Scalar((value as f32).to_ne_bytes().to_vec())
    }

    /// The row stride of an operand, as an `int`.
    pub(crate) fn stride(place: usize) -> Argument {
        Argument::Stride { place, bytes: 4 }
    }
}

impl Launch {
    pub(crate) fn items(&self) -> usize {
        self.local.iter().product()
    }

    pub(crate) fn local_bytes(&self) -> usize {
        let bytes =
            |argument: &Argument| if let Argument::Local(bytes) = argument { *bytes } else { 0 };
        self.arguments.iter().map(bytes).sum()
    }
}

/// Makes a kernel ready for calls, on so many compute units of the device. It is to be called in a
/// worker, which the driver may end.
///
/// # Errors
/// If there is no device, the program does not compile, or a work-group is too large.
pub fn ready(launch: Launch, threads: usize, version: String) -> Result<Ready, String> {
    let options = launch.options.trim().to_owned();
    let launcher = Launcher::open(launch, threads)?;
    let session = &launcher.session;
    let receipt = Receipt {
        version,
        build: format!("{} {options}", session.device.driver),
        isa: session.device.model.clone(),
        device: session.device.name.clone(),
        on: Some(Box::new(session.device.clone())),
        ..Receipt::default()
    };
    let empty = empty(threads)?;
    let launcher = Rc::new(RefCell::new(launcher));
    let (threaded, timed) = (Rc::clone(&launcher), Rc::clone(&launcher));
    Ok(Ready {
        receipt,
        set_threads: Some(Box::new(move |threads| threaded.borrow_mut().set_threads(threads))),
        run: Box::new(move |call| launcher.borrow_mut().run(call).map_err(KernelError::Refused)),
        settle: None,
        place: None,
        empty: Some(empty),
        memory: CallMemory::default(),
        device_times: Some(Box::new(move || timed.borrow_mut().times())),
    })
}

/// A launch of a kernel that does nothing.
fn empty(threads: usize) -> Result<Box<dyn Fn()>, String> {
    let session = Session::open(threads)?;
    let kernel = session.kernel("kernel void nothing(void) {}", "", "nothing", (1, 0))?;
    Ok(Box::new(move || {
        // SAFETY: the kernel takes no argument and touches nothing.
        let launched = unsafe {
            let one = [1usize];
            enqueue_nd_range_kernel(
                session.queue,
                kernel,
                1,
                null(),
                one.as_ptr(),
                one.as_ptr(),
                0,
                null(),
            )
        };
        let _ = session.finish();
        if let Ok(event) = launched {
            release(event);
        }
    }))
}
