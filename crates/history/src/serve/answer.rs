//! Which request gets which answer, and the headers of every answer.

use super::connections::Busy;
use super::{Shared, ingest, limits};
use crate::site::{Host, SCRIPT, View, machines, pages, style};
use crate::{HistoryError, SeriesId};
use axum::Router;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use std::sync::Arc;
use tokio::time::timeout;

/// A page may load its style and script from here, and do nothing else.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src data:; script-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";

pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/page.css", get(|| async { typed("text/css; charset=utf-8", style()) }))
        .route("/page.js", get(|| async { typed("text/javascript; charset=utf-8", SCRIPT) }))
        .route("/v1/runs", post(ingest::upload))
        .fallback(page)
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), guarded))
        .with_state(shared)
}

fn typed(kind: &'static str, body: impl IntoResponse) -> Response {
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}

/// Answers only under names of this machine, unless that was allowed: another site must not read
/// the pages through the browser of somebody here. Every answer has the strict headers.
async fn guarded(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let mut response = if shared.options.any_host || is_local(request.headers()) {
        next.run(request).await
    } else {
        let why = "this name is not one of this machine; use `--allow-remote` to serve others\n";
        (StatusCode::MISDIRECTED_REQUEST, why).into_response()
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn is_local(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("");
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = address.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
    name.eq_ignore_ascii_case("localhost") || is_loopback
}

/// What an address may ask for.
#[derive(Debug, Default, Deserialize)]
struct Asked {
    #[serde(default)]
    q: String,
    #[serde(default)]
    at: String,
    #[serde(default)]
    a: String,
    #[serde(default)]
    b: String,
    #[serde(default)]
    page: usize,
}

/// Every page. Names are those of the files that `site` writes.
async fn page(
    State(shared): State<Arc<Shared>>,
    busy: Option<axum::Extension<Busy>>,
    method: axum::http::Method,
    uri: Uri,
) -> Response {
    if method != axum::http::Method::GET && method != axum::http::Method::HEAD {
        return (StatusCode::METHOD_NOT_ALLOWED, "pages are only read\n").into_response();
    }
    let Ok(Query(asked)) = Query::<Asked>::try_from_uri(&uri) else {
        return (StatusCode::BAD_REQUEST, "the address does not fit a page\n").into_response();
    };
    let _busy = busy.map(|axum::Extension(busy)| busy.begin());
    let name = uri.path().trim_start_matches('/').to_owned();
    let made = async {
        let permit = Arc::clone(&shared.pages).acquire_owned().await;
        let view = shared.view().await?;
        let handle = tokio::runtime::Handle::current();
        // Detection and drawing are work for another thread: uploads must not wait for them.
        tokio::task::spawn_blocking(move || {
            let _permit = permit;
            handle.block_on(made(&view, &name, &asked)).map_err(|error| error.to_string())
        })
        .await
        .unwrap_or_else(|error| Err(error.to_string()))
    };
    match timeout(limits::PAGE_TIME, made).await {
        Ok(Ok(Some(page))) => typed(HTML, page),
        Ok(Ok(None)) => {
            (StatusCode::NOT_FOUND, "there is no such page; begin at /\n").into_response()
        }
        Ok(Err(error)) => {
            let why = format!("the page cannot be made: {error}\n");
            (StatusCode::INTERNAL_SERVER_ERROR, why).into_response()
        }
        Err(_) => {
            let why = "the page took too long; ask again later\n";
            (StatusCode::SERVICE_UNAVAILABLE, why).into_response()
        }
    }
}

/// The page of a name, if there is one.
async fn made(view: &View, name: &str, asked: &Asked) -> Result<Option<String>, HistoryError> {
    Ok(Some(match name {
        "" | "index.html" => pages::list(view, Host::Server, &asked.q, asked.page).await?,
        "alerts.html" => pages::alerts(view),
        "machines.html" => machines::machines(view, Host::Server),
        "beside.html" => machines::beside(view, &asked.a, &asked.b, asked.page),
        "quarantine.html" => machines::quarantine(view),
        _ => {
            let id = name.strip_prefix("series-").and_then(|name| name.strip_suffix(".html"));
            let id: Option<SeriesId> = id.and_then(|id| id.parse().ok());
            if let Some(series) = id.and_then(|id| view.find(id)) {
                return Ok(Some(pages::series(view, Host::Server, series, &asked.at).await?));
            }
            let alert = view.alerts.iter().find(|alert| pages::alert_file(&alert.id) == name);
            return Ok(alert.map(|alert| pages::alert(view, alert)));
        }
    }))
}
