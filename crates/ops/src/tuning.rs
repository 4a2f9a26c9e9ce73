//! What a machine's tuning replaces: when a kernel goes parallel, the blocks of products, and which
//! kernel computes a case. Built-in values hold until a program sets others, once, at start.
//!
//! A constant of an op is the size of one thread's part: a case that is larger wakes two threads,
//! one that is larger than two parts a third. `proofmark tune` and `proofmark choose` find values
//! for a machine and write them to a file; a program reads the file as it likes and calls [`set`]
//! before its first kernel.

use crate::{attention, find, matmul};
use proofmark_contract::{Entry, complete_case};
use proofmark_terms::Case;
use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

/// The settings in force. The list is short, because every call that heeds it scans it linearly.
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

    fn is_sound(self) -> bool {
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

/// Whether these settings mean something here.
///
/// # Errors
/// If an op or kernel is unknown, an op has no constant, or a size is out of range.
pub fn check(settings: &Settings) -> Result<(), TuningError> {
    for (op, grain) in &settings.parts {
        if !is_tunable(op) {
            return Err(TuningError::Unknown(op.clone()));
        }
        if *grain == 0 {
            return Err(TuningError::Zero(op.clone()));
        }
    }
    if let Some(blocks) = settings.blocks.filter(|blocks| !blocks.is_sound()) {
        return Err(TuningError::Blocks(blocks.to_string()));
    }
    for Chosen { case, kernel, .. } in &settings.choices {
        if find(&case.op).is_none_or(|entry| entry.kernel(kernel).is_none()) {
            return Err(TuningError::Kernel(case.op.clone(), kernel.clone()));
        }
    }
    Ok(())
}

/// Replaces built-in values, once, for the whole process.
///
/// # Errors
/// If the settings do not pass [`check`], or some are set already.
pub fn set(mut settings: Settings) -> Result<(), TuningError> {
    check(&settings)?;
    for Chosen { case, .. } in &mut settings.choices {
        if let Some(entry) = find(&case.op) {
            *case = complete_case(entry.op, case);
        }
    }
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

/// The ops whose parallel kernels take no such constant: each shares out work in its own way.
const UNTUNED: &[&str] = &[
    "conv1d",
    "conv2d",
    "coo_to_csr",
    "csr_to_coo",
    "dot",
    "fft",
    "gru",
    "lstm",
    "matmul_fp8_block",
    "spmm",
    "spmv",
];

/// Whether the kernels of an op take a constant.
pub fn is_tunable(op: &str) -> bool {
    find(op).is_some() && !UNTUNED.contains(&op)
}

/// The size of a case in the unit of its op's constant: multiply-adds of products, elements of
/// everything else. `None` where kernels take no constant.
pub fn size(case: &Case) -> Option<usize> {
    if !is_tunable(&case.op) {
        return None;
    }
    let axis = |name: &str| case.size(name).unwrap_or(1) as usize;
    match case.op.as_str() {
        "attention" => Some(attention::products(case)),
        "matmul" => Some(matmul::products(case)),
        "matmul_int8" | "matmul_q8" => Some(axis("m") * axis("n") * axis("k")),
        op => {
            let signature = find(op)?.op.signature(case).ok()?;
            let length = |operand: &proofmark_contract::Operand| operand.layout().len();
            let written: usize = signature.outputs().iter().map(length).sum();
            let read = signature.inputs().iter().map(length).max().unwrap_or(0);
            Some(written.max(read))
        }
    }
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
    use crate::blocks::gemm::Blocking;
    use crate::library;
    use proofmark_terms::Isa;

    #[test]
    fn constants_are_refused_where_they_mean_nothing() {
        let one = |op: &str, grain| {
            set(Settings { parts: vec![(op.to_owned(), grain)], ..Settings::default() })
        };
        assert_eq!(one("soft_max", 1), Err(TuningError::Unknown("soft_max".to_owned())));
        assert_eq!(one("fft", 1), Err(TuningError::Unknown("fft".to_owned())));
        assert_eq!(one("softmax", 0), Err(TuningError::Zero("softmax".to_owned())));
        let blocks = Some(Blocks { kc: 8, mc: 126, nc: 768 });
        let refused = set(Settings { blocks, ..Settings::default() });
        assert_eq!(refused, Err(TuningError::Blocks("kc=8,mc=126,nc=768".to_owned())));
        let choice = |case: &str, kernel: &str| Chosen {
            case: case.parse().unwrap(),
            threads: 1,
            kernel: kernel.to_owned(),
        };
        for (case, name) in [("conv2d:f32[b=1]", "wino"), ("conv9:f32[b=1]", "winograd")] {
            let choices = vec![choice(case, name)];
            let refused = set(Settings { choices, ..Settings::default() });
            assert!(matches!(refused, Err(TuningError::Kernel(..))), "{case} {name}");
        }
    }

    #[test]
    fn blocks_are_read_as_they_are_written() {
        let blocks = Blocks { kc: 384, mc: 252, nc: 1536 };
        assert_eq!(blocks.to_string().parse(), Ok(blocks));
        let bad = ["", "kc=384", "mc=384,kc=252,nc=1536", "kc=384,mc=252,nc=0", "kc=1,mc=2,nc=x"];
        for text in bad.into_iter().chain(["kc=384,mc=252,nc=1536,mr=6"]) {
            assert!(text.parse::<Blocks>().is_err(), "{text}");
        }
    }

    #[test]
    fn constants_are_set_once_and_the_rest_keep_theirs() {
        let case: Case = "conv2d:f32[b=2,c=8]".parse().unwrap();
        set(Settings {
            parts: vec![("softmax".to_owned(), 7)],
            blocks: Some(Blocks { kc: 100, mc: 100, nc: 100 }),
            choices: vec![Chosen { case, threads: 1, kernel: "im2col".to_owned() }],
        })
        .unwrap();
        assert_eq!(set(Settings::default()), Err(TuningError::Again));
        assert_eq!((grain("softmax", 2048), grain("rope", 4096)), (7, 4096));
        assert_eq!(parts("softmax", 4, 7, 2048), 1);
        assert_eq!(parts("softmax", 4, 8, 2048), 2);
        assert_eq!(parts("softmax", 4, 800, 2048), 4);
        assert_eq!(parts("softmax", 4, 0, 2048), 1);
        let blocking = Blocking::of(Isa::Avx512);
        assert_eq!((blocking.kc, blocking.mc, blocking.nc), (100, 98, 96));
        assert_eq!(Blocking::of(Isa::Scalar).kc, 256, "no vectors, no tuned blocks");
        let taken = |case: &str, threads| {
            let entry = find("conv2d").unwrap();
            let case = complete_case(entry.op, &case.parse().unwrap());
            library::choose(entry, &case, threads).unwrap().0.name()
        };
        assert_eq!(taken("conv2d:f32[b=2,c=8]", 1), "im2col");
        assert_ne!(taken("conv2d:f32[b=2,c=8]", 2), "im2col");
        assert_ne!(taken("conv2d:f32[b=3,c=8]", 1), "im2col");
    }

    #[test]
    fn sizes_are_multiply_adds_of_products_and_elements_of_the_rest() {
        let size = |case: &str| size(&case.parse().unwrap());
        assert_eq!(size("softmax:f32[b=2,s=3,d=5]"), Some(30));
        assert_eq!(size("matmul:f32[b=2,m=3,n=5,k=7]"), Some(210));
        assert_eq!(size("fft:f32[b=1,n=64]"), None);
        let attention = "attention:f32[b=1,h=2,kv=1,q=8,t=16,d=4]";
        let case: Case = attention.parse().unwrap();
        assert!(find("attention").unwrap().op.signature(&case).is_ok(), "{attention}");
        assert_eq!(size(attention), Some(2 * 8 * 16 * 4 * 2));
    }
}
