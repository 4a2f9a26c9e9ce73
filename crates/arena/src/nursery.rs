//! Workers that are copied from one that has loaded a large library already.

use crate::{Arena, Fault, FixedLayout, Spawn, Worker};
use proofmark_schema::{ContenderId, Family, Isolation};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The originals of one thread, by program, contender and level; `None` for a contender that loads
/// fast. They belong to one thread: the kernel ends a worker with the thread that started it.
type Originals = BTreeMap<(PathBuf, String, Isolation), Option<Worker>>;

thread_local! {
    static ORIGINALS: RefCell<Originals> = const { RefCell::new(BTreeMap::new()) };
}

impl Arena {
    /// Starts a worker for a contender. If its library takes long to load, the worker is a copy of
    /// a process that has loaded it; else it is a new process.
    ///
    /// Copies have the layout of their original, which is the same for all of them, so that no arm
    /// has a better one. Of the options, only the processor and the samples apply to a copy.
    ///
    /// # Errors
    /// As for [`Arena::spawn`].
    pub fn spawn_for(&self, contender: &ContenderId, options: &Spawn) -> Result<Worker, Fault> {
        if !matches!(contender.family, Family::Peer | Family::Own | Family::OpenCl | Family::Mutant)
        {
            return self.spawn_with(&self.regime().permit(contender), options);
        }
        let permit = self.regime().permit(contender);
        ORIGINALS.with_borrow_mut(|originals| {
            let level = self.regime().level;
            let key = (self.program().to_owned(), kind_of(contender), level);
            if !originals.contains_key(&key) {
                let layout = Some(FixedLayout { mapping_pad: 0 });
                let mut worker = self.spawn_with(&permit, &Spawn { layout, ..Spawn::default() })?;
                let original = worker.warm(contender)?.then_some(worker);
                originals.insert(key.clone(), original);
            }
            match originals.get_mut(&key) {
                Some(Some(original)) => {
                    let copied = original.copy(options);
                    if copied.is_err() {
                        // Whatever is wrong with the original, the next worker starts a new one.
                        originals.remove(&key);
                    }
                    copied
                }
                _ => self.spawn_with(&permit, options),
            }
        })
    }
}

/// The key that all contenders of one original share. Wrong kernels of own ops have one key,
/// because the same interpreter makes all of them.
fn kind_of(contender: &ContenderId) -> String {
    match contender.family {
        Family::Mutant => Family::Mutant.name().to_owned(),
        _ => contender.to_string(),
    }
}
