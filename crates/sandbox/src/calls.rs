//! seccomp: the system calls that a worker may make.

use crate::Permit;
use libc::c_long;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};
use std::collections::BTreeMap;

/// The two filters of a worker. The kernel runs both on every system call and takes the stricter
/// answer.
#[derive(Debug)]
pub(crate) struct Filters {
    /// Calls that the C library does without where they are unknown.
    pub(crate) unknown: BpfProgram,
    /// Calls that may be made; all others wait for the warden.
    pub(crate) listed: BpfProgram,
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls that any worker may make, whatever their arguments.
#[rustfmt::skip]
const LISTED: &[c_long] = &[
    // Descriptors that are open already.
    libc::SYS_read, libc::SYS_write, libc::SYS_readv, libc::SYS_writev, libc::SYS_pread64,
    libc::SYS_pwrite64, libc::SYS_preadv, libc::SYS_pwritev, libc::SYS_close, libc::SYS_close_range,
    libc::SYS_lseek, libc::SYS_fstat, libc::SYS_fstatfs, libc::SYS_dup, libc::SYS_dup3,
    libc::SYS_fcntl, libc::SYS_getdents64, libc::SYS_fadvise64, libc::SYS_pipe2, libc::SYS_eventfd2,
    libc::SYS_ppoll, libc::SYS_pselect6, libc::SYS_epoll_create1, libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait, libc::SYS_timerfd_create, libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime, libc::SYS_sendmsg, libc::SYS_recvmsg, libc::SYS_sendto,
    libc::SYS_recvfrom,
    // Names and attributes of files; Landlock decides what can be opened.
    libc::SYS_newfstatat, libc::SYS_statx, libc::SYS_statfs, libc::SYS_readlinkat,
    libc::SYS_faccessat, libc::SYS_faccessat2, libc::SYS_getcwd,
    // Memory.
    libc::SYS_munmap, libc::SYS_mremap, libc::SYS_madvise, libc::SYS_mincore, libc::SYS_msync,
    libc::SYS_mlock, libc::SYS_mlock2, libc::SYS_munlock,
    libc::SYS_mlockall, libc::SYS_munlockall, libc::SYS_brk, libc::SYS_membarrier,
    libc::SYS_get_mempolicy, libc::SYS_pkey_alloc, libc::SYS_pkey_free,
    // Threads.
    libc::SYS_futex, libc::SYS_set_robust_list, libc::SYS_get_robust_list,
    libc::SYS_set_tid_address, libc::SYS_rseq, libc::SYS_sched_yield, libc::SYS_sched_getaffinity,
    libc::SYS_sched_getparam, libc::SYS_sched_getscheduler, libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min, libc::SYS_getpriority, libc::SYS_getcpu, libc::SYS_exit,
    libc::SYS_exit_group, libc::SYS_wait4, libc::SYS_waitid,
    // Signals to itself, and time.
    libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigpending, libc::SYS_rt_sigtimedwait, libc::SYS_rt_sigsuspend,
    libc::SYS_sigaltstack, libc::SYS_restart_syscall, libc::SYS_setitimer, libc::SYS_getitimer,
    libc::SYS_timer_create, libc::SYS_timer_settime, libc::SYS_timer_gettime,
    libc::SYS_timer_getoverrun, libc::SYS_timer_delete, libc::SYS_clock_gettime,
    libc::SYS_clock_getres, libc::SYS_clock_nanosleep, libc::SYS_nanosleep, libc::SYS_gettimeofday,
    libc::SYS_times,
    // Questions.
    libc::SYS_uname, libc::SYS_sysinfo, libc::SYS_getrusage, libc::SYS_getpid, libc::SYS_gettid,
    libc::SYS_getppid, libc::SYS_getpgid, libc::SYS_getsid, libc::SYS_getuid, libc::SYS_geteuid,
    libc::SYS_getgid, libc::SYS_getegid, libc::SYS_getresuid, libc::SYS_getresgid,
    libc::SYS_getgroups, libc::SYS_getrandom, libc::SYS_umask, libc::SYS_capget,
];

/// The older forms that x86-64 has of some of them.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const OLDER: &[c_long] = &[
    libc::SYS_stat, libc::SYS_lstat, libc::SYS_access, libc::SYS_readlink, libc::SYS_poll,
    libc::SYS_select, libc::SYS_pipe, libc::SYS_dup2, libc::SYS_epoll_create, libc::SYS_epoll_wait,
    libc::SYS_getdents, libc::SYS_getpgrp, libc::SYS_getrlimit, libc::SYS_time, libc::SYS_pause,
    libc::SYS_alarm, libc::SYS_arch_prctl,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[c_long] = &[];

/// Calls that files in a private folder need; Landlock keeps the files there.
#[rustfmt::skip]
const OF_SCRATCH: &[c_long] = &[
    libc::SYS_mkdirat, libc::SYS_unlinkat, libc::SYS_renameat2, libc::SYS_linkat,
    libc::SYS_symlinkat, libc::SYS_fchmod, libc::SYS_fchmodat, libc::SYS_utimensat,
    libc::SYS_ftruncate, libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_flock,
    libc::SYS_copy_file_range, libc::SYS_sendfile, libc::SYS_fallocate, libc::SYS_chdir,
];
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const OF_SCRATCH_OLDER: &[c_long] = &[
    libc::SYS_mkdir, libc::SYS_unlink, libc::SYS_rmdir, libc::SYS_rename, libc::SYS_renameat,
    libc::SYS_link, libc::SYS_symlink, libc::SYS_chmod,
];
#[cfg(not(target_arch = "x86_64"))]
const OF_SCRATCH_OLDER: &[c_long] = &[];

/// Calls that are needed to start compilers.
const OF_COMPILERS: &[c_long] =
    &[libc::SYS_setsid, libc::SYS_setpgid, libc::SYS_socketpair, libc::SYS_prlimit64];

/// Requests of `ioctl` that ask about or set a flag of an open descriptor.
const IOCTLS: [u64; 6] =
    [libc::TCGETS, libc::FIONREAD, libc::FIONBIO, libc::FIOCLEX, libc::FIONCLEX, libc::TIOCGWINSZ];

/// Asks for the facts that the kernel gave the program when it started.
const GET_AUXV: i32 = 0x4155_5856;

/// Requests of `prctl` that change nothing outside the thread's own name and speed.
const PRCTLS: [i32; 9] = [
    GET_AUXV,
    libc::PR_SET_NAME,
    libc::PR_GET_NAME,
    libc::PR_SET_VMA,
    libc::PR_GET_DUMPABLE,
    libc::PR_GET_NO_NEW_PRIVS,
    libc::PR_SET_TIMERSLACK,
    libc::PR_GET_TIMERSLACK,
    libc::PR_CAPBSET_READ,
];

/// The filters for a contender.
pub(crate) fn filters(permit: &Permit) -> Result<Filters, BackendError> {
    // The arguments of `clone3` lie in memory, where no filter can check them. The C library then
    // uses `clone`.
    let unknown = Rules::from([(libc::SYS_clone3, Vec::new())]);
    let errno = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    let unknown = compile(unknown, SeccompAction::Allow, errno)?;
    let mut listed = compile(listed(permit)?, SeccompAction::Trace(0), SeccompAction::Allow)?;
    // The compiler has no word for "ask the listener".
    for instruction in &mut listed {
        if instruction.code == RETURN && instruction.k == libc::SECCOMP_RET_TRACE {
            instruction.k = libc::SECCOMP_RET_USER_NOTIF;
        }
    }
    Ok(Filters { unknown, listed })
}

/// The instruction that ends a filter with a constant.
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

fn compile(
    rules: Rules,
    otherwise: SeccompAction,
    on_match: SeccompAction,
) -> Result<BpfProgram, BackendError> {
    let machine = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, otherwise, on_match, machine)?.try_into()
}

