//! Data to stdout, talk to stderr.

use crate::exit;
use clap::ValueEnum;
use proofmark_engine::EngineError;
use proofmark_report::{Document, Style};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};

/// The path that stands for standard output.
pub(crate) const STDOUT: &str = "-";

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people.
    Table,
    /// A table for a pull request.
    Markdown,
    /// One JSON document.
    Json,
    /// One JSON record a line.
    Jsonl,
    /// One row a record, for a spreadsheet.
    Csv,
    /// A page of its own, with plots.
    Html,
    /// The plots as one picture.
    Svg,
}

impl Format {
    /// The renderer's name.
    fn name(self) -> &'static str {
        match self {
            Format::Table => "term",
            Format::Markdown => "markdown",
            Format::Json => "json",
            Format::Jsonl => "jsonl",
            Format::Csv => "csv",
            Format::Html => "html",
            Format::Svg => "svg",
        }
    }
}

/// Why a command ended early, and with which code.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What happened.
    pub(crate) message: String,
    /// What to do next.
    pub(crate) hint: Option<String>,
    /// The exit code.
    pub(crate) code: u8,
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Failure {
        let code = error.severity().map_or(exit::USAGE, exit::of_decision);
        Failure { message: error.to_string(), hint: error.hint(), code }
    }
}

impl Failure {
    /// Something the machine did not let us do.
    pub(crate) fn environment(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), hint: None, code: exit::ENVIRONMENT }
    }
}

/// Writes the message of a failure.
pub(crate) fn say_failure(failure: &Failure) {
    say(&format!("error: {}", failure.message));
    if let Some(hint) = &failure.hint {
        say(&format!("hint: {hint}"));
    }
}

/// A count with its noun.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Writes a line of talk.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Writes data. A reader that closes the pipe early (`| head`) is not an error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    match out.write_all(text.as_bytes()).and_then(|()| out.write_all(newline.as_bytes())) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::environment(format!("cannot write the result: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a document in the form asked for.
pub(crate) fn print_document(format: Format, document: &Document) -> Result<(), Failure> {
    print(&rendered(format, document))
}

/// A document in the form asked for.
pub(crate) fn rendered(format: Format, document: &Document) -> String {
    let renderer = proofmark_report::find(format.name()).expect("every format has a renderer");
    (renderer.render)(document, &style())
}

/// The width, colour and letters that stdout supports.
fn style() -> Style {
    let is_terminal = std::io::stdout().is_terminal();
    let no_color = env("NO_COLOR").is_some_and(|value| !value.is_empty());
    let columns = env("COLUMNS").and_then(|text| text.parse().ok());
    let width = columns.or_else(|| is_terminal.then(terminal_width).flatten());
    let width = width.unwrap_or(if is_terminal { 80 } else { 160 });
    Style { width, colour: is_terminal && !no_color, sparklines: is_terminal && is_utf8() }
}

/// Whether the terminal is said to show letters beyond ASCII, by the first variable that is set.
fn is_utf8() -> bool {
    let is_set = |name: &str| env(name).filter(|value| !value.is_empty());
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| is_set(name)).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// The width of the terminal on stdout, if it tells.
fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// All variables of the environment: read here and nowhere below.
pub(crate) fn all_env() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// A variable of the environment: read here and nowhere below.
#[expect(clippy::disallowed_methods, reason = "the command line is where the environment is read")]
pub(crate) fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
