//! kill -9 of the supervisor at random moments: `--resume` completes the run, and no acknowledged
//! record is lost or doubled.
#![expect(clippy::disallowed_methods, reason = "a test starts the program and reads its own knob")]

use proofmark_store::Store;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Items of the plan that is killed over and over.
const ITEMS: u64 = 8;

/// Kills to survive; `PROOFMARK_KILLS=200` for the long version.
fn kills() -> u64 {
    std::env::var("PROOFMARK_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(10)
}

fn command(store: &Path, resume: bool) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    command.args(["bench", "--settle", "0", "--format", "jsonl", "--store"]).arg(store);
    if resume {
        command.args(["--resume", "latest"]);
    } else {
        command.args(["add", "--quick", "--dtype", "f32", "--threads", "1"]);
        command.args(["--with", "native/scalar", "--sweep", "b=1 s=1 d=1:8"]);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Items that a run acknowledges, each of which must be there once.
fn acknowledged(store: &Path) -> BTreeSet<u64> {
    let Ok(run) = Store::open(store).and_then(|store| store.load("latest")) else {
        return BTreeSet::new();
    };
    let items: Vec<u64> = run.items.iter().map(|entry| entry.item).collect();
    let set: BTreeSet<u64> = items.iter().copied().collect();
    assert_eq!(items.len(), set.len(), "an item is there twice: {items:?}");
    for entry in &run.items {
        assert_eq!(entry.records.len(), 1, "one contender, one record");
        assert!(entry.race.is_some(), "a record comes with its slices");
    }
    set
}

/// Whether a run was begun before the kill.
fn has_run(store: &Path) -> bool {
    Store::open(store).and_then(|store| store.list()).is_ok_and(|runs| !runs.is_empty())
}

/// The item that the program said it had begun: those before it are acknowledged.
fn begun(talk: &str) -> u64 {
    let numbers = talk.lines().filter_map(|line| line.strip_prefix('[')?.split('/').next());
    numbers.filter_map(|number| number.parse().ok()).max().unwrap_or(0)
}

#[test]
fn a_run_killed_at_random_moments_resumes_without_loss() {
    let mut random = proofmark_stats::Stream::new(7);
    let (mut killed, mut finished) = (0, 0);
    while killed < kills() || finished == 0 {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path();
        let mut before = BTreeSet::new();
        loop {
            let mut child = command(store, has_run(store)).spawn().unwrap();
            let is_last = killed >= kills();
            let mut ended = false;
            if !is_last {
                // From before the first write to past the end of most runs.
                std::thread::sleep(Duration::from_micros(random.below(3_000_000)));
                ended = child.try_wait().unwrap().is_some();
                child.kill().unwrap();
            }
            let mut talk = String::new();
            child.stderr.take().unwrap().read_to_string(&mut talk).unwrap();
            let status = child.wait().unwrap();
            let now = acknowledged(store);
            assert!(now.is_superset(&before), "lost: {before:?} became {now:?}");
            let begun = begun(&talk);
            assert!((0..begun.saturating_sub(1)).all(|item| now.contains(&item)), "{talk}");
            before = now;
            if status.success() {
                finished += 1;
                break;
            }
            assert!(!is_last, "an undisturbed resume failed: {talk}");
            killed += u64::from(!ended);
        }
        assert_eq!(acknowledged(store), (0..ITEMS).collect());
        let checked = Store::open(store).unwrap().verify("latest").unwrap();
        assert!(checked.is_intact(), "{checked:?}");
    }
}
