//! What the store promises, tested through its front door; this file makes the runs.

mod catalogue;
mod corruption;
mod crash;
mod faults;
mod sealing;
mod writers;

use crate::{ItemEntry, RunWriter, Store};
use proofmark_schema::conditions::{Reading, Ruler};
use proofmark_schema::isolation::{Confinement, Isolation};
use proofmark_schema::machine::MachineFacts;
use proofmark_schema::memory::CacheState;
use proofmark_schema::plan::{Item, Plan, RunKind};
use proofmark_schema::precision::Precision;
use proofmark_schema::proof::{Errors, Proof};
use proofmark_schema::quantity::Interval;
use proofmark_schema::race::{Audit, CallInputs, Race, SeenFaster, Slice, Trial};
use proofmark_schema::record::{Judged, Performance, Record, ShapeRoles, SliceSpan};
use proofmark_schema::{
    Case, ContenderId, DType, ErrorContract, FORMAT_VERSION, Isa, Memory, Outcome, Receipt,
    Reproducibility, Work,
};
use std::path::PathBuf;
use tempfile::TempDir;

pub(crate) const RUN: &str = "0193a1b2-7c4d-7e5f-8a9b-0c1d2e3f4a5b";

fn case() -> Case {
    "rms_norm:f32[b=2,s=3,d=8;eps=1e-6]".parse().unwrap()
}

fn contender() -> ContenderId {
    ContenderId::native("simd", Isa::Avx2)
}

fn plan(items: u64) -> Plan {
    let item = |index| Item {
        index,
        case: case(),
        field: vec![contender()],
        threads: 1,
        memory: Memory::default(),
        uses: Vec::new(),
    };
    Plan {
        format: FORMAT_VERSION,
        seed: 7,
        kind: RunKind::Quick,
        items: (0..items).map(item).collect(),
        absent: Vec::new(),
        proof_seconds: 0.5,
        estimate_seconds: 1.5,
        part: None,
    }
}

fn machine() -> MachineFacts {
    MachineFacts {
        format: FORMAT_VERSION,
        cpu: "a processor".to_owned(),
        arch: "x86_64".to_owned(),
        cpus: vec![0, 1],
        memory_bytes: 1 << 30,
        caches: Vec::new(),
        features: Vec::new(),
        isa: Isa::Avx2,
        kernel: "6.0".to_owned(),
        hypervisor: None,
        huge_pages: "madvise".to_owned(),
        governor: None,
        hardware_counters: false,
        fingerprint: "f".to_owned(),
    }
}

/// A race with this many slices, whose times are like those of a machine.
pub(crate) fn race(slices: u32) -> Race {
    let slice = |n: u32| Slice {
        trial: n / 96,
        block: n / 4 % 24,
        position: n % 4,
        arm: u32::from(n % 4 == 1 || n % 4 == 2),
        calls: 40,
        start_ns: 81_234_567_890_123 + u64::from(n) * 104_000,
        wall_ns: 100_000 + u64::from(n * 7919 % 1000),
        cpu_ns: 99_900 + u64::from(n * 7919 % 1000),
        outer_ns: 103_000 + u64::from(n * 104_729 % 1000),
        switches: u32::from(n.is_multiple_of(50)),
        faults: 0,
        allocations: 0,
        allocated_bytes: 0,
        used_ns: 118_000 + u64::from(n * 7919 % 1000),
        own_ns: 118_000,
        primed: 1,
    };
    Race {
        case: case(),
        arms: vec![contender(), ContenderId::native("scalar", Isa::Scalar)],
        threads: 1,
        seed: u64::MAX,
        trials: vec![Trial {
            seed: 3,
            operand_shift: 64,
            environment_pad: 100,
            heap_pad: 4096,
            mapping_pad: 7,
        }],
        slices: (0..slices).map(slice).collect(),
        checked: 48,
        peak_bytes: vec![4096, 8192],
        grown_bytes: vec![0, 4096],
        device: Vec::new(),
        cache: vec![CacheState::hot(); 2],
        pages: Vec::new(),
        readings: (0..3).flat_map(readings).collect(),
        inputs: CallInputs::Perturbed,
        audits: vec![Audit { trial: 0, arm: 1, calls: 24, new_ns: 2_500, same_ns: 2_500 }],
        seen_faster: vec![SeenFaster { arm: 1, times: 3.5 }],
        quiet: None,
    }
}

