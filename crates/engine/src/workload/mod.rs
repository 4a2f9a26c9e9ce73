//! Workloads: cases over several ops, by name, from a file of lines, or captured from a program.

mod captured;
mod config;
mod facts;
mod gguf;
#[cfg(test)]
mod hostile;
mod line;
mod model;
mod wanted;

use config::models;
pub use config::read_config;
pub use model::{Model, ModelError};
pub(crate) use wanted::Wanted;

use crate::bounded::read_text;
use crate::git::Tree;
use crate::{EngineError, nearest};
use proofmark_schema::DType;
use proofmark_schema::plan::Use;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use wanted::MOST_CASES;

/// The workloads that are always here.
const WORKLOADS: &[(&str, &str)] = &[
    ("transformer", include_str!("../../suites/transformer.txt")),
    ("seeds/000", include_str!("../../suites/seeds/000.txt")),
    ("ci", include_str!("../../suites/ci.txt")),
    ("resnet-50", include_str!("../../suites/resnet50.txt")),
    ("seeds/001", include_str!("../../suites/seeds/001.txt")),
    ("seeds/002", include_str!("../../suites/seeds/002.txt")),
    ("seeds/003", include_str!("../../suites/seeds/003.txt")),
    ("seeds/004", include_str!("../../suites/seeds/004.txt")),
];

/// Tokens of a model's steps, and tokens before one that is written, where nothing else is said.
const TOKENS: &[u64] = &[1, 128];
/// See [`TOKENS`].
const CONTEXT: u64 = 1024;

/// Files that include one another may do so to this depth.
const DEEPEST: usize = 8;
/// Includes that are followed in all: a few files that include one another often would be read
/// thousands of millions of times.
const MOST_FILES: usize = 1_000;
/// Lines that are read in all.
const MOST_LINES: usize = 1_000_000;
/// Longest file that is read.
const LONGEST_MIB: u64 = 16;

/// The workload or model of that name, else the file of that path; nothing if neither exists.
///
/// # Errors
/// If a file exists and cannot be read.
pub fn find(name: &str) -> Result<Option<String>, EngineError> {
    find_in(name, None)
}

/// As [`find`], with the files of a commit where there is one.
///
/// # Errors
/// If a file exists and cannot be read.
pub(crate) fn find_in(name: &str, tree: Option<&Tree>) -> Result<Option<String>, EngineError> {
    if let Some((_, text)) = WORKLOADS.iter().find(|(known, _)| *known == name) {
        return Ok(Some((*text).to_owned()));
    }
    if let Some(model) = models().iter().find(|model| model.name == name) {
        let lines = model.lines("f32,bf16", TOKENS, CONTEXT);
        return lines.map(Some).map_err(|error| broken(name, 0, error.to_string()));
    }
    let path = Path::new(name);
    if let Some(tree) = tree
        && let Some(text) = tree.read(path)?
    {
        return Ok(text);
    }
    if !path.is_file() {
        return Ok(None);
    }
    let unread = |error: std::io::Error| broken(name, 0, error.to_string());
    let file = std::fs::File::open(path).map_err(unread)?;
    read_text(file, LONGEST_MIB).map(Some).map_err(unread)
}

/// The names that [`find`] knows without looking at files.
pub fn names() -> Vec<String> {
    let sets = WORKLOADS.iter().map(|(name, _)| (*name).to_owned());
    sets.chain(models().into_iter().map(|model| model.name)).collect()
}

/// The error of a name that neither [`find`] nor `others` knows.
pub fn unknown<'a>(name: &str, others: impl Iterator<Item = &'a str>) -> EngineError {
    let known: Vec<String> = names().into_iter().chain(others.map(str::to_owned)).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let nearest = nearest(name, &known).map(str::to_owned);
    EngineError::UnknownSuite { name: name.to_owned(), nearest }
}

/// The cases of a workload, each once, with all its uses. Only the ops and element types that are
/// named are kept; all are, if none is named.
///
/// # Errors
/// The first line that is not of the form, or whose case an op does not have.
pub(crate) fn cases(
    name: &str,
    text: &str,
    ops: &[String],
    dtypes: &[DType],
    tree: Option<&Tree>,
) -> Result<Vec<Wanted>, EngineError> {
    let all = gather(name, text, tree)?;
    let types: BTreeSet<&str> = all.iter().map(|wanted| wanted.case.dtype.name()).collect();
    let types = types.into_iter().collect::<Vec<_>>().join(", ");
    let mut once: Vec<Wanted> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for wanted in all {
        let case = &wanted.case;
        let is_of_op = ops.is_empty() || ops.contains(&case.op);
        if !is_of_op || !dtypes.is_empty() && !dtypes.contains(&case.dtype) {
            continue;
        }
        match places.entry(case.to_string()) {
            Entry::Occupied(known) => {
                let uses = &mut once[*known.get()].uses;
                wanted.uses.into_iter().for_each(|one| add_use(uses, one));
            }
            Entry::Vacant(place) => {
                place.insert(once.len());
                once.push(wanted);
            }
        }
    }
    if once.is_empty() {
        let why = format!("`{name}` has no case of these ops and element types (it has {types})");
        return Err(EngineError::Unfit(why));
    }
    Ok(once)
}

