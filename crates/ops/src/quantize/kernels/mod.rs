//! The kernels of quantisation: one set for four ops, generic over elements and codes.

mod parallel;
mod scalar;
mod sheet;
mod simd;
mod step;

pub(super) use parallel::PARALLEL;
pub(super) use scalar::SCALAR;
pub(super) use simd::SIMD;

/// Evaluates `$body` with `$t` for the element type of a case and `$c` for that of its codes.
macro_rules! with_types {
    ($case:expr, $t:ident, $c:ident => $body:expr) => {{
        use crate::quantize::definition::{Format, Plan};
        use proofmark_tensor::{F8E4m3, F8E5m2, bf16};
        macro_rules! arm {
            ($element:ty, $code:ty) => {{
                type $t = $element;
                type $c = $code;
                $body
            }};
        }
        match ($case.dtype, Plan::of($case).format) {
            (proofmark_terms::DType::Bf16, Format::Int8) => arm!(bf16, i8),
            (proofmark_terms::DType::Bf16, Format::E4m3) => arm!(bf16, F8E4m3),
            (proofmark_terms::DType::Bf16, Format::E5m2) => arm!(bf16, F8E5m2),
            (_, Format::Int8) => arm!(f32, i8),
            (_, Format::E4m3) => arm!(f32, F8E4m3),
            (_, Format::E5m2) => arm!(f32, F8E5m2),
        }
    }};
}
pub(super) use with_types;
