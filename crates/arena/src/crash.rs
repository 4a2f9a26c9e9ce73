//! How a worker died, derived from its ending and from what its signal handler wrote.

use crate::operand::Attached;
use crate::process::Ending;
use proofmark_schema::crash::{Cause, Crash, Phase};
use proofmark_schema::wire::HandOver;
use std::sync::atomic::Ordering;

/// Below this an address is a null pointer with an offset.
const NULL_BYTES: u64 = 64 * 1024;
/// A fault this near to the stack pointer counts as a stack overflow.
const STACK_BYTES: u64 = 1 << 20;
/// The kernel's code for a fault without an address: misaligned or not canonical.
const SI_KERNEL: i32 = 0x80;

/// Why the worker died.
pub(crate) fn cause(page: &HandOver, ending: Ending) -> Cause {
    match ending {
        Ending::Exit(code) => Cause::Exit(code),
        Ending::Signal(libc::SIGABRT) if page.refused_bytes.load(Ordering::Relaxed) > 0 => {
            Cause::Memory
        }
        Ending::Signal(signal) => Cause::Signal(signal),
    }
}

/// The whole report.
pub(crate) fn report(
    page: &HandOver,
    operands: &[Attached],
    cause: Cause,
    output: String,
) -> Box<Crash> {
    let signal = page.signal.load(Ordering::Acquire);
    let has_address = matches!(signal, libc::SIGSEGV | libc::SIGBUS);
    let address = page.fault_address.load(Ordering::Relaxed);
    Box::new(Crash {
        cause,
        place: has_address.then(|| place(page, operands, address)).flatten(),
        address: has_address.then_some(address),
        phase: Phase::of(page.phase.load(Ordering::Relaxed)),
        call: page.call.load(Ordering::Relaxed),
        output,
    })
}

fn place(page: &HandOver, operands: &[Attached], address: u64) -> Option<String> {
    if page.signal_code.load(Ordering::Relaxed) == SI_KERNEL {
        return Some("no address: misaligned vector access or wild pointer".to_owned());
    }
    let bases = page.operand_base.iter().map(|base| base.load(Ordering::Relaxed));
    let mut named = operands.iter().zip(bases);
    if let Some(name) = named.find_map(|(at, base)| at.name_address(address, base)) {
        return Some(name);
    }
    let stack_pointer = page.stack_pointer.load(Ordering::Relaxed);
    match address {
        _ if address < NULL_BYTES => Some(format!("null pointer+{address}")),
        _ if address.abs_diff(stack_pointer) < STACK_BYTES => Some("stack overflow".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_abort_after_a_refused_allocation_is_memory() {
        let page = HandOver::default();
        assert_eq!(cause(&page, Ending::Signal(libc::SIGABRT)), Cause::Signal(libc::SIGABRT));
        page.refused_bytes.store(1 << 40, Ordering::Relaxed);
        assert_eq!(cause(&page, Ending::Signal(libc::SIGABRT)), Cause::Memory);
        assert_eq!(cause(&page, Ending::Signal(libc::SIGSEGV)), Cause::Signal(libc::SIGSEGV));
        assert_eq!(cause(&page, Ending::Exit(3)), Cause::Exit(3));
    }

    #[test]
    fn signals_have_the_names_of_this_system() {
        for (signal, name) in [
            (libc::SIGILL, "SIGILL"),
            (libc::SIGTRAP, "SIGTRAP"),
            (libc::SIGABRT, "SIGABRT"),
            (libc::SIGBUS, "SIGBUS"),
            (libc::SIGFPE, "SIGFPE"),
            (libc::SIGKILL, "SIGKILL"),
            (libc::SIGSEGV, "SIGSEGV"),
            (libc::SIGPIPE, "SIGPIPE"),
            (libc::SIGTERM, "SIGTERM"),
            (libc::SIGXCPU, "SIGXCPU"),
            (libc::SIGXFSZ, "SIGXFSZ"),
            (libc::SIGSYS, "SIGSYS"),
        ] {
            assert_eq!(Cause::Signal(signal).to_string(), name);
        }
    }

    #[test]
    fn a_fault_beside_the_stack_pointer_is_a_stack_overflow() {
        let page = HandOver::default();
        page.signal.store(libc::SIGSEGV, Ordering::Relaxed);
        page.stack_pointer.store(0x7fff_0000_0000, Ordering::Relaxed);
        let place_of = |address| {
            page.fault_address.store(address, Ordering::Relaxed);
            report(&page, &[], Cause::Memory, String::new()).place
        };
        assert_eq!(place_of(0x7ffe_ffff_fff8).as_deref(), Some("stack overflow"));
        assert_eq!(place_of(8).as_deref(), Some("null pointer+8"));
        assert_eq!(place_of(0x5555_0000_0000), None);
        page.signal_code.store(SI_KERNEL, Ordering::Relaxed);
        assert!(place_of(0).unwrap().contains("misaligned"));
    }
}
