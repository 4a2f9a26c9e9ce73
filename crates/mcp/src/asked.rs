//! What a client may ask for, and the command line that it becomes.
//!
//! Nothing that a client writes can become an option: a value is part of the argument that names
//! its option (`--with=VALUE`), and what has no option comes after `--`.

use schemars::JsonSchema;
use serde::Deserialize;
use std::path::Path;

/// The most letters of one word.
const LONGEST: usize = 400;

/// Parameters of `prove`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prove {
    /// Ops by name, as `softmax` or one of the user's own.
    pub(crate) ops: Vec<String>,
    /// Element types, as `f32`; all by default.
    #[serde(default)]
    pub(crate) dtypes: Vec<String>,
    /// Contenders by pattern, as `own/*` or `native/simd@avx2`; every kernel of the op by default.
    pub(crate) with: Option<String>,
    /// Threads that contenders are given; 2 by default.
    pub(crate) threads: Option<u16>,
}

/// Parameters of `bench`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bench {
    /// One op by name.
    pub(crate) op: String,
    /// Axis sizes, as `b=1 s=32 d=128,256`; every combination is a case. The op's smoke sweep by
    /// default.
    pub(crate) sweep: Option<String>,
    /// Element types, as `f32`; those of the sweep by default.
    #[serde(default)]
    pub(crate) dtypes: Vec<String>,
    /// Contenders by pattern, as `own/*` or `native/*`.
    pub(crate) with: Option<String>,
    /// Threads; all processors by default.
    pub(crate) threads: Option<u16>,
    /// Long races, with narrower intervals.
    #[serde(default)]
    pub(crate) thorough: bool,
}

/// Parameters of `compare`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Compare {
    /// A contender, as `native/simd` or `own/fast`.
    pub(crate) first: String,
    /// Another contender.
    pub(crate) second: String,
    /// Cases, as `softmax:f32[b=1,s=32,d=128]`.
    pub(crate) cases: Vec<String>,
    /// Threads; all processors by default.
    pub(crate) threads: Option<u16>,
}

/// Parameters of `judge`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Judge {
    /// The op: one of the user's own, or one of this build.
    pub(crate) op: String,
    /// The kernel's file, a .toml, .py or .so, below the server's working directory.
    pub(crate) submission: String,
    /// The contender that it is raced against; the op's reference by default.
    pub(crate) against: Option<String>,
    /// How many cases are drawn that the author has not seen; 3 by default.
    pub(crate) held_out: Option<u16>,
    /// Shown cases, as `row_norm:f32[rows=128,cols=1024]`; those of the op by default.
    #[serde(default)]
    pub(crate) cases: Vec<String>,
    /// Threads that both are given; 1 by default.
    pub(crate) threads: Option<u16>,
    /// Short races: a wider interval, and so a smaller reward.
    #[serde(default)]
    pub(crate) quick: bool,
}

/// Parameters of `explain`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Explain {
    /// A run by its id, a unique beginning of one, or `latest`, which is the default.
    pub(crate) run: Option<String>,
}

/// Arguments, or what is wrong with a parameter.
type Arguments = Result<Vec<String>, String>;

impl Prove {
    pub(crate) fn arguments(&self) -> Arguments {
        let mut line = Line::new("prove");
        line.option("dtype", &self.dtypes.join(","))?;
        line.option("with", self.with.as_deref().unwrap_or(""))?;
        line.number("threads", self.threads);
        line.words("ops", &self.ops)
    }
}

impl Bench {
    pub(crate) fn arguments(&self) -> Arguments {
        let mut line = Line::new("bench");
        line.flag("quick", !self.thorough);
        line.option("sweep", self.sweep.as_deref().unwrap_or(""))?;
        line.option("dtype", &self.dtypes.join(","))?;
        line.option("with", self.with.as_deref().unwrap_or(""))?;
        line.number("threads", self.threads);
        line.words("op", std::slice::from_ref(&self.op))
    }
}

impl Compare {
    pub(crate) fn arguments(&self) -> Arguments {
        let arms = [self.first.clone(), self.second.clone()];
        if let Some(arm) = arms.iter().find(|arm| arm.contains(':')) {
            return Err(format!(
                "`{arm}`: name a contender, as `native/simd`; this server builds no revisions and \
                 runs no kept programs"
            ));
        }
        let mut line = Line::new("compare");
        self.cases.iter().try_for_each(|case| line.option("case", case))?;
        line.number("threads", self.threads);
        line.words("first and second", &arms)
    }
}

impl Judge {
    /// `folder` is the server's working directory.
    pub(crate) fn arguments(&self, folder: &Path) -> Arguments {
        let path = folder.join(&self.submission);
        let path = path.canonicalize().map_err(|error| {
            let file = &self.submission;
            format!("{file}: {error}; name a file relative to the server's working directory")
        })?;
        let inside = folder.canonicalize().is_ok_and(|folder| path.starts_with(folder));
        if !inside {
            let file = &self.submission;
            return Err(format!(
                "{file} is not below the server's working directory: move it there"
            ));
        }
        let mut line = Line::new("judge");
        line.flag("quick", self.quick);
        line.option("against", self.against.as_deref().unwrap_or(""))?;
        line.number("held-out", self.held_out);
        line.number("threads", self.threads);
        self.cases.iter().try_for_each(|case| line.option("case", case))?;
        line.words("op and submission", &[self.op.clone(), self.submission.clone()])
    }
}

