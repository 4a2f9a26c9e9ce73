//! Starting workers: one process each, with nothing inherited but its socket.

use crate::channel::Channel;
use crate::output::Output;
use crate::process::Process;
use crate::regime::Guard;
use crate::{Fault, Limits, Regime, Worker, descendants};
use proofmark_sandbox::{Permit, Sandbox};
use proofmark_schema::Isolation;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::process::{Pid, Resource, Rlimit, Signal};
use rustix::thread::CpuSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How to start workers.
#[derive(Clone, Debug)]
pub struct Arena {
    program: PathBuf,
    args: Vec<OsString>,
    limits: Limits,
    regime: Regime,
}

/// How one worker differs from the next.
#[derive(Clone, Debug, Default)]
pub struct Spawn {
    /// Bytes added to its environment, so that its stack moves.
    pub environment_pad: usize,
    /// The processor it is pinned to; none: wherever this process may run.
    pub cpu: Option<usize>,
    /// The layout of its address space; none: as the kernel randomises it.
    pub layout: Option<FixedLayout>,
    /// Samples that it takes of itself in a second of processor time; `None` if it takes none.
    pub sampled_hertz: Option<u64>,
    /// Operations of the longest call, for which it is given time beyond its limits.
    pub operations: u64,
}

/// An address space that is the same for every worker started with it (and the same environment).
///
/// Where the kernel forbids it (some containers), the worker starts with a random layout.
#[derive(Clone, Copy, Debug)]
pub struct FixedLayout {
    /// Pages that everything mapped is moved down by.
    pub mapping_pad: u32,
}

/// The descriptor number of a worker's socket: the last that its limit on open files allows. It is
/// always the same, because the length of an argument moves the stack, and with it the speed of one
/// arm.
const CONTROL: i32 = OPEN_FILES as i32 - 1;
/// Files a worker may have open.
const OPEN_FILES: u64 = 256;

/// The next of the processors that this process may run on, round after round: workers that are
/// each kept on one processor share them evenly.
pub fn processor_in_turn() -> Option<usize> {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    let allowed = rustix::thread::sched_getaffinity(None).ok()?;
    let turn = TURN.fetch_add(1, Ordering::Relaxed);
    let processors = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu));
    processors.clone().nth(turn % processors.count().max(1))
}

/// A sandbox that a child is about to enter, and what guards it afterwards.
struct Confined {
    sandbox: Option<Sandbox>,
    guard: Guard,
}

/// Numbers that the child sets for itself between fork and exec.
#[derive(Clone, Copy, Debug)]
struct Cage {
    parent: Pid,
    control: i32,
    memory_bytes: u64,
    cpu: Option<usize>,
    layout: Option<FixedLayout>,
}

impl Arena {
    /// Workers are started as `program args… --control-fd N`.
    pub fn new(program: PathBuf, args: Vec<OsString>) -> Arena {
        Arena { program, args, limits: Limits::default(), regime: Regime::default() }
    }

