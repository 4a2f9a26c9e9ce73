//! JUnit XML: a proof is a test, a refusal a failure, and every CI shows it.
//!
//! It is written by hand because the crate `quick-junit` rounds a time to milliseconds, and a call
//! of a kernel takes microseconds; it would also bring chrono along, in addition to jiff.

use super::{ExportFile, ExportOptions, ExportRow, Exported, Exporter, single};
use crate::plain::plain;
use proofmark_schema::Outcome;
use std::fmt::Write;

pub(super) const EXPORTER: Exporter = Exporter {
    name: "junit",
    summary: "JUnit XML: proofs as tests, refusals as failures, times in seconds",
    is_folder: false,
    is_text: true,
    has_failures: true,
    export,
};

/// JUnit's word for an outcome that is not proven.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Failure,
    Error,
    Skipped,
}

fn kind(outcome: Outcome) -> Option<Kind> {
    match outcome {
        Outcome::Proven => None,
        Outcome::Wrong | Outcome::Mistrusted | Outcome::Caught => Some(Kind::Failure),
        Outcome::Crashed | Outcome::TimedOut | Outcome::Broken => Some(Kind::Error),
        Outcome::Unsupported | Outcome::Absent | Outcome::Skipped | Outcome::Undecided => {
            Some(Kind::Skipped)
        }
    }
}

fn export(run: &Exported<'_>, _options: &ExportOptions) -> Vec<ExportFile> {
    let all: Vec<&ExportRow<'_>> = run.rows.iter().collect();
    let mut ops: Vec<&str> = all.iter().map(|row| row.record.case.op.as_str()).collect();
    ops.sort_unstable();
    ops.dedup();
    let mut out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let _ = writeln!(out, "<testsuites name=\"proofmark\" {}>", counts(&all));
    for op in ops {
        let of_op: Vec<&ExportRow<'_>> =
            all.iter().copied().filter(|row| row.record.case.op == op).collect();
        let date = run.date().map_or_else(String::new, |date| format!(" timestamp=\"{date}\""));
        let _ = writeln!(out, "  <testsuite name=\"{}\" {}{date}>", xml(op), counts(&of_op));
        for row in of_op {
            push_case(&mut out, row);
        }
        out += "  </testsuite>\n";
    }
    out += "</testsuites>\n";
    single(out)
}

fn counts(rows: &[&ExportRow<'_>]) -> String {
    let count = |wanted| {
        let is_wanted = |row: &&&ExportRow<'_>| outcome(row) == Some(wanted);
        rows.iter().filter(is_wanted).count()
    };
    format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        rows.len(),
        count(Kind::Failure),
        count(Kind::Error),
        count(Kind::Skipped)
    )
}

fn outcome(row: &ExportRow<'_>) -> Option<Kind> {
    kind(row.record.judged.proof().outcome)
}

fn push_case(out: &mut String, row: &ExportRow<'_>) {
    let proof = row.record.judged.proof();
    let time = row.record.judged.performance().map_or_else(String::new, |performance| {
        format!(" time=\"{:.12}\"", performance.wall_ns.estimate * 1e-9)
    });
    let (class, name) = (xml(&row.record.case.op), xml(&row.name()));
    let _ = write!(out, "    <testcase classname=\"proofmark.{class}\" name=\"{name}\"{time}");
    let Some(kind) = kind(proof.outcome) else {
        *out += "/>\n";
        return;
    };
    let reason = proof.refusal.as_ref().map_or("", |refusal| refusal.reason.as_str());
    let repro = proof.refusal.as_ref().map_or("", |refusal| refusal.repro.as_str());
    let (reason, repro) = (xml(reason), xml(repro));
    let word = proof.outcome.name();
    let inside = match kind {
        Kind::Skipped => format!("<skipped message=\"{word}: {reason}\"/>"),
        Kind::Failure => {
            format!("<failure type=\"{word}\" message=\"{reason}\">{repro}</failure>")
        }
        Kind::Error => format!("<error type=\"{word}\" message=\"{reason}\">{repro}</error>"),
    };
    let _ = writeln!(out, ">\n      {inside}\n    </testcase>");
}

/// Text that is no markup, without characters that XML does not have.
fn xml(text: &str) -> String {
    let mut out = String::new();
    for c in plain(text).chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&apos;",
            '\u{fffe}' | '\u{ffff}' => {}
            c => out.push(c),
        }
    }
    out
}
