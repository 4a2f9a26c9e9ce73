//! `proofmark choose`: the fastest kernel of each case, and the fastest blocks of products.

use super::asked::{AskedCases, AskedRace, parsed};
use super::constants::{constants_in, write_to};
use super::tune::Language;
use super::{Shown, StorePath, cap, here};
use crate::exit;
use crate::output::{Failure, print, print_document, say};
use crate::progress::Progress;
use clap::Args;
use proofmark_engine::{
    Among, ChooseRequest, USUAL_PRODUCTS, cached_tunings, choose, snippet, unix_seconds,
};
use proofmark_report::reports;
use proofmark_schema::{Case, Isa};
use std::path::PathBuf;

/// Arguments of `choose`.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Choose {
    /// Ops, for cases by --suite, --size or --sweep
    #[arg(value_name = "OP", required_unless_present_any = ["case", "suite", "blocks", "cached"])]
    ops: Vec<String>,
    #[command(flatten)]
    asked: AskedCases,
    /// Choose the blocks of matmul instead: searched on the first case, checked on all of them
    #[arg(long, conflicts_with = "ops")]
    blocks: bool,
    /// Show the choices that are kept
    #[arg(long, conflicts_with_all = ["ops", "case", "suite", "blocks"])]
    cached: bool,
    /// Threads that each kernel may use
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    #[command(flatten)]
    race: AskedRace,
    /// A second a race
    #[arg(long, visible_alias = "fast")]
    quick: bool,
    /// Measure although an answer is kept
    #[arg(long)]
    fresh: bool,
    /// Write what was chosen to this file; the rest of it stays
    #[arg(long, value_name = "FILE", default_value = "tuning.toml")]
    out: PathBuf,
    /// Print what the file has as source instead of a table
    #[arg(long, value_enum)]
    emit: Option<Language>,
    #[command(flatten)]
    store: StorePath,
    #[command(flatten)]
    shown: Shown,
}

const AFTER_HELP: &str = "\
Every kernel that a call from a program could take is proven and raced against the best so far,
which is at first the built-in choice. What wins is raced against the built-in choice once more,
after all other cases; it is written to the file only if that race shows it again. The file is
used with PROOFMARK_TUNING=tuning.toml, and by a program that calls proofmark_ops::tuning::set.

  proofmark choose conv2d --size medium
  proofmark choose --suite resnet-50 --threads 2
  proofmark choose --blocks
  proofmark choose --cached";

impl Choose {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let store = self.store.open()?;
        if self.cached {
            let kept = cached_tunings(&store)?;
            let document =
                reports::kept_choices(&kept.choices, kept.lookups, kept.hits, unix_seconds());
            print_document(self.shown.format, &document)?;
            return Ok(exit::PASS);
        }
        let (here, cap) = (here(None)?, cap()?);
        let before = constants_in(&self.out, cap)?;
        let request = ChooseRequest {
            among: if self.blocks { Among::Blocks } else { Among::Kernels },
            cases: self.cases(cap)?,
            terms: self.race.terms(self.threads, self.quick),
            is_fresh: self.fresh,
            cap,
        };
        let progress = Progress::new(self.shown.quiet);
        let choices = choose(&here, &store, &progress, &request)?;
        progress.finish();
        let mut constants = before.clone();
        choices.iter().for_each(|choice| constants.choose(choice));
        let is_new = constants != before;
        if is_new {
            write_to(&self.out, &constants)?;
        }
        match self.emit {
            Some(language) => print(&snippet(&constants, language.into()))?,
            None => print_document(self.shown.format, &reports::choices(&choices))?,
        }
        if is_new && !self.shown.quiet {
            let path = self.out.display();
            say(&format!("choices are in {path}: use them with PROOFMARK_TUNING={path}"));
        }
        Ok(exit::PASS)
    }

    fn cases(&self, cap: Isa) -> Result<Vec<Case>, Failure> {
        // Only one op has blocks, so the user may leave out its name.
        let matmul = (self.blocks && self.asked.is_swept()).then(|| "matmul".to_owned());
        let ops: Vec<String> = self.ops.iter().cloned().chain(matmul).collect();
        match self.asked.of(&ops, "smoke", cap)? {
            none if none.is_empty() && self.blocks => parsed(USUAL_PRODUCTS.iter().copied()),
            cases => Ok(cases),
        }
    }
}
