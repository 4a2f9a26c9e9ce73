//! Which keys and tokens may upload, and where their runs go.

use super::token::{Issuer, Issuers};
use crate::HistoryError;
use serde::{Deserialize, Serialize, de};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// What every key begins with, so that scanners find one that leaked.
pub const KEY_PREFIX: &str = "proofmark_run_";

/// What a key or token may do. None of them reads anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// It appends runs whose ops all begin with this text.
    Append(String),
    /// Its runs are kept apart and count only after they were admitted.
    Quarantine,
}

impl Scope {
    /// Whether a run with these ops is within the scope.
    pub fn covers<'a>(&self, mut ops: impl Iterator<Item = &'a str>) -> bool {
        match self {
            Scope::Append(prefix) => ops.all(|op| op.starts_with(prefix)),
            Scope::Quarantine => true,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::Append(prefix) if prefix.is_empty() => f.write_str("append"),
            Scope::Append(prefix) => write!(f, "append:{prefix}"),
            Scope::Quarantine => f.write_str("quarantine"),
        }
    }
}

impl FromStr for Scope {
    type Err = HistoryError;

    fn from_str(text: &str) -> Result<Scope, HistoryError> {
        match text.split_once(':') {
            Some(("append", prefix)) => Ok(Scope::Append(prefix.to_owned())),
            None if text == "append" => Ok(Scope::Append(String::new())),
            None if text == "quarantine" => Ok(Scope::Quarantine),
            _ => Err(HistoryError::Usage(format!(
                "`{text}` is not a scope: write `append`, `append:PREFIX` or `quarantine`"
            ))),
        }
    }
}

impl Serialize for Scope {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Scope, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// A key as it is stored. The key itself cannot be found from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// What it is for; no two keys of a file have the same name.
    pub name: String,
    /// BLAKE3 of the key, in hexadecimal digits.
    pub hash: String,
    /// What it may do.
    pub scope: Scope,
    /// When it stops to be valid, in seconds since 1970.
    pub expires: i64,
    /// Whether it was withdrawn.
    #[serde(default)]
    pub revoked: bool,
}

impl Key {
    /// Makes a key of 256 random bits, and what is stored of it.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn create(name: &str, scope: Scope, expires: i64) -> Result<(String, Key), HistoryError> {
        let mut random = [0; 32];
        getrandom::fill(&mut random).map_err(|error| {
            HistoryError::Usage(format!("the system gives no random bytes: {error}"))
        })?;
        let digits: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        // Digits over the rest tell a key from a text that looks like one.
        let secret = format!("{KEY_PREFIX}{digits}{}", &hash(&digits).to_hex()[..8]);
        let hash = hash(&secret).to_hex().to_string();
        let key = Key { name: name.to_owned(), hash, scope, expires, revoked: false };
        Ok((secret, key))
    }
}

fn hash(text: &str) -> blake3::Hash {
    blake3::hash(text.as_bytes())
}

/// The file of keys and issuers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessFile {
    /// Keys.
    #[serde(default)]
    pub keys: Vec<Key>,
    /// CI systems whose tokens are accepted.
    #[serde(default)]
    pub issuers: Vec<Issuer>,
}

impl AccessFile {
    /// Reads the file.
    ///
    /// # Errors
    /// If it cannot be read, or says something that is not known.
    pub fn read(path: &Path) -> Result<AccessFile, HistoryError> {
        let text = std::fs::read(path).map_err(HistoryError::io("read", path))?;
        serde_json::from_slice(&text).map_err(|error| unfit(path, &error))
    }

    /// Replaces the file in one step, readable for its owner alone.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), HistoryError> {
        use std::io::Write;
        use std::os::unix::fs::OpenOptionsExt;
        let text = serde_json::to_string_pretty(self).map_err(|error| unfit(path, &error))?;
        let mut staged = path.as_os_str().to_owned();
        staged.push(format!(".{}", uuid::Uuid::new_v4().simple()));
        let staged = std::path::PathBuf::from(staged);
        let mut options = std::fs::OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&staged)
            .map_err(HistoryError::io("create", &staged))?;
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .and_then(|()| std::fs::rename(&staged, path))
            .map_err(HistoryError::io("write", path))
    }
}

