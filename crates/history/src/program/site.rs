//! The command `site`.

use super::exit;
use clap::Args;
use proofmark_history::output::say;
use proofmark_history::site::write_site;
use proofmark_history::{HistoryError, Place};
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct Site {
    /// A folder or `s3://bucket/prefix`
    place: String,
    /// Folder that is written
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

impl Site {
    pub(crate) async fn run(self) -> Result<u8, HistoryError> {
        let files = write_site(&Place::parse(&self.place)?, &self.out).await?;
        say(&format!("{files} files are in {}; open index.html.", self.out.display()));
        Ok(exit::PASS)
    }
}
