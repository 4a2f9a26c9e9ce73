//! Commands that repeat a judgement.

use super::request::SubmissionRequest;
use proofmark_schema::proof::Proof;
use proofmark_schema::{Case, ContenderId, Isolation};
use std::fmt::Write;

/// The variable by which other commands find a submitted kernel.
const VARIABLE: &str = "PROOFMARK_SUBMISSION";

/// The judgement, the proof alone, and what a refusal says.
pub(super) fn commands(
    request: &SubmissionRequest,
    baseline: &ContenderId,
    shown: &[Case],
    level: Isolation,
    refusal: Option<&str>,
) -> Vec<String> {
    let op = request.entry.op.name();
    let file = request.file.display().to_string();
    let SubmissionRequest { held_out, threads, seed, .. } = request;
    let isolation = format!("--isolation {}", level.name().to_lowercase());
    let mut judge = format!(
        "proofmark judge {op} {} --seed {seed} --held-out {held_out} --threads {threads} --against \
         {baseline} {isolation}",
        quoted(&file)
    );
    for case in shown {
        let _ = write!(judge, " --case {}", quoted(&case.to_string()));
    }
    for (is_set, word) in [(request.quick, " --quick"), (request.as_declared, " --as-declared")] {
        judge.push_str(if is_set { word } else { "" });
    }
    let found = format!("{VARIABLE}={}", quoted(&format!("{op}={file}")));
    let dtype = shown.first().map_or_else(String::new, |case| format!(" --dtype {}", case.dtype));
    let who = request.kernel.id();
    let prove = format!(
        "{found} proofmark prove {op}{dtype} --with {who} --seed {seed} --threads {threads} \
         {isolation}"
    );
    let again = refusal.map(|command| format!("{found} {command} {isolation}"));
    [judge, prove].into_iter().chain(again).collect()
}

/// The command that examines a contender on a case again.
pub(super) fn repro(proof: &Proof) -> String {
    let Proof { case, contender, seed, threads, .. } = proof;
    format!("proofmark repro '{case}' --with {contender} --seed {seed} --threads {threads}")
}

/// A word as a shell reads it.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-/=".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_words_as_they_are() {
        assert_eq!(quoted("row_norm=a/fast.toml"), "row_norm=a/fast.toml");
        assert_eq!(quoted("softmax:f32[b=1]"), "'softmax:f32[b=1]'");
        assert_eq!(quoted("it's; rm -r"), r"'it'\''s; rm -r'");
        assert_eq!(quoted(""), "''");
    }
}
