//! Honest changes, most of which edit what judges them.

use crate::place::{CACHE, Check, GOOD, PROOFMARK, Place, RULES, SLOW, STORE, WORKFLOW, git};
use std::fs;
use std::process::Command;

#[test]
fn honest_changes_pass_and_their_edits_are_shown() {
    type Edits = fn(&Place);
    let honest: &[(&str, Edits, &[&str])] = &[
        ("nothing", |_| (), &[]),
        ("a comment in the code", |it| it.append("src/main.rs", "// A word.\n"), &[]),
        ("a comment in the rules", |it| it.append("proofmark.toml", "# A word.\n"), &[]),
        ("a stricter limit", |it| it.rules("slower = 60", "slower = 50"), &["policy.slower"]),
        ("a looser limit", |it| it.rules("slower = 60", "slower = 70"), &["policy.slower"]),
        ("a looser target", |it| it.rules("max = 0", "max = 1"), &["target"]),
        (
            "one more target",
            |it| it.append("proofmark.toml", "[[target]]\nmetric = \"gflops\"\nmin = 1e-6\n"),
            &["target"],
        ),
        (
            "an entry",
            |it| {
                let entry = "[[accept]]\ncase = \"mul:*\"\nup_to = 9\nreason = \"checks\"\n\
                             date = 2026-01-01\n";
                it.append("proofmark.toml", entry);
            },
            &["accept"],
        ),
        (
            "one more case",
            |it| it.rules("cases = [", "cases = [\"mul:f32[b=1,s=1,d=8]\", "),
            &["check.cases"],
        ),
        (
            "the workflow alone",
            |it| it.edit(WORKFLOW, "proofmark check", "proofmark check --quiet"),
            &[WORKFLOW],
        ),
        (
            "the workflow with code",
            |it| {
                it.edit(WORKFLOW, "proofmark check", "proofmark check --quiet");
                it.append("src/main.rs", "// A word.\n");
            },
            &[WORKFLOW],
        ),
        (
            "a workflow of something else",
            |it| it.write(".github/workflows/docs.yml", "name: docs\njobs: {}\n"),
            &[],
        ),
        ("rules of another folder", |it| it.write("other/proofmark.toml", "[check]\n"), &[]),
    ];
    let place = Place::new();
    for (name, edits, shown) in honest {
        place.pull_request(GOOD, edits);
        place.passes(name, &Check::head(), shown);
    }

    // The store in the checkout, where git ignores it; the working tree with a file of its own.
    place.pull_request(GOOD, |_| ());
    let usual = Check::of(&["--base", "rev:main"]).with(STORE, "repo/.proofmark");
    place.passes("a store that git ignores", &usual, &[]);
    place.append("src/main.rs", "// Not committed.\n");
    place.rules("slower = 60", "slower = 61");
    place.passes("the working tree", &Check::of(&["--base", "rev:main"]), &["policy.slower"]);
    // The base that the file names.
    place.passes("the base of the file", &Check::of(&[]), &["policy.slower"]);

    // The head was built elsewhere, as the workflow does it.
    place.pull_request(GOOD, |it| it.rules("slower = 60", "slower = 62"));
    let mut save = Check::of(&[]);
    save.arguments = vec!["baseline", "save", "head", "--from", "rev:HEAD"];
    let mut command = Command::new(PROOFMARK);
    command.args(&save.arguments).current_dir(place.repo()).env(STORE, place.path("store"));
    command
        .env(CACHE, place.path("head"))
        .env("PROOFMARK_UNDER_TEST", PROOFMARK)
        .env("PROOFMARK_ISOLATION", "t1");
    assert!(command.output().unwrap().status.success());
    let handed = Check::of(&["--base", "rev:HEAD^1", "--new", "baseline:head"]);
    place.passes("a head that was built elsewhere", &handed, &["policy.slower"]);

    // A slower change, whose entry landed first or that a maintainer judges by a file of their own.
    place.pull_request(SLOW, |_| ());
    fs::write(place.path("own.toml"), RULES.replace("slower = 60", "slower = 900")).unwrap();
    let mut own = Check::head();
    own.arguments.extend(["--config", "../own.toml", "--repo", "."]);
    place.passes("a maintainer's own file", &own, &[]);
    place.pull_request(GOOD, |it| {
        let entry = "[[accept]]\ncase = \"add:*\"\nup_to = 900\nreason = \"safer\"\n\
                     date = 2026-01-01\n";
        it.append("proofmark.toml", entry);
    });
    git(&place.repo(), &["branch", "--force", "main", "change"]);
    place.pull_request(SLOW, |_| ());
    place.passes("an entry that landed first", &Check::head(), &[]);

    // The first rules of a repository are those of the change.
    git(&place.repo(), &["rm", "--quiet", "proofmark.toml"]);
    place.code(GOOD);
    git(&place.repo(), &["commit", "--quiet", "-am", "no rules"]);
    git(&place.repo(), &["branch", "--force", "main", "change"]);
    place.pull_request(GOOD, |it| it.write("proofmark.toml", RULES));
    place.passes("the first rules", &Check::head(), &["the file of rules"]);
}
