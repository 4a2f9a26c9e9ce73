//! A small object store that speaks enough of S3's protocol for these tests.
//!
//! Creating an object is exclusive at the file system, unless a [`Manner`] says otherwise. Faults
//! are injected into conditional writes by a seed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How the store treats the condition "only if it is not there".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// It is checked and fulfilled in one step.
    Exclusive,
    /// It is not looked at.
    Ignored,
    /// It is checked, and the object is written a moment later.
    CheckedThenWritten,
}

/// What the store saw and did.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) puts: AtomicU64,
    pub(crate) gets: AtomicU64,
    pub(crate) lists: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) faults: AtomicU64,
}

struct Shared {
    root: PathBuf,
    manner: Manner,
    /// Of 100 conditional writes, how many meet a fault.
    faults_percent: u64,
    random: AtomicU64,
    counts: Counts,
    is_closing: AtomicBool,
}

/// A running store. It ends when it is dropped.
pub(crate) struct Server {
    shared: Arc<Shared>,
    address: String,
}

impl Server {
    /// Starts a store that keeps its objects in a folder.
    pub(crate) fn start(root: &Path, manner: Manner, faults_percent: u64, seed: u64) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        fs::create_dir_all(root.join(".staged")).unwrap();
        let shared = Arc::new(Shared {
            root: root.to_owned(),
            manner,
            faults_percent,
            random: AtomicU64::new(seed),
            counts: Counts::default(),
            is_closing: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        std::thread::Builder::new()
            .spawn(move || {
                for stream in listener.incoming().flatten() {
                    if accepting.is_closing.load(Ordering::SeqCst) {
                        return;
                    }
                    let shared = Arc::clone(&accepting);
                    let serve = move || {
                        // A client that is killed closes its connection; nothing is lost by it.
                        let _ = shared.serve(&stream);
                    };
                    std::thread::Builder::new().spawn(serve).unwrap();
                }
            })
            .unwrap();
        Server { shared, address }
    }

    /// The variables that lead a client here.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AWS_ENDPOINT", format!("http://{}", self.address)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_SKIP_SIGNATURE", "true".to_owned()),
            ("AWS_REGION", "nowhere".to_owned()),
            ("AWS_TIMEOUT", "2s".to_owned()),
        ]
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.shared.counts
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.is_closing.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(&self.address);
    }
}

/// What happens to a conditional write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Status 409: two requests met, and this one did nothing.
    Conflict,
    /// Status 500, and nothing was done.
    ErrorBefore,
    /// Status 500, although the object was created.
    ErrorAfter,
    /// The connection ends without an answer, although the object was created.
    SilenceAfter,
    /// The answer comes after the client has given up, although the object was created.
    LateAfter,
}

