//! Which kernel computes a case fastest, and which blocks a kernel is fastest with: options are
//! raced against the best so far, and what wins is raced against the built-in one once more.

use super::cache;
use super::races::{RaceTerms, Races, Shown, refusal};
use super::worker_args;
use crate::plan::{best_path, checked};
use crate::prove::Admission;
use crate::prove::book::hash;
use crate::record::ceilings;
use crate::{EngineError, Here, Listener};
use proofmark_analyze::{Among, Challenge, Choice, best_of, is_borne_out};
use proofmark_arena::Arena;
use proofmark_contract::Entry;
use proofmark_gate::Proven;
use proofmark_ops::blocks::gemm::Blocking;
use proofmark_ops::library;
use proofmark_ops::tuning::Blocks;
use proofmark_schema::machine::MachineFacts;
use proofmark_schema::proof::Proof;
use proofmark_schema::race::Verdict;
use proofmark_schema::{Cache, Case, ContenderId, Family, Isa};
use proofmark_store::Store;

/// What to choose.
#[derive(Clone, Debug)]
pub struct ChooseRequest {
    /// Kernels: each case by itself. Blocks: searched on the first case, checked on all.
    pub among: Among,
    /// The cases.
    pub cases: Vec<Case>,
    /// How each race goes.
    pub terms: RaceTerms,
    /// Whether to measure although an answer is kept.
    pub is_fresh: bool,
    /// Highest path.
    pub cap: Isa,
}

/// The products whose blocks are chosen unless others are asked for: the first is searched.
pub const USUAL_PRODUCTS: &[&str] = &[
    "matmul:f32[b=1,m=1024,n=1024,k=1024;layout=nt]",
    "matmul:f32[b=1,m=512,n=512,k=512;layout=nt]",
    "matmul:f32[b=1,m=128,n=3072,k=1024;layout=nt]",
];

/// Sizes that are tried for each block.
const TERMS: &[usize] = &[128, 192, 256, 384, 512, 1024];
const ROWS: &[usize] = &[56, 126, 168, 252, 504];
const COLUMNS: &[usize] = &[384, 768, 1024, 2048];

/// Finds the fastest option of every case, or gives the kept answers of this machine and program.
///
/// Blocks are one answer for all cases. The checks come after all searches, so that minutes lie
/// between the two.
///
/// # Errors
/// If a case is invalid, no kernel supports it, or the store fails.
pub fn choose(
    here: &Here,
    store: &Store,
    listener: &dyn Listener,
    request: &ChooseRequest,
) -> Result<Vec<Choice>, EngineError> {
    let cases = checked(&request.cases, Cache::Hot)?;
    let facts = proofmark_machine::facts(request.cap);
    let questions: Vec<&[(&'static Entry, Case)]> = match request.among {
        Among::Kernels => cases.chunks(1).collect(),
        Among::Blocks => vec![&cases],
    };
    let mut sought = Vec::new();
    for cases in questions {
        sought.push(Sought::begin(here, store, listener, request, &facts, cases)?);
    }
    for sought in &mut sought {
        if let Sought::Open(search) = sought {
            search.search()?;
        }
    }
    let end = |sought| match sought {
        Sought::Kept(choice) => Ok(*choice),
        Sought::Open(search) => search.end(store, &facts),
    };
    sought.into_iter().map(end).collect()
}

/// A choice that is asked for.
enum Sought<'a> {
    /// Known from before.
    Kept(Box<Choice>),
    /// To be made.
    Open(Box<Search<'a>>),
}

/// One way to compute a case: a kernel, or a kernel with blocks.
#[derive(Clone, Debug, PartialEq)]
struct Way {
    who: ContenderId,
    blocks: Option<Blocks>,
}

impl Way {
    /// What tells it from the others.
    fn name(&self) -> String {
        match self.blocks {
            Some(blocks) => blocks.to_string(),
            None => self.who.name.clone(),
        }
    }
}

/// A way and its way into races.
struct Stand<'a> {
    way: &'a Way,
    admission: Admission<'a>,
}

impl<'a> Stand<'a> {
    /// Certified and proven on the case, or the proof that refuses it.
    fn admit(
        &mut self,
        entry: &'static Entry,
        case: &Case,
        threads: usize,
    ) -> Result<Proven<'a>, Box<Proof>> {
        self.admission.admit(entry, case, &self.way.who, threads)
    }
}

