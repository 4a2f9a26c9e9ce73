//! `proofmark.toml`: what a project checks, and by which rules.

use super::programs::{self, ProjectPrograms, WireBenches, WireCommand};
use crate::{Arm, EngineError, nearest};
use proofmark_analyze::METRICS;
use proofmark_analyze::policy::{Accept, Day, Policy, RATIO, Rules, Tag, Target};
use proofmark_own::{FileError, Page};
use proofmark_schema::{Case, ContenderId, DType};
use serde::Deserialize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::value::Datetime;

/// The file's name.
pub const PROJECT_FILE: &str = "proofmark.toml";

/// What the file says.
#[derive(Clone, Debug)]
pub struct Project {
    /// Where it lies.
    pub path: PathBuf,
    /// The side that is compared with.
    pub baseline: Option<Arm>,
    /// The other side.
    pub new: Option<Arm>,
    /// A sweep of the ops' own suites, or a workload.
    pub suite: Option<String>,
    /// Ops of the sweep; all where none is named.
    pub ops: Vec<String>,
    /// Element types; those of the sweep where none is named.
    pub dtypes: Vec<DType>,
    /// Cases one by one.
    pub cases: Vec<Case>,
    /// The contenders that are checked; if empty, those that the programs name.
    pub contenders: Vec<ContenderId>,
    /// Thread counts.
    pub threads: Vec<usize>,
    /// Seconds after which no further trial of a race starts.
    pub seconds: Option<f64>,
    /// Error rate of the whole check.
    pub alpha: Option<f64>,
    /// Limits, accepted changes, tags, targets.
    pub rules: Rules,
    /// Programs that are raced as they are.
    pub programs: ProjectPrograms,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireProject {
    #[serde(default)]
    check: WireCheck,
    #[serde(default)]
    policy: WirePolicy,
    #[serde(default)]
    target: Vec<Spanned<WireTarget>>,
    #[serde(default)]
    tag: Vec<Spanned<WireTag>>,
    #[serde(default)]
    accept: Vec<Spanned<WireAccept>>,
    benches: Option<WireBenches>,
    #[serde(default)]
    command: Vec<Spanned<WireCommand>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireCheck {
    baseline: Option<Spanned<String>>,
    new: Option<Spanned<String>>,
    suite: Option<String>,
    #[serde(default)]
    ops: Vec<String>,
    #[serde(default)]
    dtypes: Vec<Spanned<String>>,
    #[serde(default)]
    cases: Vec<Spanned<String>>,
    #[serde(default)]
    contenders: Vec<Spanned<String>>,
    #[serde(default)]
    threads: Vec<Spanned<usize>>,
    seconds: Option<Spanned<f64>>,
    alpha: Option<Spanned<f64>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WirePolicy {
    slower: Option<Spanned<f64>>,
    critical: Option<Spanned<f64>>,
    memory: Option<Spanned<f64>>,
    allocations: Option<bool>,
    variance: Option<Spanned<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireTarget {
    op: Option<String>,
    case: Option<String>,
    contender: Option<String>,
    metric: Spanned<String>,
    to: Option<Spanned<String>>,
    min: Option<f64>,
    max: Option<f64>,
    says: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireTag {
    name: String,
    #[serde(default)]
    cases: Vec<String>,
    #[serde(default)]
    ops: Vec<String>,
    #[serde(default)]
    contenders: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireAccept {
    case: String,
    contender: Option<String>,
    up_to: f64,
    reason: Spanned<String>,
    date: Spanned<Datetime>,
    expires: Option<Spanned<Datetime>>,
}

impl Project {
    /// The nearest file from a folder upwards.
    pub fn find(folder: &Path) -> Option<PathBuf> {
        folder.ancestors().map(|folder| folder.join(PROJECT_FILE)).find(|path| path.is_file())
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If there is none, or it is not of the form; with the line.
    pub fn read(path: &Path) -> Result<Project, EngineError> {
        let text = std::fs::read_to_string(path).map_err(|error| EngineError::Project {
            path: path.to_owned(),
            line: 0,
            reason: error.to_string(),
            nearest: None,
        })?;
        Project::parse(&text, path)
    }

    /// Reads a text; the path is for messages.
    ///
    /// # Errors
    /// If it is not of the form.
    pub fn parse(text: &str, path: &Path) -> Result<Project, EngineError> {
        let page = ProjectPage(Page { text, path });
        let wire: WireProject = page.0.read().map_err(refused)?;
        let WireCheck { baseline, new, suite, ops, cases, contenders, threads, .. } = &wire.check;
        let arm = |text: &Option<Spanned<String>>| page.parsed(text.as_ref());
        let positive = |value: &Option<Spanned<f64>>, most: f64| {
            value.as_ref().map(|value| page.number(value, most)).transpose()
        };
        let counts = threads.iter().map(|count| {
            let known = (1..=256).contains(count.get_ref());
            let says = || page.bad(count.span(), "threads are from 1 to 256");
            known.then_some(*count.get_ref()).ok_or_else(says)
        });
        Ok(Project {
            path: path.to_owned(),
            baseline: arm(baseline)?,
            new: arm(new)?,
            suite: suite.clone(),
            ops: ops.clone(),
            dtypes: page.all(&wire.check.dtypes)?,
            cases: page.all(cases)?,
            contenders: page.all(contenders)?,
            threads: counts.collect::<Result<_, _>>()?,
            seconds: positive(&wire.check.seconds, 86_400.0)?,
            alpha: positive(&wire.check.alpha, 0.5)?,
            rules: Rules {
                policy: page.policy(&wire.policy)?,
                accepts: wire.accept.iter().map(|it| page.accept(it)).collect::<Result<_, _>>()?,
                tags: wire.tag.iter().map(|it| page.tag(it)).collect::<Result<_, _>>()?,
                targets: wire.target.iter().map(|it| page.target(it)).collect::<Result<_, _>>()?,
            },
            programs: page.programs(wire.benches.as_ref(), &wire.command)?,
        })
    }
}

/// The error of a project file.
fn refused(error: FileError) -> EngineError {
    let FileError { path, line, reason, nearest } = error;
    EngineError::Project { path, line, reason, nearest }
}

/// The text of a project file.
struct ProjectPage<'a>(Page<'a>);

impl ProjectPage<'_> {
    fn bad(&self, span: Range<usize>, reason: impl Into<String>) -> EngineError {
        refused(self.0.bad(span, reason))
    }

    fn parsed<T: std::str::FromStr>(
        &self,
        text: Option<&Spanned<String>>,
    ) -> Result<Option<T>, EngineError>
    where
        T::Err: std::fmt::Display,
    {
        let parse = |text: &Spanned<String>| {
            text.get_ref().parse().map_err(|error: T::Err| self.bad(text.span(), error.to_string()))
        };
        text.map(parse).transpose()
    }

    fn all<T: std::str::FromStr>(&self, texts: &[Spanned<String>]) -> Result<Vec<T>, EngineError>
    where
        T::Err: std::fmt::Display,
    {
        texts.iter().filter_map(|text| self.parsed(Some(text)).transpose()).collect()
    }

    fn number(&self, value: &Spanned<f64>, most: f64) -> Result<f64, EngineError> {
        let number = *value.get_ref();
        let is_one = number > 0.0 && number <= most;
        let says = || self.bad(value.span(), format!("{number} is not between 0 and {most}"));
        is_one.then_some(number).ok_or_else(says)
    }

    fn policy(&self, wire: &WirePolicy) -> Result<Policy, EngineError> {
        let usual = Policy::default();
        let percent = |value: &Option<Spanned<f64>>, usual: f64| {
            value.as_ref().map_or(Ok(usual), |value| self.number(value, 1e6))
        };
        Ok(Policy {
            slower: percent(&wire.slower, usual.slower)?,
            critical: percent(&wire.critical, usual.critical)?,
            memory: percent(&wire.memory, usual.memory)?,
            allocations: wire.allocations.unwrap_or(usual.allocations),
            variance: percent(&wire.variance, usual.variance)?,
        })
    }

    fn programs(
        &self,
        benches: Option<&WireBenches>,
        commands: &[Spanned<WireCommand>],
    ) -> Result<ProjectPrograms, EngineError> {
        let plain: Vec<&WireCommand> = commands.iter().map(Spanned::get_ref).collect();
        let folder = self.0.path.parent().unwrap_or(Path::new(""));
        programs::read(benches, &plain, folder)
            .map_err(|(number, said)| self.bad(commands[number].span(), said))
    }

    fn accept(&self, wire: &Spanned<WireAccept>) -> Result<Accept, EngineError> {
        let entry = wire.get_ref();
        if entry.reason.get_ref().trim().is_empty() {
            return Err(self.bad(entry.reason.span(), "the reason is empty: say why it is right"));
        }
        let expires = entry.expires.as_ref().map(|date| self.day(date)).transpose()?;
        Ok(Accept {
            case: entry.case.clone(),
            contender: entry.contender.clone().unwrap_or_else(|| "*".to_owned()),
            up_to: entry.up_to,
            reason: entry.reason.get_ref().clone(),
            date: self.day(&entry.date)?,
            expires,
            line: self.0.line(wire.span().start),
        })
    }

    fn day(&self, wire: &Spanned<Datetime>) -> Result<Day, EngineError> {
        let date = wire.get_ref().date;
        let date = date.ok_or_else(|| self.bad(wire.span(), "write a day, as 2026-11-15"))?;
        Ok(Day { year: date.year, month: date.month, day: date.day })
    }

    fn tag(&self, wire: &Spanned<WireTag>) -> Result<Tag, EngineError> {
        let WireTag { name, cases, ops, contenders } = wire.get_ref();
        if cases.is_empty() && ops.is_empty() && contenders.is_empty() {
            let says = format!("the tag `{name}` names neither cases nor ops nor contenders");
            return Err(self.bad(wire.span(), says));
        }
        let (name, cases) = (name.clone(), cases.clone());
        Ok(Tag { name, cases, ops: ops.clone(), contenders: contenders.clone() })
    }

    fn target(&self, wire: &Spanned<WireTarget>) -> Result<Target, EngineError> {
        let target = wire.get_ref();
        let metric = target.metric.get_ref();
        let known: Vec<&str> = METRICS.iter().map(|metric| metric.name).chain([RATIO]).collect();
        if !known.contains(&metric.as_str()) {
            let line = self.0.line(target.metric.span().start);
            let reason = format!("there is no metric `{metric}`; there are {}", known.join(", "));
            let (path, near) = (self.0.path.to_owned(), nearest(metric, &known));
            let nearest = near.map(str::to_owned);
            return Err(EngineError::Project { path, line, reason, nearest });
        }
        if target.to.is_some() && metric != RATIO {
            return Err(self.bad(target.metric.span(), "`to` goes with `metric = \"ratio\"`"));
        }
        if target.min.is_none() && target.max.is_none() {
            return Err(self.bad(wire.span(), "a target has `min`, `max` or both"));
        }
        let any = |pattern: &Option<String>| pattern.clone().unwrap_or_else(|| "*".to_owned());
        Ok(Target {
            op: any(&target.op),
            case: any(&target.case),
            contender: any(&target.contender),
            metric: metric.clone(),
            to: self.parsed(target.to.as_ref())?,
            min: target.min,
            max: target.max,
            says: target.says.clone(),
            line: self.0.line(wire.span().start),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Project, String> {
        Project::parse(text, Path::new("proofmark.toml")).map_err(|error| {
            let hint = error.hint().map_or_else(String::new, |hint| format!(" | {hint}"));
            format!("{error}{hint}")
        })
    }

    #[test]
    fn an_empty_file_has_the_usual_rules() {
        let project = parse("").unwrap();
        assert_eq!(project.rules, Rules::default());
        assert_eq!(project.baseline, None);
    }

    #[test]
    fn a_slip_is_told_with_its_line_and_the_nearest_key() {
        for (text, words) in [
            ("[check]\nsuite = \"ci\"\n[policy]\nslowr = 3\n", ["line 4", "`slower`"]),
            ("[chekc]\n", ["line 1", "`check`"]),
            ("[[target]]\nmetric = \"gflop\"\nmin = 1\n", ["line 2", "`gflops`"]),
            ("[[target]]\nmetric = \"gflops\"\n", ["line 1", "`min`"]),
            ("[check]\n\nbaseline = \"basline:x\"\n", ["line 3", "no arm"]),
            ("[check]\ncases = [\"add:f32[b=1]\",\n \"nonsense\"]\n", ["line 3", "nonsense"]),
            ("[check]\nalpha = 2\n", ["line 2", "between 0 and 0.5"]),
            ("[check]\nthreads = [0]\n", ["line 2", "from 1 to 256"]),
            ("[policy]\nslower = \"5\"\n", ["line 2", "expected"]),
            ("[[tag]]\nname = \"critical\"\n", ["line 1", "critical"]),
            ("[check\n", ["line 1", "proofmark.toml"]),
        ] {
            let said = parse(text).unwrap_err();
            assert!(words.iter().all(|word| said.contains(word)), "{text}: {said}");
        }
    }

    #[test]
    fn an_entry_without_reason_or_date_is_an_error() {
        let whole = "[[accept]]\ncase = \"add:*\"\nup_to = 8\nreason = \"safer\"\n\
                     date = 2026-11-15\nexpires = 2027-01-01\n";
        let entry = &parse(whole).unwrap().rules.accepts[0];
        assert_eq!((entry.date.to_string().as_str(), entry.line), ("2026-11-15", 1));
        for (from, to, word) in [
            ("reason = \"safer\"\n", "", "`reason` is missing"),
            ("\"safer\"", "\" \"", "line 4"),
            ("date = 2026-11-15\n", "", "`date` is missing"),
            ("2026-11-15", "\"2026-11-15\"", "line 5"),
            ("2027-01-01", "10:00:00", "write a day"),
        ] {
            let said = parse(&whole.replacen(from, to, 1)).unwrap_err();
            assert!(said.contains(word), "{from} -> {to}: {said}");
        }
    }

    #[test]
    fn the_documented_example_is_read_with_its_entry_uncommented_too() {
        let example = include_str!("../../../../docs/ci/proofmark.toml");
        let project = parse(example).unwrap();
        assert_eq!(project.rules.policy, Policy::default(), "the file shows the defaults");
        assert_eq!((project.rules.targets.len(), project.rules.tags.len()), (3, 1));
        for op in &project.ops {
            crate::find_op(op).unwrap();
        }
        let seed = parse(include_str!("../../../../docs/ci/seed-002.toml")).unwrap();
        assert_eq!(seed.rules.targets.len(), 4);
        let (before, entry) = example.split_once("# [[accept]]").unwrap();
        let entry = format!("[[accept]]{}", entry.replace("\n# ", "\n"));
        let whole = parse(&format!("{before}{entry}")).unwrap();
        assert_eq!(whole.rules.accepts.len(), 1);
    }

    #[test]
    fn benches_and_commands_are_read_with_folders_of_the_project() {
        let project = parse(
            "[benches]\nfilter = \"parse\"\n[[command]]\nname = \"sort\"\nbase = \"./old 3\"\n\
             new = \"./new 3\"\nfolder = \"data\"\noutput = \"stdout\"\n",
        );
        let programs = project.unwrap().programs;
        assert!(programs.has_benches && programs.filter.as_deref() == Some("parse"));
        let new = &programs.commands[0].sides[1];
        assert_eq!(
            (new.words.join(" ").as_str(), new.folder.as_deref()),
            ("./new 3", Some(Path::new("data")))
        );
        let whole = "[[command]]\nname = \"x\"\nbase = \"a\"\nnew = \"b\"\n";
        assert!(
            !parse(whole).unwrap().programs.is_empty() && parse("").unwrap().programs.is_empty()
        );
        for (from, to, word) in [
            ("\"b\"", "\"b 'x\"", "quotes"),
            ("new = \"b\"\n", "", "`new` is missing"),
            ("new = \"b\"", "new = \"b\"\noutput = \"pipe\"", "neither `stdout`"),
        ] {
            let said = parse(&whole.replacen(from, to, 1)).unwrap_err();
            assert!(said.contains(word) && said.contains("line 1"), "{from} -> {to}: {said}");
        }
    }

    #[test]
    fn the_file_is_found_upwards() {
        let top = tempfile::tempdir().unwrap();
        let below = top.path().join("a/b");
        std::fs::create_dir_all(&below).unwrap();
        assert_ne!(Project::find(&below), Some(top.path().join(PROJECT_FILE)));
        std::fs::write(top.path().join(PROJECT_FILE), "").unwrap();
        assert_eq!(Project::find(&below), Some(top.path().join(PROJECT_FILE)));
    }
}
