//! The loop over a row's vectors and its tail.

/// Writes a row: `vectors!(S, simd, [x: T in x, w: T in w] => y: U in y, body)` binds `x` and `w`
/// to the next vector of each slice, loaded from its element type, and stores `body` as `U`.
///
/// All slices are as long as the written one. A macro, because only what is inlined is compiled
/// with the level's instructions, and a closure cannot be forced to be.
macro_rules! vectors {
    ($S:ident, $simd:ident,
     [$($x:ident: $X:ident in $from:expr),+] => $y:ident: $Y:ident in $out:expr, $body:expr) => {{
        $(let mut $x = $from.chunks_exact($S::LANES);)+
        let mut $y = $out.chunks_exact_mut($S::LANES);
        for $y in &mut $y {
            $(
                let Some($x) = $x.next() else { break };
                let $x = <$X as $crate::blocks::stored::Stored>::load($simd, $x);
            )+
            <$Y as $crate::blocks::stored::Stored>::store($simd, $body, $y);
        }
        $(
            let $x = $x.remainder();
            let $x = <$X as $crate::blocks::stored::Stored>::load_partial($simd, $x, 0.0);
        )+
        let $y = $y.into_remainder();
        <$Y as $crate::blocks::stored::Stored>::store_partial($simd, $body, $y);
    }};
}

pub(crate) use vectors;
