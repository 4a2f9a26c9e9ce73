//! Class F: memory that is not the specimen's own.

use super::kernel::Deed;
use proofmark_contract::Call;
use proofmark_tensor::Tensor;
use std::hint::black_box;
use std::ptr::{read_volatile, write_volatile};

fn end_of(tensor: &Tensor) -> isize {
    (tensor.layout.span() * tensor.dtype.size()).cast_signed()
}

/// Writes one byte at an offset from the start of the first output.
fn write_at(call: &mut Call<'_>, offset: isize) {
    let at = call.outputs[0].base().wrapping_offset(offset);
    // SAFETY: none where the offset leaves the operand; that is the fault being planted.
    unsafe { write_volatile(at, 1) };
}

fn after_full(deed: fn(&mut Call<'_>)) -> Deed {
    Deed::new(move |full, call| {
        full.run(call)?;
        deed(call);
        Ok(())
    })
}

pub(super) fn oob_write_after() -> Deed {
    after_full(|call| {
        let end = end_of(&call.outputs[0]);
        write_at(call, end);
    })
}

pub(super) fn oob_write_before() -> Deed {
    after_full(|call| write_at(call, -1))
}

/// How far past the end `oob_write_far` writes: beyond the slack and the first guard page.
const FAR_BYTES: isize = 3 * 4096 + 64;

pub(super) fn oob_write_far() -> Deed {
    after_full(|call| {
        let end = end_of(&call.outputs[0]);
        write_at(call, end + FAR_BYTES);
    })
}

pub(super) fn oob_read() -> Deed {
    after_full(|call| {
        let Some(x) = call.inputs.first() else { return };
        let at = x.base().wrapping_offset(end_of(x));
        // SAFETY: none; that is the fault being planted.
        black_box(unsafe { read_volatile(at) });
    })
}

pub(super) fn align_assumption() -> Deed {
    after_full(|call| {
        let at = call.outputs[0].base();
        if call.outputs[0].layout.len() < 4 {
            return;
        }
        // SAFETY: the four elements are readable; that they may lie on any multiple of four bytes
        // and not of sixteen is the fault being planted.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!("movaps {1}, [{0}]", in(reg) at, out(xmm_reg) _, options(nostack));
        }
        black_box(at);
    })
}

/// Uses its input as scratch memory and puts the value back.
pub(super) fn alias_write() -> Deed {
    after_full(|call| {
        let Some(x) = call.inputs.first().filter(|x| !x.layout.is_empty()) else { return };
        let at = x.base();
        // SAFETY: none; that the input is not to be written is the fault being planted.
        unsafe {
            let value = read_volatile(at);
            write_volatile(at, !value);
            write_volatile(at, value);
        }
    })
}

/// Adds a word of scratch memory that it never wrote to its first result.
pub(super) fn uninit_scratch_read() -> Deed {
    Deed::new(|full, call| {
        full.run(call)?;
        let at = call.workspace.len() - 4;
        let word = &call.workspace[at..];
        let rubbish = f32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        let mut y = call.outputs[0].rows_mut::<f32>()?;
        if y.rows() > 0
            && let Some(y) = y.row_mut(0).first_mut()
        {
            *y += rubbish;
        }
        Ok(())
    })
    .with_workspace(64)
}

/// Returns to an address that it has overwritten.
pub(super) fn stack_smash() -> Deed {
    after_full(|_| {
        // SAFETY: none; that the return goes nowhere is the fault being planted.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!("push 0", "ret", options(noreturn));
        }
    })
}
