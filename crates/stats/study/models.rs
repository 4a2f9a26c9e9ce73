//! Noise of benchmark histories, for the studies and tests of change detection.

use proofmark_stats::Stream;

/// A kind of noise around 100, with a standard deviation of 1 % where it is normal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// Independent normal values.
    Normal,
    /// The same, and 5 % of the values are 5 to 40 % higher.
    Outliers,
    /// Neighbours correlate by this many hundredths.
    Memory(u32),
    /// Machines of three speeds, each for about ten runs.
    Machines,
    /// The same, stored as the ratio to a control kernel of the same run.
    ControlRatio,
    /// Normal values, rounded to steps of 0.5 %.
    Rounded,
}

impl Model {
    /// The four classes for which a rate of false alarms is promised.
    pub(crate) const PROMISED: [Model; 4] =
        [Model::Normal, Model::Outliers, Model::Memory(60), Model::ControlRatio];

    /// The name in tables and file names.
    pub(crate) fn name(self) -> String {
        match self {
            Model::Normal => "normal".to_owned(),
            Model::Outliers => "outliers".to_owned(),
            Model::Memory(hundredths) => format!("ar{hundredths:03}"),
            Model::Machines => "machines".to_owned(),
            Model::ControlRatio => "control_ratio".to_owned(),
            Model::Rounded => "rounded".to_owned(),
        }
    }

    /// A series of `points` values that does not change.
    pub(crate) fn series(self, stream: &mut Stream, points: usize) -> Vec<f64> {
        let mut normal = || 100.0 * (1.0 + 0.01 * stream.normal());
        match self {
            Model::Normal => (0..points).map(|_| normal()).collect(),
            Model::Rounded => (0..points).map(|_| (normal() / 0.5).round() * 0.5).collect(),
            Model::Outliers => (0..points)
                .map(|_| {
                    let value = 100.0 * (1.0 + 0.01 * stream.normal());
                    let outlier = stream.uniform() < 0.05;
                    if outlier { value * (1.05 + 0.35 * stream.uniform()) } else { value }
                })
                .collect(),
            Model::Memory(hundredths) => {
                let memory = f64::from(hundredths) / 100.0;
                let mut last = stream.normal();
                (0..points)
                    .map(|_| {
                        let value = 100.0 * (1.0 + 0.01 * last);
                        last = memory * last + (1.0 - memory * memory).sqrt() * stream.normal();
                        value
                    })
                    .collect()
            }
            Model::Machines => {
                let speeds = machines(stream, points);
                speeds.iter().map(|speed| speed * (100.0 + stream.normal())).collect()
            }
            Model::ControlRatio => {
                let speeds = machines(stream, points);
                speeds
                    .iter()
                    .map(|speed| {
                        let value = speed * (100.0 + stream.normal());
                        let control = speed * (100.0 + stream.normal());
                        100.0 * value / control
                    })
                    .collect()
            }
        }
    }
}

/// The relative time of the machine of each run.
fn machines(stream: &mut Stream, points: usize) -> Vec<f64> {
    let mut speed = 1.0;
    (0..points)
        .map(|_| {
            if stream.uniform() < 0.1 {
                let draw = stream.uniform();
                speed = if draw < 0.6 {
                    1.0
                } else if draw < 0.9 {
                    1.03
                } else {
                    1.08
                };
            }
            speed
        })
        .collect()
}

/// Multiplies the values from `place` on.
pub(crate) fn step(values: &mut [f64], place: usize, factor: f64) {
    values[place..].iter_mut().for_each(|value| *value *= factor);
}
