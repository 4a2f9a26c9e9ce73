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

/// a − i·b.
#[inline(always)]
fn sub_turned<S: Simd>(simd: S, a: Pair<S>, b: Pair<S>) -> Pair<S> {
    (simd.add(a.0, b.1), simd.sub(a.1, b.0))
}

/// a + i·b.
#[inline(always)]
fn add_turned<S: Simd>(simd: S, a: Pair<S>, b: Pair<S>) -> Pair<S> {
    (simd.sub(a.0, b.1), simd.add(a.1, b.0))
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

#[inline(always)]
fn four<S: Simd>(simd: S, a: [Pair<S>; 4]) -> [Pair<S>; 4] {
    let (t0, t1) = (add(simd, a[0], a[2]), sub(simd, a[0], a[2]));
    let (t2, t3) = (add(simd, a[1], a[3]), sub(simd, a[1], a[3]));
    [add(simd, t0, t2), sub_turned(simd, t1, t3), sub(simd, t0, t2), add_turned(simd, t1, t3)]
}

#[inline(always)]
fn eight<S: Simd>(simd: S, a: [Pair<S>; 8]) -> [Pair<S>; 8] {
    let even = four(simd, [a[0], a[2], a[4], a[6]]);
    let odd = four(simd, [a[1], a[3], a[5], a[7]]);
    let half = simd.splat(FRAC_1_SQRT_2);
    let (o1, o3) = (odd[1], odd[3]);
    // Turned by an eighth and by three eighths.
    let w1 = (simd.mul(half, simd.add(o1.0, o1.1)), simd.mul(half, simd.sub(o1.1, o1.0)));
    let w3 = (simd.mul(half, simd.sub(o3.1, o3.0)), simd.mul(half, simd.add(o3.0, o3.1)));
    [
        add(simd, even[0], odd[0]),
        add(simd, even[1], w1),
        sub_turned(simd, even[2], odd[2]),
        (simd.add(even[3].0, w3.0), simd.sub(even[3].1, w3.1)),
        sub(simd, even[0], odd[0]),
        sub(simd, even[1], w1),
        add_turned(simd, even[2], odd[2]),
        (simd.sub(even[3].0, w3.0), simd.add(even[3].1, w3.1)),
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
        // The table's sines are those of negative angles.
        out[j] = add_turned(simd, even, turned);
        out[R - j] = sub_turned(simd, even, turned);
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
    a: [Pair<S>; R],
    roots: *const f32,
) -> [Pair<S>; R] {
    let mut out = a;
    match R {
        2 => out[..2].copy_from_slice(&[add(simd, a[0], a[1]), sub(simd, a[0], a[1])]),
        4 => out[..4].copy_from_slice(&four(simd, [a[0], a[1], a[2], a[3]])),
        8 => {
            let eight = eight(simd, [a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]]);
            out[..8].copy_from_slice(&eight);
        }
        // SAFETY: as the caller vouches.
        _ => return unsafe { odd(simd, a, roots) },
    }
    out
}
