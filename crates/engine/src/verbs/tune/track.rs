//! The races of a crossing, one size after the other.

use super::races::{Races, Shown};
use super::request::TuneRequest;
use crate::prove::Admission;
use crate::{EngineError, Listener};
use proofmark_analyze::{Answer, Spot, Zone, ZoneName, answer, coarse, next_place};
use proofmark_arena::Arena;
use proofmark_contract::Entry;
use proofmark_machine::Ceilings;
use proofmark_ops::tuning;
use proofmark_schema::race::Verdict;
use proofmark_schema::{Case, ContenderId};

/// Operations of the largest case that an axis is followed to.
const MOST_FLOPS: u64 = 1_000_000_000;
const MOST_BYTES: u64 = 256 << 20;

/// What every race of a crossing needs, and what came of those run so far.
pub(super) struct Track<'a> {
    request: &'a TuneRequest,
    entry: &'static Entry,
    case: Case,
    pub(super) between: [ContenderId; 2],
    listener: &'a dyn Listener,
    pub(super) races: Races<'a>,
}

impl<'a> Track<'a> {
    pub(super) fn new(
        request: &'a TuneRequest,
        entry: &'static Entry,
        case: Case,
        between: [ContenderId; 2],
        ceilings: Ceilings,
        listener: &'a dyn Listener,
    ) -> Track<'a> {
        let races = Races::new(request.terms, ceilings, listener);
        Track { request, entry, case, between, listener, races }
    }

    pub(super) fn at(&self, size: u64) -> Case {
        let mut case = self.case.clone();
        for (name, value) in &mut case.axes {
            if *name == self.request.axis {
                *value = size;
            }
        }
        case
    }

    /// The range without sizes whose calls take too long or do not fit the op.
    fn sizes(&self) -> Result<Vec<u64>, EngineError> {
        let (from, to) = self.request.range;
        let is_small = |size: u64| {
            let work = self.entry.op.work(&self.at(size));
            work.flops <= MOST_FLOPS && work.bytes() <= MOST_BYTES
        };
        let to = (0..64).map(|halved| to >> halved).find(|&to| to <= from || is_small(to));
        let sizes = coarse(from, to.unwrap_or(from));
        for &size in &sizes {
            let case = self.at(size);
            proofmark_contract::check_case(self.entry.op, &case)
                .map_err(|reason| EngineError::Case { case: case.to_string(), reason })?;
        }
        Ok(sizes)
    }

    /// Races at sizes far apart, then between those where the faster one changes.
    pub(super) fn bisect(&mut self, arena: &Arena) -> Result<Vec<Spot>, EngineError> {
        let request = self.request;
        let admission = Admission::new(arena, request.terms.seed, request.cap, self.listener);
        let mut places = Vec::new();
        let sizes = self.sizes()?;
        let most = sizes.len() + request.races;
        for size in sizes {
            places.extend(self.race(&admission, size, most)?);
        }
        for _ in 0..request.races {
            let Some(size) = next_place(&places) else { break };
            match self.race(&admission, size, most)? {
                Some(place) => places.push(place),
                None => break,
            }
        }
        if places.is_empty() {
            let why = format!("no race along {} of {} came to an end", request.axis, self.case);
            return Err(EngineError::Unfit(why));
        }
        places.sort_by_key(|place| place.at);
        Ok(places)
    }

    /// Races the bounds of a crossing again, and those that replace them, with at most as many
    /// races as a first search may take.
    pub(super) fn again(&mut self, arena: &Arena, places: &mut [Spot]) -> Result<(), EngineError> {
        let request = self.request;
        let admission = Admission::new(arena, request.terms.seed, request.cap, self.listener);
        let mut seen = Vec::new();
        while let Answer::Once { crossing } = answer(places)
            && seen.len() < request.races
        {
            let mut bounds = [crossing.low, crossing.high].into_iter();
            let Some(size) = bounds.find(|bound| !seen.contains(bound)) else { break };
            seen.push(size);
            let most = self.races.len() + 2;
            let Some(again) = self.race(&admission, size, most)? else { break };
            for place in places.iter_mut().filter(|place| place.at == size) {
                *place = place.and_again(again);
            }
        }
        Ok(())
    }

    /// Runs one race at one size and keeps it for the run. Returns `None` if an arm failed, and
    /// reports that.
    fn race(
        &mut self,
        admission: &Admission<'_>,
        size: u64,
        most: usize,
    ) -> Result<Option<Spot>, EngineError> {
        let (request, entry, case) = (self.request, self.entry, self.at(size));
        self.races.announce(&case, most);
        let all = self.between.each_ref().map(|who| (who, request.terms.threads));
        let mut admitted = admission.admit_all(entry, &case, &all).into_iter().zip(&self.between);
        let mut next = || {
            let (admitted, who) = admitted.next().expect("an answer for each");
            admitted.map_err(|proof| EngineError::refused(who, &case, &proof))
        };
        let field = [next()?, next()?];
        let names = self.between.each_ref().map(ContenderId::to_string);
        let shown = self.races.race(entry, case, &field, names);
        Ok(shown.map(|Shown { ratio, verdict, trials }| Spot { at: size, ratio, verdict, trials }))
    }

    /// The constant of the op.
    pub(super) fn constant(&self, answer: &Answer, places: &[Spot]) -> Option<usize> {
        constant(answer, places, &|at| tuning::size(&self.at(at)))
    }

    /// A quarter of the threshold, the threshold, and four times it.
    pub(super) fn zones(
        &mut self,
        arena: &Arena,
        answer: &Answer,
        places: &[Spot],
    ) -> Result<Vec<Zone>, EngineError> {
        let Answer::Once { crossing } = answer else { return Ok(Vec::new()) };
        let (request, high) = (self.request, crossing.worth(places));
        let admission = Admission::new(arena, request.terms.seed, request.cap, self.listener);
        let wanted = [
            (ZoneName::Below, crossing.low / 4),
            (ZoneName::At, high),
            (ZoneName::Above, high * 4),
        ];
        let mut zones = Vec::new();
        for (name, size) in wanted {
            if size >= request.range.0.max(1) && size <= request.range.1.max(high) {
                let most = self.races.len() + wanted.len();
                let place = self.race(&admission, size, most)?;
                zones.extend(place.map(|place| Zone::of(name, &place)));
            }
        }
        Ok(zones)
    }
}

