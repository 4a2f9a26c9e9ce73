//! The typed pages: every command of them is run, and what it prints is recorded there.
//!
//! Each block of kind `console` in a page is one command and its output. A comment before the
//! block says what else is expected: `<!-- typed: exit 0 or 5, 30 lines -->`. A block with the
//! comment `<!-- file: PATH -->` before it is written to that file. A command that begins with
//! `export` holds for the commands after it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Failure, check, own};

const PAGES: &[Page] = &[
    Page { path: "docs/tutorial.md", has_pytorch: false },
    Page { path: "docs/a-kernel-in-c.md", has_pytorch: false },
    Page { path: "docs/kernels-in-rust.md", has_pytorch: false },
    Page { path: "docs/a-kernel-in-python.md", has_pytorch: false },
    Page { path: "docs/a-kernelbench-answer.md", has_pytorch: true },
];

/// A page whose commands are typed.
struct Page {
    path: &'static str,
    /// Whether its reader has added the peer PyTorch.
    has_pytorch: bool,
}

const FENCE: &str = "```console";
const END: &str = "```";
const PROMPT: &str = "$ ";
const OPEN: &str = "<!-- typed:";
const FILE: &str = "<!-- file:";
const CLOSE: &str = "-->";
const EXPORT: &str = "export ";

/// Columns of the recorded terminal, and lines of one output where the page does not say.
const COLUMNS: usize = 100;
const LINES: usize = 40;

/// What the page expects of a command.
#[derive(Debug, PartialEq, Eq)]
struct Expected {
    /// Exit codes, any of which will do.
    codes: Vec<i32>,
    /// Lines of the output that are shown.
    lines: usize,
}

/// What was printed, and the exit code.
struct Said {
    text: String,
    code: Option<i32>,
}

/// Where a page is typed, and by what.
trait Typist {
    /// Runs a command.
    fn run(&mut self, line: &str) -> Result<Said, Failure>;

    /// Writes a file of the page.
    fn write(&mut self, path: &str, text: &str) -> Result<(), Failure>;
}

/// Types every command of the pages, or of one page, and records the outputs.
pub(crate) fn write(root: &Path, only: Option<&str>) -> Result<(), Failure> {
    let pages: Vec<&Page> =
        PAGES.iter().filter(|page| only.is_none_or(|path| path == page.path)).collect();
    if pages.is_empty() {
        let known: Vec<&str> = PAGES.iter().map(|page| page.path).collect();
        return Err(format!("no such typed page; there are: {}", known.join(", ")));
    }
    for page in pages {
        let text = type_all(root, page)?;
        let path = page.path;
        std::fs::write(root.join(path), text).map_err(|error| format!("{path}: {error}"))?;
        println!("{path} is written");
    }
    Ok(())
}

/// Types every command of the pages and fails if one ends otherwise than its page says. Outputs may
/// differ: they hold times, and answers that depend on the machine.
pub(crate) fn check(root: &Path) -> Result<(), Failure> {
    PAGES.iter().try_for_each(|page| type_all(root, page).map(drop))
}

fn type_all(root: &Path, page: &Page) -> Result<String, Failure> {
    // Commands run in another folder.
    let root = &root.canonicalize().map_err(|error| error.to_string())?;
    let Page { path, has_pytorch } = page;
    let text = std::fs::read_to_string(root.join(path));
    let text = text.map_err(|error| format!("{path}: {error}"))?;
    let program = check::program(root)?;
    let programs = program.parent().unwrap_or(root);
    let peers = match has_pytorch {
        true => root.join(own::PEERS),
        false => programs.join("tutorial-peers"),
    };
    if *has_pytorch {
        check::add_peer(&peers, &program, "pytorch")?;
    }
    // Outside the repository: a crate inside would be taken for a member of its workspace.
    let desk = std::env::temp_dir().join(format!("proofmark-typed-{}", std::process::id()));
    let mut person = Person::at(root, &desk, programs, peers)?;
    let made = retyped(&text, &mut person).map_err(|error| format!("{path}: {error}"));
    // What is left there costs disk and nothing else.
    let _ = std::fs::remove_dir_all(&desk);
    made
}

