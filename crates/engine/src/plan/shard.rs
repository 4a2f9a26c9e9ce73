//! A part of a plan, chosen by the hash of its cases, so that machines can share a plan without
//! communication.
//!
//! The distinct cases of the plan are sorted by the BLAKE3 hash of their text and dealt out like
//! cards: the case of rank r goes to shard r mod n + 1. All items of a case stay together and keep
//! their numbers, so that seeds, layouts and orders are those of the whole run; the shards differ
//! by at most one case.

use crate::EngineError;
use proofmark_schema::plan::{Item, Plan, PlanPart};
use proofmark_store::Run;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Shards that a plan may have.
const MOST: u32 = 10_000;

/// One shard of many: `2/8` is the second of eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: u32,
    of: u32,
}

impl Shard {
    /// Everything.
    pub const WHOLE: Shard = Shard { number: 1, of: 1 };

    /// Which of these texts belong to this shard.
    pub(crate) fn choose(self, texts: &BTreeSet<String>) -> BTreeSet<String> {
        let mut ranked: Vec<_> =
            texts.iter().map(|text| (blake3::hash(text.as_bytes()), text)).collect();
        ranked.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
        let is_ours = |&(rank, _): &(usize, _)| rank as u32 % self.of == self.number - 1;
        ranked.into_iter().enumerate().filter(is_ours).map(|(_, (_, text))| text.clone()).collect()
    }

    /// This shard of a plan. The list of absent contenders is that of the whole plan.
    pub fn part(self, whole: &Plan) -> Plan {
        let case = |item: &Item| item.case.to_string();
        let chosen = self.choose(&whole.items.iter().map(case).collect());
        let is_ours = |item: &&Item| chosen.contains(&case(item));
        let items: Vec<Item> = whole.items.iter().filter(is_ours).cloned().collect();
        let mut part = Plan { items, ..whole.clone() };
        super::estimate::write(&mut part);
        part
    }

    /// The plan that a run of this shard keeps, and what its journal notes for readers.
    pub(crate) fn kept(self, whole: &Plan) -> (Plan, String) {
        let hash = plan_hash(whole);
        let note = format!("shard {self} of plan {hash}");
        let part = PlanPart { number: self.number, of: self.of, whole: hash };
        (Plan { part: Some(part), ..self.part(whole) }, note)
    }

    /// Whether shards, of which no two are equal, are all of one plan.
    pub(crate) fn are_all(shards: &[Shard]) -> bool {
        let of = shards.first().map_or(0, |shard| shard.of);
        shards.len() == of as usize && shards.iter().all(|shard| shard.of == of)
    }

    fn new(number: u32, of: u32) -> Option<Shard> {
        ((1..=of).contains(&number) && of <= MOST).then_some(Shard { number, of })
    }
}

/// Which shard a run is, and the hash of the whole plan; `None` if it is no shard.
pub(crate) fn shard_of(run: &Run) -> Option<(Shard, String)> {
    match &run.plan.part {
        Some(part) => Some((Shard::new(part.number, part.of)?, part.whole.clone())),
        None => noted(&run.notes),
    }
}

/// The same for a run whose plan is older than its field for it: there only a note says it.
fn noted(notes: &[String]) -> Option<(Shard, String)> {
    notes.iter().find_map(|note| {
        let words: Vec<&str> = note.split(' ').collect();
        let ["shard", shard, "of", "plan", hash] = words[..] else { return None };
        Some((shard.parse().ok()?, hash.to_owned()))
    })
}

/// A hash of everything that a plan does. Its estimates are excluded, because they differ between
/// programs, and so is the list of absent contenders, whose reasons mention free memory.
fn plan_hash(plan: &Plan) -> String {
    let plan = Plan {
        absent: Vec::new(),
        part: None,
        proof_seconds: 0.0,
        estimate_seconds: 0.0,
        ..plan.clone()
    };
    let text = serde_json::to_vec(&plan).unwrap_or_default();
    blake3::hash(&text).to_hex().to_string()
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = EngineError;

    fn from_str(text: &str) -> Result<Shard, EngineError> {
        let parse = || {
            let (number, of) = text.split_once('/')?;
            Shard::new(number.parse().ok()?, of.parse().ok()?)
        };
        parse().ok_or_else(|| EngineError::Shard(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_schema::plan::RunKind;
    use proofmark_schema::{Case, DType, FORMAT_VERSION, Memory};

    fn plan(cases: u64) -> Plan {
        let item = |index| Item {
            index,
            // Two items of each case, as two thread counts make them.
            case: Case::new("add", DType::F32).axis("d", 1 + index / 2),
            field: Vec::new(),
            threads: 1 + index as usize % 2,
            memory: Memory::default(),
            uses: Vec::new(),
        };
        Plan {
            format: FORMAT_VERSION,
            seed: 7,
            kind: RunKind::Quick,
            items: (0..2 * cases).map(item).collect(),
            absent: Vec::new(),
            proof_seconds: 0.0,
            estimate_seconds: 0.0,
            part: None,
        }
    }

    #[test]
    fn every_item_is_in_just_one_shard_and_shards_differ_by_one_case_at_most() {
        let whole = plan(23);
        for of in [1, 2, 3, 7, 23, 30] {
            let mut seen: Vec<u64> = Vec::new();
            for number in 1..=of {
                let part = Shard { number, of }.part(&whole);
                let cases = part.items.len() as u64 / 2;
                assert!((23 / u64::from(of)..=23u64.div_ceil(u64::from(of))).contains(&cases));
                assert!(part.items.as_chunks::<2>().0.iter().all(|[a, b]| a.case == b.case));
                seen.extend(part.items.iter().map(|item| item.index));
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..46).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_deal_is_the_same_for_ever() {
        let part = Shard { number: 1, of: 3 }.part(&plan(9));
        let sizes: Vec<u64> = part.items.iter().filter_map(|item| item.case.size("d")).collect();
        assert_eq!(sizes, [2, 2, 7, 7, 9, 9]);
    }

    #[test]
    fn shards_parse_back_and_others_say_what_would_be_right() {
        assert_eq!("2/8".parse::<Shard>().unwrap().to_string(), "2/8");
        for text in ["", "0/2", "3/2", "1", "1/0", "-1/2", "a/b", "1/10001", "1/2/3"] {
            let error = text.parse::<Shard>().unwrap_err();
            assert!(error.hint().unwrap().contains("--shard 1/2"), "{text}");
        }
        // The text that a run of an older version has.
        let note = "shard 2/8 of plan 1f";
        let (shard, hash) = noted(&["x".to_owned(), note.to_owned()]).unwrap();
        assert_eq!((shard.to_string().as_str(), hash.as_str()), ("2/8", "1f"));
    }
}
