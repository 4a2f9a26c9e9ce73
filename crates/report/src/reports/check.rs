//! The report of a check: the verdict, what changed, targets, then everything.

use crate::document::{Cell, Column, Document, Emphasis};
use crate::plain::{counted, percent};
use proofmark_analyze::policy::{
    Change, Checked, CheckedCase, CheckedTarget, Edit, Origin, TargetWord, in_percent,
};
use proofmark_schema::finding::{Finding, Severity};
use proofmark_schema::quantity::three_digits;
use serde_json::{Value, json};

const CASES: [Column; 8] = [
    Column::left("case", 0),
    Column::left("verdict", 0),
    Column::right("time", 0),
    Column::right("limit", 3),
    Column::left("contender", 1),
    Column::right("memory", 2),
    Column::right("allocations", 4),
    Column::right("trials", 5),
];
const TARGETS: [Column; 5] = [
    Column::left("target", 0),
    Column::left("verdict", 0),
    Column::right("measured", 0),
    Column::left("case", 0),
    Column::left("contender", 1),
];

const EDITS: [Column; 4] = [
    Column::left("the change edits", 0),
    Column::left("before", 0),
    Column::left("after", 0),
    Column::left("looser", 1),
];

/// The document of a check that ends with this exit code.
pub fn check(checked: &Checked, exit_code: u8) -> Document {
    let severity = checked.severity();
    let data = json!({
        "verdict": word(severity),
        "exit_code": exit_code,
        "base": checked.base,
        "new": checked.new,
        "rules": checked.origin.as_ref().map(origin_data),
        "alpha": checked.alpha,
        "runs": checked.runs,
        "cases": checked.cases.iter().map(case_data).collect::<Vec<_>>(),
        "targets": checked.targets.iter().map(target_data).collect::<Vec<_>>(),
        "accept": accepts(checked).collect::<Vec<_>>(),
        "notes": checked.notes,
    });
    let title = format!("Check {} against {}", checked.new, checked.base);
    let mut document = Document::new(title, data, "cases");
    document.text(format!("{}: {} (exit {exit_code}).", word(severity), summary(checked)));
    if let Some(origin) = &checked.origin {
        edits(&mut document, origin, checked.is_forgery());
    }
    let all = || checked.cases.iter().flat_map(|case| &case.judgement.findings);
    let mut serious: Vec<&Finding> = all().filter(|it| it.severity > Severity::Note).collect();
    serious.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    for finding in serious {
        document.text(sentence(&finding.claim));
        document.command(finding.advice.clone());
    }
    for target in checked.targets.iter().filter(|it| is_open(it.word)) {
        document.text(said(target));
    }
    let changed: Vec<&CheckedCase> = checked.cases.iter().filter(|it| is_changed(it)).collect();
    document.table("Changed", &CASES, changed.iter().map(|it| line(it)).collect());
    for finding in all().filter(|finding| finding.severity == Severity::Note) {
        document.note(finding.claim.clone());
    }
    let mut targets: Vec<&CheckedTarget> = checked.targets.iter().collect();
    targets.sort_by_key(|target| !is_open(target.word));
    document.table("Targets", &TARGETS, targets.into_iter().map(target_line).collect());
    if changed.len() < checked.cases.len() {
        document.table("All cases", &CASES, checked.cases.iter().map(line).collect());
    }
    for note in checked.notes.iter().cloned().chain(wide(checked)) {
        document.note(note);
    }
    document.note(format!(
        "the chance that any case is called slower by more than its limit though it is not is at \
         most {}, over all cases together",
        percent(100.0 * checked.alpha)
    ));
    document
}

/// Lists the edits of the change to the rules that judge it.
fn edits(document: &mut Document, origin: &Origin, is_forgery: bool) {
    if origin.edits.is_empty() {
        return;
    }
    let place = &origin.place;
    document.text(if is_forgery {
        format!(
            "REFUSED: the change fails by the rules of its base ({place}) and loosens what judges \
             it. Let the edits land first, in a change of their own, or judge by a file outside of \
             the repository with `--config`."
        )
    } else {
        format!("The change edits what judges it. The rules of this check are those of {place}.")
    });
    document.table("Edits of the rules", &EDITS, origin.edits.iter().map(edit_line).collect());
}

