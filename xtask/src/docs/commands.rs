//! A page for each command, from the snapshots of its help, which the tests hold to the program.

use std::collections::BTreeMap;
use std::path::Path;

use super::tables::markdown;
use crate::Failure;

const SNAPSHOTS: &str = "crates/cli/tests/snapshots/outputs";

/// Where the pages are.
pub(super) const FOLDER: &str = "docs/commands";

const OPENING: &str = "<!-- Written by `cargo xtask docs` from the command's own help. -->";

/// Pages that say more about a command.
const GUIDES: &[(&str, &str, &str)] = &[
    ("asm", "looking-inside.md", "Looking inside"),
    ("bench", "choose-a-library.md", "Choose a library"),
    ("bisect", "race-your-benchmarks.md", "Race the benchmarks that you have"),
    ("check", "ci.md", "Check a change"),
    ("choose", "tuning.md", "Scaling and tuning"),
    ("compare", "METHOD.md", "Method"),
    ("export", "exchange.md", "Other tools, other machines"),
    ("history", "history.md", "The history of runs"),
    ("import", "exchange.md", "Other tools, other machines"),
    ("init", "gate-a-pull-request.md", "Gate a pull request"),
    ("list", "ops.md", "Ops"),
    ("merge", "exchange.md", "Other tools, other machines"),
    ("new", "own-ops.md", "Your own op"),
    ("peers", "peers.md", "Peers"),
    ("profile", "looking-inside.md", "Looking inside"),
    ("prove", "METHOD.md", "Method"),
    ("report", "reading-a-report.md", "Reading a report"),
    ("scale", "tuning.md", "Scaling and tuning"),
    ("selftest", "METHOD.md", "Method"),
    ("trace", "looking-inside.md", "Looking inside"),
    ("tune", "tuning.md", "Scaling and tuning"),
    ("workload", "models.md", "Models"),
];

/// Every page with its path.
pub(super) fn pages(root: &Path) -> Result<Vec<(String, String)>, Failure> {
    let helps = helps(root)?;
    let whole = helps.get("").ok_or("there is no help of the program itself")?;
    let mut pages = Vec::new();
    for command in commands(whole) {
        let below = format!("{command} ");
        let mine =
            helps.iter().filter(|(words, _)| **words == command || words.starts_with(&below));
        let mut page = format!("# proofmark {command}\n\n{OPENING}\n");
        let mut is_first = true;
        for (words, help) in mine {
            if !is_first {
                page += &format!("\n## proofmark {words}\n");
            }
            page += &rendered(help);
            is_first = false;
        }
        if is_first {
            return Err(format!("`{command}` has no snapshot of its help in {SNAPSHOTS}"));
        }
        if let Some((_, path, title)) = GUIDES.iter().find(|(name, ..)| *name == command) {
            page += &format!(
                "\nGuide: [{title}](../{path}). All commands: [Commands](../commands.md).\n"
            );
        } else {
            page += "\nAll commands: [Commands](../commands.md).\n";
        }
        pages.push((format!("{FOLDER}/{command}.md"), page));
    }
    Ok(pages)
}

/// The long help of each command by its words, the program's own under "".
fn helps(root: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let folder = root.join(SNAPSHOTS);
    let broken = |error| format!("{SNAPSHOTS}: {error}");
    let mut helps = BTreeMap::new();
    for entry in std::fs::read_dir(&folder).map_err(broken)? {
        let path = entry.map_err(broken)?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if name == "help" || name.starts_with("help_") {
            let text = std::fs::read_to_string(&path).map_err(broken)?;
            let (words, help) = long(&text).ok_or_else(|| format!("{name}: no help in it"))?;
            helps.insert(words, help);
        }
    }
    Ok(helps)
}

/// The words of the command and its help: the long form, or the only one.
fn long(snapshot: &str) -> Option<(String, String)> {
    let mut found = None;
    for part in snapshot.split("\n$ proofmark ").skip(1) {
        let (line, rest) = part.split_once('\n')?;
        let words = line.trim_end_matches("--help").trim_end_matches("-h").trim();
        let help = rest.split("\n--- exit code").next().unwrap_or_default();
        if help.trim() != "the same" {
            found = Some((words.to_owned(), help.to_owned()));
        }
    }
    found
}

/// The commands that the program's own help lists.
fn commands(help: &str) -> Vec<String> {
    let lists = help.split("\nOptions:").next().unwrap_or_default();
    let entry = |line: &str| {
        let words = line.strip_prefix("  ")?;
        let name = words.split("  ").next()?.trim();
        (words.contains("  ") && !name.is_empty()).then(|| name.to_owned())
    };
    lists.lines().filter_map(entry).collect()
}

