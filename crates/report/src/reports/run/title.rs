//! What the page of a run is called.

use super::ReportedRun;
use crate::plain::{counted, threads};
use crate::reports::names::{date, subject};
use std::collections::BTreeSet;

/// `matmul on Intel Xeon, 17 November 2026`.
pub(super) fn title(run: &ReportedRun) -> String {
    let id = run.records.first().map_or("", |record| record.run.as_str());
    let mut title = match run.name.as_str() {
        name if name.is_empty() || name == id || date(name).is_some() => subject(&run.records),
        // A file has a name that a person gave it.
        name => name.to_owned(),
    };
    if let Some(machine) = &run.machine {
        title += &format!(" on {}", processor(&machine.cpu));
    }
    if let Some(date) = date(id) {
        title += &format!(", {date}");
    }
    title
}

/// What was measured on what, and how much of it, in one line.
pub(super) fn subtitle(run: &ReportedRun) -> String {
    let records = &run.records;
    let mut parts = Vec::new();
    if !title(run).starts_with(&subject(records)) {
        parts.push(subject(records));
    }
    let dtypes: BTreeSet<&str> = records.iter().map(|of| of.case.dtype.name()).collect();
    parts.push(dtypes.into_iter().collect::<Vec<_>>().join(" and "));
    let counts: BTreeSet<usize> = records.iter().map(|of| of.threads).collect();
    parts.extend(counts.into_iter().map(threads));
    if let Some(machine) = &run.machine {
        parts.push(counted(machine.cpus.len(), "processor"));
        parts.push(machine.isa.to_string());
    }
    let cases = proofmark_analyze::cells(records).len();
    let who: BTreeSet<String> = records.iter().map(|of| of.contender.to_string()).collect();
    parts.push(counted(cases, "case"));
    parts.push(counted(who.len(), "contender"));
    if records.iter().any(|record| record.judged.performance().is_some()) {
        parts.push("every time is of a proven result".to_owned());
    }
    parts.extend(run.number.map(|number| format!("run {number}")));
    parts.retain(|part| !part.is_empty());
    parts.dedup();
    parts.join(" · ")
}

/// A processor's name without the words that all such names contain.
fn processor(brand: &str) -> String {
    let brand = brand.replace("(R)", "").replace("(TM)", "").replace("(tm)", "");
    let filler = |word: &&str| !matches!(*word, "CPU" | "Processor" | "processor");
    brand.split_whitespace().filter(filler).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_lose_their_marks() {
        assert_eq!(processor("Intel(R) Xeon(R) Processor"), "Intel Xeon");
        assert_eq!(processor("AMD EPYC 9654 96-Core Processor"), "AMD EPYC 9654 96-Core");
    }
}
