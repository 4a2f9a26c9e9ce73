//! A context with a queue on a device, and programs that are built there.

use crate::device::first;
use cl3::command_queue::{CL_QUEUE_PROFILING_ENABLE, create_command_queue, finish};
use cl3::context::create_context;
use cl3::device::create_sub_devices;
use cl3::error_codes::error_text;
use cl3::kernel::{
    CL_KERNEL_LOCAL_MEM_SIZE, CL_KERNEL_WORK_GROUP_SIZE, create_kernel, get_kernel_work_group_info,
};
use cl3::program::{
    CL_PROGRAM_BUILD_LOG, build_program, create_program_with_source, get_program_build_info,
};
use cl3::types::{cl_command_queue, cl_context, cl_device_id, cl_int, cl_kernel};
use proofmark_schema::Device;
use std::ffi::CString;
use std::ptr::{null, null_mut};

/// `CL_DEVICE_PARTITION_BY_COUNTS` and the end of its list, which the crate has as other types.
const BY_COUNTS: isize = 0x1087;

/// A context with one queue that keeps order. It stays as long as the process, as its driver does.
pub(crate) struct Session {
    pub(crate) device: Device,
    pub(crate) context: cl_context,
    pub(crate) queue: cl_command_queue,
    /// Compute units that it uses.
    pub(crate) units: usize,
    id: cl_device_id,
}

/// What failed, in the words of OpenCL.
pub(crate) fn told(what: &str) -> impl Fn(cl_int) -> String + '_ {
    move |code| format!("{what}: {} ({code})", error_text(code))
}

impl Session {
    /// Opens the chosen device, or so many of its compute units.
    pub(crate) fn open(units: usize) -> Result<Session, String> {
        let (whole, device) = first()?;
        let all = usize::try_from(device.limits.compute_units).unwrap_or(1).max(1);
        let units = units.clamp(1, all);
        let id = if units == all { whole } else { part(whole, units)? };
        let context =
            create_context(&[id], null(), None, null_mut()).map_err(told("clCreateContext"))?;
        // SAFETY: the device is the one that the context was made for.
        #[allow(deprecated, reason = "drivers of OpenCL 1.2 have no other")]
        let queue = unsafe { create_command_queue(context, id, CL_QUEUE_PROFILING_ENABLE) };
        let queue = queue.map_err(told("clCreateCommandQueue"))?;
        Ok(Session { device, context, queue, units, id })
    }

    /// The device, or the part of it that is used.
    pub(crate) fn id(&self) -> cl_device_id {
        self.id
    }

    /// Builds a program and gives its kernel of that name, if a work-group of so many work-items
    /// with so many bytes of local memory beside its own can run. Some drivers end the process if
    /// it cannot.
    pub(crate) fn kernel(
        &self,
        source: &str,
        options: &str,
        function: &str,
        (items, local_bytes): (usize, usize),
    ) -> Result<cl_kernel, String> {
        let program = create_program_with_source(self.context, &[source])
            .map_err(told("clCreateProgramWithSource"))?;
        let options = c_string(options)?;
        if let Err(code) = build_program(program, &[self.id], &options, None, null_mut()) {
            let log = get_program_build_info(program, self.id, CL_PROGRAM_BUILD_LOG);
            let log = log.map_or_else(|_| String::new(), String::from);
            return Err(format!("{}\n{}", told("it does not compile")(code), log.trim()));
        }
        let kernel = create_kernel(program, &c_string(function)?)
            .map_err(|code| format!("there is no kernel `{function}`: {}", error_text(code)))?;
        let limits = self.device.limits;
        let of_group = |what| get_kernel_work_group_info(kernel, self.id, what);
        let most = of_group(CL_KERNEL_WORK_GROUP_SIZE)
            .map_or(limits.work_group, |value| (value.to_size() as u64).min(limits.work_group));
        if items as u64 > most {
            return Err(format!("a work-group of {items} is more than the {most} that can run"));
        }
        let own = of_group(CL_KERNEL_LOCAL_MEM_SIZE).map_or(0, |value| value.to_ulong());
        let bytes = own.saturating_add(local_bytes as u64);
        if bytes > limits.local_bytes {
            let most = limits.local_bytes;
            return Err(format!(
                "a work-group takes {bytes} bytes of local memory, {most} are there"
            ));
        }
        Ok(kernel)
    }

    /// Waits until nothing is left in the queue.
    pub(crate) fn finish(&self) -> Result<(), String> {
        finish(self.queue).map_err(told("clFinish"))
    }
}

/// So many compute units of a device.
fn part(whole: cl_device_id, units: usize) -> Result<cl_device_id, String> {
    let parts = create_sub_devices(whole, &[BY_COUNTS, units.cast_signed(), 0, 0])
        .map_err(told("clCreateSubDevices"))?;
    parts.first().copied().ok_or_else(|| "the device cannot be divided".to_owned())
}

fn c_string(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|_| format!("`{text}` has a zero byte"))
}
