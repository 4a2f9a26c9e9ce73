//! Whether a store refuses to create an object that is there.
//!
//! Commits rest on that alone. Some stores ignore the condition; some check it and then write, so
//! that two requests at once both succeed. So the condition is tried one after the other, and by
//! many writers at once.

use crate::durable::Created;
use crate::{HistoryError, Place};
use bytes::Bytes;
use futures::future::join_all;
use serde::Serialize;

/// Names that are raced for.
const NAMES: usize = 6;
/// Writers that race for each name.
const WRITERS: usize = 8;

/// What a probe did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Probed {
    /// Names that were raced for.
    pub names: usize,
    /// Writers that raced for each.
    pub writers: usize,
}

/// Probes a place.
///
/// # Errors
/// If it does not keep the promise, or cannot be written and read.
pub async fn probe(place: &Place) -> Result<Probed, HistoryError> {
    let folder = format!("probe/{}", uuid::Uuid::now_v7());
    let result = in_folder(place, &folder).await;
    for name in (0..=NAMES).map(|name| format!("{folder}/{name}")) {
        // What is left behind does no harm, and a writer may lack the right to delete.
        let _ = place.delete(&name).await;
    }
    result
}

async fn in_folder(place: &Place, folder: &str) -> Result<Probed, HistoryError> {
    let broken = |what: String| HistoryError::NoPutIfAbsent { place: place.to_string(), what };
    let name = format!("{folder}/0");
    place.put_if_absent(&name, Bytes::from_static(b"first")).await?;
    if place.put_if_absent(&name, Bytes::from_static(b"second")).await? == Created::New {
        return Err(broken("it created the same object twice".to_owned()));
    }
    if place.get(&name).await? != b"first".as_slice() {
        return Err(broken("it replaced an object".to_owned()));
    }
    let races = (1..=NAMES).map(|name| async move {
        let name = format!("{folder}/{name}");
        let puts = (0..WRITERS).map(|writer| {
            // Long enough that a store needs a moment to write it.
            let content = Bytes::from(format!("{writer:04}").repeat(4096));
            let name = name.clone();
            async move { (writer, place.put_if_absent(&name, content).await) }
        });
        let mut winners = Vec::new();
        for (writer, created) in join_all(puts).await {
            if created? == Created::New {
                winners.push(writer);
            }
        }
        let content = place.get(&name).await?;
        Ok::<_, HistoryError>((winners, content))
    });
    for race in join_all(races).await {
        let (winners, content) = race?;
        // No winner is possible: its answer was lost, and its second try found the object.
        if winners.len() > 1 {
            let count = winners.len();
            return Err(broken(format!("{count} of {WRITERS} writers created the same object")));
        }
        if let [winner] = winners[..]
            && content != format!("{winner:04}").repeat(4096)
        {
            return Err(broken("a writer that was refused replaced the object".to_owned()));
        }
    }
    Ok(Probed { names: NAMES, writers: WRITERS })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_folder_keeps_the_promise_and_nothing_stays_behind() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::folder(folder.path()).unwrap();
        probe(&place).await.unwrap();
        assert_eq!(place.list("probe").await.unwrap(), []);
    }
}
