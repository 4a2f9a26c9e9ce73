//! A folder of a contest with submissions that a C compiler makes.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PROOFMARK: &str = env!("CARGO_BIN_EXE_proofmark");

/// The file of a submission; its names are those of the test.
const FILE: &str = r#"library = "NAME.so"
call = "int contest(const float *y, const float *dy, float *dx, size_t b, size_t s, size_t d, size_t y_stride, size_t dy_stride, size_t dx_stride)"
"#;

pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Compiles `softmax_grad.c` with these definitions and writes `NAME.toml`.
    pub(crate) fn submit(&self, name: &str, definitions: &str) {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/submission/softmax_grad.c");
        let library = self.path(&format!("{name}.so"));
        compile(&[source.to_str().unwrap()], definitions, &library);
        std::fs::write(self.path(&format!("{name}.toml")), FILE.replace("NAME", name)).unwrap();
    }

    /// Compiles a peer that misbehaves; its library is `libNAME.so`.
    pub(crate) fn plugin(&self, behaviour: &str) -> String {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let name = format!("lib{}.so", behaviour.to_lowercase());
        let header = format!("-I{}", crates.join("peers/plugins").display());
        let source = crates.join("cli/tests/peers/fake_peer.c").display().to_string();
        compile(&[&header, &source, "-pthread"], &format!("-D{behaviour}"), &self.path(&name));
        name
    }

    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(PROOFMARK);
        command.args(arguments).current_dir(self.0.path());
        command.env("PROOFMARK_PEERS", self.path("shelf"));
        command.output().expect("the program starts")
    }

    /// The exit code and what the program answers in JSON.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let output = self.output(&[arguments, &["--format", "json"]].concat());
        let talk = String::from_utf8_lossy(&output.stderr).into_owned();
        let answer = serde_json::from_slice(&output.stdout);
        (output.status.code().unwrap(), answer.unwrap_or_else(|error| panic!("{error}: {talk}")))
    }

    /// The exit code and the verdict on a submission to softmax_grad; JSON without asking for it.
    #[track_caller]
    pub(crate) fn judge(&self, file: &str, arguments: &[&str]) -> (i32, Value) {
        self.judge_op("softmax_grad", file, arguments)
    }

    #[track_caller]
    pub(crate) fn judge_op(&self, op: &str, file: &str, arguments: &[&str]) -> (i32, Value) {
        let output = self.output(&[&["judge", op, file], arguments].concat());
        let talk = String::from_utf8_lossy(&output.stderr).into_owned();
        let answer = serde_json::from_slice(&output.stdout);
        (output.status.code().unwrap(), answer.unwrap_or_else(|error| panic!("{error}: {talk}")))
    }

    /// The exit code and the message of a command that cannot be carried out.
    pub(crate) fn refused(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.output(arguments);
        assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// The exit code of a line that a verdict says to type.
    pub(crate) fn shell(&self, line: &str) -> i32 {
        let folder = Path::new(PROOFMARK).parent().unwrap().display();
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("PATH={folder}:$PATH; {line}")).current_dir(self.0.path());
        command.env("PROOFMARK_PEERS", self.path("shelf"));
        command.output().expect("a shell").status.code().unwrap()
    }
}

fn compile(arguments: &[&str], definitions: &str, library: &Path) {
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-Wall", "-Wextra", "-shared", "-fPIC"]);
    compiler.args(definitions.split_whitespace()).arg("-o").arg(library).args(arguments);
    assert!(compiler.status().expect("a C compiler").success());
}
