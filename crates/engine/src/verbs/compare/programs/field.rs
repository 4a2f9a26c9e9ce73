//! The benchmarks that two sides share, and those that only one has.

use super::request::{FIRST_TIMEOUT_NS, ProgramSides, ProgramsRequest};
use crate::race::Programs;
use crate::{Arm, CommandPair, EngineError, Source};
use proofmark_analyze::is_match;
use proofmark_programs::harness::{Detected, detect, list};
use proofmark_programs::process::Scratch;
use proofmark_programs::{Bench, Command};
use proofmark_schema::program::Harness;
use std::path::{Path, PathBuf};

/// What both sides have, and what only one has.
pub(super) struct Field {
    pub(super) pairs: Vec<[Bench; 2]>,
    pub(super) only: [Vec<String>; 2],
    pub(super) notes: Vec<String>,
}

impl Field {
    pub(super) fn of(
        programs: &Programs<'_>,
        request: &ProgramsRequest,
        scratch: &Scratch,
    ) -> Result<Field, EngineError> {
        let mut field = Field { pairs: Vec::new(), only: Default::default(), notes: Vec::new() };
        match &request.sides {
            ProgramSides::Commands(pairs) => {
                field.pairs = pairs.iter().map(commands).collect();
            }
            ProgramSides::Benches(arms) => {
                let mut sides = [Vec::new(), Vec::new()];
                let mut built = Vec::new();
                for arm in arms {
                    built.push(executables(programs, arm)?);
                }
                for (side, executables) in sides.iter_mut().zip(&built) {
                    for executable in executables {
                        field.list(executable, scratch, side)?;
                    }
                }
                field.pair(sides);
                let unchanged = |pair: &&[Bench; 2]| is_same_program(pair);
                let count = field.pairs.iter().filter(unchanged).count();
                if count > 0 && count == field.pairs.len() {
                    field.notes.push("both sides are the same programs, byte for byte".to_owned());
                }
            }
        }
        if let Some(filter) = &request.terms.filter {
            let is_wanted = |name: &str| name.contains(filter) || is_match(filter, name);
            field.pairs.retain(|pair| is_wanted(&shown_name(&pair[1])));
            field.only.iter_mut().for_each(|only| only.retain(|name| is_wanted(name)));
        }
        if field.pairs.is_empty() && field.only.iter().all(Vec::is_empty) {
            let place = request.names.join(" and ");
            let why = match &request.terms.filter {
                Some(filter) => format!(" that `{filter}` means"),
                None if field.notes.is_empty() => String::new(),
                None => format!(" ({})", field.notes.join("; ")),
            };
            return Err(EngineError::NoBenches { place, why });
        }
        Ok(field)
    }

    /// Adds the benchmarks of a program to a side. A program that does not list them is reported.
    fn list(
        &mut self,
        (target, program): &(String, Command),
        scratch: &Scratch,
        side: &mut Vec<Bench>,
    ) -> Result<(), EngineError> {
        let unreadable = |error: std::io::Error| EngineError::NoProgram {
            program: program.words[0].clone(),
            said: error.to_string(),
        };
        let harness = match detect(Path::new(&program.words[0])).map_err(unreadable)? {
            Detected::Known(harness) => harness,
            Detected::Own => {
                self.notes.push(format!(
                    "{target}: left out, because it proves and measures by itself; `cargo bench` \
                     runs it"
                ));
                return Ok(());
            }
        };
        match list(target, program, harness, scratch, FIRST_TIMEOUT_NS) {
            Ok(benches) if benches.is_empty() => {
                self.notes.push(format!("{target}: it lists no benchmark"));
            }
            Ok(benches) => side.extend(benches),
            Err(failed) => {
                let said = if failed.said.is_empty() { "" } else { ": " };
                self.notes.push(format!(
                    "{target}: left out, because it does not list its benchmarks: {}{said}{}",
                    failed.what,
                    failed.said.replace('\n', " ")
                ));
            }
        }
        Ok(())
    }

    /// Brings together what has the same name and harness on both sides.
    fn pair(&mut self, sides: [Vec<Bench>; 2]) {
        let [base, mut other] = sides;
        for bench in base {
            let is_it =
                |it: &Bench| it.full_name() == bench.full_name() && it.harness == bench.harness;
            match other.iter().position(is_it) {
                Some(at) => self.pairs.push([bench, other.remove(at)]),
                None => self.only[0].push(bench.full_name()),
            }
        }
        self.only[1].extend(other.iter().map(Bench::full_name));
    }
}

fn commands(pair: &CommandPair) -> [Bench; 2] {
    pair.sides.clone().map(|program| Bench {
        target: String::new(),
        name: pair.name.clone(),
        harness: Harness::Command,
        program,
    })
}

fn is_same_program(pair: &[Bench; 2]) -> bool {
    let [base, other] = pair.each_ref().map(|bench| std::fs::read(&bench.program.words[0]).ok());
    base.is_some() && base == other
}

/// The programs of an arm that may have benchmarks, with their names.
fn executables(programs: &Programs<'_>, arm: &Arm) -> Result<Vec<(String, Command)>, EngineError> {
    match &arm.source {
        Source::Revision(revision) => {
            let targets = programs.bench_targets(revision)?;
            let program = |target: proofmark_programs::BenchTarget| {
                let mut program = Command::program(&target.program);
                program.folder = Some(target.folder);
                (target.name, program)
            };
            Ok(targets.into_iter().map(program).collect())
        }
        Source::Command(text) => {
            let mut program = Command::parse(text)?;
            let found = found(&program.words[0]);
            program.words[0] = found.to_string_lossy().into_owned();
            // Both sides may have programs of different names.
            Ok(vec![("bench".to_owned(), program)])
        }
        _ => Err(EngineError::NoBenches {
            place: format!("`{arm}`"),
            why: ": give `rev:REVISION` or `cmd:PROGRAM`".to_owned(),
        }),
    }
}

/// The file of a program; one without a path is looked for as a shell does.
fn found(program: &str) -> PathBuf {
    let path = PathBuf::from(program);
    if program.contains('/') {
        return std::path::absolute(&path).unwrap_or(path);
    }
    path
}

/// The name of a benchmark in a table.
pub(super) fn shown_name(bench: &Bench) -> String {
    if bench.harness == Harness::Command { bench.name.clone() } else { bench.full_name() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benchmark_on_one_side_only_is_told_and_the_others_are_paired() {
        let bench = |name: &str| Bench {
            target: "t".to_owned(),
            name: name.to_owned(),
            harness: Harness::Criterion,
            program: Command::default(),
        };
        let mut field = Field { pairs: Vec::new(), only: Default::default(), notes: Vec::new() };
        field.pair([vec![bench("a"), bench("b")], vec![bench("c"), bench("b")]]);
        assert_eq!(field.pairs.len(), 1);
        assert_eq!(field.only, [vec!["t/a".to_owned()], vec!["t/c".to_owned()]]);
    }
}
