//! Doubts: what a reader should know about a number, a contender or a whole run.
//!
//! Few of them are red flags. A red flag is what must be looked at before a number is used: a
//! kernel under test that was refused, a contender that was caught or is faster than the machine
//! allows, and a run that was disturbed for the most part. Everything else is a detail of its row:
//! a peer that was refused has no number, and a wide interval is written beside its time.

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
/// Share of a run's times or races above which a disturbance is about the run and not about a row.
const MOST: f64 = 0.5;

/// What kind of doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlagKind {
    /// Refused as wrong.
    Wrong,
    /// Crashed or ran out of time.
    Failure,
    /// Caught, or passed by a test that could not have failed.
    Untrusted,
    /// Faster than the machine allows.
    Impossible,
    /// Most times of the run have a wide interval.
    Unsteady,
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
            FlagKind::Untrusted => "not to be trusted",
            FlagKind::Impossible => "impossible speed",
            FlagKind::Unsteady => "unsteady run",
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
            FlagKind::Untrusted => {
                "use none of its times until the command of its refusal tells why"
            }
            FlagKind::Impossible => {
                "probe the machine again while it is quiet; if it stays, the \
                                     call skips work or keeps old results"
            }
            FlagKind::Unsteady => {
                "use the ratios, whose arms are interleaved; for times, measure \
                                   again on a quiet machine with more trials (`proofmark doctor`)"
            }
            FlagKind::Variance => "let nothing else run (`proofmark doctor`), give it more trials",
            FlagKind::Memory => "look for copies of operands, and packing that is kept",
            FlagKind::Allocation => "take the buffer out of the call, or reuse it",
            FlagKind::Noise => "ratios hold, since arms are interleaved; measure times again",
            FlagKind::Missing => "`proofmark peers` shows how to get what is absent",
        }
    }
}

/// One doubt about one record.
#[derive(Clone, Debug, PartialEq)]
pub struct Doubt<'a> {
    /// The record.
    pub record: &'a Record,
    /// The kind.
    pub kind: FlagKind,
    /// What was seen.
    pub words: String,
    size: f64,
}

/// Doubts of one kind about one contender.
#[derive(Clone, Debug, PartialEq)]
pub struct Flag {
    /// The kind.
    pub kind: FlagKind,
    /// The contender it is about; `the machine` for noise and `the run` for all of it.
    pub who: String,
    /// Cases it was seen on.
    pub cases: usize,
    /// The worst of them: the case and what was seen.
    pub worst: String,
    /// The op of the worst; empty for all of a run.
    pub op: String,
    /// Whether it must be looked at before a number is used.
    pub is_red: bool,
    size: f64,
}

/// Every doubt about every record, in the order of the records.
///
/// `spread` gives the spread of a record's slices, where these are at hand.
pub fn doubts<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    spread: &dyn Fn(&Record) -> Option<f64>,
) -> Vec<Doubt<'a>> {
    let mut found = Vec::new();
    for cell in cells(records) {
        let measured = cell.iter().filter_map(|record| record.judged.performance());
        let least = measured.map(|of| of.peak_bytes).filter(|&bytes| bytes > 0).min();
        for record in cell {
            let seen = seen(record, least, spread(record));
            found.extend(seen.into_iter().map(|(kind, size, words)| Doubt {
                record,
                kind,
                words,
                size,
            }));
        }
    }
    found
}

/// All flags: the red ones first, then the gravest kind, then the most cases.
///
/// `spread` gives the spread of a record's slices, where these are at hand.
pub fn flags<'a>(
    records: impl IntoIterator<Item = &'a Record> + Clone,
    spread: &dyn Fn(&Record) -> Option<f64>,
) -> Vec<Flag> {
    let mut found: Vec<Flag> = Vec::new();
    let doubts = doubts(records.clone(), spread);
    for Doubt { record, kind, words, size } in &doubts {
        let (kind, size) = (*kind, *size);
        let who = match kind {
            FlagKind::Noise => "the machine".to_owned(),
            _ => record.contender.to_string(),
        };
        // A refused peer has no number that could be used.
        let is_red = match kind {
            FlagKind::Untrusted | FlagKind::Impossible => true,
            FlagKind::Wrong | FlagKind::Failure => record.contender.family != Family::Peer,
            _ => false,
        };
        let worst = format!("{}: {words}", record.case);
        let op = record.case.op.clone();
        note(&mut found, Flag { kind, who, cases: 1, worst, op, is_red, size });
    }
    let measured: Vec<&Performance> =
        records.into_iter().filter_map(|record| record.judged.performance()).collect();
    let races = measured.iter().filter(|of| of.slices.arm == 0 && of.conditions.is_some()).count();
    for flag in found.iter_mut().filter(|flag| flag.kind == FlagKind::Noise) {
        flag.is_red = flag.cases as f64 > MOST * races as f64;
    }
    found.extend(unsteady(&measured, &doubts));
    found.sort_by(|a, b| {
        let order = b.is_red.cmp(&a.is_red).then(a.kind.cmp(&b.kind));
        order.then(b.cases.cmp(&a.cases)).then(a.who.cmp(&b.who))
    });
    found
}

