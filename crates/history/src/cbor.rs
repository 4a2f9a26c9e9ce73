//! Deterministic CBOR (RFC 8949, section 4.2.1) of texts, whole numbers, flags and maps: the bytes
//! that a series id is a hash of. There are no floats on purpose.

/// A value that can be part of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Flag(bool),
    Int(i64),
    Unsigned(u64),
    Text(String),
    Map(Vec<(String, Value)>),
}

impl Value {
    /// The bytes; maps are sorted by the bytes of their keys.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Value::Flag(value) => out.push(if *value { 0xf5 } else { 0xf4 }),
            Value::Unsigned(value) => head(0, *value, out),
            Value::Int(value) if *value >= 0 => head(0, value.unsigned_abs(), out),
            Value::Int(value) => head(1, !(*value) as u64, out),
            Value::Text(text) => {
                head(3, text.len() as u64, out);
                out.extend_from_slice(text.as_bytes());
            }
            Value::Map(entries) => {
                let mut encoded: Vec<(Vec<u8>, Vec<u8>)> = entries
                    .iter()
                    .map(|(key, value)| (Value::Text(key.clone()).encode(), value.encode()))
                    .collect();
                encoded.sort();
                head(5, encoded.len() as u64, out);
                for (key, value) in encoded {
                    out.extend(key);
                    out.extend(value);
                }
            }
        }
    }
}

/// A major type with its number, in the fewest bytes.
fn head(major: u8, number: u64, out: &mut Vec<u8>) {
    let major = major << 5;
    match number {
        0..24 => out.push(major | number as u8),
        24..0x100 => out.extend([major | 24, number as u8]),
        0x100..0x1_0000 => {
            out.push(major | 25);
            out.extend((number as u16).to_be_bytes());
        }
        0x1_0000..0x1_0000_0000 => {
            out.push(major | 26);
            out.extend((number as u32).to_be_bytes());
        }
        _ => {
            out.push(major | 27);
            out.extend(number.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of appendix A of the RFC.
    #[test]
    fn examples_of_the_standard() {
        let text = |text: &str| Value::Text(text.to_owned());
        let cases: [(Value, &[u8]); 9] = [
            (Value::Int(23), &[0x17]),
            (Value::Int(24), &[0x18, 0x18]),
            (Value::Int(1000), &[0x19, 0x03, 0xe8]),
            (Value::Unsigned(u64::MAX), &[0x1b, 255, 255, 255, 255, 255, 255, 255, 255]),
            (Value::Int(-1), &[0x20]),
            (Value::Int(-1000), &[0x39, 0x03, 0xe7]),
            (text("ü"), &[0x62, 0xc3, 0xbc]),
            (Value::Flag(true), &[0xf5]),
            (
                Value::Map(vec![("b".to_owned(), text("B")), ("a".to_owned(), text("A"))]),
                &[0xa2, 0x61, 0x61, 0x61, 0x41, 0x61, 0x62, 0x61, 0x42],
            ),
        ];
        for (value, bytes) in cases {
            assert_eq!(value.encode(), bytes, "{value:?}");
        }
    }
}
