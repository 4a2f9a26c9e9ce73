//! What a person who had looked at all of a run would say of it.

use super::{ReportedRun, group_name, lead};
use crate::plain::{counted, longer, percent};
use proofmark_analyze::{Advice, FlagKind, Ranking, flags, ranking, status};
use proofmark_schema::record::{Bound, Record};

/// The answer in one sentence, and how many results are not in it.
pub(super) fn answer(run: &ReportedRun) -> String {
    let mut text = lead::answer(run).unwrap_or_else(|| winner(run));
    let refused = run.records.iter().filter(|of| of.judged.proof().refusal.is_some()).count();
    let has_times = run.records.iter().any(|of| of.judged.performance().is_some());
    if refused > 0 && has_times {
        let (verb, all) = (if refused == 1 { "is" } else { "are" }, run.records.len());
        text += &format!(" {refused} of {all} results were refused and {verb} not ranked.");
    }
    text
}

/// All that can be said in sentences: the answer, who wins, what limits it, and the red flags.
pub(super) fn all(run: &ReportedRun) -> String {
    let mut parts = vec![answer(run)];
    parts.extend(lead::answer(run).map(|_| winner(run)));
    parts.extend(next(&run.records));
    parts.extend(doubts(run));
    parts.join(" ")
}

/// Which contender won where, and by how much.
pub(super) fn winner(run: &ReportedRun) -> String {
    who(&ranking(&run.records), &run.records)
}

fn who(ranking: &Ranking<'_>, records: &[Record]) -> String {
    let measured = records.iter().filter(|record| record.judged.performance().is_some()).count();
    let cases = ranking.contests.len();
    let Some(best) = ranking.places.first() else {
        return match (records.len(), measured) {
            (0, _) => "Nothing was measured.".to_owned(),
            (all, 0) => format!("Nothing was measured: {} refused.", counted(all, "contender")),
            _ => "Each case has one contender only, so there is no winner.".to_owned(),
        };
    };
    if best.wins == 0 {
        let cases = counted(cases, "case");
        return format!(
            "No contender is clearly fastest on any of {cases}: the intervals overlap."
        );
    }
    let leaders = ranking.places.iter().filter(|place| place.wins == best.wins);
    let leaders: Vec<String> = leaders.map(|place| place.contender.to_string()).collect();
    if let [first @ .., last] = &leaders[..]
        && !first.is_empty()
    {
        let first = first.join(", ");
        return format!(
            "{first} and {last} win {} of {cases} cases each: choose by case.",
            best.wins
        );
    }
    let mut text = match (best.wins, best.ties) {
        (1, _) if cases == 1 => {
            format!("{} is the fastest on {}", best.contender, ranking.contests[0].first.case)
        }
        (wins, _) if wins == cases => {
            format!("{} is the fastest on all {cases} cases", best.contender)
        }
        (wins, 0) => format!("{} wins most often: {wins} of {cases} cases", best.contender),
        (wins, ties) => format!(
            "{} wins most often: {wins} of {cases} cases, with ties on {ties}",
            best.contender
        ),
    };
    if let Some((rival, gain)) = &ranking.rival {
        let verdict = match Advice::of(*gain) {
            _ if *gain < 0.0 => "choose by case".to_owned(),
            Advice::Take => format!("take {}", best.contender),
            Advice::Weigh => "weigh that against what it costs".to_owned(),
            Advice::Negligible => "too little to choose by".to_owned(),
        };
        let by = longer(*gain);
        text += &format!("; the nearest, {rival}, takes {by} where both ran: {verdict}");
    }
    text + "."
}

/// What holds it, and where the most is to be gained.
pub(super) fn next(records: &[Record]) -> Option<String> {
    let found = status(records);
    let first = found.first()?;
    let held = match first.bound {
        Some(Bound::Compute) => ", held by arithmetic".to_owned(),
        Some(Bound::Overhead) => ", held by what a call costs".to_owned(),
        Some(level) => format!(", held by {} traffic", level.name()),
        None => String::new(),
    };
    let op = group_name(&first.group);
    let reached = percent(100.0 * first.efficiency);
    if found.len() == 1 {
        return Some(format!(
            "The best of ours reach {reached} of the machine's limit{held}; {} is farthest \
             from it.",
            first.worst.case
        ));
    }
    Some(format!(
        "Look first at {op}: {} of all time above the limits is lost there, at {reached} of the \
         limit{held}; {} is farthest from it.",
        percent(100.0 * first.share),
        first.worst.case
    ))
}

fn doubts(run: &ReportedRun) -> Option<String> {
    let flags = flags(&run.records, &|record| run.spread(record));
    let mut kinds: Vec<(FlagKind, usize)> = Vec::new();
    for flag in flags.iter().filter(|flag| flag.is_red) {
        match kinds.iter_mut().find(|(kind, _)| *kind == flag.kind) {
            Some((_, cases)) => *cases += flag.cases,
            None => kinds.push((flag.kind, flag.cases)),
        }
    }
    let told: Vec<String> =
        kinds.iter().map(|(kind, cases)| format!("{} ({cases}×)", kind.name())).collect();
    (!told.is_empty()).then(|| format!("Red flags: {}.", told.join(", ")))
}
