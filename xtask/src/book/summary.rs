//! `docs/SUMMARY.md`: the order of the book, and the pages that it does not list one by one.

use std::collections::BTreeSet;

use super::page::{Page, place};
use crate::Failure;

/// The list of contents, beside the pages.
pub(super) const SUMMARY: &str = "docs/SUMMARY.md";

/// The list of contents with paths from the root. A page `x.md` with a folder `x/` has the pages in
/// that folder below it, in the order of their names, so that generated pages need no line.
pub(super) fn expanded(text: &str, files: &BTreeSet<String>) -> Result<String, Failure> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let page = Page::read(line.trim_start());
        let Some(link) = page.links.first() else {
            lines.push(line.to_owned());
            continue;
        };
        let path = place(SUMMARY, &link.target).map(|place| place.path);
        let path = path.ok_or_else(|| format!("`{}` is outside", link.target))?;
        lines.push(line.replace(&format!("({})", link.target), &format!("({path})")));
        let indent = " ".repeat(line.len() - line.trim_start().len() + 2);
        for below in children(&path, files) {
            let name = below.rsplit('/').next().unwrap_or_default().trim_end_matches(".md");
            lines.push(format!("{indent}- [{}]({below})", title(name)));
        }
    }
    Ok(lines.join("\n") + "\n")
}

/// The pages in the folder that has the name of the page.
fn children<'a>(page: &str, files: &'a BTreeSet<String>) -> impl Iterator<Item = &'a String> {
    let folder = page.strip_suffix(".md").map(|stem| format!("{stem}/"));
    files.iter().filter(move |file| {
        let rest = folder.as_ref().and_then(|folder| file.strip_prefix(folder.as_str()));
        rest.is_some_and(|rest| rest.ends_with(".md") && !rest.contains('/'))
    })
}

/// What a page is called in the list: `0004-peers` is "4 peers", other names stand as they are.
fn title(name: &str) -> String {
    match name.split_once('-') {
        Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{} {}", number.trim_start_matches('0'), rest.replace('-', " "))
        }
        _ => name.to_owned(),
    }
}

/// The pages of the book, in its order.
pub(super) fn pages(expanded: &str) -> Vec<String> {
    Page::read(expanded).links.into_iter().map(|link| link.target).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_the_pages_of_its_folder_below_it() {
        let files = ["README.md", "docs/ops.md", "docs/ops/add.md", "docs/ops/sub.md"];
        let files = files.iter().map(|&file| file.to_owned()).collect();
        let text = "# Summary\n\n[Start](../README.md)\n\n- [Ops](ops.md)\n- [End](../README.md)\n";
        let expected = "# Summary\n\n[Start](README.md)\n\n- [Ops](docs/ops.md)\n  \
                        - [add](docs/ops/add.md)\n  - [sub](docs/ops/sub.md)\n- [End](README.md)\n";
        let expanded = expanded(text, &files).expect("a summary");
        assert_eq!(expanded, expected);
        assert_eq!(pages(&expanded)[1..3], ["docs/ops.md", "docs/ops/add.md"]);
    }

    #[test]
    fn the_number_of_a_decision_stands_before_its_name() {
        assert_eq!(title("0004-peers"), "4 peers");
        assert_eq!(title("add_rms_norm"), "add_rms_norm");
    }
}
