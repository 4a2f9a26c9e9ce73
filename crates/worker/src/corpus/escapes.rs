//! Ways out of a sandbox. `selftest sandbox` tries each of them in a worker.
//!
//! An escape tries its way once, in its first call, and then computes what it is asked for. It
//! fails its call if the way is open. All of them are harmless where they succeed.

use super::Specimen;
use super::kernel::Deed;
use proofmark_contract::KernelError;
use proofmark_schema::judge::{Class, Kind};
use std::io;
use std::ptr::{null, null_mut};

/// One way out.
pub struct Escape {
    /// The kernel that tries it.
    pub specimen: Specimen,
    /// The name under which the sandbox must report it.
    pub reported_as: &'static str,
}

/// What a way out answers: the error if it is closed.
type Tried = io::Result<()>;

macro_rules! escapes {
    ($($name:ident $reported:literal $what:literal => $attempt:expr;)*) => {
        /// Every way out that is tried.
        pub static ESCAPES: &[Escape] = &[$(Escape {
            specimen: Specimen::new(
                concat!("escape_", stringify!($name)),
                Class::Harness,
                Kind::Fault,
                "escapes",
                $what,
                || escape($attempt),
            ),
            reported_as: $reported,
        }),*];
    };
}

escapes! {
    ptrace "ptrace" "It traces the supervisor."
        => || call(libc::SYS_ptrace, [libc::PTRACE_SEIZE as i64, supervisor(), 0, 0, 0, 0]);
    read_memory "process_vm_readv" "It reads the supervisor's memory."
        => || memory(libc::SYS_process_vm_readv);
    write_memory "process_vm_writev" "It writes the supervisor's memory."
        => || memory(libc::SYS_process_vm_writev);
    open_memory "read" "It opens the supervisor's memory as a file."
        => || open(&of_supervisor("mem"), libc::O_RDONLY);
    open_memory_to_write "write" "It opens the supervisor's memory as a file, to write."
        => || open(&of_supervisor("mem"), libc::O_RDWR);
    environment "read" "It reads the supervisor's environment."
        => || open(&of_supervisor("environ"), libc::O_RDONLY);
    descriptors "read" "It opens a file that the supervisor holds."
        => || open(&of_supervisor("fd/0"), libc::O_RDONLY);
    signal "kill" "It signals the supervisor."
        => || call(libc::SYS_kill, [supervisor(), 0, 0, 0, 0, 0]);
    signal_thread "tgkill" "It signals a thread of the supervisor."
        => || call(libc::SYS_tgkill, [supervisor(), supervisor(), 0, 0, 0, 0]);
    signal_group "kill" "It signals the process of number 1."
        => || call(libc::SYS_kill, [1, 0, 0, 0, 0, 0]);
    pidfd "pidfd_open" "It takes a handle of the supervisor."
        => || call(libc::SYS_pidfd_open, [supervisor(), 0, 0, 0, 0, 0]);
    take_descriptor "pidfd_getfd" "It takes a descriptor of another process."
        => || call(libc::SYS_pidfd_getfd, [-1, 0, 0, 0, 0, 0]);
    limits_of_supervisor "prlimit64" "It changes the supervisor's limits."
        => || call(libc::SYS_prlimit64, [supervisor(), libc::RLIMIT_NOFILE as i64, 0, 0, 0, 0]);
    fork "clone" "It starts a process."
        => fork;
    session "setsid" "It leaves its group, so that it survives it."
        => || call(libc::SYS_setsid, [0; 6]);
    group "setpgid" "It moves to another group."
        => || call(libc::SYS_setpgid, [0; 6]);
    exec "execve" "It becomes another program."
        => || exec(c"/bin/true");
    exec_loader "execve" "It becomes the loader of programs."
        => || exec(c"/lib64/ld-linux-x86-64.so.2");
    tcp "socket" "It opens a TCP socket."
        => || socket(libc::AF_INET, libc::SOCK_STREAM);
    udp "socket" "It opens a UDP socket."
        => || socket(libc::AF_INET, libc::SOCK_DGRAM);
    unix "socket" "It opens a local socket."
        => || socket(libc::AF_UNIX, libc::SOCK_STREAM);
    netlink "socket" "It talks to the kernel's network."
        => || socket(libc::AF_NETLINK, libc::SOCK_RAW);
    affinity "sched_setaffinity" "It moves to all processors."
        => affinity;
    priority "setpriority" "It raises its priority."
        => || call(libc::SYS_setpriority, [libc::PRIO_PROCESS as i64, 0, -5, 0, 0, 0]);
    real_time "sched_setscheduler" "It asks for a real-time class."
        => real_time;
    io_uring "io_uring_setup" "It makes calls through a ring."
        => io_uring;
    userfaultfd "userfaultfd" "It handles its own page faults."
        => || call(libc::SYS_userfaultfd, [1, 0, 0, 0, 0, 0]);
    counters "perf_event_open" "It counts events of the machine."
        => counters;
    bpf "bpf" "It loads a program into the kernel."
        => || call(libc::SYS_bpf, [0, 0, 0, 0, 0, 0]);
    namespace "unshare" "It makes a namespace of its own."
        => || call(libc::SYS_unshare, [libc::CLONE_NEWUSER as i64, 0, 0, 0, 0, 0]);
    mount "mount" "It mounts a file system."
        => || call(libc::SYS_mount, [0; 6]);
    keyring "add_key" "It keeps a key in the kernel."
        => || call(libc::SYS_add_key, [0; 6]);
    shared_memory "shmget" "It shares memory with other processes."
        => || call(libc::SYS_shmget, [0, 4096, 0o600 | libc::IPC_CREAT as i64, 0, 0, 0]);
    memory_file "memfd_create" "It writes code to a file in memory."
        => || call(libc::SYS_memfd_create, [c"code".as_ptr() as i64, 0, 0, 0, 0, 0]);
    writable_code "mmap" "It asks for memory that is writable and code."
        => writable_code;
    handle "open_by_handle_at" "It opens a file by its handle."
        => || call(libc::SYS_open_by_handle_at, [libc::AT_FDCWD as i64, 0, 0, 0, 0, 0]);
    secret "read" "It reads a file of the system."
        => || open(c"/etc/passwd", libc::O_RDONLY);
    create "write" "It creates a file."
        => || open(c"/tmp/proofmark-escape", libc::O_CREAT | libc::O_WRONLY);
    own_memory "write" "It opens its own memory as a file, to write."
        => || open(c"/proc/self/mem", libc::O_RDWR);
    personality "personality" "It changes how programs are laid out."
        => || call(libc::SYS_personality, [0; 6]);
}

