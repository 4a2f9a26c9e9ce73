//! The metrics of a record. A new one is one file and two lines here: `mod` and [`METRICS`].

mod allocated_bytes;
mod allocations;
mod efficiency;
mod gflops;
mod inference_speed;
mod memory;
mod speedup;
mod throughput;
mod time;

use proofmark_schema::record::Record;

/// Which way a metric improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// A number that can be read off a record.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name in JSON and on the command line.
    pub name: &'static str,
    /// Its unit; empty for counts and ratios.
    pub unit: &'static str,
    /// Which way it improves.
    pub better: Better,
    /// The formula, in words.
    pub meaning: &'static str,
    formula: fn(&Record) -> Option<f64>,
}

impl Metric {
    /// Its value; `None` where it was not measured or is no number.
    pub fn of(&self, record: &Record) -> Option<f64> {
        (self.formula)(record).filter(|value| value.is_finite())
    }
}

/// Every metric. Flat records, tables and help are derived from this list.
pub static METRICS: &[Metric] = &[
    time::METRIC,
    memory::METRIC,
    inference_speed::METRIC,
    efficiency::METRIC,
    throughput::METRIC,
    gflops::METRIC,
    allocations::METRIC,
    allocated_bytes::METRIC,
    speedup::METRIC,
];

/// The value of the metric of that name; `None` also for a name that is not in [`METRICS`].
pub fn value(name: &str, record: &Record) -> Option<f64> {
    METRICS.iter().find(|metric| metric.name == name)?.of(record)
}

/// Nanoseconds of one call, where there is a positive, finite measurement.
fn call_ns(record: &Record) -> Option<f64> {
    let wall = record.judged.performance()?.wall_ns.estimate;
    (wall > 0.0 && wall.is_finite()).then_some(wall)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn formulas_give_their_stated_units() {
        // 2 GFLOP and 1 GB in 0.1 s against a bound of 0.05 s; 3 MB; 2 allocations of 96 bytes;
        // 4× arm 0.
        let record = fixture::example();
        let expected = [
            ("time_ms", 100.0),
            ("memory_mb", 3.0),
            ("inference_speed", 10.0),
            ("efficiency", 50.0),
            ("throughput_gbps", 10.0),
            ("gflops", 20.0),
            ("allocations", 2.0),
            ("allocated_bytes", 96.0),
            ("speedup", 0.25),
        ];
        for (name, want) in expected {
            let got = value(name, &record).unwrap();
            assert!((got - want).abs() < 1e-9 * want, "{name}: {got} for {want}");
        }
        assert_eq!(expected.len(), METRICS.len());
    }

    #[test]
    fn refused_records_have_no_metric_at_all() {
        let refused = fixture::refused(proofmark_schema::Outcome::Wrong);
        for metric in METRICS {
            assert_eq!(metric.of(&refused), None, "{}", metric.name);
        }
    }

    #[test]
    fn times_that_are_no_numbers_give_no_rates() {
        for wall in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
            let record = fixture::timed("native/simd@avx2", 0, wall);
            for name in ["time_ms", "inference_speed", "efficiency", "gflops", "throughput_gbps"] {
                assert_eq!(value(name, &record), None, "{name} of {wall}");
            }
        }
    }
}
