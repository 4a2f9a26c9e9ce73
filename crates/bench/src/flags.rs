//! The arguments of a bench program: those of libtest and criterion, and those of `proofmark`.

/// What a bench program is asked to do.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Asked {
    pub(crate) mode: Mode,
    /// Kernels whose name contains one of these words; all if there is none.
    pub(crate) words: Vec<String>,
    /// Kernels whose name contains one of these words are left out.
    pub(crate) skipped: Vec<String>,
    /// Words are whole names.
    pub(crate) is_exact: bool,
    /// Only what is marked as ignored, which no kernel is.
    pub(crate) is_ignored: bool,
    pub(crate) is_terse: bool,
    pub(crate) is_quiet: bool,
    pub(crate) is_quick: bool,
    /// Libraries are kept under this name after the run.
    pub(crate) save: Option<String>,
    /// Kernels kept under this name are measured beside those of this program.
    pub(crate) baseline: Option<Baseline>,
    /// Kernels kept under this name are measured instead of those of this program.
    pub(crate) load: Option<String>,
    /// Arguments of `proofmark bench`.
    pub(crate) for_bench: Vec<String>,
    /// Arguments of `proofmark prove`.
    pub(crate) for_prove: Vec<String>,
    /// Flags that were accepted and mean nothing here, with the reason.
    pub(crate) notes: Vec<String>,
}

/// What is done with the kernels.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// They are proven: `cargo test --benches` and `cargo nextest run`.
    #[default]
    Prove,
    /// They are proven and measured: `cargo bench`.
    Bench,
    /// Their names are printed.
    List,
    /// The arguments are explained.
    Help,
}

/// A name under which libraries were kept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Baseline {
    pub(crate) name: String,
    /// Kernels that were not kept are no error.
    pub(crate) is_lenient: bool,
}