fn edit_line(edit: &Edit) -> Vec<Cell> {
    let cell = |text: &Option<String>| text.clone().map_or_else(Cell::nothing, Cell::plain);
    let looser = if edit.loosens { Cell::with("yes", Emphasis::Bad) } else { Cell::plain("no") };
    vec![Cell::plain(edit.what.clone()), cell(&edit.before), cell(&edit.after), looser]
}

fn origin_data(origin: &Origin) -> Value {
    let edit = |edit: &Edit| {
        json!({
            "what": edit.what,
            "before": edit.before,
            "after": edit.after,
            "loosens": edit.loosens,
        })
    };
    json!({ "from": origin.place, "edits": origin.edits.iter().map(edit).collect::<Vec<_>>() })
}

/// The entries to paste, one for each change that is not explained; empty where there is none.
pub fn accept_entries(checked: &Checked) -> String {
    accepts(checked).collect::<Vec<_>>().join("\n")
}

fn accepts(checked: &Checked) -> impl Iterator<Item = &str> {
    checked.cases.iter().filter_map(|case| case.judgement.accept.as_deref())
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "PASS",
        Severity::Undecided => "UNDECIDED",
        Severity::Environment => "NOT CHECKED",
        Severity::Regression | Severity::Crashed | Severity::Incorrect | Severity::Integrity => {
            "FAIL"
        }
    }
}

/// What was counted, the worst first.
fn summary(checked: &Checked) -> String {
    let findings = || checked.cases.iter().flat_map(|case| &case.judgement.findings);
    let of = |severity: Severity| findings().filter(|it| it.severity == severity).count();
    let targets = |word: TargetWord| checked.targets.iter().filter(|it| it.word == word).count();
    let changes = |change: Change| {
        checked.cases.iter().filter(|case| case.judgement.change == change).count()
    };
    let said = [
        (of(Severity::Integrity), "impossible speed"),
        (of(Severity::Incorrect), "wrong kernel"),
        (of(Severity::Crashed), "crashed contender"),
        (of(Severity::Regression), "regression"),
        (targets(TargetWord::Missed), "missed target"),
        (of(Severity::Environment), "case without a result"),
        (of(Severity::Undecided) + targets(TargetWord::Undecided), "undecided"),
        (changes(Change::Explained), "explained"),
        (changes(Change::Slower), "slower within the limit"),
        (changes(Change::Faster), "faster"),
    ];
    let mut parts: Vec<String> = Vec::new();
    for (count, noun) in said.into_iter().filter(|(count, _)| *count > 0) {
        let is_noun = ["kernel", "contender", "regression", "target"];
        let is_noun = is_noun.iter().any(|word| noun.ends_with(word));
        parts.push(if is_noun { counted(count, noun) } else { format!("{count} {noun}") });
    }
    let cases = counted(checked.cases.len(), "case");
    if parts.is_empty() {
        return format!("nothing is slower in {cases}");
    }
    format!("{} in {cases}", parts.join(", "))
}

/// What is not as it was, or not as it should be.
fn is_changed(case: &CheckedCase) -> bool {
    let is_quiet = matches!(case.judgement.change, Change::Same | Change::Within);
    !is_quiet || case.judgement.findings.iter().any(|it| it.severity > Severity::Note)
}

fn is_open(word: TargetWord) -> bool {
    matches!(word, TargetWord::Missed | TargetWord::Undecided)
}

/// One remark on all times whose intervals are too wide.
fn wide(checked: &Checked) -> Option<String> {
    let wide = checked.cases.iter().filter_map(|case| Some((case.judgement.wide?, case)));
    let count = wide.clone().count();
    let (width, widest) = wide.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(format!(
        "the interval of the time is wider than the policy likes in {count} of {}, the widest {} \
         on {}; `proofmark doctor` shows what else runs on the machine",
        counted(checked.cases.len(), "case"),
        percent(width),
        widest.decision.case
    ))
}

fn sentence(claim: &str) -> String {
    let mut letters = claim.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    // A claim that begins with a contender's name keeps its lower case.
    if claim.starts_with("the ") { first + letters.as_str() } else { claim.to_owned() }
}

