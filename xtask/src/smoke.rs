//! Command lines that must work on any machine, and their runner.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::Failure;

/// One command line with what it needs and what it must answer.
struct Smoke {
    args: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
    exit_code: i32,
}

const SMOKE: &[Smoke] = &[
    Smoke { args: &["list"], env: &[], exit_code: 0 },
    Smoke { args: &["machine"], env: &[], exit_code: 0 },
    Smoke { args: &["doctor"], env: &[], exit_code: 0 },
    // The tests take every kernel and mutant of every op to the gate; `prove --all` and the whole
    // self-test are for the long job.
    Smoke {
        args: &["prove", "rope", "gelu", "quantize_int8", "layer_norm"],
        env: &[],
        exit_code: 0,
    },
    Smoke { args: &["selftest", "gate", "softmax", "--seeds", "1"], env: &[], exit_code: 0 },
    Smoke { args: &["selftest", "judge", "softmax", "--only", "oob_"], env: &[], exit_code: 0 },
    Smoke {
        args: &["bench", "rms_norm", "--quick", "--store", "target/smoke-store"],
        env: &[("PROOFMARK_ISA", "avx2")],
        exit_code: 0,
    },
    Smoke { args: &["prove", "soft"], env: &[], exit_code: 2 },
];

/// Everything, at every cap and number of threads: the long job.
const LONG: &[Smoke] = &[
    everything(&[("PROOFMARK_ISA", "scalar")], &["prove", "--all", "--threads", "1"]),
    everything(&[("PROOFMARK_ISA", "scalar")], &["prove", "--all", "--threads", "2"]),
    everything(&[("PROOFMARK_ISA", "avx2")], &["prove", "--all", "--threads", "1"]),
    everything(&[("PROOFMARK_ISA", "avx2")], &["prove", "--all", "--threads", "2"]),
    everything(&[], &["prove", "--all", "--threads", "1"]),
    everything(&[], &["prove", "--all", "--threads", "2"]),
    everything(&[], &["selftest", "gate"]),
];

const fn everything(
    env: &'static [(&'static str, &'static str)],
    args: &'static [&'static str],
) -> Smoke {
    Smoke { args, env, exit_code: 0 }
}

/// No smoke run may take longer: a hang must not cost a CI machine its hour.
const LIMIT: Duration = Duration::from_secs(240);

/// The same for a line of the long job.
const LONG_LIMIT: Duration = Duration::from_secs(3600);

/// Runs the lines that CI runs, with the program that the tests built: it is optimised, and a
/// release build would cost as much as all of these.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    run_lines(root, &crate::check::program(root)?, SMOKE, LIMIT)
}

/// Runs the tests that are too long for CI, functions on all of their inputs among them, and
/// everything that the gate has to say of the program that users get.
pub(crate) fn long(root: &Path) -> Result<(), Failure> {
    let line = "nextest run --release --workspace --run-ignored only --profile long";
    crate::check::cargo(root, &line.split(' ').collect::<Vec<_>>(), &[])?;
    let program = crate::levels::run(root)?;
    run_lines(root, &program, LONG, LONG_LIMIT)
}

/// Runs every line with `program`.
fn run_lines(root: &Path, program: &Path, lines: &[Smoke], limit: Duration) -> Result<(), Failure> {
    let log = program.with_file_name("smoke-output.txt");
    lines.iter().try_for_each(|line| run_line(root, program, (line, limit), &log))
}

fn run_line(
    root: &Path,
    binary: &Path,
    (smoke, limit): (&Smoke, Duration),
    log: &Path,
) -> Result<(), Failure> {
    let line = shell_line(smoke);
    // A file and not a pipe: nobody has to drain it while the time limit is watched.
    let output = File::create(log).map_err(|error| format!("{}: {error}", log.display()))?;
    let errors = output.try_clone().map_err(|error| format!("{}: {error}", log.display()))?;
    let begin = Instant::now();
    let mut child = Command::new(binary)
        .current_dir(root)
        .args(smoke.args)
        .envs(smoke.env.iter().copied())
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .spawn()
        .map_err(|error| format!("`{line}` did not start: {error}"))?;
    let status = loop {
        match child.try_wait().map_err(|error| format!("`{line}`: {error}"))? {
            Some(status) => break status,
            None if begin.elapsed() > limit => {
                // Both may fail only if the child has just ended by itself.
                let _ = child.kill();
                let _ = child.wait();
                print_tail(log);
                return Err(format!("`{line}` was still running after {} s", limit.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    if status.code() != Some(smoke.exit_code) {
        print_tail(log);
        return Err(format!("`{line}` ended with {status}, expected code {}", smoke.exit_code));
    }
    println!("smoke: `{line}` {:.1} s", begin.elapsed().as_secs_f64());
    Ok(())
}

/// The command as one would type it.
fn shell_line(smoke: &Smoke) -> String {
    let mut words: Vec<String> =
        smoke.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    words.push("proofmark".to_owned());
    words.extend(smoke.args.iter().map(|word| (*word).to_owned()));
    words.join(" ")
}

fn print_tail(log: &Path) {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    for line in &lines[lines.len().saturating_sub(60)..] {
        eprintln!("  {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::{Smoke, shell_line};

    #[test]
    fn a_line_is_shown_with_its_environment_as_one_would_type_it() {
        let smoke =
            Smoke { args: &["prove", "--all"], env: &[("PROOFMARK_ISA", "avx2")], exit_code: 0 };
        assert_eq!(shell_line(&smoke), "PROOFMARK_ISA=avx2 proofmark prove --all");
    }
}
