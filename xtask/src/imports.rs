//! Which file of a crate imports which, read from `use` lines and from paths in the code.
//!
//! A file imports the file that defines an item which it names. A re-export is followed to the
//! definition and is itself no import: it only gives the item another name. Code for tests is left
//! out. Methods are found by type and name no file, so a call of a method is not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};

use crate::Failure;

/// The names that lead from the root of a crate to a module: `["tune", "races"]`; empty for the
/// root.
pub(crate) type Module = Vec<String>;

/// The files of a crate by the module that each one is.
pub(crate) struct Sources {
    files: BTreeMap<Module, File>,
}

/// What one file says of modules and names.
#[derive(Default)]
struct File {
    /// Its path below the root of the repository.
    path: String,
    /// The modules that it declares and that have files of their own.
    children: BTreeSet<String>,
    uses: Vec<Use>,
    /// Paths of two names or more, outside of `use`.
    paths: Vec<Vec<String>>,
    /// All names outside of `use`.
    words: BTreeSet<String>,
}

/// One name that a `use` brings into a file; `*` for a glob.
struct Use {
    path: Vec<String>,
    name: String,
    is_public: bool,
}

/// Re-exports that are followed from a name to its definition; more are a circle of re-exports.
const MOST_HOPS: usize = 16;

impl Sources {
    /// Reads the crate whose sources are below `folder`, a path below `root`.
    pub(crate) fn read(root: &Path, folder: &str) -> Result<Sources, Failure> {
        Sources::from_texts(folder, |path| std::fs::read_to_string(root.join(path)).ok())
    }

    /// The same with `text` in the place of the disk.
    pub(crate) fn from_texts(
        folder: &str,
        text: impl Fn(&str) -> Option<String>,
    ) -> Result<Sources, Failure> {
        let mut files = BTreeMap::new();
        let mut waiting = vec![(Module::new(), format!("{folder}/lib.rs"))];
        while let Some((module, path)) = waiting.pop() {
            let source = text(&path).ok_or_else(|| format!("{path} cannot be read"))?;
            let tokens: TokenStream =
                source.parse().map_err(|error| format!("{path} is no Rust: {error}"))?;
            let mut file = File { path, ..File::default() };
            file.read(tokens, 0);
            for child in &file.children {
                let below: Module = module.iter().chain([child]).cloned().collect();
                let place = format!("{folder}/{}", below.join("/"));
                let places = [format!("{place}.rs"), format!("{place}/mod.rs")];
                let found = places.into_iter().find(|path| text(path).is_some());
                let found = found.ok_or_else(|| format!("{place} has no file"))?;
                waiting.push((below, found));
            }
            files.insert(module, file);
        }
        Ok(Sources { files })
    }

    /// The path of the file that a module is.
    pub(crate) fn path(&self, module: &Module) -> &str {
        &self.files[module].path
    }

    /// For every file, those that it imports.
    pub(crate) fn imports(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        self.files.keys().map(|module| (module.clone(), self.imports_of(module))).collect()
    }

    fn imports_of(&self, module: &Module) -> BTreeSet<Module> {
        let file = &self.files[module];
        let is_import = |one: &&Use| !one.is_public || file.words.contains(&one.name);
        let used = file.uses.iter().filter(is_import).map(|one| &one.path);
        let named = used.chain(&file.paths).filter_map(|path| self.absolute(module, path, 0));
        named.filter_map(|path| self.home(&path, 0)).filter(|home| home != module).collect()
    }

