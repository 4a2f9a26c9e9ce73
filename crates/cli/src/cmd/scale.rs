//! `proofmark scale`: how speed grows with threads, how well, and what ends it.

use super::bench::attribute;
use super::quantities::settling;
use super::{Devices, Isolated, Shown, StorePath, arena, cap, drawn_seed, kept, shelf};
use crate::exit;
use crate::output::{Failure, print_document, say};
use crate::progress::Progress;
use clap::Args;
use proofmark_engine::{
    EngineError, Request, SIZES, ScaleRequest, Sweep, cases, exit_severity, findings, scale,
    scale_of_run,
};
use proofmark_report::reports;
use proofmark_schema::{AttrValue, Cache, Case, DType, Isa, Memory, Pages};

/// Arguments of `scale`.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Scale {
    /// Ops, on a named size or a sweep
    #[arg(value_name = "OP", required_unless_present_any = ["case", "run"])]
    ops: Vec<String>,
    /// A case, as `softmax:f32[b=1,s=512,d=4096]`; may be given many times
    #[arg(long, conflicts_with_all = ["ops", "size", "sweep", "dtype", "attr"])]
    case: Vec<String>,
    /// A named size: small, medium, large or batch
    #[arg(long, value_parser = SIZES, default_value = "medium")]
    size: String,
    /// Axis sizes: `b=16,32 s=256:2048:*2 d=768`; every combination is a case
    #[arg(long, conflicts_with = "size")]
    sweep: Option<Sweep>,
    /// Element types, as `f32,bf16`
    #[arg(long, value_delimiter = ',', default_value = "f32")]
    dtype: Vec<DType>,
    /// Attributes, as `eps=1e-5,variant=gemma`
    #[arg(long, value_delimiter = ',', value_parser = attribute)]
    attr: Vec<(String, AttrValue)>,
    /// Contenders: patterns such as `native/* peer/onednn`; our kernels that use threads by default
    #[arg(long)]
    with: Option<String>,
    #[command(flatten)]
    devices: Devices,
    /// Thread counts, as `1,2,4` or `1..8`; 1, 2, 4 and so on to all processors by default
    #[arg(long, value_parser = counts)]
    threads: Option<Counts>,
    /// What the caches hold before a call: hot, cold, rotate or weights-cold
    #[arg(long, default_value = "hot")]
    cache: Cache,
    /// What pages operands lie on: 4k or huge
    #[arg(long, default_value = "4k")]
    pages: Pages,
    /// Seconds to wait for a quiet machine before each race, at the most; 0 does not wait
    #[arg(long, default_value_t = 5.0, value_name = "SECONDS", value_parser = settling)]
    settle: f64,
    /// Short races
    #[arg(long, visible_alias = "fast")]
    quick: bool,
    /// Measure nothing: tell the scaling of a stored run that has several thread counts
    #[arg(long, value_name = "RUN", conflicts_with_all = ["ops", "case", "with", "threads"])]
    run: Option<String>,
    /// Seed of inputs, layouts and orders; drawn at random and printed unless it is given
    #[arg(long, default_value_t = drawn_seed(), hide_default_value = true)]
    seed: u64,
    #[command(flatten)]
    isolated: Isolated,
    #[command(flatten)]
    store: StorePath,
    #[command(flatten)]
    shown: Shown,
}

const AFTER_HELP: &str = "\
Every thread count is an arm of the same race: speed-ups come from neighbouring slices.
Scaling is excellent from 85 % of the threads' worth, good from 50 %, and diminishing below or
where each thread added brings less than a quarter of itself.

  proofmark scale softmax --threads 1..4
  proofmark scale matmul --size large --with 'native/parallel peer/openblas'
  proofmark scale --run latest        of a `bench --threads 1,2,4`";

/// Thread counts in the order given.
#[derive(Clone, Debug, PartialEq)]
struct Counts(Vec<usize>);

/// Reads `1,2,4` and `1..8`, mixed.
fn counts(text: &str) -> Result<Counts, String> {
    let number = |text: &str| {
        let count = text.trim().parse().ok().filter(|count| (1..=256).contains(count));
        count.ok_or_else(|| format!("`{text}` is no thread count: write `1,2,4` or `1..8`"))
    };
    let mut all = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            None => all.push(number(part)?),
            Some((from, to)) => {
                let (from, to) = (number(from)?, number(to.trim_start_matches('='))?);
                if from > to {
                    return Err(format!("`{part}` goes down: write `{to}..{from}`"));
                }
                all.extend(from..=to);
            }
        }
    }
    Ok(Counts(all))
}

impl Scale {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let store = self.store.open()?;
        if let Some(run) = &self.run {
            let (id, scalings) = scale_of_run(&store, run)?;
            print_document(self.shown.format, &reports::scaling(&id, None, &scalings))?;
            return Ok(exit::PASS);
        }
        let cap = cap()?;
        let request = ScaleRequest {
            cases: self.cases(cap)?,
            with: self.with.clone().or_else(|| self.devices.others()),
            threads: self.counts(),
            memory: Memory { cache: self.cache, pages: self.pages },
            quiet_seconds: self.settle,
            seed: self.seed,
            quick: self.quick,
            cap,
            shelf: shelf().on(&self.devices.device),
        };
        let progress = Progress::new(self.shown.quiet);
        let scaled = scale(&arena(self.isolated.isolation)?, &store, &progress, &request)?;
        progress.finish();
        let mut document = reports::scaling(&scaled.run, Some(&scaled.affinity), &scaled.scalings);
        for absence in &scaled.absent {
            let (who, case, reason) = (&absence.contender, &absence.case, &absence.reason);
            document.note(format!("not here: {who} on {case}: {reason}"));
        }
        let findings = findings(&scaled.records);
        for finding in &findings {
            if exit::of_severity(Some(finding.severity)) != exit::PASS {
                document.note(finding.claim.clone());
            }
        }
        print_document(self.shown.format, &document)?;
        if !self.shown.quiet {
            say(&format!("{}, seed {}", kept(&store, &scaled.run)?, self.seed));
        }
        Ok(exit::of_severity(exit_severity(&findings)))
    }

    fn counts(&self) -> Vec<usize> {
        if let Some(Counts(counts)) = &self.threads {
            return counts.clone();
        }
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let doubled = std::iter::successors(Some(1), |count| Some(count * 2));
        doubled.take_while(|&count| count < processors).chain([processors]).collect()
    }

    fn cases(&self, cap: Isa) -> Result<Vec<Case>, Failure> {
        if !self.case.is_empty() {
            let parsed = self.case.iter().map(|text| text.parse::<Case>());
            return Ok(parsed.collect::<Result<_, _>>().map_err(EngineError::from)?);
        }
        Ok(cases(&Request {
            ops: self.ops.clone(),
            dtypes: self.dtype.clone(),
            sweep: self.sweep.clone(),
            size: Some(self.size.clone()),
            attrs: self.attr.clone(),
            ..Request::of_cases(cap, shelf())
        })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_counts_are_lists_and_ranges() {
        assert_eq!(counts("1,2,4"), Ok(Counts(vec![1, 2, 4])));
        assert_eq!(counts("1..4,8"), Ok(Counts(vec![1, 2, 3, 4, 8])));
        for bad in ["0", "x", "4..1", "1..", "300", ""] {
            assert!(counts(bad).is_err(), "{bad}");
        }
    }
}
