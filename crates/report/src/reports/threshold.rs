//! The report of a crossover: where one contender starts to pay, the races it rests on, its zones.

use crate::document::{Cell, Column, Document, Emphasis};
use crate::plain::{counted, percent, ratio, threads};
use proofmark_analyze::{Answer, Between, Crossing, Spot, Zone};
use proofmark_schema::quantity::Age;
use proofmark_schema::race::Verdict;
use serde_json::json;

const PLACES: [Column; 4] = [
    Column::right("size", 0),
    Column::right("speed-up", 0),
    Column::left("verdict", 0),
    Column::right("trials", 1),
];

const ZONES: [Column; 5] = [
    Column::left("zone", 0),
    Column::right("size", 0),
    Column::right("speed-up", 0),
    Column::text("wanted", 1),
    Column::left("verdict", 0),
];

const KEPT: [Column; 6] = [
    Column::left("case", 0),
    Column::left("axis", 2),
    Column::left("from", 0),
    Column::right("constant", 0),
    Column::right("threads", 1),
    Column::right("age", 1),
];

/// The document of crossings just found or kept. `unit` says what an op's constant counts.
pub fn threshold(crossings: &[Crossing], unit: &dyn Fn(&str) -> &'static str) -> Document {
    let data = json!({ "crossings": crossings });
    let mut document = Document::new("Where it starts to pay", data, "crossings");
    for crossing in crossings {
        let [base, other] = &crossing.between;
        let title = format!(
            "{other} against {base} along {} of {}, {}",
            crossing.axis,
            crossing.case,
            threads(crossing.threads)
        );
        document.table(title, &PLACES, crossing.places.iter().map(place).collect());
        document.text(sentence(crossing));
        if let Some(constant) = crossing.constant {
            let op = &crossing.case.op;
            document.text(format!(
                "Constant for {op}: a thread's part has at least {constant} {}.",
                unit(op)
            ));
        }
        document.table(
            "With the constant in force",
            &ZONES,
            crossing.zones.iter().map(zone).collect(),
        );
        document.note(evidence(crossing));
    }
    document
}

/// The document of what is kept, with how often that saved a measurement.
pub fn kept_thresholds(crossings: &[Crossing], lookups: u64, hits: u64, now: u64) -> Document {
    let data = json!({ "crossings": crossings, "lookups": lookups, "hits": hits });
    let mut document = Document::new("Crossings that are kept", data, "crossings");
    let row = |crossing: &Crossing| {
        let constant = crossing.constant.map_or("–".to_owned(), |constant| constant.to_string());
        vec![
            Cell::plain(crossing.case.to_string()),
            Cell::plain(&crossing.axis),
            Cell::plain(short(&crossing.answer)),
            Cell::plain(constant),
            Cell::plain(crossing.threads.to_string()),
            Cell::plain(Age(now.saturating_sub(crossing.made)).to_string()),
        ]
    };
    document.table("", &KEPT, crossings.iter().map(row).collect());
    document.text(match crossings.is_empty() {
        true => "None is kept: `proofmark tune --all` finds the usual ones.".to_owned(),
        false => hit_rate(lookups, hits),
    });
    document
}

fn place(place: &Spot) -> Vec<Cell> {
    vec![
        Cell::plain(place.at.to_string()),
        Cell::plain(ratio(&place.ratio.inverse())),
        verdict(place.verdict),
        Cell::plain(place.trials.to_string()),
    ]
}

/// What a race showed, set off where it showed a difference.
pub(super) fn verdict(verdict: Verdict) -> Cell {
    match verdict {
        Verdict::Faster => Cell::with(verdict.name(), Emphasis::Good),
        Verdict::Slower => Cell::with(verdict.name(), Emphasis::Bad),
        other => Cell::plain(other.name()),
    }
}

/// How often an answer that is kept saved a measurement.
pub(super) fn hit_rate(lookups: u64, hits: u64) -> String {
    match lookups {
        0 => "None was asked for again yet.".to_owned(),
        _ => format!(
            "{hits} of {lookups} questions to `tune` and `choose` were answered from what is kept: \
             a hit rate of {}.",
            percent(100.0 * hits as f64 / lookups as f64)
        ),
    }
}

fn zone(zone: &Zone) -> Vec<Cell> {
    let verdict = match zone.is_met {
        true => Cell::with("met", Emphasis::Good),
        false => Cell::with("missed", Emphasis::Bad),
    };
    vec![
        Cell::plain(zone.name.name()),
        Cell::plain(zone.at.to_string()),
        Cell::plain(ratio(&zone.speedup)),
        Cell::plain(&zone.wanted),
        verdict,
    ]
}

fn short(answer: &Answer) -> String {
    match answer {
        Answer::Once { crossing } => format!("{}–{}", crossing.low, crossing.high),
        Answer::Several { crossings } => format!("{} crossings", crossings.len()),
        Answer::AlwaysFaster => "always".to_owned(),
        Answer::NeverFaster => "never".to_owned(),
        Answer::Unclear => "unclear".to_owned(),
    }
}

