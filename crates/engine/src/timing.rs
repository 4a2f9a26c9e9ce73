//! The race's own proof on this machine, today: false alarms, power, coverage.
//!
//! Every comparison is live: fresh workers, sequential looks, a verdict. The planted arm is the
//! same kernel on a case with one to five per cent more rows, so that the effect adds work and
//! nothing else.

use crate::prove::rules;
use crate::{EngineError, Event, Listener, find_op};
use proofmark_arena::Arena;
use proofmark_gate::{Depth, Proven, certify};
use proofmark_measure::{MonotonicClock, RaceRules, compare, rule};
use proofmark_schema::race::Verdict;
use proofmark_schema::{Case, ContenderId, Isa};
use proofmark_stats::{Looks, Stopping};

/// One kernel that comparisons are made with.
struct Track {
    /// `S`: one thread within the second-level cache; `M`: streaming; `T`: all processors;
    /// `L`: calls of a millisecond and more.
    class: char,
    kernel: &'static str,
    /// A case whose axis `axis` has the size 100 or a multiple of it.
    case: &'static str,
    axis: &'static str,
    threads: usize,
}

#[rustfmt::skip] // One line a track.
const TRACKS: &[Track] = &[
    Track { class: 'S', kernel: "simd", case: "rms_norm:f32[b=1,s=100,d=256]", axis: "s", threads: 1 },
    Track { class: 'S', kernel: "simd", case: "softmax:f32[b=1,s=100,d=64]", axis: "s", threads: 1 },
    Track { class: 'S', kernel: "simd", case: "add:f32[b=1,s=100,d=32]", axis: "s", threads: 1 },
    Track { class: 'S', kernel: "simd", case: "matmul:f32[b=100,m=14,n=32,k=8]", axis: "b", threads: 1 },
    Track { class: 'M', kernel: "simd", case: "add:f32[b=1,s=100,d=4096]", axis: "s", threads: 1 },
    Track { class: 'T', kernel: "parallel", case: "softmax:f32[b=1,s=200,d=512]", axis: "s", threads: 2 },
    Track { class: 'L', kernel: "simd", case: "matmul:f32[b=100,m=28,n=64,k=256]", axis: "b", threads: 1 },
];

/// Planted slowdowns in per cent; 0 is the same code twice.
pub const PLANTED: [u64; 4] = [0, 1, 2, 5];

/// Seconds a comparison may take.
const SECONDS: u64 = 30;

/// What the comparisons of one track and one planted effect said.
#[derive(Clone, Debug)]
pub struct TimingRow {
    /// The class of the kernel.
    pub class: char,
    /// The contender.
    pub contender: String,
    /// The case.
    pub case: String,
    /// The planted effect in per cent.
    pub planted: u64,
    /// Comparisons made.
    pub comparisons: usize,
    /// Verdicts SLOWER: false alarms where nothing is planted, finds where something is.
    pub slower: usize,
    /// Verdicts FASTER: false alarms where nothing is planted, wrong signs where something is.
    pub faster: usize,
    /// Verdicts SAME.
    pub same: usize,
    /// 95 % intervals over all trials that hold the planted ratio.
    pub covered: usize,
    /// Seconds to the verdict, sorted.
    pub seconds: Vec<f64>,
    /// Detectable effects stated, as shares.
    pub detectable: Vec<f64>,
}

/// Runs `comparisons` live comparisons for each track and planted effect.
///
/// # Errors
/// If a kernel cannot be proven or fails while measured: then nothing can be said.
pub fn selftest_timing(
    arena: &Arena,
    comparisons: usize,
    classes: &str,
    seed: u64,
    cap: Isa,
    listener: &dyn Listener,
) -> Result<Vec<TimingRow>, EngineError> {
    let mut rows = Vec::new();
    for track in TRACKS.iter().filter(|track| classes.contains(track.class)) {
        let case: Case = track.case.parse()?;
        let who = ContenderId::native(track.kernel, cap);
        for planted in PLANTED {
            let base = || admit(arena, track, &case, &who, seed);
            let slower = grown(&case, track.axis, planted);
            let field = [base()?, admit(arena, track, &slower, &who, seed)?];
            let mut row = TimingRow {
                class: track.class,
                contender: who.to_string(),
                case: case.to_string(),
                planted,
                comparisons: 0,
                slower: 0,
                faster: 0,
                same: 0,
                covered: 0,
                seconds: Vec::new(),
                detectable: Vec::new(),
            };
            for number in 0..comparisons {
                let seed = proofmark_tensor::mix(seed, planted, number as u64);
                one(&field, track, planted, seed, &mut row)?;
            }
            row.seconds.sort_by(f64::total_cmp);
            listener.hear(&Event::Note(format!(
                "{} {} +{planted} %: {} slower, {} faster, {} same of {}",
                row.class, row.case, row.slower, row.faster, row.same, row.comparisons
            )));
            rows.push(row);
        }
    }
    Ok(rows)
}

fn one(
    field: &[Proven<'_>; 2],
    track: &Track,
    planted: u64,
    seed: u64,
    row: &mut TimingRow,
) -> Result<(), EngineError> {
    let looks = if track.class == 'S' { Looks::short() } else { Looks::long() };
    let rules = RaceRules { budget_ns: SECONDS * 1_000_000_000, ..RaceRules::standard(seed) };
    let stopping = Stopping::with_looks(looks);
    let (race, ruling) = rule(field, &rules, &stopping, &MonotonicClock)
        .map_err(|fault| EngineError::Nothing(fault.to_string()))?;
    row.comparisons += 1;
    match ruling.comparison.verdict {
        Verdict::Slower => row.slower += 1,
        Verdict::Faster => row.faster += 1,
        Verdict::Same => row.same += 1,
        Verdict::Undecided => {}
    }
    let truth = 1.0 + planted as f64 / 100.0;
    let holds = |low: f64, high: f64| (low..=high).contains(&truth);
    let interval = compare(&race, 0, 1, 0.95).map(|comparison| comparison.ratio);
    row.covered += usize::from(interval.is_some_and(|interval| holds(interval.low, interval.high)));
    row.seconds.push(ruling.seconds);
    row.detectable.extend(ruling.detectable);
    Ok(())
}

/// The case with so many per cent more along an axis.
fn grown(case: &Case, axis: &str, percent: u64) -> Case {
    let mut case = case.clone();
    for (name, size) in &mut case.axes {
        if name == axis {
            *size += *size * percent / 100;
        }
    }
    case
}

fn admit<'a>(
    arena: &'a Arena,
    track: &Track,
    case: &Case,
    who: &ContenderId,
    seed: u64,
) -> Result<Proven<'a>, EngineError> {
    let entry = find_op(&case.op)?;
    let rules = rules(seed, track.threads, Vec::new(), Depth::Sampled);
    // The whole portfolio is `prove`'s business; here the kernel must be right where it is timed.
    let certificate = certify(arena, entry.op, who, case.dtype, std::slice::from_ref(case), &rules);
    certificate.prove(arena, entry.op, case, &rules).map_err(|proof| {
        let reason = proof.refusal.map_or_else(String::new, |refusal| refusal.reason);
        EngineError::Nothing(format!("{who} on {case}: {reason}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_planted_effect_is_exact() {
        for track in TRACKS {
            let case: Case = track.case.parse().unwrap();
            let size = case.size(track.axis).unwrap();
            for planted in PLANTED {
                let grown = grown(&case, track.axis, planted).size(track.axis).unwrap();
                assert_eq!(grown * 100, size * (100 + planted), "{}", track.case);
            }
        }
    }
}