    /// A path as it is written in a module, from the root of the crate; `None` for other crates.
    fn absolute(&self, module: &Module, path: &[String], hops: usize) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        let (mut from, mut rest): (Module, _) = match first.as_str() {
            "crate" => (Vec::new(), rest),
            "self" => (module.clone(), rest),
            "super" => (module[..module.len().checked_sub(1)?].to_vec(), rest),
            child if self.files[module].children.contains(child) => (module.clone(), path),
            name => {
                let bound = self.files[module].uses.iter().find(|one| one.name == name);
                let bound = bound.filter(|one| one.path[0] != *name && hops < MOST_HOPS)?;
                (self.absolute(module, &bound.path, hops + 1)?, rest)
            }
        };
        while let Some(("super", after)) = rest.split_first().map(|(name, rest)| (&**name, rest)) {
            from.pop()?;
            rest = after;
        }
        from.extend(rest.iter().cloned());
        Some(from)
    }

    /// The module whose file defines the item at a path; `None` for a module itself, which imports
    /// nothing yet, and for an item of another crate.
    fn home(&self, path: &[String], hops: usize) -> Option<Module> {
        let mut module = Module::new();
        let mut rest = path;
        while let Some((name, after)) = rest.split_first()
            && self.files[&module].children.contains(name)
        {
            module.push(name.clone());
            rest = after;
        }
        let Some((item, after)) = rest.split_first() else {
            // A module imports nothing, but a function may have the same name.
            let (name, above) = module.split_last()?;
            let is_namesake = |one: &&Use| one.name == *name && hops < MOST_HOPS;
            let namesake = self.files[above].uses.iter().find(is_namesake)?;
            return self.home(&self.absolute(&above.to_vec(), &namesake.path, hops)?, hops + 1);
        };
        // The content of a whole module, if the glob is of a module.
        if item == "*" {
            return Some(module);
        }
        let Some(bound) = self.files[&module].uses.iter().find(|one| one.name == *item) else {
            return Some(module);
        };
        let mut bound = self.absolute(&module, &bound.path, hops)?;
        bound.extend(after.iter().cloned());
        if hops < MOST_HOPS { self.home(&bound, hops + 1) } else { None }
    }
}

impl File {
    /// Reads tokens that lie in `depth` modules within the file.
    fn read(&mut self, tokens: TokenStream, depth: usize) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < trees.len() {
            at = match &trees[at..] {
                [TokenTree::Punct(mark), TokenTree::Group(attribute), ..]
                    if mark.as_char() == '#' && attribute.delimiter() == Delimiter::Bracket =>
                {
                    if is_for_tests(attribute) {
                        after_item(&trees, at + 2)
                    } else {
                        at + 2
                    }
                }
                [TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Punct(end), ..]
                    if word == "mod" && end.as_char() == ';' =>
                {
                    self.children.insert(name.to_string());
                    at + 3
                }
                [TokenTree::Ident(word), TokenTree::Ident(_), TokenTree::Group(body), ..]
                    if word == "mod" =>
                {
                    self.read(body.stream(), depth + 1);
                    at + 3
                }
                // `use<'a>` is a bound and no import.
                [TokenTree::Ident(word), next, ..] if word == "use" && !is_mark(next, '<') => {
                    let end = (at..trees.len()).find(|&at| is_mark(&trees[at], ';'));
                    let end = end.unwrap_or(trees.len());
                    self.read_use(&trees[at + 1..end], is_public(&trees[..at]), depth);
                    end + 1
                }
                [TokenTree::Ident(_), ..] => {
                    let (path, end) = path_at(&trees, at);
                    self.words.extend(path.iter().cloned());
                    if path.len() > 1 && !follows_colons(&trees, at) {
                        self.paths.push(from_file(path, depth));
                    }
                    end
                }
                [TokenTree::Group(group), ..] => {
                    self.read(group.stream(), depth);
                    at + 1
                }
                _ => at + 1,
            };
        }
    }

    fn read_use(&mut self, trees: &[TokenTree], is_public: bool, depth: usize) {
        let mut named = Vec::new();
        use_trees(trees, &[], &mut named);
        self.uses.extend(
            named.into_iter().filter(|(path, _)| !path.is_empty()).map(|(path, name)| Use {
                path: from_file(path, depth),
                name,
                is_public,
            }),
        );
    }
}

