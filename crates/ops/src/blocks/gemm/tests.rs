//! Packing and blocking by themselves; whole products are tested with matmul.

use super::*;
use proofmark_simd::{available, dispatch};
use proofmark_tensor::Rows;
use proofmark_terms::Isa;

fn isas() -> impl Iterator<Item = Isa> {
    Isa::ALL.into_iter().filter(|&isa| available(isa))
}

#[test]
fn blocks_are_whole_tiles() {
    for isa in Isa::ALL {
        let blocking = Blocking::of(isa);
        assert_eq!((blocking.mc % blocking.mr, blocking.nc % blocking.nr), (0, 0), "{isa}");
    }
}

#[test]
fn a_packed_operand_holds_each_element_once_and_zeros_past_its_edge() {
    let (k, n) = (259, 37);
    let values: Vec<f32> = (0..k * n).map(|index| index as f32 + 1.0).collect();
    let transposed: Vec<f32> = (0..k * n).map(|index| values[index % k * n + index / k]).collect();
    for isa in isas() {
        let blocking = Blocking::of(isa);
        let count = blocking.packed_right(k, n);
        let (mut plain, mut turned) = (vec![f32::NAN; count], vec![f32::NAN; count]);
        let rows = Rows::from_slice(&values, k, n);
        dispatch(isa, PackRight { rows, transposed: false, to: &mut plain });
        let rows = Rows::from_slice(&transposed, n, k);
        dispatch(isa, PackRight { rows, transposed: true, to: &mut turned });
        assert_eq!(plain, turned, "{isa}: both layouts give the same panels");

        let packed = PackedRight { data: &plain, n };
        for start in [0, blocking.kc] {
            let terms = start..k.min(start + blocking.kc);
            for column in (0..n).step_by(blocking.nr) {
                let panel = packed.panel(&terms, column, blocking.nr);
                for (at, &got) in panel.iter().enumerate() {
                    let (p, j) = (start + at / blocking.nr, column + at % blocking.nr);
                    let want = if j < n { values[p * n + j] } else { 0.0 };
                    assert_eq!(got, want, "{isa} term {p} column {j}");
                }
            }
        }
    }
}
