//! Red flags: what makes a number, a contender or a whole run doubtful.

use crate::cells::cells;
use crate::metrics;
use proofmark_schema::quantity::{Bytes, three_digits};
use proofmark_schema::record::{Performance, Record};
use proofmark_schema::{Family, Outcome};

/// Half-width of an interval above which a time is flagged.
const WIDE: f64 = 0.10;
/// Spread of slices above which a time is flagged: the middle half over the median.
const SPREAD: f64 = 0.20;
/// Memory over that of the leanest contender of the case, from which it is flagged.
const FAT: f64 = 1.5;
/// Excess in bytes below which memory is not flagged.
const FAT_FLOOR: u64 = 1 << 20;
/// Efficiency in per cent above which the limit, the work or the time is wrong.
const OVER: f64 = 105.0;

/// What kind of doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlagKind {
    /// Refused as wrong or not to be trusted.
    Wrong,
    /// Crashed or ran out of time.
    Failure,
    /// Faster than the machine allows.
    Impossible,
    /// A wide interval or unsteady slices.
    Variance,
    /// Much more memory than another needs for the same case.
    Memory,
    /// A kernel that allocates in the timed call.
    Allocation,
    /// Other processes used the machine, or it became slower.
    Noise,
    /// Not measured: unsupported, absent or skipped.
    Missing,
}

impl FlagKind {
    /// The word in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            FlagKind::Wrong => "wrong",
            FlagKind::Failure => "failure",
            FlagKind::Impossible => "impossible speed",
            FlagKind::Variance => "variance",
            FlagKind::Memory => "memory",
            FlagKind::Allocation => "allocation",
            FlagKind::Noise => "noisy machine",
            FlagKind::Missing => "not measured",
        }
    }

    /// What to do about it.
    pub fn advice(self) -> &'static str {
        match self {
            FlagKind::Wrong | FlagKind::Failure => "run the command of its refusal",
            FlagKind::Impossible => {
                "probe the machine again while it is quiet; if it stays, the \
                                     call skips work or keeps old results"
            }
            FlagKind::Variance => "let nothing else run (`proofmark doctor`), give it more trials",
            FlagKind::Memory => "look for copies of operands, and packing that is kept",
            FlagKind::Allocation => "take the buffer out of the call, or reuse it",
            FlagKind::Noise => "ratios hold, since arms are interleaved; measure times again",
            FlagKind::Missing => "`proofmark peers` shows how to get what is absent",
        }
    }

    /// Whether it casts doubt on what was measured; the others only tell of what was not.
    pub fn is_red(self) -> bool {
        !matches!(self, FlagKind::Missing)
    }
}

/// Doubts of one kind about one contender.
#[derive(Clone, Debug, PartialEq)]
pub struct Flag {
    /// The kind.
    pub kind: FlagKind,
    /// The contender it is about; `the machine` for noise.
    pub who: String,
    /// Cases it was seen on.
    pub cases: usize,
    /// The worst of them: the case and what was seen.
    pub worst: String,
    size: f64,
}

/// All flags, the gravest kind first and the most cases first within it.
///
/// `spread` gives the spread of a record's slices, where these are at hand.
pub fn flags<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    spread: &dyn Fn(&Record) -> Option<f64>,
) -> Vec<Flag> {
    let mut found: Vec<Flag> = Vec::new();
    for cell in cells(records) {
        let measured = cell.iter().filter_map(|record| record.judged.performance());
        let least = measured.map(|of| of.peak_bytes).filter(|&bytes| bytes > 0).min();
        for record in cell {
            for (kind, size, words) in seen(record, least, spread(record)) {
                let who = match kind {
                    FlagKind::Noise => "the machine".to_owned(),
                    _ => record.contender.to_string(),
                };
                note(
                    &mut found,
                    Flag { kind, who, cases: 1, worst: format!("{}: {words}", record.case), size },
                );
            }
        }
    }
    found.sort_by(|a, b| a.kind.cmp(&b.kind).then(b.cases.cmp(&a.cases)).then(a.who.cmp(&b.who)));
    found
}

fn note(found: &mut Vec<Flag>, flag: Flag) {
    let known = found.iter_mut().find(|of| (of.kind, &of.who) == (flag.kind, &flag.who));
    match known {
        Some(known) => {
            known.cases += 1;
            if flag.size > known.size {
                (known.size, known.worst) = (flag.size, flag.worst);
            }
        }
        None => found.push(flag),
    }
}

