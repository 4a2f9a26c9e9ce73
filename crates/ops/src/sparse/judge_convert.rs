//! What the judge knows of conversions between the formats of a sparse matrix.

use super::convert::{Conversion, Convert, Way};
use super::definition::SHAPES;
use super::oracle;
use super::structure::Structure;
use proofmark_contract::{
    Definition, Filling, Limits, Op, Portfolio, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::Work;
use proofmark_tensor::Fill;
use proofmark_terms::{AttrValue, Case, DType};

impl Op for Convert {
    fn work(&self, case: &Case) -> Work {
        let matrix = Structure::of(case);
        let (entries, rows) = (matrix.entries() as u64, matrix.rows as u64 + 1);
        let (coo, csr) = (12 * entries, 8 * entries + 4 * rows);
        let (bytes_read, bytes_written) =
            if self.way == Way::ToCsr { (coo, csr) } else { (csr, coo) };
        Work { flops: 0, bytes_read, bytes_written, transcendentals: 0 }
    }

    fn reduction(&self, _case: &Case) -> u64 {
        1
    }

    fn oracle(&self, case: &Case, inputs: &Values, output: usize, want: &Want) -> Truth {
        oracle::conversion(&Conversion::of(case), inputs, output, want)
    }

    /// Every place and value is the right one or wrong.
    fn limits(&self, _case: &Case) -> Limits {
        Limits { q_max: 0.0, q_rms: 0.0, structured: 0.0, ..Limits::default() }
    }

    fn portfolio(&self, _case: &Case, signature: &Signature) -> Portfolio {
        let mut portfolio = Portfolio::standard(signature);
        portfolio.exact.push(Filling::uniform(signature, &Fill::Normal));
        portfolio
    }

    fn structure(&self, case: &Case, seed: u64, inputs: &mut Values) {
        let matrix = Structure::of(case);
        [inputs.tensors[0], inputs.tensors[1]] = match self.way {
            Way::ToCsr => matrix.scattered(seed),
            Way::ToCoo => {
                let [pointers, _, columns] = matrix.made(seed);
                [pointers, columns]
            }
        };
    }

    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let largest = case.dtype.largest();
        Specials { signed_zero: true, ..Specials::standard(&[2], case.dtype, largest) }
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |&([m, n, each], pattern): &([u64; 3], &str)| {
            let case = Case::new(self.name(), dtype).axis("m", m).axis("n", n);
            let case = case.attr("pattern", AttrValue::Word(pattern.to_owned()));
            case.attr("each", AttrValue::Int(each as i64))
        };
        SHAPES.iter().map(case).collect()
    }
}
