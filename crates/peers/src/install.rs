//! Getting a peer onto the shelf, and off it again.

use crate::python::home;
use crate::{Found, Peer, PeerShelf, Shelved, Source};
use proofmark_schema::Lock;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Why a peer could not be put on the shelf.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// A program that is needed is missing.
    #[error("`{program}` cannot be started ({error}): install it, or {instead}")]
    NoProgram {
        /// The program.
        program: String,
        /// What the system says.
        error: io::Error,
        /// What else would do.
        instead: String,
    },
    /// A program failed.
    #[error("`{command}` failed: {words}")]
    Failed {
        /// What was run.
        command: String,
        /// Its last words.
        words: String,
    },
    /// What the lock names cannot be installed.
    #[error(
        "what the lock names could not be installed. Locks are made for {LOCKED_FOR}; name such an \
         interpreter with --python, or install the newest versions without checking hashes with \
         --unlocked. If a hash does not match, what was downloaded is not what was locked. {error}"
    )]
    Lock {
        /// What the installer said.
        error: Box<InstallError>,
    },
    /// What was installed does not hold the library.
    #[error("no file `{library}*` in what was installed: another version than this program knows?")]
    NoLibrary {
        /// How the file's name begins.
        library: String,
    },
    /// The interpreter has no shared library.
    #[error(
        "this Python has no shared library ({said}): install its package (`libpython3-dev` on \
         Debian) or name another interpreter with --python"
    )]
    NoInterpreter {
        /// What it said of itself.
        said: String,
    },
    /// Another version was installed than was asked for.
    #[error("version {installed} is there, not {asked}: leave out --as-it-is to install {asked}")]
    OtherVersion {
        /// What was asked for.
        asked: String,
        /// What is there.
        installed: String,
    },
    /// The registry's client cannot list versions.
    #[error("its versions cannot be listed: name them, oldest first, with --versions")]
    NoList,
    /// Only the system's packages have it.
    #[error("it comes with the system's packages only: install `{0}`, then it is found by itself")]
    System(&'static str),
    /// Only its owner has it.
    #[error("it is a library of your own: register the new one with --from")]
    Registered,
    /// The shelf cannot be written.
    #[error("{what}: {error}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system says.
        error: io::Error,
    },
}

/// Where a peer's programs are to come from.
#[derive(Clone, Debug)]
pub struct Tools {
    /// The Python that installs wheels and makes virtual environments.
    pub python: PathBuf,
    /// Use that interpreter with the packages it has, and install nothing.
    pub as_it_is: bool,
    /// Install the newest versions, and check no hash.
    pub unlocked: bool,
}

impl Tools {
    fn lock(&self) -> Lock {
        if self.unlocked || self.as_it_is { Lock::Unlocked } else { Lock::Locked }
    }
}

/// What an installer is asked for: packages in the version of a peer, or with a lock.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    /// The first is the peer itself.
    packages: &'a [&'a str],
    lock: &'a str,
    /// The version of the first package. A lock has other versions, so that none is used.
    version: Option<&'a str>,
}

impl Wanted<'_> {
    /// The packages as an installer takes them, with this between name and version.
    fn requirements(&self, is: &str) -> Vec<String> {
        let mut all: Vec<String> = self.packages.iter().map(|&package| package.into()).collect();
        if let (Some(version), Some(first)) = (self.version, all.first_mut()) {
            *first = format!("{first}{is}{version}");
        }
        all
    }
}

/// What the hashes of locks are for.
const LOCKED_FOR: &str = "Python 3.11 to 3.13 on Linux x86-64";

/// How packages are installed.
const PIP: [&str; 5] =
    ["-m", "pip", "install", "--disable-pip-version-check", "--root-user-action=ignore"];

/// Receives the lines that installers print.
pub type Hear<'a> = &'a mut dyn FnMut(&str);

/// Puts a peer on the shelf, in place of what is there of it.
///
/// # Errors
/// What is missing or failed, with what to do about it.
pub fn add(
    peer: &dyn Peer,
    shelf: &PeerShelf,
    tools: &Tools,
    hear: Hear<'_>,
) -> Result<Shelved, InstallError> {
    let name = peer.shelved_as();
    let place = || fresh_place(shelf, name);
    let version = peer.version();
    let tools = &Tools { unlocked: tools.unlocked || version.is_some(), ..tools.clone() };
    let shelved = match peer.source() {
        Source::Wheels { packages, lock, library } => {
            wheels(&place()?, tools, Wanted { packages, lock, version }, library, hear)
        }
        Source::Npm { package, lock, library } => {
            npm(&place()?, tools, Wanted { packages: &[package], lock, version }, library, hear)
        }
        Source::Python { packages, lock } => {
            environment(&place()?, tools, Wanted { packages, lock, version }, hear)
        }
        Source::Crate { files, feature } => build(&place()?, files, version, feature, hear),
        Source::System { debian } => return Err(InstallError::System(debian)),
        Source::Registered => return Err(InstallError::Registered),
    };
    let shelved = shelved.and_then(|shelved| is_asked_for(version, shelved)).inspect_err(|_| {
        // A half-made folder is of no use, and the error already gives the reason.
        let _ = shelf.clear(name);
    })?;
    shelf.write(name, &shelved).map_err(|error| failed("writing its note", error))?;
    Ok(shelved)
}

