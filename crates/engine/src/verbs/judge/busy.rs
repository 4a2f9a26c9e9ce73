//! Deliberate load: threads that use processors while specimens are judged.

use crate::EngineError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

/// Busy threads; they end when this is dropped, and with the process in any case.
pub(super) struct Busy {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Busy {
    /// Starts `count` threads.
    pub(super) fn start(count: usize) -> Result<Busy, EngineError> {
        let mut busy = Busy { ends: Arc::new(AtomicBool::new(false)), threads: Vec::new() };
        for _ in 0..count {
            let ends = Arc::clone(&busy.ends);
            let body = move || {
                while !ends.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            };
            let started = Builder::new().name("load".to_owned()).spawn(body);
            let started = started.map_err(|error| EngineError::SelfTest {
                what: "threads that make load".to_owned(),
                said: error.to_string(),
            })?;
            busy.threads.push(started);
        }
        Ok(busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A loop that does nothing does not panic.
            let _ = thread.join();
        }
    }
}
