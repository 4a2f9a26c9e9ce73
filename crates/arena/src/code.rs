//! The files that a worker's code came from, as the kernel lists them, with their hashes.
//!
//! The supervisor reads the list, so that a judged process does not state its own identity.

use proofmark_schema::{CodeFile, Receipt};
use rustix::process::Pid;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Greatest file that is hashed; no library comes near it.
const MOST_BYTES: u64 = 16 << 30;

/// Bytes that are read from a file at once.
const PIECE_BYTES: usize = 1 << 20;

/// Notes in a receipt which files of code a process has mapped, beside those that the receipt
/// names already. A process that has ended has none.
pub(crate) fn note(pid: Pid, receipt: &mut Receipt) {
    let path = |name: &str| format!("/proc/{}/{name}", pid.as_raw_nonzero());
    let maps = fs::read(path("maps")).unwrap_or_default();
    let maps = String::from_utf8_lossy(&maps);
    let exe = path("exe");
    let program = fs::read_link(&exe).unwrap_or_default();
    let mut libraries: BTreeSet<CodeFile> = receipt.libraries.drain(..).collect();
    let mut seen = BTreeSet::new();
    for mapped in maps.lines().filter_map(Mapped::parse) {
        // A library may have several mappings.
        if !seen.insert((mapped.path, mapped.inode)) {
            continue;
        }
        // The link leads to the file that runs, also if another one has its path by now.
        if Path::new(mapped.path) == program {
            let sha256 = sha256(Path::new(&exe)).unwrap_or_default();
            receipt.program = Some(CodeFile { name: mapped.name(), sha256 });
        } else {
            let by_range = path(&format!("map_files/{}", mapped.range));
            libraries.insert(CodeFile { name: mapped.name(), sha256: mapped.sha256(&by_range) });
        }
    }
    receipt.libraries = libraries.into_iter().collect();
}

/// A mapping of a file from which code runs.
#[derive(Debug, PartialEq, Eq)]
struct Mapped<'a> {
    /// Its addresses.
    range: &'a str,
    inode: u64,
    /// The file's path; it ends in ` (deleted)` if no file has it any more.
    path: &'a str,
}

impl<'a> Mapped<'a> {
    /// Reads a line of `maps`; nothing if it is not of a file, or not executable.
    fn parse(line: &'a str) -> Option<Mapped<'a>> {
        // Addresses, permissions, offset, device, inode, and then spaces and a path.
        let mut words = line.splitn(6, ' ');
        let (range, permissions) = (words.next()?, words.next()?);
        let inode = words.nth(2)?.parse().ok()?;
        let path = words.next()?.trim_start();
        let is_code = permissions.contains('x') && inode != 0 && path.starts_with('/');
        is_code.then_some(Mapped { range, inode, path })
    }

    fn name(&self) -> String {
        let path = self.path.strip_suffix(DELETED).unwrap_or(self.path);
        path.rsplit('/').next().unwrap_or(path).to_owned()
    }

    /// The hash of the file that is mapped. Where another file has the path by now, the mapped
    /// one can be read only through its range of addresses, which takes privileges.
    fn sha256(&self, by_range: &str) -> String {
        let at_path = open(Path::new(self.path)).ok();
        let at_path = at_path.filter(|(_, facts)| facts.ino() == self.inode);
        let opened = at_path.map_or_else(|| open(Path::new(by_range)), Ok);
        opened.and_then(|(file, facts)| hash(file, &facts)).unwrap_or_default()
    }
}

/// What the kernel writes behind the path of a file that was removed.
const DELETED: &str = " (deleted)";

/// What tells one state of a file from another: device, inode, size and the times of its last
/// changes.
type Stamp = (u64, u64, u64, [i64; 4]);

/// Hashes of files as this process found them, so that the workers of many trials cost one read.
static KNOWN: Mutex<BTreeMap<Stamp, String>> = Mutex::new(BTreeMap::new());

/// The SHA-256 of a file, in hexadecimal. A file that has not changed is read once in the life of
/// this process.
///
/// # Errors
/// If it cannot be read.
pub fn sha256(path: &Path) -> io::Result<String> {
    let (file, facts) = open(path)?;
    hash(file, &facts)
}

/// Opens a plain file that is not too large. A judged process may have chosen the path, so neither
/// a pipe nor a huge file may hold up the supervisor.
fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let facts = file.metadata()?;
    match facts.is_file() && facts.size() <= MOST_BYTES {
        true => Ok((file, facts)),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn hash(mut file: File, facts: &Metadata) -> io::Result<String> {
    // Held while the file is read: others that need the same hash wait for it.
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(hash) = known.get(&stamp(facts)) {
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
    let hash: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    // A file that was written meanwhile is read again the next time.
    if stamp(&file.metadata()?) == stamp(facts) {
        known.insert(stamp(facts), hash.clone());
    }
    Ok(hash)
}

fn stamp(facts: &Metadata) -> Stamp {
    let times = [facts.mtime(), facts.mtime_nsec(), facts.ctime(), facts.ctime_nsec()];
    (facts.dev(), facts.ino(), facts.size(), times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_of_files_counts() {
        let code = "7f8-7f9 r-xp 00022000 fe:00 316534                     /usr/lib/a b/libm.so.6";
        let mapped = Mapped::parse(code).unwrap();
        assert_eq!((mapped.range, mapped.inode), ("7f8-7f9", 316_534));
        assert_eq!((mapped.path, mapped.name().as_str()), ("/usr/lib/a b/libm.so.6", "libm.so.6"));
        let removed = Mapped::parse("7f8-7f9 r-xp 0 fe:00 7   /tmp/libx.so (deleted)").unwrap();
        assert_eq!(removed.name(), "libx.so");
        for line in [
            "7f71b6a23000-7f71b6a7a000 r--p 00000000 fe:00 316534           /usr/lib/libm.so.6",
            "7f71b6a01000-7f71b6a23000 rwxp 00000000 00:00 0 ",
            "7ffd0b7f2000-7ffd0b7f4000 r-xp 00000000 00:00 0                [vdso]",
            "",
        ] {
            assert_eq!(Mapped::parse(line), None, "{line}");
        }
    }

    #[test]
    fn this_process_is_named_with_its_program_and_its_libraries() {
        let mut receipt = Receipt::default();
        note(rustix::process::getpid(), &mut receipt);
        let program = receipt.program.clone().expect("a process runs a program");
        let path = std::env::current_exe().unwrap();
        assert_eq!(program.name, path.file_name().unwrap().to_str().unwrap());
        assert_eq!(program.sha256, sha256(&path).unwrap());
        let libc = receipt.libraries.iter().find(|file| file.name.starts_with("libc.so"));
        assert_eq!(libc.expect("tests are linked to it").sha256.len(), 64);
        let once = receipt.clone();
        note(rustix::process::getpid(), &mut receipt);
        assert_eq!(receipt, once, "a second look finds the same");
    }

    #[test]
    fn a_hash_is_that_of_the_bytes_and_follows_their_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "abc").unwrap();
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(&path).unwrap(), abc);
        assert_eq!(sha256(&path).unwrap(), abc);
        fs::write(&path, "abcd").unwrap();
        assert_ne!(sha256(&path).unwrap(), abc);
        assert!(sha256(folder.path()).is_err(), "a folder has no bytes");
        let huge = File::create(folder.path().join("huge")).unwrap();
        huge.set_len(MOST_BYTES + 1).unwrap();
        assert!(sha256(&folder.path().join("huge")).is_err(), "it would take minutes");
    }
}
