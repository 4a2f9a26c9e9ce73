//! Where an interpreter has its library, its modules and its packages.

use crate::install::run;
use crate::{Found, InstallError, PythonHome};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// An interpreter by its path or name, with the packages that it has; the version is its own.
///
/// # Errors
/// If it cannot be started, or has no shared library.
pub fn interpreter(python: &Path) -> Result<Found, InstallError> {
    introduce(python, Path::new("."), None)
}

/// Asks an interpreter where its library and its packages are, and for the version of a package or
/// for its own.
pub(crate) fn introduce(
    python: &Path,
    folder: &Path,
    package: Option<&str>,
) -> Result<Found, InstallError> {
    let mut said = String::new();
    let mut args = ["-c", INTRODUCE].map(OsStr::new).to_vec();
    args.extend(package.map(OsStr::new));
    let instead = "name a Python with --python";
    run(python, &args, folder, instead, &mut |line| said = line.to_owned())?;
    let no_interpreter = || InstallError::NoInterpreter { said: said.clone() };
    let about: serde_json::Value = serde_json::from_str(&said).map_err(|_| no_interpreter())?;
    let path = |name: &str| about[name].as_str().map(PathBuf::from);
    let library = path("library").filter(|library| library.is_file()).ok_or_else(no_interpreter)?;
    let folders = about["packages"].as_array().into_iter().flatten();
    let python = PythonHome {
        prefix: path("prefix").ok_or_else(no_interpreter)?,
        packages: folders.filter_map(|folder| folder.as_str().map(PathBuf::from)).collect(),
    };
    Ok(Found {
        version: about["version"].as_str().map(str::to_owned),
        place: None,
        library,
        lock: None,
        python: Some(python),
        has_jit: false,
        files: Vec::new(),
    })
}

/// What an interpreter is asked about itself: one line of JSON.
const INTRODUCE: &str = r#"
import sys, json, sysconfig, site, os, re
from importlib import metadata
get = sysconfig.get_config_var
names = [get("INSTSONAME"), get("LDLIBRARY"), "libpython%d.%d.so.1.0" % sys.version_info[:2]]
folders = [get("LIBDIR"), os.path.join(sys.base_prefix, "lib"), get("LIBPL") or ""]
folders += ["/usr/lib/x86_64-linux-gnu", "/usr/lib64"]
places = [os.path.join(folder, name) for folder in folders for name in names if name and folder]
library = next((p for p in places if ".so" in p and os.path.isfile(p)), None)
version = "%d.%d.%d" % sys.version_info[:3]
if len(sys.argv) > 1:
    package = re.split(r"[<>=!\[ ]", sys.argv[1])[0]
    try:
        version = metadata.version(package)
    except metadata.PackageNotFoundError:
        sys.exit("package %s is not installed in %s" % (package, sys.executable))
print(json.dumps({"library": library, "prefix": sys.base_prefix, "version": version,
                  "packages": site.getsitepackages()}))
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_says_where_it_is() {
        let found = interpreter(Path::new("python3")).unwrap_or_else(|error| panic!("{error}"));
        assert!(found.version.is_some_and(|version| version.starts_with("3.")));
        assert!(found.library.is_file());
        let home = found.python.unwrap();
        assert!(home.prefix.join("lib").is_dir() && !home.packages.is_empty());
    }

    #[test]
    fn a_package_that_is_not_there_is_named() {
        let missing = introduce(Path::new("python3"), Path::new("."), Some("no-such-package>=1"));
        let said = missing.unwrap_err().to_string();
        assert!(said.contains("package no-such-package is not installed"), "{said}");
    }
}
