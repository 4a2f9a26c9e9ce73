//! The rows that `proofmark bench --format json` printed and `records` keeps.

use std::path::Path;

use serde::Deserialize;

use crate::Failure;

/// One contender on one case.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Row {
    pub(super) case: String,
    pub(super) operation: String,
    pub(super) dtype: String,
    pub(super) threads: u64,
    pub(super) contender: String,
    pub(super) outcome: String,
    pub(super) time_ms: Option<f64>,
    pub(super) gflops: Option<f64>,
    /// In per cent of the machine's limit.
    pub(super) efficiency: Option<f64>,
    pub(super) bound: Option<String>,
    pub(super) best_peer: Option<String>,
    best_peer_ratio: Option<f64>,
    best_peer_ratio_low: Option<f64>,
    best_peer_ratio_high: Option<f64>,
    against: Option<String>,
    ratio: Option<f64>,
    ratio_low: Option<f64>,
    ratio_high: Option<f64>,
}

/// A quotient of two times of one race, with its interval where the race gave one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ratio {
    pub(super) value: f64,
    pub(super) interval: Option<(f64, f64)>,
}

impl Ratio {
    fn of(value: Option<f64>, low: Option<f64>, high: Option<f64>) -> Option<Ratio> {
        Some(Ratio { value: value?, interval: low.zip(high) })
    }

    fn inverse(self) -> Ratio {
        let interval = self.interval.map(|(low, high)| (1.0 / high, 1.0 / low));
        Ratio { value: 1.0 / self.value, interval }
    }
}

impl Row {
    /// The contender without its instruction set, as `native/simd`.
    pub(super) fn name(&self) -> &str {
        self.contender.split('@').next().unwrap_or_default()
    }

    pub(super) fn is_ours(&self) -> bool {
        self.contender.starts_with("native/")
    }

    pub(super) fn is_proven(&self) -> bool {
        self.outcome == "PROVEN"
    }

    /// The time of a contender that was proven; others have none that counts.
    pub(super) fn proven_time(&self) -> Option<f64> {
        self.time_ms.filter(|_| self.is_proven())
    }

    /// Its time over that of the best peer of its race.
    pub(super) fn over_best_peer(&self) -> Option<Ratio> {
        Ratio::of(self.best_peer_ratio, self.best_peer_ratio_low, self.best_peer_ratio_high)
    }
}

/// Contenders that were measured on one case with one number of threads.
#[derive(Clone, Debug)]
pub(super) struct Race {
    /// The machine, as its folder names it.
    pub(super) machine: String,
    pub(super) rows: Vec<Row>,
}

impl Race {
    pub(super) fn case(&self) -> &str {
        &self.rows[0].case
    }

    pub(super) fn threads(&self) -> u64 {
        self.rows[0].threads
    }

    /// The contender with this name, if it was proven.
    pub(super) fn proven(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name() == name && row.proven_time().is_some())
    }

    /// Our contenders that were proven.
    pub(super) fn ours(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.is_ours() && row.proven_time().is_some())
    }

    /// The fastest of ours.
    pub(super) fn fastest(&self) -> Option<&Row> {
        self.ours().min_by(|a, b| f64::total_cmp(&time(a), &time(b)))
    }

    /// The time of `slow` over that of `fast`: the race's own estimate where it compared the two,
    /// else the quotient of their times.
    pub(super) fn over(&self, slow: &Row, fast: &Row) -> Ratio {
        let compared = |row: &Row, with: &Row| {
            let is_meant = row.against.as_deref() == Some(&with.contender);
            Ratio::of(row.ratio, row.ratio_low, row.ratio_high).filter(|_| is_meant)
        };
        compared(slow, fast)
            .or_else(|| compared(fast, slow).map(Ratio::inverse))
            .unwrap_or(Ratio { value: time(slow) / time(fast), interval: None })
    }
}

fn time(row: &Row) -> f64 {
    row.proven_time().unwrap_or(f64::INFINITY)
}

/// The races of the files below `records`, in their order; a race of a later file replaces that
/// of an earlier one on the same case and number of threads.
pub(super) fn read(root: &Path, files: &[&str]) -> Result<Vec<Race>, Failure> {
    if files.is_empty() {
        return Err("it names no record".to_owned());
    }
    let mut races: Vec<Race> = Vec::new();
    for file in files {
        let (folder, _) = file.split_once('/').ok_or_else(|| format!("{file}: no folder"))?;
        let machine = folder.rsplit('-').next().unwrap_or_default();
        let path = root.join("records").join(file);
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{file}: {error}"))?;
        for race in parse(&text, machine).map_err(|error| format!("{file}: {error}"))? {
            let is_same =
                |old: &&mut Race| (old.case(), old.threads()) == (race.case(), race.threads());
            match races.iter_mut().find(is_same) {
                Some(old) => *old = race,
                None => races.push(race),
            }
        }
    }
    Ok(races)
}

fn parse(text: &str, machine: &str) -> Result<Vec<Race>, serde_json::Error> {
    #[derive(Deserialize)]
    struct File {
        records: Vec<Row>,
    }
    let file: File = serde_json::from_str(text)?;
    let mut races: Vec<Race> = Vec::new();
    for row in file.records {
        let is_its = |race: &&mut Race| (race.case(), race.threads()) == (&row.case, row.threads);
        match races.iter_mut().find(is_its) {
            Some(race) => race.rows.push(row),
            None => races.push(Race { machine: machine.to_owned(), rows: vec![row] }),
        }
    }
    Ok(races)
}

#[cfg(test)]
pub(super) fn example(records: &str) -> Vec<Race> {
    parse(&format!("{{\"records\": [{records}]}}"), "abc").expect("records of a test")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDS: &str = r#"
        {"case": "add:f32[d=4]", "operation": "add", "dtype": "f32", "threads": 1,
         "contender": "native/simd@avx2", "outcome": "PROVEN", "time_ms": 2.0},
        {"case": "add:f32[d=4]", "operation": "add", "dtype": "f32", "threads": 1,
         "contender": "native/scalar@scalar", "outcome": "PROVEN", "time_ms": 5.0,
         "against": "native/simd@avx2", "ratio": 2.0, "ratio_low": 1.6, "ratio_high": 2.5},
        {"case": "add:f32[d=4]", "operation": "add", "dtype": "f32", "threads": 2,
         "contender": "native/simd@avx2", "outcome": "WRONG", "time_ms": null}"#;

    #[test]
    fn a_race_compares_two_contenders_in_either_direction() {
        let races = example(RECORDS);
        assert_eq!(races.len(), 2);
        let (simd, scalar) = (&races[0].rows[0], &races[0].rows[1]);
        let ratio = races[0].over(scalar, simd);
        assert_eq!(ratio, Ratio { value: 2.0, interval: Some((1.6, 2.5)) });
        assert_eq!(races[0].over(simd, scalar).interval, Some((0.4, 0.625)));
        assert_eq!(races[0].fastest().map(Row::name), Some("native/simd"));
        assert!(races[1].fastest().is_none() && races[1].proven("native/simd").is_none());
    }
}
