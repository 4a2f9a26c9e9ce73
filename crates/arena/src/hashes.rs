//! SHA-256 hashes of files, computed once for each state of a file.
//!
//! A framework maps gigabytes of libraries, and a processor without instructions for SHA-256 reads
//! a few hundred megabytes a second. This process therefore remembers what it has hashed, and
//! [`keep_hashes_in`] makes the next process remember it too.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Greatest file that is hashed; no library comes near it.
const MOST_BYTES: u64 = 16 << 30;

/// Bytes that are read from a file at once.
const PIECE_BYTES: usize = 1 << 20;

/// Smallest file whose hash is kept for later processes: others are hashed in milliseconds.
const KEPT_FROM_BYTES: u64 = 1 << 20;

/// Age of a file, in seconds, from which its hash is kept for later processes. A file system counts
/// time in ticks: a file that was written a tick ago can change without a change of its times.
const SETTLED_SECONDS: i64 = 10;

/// Greatest file of kept hashes; a larger one is started anew.
const MOST_KEPT_BYTES: u64 = 1 << 20;

/// What tells one state of a file from another. Its owner can set the time of the last write, but
/// not the time of the last change of the file's facts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    /// Seconds and nanoseconds of the last write.
    written: (i64, i64),
    /// Seconds and nanoseconds of the last change of the file or of its facts.
    changed: (i64, i64),
}

impl Stamp {
    fn of(facts: &Metadata) -> Stamp {
        Stamp {
            device: facts.dev(),
            inode: facts.ino(),
            bytes: facts.size(),
            written: (facts.mtime(), facts.mtime_nsec()),
            changed: (facts.ctime(), facts.ctime_nsec()),
        }
    }

    /// Whether the hash of a file in this state is worth keeping and safe to keep, at a time in
    /// seconds since 1970.
    fn is_lasting(&self, now: i64) -> bool {
        self.bytes >= KEPT_FROM_BYTES && self.changed.0.saturating_add(SETTLED_SECONDS) <= now
    }

    fn to_line(self, hash: &str) -> String {
        let Stamp { device, inode, bytes, written, changed } = self;
        let times = [written.0, written.1, changed.0, changed.1].map(|time| time.to_string());
        format!("{device} {inode} {bytes} {} {hash}\n", times.join(" "))
    }

    /// Reads a line; nothing if it is not whole.
    fn from_line(line: &str) -> Option<(Stamp, String)> {
        let words: Vec<&str> = line.split(' ').collect();
        let [device, inode, bytes, written, written_part, changed, changed_part, hash] =
            words.as_slice()
        else {
            return None;
        };
        let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        let stamp = Stamp {
            device: device.parse().ok()?,
            inode: inode.parse().ok()?,
            bytes: bytes.parse().ok()?,
            written: (written.parse().ok()?, written_part.parse().ok()?),
            changed: (changed.parse().ok()?, changed_part.parse().ok()?),
        };
        is_hash.then(|| (stamp, (*hash).to_owned()))
    }
}

/// Hashes of files in the states in which they were read.
struct Known {
    by_stamp: BTreeMap<Stamp, String>,
    /// Where later processes find them, and since when this one keeps them there.
    kept: Option<(PathBuf, i64)>,
}

static KNOWN: Mutex<Known> = Mutex::new(Known { by_stamp: BTreeMap::new(), kept: None });

/// Keeps the hashes of large files in a file too, and takes those that an earlier process kept
/// there. A file that others may write is not trusted; without a file, every process hashes anew.
/// `now` is the time in seconds since 1970.
pub fn keep_hashes_in(file: &Path, now: u64) {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if known.kept.is_some() {
        return;
    }
    let Ok(text) = kept(file) else { return };
    known.by_stamp.extend(text.lines().filter_map(Stamp::from_line));
    known.kept = Some((file.to_owned(), now.cast_signed()));
}

