//! Known answers, threads and bad indices of sparse matrices.

use super::{COO_TO_CSR, CSR_TO_COO, SPMM, SPMV};
use crate::blocks::row::trial;
use proofmark_contract::{Entry, Values, Want};
use proofmark_terms::Case;

const ALL: [&Entry; 4] = [&SPMV, &SPMM, &COO_TO_CSR, &CSR_TO_COO];

fn oracle(entry: &Entry, case: &str, inputs: [&[f64]; 4], output: usize) -> Vec<f64> {
    let case: Case = case.parse().unwrap();
    let inputs = Values { tensors: inputs.map(<[f64]>::to_vec).to_vec() };
    entry.op.oracle(&case, &inputs, output, &Want::all()).value
}

/// 2 0 3 / 0 0 0 / 1 4 0, with its first row out of order.
const CSR: [&[f64]; 3] = [&[0.0, 2.0, 2.0, 4.0], &[2.0, 0.0, 0.0, 1.0], &[3.0, 2.0, 1.0, 4.0]];

#[test]
fn products_are_those_by_hand() {
    let [pointers, columns, values] = CSR;
    let x: &[f64] = &[1.0, 10.0, 100.0];
    let vector = oracle(&SPMV, "spmv:f32[m=3,n=3]", [pointers, columns, values, x], 0);
    assert_eq!(vector, [302.0, 0.0, 41.0]);
    let rows: &[f64] = &[2.0, 0.0, 0.0, 2.0];
    let coo = [rows, &[0.0, 2.0, 0.0, 1.0], &[1.0, 3.0, 2.0, 4.0], x];
    assert_eq!(oracle(&SPMV, "spmv:f32[m=3,n=3;format=coo]", coo, 0), vector);
    let wide: &[f64] = &[1.0, 0.0, 10.0, 1.0, 100.0, 0.0];
    let matrix = oracle(&SPMM, "spmm:f32[m=3,n=3,p=2]", [pointers, columns, values, wide], 0);
    assert_eq!(matrix, [302.0, 0.0, 0.0, 0.0, 41.0, 4.0]);
}

#[test]
fn conversions_are_those_by_hand() {
    let [pointers, columns, values] = CSR;
    let case = "csr_to_coo:f32[m=3,n=3]";
    assert_eq!(
        oracle(&CSR_TO_COO, case, [pointers, columns, values, &[]], 0),
        [0.0, 0.0, 2.0, 2.0]
    );
    // Two entries of one place, the later one first in memory.
    let coo: [&[f64]; 4] = [&[2.0, 0.0, 2.0], &[1.0, 5.0, 1.0], &[7.0, 8.0, 9.0], &[]];
    let case = "coo_to_csr:f32[m=3,n=6]";
    assert_eq!(oracle(&COO_TO_CSR, case, coo, 0), [0.0, 1.0, 1.0, 3.0]);
    assert_eq!(oracle(&COO_TO_CSR, case, coo, 1), [5.0, 1.0, 1.0]);
    assert_eq!(oracle(&COO_TO_CSR, case, coo, 2), [8.0, 7.0, 9.0]);
}

#[test]
fn threads_do_not_change_a_bit() {
    for (entry, case) in [
        (&SPMV, "spmv:f32[m=3000,n=500;pattern=powerlaw]"),
        (&SPMV, "spmv:f32[m=3000,n=500;format=coo]"),
        (&SPMM, "spmm:f32[m=300,n=500,p=19]"),
        (&COO_TO_CSR, "coo_to_csr:f32[m=5000,n=500]"),
        (&CSR_TO_COO, "csr_to_coo:f32[m=5000,n=500]"),
    ] {
        trial::threads_change_nothing(entry, case);
    }
}

#[test]
fn patterns_have_the_entries_they_say_within_the_matrix() {
    for entry in ALL {
        for case in entry.op.proof_cases(proofmark_terms::DType::F32) {
            let structure = super::structure::Structure::of(&case);
            let [pointers, rows, columns] = structure.made(5);
            assert_eq!(pointers.len(), structure.rows + 1, "{case}");
            assert_eq!(pointers.last().copied(), Some(structure.entries() as f64), "{case}");
            assert_eq!((rows.len(), columns.len()), (structure.entries(), structure.entries()));
            assert!(pointers.is_sorted() && pointers[0] == 0.0, "{case}");
            assert!(columns.iter().all(|&column| (column as usize) < structure.cols), "{case}");
        }
    }
}
