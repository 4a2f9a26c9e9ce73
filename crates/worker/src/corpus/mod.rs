//! The corpus: cheats, faults and odd but honest kernels, which `selftest judge` plants.
//!
//! A specimen is a wrapper around an honest kernel of the op, so that it runs on any op and has a
//! twin: the kernel that it wraps. [`CORPUS`] is the one list of them. Everything is part of this
//! program; a specimen is loaded as `planted/NAME`, which no roster holds.

mod attack;
mod child;
mod determinism;
mod device;
mod escapes;
mod harness;
mod helper;
mod honest;
mod kept;
mod kernel;
mod list;
mod memory;
mod numerics;
mod output;
mod own;
mod piece;
mod replay;
mod resource;
mod state;
mod time;

pub use escapes::{ESCAPED, ESCAPES, Escape};
pub use list::CORPUS;

use kernel::{Deed, Planted};
use proofmark_contract::{Entry, Kernel};
use proofmark_schema::judge::{Class, Kind};
use proofmark_schema::{Case, Isa, Isolation};
use std::path::PathBuf;

/// On what size of case a specimen shows what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Some microseconds a call.
    Usual,
    /// Less than a tenth of a microsecond.
    Tiny,
    /// About half a microsecond, where a check of single calls sees little.
    Short,
    /// One or two microseconds, with operands in the first-level cache, where comparing them is
    /// cheap.
    Near,
    /// It has more results than are checked between trials.
    Large,
    /// The same operand is read and written.
    InPlace,
}

/// What a specimen needs of the machine and of the case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    Nothing,
    /// Elements of f32.
    F32,
    /// Elements of f32, one batch, and no attributes.
    PlainF32,
    /// The instructions of x86-64.
    X86,
    /// Tiles.
    Amx,
}

/// One kernel of the corpus.
pub struct Specimen {
    /// Its name, as in `planted/noop`.
    pub name: &'static str,
    /// What it does that a right kernel does not.
    pub class: Class,
    /// What it is planted for.
    pub kind: Kind,
    /// What it does, in one sentence.
    pub what: &'static str,
    /// The lists that name it: `matrix` is the fault matrix, `study` the cheats that were tried
    /// against a perturbed race, `finding N` a row of the findings about trust.
    pub lists: &'static str,
    /// The kernel that it wraps, which is its twin in a race.
    pub twin: &'static str,
    /// Whether it launches kernels on a device; its twin is then the op's usual kernel there.
    pub is_on_device: bool,
    /// Threads that it is given.
    pub threads: usize,
    /// The size of case that it is raced on.
    pub size: Size,
    /// The lowest level of isolation that promises to hold against it. Below, it is left out.
    level: Isolation,
    /// The ops it is for; empty: all.
    ops: &'static [&'static str],
    needs: Needs,
    make: fn() -> Deed,
}

impl Specimen {
    const fn new(
        name: &'static str,
        class: Class,
        kind: Kind,
        lists: &'static str,
        what: &'static str,
        make: fn() -> Deed,
    ) -> Specimen {
        Specimen {
            name,
            class,
            kind,
            what,
            lists,
            twin: "simd",
            is_on_device: false,
            threads: 1,
            size: Size::Usual,
            level: Isolation::T1,
            ops: &[],
            needs: Needs::Nothing,
            make,
        }
    }

    const fn of(mut self, twin: &'static str) -> Specimen {
        self.twin = twin;
        self
    }

    const fn on_device(mut self) -> Specimen {
        self.is_on_device = true;
        self
    }

    const fn on(mut self, ops: &'static [&'static str]) -> Specimen {
        self.ops = ops;
        self
    }

    const fn at(mut self, size: Size) -> Specimen {
        self.size = size;
        self
    }

    const fn from(mut self, level: Isolation) -> Specimen {
        self.level = level;
        self
    }

    const fn needing(mut self, needs: Needs) -> Specimen {
        self.needs = needs;
        self
    }

    const fn threaded(mut self) -> Specimen {
        self.twin = "parallel";
        self.threads = 2;
        self
    }

    /// Whether it is left out at a level of isolation.
    pub fn is_left_out(&self, level: Isolation) -> bool {
        level < self.level
    }

    /// Whether it is planted on an op.
    pub fn is_for(&self, op: &str) -> bool {
        let has_kernel = !self.is_on_device || proofmark_opencl::usual(op).is_some();
        has_kernel && (self.ops.is_empty() || self.ops.contains(&op))
    }
}

/// The specimen of that name.
pub fn specimen(name: &str) -> Option<&'static Specimen> {
    let escapes = ESCAPES.iter().map(|escape| &escape.specimen);
    CORPUS.iter().chain(escapes).find(|specimen| specimen.name == name)
}

/// The folder in which specimens in workers of the calling process keep files. The code that plants
/// specimens removes it.
pub fn folder_of(supervisor: u32) -> PathBuf {
    std::env::temp_dir().join(format!("proofmark-corpus-{supervisor}"))
}

/// The folder of this worker's specimens.
fn folder() -> PathBuf {
    let parent = rustix::process::getppid();
    folder_of(parent.map_or(0, |pid| pid.as_raw_nonzero().get().cast_unsigned()))
}

/// The name of the kernel that a specimen wraps on an op: its twin. For an op without that kernel
/// it is another one, which supports every case.
pub fn twin(entry: &Entry, specimen: &Specimen) -> &'static str {
    let kernel = entry.kernel(specimen.twin).or(entry.kernels.last().copied());
    kernel.map_or(specimen.twin, |kernel| kernel.name())
}

/// The kernel that a specimen wraps.
///
/// # Errors
/// If there is no such specimen, or the op has no kernel.
pub fn wrapped(entry: &Entry, name: &str) -> Result<&'static dyn Kernel, String> {
    let specimen = specimen(name).ok_or_else(|| format!("no specimen `{name}` in the corpus"))?;
    let op = entry.op.name();
    entry.kernel(twin(entry, specimen)).ok_or_else(|| format!("`{op}` has no kernel"))
}

/// Loads a specimen around a kernel; it stays for the life of the process.
///
/// # Errors
/// If there is no such specimen, or it is not planted on the case.
pub fn load(
    entry: &'static Entry,
    name: &str,
    kernel: &'static dyn Kernel,
    case: &Case,
    isa: Isa,
) -> Result<&'static dyn Kernel, String> {
    let specimen = specimen(name).ok_or_else(|| format!("no specimen `{name}` in the corpus"))?;
    kernel::unsupported(specimen, case).map_err(|reason| reason.to_string())?;
    Ok(Planted::load(specimen, entry, kernel, case, isa))
}
