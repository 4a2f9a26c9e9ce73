//! Launching a kernel on the operands of calls, where they lie.
//!
//! Operands become buffers by `CL_MEM_USE_HOST_PTR`. Between calls they are mapped, so that the
//! host may write them. A call unmaps them, launches the kernel, maps them again and waits until
//! the queue is empty. A device that shares the host's memory copies nothing, and the guard pages
//! around operands stand. A device with memory of its own copies in unmapping and mapping.

use crate::launch::{Argument, Launch};
use crate::session::{Session, told};
use cl3::command_queue::{enqueue_map_buffer, enqueue_nd_range_kernel, enqueue_unmap_mem_object};
use cl3::event::{get_event_profiling_info, release_event};
use cl3::kernel::set_kernel_arg;
use cl3::memory::{CL_MEM_READ_ONLY, CL_MEM_READ_WRITE, CL_MEM_USE_HOST_PTR, create_buffer};
use cl3::types::{cl_event, cl_kernel, cl_mem};
use proofmark_contract::{Call, DeviceTimes};
use proofmark_tensor::Tensor;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::{null, null_mut};

/// Calls of a batch whose events are kept, at the most.
const KEPT: usize = 64;

/// An operand that has been seen: its buffer, and where it is mapped.
#[derive(Clone, Copy)]
struct Buffer {
    handle: cl_mem,
    mapped: *mut c_void,
}

/// What a buffer is of: the address, the bytes, and whether calls write it.
type Place = (usize, usize, bool);

/// A kernel on a queue of its own, which calls are put into.
pub struct Launcher {
    pub(crate) session: Session,
    kernel: cl_kernel,
    launch: Launch,
    buffers: BTreeMap<Place, Buffer>,
    /// The operands and row strides that the kernel's arguments were set to.
    set: Vec<(Place, usize)>,
    /// The operands of the current call, kept here so that calls allocate nothing.
    now: Vec<(Place, usize)>,
    events: Vec<(cl_event, bool)>,
    calls: u32,
    /// Why another number of threads could not be set.
    broken: Option<String>,
}

// SAFETY: handles of OpenCL may be used by any thread, one at a time, and a launcher is borrowed
// mutably by whatever uses it.
unsafe impl Send for Launcher {}

impl Launcher {
    /// Opens the device, or so many of its compute units, and builds the kernel there.
    ///
    /// # Errors
    /// If there is no device, the program does not compile, or a work-group is too large.
    pub fn open(launch: Launch, threads: usize) -> Result<Launcher, String> {
        let session = Session::open(threads)?;
        let group = (launch.items(), launch.local_bytes());
        let kernel = session.kernel(&launch.source, &launch.options, &launch.function, group)?;
        Ok(Launcher {
            session,
            kernel,
            launch,
            buffers: BTreeMap::new(),
            set: Vec::new(),
            now: Vec::new(),
            events: Vec::with_capacity(16 * KEPT),
            calls: 0,
            broken: None,
        })
    }

    /// Opens the device again on so many compute units.
    pub(crate) fn set_threads(&mut self, threads: usize) {
        let all = usize::try_from(self.session.device.limits.compute_units).unwrap_or(1);
        if threads.clamp(1, all.max(1)) == self.session.units {
            return;
        }
        match Launcher::open(self.launch.clone(), threads) {
            Ok(launcher) => *self = launcher,
            Err(reason) => self.broken = Some(reason),
        }
    }

    /// A call: it is done when the queue is empty, so that no work escapes the clock.
    pub(crate) fn run(&mut self, call: &mut Call<'_>) -> Result<(), String> {
        self.start(call)?;
        self.finish()
    }

    /// Puts a call into the queue, and does not wait for it.
    ///
    /// # Errors
    /// What OpenCL refused.
    pub fn start(&mut self, call: &mut Call<'_>) -> Result<(), String> {
        if let Some(reason) = &self.broken {
            return Err(reason.clone());
        }
        if call.outputs.iter().all(|tensor| tensor.layout.is_empty()) {
            return Ok(());
        }
        self.look_at(call);
        if self.now != self.set {
            self.set_arguments()?;
        }
        let is_kept = (self.calls as usize) < KEPT;
        for place in 0..self.now.len() {
            if let Some(buffer) = self.buffers.get_mut(&self.now[place].0) {
                if buffer.mapped.is_null() {
                    continue;
                }
                // SAFETY: the buffer is mapped there, and the host does not touch it until it is
                // mapped again.
                let event = unsafe {
                    enqueue_unmap_mem_object(
                        self.session.queue,
                        buffer.handle,
                        buffer.mapped,
                        0,
                        null(),
                    )
                };
                buffer.mapped = null_mut();
                self.note(event.map_err(told("clEnqueueUnmapMemObject"))?, is_kept, true);
            }
        }
        let Launch { global, local, .. } = &self.launch;
        // SAFETY: every argument is set; buffers have the sizes of the case, whose kernel this is.
        let event = unsafe {
            enqueue_nd_range_kernel(
                self.session.queue,
                self.kernel,
                global.len() as u32,
                null(),
                global.as_ptr(),
                local.as_ptr(),
                0,
                null(),
            )
        };
        self.note(event.map_err(told("clEnqueueNDRangeKernel"))?, is_kept, false);
        self.give_back(is_kept)?;
        self.calls += u32::from(is_kept);
        Ok(())
    }

