//! What the judge knows of cross entropy: work, limits, what the gate tries, laws.

use super::definition::{CrossEntropy, Problem};
use super::oracle;
use crate::blocks::row::{room, same_bits};
use proofmark_contract::{Filling, Law, Op, Portfolio, Signature, Specials, Truth, Values, Want};
use proofmark_schema::Work;
use proofmark_tensor::{Fill, round_to};
use proofmark_terms::{AttrValue, Case, DType};

impl Op for CrossEntropy {
    fn work(&self, case: &Case) -> Work {
        let Problem { rows, length, smoothing, is_mean, .. } = Problem::of(case);
        let elements = (rows * length) as u64;
        // Maximum, difference, sum, and the sum of logits where they are smoothed.
        Work {
            flops: (3 + u64::from(smoothing > 0.0)) * elements,
            bytes_read: elements * case.dtype.size() as u64 + 4 * rows as u64,
            bytes_written: if is_mean { 4 } else { 4 * rows as u64 },
            transcendentals: elements + rows as u64,
        }
    }

    fn reduction(&self, case: &Case) -> u64 {
        let Problem { rows, length, .. } = Problem::of(case);
        rows.max(length) as u64
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        oracle::truth(&Problem::of(case), inputs.of(0), inputs.of(1), want)
    }

    fn portfolio(&self, _case: &Case, signature: &Signature) -> Portfolio {
        let mut portfolio = Portfolio::standard(signature);
        let mut add = |fill| portfolio.structured.push(Filling::uniform(signature, &fill));
        // Past ±89 an exponential without the shift overflows or vanishes.
        add(Fill::Offset { mean: 100.0 });
        add(Fill::Offset { mean: -200.0 });
        add(Fill::Uniform { low: -1000.0, high: 1000.0 });
        add(Fill::Ints { magnitude: 8, density: 1.0 });
        portfolio
    }

    /// Differences of logits must not overflow, nor their sum where they are smoothed.
    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let length = Problem::of(case).length.max(1) as f64;
        Specials::standard(
            &[0],
            case.dtype,
            (DType::F32.largest() / (64.0 * length)).min(case.dtype.largest()),
        )
    }

    fn laws(&self) -> &'static [Law] {
        LAWS
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case =
            |&(n, v): &(u64, u64)| Case::new("cross_entropy", dtype).axis("n", n).axis("v", v);
        let none = |case: Case| case.attr("reduction", AttrValue::Word("none".to_owned()));
        let smooth = |case: Case| case.attr("smoothing", AttrValue::Real(0.1));
        let ignore = |target| move |case: Case| case.attr("ignore", AttrValue::Int(target));
        #[rustfmt::skip] // By kind.
        let shapes = [
            (1, 2), (3, 3), (2, 7), (4, 15), (3, 16), (5, 17), (2, 31), (3, 33), (4, 63), (2, 64),
            (3, 65), (2, 127), (40, 129), (3, 509), (3, 4097), (1, 20_011),
        ];
        let mut cases: Vec<Case> = shapes.iter().map(case).collect();
        cases.extend([(1, 1), (7, 5), (37, 40), (3, 1021), (0, 5)].iter().map(case).map(none));
        cases.extend([(2, 3), (5, 33), (3, 600)].iter().map(case).map(smooth));
        cases.extend([(37, 9), (4, 64)].iter().map(case).map(smooth).map(none));
        cases.extend([(20, 3), (33, 17)].iter().map(case).map(ignore(-1)));
        cases.extend([(20, 4), (9, 130)].iter().map(case).map(ignore(2)).map(smooth));
        cases.push(none(ignore(1)(case(&(19, 6)))));
        cases
    }
}

const LAWS: &[Law] = &[
    Law {
        name: "shift_free",
        statement: "adding a constant to the logits, where that is exact, leaves the loss",
        change: |case, inputs, seed| {
            let constant = [64.0, -64.0][(seed % 2) as usize];
            let is_exact = |x: &f64| round_to(case.dtype, x + constant) - constant == *x;
            let applies = inputs.of(0).iter().all(is_exact);
            inputs.tensors[0].iter_mut().for_each(|x| *x += constant);
            applies
        },
        holds: stays,
    },
    Law {
        name: "order_free",
        statement: "turning rows and targets around leaves the loss within its bound",
        change: |case, inputs, _| {
            let Problem { length, ignore, .. } = Problem::of(case);
            inputs.tensors[0].chunks_mut(length.max(1)).for_each(<[f64]>::reverse);
            let targets = inputs.tensors[1].iter_mut().filter(|target| **target != ignore as f64);
            targets.for_each(|target| *target = length as f64 - 1.0 - *target);
            // A target that counts no longer would change the mean.
            inputs.of(1).iter().all(|&target| target != ignore as f64)
        },
        holds: stays,
    },
    Law {
        name: "uncounted_rows_are_unseen",
        statement: "changing the logits of rows that do not count changes no bit",
        change: |case, inputs, _| {
            let Problem { length, ignore, .. } = Problem::of(case);
            let [logits, targets, ..] = &mut inputs.tensors[..] else { return false };
            let rows = logits.chunks_mut(length.max(1)).zip(targets);
            let mut some = false;
            for (row, _) in rows.filter(|(_, target)| **target == ignore as f64) {
                row.fill(1000.0);
                some = true;
            }
            some
        },
        holds: |_, before, after| same_bits(before, after, |_, loss| loss),
    },
];

fn stays(
    case: &Case,
    before: proofmark_contract::Observed<'_>,
    after: proofmark_contract::Observed<'_>,
) -> Result<(), String> {
    let truth = |inputs| CrossEntropy.oracle(case, inputs, 0, &Want::all());
    let (old_truth, new_truth) = (truth(before.inputs), truth(after.inputs));
    for (i, (&old, &new)) in before.outputs[0].iter().zip(&after.outputs[0]).enumerate() {
        let scale = old_truth.scale[i].max(new_truth.scale[i]);
        let room = room(&CrossEntropy, case, old.abs().max(new.abs()), scale);
        if (old - new).abs() > room {
            return Err(format!("loss {i} was {old:e} and became {new:e}"));
        }
    }
    Ok(())
}
