//! Making a history, and appending runs to it.

use crate::durable::Created;
use crate::probe::{self, Probed};
use crate::{HistoryError, Place, RunObject, log};

/// What appending a run did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The object.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// How many points it has.
    pub points: usize,
    /// Whether it was there already.
    pub was_there: bool,
}

/// Makes a place a history. It is probed first: a store that lets two writers create one object
/// is refused. Making a history again changes nothing.
///
/// # Errors
/// If the place cannot be written, or does not keep the promise.
pub async fn init(place: &Place) -> Result<Probed, HistoryError> {
    let probed = probe::probe(place).await?;
    place.mark().await?;
    log::begin(place).await?;
    Ok(probed)
}

/// Appends a run by exactly one request, which creates one object. Nothing is listed or read, so
/// that write-only credentials suffice. The run is durable when this returns. The same run again
/// changes nothing.
///
/// # Errors
/// If the object cannot be created. It may be there all the same after an error of the network:
/// append the run again.
pub async fn append(place: &Place, object: &RunObject) -> Result<Appended, HistoryError> {
    let (name, bytes) = object.encode()?;
    let size = bytes.len() as u64;
    let created = place.put_content(&name, bytes).await?;
    let was_there = created == Created::Present;
    Ok(Appended { name, bytes: size, points: object.rows().len(), was_there })
}
