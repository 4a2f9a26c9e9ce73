//! Finds where one contender starts to pay along an axis: a coarse search, bisection, and a
//! repeated race of the bounds.

mod cache;
mod choose;
#[cfg(test)]
mod concurrent;
mod races;
mod request;
mod track;

pub use cache::{CachedTuning, cached_tunings};
pub use choose::{ChooseRequest, USUAL_PRODUCTS, choose};
pub use races::RaceTerms;
pub use request::TuneRequest;

use crate::plan::{best_path, checked};
use crate::race::isolated;
use crate::record::ceilings;
use crate::{EngineError, Here, Listener, check_contender, find_op};
use proofmark_analyze::{Answer, Crossing, Spot, answer};
use proofmark_arena::Arena;
use proofmark_contract::{AxisRole, BadCase};
use proofmark_ops::tuning::{self, Blocks};
use proofmark_schema::machine::MachineFacts;
use proofmark_schema::{Cache, Case, Family};
use proofmark_store::Store;
use std::ffi::OsString;
use track::Track;

/// The crossings that `--all` finds: op, case, axis, range.
#[rustfmt::skip] // One line a crossing.
pub const USUAL: &[(&str, &str, &str, (u64, u64))] = &[
    ("attention", "attention:f32[b=1,h=8,kv=8,q=1,t=64,d=64]", "t", (1, 1024)),
    ("matmul", "matmul:f32[b=1,m=1,n=128,k=128]", "m", (1, 512)),
    ("rope", "rope:f32[b=1,s=1,h=8,d=64]", "s", (1, 512)),
    ("softmax", "softmax:f32[b=1,s=1,d=256]", "s", (1, 1024)),
];

/// Finds crossings, or gives the kept answers of this machine and program.
///
/// All are searched in turn, and then the bounds of each are raced again in every further round, so
/// that the rounds of a crossing lie minutes apart: a bound is what all of them showed.
///
/// # Errors
/// If a case, axis or contender is none, a contender is refused, or the store fails.
pub fn tune(
    here: &Here,
    store: &Store,
    listener: &dyn Listener,
    requests: &[TuneRequest],
) -> Result<Vec<Crossing>, EngineError> {
    let sought = requests.iter().map(|request| Sought::begin(here, store, listener, request));
    let mut sought = sought.collect::<Result<Vec<_>, EngineError>>()?;
    let most = requests.iter().map(|request| request.rounds.max(1)).max().unwrap_or(0);
    for round in 0..most {
        for sought in &mut sought {
            if let Sought::Open(search) = sought {
                search.round(round)?;
            }
        }
    }
    let end = |sought| match sought {
        Sought::Kept(crossing) => Ok(*crossing),
        Sought::Open(search) => search.end(store),
    };
    sought.into_iter().map(end).collect()
}

/// A crossing that is asked for.
enum Sought<'a> {
    /// Known from before.
    Kept(Box<Crossing>),
    /// To be found.
    Open(Box<Search<'a>>),
}

/// The search for one crossing.
struct Search<'a> {
    here: &'a Here,
    request: &'a TuneRequest,
    facts: MachineFacts,
    key: String,
    op: &'static str,
    /// Whether kernels of the op take a constant from it.
    has_constant: bool,
    track: Track<'a>,
    /// Workers with the threshold disabled; below it, both contenders would otherwise run the same
    /// code.
    always: Arena,
    places: Vec<Spot>,
}

impl<'a> Sought<'a> {
    fn begin(
        here: &'a Here,
        store: &Store,
        listener: &'a dyn Listener,
        request: &'a TuneRequest,
    ) -> Result<Sought<'a>, EngineError> {
        let (entry, case) = checked(std::slice::from_ref(&request.case), Cache::Hot)?.remove(0);
        let op = entry.op.name();
        if case.size(&request.axis).is_none() {
            let known = entry.op.axes().iter().map(|axis| axis.name).collect();
            let reason = BadCase::UnknownAxis { axis: request.axis.clone(), known };
            return Err(EngineError::Case { case: case.to_string(), reason });
        }
        for who in &request.between {
            check_contender(entry, who, &request.shelf)?;
        }
        let between = request.between.clone().map(|who| best_path(entry, &who, request.cap));
        let facts = proofmark_machine::facts(request.cap);
        let key = cache::key(request, &case, &between, &facts.fingerprint, &here.program);
        if !request.is_fresh
            && let Some(crossing) = cache::look_up(store, |kept| kept.crossings.get(&key).cloned())?
        {
            let crossing = Crossing { is_cached: true, ..crossing };
            return Ok(Sought::Kept(Box::new(crossing)));
        }
        let has_constant = between.iter().all(|who| who.family == Family::Native)
            && entry.kernel(&between[1].name).is_some_and(|kernel| kernel.is_parallel())
            && tuning::is_tunable(op);
        let ceilings = ceilings(store, &facts, request.cap, listener);
        let track = Track::new(request, entry, case, between, ceilings, listener);
        let always = isolated(&arena(here, has_constant.then_some((op, 1))), &request.between)?;
        let places = Vec::new();
        let search = Search { here, request, facts, key, op, has_constant, track, always, places };
        Ok(Sought::Open(Box::new(search)))
    }
}

