//! The report of a bench: a table for each op, element type and thread count, then refusals.

use super::fairness::on_new_inputs;
use super::fairness::{
    changed_state, disturbances, fairness, grown_memory, introductions, refused_attempts,
};
use crate::document::{Cell, Column, Document, Emphasis, Samples};
use crate::flat::{flat_record, metric};
use crate::plain::{percent, ratio, threads, time};
use crate::reports::answer::answer;
use crate::reports::names::short_title;
use crate::reports::prove::outcome_name;
use crate::reports::step;
use proofmark_analyze::{Band, Winner, cells, winner};
use proofmark_schema::device::DeviceTime;
use proofmark_schema::finding::{Finding, Severity};
use proofmark_schema::plan::Absence;
use proofmark_schema::quantity::{Bytes, Nanos, three_digits};
use proofmark_schema::record::{Performance, Record};
use proofmark_schema::{Family, Memory};
use serde_json::json;
use std::fmt::Write as _;
use std::sync::Arc;

/// Efficiency above which the number itself is suspicious.
pub(super) const SUSPICIOUS_PERCENT: f64 = 105.0;

const COLUMNS: [Column; 15] = [
    Column::left("shape", 0),
    Column::left("contender", 0),
    Column::left("outcome", 4),
    Column::right("time", 0),
    Column::right("kernel + copies + launch", 0),
    Column::right("× first [interval]", 3),
    Column::right("× best peer", 2),
    Column::left("verdict", 5),
    Column::right("efficiency", 1),
    Column::left("bound", 2),
    Column::right("GFLOP/s", 6),
    Column::right("GB/s", 7),
    Column::right("memory", 8),
    Column::right("allocations", 9),
    Column::text("remarks", 10),
];

/// The column of times.
const TIME: usize = 3;
/// The column that only tables with a device other than the host have.
const BY_DEVICE: usize = 4;
/// The column that only tables with peers have.
const BEST_PEER: usize = 6;
/// The column that only tables with remarks have.
const REMARKS: usize = 14;

/// The document of a bench, with the contenders that could not enter and why.
pub fn bench(records: &[Record], findings: &[Finding], absent: &[Absence]) -> Document {
    bench_with_slices(records, findings, absent, &|_| None)
}

/// The same with the slices behind the records' times, where they are at hand.
pub fn bench_with_slices(
    records: &[Record],
    findings: &[Finding],
    absent: &[Absence],
    samples: &dyn Fn(&Record) -> Option<Arc<Samples>>,
) -> Document {
    let run = records.first().map(|record| record.run.as_str());
    let steps = proofmark_analyze::steps(records);
    let data = json!({
        "run": run,
        "records": records.iter().map(flat_record).collect::<Vec<_>>(),
        "steps": steps.iter().map(step::flat).collect::<Vec<_>>(),
        "findings": findings,
        "absent": absent,
    });
    let mut document = Document::new(short_title(records), data, "records");
    let is_race = |cell: &Vec<&Record>| winner(cell) != Winner::default();
    if records.is_empty() || cells(records).iter().any(is_race) {
        document.text(answer(records));
    }
    push_tables(&mut document, records, samples);
    steps.iter().for_each(|step| step::push(&mut document, step));
    push_absences(&mut document, absent);
    push_findings(&mut document, records, findings);
    document
}

/// What a table of a report has in addition to a table of a bench.
pub(super) struct Extras<'a> {
    /// The slices behind a record's time, where they are at hand.
    pub(super) samples: &'a dyn Fn(&Record) -> Option<Arc<Samples>>,
    /// The remarks about a row.
    pub(super) remarks: &'a dyn Fn(&Record) -> String,
}

/// Adds a table for each op, element type, thread count and state of memory of one run.
fn push_tables(
    document: &mut Document,
    records: &[Record],
    samples: &dyn Fn(&Record) -> Option<Arc<Samples>>,
) {
    let extras = Extras { samples, remarks: &|_| String::new() };
    let mut any_winner = false;
    for table in tables(records) {
        any_winner |= push_table(document, &table, &extras);
    }
    if any_winner {
        document.note("* fastest: its interval stands clear of every other's");
    }
}

/// The records of each op, element type, thread count and state of memory.
pub(super) fn tables(records: &[Record]) -> Vec<Vec<&Record>> {
    grouped(records, |a, b| {
        a.case.op == b.case.op
            && a.case.dtype == b.case.dtype
            && a.threads == b.threads
            && a.memory == b.memory
    })
}

