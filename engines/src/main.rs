//! Asks Ballista, with two executors on the loopback device, questions about a table of Parquet
//! files: `proofmark-engines QUERIES SERIES FILE…`. Each answer is a line of JSON.

use ballista::prelude::SessionContextExt;
use ballista_core::serde::BallistaCodec;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use datafusion::arrow::array::RecordBatch;
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use serde_json::{Value, json};
use std::error::Error;
use std::time::{Duration, Instant};

/// Executors, each with one task at a time.
const EXECUTORS: usize = 2;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [queries, series, files @ ..] = arguments.as_slice() else {
        return Err("give QUERIES SERIES FILE…".into());
    };
    let context = connect().await?;
    let points = context.read_parquet(files.to_vec(), ParquetReadOptions::default()).await?;
    context.register_table("points", points.into_view())?;
    for (number, query) in std::fs::read_to_string(queries)?.split(';').enumerate() {
        let query = query.trim().replace("{series}", series);
        if query.is_empty() {
            continue;
        }
        let mut seconds = Vec::new();
        let mut rows = Value::Null;
        for _ in 0..3 {
            let began = Instant::now();
            let batches = context.sql(&query).await?.collect().await?;
            seconds.push(began.elapsed().as_secs_f64());
            rows = to_json(&batches)?;
        }
        println!("{}", json!({ "query": number, "seconds": seconds, "rows": rows }));
    }
    Ok(())
}

/// A scheduler and its executors, which talk by gRPC over loopback as they would over a network.
async fn connect() -> Result<SessionContext, Box<dyn Error>> {
    let address = ballista_scheduler::standalone::new_standalone_scheduler().await?;
    let url = format!("http://localhost:{}", address.port());
    for _ in 0..EXECUTORS {
        let scheduler = loop {
            match SchedulerGrpcClient::connect(url.clone()).await {
                Ok(scheduler) => break scheduler,
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        };
        let codec = BallistaCodec::default();
        ballista_executor::new_standalone_executor(scheduler, 1, codec).await?;
    }
    Ok(SessionContext::remote(&format!("df://localhost:{}", address.port())).await?)
}

fn to_json(batches: &[RecordBatch]) -> Result<Value, Box<dyn Error>> {
    let mut writer = arrow_json::ArrayWriter::new(Vec::new());
    writer.write_batches(&batches.iter().collect::<Vec<_>>())?;
    writer.finish()?;
    let bytes = writer.into_inner();
    Ok(if bytes.is_empty() { json!([]) } else { serde_json::from_slice(&bytes)? })
}