impl Search<'_> {
    fn round(&mut self, round: usize) -> Result<(), EngineError> {
        match round {
            0 => self.places = self.track.bisect(&self.always)?,
            _ if round < self.request.rounds => {
                self.track.again(&self.always, &mut self.places)?;
            }
            _ => (),
        }
        Ok(())
    }

    fn end(self: Box<Self>, store: &Store) -> Result<Crossing, EngineError> {
        let Search { here, request, facts, key, op, has_constant, mut track, places, .. } = *self;
        let answer = answer(&places);
        let constant = if has_constant { track.constant(&answer, &places) } else { None };
        let zones = match constant {
            None => Vec::new(),
            Some(grain) => {
                let arena = isolated(&arena(here, Some((op, grain))), &request.between)?;
                track.zones(&arena, &answer, &places)?
            }
        };
        let run = track.races.keep(store, &facts)?;
        let mark = match &answer {
            Answer::Once { crossing } => crossing.high,
            _ => places.last().map_or(1, |place| place.at),
        };
        let crossing = Crossing {
            case: track.at(mark),
            axis: request.axis.clone(),
            between: track.between,
            threads: request.terms.threads,
            range: (places.first().map_or(1, |p| p.at), places.last().map_or(1, |p| p.at)),
            alpha: request.terms.alpha,
            places,
            answer,
            constant,
            zones,
            run,
            made: proofmark_machine::unix_seconds(),
            is_cached: false,
        };
        cache::keep(store, |kept| _ = kept.crossings.insert(key, crossing.clone()))?;
        Ok(crossing)
    }
}

/// Workers whose kernels go parallel from this size of a part on.
fn arena(here: &Here, constant: Option<(&str, usize)>) -> Arena {
    let arena = Arena::new(here.program.clone(), worker_args(here, constant, None));
    arena.under(here.regime.clone())
}

/// What a worker is started with so that these values are in force in it.
fn worker_args(
    here: &Here,
    constant: Option<(&str, usize)>,
    blocks: Option<Blocks>,
) -> Vec<OsString> {
    let mut args = here.args.clone();
    if let Some((op, grain)) = constant {
        args.extend(["--tune".to_owned(), format!("{op}={grain}")]);
    }
    if let Some(blocks) = blocks {
        args.extend(["--blocks".to_owned(), blocks.to_string()]);
    }
    args.into_iter().map(Into::into).collect()
}

/// A crossing that is worth looking for.
#[derive(Clone, Debug, PartialEq)]
pub struct Usual {
    /// The case.
    pub case: Case,
    /// The axis to follow, if the op has an obvious one.
    pub axis: Option<&'static str>,
    /// Smallest and greatest size.
    pub range: (u64, u64),
}

/// The crossing of an op that is looked for unless another is asked for: its usual one, or along
/// its sequence with the op's own defaults.
///
/// # Errors
/// If there is no such op.
pub fn usual(op: &str) -> Result<Usual, EngineError> {
    let entry = find_op(op)?;
    match USUAL.iter().find(|(name, ..)| *name == op) {
        Some((_, case, axis, range)) => {
            Ok(Usual { case: case.parse()?, axis: Some(axis), range: *range })
        }
        None => {
            let dtype = entry.op.dtypes()[0];
            let case = proofmark_contract::complete_case(entry.op, &Case::new(op, dtype));
            let mut axes = entry.op.axes().iter();
            let along = axes.find(|axis| axis.role == AxisRole::Sequence);
            let axis = along.map(|axis| axis.name);
            Ok(Usual { case, axis, range: (1, 1 << 16) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_crossings_fit_their_ops_and_have_a_constant() {
        for (op, ..) in USUAL {
            let Usual { case, axis, range } = usual(op).unwrap();
            let (entry, case) = checked(&[case], Cache::Hot).unwrap().remove(0);
            assert!(case.size(axis.unwrap()).is_some(), "{op}");
            assert!(tuning::size(&case).is_some(), "{op}");
            assert!(range.0 < range.1 && entry.kernel("parallel").is_some(), "{op}");
        }
        assert_eq!(usual("add").unwrap().axis, Some("s"));
        assert!(usual("ad").is_err());
    }
}