/// What a flag is for.
enum Flag {
    /// It stands alone.
    Alone(fn(&mut Asked)),
    /// It takes a value.
    Value(fn(&mut Asked, &str)),
    /// It stands alone and changes nothing.
    Ignored,
    /// It has no equivalent; the text says what holds instead.
    Told { takes_value: bool, instead: &'static str },
    /// `proofmark` takes it with a value: `bench` does, and `prove` if so.
    Passed { to_prove: bool },
    /// `proofmark bench` takes it alone.
    PassedAlone,
}

const INTERVALS: &str = "a race ends when its interval is narrow enough; see docs/METHOD.md";
const OUTPUT: &str = "results are printed as one table for each op";

/// Every flag that is known, by its names.
const FLAGS: &[(&[&str], Flag)] = &[
    // libtest
    (
        &["--bench"],
        Flag::Alone(|asked| {
            if asked.mode == Mode::Prove {
                asked.mode = Mode::Bench;
            }
        }),
    ),
    (&["--list"], Flag::Alone(|asked| asked.mode = Mode::List)),
    (&["--help", "-h"], Flag::Alone(|asked| asked.mode = Mode::Help)),
    (&["--exact"], Flag::Alone(|asked| asked.is_exact = true)),
    (&["--ignored"], Flag::Alone(|asked| asked.is_ignored = true)),
    (&["--quiet", "-q"], Flag::Alone(|asked| asked.is_quiet = true)),
    (&["--skip"], Flag::Value(|asked, word| asked.skipped.push(word.to_owned()))),
    (&["--format"], Flag::Value(Asked::set_format)),
    (&["--include-ignored", "--nocapture", "--no-capture", "--show-output"], Flag::Ignored),
    (&["--report-time", "--ensure-time", "--shuffle", "--fail-fast"], Flag::Ignored),
    (&["--exclude-should-panic", "--force-run-in-process"], Flag::Ignored),
    (
        &["--test-threads"],
        Flag::Told {
            takes_value: true,
            instead: "kernels are measured one after the other; `--threads` sets the threads of a kernel",
        },
    ),
    (&["--logfile"], Flag::Told { takes_value: true, instead: OUTPUT }),
    (&["--shuffle-seed"], Flag::Told { takes_value: true, instead: "`--seed` repeats a run" }),
    (&["-Z"], Flag::Told { takes_value: true, instead: "this harness is not libtest" }),
    // criterion
    (&["--save-baseline", "-s"], Flag::Value(|asked, name| asked.save = Some(name.to_owned()))),
    (
        &["--baseline", "-b"],
        Flag::Value(|asked, name| {
            asked.baseline = Some(Baseline { name: name.to_owned(), is_lenient: false });
        }),
    ),
    (
        &["--baseline-lenient"],
        Flag::Value(|asked, name| {
            asked.baseline = Some(Baseline { name: name.to_owned(), is_lenient: true });
        }),
    ),
    (&["--load-baseline"], Flag::Value(|asked, name| asked.load = Some(name.to_owned()))),
    (&["--quick"], Flag::Alone(|asked| asked.is_quick = true)),
    (&["--noplot", "-n", "--discard-baseline", "--verbose", "-v"], Flag::Ignored),
    (&["--color", "-c"], Flag::Told { takes_value: true, instead: "tables have no colours" }),
    (&["--sample-size", "--nresamples"], Flag::Told { takes_value: true, instead: INTERVALS }),
    (&["--measurement-time"], Flag::Told { takes_value: true, instead: INTERVALS }),
    (
        &["--warm-up-time"],
        Flag::Told {
            takes_value: true,
            instead: "arms are warmed up until their times are steady",
        },
    ),
    (
        &["--noise-threshold", "--confidence-level", "--significance-level"],
        Flag::Told {
            takes_value: true,
            instead: "`proofmark compare` decides with a stated error rate",
        },
    ),
    (
        &["--profile-time"],
        Flag::Told {
            takes_value: true,
            instead: "`proofmark profile OP --with own/NAME` shows where the time goes",
        },
    ),
    (
        &["--plotting-backend"],
        Flag::Told { takes_value: true, instead: "`proofmark report --html FILE` draws" },
    ),
    (
        &["--output-format"],
        Flag::Told {
            takes_value: true,
            instead: "`proofmark export RUN --to FORMAT` writes other formats",
        },
    ),
    // proofmark
    (
        &["--dtype", "--threads", "--seed", "--isolation", "--store"],
        Flag::Passed { to_prove: true },
    ),
    (
        &["--sweep", "--size", "--suite", "--attr", "--cache", "--pages", "--settle", "--shard"],
        Flag::Passed { to_prove: false },
    ),
    (&["--dry-run"], Flag::PassedAlone),
];

impl Asked {
    /// Reads the arguments after the program's name.
    ///
    /// # Errors
    /// If a flag is not known, or lacks its value.
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Asked, String> {
        let mut asked = Asked::default();
        let mut is_test = false;
        let mut rest = arguments;
        while let Some(argument) = rest.next() {
            if argument == "--test" {
                is_test = true;
                continue;
            }
            if !argument.starts_with('-') || argument == "-" {
                asked.words.push(argument);
                continue;
            }
            let (name, stated) = match argument.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (argument, None),
            };
            let known = FLAGS.iter().find(|(names, _)| names.contains(&name.as_str()));
            let (_, flag) = known.ok_or_else(|| {
                format!("there is no flag `{name}`; `--help` lists those of `cargo bench -- …`")
            })?;
            let mut value = || {
                let value = stated.clone().or_else(|| rest.next());
                value.ok_or_else(|| format!("`{name}` takes a value: write `{name} VALUE`"))
            };
            match flag {
                Flag::Alone(set) => set(&mut asked),
                Flag::Value(set) => set(&mut asked, &value()?),
                Flag::Ignored => {}
                Flag::Told { takes_value, instead } => {
                    if *takes_value {
                        value()?;
                    }
                    asked.notes.push(format!("`{name}` has no effect: {instead}"));
                }
                Flag::Passed { to_prove } => {
                    let value = value()?;
                    asked.for_bench.extend([name.clone(), value.clone()]);
                    if *to_prove {
                        asked.for_prove.extend([name, value]);
                    }
                }
                Flag::PassedAlone => asked.for_bench.push(name),
            }
        }
        // Both are given where a runner of tests meets a bench.
        if is_test && asked.mode == Mode::Bench {
            asked.mode = Mode::Prove;
        }
        Ok(asked)
    }

    /// libtest's formats are those of lists; others are formats of tables.
    fn set_format(&mut self, format: &str) {
        match format {
            "terse" => self.is_terse = true,
            "pretty" | "junit" => {}
            other => {
                self.for_bench.extend(["--format".to_owned(), other.to_owned()]);
                self.for_prove.extend(["--format".to_owned(), other.to_owned()]);
            }
        }
    }

