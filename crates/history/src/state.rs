//! What the log says as a whole: the live files, and which inbox objects are in them.

use crate::log::{Entry, FOLDER, Group, MetaData, Protocol, Segment, entry_name, version_of};
use crate::{HistoryError, Place, checkpoint, object};
use futures::{StreamExt, TryStreamExt};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// An inbox object that is not read any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Gone {
    /// Since when, in milliseconds since 1970.
    pub(crate) time_ms: i64,
    /// Whether it was passed over, because its run was there from another object.
    pub(crate) is_superseded: bool,
}

/// Sees what the log says at an entry.
pub(crate) type Visit<'a> = dyn FnMut(&State) -> Result<(), HistoryError> + Send + 'a;

/// What all entries together say.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct State {
    /// The latest entry.
    pub(crate) version: Option<u64>,
    pub(crate) protocol: Option<Protocol>,
    pub(crate) meta_data: Option<MetaData>,
    pub(crate) segments: BTreeMap<String, Segment>,
    pub(crate) groups: BTreeMap<String, Group>,
    /// Runs that are in segments.
    pub(crate) runs: BTreeSet<String>,
    /// Inbox objects that are consumed or superseded.
    pub(crate) consumed: BTreeMap<String, Gone>,
    /// When segments, and runs and series of groups, were replaced; they may still be there.
    pub(crate) removed_ms: BTreeMap<String, i64>,
}

impl State {
    /// Reads the log: the latest checkpoint, and the entries after it.
    pub(crate) async fn load(place: &Place) -> Result<State, HistoryError> {
        State::load_to(place, u64::MAX).await
    }

    /// Reads the log up to an entry.
    pub(crate) async fn load_to(place: &Place, last: u64) -> Result<State, HistoryError> {
        let listed = place.list(FOLDER).await?;
        let mut checkpoints = place.list(checkpoint::OWN_FOLDER).await?;
        let is_meant = |name: &str| checkpoint::version_of(name).is_some_and(|of| of <= last);
        checkpoints.retain(|found| is_meant(&found.name));
        let mut state = State::default();
        for found in checkpoints.into_iter().rev() {
            match checkpoint::read(place, &found.name).await {
                Ok(read) => {
                    state = read.state;
                    break;
                }
                // The entries say the same; `fsck` names the damage.
                Err(HistoryError::Damaged { .. } | HistoryError::Missing(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let versions = listed.iter().filter_map(|found| version_of(&found.name));
        let versions = versions.filter(|version| *version <= last).collect();
        state.take(place, versions, &mut |_| Ok(())).await?;
        Ok(state)
    }

    /// Reads every entry and no checkpoint. `visit` sees what the log says at each entry.
    pub(crate) async fn replay(
        place: &Place,
        visit: &mut Visit<'_>,
    ) -> Result<State, HistoryError> {
        let listed = place.list(FOLDER).await?;
        let versions = listed.iter().filter_map(|found| version_of(&found.name)).collect();
        let mut state = State::default();
        state.take(place, versions, visit).await?;
        Ok(state)
    }

    /// Applies the entries that come after its own.
    async fn take(
        &mut self,
        place: &Place,
        versions: BTreeSet<u64>,
        visit: &mut Visit<'_>,
    ) -> Result<(), HistoryError> {
        // Entries are read several at a time and applied in order.
        let newer = self.version.map_or(0, |version| version + 1);
        let newer: Vec<u64> = versions.range(newer..).copied().collect();
        let entries = futures::stream::iter(newer).map(|version| async move {
            let name = entry_name(version);
            let bytes = place.get(&name).await?;
            Ok::<_, HistoryError>((version, name, bytes))
        });
        let mut entries = entries.buffered(16);
        while let Some((version, name, bytes)) = entries.try_next().await? {
            self.apply(version, &name, &bytes)?;
            visit(self)?;
        }
        Ok(())
    }

    /// Applies one entry, which must be the next.
    fn apply(&mut self, version: u64, name: &str, bytes: &[u8]) -> Result<(), HistoryError> {
        let next = self.version.map_or(0, |version| version + 1);
        if version != next {
            let missing = entry_name(next);
            return Err(HistoryError::damaged(name, format!("{missing}, before it, is not there")));
        }
        let entry = Entry::parse(name, bytes)?;
        for remove in &entry.removes {
            if self.segments.remove(&remove.path).is_none() {
                let reason = format!("it removes {}, which is not there", remove.path);
                return Err(HistoryError::damaged(name, reason));
            }
            self.removed_ms.insert(remove.path.clone(), remove.deletion_timestamp);
        }
        for add in entry.adds {
            let stats = serde_json::from_str(&add.stats)
                .map_err(|error| HistoryError::damaged(name, error))?;
            let (path, modified_ms) = (add.path.clone(), add.modification_time);
            let segment = Segment { path, size: add.size, stats, modified_ms };
            if self.segments.insert(add.path.clone(), segment).is_some() {
                let reason = format!("it adds {} again", add.path);
                return Err(HistoryError::damaged(name, reason));
            }
        }
        for id in &entry.compaction.replaced {
            let group = self.groups.remove(id).ok_or_else(|| {
                HistoryError::damaged(name, format!("it replaces group {id}, which is not there"))
            })?;
            self.removed_ms.extend([(group.runs, entry.time_ms), (group.series, entry.time_ms)]);
        }
        for consumed in &entry.compaction.consumed {
            let run = object::run_in_name(consumed)
                .ok_or_else(|| HistoryError::damaged(name, format!("{consumed} names no run")))?;
            if !self.runs.insert(run.to_owned()) {
                let reason = format!("it consumes run {run} a second time");
                return Err(HistoryError::damaged(name, reason));
            }
        }
        let time_ms = entry.time_ms;
        let gone = |is_superseded| move |name| (name, Gone { time_ms, is_superseded });
        self.consumed.extend(entry.compaction.consumed.into_iter().map(gone(false)));
        self.consumed.extend(entry.compaction.superseded.into_iter().map(gone(true)));
        if let Some(group) = entry.compaction.group {
            self.groups.insert(group.id.clone(), group);
        }
        self.protocol = entry.protocol.or(self.protocol.take());
        self.meta_data = entry.meta_data.or(self.meta_data.take());
        self.version = Some(version);
        Ok(())
    }
}
