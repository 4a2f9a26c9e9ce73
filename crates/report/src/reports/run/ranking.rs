//! Wins, the overall winner, and what to choose for each op.

use super::{ReportedRun, group_name};
use crate::document::{Cell, Column, Document, Emphasis};
use crate::plain::{longer, percent};
use crate::{Plot, PlotAxis, PlotKind, Point, Series};
use proofmark_analyze::{Advice, Place, groups, ranking};
use serde_json::{Value, json};

const PLACES: [Column; 6] = [
    Column::left("contender", 0),
    Column::right("wins", 0),
    Column::right("ties", 2),
    Column::right("cases", 1),
    Column::right("of best", 0),
    Column::right("worst case", 3),
];

const CHOICES: [Column; 6] = [
    Column::left("op", 0),
    Column::left("fastest", 0),
    Column::right("wins", 1),
    Column::left("next", 2),
    Column::right("the next takes", 0),
    Column::text("so", 0),
];

/// Contenders that the plot has room for.
const SHOWN: usize = 16;

pub(super) fn push(document: &mut Document, run: &ReportedRun) -> Vec<Value> {
    let overall = ranking(&run.records);
    let Some(best) = overall.places.first() else { return Vec::new() };
    // Without peers the answer of the report says it already.
    if crate::reports::answer::against_peers(&run.records).is_some() {
        document.text(crate::reports::answer::winner(&run.records));
    }
    let choices: Vec<(String, Choice)> = groups(&run.records)
        .iter()
        .filter_map(|group| Some((group_name(group), choice(group)?)))
        .collect();
    document.table(
        "Op by op",
        &CHOICES,
        choices.iter().map(|(op, choice)| choice.cells(op)).collect(),
    );
    document.table("Contenders", &PLACES, overall.places.iter().map(place).collect());
    document.note(
        "a win stands clear of every other's interval; `of best` is the fastest one's time over \
         this one's, the geometric mean over the cases that it ran",
    );
    let bars = overall.places.iter().take(SHOWN).enumerate().map(|(row, place)| {
        Point::at(row as f64, 100.0 * place.share_of_best, place.contender.to_string())
    });
    let axes = (PlotAxis::linear("contender", ""), PlotAxis::linear("of the best", "%"));
    let plot = Plot::new("How near each comes to the fastest", PlotKind::Bars, axes.0, axes.1);
    document.plot(plot.with(Series::new("", bars.collect())));
    let data = |(rank, place): (usize, &Place)| {
        json!({
            "contender": place.contender,
            "rank": rank + 1,
            "wins": place.wins,
            "ties": place.ties,
            "cases": place.cases,
            "percent_of_best": 100.0 * place.share_of_best,
            "overall_winner": place.contender == best.contender && place.wins > 0,
        })
    };
    let mut rows: Vec<Value> = overall.places.iter().enumerate().map(data).collect();
    rows.extend(choices.iter().map(|(op, choice)| choice.data(op)));
    rows
}

fn place(place: &Place) -> Vec<Cell> {
    vec![
        Cell::plain(place.contender.to_string()),
        Cell::plain(place.wins.to_string()),
        Cell::plain(place.ties.to_string()),
        Cell::plain(place.cases.to_string()),
        Cell::plain(percent(100.0 * place.share_of_best)),
        Cell::plain(percent(100.0 * place.worst_share)),
    ]
}

/// The recommendation for one op.
struct Choice {
    best: Place,
    rival: Option<(String, f64)>,
}

fn choice(group: &proofmark_analyze::Group<'_>) -> Option<Choice> {
    let ranking = ranking(group.records.iter().copied());
    let rival = ranking.rival.map(|(rival, gain)| (rival.to_string(), gain));
    Some(Choice { best: ranking.places.into_iter().next()?, rival })
}

impl Choice {
    fn advice(&self) -> Option<Advice> {
        self.rival.as_ref().map(|(_, gain)| Advice::of(*gain))
    }

    fn words(&self) -> String {
        let best = &self.best.contender;
        match (self.best.wins, self.advice()) {
            _ if self.rival.as_ref().is_some_and(|(_, gain)| *gain < 0.0) => {
                "wins more cases but takes longer in all: choose by case".to_owned()
            }
            (0, _) => "no clear winner: measure longer, or keep the simpler one".to_owned(),
            (_, Some(Advice::Take)) => format!("take {best}"),
            (_, Some(Advice::Weigh)) => "5 to 10 %: weigh the gain against complexity".to_owned(),
            (_, Some(Advice::Negligible)) => "under 5 %: keep the simpler one".to_owned(),
            (_, None) => "nothing to compare with".to_owned(),
        }
    }

    fn cells(&self, op: &str) -> Vec<Cell> {
        let (rival, gain) = match &self.rival {
            Some((rival, gain)) => (Cell::plain(rival), Cell::plain(longer(*gain))),
            None => (Cell::nothing(), Cell::nothing()),
        };
        vec![
            Cell::plain(op),
            Cell::with(self.best.contender.to_string(), Emphasis::Good),
            Cell::plain(format!("{} of {}", self.best.wins, self.best.cases)),
            rival,
            gain,
            Cell::plain(self.words()),
        ]
    }

    fn data(&self, op: &str) -> Value {
        json!({
            "group": op,
            "contender": self.best.contender,
            "wins": self.best.wins,
            "cases": self.best.cases,
            "rival": self.rival.as_ref().map(|(rival, _)| rival),
            "rival_slower_percent": self.rival.as_ref().map(|(_, gain)| 100.0 * gain),
            "recommendation": self.advice().map(Advice::name),
        })
    }
}
