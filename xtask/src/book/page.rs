//! A Markdown page: where its links lead, and which headings can be linked to.

use std::collections::BTreeMap;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// A link or picture of a page.
pub(super) struct Link {
    /// The line that it begins in, from 1.
    pub(super) line: usize,
    /// What stands between the parentheses.
    pub(super) target: String,
}

/// A link into the repository, seen from the page that has it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The file, relative to the root.
    pub(super) path: String,
    /// The heading, without `#`.
    pub(super) heading: Option<String>,
}

/// What is read off a page.
pub(super) struct Page {
    pub(super) links: Vec<Link>,
    /// The ids of its headings, as hosting services and mdBook make them.
    pub(super) headings: Vec<String>,
}

impl Page {
    /// Reads the text of a page.
    pub(super) fn read(text: &str) -> Self {
        let mut page = Page { links: Vec::new(), headings: Vec::new() };
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let mut heading: Option<String> = None;
        let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    let line = text[..range.start].matches('\n').count() + 1;
                    page.links.push(Link { line, target: dest_url.into_string() });
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::Text(words) | Event::Code(words) => {
                    if let Some(heading) = &mut heading {
                        *heading += &words;
                    }
                }
                Event::End(TagEnd::Heading(_)) => {
                    let id = id_of(&heading.take().unwrap_or_default());
                    let times = seen.entry(id.clone()).or_default();
                    page.headings.push(match *times {
                        0 => id,
                        times => format!("{id}-{times}"),
                    });
                    *times += 1;
                }
                _ => {}
            }
        }
        page
    }
}

/// The id of a heading: letters, digits, `-` and `_` in lower case, and `-` for blanks.
fn id_of(heading: &str) -> String {
    let letter = |letter: char| match letter {
        _ if letter.is_whitespace() => Some('-'),
        '-' | '_' => Some(letter),
        _ if letter.is_alphanumeric() => Some(letter.to_ascii_lowercase()),
        _ => None,
    };
    heading.chars().filter_map(letter).collect()
}

/// Whether a link leads out of the repository.
pub(super) fn is_outside(target: &str) -> bool {
    let scheme = target.split(['/', '#']).next().unwrap_or_default();
    scheme.contains(':')
}

/// Where a link of a page leads; `None` if that is above the root.
pub(super) fn place(page: &str, target: &str) -> Option<Place> {
    let (file, heading) = match target.split_once('#') {
        Some((file, heading)) => (file, Some(heading.to_owned())),
        None => (target, None),
    };
    if file.is_empty() {
        return Some(Place { path: page.to_owned(), heading });
    }
    let folder = page.rfind('/').map_or("", |end| &page[..end]);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(Place { path: parts.join("/"), heading })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_in_text_and_not_in_code() {
        let text = "# A\n\n[b](b.md) and ![c](c.svg)\n\n```\n[d](d.md)\n```\n\n`[e](e.md)`\n\n[f]\n\n\
                    [f]: f.md\n";
        let found: Vec<(usize, String)> =
            Page::read(text).links.into_iter().map(|link| (link.line, link.target)).collect();
        let expected = [(3, "b.md"), (3, "c.svg"), (11, "f.md")];
        assert_eq!(found, expected.map(|(line, target)| (line, target.to_owned())));
    }

    #[test]
    fn headings_have_the_ids_that_readers_link_to() {
        let text =
            "# Why, and `how`?\n\n## Of f32 — twice\n\n## Of f32 — twice\n\nnext_line\n---\n";
        let expected = ["why-and-how", "of-f32--twice", "of-f32--twice-1", "next_line"];
        assert_eq!(Page::read(text).headings, expected);
    }

    #[test]
    fn a_link_is_resolved_from_the_folder_of_its_page() {
        let at = |page, target| place(page, target).map(|it| (it.path, it.heading));
        let heading = Some("x".to_owned());
        assert_eq!(at("docs/a.md", "../README.md#x"), Some(("README.md".to_owned(), heading)));
        assert_eq!(at("docs/a.md", "ops/b.md"), Some(("docs/ops/b.md".to_owned(), None)));
        assert_eq!(at("README.md", "#x").map(|it| it.0), Some("README.md".to_owned()));
        assert_eq!(at("README.md", "../x.md"), None);
    }

    #[test]
    fn a_scheme_leads_outside() {
        assert!(is_outside("https://example.org/a#b"));
        assert!(is_outside("mailto:a@example.org"));
        assert!(!is_outside("docs/a.md#b:c"));
    }
}
