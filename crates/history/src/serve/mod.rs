//! A dashboard of a history over HTTP, and uploads.
//!
//! The server keeps a view of the history in memory and renders pages from it. It writes nothing
//! unless uploads are allowed. Whatever a client sends is bounded: see [`limits`].

pub mod access;
mod answer;
mod connections;
mod ingest;
pub mod token;
pub mod upload;

use crate::site::{Stamp, View};
use crate::{HistoryError, Place};
use ingest::Ingest;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore, watch};

/// What a client may take of the server.
pub mod limits {
    use std::time::Duration;

    /// Until the head of a request is complete.
    pub const HEADER_TIME: Duration = Duration::from_secs(10);
    /// Bytes of the head of a request.
    pub const HEADER_BYTES: usize = 16 << 10;
    /// Bytes of a body.
    pub const BODY_BYTES: usize = 16 << 20;
    /// Between two pieces of a body.
    pub const BODY_IDLE: Duration = Duration::from_secs(10);
    /// Until a body is complete.
    pub const BODY_TIME: Duration = Duration::from_secs(120);
    /// The least bytes a second of a body, after the first ten seconds.
    pub const BODY_RATE: u64 = 1 << 10;
    /// Bytes of all bodies that are held at a time.
    pub const HELD_BYTES: usize = 128 << 20;
    /// Until a page is made.
    pub const PAGE_TIME: Duration = Duration::from_secs(30);
    /// Pages that are made at a time.
    pub const PAGES: usize = 4;
    /// The life of a connection, which also bounds how slowly an answer is read.
    pub const CONNECTION_TIME: Duration = Duration::from_secs(300);
}

/// How long the server waits before it looks at the history again.
const REFRESH: Duration = Duration::from_secs(5);

/// The same while runs are uploaded.
const REFRESH_UPLOADS: Duration = Duration::from_secs(2);

/// What a server serves.
#[derive(Clone, Debug)]
pub struct Options {
    /// The history.
    pub place: Place,
    /// File of keys and issuers; without one, nothing can be uploaded.
    pub access: Option<PathBuf>,
    /// Connections at a time.
    pub connections: usize,
    /// Uploads a minute of one key.
    pub rate: u32,
    /// Whether the server answers under any name, and not only under those of this machine.
    pub any_host: bool,
    /// Seconds since 1970.
    pub clock: fn() -> i64,
}

/// What all requests share.
struct Shared {
    options: Options,
    /// The view of the history; what is wrong with it, if it could never be read; `None` before.
    view: watch::Sender<Option<Result<Arc<View>, String>>>,
    pages: Arc<Semaphore>,
    ingest: Ingest,
    uploaded: Notify,
}

impl Shared {
    /// The view of the history, as soon as there is one.
    async fn view(&self) -> Result<Arc<View>, String> {
        let mut view = self.view.subscribe();
        let view = view.wait_for(Option::is_some).await.map_err(|error| error.to_string())?;
        view.clone().unwrap_or_else(|| Err("it was not read yet".to_owned()))
    }
}

/// Serves until the process ends. Uploads are taken from the start; pages wait until the history
/// was read.
///
/// # Errors
/// If the place is no history.
pub async fn serve(listener: TcpListener, options: Options) -> Result<(), HistoryError> {
    options.place.check().await?;
    let most = options.connections;
    let shared = Arc::new(Shared {
        ingest: Ingest::new(options.rate),
        options,
        view: watch::Sender::new(None),
        pages: Arc::new(Semaphore::new(limits::PAGES)),
        uploaded: Notify::new(),
    });
    let (refreshed, handle) = (Arc::clone(&shared), tokio::runtime::Handle::current());
    reader(move || handle.block_on(refresh(&refreshed)));
    connections::accept(&listener, answer::router(shared), most).await
}

/// Starts the thread that reads the history: a large one must not keep connections waiting.
#[expect(clippy::disallowed_methods, reason = "no work is split: the thread waits, and reads")]
fn reader(read: impl FnOnce() + Send + 'static) {
    std::thread::spawn(read);
}

/// Reads the history, and again when something was appended. While it cannot be read, the view
/// stays as it is.
async fn refresh(shared: &Shared) {
    let place = &shared.options.place;
    loop {
        let present = shared.view.borrow().clone();
        let is_current = match &present {
            Some(Ok(view)) => Stamp::of(place).await.is_ok_and(|stamp| stamp == view.stamp),
            _ => false,
        };
        if !is_current {
            match (View::load(place).await, present) {
                (Ok(view), _) => drop(shared.view.send_replace(Some(Ok(Arc::new(view))))),
                (Err(_), Some(Ok(_))) => {}
                (Err(error), _) => drop(shared.view.send_replace(Some(Err(error.to_string())))),
            }
        }
        tokio::time::sleep(REFRESH_UPLOADS).await;
        let _ = tokio::time::timeout(REFRESH, shared.uploaded.notified()).await;
    }
}
