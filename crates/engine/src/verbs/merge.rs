//! Merges the shards of one plan into one run, with the same items, races and records as an
//! unsharded run.

use crate::plan::shard_of;
use crate::record::RunLog;
use crate::{EngineError, Shard};
use proofmark_schema::plan::{Item, Plan};
use proofmark_store::{ItemEntry, Run, Store};

/// What a merge made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The new run.
    pub run: String,
    /// Items in it.
    pub items: usize,
    /// Records in it.
    pub records: usize,
}

/// Makes one run of the shards of a plan; the shards stay.
///
/// # Errors
/// If a run is no shard, is not finished, is given twice, is of another plan or machine, or if a
/// shard is missing.
pub fn merge(store: &Store, names: &[String]) -> Result<Merged, EngineError> {
    let mut runs = Vec::new();
    for name in names {
        runs.push(finished(store.load(name)?)?);
    }
    let (_, hash, first) = runs.first().ok_or_else(|| {
        let message = "no run is named".to_owned();
        EngineError::Merge { message, hint: HINT_SHARDS.to_owned() }
    })?;
    for (index, (shard, other_hash, run)) in runs.iter().enumerate() {
        check_pair(first, run, hash == other_hash)?;
        let is_same = |(other, _, _): &(Shard, String, Run)| other == shard;
        if runs[..index].iter().any(is_same) {
            let message = format!("shard {shard} is given twice");
            return Err(EngineError::Merge { message, hint: HINT_ONCE.to_owned() });
        }
    }
    // The hash cannot tell whether a shard is missing: in runs of older programs it includes the
    // estimate of that program.
    let shards: Vec<Shard> = runs.iter().map(|(shard, ..)| *shard).collect();
    if !Shard::are_all(&shards) {
        let given: Vec<String> = shards.iter().map(Shard::to_string).collect();
        let message = format!("{} of the plan is not all of it", given.join(" and "));
        return Err(EngineError::Merge { message, hint: HINT_ALL.to_owned() });
    }
    let plan = whole(&runs);
    write(store, &plan, &runs)
}

const HINT_SHARDS: &str = "give all the runs that `proofmark bench … --shard k/n` made";
const HINT_ONCE: &str = "give each shard once";
const HINT_ALL: &str = "give every shard from 1/n to n/n";
const HINT_SAME: &str =
    "every shard takes the same arguments, program and peers; only --shard differs";
const HINT_MACHINE: &str = "times of different machines make no table: run all shards on \
                            machines of one kind, or read the runs one by one";

/// A finished run that says which shard it is.
fn finished(run: Run) -> Result<(Shard, String, Run), EngineError> {
    let refuse =
        |message: String, hint: &str| EngineError::Merge { message, hint: hint.to_owned() };
    let Some((shard, hash)) = shard_of(&run) else {
        return Err(refuse(format!("run {} is no shard", run.id), HINT_SHARDS));
    };
    let missing = run.missing().len();
    if missing > 0 {
        let hint = format!("finish it with `proofmark bench --resume {}`", run.id);
        return Err(refuse(format!("run {} lacks {missing} items of its plan", run.id), &hint));
    }
    Ok((shard, hash, run))
}

fn check_pair(first: &Run, other: &Run, is_same_plan: bool) -> Result<(), EngineError> {
    let refuse =
        |what: String, hint: &str| Err(EngineError::Merge { message: what, hint: hint.to_owned() });
    if !is_same_plan {
        return refuse(
            format!("runs {} and {} are shards of different plans", first.id, other.id),
            HINT_SAME,
        );
    }
    let (here, there) = (&first.machine, &other.machine);
    if here.fingerprint != there.fingerprint {
        return refuse(
            format!(
                "run {} ran on {} ({}), run {} on {} ({})",
                first.id, here.cpu, here.fingerprint, other.id, there.cpu, there.fingerprint
            ),
            HINT_MACHINE,
        );
    }
    Ok(())
}

/// The plan that these are all shards of.
fn whole(runs: &[(Shard, String, Run)]) -> Plan {
    let mut items: Vec<Item> =
        runs.iter().flat_map(|(_, _, run)| run.plan.items.iter().cloned()).collect();
    items.sort_by_key(|item| item.index);
    let mut plan = Plan { items, part: None, ..runs[0].2.plan.clone() };
    crate::plan::estimate::write(&mut plan);
    plan
}

