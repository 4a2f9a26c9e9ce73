//! Transforms of a few points in registers, a point of every lane's column in each pair of vectors.

use proofmark_simd::Simd;
use std::f32::consts::FRAC_1_SQRT_2;

/// Real and imaginary parts.
pub(super) type Pair<S> = (<S as Simd>::F, <S as Simd>::F);

#[inline(always)]
fn add<S: Simd>(simd: S, a: Pair<S>, b: Pair<S>) -> Pair<S> {
    (simd.add(a.0, b.0), simd.add(a.1, b.1))
}

#[inline(always)]
fn sub<S: Simd>(simd: S, a: Pair<S>, b: Pair<S>) -> Pair<S> {
    (simd.sub(a.0, b.0), simd.sub(a.1, b.1))
}

/// a + by·b.
#[inline(always)]
fn add_scaled<S: Simd>(simd: S, a: Pair<S>, by: S::F, b: Pair<S>) -> Pair<S> {
    (simd.fma(by, b.0, a.0), simd.fma(by, b.1, a.1))
}

/// The direction of a transform: butterflies are the same both ways but for the sign of i.
#[derive(Clone, Copy)]
pub(super) struct Turn<S: Simd> {
    plus: S::F,
    minus: S::F,
}

impl<S: Simd> Turn<S> {
    /// Clockwise, or the other way for the inverse.
    #[inline(always)]
    pub(super) fn new(simd: S, is_inverse: bool) -> Turn<S> {
        let sign = if is_inverse { -1.0 } else { 1.0 };
        Turn { plus: simd.splat(sign), minus: simd.splat(-sign) }
    }

    /// a − i·b.
    #[inline(always)]
    fn sub(self, simd: S, a: Pair<S>, b: Pair<S>) -> Pair<S> {
        (simd.fma(self.plus, b.1, a.0), simd.fma(self.minus, b.0, a.1))
    }

    /// a + i·b.
    #[inline(always)]
    fn add(self, simd: S, a: Pair<S>, b: Pair<S>) -> Pair<S> {
        (simd.fma(self.minus, b.1, a.0), simd.fma(self.plus, b.0, a.1))
    }
}

/// The product of complex numbers.
#[inline(always)]
pub(super) fn product<S: Simd>(simd: S, a: Pair<S>, b: Pair<S>) -> Pair<S> {
    let re = simd.fma(a.0, b.0, simd.neg(simd.mul(a.1, b.1)));
    (re, simd.fma(a.0, b.1, simd.mul(a.1, b.0)))
}

/// The complex number at `at` in every lane.
///
/// # Safety
/// Two floats are readable there.
#[inline(always)]
pub(super) unsafe fn spread<S: Simd>(simd: S, at: *const f32) -> Pair<S> {
    // SAFETY: as the caller vouches.
    unsafe { (simd.splat(*at), simd.splat(*at.add(1))) }
}

/// The transform of four points.
#[inline(always)]
pub(super) fn four<S: Simd>(simd: S, turn: Turn<S>, a: [Pair<S>; 4]) -> [Pair<S>; 4] {
    let (t0, t1) = (add(simd, a[0], a[2]), sub(simd, a[0], a[2]));
    let (t2, t3) = (add(simd, a[1], a[3]), sub(simd, a[1], a[3]));
    [add(simd, t0, t2), turn.sub(simd, t1, t3), sub(simd, t0, t2), turn.add(simd, t1, t3)]
}

#[inline(always)]
fn eight<S: Simd>(simd: S, turn: Turn<S>, a: [Pair<S>; 8]) -> [Pair<S>; 8] {
    let even = four(simd, turn, [a[0], a[2], a[4], a[6]]);
    let odd = four(simd, turn, [a[1], a[3], a[5], a[7]]);
    let (half, minus) = (simd.splat(FRAC_1_SQRT_2), simd.splat(-FRAC_1_SQRT_2));
    // Turned by an eighth, and by three eighths with the other sign; longer by √2.
    let (w1, w3) = (turn.sub(simd, odd[1], odd[1]), turn.add(simd, odd[3], odd[3]));
    [
        add(simd, even[0], odd[0]),
        add_scaled(simd, even[1], half, w1),
        turn.sub(simd, even[2], odd[2]),
        add_scaled(simd, even[3], minus, w3),
        sub(simd, even[0], odd[0]),
        add_scaled(simd, even[1], minus, w1),
        turn.add(simd, even[2], odd[2]),
        add_scaled(simd, even[3], half, w3),
    ]
}

/// An odd number of points: sums of mirrored points with cosines, differences with sines.
///
/// # Safety
/// `roots` is readable for `R` complex numbers.
#[inline(always)]
unsafe fn odd<S: Simd, const R: usize>(
    simd: S,
    a: [Pair<S>; R],
    roots: *const f32,
) -> [Pair<S>; R] {
    let mut out = a;
    let (mut sums, mut differences) = (a, a);
    for i in 1..=R / 2 {
        sums[i] = add(simd, a[i], a[R - i]);
        differences[i] = sub(simd, a[i], a[R - i]);
        out[0] = add(simd, out[0], sums[i]);
    }
    for j in 1..=R / 2 {
        let mut even = a[0];
        let mut turned = (simd.zero(), simd.zero());
        for i in 1..=R / 2 {
            // SAFETY: the index is below R.
            let (cos, sin) = unsafe { spread(simd, roots.add(2 * (i * j % R))) };
            even = (simd.fma(sums[i].0, cos, even.0), simd.fma(sums[i].1, cos, even.1));
            turned = (
                simd.fma(differences[i].0, sin, turned.0),
                simd.fma(differences[i].1, sin, turned.1),
            );
        }
        // The table's sines have the direction's sign.
        out[j] = (simd.sub(even.0, turned.1), simd.add(even.1, turned.0));
        out[R - j] = (simd.add(even.0, turned.1), simd.sub(even.1, turned.0));
    }
    out
}

/// The transform of `R` points: 2, 4, 8, or odd.
///
/// # Safety
/// Where `R` is odd, `roots` is readable for `R` complex numbers.
#[inline(always)]
pub(super) unsafe fn butterfly<S: Simd, const R: usize>(
    simd: S,
    turn: Turn<S>,
    a: [Pair<S>; R],
    roots: *const f32,
) -> [Pair<S>; R] {
    let mut out = a;
    match R {
        2 => out[..2].copy_from_slice(&[add(simd, a[0], a[1]), sub(simd, a[0], a[1])]),
        4 => out[..4].copy_from_slice(&four(simd, turn, [a[0], a[1], a[2], a[3]])),
        8 => {
            let eight = eight(simd, turn, [a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]]);
            out[..8].copy_from_slice(&eight);
        }
        // SAFETY: as the caller vouches.
        _ => return unsafe { odd(simd, a, roots) },
    }
    out
}
