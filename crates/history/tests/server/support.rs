//! A server in a process of its own, and clients that speak to it by plain sockets.

use proofmark_history::serve::access::{AccessFile, Key, Scope};
use proofmark_history::serve::upload::{Measured, Upload};
use proofmark_history::{Environment, Metric, Place, Run, SeriesKey, Snapshot, init};
use proofmark_schema::Outcome;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server process; it is killed when this is dropped.
pub(crate) struct Server {
    process: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts the program, and reads from it where it listens.
    pub(crate) fn start(place: &Path, more: &[&str]) -> Server {
        let mut process = Command::new(env!("CARGO_BIN_EXE_proofmark-history"))
            .arg("serve")
            .arg(place)
            .args(["--listen", "127.0.0.1:0"])
            .args(more)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(process.stderr.take().unwrap());
        said.read_line(&mut line).unwrap();
        let address = line.strip_prefix("http://").and_then(|rest| rest.split('/').next());
        let address = address.unwrap_or_else(|| panic!("{line}")).parse().unwrap();
        // The pipe stays open, so that the process can go on to say things.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Server { process, address }
    }

    /// `kill -9`.
    pub(crate) fn kill(mut self) {
        self.end();
    }

    /// Resident memory in MiB.
    pub(crate) fn resident_mib(&self) -> u64 {
        let path = format!("/proc/{}/status", self.process.id());
        let text = std::fs::read_to_string(path).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
    }

    fn end(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// A history in a folder, with a key for it and one for forks.
pub(crate) struct Made {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) place: Place,
    pub(crate) key: String,
    pub(crate) fork: String,
}

pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(future)
}

/// The clock of the tests.
pub(crate) fn seconds() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.unwrap().as_secs()).unwrap()
}

impl Made {
    pub(crate) fn new() -> Made {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::folder(&folder.path().join("history")).unwrap();
        wait(init(&place)).unwrap();
        let append = Scope::Append("soft".to_owned());
        let (key, stored) = Key::create("ci", append, seconds() + 3600).unwrap();
        let (fork, forks) = Key::create("forks", Scope::Quarantine, seconds() + 3600).unwrap();
        let made = Made { folder, place, key, fork };
        made.write(&AccessFile { keys: vec![stored, forks], issuers: Vec::new() });
        made
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("history")
    }

    pub(crate) fn access(&self) -> String {
        self.folder.path().join("access.json").to_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, file: &AccessFile) {
        file.write(Path::new(&self.access())).unwrap();
    }

    /// Starts a server that takes uploads.
    pub(crate) fn serve(&self, more: &[&str]) -> Server {
        let access = self.access();
        let words: Vec<&str> = ["--access", &access, "--rate", "1000000"]
            .into_iter()
            .chain(more.iter().copied())
            .collect();
        Server::start(&self.path(), &words)
    }

    /// Ids of the runs that count.
    pub(crate) fn stored(&self) -> Vec<String> {
        wait(async {
            let snapshot = Snapshot::load(&self.place).await.unwrap();
            assert!(snapshot.damaged().await.unwrap().is_empty());
            snapshot.runs().await.unwrap().into_iter().map(|run| run.id).collect()
        })
    }
}

pub(crate) fn key(d: usize) -> SeriesKey {
    SeriesKey {
        op: "softmax".to_owned(),
        case: format!("softmax:f32[rows=1,d={d}]"),
        contender: "<b>native</b>/simd".to_owned(),
        metric: Metric::Time,
        threads: 1,
        memory: "hot/4k".to_owned(),
        isolation: "T1".to_owned(),
        protocol: 1,
        environment: "0123456789abcdef".to_owned(),
    }
}

/// A run with two points; from run 30 on they are 10 % slower.
pub(crate) fn run(number: usize) -> Upload {
    let environment = Environment { class: key(0).environment, ..Environment::default() };
    let value = if number < 30 { 1000.0 } else { 1100.0 } + (number * 7 % 11) as f64;
    let measured = |d| Measured {
        key: key(d),
        outcome: Outcome::Proven,
        value: Some(value + d as f64),
        low: None,
        high: None,
        trials: 3,
        control: None,
        against: None,
        code: Some(format!("{number:016x}")),
        flags: 0,
    };
    Upload {
        run: Run {
            id: format!("run{number:05}"),
            started: number as i64,
            commit_time: 1_000_000 * number as i64,
            commit: Some(format!("{number:040x}")),
            environment,
            is_whole: true,
            ..Run::default()
        },
        points: (64..66).map(measured).collect(),
    }
}

pub(crate) fn json(upload: &Upload) -> Vec<u8> {
    serde_json::to_vec(upload).unwrap()
}

/// An answer.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Sends a request, and reads until the server closes. `None` if there is no whole answer.
pub(crate) fn ask(address: SocketAddr, request: &[u8]) -> Option<Answer> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(10)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
    // The server may answer before it has read all.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let text = String::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() })
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    ask(address, request.as_bytes()).unwrap()
}

pub(crate) fn post_head(address: SocketAddr, bearer: &str, length: usize) -> String {
    format!(
        "POST /v1/runs HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer \
         {bearer}\r\nContent-Length: {length}\r\n\r\n"
    )
}

pub(crate) fn try_post(address: SocketAddr, bearer: &str, body: &[u8]) -> Option<Answer> {
    let mut request = post_head(address, bearer, body.len()).into_bytes();
    request.extend_from_slice(body);
    ask(address, &request)
}

pub(crate) fn post(address: SocketAddr, bearer: &str, body: &[u8]) -> Answer {
    try_post(address, bearer, body).unwrap()
}
