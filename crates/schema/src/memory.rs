//! What caches and pages a race asks for, and what it was seen to get.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What the caches hold of the operands when a timed call starts.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Cache {
    /// What the call before left there: the same operands, called again and again.
    #[default]
    Hot,
    /// No line of any operand: each is flushed before every timed call.
    Cold,
    /// Other operands: calls walk over sets that together exceed a core's caches.
    Rotate,
    /// The activations, but no line of the weights, as when a model is read token by token.
    WeightsCold,
}

impl Cache {
    /// All of them, the default first.
    pub const ALL: [Cache; 4] = [Cache::Hot, Cache::Cold, Cache::Rotate, Cache::WeightsCold];

    /// The word on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Cache::Hot => "hot",
            Cache::Cold => "cold",
            Cache::Rotate => "rotate",
            Cache::WeightsCold => "weights-cold",
        }
    }
}

/// The pages that operands lie on.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Pages {
    /// The machine's base pages, 4 KiB on most.
    #[default]
    #[serde(rename = "4k")]
    Small,
    /// Pages of 2 MiB.
    #[serde(rename = "huge")]
    Huge,
}

impl Pages {
    /// Both, the default first.
    pub const ALL: [Pages; 2] = [Pages::Small, Pages::Huge];

    /// The word on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Pages::Small => "4k",
            Pages::Huge => "huge",
        }
    }
}

/// A word that names no state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no state `{word}`: use {known}")]
pub struct ParseStateError {
    word: String,
    known: String,
}

fn parse<T: Copy>(
    word: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, ParseStateError> {
    all.iter().copied().find(|&state| name(state) == word).ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|&state| name(state)).collect();
        ParseStateError { word: word.to_owned(), known: known.join(", ") }
    })
}

impl FromStr for Cache {
    type Err = ParseStateError;

    fn from_str(word: &str) -> Result<Cache, ParseStateError> {
        parse(word, &Cache::ALL, Cache::name)
    }
}

impl FromStr for Pages {
    type Err = ParseStateError;

    fn from_str(word: &str) -> Result<Pages, ParseStateError> {
        parse(word, &Pages::ALL, Pages::name)
    }
}

impl fmt::Display for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The state of memory that a race asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// What the caches must hold.
    pub cache: Cache,
    /// The pages that operands must lie on.
    pub pages: Pages,
}

/// The time of one load of an operand's line, in the requested state and right afterwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Median over sampled lines as the state left them, in nanoseconds.
    pub state_ns: f64,
    /// Median over the same lines, loaded again.
    pub hot_ns: f64,
}

/// The state of the caches: asked for, and whether a probe confirmed it in every trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "WrittenCache")]
pub struct CacheState {
    /// What was asked for.
    pub asked: Cache,
    /// Whether it was there.
    pub achieved: bool,
    /// One load of a line that should not be in the caches: median over trials of medians.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe_ns_median: Option<f64>,
    /// The same line loaded again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hot_ns_median: Option<f64>,
    /// Sets of operands that calls walked over.
    pub sets: u32,
}

/// Records of format 1 have one word here.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenCache {
    Word(Cache),
    State {
        asked: Cache,
        achieved: bool,
        #[serde(default)]
        probe_ns_median: Option<f64>,
        #[serde(default)]
        hot_ns_median: Option<f64>,
        sets: u32,
    },
}

impl From<WrittenCache> for CacheState {
    fn from(written: WrittenCache) -> CacheState {
        match written {
            WrittenCache::Word(asked) => CacheState { asked, ..CacheState::hot() },
            WrittenCache::State { asked, achieved, probe_ns_median, hot_ns_median, sets } => {
                CacheState { asked, achieved, probe_ns_median, hot_ns_median, sets }
            }
        }
    }
}

impl CacheState {
    /// Hot caches, which the untimed call before each slice makes and no probe needs to confirm.
    pub fn hot() -> CacheState {
        CacheState { achieved: true, sets: 1, ..CacheState::default() }
    }
}

/// The pages of operands: asked for, and whether the kernel's own account of them agrees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageState {
    /// What was asked for.
    pub asked: Pages,
    /// Whether all operands lay on such pages in every trial.
    pub achieved: bool,
    /// The least bytes of operands that the worker had mapped by huge pages in any trial.
    pub huge_bytes: u64,
    /// Bytes of operands that it had mapped.
    pub mapped_bytes: u64,
}

/// A state as reports write it: the word, and whether it was not there.
pub fn state_word(asked: &str, achieved: bool) -> String {
    if achieved { asked.to_owned() } else { format!("{asked} (not achieved)") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_parse_back_and_unknown_ones_name_the_known() {
        for cache in Cache::ALL {
            assert_eq!(cache.to_string().parse(), Ok(cache));
            assert_eq!(serde_json::to_value(cache).unwrap(), cache.name());
        }
        for pages in Pages::ALL {
            assert_eq!(pages.to_string().parse(), Ok(pages));
            assert_eq!(serde_json::to_value(pages).unwrap(), pages.name());
        }
        let error = "warm".parse::<Cache>().unwrap_err().to_string();
        assert_eq!(error, "there is no state `warm`: use hot, cold, rotate, weights-cold");
    }

    #[test]
    fn the_one_word_of_older_records_is_read_as_achieved() {
        let old: CacheState = serde_json::from_str("\"hot\"").unwrap();
        assert_eq!(old, CacheState::hot());
        let state = CacheState {
            asked: Cache::Cold,
            achieved: false,
            probe_ns_median: Some(97.5),
            hot_ns_median: None,
            sets: 1,
        };
        let text = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<CacheState>(&text).unwrap(), state);
    }
}
