//! What the judge knows of softmax: work, limits, what the gate tries, laws.

use super::definition::{Problem, Softmax};
use super::oracle;
use crate::blocks::row::{ROWS_ARE_INDEPENDENT, edge_cases, moves, room, same_bits};
use proofmark_contract::{
    Definition, Filling, Law, Limits, Observed, Op, Portfolio, Signature, Specials, Truth, Values,
    Want,
};
use proofmark_schema::Work;
use proofmark_tensor::Fill;
use proofmark_terms::{AttrValue, Case, DType};

impl Op for Softmax {
    fn work(&self, case: &Case) -> Work {
        let problem = Problem::of(case);
        let elements = (problem.rows * problem.length) as u64;
        let bytes = elements * case.dtype.size() as u64;
        // Maximum, difference, sum, product; one exponential each.
        Work {
            flops: 4 * elements,
            bytes_read: bytes,
            bytes_written: bytes,
            transcendentals: elements,
        }
    }

    fn reduction(&self, case: &Case) -> u64 {
        Problem::of(case).length as u64
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        oracle::truth(&Problem::of(case), inputs.of(0), want)
    }

    /// The default limits. Measured over all proof cases: kernels that sum in blocks or lanes
    /// reach q = 0.5 on zero-mean and 14 on structured data, a single chain of 20,011 additions
    /// 0.9 and 61 (where it gets the same term over and over; the limit is 582 there). Every
    /// mutant has q above 100 on some case.
    fn limits(&self, _case: &Case) -> Limits {
        Limits::default()
    }

    fn portfolio(&self, _case: &Case, signature: &Signature) -> Portfolio {
        let mut portfolio = Portfolio::standard(signature);
        let mut add = |fill| portfolio.structured.push(Filling::uniform(signature, &fill));
        // Past ±89 an exponential without the shift overflows or vanishes; uniform rows span all
        // of its range, down to results that are subnormal.
        add(Fill::Offset { mean: 100.0 });
        add(Fill::Offset { mean: -200.0 });
        add(Fill::Uniform { low: -100.0, high: 0.0 });
        add(Fill::Uniform { low: -1000.0, high: 1000.0 });
        add(Fill::Ints { magnitude: 8, density: 1.0 });
        portfolio
    }

    /// Any finite value is admitted: a difference that overflows is -infinity, which gives 0.
    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        Specials::standard(&[0], case.dtype, case.dtype.largest())
    }

    fn laws(&self) -> &'static [Law] {
        LAWS
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |b, s, d| Case::new("softmax", dtype).axis("b", b).axis("s", s).axis("d", d);
        let in_place = |case: Case| case.attr("inplace", AttrValue::Flag(true));
        let causal = |case: Case| case.attr("mask", AttrValue::Word("causal".to_owned()));
        let mut cases = edge_cases(self.name(), dtype);
        cases.extend([
            case(1, 1, 20_011),
            in_place(case(1, 3, 13)),
            in_place(case(2, 2, 128)),
            in_place(case(1, 3, 251)),
            causal(case(2, 3, 3)),
            causal(case(1, 35, 35)),
            causal(case(2, 17, 64)),
            causal(case(1, 5, 130)),
            causal(case(1, 3, 0)),
            in_place(causal(case(2, 7, 33))),
        ]);
        cases
    }
}