/// A help as Markdown: its sections as tables, everything else as it stands.
fn rendered(help: &str) -> String {
    let mut page = String::new();
    for section in sections(help) {
        let text = |lines: &[&str]| lines.join("\n").trim_matches('\n').to_owned();
        page += &match section {
            Section::About(lines) => format!("\n{}\n", text(&lines)),
            Section::Text(lines) => format!("\n```text\n{}\n```\n", text(&lines)),
            Section::List(title, lines) => {
                let row = |(term, meaning): (String, String)| {
                    vec![format!("`{}`", term.replace('|', "\\|")), escaped(&meaning)]
                };
                let rows: Vec<Vec<String>> = terms(&lines).into_iter().map(row).collect();
                format!("\n{}", markdown(&[&title.to_lowercase(), "meaning"], &rows))
            }
        };
    }
    page
}

/// A part of a help.
enum Section<'a> {
    /// What the command does.
    About(Vec<&'a str>),
    /// Arguments, options or examples below a title.
    List(&'a str, Vec<&'a str>),
    /// The usage, and what a command adds below its lists.
    Text(Vec<&'a str>),
}

fn sections(help: &str) -> Vec<Section<'_>> {
    let mut sections = vec![Section::About(Vec::new())];
    for line in help.lines() {
        let title = line.strip_suffix(':').filter(|it| !it.starts_with(' '));
        let is_text = !line.starts_with(' ') && !line.is_empty();
        match (title, sections.last_mut()) {
            _ if line.starts_with(USAGE) => {
                sections.push(Section::Text(vec![&line[USAGE.len()..]]));
            }
            (Some(title), _) => sections.push(Section::List(title, Vec::new())),
            // What stands below a list at the margin is no part of it.
            (None, Some(Section::List(..))) if is_text => sections.push(Section::Text(vec![line])),
            (
                None,
                Some(Section::About(lines) | Section::List(_, lines) | Section::Text(lines)),
            ) => {
                lines.push(line);
            }
            (None, None) => {}
        }
    }
    sections
}

/// What clap writes before the usage.
const USAGE: &str = "Usage: ";

/// Columns before which the name of an option or argument begins.
const TERM: usize = 8;

fn is_term(line: &str) -> bool {
    let words = line.trim_start();
    let indent = line.len() - words.len();
    (1..TERM).contains(&indent) && !words.is_empty()
}

/// Names with their meanings, of both layouts: in two columns, or the meaning below the name.
fn terms(lines: &[&str]) -> Vec<(String, String)> {
    let mut terms: Vec<(String, String)> = Vec::new();
    for line in lines {
        let words = line.trim();
        if is_term(line) {
            let (term, meaning) = words.split_once("  ").unwrap_or((words, ""));
            terms.push((term.to_owned(), meaning.trim().to_owned()));
        } else if let (Some((_, meaning)), false) = (terms.last_mut(), words.is_empty()) {
            let one: Vec<&str> = words.split_whitespace().collect();
            // A value of a list, as `- table:    A table for people`.
            let one = one.join(" ").replacen("- ", "· ", usize::from(words.starts_with("- ")));
            let gap = match meaning.is_empty() {
                true => "",
                // A paragraph of its own in the help.
                false if words.starts_with("Possible") => ". ",
                false => " ",
            };
            *meaning += &format!("{gap}{one}");
        }
    }
    terms
}

/// Text that a table of Markdown shows as it stands.
fn escaped(text: &str) -> String {
    let text = text.replace('|', "\\|");
    // A name between angle brackets would be a tag outside of code.
    let parts = text.split('`').enumerate().map(|(index, part)| match index % 2 {
        0 => part.replace('<', "&lt;").replace('*', "\\*"),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: &str = "Does it\n\nUsage: proofmark do <A>\n\nArguments:\n  <A>  What is done\n\n\
                         Options:\n      --case <CASE>  A case, or\n                     many\n  \
                         -h, --help         Print help\n\nAn arm is\n  a  b\n";

    #[test]
    fn both_layouts_of_help_become_tables() {
        let page = rendered(SHORT);
        for part in [
            "\nDoes it\n",
            "```text\nproofmark do <A>\n```",
            "| `<A>` | What is done |",
            "| `--case <CASE>` | A case, or many |",
            "```text\nAn arm is\n  a  b\n```",
        ] {
            assert!(page.contains(part), "{part} in\n{page}");
        }
        let long = "Options:\n      --format <FORMAT>\n          How\n\n          Possible values:\n          \
                    - table: A table\n          - json:  One|two\n";
        let row = "How. Possible values: · table: A table · json: One\\|two |";
        assert!(rendered(long).contains(row), "{}", rendered(long));
    }

    #[test]
    fn the_long_form_is_taken_where_there_is_one() {
        let both = "---\n$ proofmark do -h\nshort\n--- exit code 0\n\n$ proofmark do --help\nlong\n--- exit code 0\n";
        assert_eq!(long(both), Some(("do".to_owned(), "long".to_owned())));
        let same = both.replace("long", "the same");
        assert_eq!(long(&same), Some(("do".to_owned(), "short".to_owned())));
    }

    #[test]
    fn commands_are_read_off_the_groups_of_the_help() {
        let help = "Proves\n\nUsage: proofmark <COMMAND>\n\nLook inside:\n  asm    Say what\n  trace  Write\n\n\
                    Options:\n  -h, --help  Print\n";
        assert_eq!(commands(help), ["asm", "trace"]);
    }
}
