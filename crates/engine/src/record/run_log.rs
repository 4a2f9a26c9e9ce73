//! A run as it is written: created with its plan, then item after item, then sealed.

use crate::EngineError;
use proofmark_schema::machine::MachineFacts;
use proofmark_schema::plan::Plan;
use proofmark_schema::program::ProgramEntry;
use proofmark_schema::record::Record;
use proofmark_store::{ItemEntry, RunWriter, Store};

/// A run that is being written. An item is on the disk when [`RunLog::append`] returns.
pub(crate) struct RunLog {
    writer: RunWriter,
}

impl RunLog {
    /// Creates the run of a plan under a new id.
    pub(crate) fn create(
        store: &Store,
        plan: &Plan,
        facts: &MachineFacts,
    ) -> Result<RunLog, EngineError> {
        let id = uuid::Uuid::now_v7().to_string();
        Ok(RunLog { writer: store.create(&id, plan, facts)? })
    }

    /// Opens a run that was cut off, and gives the items that it has.
    pub(crate) fn resume(
        store: &Store,
        run: &str,
    ) -> Result<(RunLog, Vec<ItemEntry>), EngineError> {
        let (writer, done) = store.resume(run)?;
        Ok((RunLog { writer }, done))
    }

    /// The id of the run.
    pub(crate) fn id(&self) -> &str {
        self.writer.id()
    }

    /// Bytes of an unacknowledged item that were cut from the journal when the run was opened.
    pub(crate) fn cut_bytes(&self) -> u64 {
        self.writer.cut_bytes()
    }

    /// Adds a note to the run.
    pub(crate) fn note(&mut self, text: &str) -> Result<(), EngineError> {
        Ok(self.writer.append_note(text)?)
    }

    /// Keeps what a race or a comparison of programs left.
    pub(crate) fn program(&mut self, entry: &ProgramEntry) -> Result<(), EngineError> {
        Ok(self.writer.append_program(entry)?)
    }

    /// Keeps an item as one of this run, and gives its records back.
    pub(crate) fn append(&mut self, mut entry: ItemEntry) -> Result<Vec<Record>, EngineError> {
        for record in &mut entry.records {
            self.writer.id().clone_into(&mut record.run);
        }
        self.writer.append_item(&entry)?;
        Ok(entry.records)
    }

    /// Ends the run and gives its id. Planned items that turned out not to be needed are kept
    /// without a race.
    pub(crate) fn seal(mut self) -> Result<String, EngineError> {
        for item in self.writer.missing() {
            let nothing = ItemEntry { item, race: None, decided: None, records: Vec::new() };
            self.writer.append_item(&nothing)?;
        }
        self.writer.seal()?;
        Ok(self.writer.id().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_schema::plan::{Item, RunKind};
    use proofmark_schema::{Case, DType, FORMAT_VERSION, Isa, Memory};

    fn plan(items: u64) -> Plan {
        let item = |index| Item {
            index,
            case: Case::new("add", DType::F32),
            field: Vec::new(),
            threads: 1,
            memory: Memory::default(),
            uses: Vec::new(),
        };
        Plan {
            format: FORMAT_VERSION,
            seed: 1,
            kind: RunKind::Compare,
            items: (0..items).map(item).collect(),
            absent: Vec::new(),
            proof_seconds: 0.0,
            estimate_seconds: 0.0,
            part: None,
        }
    }

    fn item(item: u64) -> ItemEntry {
        ItemEntry { item, race: None, decided: None, records: Vec::new() }
    }

    #[test]
    fn a_run_is_whole_when_it_is_sealed_and_resumable_before() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let facts = proofmark_machine::facts(Isa::Scalar);
        let mut log = RunLog::create(&store, &plan(3), &facts).unwrap();
        log.append(item(1)).unwrap();
        let id = log.id().to_owned();
        drop(log);
        assert_eq!(store.load(&id).unwrap().missing(), [0, 2]);
        let (mut log, done) = RunLog::resume(&store, &id).unwrap();
        assert_eq!(done.iter().map(|entry| entry.item).collect::<Vec<_>>(), [1]);
        log.append(item(0)).unwrap();
        assert_eq!(log.seal().unwrap(), id);
        let run = store.load(&id).unwrap();
        assert!(run.sealed && run.missing().is_empty());
    }
}
