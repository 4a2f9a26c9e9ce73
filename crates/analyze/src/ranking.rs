//! Which contender wins how often, by how much, and whether the difference is worth a choice.

use crate::cells::{cells, field, geometric_mean};
use crate::winner::winner;
use proofmark_schema::record::Record;
use proofmark_schema::{ContenderId, DType};

/// What a difference in speed is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Less than 5 %: keep the simpler one.
    Negligible,
    /// 5 % to 10 %: weigh the gain against what it costs.
    Weigh,
    /// More than 10 %: take the faster one.
    Take,
}

impl Advice {
    /// The advice on a gain (0.07 is 7 %).
    pub fn of(gain: f64) -> Advice {
        match gain {
            gain if gain > 0.10 => Advice::Take,
            gain if gain >= 0.05 => Advice::Weigh,
            _ => Advice::Negligible,
        }
    }

    /// The word in files.
    pub fn name(self) -> &'static str {
        match self {
            Advice::Negligible => "negligible",
            Advice::Weigh => "weigh",
            Advice::Take => "take",
        }
    }
}

/// One contender among others.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The contender.
    pub contender: ContenderId,
    /// Contested cases that it was measured on.
    pub cases: usize,
    /// Those that it won clearly.
    pub wins: usize,
    /// Those on which it may be the fastest, with others.
    pub ties: usize,
    /// The fastest one's time over its own, geometric mean over its cases: 1 is the best.
    pub share_of_best: f64,
    /// The least of these.
    pub worst_share: f64,
}

/// The fastest of one case.
#[derive(Clone, Debug, PartialEq)]
pub struct Contest<'a> {
    /// The record with the least estimate.
    pub first: &'a Record,
    /// The next.
    pub second: &'a Record,
    /// The time of the second over that of the first, minus one.
    pub gain: f64,
    /// Whether the first one's interval stands clear.
    pub is_clear: bool,
}

/// Contenders in order of preference.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranking<'a> {
    /// The first is the overall winner.
    pub places: Vec<Place>,
    /// Every contested case.
    pub contests: Vec<Contest<'a>>,
    /// How much slower the best other one is than the overall winner, on the cases that both
    /// have; `None` where they share none.
    pub rival: Option<(ContenderId, f64)>,
}

/// Records of one op, element type and thread count of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Group<'a> {
    /// The run.
    pub run: &'a str,
    /// The op.
    pub op: &'a str,
    /// The element type.
    pub dtype: DType,
    /// Threads.
    pub threads: usize,
    /// The records.
    pub records: Vec<&'a Record>,
}

/// The groups of some records, in the order in which they first appear.
pub fn groups<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for record in records {
        let (run, op) = (record.run.as_str(), record.case.op.as_str());
        let (dtype, threads) = (record.case.dtype, record.threads);
        let same = |group: &&mut Group<'_>| {
            (group.run, group.op, group.dtype, group.threads) == (run, op, dtype, threads)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.records.push(record),
            None => groups.push(Group { run, op, dtype, threads, records: vec![record] }),
        }
    }
    groups
}

/// Ranks the contenders of some records on the cases that two or more were measured on.
///
/// The order is by clear wins on these cases, then by share of the best.
pub fn ranking<'a>(records: impl IntoIterator<Item = &'a Record>) -> Ranking<'a> {
    let mut fields: Vec<Vec<(&ContenderId, f64)>> = Vec::new();
    let mut ranking = Ranking::default();
    for cell in cells(records) {
        let field = field(&cell);
        let [(first, best), (second, next), ..] = field[..] else { continue };
        let outcome = winner(&cell);
        for (record, time) in &field {
            let id = &record.contender;
            let place = place_of(&mut ranking.places, id);
            place.cases += 1;
            place.wins += usize::from(outcome.is(id));
            place.ties += usize::from(outcome.tie.contains(id));
            let share = best.estimate / time.estimate;
            place.share_of_best += share.ln();
            place.worst_share = place.worst_share.min(share);
        }
        let gain = next.estimate / best.estimate - 1.0;
        let is_clear = outcome.best.is_some();
        ranking.contests.push(Contest { first, second, gain, is_clear });
        fields.push(field.iter().map(|(of, time)| (&of.contender, time.estimate)).collect());
    }
    for place in &mut ranking.places {
        place.share_of_best = (place.share_of_best / place.cases as f64).exp();
    }
    ranking
        .places
        .sort_by(|a, b| b.wins.cmp(&a.wins).then(b.share_of_best.total_cmp(&a.share_of_best)));
    ranking.rival = rival(&ranking.places, &fields);
    ranking
}

