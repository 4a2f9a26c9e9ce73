//! Tables of the documents that are made from the records and from the program.
//!
//! A pair of marker comments in a page names what makes the lines between them:
//! `<!-- docs: peers RECORD… -->` and `<!-- docs: end -->`. All other text is written by hand, but
//! for the pages of commands and ops, which are made as a whole.

mod cards;
mod commands;
mod coverage;
mod number;
mod ops;
mod page;
mod races;
mod tables;

use std::path::Path;

use crate::{Failure, duel, tree};

/// One kind of table: its word in a marker, and what makes it from the words that follow.
struct Maker {
    name: &'static str,
    make: fn(&Path, &[&str]) -> Result<String, Failure>,
}

const MAKERS: &[Maker] = &[
    Maker { name: "coverage", make: coverage::table },
    Maker { name: "duel", make: |root, _| duel::tables(root) },
    Maker { name: "fastest", make: tables::fastest },
    Maker { name: "gain", make: tables::gain },
    Maker { name: "gflops", make: tables::gflops },
    Maker { name: "ops", make: |root, _| ops::table(root) },
    Maker { name: "peers", make: tables::peers },
    Maker { name: "peers-summary", make: tables::peers_summary },
];

/// The pages that have markers.
const PAGES: &[&str] = &["docs/COVERAGE.md", "docs/METHOD.md", "docs/RESULTS.md", "docs/ops.md"];

/// The picture that is made as a whole.
const PICTURE: &str = "docs/duel.svg";

/// The picture of the README: a part of the program's own report of a record.
const REPORT_PICTURE: &str = "docs/pictures/matmul.svg";
const REPORT: &[&str] = &[
    "report",
    "records/2026-11-19-489704ae4138/matmul-f32-1024.json",
    "--only",
    "ranking",
    "--format",
    "svg",
];

/// Folders in which every page is made as a whole.
const FOLDERS: &[&str] = &[cards::FOLDER, commands::FOLDER];

/// Writes every page and picture anew, and deletes pages that nothing makes any more.
pub(crate) fn write(root: &Path) -> Result<(), Failure> {
    let made = made(root)?;
    for name in surplus(root, &made)? {
        std::fs::remove_file(root.join(&name)).map_err(|error| format!("{name}: {error}"))?;
        println!("{name} is deleted");
    }
    for (name, text) in made {
        let path = root.join(&name);
        let folder = path.parent().unwrap_or(root);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|error| format!("{name}: {error}"))?;
        println!("{name} is written");
    }
    Ok(())
}

/// Fails if a page or picture is not what the records and the program give.
pub(crate) fn check(root: &Path) -> Result<(), Failure> {
    let made = made(root)?;
    let mut stale = 0;
    for name in surplus(root, &made)? {
        println!("{name}: there is no such op or command");
        stale += 1;
    }
    for (name, text) in &made {
        // A page that is not there differs in its first line.
        let kept = read(root, name).unwrap_or_default();
        if let Some((line, kept, made)) = page::difference(&kept, text) {
            println!("{name}:{line}: stale\n  it says   {kept}\n  it should {made}");
            stale += 1;
        }
    }
    println!("{} documents, {stale} stale", made.len());
    match stale {
        0 => Ok(()),
        _ => Err("a document is stale; `cargo xtask docs` writes it anew".to_owned()),
    }
}

/// Pages in the folders of generated ones that nothing makes.
fn surplus(root: &Path, made: &[(String, String)]) -> Result<Vec<String>, Failure> {
    let is_surplus = |path: &String| {
        let is_within = FOLDERS.iter().any(|folder| path.starts_with(&format!("{folder}/")));
        is_within && !made.iter().any(|(name, _)| name == path)
    };
    Ok(tree::files(root)?.into_iter().filter(is_surplus).collect())
}

/// Every page and picture, as it should be.
fn made(root: &Path) -> Result<Vec<(String, String)>, Failure> {
    let mut made = Vec::new();
    for &name in PAGES {
        let text = page::fill(&read(root, name)?, &|words| make(root, words))
            .map_err(|error| format!("{name}: {error}"))?;
        made.push((name.to_owned(), text));
    }
    made.push((PICTURE.to_owned(), duel::picture(root)?));
    made.push((REPORT_PICTURE.to_owned(), ops::said(root, REPORT)?));
    made.extend(cards::pages(root, &ops::listed(root)?)?);
    made.extend(commands::pages(root)?);
    Ok(made)
}

/// What the marker with these words stands for.
fn make(root: &Path, words: &[&str]) -> Result<String, Failure> {
    let (name, rest) = words.split_first().ok_or("a marker names no table")?;
    let maker = MAKERS.iter().find(|maker| maker.name == *name);
    let maker = maker.ok_or_else(|| {
        let known: Vec<&str> = MAKERS.iter().map(|maker| maker.name).collect();
        format!("there is no table `{name}`; there are {}", known.join(", "))
    })?;
    (maker.make)(root, rest).map_err(|error| format!("table `{name}`: {error}"))
}

fn read(root: &Path, name: &str) -> Result<String, Failure> {
    std::fs::read_to_string(root.join(name)).map_err(|error| format!("{name}: {error}"))
}
