//! Uploads: one run a request, answered after it is durable.

use super::access::{Access, Grant, Scope};
use super::connections::Busy;
use super::upload::Upload;
use super::{Shared, limits};
use crate::{RunObject, quarantine};
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body_util::BodyExt;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

/// An answer that says no.
pub(super) struct Refusal {
    status: StatusCode,
    why: String,
}

/// A refusal with what the client should do.
fn refuse(status: StatusCode, why: impl Into<String>) -> Refusal {
    Refusal { status, why: why.into() }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let json = serde_json::json!({ "error": self.why }).to_string();
        let mut response =
            (self.status, [(header::CONTENT_TYPE, "application/json")], json).into_response();
        let wait = match self.status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => Some("10"),
            _ => None,
        };
        if let Some(wait) = wait {
            response.headers_mut().insert(header::RETRY_AFTER, wait.parse().expect("a number"));
        }
        response
    }
}

/// What uploads share.
pub(super) struct Ingest {
    /// KiB of bodies that may still be held.
    held: Arc<Semaphore>,
    /// Uploads a minute of one holder.
    rate: u32,
    /// What each holder may still upload, and when that was computed.
    budgets: Mutex<HashMap<String, (f64, Instant)>>,
    /// Tokens that were used, with the hash of the body and the time at which they expire.
    used: Mutex<HashMap<String, (blake3::Hash, i64)>>,
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ingest {
    pub(super) fn new(rate: u32) -> Ingest {
        Ingest {
            held: Arc::new(Semaphore::new(limits::HELD_BYTES >> 10)),
            rate,
            budgets: Mutex::default(),
            used: Mutex::default(),
        }
    }

    /// Takes one upload from the holder's budget, which a minute fills.
    fn take(&self, holder: &str) -> bool {
        let (now, most) = (Instant::now(), f64::from(self.rate));
        let mut budgets = locked(&self.budgets);
        budgets
            .retain(|_, (left, since)| *left + most * since.elapsed().as_secs_f64() / 60.0 < most);
        let (left, since) = budgets.entry(holder.to_owned()).or_insert((most, now));
        *left = (*left + most * since.elapsed().as_secs_f64() / 60.0).min(most);
        *since = now;
        let may = *left >= 1.0;
        *left -= f64::from(u8::from(may));
        may
    }

    /// Uses a token for a body. It is good for one, which may be sent again.
    fn spend(&self, grant: &Grant, body: blake3::Hash, now: i64) -> bool {
        let Some((token, expires)) = &grant.token else { return true };
        let mut used = locked(&self.used);
        used.retain(|_, (_, expires)| now <= *expires + 60);
        used.entry(token.clone()).or_insert((body, *expires)).0 == body
    }
}

/// `POST /v1/runs`.
pub(super) async fn upload(
    State(shared): State<Arc<Shared>>,
    Extension(busy): Extension<Busy>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let Some(path) = &shared.options.access else {
        let why = "this server takes no uploads: start it with `--access FILE`";
        return Err(refuse(StatusCode::FORBIDDEN, why));
    };
    // The file is read anew, so that a key that was revoked is refused at once.
    let access = Access::read(path).map_err(|_| {
        refuse(StatusCode::SERVICE_UNAVAILABLE, "the server cannot read its file of keys")
    })?;
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = bearer.and_then(|value| value.strip_prefix("Bearer "));
    let now = (shared.options.clock)();
    let unknown = || refuse(StatusCode::UNAUTHORIZED, "give a valid key or token");
    let grant = bearer.and_then(|bearer| access.grant(bearer, now)).ok_or_else(unknown)?;
    if !shared.ingest.take(&grant.holder) {
        let why = format!("a key may upload {} runs a minute", shared.options.rate);
        return Err(refuse(StatusCode::TOO_MANY_REQUESTS, why));
    }
    let (bytes, held) = read(body, &headers, &shared.ingest.held).await?;
    let _busy = busy.begin();
    if !shared.ingest.spend(&grant, blake3::hash(&bytes), now) {
        return Err(refuse(StatusCode::UNAUTHORIZED, "the token was used for another run"));
    }
    // Reading JSON and writing Parquet is work for another thread.
    let parsed = tokio::task::spawn_blocking(move || {
        let _held = held;
        parse(&bytes)
    });
    let object = parsed.await.unwrap_or_else(|_| {
        Err(refuse(StatusCode::INTERNAL_SERVER_ERROR, "the run could not be read"))
    })?;
    if !grant.scope.covers(object.rows().iter().map(|row| row.key.op.as_str())) {
        let why = format!("the key is for `{}`, and the run has other ops", grant.scope);
        return Err(refuse(StatusCode::FORBIDDEN, why));
    }
    let place = &shared.options.place;
    let stored = match grant.scope {
        Scope::Append(_) => crate::append(place, &object).await,
        Scope::Quarantine => quarantine::append_apart(place, &object).await,
    };
    let stored = stored.map_err(|_| {
        let why = "the run could not be stored: send it again later";
        refuse(StatusCode::SERVICE_UNAVAILABLE, why)
    })?;
    shared.uploaded.notify_one();
    let json = serde_json::json!({
        "run": object.run().id,
        "object": stored.name,
        "points": stored.points,
        "quarantine": grant.scope == Scope::Quarantine,
    });
    Ok(([(header::CONTENT_TYPE, "application/json")], json.to_string()).into_response())
}

fn parse(bytes: &[u8]) -> Result<RunObject, Refusal> {
    let upload: Upload = serde_json::from_slice(bytes)
        .map_err(|error| refuse(StatusCode::BAD_REQUEST, format!("the body is no run: {error}")))?;
    upload.object().map_err(|error| refuse(StatusCode::BAD_REQUEST, error.to_string()))
}

/// The body, if it is small enough and comes fast enough.
async fn read(
    mut body: Body,
    headers: &HeaderMap,
    held: &Arc<Semaphore>,
) -> Result<(Bytes, Vec<OwnedSemaphorePermit>), Refusal> {
    let slow = || refuse(StatusCode::REQUEST_TIMEOUT, "the body came too slowly: send it again");
    let large = || refuse(StatusCode::PAYLOAD_TOO_LARGE, "a run has at most 16 MiB");
    let stated = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let stated: Option<usize> = stated.and_then(|value| value.parse().ok());
    if stated.is_some_and(|length| length > limits::BODY_BYTES) {
        return Err(large());
    }
    let start = Instant::now();
    let (mut bytes, mut permits) = (Vec::new(), Vec::new());
    loop {
        let frame = match timeout(limits::BODY_IDLE, body.frame()).await {
            Err(_) => return Err(slow()),
            Ok(None) => return Ok((Bytes::from(bytes), permits)),
            Ok(Some(Err(_))) => {
                return Err(refuse(StatusCode::BAD_REQUEST, "the body broke off: send it again"));
            }
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > limits::BODY_BYTES {
            return Err(large());
        }
        let kib = |bytes: usize| bytes.div_ceil(1 << 10);
        let more = kib(bytes.len() + data.len()) - kib(bytes.len());
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        let permit = Arc::clone(held).try_acquire_many_owned(more).map_err(|_| {
            let why = "too many uploads at a time: send it again in a few seconds";
            refuse(StatusCode::SERVICE_UNAVAILABLE, why)
        })?;
        permits.push(permit);
        bytes.extend_from_slice(&data);
        let taken = start.elapsed();
        let is_trickle =
            taken.as_secs() > 10 && (bytes.len() as u64) < taken.as_secs() * limits::BODY_RATE;
        if is_trickle || taken > limits::BODY_TIME {
            return Err(slow());
        }
    }
}
