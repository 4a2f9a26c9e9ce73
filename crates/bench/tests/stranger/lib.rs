//! A crate of a stranger: the kernels that its bench proves and measures.

/// Softmax of rows of `cols` elements.
pub fn softmax(x: &[f32], y: &mut [f32], cols: usize) {
    for (x, y) in x.chunks_exact(cols).zip(y.chunks_exact_mut(cols)) {
        let max = x.iter().fold(f32::NEG_INFINITY, |max, x| max.max(*x));
        let mut sum = 0.0;
        for (x, y) in x.iter().zip(y.iter_mut()) {
            *y = (x - max).exp();
            // A NaN or an infinity makes the row NaN.
            sum += if max.is_nan() { f32::NAN } else { *y };
        }
        for y in y {
            *y /= sum;
        }
    }
}

/// The weights of a row times a factor, packed once.
pub fn packed(weight: &[f32], packed: &mut [f32]) {
    for (from, to) in weight.iter().zip(packed) {
        *to = 2.0 * from;
    }
}
