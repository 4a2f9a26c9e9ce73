//! The names of fills: text that parses back.

use super::Fill;
use std::fmt;
use std::str::FromStr;

impl Fill {
    /// The name and the arguments.
    fn parts(&self) -> (&'static str, Vec<f64>) {
        match *self {
            Fill::Zero => ("zero", vec![]),
            Fill::Normal => ("normal", vec![]),
            Fill::Uniform { low, high } => ("uniform", vec![low, high]),
            Fill::Ints { magnitude, density } => ("ints", vec![f64::from(magnitude), density]),
            Fill::PowersOfTwo { reach } => ("powers_of_two", vec![f64::from(reach)]),
            Fill::Alternating => ("alternating", vec![]),
            Fill::Offset { mean } => ("offset", vec![mean]),
            Fill::Graded { decades } => ("graded", vec![decades]),
            Fill::HeavyTail => ("heavy_tail", vec![]),
            Fill::Sparse { density } => ("sparse", vec![density]),
            Fill::Constant { value } => ("constant", vec![value]),
            Fill::Subnormal => ("subnormal", vec![]),
            Fill::NearOverflow { fraction } => ("near_overflow", vec![fraction]),
            Fill::Cancel => ("cancel", vec![]),
            Fill::Needle => ("needle", vec![]),
            Fill::Ramp => ("ramp", vec![]),
            Fill::Striped { every, value, spread } => {
                ("striped", vec![f64::from(every), value, spread])
            }
            Fill::RandomBits { bits } => ("random_bits", vec![f64::from(bits)]),
        }
    }
}

impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, arguments) = self.parts();
        f.write_str(name)?;
        for (i, argument) in arguments.iter().enumerate() {
            write!(f, "{}{argument}", if i > 0 { "," } else { "(" })?;
        }
        if arguments.is_empty() { Ok(()) } else { f.write_str(")") }
    }
}

/// A text that names no fill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseFillError(pub String);

impl fmt::Display for ParseFillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a fill: write a name and its numbers, as in `normal` or `uniform(-1,1)`",
            self.0
        )
    }
}

impl std::error::Error for ParseFillError {}

/// A number that a whole-number argument may be.
fn whole(number: f64) -> Option<u32> {
    let whole = number as u32;
    (f64::from(whole) == number).then_some(whole)
}

fn parse(text: &str) -> Option<Fill> {
    let (name, arguments) = match text.split_once('(') {
        Some((name, rest)) => (name, rest.strip_suffix(')')?),
        None => (text, ""),
    };
    let numbers: Option<Vec<f64>> =
        arguments.split(',').filter(|_| text.contains('(')).map(|part| part.parse().ok()).collect();
    Some(match (name, numbers?.as_slice()) {
        ("zero", []) => Fill::Zero,
        ("normal", []) => Fill::Normal,
        ("uniform", &[low, high]) => Fill::Uniform { low, high },
        ("ints", &[magnitude, density]) => Fill::Ints { magnitude: whole(magnitude)?, density },
        ("powers_of_two", &[reach]) => {
            Fill::PowersOfTwo { reach: whole(reach).filter(|&reach| reach <= 1000)? }
        }
        ("alternating", []) => Fill::Alternating,
        ("offset", &[mean]) => Fill::Offset { mean },
        ("graded", &[decades]) => Fill::Graded { decades },
        ("heavy_tail", []) => Fill::HeavyTail,
        ("sparse", &[density]) => Fill::Sparse { density },
        ("constant", &[value]) => Fill::Constant { value },
        ("subnormal", []) => Fill::Subnormal,
        ("near_overflow", &[fraction]) => Fill::NearOverflow { fraction },
        ("cancel", []) => Fill::Cancel,
        ("needle", []) => Fill::Needle,
        ("ramp", []) => Fill::Ramp,
        ("striped", &[every, value, spread]) => {
            Fill::Striped { every: whole(every)?, value, spread }
        }
        ("random_bits", &[bits]) => {
            Fill::RandomBits { bits: whole(bits).filter(|&bits| bits <= 64)? }
        }
        _ => return None,
    })
}

impl FromStr for Fill {
    type Err = ParseFillError;

    fn from_str(text: &str) -> Result<Fill, ParseFillError> {
        parse(text).ok_or_else(|| ParseFillError(text.to_owned()))
    }
}
