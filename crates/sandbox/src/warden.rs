//! The warden: a thread that answers the system calls which no list allows, and keeps their names.

use crate::calls;
use crate::files::Files;
use crate::scratch::Scratch;
use proofmark_schema::isolation::Attempt;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType,
    recvmsg, socketpair,
};
use rustix::process::Pid;
use rustix::thread::CpuSet;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Kinds of attempts that are kept for one process, and as many of attacks; further ones are
/// refused and not kept.
const MOST_KINDS: usize = 64;
/// The longest path that is read.
const PATH_BYTES: usize = 4096;
/// The stack of a warden's thread.
const STACK_BYTES: usize = 128 * 1024;

/// Watches over one worker and its copies. The thread ends with the last of them.
#[derive(Clone, Debug)]
pub struct Warden {
    watch: Arc<Watch>,
}

#[derive(Debug)]
struct Watch {
    files: Files,
    scratch: Option<Scratch>,
    compiles: bool,
    /// The worker's program has started.
    has_started: AtomicBool,
    /// What the copy that the supervisor has asked for may still do: bits of [`of_copy`].
    copy: AtomicU32,
    /// The processors that each process was given.
    granted: Mutex<BTreeMap<u32, CpuSet>>,
    /// What was tried, by process.
    tried: Mutex<BTreeMap<(u32, Tried), u32>>,
}

/// One kind of attempt.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Tried {
    call: String,
    target: Option<String>,
    is_attack: bool,
}

/// The answer that the caller gets.
enum Answer {
    /// The call is made. What Landlock and the kernel refuse stays refused.
    Proceed,
    /// The warden has made the call in the caller's place.
    Done,
    /// The call fails.
    Refuse,
}

impl Warden {
    /// Starts a warden, and gives the socket that the listener of the filter must be sent to.
    pub(crate) fn post(
        files: Files,
        scratch: Option<Scratch>,
        compiles: bool,
    ) -> io::Result<(Warden, OwnedFd)> {
        let kind = SocketType::SEQPACKET;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
        let watch = Arc::new(Watch {
            files,
            scratch,
            compiles,
            has_started: AtomicBool::new(false),
            copy: AtomicU32::new(0),
            granted: Mutex::default(),
            tried: Mutex::default(),
        });
        let own = Arc::clone(&watch);
        let thread = std::thread::Builder::new().name("warden".into()).stack_size(STACK_BYTES);
        thread.spawn(move || own.keep(&ours))?;
        Ok((Warden { watch }, theirs))
    }

    /// The folder in which the worker may write.
    pub fn scratch(&self) -> Option<&Path> {
        self.watch.scratch.as_ref().map(Scratch::path)
    }

    /// Lets the worker copy itself once, and the copy choose its group and its processor.
    pub fn expect_copy(&self) {
        self.watch.copy.store(of_copy::ALL, Ordering::Release);
    }

    /// Forbids any further copy.
    pub fn expect_no_copy(&self) {
        self.watch.copy.store(0, Ordering::Release);
    }

    /// What a process has tried so far.
    pub fn attempts(&self, pid: u32) -> Vec<Attempt> {
        let tried = self.watch.tried.lock().unwrap_or_else(PoisonError::into_inner);
        let own = tried.iter().filter(|((process, _), _)| *process == pid);
        let told = |((_, tried), times): (&(u32, Tried), &u32)| Attempt {
            call: tried.call.clone(),
            target: tried.target.clone(),
            is_attack: tried.is_attack,
            times: *times,
        };
        own.map(told).collect()
    }
}

/// Calls that are needed to make one copy of a worker.
mod of_copy {
    pub(super) const PROCESS: u32 = 1;
    pub(super) const GROUP: u32 = 2;
    pub(super) const PROCESSOR: u32 = 4;
    pub(super) const ALL: u32 = PROCESS | GROUP | PROCESSOR;
}

