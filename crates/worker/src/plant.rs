//! Effects planted into a worker on purpose: how the tool shows that its own checks find them.
//!
//! A planted worker says so in its receipt, so that its numbers can never pass for real ones.

use proofmark_contract::{Call, Kernel, KernelError, Role, Signature, Unsupported};
use proofmark_schema::{Case, ErrorContract, Isa};
use std::fmt;
use std::hint::black_box;
use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// What is planted; nothing by default. As text `slower=7,memory=25,allocations=1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plant {
    /// Percentage of the calls that are made twice. The slowdown is exact if a slice holds hundreds
    /// of calls.
    pub slower: u32,
    /// Additional memory that is kept, in per cent of the operands.
    pub memory: u32,
    /// Heap allocations that each call makes.
    pub allocations: u32,
}

impl FromStr for Plant {
    type Err = String;

    fn from_str(text: &str) -> Result<Plant, String> {
        let mut plant = Plant::default();
        for part in text.split(',') {
            let read =
                part.split_once('=').and_then(|(name, size)| Some((name, size.parse().ok()?)));
            match read {
                Some(("slower", size)) => plant.slower = size,
                Some(("memory", size)) => plant.memory = size,
                Some(("allocations", size)) => plant.allocations = size,
                _ => return Err(format!("`{part}`: write slower=7, memory=25 or allocations=1")),
            }
        }
        Ok(plant)
    }
}

impl fmt::Display for Plant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Plant { slower, memory, allocations } = self;
        write!(f, "slower={slower},memory={memory},allocations={allocations}")
    }
}

/// A kernel with something planted into it.
pub(crate) struct Planted {
    kernel: &'static dyn Kernel,
    plant: Plant,
    operand_bytes: u64,
    /// Hundredths of a call that are owed.
    owed: AtomicU32,
    kept: OnceLock<Vec<u8>>,
}

impl Planted {
    /// Wraps the kernel, or returns it as it is if nothing is planted. What is planted stays for
    /// the life of the process. A call in place is made only once, because a second call would be
    /// wrong.
    pub(crate) fn into(
        kernel: &'static dyn Kernel,
        mut plant: Plant,
        signature: &Signature,
    ) -> &'static dyn Kernel {
        if plant == Plant::default() {
            return kernel;
        }
        if signature.outputs().iter().any(|operand| operand.role == Role::InOut) {
            plant.slower = 0;
        }
        let operand_bytes = signature.bytes();
        let (owed, kept) = (AtomicU32::new(0), OnceLock::new());
        Box::leak(Box::new(Planted { kernel, plant, operand_bytes, owed, kept }))
    }
}

impl Kernel for Planted {
    fn name(&self) -> &'static str {
        self.kernel.name()
    }

    fn summary(&self) -> &'static str {
        self.kernel.summary()
    }

    fn isas(&self) -> &'static [Isa] {
        self.kernel.isas()
    }

    fn is_parallel(&self) -> bool {
        self.kernel.is_parallel()
    }

    fn is_serial_twin(&self) -> bool {
        self.kernel.is_serial_twin()
    }

    fn supports(&self, case: &Case, isa: Isa) -> Result<(), Unsupported> {
        self.kernel.supports(case, isa)
    }

    fn contract(&self, case: &Case) -> ErrorContract {
        self.kernel.contract(case)
    }

    fn workspace_bytes(&self, case: &Case, isa: Isa, threads: usize) -> usize {
        self.kernel.workspace_bytes(case, isa, threads)
    }

    fn prepared_bytes(&self, case: &Case, isa: Isa) -> usize {
        self.kernel.prepared_bytes(case, isa)
    }

    fn prepare(&self, call: &mut Call<'_>, prepared: &mut [u8]) -> Result<(), KernelError> {
        self.kernel.prepare(call, prepared)
    }

    fn set_threads(&self, threads: usize) {
        self.kernel.set_threads(threads);
    }

    fn settles(&self) -> bool {
        self.kernel.settles()
    }

    fn settle(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        self.kernel.settle(call)
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        self.kernel.run(call)?;
        let mut owed = self.owed.load(Relaxed) + self.plant.slower;
        while owed >= 100 {
            owed -= 100;
            self.kernel.run(call)?;
        }
        self.owed.store(owed, Relaxed);
        if self.plant.memory > 0 {
            let bytes = self.operand_bytes * u64::from(self.plant.memory) / 100;
            black_box(self.kept.get_or_init(|| vec![1; bytes as usize]));
        }
        for _ in 0..self.plant.allocations {
            black_box(Vec::<u8>::with_capacity(64));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plant_parses_back_and_a_slip_says_what_can_be_written() {
        let plant = Plant { slower: 7, memory: 25, allocations: 1 };
        assert_eq!(plant.to_string().parse(), Ok(plant));
        assert_eq!("slower=7".parse(), Ok(Plant { slower: 7, ..Plant::default() }));
        for slip in ["", "faster=7", "slower", "slower=x"] {
            let said = slip.parse::<Plant>().unwrap_err();
            assert!(said.contains("slower=7"), "{said}");
        }
    }
}
