//! Forged rules, entries, cases and workflows.

use crate::place::{ALLOCATES, Check, Code, GOOD, HEAVY, Place, SLOW, WORKFLOW, WRONG, git};
use std::fs;

#[test]
fn forged_rules_and_workflows_are_refused_together_with_the_code_that_needs_them() {
    type Edits = fn(&Place);
    let forgeries: &[(&str, Code, Edits, &str)] = &[
        // The base.
        ("the base is the change itself", WRONG, |it| it.rules("rev:main", "rev:HEAD"), "baseline"),
        // The policy.
        ("a limit of time", SLOW, |it| it.rules("slower = 60", "slower = 900"), "policy.slower"),
        ("a limit of memory", HEAVY, |it| it.rules("memory = 20", "memory = 9e4"), "policy.mem"),
        (
            "allocations are allowed",
            ALLOCATES,
            |it| it.rules("memory = 20", "memory = 20\nallocations = false"),
            "policy.allocations",
        ),
        ("a target is raised", WRONG, |it| it.rules("max = 0", "max = 9"), "\"target\""),
        (
            "a target is removed",
            ALLOCATES,
            |it| it.rules("[[target]]\nmetric = \"allocations\"\nmax = 0\n", ""),
            "\"target\"",
        ),
        ("a tag is renamed", WRONG, |it| it.rules("\"critical\"\n", "\"quiet\"\n"), "\"tag\""),
        ("another case", WRONG, |it| it.rules("\"add:f32[b", "\"mul:f32[b"), "check.cases"),
        ("no time to decide", WRONG, |it| it.rules("seconds = 20", "seconds = 0.001"), "seconds"),
        (
            "the rules are removed",
            WRONG,
            |it| fs::remove_file(it.repo().join("proofmark.toml")).unwrap(),
            "the file of rules",
        ),
        // Accepted changes.
        (
            "an entry for itself",
            SLOW,
            |it| {
                let entry = "[[accept]]\ncase = \"add:*\"\nup_to = 900\nreason = \"it is\"\n\
                             date = 2026-01-01\n";
                it.append("proofmark.toml", entry);
            },
            "\"accept\"",
        ),
        ("an entry for all", SLOW, |it| it.rules("case = \"softmax:*\"", "case = \"*\""), "accept"),
        ("an expired entry", WRONG, |it| it.rules("expires = 2026", "expires = 2096"), "accept"),
        // The workflow.
        (
            "the workflow forgives",
            WRONG,
            |it| it.edit(WORKFLOW, "proofmark check", "proofmark check || true"),
            WORKFLOW,
        ),
        (
            "the workflow is removed",
            WRONG,
            |it| fs::remove_file(it.repo().join(WORKFLOW)).unwrap(),
            WORKFLOW,
        ),
        (
            "another workflow of the name",
            WRONG,
            |it| it.write(".github/workflows/fake.yml", "name: proofmark\njobs: {}\n"),
            ".github/workflows/fake.yml",
        ),
        (
            "the script names another base",
            WRONG,
            |it| it.edit("ci/proofmark-check.sh", "--base main", "--base HEAD"),
            "ci/proofmark-check.sh",
        ),
    ];
    let place = Place::new();
    for (name, code, edits, word) in forgeries {
        place.pull_request(*code, edits);
        place.refused(name, &Check::head(), word);
    }

    // A nearer file than that of the base, for a check that starts in a folder.
    place.pull_request(WRONG, |it| it.write("src/proofmark.toml", "[check]\nsuite = \"smoke\"\n"));
    let from_src = Check { from: "src", ..Check::head() };
    place.refused("a nearer file", &from_src, "src/proofmark.toml");

    // The base names a file of cases, or a sweep: the change edits the file, or adds one that is
    // called like the sweep.
    place.pull_request(GOOD, |it| {
        it.rules("cases = [\"add:f32[b=1,s=1,d=1024]\"]", "suite = \"cases.txt\"");
        it.write("cases.txt", "include more.txt\n");
        it.write("more.txt", "add:f32 b=1 s=1 d=1024\n");
    });
    git(&place.repo(), &["branch", "--force", "file", "change"]);
    let other = "mul:f32 b=1 s=1 d=8\n";
    let on_file = || Check::of(&["--base", "rev:file", "--new", "rev:HEAD"]);
    git(&place.repo(), &["checkout", "--quiet", "-B", "edits", "file"]);
    place.code(WRONG);
    place.write("cases.txt", other);
    git(&place.repo(), &["commit", "--quiet", "-am", "edits"]);
    place.refused("another file of cases", &on_file(), "cases.txt");
    git(&place.repo(), &["checkout", "--quiet", "-B", "edits", "file"]);
    place.code(WRONG);
    place.write("more.txt", other);
    git(&place.repo(), &["commit", "--quiet", "-am", "edits"]);
    let (code, out, talk) = place.run(&on_file());
    assert_eq!(code, 3, "the included file is that of the base:\n{out}\n{talk}");

    // The merge base is old, and its rules are looser than those of the branch now.
    place.pull_request(SLOW, |it| it.rules("slower = 60", "slower = 900"));
    git(&place.repo(), &["branch", "--force", "old", "HEAD"]);
    git(&place.repo(), &["checkout", "--quiet", "--force", "-B", "newer", "old"]);
    place.code(WRONG);
    git(&place.repo(), &["commit", "--quiet", "-am", "wrong"]);
    let now = Check::of(&["--base", "rev:old", "--new", "rev:HEAD", "--rules", "main"]);
    let (code, out, talk) = place.run(&now);
    assert_eq!(code, 3, "{out}\n{talk}");
    assert!(out.contains("proofmark.toml of rev:main"), "{out}");
}
