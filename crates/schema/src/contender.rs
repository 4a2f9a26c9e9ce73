//! Contenders: ids that parse back, and receipts.

use crate::{Device, Isa};
use serde::{Deserialize, Serialize, de};
use std::fmt;
use std::str::FromStr;

/// Where a contender comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// A kernel of `proofmark-ops`.
    Native,
    /// A deliberately wrong kernel that the gate must refuse; never measured.
    Mutant,
    /// Another library.
    Peer,
    /// A kernel of the user for an op of the user.
    Own,
    /// A kernel of this project in OpenCL.
    OpenCl,
    /// A specimen of the corpus that `selftest judge` plants: a cheat, a fault or an odd but honest
    /// kernel. It is in no roster and in no stored record.
    Planted,
}

impl Family {
    /// Every family.
    pub const ALL: [Family; 6] = [
        Family::Native,
        Family::Mutant,
        Family::Peer,
        Family::Own,
        Family::OpenCl,
        Family::Planted,
    ];

    /// The word in ids.
    pub fn name(self) -> &'static str {
        match self {
            Family::Native => "native",
            Family::Mutant => "mutant",
            Family::Peer => "peer",
            Family::Own => "own",
            Family::OpenCl => "opencl",
            Family::Planted => "planted",
        }
    }
}

/// The name of a contender: `native/simd@avx512`, `peer/pytorch`, `own/fast`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContenderId {
    /// Where it comes from.
    pub family: Family,
    /// Its name within the family; for kernels, the idea. A peer may have a version in it:
    /// `onnxruntime@1.20.0`.
    pub name: String,
    /// The path it runs, where it has several.
    pub isa: Option<Isa>,
}

impl ContenderId {
    /// The id of one of our kernels on one path.
    pub fn native(name: &str, isa: Isa) -> ContenderId {
        ContenderId { family: Family::Native, name: name.to_owned(), isa: Some(isa) }
    }

    /// The id of a peer.
    pub fn peer(name: &str) -> ContenderId {
        ContenderId { family: Family::Peer, name: name.to_owned(), isa: None }
    }

    /// The id of a specimen of the corpus; one of the host is on a path.
    pub fn planted(name: &str, isa: Option<Isa>) -> ContenderId {
        ContenderId { family: Family::Planted, name: name.to_owned(), isa }
    }

    /// The id of a mutant.
    pub fn mutant(name: &str) -> ContenderId {
        ContenderId { family: Family::Mutant, name: name.to_owned(), isa: None }
    }
}

impl fmt::Display for ContenderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.family.name(), self.name)?;
        match self.isa {
            Some(isa) => write!(f, "@{isa}"),
            None => Ok(()),
        }
    }
}

/// Whether a text can name a contender within its family, and a file or folder of it.
pub fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    begins && text.len() <= 128 && text.chars().all(is_plain)
}

/// Whether a text can name a peer, in a version of its own (`onnxruntime@1.20.0`) or without one.
pub fn is_peer_name(text: &str) -> bool {
    let (name, version) = text.split_once('@').unwrap_or((text, "1"));
    is_name(name) && is_name(version)
}

/// Why a text is not a contender's id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a contender: write `native/<kernel>[@isa]`, `peer/<name>[@version]`, \
     `own/<kernel>` or `opencl/<kernel>`"
)]
pub struct ParseContenderError(pub String);

impl FromStr for ContenderId {
    type Err = ParseContenderError;

    fn from_str(text: &str) -> Result<ContenderId, ParseContenderError> {
        let bad = || ParseContenderError(text.to_owned());
        let (family, rest) = text.split_once('/').ok_or_else(bad)?;
        let family =
            Family::ALL.into_iter().find(|known| known.name() == family).ok_or_else(bad)?;
        let (name, isa) = match rest.split_once('@') {
            Some((name, isa)) if family != Family::Peer => {
                (name, Some(isa.parse().map_err(|_| bad())?))
            }
            _ => (rest, None),
        };
        let is_good = if family == Family::Peer { is_peer_name(name) } else { is_name(name) };
        if !is_good {
            return Err(bad());
        }
        Ok(ContenderId { family, name: name.to_owned(), isa })
    }
}

impl Serialize for ContenderId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContenderId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<ContenderId, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// How the versions of an installed library were chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lock {
    /// By a lock: exact versions, and what was installed had the hashes in it.
    Locked,
    /// By the installer, or by whoever installed it: no hash was checked.
    Unlocked,
}

impl Lock {
    /// The word in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Lock::Locked => "locked",
            Lock::Unlocked => "unlocked",
        }
    }
}

/// A file whose code a worker has mapped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CodeFile {
    /// Its name, without its folder.
    pub name: String,
    /// SHA-256 of its bytes, in hexadecimal: what `sha256sum` prints. Empty if the file could not
    /// be read any more, for example because it was removed after it was opened.
    pub sha256: String,
}

