//! The house rules that a machine can hold over the text of the tree, one file each.

mod attribute_default;
mod changelog;
mod columns;
mod dead_file;
mod header;
mod length;
mod machine_path;
mod manifest;
mod names;
mod op_folder;
mod oracle;
mod own_words;
mod rust_text;
mod unfinished;
mod unsafe_code;
mod whitespace;

use std::path::Path;

use crate::{Failure, tree};

/// One text file of the tree; `path` is relative to the root and uses `/`.
struct SourceFile {
    path: String,
    text: String,
}

impl SourceFile {
    fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into() }
    }

    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The name of the file without its folders.
    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// The names of the folders above the file, outermost first.
    fn folders(&self) -> impl Iterator<Item = &str> {
        let folders = self.path.rfind('/').map_or("", |end| &self.path[..end]);
        folders.split('/').filter(|name| !name.is_empty())
    }
}

/// A broken rule at a place.
#[derive(Debug)]
struct Violation {
    path: String,
    line: usize,
    message: String,
    hint: &'static str,
    /// A warning is printed and fails nothing.
    is_warning: bool,
}

impl Violation {
    fn new(path: &str, line: usize, message: impl Into<String>, hint: &'static str) -> Self {
        Self { path: path.to_owned(), line, message: message.into(), hint, is_warning: false }
    }

    fn warning(self) -> Self {
        Self { is_warning: true, ..self }
    }
}

/// What a rule looks at.
enum Rule {
    EachFile(fn(&SourceFile) -> Vec<Violation>),
    WholeTree(fn(&[SourceFile]) -> Vec<Violation>),
}

const RULES: &[Rule] = &[
    Rule::EachFile(length::check),
    Rule::EachFile(names::check),
    Rule::EachFile(header::check),
    Rule::EachFile(unsafe_code::check_comments),
    Rule::EachFile(unsafe_code::check_places),
    Rule::EachFile(oracle::check),
    Rule::EachFile(unfinished::check),
    Rule::EachFile(whitespace::check),
    Rule::EachFile(columns::check),
    Rule::EachFile(machine_path::check),
    Rule::EachFile(manifest::check),
    Rule::EachFile(attribute_default::check),
    Rule::WholeTree(op_folder::check),
    Rule::WholeTree(dead_file::check),
    Rule::WholeTree(own_words::check),
    Rule::WholeTree(changelog::check),
];

/// Applies every rule to the tree and lists all violations.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let files = read_tree(root)?;
    let mut violations: Vec<Violation> = RULES
        .iter()
        .flat_map(|rule| match rule {
            Rule::EachFile(check) => files.iter().flat_map(check).collect(),
            Rule::WholeTree(check) => check(&files),
        })
        .collect();
    violations.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    for violation in &violations {
        let Violation { path, line, message, hint, is_warning } = violation;
        let kind = if *is_warning { "warning: " } else { "" };
        println!("{path}:{line}: {kind}{message}\n  hint: {hint}");
    }
    let failures = violations.iter().filter(|violation| !violation.is_warning).count();
    let warnings = violations.len() - failures;
    println!("{} files, {failures} violations, {warnings} warnings", files.len());
    if failures == 0 { Ok(()) } else { Err(format!("tidy: {failures} violations")) }
}

/// The text files of the repository; what is not UTF-8 is data, not text.
fn read_tree(root: &Path) -> Result<Vec<SourceFile>, Failure> {
    let mut files = Vec::new();
    for path in tree::files(root)? {
        let bytes = std::fs::read(root.join(&path)).map_err(|error| format!("{path}: {error}"))?;
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(SourceFile::new(path, text));
        }
    }
    Ok(files)
}

/// The numbered lines of a text, from 1.
fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

#[cfg(test)]
mod tests {
    use super::SourceFile;

    #[test]
    fn a_path_falls_into_folders_and_name() {
        let file = SourceFile::new("crates/ops/src/lib.rs", "");
        assert_eq!(file.folders().collect::<Vec<_>>(), ["crates", "ops", "src"]);
        assert_eq!(file.name(), "lib.rs");
        assert_eq!(SourceFile::new("README.md", "").folders().count(), 0);
    }
}
