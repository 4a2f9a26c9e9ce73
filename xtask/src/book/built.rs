//! The book as a browser gets it: every link and picture of its pages leads to a file in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::page::{is_outside, place};
use crate::Failure;

/// Its links start at the root of a server that we do not know.
const LEFT_OUT: &str = "404.html";

/// The links that lead nowhere, as `page: link`, and how many there are in all.
pub(super) fn dead(folder: &Path) -> Result<(Vec<String>, usize), Failure> {
    let mut files = BTreeMap::new();
    read(folder, "", &mut files)?;
    let ids: BTreeMap<&String, BTreeSet<&str>> =
        files.iter().map(|(name, text)| (name, values(text, " id=\"").collect())).collect();
    let (mut dead, mut count) = (Vec::new(), 0);
    for (name, text) in files.iter().filter(|(name, _)| *name != LEFT_OUT) {
        for target in values(text, " href=\"").chain(values(text, " src=\"")) {
            if is_outside(target) {
                continue;
            }
            count += 1;
            let place = place(name, target).map(|it| (it.path, it.heading.unwrap_or_default()));
            let is_there = place.is_some_and(|(path, heading)| match ids.get(&path) {
                Some(ids) => heading.is_empty() || ids.contains(heading.as_str()),
                None => false,
            });
            if !is_there {
                dead.push(format!("{name}: {target}"));
            }
        }
    }
    Ok((dead, count))
}

/// The names of all files, with the text of those that are pages.
fn read(folder: &Path, within: &str, files: &mut BTreeMap<String, String>) -> Result<(), Failure> {
    let broken = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(broken)? {
        let path = entry.map_err(broken)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{within}{name}");
        if path.is_dir() {
            read(&path, &format!("{name}/"), files)?;
        } else if name.ends_with(".html") {
            files.insert(name, std::fs::read_to_string(&path).map_err(broken)?);
        } else {
            files.insert(name, String::new());
        }
    }
    Ok(())
}

/// The values of an attribute; a quotation mark in a text is `&quot;` and ends none.
fn values<'a>(text: &'a str, attribute: &str) -> impl Iterator<Item = &'a str> {
    let parts: Vec<&str> = text.split(attribute).skip(1).collect();
    parts.into_iter().filter_map(|part| part.split('"').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_of_built_pages_are_found() {
        let folder = std::env::temp_dir().join(format!("xtask-built-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("ops")).expect("a folder");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.join(name), text).expect("a file");
        };
        write("a.svg", "");
        write("index.html", "<a href=\"ops/b.html#x\"></a> <img src=\"a.svg\"> <a href=\"#none\">");
        write(
            "ops/b.html",
            "<h1 id=\"x\"></h1><a href=\"../c.html\"><a href=\"https://x.example\">",
        );
        let found = dead(&folder);
        std::fs::remove_dir_all(&folder).expect("the folder goes");
        let (dead, count) = found.expect("a book");
        assert_eq!(dead, ["index.html: #none", "ops/b.html: ../c.html"]);
        assert_eq!(count, 4);
    }
}
