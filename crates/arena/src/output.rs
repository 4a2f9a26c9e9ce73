//! What a worker prints: drained without blocking, the end of it kept.

use rustix::fd::OwnedFd;
use rustix::pipe::{PipeFlags, pipe_with};
use std::collections::VecDeque;
use std::io;

/// Bytes of output kept.
const TAIL_BYTES: usize = 64 * 1024;
/// Maximum number of bytes taken at once, so that a flood cannot hold up the supervisor.
const GULP_BYTES: usize = 1 << 20;

/// The reading end of a worker's output.
#[derive(Debug)]
pub(crate) struct Output {
    pipe: OwnedFd,
    tail: VecDeque<u8>,
    total: u64,
}

impl Output {
    /// The output and the end that the worker writes to.
    pub(crate) fn new() -> io::Result<(Output, OwnedFd)> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        // Only the reading end: a worker that prints into a full pipe waits, as with a terminal.
        rustix::io::ioctl_fionbio(&read, true)?;
        Ok((Output { pipe: read, tail: VecDeque::new(), total: 0 }, write))
    }

    /// Takes what is there; says whether anything was.
    pub(crate) fn drain(&mut self) -> bool {
        let before = self.total;
        let mut chunk = [0u8; 16 * 1024];
        while self.total - before < GULP_BYTES as u64 {
            match rustix::io::read(&self.pipe, &mut chunk) {
                Ok(0) => break,
                Ok(count) => self.keep(&chunk[..count]),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => break,
            }
        }
        self.total > before
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.tail.extend(bytes);
        let excess = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..excess);
    }

    /// Bytes that came so far.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The end of the output; says how much came before it.
    pub(crate) fn text(&mut self) -> String {
        let lost = self.total - self.tail.len() as u64;
        let text = String::from_utf8_lossy(self.tail.make_contiguous());
        if lost == 0 { text.into_owned() } else { format!("[{lost} bytes before]\n{text}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_flood_is_kept() {
        let (mut output, write) = Output::new().unwrap();
        assert!(!output.drain(), "an empty pipe does not block");
        for _ in 0..40 {
            assert_eq!(rustix::io::write(&write, &[b'x'; 4096]).unwrap(), 4096);
            assert!(output.drain());
        }
        rustix::io::write(&write, b"the end").unwrap();
        drop(write);
        assert!(output.drain());
        let text = output.text();
        assert!(text.ends_with("xthe end"));
        let lost = 40 * 4096 + 7 - TAIL_BYTES;
        assert!(text.starts_with(&format!("[{lost} bytes before]\nx")));
        assert_eq!(text.split_once('\n').unwrap().1.len(), TAIL_BYTES);
    }
}
