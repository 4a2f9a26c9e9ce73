//! Class G: state of the processor or of the process that is left changed.

use super::helper::run_anywhere;
use super::kernel::Deed;
use proofmark_simd::state;

fn after_full(deed: fn()) -> Deed {
    Deed::new(move |full, call| {
        full.run(call)?;
        deed();
        Ok(())
    })
}

pub(super) fn ftz_daz() -> Deed {
    after_full(|| state::set_mxcsr(state::MXCSR_DEFAULT | 0x8040))
}

pub(super) fn rounding() -> Deed {
    after_full(|| state::set_mxcsr(state::MXCSR_DEFAULT | 0x6000))
}

pub(super) fn mmx_no_emms() -> Deed {
    after_full(|| {
        // SAFETY: none; a register of the x87 unit that is left in use is the fault being planted.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!("fld1", options(nomem, nostack));
        }
    })
}

pub(super) fn dirty_zmm() -> Deed {
    after_full(|| {
        if !proofmark_simd::available(proofmark_schema::Isa::Avx2) {
            return;
        }
        // SAFETY: the processor has AVX2; the register is declared, and that its upper half is
        // left dirty is the fault being planted.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!("vpcmpeqd ymm1, ymm1, ymm1", out("xmm1") _, options(nomem, nostack));
        }
    })
}

pub(super) fn amx_no_release() -> Deed {
    after_full(|| {
        if state::request_amx() {
            // SAFETY: the permission was just granted.
            unsafe { state::load_tile_config_for_tests() };
        }
    })
}

/// Leaves the processor that the worker was told to stay on.
pub(super) fn affinity() -> Deed {
    after_full(run_anywhere)
}

/// Blocks the signals by which crashes are reported.
pub(super) fn sigmask() -> Deed {
    after_full(|| {
        // SAFETY: a set of signals on the stack, filled before it is used; the mask of this thread
        // is left changed, which is the fault being planted.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGUSR2);
            libc::sigaddset(&raw mut set, libc::SIGPROF);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        }
    })
}

/// Does not restore registers that belong to its caller.
pub(super) fn callee_saved() -> Deed {
    after_full(trample)
}

#[inline(never)]
fn trample() {
    // SAFETY: none; that the caller finds its registers changed is the fault being planted.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!(
            "mov r12, 0x10",
            "mov r13, 0x10",
            "mov r14, 0x10",
            "mov r15, 0x10",
            "mov rbx, 0x10",
            options(nomem, nostack)
        );
    }
}

/// Changes state that the whole process shares: folder, priority, locale, a limit.
pub(super) fn rlimit_nice_locale_cwd() -> Deed {
    after_full(|| {
        let _ = std::env::set_current_dir("/");
        // SAFETY: changes the priority, the locale and a soft limit of this process alone.
        unsafe {
            libc::setpriority(libc::PRIO_PROCESS, 0, 1);
            libc::setlocale(libc::LC_ALL, c"C".as_ptr());
            let limit = libc::rlimit { rlim_cur: 128, rlim_max: 256 };
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    })
}
