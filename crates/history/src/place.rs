//! Where a history lies, and the few requests that it needs of that place.

use crate::durable::{self, Created};
use crate::{FORMAT, HistoryError};
use bytes::Bytes;
use futures::TryStreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::prefix::PrefixStore;
use object_store::{Error as StoreError, ObjectStore, ObjectStoreExt, PutMode, PutOptions};
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The object that says what a place is.
const FORMAT_FILE: &str = "format.json";

/// How often a request is tried whose outcome is not known.
const TRIES: u32 = 8;

/// Where a history lies: a folder, or a prefix of a bucket.
#[derive(Clone)]
pub struct Place {
    text: String,
    /// The folder, if it is one: files are created there by [`durable`].
    folder: Option<PathBuf>,
    store: Arc<dyn ObjectStore>,
}

/// What `format.json` says.
#[derive(Debug, Serialize, Deserialize)]
struct FormatFile {
    format: u32,
    /// What the folder is, for people who find it.
    about: String,
}

/// An object as a listing names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// Its name within the place.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Place").field(&self.text).finish()
    }
}

impl Place {
    /// The place that a text means: a folder, or `s3://bucket/prefix`. Credentials, region and
    /// endpoint of S3 are those of the variables `AWS_…`.
    ///
    /// # Errors
    /// If the text means none, or the settings of S3 do not fit together.
    pub fn parse(text: &str) -> Result<Place, HistoryError> {
        Place::parse_with(text, &[])
    }

    /// The same with settings of S3 that go before the variables, by the names of these.
    ///
    /// # Errors
    /// If the text means none, or the settings of S3 do not fit together.
    pub fn parse_with(text: &str, settings: &[(&str, String)]) -> Result<Place, HistoryError> {
        let bad = || HistoryError::BadPlace(text.to_owned());
        if let Some(rest) = text.strip_prefix("s3://") {
            let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
            if bucket.is_empty() {
                return Err(bad());
            }
            let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
            for (name, value) in settings {
                let key = name.to_ascii_lowercase().parse();
                builder =
                    builder.with_config(key.map_err(|source| failed(text, source))?, value.clone());
            }
            let store = builder.build().map_err(|source| failed(text, source))?;
            let prefix = ObjectPath::parse(prefix.trim_end_matches('/')).map_err(|_| bad())?;
            let store: Arc<dyn ObjectStore> = match prefix.as_ref() {
                "" => Arc::new(store),
                _ => Arc::new(PrefixStore::new(store, prefix)),
            };
            return Ok(Place { text: text.trim_end_matches('/').to_owned(), folder: None, store });
        }
        if text.is_empty() || text.contains("://") {
            return Err(bad());
        }
        Place::folder(Path::new(text))
    }

    /// A folder as a place.
    ///
    /// # Errors
    /// If its path cannot be made absolute.
    pub fn folder(path: &Path) -> Result<Place, HistoryError> {
        let absolute = std::path::absolute(path).map_err(HistoryError::io("find", path))?;
        // The store wants a folder that is there. Objects are created by `durable`, which makes
        // it; until then there is nothing to read.
        let store: Arc<dyn ObjectStore> =
            Arc::new(LocalFileSystem::new_with_prefix("/").map_err(|source| failed("/", source))?);
        let prefix = ObjectPath::from_absolute_path(&absolute)
            .map_err(|_| HistoryError::BadPlace(path.display().to_string()))?;
        let store = Arc::new(PrefixStore::new(store, prefix));
        Ok(Place { text: path.display().to_string(), folder: Some(absolute), store })
    }

    /// The objects, for readers of Parquet and for the query engine.
    pub fn object_store(&self) -> Arc<dyn ObjectStore> {
        Arc::clone(&self.store)
    }

    /// The folder, if it is one.
    pub fn as_folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Creates an object if there is none of that name. It is durable when this returns.
    ///
    /// After an error of the network it may have been created all the same; the next try finds it
    /// there. So [`Created::Present`] alone does not tell whether this call or another made it.
    pub(crate) async fn put_if_absent(
        &self,
        name: &str,
        bytes: Bytes,
    ) -> Result<Created, HistoryError> {
        if let Some(folder) = &self.folder {
            let (folder, name) = (folder.clone(), name.to_owned());
            let create = move || durable::create(&folder, &name, &bytes);
            return tokio::task::spawn_blocking(create)
                .await
                .expect("no panic in a file's creation");
        }
        let path = object_path(name)?;
        let mut pause = Duration::from_millis(50);
        for tries_left in (0..TRIES).rev() {
            let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
            match self.store.put_opts(&path, bytes.clone().into(), options).await {
                Ok(_) => return Ok(Created::New),
                Err(error) if is_present(&error) => return Ok(Created::Present),
                Err(error) if tries_left == 0 || is_final(&error) => {
                    return Err(failed(name, error));
                }
                Err(_) => {}
            }
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(Duration::from_secs(2));
        }
        unreachable!("the last try returns")
    }

    /// Creates an object whose name contains the hash of its content, so that an object that is
    /// there already is the same.
    pub(crate) async fn put_content(
        &self,
        name: &str,
        bytes: Bytes,
    ) -> Result<Created, HistoryError> {
        self.put_if_absent(name, bytes).await
    }

    /// The bytes of an object.
    ///
    /// # Errors
    /// If it is not there or cannot be read.
    pub async fn get(&self, name: &str) -> Result<Bytes, HistoryError> {
        let path = object_path(name)?;
        let read = async { self.store.get(&path).await?.bytes().await };
        match read.await {
            Ok(bytes) => Ok(bytes),
            Err(StoreError::NotFound { .. }) => Err(HistoryError::Missing(name.to_owned())),
            Err(error) => Err(failed(name, error)),
        }
    }

