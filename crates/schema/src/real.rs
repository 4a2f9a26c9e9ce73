//! Reals in JSON: numbers where JSON has them, the words `NaN`, `inf`, `-inf` where it has not.

use serde::{Deserializer, Serializer, de};

/// Writes a real that may be infinite or not a number.
pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.is_finite() { serializer.serialize_f64(*value) } else { serializer.collect_str(value) }
}

/// Reads what [`serialize`] wrote.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    struct Visitor;
    impl de::Visitor<'_> for Visitor {
        type Value = f64;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a number, \"NaN\", \"inf\" or \"-inf\"")
        }

        fn visit_f64<E: de::Error>(self, value: f64) -> Result<f64, E> {
            Ok(value)
        }

        fn visit_u64<E: de::Error>(self, value: u64) -> Result<f64, E> {
            Ok(value as f64)
        }

        fn visit_i64<E: de::Error>(self, value: i64) -> Result<f64, E> {
            Ok(value as f64)
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<f64, E> {
            match text {
                "NaN" => Ok(f64::NAN),
                "inf" => Ok(f64::INFINITY),
                "-inf" => Ok(f64::NEG_INFINITY),
                other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
            }
        }
    }
    deserializer.deserialize_any(Visitor)
}

#[cfg(test)]
mod tests {
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Holder(#[serde(with = "super")] f64);

    #[test]
    fn every_kind_of_real_survives() {
        for value in [0.1, -3.0, 5e-324, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            let text = serde_json::to_string(&Holder(value)).unwrap();
            let back: Holder = serde_json::from_str(&text).unwrap();
            assert!(back.0.to_bits() == value.to_bits() || (value.is_nan() && back.0.is_nan()));
        }
    }
}
