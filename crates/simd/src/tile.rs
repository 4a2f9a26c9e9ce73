//! Products of tiles on machines that have none: they are never configured.

/// Rows of a tile, and columns of sums in it.
pub const ROWS: usize = 16;
/// Bytes in a row of a tile.
pub const ROW_BYTES: usize = 64;
/// Bytes of a tile whose rows lie densely.
pub const TILE_BYTES: usize = ROWS * ROW_BYTES;

/// What would be multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// bf16 by bf16 into f32.
    Bf16,
    /// f16 by f16 into f32.
    F16,
    /// Signed by signed bytes into i32.
    I8,
    /// Unsigned by signed bytes into i32.
    U8I8,
}

/// Always false.
pub fn available(_product: Product) -> bool {
    false
}

/// How the tiles of one operand lie in memory; all distances in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    /// The first row of the first tile.
    pub at: *const u8,
    /// From a row of a tile to the next.
    pub row: usize,
    /// From a tile to its neighbour of the same step.
    pub neighbour: usize,
    /// From a tile to that of the next step.
    pub step: usize,
}

/// Where sums lie.
#[derive(Clone, Copy, Debug)]
pub struct Sums {
    /// The first.
    pub at: *mut u8,
    /// Bytes from a row to the next.
    pub row: usize,
    /// Adds to what is there; otherwise it is overwritten.
    pub adds: bool,
}

/// Configured tiles, which cannot exist here.
#[derive(Debug)]
pub enum Tiles {}

impl Tiles {
    /// Always `None`.
    pub fn configure(_product: Product) -> Option<Tiles> {
        None
    }

    /// Never called, because there is no value to call it on.
    ///
    /// # Safety
    ///
    /// None needed; unsafe as on x86-64.
    pub unsafe fn multiply(
        &self,
        _shape: (usize, usize),
        _left: Walk,
        _right: Walk,
        _steps: usize,
        _sums: Sums,
    ) {
        match *self {}
    }

    /// Never called, because there is no value to call it on.
    ///
    /// # Safety
    ///
    /// None needed; unsafe as on x86-64.
    pub unsafe fn multiply_parts(
        &self,
        _parts: usize,
        _left: Walk,
        _right: Walk,
        _steps: usize,
        _sums: Sums,
    ) {
        match *self {}
    }
}
