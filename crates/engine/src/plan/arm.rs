//! One side of a comparison as text: what is run, and which contender of it.

use crate::{EngineError, nearest};
use proofmark_schema::{ContenderId, Family};
use std::fmt;
use std::str::FromStr;

/// Where an arm's code or numbers come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// This program.
    Here,
    /// A git revision of the user's crate; `.` and `WORKTREE` are the working tree as it is.
    Revision(String),
    /// A saved artefact.
    Baseline(String),
    /// The numbers of a stored run, which decide nothing.
    Run(String),
    /// A command that is raced as it is, without a proof.
    Command(String),
}

/// One side of a comparison: `native/simd@avx2`, `rev:HEAD~1`, `baseline:main/native/simd`,
/// `run:latest`. Prints and parses back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arm {
    /// Where it comes from.
    pub source: Source,
    /// Which contender; always there for [`Source::Here`].
    pub contender: Option<ContenderId>,
}

const PREFIXES: [&str; 4] = ["rev", "baseline", "run", "cmd"];

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::Here => {}
            Source::Revision(text) => write!(f, "rev:{text}")?,
            Source::Baseline(text) => write!(f, "baseline:{text}")?,
            Source::Run(text) => write!(f, "run:{text}")?,
            Source::Command(text) => write!(f, "cmd:{text}")?,
        }
        match (&self.source, &self.contender) {
            (Source::Here, Some(contender)) => write!(f, "{contender}"),
            (_, Some(contender)) => write!(f, "/{contender}"),
            (_, None) => Ok(()),
        }
    }
}

impl FromStr for Arm {
    type Err = EngineError;

    fn from_str(text: &str) -> Result<Arm, EngineError> {
        let bad = |nearest: Option<&str>| EngineError::Arm {
            text: text.to_owned(),
            nearest: nearest.map(str::to_owned),
        };
        let Some((prefix, rest)) = text.split_once(':') else {
            let contender = text.parse().map_err(|_| bad(None))?;
            return Ok(Arm { source: Source::Here, contender: Some(contender) });
        };
        if prefix == "cmd" {
            // The words of a command are its own, whatever they look like.
            let source = Source::Command(rest.to_owned());
            return Ok(Arm { source, contender: None });
        }
        let (rest, contender) = split_contender(rest);
        if rest.is_empty() {
            return Err(bad(None));
        }
        let rest = rest.to_owned();
        let source = match prefix {
            "rev" => Source::Revision(rest),
            "baseline" => Source::Baseline(rest),
            "run" => Source::Run(rest),
            _ => return Err(bad(nearest(prefix, &PREFIXES))),
        };
        Ok(Arm { source, contender })
    }
}

/// Branches may have slashes too: a contender is the last part that reads as one.
fn split_contender(text: &str) -> (&str, Option<ContenderId>) {
    let families = Family::ALL.iter().filter_map(|family| {
        let at = text.rfind(&format!("/{}/", family.name()))?;
        Some((at, text[at + 1..].parse().ok()?))
    });
    match families.max_by_key(|(at, _)| *at) {
        Some((at, contender)) => (&text[..at], Some(contender)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_parse_back() {
        for text in [
            "native/simd@avx2",
            "rev:HEAD~1",
            "rev:origin/feature/x",
            "rev:origin/main/native/simd@avx512",
            "rev:.",
            "baseline:main-2026/plugin/acme",
            "run:latest",
            "run:./runs/0193/native/simd",
            "cmd:./old --size 3 a/native/simd",
        ] {
            assert_eq!(text.parse::<Arm>().unwrap().to_string(), text);
        }
        let arm: Arm = "rev:origin/main/native/simd@avx512".parse().unwrap();
        assert_eq!(arm.source, Source::Revision("origin/main".to_owned()));
        assert_eq!(arm.contender.unwrap().to_string(), "native/simd@avx512");
    }

    #[test]
    fn a_typo_in_the_prefix_is_answered_with_the_nearest() {
        let error = "basline:main".parse::<Arm>().unwrap_err();
        assert!(error.hint().unwrap().contains("`baseline:`"), "{:?}", error.hint());
        for text in ["", "simd", "rev:", "rev:/native/simd", "https://x"] {
            assert!(text.parse::<Arm>().is_err(), "{text}");
        }
    }
}