/// Workers with a way's blocks in force.
fn arena(here: &Here, way: &Way) -> Arena {
    let arena = Arena::new(here.program.clone(), worker_args(here, None, way.blocks));
    arena.under(here.regime.clone())
}

/// The search for one choice.
struct Search<'a> {
    here: &'a Here,
    request: &'a ChooseRequest,
    listener: &'a dyn Listener,
    key: String,
    cases: &'a [(&'static Entry, Case)],
    built_in: Way,
    best: Way,
    races: Races<'a>,
    found: Vec<Challenge>,
    refused: Vec<String>,
}

impl<'a> Sought<'a> {
    fn begin(
        here: &'a Here,
        store: &Store,
        listener: &'a dyn Listener,
        request: &'a ChooseRequest,
        facts: &MachineFacts,
        cases: &'a [(&'static Entry, Case)],
    ) -> Result<Sought<'a>, EngineError> {
        let Some((entry, case)) = cases.first() else {
            return Err(EngineError::Unfit("there is no case to choose for".to_owned()));
        };
        let built_in = built_in(entry, case, request)?;
        let key = question(request, cases, &facts.fingerprint, here);
        if !request.is_fresh
            && let Some(choice) = cache::look_up(store, |kept| kept.choices.get(&key).cloned())?
        {
            return Ok(Sought::Kept(Box::new(Choice { is_cached: true, ..choice })));
        }
        let ceilings = ceilings(store, facts, request.cap, listener);
        Ok(Sought::Open(Box::new(Search {
            here,
            request,
            listener,
            key,
            cases,
            best: built_in.clone(),
            built_in,
            races: Races::new(request.terms, ceilings, listener),
            found: Vec::new(),
            refused: Vec::new(),
        })))
    }
}

/// What holds without tuning.
fn built_in(
    entry: &'static Entry,
    case: &Case,
    request: &ChooseRequest,
) -> Result<Way, EngineError> {
    let none = |why: String| EngineError::Unfit(format!("{case}: {why}"));
    match request.among {
        Among::Kernels => {
            let chosen = library::choose(entry, case, request.terms.threads);
            let (kernel, _) = chosen.map_err(|error| none(error.to_string()))?;
            Ok(Way { who: way(entry, kernel.name(), request.cap), blocks: None })
        }
        Among::Blocks => {
            if case.op != "matmul" || request.cap == Isa::Scalar {
                let why = "only products on vectors are cut into blocks: give cases of matmul";
                return Err(none(why.to_owned()));
            }
            let name = if request.terms.threads > 1 { "parallel" } else { "simd" };
            let Blocking { kc, mc, nc, .. } = Blocking::built_in(request.cap);
            let blocks = Some(Blocks { kc, mc, nc });
            Ok(Way { who: way(entry, name, request.cap), blocks })
        }
    }
}

/// A kernel on its best path.
fn way(entry: &'static Entry, name: &str, cap: Isa) -> ContenderId {
    let any = ContenderId { family: Family::Native, name: name.to_owned(), isa: None };
    best_path(entry, &any, cap)
}

/// The other kernels that a call from a program could take. The scalar path is left out where there
/// are vector paths, because it is never the fastest.
fn others(entry: &'static Entry, case: &Case, request: &ChooseRequest, but: &Way) -> Vec<Way> {
    let does = |who: &ContenderId| {
        let kernel = entry.kernel(&who.name)?;
        let isa = who.isa?;
        let is_ready = kernel.prepared_bytes(case, isa) == 0 && isa >= but.who.isa?.min(Isa::Avx2);
        let is_own = request.terms.threads > 1 || !kernel.is_serial_twin();
        (is_ready && is_own && kernel.supports(case, isa).is_ok()).then_some(())
    };
    let names = entry.kernels.iter().map(|kernel| kernel.name());
    let ways = names.map(|name| way(entry, name, request.cap));
    let fit = ways.filter(|who| *who != but.who && does(who).is_some());
    fit.map(|who| Way { who, blocks: None }).collect()
}

