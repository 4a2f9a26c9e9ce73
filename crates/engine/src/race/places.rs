//! Places that a check relies on, and that the change it checks must not reach.

use super::Programs;
use crate::git::Repository;
use crate::{EngineError, TrustedPlace};
use proofmark_peers::PeerShelf;

impl Programs<'_> {
    /// Refuses a place in which git tracks a file: a commit could put forged proofs, baselines,
    /// libraries or programs there. Files that git does not track come from no commit.
    ///
    /// # Errors
    /// If git tracks a file in one of the places, or cannot be asked.
    pub(crate) fn check_places(&self, shelf: &PeerShelf) -> Result<(), EngineError> {
        let repository = match Repository::open(self.repo) {
            Err(EngineError::NoRepository { .. }) => return Ok(()),
            opened => opened?,
        };
        for (place, path) in [
            (TrustedPlace::Store, self.store.root()),
            (TrustedPlace::Peers, shelf.folder()),
            (TrustedPlace::Program, &self.here.program),
        ] {
            if let Some(file) = repository.tracked_at(path)? {
                return Err(EngineError::Committed { place, path: path.to_owned(), file });
            }
        }
        Ok(())
    }
}