    /// Waits until nothing is left in the queue.
    ///
    /// # Errors
    /// What OpenCL refused.
    pub fn finish(&self) -> Result<(), String> {
        self.session.finish()
    }

    /// Notes where the operands of a call lie.
    fn look_at(&mut self, call: &Call<'_>) {
        let place = |tensor: &Tensor, is_written| {
            let bytes = match tensor.layout.is_empty() {
                true => 0,
                false => tensor.layout.span() * tensor.dtype.size(),
            };
            ((tensor.base() as usize, bytes, is_written), tensor.layout.row_stride)
        };
        self.now.clear();
        self.now.extend(call.inputs.iter().map(|tensor| place(tensor, false)));
        self.now.extend(call.outputs.iter().map(|tensor| place(tensor, true)));
    }

    /// Makes buffers of operands that are new, and sets the kernel's arguments.
    fn set_arguments(&mut self) -> Result<(), String> {
        for &(place, _) in &self.now {
            let (address, bytes, is_written) = place;
            if bytes == 0 || self.buffers.contains_key(&place) {
                continue;
            }
            let access = if is_written { CL_MEM_READ_WRITE } else { CL_MEM_READ_ONLY };
            let flags = access | CL_MEM_USE_HOST_PTR;
            // SAFETY: an operand of a call, whose memory stays mapped while calls are made on it.
            let buffer = unsafe {
                create_buffer(self.session.context, flags, bytes, address as *mut c_void)
            };
            let handle = buffer.map_err(told("clCreateBuffer"))?;
            self.buffers.insert(place, Buffer { handle, mapped: null_mut() });
        }
        for (number, argument) in self.launch.arguments.iter().enumerate() {
            let null_buffer: cl_mem = null_mut();
            let stride;
            let (bytes, value): (usize, *const c_void) = match argument {
                Argument::Operand(place) => {
                    let buffer = self.buffers.get(&self.now[*place].0);
                    let handle = buffer.map_or(&raw const null_buffer, |it| &raw const it.handle);
                    (size_of::<cl_mem>(), handle.cast())
                }
                Argument::Stride { place, bytes } => {
                    stride = (self.now[*place].1 as u64).to_le_bytes();
                    (*bytes, stride.as_ptr().cast())
                }
                Argument::Scalar(value) => (value.len(), value.as_ptr().cast()),
                Argument::Local(bytes) => (*bytes, null()),
            };
            // SAFETY: the value has so many bytes; OpenCL checks them against the kernel's own.
            unsafe { set_kernel_arg(self.kernel, number as u32, bytes, value) }
                .map_err(|code| told(&format!("argument {}", number + 1))(code))?;
        }
        self.set.clone_from(&self.now);
        Ok(())
    }

    /// Maps the operands of the current call, so that the host may read and write them. Of what
    /// the device only reads nothing comes back.
    fn give_back(&mut self, is_kept: bool) -> Result<(), String> {
        use cl3::memory::{CL_MAP_READ, CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION};
        for number in 0..self.now.len() {
            let (place, _) = self.now[number];
            let Some(buffer) = self.buffers.get_mut(&place) else { continue };
            let flags =
                if place.2 { CL_MAP_READ | CL_MAP_WRITE } else { CL_MAP_WRITE_INVALIDATE_REGION };
            // SAFETY: the buffer has so many bytes; the queue is finished before they are used.
            let event = unsafe {
                enqueue_map_buffer(
                    self.session.queue,
                    buffer.handle,
                    0,
                    flags,
                    0,
                    place.1,
                    &mut buffer.mapped,
                    0,
                    null(),
                )
            };
            self.note(event.map_err(told("clEnqueueMapBuffer"))?, is_kept, true);
        }
        Ok(())
    }

    /// Keeps an event until times are asked for, or releases it.
    fn note(&mut self, event: cl_event, is_kept: bool, is_copy: bool) {
        match is_kept {
            true => self.events.push((event, is_copy)),
            false => release(event),
        }
    }

    /// What the events say that were kept since this was last asked.
    pub fn times(&mut self) -> DeviceTimes {
        use cl3::event::{CL_PROFILING_COMMAND_END, CL_PROFILING_COMMAND_START};
        let mut times = DeviceTimes { calls: self.calls, ..DeviceTimes::default() };
        for (event, is_copy) in self.events.drain(..) {
            let at = |what| get_event_profiling_info(event, what).map_or(0, |it| it.to_ulong());
            let ns = at(CL_PROFILING_COMMAND_END).saturating_sub(at(CL_PROFILING_COMMAND_START));
            if is_copy {
                times.copy_ns += ns;
            } else {
                times.kernel_ns += ns;
            }
            release(event);
        }
        self.calls = 0;
        times
    }
}

/// Gives an event back.
pub(crate) fn release(event: cl_event) {
    // SAFETY: an event that is released once. An error would leave it to the driver.
    let _ = unsafe { release_event(event) };
}
