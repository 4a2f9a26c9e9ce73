//! No dead link: every link of every page leads to a file, and every anchor to a heading.

use std::collections::{BTreeMap, BTreeSet};

use super::page::{Page, is_outside, place};

/// A link that leads nowhere, or where the book cannot follow.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dead {
    pub(super) page: String,
    pub(super) line: usize,
    pub(super) reason: String,
}

/// Every dead link of the pages; `files` is everything in the repository.
pub(super) fn dead(pages: &BTreeMap<String, Page>, files: &BTreeSet<String>) -> Vec<Dead> {
    let mut dead = Vec::new();
    for (name, page) in pages {
        for link in page.links.iter().filter(|link| !is_outside(&link.target)) {
            if let Err(reason) = follow(name, &link.target, pages, files) {
                let reason = format!("`{}`: {reason}", link.target);
                dead.push(Dead { page: name.clone(), line: link.line, reason });
            }
        }
    }
    dead
}

fn follow(
    from: &str,
    target: &str,
    pages: &BTreeMap<String, Page>,
    files: &BTreeSet<String>,
) -> Result<(), String> {
    let place = place(from, target).ok_or("it leads out of the repository")?;
    if !files.contains(&place.path) {
        let folder = format!("{}/", place.path);
        let is_folder = files.iter().any(|file| file.starts_with(&folder));
        return Err(match is_folder {
            true => {
                "it is a folder, which has no page in the book; link to a file in it".to_owned()
            }
            false => format!("there is no file `{}`", place.path),
        });
    }
    let Some(heading) = place.heading else { return Ok(()) };
    let Some(page) = pages.get(&place.path) else {
        return Err(format!("`{}` is no page, so it has no headings", place.path));
    };
    match page.headings.contains(&heading) {
        true => Ok(()),
        false => Err(format!("`{}` has no heading `#{heading}`", place.path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reasons(text: &str) -> Vec<String> {
        let other = "# Other\n\n## A part\n";
        let pages = [("docs/a.md", text), ("docs/b.md", other)];
        let files = ["docs/a.md", "docs/b.md", "docs/c/d.svg"].map(str::to_owned);
        let pages = pages.map(|(name, text)| (name.to_owned(), Page::read(text)));
        let found = dead(&BTreeMap::from(pages), &BTreeSet::from(files));
        found.into_iter().map(|dead| dead.reason).collect()
    }

    #[test]
    fn links_that_lead_somewhere_are_accepted() {
        let text =
            "# A\n\n[1](b.md) [2](b.md#a-part) [3](#a) ![4](c/d.svg) [5](https://x.example)\n";
        assert_eq!(reasons(text), [""; 0]);
    }

    #[test]
    fn each_kind_of_dead_link_is_found() {
        for target in ["x.md", "b.md#no-part", "#no", "c", "c/d.svg#x", "../../x.md"] {
            assert_eq!(reasons(&format!("# A\n\n[1]({target})\n")).len(), 1, "{target}");
        }
    }
}