/// One size of the blocks changed at a time.
fn changed(best: Blocks, part: usize) -> Vec<Blocks> {
    let each = |sizes: &[usize], with: &dyn Fn(usize) -> Blocks| -> Vec<Blocks> {
        sizes.iter().map(|&size| with(size)).filter(|blocks| *blocks != best).collect()
    };
    match part {
        0 => each(TERMS, &|kc| Blocks { kc, ..best }),
        1 => each(ROWS, &|mc| Blocks { mc, ..best }),
        _ => each(COLUMNS, &|nc| Blocks { nc, ..best }),
    }
}

impl Search<'_> {
    /// Races every option against the best so far.
    fn search(&mut self) -> Result<(), EngineError> {
        let (entry, case) = &self.cases[0];
        if self.built_in.blocks.is_none() {
            let options = others(entry, case, self.request, &self.built_in);
            let most = options.len() + 1;
            return self.challenges(options, most);
        }
        let most = TERMS.len() + ROWS.len() + COLUMNS.len() - 3 + self.cases.len();
        for part in 0..3 {
            let Some(best) = self.best.blocks else { break };
            let way = |blocks| Way { blocks: Some(blocks), ..self.built_in.clone() };
            let options = changed(best, part).into_iter().map(way).collect();
            self.challenges(options, most)?;
        }
        Ok(())
    }

    fn challenges(&mut self, options: Vec<Way>, most: usize) -> Result<(), EngineError> {
        let (entry, case) = self.cases[0].clone();
        let ways: Vec<Way> = std::iter::once(self.best.clone()).chain(options).collect();
        let arenas: Vec<Arena> = ways.iter().map(|way| arena(self.here, way)).collect();
        let mut stands = self.stands(&ways, &arenas);
        let mut best = 0;
        for option in 1..stands.len() {
            let [old, new] = stands.get_disjoint_mut([best, option]).expect("one is later");
            let Some(race) = self.race(entry, &case, [old, new], most)? else { continue };
            if race.verdict == Verdict::Faster {
                best = option;
            }
            self.found.push(race);
        }
        self.best = ways[best].clone();
        Ok(())
    }

    /// Every way with its admission: it is certified once, for all races.
    fn stands<'b>(&self, ways: &'b [Way], arenas: &'b [Arena]) -> Vec<Stand<'b>>
    where
        Self: 'b,
    {
        let (seed, cap, listener) = (self.request.terms.seed, self.request.cap, self.listener);
        let stand = |(way, arena): (&'b Way, &'b Arena)| Stand {
            way,
            admission: Admission::new(arena, seed, cap, listener),
        };
        ways.iter().zip(arenas).map(stand).collect()
    }

    /// Races the second against the first; `None` if the second is refused or either one failed.
    fn race(
        &mut self,
        entry: &'static Entry,
        case: &Case,
        stands: [&mut Stand<'_>; 2],
        most: usize,
    ) -> Result<Option<Challenge>, EngineError> {
        let threads = self.request.terms.threads;
        self.races.announce(case, most);
        let [against, option] = stands;
        let ways = [against.way, option.way];
        let best = against.admit(entry, case, threads);
        let best = best.map_err(|proof| EngineError::refused(&against.way.who, case, &proof))?;
        let other = match option.admit(entry, case, threads) {
            Ok(proven) => proven,
            Err(proof) => {
                self.refused.push(refusal(&option.way.name(), case, &proof));
                return Ok(None);
            }
        };
        let names = ways.map(|way| match way.blocks {
            Some(blocks) => format!("{} {blocks}", way.who),
            None => way.who.to_string(),
        });
        let [against, option] = ways.map(Way::name);
        let Some(shown) = self.races.race(entry, case.clone(), &[best, other], names) else {
            self.refused.push(format!("{option} on {case}: the race did not come to an end"));
            return Ok(None);
        };
        let Shown { ratio, verdict, trials } = shown;
        Ok(Some(Challenge { case: case.clone(), option, against, ratio, verdict, trials }))
    }

    /// Races what was found against the built-in one again, on every case.
    fn end(
        mut self: Box<Self>,
        store: &Store,
        facts: &MachineFacts,
    ) -> Result<Choice, EngineError> {
        let built_in = self.built_in.name();
        debug_assert_eq!(best_of(&built_in, &self.found), self.best.name());
        let mut check = Vec::new();
        if self.best != self.built_in {
            let most = self.races.len() + self.cases.len();
            let ways = [self.built_in.clone(), self.best.clone()];
            let arenas = ways.each_ref().map(|way| arena(self.here, way));
            let mut stands = self.stands(&ways, &arenas);
            let [old, new] = &mut stands[..] else { unreachable!("there are two ways") };
            for (entry, case) in self.cases {
                check.extend(self.race(entry, case, [old, new], most)?);
            }
        }
        // A check that is missing a case has not been passed.
        let is_whole = check.len() == self.cases.len();
        let chosen = match is_whole && is_borne_out(&check) {
            true => self.best.name(),
            false => built_in.clone(),
        };
        let choice = Choice {
            case: self.cases[0].1.clone(),
            threads: self.request.terms.threads,
            among: self.request.among,
            built_in,
            chosen,
            search: std::mem::take(&mut self.found),
            check,
            refused: std::mem::take(&mut self.refused),
            alpha: self.request.terms.alpha,
            run: self.races.keep(store, facts)?,
            made: proofmark_machine::unix_seconds(),
            is_cached: false,
        };
        let key = std::mem::take(&mut self.key);
        cache::keep(store, |kept| _ = kept.choices.insert(key, choice.clone()))?;
        Ok(choice)
    }
}

