//! Probes of machines, one for each fingerprint.

use crate::run::parse;
use crate::writer::readable;
use crate::{Store, StoreError, check_run_id, durable};
use proofmark_schema::FORMAT_VERSION;
use proofmark_schema::probe::Probe;
use std::path::PathBuf;

impl Store {
    fn probes(&self) -> PathBuf {
        self.root.join("machine")
    }

    /// Keeps a probe in place of the last of that machine.
    ///
    /// # Errors
    /// If its fingerprint cannot name a file, or the disk refuses.
    pub fn keep_probe(&self, probe: &Probe) -> Result<(), StoreError> {
        check_run_id(&probe.machine)?;
        let bytes = readable(probe)?;
        let folder = self.probes();
        durable::make_folder(&folder)?;
        durable::replace(&folder, &format!("{}.json", probe.machine), &bytes)
    }

    /// The probe of the machine with this fingerprint; `None` if there is none, or if what lies
    /// there was made on another.
    ///
    /// # Errors
    /// If it is damaged or from a later version.
    pub fn probe(&self, machine: &str) -> Result<Option<Probe>, StoreError> {
        check_run_id(machine)?;
        let path = self.probes().join(format!("{machine}.json"));
        let Some(bytes) = durable::read_if_there(&path)? else { return Ok(None) };
        let probe: Probe = parse(&bytes, &path)?;
        if probe.format > FORMAT_VERSION {
            return Err(StoreError::Newer { file: path, format: probe.format });
        }
        Ok((probe.machine == machine).then_some(probe))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_probe_is_found_on_its_own_machine_alone_and_the_last_one_counts() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(store.probe("aaaa").unwrap(), None);
        let probe = |made| Probe { machine: "aaaa".to_owned(), made, ..Probe::default() };
        store.keep_probe(&probe(1)).unwrap();
        store.keep_probe(&probe(2)).unwrap();
        assert_eq!(store.probe("aaaa").unwrap(), Some(probe(2)));
        assert_eq!(store.probe("bbbb").unwrap(), None);
        // A file that was copied under another machine's name is not that machine's.
        let path = |name: &str| folder.path().join("machine").join(name);
        fs::copy(path("aaaa.json"), path("bbbb.json")).unwrap();
        assert_eq!(store.probe("bbbb").unwrap(), None);
        fs::write(path("bbbb.json"), "{").unwrap();
        assert!(matches!(store.probe("bbbb"), Err(StoreError::Damaged { .. })));
        assert!(store.probe("../x").is_err());
    }
}
