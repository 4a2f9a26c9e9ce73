//! What a program set for this machine, as kernels read it: the size of a thread's part, the blocks
//! of products, and the kernel of a case. Built-in values hold where nothing was set.

use proofmark_contract::{Entry, complete_case};
use proofmark_terms::Case;
use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

/// The settings in force. The list is short, because every call scans it linearly.
static TUNED: OnceLock<Settings> = OnceLock::new();

/// What tuning replaces; what is empty stays built in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The size of one thread's part, by op.
    pub parts: Vec<(String, usize)>,
    /// Blocks of products on vectors.
    pub blocks: Option<Blocks>,
    /// Kernels of cases that were raced.
    pub choices: Vec<Chosen>,
}

/// Sizes of the blocks that products on vectors are cut into.
///
/// Written `kc=256,mc=126,nc=768`. Rows and columns are rounded down to whole register tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Terms that are summed in registers before the sum is added to the output.
    pub kc: usize,
    /// Rows of a packed block of the left operand.
    pub mc: usize,
    /// Columns of a packed block of the right operand.
    pub nc: usize,
}

impl Blocks {
    /// The range that each of the three sizes may have; a larger size would be no block.
    pub const RANGE: std::ops::RangeInclusive<usize> = 16..=16_384;

    /// Whether every size is in the range.
    pub(crate) fn is_sound(self) -> bool {
        [self.kc, self.mc, self.nc].iter().all(|size| Blocks::RANGE.contains(size))
    }
}

impl fmt::Display for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kc={},mc={},nc={}", self.kc, self.mc, self.nc)
    }
}

impl FromStr for Blocks {
    type Err = TuningError;

    fn from_str(text: &str) -> Result<Blocks, TuningError> {
        let bad = || TuningError::Blocks(text.to_owned());
        let mut sizes = text.split(',').zip(["kc", "mc", "nc"]).map(|(part, name)| {
            let (of, size) = part.split_once('=')?;
            if of == name { size.parse().ok() } else { None }
        });
        let mut next = || sizes.next().flatten().ok_or_else(bad);
        let blocks = Blocks { kc: next()?, mc: next()?, nc: next()? };
        // `zip` stops at three, so a fourth part would be ignored.
        let is_whole = text.split(',').count() == 3 && blocks.is_sound();
        if is_whole { Ok(blocks) } else { Err(bad()) }
    }
}

/// The kernel that a case is computed by.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// The case.
    pub case: Case,
    /// Threads it was chosen for.
    pub threads: usize,
    /// The kernel's name.
    pub kernel: String,
}

/// Why settings were not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TuningError {
    /// There is no such op, or its kernels have no such constant.
    Unknown(String),
    /// A constant is 0, but no part is smaller than one.
    Zero(String),
    /// These are no sizes of blocks.
    Blocks(String),
    /// There is no such op, or it has no such kernel.
    Kernel(String, String),
    /// They were set before.
    Again,
}

impl fmt::Display for TuningError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TuningError::Unknown(op) => write!(f, "`{op}` has no tuned constant: leave it out"),
            TuningError::Zero(op) => {
                write!(f, "the constant of `{op}` is 0: write 1 to go parallel always")
            }
            TuningError::Blocks(text) => write!(
                f,
                "`{text}` are no blocks: write `kc=256,mc=126,nc=768`, each from 16 to 16384"
            ),
            TuningError::Kernel(op, kernel) => {
                write!(f, "{op} has no kernel `{kernel}`: leave it out")
            }
            TuningError::Again => f.write_str(
                "tuned values are set already: set them once, before the first kernel runs",
            ),
        }
    }
}

impl std::error::Error for TuningError {}

/// Puts settings in force, once.
pub(crate) fn set(settings: Settings) -> Result<(), TuningError> {
    TUNED.set(settings).map_err(|_| TuningError::Again)
}

/// Whether any built-in value was replaced.
pub(crate) fn is_set() -> bool {
    TUNED.get().is_some()
}

/// The tuned blocks of products.
pub(crate) fn blocks() -> Option<Blocks> {
    TUNED.get()?.blocks
}

/// The kernel that was chosen for a case on this many threads.
pub(crate) fn kernel(entry: &Entry, case: &Case, threads: usize) -> Option<&'static str> {
    let tuned = TUNED.get()?;
    let of_op = |chosen: &&Chosen| chosen.case.op == case.op && chosen.threads == threads.max(1);
    let mut of_op = tuned.choices.iter().filter(of_op).peekable();
    of_op.peek()?;
    let case = complete_case(entry.op, case);
    of_op.find(|chosen| chosen.case == case).map(|chosen| chosen.kernel.as_str())
}

/// The size of a thread's part of `op`.
pub(crate) fn grain(op: &str, built_in: usize) -> usize {
    let Some(tuned) = TUNED.get() else { return built_in };
    tuned.parts.iter().find(|(name, _)| name == op).map_or(built_in, |(_, grain)| *grain)
}

/// Threads for a case of this size.
pub(crate) fn parts(op: &str, threads: usize, size: usize, built_in: usize) -> usize {
    threads.min(size.div_ceil(grain(op, built_in))).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read_as_they_are_written() {
        let blocks = Blocks { kc: 384, mc: 252, nc: 1536 };
        assert_eq!(blocks.to_string().parse(), Ok(blocks));
        let bad = ["", "kc=384", "mc=384,kc=252,nc=1536", "kc=384,mc=252,nc=0", "kc=1,mc=2,nc=x"];
        for text in bad.into_iter().chain(["kc=384,mc=252,nc=1536,mr=6"]) {
            assert!(text.parse::<Blocks>().is_err(), "{text}");
        }
    }
}
