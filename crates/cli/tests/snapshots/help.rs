//! The help of every command, short and long.

use crate::mask::Held;
use crate::session::{Session, WIDE, hold};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The commands that a help text lists: all groups before the options, except the arguments.
fn listed(help: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_in_group = false;
    for line in help.lines().take_while(|line| *line != "Options:") {
        match line.strip_prefix("  ") {
            Some(entry) if is_in_group => names.extend(entry.split(' ').next().map(str::to_owned)),
            Some(_) => (),
            None => is_in_group = line.ends_with(':') && line != "Arguments:",
        }
    }
    names.retain(|name| name != "help");
    names
}

#[test]
fn the_help_of_every_command_is_as_it_was() {
    let session = Session::new();
    let mut waiting = vec![String::new()];
    let mut seen = BTreeSet::new();
    while let Some(path) = waiting.pop() {
        let line = |flag: &str| format!("{path} {flag}").trim().to_owned();
        let ask = |flag: &str| session.output(WIDE, Held::Exact, &line(flag));
        let (short, long) = (ask("-h"), ask("--help"));
        waiting.extend(listed(&long).iter().map(|name| format!("{path} {name}").trim().to_owned()));
        let mut text = format!("$ proofmark {}\n{short}", line("-h"));
        text += &match short == long {
            true => format!("\n$ proofmark {}\nthe same\n", line("--help")),
            false => format!("\n$ proofmark {}\n{long}", line("--help")),
        };
        let name = format!("help {path}").trim().replace(' ', "_");
        hold(&name, &text);
        seen.insert(format!("{name}.snap"));
    }
    // A command that is gone leaves no snapshot behind.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/outputs");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    let kept: BTreeSet<String> =
        names.filter(|name| name.starts_with("help") && name.ends_with(".snap")).collect();
    assert_eq!(kept, seen);
    assert!(seen.contains("help_workload_from-config.snap"), "{seen:?}");
}