/// Checks the version of what was installed. A build may have a local name behind it (`2.3.0+cpu`).
fn is_asked_for(version: Option<&str>, shelved: Shelved) -> Result<Shelved, InstallError> {
    let public = shelved.version.split('+').next().unwrap_or_default();
    match version {
        Some(asked) if asked != shelved.version && asked != public => {
            Err(InstallError::OtherVersion { asked: asked.to_owned(), installed: shelved.version })
        }
        _ => Ok(shelved),
    }
}

/// Makes an empty folder for a peer. Its path is absolute, for programs that run elsewhere.
fn fresh_place(shelf: &PeerShelf, name: &str) -> Result<PathBuf, InstallError> {
    shelf.clear(name).map_err(|error| failed("clearing the place", error))?;
    let place = shelf.place(name);
    fs::create_dir_all(&place).map_err(|error| failed("making a folder", error))?;
    fs::canonicalize(&place).map_err(|error| failed("finding the folder", error))
}

/// Puts a library that is somewhere on the machine on the shelf under a name.
///
/// # Errors
/// If it is not there or the shelf cannot be written.
pub fn register(
    shelf: &PeerShelf,
    name: &str,
    library: &Path,
    has_jit: bool,
) -> Result<Shelved, InstallError> {
    let library = fs::canonicalize(library)
        .map_err(|error| failed(&format!("finding {}", library.display()), error))?;
    let version = "as registered".to_owned();
    let shelved = Shelved { version, library, lock: None, python: None, has_jit };
    shelf.write(name, &shelved).map_err(|error| failed("writing its note", error))?;
    Ok(shelved)
}

/// Puts back what was registered before, or nothing if nothing was.
///
/// # Errors
/// If its note cannot be written or removed.
pub fn restore(shelf: &PeerShelf, name: &str, was: Option<&Shelved>) -> Result<(), InstallError> {
    match was {
        Some(shelved) => {
            shelf.write(name, shelved).map_err(|error| failed("writing its note", error))
        }
        None => remove(shelf, name).map(drop),
    }
}

/// Takes a peer off the shelf; whether it was there.
///
/// # Errors
/// If its files cannot be removed.
pub fn remove(shelf: &PeerShelf, name: &str) -> Result<bool, InstallError> {
    shelf.clear(name).map_err(|error| failed("removing its files", error))
}

/// Lets `pip` install packages: those of the lock and no others, or the newest.
fn pip(
    python: &Path,
    place: &Path,
    more: &[&OsStr],
    wanted: Wanted<'_>,
    tools: &Tools,
    hear: Hear<'_>,
) -> Result<(), InstallError> {
    let (file, requirements) = (place.join("requirements.txt"), wanted.requirements("=="));
    let mut args = PIP.map(OsStr::new).to_vec();
    args.extend(more);
    match tools.lock() {
        Lock::Locked => {
            fs::write(&file, wanted.lock).map_err(|error| failed("writing the lock", error))?;
            args.extend(["--require-hashes", "--only-binary", ":all:", "-r"].map(OsStr::new));
            args.push(file.as_os_str());
        }
        Lock::Unlocked => {
            if wanted.version.is_some() {
                // A version without a binary would be compiled from source, for an hour or in vain.
                args.extend(["--only-binary", ":all:"].map(OsStr::new));
            }
            args.extend(requirements.iter().map(OsStr::new));
        }
    }
    let ran = run(python, &args, place, "name a Python with --python", hear);
    ran.map_err(|error| by_lock(tools, error))
}

/// A failed installation, with what can be done about a lock if there was one.
fn by_lock(tools: &Tools, error: InstallError) -> InstallError {
    match (tools.lock(), error) {
        (Lock::Locked, error @ InstallError::Failed { .. }) => {
            InstallError::Lock { error: Box::new(error) }
        }
        (_, error) => error,
    }
}