/// Adds one table with its notes. Returns whether one of its rows is a winner.
pub(super) fn push_table(document: &mut Document, table: &[&Record], extras: &Extras<'_>) -> bool {
    let mut any_winner = false;
    let mut rows = Vec::new();
    for cell in grouped(table.iter().copied(), |a, b| a.case == b.case) {
        let winner = winner(&cell);
        any_winner |= winner.best.is_some();
        rows.extend(cell.iter().map(|record| {
            let mut row = row(record, &winner);
            row[TIME].samples = (extras.samples)(record);
            row.push(Cell::plain((extras.remarks)(record)));
            row
        }));
    }
    let mut columns = COLUMNS.to_vec();
    if rows.iter().all(|row| row[REMARKS].text.is_empty()) {
        columns.remove(REMARKS);
        rows.iter_mut().for_each(|row| drop(row.remove(REMARKS)));
    }
    if table.iter().all(|record| record.contender.family != Family::Peer) {
        columns.remove(BEST_PEER);
        rows.iter_mut().for_each(|row| drop(row.remove(BEST_PEER)));
    }
    if table.iter().all(|record| by_device(record).is_none()) {
        columns.remove(BY_DEVICE);
        rows.iter_mut().for_each(|row| drop(row.remove(BY_DEVICE)));
    }
    document.table(title(table[0]), &columns, rows);
    document.note(fairness(table));
    let of_contenders = [on_new_inputs, refused_attempts, changed_state, grown_memory];
    for text in of_contenders.into_iter().filter_map(|note| note(table)) {
        document.note(text);
    }
    if let Some(text) = table.iter().find_map(|record| record.imported.as_ref()?.caveat()) {
        document.note(text);
    }
    introductions(table).into_iter().for_each(|line| document.note(line));
    if let Some(text) = disturbances(table) {
        document.note(text);
    }
    any_winner
}

/// What a table is about.
pub(super) fn title(first: &Record) -> String {
    let Memory { cache, pages } = first.memory;
    let mut title = format!("{} {}, {}", first.case.op, first.case.dtype, threads(first.threads));
    if first.memory != Memory::default() {
        let _ = write!(title, ", caches {cache}, pages {pages}");
    }
    title
}

/// Records that belong together, in the order in which groups first appear.
fn grouped<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    same: impl Fn(&Record, &Record) -> bool,
) -> Vec<Vec<&'a Record>> {
    let mut groups: Vec<Vec<&Record>> = Vec::new();
    for record in records {
        match groups.iter_mut().find(|group| same(group[0], record)) {
            Some(group) => group.push(record),
            None => groups.push(vec![record]),
        }
    }
    groups
}

fn row(record: &Record, winner: &Winner) -> Vec<Cell> {
    let proof = record.judged.proof();
    let outcome = outcome_name(proof.outcome, proof.contract.interpreted);
    let performance = record.judged.performance();
    let contender = if winner.is(&record.contender) {
        Cell::with(format!("{} *", record.contender), Emphasis::Good)
    } else {
        Cell::plain(record.contender.to_string())
    };
    let outcome = match proof.refusal {
        None => Cell::plain(outcome),
        Some(_) => Cell::with(outcome, Emphasis::Bad),
    };
    // A refused contender has no time; its outcome stands there too, for narrow terminals.
    let spent = match performance {
        Some(performance) => Cell::plain(time(&performance.wall_ns)),
        None => outcome.clone(),
    };
    let comparison = performance.and_then(|performance| performance.comparison.as_ref());
    let against = match comparison {
        Some(comparison) => Cell::plain(ratio(&comparison.ratio)),
        None if performance.is_some_and(|p| p.slices.arm == 0) => Cell::plain("first"),
        None => Cell::nothing(),
    };
    let rate = |name| cell(metric(record, name).map(three_digits));
    vec![
        Cell::plain(shape(record)),
        contender,
        outcome,
        spent,
        cell(by_device(record)),
        against,
        best_peer(record),
        cell(comparison.map(|comparison| comparison.verdict.name().to_owned())),
        efficiency(record),
        cell(performance.and_then(|of| Some(of.limits?.bound?.name().to_owned()))),
        rate("gflops"),
        rate("throughput_gbps"),
        cell(performance.map(|performance| Bytes(performance.peak_bytes).to_string())),
        cell(metric(record, "allocations").and(performance).map(allocations)),
    ]
}

/// The parts of the time of a call on a device: its kernel and copies by the device's clock, and
/// the launch, which is the rest of the host's.
fn by_device(record: &Record) -> Option<String> {
    let DeviceTime { kernel_ns, copy_ns, launch_ns } = record.judged.performance()?.device?;
    Some(format!("{} + {} + {}", Nanos(kernel_ns), Nanos(copy_ns), Nanos(launch_ns.max(0.0))))
}

