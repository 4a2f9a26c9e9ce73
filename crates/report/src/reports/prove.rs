//! The report of proofs: a row for each kernel, path and element type, then refusals in full.

use crate::document::{Cell, Column, Document, Emphasis};
use crate::flat::has_errors;
use crate::plain::counted;
use proofmark_schema::crash::Crash;
use proofmark_schema::imported::ImportedFrom;
use proofmark_schema::isolation::{Attempt, Confinement};
use proofmark_schema::precision::Precision;
use proofmark_schema::proof::{Proof, Stage, Worst};
use proofmark_schema::quantity::three_digits;
use proofmark_schema::{Family, Outcome};
use serde::Serialize;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// What the proofs of one contender on one element type came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProveRow {
    /// The op.
    pub op: String,
    /// The kernel's name; with its family where it is not ours.
    pub kernel: String,
    /// The path; `None` where it has none of its own.
    pub isa: Option<String>,
    /// The element type.
    pub dtype: String,
    /// The worst outcome.
    pub outcome: Outcome,
    /// Whether it was proven in an interpreter of its language.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interpreted: bool,
    /// Cases that were judged.
    pub cases: usize,
    /// Judged runs by the stage's letter.
    pub stages: BTreeMap<char, u32>,
    /// Greatest error in units of `u·scale`, where real data was judged and it is a number.
    pub q_max: Option<f64>,
    /// Root mean square of the same; the greatest of the cases.
    pub q_rms: Option<f64>,
    /// The class that was seen: the weakest of the cases.
    pub reproducibility: String,
    /// The precision of sums, or what the errors look like instead.
    pub precision: Precision,
    /// What results keep of precision that the op gives up on purpose: a line for each variant,
    /// from its last case.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fidelity: Vec<String>,
    /// How it was confined, and what it tried against that in any of the cases.
    #[serde(skip_serializing_if = "Confinement::is_unstated")]
    pub confinement: Confinement,
    /// Where the op came from, if it was read from another project's format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedFrom>,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The command that shows it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repro: Option<String>,
    /// The worst element, for wrong values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst: Option<Worst>,
    /// The crash, for a dead worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crash: Option<Crash>,
}

impl ProveRow {
    /// The row of the proofs of one contender on one element type; `None` without proofs. The
    /// first refusal stands for all.
    pub fn of(proofs: &[&Proof]) -> Option<ProveRow> {
        let decisive = proofs.iter().find(|proof| proof.refusal.is_some());
        let proof = decisive.or(proofs.first())?;
        let mut stages: BTreeMap<char, u32> = BTreeMap::new();
        for report in proofs.iter().flat_map(|proof| &proof.stages) {
            *stages.entry(report.stage.letter()).or_default() += report.checks;
        }
        let errors = || proofs.iter().filter(|proof| has_errors(proof)).map(|proof| proof.errors);
        let greatest = |values: &mut dyn Iterator<Item = f64>| {
            // A NaN among the errors must not vanish behind a number.
            values.reduce(|a, b| if a.is_nan() || a > b { a } else { b }).filter(|q| q.is_finite())
        };
        let refusal = proof.refusal.as_ref();
        let weakest = proofs.iter().map(|proof| proof.reproducibility).min();
        Some(ProveRow {
            op: proof.case.op.clone(),
            kernel: kernel(proof),
            isa: proof.contender.isa.map(|isa| isa.name().to_owned()),
            dtype: proof.case.dtype.name().to_owned(),
            outcome: proof.outcome,
            interpreted: proof.contract.interpreted,
            cases: proofs.len(),
            stages,
            q_max: greatest(&mut errors().map(|errors| errors.q_max)),
            q_rms: greatest(&mut errors().map(|errors| errors.q_rms)),
            reproducibility: weakest.map_or("none", |class| class.name()).to_owned(),
            precision: proof.precision,
            fidelity: fidelity(proofs),
            confinement: confinement(proofs),
            imported: None,
            reason: refusal.map(|refusal| match refusal.stage {
                Some(stage) => format!("stage {stage}: {}", refusal.reason),
                None => refusal.reason.clone(),
            }),
            repro: refusal.map(|refusal| refusal.repro.clone()),
            worst: refusal.and_then(|refusal| refusal.worst.as_deref().cloned()),
            crash: refusal.and_then(|refusal| refusal.crash.as_deref().cloned()),
        })
    }

    /// Judged runs of all stages.
    pub fn checks(&self) -> u32 {
        self.stages.values().sum()
    }
}

