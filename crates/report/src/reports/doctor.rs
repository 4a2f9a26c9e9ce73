//! The report of the doctor: each check, and what to do about it.

use crate::document::{Cell, Column, Document, Emphasis};
use crate::plain::counted;
use proofmark_schema::machine::CheckState;
use serde::Serialize;
use serde_json::json;

/// One check of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoctorCheck {
    /// Its name.
    pub name: String,
    /// How it went.
    pub state: CheckState,
    /// What was seen.
    pub detail: String,
    /// What to do; empty where nothing is.
    pub hint: String,
}

const COLUMNS: [Column; 3] =
    [Column::left("check", 0), Column::left("state", 0), Column::text("detail", 0)];

/// The document of the checks.
pub fn doctor(checks: &[DoctorCheck]) -> Document {
    let mut document = Document::new("Doctor", json!({ "checks": checks }), "checks");
    document.table("", &COLUMNS, checks.iter().map(row).collect());
    for check in checks.iter().filter(|check| !check.hint.is_empty()) {
        document.text(format!("{} ({}): {}", check.name, check.state.name(), check.hint));
    }
    let count = |state: CheckState| checks.iter().filter(|check| check.state == state).count();
    let (problems, warnings) = (count(CheckState::Problem), count(CheckState::Warning));
    document.text(match (problems, warnings) {
        (0, 0) => "This machine is fit to measure.".to_owned(),
        (0, _) => format!("Fit to measure, with {}.", counted(warnings, "warning")),
        _ => {
            format!("Not fit: {}, {}.", counted(problems, "problem"), counted(warnings, "warning"))
        }
    });
    document
}

fn row(check: &DoctorCheck) -> Vec<Cell> {
    let state = match check.state {
        CheckState::Fine => Cell::with(check.state.name(), Emphasis::Good),
        CheckState::Problem => Cell::with(check.state.name(), Emphasis::Bad),
        CheckState::Warning => Cell::plain(check.state.name()),
    };
    vec![Cell::plain(&check.name), state, Cell::plain(&check.detail)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Style, find};

    #[test]
    fn hints_follow_the_table_and_problems_decide() {
        let check = |name: &str, state: CheckState, hint: &str| DoctorCheck {
            name: name.to_owned(),
            state,
            detail: "seen".to_owned(),
            hint: hint.to_owned(),
        };
        let text = |checks: &[DoctorCheck]| {
            (find("term").unwrap().render)(&doctor(checks), &Style::default())
        };
        let fine = text(&[check("a", CheckState::Fine, "")]);
        assert!(fine.ends_with("This machine is fit to measure.\n"), "{fine}");
        let (warning, problem) = (CheckState::Warning, CheckState::Problem);
        let text = text(&[check("a", warning, "do x"), check("b", problem, "do y")]);
        assert!(text.contains("b (problem): do y"), "{text}");
        assert!(text.ends_with("Not fit: 1 problem, 1 warning.\n"), "{text}");
    }
}