fn line(case: &CheckedCase) -> Vec<Cell> {
    let CheckedCase { decision, contender, judgement } = case;
    let cell = |text: Option<String>| text.map_or_else(Cell::nothing, Cell::plain);
    let emphasis = match judgement.change {
        Change::Unexplained | Change::Blocked | Change::Refused => Some(Emphasis::Bad),
        Change::Faster | Change::Same => Some(Emphasis::Good),
        Change::Undecided | Change::Within => Some(Emphasis::Dim),
        Change::Slower | Change::Explained => None,
    };
    let threads = match decision.threads {
        1 => String::new(),
        count => format!(" ×{count}"),
    };
    let star = if judgement.limit.is_critical { " critical" } else { "" };
    let trials = decision.last().map(|last| last.ruling.comparison.trials.to_string());
    let allocations = judgement.allocations.map(|[base, new]| match (base, new) {
        (base, new) if base == new => three_digits(new),
        (base, new) => format!("{} → {}", three_digits(base), three_digits(new)),
    });
    vec![
        Cell::plain(decision.case.to_string()),
        Cell { emphasis, ..Cell::plain(judgement.change.name()) },
        cell(decision.ratio.as_ref().map(in_percent)),
        Cell::plain(format!("{} %{star}", judgement.limit.percent)),
        Cell::plain(format!("{contender}{threads}")),
        cell(judgement.memory.map(|share| format!("{:+.0} %", 100.0 * share))),
        cell(allocations),
        cell(trials),
    ]
}

fn measured(target: &CheckedTarget) -> Option<String> {
    let interval = target.interval?;
    let [estimate, low, high] = [interval.estimate, interval.low, interval.high].map(three_digits);
    let unit = match target.target.unit() {
        "" => String::new(),
        unit => format!(" {unit}"),
    };
    Some(if low == high {
        format!("{estimate}{unit}")
    } else {
        format!("{estimate}{unit} [{low}, {high}]")
    })
}

fn said(target: &CheckedTarget) -> String {
    let CheckedTarget { case, contender, .. } = target;
    let wanted = &target.target;
    let says = wanted.says.as_ref().map_or_else(String::new, |says| format!(" ({says})"));
    let measured = measured(target).unwrap_or_default();
    format!("{}: {contender} on {case} is at {measured}; {wanted}{says}.", target.word.name())
}

fn target_line(target: &CheckedTarget) -> Vec<Cell> {
    let emphasis = match target.word {
        TargetWord::Met => Emphasis::Good,
        TargetWord::Missed => Emphasis::Bad,
        TargetWord::Undecided | TargetWord::Unmeasured => Emphasis::Dim,
    };
    vec![
        Cell::plain(target.target.to_string()),
        Cell::with(target.word.name(), emphasis),
        measured(target).map_or_else(Cell::nothing, Cell::plain),
        Cell::plain(target.case.to_string()),
        Cell::plain(target.contender.to_string()),
    ]
}

fn case_data(case: &CheckedCase) -> Value {
    let CheckedCase { decision, contender, judgement } = case;
    json!({
        "case": decision.case,
        "contender": contender,
        "threads": decision.threads,
        "verdict": judgement.change.name(),
        "ratio": decision.ratio,
        "limit_percent": judgement.limit.percent,
        "critical": judgement.limit.is_critical,
        "memory_growth": judgement.memory,
        "allocations": judgement.allocations,
        "wide_percent": judgement.wide,
        "findings": judgement.findings,
        "accept": judgement.accept,
        "decision": decision,
    })
}