impl Watch {
    /// Answers until no process with the filter is left.
    fn keep(&self, door: &OwnedFd) {
        // No listener comes where the child has failed before.
        let Some(listener) = receive(door) else { return };
        loop {
            let mut waits = [PollFd::new(&listener, PollFlags::IN)];
            match poll(&mut waits, None) {
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return,
                Ok(_) => {}
            }
            if !waits[0].revents().contains(PollFlags::IN) {
                return;
            }
            // SAFETY: a record for which zeros are valid, and must be given.
            let mut asked: libc::seccomp_notif = unsafe { std::mem::zeroed() };
            // SAFETY: the request that fills in such a record.
            if unsafe { request(&listener, libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut asked) } != 0 {
                // The caller was ended while it waited.
                continue;
            }
            let mut answer = libc::seccomp_notif_resp { id: asked.id, val: 0, error: 0, flags: 0 };
            match self.answer(&asked) {
                Answer::Proceed => answer.flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
                Answer::Done => {}
                Answer::Refuse => answer.error = -libc::EPERM,
            }
            // SAFETY: the request that reads such a record. It fails where the caller has ended.
            unsafe { request(&listener, libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) };
        }
    }

    fn answer(&self, asked: &libc::seccomp_notif) -> Answer {
        let pid = process_of(asked.pid);
        let call = libc::c_long::from(asked.data.nr);
        let arguments = &asked.data.args;
        match call {
            libc::SYS_execve | libc::SYS_execveat => {
                if self.compiles || !self.has_started.swap(true, Ordering::AcqRel) {
                    return Answer::Proceed;
                }
                let path = if call == libc::SYS_execve { arguments[0] } else { arguments[1] };
                self.refuse(pid, call, text_at(asked.pid, path), false)
            }
            _ if is_new_process(call) => {
                let flags = (libc::CLONE_PARENT | libc::SIGCHLD) as u64;
                let is_copy = call == libc::SYS_clone && arguments[0] == flags;
                if self.compiles || (is_copy && self.takes(of_copy::PROCESS)) {
                    return Answer::Proceed;
                }
                self.refuse(pid, call, None, false)
            }
            libc::SYS_setpgid if self.takes(of_copy::GROUP) => Answer::Proceed,
            libc::SYS_sched_setaffinity if self.takes(of_copy::PROCESSOR) => Answer::Proceed,
            libc::SYS_sched_setaffinity => self.bind(asked, pid),
            libc::SYS_openat => {
                let flags = arguments[2] as i32;
                self.open(asked, pid, (arguments[0] as i32, arguments[1]), flags)
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => {
                let flags = arguments[1] as i32;
                self.open(asked, pid, (libc::AT_FDCWD, arguments[0]), flags)
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_creat => {
                let flags = libc::O_CREAT | libc::O_WRONLY;
                self.open(asked, pid, (libc::AT_FDCWD, arguments[0]), flags)
            }
            libc::SYS_kill | libc::SYS_tgkill if arguments[0] == u64::from(pid) => Answer::Proceed,
            libc::SYS_kill | libc::SYS_tgkill | libc::SYS_tkill => {
                let target = format!("process {}", arguments[0] as i32);
                self.refuse(pid, call, Some(target), true)
            }
            libc::SYS_ptrace => self.refuse(pid, call, None, true),
            libc::SYS_process_vm_readv | libc::SYS_process_vm_writev => {
                let target = format!("process {}", arguments[0] as i32);
                self.refuse(pid, call, Some(target), true)
            }
            libc::SYS_pidfd_getfd | libc::SYS_process_madvise | libc::SYS_pidfd_send_signal => {
                self.refuse(pid, call, None, true)
            }
            libc::SYS_prctl | libc::SYS_ioctl => {
                let request = if call == libc::SYS_prctl { arguments[0] } else { arguments[1] };
                self.refuse(pid, call, Some(format!("request {request:#x}")), false)
            }
            _ => self.refuse(pid, call, None, false),
        }
    }

    /// Landlock decides what is opened; what it refuses is kept here.
    fn open(
        &self,
        asked: &libc::seccomp_notif,
        pid: u32,
        (folder, path): (i32, u64),
        flags: i32,
    ) -> Answer {
        let Some(path) = text_at(asked.pid, path) else { return Answer::Proceed };
        let writes = flags & libc::O_ACCMODE != libc::O_RDONLY || flags & libc::O_CREAT != 0;
        let Some(meant) = absolute(pid, folder, Path::new(&path)) else { return Answer::Proceed };
        // A link in another process's folder leads elsewhere; following it is the attempt.
        let is_attack = is_of_other(pid, &meant, writes);
        let Some(path) = resolved(&meant, writes || is_attack) else { return Answer::Proceed };
        let is_own = !writes && path.starts_with(format!("/proc/{pid}"));
        if !is_attack && (self.files.permit(&path, writes) || is_own) {
            return Answer::Proceed;
        }
        let path = if is_attack { meant } else { path };
        let what = if writes { "write" } else { "read" };
        self.note(pid, Tried { call: what.to_owned(), is_attack, target: Some(shown(pid, &path)) });
        Answer::Proceed
    }

    /// Binds a thread to some of the processors that its process was given. Runtimes do that, and
    /// some end the process where they cannot. The warden makes the call itself, because the set in
    /// the caller's memory may have changed by the time that the kernel reads it.
    fn bind(&self, asked: &libc::seccomp_notif, pid: u32) -> Answer {
        let call = libc::SYS_sched_setaffinity;
        let [thread, bytes, address, ..] = asked.data.args;
        let thread = if thread == 0 { asked.pid } else { thread as u32 };
        let wanted = (process_of(thread) == pid).then(|| set_at(asked.pid, address, bytes));
        let Some(wanted) = wanted.flatten() else { return self.refuse(pid, call, None, false) };
        let mut granted = self.granted.lock().unwrap_or_else(PoisonError::into_inner);
        let first = || rustix::thread::sched_getaffinity(Pid::from_raw(pid as i32));
        let granted = match granted.entry(pid) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => *place.insert(first().unwrap_or_else(|_| CpuSet::new())),
        };
        if (0..CpuSet::MAX_CPU).any(|cpu| wanted.is_set(cpu) && !granted.is_set(cpu)) {
            return self.refuse(pid, call, None, false);
        }
        // Where this process may not, the thread stays where it may run, which is within the set.
        let _ = rustix::thread::sched_setaffinity(Pid::from_raw(thread as i32), &wanted);
        Answer::Done
    }

    /// Whether this is the copy's one call of a kind.
    fn takes(&self, kind: u32) -> bool {
        self.copy.fetch_and(!kind, Ordering::AcqRel) & kind != 0
    }

    fn refuse(
        &self,
        pid: u32,
        call: libc::c_long,
        target: Option<String>,
        is_attack: bool,
    ) -> Answer {
        self.note(pid, Tried { call: calls::name(call), target, is_attack });
        Answer::Refuse
    }

    fn note(&self, pid: u32, what: Tried) {
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(times) = tried.get_mut(&(pid, what.clone())) {
            *times = times.saturating_add(1);
            return;
        }
        // Whatever else a process tries, and whatever other copies of it try, an attack is kept.
        let is_alike =
            |(of, other): &&(u32, Tried)| *of == pid && other.is_attack == what.is_attack;
        if tried.keys().filter(is_alike).count() < MOST_KINDS {
            tried.insert((pid, what), 1);
        }
    }
}

/// Whether a call starts a process; threads never come here.
fn is_new_process(call: libc::c_long) -> bool {
    #[cfg(target_arch = "x86_64")]
    if call == libc::SYS_fork || call == libc::SYS_vfork {
        return true;
    }
    call == libc::SYS_clone
}

/// Files of a process that give away what it holds; others are public facts, which libraries read.
const PRIVATE: [&str; 6] = ["mem", "environ", "fd", "maps", "auxv", "root"];

/// Whether opening a file reaches into a process other than this.
fn is_of_other(pid: u32, path: &Path, writes: bool) -> bool {
    let mut parts = path.iter().skip(1);
    let is_proc = parts.next().is_some_and(|part| part == "proc");
    let number = parts.next().and_then(|part| part.to_str()?.parse::<u32>().ok());
    let is_private = parts.next().is_some_and(|part| PRIVATE.iter().any(|name| part == *name));
    is_proc && (writes || is_private) && number.is_some_and(|number| process_of(number) != pid)
}

/// A path as reports show it: the numbers of the process and its threads say nothing.
fn shown(pid: u32, path: &Path) -> String {
    let Ok(rest) = path.strip_prefix(format!("/proc/{pid}")) else {
        return path.display().to_string();
    };
    match rest.strip_prefix("task") {
        Ok(of_thread) => {
            let file: PathBuf = of_thread.iter().skip(1).collect();
            format!("/proc/thread-self/{}", file.display())
        }
        Err(_) => format!("/proc/self/{}", rest.display()),
    }
}

/// The path that a process means, from the root.
fn absolute(pid: u32, folder: i32, path: &Path) -> Option<PathBuf> {
    let base = match folder {
        libc::AT_FDCWD => format!("/proc/{pid}/cwd"),
        folder => format!("/proc/{pid}/fd/{folder}"),
    };
    let path = match path.is_absolute() {
        true => path.to_owned(),
        false => fs::read_link(base).ok()?.join(path),
    };
    // In this process, "self" means another process.
    let own = |name: &str| path.strip_prefix(name).ok();
    Some(match own("/proc/self").or(own("/proc/thread-self")) {
        Some(rest) => Path::new(&format!("/proc/{pid}")).join(rest),
        None => path,
    })
}

/// The file at a path, without links; none where it does not exist and is not created.
fn resolved(path: &Path, creates: bool) -> Option<PathBuf> {
    match fs::canonicalize(path) {
        Ok(found) => Some(found),
        Err(_) if creates => Some(path.to_owned()),
        Err(_) => None,
    }
}

/// The process of a thread.
fn process_of(thread: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(thread)
}

/// The text at an address of another process, up to its zero.
fn text_at(thread: u32, address: u64) -> Option<String> {
    let mut text = [0u8; PATH_BYTES];
    let mut count = 0;
    // A text may end just before memory that is not there, so pages are read one by one.
    while count < PATH_BYTES {
        let from = address.checked_add(count as u64)?;
        let in_page = 4096 - (from as usize & 4095);
        let wanted = in_page.min(PATH_BYTES - count);
        let ours = libc::iovec { iov_base: text[count..].as_mut_ptr().cast(), iov_len: wanted };
        let theirs = libc::iovec { iov_base: from as *mut libc::c_void, iov_len: wanted };
        // SAFETY: writes at most so many bytes to the local buffer; the other process's memory is
        // only read, and a wrong address is refused by the kernel.
        let read = unsafe {
            libc::process_vm_readv(thread as i32, &raw const ours, 1, &raw const theirs, 1, 0)
        };
        let read = usize::try_from(read).ok().filter(|&read| read > 0)?;
        if let Some(end) = text[count..count + read].iter().position(|&byte| byte == 0) {
            return Some(String::from_utf8_lossy(&text[..count + end]).into_owned());
        }
        count += read;
    }
    None
}

/// The set of processors at an address of another process.
fn set_at(thread: u32, address: u64, bytes: u64) -> Option<CpuSet> {
    let mut words = [0u8; CpuSet::MAX_CPU / 8];
    let count = words.len().min(usize::try_from(bytes).ok()?);
    let ours = libc::iovec { iov_base: words.as_mut_ptr().cast(), iov_len: count };
    let theirs = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: count };
    // SAFETY: as in `text_at`.
    let read = unsafe {
        libc::process_vm_readv(thread as i32, &raw const ours, 1, &raw const theirs, 1, 0)
    };
    if read != count as isize {
        return None;
    }
    let mut set = CpuSet::new();
    let is_set = |cpu: &usize| words[cpu / 8] & 1 << (cpu % 8) != 0;
    (0..CpuSet::MAX_CPU).filter(is_set).for_each(|cpu| set.set(cpu));
    Some(set)
}

