//! Matrix products in BLIS's shape: packed panels, a macro loop, one micro-kernel over vectors.
//!
//! The five loops and the panel formats are those of Van Zee and van de Geijn, "BLIS: A Framework
//! for Rapidly Instantiating BLAS Functionality" (2015). Inputs of any stored type are widened to
//! f32 while they are packed, so there is one micro-kernel; the output is rounded once, after the
//! last term. The order of summation of an element depends on `k` and [`Blocking::kc`] only, so
//! rows and columns may be split among threads without changing a bit.
//!
//! Beside it stand products of few rows, which pack nothing ([`Skinny`]), products of few columns,
//! which pack no left operand ([`Streamed`]), and products of 16 bits on AMX tiles ([`TileGemm`]),
//! whose right operand is not packed either if there are few rows ([`TurnedTiles`]).

mod blocking;
mod dequantised;
mod epilogue;
mod macro_loop;
mod micro;
mod pack;
mod skinny;
mod streamed;
#[cfg(test)]
mod tests;
pub(crate) mod tiles;
mod turned;

pub use blocking::{Blocking, Keeps};
pub(crate) use dequantised::{Dequantised, dequantised_scratch, packs};
pub use epilogue::Epilogue;
pub use macro_loop::{Gemm, Right};
pub use pack::{PackRight, PackedRight};
pub use skinny::{SKINNY_ROWS, Skinny, skinny_scratch};
pub use streamed::{Columns, Packing, Streamed, Unpacked};
pub use tiles::{PackTiles, PackedTiles, TileGemm, TileRight, TileScratch, TileTerm};
pub use turned::{TURNED_ROWS, TurnedTiles, turned_bytes};