fn sentence(crossing: &Crossing) -> String {
    let (axis, [base, other]) = (&crossing.axis, &crossing.between);
    let (from, to) = crossing.range;
    match &crossing.answer {
        Answer::Once { crossing: Between { low, high, is_faster } } => {
            let word = if *is_faster { "faster" } else { "slower" };
            let loose = if *high as f64 > 1.6 * *low as f64 {
                ". The two are too alike, or the machine too noisy, to say it more closely"
            } else {
                ""
            };
            format!(
                "{other} becomes the {word} one between {axis}={low} and {axis}={high}: at the \
                 first it was shown on the other side, at the second {word}{loose}."
            )
        }
        Answer::Several { crossings } => {
            let each: Vec<String> = crossings
                .iter()
                .map(|it| {
                    let word = if it.is_faster { "faster" } else { "slower" };
                    format!("{word} between {axis}={} and {axis}={}", it.low, it.high)
                })
                .collect();
            format!(
                "There is more than one crossing, so no single threshold: {other} becomes {}.",
                each.join(", then ")
            )
        }
        Answer::AlwaysFaster => format!(
            "There is no crossing from {axis}={from} to {axis}={to}: wherever a difference was \
             shown, {other} is the faster one."
        ),
        Answer::NeverFaster => format!(
            "There is no crossing from {axis}={from} to {axis}={to}: {other} was never shown \
             faster than {base}."
        ),
        Answer::Unclear => format!(
            "From {axis}={from} to {axis}={to} neither was shown faster anywhere; try a quieter \
             machine, or more --seconds."
        ),
    }
}

fn evidence(crossing: &Crossing) -> String {
    let kept = if crossing.is_cached { "kept from before (--fresh measures again); " } else { "" };
    let is_open = |place: &&Spot| place.verdict == Verdict::Undecided;
    let open = match crossing.places.iter().filter(is_open).count() {
        0 => String::new(),
        count => format!(", {count} of them undecided (more --seconds, or a quieter machine)"),
    };
    format!(
        "{kept}{}{open}, each wrong at most {} of the time; run {}",
        counted(crossing.places.len() + crossing.zones.len(), "race"),
        percent(100.0 * crossing.alpha),
        crossing.run
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Style, find};
    use proofmark_analyze::ZoneName;
    use proofmark_schema::quantity::Interval;

    fn crossing(answer: Answer) -> Crossing {
        let ratio = Interval { estimate: 0.8, low: 0.79, high: 0.81, confidence: 0.99 };
        let place = Spot { at: 48, ratio, verdict: Verdict::Faster, trials: 6 };
        Crossing {
            case: "softmax:f32[b=1,s=48,d=512]".parse().unwrap(),
            axis: "s".to_owned(),
            between: ["native/simd", "native/parallel"].map(|who| who.parse().unwrap()),
            threads: 2,
            range: (1, 64),
            alpha: 0.01,
            places: vec![place],
            answer,
            constant: Some(21_504),
            zones: vec![Zone::of(ZoneName::At, &place)],
            run: "r1".to_owned(),
            made: 100,
            is_cached: true,
        }
    }

    fn text(document: &Document) -> String {
        (find("term").unwrap().render)(
            document,
            &Style { width: 160, colour: false, ..Style::default() },
        )
    }

    #[test]
    fn one_crossing_is_told_with_its_bounds_constant_and_zones() {
        let once = Answer::Once { crossing: Between { low: 40, high: 48, is_faster: true } };
        let text = text(&threshold(&[crossing(once)], &|_| "elements"));
        assert!(text.contains("the faster one between s=40 and s=48"), "{text}");
        assert!(text.contains("at least 21504 elements"), "{text}");
        assert!(text.contains("1.25× [1.23, 1.27]"), "{text}");
        assert!(text.contains("met"), "{text}");
        assert!(text.contains("kept from before"), "{text}");
    }

    #[test]
    fn a_zone_of_an_older_crossing_is_read_and_written_alike() {
        for name in [ZoneName::Below, ZoneName::At, ZoneName::Above] {
            let old = json!(name.name());
            assert_eq!(json!(name), old);
            assert_eq!(serde_json::from_value::<ZoneName>(old).unwrap(), name);
        }
    }

    #[test]
    fn none_and_several_are_told() {
        let told = |answer| text(&threshold(&[crossing(answer)], &|_| "elements"));
        assert!(told(Answer::NeverFaster).contains("was never shown"));
        assert!(told(Answer::Unclear).contains("neither was shown faster"));
        let one = |low, high, is_faster| Between { low, high, is_faster };
        let crossings = vec![one(1, 4, true), one(8, 16, false)];
        let several = told(Answer::Several { crossings });
        assert!(several.contains("more than one crossing"), "{several}");
        assert!(several.contains("then slower between s=8 and s=16"), "{several}");
    }

    #[test]
    fn the_hit_rate_of_what_is_kept_is_told() {
        let once = Answer::Once { crossing: Between { low: 40, high: 48, is_faster: true } };
        let kept = text(&kept_thresholds(&[crossing(once)], 4, 3, 7300));
        assert!(kept.contains("a hit rate of 75 %") && kept.contains("40–48"), "{kept}");
        assert!(kept.contains("2 h"), "{kept}");
        assert!(text(&kept_thresholds(&[], 0, 0, 0)).contains("None is kept"));
    }
}
