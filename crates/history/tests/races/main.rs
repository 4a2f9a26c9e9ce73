//! Many writers and compactors that are killed at random: no run that was acknowledged is lost,
//! doubled or torn. In a folder, and over HTTP with faults.
//!
//! `PROOFMARK_HISTORY_RACE=200x64` sets how many writers append how many runs; 16x8 otherwise.
#![expect(clippy::disallowed_methods, reason = "processes are started, killed and timed here")]

mod server;

use proofmark_history::compact::{Options, compact};
use proofmark_history::read::Shard;
use proofmark_history::{
    Metric, Place, Point, Row, Run, RunObject, SeriesKey, Snapshot, append, fsck, init, probe,
};
use proofmark_schema::Outcome;
use server::{Manner, Server};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

/// Series of each run.
const SERIES: u64 = 12;

fn run_id(writer: u64, run: u64) -> String {
    format!("01a1eae6-{writer:04x}-7{run:03x}-8000-000000000000")
}

/// What a point of a run must say.
fn value(writer: u64, run: u64, series: u64) -> f64 {
    1.0 + (writer * 1_000_003 + run * 1009 + series) as f64
}

fn object(writer: u64, run: u64) -> RunObject {
    let id = run_id(writer, run);
    let time = 1_790_000_000_000_000 + i64::try_from(run).unwrap();
    let of = Run { id: id.clone(), started: time, commit_time: time, ..Run::default() };
    let rows = (0..SERIES).map(|series| {
        let key = SeriesKey {
            op: "add".to_owned(),
            case: format!("add:f32[b=1,s=1,d={series}]"),
            contender: "native/simd@avx2".to_owned(),
            metric: Metric::Time,
            threads: 1,
            memory: "hot/4k".to_owned(),
            isolation: "T1".to_owned(),
            protocol: 1,
            environment: "0123456789abcdef".to_owned(),
        };
        let point = Point {
            series: key.id().unwrap(),
            commit_time: time,
            run: id.clone(),
            outcome: Outcome::Proven,
            value: Some(value(writer, run, series)),
            low: None,
            high: None,
            trials: 3,
            control: None,
            against: None,
            code: None,
            flags: 0,
        };
        Row { key, point }
    });
    RunObject::new(of, rows.collect()).unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn options() -> Options {
    Options::at(SystemTime::now())
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The writer that a parent starts: it appends its runs, and names each that was acknowledged.
#[test]
#[ignore = "a parent starts it"]
fn child_writer() {
    let Some(job) = variable("RACE_JOB") else { return };
    let (writer, runs) = job.split_once('x').unwrap();
    let (writer, runs): (u64, u64) = (writer.parse().unwrap(), runs.parse().unwrap());
    let place = Place::parse(&variable("RACE_PLACE").unwrap()).unwrap();
    runtime().block_on(async {
        for run in 0..runs {
            append(&place, &object(writer, run)).await.unwrap();
            let mut out = std::io::stdout().lock();
            writeln!(out, "acknowledged {run}").unwrap();
            out.flush().unwrap();
        }
    });
}

/// The compactor that a parent starts: it goes on until it is killed.
#[test]
#[ignore = "a parent starts it"]
fn child_compactor() {
    let Some(place) = variable("RACE_PLACE") else { return };
    let place = Place::parse(&place).unwrap();
    runtime().block_on(async {
        loop {
            compact(&place, options()).await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
}

fn child(test: &str, job: &str, place: &str, variables: &[(&'static str, String)]) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture", "--test-threads", "1"])
        .env("RACE_JOB", job)
        .env("RACE_PLACE", place)
        .envs(variables.iter().cloned())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// A drawn number below a limit.
fn draw(state: &mut u64, limit: u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state % limit
}

/// Writers that append runs while compactors compact; all of them are killed at random.
struct Race {
    writers: u64,
    runs: u64,
    place: String,
    variables: Vec<(&'static str, String)>,
}

/// What a race did.
#[derive(Debug, Default)]
struct Outcomes {
    acknowledged: BTreeSet<(u64, u64)>,
    killed_writers: u64,
    killed_compactors: u64,
    commits: u64,
}

impl Race {
    fn size() -> (u64, u64) {
        let size = variable("PROOFMARK_HISTORY_RACE").unwrap_or_else(|| "16x8".to_owned());
        let (writers, runs) = size.split_once('x').expect("as 200x64");
        (writers.parse().unwrap(), runs.parse().unwrap())
    }

    /// Runs one writer until all its runs are acknowledged; it is killed some times before.
    fn write(&self, writer: u64, random: &mut u64, outcomes: &Mutex<Outcomes>) {
        let mut kills_left = draw(random, 3);
        loop {
            let job = format!("{writer}x{}", self.runs);
            let mut child = child("child_writer", &job, &self.place, &self.variables);
            let kill_after = (kills_left > 0).then(|| draw(random, self.runs));
            let mut count = 0;
            let out = BufReader::new(child.stdout.take().unwrap());
            for line in out.lines().map_while(Result::ok) {
                // The harness writes the name of the test before the first line.
                let Some((_, run)) = line.split_once("acknowledged ") else { continue };
                outcomes.lock().unwrap().acknowledged.insert((writer, run.parse().unwrap()));
                count += 1;
                if kill_after.is_some_and(|after| count > after) {
                    std::thread::sleep(Duration::from_micros(draw(random, 4000)));
                    child.kill().unwrap();
                    kills_left -= 1;
                    outcomes.lock().unwrap().killed_writers += 1;
                    break;
                }
            }
            let is_done = child.wait().unwrap().success();
            if is_done && kill_after.is_none() {
                return;
            }
            assert!(kill_after.is_some(), "writer {writer} failed by itself");
        }
    }

    /// Waits until compactors have committed; how often they have.
    fn wait_for_commits(&self, place: &Place) -> u64 {
        let runtime = runtime();
        for _ in 0..600 {
            let (version, _) = runtime.block_on(Snapshot::load(place)).unwrap().version();
            if version > Some(0) {
                return version.unwrap();
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("no compactor committed within a minute");
    }

    fn run(&self, place: &Place) -> Outcomes {
        let outcomes = Arc::new(Mutex::new(Outcomes::default()));
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for index in 0..3u64 {
                let (outcomes, is_over) = (&outcomes, &is_over);
                scope.spawn(move || {
                    let mut random = 77 + index;
                    while !is_over.load(Ordering::SeqCst) {
                        let mut child = child("child_compactor", "", &self.place, &self.variables);
                        // One compactor is left alone, so that commits are made under any load.
                        let pause = match index {
                            0 => Duration::MAX,
                            _ => Duration::from_millis(300 + draw(&mut random, 2000)),
                        };
                        let began = Instant::now();
                        while began.elapsed() < pause && !is_over.load(Ordering::SeqCst) {
                            std::thread::sleep(Duration::from_millis(5));
                        }
                        child.kill().unwrap();
                        child.wait().unwrap();
                        outcomes.lock().unwrap().killed_compactors += 1;
                    }
                });
            }
            let writers: Vec<_> = (0..self.writers)
                .map(|writer| {
                    let outcomes = &outcomes;
                    scope.spawn(move || {
                        let mut random = 0x9e37_79b9 + writer * 7919;
                        self.write(writer, &mut random, outcomes);
                    })
                })
                .collect();
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            let commits = self.wait_for_commits(place);
            outcomes.lock().unwrap().commits = commits;
            is_over.store(true, Ordering::SeqCst);
        });
        Arc::into_inner(outcomes).unwrap().into_inner().unwrap()
    }

    /// Checks that each run is there once and whole, before and after a last compaction.
    fn check(&self, place: &Place, outcomes: &Outcomes) {
        let runtime = runtime();
        for is_compacted in [false, true] {
            if is_compacted {
                runtime.block_on(compact(place, options())).unwrap();
            }
            let mut seen: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
            let snapshot = runtime.block_on(Snapshot::load(place)).unwrap();
            assert!(runtime.block_on(snapshot.damaged()).unwrap().is_empty());
            let visit = |key: &SeriesKey, points: &[Point]| {
                for point in points {
                    let run = seen.entry(point.run.clone()).or_default();
                    let before = run.insert(key.case.clone(), point.value.unwrap());
                    assert_eq!(before, None, "run {} has {} twice", point.run, key.case);
                }
                Ok(())
            };
            runtime.block_on(snapshot.for_each_series(Shard::WHOLE, visit)).unwrap();
            assert_eq!(outcomes.acknowledged.len() as u64, self.writers * self.runs);
            for &(writer, run) in &outcomes.acknowledged {
                let points = seen.remove(&run_id(writer, run));
                let points = points.unwrap_or_else(|| panic!("run {run} of {writer} is lost"));
                assert_eq!(points.len() as u64, SERIES, "run {run} of {writer} is torn");
                for series in 0..SERIES {
                    let case = format!("add:f32[b=1,s=1,d={series}]");
                    assert_eq!(points[&case], value(writer, run, series));
                }
            }
            assert_eq!(seen.len(), 0, "runs that were never appended: {:?}", seen.keys());
            let checked = runtime.block_on(fsck::fsck(place)).unwrap();
            assert!(checked.is_sound(), "{:?}", checked.found);
            assert_eq!(checked.points, self.writers * self.runs * SERIES);
        }
    }

    fn report(&self, name: &str, outcomes: &Outcomes, began: Instant) {
        let mut out = std::io::stderr().lock();
        let _ = writeln!(
            out,
            "{name}: {} writers x {} runs, {} acknowledged, {} writers and {} compactors killed, \
             {} commits; 0 lost, 0 doubled, 0 torn, {:.1} s",
            self.writers,
            self.runs,
            outcomes.acknowledged.len(),
            outcomes.killed_writers,
            outcomes.killed_compactors,
            outcomes.commits,
            began.elapsed().as_secs_f64()
        );
    }
}

#[test]
fn nothing_is_lost_doubled_or_torn_in_a_folder() {
    let began = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let place = Place::folder(folder.path()).unwrap();
    runtime().block_on(init(&place)).unwrap();
    let (writers, runs) = Race::size();
    let path = folder.path().to_str().unwrap().to_owned();
    let race = Race { writers, runs, place: path, variables: Vec::new() };
    let outcomes = race.run(&place);
    race.check(&place, &outcomes);
    race.report("folder", &outcomes, began);
}

/// A place on the server.
fn on(server: &Server, place: &str) -> Place {
    Place::parse_with(place, &server.variables()).unwrap()
}

#[test]
fn nothing_is_lost_doubled_or_torn_over_http_with_faults() {
    let began = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), Manner::Exclusive, 12, 20_261_118);
    let place = on(&server, "s3://bucket");
    runtime().block_on(init(&place)).unwrap();
    let (writers, runs) = Race::size();
    let variables = server.variables();
    let race = Race { writers, runs, place: "s3://bucket".to_owned(), variables };
    let outcomes = race.run(&place);
    race.check(&place, &outcomes);
    race.report("http", &outcomes, began);
    let faults = server.counts().faults.load(Ordering::SeqCst);
    assert!(faults > 0, "no fault was injected");
}

#[test]
fn an_append_is_one_request() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), Manner::Exclusive, 0, 1);
    let place = on(&server, "s3://bucket/deep/prefix");
    let appended = runtime().block_on(append(&place, &object(1, 1))).unwrap();
    let count = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::SeqCst);
    let counts = server.counts();
    assert_eq!((count(&counts.puts), count(&counts.gets), count(&counts.lists)), (1, 0, 0));
    assert!(folder.path().join("deep/prefix").join(&appended.name).is_file());
    // The same again is refused by the store, and a success for the writer.
    assert!(runtime().block_on(append(&place, &object(1, 1))).unwrap().was_there);
    assert_eq!((count(&counts.puts), count(&counts.refused)), (2, 1));
}

#[test]
fn a_conflict_is_not_taken_for_a_success() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), Manner::Exclusive, 60, 3);
    let place = on(&server, "s3://bucket");
    for run in 0..12 {
        // Under so many faults an append may fail, but never falsely succeed.
        if let Ok(appended) = runtime().block_on(append(&place, &object(2, run))) {
            assert!(folder.path().join(&appended.name).is_file(), "{appended:?}");
        }
    }
}

#[test]
fn a_store_that_ignores_or_races_the_condition_is_refused_every_time() {
    for manner in [Manner::Ignored, Manner::CheckedThenWritten] {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(folder.path(), manner, 0, 1);
        let place = on(&server, "s3://bucket");
        for attempt in 0..20 {
            let probed = runtime().block_on(probe::probe(&place));
            let error = probed.expect_err("a store without the promise passed the probe");
            assert!(
                matches!(error, proofmark_history::HistoryError::NoPutIfAbsent { .. }),
                "{manner:?} {attempt}: {error}"
            );
        }
        assert!(runtime().block_on(init(&place)).is_err());
        assert!(!folder.path().join("format.json").exists());
    }
}
