//! Eight processes that write one store at once lose nothing, and a reader never sees a torn file.

use super::cache::{keep, look_up};
use proofmark_analyze::{Answer, Crossing};
use proofmark_schema::probe::Probe;
use proofmark_schema::{Artefact, FORMAT_VERSION};
use proofmark_store::{Shelf, Store};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Processes, and the writes of each kind that each of them makes.
const WRITERS: u64 = 8;
const WRITES: u64 = 200;
/// Names a writer's store and its number; set only in the processes that this test starts.
const ROLE: &str = "PROOFMARK_TEST_WRITER";
/// The name that all writers write under, in addition to names of their own.
const SHARED: &str = "shared";
/// The padding is long enough for a half-written file to be noticed.
const PADDING: usize = 20_000;

#[test]
#[expect(clippy::disallowed_methods, reason = "the test starts itself as its writers")]
fn eight_processes_write_one_store_and_nothing_is_lost_or_torn() {
    if let Some(role) = std::env::var_os(ROLE) {
        let role = role.into_string().expect("a role is text");
        let (number, folder) = role.split_once(' ').expect("a role is a number and a folder");
        return write_all(Path::new(folder), number.parse().expect("a number"));
    }
    // The test makes thousands of syncs, which are fast on a memory file system. It does not
    // simulate power loss.
    let memory = tempfile::tempdir_in("/dev/shm");
    let folder = memory.or_else(|_| tempfile::tempdir()).unwrap();
    let store = Store::open(&folder.path().join("store")).unwrap();
    let program = folder.path().join("program");
    std::fs::write(&program, vec![b'p'; PADDING]).unwrap();
    let kept = store.keep_program(&program, &[]).unwrap();
    store.name_artefact(Shelf::Baselines, "pinned", &kept).unwrap();

    let start = |number: u64| -> Child {
        let name = "verbs::tune::concurrent::\
                    eight_processes_write_one_store_and_nothing_is_lost_or_torn";
        let role = format!("{number} {}", folder.path().display());
        let mut writer = Command::new(std::env::current_exe().unwrap());
        writer.args(["--exact", name, "--nocapture"]).env(ROLE, role);
        writer.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut writers: Vec<Child> = (0..WRITERS).map(start).collect();
    let ready = |number| folder.path().join(format!("ready-{number}")).exists();
    while !(0..WRITERS).all(ready) && writers.iter_mut().all(is_running) {
        sleep(Duration::from_millis(1));
    }
    std::fs::write(folder.path().join("go"), "").unwrap();

    let mut reader = Reader::default();
    while writers.iter_mut().any(is_running) {
        reader.look(&store);
    }
    let ended = writers.into_iter().map(|writer| writer.wait_with_output().unwrap());
    let failed: Vec<String> = ended
        .filter(|ended| !ended.status.success())
        .map(|ended| String::from_utf8_lossy(&ended.stderr).into_owned())
        .collect();
    let lost = lost(&store, &kept);
    let torn = &reader.torn;
    assert!(
        failed.is_empty() && lost.is_empty() && torn.is_empty(),
        "{} of {WRITERS} writers failed: {failed:#?}\n{} lost: {lost:#?}\n{} torn: {torn:#?}",
        failed.len(),
        lost.len(),
        torn.len()
    );
    assert!(reader.looks > 0, "the reader saw nothing");
}

fn is_running(writer: &mut Child) -> bool {
    writer.try_wait().unwrap().is_none()
}

fn own(number: u64, write: u64) -> String {
    format!("w{number}-{write}")
}

fn is_removed(write: u64) -> bool {
    write % 25 == 24
}

fn probe(machine: &str, number: u64, write: u64) -> Probe {
    let made = number * WRITES + write;
    Probe { format: FORMAT_VERSION, machine: machine.to_owned(), made, ..Probe::default() }
}

fn artefact(kept: &Artefact, number: u64, write: u64, padding: usize) -> Artefact {
    Artefact { args: vec![own(number, write), "a".repeat(padding)], ..kept.clone() }
}

fn import(number: u64, write: u64) -> Vec<u8> {
    let value = serde_json::json!({ "name": own(number, write), "rows": "r".repeat(PADDING) });
    serde_json::to_vec(&value).unwrap()
}

/// A crossing that is kept, made at this time.
pub(super) fn crossing(made: u64) -> Crossing {
    Crossing {
        case: "softmax:f32[b=1,s=48,d=512]".parse().unwrap(),
        axis: "s".to_owned(),
        between: ["native/simd", "native/parallel"].map(|who| who.parse().unwrap()),
        threads: 2,
        range: (1, 64),
        alpha: 0.01,
        places: Vec::new(),
        answer: Answer::AlwaysFaster,
        constant: Some(7),
        zones: Vec::new(),
        run: "r".to_owned(),
        made,
        is_cached: false,
    }
}

/// What one of the processes does.
fn write_all(folder: &Path, number: u64) {
    let store = Store::open(&folder.join("store")).unwrap();
    let kept = store.keep_program(&folder.join("program"), &[]).unwrap();
    std::fs::write(folder.join(format!("ready-{number}")), "").unwrap();
    while !folder.join("go").exists() {
        sleep(Duration::from_millis(1));
    }
    let mine = number.to_string();
    for write in 0..WRITES {
        for (name, padding) in [(SHARED, PADDING), (&own(number, write), 0)] {
            store.keep_probe(&probe(name, number, write)).unwrap();
            let artefact = artefact(&kept, number, write, padding);
            store.name_artefact(Shelf::Baselines, name, &artefact).unwrap();
            store.keep_import(name, &import(number, write)).unwrap();
        }
        // Some baselines are removed again, and their removal must not delete the program of the
        // others.
        if is_removed(write) {
            store.remove_baseline(&own(number, write)).unwrap();
        }
        let found = look_up(&store, |kept| kept.crossings.get(&mine).map(|one| one.made)).unwrap();
        assert_eq!(found, write.checked_sub(1), "another process undid a write of tuning.json");
        keep(&store, |kept| _ = kept.crossings.insert(mine.clone(), crossing(write))).unwrap();
    }
}

/// A reader that looks at the store while others write.
#[derive(Default)]
struct Reader {
    looks: u64,
    lookups: u64,
    torn: Vec<String>,
}

impl Reader {
    fn look(&mut self, store: &Store) {
        self.looks += 1;
        let torn = &mut self.torn;
        let mut note = |what: &str, why: String| torn.push(format!("{what}: {why}"));
        if let Err(error) = store.probe(SHARED) {
            note("probe", error.to_string());
        }
        match store.artefact(Shelf::Baselines, SHARED) {
            Ok(Some(one)) if one.args.get(1).is_none_or(|text| text.len() != PADDING) => {
                note("baseline", "it is not whole".to_owned());
            }
            Ok(_) => {}
            Err(error) => note("baseline", error.to_string()),
        }
        match store.import(SHARED).map(|bytes| bytes.map(|bytes| parse(&bytes))) {
            Ok(None | Some(Ok(_))) => {}
            Ok(Some(Err(error))) => note("import", error.to_string()),
            Err(error) => note("import", error.to_string()),
        }
        match store.read_file("tuning.json").map(|bytes| bytes.map(|bytes| parse(&bytes))) {
            Ok(None) => {}
            Ok(Some(Ok(kept))) => {
                let lookups = kept["lookups"].as_u64().unwrap_or_default();
                if lookups < self.lookups {
                    note("tuning", format!("{lookups} lookups after {}", self.lookups));
                }
                self.lookups = lookups;
            }
            Ok(Some(Err(error))) => note("tuning", error.to_string()),
            Err(error) => note("tuning", error.to_string()),
        }
    }
}

fn parse(bytes: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(bytes)
}

/// Every write that is not there when all have ended.
fn lost(store: &Store, kept: &Artefact) -> Vec<String> {
    let mut lost = Vec::new();
    for number in 0..WRITERS {
        for write in 0..WRITES {
            let name = own(number, write);
            if store.probe(&name).ok().flatten() != Some(probe(&name, number, write)) {
                lost.push(format!("probe {name}"));
            }
            let named = (!is_removed(write)).then(|| artefact(kept, number, write, 0));
            if store.artefact(Shelf::Baselines, &name).ok().flatten() != named {
                lost.push(format!("baseline {name}"));
            }
            if store.import(&name).ok().flatten() != Some(import(number, write)) {
                lost.push(format!("import {name}"));
            }
        }
    }
    if store.program(kept).is_err() {
        lost.push("the program".to_owned());
    }
    let tuning = super::cached_tunings(store).unwrap();
    let lookups = WRITERS * WRITES;
    if (tuning.lookups, tuning.hits) != (lookups, lookups - WRITERS) {
        lost.push(format!("lookups: {} and {} hits are left", tuning.lookups, tuning.hits));
    }
    let last = tuning.crossings.iter().filter(|one| one.made == WRITES - 1).count() as u64;
    if last != WRITERS {
        lost.push(format!("crossings: {last} of {WRITERS} are left"));
    }
    lost
}
