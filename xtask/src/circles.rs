//! The order of files within a crate: no circle, and in the engine the order of its phases.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use crate::Failure;
use crate::imports::{Module, Sources};

/// The crates whose files form no circle.
const ACYCLIC: &[&str] = &["schema", "stats", "gate", "measure", "engine", "report"];

/// The folders of the engine. A file imports its own folder and those before it; the files that lie
/// beside the folders import none of them.
const PHASES: &[&str] =
    &["workload", "plan", "prove", "race", "record", "profile", "render", VERBS];

/// The folder of what can be asked of the engine. A verb imports no other verb.
const VERBS: &str = "verbs";

/// The verbs that may import another: a check and a search are made of comparisons.
const VERB_ON_VERB: [(&str, &str); 2] = [("check", "compare"), ("bisect", "compare")];

/// For every file of a crate, those that it imports.
type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// What is wrong with the order of files, a line each.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, Failure> {
    let mut complaints = Vec::new();
    for name in ACYCLIC {
        let sources = Sources::read(root, &format!("crates/{name}/src"))?;
        let imports = sources.imports();
        let told = circles(&imports).into_iter().map(|circle| {
            let files: Vec<&str> = circle.iter().map(|module| sources.path(module)).collect();
            format!("circle of files: {} -> {}", files.join(" -> "), files[0])
        });
        complaints.extend(told);
        if *name == "engine" {
            if !imports.keys().any(is_verb) {
                complaints.push(format!("the engine has no file in `{VERBS}`"));
            }
            let rules: [(&str, Vec<(Module, Module)>); 2] = [
                ("a phase imports a later one", against_phases(&imports)),
                ("a verb imports another", between_verbs(&imports)),
            ];
            for (rule, broken) in rules {
                complaints.extend(broken.iter().map(|(from, to)| {
                    format!("{rule}: {} -> {}", sources.path(from), sources.path(to))
                }));
            }
        }
    }
    Ok(complaints)
}

fn is_verb(module: &Module) -> bool {
    module.len() > 1 && module[0] == VERBS
}

/// The imports that lead from a phase to a later one. The root, which re-exports all, is left out.
fn against_phases(imports: &Imports) -> Vec<(Module, Module)> {
    let phase = |module: &Module| {
        let first = module.first()?;
        PHASES.iter().position(|phase| phase == first)
    };
    arrows(imports).filter(|(from, to)| !from.is_empty() && phase(from) < phase(to)).collect()
}

/// The imports of a verb by another, but for the one that is allowed.
fn between_verbs(imports: &Imports) -> Vec<(Module, Module)> {
    let is_broken = |(from, to): &(Module, Module)| {
        is_verb(from)
            && is_verb(to)
            && from[1] != to[1]
            && !VERB_ON_VERB.contains(&(from[1].as_str(), to[1].as_str()))
    };
    arrows(imports).filter(is_broken).collect()
}

fn arrows(imports: &Imports) -> impl Iterator<Item = (Module, Module)> {
    imports.iter().flat_map(|(from, all)| all.iter().map(|to| (from.clone(), to.clone())))
}

/// The shortest circle through each file that is in one, and in none that was found before.
fn circles(imports: &Imports) -> Vec<Vec<Module>> {
    let mut circles: Vec<Vec<Module>> = Vec::new();
    for start in imports.keys() {
        if !circles.iter().flatten().any(|known| known == start) {
            circles.extend(circle_through(imports, start));
        }
    }
    circles
}

/// The fewest files that lead from a file back to it.
fn circle_through(imports: &Imports, start: &Module) -> Option<Vec<Module>> {
    let mut came_from: BTreeMap<&Module, &Module> = BTreeMap::new();
    let mut waiting = VecDeque::from([start]);
    while let Some(at) = waiting.pop_front() {
        for next in &imports[at] {
            if came_from.contains_key(next) {
                continue;
            }
            came_from.insert(next, at);
            if next == start {
                let back =
                    std::iter::successors(Some(at), |at| (*at != start).then(|| came_from[at]));
                let mut circle: Vec<Module> = back.cloned().collect();
                circle.reverse();
                return Some(circle);
            }
            waiting.push_back(next);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crate whose files `a`, `b`, … import as in `a -> b`.
    fn crate_of(arrows: &[&str]) -> Imports {
        let mut imports = Imports::new();
        for arrow in arrows {
            let (from, to) = arrow.split_once(" -> ").unwrap();
            let module = |name: &str| -> Module { name.split("::").map(str::to_owned).collect() };
            imports.entry(module(to)).or_default();
            imports.entry(module(from)).or_default().insert(module(to));
        }
        imports
    }

    #[test]
    fn files_in_order_have_no_circle() {
        let imports = crate_of(&["a -> b", "a -> c", "b -> c", "c -> d::e"]);
        assert_eq!(circles(&imports), Vec::<Vec<Module>>::new());
    }

    #[test]
    fn a_planted_circle_is_found_by_its_shortest_way() {
        let imports = crate_of(&["a -> b", "b -> c", "c -> d", "d -> a", "c -> a", "x -> a"]);
        let found: Vec<String> =
            circles(&imports).iter().map(|all| all.concat().concat()).collect();
        assert_eq!(found, ["abc", "dabc"]);
    }

    #[test]
    fn two_circles_are_told_apart() {
        let imports = crate_of(&["a -> b", "b -> a", "a -> x", "x -> y", "y -> x"]);
        assert_eq!(circles(&imports).len(), 2);
    }

    #[test]
    fn a_planted_import_of_a_later_phase_is_found() {
        let right = ["verbs::bench -> plan::make", "plan::make -> error", "race -> prove::admit"];
        assert_eq!(against_phases(&crate_of(&right)), []);
        for wrong in ["plan::roster -> verbs::compare", "error -> plan", "prove::a -> record::b"] {
            assert_eq!(against_phases(&crate_of(&[wrong])).len(), 1, "{wrong}");
        }
    }

    #[test]
    fn a_planted_import_of_a_verb_by_another_is_found() {
        let right = ["verbs::check -> verbs::compare", "verbs::tune::track -> verbs::tune::races"];
        assert_eq!(between_verbs(&crate_of(&right)), []);
        for wrong in ["verbs::scale -> verbs::costs", "verbs::compare::bout -> verbs::check"] {
            assert_eq!(between_verbs(&crate_of(&[wrong])).len(), 1, "{wrong}");
        }
    }

    #[test]
    fn a_circle_that_is_planted_in_source_is_found() {
        let files = [
            ("src/lib.rs", "mod bench; mod compare;"),
            ("src/bench.rs", "use crate::compare::BUDGET; pub fn record() {}"),
            ("src/compare.rs", "pub const BUDGET: u8 = 1; fn f() { crate::bench::record() }"),
        ];
        let text = |path: &str| {
            files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
        };
        let sources = Sources::from_texts("src", text).unwrap();
        let found = circles(&sources.imports());
        assert_eq!(found, [[["bench"], ["compare"]]]);
    }
}
