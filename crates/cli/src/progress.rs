//! Progress on stderr: drawn between measurements, never during one.

use crate::output::{counted, say};
use proofmark_engine::{Done, Event, Listener};
use proofmark_report::{Span, reports};
use proofmark_schema::Outcome;
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::sync::Mutex;

/// Columns of a terminal that does not tell them.
const USUAL_COLUMNS: usize = 80;

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
    /// Characters of the line that is drawn.
    width: usize,
    /// The item at hand, if it is drawn on a terminal.
    item: Option<Item>,
    /// The notes so far. A command of many races would repeat them for each.
    notes: BTreeSet<String>,
}

struct Item {
    /// Its number, how many there are, and the time that is left.
    head: String,
    case: String,
    is_last: bool,
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
        let line = shortened(line, columns());
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

    /// Redraws the line of the item at hand with what is being done to it.
    fn redraw_item(&self, state: &mut State, doing: &str) {
        let line = match &state.item {
            Some(Item { head, case, .. }) => format!("{head}, {doing} on {case}"),
            None => doing.to_owned(),
        };
        self.redraw(state, &line);
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
            Event::Item { number, of, case, seconds_left } => {
                let left = Span(*seconds_left);
                if self.is_terminal {
                    let head = format!("[{number}/{of}] about {left} left");
                    self.redraw(&mut state, &format!("{head}, {case}"));
                    let is_last = number == of;
                    state.item = Some(Item { head, case: case.clone(), is_last });
                } else {
                    self.write(&mut state, &format!("[{number}/{of}] {case}, about {left} left"));
                }
            }
            Event::Ended { records } => {
                // The table of all results follows the last item.
                let has_others = state.item.as_ref().is_some_and(|item| !item.is_last);
                if let Some(line) = reports::line(records).filter(|_| has_others) {
                    self.write(&mut state, &line);
                }
            }
            Event::Certifying { contender } => {
                self.redraw_item(&mut state, &format!("proving {contender}"));
            }
            Event::Racing { contenders } => {
                let doing = format!("racing {}", counted(*contenders, "contender"));
                self.redraw_item(&mut state, &doing);
            }
            Event::Refused { what, outcome } => {
                // What an op or a library does not have is no news.
                if self.is_terminal && is_bad(*outcome) {
                    self.write(&mut state, &format!("{outcome}: {what}"));
                }
            }
            Event::Judged { what, outcome, progress } => {
                state.judged += 1;
                state.refused += usize::from(is_bad(*outcome));
                let refused = state.refused;
                let head = match progress {
                    Some(Done { parts, of, seconds_left }) => {
                        format!("[{parts}/{of}] about {} left", Span(*seconds_left))
                    }
                    None => format!("{} judged", state.judged),
                };
                self.redraw(&mut state, &format!("{head}, {refused} refused; {outcome} {what}"));
            }
            Event::Installing { line } if self.is_terminal => self.redraw(&mut state, line.trim()),
            Event::Installing { line } => self.write(&mut state, line.trim_end()),
            Event::Note(note) => {
                if state.notes.insert(note.clone()) {
                    self.write(&mut state, &format!("note: {note}"));
                }
            }
        }
    }
}

fn is_bad(outcome: Outcome) -> bool {
    !matches!(outcome, Outcome::Proven | Outcome::Unsupported)
}

/// Columns of the terminal on stderr. The last one stays empty, so that no line is broken.
fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok();
    let columns = size.map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0);
    columns.unwrap_or(USUAL_COLUMNS) - 1
}

/// The line, or its beginning if it is longer than a row.
fn shortened(line: &str, columns: usize) -> String {
    match line.char_indices().nth(columns) {
        None => line.to_owned(),
        Some(_) => line.chars().take(columns.saturating_sub(1)).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_keeps_its_beginning_where_the_time_stands() {
        let line = "[3/24] about 2 min left, proving native/simd on softmax";
        assert_eq!(shortened(line, 80), line);
        let short = shortened(line, 30);
        assert_eq!(short, "[3/24] about 2 min left, prov…");
        assert_eq!(short.chars().count(), 30);
    }
}