/// The page with every output replaced by what the typist gets for the command.
fn retyped(page: &str, typist: &mut dyn Typist) -> Result<String, Failure> {
    let mut made = String::new();
    let mut expected = Expected::parse("")?;
    let mut lines = page.lines();
    let mut count = 0;
    while let Some(line) = lines.next() {
        made += &format!("{line}\n");
        if let Some(rest) = line.strip_prefix(OPEN) {
            expected = Expected::parse(rest.trim_end_matches(CLOSE).trim())?;
        }
        if let Some(path) = line.strip_prefix(FILE) {
            made += &format!("{}\n", lines.next().unwrap_or_default());
            let mut text = String::new();
            loop {
                let next = lines.next().ok_or("a file does not end")?;
                made += &format!("{next}\n");
                if next == END {
                    break;
                }
                text += &format!("{next}\n");
            }
            typist.write(path.trim_end_matches(CLOSE).trim(), &text)?;
        }
        if line != FENCE {
            continue;
        }
        let first = lines.next().unwrap_or_default();
        let mut command =
            first.strip_prefix(PROMPT).ok_or("a console block begins without `$ `")?.to_owned();
        made += &format!("{first}\n");
        while command.ends_with('\\') {
            let next = lines.next().ok_or("a command does not end")?;
            made += &format!("{next}\n");
            // The backslash stays: the shell joins the lines by it.
            command = format!("{command}\n{next}");
        }
        if !lines.by_ref().any(|line| line == END) {
            return Err(format!("the block of `{command}` does not end"));
        }
        let said = typist.run(&command)?;
        if !said.code.is_some_and(|code| expected.codes.contains(&code)) {
            let Expected { codes, .. } = &expected;
            return Err(format!(
                "`{command}` ended with {:?}, and the page expects {codes:?}:\n{}",
                said.code, said.text
            ));
        }
        made += &cut(&said.text, expected.lines);
        made += &format!("{END}\n");
        expected = Expected::parse("")?;
        count += 1;
    }
    match count {
        0 => Err("there is no command in it".to_owned()),
        count => {
            println!("{count} commands ended as the page says");
            Ok(made)
        }
    }
}

impl Expected {
    /// Reads `exit 0 or 5, 30 lines`; each part may be missing.
    fn parse(words: &str) -> Result<Self, Failure> {
        let mut expected = Expected { codes: vec![0], lines: LINES };
        let unknown = || format!("`{words}`: write `exit 0 or 5, 30 lines`");
        for part in words.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            if let Some(codes) = part.strip_prefix("exit ") {
                let codes: Result<Vec<i32>, _> = codes.split(" or ").map(str::parse).collect();
                expected.codes = codes.map_err(|_| unknown())?;
            } else {
                let lines = part.strip_suffix(" lines").and_then(|lines| lines.parse().ok());
                expected.lines = lines.ok_or_else(unknown)?;
            }
        }
        Ok(expected)
    }
}

/// The first lines of a text, without blanks at their ends.
fn cut(text: &str, most: usize) -> String {
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    if lines.len() > most {
        lines.truncate(most);
        lines.push("…");
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Runs commands as a reader of the page would.
struct Person<'a> {
    /// Where the programs of this project are.
    programs: &'a Path,
    /// The reader's folder. A checkout of the project is beside it.
    folder: PathBuf,
    peers: PathBuf,
    /// The commands so far that export a variable.
    exports: String,
}

impl Person<'_> {
    fn at<'a>(
        root: &Path,
        desk: &Path,
        programs: &'a Path,
        peers: PathBuf,
    ) -> Result<Person<'a>, Failure> {
        let folder = desk.join("mine");
        let made = std::fs::create_dir_all(&folder);
        let made = made.and_then(|()| std::os::unix::fs::symlink(root, desk.join("proofmark")));
        made.map_err(|error| format!("{}: {error}", desk.display()))?;
        Ok(Person { programs, folder, peers, exports: String::new() })
    }
}

