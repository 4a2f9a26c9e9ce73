//! Recomputes every number of a stored run from its slices: the results must be the same. A
//! verification also checks every byte of the run and names what stands behind each number.

use crate::EngineError;
use crate::race::decided;
use proofmark_measure::{compare, time_of_call};
use proofmark_schema::decision::Decided;
use proofmark_schema::origin::Origin;
use proofmark_schema::program::{ProgramEntry, ProgramRuling};
use proofmark_schema::race::Race;
use proofmark_schema::record::Record;
use proofmark_stats::{Looks, Spending, Stopping};
use proofmark_store::{Damage, ItemEntry, Run, Store};

/// What a replay found.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The run.
    pub run: String,
    /// Records with performance that were recomputed.
    pub recomputed: usize,
    /// Rulings that were recomputed.
    pub rulings: usize,
    /// Records whose time, ratio or verdict came out different, in words.
    pub different: Vec<String>,
    /// Rulings that came out different, in words.
    pub different_rulings: Vec<String>,
}

/// Recomputes the times, ratios, verdicts and rulings of a run from its raw slices.
///
/// # Errors
/// If there is no such run.
pub fn replay(store: &Store, run: &str) -> Result<Replayed, EngineError> {
    Ok(recompute(&store.load(run)?))
}

/// What a verification found.
#[derive(Clone, Debug)]
pub struct Verified {
    /// The run.
    pub run: String,
    /// Files that are not as they were sealed, or do not belong to the run: name and reason.
    pub damaged: Vec<(String, String)>,
    /// What came of computing its numbers again; none if its files are damaged.
    pub replayed: Option<Replayed>,
    /// What stands behind each number, in the order of the run.
    pub origins: Vec<Origin>,
}

impl Verified {
    /// Whether every byte is as it was sealed and every number comes out the same.
    pub fn holds(&self) -> bool {
        let is_same = |replayed: &Replayed| {
            replayed.different.is_empty() && replayed.different_rulings.is_empty()
        };
        self.damaged.is_empty() && self.replayed.as_ref().is_some_and(is_same)
    }
}

/// Checks every byte of a sealed run, computes its numbers again and says what stands behind them.
/// It needs neither a network nor the machine that made the run.
///
/// # Errors
/// If there is no such run, it cannot be read, or a later version wrote it.
pub fn verify(store: &Store, run: &str) -> Result<Verified, EngineError> {
    let found = store.verify_whole(run)?;
    let named = |damage: &Damage| (damage.file.clone(), damage.reason.clone());
    let damaged: Vec<(String, String)> = found.damaged.iter().map(named).collect();
    if !damaged.is_empty() {
        return Ok(Verified { run: found.run, damaged, replayed: None, origins: Vec::new() });
    }
    let loaded = store.load(run)?;
    let origins = loaded.items.iter().flat_map(origins).collect();
    Ok(Verified { run: found.run, damaged, replayed: Some(recompute(&loaded)), origins })
}

/// What stands behind the numbers of an item.
fn origins(item: &ItemEntry) -> impl Iterator<Item = Origin> {
    item.records.iter().filter_map(|record| {
        let performance = record.judged.performance()?;
        let seeds = |race: &Race| race.trials.iter().map(|trial| trial.seed).collect();
        Some(Origin {
            item: record.item,
            contender: record.contender.clone(),
            case: record.case.clone(),
            threads: record.threads,
            wall_ns: performance.wall_ns,
            version: record.receipt.version.clone(),
            program: record.receipt.program.clone(),
            libraries: record.receipt.libraries.clone(),
            proof_seed: record.judged.proof().seed,
            race_seed: item.race.as_ref().map(|race| race.seed),
            trial_seeds: item.race.as_ref().map(seeds).unwrap_or_default(),
            isolation: record.isolation,
        })
    })
}

/// Computes the rulings of races of programs again.
fn recompute_programs(run: &Run, replayed: &mut Replayed) {
    for entry in &run.programs {
        let ProgramEntry::Raced(race) = entry else { continue };
        replayed.rulings += 1;
        let stored = &race.ruling;
        let again = Looks::new(stored.looks.clone(), Spending::Bonferroni).map(|looks| {
            let ProgramRuling { alpha, report_margin, same_margin, round, seconds, .. } = *stored;
            let stopping = Stopping { looks, alpha, report_margin, same_margin };
            proofmark_programs::race::ruling_of(&race.samples, round, &stopping, seconds)
        });
        if again.as_ref() != Some(stored) {
            replayed.different_rulings.push(race.name.clone());
        }
    }
}

