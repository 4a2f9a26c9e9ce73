//! Metamorphic laws: what must hold between two runs, whatever the right answer is.

use crate::Values;
use proofmark_terms::Case;

/// One run of a contender as a law sees it.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// What it was given.
    pub inputs: &'a Values,
    /// What it wrote, decoded, one vector for each written operand.
    pub outputs: &'a [Vec<f64>],
}

/// A relation between the run on some inputs and the run on changed inputs.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// Its name in reports.
    pub name: &'static str,
    /// The relation in words.
    pub statement: &'static str,
    /// Changes the inputs; `false` if the law says nothing about this case. Values are rounded
    /// to their element types afterwards, so a change should keep them representable.
    pub change: fn(case: &Case, inputs: &mut Values, seed: u64) -> bool,
    /// Whether the relation holds; the error says where it breaks.
    pub holds: fn(case: &Case, before: Observed<'_>, after: Observed<'_>) -> Result<(), String>,
}
