//! The processor's state around kernel calls: clean before, checked after.

use proofmark_schema::wire::leak;
use proofmark_simd::state;

/// Restores the state that a call may rely on.
pub(crate) fn reset() {
    state::reset();
}

/// What was left changed, as bits of [`leak`].
pub(crate) fn leaks() -> u32 {
    let mut leaks = 0;
    if state::mxcsr() & state::MXCSR_CONTROL_MASK != state::MXCSR_DEFAULT {
        leaks |= leak::MXCSR;
    }
    let upper = state::upper_state();
    if upper & state::VECTOR_UPPER != 0 {
        leaks |= leak::VECTOR_UPPER;
    }
    if upper & state::TILES != 0 {
        leaks |= leak::AMX;
    }
    let x87 = state::x87();
    if x87.control_word != state::X87_CONTROL_DEFAULT || x87.tag_word != state::X87_TAGS_EMPTY {
        leaks |= leak::X87;
    }
    leaks
}
