//! A session with the program in a folder of its own, written down as a transcript.

use crate::mask::{Held, mask};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Columns of a usual terminal.
pub(crate) const WIDE: u16 = 100;
/// Columns of a narrow one.
pub(crate) const NARROW: u16 = 60;
/// Columns on which every table has all its columns, however wide its numbers are.
pub(crate) const WIDEST: u16 = 240;

/// A folder, and what was said in it so far.
pub(crate) struct Session {
    folder: TempDir,
    transcript: String,
}

impl Session {
    /// A session in an empty folder.
    pub(crate) fn new() -> Session {
        Session { folder: tempfile::tempdir().unwrap(), transcript: String::new() }
    }

    /// A session in a folder whose store has the stored runs of `golden`.
    pub(crate) fn with_runs() -> Session {
        let session = Session::new();
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/golden");
        copy(&golden, &session.folder.path().join(".proofmark"));
        session
    }

    /// Writes a file that a command reads.
    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    /// Runs the program with the words of a command line on a terminal of this width, and writes
    /// down the line, both outputs and the exit code. Words with blanks stand in single quotes.
    pub(crate) fn run(&mut self, columns: u16, held: Held, line: &str) {
        let text = self.output(columns, held, line);
        if !self.transcript.is_empty() {
            self.transcript.push('\n');
        }
        self.transcript += format!("$ proofmark {line}").trim_end();
        if columns != WIDE {
            self.transcript += &format!("    # {columns} columns");
        }
        self.transcript.push('\n');
        self.transcript += &text;
    }

    /// The same command at both widths.
    pub(crate) fn run_at_both_widths(&mut self, held: Held, line: &str) {
        self.run(WIDE, held, line);
        self.run(NARROW, held, line);
    }

    /// What the program says, masked, and its exit code.
    #[expect(clippy::disallowed_methods, reason = "a test starts the program")]
    pub(crate) fn output(&self, columns: u16, held: Held, line: &str) -> String {
        let folder = self.folder.path();
        let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
        // The environment is empty but for what makes outputs alike: no peers, and the one path
        // that every processor has.
        command.env_clear().env("HOME", folder).env("PROOFMARK_PEERS", folder.join("peers"));
        command.env("PATH", "/usr/bin:/bin").env("PROOFMARK_ISA", "scalar").env("NO_COLOR", "1");
        command.env("COLUMNS", columns.to_string()).args(words(line)).current_dir(folder);
        let output = command.stdin(Stdio::null()).output().expect("the program starts");
        let text = |bytes: &[u8]| mask(&String::from_utf8_lossy(bytes), folder, held);
        let (out, talk) = (text(&output.stdout), text(&output.stderr));
        let talk = if talk.is_empty() { talk } else { format!("--- stderr\n{talk}") };
        let code = output.status.code().map_or("none".to_owned(), |code| code.to_string());
        format!("{out}{talk}--- exit code {code}\n")
    }

    /// Compares the transcript with the snapshot of this name.
    pub(crate) fn hold(self, name: &str) {
        hold(name, &self.transcript);
    }
}

/// Compares a text with the snapshot of this name, in `outputs`.
pub(crate) fn hold(name: &str, text: &str) {
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path("outputs");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// The words of a line; blanks inside single quotes do not separate.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut is_quoted = false;
    for letter in line.chars() {
        match letter {
            '\'' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            ' ' if !is_quoted => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target);
        } else {
            fs::copy(&source, &target).unwrap();
        }
    }
}

#[test]
fn a_line_falls_into_words_at_blanks_outside_quotes() {
    assert_eq!(
        words("bench add  --sweep 'b=1 s=2' ''"),
        ["bench", "add", "--sweep", "b=1 s=2", ""]
    );
}
