//! Questions to a history with two compactions, a replaced segment and a run in the inbox, in a
//! folder and in a bucket; and what is said when a question is wrong.
#![expect(clippy::disallowed_methods, reason = "the program is started here")]

#[path = "../../history/tests/races/server/mod.rs"]
#[allow(dead_code, reason = "the other tests of this server use the rest")]
mod server;

use proofmark_history::compact::{Options, compact};
use proofmark_history::output::{Format, rendered};
use proofmark_history::read::Shard;
use proofmark_history::{
    Event, EventState, Metric, Place, Point, Row, Run, RunObject, SeriesKey, Snapshot, append,
    append_event, init,
};
use proofmark_history_query::{QueryError, Session};
use proofmark_schema::Outcome;
use serde_json::{Value, json};
use server::{Manner, Server};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

fn key(series: u64) -> SeriesKey {
    let op = ["softmax", "rms_norm"][(series % 2) as usize];
    SeriesKey {
        op: op.to_owned(),
        case: format!("{op}:f32[b=1,s=1,d={series}]"),
        contender: "native/simd@avx2".to_owned(),
        metric: Metric::Time,
        threads: 1,
        memory: "hot/4k".to_owned(),
        isolation: "T1".to_owned(),
        protocol: 1,
        environment: "0123456789abcdef".to_owned(),
    }
}

/// A run with a point of each of so many series; every tenth is not proven.
fn object(run: u64, series: u64) -> RunObject {
    let id = format!("01a1eae6-{run:04x}-7000-8000-000000000000");
    let time = 1_790_000_000_000_000 + 60_000_000 * run.cast_signed();
    let commit = Some(format!("{run:040x}"));
    let of = Run { id: id.clone(), started: time, commit_time: time, commit, ..Run::default() };
    let rows = (0..series).map(|index| {
        let value = (!(index + run).is_multiple_of(10)).then(|| 1.0 + (100 * index + run) as f64);
        let point = Point {
            series: key(index).id().unwrap(),
            commit_time: time,
            run: id.clone(),
            outcome: if value.is_some() { Outcome::Proven } else { Outcome::Wrong },
            value,
            low: value.map(|value| value as f32),
            high: value.map(|value| value as f32),
            trials: 3,
            control: None,
            against: None,
            code: None,
            flags: 0,
        };
        Row { key: key(index), point }
    });
    RunObject::new(of, rows.collect()).unwrap()
}

/// Runs 0 and 1 are compacted, then runs 2 and 3 with them; runs 4 and 5 wait in the inbox.
async fn fill(place: &Place) {
    init(place).await.unwrap();
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    for run in 0..6 {
        append(place, &object(run, 20 + run)).await.unwrap();
        if run == 1 || run == 3 {
            compact(place, Options { all: true, ..Options::at(now) }).await.unwrap();
        }
    }
    let event = Event {
        time: 1_790_000_000_000_000,
        actor: "test".to_owned(),
        alert: "a1".to_owned(),
        state: EventState::Detected,
        series: vec![key(0).id().unwrap(), key(1).id().unwrap()],
        run: None,
        commit: None,
        text: "slower".to_owned(),
        detail: json!({ "ratio": 1.5 }),
    };
    append_event(place, &event).await.unwrap();
}

async fn answers(session: &Session, sql: &str) -> Value {
    let answer = session.ask(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let batches = answer.all().await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    serde_json::from_str(&rendered(Format::Json, &batches).unwrap()).unwrap()
}

async fn session(place: &Place) -> Session {
    Session::new(Arc::new(Snapshot::load(place).await.unwrap())).unwrap()
}

/// Compares what SQL says with what the reader of the history says.
async fn check(place: &Place) {
    let snapshot = Snapshot::load(place).await.unwrap();
    // Two compactions and two runs in the inbox: both parts of the table are read.
    assert_eq!((snapshot.version(), snapshot.segments().count()), ((Some(2), 2), 1));
    let (mut rows, mut sum, mut longest) = (0u64, 0.0, 0);
    let visit = |_: &SeriesKey, points: &[Point]| {
        rows += points.len() as u64;
        sum += points.iter().filter_map(|point| point.value).sum::<f64>();
        longest = longest.max(points.len());
        Ok(())
    };
    snapshot.for_each_series(Shard::WHOLE, visit).await.unwrap();
    assert_eq!(rows, 20 + 21 + 22 + 23 + 24 + 25);
    let session = session(place).await;
    let all = answers(&session, "select count(*) as n, sum(value) as s from points").await;
    assert_eq!(all, json!([{ "n": rows, "s": sum }]));

    let one = key(3).id().unwrap();
    let sql = format!("select run, value, low from points where series = '{one}' order by run");
    let expected: Vec<Value> = snapshot
        .points(one)
        .await
        .unwrap()
        .iter()
        .map(|point| json!({ "run": point.run, "value": point.value, "low": point.low }))
        .collect();
    assert_eq!(expected.len(), longest);
    assert_eq!(answers(&session, &sql).await, Value::Array(expected));

    let series = answers(&session, "select series, points, last_run from series order by series");
    let known = snapshot.series().await.unwrap();
    let known = known.iter().map(
        |of| json!({ "series": of.id.to_string(), "points": of.points, "last_run": of.last_run }),
    );
    assert_eq!(series.await, Value::Array(known.collect()));

    let joined = "select r.commit, count(p.value) as proven from points p join runs r using (run) \
                  where p.op = 'softmax' group by r.commit order by r.commit limit 1";
    assert_eq!(answers(&session, joined).await, json!([{ "commit": "0".repeat(40), "proven": 8 }]));

    let events = "select s.\"case\", e.state, e.detail from events e join series s using (series) \
                  order by 1 desc";
    let event = |series: u64| {
        let detail = r#"{"ratio":1.5}"#;
        json!({ "case": key(series).case, "state": "detected", "detail": detail })
    };
    assert_eq!(answers(&session, events).await, json!([event(0), event(1)]));

    let times = "select date_trunc('hour', commit_time) as hour, cast(commit_time as date) as day, \
                 median(value) as m from points group by all";
    let hour = json!([{ "hour": "2026-09-21T14:00:00Z", "day": "2026-09-21", "m": 1154.0 }]);
    let mut found = answers(&session, times).await;
    assert!(found[0]["m"].is_number());
    found[0]["m"] = hour[0]["m"].clone();
    assert_eq!(found, hour);
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

#[test]
fn sql_says_of_a_folder_and_of_a_bucket_what_the_reader_says() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("bucket"), Manner::Exclusive, 0, 7);
    let bucket = Place::parse_with("s3://tests/a/history", &server.variables()).unwrap();
    runtime().block_on(async {
        for place in [Place::folder(&folder.path().join("h")).unwrap(), bucket] {
            fill(&place).await;
            check(&place).await;
        }
    });
}

