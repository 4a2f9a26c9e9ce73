//! Checks of the kernel: what workers and measurements need of it works.

use super::Check;
use crate::kernel_text::read;
use crate::{counters, facts, processor};
use proofmark_schema::quantity::Nanos;
use proofmark_tensor::{Access, Mapping};
use rustix::fd::AsFd;
use rustix::process::{PidfdFlags, getpid, pidfd_open};
use rustix::thread::futex;
use rustix::time::{ClockId, clock_getres};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU32;

pub(super) fn clock() -> Check {
    let step = clock_getres(ClockId::Monotonic);
    let step_ns = step.tv_sec as f64 * 1e9 + step.tv_nsec as f64;
    let source = read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        .unwrap_or_else(|| "unknown source".to_owned());
    let features = processor::features();
    let steady = ["constant_tsc", "nonstop_tsc"].iter().all(|f| features.iter().any(|x| x == f));
    let detail = format!("monotonic clock from {source}, resolution {}", Nanos(step_ns));
    if step_ns > 1000.0 {
        let hint = "enable high-resolution timers in the kernel";
        Check::problem("clock", detail, hint)
    } else if source == "tsc" && !steady {
        let hint = "the time-stamp counter may change its rate: boot with `clocksource=hpet`";
        Check::warning("clock", format!("{detail}, not constant"), hint)
    } else {
        Check::fine("clock", detail)
    }
}

pub(super) fn memory_files() -> Check {
    let hint = "workers share operands through sealed memory files: allow `memfd_create` \
                (Linux 3.17; some container profiles forbid it)";
    let tried = proofmark_tensor::memfd("doctor", 4096).and_then(|file| {
        let mut writer = Mapping::of_file(file.as_fd(), 4096, Access::ReadWrite)?;
        let reader = Mapping::of_file(file.as_fd(), 4096, Access::ReadOnly)?;
        writer.write(4095, &[7]);
        if rustix::fs::ftruncate(&file, 0).is_ok() || reader.copy_of(4095..4096) != [7] {
            return Err(io::Error::other("seals do not hold"));
        }
        Ok(())
    });
    required("memory files", tried, "sealed memory files are shared", hint)
}

pub(super) fn futex() -> Check {
    let word = AtomicU32::new(1);
    let tried = match futex::wait(&word, futex::Flags::empty(), 0, None) {
        // The word is not 0, so that a working futex does not sleep.
        Err(rustix::io::Errno::AGAIN) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(()) => Err(io::Error::other("slept on a word that had changed")),
    };
    required("futex", tried, "turns can be handed over", "allow the `futex` system call")
}

pub(super) fn process_handles() -> Check {
    let tried = pidfd_open(getpid(), PidfdFlags::empty()).map(drop).map_err(io::Error::from);
    let hint = "workers are watched through process handles: use Linux 5.3 or later";
    required("process handles", tried, "`pidfd_open` works", hint)
}

pub(super) fn guard_pages() -> Check {
    let tried = Mapping::anonymous(4096).and_then(|mut mapping| {
        mapping.bytes_mut().fill(1);
        let maps = fs::read_to_string("/proc/self/maps")?;
        let end = format!("{:x}-", mapping.base() as usize + rustix::param::page_size());
        let guard = maps.lines().find(|line| line.starts_with(&end));
        match guard {
            Some(line) if line.contains(" ---p ") => Ok(()),
            _ => Err(io::Error::other("the page after the operand is accessible")),
        }
    });
    let hint = "overruns cannot be caught here: allow `mmap` with PROT_NONE";
    required("guard pages", tried, "inaccessible pages beside operands", hint)
}

fn required(name: &'static str, tried: io::Result<()>, works: &str, hint: &str) -> Check {
    match tried {
        Ok(()) => Check::fine(name, works),
        Err(error) => Check::problem(name, error.to_string(), hint),
    }
}

pub(super) fn counters() -> Check {
    let name = "hardware counters";
    let Err(error) = counters::try_open() else {
        return Check::fine(name, "instructions can be counted");
    };
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => {
            Check::fine(name, "none (usual in virtual machines); verdicts do not need them")
        }
        Some(libc::EACCES | libc::EPERM) => {
            let hint = "`sysctl kernel.perf_event_paranoid=2` if instruction counts are wanted";
            Check::warning(name, format!("forbidden: {error}"), hint)
        }
        _ => Check::warning(name, error.to_string(), "verdicts do not need them: go on"),
    }
}

pub(super) fn huge_pages() -> Check {
    let state = facts::huge_pages();
    match state.as_str() {
        "always" => Check::warning(
            "huge pages",
            "always: page size depends on what the kernel finds free",
            "`echo madvise > /sys/kernel/mm/transparent_hugepage/enabled` while measuring",
        ),
        "unknown" => Check::fine("huge pages", "not shown by this kernel"),
        _ => Check::fine("huge pages", state),
    }
}

/// Whether runs can be kept: a file is made in the folder (which is made too) and removed.
pub(super) fn store(folder: &Path) -> Check {
    let hint = "name another folder for the store, or make this one writable";
    let probe = folder.join(format!(".doctor-{}", getpid().as_raw_nonzero()));
    let tried = fs::create_dir_all(folder)
        .and_then(|()| fs::write(&probe, b"proofmark"))
        .and_then(|()| fs::remove_file(&probe));
    match tried {
        Ok(()) => Check::fine("store", format!("{} is writable", folder.display())),
        Err(error) => Check::problem("store", format!("{}: {error}", folder.display()), hint),
    }
}