    /// Whether a kernel of this name is meant.
    pub(crate) fn means(&self, name: &str) -> bool {
        let fits =
            |word: &String| if self.is_exact { name == word } else { name.contains(word.as_str()) };
        !self.is_ignored
            && (self.words.is_empty() || self.words.iter().any(fits))
            && !self.skipped.iter().any(fits)
    }
}

/// What `--help` prints.
pub(crate) const HELP: &str = "\
Usage: cargo bench [--bench NAME] -- [WORD…] [FLAGS]

Kernels whose name (op/kernel) contains a WORD are proven and measured; all of them without one.

Selection:
  --exact                 WORDs are whole names
  --skip WORD             leave these out
  --list                  print the names
  --test                  prove only, as `cargo test --benches` does

Measuring:
  --quick                 short races
  --threads 1,2           thread counts
  --dtype f32,bf16        element types
  --sweep 'rows=1,16 …'   sizes; also --size, --suite, --attr
  --cache hot,cold        what the caches hold; also --pages
  --seed N                repeat a run; also --isolation, --settle, --store, --shard, --dry-run
  --format FORMAT         table, markdown, json, jsonl, csv, html or svg

Baselines:
  --save-baseline NAME    keep the kernels of this build
  --baseline NAME         measure kept kernels beside these, in the same races
  --load-baseline NAME    measure kept kernels instead of these

Other flags of libtest and criterion are accepted. Those without an equivalent print a note.";

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Asked, String> {
        Asked::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn cargo_bench_measures_and_everything_else_proves() {
        assert_eq!(parse("--bench").unwrap().mode, Mode::Bench);
        assert_eq!(parse("").unwrap().mode, Mode::Prove);
        assert_eq!(parse("--test").unwrap().mode, Mode::Prove);
        assert_eq!(parse("--test --bench").unwrap().mode, Mode::Prove);
        assert_eq!(parse("--bench --list").unwrap().mode, Mode::List);
        assert_eq!(parse("--list --bench").unwrap().mode, Mode::List);
    }

    #[test]
    fn words_select_by_part_or_by_whole_name() {
        let part = parse("soft --skip slow").unwrap();
        assert!(part.means("softmax/fast"));
        assert!(!part.means("softmax/slow"));
        assert!(!part.means("gelu/fast"));
        let whole = parse("softmax/fast --exact --nocapture").unwrap();
        assert!(whole.means("softmax/fast"));
        assert!(!whole.means("softmax/faster"));
        assert!(!parse("--ignored").unwrap().means("softmax/fast"));
    }

    #[test]
    fn what_has_no_equivalent_is_accepted_with_one_note_each() {
        let line = "--bench --warm-up-time 3 --measurement-time=5 --sample-size 10 --noplot word";
        let asked = parse(line).unwrap();
        assert_eq!(asked.notes.len(), 3, "{:?}", asked.notes);
        assert!(asked.notes[0].contains("--warm-up-time"));
        assert_eq!(asked.words, ["word"]);
    }

    #[test]
    fn flags_of_the_program_are_passed_on_where_it_has_them() {
        let asked = parse("--threads 1,2 --sweep=rows=3 --format json --dry-run").unwrap();
        assert_eq!(
            asked.for_bench.join(" "),
            "--threads 1,2 --sweep rows=3 --format json --dry-run"
        );
        assert_eq!(asked.for_prove.join(" "), "--threads 1,2 --format json");
    }

    #[test]
    fn a_flag_that_is_not_known_or_lacks_its_value_is_an_error() {
        assert!(parse("--nosuch").unwrap_err().contains("`--nosuch`"));
        assert!(parse("--baseline").unwrap_err().contains("VALUE"));
    }

    #[test]
    fn baselines_are_read_as_criterion_writes_them() {
        let asked = parse("--save-baseline main -b old").unwrap();
        assert_eq!(asked.save.as_deref(), Some("main"));
        assert_eq!(asked.baseline, Some(Baseline { name: "old".to_owned(), is_lenient: false }));
        assert!(parse("--baseline-lenient old").unwrap().baseline.unwrap().is_lenient);
    }
}
