//! `proofmark-history serve` as a client meets it: a real process on a loopback address.
#![expect(clippy::disallowed_methods, reason = "processes are started, killed and timed here")]

mod support;
mod tokens;

use proofmark_history::serve::access::AccessFile;
use proofmark_history::{Snapshot, append_event, detect, fsck, quarantine};
use proofmark_stats::Stream;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};
use support::{Made, Server, ask, get, json, key, post, post_head, run, try_post, wait};

/// A number from the environment, or a small one.
fn sized(name: &str, small: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(small)
}

#[test]
fn an_upload_is_stored_once_and_only_with_a_key() {
    let made = Made::new();
    let server = made.serve(&[]);
    let body = json(&run(1));
    let first = post(server.address, &made.key, &body);
    assert_eq!(first.status, 200, "{first:?}");
    let again = post(server.address, &made.key, &body);
    assert_eq!((again.status, &again.body), (200, &first.body), "the same run again");
    for wrong in ["", "x", "proofmark_run_00", &made.key[..30], &format!("{}0", made.key)] {
        assert_eq!(post(server.address, wrong, &json(&run(2))).status, 401, "{wrong}");
    }
    let mut foreign = run(3);
    for point in &mut foreign.points {
        point.key.op = "matmul".to_owned();
        point.key.case = "matmul:f32[m=1,n=1,k=1]".to_owned();
    }
    foreign.points.truncate(1);
    let refused = post(server.address, &made.key, &json(&foreign));
    assert_eq!(refused.status, 403, "the key is for other ops: {refused:?}");
    assert_eq!(made.stored(), ["run00001"]);
    let mut file = AccessFile::read(Path::new(&made.access())).unwrap();
    file.keys[0].revoked = true;
    made.write(&file);
    assert_eq!(post(server.address, &made.key, &json(&run(4))).status, 401, "it was revoked");
    std::fs::write(made.access(), "{").unwrap();
    assert_eq!(post(server.address, &made.fork, &json(&run(5))).status, 503, "no file, no key");
    let read_only = Server::start(&made.path(), &[]);
    assert_eq!(post(read_only.address, &made.key, &body).status, 403);
}

#[test]
fn a_run_of_a_fork_counts_only_after_it_was_admitted() {
    let made = Made::new();
    let server = made.serve(&[]);
    let answer = post(server.address, &made.fork, &json(&run(3)));
    assert_eq!(answer.status, 200);
    assert!(answer.body.contains("\"quarantine\":true"), "{}", answer.body);
    assert!(made.stored().is_empty());
    assert_eq!(wait(quarantine::waiting(&made.place)).unwrap().len(), 1);
    let admitted = Command::new(env!("CARGO_BIN_EXE_proofmark-history"))
        .args(["admit", "run00003", "--to"])
        .arg(made.path())
        .status();
    assert!(admitted.unwrap().success());
    assert_eq!(made.stored(), ["run00003"]);
}

#[test]
fn a_body_that_is_no_run_is_refused() {
    let made = Made::new();
    let server = made.serve(&[]);
    let changed = |change: fn(&mut proofmark_history::serve::upload::Upload)| {
        let mut run = run(1);
        change(&mut run);
        json(&run)
    };
    let bodies = [
        Vec::new(),
        b"{}".to_vec(),
        vec![b'['; 100_000],
        changed(|run| run.points.clear()),
        changed(|run| run.points[0].value = Some(-1.0)),
        changed(|run| run.points[0].key.environment = "another".to_owned()),
        changed(|run| run.points[0].key.contender = "a\u{1b}[2J".to_owned()),
        changed(|run| run.points[0].key.op = "softplus".to_owned()),
        changed(|run| run.points[0].control = Some(-1.0)),
        changed(|run| run.run.id = "../../etc".to_owned()),
        changed(|run| run.run.branch = Some("x".repeat(600))),
    ];
    for (number, body) in bodies.iter().enumerate() {
        let answer = post(server.address, &made.key, body);
        assert_eq!(answer.status, 400, "{number}: {}", answer.body);
    }
    let large = post_head(server.address, &made.key, (16 << 20) + 1);
    assert_eq!(ask(server.address, large.as_bytes()).unwrap().status, 413, "before it is sent");
    let head =
        format!("POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(40_000));
    assert_eq!(ask(server.address, head.as_bytes()).unwrap().status, 431);
    assert!(made.stored().is_empty());
}

#[test]
fn a_key_that_uploads_too_often_is_told_to_wait() {
    let made = Made::new();
    let access = made.access();
    let server = Server::start(&made.path(), &["--access", &access, "--rate", "3"]);
    let statuses: Vec<u16> =
        (0..5).map(|n| post(server.address, &made.key, &json(&run(n))).status).collect();
    assert_eq!(statuses, [200, 200, 200, 429, 429]);
    assert_eq!(post(server.address, &made.fork, &json(&run(9))).status, 200, "another key");
}

#[test]
fn an_address_that_others_reach_is_refused() {
    let made = Made::new();
    let tried = Command::new(env!("CARGO_BIN_EXE_proofmark-history"))
        .arg("serve")
        .arg(made.path())
        .args(["--listen", "0.0.0.0:0"])
        .output()
        .unwrap();
    assert_eq!(tried.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&tried.stderr).contains("--allow-remote"));
    let server = Server::start(&made.path(), &[]);
    let foreign = b"GET / HTTP/1.1\r\nHost: attacker.example\r\nConnection: close\r\n\r\n";
    assert_eq!(ask(server.address, foreign).unwrap().status, 421);
}