/// Adds a use. If the same layer of the same step is there already, its count is increased.
fn add_use(uses: &mut Vec<Use>, one: Use) {
    let is_same = |known: &&mut Use| {
        (&known.model, known.tokens, &known.layer) == (&one.model, one.tokens, &one.layer)
    };
    match uses.iter_mut().find(is_same) {
        Some(known) => known.times = known.times.saturating_add(one.times),
        None => uses.push(one),
    }
}

/// The cases of a text and of all that it includes.
fn gather(name: &str, text: &str, tree: Option<&Tree>) -> Result<Vec<Wanted>, EngineError> {
    let mut reading = Reading { tree, ..Reading::default() };
    reading.read(name, text, 0)?;
    Ok(reading.cases)
}

/// What was read so far, of all files together.
#[derive(Default)]
struct Reading<'a> {
    tree: Option<&'a Tree>,
    cases: Vec<Wanted>,
    files: usize,
    lines: usize,
}

impl Reading<'_> {
    fn read(&mut self, name: &str, text: &str, depth: usize) -> Result<(), EngineError> {
        for (number, line) in (1..).zip(text.lines()) {
            let at = |reason: String| broken(name, number, reason);
            self.lines += 1;
            within(self.lines, MOST_LINES, "1,000,000 lines").map_err(at)?;
            let line = line.trim();
            if line.starts_with('{') {
                self.cases.push(captured::of_line(line).map_err(|error| at(words(&error)))?);
            } else {
                let line = line.split('#').next().unwrap_or_default().trim();
                if let Some(other) = line.strip_prefix("include ") {
                    self.include(other.trim(), depth, &at)?;
                } else if !line.is_empty() {
                    self.cases.extend(line::of_line(line).map_err(|error| at(words(&error)))?);
                }
            }
            within(self.cases.len(), MOST_CASES, "100,000 cases").map_err(at)?;
        }
        Ok(())
    }

    fn include(
        &mut self,
        other: &str,
        depth: usize,
        at: &dyn Fn(String) -> EngineError,
    ) -> Result<(), EngineError> {
        if depth >= DEEPEST {
            let told = format!(
                "`{other}` is included by a file that is included, and so on, more than {DEEPEST} \
                 deep: it includes itself, or its lines belong into fewer files"
            );
            return Err(at(told));
        }
        self.files += 1;
        within(self.files, MOST_FILES, "1,000 files").map_err(at)?;
        let text = find_in(other, self.tree)?
            .ok_or_else(|| at(format!("there is no workload or file `{other}`")))?;
        self.read(other, &text, depth + 1)
    }
}

fn within(count: usize, most: usize, words: &str) -> Result<(), String> {
    let told = || format!("the workload has more than {words} with all it includes: split it");
    if count <= most { Ok(()) } else { Err(told()) }
}

/// An error with what to do about it.
fn words(error: &EngineError) -> String {
    error.hint().map_or_else(|| error.to_string(), |hint| format!("{error} ({hint})"))
}

fn broken(name: &str, line: usize, reason: String) -> EngineError {
    EngineError::Workload { name: name.to_owned(), line, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_of(text: &str) -> Result<Vec<Wanted>, EngineError> {
        gather("here", text, None)
    }

    #[test]
    fn every_workload_here_is_whole() {
        for (name, text) in WORKLOADS {
            let all = all_of(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!all.is_empty(), "{name}");
        }
    }

    #[test]
    fn every_model_here_is_a_workload() {
        let models = models();
        assert!(models.len() > 20);
        for model in models {
            let text = find(&model.name).unwrap().expect("a model has a workload");
            let all = all_of(&text).unwrap_or_else(|error| panic!("{}: {error}", model.name));
            assert!(all.len() > 20, "{}", model.name);
        }
    }

    #[test]
    fn a_name_that_is_not_here_is_told_with_the_nearest() {
        let told = |name| unknown(name, ["standard"].into_iter()).hint().unwrap();
        assert!(told("qwen3-0.6").contains("`qwen3-0.6b`"), "{}", told("qwen3-0.6"));
        assert!(told("standart").contains("`standard`"));
        assert!(told("zzzzzzzzzzzz").contains("workload list"));
    }

    #[test]
    fn a_workload_without_the_type_asked_for_says_which_it_has() {
        let told =
            cases("here", "add:f32,bf16 d=8", &[], &[DType::F64], None).err().unwrap().to_string();
        assert!(told.contains("it has bf16, f32"), "{told}");
    }

    #[test]
    fn a_workload_may_include_another_and_not_itself() {
        assert!(!all_of("include transformer").unwrap().is_empty());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("self.txt");
        std::fs::write(&file, format!("include {}", file.display())).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let told = all_of(&text).err().unwrap().to_string();
        assert!(told.contains("includes itself"), "{told}");
    }

    #[test]
    fn uses_of_the_same_layer_are_counted_and_others_kept_apart() {
        let one = |layer: &str, times| Use {
            model: "m".to_owned(),
            tokens: 1,
            layer: layer.to_owned(),
            times,
        };
        let mut uses = Vec::new();
        [one("q", 2), one("k", 1), one("q", 3)].into_iter().for_each(|u| add_use(&mut uses, u));
        assert_eq!(uses, [one("q", 5), one("k", 1)]);
    }
}