impl Explain {
    pub(crate) fn arguments(&self) -> Arguments {
        let run = self.run.clone().unwrap_or_else(|| "latest".to_owned());
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if !run.chars().all(is_plain) {
            return Err(format!("`{run}` is no run: write an id, a beginning of one, or `latest`"));
        }
        Line { arguments: vec!["report".to_owned(), "--format=json".to_owned()] }
            .words("run", &[run])
    }
}

/// A command line in the making.
struct Line {
    arguments: Vec<String>,
}

impl Line {
    /// A command that works for a while and says nothing but its JSON.
    fn new(command: &str) -> Line {
        Line { arguments: [command, "--format=json", "--quiet"].map(str::to_owned).to_vec() }
    }

    fn flag(&mut self, name: &str, is_set: bool) {
        if is_set {
            self.arguments.push(format!("--{name}"));
        }
    }

    fn number(&mut self, name: &str, value: Option<u16>) {
        self.arguments.extend(value.map(|value| format!("--{name}={value}")));
    }

    /// An option, unless its value is empty.
    fn option(&mut self, name: &str, value: &str) -> Result<(), String> {
        checked(name, value)?;
        if !value.is_empty() {
            self.arguments.push(format!("--{name}={value}"));
        }
        Ok(())
    }

    /// The words that have no option, which end the line.
    fn words(mut self, what: &str, words: &[String]) -> Arguments {
        if words.is_empty() || words.iter().any(String::is_empty) {
            return Err(format!("`{what}` is empty"));
        }
        words.iter().try_for_each(|word| checked(what, word))?;
        self.arguments.push("--".to_owned());
        self.arguments.extend(words.iter().cloned());
        Ok(self.arguments)
    }
}

/// Refuses what no name, pattern, case or path is.
fn checked(what: &str, text: &str) -> Result<(), String> {
    if text.chars().count() > LONGEST || text.chars().any(char::is_control) {
        return Err(format!("`{what}` is no text of at most {LONGEST} printable letters"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn parameters_become_a_command_line() {
        let bench = Bench {
            op: "softmax".to_owned(),
            sweep: Some("b=1 s=2 d=8".to_owned()),
            dtypes: text(&["f32", "bf16"]),
            threads: Some(1),
            ..Bench::default()
        };
        let line = "bench --format=json --quiet --quick --sweep=b=1 s=2 d=8 --dtype=f32,bf16 \
                    --threads=1 -- softmax";
        assert_eq!(bench.arguments().unwrap().join(" "), line);
        let explained = Explain::default().arguments().unwrap();
        assert_eq!(explained, ["report", "--format=json", "--", "latest"]);
    }

    #[test]
    fn no_word_of_a_client_becomes_an_option() {
        let evil = "--isolation=t1";
        let lines = [
            Prove { ops: text(&[evil, "-q"]), with: Some(evil.to_owned()), ..Prove::default() }
                .arguments(),
            Bench { op: evil.to_owned(), sweep: Some(evil.to_owned()), ..Bench::default() }
                .arguments(),
            Compare {
                first: evil.to_owned(),
                second: "--build".to_owned(),
                cases: text(&[evil]),
                ..Compare::default()
            }
            .arguments(),
        ];
        for line in lines {
            let line = line.unwrap();
            let end = line.iter().position(|word| word == "--").unwrap();
            // Before the end of options, what a client wrote is a value and nothing else.
            for word in &line[1..end] {
                let known = ["format", "quiet", "quick", "with", "sweep", "dtype", "case"];
                let name = word.trim_start_matches("--").split('=').next().unwrap();
                assert!(known.contains(&name), "{word} in {line:?}");
            }
        }
    }

    #[test]
    fn what_is_no_parameter_is_refused_with_what_to_write() {
        let rev = Compare {
            first: "rev:HEAD".to_owned(),
            second: "native/simd".to_owned(),
            ..Compare::default()
        };
        assert!(rev.arguments().unwrap_err().contains("builds no revisions"));
        assert!(Prove::default().arguments().unwrap_err().contains("`ops` is empty"));
        let run = Explain { run: Some("../elsewhere".to_owned()) };
        assert!(run.arguments().unwrap_err().contains("`latest`"));
        let control = Prove { ops: text(&["a\nb"]), ..Prove::default() };
        assert!(control.arguments().unwrap_err().contains("printable"));
        let long = Prove { ops: vec!["a".repeat(LONGEST + 1)], ..Prove::default() };
        assert!(long.arguments().is_err());
    }

    #[test]
    fn a_submission_lies_below_the_working_directory() {
        let folder = std::env::temp_dir().join(format!("proofmark-mcp-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("work")).unwrap();
        for name in ["work/fast.toml", "other.toml"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let judge = |file: &str| {
            let (op, submission) = ("softmax".to_owned(), file.to_owned());
            Judge { op, submission, ..Judge::default() }.arguments(&folder.join("work"))
        };
        let line = judge("fast.toml").unwrap();
        assert_eq!(line.join(" "), "judge --format=json --quiet -- softmax fast.toml");
        assert!(judge("../other.toml").unwrap_err().contains("not below"));
        assert!(judge("/etc/hostname").is_err());
        assert!(judge("slow.toml").unwrap_err().contains("working directory"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
