//! A peer in one version, such as `onnxruntime@1.20.0`, in a folder of its own.

use crate::install::run;
use crate::{Found, Hear, InstallError, Needs, PEERS, Peer, PeerShelf, Ready, Source, Tools};
use proofmark_contract::{ExplicitCase, Signature, Unsupported};
use proofmark_schema::ErrorContract;
use std::cmp::Ordering;
use std::ffi::OsStr;
use std::path::Path;

/// A peer of ours in a version that the user names.
pub(crate) struct Versioned {
    peer: &'static dyn Peer,
    name: &'static str,
    shelved_as: &'static str,
    version: &'static str,
}

impl Versioned {
    /// The peer that a name with a version means, also where it is not on this machine.
    pub(crate) fn of(name: &str) -> Option<&'static dyn Peer> {
        let (name, version) = name.split_once('@')?;
        let peer = PEERS.iter().copied().find(|peer| peer.name() == name)?;
        Some(Versioned::leaked(peer, version))
    }

    /// The peers of ours that live in a folder of the shelf with a version in its name.
    pub(crate) fn in_folder(name: &str) -> Vec<&'static dyn Peer> {
        let Some((name, version)) = name.split_once('@') else { return Vec::new() };
        let those = PEERS.iter().copied().filter(|peer| peer.shelved_as() == name);
        those.map(|peer| Versioned::leaked(peer, version)).collect()
    }

    /// Leaked once for each peer of a process, so that it is like those that are built in.
    fn leaked(peer: &'static dyn Peer, version: &str) -> &'static dyn Peer {
        let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
        Box::leak(Box::new(Versioned {
            peer,
            name: leak(format!("{}@{version}", peer.name())),
            shelved_as: leak(format!("{}@{version}", peer.shelved_as())),
            version: leak(version.to_owned()),
        }))
    }
}

/// The versions of a peer, oldest first: those that its registry has for this machine, without
/// pre-releases, or those of the user's own library that are on the shelf.
///
/// # Errors
/// If the registry cannot be asked, or its client lists no versions.
pub fn versions(
    peer: &str,
    shelf: &PeerShelf,
    tools: &Tools,
    hear: Hear<'_>,
) -> Result<Vec<String>, InstallError> {
    let source = PEERS.iter().find(|it| it.name() == peer).map(|it| it.source());
    let here = Path::new(".");
    let mut lines = Vec::new();
    let mut listen = |line: &str| {
        hear(line);
        lines.push(line.to_owned());
    };
    match source {
        Some(Source::Wheels { packages, .. } | Source::Python { packages, .. }) => {
            let args = ["-m", "pip", "index", "--disable-pip-version-check", "versions"];
            let args = args.iter().chain(packages.first()).map(OsStr::new);
            let args: Vec<&OsStr> = args.collect();
            run(&tools.python, &args, here, "name the versions with --versions", &mut listen)?;
            Ok(listed_by_pip(&lines))
        }
        Some(Source::Npm { package, .. }) => {
            let args = ["view", package, "versions", "--json"].map(OsStr::new);
            run(Path::new("npm"), &args, here, "name the versions with --versions", &mut listen)?;
            let all: Vec<String> = serde_json::from_str(&lines.concat()).unwrap_or_default();
            Ok(all.into_iter().filter(|version| !version.contains('-')).collect())
        }
        Some(_) => Err(InstallError::NoList),
        None => {
            let names = shelf.names().into_iter();
            let of_peer = names.filter_map(|name| {
                let (of, version) = name.split_once('@')?;
                (of == peer).then(|| version.to_owned())
            });
            let mut all: Vec<String> = of_peer.collect();
            all.sort_by(|one, other| by_numbers(one, other));
            Ok(all)
        }
    }
}

/// The versions in what `pip index versions` prints, which are the newest first.
fn listed_by_pip(lines: &[String]) -> Vec<String> {
    let list = lines.iter().find_map(|line| line.strip_prefix("Available versions: "));
    let newest_first = list.unwrap_or_default().split(", ").filter(|version| !version.is_empty());
    let mut all: Vec<String> = newest_first.map(str::to_owned).collect();
    all.reverse();
    all
}