fn write(store: &Store, plan: &Plan, runs: &[(Shard, String, Run)]) -> Result<Merged, EngineError> {
    let mut log = RunLog::create(store, plan, &runs[0].2.machine)?;
    let names: Vec<&str> = runs.iter().map(|(_, _, run)| run.id.as_str()).collect();
    log.note(&format!("merged from runs {}", names.join(", ")))?;
    let mut entries: Vec<ItemEntry> =
        runs.iter().flat_map(|(_, _, run)| run.items.iter().cloned()).collect();
    entries.sort_by_key(|entry| entry.item);
    let (items, mut records) = (entries.len(), 0);
    for entry in entries {
        records += log.append(entry)?.len();
    }
    Ok(Merged { run: log.seal()?, items, records })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_schema::machine::MachineFacts;
    use proofmark_schema::plan::RunKind;
    use proofmark_schema::{Case, DType, FORMAT_VERSION, Isa, Memory};

    fn plan(seed: u64) -> Plan {
        let item = |index| Item {
            index,
            case: Case::new("add", DType::F32).axis("d", index + 1),
            field: Vec::new(),
            threads: 1,
            memory: Memory::default(),
            uses: Vec::new(),
        };
        let mut plan = Plan {
            format: FORMAT_VERSION,
            seed,
            kind: RunKind::Quick,
            items: (0..6).map(item).collect(),
            absent: Vec::new(),
            proof_seconds: 0.0,
            estimate_seconds: 0.0,
            part: None,
        };
        crate::plan::estimate::write(&mut plan);
        plan
    }

    /// The run of an older version.
    const OLDER: &str = "b";

    /// A shard that ran somewhere and left nothing but its items. Its program made other estimates.
    fn ran(store: &Store, id: &str, shard: &str, seed: u64, machine: &MachineFacts, done: usize) {
        let shard: Shard = shard.parse().unwrap();
        let (part, note) = shard.kept(&Plan { estimate_seconds: 1.0, ..plan(seed) });
        // An older version names the shard in the note alone.
        let part = if id == OLDER { Plan { part: None, ..part } } else { part };
        let mut writer = store.create(id, &part, machine).unwrap();
        writer.append_note(&note).unwrap();
        for item in part.items.iter().take(done) {
            let entry =
                ItemEntry { item: item.index, race: None, decided: None, records: Vec::new() };
            writer.append_item(&entry).unwrap();
        }
    }

    #[test]
    fn shards_that_are_not_of_one_whole_are_refused_with_a_hint() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let here = proofmark_machine::facts(Isa::Scalar);
        let there = MachineFacts { fingerprint: "other".to_owned(), ..here.clone() };
        ran(&store, "a", "1/2", 7, &here, 9);
        ran(&store, "b", "2/2", 7, &here, 9);
        ran(&store, "elsewhere", "2/2", 7, &there, 9);
        ran(&store, "other-plan", "2/2", 8, &here, 9);
        ran(&store, "cut", "2/2", 7, &here, 1);
        ran(&store, "third", "3/3", 7, &here, 9);
        drop(store.create("plain", &plan(7), &here).unwrap());
        for (runs, words, hint) in [
            (&["a"][..], "not all of it", "every shard"),
            (&["a", "third"], "not all of it", "every shard"),
            (&["a", "a"], "given twice", "once"),
            (&["a", "elsewhere"], "ran on", "machines of one kind"),
            (&["a", "other-plan"], "different plans", "same arguments"),
            (&["a", "cut"], "lacks 2 items", "--resume cut"),
            (&["a", "plain"], "no shard", "--shard k/n"),
        ] {
            let names: Vec<String> = runs.iter().map(|&name| name.to_owned()).collect();
            let error = merge(&store, &names).unwrap_err();
            assert!(error.to_string().contains(words), "{runs:?}: {error}");
            assert!(error.hint().unwrap().contains(hint), "{runs:?}: {:?}", error.hint());
        }
        let merged = merge(&store, &["b".to_owned(), "a".to_owned()]).unwrap();
        assert_eq!((merged.items, merged.records), (6, 0));
        let run = store.load(&merged.run).unwrap();
        assert!(run.sealed);
        assert_eq!(run.plan, plan(7));
        assert_eq!(run.notes, ["merged from runs b, a"]);
    }
}
