//! One process from its start to its end, by this program's clock.

use crate::command::Command;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};

/// Lines of standard error that are shown of a process that failed.
const LAST_LINES: usize = 8;

/// Nanoseconds of the monotonic clock.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A private folder that processes write their output to. Files take the place of pipes, so that
/// this program has nothing to do while a process runs.
#[derive(Clone, Debug)]
pub struct Scratch {
    folder: PathBuf,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Nanoseconds from its start to its end.
    pub wall_ns: u64,
    /// Its processor time, with that of the processes that it waited for.
    pub cpu_ns: u64,
    /// Its standard output.
    pub stdout: Vec<u8>,
}

/// A process that did not end as it should.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Failed {
    /// How it ended: `signal 11 (SIGSEGV)`, `exit code 3`.
    pub what: String,
    /// The last lines of its standard error.
    pub said: String,
}

impl Scratch {
    /// Uses a folder, which exists.
    pub fn new(folder: &Path) -> Scratch {
        Scratch { folder: folder.to_owned() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs the setup of a command, then the command, to their ends.
    ///
    /// # Errors
    /// If either does not start, does not end in time, or ends with another exit code.
    pub fn run(&self, command: &Command, timeout_ns: u64) -> Result<Ended, Failed> {
        if let Some(words) = &command.setup {
            let setup = Command {
                words: words.clone(),
                setup: None,
                input: None,
                exit_code: 0,
                ..command.clone()
            };
            self.run_one(&setup, timeout_ns).map_err(|failed| Failed {
                what: format!("its setup ended with {}", failed.what),
                ..failed
            })?;
        }
        self.run_one(command, timeout_ns)
    }

    fn run_one(&self, command: &Command, timeout_ns: u64) -> Result<Ended, Failed> {
        let (out, err) = (self.folder.join("stdout"), self.folder.join("stderr"));
        let starting = |error: io::Error| Failed {
            what: format!("it did not start: {error}"),
            said: command.words.join(" "),
        };
        let mut process = prepared(command, &out, &err).map_err(starting)?;
        let start = now_ns();
        let child = process.spawn().map_err(starting)?;
        let (ended, usage) = finish(&child, timeout_ns).map_err(starting)?;
        let wall_ns = now_ns().saturating_sub(start);
        let what = match ended {
            End::Code(code) if code == command.exit_code => {
                let stdout = std::fs::read(&out).map_err(starting)?;
                return Ok(Ended { wall_ns, cpu_ns: usage, stdout });
            }
            End::Code(code) => format!("exit code {code}"),
            End::Signal(number) => format!("signal {number}{}", signal_name(number)),
            End::Late => format!("no end after {:.0} s", timeout_ns as f64 / 1e9),
        };
        let said = std::fs::read(&err).unwrap_or_default();
        Err(Failed { what, said: last_lines(&said) })
    }
}

/// How a process ended.
enum End {
    Code(i32),
    Signal(i32),
    Late,
}

#[expect(clippy::disallowed_methods, reason = "this file starts the programs that are raced")]
fn prepared(command: &Command, out: &Path, err: &Path) -> io::Result<std::process::Command> {
    let [program, args @ ..] = &command.words[..] else {
        return Err(io::Error::other("there is no program"));
    };
    let mut process = std::process::Command::new(program);
    process.args(args).envs(command.environment.iter().map(|(name, value)| (name, value)));
    if let Some(folder) = &command.folder {
        process.current_dir(folder);
    }
    match &command.input {
        Some(path) => process.stdin(File::open(path)?),
        None => process.stdin(std::process::Stdio::null()),
    };
    process.stdout(File::create(out)?).stderr(File::create(err)?);
    // The processes that it starts can be ended with it.
    process.process_group(0);
    Ok(process)
}

/// Waits for the end of a child, and gives its processor time.
fn finish(child: &std::process::Child, timeout_ns: u64) -> io::Result<(End, u64)> {
    let pid = Pid::from_child(child);
    let handle = pidfd_open(pid, PidfdFlags::empty())?;
    let deadline = now_ns().saturating_add(timeout_ns);
    let mut is_late = false;
    loop {
        let left = deadline.saturating_sub(now_ns());
        let left = Timespec {
            tv_sec: (left / 1_000_000_000) as i64,
            tv_nsec: (left % 1_000_000_000) as _,
        };
        match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&left)) {
            Ok(0) => {
                is_late = true;
                kill_process_group(pid, Signal::KILL)?;
                break;
            }
            Ok(_) => break,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let (status, cpu_ns) = reap(pid)?;
    let status = std::process::ExitStatus::from_raw(status);
    let end = match (status.code(), status.signal()) {
        _ if is_late => End::Late,
        (Some(code), _) => End::Code(code),
        (_, Some(number)) => End::Signal(number),
        _ => End::Code(-1),
    };
    Ok((end, cpu_ns))
}

/// Takes the status and the processor time of a child that has ended.
fn reap(pid: Pid) -> io::Result<(i32, u64)> {
    let mut status = 0;
    // SAFETY: all members of `rusage` are numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers lead to values of the right type that live during the call.
        let found =
            unsafe { libc::wait4(pid.as_raw_nonzero().get(), &raw mut status, 0, &raw mut usage) };
        let error = io::Error::last_os_error();
        match found {
            -1 if error.kind() == io::ErrorKind::Interrupted => {}
            -1 => return Err(error),
            _ => break,
        }
    }
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    Ok((status, ns(usage.ru_utime) + ns(usage.ru_stime)))
}

/// The names of the signals that end programs.
const SIGNALS: [(i32, &str); 10] = [
    (libc::SIGABRT, "SIGABRT"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGHUP, "SIGHUP"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGINT, "SIGINT"),
    (libc::SIGKILL, "SIGKILL"),
    (libc::SIGPIPE, "SIGPIPE"),
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGTERM, "SIGTERM"),
];

