//! Every Rust file under a `src` folder is reached by `mod` lines from a root of its crate.

use std::collections::{BTreeMap, BTreeSet};

use super::rust_text::{RustText, line_of};
use super::{SourceFile, Violation};

pub(super) fn check(files: &[SourceFile]) -> Vec<Violation> {
    let sources: BTreeMap<&str, &str> = files
        .iter()
        .filter(|file| file.is_rust() && file.folders().any(|folder| folder == "src"))
        .map(|file| (file.path.as_str(), file.text.as_str()))
        .collect();
    let mut waiting: Vec<String> =
        sources.keys().filter(|path| is_root(path)).map(|path| (*path).to_owned()).collect();
    let mut reached = BTreeSet::new();
    while let Some(path) = waiting.pop() {
        if let Some(text) = sources.get(path.as_str()).filter(|_| !reached.contains(&path)) {
            waiting.extend(children(&path, text));
            reached.insert(path);
        }
    }
    let hint = "add its `mod` line, or delete the file";
    let dead = sources.keys().filter(|path| !reached.contains(**path));
    dead.map(|path| Violation::new(path, 1, "no `mod` line leads here", hint)).collect()
}

/// A library, a program, or one of several programs under `src/bin`.
fn is_root(path: &str) -> bool {
    let inner = path.rsplit_once("src/").map_or(path, |(_, inner)| inner);
    match inner.strip_prefix("bin/") {
        Some(program) => !program.contains('/') || program.ends_with("/main.rs"),
        None => matches!(inner, "lib.rs" | "main.rs"),
    }
}

/// The files that the `mod` lines of the file at `path` may mean.
fn children(path: &str, text: &str) -> Vec<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let base = match name {
        "mod.rs" | "lib.rs" | "main.rs" => folder.to_owned(),
        _ => path.trim_end_matches(".rs").to_owned(),
    };
    module_lines(text)
        .into_iter()
        .flat_map(|module| match module.path_attribute {
            Some(file) => vec![format!("{folder}/{file}")],
            None => {
                let place = format!("{base}/{}", module.names.join("/"));
                vec![format!("{place}.rs"), format!("{place}/mod.rs")]
            }
        })
        .collect()
}

/// One `mod x;` with the inline modules around it.
struct ModuleLine {
    names: Vec<String>,
    path_attribute: Option<String>,
}

fn module_lines(text: &str) -> Vec<ModuleLine> {
    let code = RustText::parse(text).code;
    let mut lines = Vec::new();
    let mut depth = 0_usize;
    let mut inline: Vec<(String, usize)> = Vec::new();
    let mut words: Vec<&str> = Vec::new();
    for (at, token) in tokens(&code) {
        match token {
            "{" => {
                depth += 1;
                if let [.., "mod", name] = words[..] {
                    inline.push((name.to_owned(), depth));
                }
            }
            "}" => {
                inline.retain(|(_, begin)| *begin < depth);
                depth = depth.saturating_sub(1);
            }
            ";" => {
                if let [.., "mod", name] = words[..] {
                    let around = inline.iter().map(|(name, _)| name.clone());
                    lines.push(ModuleLine {
                        names: around.chain([name.trim_start_matches("r#").to_owned()]).collect(),
                        path_attribute: path_attribute(text, line_of(&code, at)),
                    });
                }
            }
            word => {
                words.push(word);
                continue;
            }
        }
        words.clear();
    }
    lines
}

/// Braces, semicolons and whatever stands between them and blanks.
fn tokens(code: &str) -> Vec<(usize, &str)> {
    let mut tokens = Vec::new();
    let mut begin = None;
    for (at, letter) in code.char_indices() {
        let is_mark = matches!(letter, '{' | '}' | ';');
        if is_mark || letter.is_whitespace() {
            tokens.extend(begin.take().map(|begin| (begin, &code[begin..at])));
        } else {
            begin.get_or_insert(at);
        }
        if is_mark {
            tokens.push((at, &code[at..at + 1]));
        }
    }
    tokens
}

/// The file named by a `#[path = "..."]` on the line above `line`.
fn path_attribute(text: &str, line: usize) -> Option<String> {
    let above = text.lines().nth(line.checked_sub(2)?)?.trim();
    let value = above.strip_prefix("#[path")?.trim_start().strip_prefix('=')?;
    value.split('"').nth(1).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dead(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<SourceFile> =
            files.iter().map(|(path, text)| SourceFile::new(*path, *text)).collect();
        check(&files).into_iter().map(|violation| violation.path).collect()
    }

    #[test]
    fn refuses_a_file_that_no_mod_line_names() {
        let files = [("a/src/lib.rs", "// mod b;\nlet x = \"mod b;\";"), ("a/src/b.rs", "")];
        assert_eq!(dead(&files), ["a/src/b.rs"]);
    }

    #[test]
    fn refuses_what_only_a_dead_file_names() {
        let files = [("a/src/lib.rs", ""), ("a/src/b/mod.rs", "mod c;"), ("a/src/b/c.rs", "")];
        assert_eq!(dead(&files), ["a/src/b/c.rs", "a/src/b/mod.rs"]);
    }

    #[test]
    fn follows_files_folders_and_inline_modules() {
        let files = [
            (
                "a/src/lib.rs",
                "pub(crate) mod b;\n#[cfg(test)]\nmod tests;\nmod x { mod y; } mod d;",
            ),
            ("a/src/b/mod.rs", "mod c;"),
            ("a/src/b/c.rs", ""),
            ("a/src/d.rs", "mod e;"),
            ("a/src/d/e.rs", ""),
            ("a/src/tests.rs", ""),
            ("a/src/x/y.rs", ""),
        ];
        assert!(dead(&files).is_empty(), "{:?}", dead(&files));
    }

    #[test]
    fn follows_a_path_attribute() {
        let files =
            [("a/src/main.rs", "#[path = \"odd_name.rs\"]\nmod b;"), ("a/src/odd_name.rs", "")];
        assert!(dead(&files).is_empty());
    }

    #[test]
    fn programs_under_bin_are_roots_and_integration_tests_are_not_asked() {
        let files = [
            ("a/src/bin/one.rs", ""),
            ("a/src/bin/two/main.rs", "mod part;"),
            ("a/src/bin/two/part.rs", ""),
            ("a/tests/all.rs", ""),
        ];
        assert!(dead(&files).is_empty());
    }
}
