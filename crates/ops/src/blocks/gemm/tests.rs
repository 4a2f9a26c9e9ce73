//! Packing and blocking by themselves; whole products are tested with matmul.

use super::*;
use crate::blocks::math::Activation;
use crate::blocks::stored::Stored;
use proofmark_simd::{available, dispatch, tile};
use proofmark_tensor::{AlignedBuffer, Rows, RowsMut, bf16};
use proofmark_terms::{DType, Isa};

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
    let (k, n) = (1031, 37);
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

#[test]
fn a_height_computes_the_fewest_rows_past_the_edge() {
    let blocking = Blocking::built_in(Isa::Avx512);
    assert_eq!(blocking.height(32), 8, "32 rows and not 42");
    assert_eq!(blocking.height(33), 11, "33 rows and not 40");
    assert_eq!(blocking.height(280), 14, "nothing past the edge: the highest");
    assert_eq!(blocking.height(1), 4);
}

/// A product of small integers, which is exact in every order, into elements of type `U`.
fn product<U: Stored>(isa: Isa, (m, n, k): (usize, usize, usize), transposed: bool) -> Vec<f32> {
    let a: Vec<f32> = (0..m * k).map(|at| (at * 7 % 5) as f32 - 2.0).collect();
    let b: Vec<f32> = (0..k * n).map(|at| (at * 11 % 3) as f32 - 1.0).collect();
    let (rows, cols) = if transposed { (n, k) } else { (k, n) };
    let blocking = Blocking::of(isa);
    let keeps = Keeps { packed_right: false, f32_output: U::DTYPE == DType::F32 };
    let mut scratch = vec![f32::NAN; blocking.scratch(m, n, k, keeps)];
    let mut c = vec![U::narrow(f32::NAN); m * n];
    let right = Right::Stored { rows: Rows::from_slice(&b, rows, cols), transposed };
    let product = Gemm {
        left: Rows::from_slice(&a, m, k),
        right,
        first_column: 0,
        output: RowsMut::from_slice(&mut c, m, n),
        epilogue: Epilogue { bias: None, activation: Activation::None },
        scratch: &mut scratch,
    };
    dispatch(isa, product);
    for i in 0..m {
        for j in (0..n).step_by(7) {
            let term = |p: usize| a[i * k + p] * b[if transposed { j * k + p } else { p * n + j }];
            let want = U::narrow((0..k).map(term).sum()).widen();
            assert_eq!(c[i * n + j].widen(), want, "{isa} {m}x{n}x{k} row {i} column {j}");
        }
    }
    c.into_iter().map(Stored::widen).collect()
}

#[test]
fn products_over_several_blocks_are_those_of_the_definition() {
    // One block of rows and several groups of columns; several of rows, of columns, of terms.
    for shape in [(17, 1100, 9), (40, 600, 1030), (260, 2100, 5), (300, 70, 1040)] {
        for isa in isas() {
            for transposed in [false, true] {
                product::<f32>(isa, shape, transposed);
                product::<bf16>(isa, shape, transposed);
            }
        }
    }
}

/// The same on tiles, with a right operand that is packed within the product or before.
fn tile_product((m, n, k): (usize, usize, usize), transposed: bool, is_packed: bool) {
    let a: Vec<bf16> = (0..m * k).map(|at| bf16::narrow((at * 7 % 5) as f32 - 2.0)).collect();
    let b: Vec<bf16> = (0..k * n).map(|at| bf16::narrow((at * 11 % 3) as f32 - 1.0)).collect();
    let (rows, cols) = if transposed { (n, k) } else { (k, n) };
    let rows = Rows::from_slice(&b, rows, cols);
    let mut data = vec![bf16::NAN; PackedTiles::elements(k, n)];
    dispatch(Isa::Avx512, PackTiles { rows, transposed, to: &mut data });
    let right = match is_packed {
        true => TileRight::Packed(PackedTiles { data: &data, n }),
        false => TileRight::Stored { rows, transposed },
    };
    let mut scratch = AlignedBuffer::new(TileScratch::of(m, n, k, is_packed).bytes());
    let mut c = vec![f32::NAN; m * n];
    let product = TileGemm {
        left: Rows::from_slice(&a, m, k),
        right,
        first_column: 0,
        output: RowsMut::from_slice(&mut c, m, n),
        epilogue: Epilogue { bias: None, activation: Activation::None },
        scratch: scratch.as_mut_slice(),
    };
    dispatch(Isa::Avx512, product);
    for i in 0..m {
        for j in (0..n).step_by(7) {
            let at = |p: usize| if transposed { j * k + p } else { p * n + j };
            let term = |p: usize| a[i * k + p].widen() * b[at(p)].widen();
            let want: f32 = (0..k).map(term).sum();
            assert_eq!(c[i * n + j], want, "{m}x{n}x{k} row {i} column {j}");
        }
    }
}

#[test]
fn products_on_tiles_over_several_blocks_are_those_of_the_definition() {
    if !tile::available(tile::Product::Bf16) {
        return;
    }
    // Several blocks of columns; of rows; of all three.
    for shape in [(40, 600, 70), (33, 300, 1060), (545, 40, 70), (530, 270, 2100)] {
        for (transposed, is_packed) in [(false, false), (true, false), (true, true)] {
            tile_product(shape, transposed, is_packed);
        }
    }
}
