//! What a machine's tuning replaces: when a kernel goes parallel, the blocks of products, and which
//! kernel computes a case. Built-in values hold until a program sets others, once, at start.
//!
//! A constant of an op is the size of one thread's part: a case that is larger wakes two threads,
//! one that is larger than two parts a third. `proofmark tune` and `proofmark choose` find values
//! for a machine and write them to a file; a program reads the file as it likes and calls [`set`]
//! before its first kernel.

pub use crate::blocks::tuned::{Blocks, Chosen, Settings, TuningError};

use crate::blocks::tuned;
use crate::find;
use proofmark_contract::{PartUnit, complete_case};
use proofmark_terms::Case;

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
    tuned::set(settings)
}

/// What the constant of an op counts: that of the first of its kernels that has one.
fn part_unit(op: &str) -> Option<PartUnit> {
    find(op)?.kernels.iter().find_map(|kernel| kernel.part_unit())
}

/// Whether the kernels of an op take a constant.
pub fn is_tunable(op: &str) -> bool {
    part_unit(op).is_some()
}

/// What the constant of an op counts, in words; `None` if its kernels take no constant.
pub fn unit(op: &str) -> Option<&'static str> {
    part_unit(op).map(|unit| match unit {
        PartUnit::Elements => "elements",
        PartUnit::MultiplyAdds(_) => "multiply-adds",
    })
}

/// The size of a case in the unit of its op's constant; `None` if kernels take no constant.
pub fn size(case: &Case) -> Option<usize> {
    match part_unit(&case.op)? {
        PartUnit::MultiplyAdds(count) => Some(count(case)),
        PartUnit::Elements => {
            let signature = find(&case.op)?.op.signature(case).ok()?;
            let length = |operand: &proofmark_contract::Operand| operand.layout().len();
            let written: usize = signature.outputs().iter().map(length).sum();
            let read = signature.inputs().iter().map(length).max().unwrap_or(0);
            Some(written.max(read))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::gemm::Blocking;
    use crate::blocks::tuned::{grain, parts};
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
