//! The options of `duel run`.

use std::time::Duration;

use super::harness::{HARNESSES, Harness};
use super::noise::Regime;
use super::track::{self, Track};
use crate::Failure;

/// What is to be run.
pub(super) struct Options {
    pub(super) harnesses: Vec<&'static Harness>,
    pub(super) tracks: Vec<Track>,
    pub(super) regimes: Vec<Regime>,
    pub(super) planted: Vec<u64>,
    /// Comparisons in a cell.
    pub(super) count: u64,
    /// Seconds for one comparison, both arms together.
    pub(super) budget: f64,
    /// Part and number of parts, from 0.
    pub(super) shard: (u64, u64),
    pub(super) limit: Option<Duration>,
}

impl Options {
    pub(super) fn parse(words: &[&str]) -> Result<Options, Failure> {
        let mut options = Options {
            harnesses: HARNESSES.iter().collect(),
            tracks: track::all(),
            regimes: vec![Regime::Quiet],
            planted: vec![0, 1, 2, 5],
            count: 10,
            budget: 2.0,
            shard: (0, 1),
            limit: None,
        };
        for pair in words.chunks(2) {
            let &[name, value] = pair else { return Err(format!("`{}` needs a value", pair[0])) };
            options.set(name, value).map_err(|failure| format!("{name}: {failure}"))?;
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        match name {
            "--harness" => self.harnesses = list(value, harness)?,
            "--classes" => self.tracks.retain(|track| value.contains(track.class)),
            "--regimes" => self.regimes = list(value, Regime::parse)?,
            "--planted" => self.planted = list(value, planted)?,
            "--count" => self.count = number(value)?,
            "--budget" => self.budget = number(value)?,
            "--shard" => self.shard = shard(value)?,
            "--minutes" => self.limit = Some(Duration::from_secs(60 * number::<u64>(value)?)),
            _ => return Err(format!("there is no such option\n{}", super::USAGE)),
        }
        if self.budget < 1.0 || self.tracks.is_empty() {
            return Err("a comparison needs a second or more, and a class of SMTL".to_owned());
        }
        Ok(())
    }
}

fn list<T>(value: &str, one: fn(&str) -> Result<T, Failure>) -> Result<Vec<T>, Failure> {
    value.split(',').map(one).collect()
}

fn number<T: std::str::FromStr>(value: &str) -> Result<T, Failure> {
    value.parse().map_err(|_| format!("`{value}` is not a number that fits here"))
}

fn harness(name: &str) -> Result<&'static Harness, Failure> {
    let names = || HARNESSES.iter().map(|harness| harness.name).collect::<Vec<_>>().join(", ");
    HARNESSES
        .iter()
        .find(|harness| harness.name == name)
        .ok_or_else(|| format!("no harness `{name}`; there are {}", names()))
}

fn planted(value: &str) -> Result<u64, Failure> {
    match number(value)? {
        percent @ (0 | 1 | 2 | 5) => Ok(percent),
        other => Err(format!("{other} % cannot be planted; 0, 1, 2 and 5 can")),
    }
}

fn shard(value: &str) -> Result<(u64, u64), Failure> {
    let (part, parts) = value.split_once('/').ok_or("a shard is written K/N, as 1/4")?;
    let (part, parts) = (number::<u64>(part)?, number::<u64>(parts)?);
    if part == 0 || part > parts {
        return Err(format!("shard {part} of {parts}: shards count from 1"));
    }
    Ok((part - 1, parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_narrow_what_is_run() {
        let words = "--harness tango,divan --classes M --regimes N1,N3 --planted 0,2 --shard 2/3";
        let options = Options::parse(&words.split(' ').collect::<Vec<_>>()).expect("options");
        assert_eq!(options.harnesses.len(), 2);
        assert!(options.tracks.iter().all(|track| track.class == 'M'));
        assert_eq!(options.regimes, [Regime::Alu, Regime::Bursty]);
        assert_eq!((options.planted, options.shard), (vec![0, 2], (1, 3)));
    }

    #[test]
    fn refuses_what_it_cannot_run() {
        for words in [
            "--harness nobody",
            "--regimes N9",
            "--planted 3",
            "--shard 3/2",
            "--shard 0/2",
            "--budget 0",
            "--classes Q",
            "--count",
        ] {
            let refused = Options::parse(&words.split(' ').collect::<Vec<_>>()).is_err();
            assert!(refused, "{words}");
        }
    }
}