/// The ratio to the fastest peer; the fastest peer itself shows `best`.
fn best_peer(record: &Record) -> Cell {
    let Some(performance) = record.judged.performance() else { return Cell::nothing() };
    match &performance.best_peer {
        Some(comparison) => Cell::plain(ratio(&comparison.ratio)),
        None if record.contender.family == Family::Peer => Cell::plain("best"),
        None => Cell::nothing(),
    }
}

fn cell(text: Option<String>) -> Cell {
    text.map_or_else(Cell::nothing, Cell::plain)
}

/// How often a call allocates, and how much where it does.
fn allocations(performance: &Performance) -> String {
    let count = performance.allocations_per_call;
    match performance.allocated_bytes_per_call {
        Some(bytes) if count > 0.0 => {
            format!("{} of {}", three_digits(count), Bytes(bytes as u64))
        }
        _ if count == 0.0 => "none".to_owned(),
        _ => three_digits(count),
    }
}

/// The case without the op and element type that stand in the title.
pub(super) fn shape(record: &Record) -> String {
    let text = record.case.to_string();
    let inner = text.split_once('[').map_or(text.as_str(), |(_, inner)| inner);
    inner.trim_end_matches(']').to_owned()
}

fn efficiency(record: &Record) -> Cell {
    let Some(value) = metric(record, "efficiency") else { return Cell::nothing() };
    if value > SUSPICIOUS_PERCENT {
        return Cell::with(format!("{} over the limit", percent(value)), Emphasis::Bad);
    }
    let band = Band::of(value / 100.0).map_or("", Band::name);
    Cell::plain(format!("{} {band}", percent(value)))
}

/// Adds the contenders that did not enter, once for each reason.
pub(super) fn push_absences(document: &mut Document, absent: &[Absence]) {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for Absence { contender, reason, .. } in absent {
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, names)) if names.contains(&contender.as_str()) => {}
            Some((_, names)) => names.push(contender),
            None => reasons.push((reason, vec![contender])),
        }
    }
    for (reason, names) in reasons {
        document.note(format!("not here: {}: {reason}", names.join(", ")));
    }
}