pub(super) fn unfit(path: &Path, error: &dyn fmt::Display) -> HistoryError {
    HistoryError::Usage(format!(
        "{} is not as docs/history.md describes it: {error}",
        path.display()
    ))
}

/// What a request may do.
#[derive(Clone, Debug)]
pub struct Grant {
    /// The key or the subject of the token; uploads are counted by it.
    pub holder: String,
    /// What it may do.
    pub scope: Scope,
    /// The token's own id and when it expires: it is good for one run.
    pub token: Option<(String, i64)>,
}

/// The file of keys and issuers, with the public keys that it names.
pub struct Access {
    keys: Vec<Key>,
    issuers: Issuers,
}

impl Access {
    /// Reads the file, and the public keys that it names.
    ///
    /// # Errors
    /// If one of them cannot be read.
    pub fn read(path: &Path) -> Result<Access, HistoryError> {
        let file = AccessFile::read(path)?;
        let issuers = Issuers::read(file.issuers, path.parent().unwrap_or(Path::new(".")))?;
        Ok(Access { keys: file.keys, issuers })
    }

    /// What the bearer of a key or token may do; `None` if it may do nothing. The reason is not
    /// reported, because it would help an attacker to guess.
    pub fn grant(&self, bearer: &str, now: i64) -> Option<Grant> {
        match bearer.starts_with(KEY_PREFIX) {
            true => self.key(bearer, now),
            false => self.issuers.grant(bearer, now),
        }
    }

    fn key(&self, bearer: &str, now: i64) -> Option<Grant> {
        let given = hash(bearer);
        let mut found = None;
        for key in &self.keys {
            let Ok(stored) = blake3::Hash::from_hex(&key.hash) else { continue };
            // Hashes are compared in constant time, and every key is compared.
            if stored == given && now < key.expires && !key.revoked {
                let (holder, scope) = (format!("key {}", key.name), key.scope.clone());
                found = Some(Grant { holder, scope, token: None });
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_read_as_they_are_written() {
        for text in ["append", "append:softmax", "quarantine"] {
            assert_eq!(text.parse::<Scope>().unwrap().to_string(), text);
        }
        for text in ["", "append:x:y ", "read", "Append", "quarantine:x"] {
            let scope = text.parse::<Scope>();
            assert!(scope.is_err() || text.starts_with("append:"), "{text}: {scope:?}");
        }
        let scope = Scope::Append("soft".to_owned());
        assert!(scope.covers(["softmax", "softplus"].into_iter()));
        assert!(!scope.covers(["softmax", "matmul"].into_iter()));
    }

    #[test]
    fn a_key_works_until_it_expires_or_is_revoked_and_only_its_hash_is_stored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.json");
        let (secret, key) = Key::create("ci", Scope::Append(String::new()), 100).unwrap();
        let (fork, fork_key) = Key::create("forks", Scope::Quarantine, 100).unwrap();
        let mut file = AccessFile { keys: vec![key, fork_key], issuers: Vec::new() };
        file.write(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&secret) && !text.contains(&secret[KEY_PREFIX.len()..]));
        let access = Access::read(&path).unwrap();
        assert_eq!(access.grant(&secret, 99).unwrap().scope, Scope::Append(String::new()));
        assert_eq!(access.grant(&fork, 99).unwrap().scope, Scope::Quarantine);
        assert!(access.grant(&secret, 100).is_none(), "it has expired");
        for wrong in [&secret[..secret.len() - 1], &format!("{secret}0"), KEY_PREFIX, ""] {
            assert!(access.grant(wrong, 99).is_none(), "{wrong}");
        }
        assert!(access.grant(&file.keys[0].hash, 99).is_none(), "the hash is not the key");
        file.keys[0].revoked = true;
        file.write(&path).unwrap();
        assert!(Access::read(&path).unwrap().grant(&secret, 99).is_none());
    }

    #[test]
    fn a_file_with_unknown_fields_is_refused() {
        assert!(serde_json::from_str::<AccessFile>(r#"{"keys":[],"allow_all":true}"#).is_err());
        assert!(serde_json::from_str::<AccessFile>("{}").is_ok());
    }
}
