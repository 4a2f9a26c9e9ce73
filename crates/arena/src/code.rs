//! The files that a worker's code came from, as the kernel lists them, with their hashes.
//!
//! The supervisor reads the list, so that a judged process does not state its own identity.

use crate::hashes::{hash, open, sha256};
use proofmark_schema::{CodeFile, Receipt};
use rustix::process::Pid;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Notes in a receipt which files of code a process has mapped, in addition to those that the
/// receipt names already. A process that has ended has none.
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
}