/// Every file of a folder with its content.
fn content(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(content(&path));
        } else {
            let bytes = std::fs::read(&path).unwrap();
            all.push((path, bytes));
        }
    }
    all.sort();
    all
}

#[test]
fn pages_show_the_series_change_nothing_and_run_nothing_that_data_say() {
    let made = Made::new();
    let found = wait(async {
        for number in 0..60 {
            let object = run(number).object().unwrap();
            proofmark_history::append(&made.place, &object).await.unwrap();
        }
        let snapshot = Snapshot::load(&made.place).await.unwrap();
        let found =
            detect::detect(&snapshot, &detect::Options::default(), 1, "test").await.unwrap();
        for event in &found.events {
            append_event(&made.place, event).await.unwrap();
        }
        found
    });
    let before = content(&made.path());
    let server = Server::start(&made.path(), &[]);
    let (id, alert) = (key(64).id().unwrap(), &found.events[0].alert);
    let paths = [
        "/".to_owned(),
        "/index.html?q=%3Cb%3E%22".to_owned(),
        "/alerts.html".to_owned(),
        "/machines.html".to_owned(),
        "/beside.html?a=0123456789abcdef&b=%3Cscript%3E".to_owned(),
        "/quarantine.html".to_owned(),
        format!("/series-{id}.html?at=%3Cscript%3E"),
        format!("/{alert}.html"),
    ];
    for path in &paths {
        let answer = get(server.address, path);
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.head.contains("default-src 'none'"), "{}", answer.head);
        assert!(answer.head.contains("nosniff"), "{}", answer.head);
        for markup in ["<b>native", "<script>", "<b>\""] {
            assert!(!answer.body.contains(markup), "{path}: {markup}");
        }
        for link in answer.body.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let is_here = link.starts_with('#') || link.starts_with("data:");
            let address = format!("/{}", link.replace("&amp;", "&"));
            assert!(is_here || get(server.address, &address).status == 200, "{path}: {link}");
        }
    }
    let list = get(server.address, "/index.html?q=D%3D64+softmax").body;
    assert!(list.contains("d=64") && !list.contains("d=65"));
    let page = get(server.address, &format!("/series-{id}.html?at=run00031")).body;
    assert!(page.contains("class=\"where up\"") && page.contains(alert.as_str()));
    assert!(page.contains("It is point 32 of 60"));
    for missing in ["/series-00.html", "/series-../../etc/passwd", "/alert-x.html", "/nothing"] {
        assert_eq!(get(server.address, missing).status, 404, "{missing}");
    }
    assert_eq!(get(server.address, "/healthz").body, "ok\n");
    assert_eq!(content(&made.path()), before, "a server without keys writes nothing");
    // What is appended by another process shows up.
    let object = run(60).object().unwrap();
    wait(proofmark_history::append(&made.place, &object)).unwrap();
    let began = Instant::now();
    while !get(server.address, "/").body.contains("<b>61</b>") {
        assert!(began.elapsed() < Duration::from_secs(40), "the view was not refreshed");
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// Uploads while the server is killed at random: what is acknowledged is stored, and once. CI does
/// 60; `PROOFMARK_UPLOADS=1000` does more.
#[test]
fn what_is_acknowledged_is_stored_however_often_the_server_is_killed() {
    let count = sized("PROOFMARK_UPLOADS", 60);
    let made = Made::new();
    let address: RwLock<SocketAddr> = RwLock::new(([127, 0, 0, 1], 1).into());
    let (next, tries, is_done) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let acknowledged = Mutex::new(Vec::new());
    let mut kills = 0;
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= count {
                            break;
                        }
                        let body = json(&run(number));
                        loop {
                            tries.fetch_add(1, Ordering::Relaxed);
                            let at = *address.read().unwrap();
                            match try_post(at, &made.key, &body) {
                                Some(answer) if answer.status == 200 => break,
                                Some(answer) => panic!("{answer:?}"),
                                None => std::thread::sleep(Duration::from_millis(5)),
                            }
                        }
                        acknowledged.lock().unwrap().push(format!("run{number:05}"));
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            let mut random = Stream::new(41);
            while !is_done.load(Ordering::Relaxed) {
                let server = made.serve(&[]);
                *address.write().unwrap() = server.address;
                let life = Duration::from_micros((random.uniform() * 200_000.0) as u64);
                std::thread::sleep(life);
                server.kill();
                kills += 1;
            }
        });
        for client in clients {
            client.join().unwrap();
        }
        is_done.store(true, Ordering::Relaxed);
    });
    let mut acknowledged = acknowledged.into_inner().unwrap();
    acknowledged.sort();
    assert_eq!(acknowledged.len(), count);
    assert_eq!(made.stored(), acknowledged, "each is there once, and nothing else is");
    assert!(wait(fsck::fsck(&made.place)).unwrap().is_sound());
    let tries = tries.into_inner();
    assert!(kills > 0 && tries > count, "{kills} kills, {tries} tries: nothing was tried");
    eprint(&format!("{count} uploads, {tries} tries, {kills} kills: stored = acknowledged"));
}

