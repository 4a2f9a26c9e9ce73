//! The race's own proof on this machine, today: false alarms, power, coverage.
//!
//! Every comparison is live: fresh workers, sequential looks, a verdict. The planted arm is the
//! same kernel on a case with one to five per cent more rows, so that the effect adds work and
//! nothing else.

use crate::prove::Admission;
use crate::race::looks_for;
use crate::{EngineError, Event, Listener, find_op};
use proofmark_analyze::is_match;
use proofmark_arena::Arena;
use proofmark_gate::Proven;
use proofmark_machine::StealWatch;
use proofmark_measure::{
    Clock, MonotonicClock, RaceRules, against_bare_loop, compare, ratio_of_first, rule,
    ruler_stability, time_of_call,
};
use proofmark_schema::conditions::RulerStability;
use proofmark_schema::device::HOST;
use proofmark_schema::race::Verdict;
use proofmark_schema::timing::{LoopOverhead, TimedComparison};
use proofmark_schema::{Case, ContenderId, Isa};
use proofmark_stats::{Stopping, clopper_pearson};
use std::collections::BTreeMap;

/// The class of kernels on a device.
const ON_DEVICE: char = 'D';

/// One kernel that comparisons are made with.
struct Track {
    class: char,
    /// A native kernel; on a device it is the op's usual one there.
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
    Track { class: 'S', kernel: "simd", case: "add:f32[b=1,s=100,d=256]", axis: "s", threads: 1 },
    Track { class: 'S', kernel: "simd", case: "matmul:f32[b=100,m=14,n=32,k=8]", axis: "b", threads: 1 },
    Track { class: 'M', kernel: "simd", case: "add:f32[b=1,s=100,d=4096]", axis: "s", threads: 1 },
    Track { class: 'M', kernel: "simd", case: "silu:f32[b=1,s=100,d=4096]", axis: "s", threads: 1 },
    Track { class: 'T', kernel: "parallel", case: "softmax:f32[b=1,s=200,d=512]", axis: "s", threads: 2 },
    Track { class: 'T', kernel: "parallel", case: "rms_norm:f32[b=1,s=200,d=1024]", axis: "s", threads: 2 },
    Track { class: 'L', kernel: "simd", case: "matmul:f32[b=100,m=28,n=64,k=256]", axis: "b", threads: 1 },
    Track { class: 'L', kernel: "simd", case: "softmax:f32[b=1,s=1000,d=2048]", axis: "s", threads: 1 },
    Track { class: ON_DEVICE, kernel: "", case: "rms_norm:f32[b=1,s=200,d=2048]", axis: "s", threads: 1 },
    Track { class: ON_DEVICE, kernel: "", case: "matmul:f32[b=100,m=32,n=64,k=64]", axis: "b", threads: 1 },
];

/// Planted slowdowns in per cent; 0 is the same code twice.
pub const PLANTED: [u64; 4] = [0, 1, 2, 5];

/// Confidence of the intervals whose coverage is counted.
const CONFIDENCE: f64 = 0.95;

/// What to compare, and how often.
#[derive(Clone, Debug)]
pub struct TimingRequest {
    /// Comparisons for each kernel and planted effect.
    pub comparisons: usize,
    /// Classes of kernels, by letter.
    pub classes: String,
    /// Patterns of devices.
    pub devices: Vec<String>,
    /// Only the kernels whose case contains this.
    pub track: String,
    /// Planted slowdowns in per cent.
    pub planted: Vec<u64>,
    /// Seconds after which a comparison starts no further trial.
    pub seconds: f64,
    /// Seed of inputs, layouts and orders.
    pub seed: u64,
    /// Highest path.
    pub cap: Isa,
}