/// The constant that keeps cases on one thread unless more threads were shown to pay. It lies a
/// little below the first size that pays, because kernels split by rows. `size` is that of a case
/// in the op's unit.
fn constant(
    answer: &Answer,
    places: &[Spot],
    size: &dyn Fn(u64) -> Option<usize>,
) -> Option<usize> {
    let first = places.first()?;
    let at = match answer {
        Answer::Once { crossing } if crossing.is_faster => crossing.worth(places),
        // Without a crossing, the result must have been decided at the least size of all, because
        // no race was run outside the range.
        Answer::AlwaysFaster if first.verdict == Verdict::Faster && first.at <= 1 => first.at,
        _ => return None,
    };
    size(at).map(|size| (size - size / 8).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_analyze::Between;
    use proofmark_schema::quantity::Interval;

    #[test]
    fn a_constant_rests_on_a_crossing_or_on_the_least_size_of_all() {
        let place = |at, verdict| {
            let ratio = Interval { estimate: 0.5, low: 0.4, high: 0.6, confidence: 0.99 };
            Spot { at, ratio, verdict, trials: 5 }
        };
        let of = |answer: &Answer, places: &[Spot]| {
            constant(answer, places, &|at| Some(100 * at as usize))
        };
        let once = |is_faster| Answer::Once { crossing: Between { low: 4, high: 8, is_faster } };
        let places = [place(1, Verdict::Slower), place(8, Verdict::Faster)];
        assert_eq!(of(&once(true), &places), Some(700));
        assert_eq!(of(&once(false), &places), None);
        // It was never faster up to the given size, and no race was run beyond it.
        assert_eq!(of(&Answer::NeverFaster, &[place(1, Verdict::Slower)]), None);
        assert_eq!(of(&Answer::AlwaysFaster, &[place(1, Verdict::Faster)]), Some(88));
        assert_eq!(of(&Answer::AlwaysFaster, &[place(64, Verdict::Faster)]), None);
        assert_eq!(of(&Answer::AlwaysFaster, &[place(1, Verdict::Undecided)]), None);
    }
}