/// Every path of a `use` after `prefix`, with the name that it gets.
fn use_trees(trees: &[TokenTree], prefix: &[String], named: &mut Vec<(Vec<String>, String)>) {
    // What follows a trailing comma is empty.
    for tree in trees.split(|tree| is_mark(tree, ',')).filter(|tree| !tree.is_empty()) {
        let mut path = prefix.to_vec();
        let mut name = None;
        let mut inner = None;
        let mut words = tree.iter();
        while let Some(word) = words.next() {
            match word {
                TokenTree::Ident(word) if word == "as" => {
                    name = words.next().map(ToString::to_string);
                }
                TokenTree::Ident(word) if word == "self" && !path.is_empty() => {}
                TokenTree::Ident(word) => path.push(word.to_string()),
                TokenTree::Group(group) => inner = Some(group.stream()),
                TokenTree::Punct(mark) if mark.as_char() == '*' => path.push("*".to_owned()),
                _ => {}
            }
        }
        match inner {
            Some(inner) => use_trees(&inner.into_iter().collect::<Vec<_>>(), &path, named),
            None => {
                let name = name.or_else(|| path.last().cloned()).unwrap_or_default();
                named.push((path, name));
            }
        }
    }
}

/// A path of a module within a file, as the file itself would write it.
fn from_file(mut path: Vec<String>, depth: usize) -> Vec<String> {
    for _ in 0..depth {
        if path.first().is_some_and(|name| name == "super") {
            path[0] = "self".to_owned();
            if path.get(1).is_some_and(|name| name == "super") {
                path.remove(0);
            }
        }
    }
    path
}

/// The path that begins at `at`, and where it ends.
fn path_at(trees: &[TokenTree], mut at: usize) -> (Vec<String>, usize) {
    let mut path = Vec::new();
    while let Some(TokenTree::Ident(name)) = trees.get(at) {
        path.push(name.to_string());
        at += 1;
        if !is_colons(trees, at) || !matches!(trees.get(at + 2), Some(TokenTree::Ident(_))) {
            break;
        }
        at += 2;
    }
    (path, at)
}

fn is_colons(trees: &[TokenTree], at: usize) -> bool {
    match trees.get(at..at + 2) {
        Some([TokenTree::Punct(first), second]) => {
            first.as_char() == ':' && first.spacing() == Spacing::Joint && is_mark(second, ':')
        }
        _ => false,
    }
}

fn follows_colons(trees: &[TokenTree], at: usize) -> bool {
    at >= 2 && is_colons(trees, at - 2)
}

fn is_mark(tree: &TokenTree, mark: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == mark)
}

/// Whether what follows these tokens is visible outside of its module: `pub` or `pub(…)`.
fn is_public(before: &[TokenTree]) -> bool {
    let is_pub = |tree: &TokenTree| matches!(tree, TokenTree::Ident(word) if word == "pub");
    match before {
        [.., word] if is_pub(word) => true,
        [.., word, TokenTree::Group(_)] => is_pub(word),
        _ => false,
    }
}

/// Whether an attribute is `cfg(test)`.
fn is_for_tests(attribute: &Group) -> bool {
    let trees: Vec<TokenTree> = attribute.stream().into_iter().collect();
    matches!(&trees[..], [TokenTree::Ident(word), TokenTree::Group(of)]
        if word == "cfg" && of.stream().to_string() == "test")
}