pub(super) fn push_findings(document: &mut Document, records: &[Record], findings: &[Finding]) {
    for record in records {
        if let Some(refusal) = &record.judged.proof().refusal {
            document.text(format!(
                "{} {} on {}: {}",
                refusal.outcome, record.contender, record.case, refusal.reason
            ));
            document.command(&refusal.repro);
        }
    }
    let refused =
        |finding: &&Finding| matches!(finding.severity, Severity::Incorrect | Severity::Crashed);
    // Notes repeat what tables and refusals say already.
    let is_told = |finding: &&Finding| finding.severity > Severity::Note && !refused(finding);
    let mut told = findings.iter().filter(is_told).peekable();
    while let Some(finding) = told.next() {
        document.text(format!("{}: {}", severity(finding.severity), finding.claim));
        // Advice that several findings in a row share stands under the last of them.
        if told.peek().is_none_or(|next| next.advice != finding.advice) {
            document.note(&finding.advice);
        }
    }
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Undecided => "undecided",
        Severity::Environment => "environment",
        Severity::Regression => "regression",
        Severity::Crashed => "crashed",
        Severity::Incorrect => "incorrect",
        Severity::Integrity => "integrity",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{compared, first, refused, with_time};
    use crate::render::{RENDERERS, Style, find};
    use proofmark_analyze::findings;
    use proofmark_schema::{ContenderId, Lock};

    fn text(records: &[Record], width: usize) -> String {
        let document = bench(records, &findings(records), &[]);
        (find("term").unwrap().render)(
            &document,
            &Style { width, colour: false, ..Style::default() },
        )
    }

    #[test]
    fn a_peer_that_was_installed_without_a_lock_is_told_as_such() {
        let note = |lock: Lock| {
            let mut peer = compared();
            peer.contender = ContenderId::peer("acme");
            peer.receipt.version = "1.2".to_owned();
            peer.receipt.lock = Some(lock);
            text(&[first(), peer], 160)
        };
        assert!(note(Lock::Unlocked).contains("peer/acme: 1.2 (unlocked),"));
        assert!(note(Lock::Locked).contains("peer/acme: 1.2,"));
    }

    #[test]
    fn a_wide_terminal_shows_the_whole_table() {
        let expected = "\
matmul

native/simd@avx2 is the fastest on matmul:f32[b=1,m=64,n=32,k=63]; the nearest, native/scalar@scalar, takes 4.00× as long where both ran: take native/simd@avx2. 1 of 3 results was refused and is not
ranked.

matmul f32, 1 thread
 shape               contender             outcome            time     × first [interval]  verdict   efficiency  bound  GFLOP/s   GB/s    memory  allocations
 b=1,m=64,n=32,k=63  native/scalar@scalar  PROVEN   40.0 µs ±1.0 %                  first  –           15 % needs work  compute   6.50  0.500  1.43 MiB  none
 b=1,m=64,n=32,k=63  native/simd@avx2 *    PROVEN   10.0 µs ±1.0 %  0.250× [0.245, 0.255]  FASTER        60 % good  compute   26.0   2.00  1.43 MiB  none
 b=1,m=64,n=32,k=63  native/simd@avx512    WRONG             WRONG                      –  –                     –  –      –      –         –  –

note: every row had 1 thread, f32, sums in f32, caches hot, pages 4k, isolation T1; packing inside the timed call

note: * fastest: its interval stands clear of every other's

WRONG native/simd@avx512 on matmul:f32[b=1,m=64,n=32,k=63]: c[0,3,31] is 0, not 1.25
  $ proofmark prove matmul --seed 7
";
        // Runs of spaces are the renderer's business.
        let squeeze =
            |text: &str| text.split(' ').filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ");
        assert_eq!(squeeze(&text(&[first(), compared(), refused()], 200)), squeeze(expected));
    }

    #[test]
    fn narrow_terminals_stay_readable() {
        for width in [40, 50, 60] {
            let text = text(&[first(), compared(), refused()], width);
            for line in text.lines() {
                let is_command = line.trim_start().starts_with('$');
                let is_one_word = line.split_whitespace().count() == 1;
                assert!(line.chars().count() <= width || is_command || is_one_word, "{line}");
            }
        }
        let table = text(&[first(), compared(), refused()], 60);
        assert!(table.contains("native/simd@avx2 *    10.0 µs ±1.0 %\n"), "{table}");
        assert!(table.contains("native/simd@avx512             WRONG\n"), "{table}");
        let lines = text(&[first(), compared(), refused()], 50);
        assert!(lines.contains("  contender: native/simd@avx2 *\n"), "{lines}");
        assert!(lines.contains("  time: 10.0 µs ±1.0 %\n"), "{lines}");
    }

    #[test]
    fn eighty_columns_keep_a_table_with_time_and_efficiency() {
        let text = text(&[first(), compared(), refused()], 80);
        assert!(text.contains("native/simd@avx2 *    10.0 µs ±1.0 %        60 % good\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn what_several_findings_are_answered_with_is_told_once() {
        let finding = |claim: &str, advice: &str| Finding {
            severity: Severity::Undecided,
            claim: claim.to_owned(),
            items: vec![0],
            advice: advice.to_owned(),
        };
        let found = [finding("a", "wait"), finding("b", "wait"), finding("c", "look")];
        let mut document = Document::new("Found", serde_json::Value::Null, "");
        push_findings(&mut document, &[], &found);
        let text = (find("term").unwrap().render)(&document, &Style::default());
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        let told = ["undecided: a", "undecided: b", "note: wait", "undecided: c", "note: look"];
        assert_eq!(lines[1..], told);
    }

    #[test]
    fn numbers_that_are_none_and_empty_runs_are_rendered_by_everyone() {
        for records in [vec![], vec![with_time(f64::NAN)], vec![with_time(f64::INFINITY)]] {
            let document = bench(&records, &findings(&records), &[]);
            for renderer in RENDERERS {
                let text = (renderer.render)(&document, &Style::default());
                assert!(records.is_empty() || !text.is_empty(), "{}", renderer.name);
            }
        }
    }

    #[test]
    fn names_that_attack_the_reader_stay_text() {
        let mut record = first();
        record.contender.name = "<script>\u{1b}[31m|x".to_owned();
        let document = bench(&[record], &[], &[]);
        for name in ["term", "markdown"] {
            let text = (find(name).unwrap().render)(&document, &Style::default());
            assert!(!text.contains('\u{1b}'), "{text}");
        }
        let markdown = (find("markdown").unwrap().render)(&document, &Style::default());
        assert!(markdown.contains("&lt;script&gt;\\[31m\\|x"), "{markdown}");
    }

    #[test]
    fn data_has_the_run_flat_records_and_findings() {
        let records = [first(), compared()];
        let data = bench(&records, &findings(&records), &[]).data;
        assert_eq!(data["run"], "r1");
        assert_eq!(data["records"][1], flat_record(&records[1]));
        assert_eq!(data["findings"][0]["severity"], "note");
        assert_eq!(data.as_object().unwrap().len(), 5);
    }

    #[test]
    fn efficiency_over_the_limit_is_shown_and_marked() {
        let cell = efficiency(&with_time(4000.0));
        assert_eq!(cell, Cell::with("150 % over the limit", Emphasis::Bad));
    }
}
