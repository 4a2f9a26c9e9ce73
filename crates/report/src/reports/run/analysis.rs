//! What a person who had looked at all of a run would say of it.

use super::{ReportedRun, group_name};
use crate::plain::{counted, longer, percent};
use proofmark_analyze::{
    Advice, FlagKind, Ranking, cells, field, flags, geometric_mean, ranking, status,
};
use proofmark_schema::Family;
use proofmark_schema::quantity::three_digits;
use proofmark_schema::record::{Bound, Record};

/// Which contender won where and by how much, what limits it, what to look at next.
pub(super) fn sentence(run: &ReportedRun) -> String {
    let mut parts = vec![who(&ranking(&run.records), &run.records)];
    parts.extend(peers(&run.records));
    parts.extend(next(&run.records));
    parts.extend(doubts(run));
    parts.join(" ")
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

/// Ours beside the best peer of each case.
fn peers(records: &[Record]) -> Option<String> {
    let ratios: Vec<f64> = cells(records)
        .iter()
        .filter_map(|cell| {
            let field = field(cell);
            let best = |is_peer: bool| {
                field.iter().find(|(of, _)| (of.contender.family == Family::Peer) == is_peer)
            };
            Some(best(false)?.1.estimate / best(true)?.1.estimate)
        })
        .collect();
    let mean = geometric_mean(ratios.iter().copied())?;
    let ahead = ratios.iter().filter(|&&ratio| ratio < 1.0).count();
    Some(format!(
        "Against the best peer of each case ours take {}× the time and are ahead on {ahead} of {}.",
        three_digits(mean),
        ratios.len()
    ))
}

/// What holds it, and where the most is to be gained.
fn next(records: &[Record]) -> Option<String> {
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
    for flag in flags.iter().filter(|flag| flag.kind.is_red()) {
        match kinds.iter_mut().find(|(kind, _)| *kind == flag.kind) {
            Some((_, cases)) => *cases += flag.cases,
            None => kinds.push((flag.kind, flag.cases)),
        }
    }
    let told: Vec<String> =
        kinds.iter().map(|(kind, cases)| format!("{} ({cases}×)", kind.name())).collect();
    (!told.is_empty()).then(|| format!("Red flags: {}.", told.join(", ")))
}