fn escape(attempt: fn() -> Tried) -> Deed {
    let mut has_tried = false;
    Deed::new(move |full, call| {
        if !std::mem::replace(&mut has_tried, true) && attempt().is_ok() {
            return Err(KernelError::Refused(ESCAPED.to_owned()));
        }
        full.run(call)
    })
}

/// The message of a kernel that has found a way out.
pub const ESCAPED: &str = "the way out is open";

fn call(number: libc::c_long, arguments: [i64; 6]) -> Tried {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: every caller gives numbers, null, or pointers to memory that is valid for the call.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if answer >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The same where the kernel checks permission before it looks at a pointer: a complaint about the
/// pointer means that the way is open.
fn up_to_pointers(tried: Tried) -> Tried {
    match tried {
        Err(error) if error.raw_os_error() == Some(libc::EFAULT) => Ok(()),
        other => other,
    }
}

fn supervisor() -> i64 {
    rustix::process::getppid().map_or(0, |pid| i64::from(pid.as_raw_nonzero().get()))
}

fn of_supervisor(file: &str) -> std::ffi::CString {
    std::ffi::CString::new(format!("/proc/{}/{file}", supervisor())).unwrap_or_default()
}

fn memory(number: libc::c_long) -> Tried {
    let mut byte = 0u8;
    let ours = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let theirs = libc::iovec { iov_base: null_mut(), iov_len: 1 };
    let (ours, theirs) = (&raw const ours as i64, &raw const theirs as i64);
    up_to_pointers(call(number, [supervisor(), ours, 1, theirs, 1, 0]))
}

fn open(path: &std::ffi::CStr, flags: i32) -> Tried {
    let arguments = [i64::from(libc::AT_FDCWD), path.as_ptr() as i64, flags.into(), 0o600, 0, 0];
    call(libc::SYS_openat, arguments)
}

/// The child does nothing and ends.
fn fork() -> Tried {
    // SAFETY: the child calls nothing but `_exit`.
    match unsafe { libc::fork() } {
        // SAFETY: ends the child without running what its parent registered.
        0 => unsafe { libc::_exit(0) },
        -1 => Err(io::Error::last_os_error()),
        child => {
            // SAFETY: waits for the child that was made here.
            unsafe { libc::waitpid(child, null_mut(), 0) };
            Ok(())
        }
    }
}

/// The arguments are no memory, so that no program starts.
fn exec(path: &std::ffi::CStr) -> Tried {
    let nowhere = 8;
    up_to_pointers(call(libc::SYS_execve, [path.as_ptr() as i64, nowhere, nowhere, 0, 0, 0]))
}

fn socket(family: i32, kind: i32) -> Tried {
    call(libc::SYS_socket, [family.into(), kind.into(), 0, 0, 0, 0])
}

fn affinity() -> Tried {
    let all = [u64::MAX; 16];
    call(libc::SYS_sched_setaffinity, [0, size_of_val(&all) as i64, all.as_ptr() as i64, 0, 0, 0])
}

fn real_time() -> Tried {
    let class = libc::sched_param { sched_priority: 1 };
    let arguments = [0, libc::SCHED_FIFO.into(), &raw const class as i64, 0, 0, 0];
    call(libc::SYS_sched_setscheduler, arguments)
}

fn io_uring() -> Tried {
    let mut parameters = [0u64; 32];
    call(libc::SYS_io_uring_setup, [1, parameters.as_mut_ptr() as i64, 0, 0, 0, 0])
}

fn counters() -> Tried {
    // Type 1 is software, configuration 3 context switches; the second word is the size.
    let mut asked = [0u64; 16];
    asked[0] = 1 | (128 << 32);
    asked[1] = 3;
    call(libc::SYS_perf_event_open, [asked.as_ptr() as i64, 0, -1, -1, 0, 0])
}

fn writable_code() -> Tried {
    let access = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: new memory at an address of the system's choice, which nothing uses.
    let memory = unsafe { libc::mmap(null::<u8>().cast_mut().cast(), 4096, access, kind, -1, 0) };
    if memory == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
}
