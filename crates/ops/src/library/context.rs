//! Where calls run.

use proofmark_tensor::Pool;
use std::io;
use std::sync::Arc;

/// The threads that calls may use. A program needs one; clones share its threads.
///
/// ```
/// use proofmark_ops::{Context, softmax};
///
/// let context = Context::with_threads(2)?;
/// let mut y = [0.0f32; 2];
/// softmax::softmax(&context, &[1.0f32, 1.0], &mut y)?;
/// assert_eq!(y, [0.5, 0.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Context {
    pool: Arc<Pool>,
}

impl Context {
    /// Calls use the calling thread alone.
    pub fn serial() -> Context {
        Context { pool: Arc::new(Pool::serial()) }
    }

    /// Calls use up to `threads` threads, the calling one included. The others sleep between
    /// calls. Two threads that call at the same time take turns.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn with_threads(threads: usize) -> io::Result<Context> {
        Ok(Context { pool: Arc::new(Pool::try_new(threads)?) })
    }

    /// As [`Context::with_threads`], with as many threads as this process may run at once.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn new() -> io::Result<Context> {
        Context::with_threads(std::thread::available_parallelism()?.get())
    }

    /// Threads that a call may use.
    pub fn threads(&self) -> usize {
        self.pool.max_threads()
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }
}