/// What a contender reports about itself (version, build flags, the path it chose), and which files
/// its code came from, which the supervisor reads from the kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// Version of the library or kernel.
    pub version: String,
    /// How it was built (profile, target features, compiler).
    pub build: String,
    /// The instruction set it reports to use.
    pub isa: String,
    /// The device its tensors live on.
    pub device: String,
    /// Weights are packed before the timed part.
    pub prepared_outside: bool,
    /// What that device is, unless it is the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Box<Device>>,
    /// Threads that it uses; none where records are older than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Nanoseconds of a call that has nothing to do, where it can be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty_call_ns: Option<f64>,
    /// Where the results of an op go that does not work in place; empty if they go to the given
    /// operands.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub memory: String,
    /// What is planted into it to test the tool; none in a contender of real code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planted: Option<String>,
    /// Whether a library on the shelf was installed from a lock; none for other contenders, and in
    /// records that are older than this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<Lock>,
    /// The program that its worker runs; none in records that are older than this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<CodeFile>,
    /// The libraries that its worker has opened, those of the system included, in order of their
    /// names; empty in records that are older than this field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub libraries: Vec<CodeFile>,
}

impl Receipt {
    /// Every file of code: the program first, then the libraries.
    pub fn code(&self) -> impl Iterator<Item = &CodeFile> {
        self.program.iter().chain(&self.libraries)
    }

    /// A file of a later receipt that has a name of this one, and other bytes.
    pub fn replaced_in<'a>(&self, later: &'a Receipt) -> Option<&'a CodeFile> {
        // Two libraries of one process may have the same name, in different folders.
        let is_other = |file: &&CodeFile| {
            let mut same_name = self.code().filter(|known| known.name == file.name).peekable();
            let is_known = same_name.peek().is_some();
            let may_be = |known: &CodeFile| {
                known.sha256 == file.sha256 || known.sha256.is_empty() || file.sha256.is_empty()
            };
            is_known && !same_name.any(may_be)
        };
        later.code().find(is_other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_parse_back() {
        for text in ["native/simd@avx512", "native/scalar", "peer/pytorch", "planted/noop@avx2"] {
            assert_eq!(text.parse::<ContenderId>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_version_belongs_to_the_name_of_a_peer() {
        let id: ContenderId = "peer/onnxruntime@1.20.0".parse().unwrap();
        assert_eq!(id, ContenderId::peer("onnxruntime@1.20.0"));
        assert_eq!(id.to_string(), "peer/onnxruntime@1.20.0");
        for text in ["peer/x@", "peer/@1", "peer/x@1@2", "peer/x@../1", "own/x@1.2"] {
            assert!(text.parse::<ContenderId>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_receipt_of_an_older_record_is_read_and_written_alike() {
        let old = concat!(
            r#"{"version":"1","build":"dev","isa":"avx2","device":"cpu","#,
            r#""prepared_outside":false}"#
        );
        let receipt: Receipt = serde_json::from_str(old).unwrap();
        assert_eq!((receipt.threads, &receipt.planted), (None, &None));
        assert_eq!(receipt.code().count(), 0);
        assert_eq!(serde_json::to_string(&receipt).unwrap(), old);
    }

    #[test]
    fn a_file_of_the_same_name_with_other_bytes_is_a_replaced_one() {
        let file = |name: &str, sha256: &str| CodeFile {
            name: name.to_owned(),
            sha256: sha256.to_owned(),
        };
        let receipt = |libraries: &[(&str, &str)]| Receipt {
            program: Some(file("program", "aa")),
            libraries: libraries.iter().map(|(name, hash)| file(name, hash)).collect(),
            ..Receipt::default()
        };
        let proven = receipt(&[("libc.so.6", "cc"), ("libx.so", "11"), ("libx.so", "12")]);
        for same in [
            receipt(&[]),
            receipt(&[("libx.so", "12"), ("libx.so", "11")]),
            receipt(&[("libx.so", "")]),
            receipt(&[("libopened_later.so", "99")]),
        ] {
            assert_eq!(proven.replaced_in(&same), None, "{same:?}");
        }
        let other = receipt(&[("libc.so.6", "cc"), ("libx.so", "13")]);
        assert_eq!(proven.replaced_in(&other), Some(&file("libx.so", "13")));
        let other = Receipt { program: Some(file("program", "bb")), ..receipt(&[]) };
        assert_eq!(proven.replaced_in(&other), Some(&file("program", "bb")));
    }

    #[test]
    fn paths_and_unknown_families_are_refused() {
        for text in ["simd", "native/", "native/../x", "peer/..", "friend/x", "native/simd@sse9"] {
            assert!(text.parse::<ContenderId>().is_err(), "{text}");
        }
    }
}
