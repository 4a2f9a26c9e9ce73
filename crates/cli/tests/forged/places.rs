//! Forged stores, build caches, libraries and programs.

use crate::place::{CACHE, Check, PEERS, PROOFMARK, Place, SLOW, STORE, WRONG, git};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

#[test]
fn forged_stores_caches_and_libraries_are_refused_before_anything_runs() {
    let place = Place::new();
    let base = Check::of(&["--base", "rev:main", "--new", "rev:."]);

    // A store with a slow program for the base, as an earlier version kept it.
    place.pull_request(SLOW, |it| it.write(".proofmark/builds/0-0.json", "{}"));
    let own = |check: Check| check.with(STORE, "repo/.proofmark");
    place.refused("a build in the store", &own(Check::head()), ".proofmark/builds/0-0.json");
    place.pull_request(SLOW, |it| it.write(".proofmark/proofs.json", "{}"));
    place.refused("proofs in the store", &own(base), ".proofmark/proofs.json");
    place.pull_request(SLOW, |it| it.write(".proofmark/baselines/main.json", "{}"));
    let kept = Check::of(&["--base", "baseline:main"]);
    place.refused("a baseline in the store", &own(kept), ".proofmark/baselines/main.json");
    // A link to a folder that is not tracked, and one that lies on the way.
    fs::create_dir_all(place.path("elsewhere")).unwrap();
    place.pull_request(SLOW, |it| {
        symlink(it.path("elsewhere"), it.repo().join(".proofmark")).unwrap();
    });
    place.refused("the store is a link", &own(Check::head()), "the store");
    place.pull_request(SLOW, |it| {
        symlink(it.path("elsewhere"), it.repo().join("way")).unwrap();
    });
    let by_link = Check::head().with(STORE, "repo/way/store");
    place.refused("a link on the way to the store", &by_link, "the file way");

    place.pull_request(SLOW, |it| {
        it.write("way/store/proofs.json", "{}");
        let inner = it.repo().join("way");
        git(&inner, &["init", "--quiet"]);
        git(&inner, &["add", "."]);
        git(&inner, &["commit", "--quiet", "-m", "store"]);
    });
    place.refused("a submodule on the way to the store", &by_link, "the file way");
    fs::remove_dir_all(place.repo().join("way")).unwrap();

    // The build cache: a tracked one, an ignored one, and one that a link leads to.
    place.pull_request(SLOW, |it| it.write("cache/builds/0-0.json", "{}"));
    let cached = Check::head().with(CACHE, "repo/cache");
    place.refused("a committed cache", &cached, "--build-cache");
    place.pull_request(SLOW, |_| ());
    let ignored = Check::head().with(CACHE, "repo/ignored");
    place.refused("a cache in the checkout", &ignored, "the build cache");
    symlink(place.repo().join("ignored"), place.path("link")).unwrap();
    fs::create_dir_all(place.repo().join("ignored")).unwrap();
    let linked = Check::head().with(CACHE, "link");
    place.refused("a link into the checkout", &linked, "the build cache");

    // Libraries of peers, and the program that judges.
    place.pull_request(SLOW, |it| it.write("peers/blas/libblas.so", "slow"));
    let peers = Check::head().with(PEERS, "repo/peers");
    place.refused("a committed library", &peers, "peers/blas/libblas.so");
    place.pull_request(SLOW, |it| it.write("bin/proofmark", "a program"));
    let program = place.repo().join("bin/proofmark");
    fs::remove_file(&program).unwrap();
    fs::hard_link(PROOFMARK, &program)
        .or_else(|_| fs::copy(PROOFMARK, &program).map(|_| ()))
        .unwrap();
    let own = Check { program: Some(program), ..Check::head() };
    place.refused("a committed proofmark", &own, "this program");

    // The bytes of a kept program are replaced.
    let save = ["baseline", "save", "main", "--from", "rev:main"];
    let output = Command::new(PROOFMARK)
        .args(save)
        .current_dir(place.repo())
        .env(STORE, place.path("store"))
        .env(CACHE, place.path("cache"))
        .env("PROOFMARK_UNDER_TEST", PROOFMARK)
        .env("PROOFMARK_ISOLATION", "t1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let programs = fs::read_dir(place.path("store/programs")).unwrap();
    for program in programs.map(|entry| entry.unwrap().path()) {
        fs::remove_file(&program).unwrap();
        fs::write(&program, "a slow program").unwrap();
    }
    let kept = Check::of(&["--base", "baseline:main", "--new", "native/simd"]);
    place.refused("a replaced program", &kept, "has changed since it was kept");
}

#[test]
fn a_cache_entry_is_used_only_for_the_build_that_it_names() {
    let place = Place::new();
    place.pull_request(WRONG, |_| ());
    let talk = || {
        let mut command = Command::new(PROOFMARK);
        command.args(["baseline", "save", "main", "--from", "rev:main"]).current_dir(place.repo());
        command.env(STORE, place.path("store")).env(CACHE, place.path("cache"));
        let output = command
            .env("PROOFMARK_UNDER_TEST", PROOFMARK)
            .env("PROOFMARK_ISOLATION", "t1")
            .output()
            .unwrap();
        let talk = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{talk}");
        talk
    };
    assert!(talk().contains("building rev:main"));
    assert!(!talk().contains("building rev:main"), "it is in the cache");
    let records = || fs::read_dir(place.path("cache/builds")).unwrap().map(|it| it.unwrap().path());
    let record = records().next().unwrap();
    let good = fs::read_to_string(&record).unwrap();
    let program: Value = serde_json::from_str(&good).unwrap();
    let program = place.path("cache/programs").join(program["sha256"].as_str().unwrap());
    for (from, to) in [
        ("\"--locked\"", "\"--offline\""),
        ("\"__worker\"", "\"__worker\", \"--plant\", \"slower=90\""),
        ("\"revision\": \"", "\"revision\": \"0"),
        ("native/simd", "native/scalar"),
        ("{", "no record"),
    ] {
        assert!(good.contains(from), "{from} in {good}");
        fs::write(&record, good.replacen(from, to, 1)).unwrap();
        assert!(talk().contains("building rev:main"), "{from} -> {to}");
        assert_eq!(fs::read_to_string(&record).unwrap(), good, "{from} -> {to}");
    }
    fs::remove_file(&program).unwrap();
    fs::write(&program, "another program").unwrap();
    assert!(talk().contains("building rev:main"), "the bytes are others");
    assert!(!talk().contains("building rev:main"), "and now they are right");
}