/// How all of them were confined, and what was tried in any of them.
fn confinement(proofs: &[&Proof]) -> Confinement {
    let mut all = proofs.first().map(|proof| proof.confinement.clone()).unwrap_or_default();
    for attempt in proofs.iter().skip(1).flat_map(|proof| &proof.confinement.attempts) {
        let is_alike =
            |one: &&mut Attempt| (&one.call, &one.target) == (&attempt.call, &attempt.target);
        match all.attempts.iter_mut().find(is_alike) {
            Some(known) => known.times = known.times.saturating_add(attempt.times),
            None => all.attempts.push(attempt.clone()),
        }
    }
    all
}

/// What stage D noted, with the last case of each set of attributes.
fn fidelity(proofs: &[&Proof]) -> Vec<String> {
    let mut noted: Vec<(&Proof, &str)> = Vec::new();
    for proof in proofs {
        let report = proof.stages.iter().find(|report| report.stage == Stage::ZeroMean);
        let note = report.map_or("", |report| &report.note);
        if !note.is_empty() {
            noted.retain(|(other, _)| other.case.attrs != proof.case.attrs);
            noted.push((proof, note));
        }
    }
    noted.into_iter().map(|(proof, note)| format!("{}: {note}", proof.case)).collect()
}

fn kernel(proof: &Proof) -> String {
    match proof.contender.family {
        Family::Native => proof.contender.name.clone(),
        family => format!("{}/{}", family.name(), proof.contender.name),
    }
}

const COLUMNS: [Column; 11] = [
    Column::left("op", 0),
    Column::left("kernel", 0),
    Column::left("isa", 0),
    Column::left("dtype", 0),
    Column::left("outcome", 0),
    Column::right("cases", 2),
    Column::right("checks", 2),
    Column::right("q_max", 1),
    Column::right("q_rms", 3),
    Column::left("reproducibility", 4),
    Column::left("precision", 5),
];

/// The document of proofs; `skipped` had passed before and were not judged again.
pub fn prove(rows: &[ProveRow], skipped: usize) -> Document {
    let mut data = json!({ "results": rows });
    if skipped > 0 {
        data["skipped"] = json!(skipped);
    }
    let mut document = Document::new("Proofs", data, "results");
    if rows.is_empty() && skipped == 0 {
        document.text("Nothing was proved.");
    }
    document.table("", &COLUMNS, rows.iter().map(cells).collect());
    // Kernels differ in errors, not in fidelity, so it is reported once for each op and element
    // type.
    let mut told: Vec<(&str, &str)> = Vec::new();
    for row in rows.iter().filter(|row| !row.fidelity.is_empty()) {
        if !told.contains(&(&row.op, &row.dtype)) {
            told.push((&row.op, &row.dtype));
            row.fidelity.iter().for_each(|line| document.text(line));
        }
    }
    for row in rows.iter().filter(|row| row.reason.is_some()) {
        push_refusal(&mut document, row);
    }
    let mut told: Vec<&str> = Vec::new();
    for row in rows.iter().filter(|row| row.imported.is_some()) {
        let caveat = row.imported.as_ref().and_then(ImportedFrom::caveat);
        if let (Some(caveat), false) = (caveat, told.contains(&row.op.as_str())) {
            told.push(&row.op);
            document.note(format!("{}: {caveat}", row.op));
        }
    }
    for row in rows {
        if let Some(tried) = row.confinement.tried() {
            let (op, kernel, dtype) = (&row.op, &row.kernel, &row.dtype);
            document.note(format!("refused by the sandbox: {op} {kernel} {dtype}: {tried}"));
        }
    }
    // A combination that a kernel does not do never ran.
    let ran = || rows.iter().filter(|row| row.outcome != Outcome::Unsupported);
    let levels: BTreeSet<String> = ran().map(|row| row.confinement.describe()).collect();
    let levels: Vec<String> = levels.into_iter().filter(|level| !level.is_empty()).collect();
    if !levels.is_empty() {
        document.note(format!("isolation {}", levels.join(" and ")));
    }
    let proven = rows.iter().filter(|row| row.outcome == Outcome::Proven).count();
    if !rows.is_empty() {
        let without = match rows.len() - ran().count() {
            0 => String::new(),
            count => format!(", {count} unsupported"),
        };
        document.text(format!("{proven} of {} proven{without}", counted(ran().count(), "row")));
    }
    if skipped > 0 {
        let before = counted(skipped, "row");
        document
            .text(format!("{before} passed before, by this program and seed: not judged again"));
    }
    document
}

/// The name of an outcome in tables. A proof in an interpreter says less than one on a device.
pub(super) fn outcome_name(outcome: Outcome, is_interpreted: bool) -> String {
    match (outcome, is_interpreted) {
        (Outcome::Proven, true) => format!("{outcome} (interpreted)"),
        _ => outcome.name().to_owned(),
    }
}