impl Typist for Person<'_> {
    /// A reader sees data and messages together, in order.
    fn run(&mut self, line: &str) -> Result<Said, Failure> {
        println!("$ {line}");
        // Beside the folder, so that a listing of it shows what a reader sees.
        let log = self.folder.with_extension("log");
        let both = File::create(&log).and_then(|file| Ok((file.try_clone()?, file)));
        let (out, talk) = both.map_err(|error| format!("{}: {error}", log.display()))?;
        let path = std::env::var("PATH").unwrap_or_default();
        let status = Command::new("sh")
            .args(["-c", &format!("{}{line}", self.exports)])
            .current_dir(&self.folder)
            .env("PATH", format!("{}:{path}", self.programs.display()))
            .env("COLUMNS", COLUMNS.to_string())
            .env("PROOFMARK_PEERS", &self.peers)
            .env_remove("PROOFMARK_STORE")
            .env_remove("CARGO_TARGET_DIR")
            .stdout(out)
            .stderr(talk)
            .status()
            .map_err(|error| format!("sh: {error}"))?;
        if line.starts_with(EXPORT) {
            self.exports += &format!("{line}\n");
        }
        let text = std::fs::read_to_string(&log).map_err(|error| format!("{error}"))?;
        Ok(Said { text, code: status.code() })
    }

    fn write(&mut self, path: &str, text: &str) -> Result<(), Failure> {
        let path = self.folder.join(path);
        let written = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let written = written.and_then(|()| std::fs::write(&path, text));
        written.map_err(|error| format!("{}: {error}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "# T\n\nSay it.\n\n```console\n$ one\nold\n```\n\n<!-- typed: exit 0 or 5, \
                          2 lines -->\n```console\n$ two \\\n  more\n```\n\n```text\n$ kept\n```\n";

    /// A typist with exit codes to give, and the files that it was told to write.
    struct Script {
        codes: Vec<i32>,
        files: Vec<(String, String)>,
    }

    impl Script {
        fn of(codes: &[i32]) -> Script {
            Script { codes: codes.iter().rev().copied().collect(), files: Vec::new() }
        }
    }

    impl Typist for Script {
        fn run(&mut self, line: &str) -> Result<Said, Failure> {
            let text = format!("{}\nb\nc\n", line.replace('\n', "+"));
            Ok(Said { text, code: self.codes.pop() })
        }

        fn write(&mut self, path: &str, text: &str) -> Result<(), Failure> {
            self.files.push((path.to_owned(), text.to_owned()));
            Ok(())
        }
    }

    fn made(codes: &[i32]) -> Result<String, Failure> {
        retyped(SOURCE, &mut Script::of(codes))
    }

    #[test]
    fn files_of_a_page_are_written_and_stay_in_it() {
        let page = "<!-- file: a/b.c -->\n```c\nint a;\n\nint b;\n```\n\n```console\n$ one\n```\n";
        let mut script = Script::of(&[0]);
        let made = retyped(page, &mut script).unwrap();
        assert!(made.starts_with("<!-- file: a/b.c -->\n```c\nint a;\n\nint b;\n```\n"), "{made}");
        assert_eq!(script.files, [("a/b.c".to_owned(), "int a;\n\nint b;\n".to_owned())]);
        assert!(retyped("<!-- file: a -->\n```c\nint a;\n", &mut Script::of(&[])).is_err());
    }

    #[test]
    fn only_outputs_are_replaced() {
        let expected = "# T\n\nSay it.\n\n```console\n$ one\none\nb\nc\n```\n\n<!-- typed: exit 0 or 5, \
                        2 lines -->\n```console\n$ two \\\n  more\ntwo \\+  more\nb\n…\n```\n\n\
                        ```text\n$ kept\n```\n";
        assert_eq!(made(&[0, 5]).as_deref(), Ok(expected));
    }

    #[test]
    fn a_command_that_ends_otherwise_is_refused() {
        assert!(made(&[0, 0]).is_ok());
        assert!(made(&[1, 0]).is_err(), "0 unless the page says otherwise");
        assert!(made(&[0, 1]).is_err(), "neither of the two");
        assert!(made(&[5, 5]).is_err(), "what is said of one block holds for no other");
    }

    #[test]
    fn a_page_without_commands_or_with_a_broken_one_is_refused() {
        let run = |page: &str| retyped(page, &mut Script::of(&[0]));
        assert!(run("# T\n").is_err());
        assert!(run("```console\nno prompt\n```\n").is_err());
        assert!(run("```console\n$ open\n").is_err());
        assert!(run("<!-- typed: exits 3 -->\n```console\n$ a\n```\n").is_err());
    }
}
