//! Connections: how many there are, how long they may take, and which one has to go.

use super::limits;
use crate::HistoryError;
use axum::Router;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// Says of a connection that its request has arrived and is being answered.
#[derive(Clone, Debug, Default)]
pub(super) struct Busy(Arc<AtomicBool>);

impl Busy {
    /// The connection is busy until the guard is dropped.
    pub(super) fn begin(&self) -> BusyGuard {
        self.0.store(true, Ordering::Relaxed);
        BusyGuard(self.clone())
    }
}

pub(super) struct BusyGuard(Busy);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::Relaxed);
    }
}

/// The open connections, the oldest first.
#[derive(Default)]
struct Open(Mutex<BTreeMap<u64, (Option<AbortHandle>, Busy)>>);

impl Open {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, (Option<AbortHandle>, Busy)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for one more. The oldest connection that still waits for its client is closed. It
    /// belongs to a client that is slow on purpose, because any other is answered in milliseconds.
    fn make_room(&self, most: usize) -> bool {
        let mut open = self.lock();
        if open.len() < most {
            return true;
        }
        let is_idle = |busy: &Busy| !busy.0.load(Ordering::Relaxed);
        let oldest = open.iter().find(|(_, (task, busy))| task.is_some() && is_idle(busy));
        let Some(oldest) = oldest.map(|(number, _)| *number) else { return false };
        if let Some((Some(task), _)) = open.remove(&oldest) {
            task.abort();
        }
        true
    }
}

/// Removes a connection from the list, however it ends.
struct Listed {
    open: Arc<Open>,
    number: u64,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.open.lock().remove(&self.number);
    }
}

/// Accepts connections for ever.
pub(super) async fn accept(
    listener: &TcpListener,
    router: Router,
    most: usize,
) -> Result<(), HistoryError> {
    let open = Arc::new(Open::default());
    let mut number = 0;
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Most likely there are too many open files; connections end soon.
            open.make_room(0);
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        // All are busy: closing costs less than an answer.
        if !open.make_room(most) {
            continue;
        }
        number += 1;
        let busy = Busy::default();
        open.lock().insert(number, (None, busy.clone()));
        let listed = Listed { open: Arc::clone(&open), number };
        let router = router.clone();
        let task = tokio::spawn(async move {
            let _listed = listed;
            // A client that goes away is not an error of the server.
            let _ = tokio::time::timeout(limits::CONNECTION_TIME, one(stream, router, busy)).await;
        });
        if let Some((of, _)) = open.lock().get_mut(&number) {
            *of = Some(task.abort_handle());
        }
    }
}

async fn one(stream: TcpStream, router: Router, busy: Busy) -> Result<(), hyper::Error> {
    let _ = stream.set_nodelay(true);
    let service = TowerToHyperService::new(router);
    let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(busy.clone());
        service.call(request)
    });
    hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits::HEADER_TIME)
        .max_buf_size(limits::HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .await
}