fn signal_name(number: i32) -> String {
    let name = SIGNALS.iter().find(|(known, _)| *known == number);
    name.map_or_else(String::new, |(_, name)| format!(" ({name})"))
}

fn last_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

/// Keeps this thread, and the processes that it starts, on one processor while it lives.
#[derive(Debug)]
pub struct Pinned {
    before: Option<CpuSet>,
}

impl Pinned {
    /// Pins to the last processor that this thread may run on: the first serves most interrupts.
    pub fn to_last_processor() -> Pinned {
        let before = sched_getaffinity(None).ok();
        let last =
            before.as_ref().and_then(|set| (0..CpuSet::MAX_CPU).rev().find(|cpu| set.is_set(*cpu)));
        if let Some(cpu) = last {
            let mut one = CpuSet::new();
            one.set(cpu);
            // Where it is forbidden, both sides run wherever the kernel puts them.
            let _ = sched_setaffinity(None, &one);
        }
        Pinned { before }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // It was allowed before.
            let _ = sched_setaffinity(None, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, timeout_ns: u64) -> Result<Ended, Failed> {
        let folder = tempfile::tempdir().unwrap();
        let command = Command {
            words: ["sh", "-c", script].map(str::to_owned).to_vec(),
            ..Command::default()
        };
        Scratch::new(folder.path()).run(&command, timeout_ns)
    }

    #[test]
    fn a_process_has_an_output_and_two_times() {
        let ended = run("echo hello", 60_000_000_000).unwrap();
        assert_eq!(ended.stdout, b"hello\n");
        assert!(ended.wall_ns > 0);
    }

    #[test]
    fn the_end_of_a_process_that_fails_is_named_with_its_last_words() {
        let failed = run("echo early >&2; echo late >&2; exit 3", 60_000_000_000).unwrap_err();
        assert_eq!((failed.what.as_str(), failed.said.as_str()), ("exit code 3", "early\nlate"));
        let failed = run("kill -SEGV $$", 60_000_000_000).unwrap_err();
        assert_eq!(failed.what, "signal 11 (SIGSEGV)");
        let failed = run("sleep 600", 20_000_000).unwrap_err();
        assert!(failed.what.contains("no end after"), "{failed}");
    }

    #[test]
    fn a_setup_runs_before_each_process_and_its_failure_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(folder.path());
        let mut command = Command::parse("cat made").unwrap().with_setup("cp input made").unwrap();
        command.folder = Some(folder.path().to_owned());
        std::fs::write(folder.path().join("input"), "fresh").unwrap();
        assert_eq!(scratch.run(&command, 60_000_000_000).unwrap().stdout, b"fresh");
        let failing = command.with_setup("false").unwrap();
        let failed = scratch.run(&failing, 60_000_000_000).unwrap_err();
        assert_eq!(failed.what, "its setup ended with exit code 1");
    }
}
