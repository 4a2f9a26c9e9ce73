//! Tables of races: ours beside the best peer, kernels of ours beside each other.

use std::collections::BTreeMap;
use std::path::Path;

use super::number::{percent, quotient, significant, time};
use super::races::{self, Race, Ratio, Row};
use crate::Failure;

/// What stands where there is nothing.
pub(super) const NOTHING: &str = "–";

/// Lines of a Markdown table.
pub(super) fn markdown(head: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<String> = head.iter().map(|&name| name.to_owned()).collect();
    let rule = format!("|{}\n", "---|".repeat(head.len()));
    let body: String = rows.iter().map(|row| line(row)).collect();
    line(&head) + &rule + &body
}

/// Which of our contenders stand beside the best peer.
enum Ours<'a> {
    Fastest,
    All,
    Named(&'a str),
}

/// What a marker of `peers` asks for.
struct Wanted<'a> {
    ours: Ours<'a>,
    threads: Option<u64>,
    files: Vec<&'a str>,
}

impl<'a> Wanted<'a> {
    /// `ours=all` or `ours=native/simd`, `threads=1`, and files.
    fn parse(words: &[&'a str]) -> Result<Self, Failure> {
        let mut wanted = Wanted { ours: Ours::Fastest, threads: None, files: Vec::new() };
        for &word in words {
            match word.split_once('=') {
                None => wanted.files.push(word),
                Some(("ours", "all")) => wanted.ours = Ours::All,
                Some(("ours", name)) => wanted.ours = Ours::Named(name),
                Some(("threads", count)) => {
                    let count = count.parse().map_err(|error| format!("`{word}`: {error}"))?;
                    wanted.threads = Some(count);
                }
                Some(_) => return Err(format!("`{word}`: the keys are `ours` and `threads`")),
            }
        }
        Ok(wanted)
    }

    fn races(&self, root: &Path) -> Result<Vec<Race>, Failure> {
        let mut races = races::read(root, &self.files)?;
        races.retain(|race| self.threads.is_none_or(|threads| race.threads() == threads));
        Ok(races)
    }

    fn ours<'r>(&self, race: &'r Race) -> Vec<&'r Row> {
        match self.ours {
            Ours::Fastest => race.fastest().into_iter().collect(),
            Ours::All => race.ours().collect(),
            Ours::Named(name) => race.proven(name).into_iter().collect(),
        }
    }
}

/// Ours beside the best peer of the same race, and one sentence over all of them.
pub(super) fn peers(root: &Path, words: &[&str]) -> Result<String, Failure> {
    let wanted = Wanted::parse(words)?;
    let races = wanted.races(root)?;
    let mut rows = Vec::new();
    for race in &races {
        rows.extend(wanted.ours(race).into_iter().map(|ours| beside_peer(race, ours)));
    }
    let head = [
        "case",
        "threads",
        "ours",
        "time",
        "best peer",
        "its time",
        "ours ÷ best peer [95 %]",
        "peers",
        "efficiency",
        "bound",
    ];
    Ok(format!("{}\n{}", markdown(&head, &rows), summary(&wanted, &races)))
}

/// The sentence without the table.
pub(super) fn peers_summary(root: &Path, words: &[&str]) -> Result<String, Failure> {
    let wanted = Wanted::parse(words)?;
    Ok(summary(&wanted, &wanted.races(root)?))
}

fn beside_peer(race: &Race, ours: &Row) -> Vec<String> {
    let best = ours.best_peer.as_deref();
    let peer = race.rows.iter().find(|row| Some(row.contender.as_str()) == best);
    let peers = race.rows.iter().filter(|row| !row.is_ours() && row.proven_time().is_some());
    vec![
        format!("`{}`", race.case()),
        race.threads().to_string(),
        last(ours.name()),
        time_of(Some(ours)),
        best.map_or_else(nothing, last),
        time_of(peer),
        ours.over_best_peer().map_or_else(nothing, with_interval),
        peers.count().to_string(),
        ours.efficiency.map_or_else(nothing, percent),
        ours.bound.clone().unwrap_or_else(nothing),
    ]
}