/// The flag of a run of which most times are not steady.
fn unsteady(measured: &[&Performance], doubts: &[Doubt<'_>]) -> Option<Flag> {
    let cases = doubts.iter().filter(|doubt| doubt.kind == FlagKind::Variance).count();
    if cases as f64 <= MOST * measured.len() as f64 {
        return None;
    }
    let mut widths: Vec<f64> = measured.iter().map(|of| of.wall_ns.relative_half_width()).collect();
    widths.sort_by(f64::total_cmp);
    let middle = widths[widths.len() / 2];
    let worst = format!(
        "{cases} of {} times are unsteady, and half of all are known only to ±{} % or worse",
        measured.len(),
        three_digits(100.0 * middle)
    );
    let who = "the run".to_owned();
    let (kind, op) = (FlagKind::Unsteady, String::new());
    Some(Flag { kind, who, cases, worst, op, is_red: true, size: middle })
}

fn note(found: &mut Vec<Flag>, flag: Flag) {
    let known = found.iter_mut().find(|of| (of.kind, &of.who) == (flag.kind, &flag.who));
    match known {
        Some(known) => {
            known.cases += 1;
            if flag.size > known.size {
                (known.size, known.worst, known.op) = (flag.size, flag.worst, flag.op);
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
            Outcome::Wrong => FlagKind::Wrong,
            Outcome::Crashed | Outcome::TimedOut | Outcome::Broken => FlagKind::Failure,
            Outcome::Caught | Outcome::Mistrusted => FlagKind::Untrusted,
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
    use proofmark_schema::conditions::{Conditions, Quiet};

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
        let steady = [1, 2].map(|arm| timed("native/steady", arm, 100.0));
        assert_eq!(
            kinds(&[wide, steady[0].clone(), steady[1].clone()], None)[0],
            FlagKind::Variance
        );
        let restless = kinds(&[quiet_one("native/simd")], Some(0.3));
        assert_eq!(restless, [FlagKind::Unsteady, FlagKind::Variance]);
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
        let found = flags(&[wide("add", 1.5), wide("mul", 3.0), wide("sub", 1.5)], &|_| None);
        let [run, flag] = &found[..] else { panic!("one flag and the run's") };
        assert_eq!(flag.cases, 3);
        assert!(flag.worst.starts_with("mul:") && !flag.is_red, "{}", flag.worst);
        assert_eq!((run.kind, run.is_red, run.who.as_str()), (FlagKind::Unsteady, true, "the run"));
    }

    #[test]
    fn a_healthy_run_has_no_red_flag_and_each_that_is_planted_in_it_is_the_only_one() {
        let healthy = || -> Vec<Record> {
            let races = ["add", "mul", "sub", "softmax", "matmul"].map(|op| {
                [("native/simd", 0), ("native/parallel", 1), ("peer/acme", 2)].map(|(who, arm)| {
                    let mut record = quiet_one(who);
                    op.clone_into(&mut record.case.op);
                    let of = performance(&mut record);
                    of.slices.arm = arm;
                    let is_quiet = true;
                    let quiet = Quiet { is_quiet, ..Quiet::default() };
                    of.conditions =
                        Some(Conditions { quiet: Some(quiet), ..Conditions::default() });
                    record
                })
            });
            races.into_iter().flatten().collect()
        };
        let red = |records: &[Record]| -> Vec<FlagKind> {
            let found = flags(records, &|_| Some(0.05));
            found.iter().filter(|flag| flag.is_red).map(|flag| flag.kind).collect()
        };
        assert_eq!(red(&healthy()), []);
        let refuse = |outcome| {
            move |records: &mut Vec<Record>| {
                let (who, case) = (records[0].contender.clone(), records[0].case.clone());
                records[0] = Record { contender: who, case, ..refused(outcome) };
            }
        };
        let each = |change: fn(&mut Performance)| {
            move |records: &mut Vec<Record>| records.iter_mut().map(performance).for_each(change)
        };
        type Planted = (FlagKind, Box<dyn Fn(&mut Vec<Record>)>);
        let planted: Vec<Planted> = vec![
            (FlagKind::Wrong, Box::new(refuse(Outcome::Wrong))),
            (FlagKind::Failure, Box::new(refuse(Outcome::Crashed))),
            (FlagKind::Failure, Box::new(refuse(Outcome::TimedOut))),
            (FlagKind::Untrusted, Box::new(refuse(Outcome::Caught))),
            (FlagKind::Untrusted, Box::new(refuse(Outcome::Mistrusted))),
            (
                FlagKind::Impossible,
                Box::new(|records| {
                    let mut fast = example();
                    performance(&mut fast).limits.as_mut().unwrap().bound_ns = 2e8;
                    records.push(fast);
                }),
            ),
            (FlagKind::Unsteady, Box::new(each(|of| of.wall_ns.high *= 1.5))),
            (
                FlagKind::Noise,
                Box::new(each(|of| {
                    let noisy = Quiet { is_quiet: false, busy: 0.5, ..Quiet::default() };
                    of.conditions.as_mut().unwrap().quiet = Some(noisy);
                })),
            ),
        ];
        for (kind, plant) in planted {
            let mut records = healthy();
            plant(&mut records);
            assert_eq!(red(&records), [kind], "{kind:?}");
        }
    }

    #[test]
    fn a_red_flag_is_what_must_be_looked_at_before_a_number_is_used() {
        let refused_one = |contender: &str, outcome| {
            let mut record = refused(outcome);
            record.contender = contender.parse().unwrap();
            record
        };
        let sound = || (0..4).map(|arm| timed("native/steady", arm, 100.0));
        for (contender, outcome, is_red) in [
            ("native/simd", Outcome::Wrong, true),
            ("own/mine", Outcome::Crashed, true),
            ("peer/acme", Outcome::Wrong, false),
            ("peer/acme", Outcome::Crashed, false),
            ("peer/acme", Outcome::Caught, true),
            ("peer/acme", Outcome::Mistrusted, true),
            ("native/simd", Outcome::Unsupported, false),
        ] {
            let records: Vec<Record> = sound().chain([refused_one(contender, outcome)]).collect();
            let red = flags(&records, &|_| None).iter().filter(|flag| flag.is_red).count();
            assert_eq!(red, usize::from(is_red), "{contender} {outcome}");
        }
    }
}