fn target_data(target: &CheckedTarget) -> Value {
    json!({
        "metric": target.target.metric,
        "to": target.target.to,
        "min": target.target.min,
        "max": target.target.max,
        "says": target.target.says,
        "case": target.case,
        "contender": target.contender,
        "threads": target.threads,
        "measured": target.interval,
        "verdict": target.word.name(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Style, find};
    use proofmark_analyze::policy::{Judgement, Limit, Target};
    use proofmark_schema::decision::CaseDecision;
    use proofmark_schema::quantity::Interval;

    fn case(change: Change, severity: Severity) -> CheckedCase {
        let mut decision = CaseDecision::open("add:f32[b=1,s=1,d=8]".parse().unwrap(), 1);
        decision.ratio = Some(Interval { estimate: 1.07, low: 1.06, high: 1.08, confidence: 0.99 });
        let claim = "native/simd on add:f32[b=1,s=1,d=8] is slower".to_owned();
        let advice = "proofmark compare rev:main rev:.".to_owned();
        CheckedCase {
            decision,
            contender: "native/simd@avx2".parse().unwrap(),
            judgement: Judgement {
                change,
                limit: Limit { percent: 5.0, is_critical: false, accepted_by: None },
                memory: Some(0.0),
                allocations: Some([0.0, 1.0]),
                wide: Some(45.0),
                findings: vec![Finding { severity, claim, items: Vec::new(), advice }],
                accept: (change == Change::Unexplained).then(|| "[[accept]]\n".to_owned()),
            },
        }
    }

    fn checked(cases: Vec<CheckedCase>, targets: Vec<CheckedTarget>) -> Checked {
        Checked {
            base: "rev:main".to_owned(),
            new: "rev:.".to_owned(),
            origin: None,
            alpha: 0.01,
            runs: vec!["0193".to_owned()],
            cases,
            targets,
            notes: vec!["a note".to_owned()],
        }
    }

    fn shown(checked: &Checked, width: usize) -> (Document, String) {
        let document = check(checked, 1);
        let style = Style { width, ..Style::default() };
        let text = (find("term").unwrap().render)(&document, &style);
        (document, text)
    }

    #[test]
    fn the_verdict_comes_first_then_what_changed_then_everything() {
        let cases = vec![
            case(Change::Unexplained, Severity::Regression),
            case(Change::Same, Severity::Note),
        ];
        let checked = checked(cases, Vec::new());
        let (document, text) = shown(&checked, 150);
        let places = ["FAIL: 1 regression in 2 cases", "Changed", "All cases", "at most 1.0 %"]
            .map(|word| text.find(word).unwrap_or_else(|| panic!("{word} in {text}")));
        assert!(places.is_sorted(), "{text}");
        assert_eq!(document.data["verdict"], "FAIL");
        assert!(text.contains("in 2 of 2 cases, the widest 45 % on add"), "{text}");
        assert_eq!(accept_entries(&checked), "[[accept]]\n");
    }

    #[test]
    fn an_edit_of_the_rules_is_shown_and_a_change_that_needs_it_is_refused() {
        let edit = |loosens| Edit {
            what: "policy.slower".to_owned(),
            before: Some("5".to_owned()),
            after: Some("50".to_owned()),
            loosens,
        };
        let place = "proofmark.toml of rev:main".to_owned();
        for (change, severity, loosens, words) in [
            (Change::Same, Severity::Note, true, "The change edits what judges it."),
            (Change::Blocked, Severity::Regression, false, "The change edits what judges it."),
            (Change::Blocked, Severity::Regression, true, "REFUSED: the change fails"),
        ] {
            let mut checked = checked(vec![case(change, severity)], Vec::new());
            checked.origin = Some(Origin { place: place.clone(), edits: vec![edit(loosens)] });
            let (document, text) = shown(&checked, 150);
            let is_forgery = loosens && change == Change::Blocked;
            assert_eq!(checked.is_forgery(), is_forgery, "{change:?}");
            assert_eq!(checked.severity() == Severity::Integrity, is_forgery, "{change:?}");
            for word in [words, "policy.slower", "50", "proofmark.toml of rev:main"] {
                assert!(text.contains(word), "{word} in {text}");
            }
            assert_eq!(document.data["rules"]["edits"][0]["loosens"], loosens);
        }
    }

    #[test]
    fn a_narrow_terminal_keeps_case_verdict_and_change() {
        let (_, text) = shown(&checked(vec![case(Change::Slower, Severity::Note)], vec![]), 60);
        let lines = text.lines().filter(|line| !line.starts_with("  $"));
        assert!(lines.clone().all(|line| line.chars().count() <= 60), "{text}");
        assert!(text.contains("+7.0 % [+6.0, +8.0]"), "{text}");
    }

    #[test]
    fn a_target_that_is_missed_fails_and_is_said_with_its_interval() {
        let star = || "*".to_owned();
        let target = Target {
            op: star(),
            case: star(),
            contender: star(),
            metric: "efficiency".to_owned(),
            min: Some(80.0),
            ..Target::default()
        };
        let interval = Interval { estimate: 50.0, low: 49.0, high: 51.0, confidence: 0.95 };
        let missed = CheckedTarget {
            word: target.word(Some(&interval)),
            target,
            case: "add:f32[d=8]".parse().unwrap(),
            contender: "native/simd".parse().unwrap(),
            threads: 1,
            interval: Some(interval),
        };
        let (_, text) =
            shown(&checked(vec![case(Change::Same, Severity::Note)], vec![missed]), 150);
        assert!(text.contains("FAIL: 1 missed target in 1 case"), "{text}");
        assert!(text.contains("50.0 % [49.0, 51.0]; efficiency at least 80.0 %"), "{text}");
    }
}