fn summary(wanted: &Wanted<'_>, races: &[Race]) -> String {
    let ours = races.iter().flat_map(|race| wanted.ours(race));
    let ratios: Vec<Ratio> = ours.filter_map(Row::over_best_peer).collect();
    let values = || ratios.iter().map(|ratio| ratio.value);
    let mean = (values().map(f64::ln).sum::<f64>() / ratios.len() as f64).exp();
    let is_slower = |ratio: &&Ratio| ratio.interval.is_some_and(|(low, _)| low > 1.0);
    let compared = match ratios.len() {
        0 => "No row has a peer beside it.".to_owned(),
        count => format!(
            "In {count} rows ours takes {} to {} of the best peer's time, {} in the geometric \
             mean; in {} of them the whole interval is above 1.",
            quotient(values().fold(f64::INFINITY, f64::min)),
            quotient(values().fold(0.0, f64::max)),
            quotient(mean),
            ratios.iter().filter(is_slower).count(),
        ),
    };
    let all = || races.iter().flat_map(|race| &race.rows);
    let proven = all().filter(|row| row.is_proven()).count();
    let mut refused: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for row in all().filter(|row| !row.is_proven()) {
        let ops = refused.entry((row.name(), &row.outcome)).or_default();
        let op = format!("`{}`", row.operation);
        if !ops.contains(&op) {
            ops.push(op);
        }
    }
    let refused: Vec<String> = refused
        .iter()
        .map(|((name, outcome), ops)| format!("`{name}` is {outcome} on {}", ops.join(", ")))
        .collect();
    let proofs = match refused.is_empty() {
        true => format!("All {proven} contenders of these races are PROVEN."),
        false => format!(
            "Of {} contenders of these races {proven} are PROVEN: {}.",
            all().count(),
            refused.join("; ")
        ),
    };
    format!("{compared} {proofs}\n")
}

/// `gain SLOW FAST RECORD…`: how many times as fast the second kernel is, the most first.
pub(super) fn gain(root: &Path, words: &[&str]) -> Result<String, Failure> {
    let [slow, fast, files @ ..] = words else {
        return Err("it takes two kernels and records".to_owned());
    };
    let races = races::read(root, files)?;
    let home = races.first().map(|race| race.machine.clone()).unwrap_or_default();
    let mut rows = Vec::new();
    for race in &races {
        let kernels = (race.proven(&ours(slow)), race.proven(&ours(fast)));
        let (Some(slow), Some(fast)) = kernels else { continue };
        let ratio = race.over(slow, fast);
        let elsewhere = match race.machine == home {
            true => String::new(),
            false => format!(" ({})", race.machine),
        };
        let cells = vec![
            format!("`{}`{elsewhere}", race.case()),
            time_of(Some(fast)),
            with_interval(ratio),
            fast.efficiency.map_or_else(nothing, percent),
            fast.bound.clone().unwrap_or_else(nothing),
        ];
        rows.push((ratio.value, cells));
    }
    rows.sort_by(|a, b| f64::total_cmp(&b.0, &a.0));
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(_, cells)| cells).collect();
    let over = format!("`{slow}` ÷ `{fast}` [95 %]");
    Ok(markdown(&["case", &format!("`{fast}`"), &over, "efficiency", "bound"], &rows))
}

/// `fastest BASE RECORD…`: the fastest of our kernels, and how many times as fast as one of them.
pub(super) fn fastest(root: &Path, words: &[&str]) -> Result<String, Failure> {
    let [base, files @ ..] = words else {
        return Err("it takes a kernel and records".to_owned());
    };
    let races = races::read(root, files)?;
    let row = |race: &Race| {
        let fastest = race.fastest()?;
        let base = race.proven(&ours(base));
        Some(vec![
            format!("`{}`", race.case()),
            last(fastest.name()),
            time_of(Some(fastest)),
            base.map_or_else(nothing, |base| match base.name() == fastest.name() {
                true => NOTHING.to_owned(),
                false => with_interval(race.over(base, fastest)),
            }),
            fastest.efficiency.map_or_else(nothing, percent),
            fastest.bound.clone().unwrap_or_else(nothing),
        ])
    };
    let rows: Vec<Vec<String>> = races.iter().filter_map(row).collect();
    let over = format!("`{base}` ÷ fastest [95 %]");
    Ok(markdown(&["case", "fastest", "time", &over, "efficiency", "bound"], &rows))
}

