//! What a listener hears while a run goes on.

use proofmark_schema::Outcome;
use proofmark_schema::record::Record;

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
        /// The contender.
        contender: String,
    },
    /// A contender has been judged, which is all that is asked of it.
    Judged {
        /// The contender and what it was judged on.
        what: String,
        /// The verdict.
        outcome: Outcome,
        /// How far the work is, where that is known.
        progress: Option<Done>,
    },
    /// A contender is not admitted to a race.
    Refused {
        /// The contender and the case.
        what: String,
        /// The verdict.
        outcome: Outcome,
    },
    /// The contenders of the item at hand are proven, and their race begins.
    Racing {
        /// How many there are.
        contenders: usize,
    },
    /// An item of the plan is begun.
    Item {
        /// Its number, from 1.
        number: usize,
        /// Items in all.
        of: usize,
        /// The case.
        case: String,
        /// Seconds that the rest is expected to take.
        seconds_left: f64,
    },
    /// An item of the plan has ended.
    Ended {
        /// Its results.
        records: &'a [Record],
    },
    /// An installer has printed a line.
    Installing {
        /// The line.
        line: &'a str,
    },
    /// Something worth saying.
    Note(String),
}

/// How far work is.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// Parts that are done.
    pub parts: usize,
    /// Parts in all.
    pub of: usize,
    /// Seconds that the rest is expected to take.
    pub seconds_left: f64,
}

/// Hears events; called between measurements, never during one, from one thread at a time.
pub trait Listener: Sync {
    /// One event.
    fn hear(&self, event: &Event<'_>);
}

impl Listener for () {
    fn hear(&self, _event: &Event<'_>) {}
}