fn place_of<'p>(places: &'p mut Vec<Place>, contender: &ContenderId) -> &'p mut Place {
    let at = places.iter().position(|place| place.contender == *contender).unwrap_or_else(|| {
        let (wins, ties, cases) = (0, 0, 0);
        let contender = contender.clone();
        places.push(Place {
            contender,
            cases,
            wins,
            ties,
            share_of_best: 0.0,
            worst_share: f64::INFINITY,
        });
        places.len() - 1
    });
    &mut places[at]
}

/// The contender that comes nearest to the overall winner on the cases that both have.
fn rival(places: &[Place], fields: &[Vec<(&ContenderId, f64)>]) -> Option<(ContenderId, f64)> {
    let (best, others) = places.split_first()?;
    let gain = |other: &Place| {
        let both = fields.iter().filter_map(|field| {
            let of = |who| field.iter().find(|(id, _)| *id == who).map(|(_, time)| *time);
            Some(of(&other.contender)? / of(&best.contender)?)
        });
        Some((other.contender.clone(), geometric_mean(both)? - 1.0))
    };
    others.iter().filter_map(gain).min_by(|a, b| a.1.total_cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{compared, timed};

    fn on(mut record: Record, op: &str) -> Record {
        op.clone_into(&mut record.case.op);
        record
    }

    #[test]
    fn wins_are_counted_by_case_and_the_gain_is_over_the_nearest() {
        let records = [
            on(timed("native/scalar", 0, 100.0), "add"),
            on(compared("native/simd", 1, 50.0, (0.49, 0.50, 0.51)), "add"),
            on(compared("native/parallel", 2, 54.0, (0.53, 0.54, 0.55)), "add"),
            on(timed("native/scalar", 0, 100.0), "mul"),
            on(compared("native/simd", 1, 50.0, (0.49, 0.50, 0.51)), "mul"),
        ];
        let ranking = ranking(&records);
        assert_eq!(ranking.contests.len(), 2);
        let best = &ranking.places[0];
        assert_eq!((best.contender.name.as_str(), best.wins, best.cases), ("simd", 2, 2));
        assert!((best.share_of_best - 1.0).abs() < 1e-12);
        let (rival, gain) = ranking.rival.unwrap();
        assert_eq!(rival.name, "parallel");
        assert!((gain - 0.08).abs() < 1e-9, "{gain}");
        assert_eq!(Advice::of(gain), Advice::Weigh);
        let scalar = ranking.places.iter().find(|place| place.contender.name == "scalar").unwrap();
        assert!((scalar.share_of_best - 0.5).abs() < 1e-12 && scalar.wins == 0);
    }

    #[test]
    fn a_tie_is_nobodys_win_and_one_alone_is_no_contest() {
        let tied = [
            timed("native/scalar", 0, 100.0),
            compared("native/simd", 1, 100.0, (0.95, 1.0, 1.05)),
        ];
        let ranked = ranking(&tied);
        assert!(ranked.places.iter().all(|place| place.wins == 0 && place.ties == 1));
        assert!(!ranked.contests[0].is_clear);
        assert_eq!(ranking(&tied[..1]), Ranking::default());
    }

    #[test]
    fn bands_are_those_of_five_and_ten_per_cent() {
        assert_eq!(Advice::of(0.049), Advice::Negligible);
        assert_eq!(Advice::of(0.05), Advice::Weigh);
        assert_eq!(Advice::of(0.10), Advice::Weigh);
        assert_eq!(Advice::of(0.101), Advice::Take);
    }
}