const LAWS: &[Law] = &[
    ROWS_ARE_INDEPENDENT,
    Law {
        name: "shift_free",
        statement: "adding a constant to a row changes y only by what rounding x + c costs",
        change: |case, inputs, seed| {
            // Large enough to overflow an exponential without the shift by the maximum. In 16
            // bits nothing would be left of x, so there a small one.
            let constant = if case.dtype == DType::F32 { 128.0 } else { 0.5 };
            let constant = if seed.is_multiple_of(2) { constant } else { -constant };
            inputs.tensors[0].iter_mut().for_each(|x| *x += constant);
            true
        },
        holds: shift_is_free,
    },
    Law {
        name: "sums_to_one",
        statement: "each row of y sums to 1 within its error bound, also for -x",
        change: |_, inputs, _| {
            inputs.tensors[0].iter_mut().for_each(|x| *x = -*x);
            true
        },
        holds: |case, before, after| {
            rows_sum_to_one(case, before).and(rows_sum_to_one(case, after))
        },
    },
    Law {
        name: "keeps_order",
        statement: "reversing a row reverses y; in both a larger x never has a smaller y",
        change: |case, inputs, _| {
            let Problem { length, causal, .. } = Problem::of(case);
            inputs.tensors[0].chunks_mut(length.max(1)).for_each(<[f64]>::reverse);
            causal.is_none()
        },
        holds: |case, before, after| {
            keeps_order(case, before)?;
            keeps_order(case, after)?;
            moves::<Softmax>(case, before, after, |col, length| length - 1 - col)
        },
    },
    Law {
        name: "masked_columns_are_unseen",
        statement: "changing what the mask hides changes no bit",
        change: |case, inputs, _| {
            let problem = Problem::of(case);
            let rows = inputs.tensors[0].chunks_mut(problem.length.max(1)).enumerate();
            rows.for_each(|(i, row)| row[problem.width(i)..].fill(1000.0));
            problem.causal.is_some()
        },
        holds: |_, before, after| same_bits(before, after, |_, y| y),
    },
];

fn truth(case: &Case, run: Observed<'_>) -> Truth {
    oracle::truth(&Problem::of(case), run.inputs.of(0), &Want::all())
}

fn shift_is_free(case: &Case, before: Observed<'_>, after: Observed<'_>) -> Result<(), String> {
    let length = Problem::of(case).length.max(1);
    let truth = truth(case, before);
    let shift = |i: usize| after.inputs.of(0)[i] - before.inputs.of(0)[i];
    for start in (0..before.outputs[0].len()).step_by(length) {
        let row = start..start + length;
        // Where all shifts are equal x + c was exact; else y may change by their spread.
        let low = row.clone().map(shift).fold(f64::INFINITY, f64::min);
        let high = row.clone().map(shift).fold(f64::NEG_INFINITY, f64::max);
        for i in row {
            let (old, new) = (before.outputs[0][i], after.outputs[0][i]);
            let moved = truth.value[i] * (high - low).exp_m1();
            if (old - new).abs() > moved + room(&Softmax, case, old.max(new), truth.scale[i]) {
                return Err(format!("element {i} was {old:e} and became {new:e}"));
            }
        }
    }
    Ok(())
}

fn rows_sum_to_one(case: &Case, run: Observed<'_>) -> Result<(), String> {
    let length = Problem::of(case).length.max(1);
    let truth = truth(case, run);
    for (row, y) in run.outputs[0].chunks(length).enumerate() {
        let scales = &truth.scale[row * length..];
        let bound: f64 =
            y.iter().zip(scales).map(|(&y, &scale)| room(&Softmax, case, y, scale)).sum();
        let sum: f64 = y.iter().sum();
        if (sum - 1.0).abs() > 0.5 * bound {
            return Err(format!("row {row} sums to {sum}"));
        }
    }
    Ok(())
}

fn keeps_order(case: &Case, run: Observed<'_>) -> Result<(), String> {
    let length = Problem::of(case).length.max(1);
    let truth = truth(case, run);
    for row in 0..run.outputs[0].len() / length {
        let x = &run.inputs.of(0)[row * length..][..length];
        let y = &run.outputs[0][row * length..][..length];
        let mut order: Vec<usize> = (0..length).collect();
        order.sort_by(|&a, &b| x[a].total_cmp(&x[b]));
        for pair in order.windows(2) {
            let (lower, higher) = (pair[0], pair[1]);
            let scale = truth.scale[row * length + lower];
            if y[higher] + room(&Softmax, case, y[lower], scale) < y[lower] {
                return Err(format!("row {row}: elements {lower} and {higher} changed order"));
            }
        }
    }
    Ok(())
}