/// `gflops RECORD…`: the rate of each of our kernels, a column each.
pub(super) fn gflops(root: &Path, words: &[&str]) -> Result<String, Failure> {
    let races = races::read(root, words)?;
    let mut names: Vec<&str> = Vec::new();
    for row in races.iter().flat_map(Race::ours) {
        if !names.contains(&row.name()) {
            names.push(row.name());
        }
    }
    let rate = |race: &Race, name: &str| {
        race.proven(name).and_then(|row| row.gflops).map_or_else(nothing, significant)
    };
    let rows: Vec<Vec<String>> = races
        .iter()
        .map(|race| {
            let case = format!("`{}`", race.case());
            std::iter::once(case).chain(names.iter().map(|name| rate(race, name))).collect()
        })
        .collect();
    let titles: Vec<String> = names.iter().map(|name| format!("`{}`", last(name))).collect();
    let head: Vec<&str> =
        std::iter::once("case").chain(titles.iter().map(String::as_str)).collect();
    Ok(markdown(&head, &rows))
}

fn ours(kernel: &str) -> String {
    format!("native/{kernel}")
}

/// The last part of a name, as `simd` of `native/simd`.
fn last(name: &str) -> String {
    name.rsplit('/').next().unwrap_or_default().to_owned()
}

fn nothing() -> String {
    NOTHING.to_owned()
}

fn time_of(row: Option<&Row>) -> String {
    row.and_then(Row::proven_time).map_or_else(nothing, time)
}

fn with_interval(ratio: Ratio) -> String {
    match ratio.interval {
        Some((low, high)) => {
            format!("{} [{}, {}]", quotient(ratio.value), quotient(low), quotient(high))
        }
        None => quotient(ratio.value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDS: &str = r#"
        {"case": "add:f32[d=4]", "operation": "add", "dtype": "f32", "threads": 1,
         "contender": "native/parallel@avx2", "outcome": "PROVEN", "time_ms": 2.5,
         "best_peer": "peer/mkl", "best_peer_ratio": 1.3, "best_peer_ratio_low": 1.2,
         "best_peer_ratio_high": 1.4, "efficiency": 33.3, "bound": "L2"},
        {"case": "add:f32[d=4]", "operation": "add", "dtype": "f32", "threads": 1,
         "contender": "native/simd@avx2", "outcome": "PROVEN", "time_ms": 2.0,
         "best_peer": "peer/mkl", "best_peer_ratio": 0.9, "best_peer_ratio_low": 0.8,
         "best_peer_ratio_high": 1.1, "efficiency": 41.7, "bound": "L2"},
        {"case": "add:f32[d=4]", "operation": "add", "dtype": "f32", "threads": 1,
         "contender": "peer/mkl", "outcome": "PROVEN", "time_ms": 2.2},
        {"case": "add:f32[d=4]", "operation": "add", "dtype": "f32", "threads": 1,
         "contender": "peer/blis", "outcome": "CRASHED", "time_ms": null}"#;

    #[test]
    fn the_fastest_of_ours_stands_beside_the_best_peer_that_was_proven() {
        let race = &races::example(RECORDS)[0];
        let wanted = Wanted::parse(&["a/b.json"]).expect("a marker");
        let ours = wanted.ours(race);
        assert_eq!(ours.len(), 1);
        let cells = beside_peer(race, ours[0]).join(" | ");
        let expected =
            "`add:f32[d=4]` | 1 | simd | 2 ms | mkl | 2.2 ms | 0.90 [0.80, 1.10] | 1 | 42 % | L2";
        assert_eq!(cells, expected);
    }

    #[test]
    fn the_summary_counts_losses_and_names_what_was_refused() {
        let races = races::example(RECORDS);
        let wanted = Wanted::parse(&["ours=all", "a/b.json"]).expect("a marker");
        let said = summary(&wanted, &races);
        assert!(said.starts_with("In 2 rows ours takes 0.90 to 1.30 of"), "{said}");
        assert!(said.contains("in 1 of them the whole interval is above 1"), "{said}");
        assert!(said.contains("Of 4 contenders of these races 3 are PROVEN"), "{said}");
        assert!(said.contains("`peer/blis` is CRASHED on `add`"), "{said}");
    }

    #[test]
    fn a_key_that_a_marker_does_not_have_is_refused() {
        assert!(Wanted::parse(&["our=all"]).is_err());
        assert!(Wanted::parse(&["threads=two"]).is_err());
    }
}