/// The readings before a block.
fn readings(block: u32) -> impl Iterator<Item = Reading> {
    let ruler = move |ruler| Reading { trial: 0, block, ruler, wall_ns: 8000 + u64::from(block) };
    Ruler::ALL.into_iter().map(ruler)
}

fn proof() -> Proof {
    Proof {
        case: case(),
        contender: contender(),
        threads: 1,
        seed: 7,
        outcome: Outcome::Proven,
        contract: ErrorContract::default(),
        stages: Vec::new(),
        errors: Errors { q_max: 0.1, max_relative: f64::INFINITY, ..Errors::default() },
        reproducibility: Reproducibility::Bitwise,
        precision: Precision::Sums(DType::F32),
        left: Vec::new(),
        confinement: Confinement::default(),
        refusal: None,
    }
}

fn record(item: u64) -> Record {
    let performance = Performance {
        wall_ns: Interval { estimate: 2500.1, low: 2400.0, high: 2600.3, confidence: 0.95 },
        trials: 6,
        slice_count: 24,
        cache: CacheState::hot(),
        pages: None,
        peak_bytes: 4096,
        allocations_per_call: 0.0,
        allocated_bytes_per_call: Some(0.0),
        limits: None,
        comparison: None,
        conditions: None,
        best_peer: None,
        inputs: CallInputs::Perturbed,
        seen_faster: None,
        grown_bytes: None,
        device: None,
        slices: SliceSpan { race: item, arm: 0 },
    };
    Record {
        format: FORMAT_VERSION,
        run: RUN.to_owned(),
        item,
        case: case(),
        contender: contender(),
        threads: 1,
        memory: Memory::default(),
        receipt: Receipt::default(),
        isolation: Isolation::T1,
        work: Work::default(),
        shape: ShapeRoles::default(),
        uses: Vec::new(),
        imported: None,
        judged: Judged::Proven { proof: proof(), performance: Some(Box::new(performance)) },
    }
}

/// An item that only raced.
pub(crate) fn item_with_race(item: u64) -> ItemEntry {
    ItemEntry { item, race: Some(race(3)), decided: None, records: Vec::new() }
}

/// Item 0 has a record, item 1 a race, item 2 neither, and so on.
fn item(item: u64) -> ItemEntry {
    match item % 3 {
        0 => ItemEntry { item, race: None, decided: None, records: vec![record(item)] },
        1 => item_with_race(item),
        _ => ItemEntry { item, race: None, decided: None, records: Vec::new() },
    }
}

/// A store in a directory that goes away with it.
struct Place {
    directory: TempDir,
    store: Store,
}

impl Place {
    fn new() -> Place {
        // The tests make thousands of syncs, which are fast on a memory file system. No test here
        // simulates power loss.
        let memory = tempfile::tempdir_in("/dev/shm");
        let directory = memory.or_else(|_| tempfile::tempdir()).unwrap();
        let store = Store::open(directory.path()).unwrap();
        Place { directory, store }
    }

    /// A place with one run that recorded the first `done` of `planned` items.
    fn with_run(planned: u64, done: u64) -> (Place, RunWriter) {
        let place = Place::new();
        let mut writer = place.store.create(RUN, &plan(planned), &machine()).unwrap();
        for n in 0..done {
            writer.append_item(&item(n)).unwrap();
        }
        (place, writer)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join("runs").join(RUN).join(name)
    }
}

fn items(count: u64) -> Vec<ItemEntry> {
    (0..count).map(item).collect()
}
