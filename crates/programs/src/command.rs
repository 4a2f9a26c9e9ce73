//! A command: words as a shell splits them, and what surrounds the process.

use crate::output::Shown;
use std::path::{Path, PathBuf};

/// A program with its arguments and surroundings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Variables that are set in addition to those of this process.
    pub environment: Vec<(String, String)>,
    /// The folder that it runs in; that of this process if there is none.
    pub folder: Option<PathBuf>,
    /// The file that is its standard input; empty if there is none.
    pub input: Option<PathBuf>,
    /// What runs before each process, untimed.
    pub setup: Option<Vec<String>>,
    /// The exit code that means success.
    pub exit_code: i32,
    /// What shows its result.
    pub shown: Option<Shown>,
}

/// Why a text is no command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// A quote is not closed, or the text ends with a backslash.
    #[error("the quotes of `{0}` do not match; close each quote, as in `cmd:./run 'two words'`")]
    Quotes(String),
    /// There is no program.
    #[error("`{0}` names no program; write `cmd:PROGRAM ARGUMENTS`")]
    NoProgram(String),
    /// The text has what only a shell does.
    #[error(
        "`{0}` uses `{1}`, which only a shell understands; write `cmd:sh -c '…'` to start a shell"
    )]
    Shell(String, String),
}

/// Words that a shell does not pass to a program.
const OPERATORS: [&str; 8] = ["|", "||", "&&", ";", ">", ">>", "<", "&"];

impl Command {
    /// Reads a text as a shell splits it: quotes, backslashes, and `NAME=value` before the program.
    ///
    /// # Errors
    /// If the quotes do not match, there is no program, or a word is an operator of a shell.
    pub fn parse(text: &str) -> Result<Command, CommandError> {
        let mut words = split(text)?;
        let count = words.iter().take_while(|word| assignment(word).is_some()).count();
        let environment = words.drain(..count).filter_map(|word| assignment(&word)).collect();
        if words.is_empty() {
            return Err(CommandError::NoProgram(text.to_owned()));
        }
        Ok(Command { words, environment, ..Command::default() })
    }

    /// This command with a setup.
    ///
    /// # Errors
    /// If the text is no command.
    pub fn with_setup(mut self, text: &str) -> Result<Command, CommandError> {
        self.setup = Some(Command::parse(text)?.words);
        Ok(self)
    }

    /// A program without arguments.
    pub fn program(path: &Path) -> Command {
        Command { words: vec![path.to_string_lossy().into_owned()], ..Command::default() }
    }

    /// This command with further arguments.
    #[must_use]
    pub fn with_args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Command {
        self.words.extend(args.into_iter().map(Into::into));
        self
    }
}

fn split(text: &str) -> Result<Vec<String>, CommandError> {
    let words = shlex::split(text).ok_or_else(|| CommandError::Quotes(text.to_owned()))?;
    // A quoted operator is an ordinary argument.
    let is_bare = |word: &&str| OPERATORS.contains(word);
    match text.split_whitespace().find(is_bare) {
        Some(operator) if words.iter().any(|word| word == operator) => {
            Err(CommandError::Shell(text.to_owned(), operator.to_owned()))
        }
        _ => Ok(words),
    }
}

/// The name and value of `NAME=value`.
fn assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_name =
        name.starts_with(is_start) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| (name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        let command = Command::parse("A=1 B='x y' ./run --size 3 'two words' a\\ b C=2").unwrap();
        assert_eq!(command.words, ["./run", "--size", "3", "two words", "a b", "C=2"]);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(command.environment, [pair("A", "1"), pair("B", "x y")]);
    }

    #[test]
    fn a_text_that_needs_a_shell_or_names_no_program_is_told() {
        for (text, word) in [
            ("./run 'open", "quotes"),
            ("", "names no program"),
            ("A=1", "names no program"),
            ("./a | ./b", "sh -c"),
            ("./a > out", "sh -c"),
        ] {
            let said = Command::parse(text).unwrap_err().to_string();
            assert!(said.contains(word), "{text}: {said}");
        }
        assert!(Command::parse("grep '|' file").is_ok());
    }
}
