//! The text of a file that the user wrote, and errors with the line that they are about.

use crate::suggest::nearest;
use proofmark_schema::DType;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// Why a file that the user wrote cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {reason}{}", path.display(), at_line(*line), meant(nearest.as_deref()))]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1; 0 is the whole file.
    pub line: usize,
    /// Why.
    pub reason: String,
    /// A key near to one that is not known.
    pub nearest: Option<String>,
}

impl FileError {
    /// An error about a whole file.
    pub(crate) fn whole(path: &Path, reason: impl Into<String>) -> FileError {
        let path = path.to_owned();
        FileError { path, line: 0, reason: reason.into(), nearest: None }
    }
}

fn at_line(line: usize) -> String {
    if line == 0 { String::new() } else { format!(" line {line}") }
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"))
}

/// A text with the path that it came from.
pub struct Page<'a> {
    /// The text.
    pub text: &'a str,
    /// The file.
    pub path: &'a Path,
}

impl Page<'_> {
    /// Reads the text as TOML.
    ///
    /// # Errors
    /// If it is no TOML, or has a key that is not known.
    pub fn read<T: serde::de::DeserializeOwned>(&self) -> Result<T, FileError> {
        toml::from_str(self.text).map_err(|error| self.unreadable(&error))
    }

    /// An error about a place in the text.
    pub fn bad(&self, span: Range<usize>, reason: impl Into<String>) -> FileError {
        self.error(self.line(span.start), reason.into(), None)
    }

    /// The element types of a list.
    pub(crate) fn dtypes(
        &self,
        names: Option<&[Spanned<String>]>,
    ) -> Result<Option<Vec<DType>>, FileError> {
        let dtype = |name: &Spanned<String>| {
            let parsed = name.get_ref().parse::<DType>();
            parsed.map_err(|unknown| self.bad(name.span(), unknown.to_string()))
        };
        names.map(|names| names.iter().map(dtype).collect()).transpose()
    }

    /// The line of a place in the text, from 1.
    pub fn line(&self, at: usize) -> usize {
        1 + self.text[..at.min(self.text.len())].matches('\n').count()
    }

    fn error(&self, line: usize, reason: String, nearest: Option<&str>) -> FileError {
        let (path, nearest) = (self.path.to_owned(), nearest.map(str::to_owned));
        FileError { path, line, reason, nearest }
    }

    /// What TOML or its types refuse; of an unknown key the nearest known one.
    fn unreadable(&self, error: &toml::de::Error) -> FileError {
        let said = error.message();
        let line = error.span().map_or(0, |span| self.line(span.start));
        // "unknown field `libary`, expected one of `library`, `call`": each between backticks.
        let words: Vec<&str> = said.split('`').skip(1).step_by(2).collect();
        if let ([unknown, known @ ..], true) = (&words[..], said.starts_with("unknown field")) {
            let reason = format!("there is no key `{unknown}`; there are {}", known.join(", "));
            return self.error(line, reason, nearest(unknown, known));
        }
        if said.starts_with("missing field") {
            let reason = format!("`{}` is missing", words.first().unwrap_or(&"a key"));
            return self.error(line, reason, None);
        }
        self.error(line, said.trim_end().replace('\n', ", "), None)
    }
}