fn listed(permit: &Permit) -> Result<Rules, BackendError> {
    let mut rules = Rules::new();
    let mut lists = vec![LISTED, OLDER];
    if permit.needs_scratch {
        lists.extend([OF_SCRATCH, OF_SCRATCH_OLDER]);
    }
    if permit.has_compiler {
        lists.push(OF_COMPILERS);
    }
    for call in lists.into_iter().flatten() {
        rules.insert(*call, Vec::new());
    }
    let threads = (libc::CLONE_THREAD | libc::CLONE_VM) as u64;
    rules.insert(libc::SYS_clone, vec![rule(&[(0, Is::Masked(threads, threads))])?]);
    if !permit.has_compiler {
        // Its own limits may be read.
        let own = [(0, Is::Exactly(0)), (2, Is::Exactly(0))];
        rules.insert(libc::SYS_prlimit64, vec![rule(&own)?]);
    }
    let of = |requests: &[u64], argument| -> Result<Vec<SeccompRule>, BackendError> {
        requests.iter().map(|&request| rule(&[(argument, Is::Exactly(request))])).collect()
    };
    rules.insert(libc::SYS_ioctl, of(&IOCTLS, 1)?);
    let mut prctl = of(&PRCTLS.map(|request| request as u64), 0)?;
    // It may ask to end with its supervisor, and not to outlive it.
    let with_parent = [(0, Is::Exactly(libc::PR_SET_PDEATHSIG as u64)), (1, Is::Exactly(9))];
    prctl.push(rule(&with_parent)?);
    rules.insert(libc::SYS_prctl, prctl);
    rules.extend(memory(permit.has_jit)?);
    if permit.is_interpreter {
        let to_read = Is::Masked(libc::O_ACCMODE as u64, libc::O_RDONLY as u64);
        rules.insert(libc::SYS_openat, vec![rule(&[(2, to_read)])?]);
        #[cfg(target_arch = "x86_64")]
        rules.insert(libc::SYS_open, vec![rule(&[(1, to_read)])?]);
    }
    Ok(rules)
}

