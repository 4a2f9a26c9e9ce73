//! `append --to http://…`: a run is uploaded to a server.

use super::exit;
use proofmark_history::output::{print, say};
use proofmark_history::serve::upload::Upload;
use proofmark_history::{HistoryError, RunObject};
use std::time::Duration;

/// How often a run is sent whose fate is not known. The same run again changes nothing.
const TRIES: u32 = 6;

/// Whether a key can be sent there without others reading it.
fn is_private(server: &str) -> bool {
    let Ok(address) = reqwest::Url::parse(server) else { return false };
    let name = address.host_str().unwrap_or("").trim_matches(['[', ']']);
    let is_loopback = name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
    address.scheme() == "https" || name == "localhost" || is_loopback
}

/// Uploads a run, until the server says that it is stored.
pub(super) async fn send(server: &str, key: &str, object: &RunObject) -> Result<u8, HistoryError> {
    let failed = |what: String| HistoryError::Usage(format!("{server}: {what}"));
    if !is_private(server) {
        let what = "the key would be sent unencrypted to another machine; use `https://`";
        return Err(failed(what.to_owned()));
    }
    let body = serde_json::to_vec(&Upload::of(object))
        .map_err(|error| failed(format!("the run has no JSON: {error}")))?;
    let client = reqwest::Client::builder()
        .timeout(Duration::from_secs(120))
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|error| failed(error.to_string()))?;
    let address = format!("{}/v1/runs", server.trim_end_matches('/'));
    let mut pause = Duration::from_millis(500);
    for tries_left in (0..TRIES).rev() {
        let sent = client.post(&address).bearer_auth(key).body(body.clone()).send().await;
        let what = match sent {
            Ok(answer) if answer.status().is_success() => {
                let points = object.rows().len();
                say(&format!("run {} is stored by {server}: {points} points", object.run().id));
                print(&answer.text().await.unwrap_or_default())?;
                return Ok(exit::PASS);
            }
            Ok(answer) => {
                let status = answer.status();
                let text = answer.text().await.unwrap_or_default();
                let why: Option<serde_json::Value> = serde_json::from_str(&text).ok();
                let why = why.and_then(|why| why["error"].as_str().map(str::to_owned));
                let what = format!("{status}: {}", why.unwrap_or_default());
                if status.is_client_error() && status.as_u16() != 429 && status.as_u16() != 408 {
                    return Err(failed(what));
                }
                what
            }
            Err(error) => error.to_string(),
        };
        if tries_left == 0 {
            return Err(failed(format!("{what}; append the run again later")));
        }
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
    unreachable!("the last try returns")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_leaves_the_machine_only_encrypted() {
        for server in
            ["https://a.example", "http://127.0.0.1:8417", "http://localhost/", "http://[::1]:1"]
        {
            assert!(is_private(server), "{server}");
        }
        for server in
            ["http://a.example", "http://10.0.0.1:8417", "http://127.0.0.1@a.example/", "x"]
        {
            assert!(!is_private(server), "{server}");
        }
    }
}
