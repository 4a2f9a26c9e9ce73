//! What a peer is, and what an adapter makes of a case.

use crate::Found;
use crate::open::Open;
use proofmark_contract::{Call, DeviceTimes, ExplicitCase, KernelError, Signature, Unsupported};
use proofmark_schema::device::HOST;
use proofmark_schema::{
    ContenderId, DType, ErrorContract, Family, Receipt, Reproducibility, Underflow,
};

/// Another library.
pub trait Peer: Sync {
    /// Its name in ids: `peer/<name>`.
    fn name(&self) -> &'static str;

    /// Its family in ids; kernels of the user's own ops have another than libraries.
    fn family(&self) -> Family {
        Family::Peer
    }

    /// Its id.
    fn id(&self) -> ContenderId {
        ContenderId { family: self.family(), name: self.name().to_owned(), isa: None }
    }

    /// The one version that it stands for; none for whatever version is installed.
    fn version(&self) -> Option<&'static str> {
        None
    }

    /// The device that it runs on, by the name in patterns.
    fn device(&self) -> &'static str {
        HOST
    }

    /// Where it is, if it is on no shelf; the error says what to do to have it there.
    fn elsewhere(&self) -> Option<Result<Found, String>> {
        None
    }

    /// One line: what it is.
    fn summary(&self) -> &'static str;

    /// The ops that it has an equal of. An empty list means that only the library itself can tell.
    fn ops(&self) -> &'static [&'static str];

    /// Whether it may have an equal of an op.
    fn has(&self, op: &str) -> bool {
        self.ops().is_empty() || self.ops().contains(&op)
    }

    /// How it comes onto a machine.
    fn source(&self) -> Source;

    /// The name of its folder on the shelf: its own, unless it lives in another peer's.
    fn shelved_as(&self) -> &'static str {
        self.name()
    }

    /// Names of its shared library where the system has it, best first.
    fn system_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// Variables that its process must have before it is opened.
    fn environment(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// What its process must be allowed to do in a sandbox, besides reading its own files.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// About how many milliseconds a worker takes to open it, once for many cases, for estimates:
    /// frameworks take longer than any call.
    fn opens_ms(&self) -> u32 {
        0
    }

    /// About how many milliseconds it takes until it is ready for one case more, for estimates: a
    /// compiler takes longer than any call.
    fn prepares_ms(&self) -> u32 {
        0
    }

    /// Whether it does this case; its op is one of [`Peer::ops`].
    ///
    /// # Errors
    /// The reason why not, as a fragment.
    fn supports(&self, case: &ExplicitCase) -> Result<(), Unsupported>;

    /// What it promises about its error on a case.
    fn contract(&self, case: &ExplicitCase) -> ErrorContract {
        let _ = case;
        PLAIN
    }

    /// Loads what every case needs, so that copies of the process can be made from there on;
    /// `false` if there is nothing that takes long. A library that starts threads here is loaded
    /// afresh in every process: copies have none of them.
    ///
    /// # Errors
    /// Why it cannot be loaded.
    fn warm(&self, found: &Found) -> Result<bool, String> {
        let _ = found;
        Ok(false)
    }

    /// Opens the library and no more: whether it can be loaded at all, in the worker.
    ///
    /// # Errors
    /// Why it does not open.
    fn open(&self, found: &Found) -> Result<(), String> {
        Open::at(&found.library, true).map(drop)
    }

    /// Opens the library and makes it ready for calls on a case with these operands, in the
    /// worker.
    ///
    /// # Errors
    /// Why it cannot be loaded, or does not do the case after all.
    fn load(
        &self,
        found: &Found,
        case: &ExplicitCase,
        signature: &Signature,
        threads: usize,
    ) -> Result<Ready, String>;

    /// A wrong kernel of that name for its op, where it can make them.
    fn mutant(&self, name: &str) -> Option<&'static dyn Peer> {
        let _ = name;
        None
    }
}

/// What a peer's process must be allowed to do in a sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// It compiles machine code while it runs.
    pub jit: bool,
    /// It is an interpreter with thousands of files.
    pub interpreter: bool,
    /// It starts a compiler.
    pub compiler: bool,
}

