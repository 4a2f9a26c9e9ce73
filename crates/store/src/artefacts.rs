//! Worker programs that can be run again: stored by content hash and named on two shelves.
//!
//! All programs lie in one folder under names of one length, because the length of a program's path
//! shifts its stack and so changes the speed of one arm.

use crate::run::parse;
use crate::{Store, StoreError, check_run_id, durable};
use proofmark_schema::Artefact;
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where artefacts are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shelf {
    /// By the user, until removed.
    Baselines,
    /// By commit, so that no revision is built twice.
    Builds,
}

impl Shelf {
    fn folder(self) -> &'static str {
        match self {
            Shelf::Baselines => "baselines",
            Shelf::Builds => "builds",
        }
    }
}

/// Compilers write this before their version into every program.
const RUSTC: &[u8] = b"rustc version ";

impl Store {
    /// Where the store lies.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn programs(&self) -> PathBuf {
        self.root.join("programs")
    }

    /// Held while names and the programs that they stand for are compared and changed.
    fn lock_artefacts(&self) -> Result<fs::File, StoreError> {
        durable::make_folder(&self.root)?;
        durable::lock(&self.root.join(".artefacts.lock"))
    }

    /// Copies a program into the store.
    ///
    /// # Errors
    /// If it cannot be read or the copy not written.
    pub fn keep_program(&self, program: &Path, args: &[String]) -> Result<Artefact, StoreError> {
        let bytes = fs::read(program).map_err(StoreError::io("read", program))?;
        let sha256 = sha256_of(&bytes);
        let folder = self.programs();
        let place = folder.join(&sha256);
        if !place.is_file() {
            durable::make_folder(&folder)?;
            durable::replace_with(&folder, &sha256, &bytes, 0o555)?;
        }
        Ok(Artefact {
            format: proofmark_schema::FORMAT_VERSION,
            sha256,
            bytes: bytes.len() as u64,
            args: args.to_vec(),
            revision: None,
            build: Vec::new(),
            rustc: rustc_of(&bytes),
            contender: None,
        })
    }

    /// Removes an artefact's program, so that it can be kept again.
    ///
    /// # Errors
    /// If its hash could be a path, or the disk refuses.
    pub fn remove_program(&self, artefact: &Artefact) -> Result<(), StoreError> {
        check_run_id(&artefact.sha256)?;
        let path = self.programs().join(&artefact.sha256);
        match fs::remove_file(&path) {
            // Already gone, which is the intended result.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(StoreError::io("remove", &path)),
        }
    }

    /// Where an artefact's program lies, after its bytes were checked against its hash.
    ///
    /// # Errors
    /// If it is missing or has changed.
    pub fn program(&self, artefact: &Artefact) -> Result<PathBuf, StoreError> {
        check_run_id(&artefact.sha256)?;
        let path = self.programs().join(&artefact.sha256);
        let bytes = fs::read(&path).map_err(StoreError::io("read", &path))?;
        let found = sha256_of(&bytes);
        if found != artefact.sha256 {
            return Err(StoreError::Changed { path, found });
        }
        fs::canonicalize(&path).map_err(StoreError::io("find", &path))
    }

    /// Names an artefact, in place of the last of that name.
    ///
    /// # Errors
    /// If the name cannot name one, its program is no longer kept, or the disk refuses.
    pub fn name_artefact(
        &self,
        shelf: Shelf,
        name: &str,
        artefact: &Artefact,
    ) -> Result<(), StoreError> {
        check_run_id(name)?;
        check_run_id(&artefact.sha256)?;
        let folder = self.root.join(shelf.folder());
        durable::make_folder(&folder)?;
        let text = serde_json::to_vec_pretty(artefact)
            .map_err(|error| StoreError::Unreadable(error.to_string()))?;
        let _lock = self.lock_artefacts()?;
        let program = self.programs().join(&artefact.sha256);
        if !program.is_file() {
            return Err(StoreError::Gone { name: name.to_owned(), program });
        }
        durable::replace(&folder, &format!("{name}.json"), &text)
    }

    /// The artefact of that name, if there is one.
    ///
    /// # Errors
    /// If what lies there is damaged.
    pub fn artefact(&self, shelf: Shelf, name: &str) -> Result<Option<Artefact>, StoreError> {
        check_run_id(name)?;
        let path = self.root.join(shelf.folder()).join(format!("{name}.json"));
        durable::read_if_there(&path)?.map(|bytes| parse(&bytes, &path)).transpose()
    }

    /// The baseline of that name.
    ///
    /// # Errors
    /// If there is none (the error lists the known ones), or it is damaged.
    pub fn baseline(&self, name: &str) -> Result<Artefact, StoreError> {
        self.artefact(Shelf::Baselines, name)?.ok_or_else(|| {
            let known = self.artefacts(Shelf::Baselines).unwrap_or_default();
            let known = known.into_iter().map(|(name, _)| name).collect();
            StoreError::NoBaseline { name: name.to_owned(), known }
        })
    }

    /// All artefacts of a shelf by name.
    ///
    /// # Errors
    /// If the shelf cannot be listed or one is damaged.
    pub fn artefacts(&self, shelf: Shelf) -> Result<Vec<(String, Artefact)>, StoreError> {
        let folder = self.root.join(shelf.folder());
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(StoreError::io("list", &folder))?,
        };
        let mut all = Vec::new();
        for entry in entries {
            let file = entry.map_err(StoreError::io("list", &folder))?.file_name();
            let Some(name) = file.to_str().and_then(|file| file.strip_suffix(".json")) else {
                continue;
            };
            if let Some(artefact) = self.artefact(shelf, name)? {
                all.push((name.to_owned(), artefact));
            }
        }
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(all)
    }

    /// Removes a baseline, and its program unless another name refers to it.
    ///
    /// # Errors
    /// If there is none or the disk refuses.
    pub fn remove_baseline(&self, name: &str) -> Result<Artefact, StoreError> {
        check_run_id(name)?;
        let _lock = self.lock_artefacts()?;
        let artefact = self.baseline(name)?;
        let path = self.root.join(Shelf::Baselines.folder()).join(format!("{name}.json"));
        fs::remove_file(&path).map_err(StoreError::io("remove", &path))?;
        let mut named = self.artefacts(Shelf::Baselines)?;
        named.extend(self.artefacts(Shelf::Builds)?);
        // A hash that could be a path was not written by this store, so nothing is removed for it.
        let is_hash = check_run_id(&artefact.sha256).is_ok();
        if is_hash && !named.iter().any(|(_, other)| other.sha256 == artefact.sha256) {
            self.remove_program(&artefact)?;
        }
        Ok(artefact)
    }
}

