//! Sweeps: `b=16,32 s=256:2048:*2 d=768` as every combination of axis sizes.

use crate::EngineError;
use proofmark_schema::case::is_word;
use std::str::FromStr;

/// Sizes a single axis may be swept over, and combinations a sweep may have.
const MOST: usize = 100_000;

/// Sizes for each axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sweep {
    /// Axis names with their sizes, in the order given.
    pub axes: Vec<(String, Vec<u64>)>,
}

impl Sweep {
    /// Every combination; the last axis varies fastest.
    pub fn combinations(&self) -> Vec<Vec<(String, u64)>> {
        let mut all: Vec<Vec<(String, u64)>> = vec![Vec::new()];
        for (name, sizes) in &self.axes {
            let extend = |so_far: &Vec<(String, u64)>| {
                let so_far = so_far.clone();
                sizes.iter().map(move |&size| {
                    let mut next = so_far.clone();
                    next.push((name.clone(), size));
                    next
                })
            };
            all = all.iter().flat_map(extend).collect();
        }
        all
    }
}

impl FromStr for Sweep {
    type Err = EngineError;

    fn from_str(text: &str) -> Result<Sweep, EngineError> {
        if text.trim().is_empty() {
            let expected = "it is empty; leave it out, or write `axis=sizes`";
            return Err(EngineError::Sweep { part: text.to_owned(), expected });
        }
        let mut sweep = Sweep::default();
        let mut count = 1usize;
        for part in text.split_whitespace() {
            let bad = |expected| EngineError::Sweep { part: part.to_owned(), expected };
            let named = part.split_once('=').filter(|(name, _)| is_word(name));
            let (name, list) = named.ok_or_else(|| bad("write `axis=sizes`"))?;
            if sweep.axes.iter().any(|(known, _)| known == name) {
                return Err(bad("the axis is given twice"));
            }
            let mut sizes = Vec::new();
            for item in list.split(',') {
                sizes.extend(item_sizes(item).map_err(bad)?);
            }
            count = count.saturating_mul(sizes.len());
            if sizes.is_empty() || count > MOST {
                return Err(bad("it has no size, or the sweep has over 100,000 combinations"));
            }
            sweep.axes.push((name.to_owned(), sizes));
        }
        Ok(sweep)
    }
}

/// `n`, `a:b`, `a:b:step` or `a:b:*factor`, ends included.
fn item_sizes(item: &str) -> Result<Vec<u64>, &'static str> {
    const FORM: &str = "sizes are `n`, `a:b:step` or `a:b:*factor`, joined by commas";
    let number = |text: &str| text.parse::<u64>().map_err(|_| FORM);
    let parts: Vec<&str> = item.split(':').collect();
    let (first, last, step) = match parts[..] {
        [only] => return Ok(vec![number(only)?]),
        [first, last] => (number(first)?, number(last)?, "1"),
        [first, last, step] => (number(first)?, number(last)?, step),
        _ => return Err(FORM),
    };
    if first > last {
        return Err("the first size is greater than the last");
    }
    let next: Box<dyn Fn(u64) -> Option<u64>> = match step.strip_prefix('*') {
        Some(factor) => {
            let factor = number(factor)?;
            if factor < 2 || first == 0 {
                return Err("a factor is at least 2 and starts above 0");
            }
            Box::new(move |size| size.checked_mul(factor))
        }
        None => {
            let step = number(step)?;
            if step == 0 {
                return Err("a step is at least 1");
            }
            Box::new(move |size| size.checked_add(step))
        }
    };
    let within = |&size: &u64| size <= last;
    let sizes = std::iter::successors(Some(first), |&size| next(size)).take_while(within);
    // One too many is kept, so that the count is found out of bounds.
    Ok(sizes.take(MOST + 1).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(text: &str) -> Vec<u64> {
        text.parse::<Sweep>().unwrap().axes.remove(0).1
    }

    #[test]
    fn lists_steps_and_factors_are_read() {
        assert_eq!(sizes("d=1,7,3"), [1, 7, 3]);
        assert_eq!(sizes("d=256:2048:*2"), [256, 512, 1024, 2048]);
        assert_eq!(sizes("d=1:7:3"), [1, 4, 7]);
        assert_eq!(sizes("d=1:3"), [1, 2, 3]);
        assert_eq!(sizes("d=5,8:16:*2"), [5, 8, 16]);
    }

    #[test]
    fn axes_multiply_out_with_the_last_fastest() {
        let sweep: Sweep = "b=1,2 d=8,16".parse().unwrap();
        let flat: Vec<Vec<u64>> = sweep
            .combinations()
            .into_iter()
            .map(|axes| axes.into_iter().map(|(_, size)| size).collect())
            .collect();
        assert_eq!(flat, [[1, 8], [1, 16], [2, 8], [2, 16]]);
    }

    #[test]
    fn nonsense_is_refused_without_panic_or_hang() {
        for text in [
            "",
            " ",
            "d",
            "d=",
            "=3",
            "d=x",
            "d=1:2:0",
            "d=0:8:*2",
            "d=1:8:*1",
            "d=9:1",
            "d=1 d=2",
            "d=1:18446744073709551615:1",
            "d=1:2:3:4",
        ] {
            assert!(text.parse::<Sweep>().is_err(), "{text}");
        }
        assert_eq!(sizes("d=1:18446744073709551615:*4096").len(), 6);
    }
}
