//! The book: checks its links and its list of contents, and builds it with mdBook.
//!
//! Pages stay where they are, because the repository is read too: in `docs/`, in the root and
//! beside the code. They are copied with the files that they link to, in the same folders, so
//! that every link holds in the repository and in the book.

mod built;
mod links;
mod page;
mod summary;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::check::{Notes, target};
use crate::{Failure, tree};
use page::{Page, is_outside, place};
use summary::SUMMARY;

/// Settings of mdBook, and what it is given beside them.
const SETTINGS: &[&str] = &["docs/book.toml", "docs/book.css"];

/// Pages below these are data of tests.
const DATA: &[&str] = &["xtask/fixtures/", "crates/cli/tests/"];

/// Set where mdBook must be there; elsewhere its part of the check is left out, with a note.
const REQUIRED: &str = "PROOFMARK_REQUIRE_MDBOOK";

/// Checks the links and the list of contents, then builds the book and checks what came out.
pub(crate) fn run(root: &Path, notes: &mut Notes) -> Result<(), Failure> {
    let files: BTreeSet<String> = tree::files(root)?.into_iter().collect();
    let pages = read(root, &files)?;
    let dead = links::dead(&pages, &files);
    for links::Dead { page, line, reason } in &dead {
        println!("{page}:{line}: {reason}");
    }
    let contents = std::fs::read_to_string(root.join(SUMMARY))
        .map_err(|error| format!("{SUMMARY}: {error}"))?;
    let contents =
        summary::expanded(&contents, &files).map_err(|error| format!("{SUMMARY}: {error}"))?;
    let listed = summary::pages(&contents);
    let missing = unlisted(&pages, &listed);
    for page in &missing {
        println!("{page}: is not in {SUMMARY}");
    }
    let count: usize = pages.values().map(|page| page.links.len()).sum();
    println!(
        "{} pages, {count} links, {} dead, {} unlisted",
        pages.len(),
        dead.len(),
        missing.len()
    );
    if !dead.is_empty() || !missing.is_empty() {
        return Err(format!("{} dead links, {} unlisted pages", dead.len(), missing.len()));
    }
    if Command::new("mdbook").arg("--version").output().is_err() {
        let hint = "mdbook is not here: the book was not built (`cargo install mdbook --locked`)";
        if std::env::var_os(REQUIRED).is_some() {
            return Err(hint.to_owned());
        }
        notes.push(hint.to_owned());
        return Ok(());
    }
    build(root, &contents, &listed, &pages)
}

/// Every page of the repository, read.
fn read(root: &Path, files: &BTreeSet<String>) -> Result<BTreeMap<String, Page>, Failure> {
    let is_page = |file: &&String| {
        file.ends_with(".md") && !DATA.iter().any(|folder| file.starts_with(folder))
    };
    let mut pages = BTreeMap::new();
    for name in files.iter().filter(is_page) {
        let text = std::fs::read_to_string(root.join(name));
        let text = text.map_err(|error| format!("{name}: {error}"))?;
        pages.insert(name.clone(), Page::read(&text));
    }
    Ok(pages)
}

/// Pages of `docs/` that the book leaves out, and pages to which a page of the book links.
fn unlisted<'a>(pages: &'a BTreeMap<String, Page>, listed: &[String]) -> Vec<&'a String> {
    let linked: BTreeSet<String> = listed
        .iter()
        .flat_map(|name| pages.get(name).map(|page| linked(name, page)).unwrap_or_default())
        .collect();
    let belongs = |name: &&String| name.starts_with("docs/") || linked.contains(*name);
    pages.keys().filter(belongs).filter(|name| *name != SUMMARY && !listed.contains(name)).collect()
}

/// The files that a page links to.
fn linked(name: &str, page: &Page) -> Vec<String> {
    let inside = page.links.iter().filter(|link| !is_outside(&link.target));
    inside.filter_map(|link| place(name, &link.target)).map(|place| place.path).collect()
}

/// Copies the pages and what they link to, builds the book and checks its links.
fn build(
    root: &Path,
    contents: &str,
    listed: &[String],
    pages: &BTreeMap<String, Page>,
) -> Result<(), Failure> {
    let folder = target(root)?.join("book");
    // Left from the last time; the first time there is nothing.
    let _ = std::fs::remove_dir_all(&folder);
    let source = folder.join("src");
    let mut wanted: BTreeSet<String> = listed.iter().cloned().collect();
    for name in listed {
        let page = pages.get(name).ok_or_else(|| format!("{SUMMARY}: `{name}` is no page"))?;
        wanted.extend(linked(name, page));
    }
    for name in &wanted {
        copy(&root.join(name), &source.join(name))?;
    }
    for name in SETTINGS {
        copy(&root.join(name), &folder.join(name.trim_start_matches("docs/")))?;
    }
    std::fs::write(source.join("SUMMARY.md"), contents).map_err(|error| format!("{error}"))?;
    let status = Command::new("mdbook").arg("build").arg(&folder).status();
    if !status.map_err(|error| format!("mdbook did not start: {error}"))?.success() {
        return Err("mdbook failed".to_owned());
    }
    let book = folder.join("book");
    let (dead, count) = built::dead(&book)?;
    for link in &dead {
        println!("in the book: {link}");
    }
    println!("{}: {count} links, {} dead", book.join("index.html").display(), dead.len());
    match dead.len() {
        0 => Ok(()),
        dead => Err(format!("{dead} dead links in the built book")),
    }
}

fn copy(from: &Path, to: &PathBuf) -> Result<(), Failure> {
    let folder = to.parent().unwrap_or(to);
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::copy(from, to))
        .map_err(|error| format!("{} to {}: {error}", from.display(), to.display()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_the_book_leaves_out_is_found() {
        let texts = [
            ("README.md", "[rules](CONTRIBUTING.md)"),
            ("CONTRIBUTING.md", ""),
            ("docs/a.md", ""),
            ("docs/b.md", ""),
            ("records/README.md", ""),
        ];
        let pages = texts.map(|(name, text)| (name.to_owned(), Page::read(text)));
        let pages = BTreeMap::from(pages);
        let listed = ["README.md".to_owned(), "docs/a.md".to_owned()];
        assert_eq!(unlisted(&pages, &listed), ["CONTRIBUTING.md", "docs/b.md"]);
    }
}
