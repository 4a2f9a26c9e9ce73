//! Products of signed bytes with exact sums in i32; both operands are stored row by term.

mod rows;
mod sums;
mod tiles;

pub(crate) use rows::RowProducts;
pub(crate) use sums::Sums;
pub(crate) use tiles::{PackedBytes, TileProducts, TileScratch, pack};
