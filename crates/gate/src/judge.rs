//! Holds outputs to a limit. A refusal says what is wrong, at which element, from which inputs.

use crate::compare::Score;
use crate::examination::Examination;
use crate::precision;
use crate::subject::Outputs;
use proofmark_contract::{Operand, Values};
use proofmark_schema::Outcome;
use proofmark_schema::proof::{Refusal, Worst};

impl Examination<'_> {
    /// Runs on `inputs` and holds every judged element to `limit`.
    pub(crate) fn judge(
        &mut self,
        inputs: &Values,
        filled: &str,
        limit: f64,
    ) -> Result<(Outputs, Vec<Score>), Box<Refusal>> {
        let outputs = self.run(inputs)?;
        let mut scores = Vec::new();
        for k in 0..self.signature.outputs().len() {
            let score = self.score(inputs, &outputs, k)?;
            if score.errors.q_max > limit {
                let judgement = Judgement { inputs, filled, outputs: &outputs, k, limit };
                self.looks_like = precision::infer(self, inputs, &outputs, k, limit);
                return Err(of_worst(self, &judgement, &score).unwrap_or_else(|no_truth| no_truth));
            }
            self.note_errors(&score);
            scores.push(score);
        }
        Ok((outputs, scores))
    }

    fn note_errors(&mut self, score: &Score) {
        let (all, new) = (&mut self.errors, &score.errors);
        all.q_max = all.q_max.max(new.q_max);
        all.q_rms = all.q_rms.max(new.q_rms);
        all.max_relative = all.max_relative.max(new.max_relative);
        all.max_ulp = all.max_ulp.max(new.max_ulp);
        all.nmse = all.nmse.max(new.nmse);
        all.cosine_distance = all.cosine_distance.max(new.cosine_distance);
        if new.bias.abs() > all.bias.abs() {
            all.bias = new.bias;
        }
    }
}

/// A run that broke a limit.
struct Judgement<'a> {
    inputs: &'a Values,
    filled: &'a str,
    outputs: &'a Outputs,
    k: usize,
    limit: f64,
}

/// The refusal of an output by its worst element.
fn of_worst(
    exam: &Examination<'_>,
    judgement: &Judgement<'_>,
    score: &Score,
) -> Result<Box<Refusal>, Box<Refusal>> {
    let Judgement { inputs, filled, outputs, k, limit } = *judgement;
    let operand = &exam.signature.outputs()[k];
    let layout = operand.layout();
    let want = exam.want(k);
    let flat = want.indices(layout.rows(), layout.cols())[score.worst];
    let truth = exam.truth(inputs, k, &want)?;
    let worst = Worst {
        output: operand.name.to_owned(),
        index: layout.index_of(flat),
        got: outputs.values[k][flat],
        want: truth.value[score.worst],
        q: score.errors.q_max,
        limit,
        inputs: filled.to_owned(),
        nearby: nearby(exam, inputs, operand, flat),
    };
    let mut reason = format!(
        "{}{:?} is {:e}, exact {:e}: error {:.3e} times the unit, limit {:.1} ({filled})",
        worst.output, worst.index, worst.got, worst.want, worst.q, limit
    );
    if let Some(class) = exam.looks_like {
        reason.push_str(&format!("; it behaves like {class}"));
    }
    let refusal = exam.by.refusal(exam.case, Outcome::Wrong, Some(exam.stage), reason);
    Ok(Box::new(Refusal { worst: Some(Box::new(worst)), ..refusal }))
}

/// The values of each read operand that lie at, or in the row or column of, an output element.
fn nearby(
    exam: &Examination<'_>,
    inputs: &Values,
    output: &Operand,
    flat: usize,
) -> Vec<(String, String)> {
    const SHOWN: usize = 4;
    let cols = output.layout().cols().max(1);
    let (row, col) = (flat / cols, flat % cols);
    let mut shown = Vec::new();
    for (i, operand) in exam.signature.operands().iter().enumerate() {
        if !operand.role.is_read() || operand.is_empty() {
            continue;
        }
        let layout = operand.layout();
        let start = if layout.cols() == cols {
            row.min(layout.rows() - 1) * cols + col
        } else {
            row.min(layout.rows() - 1) * layout.cols()
        };
        let values: Vec<String> =
            inputs.of(i)[start..].iter().take(SHOWN).map(|value| format!("{value:e}")).collect();
        let index = layout.index_of(start);
        shown.push((format!("{}{index:?}…", operand.name), values.join(" ")));
    }
    shown
}