/// The cache key: the machine, the program, and everything else that changes the answer except
/// chance.
fn question(
    request: &ChooseRequest,
    cases: &[(&'static Entry, Case)],
    machine: &str,
    here: &Here,
) -> String {
    let among = match request.among {
        Among::Kernels => "kernels",
        Among::Blocks => "blocks",
    };
    let cases: Vec<String> = cases.iter().map(|(_, case)| case.to_string()).collect();
    let program = hash(&here.program);
    let (threads, cap, cases) = (request.terms.threads, request.cap, cases.join(" "));
    format!("{machine} {program} {among} of {cases} threads={threads} up to {cap}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(among: Among, threads: usize) -> ChooseRequest {
        ChooseRequest {
            among,
            cases: Vec::new(),
            terms: RaceTerms { threads, seconds: 1.0, alpha: 0.01, quiet_seconds: 0.0, seed: 1 },
            is_fresh: false,
            cap: crate::isa_cap(None).unwrap(),
        }
    }

    #[test]
    fn usual_products_are_cases_of_products() {
        let parsed = USUAL_PRODUCTS.iter().map(|text| text.parse().unwrap());
        let cases: Vec<Case> = parsed.collect();
        for (entry, case) in checked(&cases, Cache::Hot).unwrap() {
            assert_eq!(entry.op.name(), "matmul", "{case}");
        }
    }

    #[test]
    fn options_are_the_kernels_that_a_call_could_take_and_are_each_but_once() {
        let case = "conv2d:f32[b=1,c=16,o=16,h=14,w=14]".parse().unwrap();
        let (entry, case) = checked(&[case], Cache::Hot).unwrap().remove(0);
        let request = request(Among::Kernels, 1);
        let built_in = built_in(entry, &case, &request).unwrap();
        let options = others(entry, &case, &request, &built_in);
        let names: Vec<String> = options.iter().map(Way::name).collect();
        assert!(names.contains(&"im2col".to_owned()), "{names:?}");
        assert!(!names.contains(&built_in.name()), "{names:?}");
        assert!(!names.contains(&"scalar".to_owned()), "{names:?}");
        let case = "softmax:f32[b=1,s=4,d=64]".parse().unwrap();
        let (entry, case) = checked(&[case], Cache::Hot).unwrap().remove(0);
        let simd = Way { who: way(entry, "simd", request.cap), blocks: None };
        assert_eq!(others(entry, &case, &request, &simd), [], "parallel is its twin on one thread");
    }

    #[test]
    fn blocks_differ_from_the_best_in_one_size_and_only_products_have_them() {
        let best = Blocks { kc: 256, mc: 126, nc: 768 };
        for part in 0..3 {
            for Blocks { kc, mc, nc } in changed(best, part) {
                let same = [kc == best.kc, mc == best.mc, nc == best.nc];
                assert_eq!(same.iter().filter(|same| !**same).count(), 1);
                assert!(!same[part]);
            }
        }
        let case = "softmax:f32[b=1,s=1,d=64]".parse().unwrap();
        let (entry, case) = checked(&[case], Cache::Hot).unwrap().remove(0);
        assert!(built_in(entry, &case, &request(Among::Blocks, 1)).is_err());
    }
}
