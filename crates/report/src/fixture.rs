//! Fixed records for the tests of this crate.

use proofmark_schema::isolation::Confinement;
use proofmark_schema::memory::CacheState;
use proofmark_schema::precision::Precision;
use proofmark_schema::probe::Unit;
use proofmark_schema::proof::{Errors, Proof, Refusal, Stage, StageReport, Worst};
use proofmark_schema::quantity::Interval;
use proofmark_schema::race::{CallInputs, Comparison, Verdict};
use proofmark_schema::record::{Bound, Judged, Limits, Performance, Record, ShapeRoles, SliceSpan};
use proofmark_schema::{Case, ErrorContract, FORMAT_VERSION, Outcome, Receipt, Reproducibility};
use proofmark_schema::{ContenderId, DType, Memory, Work};

pub(crate) fn proof(contender: &str) -> Proof {
    let case: Case = "matmul:f32[b=1,m=64,n=32,k=63]".parse().unwrap();
    let contender: ContenderId = contender.parse().unwrap();
    let stage = |stage, checks| StageReport { stage, checks, note: String::new() };
    Proof {
        case,
        contender,
        threads: 1,
        seed: 7,
        outcome: Outcome::Proven,
        contract: ErrorContract::default(),
        stages: vec![stage(Stage::Shape, 1), stage(Stage::ZeroMean, 4)],
        errors: Errors { q_max: 1.5, q_rms: 0.25, ..Errors::default() },
        reproducibility: Reproducibility::Bitwise,
        precision: Precision::Sums(DType::F32),
        left: Vec::new(),
        confinement: Confinement::default(),
        refusal: None,
    }
}

fn interval(estimate: f64, share: f64) -> Interval {
    let (low, high) = (estimate * (1.0 - share), estimate * (1.0 + share));
    Interval { estimate, low, high, confidence: 0.95 }
}

fn record(contender: &str, wall_ns: f64, arm: u32) -> Record {
    let proof = proof(contender);
    let performance = Performance {
        wall_ns: interval(wall_ns, 0.01),
        trials: 6,
        slice_count: 60,
        cache: CacheState::hot(),
        pages: None,
        peak_bytes: 1_500_000,
        allocations_per_call: 0.0,
        allocated_bytes_per_call: Some(0.0),
        limits: Some(Limits {
            flops_per_second: 4e10,
            bytes_per_second: 1e10,
            bound_ns: 6000.0,
            bound: Some(Bound::Compute),
            unit: Some(Unit::F32Avx2),
        }),
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
        run: "r1".to_owned(),
        item: 0,
        case: proof.case.clone(),
        contender: proof.contender.clone(),
        threads: 1,
        memory: Memory::default(),
        receipt: Receipt::default(),
        isolation: proofmark_schema::Isolation::T1,
        work: Work { flops: 260_000, bytes_read: 12_000, bytes_written: 8000, transcendentals: 0 },
        shape: ShapeRoles { batch_size: 1, sequence_length: 64, tensor_dimension: 32 },
        uses: Vec::new(),
        imported: None,
        judged: Judged::Proven { proof, performance: Some(Box::new(performance)) },
    }
}

/// The first arm.
pub(crate) fn first() -> Record {
    record("native/scalar@scalar", 40_000.0, 0)
}

/// A first arm with another time.
pub(crate) fn with_time(wall_ns: f64) -> Record {
    record("native/scalar@scalar", wall_ns, 0)
}

/// A second arm that took a quarter of the first one's time.
pub(crate) fn compared() -> Record {
    let mut record = record("native/simd@avx2", 10_000.0, 1);
    if let Judged::Proven { performance: Some(performance), .. } = &mut record.judged {
        performance.comparison = Some(Comparison {
            against: "native/scalar@scalar".parse().unwrap(),
            ratio: interval(0.25, 0.02),
            verdict: Verdict::Faster,
            trials: 6,
        });
    }
    record
}

/// A proof that was refused at an element.
pub(crate) fn refused_proof() -> Proof {
    let worst = Worst {
        output: "c".to_owned(),
        index: vec![0, 3, 31],
        got: 0.0,
        want: 1.25,
        q: f64::INFINITY,
        limit: 16.0,
        inputs: "a=normal b=normal".to_owned(),
        nearby: vec![("a".to_owned(), "[1.0, 2.0]".to_owned())],
    };
    let mut proof = proof("native/simd@avx512");
    proof.outcome = Outcome::Wrong;
    proof.stages = vec![StageReport { stage: Stage::Shape, checks: 1, note: String::new() }];
    proof.errors = Errors::default();
    proof.refusal = Some(Refusal {
        outcome: Outcome::Wrong,
        stage: Some(Stage::Exact),
        reason: "c[0,3,31] is 0, not 1.25".to_owned(),
        worst: Some(Box::new(worst)),
        crash: None,
        repro: "proofmark prove matmul --seed 7".to_owned(),
    });
    proof
}

/// A record of [`refused_proof`].
pub(crate) fn refused() -> Record {
    let mut record = record("native/simd@avx512", 1.0, 2);
    record.judged = Judged::Refused { proof: refused_proof() };
    record
}
