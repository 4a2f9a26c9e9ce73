//! No file names a folder that exists on one machine only.

use super::{SourceFile, Violation, numbered};

/// First folders of absolute paths that belong to a person or a build machine.
const FIRST_FOLDERS: &[&str] = &["work", "root", "home"];

pub(super) fn check(file: &SourceFile) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (number, line) in numbered(&file.text) {
        for folder in FIRST_FOLDERS {
            let path = format!("/{folder}/");
            if line.match_indices(&path).any(|(at, _)| is_absolute(&line[..at])) {
                let hint = "write the path relative to the repository, or take it as an argument";
                let message = format!("the path `{path}` is of one machine");
                violations.push(Violation::new(&file.path, number, message, hint));
            }
        }
    }
    violations
}

/// Whether a path that follows `before` begins there, and is not the tail of a longer one.
fn is_absolute(before: &str) -> bool {
    !before.ends_with(|letter: char| letter.is_alphanumeric() || "_-.~/}>)*".contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(text: &str) -> bool {
        !check(&SourceFile::new("docs/GUIDE.md", text)).is_empty()
    }

    #[test]
    fn refuses_an_absolute_path_of_one_machine() {
        for folder in FIRST_FOLDERS {
            assert!(is_refused(&format!("cd /{folder}/proofmark\n")));
            assert!(is_refused(&format!("path = \"/{folder}/x\"\n")));
        }
    }

    #[test]
    fn accepts_the_tail_of_a_longer_path() {
        assert!(!is_refused("cd ~/work/proofmark\n"));
        assert!(!is_refused("see https://host.example/home/page\n"));
        assert!(!is_refused("ls $HOME/work/ target/root/\n"));
        assert!(!is_refused("/proc/self/maps\n"));
    }
}
