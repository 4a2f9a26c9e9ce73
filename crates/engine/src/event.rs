//! What a listener hears while a run goes on.

use proofmark_schema::Outcome;

/// A step of a run.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// The run has an id and a place.
    Started {
        /// Its id.
        run: &'a str,
        /// Items to do.
        items: usize,
        /// Items found done.
        done: usize,
    },
    /// A contender is being examined on its op's portfolio.
    Certifying {
        /// Op, contender and element type in words.
        what: String,
    },
    /// A contender has been judged.
    Judged {
        /// The contender and what it was judged on.
        what: String,
        /// The verdict.
        outcome: Outcome,
    },
    /// An item is being raced.
    Racing {
        /// Its number, from 1.
        number: usize,
        /// Items in all.
        of: usize,
        /// The case.
        case: String,
        /// Seconds that the rest is expected to take.
        seconds_left: f64,
    },
    /// An installer has printed a line.
    Installing {
        /// The line.
        line: &'a str,
    },
    /// Something worth saying.
    Note(String),
}

/// Hears events; called between measurements, never during one, from one thread at a time.
pub trait Listener: Sync {
    /// One event.
    fn hear(&self, event: &Event<'_>);
}

impl Listener for () {
    fn hear(&self, _event: &Event<'_>) {}
}