fn recompute(run: &Run) -> Replayed {
    let mut replayed = Replayed {
        run: run.id.clone(),
        recomputed: 0,
        rulings: 0,
        different: Vec::new(),
        different_rulings: Vec::new(),
    };
    recompute_programs(run, &mut replayed);
    for item in &run.items {
        for record in &item.records {
            let Some(performance) = record.judged.performance() else { continue };
            replayed.recomputed += 1;
            let arm = performance.slices.arm;
            let confidence = performance.wall_ns.confidence;
            let again = item.race.as_ref().and_then(|race| {
                let time = time_of_call(race, arm, confidence)?;
                let ratio = if arm == 0 { None } else { compare(race, 0, arm, confidence) };
                Some((time, ratio))
            });
            let stored = Some((performance.wall_ns, performance.comparison.clone()));
            if again != stored {
                replayed.different.push(describe(record));
            }
        }
        if let Some(stored) = &item.decided {
            replayed.rulings += 1;
            let again = item.race.as_ref().and_then(|race| again(race, stored));
            let bytes = |decided: &Decided| serde_json::to_vec(decided).ok();
            if again.as_ref().and_then(bytes) != bytes(stored) {
                let [base, other] = &stored.arms;
                let case =
                    item.race.as_ref().map_or_else(String::new, |race| race.case.to_string());
                let words = format!("the ruling on {case}: {} against {}", other.arm, base.arm);
                replayed.different_rulings.push(words);
            }
        }
    }
    replayed
}

/// The ruling by the rule that was in force, from the slices alone.
fn again(race: &Race, stored: &Decided) -> Option<Decided> {
    let ruling = &stored.ruling;
    let stopping = Stopping {
        looks: Looks::new(stored.looks.clone(), Spending::Bonferroni)?,
        alpha: ruling.alpha,
        report_margin: ruling.report_margin,
        same_margin: ruling.same_margin,
    };
    Some(decided(stored.round, stored.arms.clone(), race, &stopping, ruling.seconds))
}

fn describe(record: &Record) -> String {
    format!("{} on {}", record.contender, record.case)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_stats::Stream;
    use std::fs;
    use std::path::{Path, PathBuf};

    /// A copy of the runs of an earlier version; see `crates/store/tests/golden.rs`.
    fn copied(folder: &Path) -> Vec<PathBuf> {
        let golden: PathBuf =
            [env!("CARGO_MANIFEST_DIR"), "..", "store", "tests", "golden", "runs"].iter().collect();
        let runs = fs::read_dir(golden).unwrap().map(|run| run.unwrap().path());
        let copy = |run: PathBuf| {
            let to = folder.join("runs").join(run.file_name().unwrap());
            fs::create_dir_all(&to).unwrap();
            for file in fs::read_dir(&run).unwrap().map(|file| file.unwrap().path()) {
                fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
            }
            to
        };
        runs.map(copy).collect()
    }

    /// Whether a verification says that a run is as it was sealed.
    fn holds(store: &Store, run: &str) -> bool {
        verify(store, run).is_ok_and(|verified| verified.holds())
    }

    fn names(run: &Path) -> Vec<String> {
        let files = fs::read_dir(run).unwrap();
        let mut names: Vec<String> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn every_number_of_a_run_that_holds_has_its_origin() {
        let folder = tempfile::tempdir().unwrap();
        for run in copied(folder.path()) {
            let id = run.file_name().unwrap().to_str().unwrap().to_owned();
            let store = Store::open(folder.path()).unwrap();
            let verified = verify(&store, &id).unwrap();
            assert!(verified.holds(), "{verified:?}");
            let replayed = verified.replayed.unwrap();
            assert_eq!(replayed.recomputed, verified.origins.len());
            for origin in verified.origins {
                assert_eq!(origin.isolation.name(), "T1");
                assert!(origin.race_seed.is_some() && !origin.trial_seeds.is_empty());
            }
        }
    }

    #[test]
    fn an_edit_of_one_byte_anywhere_is_found_1000_times_of_1000() {
        let folder = tempfile::tempdir().unwrap();
        let runs = copied(folder.path());
        let store = Store::open(folder.path()).unwrap();
        let mut stream = Stream::new(20_261_117);
        let mut below = |limit: usize| stream.below(limit as u64) as usize;
        for edit in 0..1000 {
            let run = &runs[below(runs.len())];
            let id = run.file_name().unwrap().to_str().unwrap();
            let names = names(run);
            let file = run.join(&names[below(names.len())]);
            let original = fs::read(&file).unwrap();
            let mut bytes = original.clone();
            let (at, moved) = (below(bytes.len()), run.join("moved"));
            match edit % 10 {
                0 => bytes.truncate(at),
                1 => bytes.push(b" \n0\0"[below(4)]),
                2 => bytes.insert(at, b" \n0\0"[below(4)]),
                3 => _ = bytes.remove(at),
                4 => fs::rename(&file, &moved).unwrap(),
                // Any other value, not only one bit of it.
                _ => bytes[at] ^= 1 + below(255) as u8,
            }
            if !moved.exists() {
                fs::write(&file, &bytes).unwrap();
            }
            let is_found = !holds(&store, id);
            assert!(is_found, "edit {edit} of {} at byte {at}", file.display());
            let _ = fs::remove_file(&moved);
            fs::write(&file, &original).unwrap();
            assert!(edit % 50 > 0 || holds(&store, id), "{id} is whole again");
        }
    }

    #[test]
    fn a_file_that_is_no_part_of_a_run_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let runs = copied(folder.path());
        let store = Store::open(folder.path()).unwrap();
        fs::write(runs[0].join("notes.txt"), "").unwrap();
        let verified = verify(&store, runs[0].file_name().unwrap().to_str().unwrap()).unwrap();
        assert_eq!(verified.damaged[0].0, "notes.txt");
        assert!(!verified.holds() && verified.origins.is_empty());
    }
}
