//! What a host or an author is told who made a mistake: what it is, and what to do.

use crate::place::Place;
use crate::{QUICK, T2};
use std::fs;

#[test]
fn paths_names_and_keys_that_there_are_not_are_told_with_what_to_do() {
    let place = Place::new();
    place.submit("right", "");
    fs::write(place.path("typo.toml"), "libary = \"right.so\"\ncall = \"int contest()\"\n")
        .unwrap();
    fs::write(
        place.path("no_library.toml"),
        "library = \"x.so\"\ncall = \"int contest(float *y)\"\n",
    )
    .unwrap();
    fs::write(place.path("notes.txt"), "").unwrap();
    let against = ["judge", "softmax_grad", "right.toml", "--against", "native/simdd"];
    for (line, code, parts) in [
        (
            &["judge", "softmax_grad", "slow.toml"][..],
            2,
            &["slow.toml", "there is no such file"][..],
        ),
        (&["judge", "softmax_grad", "."], 2, &["it is a folder", ".toml, .py or .so"]),
        (&["judge", "softmax_grad", "notes.txt"], 2, &["a .toml or a .py file"]),
        (
            &["judge", "softmax_grad", "typo.toml"],
            2,
            &["typo.toml line 1", "did you mean `library`?"],
        ),
        (&["judge", "softmax_grad", "no_library.toml"], 6, &["x.so: build it first"]),
        (&["judge", "softmax_gard", "right.toml"], 2, &["did you mean `softmax_grad`?"]),
        (&against, 2, &["did you mean `native/simd`?"]),
        (
            &["judge", "softmax_grad", "right.toml", "--case", "add:f32[b=1,s=1,d=8]"],
            2,
            &["no case of"],
        ),
        (&["judge", "softmax_grad", "right.toml", "--dtype", "i8"], 2, &["element type i8"]),
        (&["judge", "softmax_grad", "right.toml", "--held-out", "x"], 2, &["--held-out"]),
    ] {
        let (got, told) = place.refused(line);
        assert_eq!(got, code, "{line:?}: {told}");
        for part in parts {
            assert!(told.contains(part), "{line:?}: {part} in\n{told}");
        }
    }
}

#[test]
fn a_submission_does_not_choose_its_own_terms_or_another_library() {
    let place = Place::new();
    place.submit("right", "");
    let text = fs::read_to_string(place.path("right.toml")).unwrap();
    let lax = format!("{text}[promises]\nfinite_only = true\n");
    fs::write(place.path("lax.toml"), lax).unwrap();
    let (code, told) = place.refused(&["judge", "softmax_grad", "lax.toml"]);
    assert_eq!(code, 2, "{told}");
    assert!(told.contains("`finite_only`") && told.contains("--as-declared"), "{told}");
    let allowed = [&QUICK[..], &["--held-out", "0", "--as-declared"], &T2].concat();
    let (code, verdict) = place.judge("lax.toml", &allowed);
    assert!(matches!(code, 0 | 5), "{verdict:#}");
    assert_eq!(verdict["submission"]["contract"]["finite_only"], true, "{verdict:#}");

    fs::create_dir(place.path("mine")).unwrap();
    let stolen = text.replace("right.so", "../right.so");
    fs::write(place.path("mine/stolen.toml"), stolen).unwrap();
    std::os::unix::fs::symlink("../right.so", place.path("mine/linked.so")).unwrap();
    fs::write(place.path("mine/linked.toml"), text.replace("right.so", "linked.so")).unwrap();
    for file in ["mine/stolen.toml", "mine/linked.toml"] {
        let (code, told) = place.refused(&["judge", "softmax_grad", file]);
        assert!(code == 2 && told.contains("not below its folder"), "{code}: {told}");
    }
}

#[test]
fn the_build_command_of_a_submission_runs_only_where_that_is_allowed() {
    let place = Place::new();
    place.submit("right", "");
    let text = fs::read_to_string(place.path("right.toml")).unwrap();
    let built = text.replace("right.so", "made.so")
        + "build = [\"cp\", \"right.so\", \"made.so\"]\nsources = [\"right.so\"]\n";
    fs::write(place.path("made.toml"), built).unwrap();
    let (code, told) = place.refused(&["judge", "softmax_grad", "made.toml"]);
    assert_eq!(code, 6, "{told}");
    assert!(told.contains("with `--build`"), "{told}");
    assert!(!place.path("made.so").exists(), "nothing of a submission runs outside of the sandbox");
    let (code, verdict) =
        place.judge("made.toml", &[&QUICK[..], &["--held-out", "0", "--build"], &T2].concat());
    assert!(matches!(code, 0 | 5), "{verdict:#}");
}
