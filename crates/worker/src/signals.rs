//! Last words: a handler on its own stack that writes how the worker dies.

use crate::page;
use proofmark_schema::wire::HandOver;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Room for the handler; the processor's state alone takes 11 KiB where there are AMX tiles.
const STACK_BYTES: usize = 64 * 1024;

const FATAL: [i32; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT, libc::SIGTRAP];

/// A thread has begun its last words.
static DYING: AtomicBool = AtomicBool::new(false);

/// Gives this thread a stack for handlers and catches every fatal signal.
///
/// Threads that Rust starts have such a stack of their own; on others a stack overflow ends the
/// process without last words.
pub(crate) fn install() -> io::Result<()> {
    let stack = libc::stack_t {
        ss_sp: Box::leak(vec![0u8; STACK_BYTES].into_boxed_slice()).as_mut_ptr().cast(),
        ss_flags: 0,
        ss_size: STACK_BYTES,
    };
    // SAFETY: the stack is leaked memory that nothing else uses.
    if unsafe { libc::sigaltstack(&raw const stack, std::ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    FATAL.into_iter().try_for_each(|signal| catch(signal, last_words, libc::SA_ONSTACK))
}

/// A handler as SA_SIGINFO asks for it; it makes only calls that are allowed in one.
type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);

/// Lets a handler catch a signal.
pub(crate) fn catch(signal: i32, handler: Handler, flags: i32) -> io::Result<()> {
    // SAFETY: a record for which zeros are valid: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_SIGINFO | flags;
    // SAFETY: the handler's type is the one that SA_SIGINFO asks for.
    match unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

extern "C" fn last_words(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    if DYING.swap(true, Ordering::AcqRel) {
        // Another thread is writing; this one's death must not cut it short.
        loop {
            // SAFETY: waits for a signal; allowed in a handler.
            unsafe { libc::pause() };
        }
    }
    if let Some(page) = page::current() {
        // SAFETY: the kernel passes a valid record and context to an SA_SIGINFO handler.
        unsafe { write_down(page, signal, &*info, context.cast()) };
        page::wake(page);
    }
    // SAFETY: both are allowed in a handler. The signal is blocked while its handler runs, so it
    // is delivered, by default deadly, on return.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// # Safety
/// `info` and `context` are those of a handler that is running for `signal`.
unsafe fn write_down(
    page: &HandOver,
    signal: i32,
    info: &libc::siginfo_t,
    context: *const libc::ucontext_t,
) {
    // SAFETY: the context is valid while the handler runs.
    let (instruction, stack_pointer) = unsafe { registers(&*context) };
    page.signal_code.store(info.si_code, Ordering::Relaxed);
    // SAFETY: reading the address of another kind of signal gives a number without meaning,
    // which the supervisor does not use.
    let address = unsafe { info.si_addr() };
    page.fault_address.store(address as u64, Ordering::Relaxed);
    page.fault_instruction.store(instruction, Ordering::Relaxed);
    page.stack_pointer.store(stack_pointer, Ordering::Relaxed);
    // The signal is stored last, so that a reader that sees it sees the rest.
    page.signal.store(signal, Ordering::Release);
}

/// Instruction and stack pointer where the signal struck.
#[cfg(target_arch = "x86_64")]
pub(crate) fn registers(context: &libc::ucontext_t) -> (u64, u64) {
    let registers = &context.uc_mcontext.gregs;
    let of = |index: i32| registers[index as usize].cast_unsigned();
    (of(libc::REG_RIP), of(libc::REG_RSP))
}

/// Instruction and stack pointer where the signal struck.
#[cfg(target_arch = "aarch64")]
pub(crate) fn registers(context: &libc::ucontext_t) -> (u64, u64) {
    (context.uc_mcontext.pc, context.uc_mcontext.sp)
}
