//! Fixed records for the tests of this crate.

use proofmark_schema::isolation::Confinement;
use proofmark_schema::memory::CacheState;
use proofmark_schema::precision::Precision;
use proofmark_schema::proof::{Errors, Proof, Refusal, Stage};
use proofmark_schema::quantity::Interval;
use proofmark_schema::race::{CallInputs, Comparison, Verdict};
use proofmark_schema::record::{Judged, Limits, Performance, Record, ShapeRoles, SliceSpan};
use proofmark_schema::{Case, ErrorContract, FORMAT_VERSION, Outcome, Receipt, Reproducibility};
use proofmark_schema::{ContenderId, DType, Memory, Work};

fn proof(case: &Case, contender: &ContenderId) -> Proof {
    Proof {
        case: case.clone(),
        contender: contender.clone(),
        threads: 1,
        seed: 7,
        outcome: Outcome::Proven,
        contract: ErrorContract::default(),
        stages: Vec::new(),
        errors: Errors::default(),
        reproducibility: Reproducibility::Bitwise,
        precision: Precision::Sums(DType::F32),
        left: Vec::new(),
        confinement: Confinement::default(),
        refusal: None,
    }
}

/// A proven contender with an interval of ±1 % around its time.
pub(crate) fn timed(contender: &str, arm: u32, wall_ns: f64) -> Record {
    let case: Case = "matmul:f32[m=8,n=8,k=8]".parse().unwrap();
    let contender: ContenderId = contender.parse().unwrap();
    let interval =
        Interval { estimate: wall_ns, low: wall_ns * 0.99, high: wall_ns * 1.01, confidence: 0.95 };
    let performance = Performance {
        wall_ns: interval,
        trials: 6,
        slice_count: 60,
        cache: CacheState::hot(),
        pages: None,
        peak_bytes: 3_000_000,
        allocations_per_call: 2.0,
        allocated_bytes_per_call: Some(96.0),
        limits: None,
        comparison: None,
        conditions: None,
        best_peer: None,
        inputs: CallInputs::Perturbed,
        seen_faster: None,
        grown_bytes: None,
        device: None,
        slices: SliceSpan { race: 0, arm },
    };
    Record {
        format: FORMAT_VERSION,
        run: "run".to_owned(),
        item: u64::from(arm),
        threads: 1,
        memory: Memory::default(),
        receipt: Receipt::default(),
        isolation: proofmark_schema::Isolation::T1,
        work: Work {
            flops: 2_000_000_000,
            bytes_read: 600_000_000,
            bytes_written: 400_000_000,
            transcendentals: 0,
        },
        shape: ShapeRoles::default(),
        imported: None,
        uses: Vec::new(),
        judged: Judged::Proven {
            proof: proof(&case, &contender),
            performance: Some(Box::new(performance)),
        },
        case,
        contender,
    }
}

/// The performance of a proven record, to be changed.
pub(crate) fn performance(record: &mut Record) -> &mut Performance {
    match &mut record.judged {
        Judged::Proven { performance: Some(performance), .. } => performance,
        _ => panic!("not measured"),
    }
}

/// As [`timed`], with a ratio (low, estimate, high) to the first arm.
pub(crate) fn compared(contender: &str, arm: u32, wall_ns: f64, r: (f64, f64, f64)) -> Record {
    let mut record = timed(contender, arm, wall_ns);
    performance(&mut record).comparison = Some(Comparison {
        against: "native/scalar".parse().unwrap(),
        ratio: Interval { low: r.0, estimate: r.1, high: r.2, confidence: 0.95 },
        verdict: Verdict::Undecided,
        trials: 6,
    });
    record
}

/// A record on which every metric has a round value.
pub(crate) fn example() -> Record {
    let mut record = compared("native/simd@avx2", 1, 1e8, (3.9, 4.0, 4.1));
    performance(&mut record).limits = Some(Limits {
        flops_per_second: 40e9,
        bytes_per_second: 40e9,
        bound_ns: 5e7,
        bound: None,
        unit: None,
    });
    record
}

/// A refused contender.
pub(crate) fn refused(outcome: Outcome) -> Record {
    let mut record = timed("native/simd@avx512", 2, 1.0);
    let mut proof = record.judged.proof().clone();
    proof.outcome = outcome;
    proof.refusal = Some(Refusal {
        outcome,
        stage: Some(Stage::Exact),
        reason: "q = 9 over the limit 0".to_owned(),
        worst: None,
        crash: None,
        repro: "proofmark prove matmul".to_owned(),
    });
    record.judged = Judged::Refused { proof };
    record
}