#[test]
fn a_history_without_a_run_has_its_tables() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::folder(folder.path()).unwrap();
    runtime().block_on(async {
        init(&place).await.unwrap();
        let session = session(&place).await;
        for table in proofmark_history_query::TABLES {
            let counted = answers(&session, &format!("select count(*) as n from {table}")).await;
            assert_eq!(counted, json!([{ "n": 0 }]), "{table}");
        }
    });
}

#[test]
fn a_wrong_question_is_told_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::folder(folder.path()).unwrap();
    runtime().block_on(async {
        fill(&place).await;
        let session = session(&place).await;
        for (sql, words) in [
            ("select * from pionts", "did you mean `points`?; there are `points`, `runs`"),
            ("select valeu from points", "no column `valeu`: did you mean `value`?; there are"),
            ("select 1 from points where op = \"softmax\"", "in single quotes: 'softmax'"),
            ("select op from", "this is not SQL"),
            ("select nonsense(value) from points", "nonsense"),
            ("select value + op from points where value = 'x'", "x"),
            ("insert into points select * from points", "a query only reads"),
            ("copy points to 'out.csv'", "a query only reads"),
            ("drop table points", "a query only reads"),
            ("set datafusion.execution.batch_size = 1", "a query only reads"),
        ] {
            let asked = match session.ask(sql).await {
                Ok(answer) => answer.all().await.map(|_| ()),
                Err(error) => Err(error),
            };
            let error = asked.expect_err(sql);
            assert!(error.to_string().contains(words), "{sql}: {error}");
            assert_eq!(error.exit_code(), 2, "{sql}: {error}");
        }
        let gone = std::fs::read_dir(folder.path().join("segments")).unwrap();
        gone.for_each(|file| std::fs::remove_file(file.unwrap().path()).unwrap());
        let answer = session.ask("select max(value) from points").await.unwrap().all().await;
        let error = answer.unwrap_err();
        assert!(matches!(error, QueryError::Read(_)), "{error}");
        assert!(error.to_string().contains("fsck"), "{error}");
    });
}

fn query(place: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark-history-query"));
    command.args(["--from", place]).args(arguments).output().unwrap()
}

#[test]
fn the_program_writes_every_format_and_ends_with_a_code() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::folder(folder.path()).unwrap();
    runtime().block_on(fill(&place));
    let place = folder.path().to_str().unwrap();
    let sql = "select op, count(*) as n from points group by op order by op";
    let said = |format: &str| {
        let output = query(place, &["--format", format, sql]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(said("csv"), "op,n\r\nrms_norm,66\r\nsoftmax,69\r\n");
    let rows = json!([{ "op": "rms_norm", "n": 66 }, { "op": "softmax", "n": 69 }]);
    assert_eq!(serde_json::from_str::<Value>(&said("json")).unwrap(), rows);
    let lines: Vec<Value> =
        said("jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(Value::Array(lines), rows);
    let table = said("table");
    assert!(table.contains("rms_norm") && table.contains("66"), "{table}");
    let failed = query(place, &["select * from nowhere"]);
    assert_eq!(failed.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&failed.stderr).contains("there is no table `nowhere`"));
    assert_eq!(query("/nowhere/at/all", &["select 1"]).status.code(), Some(2));
}
