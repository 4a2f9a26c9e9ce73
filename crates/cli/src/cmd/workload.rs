//! `proofmark workload`: what there is, and workloads made from a model's description.

use crate::exit;
use crate::output::{Failure, print};
use clap::{Args, Subcommand};
use proofmark_engine::{ModelError, find_workload, read_config, unknown_workload, workload_names};
use proofmark_schema::DType;
use std::path::PathBuf;

/// Arguments of `workload`.
#[derive(Args)]
pub(crate) struct Workload {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List the workloads that `bench --suite` knows by name
    List,
    /// Print one of them
    Show {
        /// Its name
        name: String,
    },
    /// Print the work of a model's step as a workload, from its config.json or GGUF file
    FromConfig(FromConfig),
}

#[derive(Args)]
struct FromConfig {
    /// A model's config.json, or a GGUF file, of which the header is read
    file: PathBuf,
    /// The model's name in labels; what the file says by default
    #[arg(long)]
    name: Option<String>,
    /// Tokens of a step, as `1,128`: 1 for writing, more for reading a prompt
    #[arg(long, value_delimiter = ',', default_value = "1,128",
          value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    tokens: Vec<u64>,
    /// Tokens before the one that is written
    #[arg(long, default_value_t = 1024,
          value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    context: u64,
    /// Element types, as `f32,bf16`
    #[arg(long, value_delimiter = ',', default_value = "f32,bf16")]
    dtype: Vec<DType>,
}

impl Workload {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        match &self.what {
            What::List => {
                print(&workload_names().join("\n"))?;
            }
            What::Show { name } => {
                let text = find_workload(name)?
                    .ok_or_else(|| unknown_workload(name, std::iter::empty()))?;
                print(&text)?;
            }
            What::FromConfig(from) => print(&from.text()?)?,
        }
        Ok(exit::PASS)
    }
}

impl FromConfig {
    fn text(&self) -> Result<String, Failure> {
        let failed = |error: ModelError| Failure {
            message: error.to_string(),
            hint: Some("give a model's config.json or its GGUF file".to_owned()),
            code: exit::USAGE,
        };
        let model = read_config(&self.file, self.name.as_deref()).map_err(failed)?;
        let dtypes: Vec<&str> = self.dtype.iter().map(|dtype| dtype.name()).collect();
        model.lines(&dtypes.join(","), &self.tokens, self.context).map_err(failed)
    }
}