    /// Every object below a prefix, in order of names.
    ///
    /// # Errors
    /// If the place cannot be listed.
    pub async fn list(&self, prefix: &str) -> Result<Vec<Listed>, HistoryError> {
        if let Some(folder) = &self.folder {
            // A folder that is not there yet has nothing in it.
            if !folder.join(prefix).is_dir() {
                return Ok(Vec::new());
            }
        }
        let path = object_path(prefix)?;
        let found = self
            .store
            .list(Some(&path))
            .map_ok(|found| Listed { name: found.location.to_string(), size: found.size });
        let found: Result<Vec<Listed>, StoreError> = found.try_collect().await;
        let mut found = found.map_err(|error| failed(prefix, error))?;
        found.sort();
        Ok(found)
    }

    /// Removes an object; one that is not there is fine.
    pub(crate) async fn delete(&self, name: &str) -> Result<(), HistoryError> {
        match self.store.delete(&object_path(name)?).await {
            Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
            Err(error) => Err(failed(name, error)),
        }
    }

    /// Says that this is a history, if nothing does yet.
    pub(crate) async fn mark(&self) -> Result<Created, HistoryError> {
        let about = "A history of Proofmark: see docs/history.md".to_owned();
        let json = serde_json::to_vec(&FormatFile { format: FORMAT, about });
        let created = self.put_if_absent(FORMAT_FILE, json.expect("plain fields").into()).await?;
        self.check().await?;
        Ok(created)
    }

    /// Checks that this is a history, and one that can be read here.
    ///
    /// # Errors
    /// If it is not.
    pub async fn check(&self) -> Result<(), HistoryError> {
        let bytes = match self.get(FORMAT_FILE).await {
            Err(HistoryError::Missing(_)) => {
                return Err(HistoryError::NotAHistory(self.text.clone()));
            }
            other => other?,
        };
        let file: FormatFile = serde_json::from_slice(&bytes)
            .map_err(|error| HistoryError::damaged(FORMAT_FILE, error))?;
        if file.format > FORMAT {
            let (place, format) = (self.text.clone(), file.format);
            return Err(HistoryError::Newer { place, format, known: FORMAT });
        }
        Ok(())
    }
}

pub(crate) fn object_path(name: &str) -> Result<ObjectPath, HistoryError> {
    ObjectPath::parse(name).map_err(|error| HistoryError::damaged(name, error))
}

fn failed(name: &str, source: StoreError) -> HistoryError {
    HistoryError::Store { name: name.to_owned(), source }
}

/// Whether a store said that the name is taken (status 412 or 304).
///
/// Status 409 is not that: S3 answers with it if two requests meet, and neither may have won.
/// `object_store` reports both as `AlreadyExists`; only the first has a precondition within.
fn is_present(error: &StoreError) -> bool {
    let StoreError::AlreadyExists { source, .. } = error else {
        return false;
    };
    let within = source.downcast_ref::<StoreError>();
    matches!(within, Some(StoreError::Precondition { .. } | StoreError::NotModified { .. }))
}

/// Whether another try cannot help.
fn is_final(error: &StoreError) -> bool {
    let is_refused = matches!(
        error,
        StoreError::PermissionDenied { .. }
            | StoreError::Unauthenticated { .. }
            | StoreError::NotImplemented { .. }
            | StoreError::NotSupported { .. }
            | StoreError::InvalidPath { .. }
            | StoreError::NotFound { .. }
    );
    // A name that no server has is wrong, not late.
    let mut source = error.source();
    let mut is_unresolved = false;
    while let Some(inner) = source {
        is_unresolved |= inner.to_string().contains("dns error");
        source = inner.source();
    }
    is_refused || is_unresolved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_folders_and_buckets() {
        for text in ["history", "/tmp/h", "a/b c", "s3://bucket", "s3://bucket/a/b/"] {
            let place = Place::parse(text).unwrap();
            assert_eq!(place.as_folder().is_some(), !text.starts_with("s3://"), "{text}");
        }
        for text in ["", "s3://", "s3:///x", "ftp://x", "s3://b/../c"] {
            assert!(matches!(Place::parse(text), Err(HistoryError::BadPlace(_))), "{text}");
        }
    }

    #[tokio::test]
    async fn a_folder_is_a_history_once_it_is_marked() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::folder(&folder.path().join("h")).unwrap();
        assert!(matches!(place.check().await, Err(HistoryError::NotAHistory(_))));
        assert_eq!(place.mark().await.unwrap(), Created::New);
        assert_eq!(place.mark().await.unwrap(), Created::Present);
        let newer = br#"{"format":99,"about":""}"#;
        std::fs::write(folder.path().join("h/format.json"), newer).unwrap();
        assert!(matches!(place.check().await, Err(HistoryError::Newer { format: 99, .. })));
    }

    #[tokio::test]
    async fn listings_are_in_order_and_empty_where_nothing_is() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::folder(folder.path()).unwrap();
        assert_eq!(place.list("inbox").await.unwrap(), []);
        for name in ["inbox/b/2", "inbox/a/1", "other/x"] {
            place.put_if_absent(name, Bytes::from_static(b"x")).await.unwrap();
        }
        let names: Vec<String> =
            place.list("inbox").await.unwrap().into_iter().map(|found| found.name).collect();
        assert_eq!(names, ["inbox/a/1", "inbox/b/2"]);
        assert_eq!(place.get("inbox/a/1").await.unwrap(), "x");
        assert!(matches!(place.get("inbox/a/2").await, Err(HistoryError::Missing(_))));
    }
}