    /// This arena with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Arena {
        self.limits = limits;
        self
    }

    /// This arena with other rules of isolation.
    #[must_use]
    pub fn under(mut self, regime: Regime) -> Arena {
        self.regime = regime;
        self
    }

    /// The rules of isolation.
    pub fn regime(&self) -> &Regime {
        &self.regime
    }

    /// The program that workers run.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// The limits of its workers.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Starts a worker and waits until it is ready.
    ///
    /// The worker is ended when the calling *thread* ends, which is how the kernel watches over
    /// parents: use a worker on the thread that started it, or on one that thread outlives.
    ///
    /// # Errors
    /// If no process can be started, or it is not a worker.
    pub fn spawn(&self, options: &Spawn) -> Result<Worker, Fault> {
        self.spawn_with(&Permit::default(), options)
    }

    /// The same for a contender that has further permissions.
    pub(crate) fn spawn_with(&self, permit: &Permit, options: &Spawn) -> Result<Worker, Fault> {
        let mut confined = self.confined(permit, options.cpu)?;
        let (channel, control) =
            Channel::pair().map_err(|error| Fault::world("making a socket", error))?;
        let (output, printed) =
            Output::new().map_err(|error| Fault::world("making a pipe", error))?;
        let starting = descendants::starting();
        let child = self.start(options, &control, printed, confined.as_mut()).map_err(|error| {
            Fault::world(&format!("starting {}", self.program.display()), error)
        })?;
        // The worker's end stays open here until its number is no longer needed.
        drop(control);
        let process = Process::new(Pid::from_child(&child))
            .map_err(|error| Fault::world("watching a worker", error))?;
        drop(starting);
        let limits = self.limits.for_calls_of(options.operations);
        let guard = confined.map(|confined| confined.guard);
        Worker::greet(process, channel, output, (limits, guard), options.sampled_hertz)
    }

    /// The sandbox for a worker, where the regime asks for one.
    fn confined(&self, permit: &Permit, cpu: Option<usize>) -> Result<Option<Confined>, Fault> {
        if self.regime.level < Isolation::T2 {
            return Ok(None);
        }
        let (sandbox, warden) = Sandbox::new(&self.program, permit).map_err(|error| {
            Fault::World(format!("isolation {}: {error}", self.regime.level.name()))
        })?;
        let layers = sandbox.layers();
        let guard = Guard { warden, layers, level: self.regime.level, cpu };
        Ok(Some(Confined { sandbox: Some(sandbox), guard }))
    }

    #[expect(clippy::disallowed_methods, reason = "this is the place that starts workers")]
    fn start(
        &self,
        options: &Spawn,
        control: &OwnedFd,
        printed: OwnedFd,
        confined: Option<&mut Confined>,
    ) -> io::Result<Child> {
        let cage = Cage {
            parent: rustix::process::getpid(),
            control: control.as_raw_fd(),
            memory_bytes: self.limits.memory_bytes,
            cpu: options.cpu,
            layout: options.layout,
        };
        let mut command = Command::new(&self.program);
        command.args(&self.args).arg("--control-fd").arg(CONTROL.to_string());
        command.stdin(Stdio::null()).stdout(printed.try_clone()?).stderr(printed);
        command.process_group(0);
        let mut sandbox = None;
        if let Some(confined) = confined {
            command.env_clear().envs(self.regime.environment.iter().map(|(k, v)| (k, v)));
            let scratch = confined.guard.warden.scratch();
            let names = ["TMPDIR", "HOME", "PROOFMARK_SCRATCH"];
            command.envs(scratch.into_iter().flat_map(|path| names.map(|name| (name, path))));
            sandbox = confined.sandbox.take();
        }
        // The variable is always set, so that its presence tells a contender nothing.
        command.env(descendants::MARK, "x".repeat(options.environment_pad));
        let enter = move || {
            enter(cage)?;
            sandbox.as_ref().map_or(Ok(()), Sandbox::enter)?;
            end_with_parent(cage.parent)
        };
        // SAFETY: these make system calls on numbers and on memory that was made ready before: they
        // neither allocate nor lock, so they may run in the child of a process with threads.
        unsafe { command.pre_exec(enter) };
        command.spawn()
    }
}

/// Makes the child a worker's process, just before it becomes the worker's program.
fn enter(cage: Cage) -> io::Result<()> {
    // glibc has a function for this call since 2.34; the program must start on 2.28.
    let (call, flags) = (libc::SYS_close_range, libc::CLOSE_RANGE_CLOEXEC);
    // SAFETY: only marks descriptors to be closed on exec; none of ours is used afterwards but
    // standard input, output and error, which are not in the range.
    if unsafe { libc::syscall(call, 3_u32, u32::MAX, flags) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: duplicates a socket that was open at the fork to a number that only this child
    // uses; the copy is not closed on exec.
    if unsafe { libc::dup2(cage.control, CONTROL) } != CONTROL {
        return Err(io::Error::last_os_error());
    }
    limit(Resource::Core, 0)?;
    limit(Resource::Nofile, OPEN_FILES)?;
    limit(Resource::Fsize, 64 << 20)?;
    limit(Resource::Data, cage.memory_bytes)?;
    if let Some(layout) = cage.layout {
        // SAFETY: changes how the next program is laid out and touches no memory. A refusal
        // leaves the layout random, which costs sharpness and nothing else.
        unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) };
        // Mappings start below the room that the kernel keeps for the stack: the limit of the
        // stack, and at least 128 MiB.
        limit(Resource::Stack, (128 << 20) + 4096 * u64::from(layout.mapping_pad))?;
    }
    if let Some(cpu) = cage.cpu {
        let mut set = CpuSet::new();
        if cpu >= CpuSet::MAX_CPU {
            return Err(rustix::io::Errno::INVAL.into());
        }
        set.set(cpu);
        rustix::thread::sched_setaffinity(None, &set)?;
    }
    Ok(())
}

/// Ends the child with its parent. It comes last, because another user clears it.
fn end_with_parent(parent: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() != Some(parent) {
        // The parent ended before the line above took effect.
        return Err(rustix::io::Errno::SRCH.into());
    }
    Ok(())
}

fn limit(resource: Resource, most: u64) -> io::Result<()> {
    // A stricter limit that is already in force stays.
    let held = rustix::process::getrlimit(resource).maximum;
    let most = Some(held.map_or(most, |held| held.min(most)));
    Ok(rustix::process::setrlimit(resource, Rlimit { current: most, maximum: most })?)
}