/// Where the item that begins at `at` ends: after a `;`, or after braces that no `;` follows.
fn after_item(trees: &[TokenTree], at: usize) -> usize {
    let is_braces = |tree: &TokenTree| match tree {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => false,
    };
    let is_end = |&at: &usize| {
        let has_more = trees.get(at + 1).is_some_and(|next| is_mark(next, ';'));
        is_mark(&trees[at], ';') || is_braces(&trees[at]) && !has_more
    };
    (at..trees.len()).find(is_end).map_or(trees.len(), |end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The imports of a crate of these files, as `from -> to`.
    fn imports(files: &[(&str, &str)]) -> Vec<String> {
        let text = |path: &str| {
            let found = files.iter().find(|(name, _)| path == format!("src/{name}"));
            found.map(|(_, text)| (*text).to_owned())
        };
        let sources = Sources::from_texts("src", text).unwrap();
        let name = |module: &Module| module.join("::");
        let pairs = sources.imports().into_iter();
        let lines = pairs.flat_map(|(from, all)| {
            all.into_iter().map(move |to| format!("{} -> {}", name(&from), name(&to)))
        });
        lines.collect()
    }

    #[test]
    fn uses_and_paths_lead_to_the_file_of_the_item() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::{self, One, deep::Two,}; fn f() { b::three() }"),
            ("b/mod.rs", "pub mod deep; pub struct One; pub fn three() { deep::four(); }"),
            ("b/deep.rs", "pub struct Two; pub fn four() { let _ = crate::c::FIVE; }"),
            ("c.rs", "pub const FIVE: u8 = 5;"),
        ];
        assert_eq!(imports(&files), ["a -> b", "a -> b::deep", "b -> b::deep", "b::deep -> c"]);
    }

    #[test]
    fn a_re_export_is_followed_and_is_no_import_itself() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use b::One;"),
            ("a.rs", "use crate::{One as Uno, b}; fn f(_: b::Two) {}"),
            ("b/mod.rs", "mod one; mod two; pub use one::One; pub(crate) use two::Two;"),
            ("b/one.rs", "pub struct One;"),
            ("b/two.rs", "use super::One; pub struct Two(One);"),
        ];
        assert_eq!(imports(&files), ["a -> b::one", "a -> b::two", "b::two -> b::one"]);
    }

    #[test]
    fn a_re_export_that_its_own_file_uses_is_an_import() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod b; pub use b::One; pub fn f() -> One { One }"),
            ("a/b.rs", "pub struct One;"),
        ];
        assert_eq!(imports(&files), ["a -> a::b"]);
    }

    #[test]
    fn tests_text_and_other_crates_are_left_out() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            (
                "a.rs",
                "use std::fmt; use serde::b::One;\n\
                 #[cfg(test)] use crate::b::{One, Two};\n\
                 // crate::b::One\n\
                 const TEXT: &str = \"crate::b::One\";\n\
                 fn f() -> impl Sized + use<> { ::b::g() }\n\
                 #[cfg(test)] mod tests { use crate::b::One; }",
            ),
            ("b.rs", "#[derive(Debug)] pub struct One;"),
        ];
        assert_eq!(imports(&files), Vec::<String>::new());
    }

    #[test]
    fn a_module_within_a_file_is_its_file() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "mod inner { use super::One; use super::super::b::Two; } struct One;"),
            ("b.rs", "pub struct Two; fn f() { self::g(); } fn g() {}"),
        ];
        assert_eq!(imports(&files), ["a -> b"]);
    }

    #[test]
    fn macros_and_globs_are_read_too() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "macro_rules! m { () => { $crate::b::f() } } use crate::c::*;"),
            ("b.rs", "pub fn f() {}"),
            ("c.rs", "pub fn g() {}"),
        ];
        assert_eq!(imports(&files), ["a -> b", "a -> c"]);
    }

    #[test]
    fn a_function_is_told_from_a_module_of_its_name() {
        let files = [
            ("lib.rs", "mod a; mod plan; mod verbs; pub use plan::plan; pub use verbs::prove;"),
            ("a.rs", "use crate::plan; fn f() { plan(); crate::prove(); }"),
            ("plan/mod.rs", "mod make; pub use make::plan;"),
            ("plan/make.rs", "pub fn plan() {}"),
            ("verbs.rs", "pub fn prove() {}"),
        ];
        assert_eq!(imports(&files), ["a -> plan::make", "a -> verbs"]);
    }

    #[test]
    fn a_module_without_a_file_is_told() {
        let text = |path: &str| (path == "src/lib.rs").then(|| "mod lost;".to_owned());
        let error = Sources::from_texts("src", text).err().unwrap();
        assert_eq!(error, "src/lost has no file");
    }
}
