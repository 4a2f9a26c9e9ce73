//! Change points of a series of measurements: where it moved, how far, and how sure that is.
//!
//! 1. [`Detector`] judges one series: rank CUSUM on intervals, narrowest over threshold, corrected
//!    for the memory of the noise, with a place interval and a shift in log space.
//! 2. [`family`] keeps the false discovery rate over many series, makes one incident of changes
//!    that one commit explains, and pools series that move too little alone.
//! 3. [`mod@explain`] tells a change of the code from a change of the machine.
//!
//! Thresholds come from a table that needs no assumption about the noise but independence:
//! [`null_quantiles`] makes it.
//!
//! # Looks
//!
//! The intervals of a series are among those of the longer series that it grows into. The strongest
//! split therefore never becomes weaker when points are added, and a series that is judged after
//! every new point raises a false alarm at any look exactly as often as at its last. With the
//! threshold of [`Settings::horizon`] points, the probability of any false alarm over all looks up
//! to that length is at most [`Settings::alpha`], if the noise has no memory.

pub mod explain;
pub mod family;
mod null;
mod scan;
mod segments;
mod shift;
mod table;

pub use explain::{Cause, Evidence, explain};
pub use family::{Candidate, Incident, alerts, incidents, pooled};
pub use null::{PROBABILITIES, null_quantiles};
pub use scan::{LENGTHS, MINIMUM_SEGMENT};
pub use shift::shift;
pub use table::{TABLE_SEED, TABLE_SERIES};

use crate::mean::Interval3;
use scan::{Scan, Shape};
use segments::{segment, widening};
use std::ops::Range;

/// The most points that are judged together; older ones are left out.
pub const WINDOW: usize = 512;

/// What a detector promises.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The probability that a series which does not change raises an alarm.
    pub alpha: f64,
    /// The number of points over which `alpha` is promised: [`WINDOW`] for series that grow, the
    /// length of the series for one that is judged once.
    pub horizon: usize,
    /// The confidence of the shift's interval.
    pub confidence: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { alpha: 0.01, horizon: WINDOW, confidence: 0.95 }
    }
}

/// A change point.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The first point after the change.
    pub place: usize,
    /// The first and the last place that the data do not exclude at 95 %, `place` between them.
    pub places: (usize, usize),
    /// ln(after / before), with its interval.
    pub shift: Interval3,
    /// The statistic, divided by what memory of the noise adds to it.
    pub strength: f64,
    /// The probability of so strong a split in a series that does not change.
    pub p_value: f64,
    /// The points from the change before.
    pub before: Range<usize>,
    /// The points until the change after.
    pub after: Range<usize>,
}

/// What is said about one series.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// In the order of the series.
    pub changes: Vec<Change>,
    /// The probability of the strongest split in a series that does not change.
    pub p_value: f64,
    /// The correlation of neighbours that was allowed for.
    pub memory: f64,
}

/// Finds the change points of series of positive values.
#[derive(Clone, Debug)]
pub struct Detector {
    shapes: Vec<Shape>,
    settings: Settings,
    threshold: f64,
}

impl Detector {
    /// A detector; `None` unless `alpha` is a probability of the table, 0.0005 to 0.9.
    pub fn new(settings: Settings) -> Option<Detector> {
        let threshold = null::threshold(settings.horizon, settings.alpha)?;
        let confident = settings.confidence > 0.0 && settings.confidence < 1.0;
        // Intervals that are too short for the threshold need not be looked at.
        let shapes = Shape::all().into_iter().filter(|shape| shape.limit() > threshold).collect();
        confident.then_some(Detector { shapes, settings, threshold })
    }

    /// The strength that a split of independent noise must exceed.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// Judges the last [`WINDOW`] values.
    ///
    /// `None` if a value is not positive and finite. Fewer than 16 points have no changes.
    pub fn judge(&self, values: &[f64]) -> Option<Judgement> {
        let offset = values.len().saturating_sub(WINDOW);
        let mut monitor = self.monitor();
        values[offset..].iter().try_for_each(|&value| monitor.push(value))?;
        let mut judgement = monitor.judge();
        for change in &mut judgement.changes {
            change.place += offset;
            change.places = (change.places.0 + offset, change.places.1 + offset);
            change.before = change.before.start + offset..change.before.end + offset;
            change.after = change.after.start + offset..change.after.end + offset;
        }
        Some(judgement)
    }

    /// Judges a series as its points arrive.
    pub fn monitor(&self) -> Monitor<'_> {
        Monitor { scan: Scan::new(&self.shapes, self.threshold), detector: self }
    }
}

/// A series whose points arrive one at a time, [`WINDOW`] of them at most.
#[derive(Clone, Debug)]
pub struct Monitor<'a> {
    detector: &'a Detector,
    scan: Scan<'a>,
}

impl Monitor<'_> {
    /// Adds a point; `None`, and nothing added, if it is not positive and finite or the window is
    /// full.
    pub fn push(&mut self, value: f64) -> Option<()> {
        let fits = value.is_finite() && value > 0.0 && self.scan.values().len() < WINDOW;
        fits.then(|| self.scan.push(value))
    }

    /// What the points so far say.
    pub fn judge(&self) -> Judgement {
        let Detector { settings, threshold, .. } = self.detector;
        let values = self.scan.values();
        let (found, memory) = segment(values, self.scan.splits(), *threshold);
        let wide = widening(memory);
        let changes = found
            .into_iter()
            .filter_map(|found| {
                let (before, after) =
                    (found.around.start..found.place, found.place..found.around.end);
                let logs = |range: &Range<usize>| -> Vec<f64> {
                    values[range.clone()].iter().map(|value| value.ln()).collect()
                };
                let shift = shift(&logs(&before), &logs(&after), settings.confidence, wide)?;
                Some(Change {
                    place: found.place,
                    places: found.places,
                    shift,
                    strength: found.strength,
                    p_value: null::p_value(settings.horizon, found.strength),
                    before,
                    after,
                })
            })
            .collect();
        let p_value = null::p_value(settings.horizon, self.scan.strongest() / wide);
        Judgement { changes, p_value, memory }
    }
}

#[cfg(test)]
mod tests;