/// Runs the comparisons, one kernel and effect after the other.
///
/// # Errors
/// If no kernel is asked for, or one cannot be proven: then nothing can be said. A race that
/// cannot be judged is a comparison without a verdict, and the rest goes on.
pub fn selftest_timing(
    arena: &Arena,
    request: &TimingRequest,
    listener: &dyn Listener,
) -> Result<Vec<TimedComparison>, EngineError> {
    let has = |device: &str| request.devices.iter().any(|it| is_match(it, device));
    let (has_host, has_device) = (has(HOST), has(proofmark_opencl::name_of_first()));
    if let (true, Err(absent)) = (has_device, proofmark_opencl::found()) {
        listener.hear(&Event::Note(format!("ABSENT opencl: {absent}")));
    }
    let has_device = has_device && proofmark_opencl::found().is_ok();
    let asked = |track: &&Track| {
        let is_here = if track.class == ON_DEVICE { has_device } else { has_host };
        is_here && request.classes.contains(track.class) && track.case.contains(&request.track)
    };
    let admission = Admission::new(arena, request.seed, request.cap, listener);
    let mut comparisons = Vec::new();
    for track in TRACKS.iter().filter(asked) {
        let case: Case = track.case.parse()?;
        let of_device = proofmark_opencl::usual(&case.op).filter(|_| track.class == ON_DEVICE);
        let who = of_device.unwrap_or_else(|| ContenderId::native(track.kernel, request.cap));
        for &planted in &request.planted {
            let slower = grown(&case, track.axis, planted);
            let base = admit(&admission, &case, &who, track.threads)?;
            let field = [base, admit(&admission, &slower, &who, track.threads)?];
            for number in 0..request.comparisons {
                let compared = one(&field, track, request, planted, number)?;
                if let Some(fault) = &compared.fault {
                    listener.hear(&Event::Note(fault.clone()));
                }
                listener.hear(&Event::Note(format!(
                    "{} {} +{planted} %, {} of {}: {} {:.4} in {:.1} s",
                    track.class,
                    track.case,
                    number + 1,
                    request.comparisons,
                    compared.verdict.name(),
                    compared.ratio,
                    compared.seconds
                )));
                comparisons.push(compared);
            }
        }
    }
    if comparisons.is_empty() {
        let known: Vec<&str> = TRACKS.iter().map(|track| track.case).collect();
        let message = format!("no kernel is asked for; there are {}", known.join(", "));
        return Err(EngineError::Unfit(message));
    }
    Ok(comparisons)
}

fn one(
    field: &[Proven<'_>; 2],
    track: &Track,
    request: &TimingRequest,
    planted: u64,
    number: usize,
) -> Result<TimedComparison, EngineError> {
    let seed = proofmark_tensor::mix(request.seed, planted, number as u64);
    let budget_ns = (request.seconds * 1e9) as u64;
    let rules = RaceRules { budget_ns, ..RaceRules::standard(seed) };
    let case = field[0].case();
    let looks = looks_for(find_op(&case.op)?, case, track.threads);
    let first_look = looks.at()[0] as usize;
    let stopping = Stopping::with_looks(looks);
    let steal = StealWatch::start();
    let start = MonotonicClock.now_ns();
    let ruled = rule(field, &rules, &stopping, &MonotonicClock);
    let seconds = (MonotonicClock.now_ns() - start) as f64 / 1e9;
    // These values hold for a comparison without a verdict; measurements made before it are kept.
    let mut compared = TimedComparison {
        class: track.class,
        contender: field[0].contender().to_string(),
        case: track.case.to_owned(),
        planted_percent: planted,
        number,
        verdict: Verdict::Undecided,
        ratio: 1.0,
        low: 0.0,
        high: f64::MAX,
        fixed_low: None,
        fixed_high: None,
        trials: 0,
        seconds,
        detectable_percent: None,
        ruler_percent: BTreeMap::new(),
        stolen_percent: 100.0 * steal.share(),
        fault: None,
    };
    match ruled {
        Err(fault) => compared.fault = Some(fault.to_string()),
        Ok((race, ruling)) => {
            let fixed = ratio_of_first(&race, 0, 1, first_look, CONFIDENCE);
            let ratio = ruling.comparison.ratio;
            compared.verdict = ruling.comparison.verdict;
            (compared.ratio, compared.low, compared.high) = (ratio.estimate, ratio.low, ratio.high);
            compared.fixed_low = fixed.map(|interval| interval.low);
            compared.fixed_high = fixed.map(|interval| interval.high);
            compared.trials = ruling.comparison.trials;
            compared.seconds = ruling.seconds;
            compared.detectable_percent = ruling.detectable.map(|share| 100.0 * share);
            let percent =
                |ruler: &RulerStability| (ruler.ruler.name().to_owned(), 100.0 * ruler.variation);
            compared.ruler_percent = ruler_stability(&race).iter().map(percent).collect();
        }
    }
    Ok(compared)
}

/// What a self-test of the race amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimingVerdict {
    /// Its promises held.
    Held,
    /// The same code was called different more often than chance allows at the promised rate, or a
    /// planted slowdown was called faster.
    FalseAlarms,
    /// A tenth of the planted effects, or more, were not found.
    Blind,
}

/// The rate of false alarms that is promised, and the confidence with which more is shown.
const PROMISED: f64 = 0.01;
const SHOWN: f64 = 0.99;