/// The text of a file of kept hashes: empty if there is none, or if it has grown too large.
fn kept(file: &Path) -> io::Result<String> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut opened = kept_file(file)?;
    let facts = opened.metadata()?;
    let is_ours = facts.uid() == rustix::process::geteuid().as_raw() && facts.mode() & 0o022 == 0;
    if !facts.is_file() || !is_ours {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    if facts.size() > MOST_KEPT_BYTES {
        opened.set_len(0)?;
    }
    let mut text = Vec::new();
    opened.read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Opens a file of kept hashes; every write goes to its end.
fn kept_file(file: &Path) -> io::Result<File> {
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW;
    OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(flags)
        .open(file)
}

/// The SHA-256 of a file, in hexadecimal. A file that has not changed is read once.
///
/// # Errors
/// If it cannot be read.
pub fn sha256(path: &Path) -> io::Result<String> {
    let (file, facts) = open(path)?;
    hash(file, &facts)
}

/// Opens a plain file that is not too large. A judged process may have chosen the path, so neither
/// a pipe nor a huge file may hold up the supervisor.
pub(crate) fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let facts = file.metadata()?;
    match facts.is_file() && facts.size() <= MOST_BYTES {
        true => Ok((file, facts)),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// The hash of an open file with these facts.
pub(crate) fn hash(mut file: File, facts: &Metadata) -> io::Result<String> {
    // Held while the file is read: others that need the same hash wait for it.
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let stamp = Stamp::of(facts);
    if let Some(hash) = known.by_stamp.get(&stamp) {
        return Ok(hash.clone());
    }
    let mut hasher = Sha256::new();
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match file.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => hasher.update(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let mut hash = String::with_capacity(64);
    for byte in hasher.finalize() {
        let _ = write!(hash, "{byte:02x}");
    }
    // A file that was written meanwhile is read again the next time.
    if Stamp::of(&file.metadata()?) == stamp {
        known.by_stamp.insert(stamp, hash.clone());
        if let Some((place, _)) = known.kept.as_ref().filter(|(_, now)| stamp.is_lasting(*now)) {
            // One write of a whole line: other processes may write too. A line that is lost costs
            // the next process a reading.
            let _ = kept_file(place)
                .and_then(|mut file| file.write_all(stamp.to_line(&hash).as_bytes()));
        }
    }
    Ok(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_hash_is_that_of_the_bytes_and_follows_their_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "abc").unwrap();
        assert_eq!(sha256(&path).unwrap(), ABC);
        assert_eq!(sha256(&path).unwrap(), ABC);
        fs::write(&path, "abcd").unwrap();
        assert_ne!(sha256(&path).unwrap(), ABC);
        assert!(sha256(folder.path()).is_err(), "a folder has no bytes");
        let huge = File::create(folder.path().join("huge")).unwrap();
        huge.set_len(MOST_BYTES + 1).unwrap();
        assert!(sha256(&folder.path().join("huge")).is_err(), "it would take minutes");
    }

    const NOW: i64 = 1_800_000_000;

    /// A stamp of a file that has not changed for a while.
    fn stamp(seconds_ago: i64, bytes: u64) -> Stamp {
        Stamp { device: 1, inode: 2, bytes, written: (-3, 4), changed: (NOW - seconds_ago, 5) }
    }

    #[test]
    fn lines_are_read_as_they_were_written_and_torn_ones_are_not() {
        let stamp = stamp(100, 7);
        let line = stamp.to_line(ABC);
        let (read, hash) = Stamp::from_line(line.trim_end()).unwrap();
        assert!(read == stamp && hash == ABC);
        for torn in 0..line.len() - 1 {
            assert!(Stamp::from_line(&line[..torn]).is_none(), "{}", &line[..torn]);
        }
        assert!(Stamp::from_line(&format!("{}9 9", line.trim_end())).is_none());
    }

    #[test]
    fn only_large_files_that_have_settled_are_kept() {
        assert!(stamp(60, KEPT_FROM_BYTES).is_lasting(NOW));
        assert!(!stamp(60, KEPT_FROM_BYTES - 1).is_lasting(NOW));
        assert!(!stamp(1, KEPT_FROM_BYTES).is_lasting(NOW), "it may change within the same tick");
    }

    #[test]
    fn a_later_process_believes_kept_hashes_of_its_own_user_only() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cache/hashes");
        assert_eq!(kept(&file).unwrap(), "", "it is made");
        fs::write(&file, stamp(60, 7).to_line(ABC)).unwrap();
        assert_eq!(kept(&file).unwrap().lines().count(), 1);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o620)).unwrap();
        assert!(kept(&file).is_err(), "a group may write it");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&file, "x".repeat(MOST_KEPT_BYTES as usize + 1)).unwrap();
        assert_eq!(kept(&file).unwrap(), "", "it is started anew");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(kept(&link).is_err(), "a link may lead anywhere");
    }

    #[test]
    fn what_is_kept_is_used_instead_of_reading() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("library");
        fs::write(&path, vec![7; KEPT_FROM_BYTES as usize]).unwrap();
        let stamp = Stamp::of(&fs::metadata(&path).unwrap());
        let file = folder.path().join("hashes");
        fs::write(&file, stamp.to_line(ABC)).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        keep_hashes_in(&file, NOW.cast_unsigned());
        assert_eq!(sha256(&path).unwrap(), ABC, "the file was not read");
    }
}
