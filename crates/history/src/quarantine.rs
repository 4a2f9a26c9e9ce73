//! Runs that are kept apart, as those of forks: they count only after they were admitted.

use crate::append::Appended;
use crate::durable::Created;
use crate::object::{self, InboxObject};
use crate::{HistoryError, Place, Run, RunObject};

/// The prefix of objects that are kept apart. No reader of a history looks there.
const FOLDER: &str = "quarantine";

/// The prefix of objects that count.
const INBOX: &str = "inbox";

/// Runs whose details are read for a list.
const READ: usize = 200;

/// A run that is kept apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// Its object.
    pub name: String,
    /// Its id.
    pub run: String,
    /// Bytes of the object.
    pub bytes: u64,
    /// What it says about itself, if it is among the first of a list and not damaged.
    pub details: Option<Run>,
}

/// Stores a run apart from the others, durably. The same run again changes nothing.
///
/// # Errors
/// If the object cannot be created.
pub async fn append_apart(place: &Place, object: &RunObject) -> Result<Appended, HistoryError> {
    let (name, bytes) = object.encode()?;
    let name = moved(&name, INBOX, FOLDER)?;
    let size = bytes.len() as u64;
    let was_there = place.put_content(&name, bytes).await? == Created::Present;
    Ok(Appended { name, bytes: size, points: object.rows().len(), was_there })
}

/// The runs that are kept apart, in order of their names.
///
/// # Errors
/// If the place cannot be read.
pub async fn waiting(place: &Place) -> Result<Vec<Waiting>, HistoryError> {
    let mut waiting = Vec::new();
    for listed in place.list(FOLDER).await? {
        let Some(run) = object::run_in_name(&listed.name).map(str::to_owned) else { continue };
        let mut details = None;
        if waiting.len() < READ {
            let bytes = place.get(&listed.name).await?;
            details = InboxObject::decode(&listed.name, bytes).ok().map(|object| object.run);
        }
        waiting.push(Waiting { name: listed.name, run, bytes: listed.size, details });
    }
    Ok(waiting)
}

/// Lets a run count that was kept apart. It is checked first, and leaves the quarantine last, so
/// that a second try finishes what the first began.
///
/// # Errors
/// If the run is not there, is damaged, or cannot be stored.
pub async fn admit(place: &Place, run: &str) -> Result<String, HistoryError> {
    let listed = place.list(FOLDER).await?;
    let meant: Vec<&str> = listed
        .iter()
        .map(|listed| listed.name.as_str())
        .filter(|name| object::run_in_name(name).is_some_and(|id| id.starts_with(run)))
        .collect();
    let name = match meant.as_slice() {
        [name] => *name,
        [] => {
            return Err(HistoryError::Usage(format!(
                "no run that is kept apart begins with `{run}`: `proofmark history quarantine \
                 PLACE` shows all"
            )));
        }
        several => {
            return Err(HistoryError::Usage(format!(
                "{} runs that are kept apart begin with `{run}`: give more digits",
                several.len()
            )));
        }
    };
    let bytes = place.get(name).await?;
    InboxObject::decode(name, bytes.clone())?;
    let admitted = moved(name, FOLDER, INBOX)?;
    place.put_content(&admitted, bytes).await?;
    place.delete(name).await?;
    Ok(admitted)
}

/// The name of an object below another prefix.
fn moved(name: &str, from: &str, to: &str) -> Result<String, HistoryError> {
    let rest = name.strip_prefix(from).and_then(|rest| rest.strip_prefix('/'));
    let rest = rest.ok_or_else(|| HistoryError::damaged(name, "its name has another prefix"))?;
    Ok(format!("{to}/{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::tests::run_object;
    use crate::{Snapshot, fsck, init};

    #[tokio::test]
    async fn a_run_counts_only_after_it_was_admitted() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::folder(folder.path()).unwrap();
        init(&place).await.unwrap();
        let object = run_object("fork-1", 1, 3);
        assert!(!append_apart(&place, &object).await.unwrap().was_there);
        assert!(append_apart(&place, &object).await.unwrap().was_there);
        let runs = async || Snapshot::load(&place).await.unwrap().runs().await.unwrap().len();
        assert_eq!(runs().await, 0);
        assert!(fsck::fsck(&place).await.unwrap().found.is_empty());
        let found = waiting(&place).await.unwrap();
        assert_eq!((found.len(), found[0].run.as_str()), (1, "fork-1"));
        assert_eq!(found[0].details.as_ref().unwrap().id, "fork-1");
        assert!(admit(&place, "other").await.is_err());
        let admitted = admit(&place, "fork").await.unwrap();
        assert!(admitted.starts_with("inbox/"), "{admitted}");
        assert_eq!((runs().await, waiting(&place).await.unwrap().len()), (1, 0));
    }
}