/// Judges a self-test.
pub fn timing_verdict(comparisons: &[TimedComparison]) -> TimingVerdict {
    let of = |is_planted: bool, is_hit: &dyn Fn(Verdict) -> bool| {
        let kind = comparisons.iter().filter(|one| (one.planted_percent > 0) == is_planted);
        let hits = kind.clone().filter(|one| is_hit(one.verdict)).count() as u64;
        (hits, kind.count() as u64)
    };
    let decided = |verdict: Verdict| matches!(verdict, Verdict::Faster | Verdict::Slower);
    let (alarms, same) = of(false, &decided);
    let rate = clopper_pearson(alarms, same, SHOWN);
    let (reversed, _) = of(true, &|verdict| verdict == Verdict::Faster);
    if reversed > 0 || rate.is_some_and(|rate| rate.low > PROMISED) {
        return TimingVerdict::FalseAlarms;
    }
    let (found, planted) = of(true, &|verdict| verdict == Verdict::Slower);
    if 10 * found < 9 * planted { TimingVerdict::Blind } else { TimingVerdict::Held }
}

/// Cases of about half a microsecond and five.
const BARE: [&str; 2] = ["add:f32[b=1,s=64,d=64]", "rms_norm:f32[b=1,s=64,d=512]"];
const BARE_TRIALS: u32 = 40;

/// Measures what slices add to calls of half a microsecond and of five, against a bare loop.
///
/// # Errors
/// If a kernel cannot be proven or fails while measured.
pub fn loop_overheads(
    arena: &Arena,
    seed: u64,
    cap: Isa,
    listener: &dyn Listener,
) -> Result<Vec<LoopOverhead>, EngineError> {
    let admission = Admission::new(arena, seed, cap, listener);
    let who = ContenderId::native("simd", cap);
    let one = |text: &&str| {
        let case: Case = text.parse()?;
        let proven = admit(&admission, &case, &who, 1)?;
        let rules = RaceRules { most_trials: BARE_TRIALS, ..RaceRules::standard(seed) };
        let failed = |said: String| EngineError::SelfTest { what: (*text).to_owned(), said };
        let raced = against_bare_loop(&proven, &rules);
        let (race, empty_ns) = raced.map_err(|fault| failed(fault.to_string()))?;
        let too_few = || failed("it gave too few slices".to_owned());
        let ratio = compare(&race, 0, 1, CONFIDENCE).ok_or_else(too_few)?.ratio;
        let call_ns = time_of_call(&race, 0, CONFIDENCE).ok_or_else(too_few)?.estimate;
        let calls = race.slices.iter().map(|slice| f64::from(slice.calls)).fold(1.0, f64::max);
        // The overhead that the loop adds to each call, and the call's share of the clock readings.
        let percent = |ratio: f64| 100.0 * (ratio - 1.0 + empty_ns / (calls * call_ns));
        Ok(LoopOverhead {
            contender: who.to_string(),
            case: case.to_string(),
            call_ns,
            percent: percent(ratio.estimate),
            low_percent: percent(ratio.low),
            high_percent: percent(ratio.high),
        })
    };
    BARE.iter().map(one).collect()
}

/// The case with `percent` per cent more along an axis.
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
    admission: &Admission<'a>,
    case: &Case,
    who: &ContenderId,
    threads: usize,
) -> Result<Proven<'a>, EngineError> {
    let admitted = admission.admit(find_op(&case.op)?, case, who, threads);
    admitted.map_err(|proof| EngineError::refused(who, case, &proof))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_self_test_fails_on_false_alarms_and_on_effects_it_does_not_see() {
        let of = |planted_percent, verdict| TimedComparison {
            class: 'S',
            contender: "native/simd".to_owned(),
            case: "add:f32[b=1,s=1,d=64]".to_owned(),
            planted_percent,
            number: 0,
            verdict,
            ratio: 1.0,
            low: 1.0,
            high: 1.0,
            fixed_low: None,
            fixed_high: None,
            trials: 5,
            seconds: 1.0,
            detectable_percent: None,
            ruler_percent: BTreeMap::new(),
            stolen_percent: 0.0,
            fault: None,
        };
        let many = |count, planted, verdict| vec![of(planted, verdict); count];
        let judged = |parts: &[Vec<TimedComparison>]| timing_verdict(&parts.concat());
        let same = many(48, 0, Verdict::Same);
        assert_eq!(judged(&[same.clone(), many(9, 5, Verdict::Slower)]), TimingVerdict::Held);
        let one = many(1, 0, Verdict::Slower);
        assert_eq!(judged(&[same.clone(), one]), TimingVerdict::Held, "1 of 49 is chance");
        let five = many(5, 0, Verdict::Slower);
        assert_eq!(judged(&[same.clone(), five]), TimingVerdict::FalseAlarms);
        let reversed = many(1, 5, Verdict::Faster);
        assert_eq!(judged(&[same, reversed]), TimingVerdict::FalseAlarms);
        let unseen = [many(8, 5, Verdict::Slower), many(2, 5, Verdict::Undecided)];
        assert_eq!(judged(&unseen), TimingVerdict::Blind);
    }

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
