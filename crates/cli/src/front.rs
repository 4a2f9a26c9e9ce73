//! The front door: what a person meets before they know a command.

use crate::Arguments;
use crate::output::{counted, env, say};
use clap::{Command, CommandFactory};
use proofmark_engine::{Shelf, Store, unix_seconds};
use proofmark_schema::quantity::Age;
use proofmark_schema::run_id::started_seconds;
use std::path::PathBuf;

/// Commands by what they are for, in the order of the help; one that is named nowhere comes last.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Prove and measure",
        &[
            "prove", "bench", "compare", "check", "bisect", "judge", "scale", "tune", "choose",
            "repro",
        ],
    ),
    (
        "Read, keep and exchange results",
        &["report", "history", "export", "import", "merge", "replay", "baseline"],
    ),
    ("Look inside", &["profile", "asm", "trace", "costs"]),
    ("This machine and this tool", &["doctor", "machine", "peers", "selftest", "init", "new"]),
    ("What there is", &["list", "workload", "completions", "man"]),
];

const OTHERS: &str = "Other commands";

/// The command line with its help grouped.
pub(crate) fn command() -> Command {
    let command = Arguments::command();
    let groups = grouped(&command);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}\
         {{after-help}}\n"
    ))
}

fn grouped(command: &Command) -> String {
    let shown: Vec<&Command> =
        command.get_subcommands().filter(|below| !below.is_hide_set()).collect();
    let find = |name: &&str| shown.iter().copied().find(|below| below.get_name() == *name);
    let is_placed = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let mut groups: Vec<(&str, Vec<&Command>)> = GROUPS
        .iter()
        .map(|(title, names)| (*title, names.iter().filter_map(find).collect()))
        .collect();
    let others = shown.iter().copied().filter(|below| !is_placed(below.get_name()));
    groups.push((OTHERS, others.collect()));
    let line = |below: &&Command| {
        let about = below.get_about().map(ToString::to_string).unwrap_or_default();
        format!("  {:12} {about}\n", below.get_name())
    };
    groups
        .iter()
        .filter(|(_, commands)| !commands.is_empty())
        .map(|(title, commands)| {
            format!("{title}:\n{}\n", commands.iter().map(line).collect::<String>())
        })
        .collect()
}

/// What to type first, and what is here already.
pub(crate) fn welcome() {
    say("Proofmark proves compute kernels correct, then measures them side by side.\n");
    say("  proofmark doctor                   may I trust this tool on this machine?");
    say("  proofmark prove rms_norm           are the kernels right?");
    say("  proofmark bench rms_norm --quick   which is faster, by how much?\n");
    say(&in_store());
    say("`proofmark --help` lists all commands.");
}

/// One line about the store; the next command where there is something to go on with.
fn in_store() -> String {
    let root = PathBuf::from(env("PROOFMARK_STORE").unwrap_or_else(|| ".proofmark".to_owned()));
    let store = match Store::open(&root) {
        Ok(store) => store,
        Err(error) => return format!("The store cannot be read: {error}"),
    };
    let runs = store.list().unwrap_or_default();
    let baselines = store.artefacts(Shelf::Baselines).map_or(0, |all| all.len());
    let imports = store.import_names().map_or(0, |all| all.len());
    let Some(newest) = runs.first() else {
        return format!("No run is kept in {} yet.", root.display());
    };
    let mut parts = vec![counted(runs.len(), "run")];
    let others = [(baselines, "baseline"), (imports, "import")];
    parts.extend(others.iter().filter(|(count, _)| *count > 0).map(|(n, noun)| counted(*n, noun)));
    let age = started_seconds(newest).map_or_else(String::new, |then| {
        format!(", {} ago", Age(unix_seconds().saturating_sub(then.unsigned_abs())))
    });
    format!(
        "In {}: {}. The newest run is {newest}{age}:\n  \
         proofmark report latest",
        root.display(),
        parts.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_in_the_help_once() {
        let command = Arguments::command();
        let text = grouped(&command);
        for below in command.get_subcommands() {
            let line = format!("\n  {:12} ", below.get_name());
            let times = text.matches(&line).count();
            assert_eq!(times, usize::from(!below.is_hide_set()), "{}\n{text}", below.get_name());
        }
    }

    #[test]
    fn the_whole_command_line_is_sound() {
        command().debug_assert();
    }
}
