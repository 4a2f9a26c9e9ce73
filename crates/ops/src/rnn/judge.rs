//! What the judge knows of recurrent layers: work, limits, what the gate tries, laws.

use super::definition::{Cell, Problem, Recurrent};
use super::{laws, oracle};
use proofmark_contract::{
    Definition, Filling, Law, Op, Operand, Portfolio, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::Work;
use proofmark_tensor::Fill;
use proofmark_terms::{Case, DType};

impl Op for Recurrent {
    fn work(&self, case: &Case) -> Work {
        let of = Problem::of(case);
        let cells = of.steps * of.batch * of.units;
        let signature = self.signature(case);
        let bytes = |operands: &[Operand]| operands.iter().map(Operand::bytes).sum::<u64>();
        let (read, written) = signature
            .as_ref()
            .map_or((0, 0), |signature| (bytes(signature.inputs()), bytes(signature.outputs())));
        Work {
            flops: (cells * (of.gates() * 2 * (of.inputs + of.units + 1) + 4)) as u64,
            bytes_read: read,
            bytes_written: written,
            transcendentals: (cells * if of.cell == Cell::Lstm { 5 } else { 3 }) as u64,
        }
    }

    fn sums_products(&self) -> bool {
        true
    }

    fn reduction(&self, case: &Case) -> u64 {
        let of = Problem::of(case);
        (of.inputs + of.units) as u64
    }

    fn sequences(&self, case: &Case) -> usize {
        Problem::of(case).batch
    }

    fn oracle(&self, case: &Case, inputs: &Values, output: usize, want: &Want) -> Truth {
        oracle::truth(Problem::of(case), inputs, output, want)
    }

    /// Weights as they are initialised, between ±1/√h, so that errors of a step neither vanish nor
    /// take over in the next; inputs by every fill.
    fn portfolio(&self, case: &Case, signature: &Signature) -> Portfolio {
        let of = Problem::of(case);
        let bound = 1.0 / (of.units.max(1) as f64).sqrt();
        let tame = |mut filling: Filling| {
            let state = Fill::Uniform { low: -1.0, high: 1.0 };
            (1..of.weights()[0]).for_each(|operand| filling.fills[operand] = state.clone());
            for operand in of.weights() {
                filling.fills[operand] = Fill::Uniform { low: -bound, high: bound };
            }
            filling
        };
        let standard = Portfolio::standard(signature);
        let tamed = |fillings: Vec<Filling>| fillings.into_iter().map(tame).collect::<Vec<_>>();
        let mut structured = tamed(standard.structured);
        let constant = Filling::uniform(signature, &Fill::Constant { value: 0.5 });
        structured.push(tame(constant.clone()).with(of.weights()[0], constant.fills[0].clone()));
        Portfolio { exact: Vec::new(), zero_mean: tamed(standard.zero_mean), structured }
    }

    fn specials(&self, case: &Case, signature: &Signature) -> Specials {
        let operands: Vec<usize> = (0..signature.inputs().len()).collect();
        Specials::standard(&operands, case.dtype, 2f64.powi(60))
    }

    fn laws(&self) -> &'static [Law] {
        laws::LAWS
    }

    /// Steps, sequences and units around vectors and tiles, one step, more rows than a thin
    /// product has, and empty axes.
    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let sizes = [
            [1, 1, 1, 1],
            [1, 3, 5, 7],
            [3, 2, 4, 16],
            [2, 17, 9, 33],
            [4, 1, 31, 40],
            [5, 3, 17, 8],
            [1, 20, 65, 15],
            [2, 18, 20, 64],
            [1, 17, 300, 3],
            [6, 4, 3, 31],
            [1, 1, 128, 129],
            [2, 33, 5, 3],
            [2, 2, 0, 5],
            [0, 3, 4, 5],
            [2, 0, 3, 4],
        ];
        let case = |[t, b, i, h]: [u64; 4]| {
            let case = Case::new(self.name(), dtype).axis("t", t).axis("b", b);
            case.axis("i", i).axis("h", h)
        };
        sizes.into_iter().map(case).collect()
    }
}
