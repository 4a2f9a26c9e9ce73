//! Measures a history beside bare DataFusion on the same files: `beside PLACE [copy]`.
//!
//! With `copy`, the inbox is first copied by DataFusion into one sorted Parquet file, then
//! compacted, and both are timed. Then one series and whole columns are read by the history, by its
//! SQL, and by DataFusion with a plain list of the same files; tries take turns.
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a program that measures")]

use datafusion::common::config::TableParquetOptions;
use datafusion::dataframe::DataFrameWriteOptions;
use datafusion::error::Result;
use datafusion::prelude::{ParquetReadOptions, SessionContext, col};
use proofmark_history::compact::{Options, compact};
use proofmark_history::{Place, SeriesId, Snapshot};
use proofmark_history_query::Session;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// Tries of each question, after one that warms caches.
const TRIES: usize = 21;

#[tokio::main]
async fn main() -> std::result::Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, rest @ ..] = arguments.as_slice() else {
        return Err("give PLACE [copy]".into());
    };
    let place = Place::parse(folder)?;
    if rest.first().is_some_and(|word| word == "copy") {
        let copied = copy(Path::new(folder)).await?;
        let began = Instant::now();
        let options = Options { all: true, ..Options::at(SystemTime::now()) };
        let done = compact(&place, options).await?;
        let seconds = began.elapsed().as_secs_f64();
        println!("compaction: {:.2} s, {} rows, {} segments", seconds, done.rows, done.segments);
        println!("compaction / sorted copy: {:.3}", seconds / copied);
    }
    let snapshot = Arc::new(Snapshot::load(&place).await?);
    let rows: u64 = snapshot.segments().map(|segment| segment.stats.num_records).sum();
    let bytes: u64 = snapshot.segments().map(|segment| segment.size).sum();
    let files: Vec<String> =
        snapshot.segments().map(|segment| format!("{folder}/{}", segment.path)).collect();
    println!(
        "{rows} rows in {} segments, {:.2} bytes a row",
        files.len(),
        bytes as f64 / rows as f64
    );
    let bare = SessionContext::new();
    let points = bare.read_parquet(files, ParquetReadOptions::default()).await?;
    bare.register_table("points", points.into_view())?;
    let session = Session::new(Arc::clone(&snapshot))?;
    let all = snapshot.series().await?;
    let id = all[all.len() / 2].id;
    one_series(&snapshot, &session, &bare, id).await?;
    for sql in [
        "select count(value), sum(value), max(high), min(low) from points",
        "select op, contender, count(*), avg(value) from points group by op, contender",
    ] {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..7 {
            ours.push(timed(session.ask(sql).await?.all()).await?);
            theirs.push(timed(async { bare.sql(sql).await?.collect().await }).await?);
        }
        say(sql, &mut ours, &mut theirs);
    }
    Ok(())
}

/// The points of one series by the reader of the history, by its SQL, and by the bare engine.
async fn one_series(
    snapshot: &Snapshot,
    session: &Session,
    bare: &SessionContext,
    id: SeriesId,
) -> std::result::Result<(), Box<dyn Error>> {
    let sql = format!("select * from points where series = '{id}' order by commit_time, run");
    let (mut reader, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    let mut points = 0;
    for _ in 0..=TRIES {
        let began = Instant::now();
        points = snapshot.points(id).await?.len();
        reader.push(began.elapsed().as_secs_f64());
        let began = Instant::now();
        session.ask(&sql).await?.all().await?;
        ours.push(began.elapsed().as_secs_f64());
        theirs.push(timed(async { bare.sql(&sql).await?.collect().await }).await?);
    }
    println!("one series of {points} points, {TRIES} tries, medians:");
    say("  reader of the history", &mut reader, &mut theirs.clone());
    say("  SQL", &mut ours, &mut theirs);
    Ok(())
}

async fn timed<T, E>(
    work: impl Future<Output = std::result::Result<T, E>>,
) -> std::result::Result<f64, E> {
    let began = Instant::now();
    work.await?;
    Ok(began.elapsed().as_secs_f64())
}

/// Medians of ours and of the bare engine, without the first try.
fn say(what: &str, ours: &mut Vec<f64>, bare: &mut Vec<f64>) {
    let median = |times: &mut Vec<f64>| {
        times.remove(0);
        times.sort_by(f64::total_cmp);
        1e3 * times[times.len() / 2]
    };
    let (ours, bare) = (median(ours), median(bare));
    println!("{what}: {ours:.2} ms, bare DataFusion {bare:.2} ms, ratio {:.3}", ours / bare);
}

/// A sorted copy of the inbox as one file, by DataFusion alone; its seconds.
async fn copy(folder: &Path) -> Result<f64> {
    let context = SessionContext::new();
    let inbox = folder.join("inbox");
    let out = folder.with_extension("copy.parquet");
    let began = Instant::now();
    let points =
        context.read_parquet(inbox.display().to_string(), ParquetReadOptions::default()).await?;
    let order = ["series", "commit_time", "run"].map(|name| col(name).sort(true, false));
    let mut options = TableParquetOptions::default();
    options.global.compression = Some("zstd(3)".to_owned());
    let write = DataFrameWriteOptions::new().with_single_file_output(true);
    let to = out.display().to_string();
    points.sort(order.to_vec())?.write_parquet(&to, write, Some(options)).await?;
    let seconds = began.elapsed().as_secs_f64();
    let bytes = std::fs::metadata(&out)?.len();
    println!("sorted copy by DataFusion: {seconds:.2} s, {bytes} bytes");
    std::fs::remove_file(&out)?;
    Ok(seconds)
}
