//! What the judge knows of products with a sparse matrix: work, limits, what the gate tries, laws.

use super::definition::{Problem, Product, SHAPES};
use super::oracle;
use super::structure::Structure;
use proofmark_contract::{Filling, Law, Op, Portfolio, Signature, Specials, Truth, Values, Want};
use proofmark_schema::Work;
use proofmark_tensor::Fill;
use proofmark_terms::{AttrValue, Case, DType};

impl Op for Product {
    fn work(&self, case: &Case) -> Work {
        let problem = Problem::of(case);
        let Structure { rows, cols, .. } = problem.matrix;
        let (entries, width) = (problem.matrix.entries() as u64, problem.columns() as u64);
        let places = if problem.is_coo { entries } else { rows as u64 + 1 };
        Work {
            flops: 2 * entries * width,
            bytes_read: 4 * (places + 2 * entries + cols as u64 * width),
            bytes_written: 4 * rows as u64 * width,
            transcendentals: 0,
        }
    }

    fn sums_products(&self) -> bool {
        true
    }

    fn reduction(&self, case: &Case) -> u64 {
        let matrix = Problem::of(case).matrix;
        matrix.cols.max(4 * matrix.each) as u64
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        oracle::product(&Problem::of(case), inputs, want)
    }

    fn portfolio(&self, _case: &Case, signature: &Signature) -> Portfolio {
        let mut portfolio = Portfolio::standard(signature);
        // Sums of 65536 such products are exact in f32.
        let ints = Fill::Ints { magnitude: 15, density: 1.0 };
        portfolio.exact.push(Filling::uniform(signature, &ints));
        portfolio
    }

    fn structure(&self, case: &Case, seed: u64, inputs: &mut Values) {
        let problem = Problem::of(case);
        [inputs.tensors[0], inputs.tensors[1]] = if problem.is_coo {
            problem.matrix.scattered(seed)
        } else {
            let [pointers, _, columns] = problem.matrix.made(seed);
            [pointers, columns]
        };
    }

    /// `largest` leaves room for a product with the largest of normal numbers and the sum of all.
    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        Specials::standard(&[2, 3], case.dtype, case.dtype.largest() / 64.0)
    }

    fn laws(&self) -> &'static [Law] {
        LAWS
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |&([m, n, each], pattern): &([u64; 3], &str)| {
            let case = Case::new(self.name, dtype).axis("m", m).axis("n", n);
            let case = if self.name == "spmv" { case } else { case.axis("p", 1 + m % 70) };
            let case = case.attr("pattern", AttrValue::Word(pattern.to_owned()));
            case.attr("each", AttrValue::Int(each as i64))
        };
        let coo = |case: Case| case.attr("format", AttrValue::Word("coo".to_owned()));
        SHAPES.iter().flat_map(|shape| [case(shape), coo(case(shape))]).collect()
    }
}

const LAWS: &[Law] = &[
    Law {
        name: "doubles",
        statement: "doubling the entries doubles y, to the bit",
        change: |_, inputs, _| {
            inputs.tensors[2].iter_mut().for_each(|value| *value *= 2.0);
            true
        },
        holds: |_, before, after| {
            let pairs = before.outputs[0].iter().zip(&after.outputs[0]);
            match pairs.enumerate().find(|(_, (old, new))| 2.0 * **old != **new) {
                Some((i, (old, new))) => Err(format!("element {i} was {old:e} and is {new:e}")),
                None => Ok(()),
            }
        },
    },
    Law {
        name: "nothing_of_nothing",
        statement: "an x of zeros gives zeros",
        change: |_, inputs, _| {
            inputs.tensors[3].fill(0.0);
            true
        },
        holds: |_, _, after| match after.outputs[0].iter().position(|&y| y != 0.0) {
            Some(i) => Err(format!("element {i} is {:e}", after.outputs[0][i])),
            None => Ok(()),
        },
    },
];
