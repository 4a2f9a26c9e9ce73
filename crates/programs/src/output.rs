//! What a program shows of its result, and where two results differ.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where the result of a program is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Its standard output.
    Stdout,
    /// A file that it writes, relative to the folder that it runs in.
    File(PathBuf),
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shown::Stdout => f.write_str("stdout"),
            Shown::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}

impl FromStr for Shown {
    type Err = String;

    fn from_str(text: &str) -> Result<Shown, String> {
        match text.split_once(':') {
            None if text == "stdout" => Ok(Shown::Stdout),
            Some(("file", path)) if !path.is_empty() => Ok(Shown::File(path.into())),
            _ => Err(format!("`{text}` is neither `stdout` nor `file:PATH`")),
        }
    }
}

impl Shown {
    /// Removes the file of an earlier process, so that it is not taken for that of the next.
    pub(crate) fn forget(&self, folder: &Path) {
        if let Shown::File(path) = self {
            // A file that is not there is what is wanted.
            let _ = fs::remove_file(folder.join(path));
        }
    }

    /// What a process left.
    ///
    /// # Errors
    /// If there is no such file.
    pub(crate) fn read(&self, folder: &Path, stdout: &[u8]) -> Result<Vec<u8>, String> {
        match self {
            Shown::Stdout => Ok(stdout.to_vec()),
            Shown::File(path) => fs::read(folder.join(path))
                .map_err(|error| format!("it did not write `{}`: {error}", path.display())),
        }
    }
}

/// The longest part of a line that is shown.
const SHOWN_CHARS: usize = 60;

/// Where two outputs differ, in words; nothing if they are the same.
pub fn difference(base: &[u8], other: &[u8]) -> Option<String> {
    if base == other {
        return None;
    }
    let lines = |bytes: &[u8]| -> Vec<Vec<u8>> {
        bytes.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect()
    };
    let (first, second) = (lines(base), lines(other));
    let at = first.iter().zip(&second).position(|(a, b)| a != b);
    let at = at.unwrap_or(first.len().min(second.len()));
    let shown = |lines: &[Vec<u8>]| match lines.get(at) {
        None => "nothing".to_owned(),
        Some(line) => {
            let text: String = String::from_utf8_lossy(line).chars().take(SHOWN_CHARS).collect();
            format!("`{}`", text.escape_debug())
        }
    };
    Some(format!("line {}: {} became {}", at + 1, shown(&first), shown(&second)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_shown() {
        assert_eq!(difference(b"a\nb\n", b"a\nb\n"), None);
        assert_eq!(difference(b"a\nb\n", b"a\nc\n").unwrap(), "line 2: `b` became `c`");
        assert_eq!(difference(b"a\nb", b"a").unwrap(), "line 2: `b` became nothing");
        assert!(difference(b"\xff", b"\xfe").is_some());
    }

    #[test]
    fn places_parse_back() {
        for text in ["stdout", "file:out/result.txt"] {
            assert_eq!(text.parse::<Shown>().unwrap().to_string(), text);
        }
        assert!("file:".parse::<Shown>().is_err() && "out".parse::<Shown>().is_err());
    }
}