/// Calls that map memory. Without a JIT, no memory may be writable and executable at once, and no
/// existing mapping may become executable.
fn memory(has_jit: bool) -> Result<Rules, BackendError> {
    let of_jit = [libc::SYS_memfd_create, libc::SYS_ftruncate];
    let calls = [libc::SYS_mmap, libc::SYS_mprotect, libc::SYS_pkey_mprotect];
    if has_jit {
        return Ok(calls.into_iter().chain(of_jit).map(|call| (call, Vec::new())).collect());
    }
    let (write, code) = (libc::PROT_WRITE as u64, libc::PROT_EXEC as u64);
    let mapped = vec![rule(&[(2, Is::Masked(write, 0))])?, rule(&[(2, Is::Masked(code, 0))])?];
    let kept = || rule(&[(2, Is::Masked(code, 0))]).map(|rule| vec![rule]);
    let [map, protect, with_key] = calls;
    Ok(Rules::from([(map, mapped), (protect, kept()?), (with_key, kept()?)]))
}

/// What an argument must be.
#[derive(Clone, Copy)]
enum Is {
    Exactly(u64),
    /// This value under a mask, which comes first.
    Masked(u64, u64),
}

/// A rule that holds where all of these arguments are as they must be.
fn rule(arguments: &[(u8, Is)]) -> Result<SeccompRule, BackendError> {
    let condition = |&(argument, is): &(u8, Is)| {
        // The kernel looks at 32 bits of these arguments, and so must the filter.
        let (operator, value) = match is {
            Is::Exactly(value) => (SeccompCmpOp::Eq, value),
            Is::Masked(mask, value) => (SeccompCmpOp::MaskedEq(mask), value),
        };
        let width = if argument == 2 && matches!(is, Is::Exactly(0)) {
            // A pointer that must be null.
            SeccompCmpArgLen::Qword
        } else {
            SeccompCmpArgLen::Dword
        };
        SeccompCondition::new(argument, width, operator, value)
    };
    SeccompRule::new(arguments.iter().map(condition).collect::<Result<_, _>>()?)
}

/// Whether the kernel can filter calls and ask a listener about them.
pub(crate) fn are_filtered() -> bool {
    let action: u32 = libc::SECCOMP_RET_USER_NOTIF;
    // SAFETY: asks whether an action is known; reads one word.
    let known = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_GET_ACTION_AVAIL,
            0,
            std::ptr::from_ref(&action),
        )
    };
    known == 0
}

/// The name of a call that is not listed, for reports.
pub(crate) fn name(call: i64) -> String {
    let known = NAMES.iter().find(|(number, _)| *number == call);
    known.map_or_else(|| format!("system call {call}"), |(_, name)| (*name).to_owned())
}

