//! Progress on stderr: drawn between measurements, never during one.

use crate::output::{counted, say};
use proofmark_engine::{Event, Listener};
use proofmark_schema::Outcome;
use std::io::{IsTerminal, Write};
use std::sync::Mutex;

/// Tells a person how far the work is.
pub(crate) struct Progress {
    /// Redraws one line on a terminal; elsewhere only what matters is written.
    is_terminal: bool,
    quiet: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    judged: usize,
    refused: usize,
    width: usize,
}

impl Progress {
    /// For stderr as it is; `quiet` says nothing at all.
    pub(crate) fn new(quiet: bool) -> Progress {
        let is_terminal = std::io::stderr().is_terminal();
        Progress { is_terminal, quiet, state: Mutex::default() }
    }

    fn redraw(&self, state: &mut State, line: &str) {
        if !self.is_terminal || self.quiet {
            return;
        }
        let line: String = line.chars().take(78).collect();
        let width = line.chars().count();
        let blank = " ".repeat(state.width.saturating_sub(width));
        state.width = width;
        let _ = write!(std::io::stderr().lock(), "\r{line}{blank}");
    }

    fn write(&self, state: &mut State, line: &str) {
        if self.quiet {
            return;
        }
        self.redraw(state, "");
        if self.is_terminal {
            let _ = write!(std::io::stderr().lock(), "\r");
        }
        say(line);
    }

    /// Clears the line before results are printed.
    pub(crate) fn finish(&self) {
        let mut state = self.state.lock().expect("no listener panics");
        self.redraw(&mut state, "");
        if self.is_terminal && !self.quiet {
            let _ = write!(std::io::stderr().lock(), "\r");
        }
    }
}

impl Listener for Progress {
    fn hear(&self, event: &Event<'_>) {
        let mut state = self.state.lock().expect("no listener panics");
        match event {
            Event::Started { run, items, done: 0 } => {
                self.write(&mut state, &format!("run {run}: {}", counted(*items, "item")));
            }
            Event::Started { run, items, done } => {
                let line = format!("run {run}: {}, {done} already done", counted(*items, "item"));
                self.write(&mut state, &line);
            }
            Event::Certifying { what } => self.redraw(&mut state, &format!("proving {what}")),
            Event::Judged { what, outcome } => {
                state.judged += 1;
                let is_fine = matches!(outcome, Outcome::Proven | Outcome::Unsupported);
                state.refused += usize::from(!is_fine);
                let (judged, refused) = (state.judged, state.refused);
                let line = format!("{judged} judged, {refused} refused; last {what} {outcome}");
                self.redraw(&mut state, &line);
            }
            Event::Racing { number, of, case, seconds_left } => {
                let line = format!("[{number}/{of}] {case}, about {seconds_left:.0} s left");
                if self.is_terminal {
                    self.redraw(&mut state, &line);
                } else {
                    self.write(&mut state, &line);
                }
            }
            Event::Installing { line } if self.is_terminal => self.redraw(&mut state, line.trim()),
            Event::Installing { line } => self.write(&mut state, line.trim_end()),
            Event::Note(note) => self.write(&mut state, &format!("note: {note}")),
        }
    }
}