/// Says a figure, for whoever runs the large size.
fn eprint(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Slow connections of every kind, while honest clients upload. CI holds 200 for 3 seconds;
/// `PROOFMARK_SLOW=2000 PROOFMARK_SLOW_SECONDS=60` holds more.
#[test]
fn slow_connections_do_not_harm_honest_uploads() {
    let (count, seconds) = (sized("PROOFMARK_SLOW", 200), sized("PROOFMARK_SLOW_SECONDS", 3));
    let made = Made::new();
    // In the small size there are fewer places than slow connections, as in the large.
    let most = (count / 2).to_string();
    let server = made.serve(&["--connections", &most]);
    let is_done = AtomicBool::new(false);
    let (mut uploads, mut slowest) = (0, Duration::ZERO);
    let reconnects = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for part in 0..4 {
            let (made, server, is_done, reconnects) = (&made, &server, &is_done, &reconnects);
            scope.spawn(move || {
                let mut slow: Vec<TcpStream> = (part..count)
                    .step_by(4)
                    .filter_map(|n| begin_slowly(server, made, n))
                    .collect();
                while !is_done.load(Ordering::Relaxed) {
                    for (n, stream) in slow.iter_mut().enumerate() {
                        // One byte at a time; a connection that was closed is opened again.
                        let is_closed =
                            stream.write_all(b"x").is_err() || stream.read(&mut [0; 256]).is_ok();
                        if is_closed && let Some(new) = begin_slowly(server, made, n) {
                            reconnects.fetch_add(1, Ordering::Relaxed);
                            *stream = new;
                        }
                    }
                    std::thread::sleep(Duration::from_millis(500));
                }
            });
        }
        std::thread::sleep(Duration::from_millis(500));
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(seconds as u64) {
            let asked = Instant::now();
            let answer = try_post(server.address, &made.key, &json(&run(uploads)));
            let status = answer.as_ref().map(|answer| answer.status);
            if status != Some(200) {
                is_done.store(true, Ordering::Relaxed);
                panic!("upload {uploads} failed: {answer:?}");
            }
            slowest = slowest.max(asked.elapsed());
            uploads += 1;
            std::thread::sleep(Duration::from_millis(20));
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert_eq!(made.stored().len(), uploads);
    assert!(uploads >= 5 * seconds, "{uploads} uploads in {seconds} s");
    let (resident, reconnects) = (server.resident_mib(), reconnects.into_inner());
    assert!(reconnects > 0, "no slow connection was closed");
    assert!(resident < 300, "{resident} MiB");
    eprint(&format!(
        "{count} slow connections for {seconds} s, {reconnects} closed and opened again: {uploads} \
         of {uploads} uploads stored, the slowest in {slowest:?}, {resident} MiB resident"
    ));
}

/// A connection that has sent a part of something.
fn begin_slowly(server: &Server, made: &Made, number: usize) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(server.address).ok()?;
    let head = match number % 3 {
        0 => String::new(),
        1 => "GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ".to_owned(),
        _ => post_head(server.address, &made.fork, 9_000_000) + "{",
    };
    stream.write_all(head.as_bytes()).ok()?;
    stream.set_nonblocking(true).ok()?;
    Some(stream)
}