/// The contract of a library that promises nothing else: sums in f32, and no two calls alike.
pub(crate) const PLAIN: ErrorContract = ErrorContract {
    accumulate: DType::F32,
    reproducibility: Reproducibility::None,
    underflow: Underflow::Gradual,
    cancels: false,
    rounds_inside: false,
    finite_only: false,
    dense_rows: false,
    interpreted: false,
};

/// The same for a library that flushes subnormals, or loses them in intermediate results.
pub(crate) const FLUSHED: ErrorContract = ErrorContract { underflow: Underflow::Flushed, ..PLAIN };

/// How a peer comes onto a machine.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// A shared library inside Python wheels; no interpreter is needed to run it.
    Wheels {
        /// Requirements, as `pip` takes them. Nothing is installed but these.
        packages: &'static [&'static str],
        /// Their versions and hashes, as `pip` takes them: a file in `locks`.
        lock: &'static str,
        /// How the library's file name begins.
        library: &'static str,
    },
    /// A shared library inside an npm package.
    Npm {
        /// The package.
        package: &'static str,
        /// Its version and hash, as `npm` takes them: a file in `locks`.
        lock: &'static str,
        /// How the library's file name begins.
        library: &'static str,
    },
    /// Python packages, in a virtual environment of their own.
    Python {
        /// Requirements, as `pip` takes them, with all that they need.
        packages: &'static [&'static str],
        /// Versions and hashes of all of them, as `pip` takes them: a file in `locks`.
        lock: &'static str,
    },
    /// A Rust crate, built as a plug-in with a lock file of its own.
    Crate {
        /// The crate's sources: path and text.
        files: &'static [(&'static str, &'static str)],
        /// A feature of the plug-in to build with; empty for none.
        feature: &'static str,
    },
    /// From its owner, who has registered it.
    Registered,
    /// Only from the system's own packages.
    System {
        /// The name of the Debian package.
        debian: &'static str,
    },
}

/// What is called with a call's operands.
pub type Called = Box<dyn Fn(&mut Call<'_>) -> Result<(), KernelError>>;

/// A case that a peer is ready to be called on. Everything here runs on the worker's own thread.
pub struct Ready {
    /// What the library reports about itself.
    pub receipt: Receipt,
    /// Gives it another number of threads; none if it has one only.
    pub set_threads: Option<Box<dyn Fn(usize)>>,
    /// One call.
    pub run: Called,
    /// What brings operands to a device before each call, outside the clock; none where calls find
    /// them. Its results come home by `settle`.
    pub place: Option<Called>,
    /// What follows calls after the clock has stopped: brings the last one's result into the
    /// outputs, where a library returns it in memory of its own, and sends threads to sleep.
    pub settle: Option<Called>,
    /// A call of the library with nothing to do, which measures the overhead of a call.
    pub empty: Option<Box<dyn Fn()>>,
    /// Memory that calls use beside their operands.
    pub memory: CallMemory,
    /// The times of the calls since this was last asked, on the clock of its device; none on the
    /// host.
    pub device_times: Option<Box<dyn Fn() -> DeviceTimes>>,
}

/// Memory that calls use beside their operands.
#[derive(Default)]
pub struct CallMemory {
    /// Bytes of scratch memory for this many threads; none if it uses none.
    pub workspace_bytes: Option<Box<dyn Fn(usize) -> usize>>,
    /// How weights are packed outside the timed calls; none if they are not.
    pub packing: Option<Packing>,
}

/// How weights are packed before calls.
pub struct Packing {
    /// Bytes of the memory that they are packed into, at least 1.
    pub bytes: usize,
    /// Packs the weights of a call into that memory.
    pub pack: Pack,
}

/// What packs the weights of a call.
pub type Pack = Box<dyn Fn(&mut Call<'_>, &mut [u8]) -> Result<(), KernelError>>;

/// The names of a table of ops.
pub(crate) const fn names<T, const COUNT: usize>(
    table: &[(&'static str, T)],
) -> [&'static str; COUNT] {
    let mut names = [""; COUNT];
    let mut place = 0;
    while place < COUNT {
        names[place] = table[place].0;
        place += 1;
    }
    names
}