fn wheels(
    place: &Path,
    tools: &Tools,
    wanted: Wanted<'_>,
    library: &str,
    hear: Hear<'_>,
) -> Result<Shelved, InstallError> {
    let into = place.join("wheels");
    // A prefix and not a target: only a prefix gets files outside of packages, such as MKL's.
    let mut args = ["--no-deps", "--ignore-installed", "--prefix"].map(OsStr::new).to_vec();
    args.push(into.as_os_str());
    pip(&tools.python, place, &args, wanted, tools, hear)?;
    let version = wheel_version(&into, wanted.packages[0]);
    let library = library_in(&into, library)?;
    Ok(Shelved { version, library, lock: Some(tools.lock()), python: None, has_jit: false })
}

fn npm(
    place: &Path,
    tools: &Tools,
    wanted: Wanted<'_>,
    library: &str,
    hear: Hear<'_>,
) -> Result<Shelved, InstallError> {
    let mut args =
        ["--no-audit", "--no-fund", "--ignore-scripts", "--prefix"].map(OsStr::new).to_vec();
    args.push(place.as_os_str());
    let requirements = wanted.requirements("@");
    match tools.lock() {
        Lock::Locked => {
            let write = |name: &str, text: &str| {
                fs::write(place.join(name), text).map_err(|error| failed("writing the lock", error))
            };
            write("package.json", &manifest_of(wanted.lock))?;
            write("package-lock.json", wanted.lock)?;
            args.insert(0, OsStr::new("ci"));
        }
        Lock::Unlocked => {
            args.insert(0, OsStr::new("install"));
            args.extend(requirements.iter().map(OsStr::new));
        }
    }
    let ran = run(Path::new("npm"), &args, place, "register a library with --from", hear);
    ran.map_err(|error| by_lock(tools, error))?;
    let folder = place.join("node_modules").join(wanted.packages[0]);
    let about = fs::read(folder.join("package.json")).unwrap_or_default();
    let about: serde_json::Value = serde_json::from_slice(&about).unwrap_or_default();
    let version = about["version"].as_str().unwrap_or("unknown").to_owned();
    let library = library_in(&folder, library)?;
    Ok(Shelved { version, library, lock: Some(tools.lock()), python: None, has_jit: false })
}

/// The manifest that an npm lock is of: it has the same dependencies.
fn manifest_of(lock: &str) -> String {
    let lock: serde_json::Value = serde_json::from_str(lock).unwrap_or_default();
    serde_json::json!({ "dependencies": lock["packages"][""]["dependencies"] }).to_string()
}

fn environment(
    place: &Path,
    tools: &Tools,
    wanted: Wanted<'_>,
    hear: Hear<'_>,
) -> Result<Shelved, InstallError> {
    let instead = "name a Python with --python";
    let mut python = tools.python.clone();
    if !tools.as_it_is {
        let venv = place.join("venv");
        let args = ["-m", "venv"].map(OsStr::new);
        run(&python, &[args[0], args[1], venv.as_os_str()], place, instead, hear)?;
        python = venv.join("bin/python");
        pip(&python, place, &[], wanted, tools, hear)?;
    }
    let found = home::introduce(&python, place, Some(wanted.packages[0]))?;
    let Found { version, library, python, .. } = found;
    let version = version.unwrap_or("unknown".to_owned());
    Ok(Shelved { version, library, lock: Some(tools.lock()), python, has_jit: false })
}

fn build(
    place: &Path,
    files: &[(&str, &str)],
    version: Option<&str>,
    feature: &str,
    hear: Hear<'_>,
) -> Result<Shelved, InstallError> {
    let source = place.join("source");
    let file = |name: &str| files.iter().find(|(path, _)| *path == name).map_or("", |it| it.1);
    let (manifest, lock) = (file("Cargo.toml"), file("Cargo.lock"));
    for (path, text) in files {
        let text = match (*path, version) {
            ("Cargo.lock", Some(_)) => continue,
            ("Cargo.toml", Some(version)) => in_version(manifest, lock, version),
            _ => (*text).to_owned(),
        };
        let path = source.join(path);
        let folder = path.parent().unwrap_or(&source);
        fs::create_dir_all(folder).map_err(|error| failed("making a folder", error))?;
        fs::write(&path, text).map_err(|error| failed("writing sources", error))?;
    }
    let mut args = vec!["build", "--release", "--target-dir", "target", "--features", feature];
    if version.is_none() {
        args.push("--locked");
    }
    let args: Vec<&OsStr> = args.into_iter().map(OsStr::new).collect();
    run(Path::new("cargo"), &args, &source, "install Rust", hear)?;
    let target = source.join("target");
    let built = library_in(&target.join("release"), "lib")?;
    let library = place.join("libpeer.so");
    fs::copy(&built, &library).map_err(|error| failed("keeping the plug-in", error))?;
    fs::remove_dir_all(&target).map_err(|error| failed("clearing up", error))?;
    let text = fs::read_to_string(source.join("Cargo.lock"));
    let text = text.map_err(|error| failed("reading the lock", error))?;
    let found = locked_version(manifest, &text);
    // Cargo checks the hashes in its lock file, and no flag of ours leaves it out.
    let lock = if version.is_some() { Lock::Unlocked } else { Lock::Locked };
    Ok(Shelved { version: found, library, lock: Some(lock), python: None, has_jit: false })
}

