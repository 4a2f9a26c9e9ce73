//! The pages as files, for any server that serves files.

use super::machines;
use super::pages::{self, Host, PAGE};
use super::view::View;
use crate::{HistoryError, Place};
use std::path::Path;

/// What the pages add to the style of the report.
const STYLE: &str = include_str!("page.css");

/// Hides the rows of a list that do not have the words that are typed.
pub(crate) const SCRIPT: &str = include_str!("page.js");

/// The style of all pages.
pub(crate) fn style() -> String {
    format!("{}{STYLE}", proofmark_report::render::page_style())
}

/// Writes every page into a folder, and returns how many.
///
/// # Errors
/// If the history cannot be read, or the folder not be written.
pub async fn write_site(place: &Place, folder: &Path) -> Result<usize, HistoryError> {
    let view = View::load(place).await?;
    std::fs::create_dir_all(folder).map_err(HistoryError::io("make", folder))?;
    let mut count = 0;
    let mut write = |name: String, text: String| {
        count += 1;
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(HistoryError::io("write", &path))
    };
    write("page.css".to_owned(), style())?;
    write("page.js".to_owned(), SCRIPT.to_owned())?;
    for page in 0..view.series.len().div_ceil(PAGE).max(1) {
        write(pages::list_file(page), pages::list(&view, Host::Files, "", page).await?)?;
    }
    for series in &view.series {
        let text = pages::series(&view, Host::Files, series, "").await?;
        write(pages::series_file(series.id), text)?;
    }
    write("alerts.html".to_owned(), pages::alerts(&view))?;
    write("machines.html".to_owned(), machines::machines(&view, Host::Files))?;
    write("quarantine.html".to_owned(), machines::quarantine(&view))?;
    for alert in &view.alerts {
        write(pages::alert_file(&alert.id), pages::alert(&view, alert))?;
    }
    Ok(count)
}
