//! The first five minutes, typed: `cargo xtask tour` records what they print in the docs.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use crate::{Failure, check};

/// One thing a new user types, and what for.
struct Stop {
    why: &'static str,
    line: &'static str,
    /// The code that it ends with.
    code: i32,
}

const STOPS: &[Stop] = &[
    Stop { why: "What is this?", line: "proofmark", code: 2 },
    Stop { why: "May I trust it on this machine?", line: "proofmark doctor", code: 0 },
    Stop {
        why: "Are the kernels right?",
        line: "proofmark prove rms_norm --dtype f32 --quiet",
        code: 0,
    },
    Stop {
        why: "Which is faster, by how much, and what holds it back?",
        line: "proofmark bench rms_norm --quick --dtype f32 --threads 1 \
               --sweep 'b=1 s=1,64 d=4096' --quiet",
        code: 0,
    },
    Stop {
        why: "What does it come to, and what is worth mending? (`report.html` is the whole page.)",
        line: "proofmark report latest --only ranking --only status --html report.html",
        code: 0,
    },
    Stop {
        why: "Is one of two really faster? The answer may be that nobody knows yet (code 5).",
        line: "proofmark compare native/scalar native/simd \
               --case 'rms_norm:f32[b=1,s=64,d=4096]' --quiet",
        code: 0,
    },
    Stop {
        why: "Does it gain from threads, and if not, why?",
        line: "proofmark scale softmax --sweep 'b=1 s=512 d=1024' --dtype f32 --quiet",
        code: 0,
    },
    Stop {
        why: "Hold a change against rules, as a CI would; here, one without effect.",
        line: "proofmark init && proofmark check --base native/simd --new native/simd --quiet",
        code: 0,
    },
    Stop { why: "A slip of the pen.", line: "proofmark bench rmsnorm", code: 2 },
    Stop {
        why: "Can a number be trusted later? It comes out again from its slices.",
        line: "proofmark replay latest",
        code: 0,
    },
    Stop {
        why: "Into the tools that are there already.",
        line: "proofmark export latest --to go --out new.txt",
        code: 0,
    },
    Stop {
        why: "And back, as numbers that nobody proved.",
        line: "proofmark import new.txt",
        code: 0,
    },
    Stop {
        why: "Half of a plan on each of two machines.",
        line: "proofmark bench softmax --dry-run --dtype f32 --threads 1 --shard 1/2 --quick",
        code: 0,
    },
    Stop { why: "What is here now?", line: "proofmark", code: 2 },
];

/// Columns of the recorded terminal, and lines of one answer.
const COLUMNS: usize = 100;
const LINES: usize = 45;

const PAGE: &str = "docs/first-five-minutes.md";

const OPENING: &str = "\
# The first five minutes

<!-- Written by `cargo xtask tour`; change the list there. -->

Typed on a virtual machine with two processors; times are as they came.
`…` stands for lines that were cut.
";

/// Types every line and writes the page.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let program = check::program(root)?;
    let programs = program.parent().unwrap_or(root);
    let folder = programs.join("tour");
    // Left from the last time; the first time there is nothing.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut page = OPENING.to_owned();
    for stop in STOPS {
        println!("$ {}", stop.line);
        let said = typed(programs, &folder, stop)?;
        page += &format!("\n{}\n\n```console\n$ {}\n{said}```\n", stop.why, stop.line);
    }
    std::fs::write(root.join(PAGE), page).map_err(|error| format!("{PAGE}: {error}"))?;
    println!("{PAGE} is written");
    Ok(())
}

/// What a person sees: data and talk together, in order.
fn typed(programs: &Path, folder: &Path, stop: &Stop) -> Result<String, Failure> {
    let log = folder.join("said");
    let both = File::create(&log).and_then(|file| Ok((file.try_clone()?, file)));
    let (out, talk) = both.map_err(|error| format!("{}: {error}", log.display()))?;
    let path = std::env::var("PATH").unwrap_or_default();
    let status = Command::new("sh")
        .args(["-c", stop.line])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("COLUMNS", COLUMNS.to_string())
        .env("PROOFMARK_PEERS", folder.join("peers"))
        .env_remove("PROOFMARK_STORE")
        .stdout(out)
        .stderr(talk)
        .status()
        .map_err(|error| format!("sh: {error}"))?;
    let said = std::fs::read_to_string(&log).map_err(|error| format!("{error}"))?;
    // A busy machine may leave a comparison undecided, which is an answer too.
    let is_race = ["compare", "check"].iter().any(|word| stop.line.contains(word));
    let is_undecided = is_race && status.code() == Some(5);
    if status.code() != Some(stop.code) && !is_undecided {
        return Err(format!("`{}` ended with {status}:\n{said}", stop.line));
    }
    let mut lines: Vec<&str> = said.lines().map(str::trim_end).collect();
    if lines.len() > LINES {
        lines.truncate(LINES);
        lines.push("…");
    }
    Ok(lines.iter().map(|line| format!("{line}\n")).collect())
}
