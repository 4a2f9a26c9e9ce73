//! What outputs hold before a call: bits that no right kernel writes.

use proofmark_schema::DType;

/// Eight bytes of poison, to be repeated over the elements of a row.
///
/// Floats get a signalling NaN (the one NaN there is, for f8e4m3) with `pattern` in its payload;
/// integers get the bytes of `pattern`, so two runs with different patterns tell whether an
/// element was written.
pub fn poison_word(dtype: DType, pattern: u64) -> [u8; 8] {
    // Exponent all ones, quiet bit clear, the bit below it set; the payload goes beneath.
    let (nan, payload) = match dtype {
        DType::F64 => (0x7ff4_0000_0000_0000, 0x0003_ffff_ffff_ffff),
        DType::F32 => (0x7fa0_0000, 0x001f_ffff),
        DType::F16 => (0x7d00, 0x00ff),
        DType::Bf16 => (0x7fa0, 0x001f),
        DType::F8e5m2 => (0x7d, 0x80),
        DType::F8e4m3 => (0x7f, 0x80),
        _ => return pattern.to_le_bytes(),
    };
    let element = (nan | pattern & payload).to_le_bytes();
    let mut word = [0; 8];
    for chunk in word.chunks_mut(dtype.size()) {
        chunk.copy_from_slice(&element[..chunk.len()]);
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_tensor::decode;

    #[test]
    fn poison_of_floats_is_not_a_number_whatever_the_pattern() {
        for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float()) {
            for pattern in [0, 1, 0xdead_beef_cafe_f00d, u64::MAX] {
                let values = decode(dtype, &poison_word(dtype, pattern));
                assert_eq!(values.len(), 8 / dtype.size());
                assert!(values.iter().all(|value| value.is_nan()), "{dtype} {pattern:#x}");
            }
        }
    }

    #[test]
    fn poison_of_f32_signals() {
        let bits = u32::from_le_bytes(poison_word(DType::F32, u64::MAX)[..4].try_into().unwrap());
        assert_eq!(bits & 0x0040_0000, 0, "the quiet bit is clear");
    }

    #[test]
    fn poison_of_integers_is_the_pattern() {
        assert_eq!(poison_word(DType::I8, 0x0102_0304_0506_0708), [8, 7, 6, 5, 4, 3, 2, 1]);
    }
}