/// A manifest with another version of its first dependency, and of those that have the same one.
fn in_version(manifest: &str, lock: &str, version: &str) -> String {
    let stated = format!("\"={}\"", locked_version(manifest, lock));
    manifest.replace(&stated, &format!("\"={version}\""))
}

/// The version that a lock file gives the first dependency of a manifest.
pub(crate) fn locked_version(manifest: &str, lock: &str) -> String {
    let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or("");
    let first =
        dependencies.lines().find_map(|line| line.split_once(" =")).map_or("", |pair| pair.0);
    let package = lock
        .split("[[package]]")
        .find(|text| text.lines().any(|line| line == format!("name = \"{first}\"")));
    let version = package.and_then(|text| text.lines().find_map(|l| l.strip_prefix("version = ")));
    version.map_or("unknown", |version| version.trim_matches('"')).to_owned()
}

/// The version that `pip` wrote down for a package.
fn wheel_version(folder: &Path, package: &str) -> String {
    let plain = |text: &str| text.to_lowercase().replace(['-', '.'], "_");
    let name = package.split(['=', '<', '>', '!', '[']).next().unwrap_or(package);
    let of_package = |folder: &Path| {
        let info = folder.file_name()?.to_str()?.strip_suffix(".dist-info")?;
        let (of, version) = info.rsplit_once('-')?;
        (plain(of) == plain(name)).then(|| version.to_owned())
    };
    let mut folders = below(folder).into_iter().filter(|path| path.is_dir());
    folders.find_map(|folder| of_package(&folder)).unwrap_or("unknown".to_owned())
}

/// Everything below a folder.
pub(crate) fn below(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path.clone());
            }
            all.push(path);
        }
    }
    all
}

/// The shared library whose name has this beginning, anywhere below a folder.
fn library_in(folder: &Path, beginning: &str) -> Result<PathBuf, InstallError> {
    let is_meant = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path.is_file() && name.starts_with(beginning) && name.contains(".so")
    };
    let mut found: Vec<PathBuf> = below(folder).into_iter().filter(is_meant).collect();
    found.sort_unstable_by_key(|path| (path.components().count(), path.clone()));
    found.into_iter().next().ok_or(InstallError::NoLibrary { library: beginning.to_owned() })
}

/// Runs a program and passes on what it prints, line by line.
#[expect(clippy::disallowed_methods, reason = "this is the place that runs installers")]
pub(crate) fn run(
    program: &Path,
    args: &[&OsStr],
    folder: &Path,
    instead: &str,
    hear: Hear<'_>,
) -> Result<(), InstallError> {
    let (mut output, printed) = io::pipe().map_err(|error| failed("making a pipe", error))?;
    let again = printed.try_clone().map_err(|error| failed("making a pipe", error))?;
    let mut command = Command::new(program);
    command.args(args).current_dir(folder).stdin(Stdio::null()).stdout(printed).stderr(again);
    let mut child = command.spawn().map_err(|error| InstallError::NoProgram {
        program: program.display().to_string(),
        error,
        instead: instead.to_owned(),
    })?;
    // The command holds our copies of the pipe's end, which would keep it open.
    drop(command);
    let mut last = Vec::new();
    for line in BufReader::new(&mut output).lines().map_while(Result::ok) {
        hear(&line);
        last.push(line);
        if last.len() > 5 {
            last.remove(0);
        }
    }
    let status = child.wait().map_err(|error| failed("waiting for an installer", error))?;
    if status.success() {
        return Ok(());
    }
    let args: Vec<String> =
        args.iter().take(3).map(|arg| arg.to_string_lossy().into_owned()).collect();
    let command = format!("{} {} …", program.display(), args.join(" "));
    Err(InstallError::Failed { command, words: last.join("\n") })
}