fn sha256_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `1.95.0 (59807616e 2026-04-14)`, as the compiler wrote it into the program.
fn rustc_of(bytes: &[u8]) -> Option<String> {
    let is_version = |start: &usize| bytes[*start..].starts_with(RUSTC);
    // The prefix may also occur in the program's own data (it does in this one). A version starts
    // with a digit and ends with a closing bracket.
    let starts = (0..bytes.len()).filter(|&at| bytes[at] == b'r').filter(is_version);
    starts.map(|at| &bytes[at + RUSTC.len()..]).find_map(|text| {
        let end = text.iter().take(80).position(|&byte| byte == b')')?;
        let text = std::str::from_utf8(&text[..=end]).ok()?;
        let is_plain = text.starts_with(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_graphic() || c == ' ');
        is_plain.then(|| text.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, Store, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("store")).unwrap();
        let program = folder.path().join("worker");
        fs::write(&program, b"\x7fELF rustc version x rustc version 1.95.0 (abc 2026-04-14)\0")
            .unwrap();
        (folder, store, program)
    }

    #[test]
    fn a_baseline_reads_back_with_what_is_known_of_its_program() {
        let (_folder, store, program) = place();
        let kept = store.keep_program(&program, &["__worker".to_owned()]).unwrap();
        assert_eq!(kept.rustc.as_deref(), Some("1.95.0 (abc 2026-04-14)"));
        store.name_artefact(Shelf::Baselines, "old", &kept).unwrap();
        assert_eq!(store.baseline("old").unwrap(), kept);
        assert!(store.program(&kept).unwrap().ends_with(&kept.sha256));
        // This is the well-known SHA-256 of empty input.
        assert!(sha256_of(b"").starts_with("e3b0c44298fc1c14"));
    }

    #[test]
    fn a_changed_program_is_refused() {
        let (_folder, store, program) = place();
        let kept = store.keep_program(&program, &[]).unwrap();
        let path = store.programs().join(&kept.sha256);
        fs::remove_file(&path).unwrap();
        fs::write(&path, b"something else").unwrap();
        assert!(matches!(store.program(&kept), Err(StoreError::Changed { .. })));
    }

    #[test]
    fn a_changed_program_is_kept_again_once_it_is_removed() {
        let (_folder, store, program) = place();
        let kept = store.keep_program(&program, &[]).unwrap();
        let path = store.programs().join(&kept.sha256);
        fs::remove_file(&path).unwrap();
        fs::write(&path, b"something else").unwrap();
        store.keep_program(&program, &[]).unwrap();
        assert!(store.program(&kept).is_err(), "what was forged is not hidden");
        store.remove_program(&kept).unwrap();
        store.remove_program(&kept).unwrap();
        assert_eq!(store.keep_program(&program, &[]).unwrap(), kept);
        assert!(store.program(&kept).is_ok());
    }

    #[test]
    fn a_program_goes_with_the_last_that_names_it() {
        let (_folder, store, program) = place();
        let kept = store.keep_program(&program, &[]).unwrap();
        for name in ["a", "b"] {
            store.name_artefact(Shelf::Baselines, name, &kept).unwrap();
        }
        store.remove_baseline("a").unwrap();
        assert!(store.program(&kept).is_ok());
        store.remove_baseline("b").unwrap();
        assert!(store.program(&kept).is_err());
    }

    #[test]
    fn a_baseline_whose_hash_is_a_path_removes_nothing_outside_of_the_programs() {
        let (folder, store, program) = place();
        let kept = store.keep_program(&program, &[]).unwrap();
        store.name_artefact(Shelf::Baselines, "a", &kept).unwrap();
        let path = folder.path().join("store/baselines/a.json");
        let text = fs::read_to_string(&path).unwrap().replace(&kept.sha256, "../../worker");
        fs::write(&path, text).unwrap();
        store.remove_baseline("a").unwrap();
        assert!(program.is_file());
    }

    #[test]
    fn a_missing_baseline_names_those_there_are_and_paths_are_refused() {
        let (_folder, store, program) = place();
        let kept = store.keep_program(&program, &[]).unwrap();
        store.name_artefact(Shelf::Baselines, "main", &kept).unwrap();
        let error = store.baseline("mian").unwrap_err();
        assert!(error.hint().unwrap().contains("main"), "{:?}", error.hint());
        assert!(store.baseline("../x").is_err());
        assert!(store.name_artefact(Shelf::Baselines, "../x", &kept).is_err());
    }
}
