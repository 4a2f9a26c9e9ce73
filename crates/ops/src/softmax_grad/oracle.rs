//! The slow truth of softmax's gradient in f64: value and error scale.
#![forbid(unsafe_code)]

use proofmark_contract::{Truth, Want};

/// The truth about the wanted elements; the scale is what passes through sum, difference and
/// product: `|y|·(|dy| + Σ|y·dy|)`, twice for the two that follow the sum.
pub(super) fn truth(rows: usize, length: usize, [y, dy]: [&[f64]; 2], want: &Want) -> Truth {
    let columns = want.cols(length);
    let rows = want.rows(rows);
    let mut truth = Truth::with_capacity(rows.len() * columns.len());
    for row in rows {
        let range = row * length..(row + 1) * length;
        let (y, dy) = (&y[range.clone()], &dy[range]);
        let products = || y.iter().zip(dy).map(|(y, dy)| y * dy);
        let (sum, magnitudes) = (products().sum::<f64>(), products().map(f64::abs).sum::<f64>());
        for &i in &columns {
            let scale = 2.0 * y[i].abs() * (dy[i].abs() + magnitudes);
            let scale = if scale.is_finite() { scale } else { 0.0 };
            truth.push(y[i] * (dy[i] - sum), scale);
        }
    }
    truth
}
