//! Where the lines of a stripped program are: in a file of their own, found by the rules of gdb.
//!
//! The rules are those of the section "Debugging Information in Separate Files" of gdb's manual:
//! first by build id in the system's folder, then by the name that the program links to.

use object::Object;
use std::path::{Path, PathBuf};

/// Where distributions keep debug information.
const SYSTEM: &str = "/usr/lib/debug";

/// The file with the debug information of a program or library, if that is not in the file itself.
///
/// A file counts only if it has the same build id: lines of another build would be wrong.
pub(super) fn find(path: &Path, object: &object::File<'_>) -> Option<PathBuf> {
    if object.has_debug_symbols() {
        return None;
    }
    let id = object.build_id().ok()??;
    let system = Path::new(SYSTEM);
    let (first, rest) = id.split_first()?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut places = vec![system.join(format!(".build-id/{first:02x}/{rest}.debug"))];
    if let Ok(Some((name, _))) = object.gnu_debuglink() {
        let name = std::str::from_utf8(name).ok()?;
        let folder = path.parent()?;
        let below = system.join(folder.strip_prefix("/").unwrap_or(folder));
        places.extend([folder.join(name), folder.join(".debug").join(name), below.join(name)]);
    }
    places.into_iter().find(|place| has_id(place, id))
}

fn has_id(path: &Path, id: &[u8]) -> bool {
    let Ok(data) = std::fs::read(path) else { return false };
    let object = object::File::parse(&*data);
    object.is_ok_and(|object| object.build_id() == Ok(Some(id)) && object.has_debug_symbols())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn found(path: &Path) -> Option<PathBuf> {
        let data = std::fs::read(path).unwrap();
        find(path, &object::File::parse(&*data).unwrap())
    }

    #[expect(clippy::disallowed_methods, reason = "a test takes this program's symbols off")]
    fn objcopy(options: &[&str], from: &Path, to: &Path) {
        let status = Command::new("objcopy").args(options).arg(from).arg(to).status();
        assert!(status.expect("binutils are installed").success());
    }

    /// The next test also starts this one, in a program whose symbols are in another file or
    /// missing.
    #[test]
    fn a_backtrace_names_this_file() {
        let backtrace = std::backtrace::Backtrace::force_capture().to_string();
        assert!(backtrace.contains("debug_file.rs"), "{backtrace}");
    }

    #[expect(clippy::disallowed_methods, reason = "a test starts this program without symbols")]
    fn has_lines_in_backtraces(program: &Path) -> bool {
        let name = "profile::debug_file::tests::a_backtrace_names_this_file";
        let output = Command::new(program).args(["--exact", name]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("running 1 test"), "{text}");
        output.status.success()
    }

    #[test]
    fn symbols_are_found_beside_the_program_if_they_are_of_its_build() {
        let folder = tempfile::tempdir().unwrap();
        let this = std::env::current_exe().unwrap();
        assert_eq!(found(&this), None, "it has its own");
        let (program, symbols) = (folder.path().join("program"), folder.path().join("it.debug"));
        objcopy(&["--only-keep-debug"], &this, &symbols);
        let link = format!("--add-gnu-debuglink={}", symbols.display());
        objcopy(&["--strip-debug", &link], &this, &program);
        assert_eq!(found(&program), Some(symbols.clone()));
        assert!(has_lines_in_backtraces(&program), "the standard library finds them too");

        let below = folder.path().join(".debug");
        std::fs::create_dir(&below).unwrap();
        std::fs::rename(&symbols, below.join("it.debug")).unwrap();
        assert_eq!(found(&program), Some(below.join("it.debug")));

        let mut other = std::fs::read(below.join("it.debug")).unwrap();
        let id = {
            let object = object::File::parse(&*other).unwrap();
            object.build_id().unwrap().expect("the linker writes build ids").to_vec()
        };
        let at = other.windows(id.len()).position(|bytes| bytes == id).unwrap();
        other[at] ^= 1;
        std::fs::write(below.join("it.debug"), other).unwrap();
        assert_eq!(found(&program), None, "the file is of another build");
        std::fs::remove_dir_all(&below).unwrap();
        assert!(!has_lines_in_backtraces(&program), "there is no file to find");
    }
}
