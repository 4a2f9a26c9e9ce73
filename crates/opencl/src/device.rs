//! The devices of OpenCL on this machine, and whether there is a loader for them at all.

use cl3::device::{
    CL_DEVICE_GLOBAL_MEM_SIZE, CL_DEVICE_HOST_UNIFIED_MEMORY, CL_DEVICE_LOCAL_MEM_SIZE,
    CL_DEVICE_MAX_COMPUTE_UNITS, CL_DEVICE_MAX_MEM_ALLOC_SIZE, CL_DEVICE_MAX_WORK_GROUP_SIZE,
    CL_DEVICE_NAME, CL_DEVICE_TYPE, CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU,
    CL_DRIVER_VERSION, get_device_ids, get_device_info,
};
use cl3::error_codes::error_text;
use cl3::platform::{CL_PLATFORM_NAME, get_platform_ids, get_platform_info};
use cl3::types::cl_device_id;
use proofmark_peers::Found;
use proofmark_schema::Device;
use proofmark_schema::device::{DeviceClock, DeviceKind, DeviceLimits, DeviceMemory, DeviceQueue};
use std::ffi::OsString;
use std::fmt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The library that finds drivers.
const LOADER: &str = "libOpenCL.so.1";

/// Folders in which systems keep it.
const FOLDERS: &[&str] = &[
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib64",
    "/usr/local/lib",
];

/// The folder in which every driver names its library, unless `OCL_ICD_VENDORS` names another.
const VENDORS: &str = "/etc/OpenCL/vendors";

/// Why there is no device of OpenCL, and how to get one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent(pub String);

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Absent {}

/// The hint for a machine without OpenCL.
const HINT: &str = "install a driver of OpenCL and its loader: on Debian, `apt install \
                    pocl-opencl-icd ocl-icd-libopencl1` has one for the processor";

/// Where the loader is. Neither it nor a driver is opened, so that any process may ask.
///
/// # Errors
/// If the loader is not here, or no driver is.
pub fn found() -> Result<Found, Absent> {
    let places = FOLDERS.iter().map(|folder| Path::new(folder).join(LOADER));
    let library = places.into_iter().find(|place| place.is_file());
    let library = library.ok_or_else(|| Absent(HINT.to_owned()))?;
    let (folder, mut files) = drivers();
    if files.is_empty() {
        return Err(Absent(HINT.to_owned()));
    }
    // The loader lists the folder.
    files.push(folder);
    Ok(Found {
        version: None,
        place: None,
        library,
        lock: None,
        python: None,
        has_jit: true,
        files,
    })
}

/// A variable that the user sets for the loader or a driver, and that both read in this process.
#[expect(clippy::disallowed_methods, reason = "the loader and drivers read the same variables")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// The files in which drivers name their libraries, and their folder.
fn drivers() -> (PathBuf, Vec<PathBuf>) {
    let folder = variable("OCL_ICD_VENDORS").map_or_else(|| VENDORS.into(), PathBuf::from);
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let is_driver = |path: &PathBuf| path.extension().is_some_and(|end| end == "icd");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_driver).collect();
    files.sort_unstable();
    (folder, files)
}

/// The name of the device that contenders of OpenCL run on: the first, unless
/// `PROOFMARK_OPENCL_DEVICE` has the number of another.
pub fn name_of_first() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| name(chosen()))
}

fn name(number: usize) -> String {
    format!("opencl:{number}")
}

fn chosen() -> usize {
    let number = variable("PROOFMARK_OPENCL_DEVICE");
    number.and_then(|number| number.to_str()?.parse().ok()).unwrap_or(0)
}

/// Sends what the driver pocl keeps of compiled kernels to a folder of this user's own, unless the
/// user has named one. It is to be called while the process has one thread.
pub fn set_environment() {
    if variable("POCL_CACHE_DIR").is_some() {
        return;
    }
    // The owner of a process is the owner of its folder below `/proc`.
    let user = std::fs::metadata("/proc/self").map_or(0, |of| of.uid());
    let shared = std::env::temp_dir().join(format!("proofmark-opencl-{user}"));
    // A folder that cannot be made is told by the driver, which then cannot compile.
    let _ = std::fs::DirBuilder::new().mode(0o700).create(&shared);
    // What another user may write is code of that user.
    let is_own = std::fs::symlink_metadata(&shared)
        .is_ok_and(|of| of.is_dir() && of.uid() == user && of.mode() & 0o077 == 0);
    let folder = match is_own {
        true => shared,
        false => shared.with_extension(std::process::id().to_string()),
    };
    proofmark_peers::set_environment(&[("POCL_CACHE_DIR", &folder.to_string_lossy())]);
}

