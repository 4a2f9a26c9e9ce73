//! `proofmark bench`: proven contenders side by side.

use super::asked::AskedCases;
use super::list::{What, list};
use super::quantities::settling;
use super::report;
use super::{Devices, Isolated, Shown, StorePath, arena, cap, kept, own, seed_of, shard, shelf};
use crate::exit;
use crate::output::{Failure, Format, print_document, say};
use crate::progress::Progress;
use clap::Args;
use proofmark_engine::{Request, Shard, Store, at_this_pace, exit_severity, findings, plan};
use proofmark_report::{Span, reports};
use proofmark_schema::plan::Plan;
use proofmark_schema::record::Record;
use proofmark_schema::{AttrValue, Cache, Isa, Pages};

/// The estimate of a run from which a person is told before it begins.
const LONG_SECONDS: f64 = 600.0;

/// Arguments of `bench`.
#[derive(Args)]
pub(crate) struct Bench {
    /// Ops to measure; all by default
    #[arg(value_name = "OP")]
    ops: Vec<String>,
    /// One more op; the same as an argument
    #[arg(long = "op", value_name = "OP", conflicts_with = "case")]
    more_ops: Vec<String>,
    #[command(flatten)]
    asked: AskedCases,
    /// Contenders: patterns such as `native/*` or `native/simd@avx2`; `native/*` by default, and
    /// `own/*` for an op of your own
    #[arg(long)]
    with: Option<String>,
    #[command(flatten)]
    devices: Devices,
    /// Thread counts, as `1,2`; all processors by default
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Vec<u16>,
    /// What the caches hold before a call, as `hot,cold`: hot, cold, rotate or weights-cold
    #[arg(long, value_delimiter = ',', default_value = "hot")]
    cache: Vec<Cache>,
    /// What pages operands lie on, as `4k,huge`
    #[arg(long, value_delimiter = ',', default_value = "4k")]
    pages: Vec<Pages>,
    /// Seconds to wait for a quiet machine before each race, at the most: 5, or 1 with `--quick`,
    /// by default. 0 does not wait
    #[arg(long, value_name = "SECONDS", value_parser = settling)]
    settle: Option<f64>,
    /// Short races on the smoke sweep
    #[arg(long, visible_alias = "fast")]
    quick: bool,
    /// Only this part of the plan, as `1/4`: cases are dealt out by their hash; see `merge`
    #[arg(long, value_name = "K/N", value_parser = shard, conflicts_with = "resume")]
    shard: Option<Shard>,
    /// Print the plan and its estimate, run nothing
    #[arg(long)]
    dry_run: bool,
    /// Seed of every input and order; drawn at random and printed unless it is given. Shards
    /// of one plan share a fixed one
    #[arg(long)]
    seed: Option<u64>,
    /// Go on with a run that was cut off: `latest`, its number, or the beginning of its id
    #[arg(long, value_name = "RUN")]
    resume: Option<String>,
    /// List the ops and end
    #[arg(long)]
    list_ops: bool,
    /// List the named sizes and end
    #[arg(long)]
    list_sizes: bool,
    #[command(flatten)]
    isolated: Isolated,
    #[command(flatten)]
    store: StorePath,
    #[command(flatten)]
    shown: Shown,
}

impl Bench {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        if self.list_ops || self.list_sizes {
            let what = match (self.list_ops, self.list_sizes) {
                (true, false) => Some(What::Ops),
                (false, true) => Some(What::Sizes),
                _ => None,
            };
            return list(what, None, self.shown.format);
        }
        let cap = cap()?;
        let progress = Progress::new(self.shown.quiet);
        let plan = match self.resume {
            Some(_) => None,
            None => Some(plan(&self.request(cap)?)?),
        };
        if self.dry_run
            && let Some(plan) = &plan
        {
            let part = self.shard.map(|shard| shard.part(plan));
            let plan = at_this_pace(part.as_ref().unwrap_or(plan));
            print_document(self.shown.format, &reports::plan(&plan))?;
            return Ok(exit::PASS);
        }
        if let Some(plan) = &plan
            && self.shard.is_none()
        {
            self.warn_of_length(plan);
        }
        let store = Store::open(&self.store.store).map_err(proofmark_engine::EngineError::from)?;
        let arena = arena(self.isolated.isolation)?;
        let bench = proofmark_engine::Bench {
            arena: &arena,
            store: &store,
            listener: &progress,
            cap,
            quiet_seconds: self.settle.unwrap_or(if self.quick { 1.0 } else { 5.0 }),
        };
        let (run, records) = match (&plan, &self.resume) {
            (Some(plan), _) => match self.shard {
                Some(shard) => bench.start_shard(plan, shard)?,
                None => bench.start(plan)?,
            },
            (None, Some(run)) => bench.resume(run)?,
            (None, None) => unreachable!("a run is planned or resumed"),
        };
        progress.finish();
        let findings = findings(&records);
        let absent = plan.as_ref().map_or(&[][..], |plan| &plan.absent);
        // Only these draw the slices, which are in the store.
        let is_drawn = matches!(self.shown.format, Format::Table | Format::Html);
        let kept_run = is_drawn.then(|| report::load(&store, &run).ok()).flatten();
        let samples = |record: &Record| kept_run.as_ref()?.samples(record);
        let document = reports::bench_with_slices(&records, &findings, absent, &samples);
        print_document(self.shown.format, &document)?;
        if !self.shown.quiet {
            let seed =
                plan.as_ref().map_or_else(String::new, |plan| format!(", seed {}", plan.seed));
            say(&format!("{}{seed}", kept(&store, &run)?));
        }
        Ok(exit::of_severity(exit_severity(&findings)))
    }

    /// Says how long a run of every op takes: few who type `bench` alone mean that.
    fn warn_of_length(&self, plan: &Plan) {
        if self.shown.quiet || !self.ops.is_empty() || !self.more_ops.is_empty() {
            return;
        }
        let seconds = at_this_pace(plan).estimate_seconds;
        if seconds > LONG_SECONDS {
            say(&format!(
                "note: this run takes about {}. `proofmark bench rms_norm` measures one op, and \
                 `--quick` takes less time. After Ctrl-C, `bench --resume latest` goes on",
                Span(seconds)
            ));
        }
    }

    fn request(&self, cap: Isa) -> Result<Request, Failure> {
        let default = if self.quick { "smoke" } else { "standard" };
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let threads: Vec<usize> = if self.threads.is_empty() {
            vec![processors]
        } else {
            self.threads.iter().copied().map(usize::from).collect()
        };
        let ops: Vec<String> = self.ops.iter().chain(&self.more_ops).cloned().collect();
        Ok(Request {
            with: self
                .with
                .clone()
                .unwrap_or_else(|| own::usual(&self.devices.usual("native/*"), &ops)),
            threads,
            caches: self.cache.clone(),
            pages: self.pages.clone(),
            seed: seed_of(self.seed, self.shard.is_some()),
            quick: self.quick,
            shelf: shelf().on(&self.devices.device),
            ..self.asked.request(&ops, default, cap)?
        })
    }
}

/// Reads `name=value`.
pub(super) fn attribute(text: &str) -> Result<(String, AttrValue), String> {
    let (name, value) = text.split_once('=').ok_or("write `name=value`")?;
    let value = AttrValue::parse(value).ok_or("the value is no number, flag or word")?;
    Ok((name.to_owned(), value))
}
