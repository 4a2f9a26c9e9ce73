//! `proofmark trace`: the slices of a stored run in the viewer of a browser.

use super::StorePath;
use crate::exit;
use crate::output::{Failure, STDOUT, print, say};
use clap::Args;
use proofmark_engine::trace;
use std::path::PathBuf;

/// Arguments of `trace`.
#[derive(Args)]
#[command(after_help = "Open the file at https://ui.perfetto.dev or in Chrome at about://tracing.")]
pub(crate) struct Trace {
    /// The run: `latest`, a number, a day and an op (`2026-11-17-softmax`), the beginning of an id,
    /// or a path
    run: String,
    /// Where the trace is written; `-` is stdout
    #[arg(long, short, value_name = "FILE", default_value = "trace.json")]
    out: PathBuf,
    /// Slices at the most; the first trials of each race are kept whole
    #[arg(long, default_value_t = 40_000, value_name = "SLICES")]
    most: usize,
    #[command(flatten)]
    store: StorePath,
}

impl Trace {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let traced = trace(&self.store.open()?, &self.run, self.most)?;
        let text = traced.trace.to_string();
        if self.out.as_os_str() == STDOUT {
            print(&text)?;
        } else {
            let path = self.out.display();
            std::fs::write(&self.out, &text)
                .map_err(|error| Failure::environment(format!("cannot write {path}: {error}")))?;
            let (slices, run) = (traced.slices, &traced.run);
            say(&format!("{slices} slices of run {run} are in {path}"));
        }
        if traced.left_out > 0 {
            let left_out = traced.left_out;
            say(&format!(
                "note: {left_out} slices of later trials are left out; --most takes more"
            ));
        }
        Ok(exit::PASS)
    }
}
