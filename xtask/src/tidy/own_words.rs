//! Code never parses a message of its own: another wording must not change what the program does.
//!
//! The rule looks for a literal of two words or more, or with a colon, that code searches a text
//! for and that also stands in another literal of the crates. Text of another program is named as
//! a constant.

use super::rust_text::RustText;
use super::{SourceFile, Violation};

/// What stands before a literal that a text is searched for.
const SEARCHES: &[&str] = &[
    ".contains(",
    ".starts_with(",
    ".ends_with(",
    ".strip_prefix(",
    ".strip_suffix(",
    ".split(",
    ".split_once(",
    ".rsplit_once(",
    ".find(",
    ".rfind(",
    "==",
    "!=",
];

/// Letters before a literal that are compared with the longest of `SEARCHES`.
const LOOK_BACK: usize = 80;

struct Literal<'a> {
    path: &'a str,
    line: usize,
    text: String,
    is_searched_for: bool,
}

pub(super) fn check(files: &[SourceFile]) -> Vec<Violation> {
    let is_source = |file: &&SourceFile| {
        file.is_rust() && file.path.starts_with("crates/") && file.folders().any(|it| it == "src")
    };
    let sources: Vec<&SourceFile> = files.iter().filter(is_source).collect();
    let tests: Vec<String> = sources.iter().flat_map(|file| test_modules(file)).collect();
    let is_test = |file: &&&SourceFile| {
        tests.iter().any(|place| {
            let rest = file.path.strip_prefix(place.as_str());
            rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        })
    };
    let product = sources.iter().filter(|file| !is_test(file));
    let all: Vec<Literal<'_>> = product.flat_map(|file| literals(file)).collect();
    let (searched, said): (Vec<&Literal<'_>>, Vec<&Literal<'_>>) =
        all.iter().partition(|literal| literal.is_searched_for);
    let mut violations = Vec::new();
    for Literal { path, line, text, .. } in searched {
        let message = said.iter().find(|other| is_wording(text) && other.text.contains(text));
        if let Some(message) = message {
            let place = format!("{}:{}", message.path, message.line);
            let what = format!("`{text}` is searched for, and is part of a message ({place})");
            violations.push(Violation::new(path, *line, what, "hand over a type, not a sentence"));
        }
    }
    violations
}

/// Whether a text reads like part of a sentence: `two words`, `label: `.
fn is_wording(text: &str) -> bool {
    let letters: Vec<char> = text.chars().collect();
    letters.windows(3).any(|three| match three {
        [before, ' ', after] => before.is_alphabetic() && after.is_alphabetic(),
        [before, ':', ' '] => before.is_alphabetic(),
        _ => false,
    })
}

/// The places of the modules of a file that are compiled for tests alone.
fn test_modules(file: &SourceFile) -> Vec<String> {
    let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let base = match name {
        "mod.rs" | "lib.rs" | "main.rs" => folder,
        _ => file.path.trim_end_matches(".rs"),
    };
    let after = file.text.split("#[cfg(test)]").skip(1);
    let module = |rest: &str| {
        let line = rest.trim_start().lines().next()?;
        let name = line.split_once("mod ")?.1.strip_suffix(';')?;
        Some(format!("{base}/{name}"))
    };
    after.filter_map(module).collect()
}

/// The string literals of a file before its tests.
fn literals(file: &SourceFile) -> Vec<Literal<'_>> {
    let end = file.text.find("\n#[cfg(test)]\nmod tests {").unwrap_or(file.text.len());
    let text = &file.text[..end];
    let split = RustText::parse(text);
    let [all, code, comments] =
        [text, &split.code, &split.comments].map(|text| text.chars().collect::<Vec<char>>());
    let is_literal = |at: usize| code[at].is_whitespace() && comments[at].is_whitespace();
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < all.len() {
        if all[at] != '"' || !is_literal(at) {
            line += usize::from(all[at] == '\n');
            at += 1;
            continue;
        }
        let is_end = |&i: &usize| (all[i] == '"' && all[i - 1] != '\\') || !is_literal(i);
        let close = (at + 1..all.len()).find(is_end).unwrap_or(all.len());
        let before: String = code[at.saturating_sub(LOOK_BACK)..at].iter().collect();
        let before = before.trim_end();
        found.push(Literal {
            path: &file.path,
            line,
            text: all[at + 1..close].iter().collect(),
            is_searched_for: SEARCHES.iter().any(|search| before.ends_with(search)),
        });
        line += all[at..close].iter().filter(|&&letter| letter == '\n').count();
        at = close + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAYS: &str = "fn f() -> String {\n    format!(\"it behaves like {class}\")\n}\n";

    fn lines(text: &str) -> Vec<usize> {
        let said = SourceFile::new("crates/gate/src/refuse.rs", SAYS);
        let read = SourceFile::new("crates/gate/src/examiner.rs", text);
        check(&[said, read]).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn a_search_for_words_of_a_message_is_refused() {
        for search in [
            "reason.contains(\"behaves like\")",
            "reason.rsplit_once(\"behaves like \")",
            "reason.split_once(\n    \"behaves like \")",
            "reason == \"it behaves like {class}\"",
        ] {
            assert_eq!(lines(&format!("fn g() {{\n    {search};\n}}\n")).len(), 1, "{search}");
        }
        assert_eq!(lines("fn g() {\n    a(\"é\"); reason.contains(\"behaves like\");\n}\n"), [2]);
    }

    #[test]
    fn other_texts_and_tests_are_not() {
        for text in [
            "text.contains(\"like\")",
            "text.starts_with(\"unknown field\")",
            "text.split_once(' ')",
            "let said = \"behaves like\"",
            "// text.contains(\"behaves like\")",
        ] {
            assert!(lines(&format!("fn g() {{\n    {text};\n}}\n")).is_empty(), "{text}");
        }
        let test = "\n#[cfg(test)]\nmod tests {\n    a.contains(\"behaves like\");\n}\n";
        assert!(lines(test).is_empty());
    }

    #[test]
    fn a_file_of_tests_is_known_by_its_module() {
        let parent = SourceFile::new("crates/a/src/b.rs", "#[cfg(test)]\nmod scripted;\n");
        assert_eq!(test_modules(&parent), ["crates/a/src/b/scripted"]);
        let says = SourceFile::new("crates/gate/src/refuse.rs", SAYS);
        let text = "fn g() { a.contains(\"behaves like\") }\n";
        let tests = SourceFile::new("crates/a/src/b/scripted.rs", text);
        assert!(check(&[parent, says, tests]).is_empty());
    }
}