/// The order of versions: part by part, and numbers by their value.
fn by_numbers(one: &str, other: &str) -> Ordering {
    let parts = |text: &str| -> Vec<(u64, String)> {
        let parts = text.split(['.', '-', '_', '+']);
        parts.map(|part| (part.parse().unwrap_or(0), part.to_owned())).collect()
    };
    parts(one).cmp(&parts(other))
}

/// All but its name, its folder and its version is that of the peer.
impl Peer for Versioned {
    fn name(&self) -> &'static str {
        self.name
    }

    fn version(&self) -> Option<&'static str> {
        Some(self.version)
    }

    fn summary(&self) -> &'static str {
        self.peer.summary()
    }

    fn ops(&self) -> &'static [&'static str] {
        self.peer.ops()
    }

    fn source(&self) -> Source {
        self.peer.source()
    }

    fn shelved_as(&self) -> &'static str {
        self.shelved_as
    }

    fn environment(&self) -> &'static [(&'static str, &'static str)] {
        self.peer.environment()
    }

    fn needs(&self) -> Needs {
        self.peer.needs()
    }

    fn opens_ms(&self) -> u32 {
        self.peer.opens_ms()
    }

    fn prepares_ms(&self) -> u32 {
        self.peer.prepares_ms()
    }

    fn supports(&self, case: &ExplicitCase) -> Result<(), Unsupported> {
        self.peer.supports(case)
    }

    fn contract(&self, case: &ExplicitCase) -> ErrorContract {
        self.peer.contract(case)
    }

    fn warm(&self, found: &Found) -> Result<bool, String> {
        self.peer.warm(found)
    }

    fn open(&self, found: &Found) -> Result<(), String> {
        self.peer.open(found)
    }

    fn load(
        &self,
        found: &Found,
        case: &ExplicitCase,
        signature: &Signature,
        threads: usize,
    ) -> Result<Ready, String> {
        self.peer.load(found, case, signature, threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{all, by_name, register};
    use std::fs;

    #[test]
    fn a_version_has_a_folder_of_its_own_and_all_else_of_its_peer() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = PeerShelf::new(folder.path());
        let peer = by_name(&shelf, "pytorch_compile@2.3.0").unwrap();
        let whole = by_name(&shelf, "pytorch_compile").unwrap();
        assert_eq!(peer.id().to_string(), "peer/pytorch_compile@2.3.0");
        assert_eq!((peer.version(), peer.shelved_as()), (Some("2.3.0"), "pytorch@2.3.0"));
        assert_eq!((peer.ops(), peer.needs()), (whole.ops(), whole.needs()));
        assert!(peer.system_names().is_empty(), "the system's library has a version of its own");
        assert!(by_name(&shelf, "no_such_peer@1").is_none());
    }

    #[test]
    fn versions_on_the_shelf_are_peers_beside_the_one_without() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = PeerShelf::new(folder.path().join("shelf"));
        let library = folder.path().join("libx.so");
        fs::write(&library, "").unwrap();
        for name in ["acme@1.10", "acme@1.9", "pytorch@2.3.0"] {
            register(&shelf, name, &library, false).unwrap();
        }
        let all = all(&shelf);
        let names: Vec<&str> = all[PEERS.len()..].iter().map(|peer| peer.name()).collect();
        assert_eq!(names, ["acme@1.10", "acme@1.9", "pytorch@2.3.0", "pytorch_compile@2.3.0"]);
        let tools = Tools { python: "python3".into(), as_it_is: false, unlocked: false };
        let listed = versions("acme", &shelf, &tools, &mut |_| {}).unwrap();
        assert_eq!(listed, ["1.9", "1.10"]);
        let error = versions("faer", &shelf, &tools, &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("--versions"), "{error}");
    }

    #[test]
    fn the_list_of_pip_is_turned_oldest_first() {
        let lines = ["x (3.1)", "Available versions: 3.1, 3.0, 2.9", "  INSTALLED: 3.0"];
        assert_eq!(listed_by_pip(&lines.map(str::to_owned)), ["2.9", "3.0", "3.1"]);
        assert!(listed_by_pip(&[]).is_empty());
    }
}
