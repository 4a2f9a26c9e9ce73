//! From sampled stacks to the functions and lines where the time goes.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A function at a place, inlined into the one before it or called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frame {
    /// Its name.
    pub function: String,
    /// `file:line`, where the program says.
    pub place: Option<String>,
    /// Whether it is of a language's own library.
    pub is_library: bool,
}

/// Frames, the outermost first, and how often a thread was found there.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    /// The frames.
    pub frames: Vec<Frame>,
    /// Samples.
    pub samples: u64,
}

/// A function or a line, with its share of the samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// Its name or place.
    pub name: String,
    /// Samples in it, and in nothing that it called.
    pub own: u64,
    /// Samples in it or in what was inlined into it.
    pub total: u64,
}

/// Where the time goes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Profile {
    /// Samples in all.
    pub samples: u64,
    /// Functions, the hottest first.
    pub functions: Vec<Share>,
    /// Lines of code that is not a language's own library, the hottest first.
    pub lines: Vec<Share>,
    /// Stacks as `outer;inner` with their samples, as flame graphs take them.
    pub folded: Vec<(String, u64)>,
}

/// Counts stacks.
pub fn profile(stacks: &[Stack]) -> Profile {
    let mut functions: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut lines: BTreeMap<&str, u64> = BTreeMap::new();
    let mut folded: BTreeMap<String, u64> = BTreeMap::new();
    for Stack { frames, samples } in stacks {
        let names: BTreeSet<&str> = frames.iter().map(|frame| frame.function.as_str()).collect();
        for name in names {
            functions.entry(name).or_default().1 += samples;
        }
        // The time of a library's function counts as its caller's.
        let own = frames.iter().rev().find(|frame| !frame.is_library).or(frames.last());
        if let Some(own) = own {
            functions.entry(&own.function).or_default().0 += samples;
            if let Some(place) = &own.place {
                *lines.entry(place).or_default() += samples;
            }
        }
        let path: Vec<String> = frames.iter().map(|f| f.function.replace(';', ",")).collect();
        *folded.entry(path.join(";")).or_default() += samples;
    }
    let share =
        |(name, (own, total)): (&str, (u64, u64))| Share { name: name.to_owned(), own, total };
    let mut functions: Vec<Share> = functions.into_iter().map(share).collect();
    functions.retain(|function| function.own > 0);
    let whole = lines.into_iter().map(|(name, samples)| (name, (samples, samples)));
    let mut lines: Vec<Share> = whole.map(share).collect();
    for list in [&mut functions, &mut lines] {
        list.sort_by(|a, b| b.own.cmp(&a.own).then_with(|| a.name.cmp(&b.name)));
    }
    Profile {
        samples: stacks.iter().map(|stack| stack.samples).sum(),
        functions,
        lines,
        folded: folded.into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, place: &str, is_library: bool) -> Frame {
        Frame { function: function.to_owned(), place: Some(place.to_owned()), is_library }
    }

    #[test]
    fn time_in_a_library_is_its_callers_and_stacks_are_folded() {
        let outer = frame("gemm", "gemm.rs:10", false);
        let inner = frame("fmadd", "core.rs:1", true);
        let other = frame("pack", "pack.rs:3", false);
        let stack = |frames: &[&Frame], samples| Stack {
            frames: frames.iter().map(|frame| (*frame).clone()).collect(),
            samples,
        };
        let stacks =
            [stack(&[&outer, &inner], 7), stack(&[&outer, &other], 2), stack(&[&inner], 1)];
        let profile = profile(&stacks);
        assert_eq!(profile.samples, 10);
        let named: Vec<(&str, u64, u64)> =
            profile.functions.iter().map(|f| (f.name.as_str(), f.own, f.total)).collect();
        assert_eq!(named, [("gemm", 7, 9), ("pack", 2, 2), ("fmadd", 1, 8)]);
        assert_eq!(profile.lines[0].name, "gemm.rs:10");
        let folded: Vec<&str> = profile.folded.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(folded, ["fmadd", "gemm;fmadd", "gemm;pack"]);
    }
}