/// What is doubtful about one record: the kind, how much, and in words.
fn seen(record: &Record, least: Option<u64>, spread: Option<f64>) -> Vec<(FlagKind, f64, String)> {
    let mut seen = Vec::new();
    if let Some(refusal) = &record.judged.proof().refusal {
        let kind = match refusal.outcome {
            Outcome::Wrong | Outcome::Mistrusted => FlagKind::Wrong,
            Outcome::Crashed | Outcome::TimedOut | Outcome::Broken => FlagKind::Failure,
            Outcome::Caught => FlagKind::Impossible,
            _ => FlagKind::Missing,
        };
        seen.push((kind, 0.0, format!("{}, {}", refusal.outcome, refusal.reason)));
    }
    let Some(performance) = record.judged.performance() else { return seen };
    let percent = |share: f64| format!("{} %", three_digits(100.0 * share));
    if let Some(over) = metrics::value("efficiency", record).filter(|&value| value > OVER) {
        let words = format!("{} % of the limit", three_digits(over));
        seen.push((FlagKind::Impossible, over, words));
    }
    let width = performance.wall_ns.relative_half_width();
    if width > WIDE {
        seen.push((FlagKind::Variance, width, format!("known only to ±{}", percent(width))));
    } else if let Some(spread) = spread.filter(|&spread| spread > SPREAD) {
        let words = format!("the middle half of its slices spreads over {}", percent(spread));
        seen.push((FlagKind::Variance, spread, words));
    }
    let bytes = performance.peak_bytes;
    if let Some(least) = least
        && bytes as f64 > FAT * least as f64
        && bytes - least > FAT_FLOOR
    {
        let ratio = bytes as f64 / least as f64;
        let words = format!("{} where {} is enough", Bytes(bytes), Bytes(least));
        seen.push((FlagKind::Memory, ratio, words));
    }
    let calls = performance.allocations_per_call;
    if calls > 0.0 && record.contender.family == Family::Native {
        seen.push((FlagKind::Allocation, calls, format!("{} a call", three_digits(calls))));
    }
    seen.extend(noise(performance).map(|(size, words)| (FlagKind::Noise, size, words)));
    seen
}

/// Reported once per race, with its first arm.
fn noise(performance: &Performance) -> Option<(f64, String)> {
    let conditions = performance.conditions.as_ref().filter(|_| performance.slices.arm == 0)?;
    if let Some(ratio) = &conditions.throttled {
        return Some((ratio.estimate, "the processor became slower meanwhile".to_owned()));
    }
    let quiet = conditions.quiet.filter(|quiet| !quiet.is_quiet)?;
    let words = match quiet.busy {
        busy if busy > 0.0 => {
            format!("others used {} % of the processors", three_digits(100.0 * busy))
        }
        _ => "others used the processors".to_owned(),
    };
    Some((quiet.busy, words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{example, performance, refused, timed};

    fn kinds(records: &[Record], spread: Option<f64>) -> Vec<FlagKind> {
        flags(records, &|_| spread).into_iter().map(|flag| flag.kind).collect()
    }

    fn quiet_one(contender: &str) -> Record {
        let mut record = timed(contender, 1, 100.0);
        performance(&mut record).allocations_per_call = 0.0;
        record
    }

    #[test]
    fn a_sound_record_raises_none() {
        assert_eq!(kinds(&[quiet_one("native/simd")], Some(0.1)), []);
    }

    #[test]
    fn each_doubt_raises_its_own_and_the_gravest_comes_first() {
        let mut wide = quiet_one("native/simd");
        performance(&mut wide).wall_ns.high *= 1.5;
        assert_eq!(kinds(&[wide], None), [FlagKind::Variance]);
        assert_eq!(kinds(&[quiet_one("native/simd")], Some(0.3)), [FlagKind::Variance]);
        let mut fat = quiet_one("native/fat");
        performance(&mut fat).peak_bytes = 9_000_000;
        assert_eq!(kinds(&[quiet_one("native/simd"), fat], None), [FlagKind::Memory]);
        let mut fast = example();
        performance(&mut fast).limits.as_mut().unwrap().bound_ns = 2e8;
        let found = kinds(&[fast, refused(Outcome::Crashed), refused(Outcome::Wrong)], None);
        let want = [FlagKind::Wrong, FlagKind::Failure, FlagKind::Impossible, FlagKind::Allocation];
        assert_eq!(found, want);
    }

    #[test]
    fn doubts_about_one_contender_are_told_once_with_the_worst() {
        let wide = |op: &str, times: f64| {
            let mut record = quiet_one("native/simd");
            op.clone_into(&mut record.case.op);
            performance(&mut record).wall_ns.high *= times;
            record
        };
        let [flag] = &flags(&[wide("add", 1.5), wide("mul", 3.0), wide("sub", 1.5)], &|_| None)[..]
        else {
            panic!("one flag");
        };
        assert_eq!(flag.cases, 3);
        assert!(flag.worst.starts_with("mul:"), "{}", flag.worst);
    }
}
