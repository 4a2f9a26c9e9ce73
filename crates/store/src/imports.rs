//! Numbers of other tools, kept as they were read: never records of a run.

use crate::{Store, StoreError, check_run_id, durable};
use std::fs;
use std::io;
use std::path::PathBuf;

impl Store {
    fn imports(&self) -> PathBuf {
        self.root.join("imports")
    }

    /// Keeps an import under a name, in place of the last of that name.
    ///
    /// # Errors
    /// If the name cannot name a file, or the disk refuses.
    pub fn keep_import(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        check_run_id(name)?;
        let folder = self.imports();
        durable::make_folder(&folder)?;
        durable::replace(&folder, &format!("{name}.json"), bytes)
    }

    /// The import of that name, if there is one.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn import(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        check_run_id(name)?;
        durable::read_if_there(&self.imports().join(format!("{name}.json")))
    }

    /// The names of all imports, sorted.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn import_names(&self) -> Result<Vec<String>, StoreError> {
        let folder = self.imports();
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(StoreError::io("list", &folder))?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.map_err(StoreError::io("list", &folder))?.file_name();
            let name = name.to_string_lossy().strip_suffix(".json").map(str::to_owned);
            names.extend(name.filter(|name| check_run_id(name).is_ok()));
        }
        names.sort_unstable();
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_kept_by_name_and_names_are_no_paths() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        assert!(store.import_names().unwrap().is_empty());
        store.keep_import("b", b"1").unwrap();
        store.keep_import("a", b"2").unwrap();
        store.keep_import("a", b"3").unwrap();
        assert_eq!(store.import_names().unwrap(), ["a", "b"]);
        assert_eq!(store.import("a").unwrap().as_deref(), Some(&b"3"[..]));
        assert_eq!(store.import("c").unwrap(), None);
        assert!(store.keep_import("../x", b"").is_err());
    }
}
