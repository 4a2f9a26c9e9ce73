//! Landlock: the files that a worker may open.

use crate::Permit;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::fd::OwnedFd;
use std::fs;
use std::path::{Path, PathBuf};

/// The first version of Landlock that also keeps signals and abstract sockets inside.
pub(crate) const ABI_NEEDED: ABI = ABI::V6;

/// What any program and its libraries read. A path that this machine does not have is left out.
const READS: [&str; 26] = [
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/local/lib",
    "/usr/share/zoneinfo",
    "/usr/share/locale",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/kernel",
    "/proc/sys/vm",
    "/proc/version",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/sys/kernel/mm",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
];
/// What any program reads and writes.
const DEVICES: [&str; 1] = ["/dev/null"];
/// The programs that load other programs' libraries: `exec` opens one beside the program itself.
const LOADERS: [&str; 4] = [
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
];
/// Where compilers and what they start are.
const COMPILERS: [&str; 3] = ["/usr", "/bin", "/etc/alternatives"];

/// The files that a worker may open, by what it may do with them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    reads: Vec<PathBuf>,
    writes: Vec<PathBuf>,
    executes: Vec<PathBuf>,
}

impl Files {
    pub(crate) fn of(program: &Path, permit: &Permit, scratch: Option<&Path>) -> Files {
        let paths = |list: &[&str]| -> Vec<PathBuf> { list.iter().map(PathBuf::from).collect() };
        let mut files = Files {
            reads: paths(&READS),
            writes: paths(&DEVICES),
            executes: [vec![program.to_owned()], paths(&LOADERS)].concat(),
        };
        files.reads.extend(permit.reads.iter().cloned());
        if permit.has_compiler {
            files.executes.extend(paths(&COMPILERS));
            files.executes.extend(permit.reads.iter().cloned());
            files.executes.extend(scratch.map(Path::to_owned));
        }
        files.writes.extend(scratch.map(Path::to_owned));
        files.resolve();
        files
    }

    /// Follows links, so that a path of the worker can be compared with these. What does not exist
    /// is left out.
    fn resolve(&mut self) {
        for list in [&mut self.reads, &mut self.writes, &mut self.executes] {
            *list = list.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
        }
    }

    /// Whether a file without links in its path may be opened.
    pub(crate) fn permit(&self, path: &Path, to_write: bool) -> bool {
        let is_below = |list: &[PathBuf]| list.iter().any(|allowed| path.starts_with(allowed));
        let reads = || is_below(&self.reads) || is_below(&self.executes);
        is_below(&self.writes) || (!to_write && reads())
    }

    /// The rules as the kernel holds them. A process that restricts itself to them loses all other
    /// files, TCP, and signals and abstract sockets of processes outside.
    pub(crate) fn ruleset(&self) -> Result<OwnedFd, RulesetError> {
        let all = AccessFs::from_all(ABI_NEEDED);
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(all)?
            .handle_access(AccessNet::from_all(ABI_NEEDED))?
            .scope(Scope::from_all(ABI_NEEDED))?
            .create()?;
        for (list, access) in [
            (&self.reads, read),
            (&self.executes, read | AccessFs::Execute),
            (&self.writes, all & !AccessFs::Execute),
        ] {
            for path in list {
                // A path that has gone since it was resolved needs no rule.
                let Ok(file) = PathFd::new(path) else { continue };
                rules = rules.add_rule(PathBeneath::new(file, for_kind(path, access)))?;
            }
        }
        let file: Option<OwnedFd> = rules.into();
        Ok(file.expect("the version is a hard requirement, so the ruleset exists"))
    }
}

/// The part of the rights that a path of its kind can have: a file has no entries.
fn for_kind(path: &Path, access: BitFlags<AccessFs>) -> BitFlags<AccessFs> {
    if path.is_dir() { access } else { access & AccessFs::from_file(ABI_NEEDED) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permit_adds_files_and_takes_none_away() {
        let folder = std::env::temp_dir();
        let permit = Permit { reads: vec![folder.clone()], ..Permit::default() };
        let files = Files::of(Path::new("/proc/self/exe"), &permit, None);
        let folder = fs::canonicalize(folder).unwrap();
        assert!(files.permit(&folder.join("x"), false));
        assert!(!files.permit(&folder.join("x"), true));
        assert!(!files.permit(Path::new("/etc/passwd"), false));
        assert!(files.permit(Path::new("/dev/null"), true));
    }
}
