//! The steps of a call one by one, as a program that launches kernels itself has them. The judge's
//! own cheats and odd but honest kernels are made of them; no other contender uses them.

use crate::launcher::{Launcher, release};
use crate::session::told;
use cl3::command_queue::{
    enqueue_marker_with_wait_list, enqueue_read_buffer, enqueue_write_buffer, flush,
};
use cl3::event::{CL_COMPLETE, CL_EVENT_COMMAND_EXECUTION_STATUS, get_event_info, wait_for_events};
use cl3::memory::{CL_MEM_READ_WRITE, create_buffer, release_mem_object};
use cl3::types::{CL_TRUE, cl_event, cl_mem};
use proofmark_tensor::Tensor;
use std::ptr::{null, null_mut};

/// A place in a queue: it is reached when all commands before it are done.
pub struct Marker(cl_event);

// SAFETY: an event may be used by any thread.
unsafe impl Send for Marker {}

impl Marker {
    /// Waits until it is reached.
    ///
    /// # Errors
    /// What OpenCL refused.
    pub fn wait(&self) -> Result<(), String> {
        wait_for_events(&[self.0]).map_err(told("clWaitForEvents"))
    }

    /// Whether it is reached.
    pub fn is_reached(&self) -> bool {
        let status = get_event_info(self.0, CL_EVENT_COMMAND_EXECUTION_STATUS);
        // An error is a negative number, after which nothing more comes.
        status.is_ok_and(|status| status.to_int() <= CL_COMPLETE)
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        release(self.0);
    }
}

/// Memory of the device that holds a copy of a result.
pub struct DeviceCopy {
    buffer: cl_mem,
    bytes: usize,
}

// SAFETY: a buffer may be used by any thread, one at a time.
unsafe impl Send for DeviceCopy {}

impl Drop for DeviceCopy {
    fn drop(&mut self) {
        // SAFETY: made by this copy, and released once. An error would leave it to the driver.
        let _ = unsafe { release_mem_object(self.buffer) };
    }
}

impl Launcher {
    /// Sends what is in the queue to the device.
    ///
    /// # Errors
    /// What OpenCL refused.
    pub fn flush(&self) -> Result<(), String> {
        flush(self.session.queue).map_err(told("clFlush"))
    }

    /// Puts a marker into the queue.
    ///
    /// # Errors
    /// What OpenCL refused.
    pub fn marker(&self) -> Result<Marker, String> {
        // SAFETY: it waits for no event of a list.
        let event = unsafe { enqueue_marker_with_wait_list(self.session.queue, 0, null()) };
        event.map(Marker).map_err(told("clEnqueueMarkerWithWaitList"))
    }

    /// Copies a result to memory of the device, if its rows lie densely.
    ///
    /// # Errors
    /// What OpenCL refused.
    pub fn keep(&self, result: &Tensor) -> Result<Option<DeviceCopy>, String> {
        if !result.layout.is_dense() || result.layout.is_empty() {
            return Ok(None);
        }
        let bytes = result.layout.len() * result.dtype.size();
        // SAFETY: without flags for memory of the host, none is looked at.
        let buffer =
            unsafe { create_buffer(self.session.context, CL_MEM_READ_WRITE, bytes, null_mut()) };
        let copy = DeviceCopy { buffer: buffer.map_err(told("clCreateBuffer"))?, bytes };
        let from = result.base().cast_const().cast();
        // SAFETY: the result has so many bytes, which the call reads before it returns.
        let event = unsafe {
            enqueue_write_buffer(
                self.session.queue,
                copy.buffer,
                CL_TRUE,
                0,
                bytes,
                from,
                0,
                null(),
            )
        };
        release(event.map_err(told("clEnqueueWriteBuffer"))?);
        Ok(Some(copy))
    }

    /// Copies from memory of the device to a result of the same size.
    ///
    /// # Errors
    /// What OpenCL refused, or that the result is another one.
    pub fn recall(&self, copy: &DeviceCopy, result: &mut Tensor) -> Result<(), String> {
        if !result.layout.is_dense() || result.layout.len() * result.dtype.size() != copy.bytes {
            return Err("the copy is of another result".to_owned());
        }
        let to = result.base().cast();
        // SAFETY: the result has so many bytes, which the call writes before it returns.
        let event = unsafe {
            enqueue_read_buffer(
                self.session.queue,
                copy.buffer,
                CL_TRUE,
                0,
                copy.bytes,
                to,
                0,
                null(),
            )
        };
        event.map(release).map_err(told("clEnqueueReadBuffer"))
    }
}