macro_rules! names {
    ($($(#[$only:meta])? $call:ident)*) => {
        /// Calls that contenders have been seen to try.
        const NAMES: &[(i64, &str)] = &[
            $($(#[$only])? (libc::$call, calls_name(stringify!($call)))),*
        ];
    };
}

/// A call's name without the prefix of its constant.
const fn calls_name(constant: &str) -> &str {
    constant.split_at("SYS_".len()).1
}

names! {
    SYS_accept SYS_accept4 SYS_acct SYS_add_key SYS_adjtimex SYS_bind SYS_bpf SYS_capset SYS_chdir
    SYS_chroot SYS_clock_settime SYS_clone SYS_connect SYS_delete_module SYS_execve SYS_execveat
    SYS_fallocate SYS_fanotify_init SYS_fchdir SYS_fchmod SYS_fchmodat SYS_fchown SYS_fchownat
    SYS_fdatasync SYS_finit_module SYS_flock SYS_fsync SYS_ftruncate SYS_init_module
    SYS_inotify_init1 SYS_io_setup SYS_io_uring_enter SYS_io_uring_register SYS_io_uring_setup
    SYS_ioctl SYS_kcmp SYS_keyctl SYS_kill SYS_landlock_restrict_self SYS_linkat SYS_listen
    SYS_mbind SYS_memfd_create SYS_memfd_secret SYS_mkdirat SYS_mknodat SYS_mmap SYS_mount
    SYS_mprotect SYS_mq_open
    SYS_msgget SYS_name_to_handle_at SYS_open_by_handle_at SYS_open_tree SYS_openat SYS_openat2
    SYS_perf_event_open SYS_personality SYS_pidfd_getfd SYS_pidfd_open SYS_pidfd_send_signal
    SYS_pivot_root SYS_prctl SYS_prlimit64 SYS_process_madvise SYS_process_vm_readv
    SYS_process_vm_writev SYS_ptrace SYS_quotactl SYS_reboot SYS_renameat SYS_renameat2
    SYS_request_key SYS_rt_sigqueueinfo SYS_rt_tgsigqueueinfo SYS_sched_setaffinity
    SYS_sched_setattr SYS_sched_setparam SYS_sched_setscheduler SYS_seccomp SYS_semget
    SYS_set_mempolicy SYS_setdomainname SYS_setfsgid SYS_setfsuid SYS_setgid SYS_setgroups
    SYS_sethostname SYS_setns SYS_setpgid SYS_setpriority SYS_setregid SYS_setresgid SYS_setresuid
    SYS_setreuid SYS_setrlimit SYS_setsid SYS_settimeofday SYS_setuid SYS_shmat SYS_shmget
    SYS_socket SYS_socketpair SYS_splice SYS_swapon SYS_symlinkat SYS_syslog SYS_tee SYS_tgkill
    SYS_tkill SYS_truncate SYS_umount2 SYS_unlinkat SYS_unshare SYS_userfaultfd SYS_utimensat
    SYS_vhangup SYS_vmsplice
    #[cfg(target_arch = "x86_64")] SYS_fork
    #[cfg(target_arch = "x86_64")] SYS_vfork
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_permit_lists_a_way_out() {
        let permits = [Permit::default(), Permit { has_jit: true, ..Permit::default() }];
        for permit in permits {
            let rules = listed(&permit).unwrap();
            for call in [
                libc::SYS_execve,
                libc::SYS_socket,
                libc::SYS_ptrace,
                libc::SYS_process_vm_writev,
                libc::SYS_kill,
                libc::SYS_tgkill,
                libc::SYS_openat,
                libc::SYS_io_uring_setup,
                libc::SYS_sched_setaffinity,
            ] {
                assert!(!rules.contains_key(&call), "{}", name(call));
            }
            assert_eq!(rules[&libc::SYS_clone].len(), 1, "threads and nothing else");
        }
    }

    #[test]
    fn calls_that_are_not_listed_go_to_the_listener() {
        let filters = filters(&Permit::default()).unwrap();
        let asks = |program: &BpfProgram| {
            let asks = |k: u32| k == libc::SECCOMP_RET_USER_NOTIF;
            program.iter().any(|step| step.code == RETURN && asks(step.k))
        };
        assert!(asks(&filters.listed) && !asks(&filters.unknown));
        assert!(filters.listed.iter().all(|step| step.k != libc::SECCOMP_RET_TRACE));
    }

    #[test]
    fn names_are_those_of_the_manual() {
        assert_eq!(name(libc::SYS_ptrace), "ptrace");
        assert_eq!(name(9999), "system call 9999");
    }
}