fn cells(row: &ProveRow) -> Vec<Cell> {
    let real =
        |value: Option<f64>| value.map_or_else(Cell::nothing, |q| Cell::plain(three_digits(q)));
    let outcome = match row.outcome {
        Outcome::Proven => Emphasis::Good,
        Outcome::Unsupported | Outcome::Absent | Outcome::Skipped => Emphasis::Dim,
        _ => Emphasis::Bad,
    };
    vec![
        Cell::plain(&row.op),
        Cell::plain(&row.kernel),
        row.isa.as_ref().map_or_else(Cell::nothing, Cell::plain),
        Cell::plain(&row.dtype),
        Cell::with(outcome_name(row.outcome, row.interpreted), outcome),
        Cell::plain(row.cases.to_string()),
        Cell::plain(row.checks().to_string()),
        real(row.q_max),
        real(row.q_rms),
        Cell::plain(&row.reproducibility),
        Cell::plain(row.precision.to_string()),
    ]
}

pub(super) fn push_refusal(document: &mut Document, row: &ProveRow) {
    let path = row.isa.as_ref().map_or_else(String::new, |isa| format!("@{isa}"));
    let reason = row.reason.as_deref().unwrap_or("");
    let ProveRow { op, kernel, dtype, outcome, .. } = row;
    document.text(format!("{outcome} {op} {kernel}{path} {dtype}: {reason}"));
    if let Some(worst) = &row.worst {
        let index: Vec<String> = worst.index.iter().map(ToString::to_string).collect();
        document.text(format!(
            "worst element: {}[{}] is {}, should be {}; q = {} over the limit {}; inputs {}",
            worst.output,
            index.join(","),
            worst.got,
            worst.want,
            three_digits(worst.q),
            three_digits(worst.limit),
            worst.inputs
        ));
        for (operand, values) in &worst.nearby {
            document.text(format!("near it: {operand} = {values}"));
        }
    }
    if let Some(crash) = &row.crash {
        let place = crash.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
        let Crash { cause, phase, call, .. } = crash;
        document.text(format!("crash: {cause}{place}, in phase {phase}, call {call}"));
    }
    document.command(row.repro.as_deref().unwrap_or(""));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{proof, refused_proof};
    use crate::render::{Style, find};

    #[test]
    fn results_have_exactly_the_agreed_names() {
        let row = ProveRow::of(&[&proof("native/simd@avx2"), &proof("native/simd@avx2")]).unwrap();
        let data = prove(&[row], 0).data;
        let expected = json!({"results": [{
            "op": "matmul", "kernel": "simd", "isa": "avx2", "dtype": "f32", "outcome": "PROVEN",
            "cases": 2, "stages": {"A": 2, "D": 8}, "q_max": 1.5, "q_rms": 0.25,
            "reproducibility": "bitwise", "precision": "f32",
        }]});
        assert_eq!(data, expected);
    }

    #[test]
    fn a_refusal_among_proofs_decides_and_is_told_in_full() {
        let row = ProveRow::of(&[&proof("native/simd@avx512"), &refused_proof()]).unwrap();
        assert_eq!(row.outcome, Outcome::Wrong);
        let document = prove(&[row], 0);
        assert_eq!(document.data["results"][0]["repro"], "proofmark prove matmul --seed 7");
        assert_eq!(document.data["results"][0]["worst"]["q"], "inf");
        let text = (find("term").unwrap().render)(&document, &Style::default());
        for part in [
            "WRONG matmul simd@avx512 f32: stage C (exact): c[0,3,31] is 0, not 1.25",
            "worst element: c[0,3,31] is 0, should be 1.25; q = inf over the limit 16.0",
            "near it: a = [1.0, 2.0]",
            "  $ proofmark prove matmul --seed 7",
            "0 of 1 row proven",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }

    #[test]
    fn who_passed_before_is_counted_and_not_called_proved_now() {
        let document = prove(&[], 12);
        assert_eq!(document.data, json!({"results": [], "skipped": 12}));
        let text = (find("term").unwrap().render)(&document, &Style::default());
        assert!(text.contains("12 rows passed before") && !text.contains("proven"), "{text}");
    }

    #[test]
    fn errors_that_were_not_measured_or_are_no_numbers_are_null() {
        let row = ProveRow::of(&[&refused_proof()]).unwrap();
        assert_eq!((row.q_max, row.q_rms), (None, None));
        let mut broken = proof("native/simd@avx2");
        broken.errors.q_max = f64::NAN;
        let row = ProveRow::of(&[&broken, &proof("native/simd@avx2")]).unwrap();
        assert_eq!(row.q_max, None);
        assert_eq!(ProveRow::of(&[]), None);
    }
}