/// The one descriptor that is sent through a socket.
fn receive(door: &OwnedFd) -> Option<OwnedFd> {
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut room);
    let mut byte = [0u8];
    let flags = RecvFlags::CMSG_CLOEXEC;
    loop {
        match recvmsg(door, &mut [IoSliceMut::new(&mut byte)], &mut beside, flags) {
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
            Ok(_) => break,
        }
    }
    beside.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    })
}

/// # Safety
/// The request is one that takes such a record.
unsafe fn request<T>(listener: &OwnedFd, request: libc::Ioctl, record: *mut T) -> i32 {
    // SAFETY: the caller's promise; the descriptor is open.
    unsafe { libc::ioctl(listener.as_fd().as_raw_fd(), request, record) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_processes_are_told_from_facts_of_the_system() {
        let own = std::process::id();
        let of_other = |path: &str| is_of_other(own, Path::new(path), false);
        assert!(of_other("/proc/1/mem") && of_other("/proc/1/fd/3"));
        assert!(!of_other(&format!("/proc/{own}/mem")));
        // Libraries look there for the limits of a container.
        assert!(!of_other("/proc/1/cgroup") && !of_other("/proc/cpuinfo"));
        assert!(!of_other("/usr/1/mem"));
    }

    #[test]
    fn a_path_is_found_as_the_process_sees_it() {
        let own = std::process::id();
        let found = absolute(own, libc::AT_FDCWD, Path::new("/proc/self/status"));
        assert_eq!(found, Some(PathBuf::from(format!("/proc/{own}/status"))));
        let here = absolute(own, libc::AT_FDCWD, Path::new("x"));
        assert_eq!(here, Some(std::env::current_dir().unwrap().join("x")));
        assert_eq!(resolved(Path::new("/no/such"), false), None);
        assert_eq!(resolved(Path::new("/no/such"), true), Some(PathBuf::from("/no/such")));
    }

    #[test]
    fn own_files_are_shown_without_numbers() {
        assert_eq!(shown(7, Path::new("/proc/7/mem")), "/proc/self/mem");
        assert_eq!(shown(7, Path::new("/proc/7/task/9/comm")), "/proc/thread-self/comm");
        assert_eq!(shown(7, Path::new("/proc/8/mem")), "/proc/8/mem");
    }

    #[test]
    fn no_number_of_other_attempts_hides_an_attack() {
        let watch = Arc::new(Watch {
            files: Files::of(Path::new("/bin/true"), &crate::Permit::default(), None),
            scratch: None,
            compiles: false,
            has_started: AtomicBool::new(true),
            copy: AtomicU32::new(0),
            granted: Mutex::default(),
            tried: Mutex::default(),
        });
        let tried = |number: u32, is_attack| {
            let target = Some(format!("process {number}"));
            Tried { call: "kill".to_owned(), target, is_attack }
        };
        for number in 0..1000 {
            watch.note(7, tried(number, false));
        }
        watch.note(7, tried(0, true));
        watch.note(8, tried(0, true));
        let warden = Warden { watch };
        let attempts = warden.attempts(7);
        assert_eq!(attempts.len(), MOST_KINDS + 1);
        assert_eq!(attempts.iter().filter(|attempt| attempt.is_attack).count(), 1);
        assert_eq!(warden.attempts(8).len(), 1, "another copy has its own list");
    }

    #[test]
    fn a_text_of_a_process_is_read_up_to_its_end() {
        let text = c"a path";
        assert_eq!(text_at(std::process::id(), text.as_ptr() as u64).as_deref(), Some("a path"));
        assert_eq!(text_at(std::process::id(), 8), None);
    }
}
