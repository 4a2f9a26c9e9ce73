//! Entering the sandbox: between `fork` and `exec`, in the child.

use crate::calls::{self, Filters};
use crate::files::Files;
use crate::scratch::Scratch;
use crate::{Permit, Warden, layers};
use proofmark_schema::isolation::Layer;
use rustix::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Gid, Resource, Rlimit, Uid};
use rustix::thread::{CapabilitySet, CapabilitySets};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::path::Path;

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// This machine lacks layers.
    #[error("this machine has no {}", names(.0))]
    Missing(Vec<Layer>),
    /// A layer could not be made ready.
    #[error("cannot make the sandbox ready: {0}")]
    Io(#[from] io::Error),
}

fn names(layers: &[Layer]) -> String {
    layers.iter().map(|layer| layer.describe()).collect::<Vec<_>>().join(" and no ")
}

/// The user that a worker of root becomes, and its group.
const NOBODY: u32 = 65534;
/// Threads and processes that the worker's user may have.
const TASKS: u64 = 4096;

/// Leaves the speculation of the processor as it is without a filter. On systems with
/// `spec_store_bypass_disable=seccomp`, a filter would slow down every store, also in honest
/// kernels. It would only protect the worker's own memory from the worker's own code.
const SPEEDS: libc::c_ulong = libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;

/// A sandbox that one child enters.
#[derive(Debug)]
pub struct Sandbox {
    ruleset: OwnedFd,
    filters: Filters,
    /// The child sends the listener of its filter here.
    door: OwnedFd,
    /// What root keeps when it becomes nobody; none where this process is not root.
    keeps: Option<CapabilitySet>,
    has_jit: bool,
}

impl Sandbox {
    /// Makes a sandbox ready for a worker that runs this program, and posts a warden for it.
    ///
    /// # Errors
    /// If this machine lacks a layer, or one cannot be made ready.
    pub fn new(program: &Path, permit: &Permit) -> Result<(Sandbox, Warden), SandboxError> {
        let missing = layers::missing();
        if !missing.is_empty() {
            return Err(SandboxError::Missing(missing));
        }
        let keeps = kept_capability()?;
        let owner = keeps.map(|_| NOBODY);
        let scratch = permit.needs_scratch.then(|| Scratch::make(owner)).transpose()?;
        let files = Files::of(program, permit, scratch.as_ref().map(Scratch::path));
        let ruleset = files.ruleset().map_err(io::Error::other)?;
        let filters = calls::filters(permit).map_err(io::Error::other)?;
        let (warden, door) = Warden::post(files, scratch, permit.has_compiler)?;
        Ok((Sandbox { ruleset, filters, door, keeps, has_jit: permit.has_jit }, warden))
    }

    /// The layers that a child in here has.
    pub fn layers(&self) -> Vec<Layer> {
        let mut layers = vec![Layer::Landlock, Layer::SystemCalls, Layer::Environment];
        if self.keeps.is_some() {
            layers.push(Layer::User);
        }
        if !self.has_jit {
            layers.push(Layer::Code);
        }
        layers
    }

    /// Confines the calling process for good. It makes system calls alone: it neither allocates nor
    /// locks, so it may run in the child of a process with threads.
    ///
    /// # Errors
    /// If the kernel refuses a layer. The process must not go on then.
    pub fn enter(&self) -> io::Result<()> {
        let limit = Rlimit { current: Some(TASKS), maximum: Some(TASKS) };
        let held = rustix::process::getrlimit(Resource::Nproc).maximum;
        if held.is_none_or(|held| held > TASKS) {
            rustix::process::setrlimit(Resource::Nproc, limit)?;
        }
        if let Some(keeps) = self.keeps {
            become_nobody(keeps)?;
        }
        rustix::thread::set_no_new_privs(true)?;
        if !self.has_jit {
            refuse_writable_code()?;
        }
        self.allow_own_facts()?;
        // SAFETY: restricts this process by a valid ruleset.
        check(unsafe {
            libc::syscall(libc::SYS_landlock_restrict_self, self.ruleset.as_raw_fd(), 0)
        })?;
        install(&self.filters.unknown, SPEEDS)?;
        let listen = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        let listener = install(&self.filters.listed, SPEEDS | listen)?;
        // SAFETY: the kernel has just opened this descriptor for this call.
        let listener = unsafe { OwnedFd::from_raw_fd(listener as i32) };
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = SendAncillaryBuffer::new(&mut room);
        let files = [listener.as_fd()];
        beside.push(SendAncillaryMessage::ScmRights(&files));
        sendmsg(&self.door, &[IoSlice::new(b"l")], &mut beside, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// Adds the kernel's files about this process to the files that may be read.
    fn allow_own_facts(&self) -> io::Result<()> {
        #[repr(C, packed)]
        struct PathBeneath {
            access: u64,
            folder: i32,
        }
        const READ_FILE: u64 = 1 << 2;
        const READ_DIR: u64 = 1 << 3;
        const PATH_BENEATH: i32 = 1;
        let folder = rustix::fs::open("/proc/self", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let rule = PathBeneath { access: READ_FILE | READ_DIR, folder: folder.as_raw_fd() };
        // SAFETY: a valid ruleset, and a rule of the layout that its kind has.
        check(unsafe {
            libc::syscall(
                libc::SYS_landlock_add_rule,
                self.ruleset.as_raw_fd(),
                PATH_BENEATH,
                &raw const rule,
                0,
            )
        })?;
        Ok(())
    }
}

/// What root keeps to read files whose folders only root may enter. It reads nothing that Landlock
/// refuses.
fn kept_capability() -> io::Result<Option<CapabilitySet>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let permitted = rustix::thread::capabilities(None)?.permitted;
    let candidates = [CapabilitySet::DAC_READ_SEARCH, CapabilitySet::DAC_OVERRIDE];
    let kept = candidates.into_iter().find(|one| permitted.contains(*one));
    Ok(Some(kept.unwrap_or(CapabilitySet::empty())))
}

fn become_nobody(keeps: CapabilitySet) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    rustix::thread::set_keep_capabilities(true)?;
    rustix::thread::set_thread_groups(&[])?;
    rustix::thread::set_thread_res_gid(group, group, group)?;
    rustix::thread::set_thread_res_uid(user, user, user)?;
    let sets = CapabilitySets { effective: keeps, permitted: keeps, inheritable: keeps };
    rustix::thread::set_capabilities(None, sets)?;
    if !keeps.is_empty() {
        rustix::thread::configure_capability_in_ambient_set(keeps, true)?;
    }
    Ok(())
}

/// Lets no memory that was writable become executable.
fn refuse_writable_code() -> io::Result<()> {
    const REFUSE_EXEC_GAIN: libc::c_ulong = 1;
    // SAFETY: sets a flag of this process and touches no memory.
    check(unsafe { libc::prctl(libc::PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) }.into())?;
    Ok(())
}

fn install(program: &[seccompiler::sock_filter], flags: libc::c_ulong) -> io::Result<i64> {
    let length = u16::try_from(program.len()).map_err(|_| rustix::io::Errno::TOOBIG)?;
    // The two types of an instruction have the same layout: the kernel's.
    let filter = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut().cast() };
    // SAFETY: the program is valid for the call, and the kernel copies it.
    check(unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const filter)
    })
}

fn check(answer: libc::c_long) -> io::Result<i64> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}