/// Every device of OpenCL. It opens the drivers, so that it is for a worker, or for a program that
/// does nothing else.
///
/// # Errors
/// If there is no loader, no driver or no device.
pub fn devices() -> Result<Vec<Device>, Absent> {
    found()?;
    let devices = ids().map_err(|reason| Absent(format!("{reason}; {HINT}")))?;
    Ok(devices.into_iter().enumerate().map(|(number, id)| facts(number, id)).collect())
}

/// The handle of the chosen device, with what it is.
pub(crate) fn first() -> Result<(cl_device_id, Device), String> {
    let (number, devices) = (chosen(), ids()?);
    let count = devices.len();
    let id = devices.into_iter().nth(number).ok_or_else(|| {
        format!("there is no {}: this machine has {count} devices of OpenCL", name(number))
    })?;
    Ok((id, facts(number, id)))
}

/// The handles of all devices, platform by platform.
fn ids() -> Result<Vec<cl_device_id>, String> {
    let platforms = get_platform_ids()
        .map_err(|code| format!("OpenCL has no platform: {}", error_text(code)))?;
    // A platform without a device answers with an error.
    let of = |platform| get_device_ids(platform, CL_DEVICE_TYPE_ALL).unwrap_or_default();
    let devices: Vec<_> = platforms.into_iter().flat_map(of).collect();
    match devices.is_empty() {
        true => Err("no driver of OpenCL has a device".to_owned()),
        false => Ok(devices),
    }
}

/// What a device says of itself; what it does not say is empty or 0.
fn facts(number: usize, id: cl_device_id) -> Device {
    let text = |what| get_device_info(id, what).map_or_else(|_| String::new(), String::from);
    let size = |what| get_device_info(id, what).map_or(0, |value| value.to_ulong());
    let count = |what| get_device_info(id, what).map_or(0, |value| u64::from(value.to_uint()));
    let kind = match size(CL_DEVICE_TYPE) {
        kind if kind & CL_DEVICE_TYPE_CPU != 0 => DeviceKind::Cpu,
        kind if kind & CL_DEVICE_TYPE_GPU != 0 => DeviceKind::Gpu,
        _ => DeviceKind::Accelerator,
    };
    let shares = count(CL_DEVICE_HOST_UNIFIED_MEMORY) != 0;
    Device {
        name: name(number),
        kind,
        model: text(CL_DEVICE_NAME),
        driver: format!("{} {}", platform_of(id), text(CL_DRIVER_VERSION)),
        memory: if shares { DeviceMemory::Shared } else { DeviceMemory::Own },
        queue: DeviceQueue::InOrder,
        clock: DeviceClock::HostAndEvents,
        limits: DeviceLimits {
            compute_units: count(CL_DEVICE_MAX_COMPUTE_UNITS),
            work_group: get_device_info(id, CL_DEVICE_MAX_WORK_GROUP_SIZE)
                .map_or(0, |value| value.to_size() as u64),
            local_bytes: size(CL_DEVICE_LOCAL_MEM_SIZE),
            buffer_bytes: size(CL_DEVICE_MAX_MEM_ALLOC_SIZE),
            memory_bytes: size(CL_DEVICE_GLOBAL_MEM_SIZE),
        },
    }
}

fn platform_of(id: cl_device_id) -> String {
    let platform = get_device_info(id, cl3::device::CL_DEVICE_PLATFORM).map(|it| it.to_ptr());
    let name = platform.and_then(|platform| {
        get_platform_info(platform as *mut std::ffi::c_void, CL_PLATFORM_NAME)
    });
    name.map_or_else(|_| String::new(), String::from)
}