fn failed(what: &str, error: io::Error) -> InstallError {
    InstallError::Io { what: what.to_owned(), error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_lock_files_and_wheels() {
        let manifest = "[package]\nname = \"x\"\n\n[dependencies]\ngemm = \"0.19\"\n";
        let lock = "[[package]]\nname = \"a\"\nversion = \"9\"\n\n[[package]]\nname = \"gemm\"\n\
                    version = \"0.19.2\"\n";
        assert_eq!(locked_version(manifest, lock), "0.19.2");
        let exact = "[dependencies]\ngemm = \"=0.19.2\"\nhalf = \"2\"\n";
        assert_eq!(
            in_version(exact, lock, "0.18.0"),
            "[dependencies]\ngemm = \"=0.18.0\"\nhalf = \"2\"\n"
        );
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("scipy_openblas64-0.3.34.237.2.dist-info")).unwrap();
        assert_eq!(wheel_version(folder.path(), "scipy-openblas64"), "0.3.34.237.2");
        assert_eq!(wheel_version(folder.path(), "mkl"), "unknown");
    }

    #[test]
    fn every_lock_names_what_is_asked_for_with_its_version_and_hash() {
        let plain = |text: &str| text.to_lowercase().replace(['_', '.'], "-");
        for peer in crate::PEERS {
            let (packages, lock) = match peer.source() {
                Source::Wheels { packages, lock, .. } | Source::Python { packages, lock } => {
                    (packages, lock)
                }
                Source::Npm { package, lock, .. } => {
                    let parsed: serde_json::Value = serde_json::from_str(lock).unwrap();
                    let locked = &parsed["packages"][&format!("node_modules/{package}")];
                    assert!(locked["integrity"].as_str().unwrap().starts_with("sha512-"));
                    let version = locked["version"].as_str().unwrap();
                    let manifest = serde_json::json!({ "dependencies": { package: version } });
                    assert_eq!(manifest_of(lock), manifest.to_string());
                    continue;
                }
                _ => continue,
            };
            let joined = lock.replace(" \\\n", "");
            let lines: Vec<&str> = joined.lines().filter(|line| !line.starts_with('#')).collect();
            for package in packages {
                let is_it = |line: &&&str| {
                    line.split_once("==").is_some_and(|(name, _)| plain(name) == plain(package))
                };
                assert!(lines.iter().any(|line| is_it(&line)), "{}: no {package}", peer.name());
            }
            for line in lines {
                let words: Vec<&str> = line.split_whitespace().collect();
                let hashes = &words[1..];
                let is_hash = |word: &&str| word.len() == "--hash=sha256:".len() + 64;
                assert!(words[0].contains("=="), "{}: {line}", peer.name());
                assert!(!hashes.is_empty() && hashes.iter().all(is_hash), "{line}");
            }
        }
    }

    #[test]
    fn every_crate_can_be_built_in_another_version() {
        for peer in crate::PEERS {
            let Source::Crate { files, .. } = peer.source() else { continue };
            let file = |name: &str| files.iter().find(|(path, _)| *path == name).unwrap().1;
            let other = in_version(file("Cargo.toml"), file("Cargo.lock"), "0.0.1");
            assert!(other.contains("\"=0.0.1\""), "{}", peer.name());
        }
    }

    #[test]
    fn a_version_is_that_of_the_first_package() {
        let wanted = Wanted { packages: &["jax", "jaxlib"], lock: "", version: Some("0.4.1") };
        assert_eq!(wanted.requirements("=="), ["jax==0.4.1", "jaxlib"]);
        assert_eq!(Wanted { version: None, ..wanted }.requirements("=="), ["jax", "jaxlib"]);
        let shelved = |version: &str| Shelved {
            version: version.to_owned(),
            library: PathBuf::new(),
            lock: None,
            python: None,
            has_jit: false,
        };
        assert!(is_asked_for(Some("2.3.0"), shelved("2.3.0+cpu")).is_ok());
        let other = is_asked_for(Some("2.3.0"), shelved("2.3.1")).unwrap_err().to_string();
        assert!(other.contains("2.3.1 is there, not 2.3.0"), "{other}");
    }

    #[test]
    fn a_program_that_fails_is_quoted() {
        let mut heard = Vec::new();
        let args = ["-c", "echo one; echo two >&2; exit 3"].map(OsStr::new);
        let here = Path::new("/");
        let ended = run(Path::new("sh"), &args, here, "", &mut |line| heard.push(line.to_owned()));
        assert_eq!(heard, ["one", "two"]);
        assert!(ended.unwrap_err().to_string().ends_with("failed: one\ntwo"));
        let ended = run(Path::new("no-such-program"), &[], here, "do without", &mut |_| {});
        assert!(ended.unwrap_err().to_string().ends_with("or do without"));
    }
}