struct Request {
    method: String,
    path: String,
    query: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Shared {
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        while let Some(request) = read_request(&mut reader)? {
            if !self.answer(&request, stream)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// A number that a seed and a count give.
    fn draw(&self) -> u64 {
        let mut z = self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::SeqCst);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn fault(&self) -> Option<Fault> {
        let draw = self.draw();
        if draw % 100 >= self.faults_percent {
            return None;
        }
        self.counts.faults.fetch_add(1, Ordering::SeqCst);
        let faults = [
            Fault::Conflict,
            Fault::ErrorBefore,
            Fault::ErrorAfter,
            Fault::SilenceAfter,
            Fault::Conflict,
            Fault::ErrorAfter,
            Fault::SilenceAfter,
            Fault::LateAfter,
        ];
        Some(faults[(draw >> 32) as usize % faults.len()])
    }

    /// Answers a request; whether the connection stays open.
    fn answer(&self, request: &Request, stream: &TcpStream) -> io::Result<bool> {
        // The first part of the path is the bucket.
        let key = request.path.trim_start_matches('/').split_once('/').map_or("", |(_, key)| key);
        let file = self.root.join(key);
        match request.method.as_str() {
            "PUT" => {
                self.counts.puts.fetch_add(1, Ordering::SeqCst);
                let is_conditional = request.headers.contains_key("if-none-match");
                assert!(is_conditional, "every object is created under the condition");
                let fault = self.fault();
                match fault {
                    Some(Fault::Conflict) => return reply(stream, 409, &[], CONFLICT),
                    Some(Fault::ErrorBefore) => return reply(stream, 500, &[], b""),
                    _ => {}
                }
                let is_created = self.create(&file, &request.body)?;
                match fault {
                    Some(Fault::ErrorAfter) => return reply(stream, 500, &[], b""),
                    Some(Fault::SilenceAfter) => return Ok(false),
                    Some(Fault::LateAfter) => std::thread::sleep(Duration::from_millis(2500)),
                    _ => {}
                }
                if is_created {
                    return reply(stream, 200, &[("ETag", "\"x\"".to_owned())], b"");
                }
                self.counts.refused.fetch_add(1, Ordering::SeqCst);
                reply(stream, 412, &[], b"")
            }
            "GET" if request.query.contains("list-type=2") => {
                self.counts.lists.fetch_add(1, Ordering::SeqCst);
                let body = self.listing(&request.query)?;
                reply(stream, 200, &[], body.as_bytes())
            }
            "GET" | "HEAD" => {
                self.counts.gets.fetch_add(1, Ordering::SeqCst);
                let Ok(bytes) = fs::read(&file) else {
                    return reply(stream, 404, &[], b"");
                };
                let headers = [
                    ("ETag", "\"x\"".to_owned()),
                    ("Last-Modified", "Wed, 18 Nov 2026 10:00:00 GMT".to_owned()),
                ];
                if request.method == "HEAD" {
                    return reply_with(stream, 200, &headers, bytes.len(), b"");
                }
                let Some((from, to)) = range(request, bytes.len()) else {
                    return reply(stream, 200, &headers, &bytes);
                };
                let [e_tag, modified] = headers;
                let part = format!("bytes {from}-{}/{}", to - 1, bytes.len());
                let headers = [e_tag, modified, ("Content-Range", part)];
                reply(stream, 206, &headers, &bytes[from..to])
            }
            "POST" => {
                let body = String::from_utf8_lossy(&request.body).into_owned();
                let mut answer = "<DeleteResult>".to_owned();
                for key in between(&body, "<Key>", "</Key>") {
                    let _ = fs::remove_file(self.root.join(key));
                    answer += &format!("<Deleted><Key>{key}</Key></Deleted>");
                }
                reply(stream, 200, &[], (answer + "</DeleteResult>").as_bytes())
            }
            _ => reply(stream, 405, &[], b""),
        }
    }

    /// Creates a file, as the store's manner is; whether it was created.
    fn create(&self, file: &Path, bytes: &[u8]) -> io::Result<bool> {
        let staged = self.root.join(".staged").join(format!("{:016x}", self.draw()));
        fs::write(&staged, bytes)?;
        fs::create_dir_all(file.parent().unwrap())?;
        let is_created = match self.manner {
            Manner::Exclusive => match fs::hard_link(&staged, file) {
                Ok(()) => true,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
                Err(error) => return Err(error),
            },
            Manner::Ignored => {
                fs::rename(&staged, file)?;
                true
            }
            Manner::CheckedThenWritten => {
                let is_there = file.exists();
                std::thread::sleep(Duration::from_millis(2));
                if !is_there {
                    fs::rename(&staged, file)?;
                }
                !is_there
            }
        };
        let _ = fs::remove_file(&staged);
        Ok(is_created)
    }

    fn listing(&self, query: &str) -> io::Result<String> {
        let prefix = query.split('&').find_map(|pair| pair.strip_prefix("prefix="));
        let prefix = prefix.unwrap_or_default().replace("%2F", "/");
        let mut found = Vec::new();
        walk(&self.root, &self.root, &mut found)?;
        found.retain(|(key, _)| key.starts_with(&prefix));
        found.sort();
        let mut body = "<ListBucketResult><IsTruncated>false</IsTruncated>".to_owned();
        for (key, size) in found {
            body += &format!(
                "<Contents><Key>{key}</Key><Size>{size}</Size>\
                 <LastModified>2026-11-18T10:00:00.000Z</LastModified></Contents>"
            );
        }
        Ok(body + "</ListBucketResult>")
    }
}

const CONFLICT: &[u8] = b"<Error><Code>ConditionalRequestConflict</Code></Error>";

fn walk(root: &Path, folder: &Path, found: &mut Vec<(String, u64)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if path.is_dir() {
            walk(root, &path, found)?;
        } else if let Ok(facts) = entry.metadata() {
            let key = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            found.push((key, facts.len()));
        }
    }
    Ok(())
}

fn between<'a>(text: &'a str, start: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(start).skip(1).filter_map(move |rest| rest.split(end).next())
}

/// The part of an object that is asked for.
fn range(request: &Request, length: usize) -> Option<(usize, usize)> {
    let (from, to) = request.headers.get("range")?.strip_prefix("bytes=")?.split_once('-')?;
    if from.is_empty() {
        return Some((length.saturating_sub(to.parse().ok()?), length));
    }
    let to = to.parse().map_or(length, |to: usize| (to + 1).min(length));
    Some((from.parse().ok()?, to))
}

fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => {
                headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
            }
            None => break,
        }
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    Ok(Some(Request { method, path, query, headers, body }))
}

fn reply(
    stream: &TcpStream,
    status: u16,
    headers: &[(&str, String)],
    body: &[u8],
) -> io::Result<bool> {
    reply_with(stream, status, headers, body.len(), body)
}

/// An answer that states a length; without a body it is one to HEAD.
fn reply_with(
    mut stream: &TcpStream,
    status: u16,
    headers: &[(&str, String)],
    length: usize,
    body: &[u8],
) -> io::Result<bool> {
    let mut text = format!("HTTP/1.1 {status} x\r\nContent-Length: {length}\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    let mut bytes = (text + "\r\n").into_bytes();
    bytes.extend_from_slice(body);
    stream.write_all(&bytes)?;
    Ok(true)
}
