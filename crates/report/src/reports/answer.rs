//! The answer of a run in one sentence.

use crate::plain::{counted, longer};
use crate::reports::names;
use proofmark_analyze::{Advice, Lead, Subject, pairings, ranking};
use proofmark_schema::quantity::three_digits;
use proofmark_schema::record::Record;

/// The answer in one sentence, and how many results are not in it.
pub(super) fn answer(records: &[Record]) -> String {
    let mut text = against_peers(records).unwrap_or_else(|| winner(records));
    let refused = records.iter().filter(|of| of.judged.proof().refusal.is_some()).count();
    let has_times = records.iter().any(|of| of.judged.performance().is_some());
    if refused > 0 && has_times {
        let (was, is) = if refused == 1 { ("was", "is") } else { ("were", "are") };
        let all = records.len();
        text += &format!(" {refused} of {all} results {was} refused and {is} not ranked.");
    }
    text
}

/// Where ours met peers: by how much, and on how many cases.
pub(super) fn against_peers(records: &[Record]) -> Option<String> {
    let found = pairings(records).filter(|found| found.subject == Subject::Ours)?;
    let worst = &found.cases[0];
    let mut text = format!(
        "Our kernels take {}× the time of the best peer (another library) in the geometric mean of \
         {}: faster on {}, too close to call on {}, slower on {}",
        three_digits(found.mean),
        counted(found.cases.len(), "case"),
        found.count(Lead::Faster),
        found.count(Lead::Level),
        found.count(Lead::Slower)
    );
    if worst.lead == Lead::Slower {
        text += &format!(
            " (most on {}: {}× {})",
            names::case(worst.record, records),
            three_digits(worst.ratio.estimate),
            worst.rival.contender
        );
    }
    Some(text + ".")
}

/// Which contender won where, and by how much.
pub(super) fn winner(records: &[Record]) -> String {
    let ranking = ranking(records);
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
        let place = match cases {
            1 => String::new(),
            _ => format!(" on any of the {cases} cases"),
        };
        return format!("No contender is clearly fastest{place}: the intervals overlap.");
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
