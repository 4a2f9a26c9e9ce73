//! Kernels in OpenCL as a user proves them. Without a device they are passed over, unless
//! `PROOFMARK_REQUIRE_OPENCL` is set.
#![expect(clippy::disallowed_methods, reason = "a test starts the program")]

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Runs a command in a folder, which also holds its store.
fn run(folder: &Path, arguments: &[&str], vendors: Option<&Path>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    command.args(arguments).current_dir(folder).env("PROOFMARK_STORE", folder.join("store"));
    // What the driver compiles is kept for all tests, as it is for a user.
    command.env("POCL_CACHE_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("pocl"));
    if let Some(vendors) = vendors {
        command.env("OCL_ICD_VENDORS", vendors);
    }
    command.output().unwrap()
}

/// The document of a command that ends with this exit code.
fn document(output: &Output, code: i32) -> Value {
    let talk = String::from_utf8_lossy(&output.stderr);
    let words = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(code), "{words}\n{talk}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The devices of this machine, if one of OpenCL is among them.
fn devices(folder: &Path) -> Option<Value> {
    let devices = document(&run(folder, &["list", "devices", "--format", "json"], None), 0);
    let has_opencl = devices["devices"].as_array().unwrap().len() > 1;
    let is_required = std::env::var_os("PROOFMARK_REQUIRE_OPENCL").is_some();
    assert!(has_opencl || !is_required, "there is no device of OpenCL: {devices}");
    has_opencl.then_some(devices)
}

fn proven(output: &Output) -> Vec<String> {
    let document = document(output, 0);
    let rows = document["results"].as_array().unwrap().iter();
    let proven = rows.filter(|row| row["outcome"] == "PROVEN");
    proven.map(|row| format!("{} {}", row["op"], row["kernel"])).collect()
}

#[test]
fn devices_are_listed_with_kind_driver_and_limits() {
    let folder = tempfile::tempdir().unwrap();
    let Some(devices) = devices(folder.path()) else { return };
    let (host, opencl) = (&devices["devices"][0], &devices["devices"][1]);
    assert_eq!((&host["name"], &opencl["name"]), (&"host".into(), &"opencl:0".into()));
    for word in ["kind", "driver", "model", "memory", "queue", "clock"] {
        assert!(opencl[word].as_str().is_some_and(|text| !text.is_empty()), "{word}: {opencl}");
    }
    assert!(opencl["limits"]["compute_units"].as_u64() > Some(0), "{opencl}");
    assert_eq!(devices["absent"], Value::Null);
}

#[test]
fn a_machine_without_opencl_says_absent_with_the_hint_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let vendors = folder.path().join("no drivers");
    std::fs::create_dir(&vendors).unwrap();
    let without = |arguments: &[&str]| run(folder.path(), arguments, Some(&vendors));
    let devices = document(&without(&["list", "devices", "--format", "json"]), 0);
    assert_eq!(devices["devices"].as_array().unwrap().len(), 1, "{devices}");
    assert!(devices["absent"].as_str().unwrap().contains("apt install"), "{devices}");
    let bench = ["bench", "--case", "add:f32[b=1,s=1,d=64]", "--device", "host opencl*"];
    let bench = [&bench[..], &["--with", "*", "--dry-run", "--format", "json"]].concat();
    let plan = document(&without(&bench), 0);
    let text = plan.to_string();
    assert!(text.contains("native/") && text.contains("ABSENT (install a driver"), "{text}");
    let alone = without(&["prove", "add", "--device", "opencl*"]);
    let talk = String::from_utf8_lossy(&alone.stderr).into_owned();
    assert!(!alone.status.success() && talk.contains("pocl-opencl-icd"), "{talk}");
}

#[test]
fn a_kernel_is_proven_at_every_work_group_size_that_it_declares() {
    let folder = tempfile::tempdir().unwrap();
    if devices(folder.path()).is_none() {
        return;
    }
    let prove = ["prove", "add", "--device", "opencl*", "--dtype", "f32", "--format", "json"];
    let proven = proven(&run(folder.path(), &prove, None));
    assert_eq!(proven.len(), 3, "{proven:?}");
}

#[test]
fn a_kernel_of_the_user_is_proven_and_one_with_a_wrong_tail_is_not() {
    let folder = tempfile::tempdir().unwrap();
    if devices(folder.path()).is_none() {
        return;
    }
    let kernels = folder.path().join("ops/add/kernels");
    std::fs::create_dir_all(&kernels).unwrap();
    let toml = r#"
        language = "opencl"
        source = "NAME.cl"
        call = """void sum(const float *a, int a_stride, const float *b, int b_stride,
            float *c, int c_stride, int d)"""
        global = ["d", "b * s"]
        local = ["32", "1"]
    "#;
    let source = "kernel void sum(global const float *a, int a_stride, global const float *b,
        int b_stride, global float *c, int c_stride, int d) {
        size_t i = get_global_id(0), row = get_global_id(1);
        if (i < TAIL) c[row * c_stride + i] = a[row * a_stride + i] + b[row * b_stride + i];
    }";
    for (name, tail) in [("right", "d"), ("wrong", "d + 1")] {
        std::fs::write(kernels.join(format!("{name}.toml")), toml.replace("NAME", name)).unwrap();
        std::fs::write(kernels.join(format!("{name}.cl")), source.replace("TAIL", tail)).unwrap();
    }
    let prove = |with: &str| {
        let prove = ["prove", "add", "--device", "opencl*", "--dtype", "f32", "--with", with];
        run(folder.path(), &[&prove[..], &["--format", "json"]].concat(), None)
    };
    assert_eq!(proven(&prove("own/right")).len(), 1);
    assert_eq!(document(&prove("own/wrong"), 3)["results"][0]["outcome"], "WRONG");
}

#[test]
fn every_wrong_kernel_of_an_op_in_opencl_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    if devices(folder.path()).is_none() {
        return;
    }
    let tried = ["selftest", "gate", "add", "--device", "opencl*", "--seeds", "1"];
    let output = run(folder.path(), &[&tried[..], &["--format", "json"]].concat(), None);
    let document = document(&output, 0);
    let op = &document["ops"][0];
    assert!(op["mutants"].as_u64() >= Some(8), "{document}");
    assert_eq!(op["mutants"], op["killed"], "{document}");
}

/// One of the cheats that leave work in the queue, and one of the honest programs.
#[test]
fn a_cheat_of_a_device_is_named_and_an_honest_program_is_not_accused() {
    let folder = tempfile::tempdir().unwrap();
    if devices(folder.path()).is_none() {
        return;
    }
    let judge = |only: &str| {
        let judge = ["selftest", "judge", "softmax", "--device", "opencl*", "--only", only];
        run(folder.path(), &[&judge[..], &["--format", "json"]].concat(), None)
    };
    let cheat = document(&judge("device_left_in_queue"), 0);
    let rows = cheat["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "{cheat}");
    assert_eq!(rows[0]["mark"], "named", "{cheat}");
    let output = judge("device_two_queues");
    // A busy machine may leave it undecided.
    let code = if output.status.code() == Some(5) { 5 } else { 0 };
    let honest = document(&output, code);
    assert_eq!(honest["honest"]["runs"], 1, "{honest}");
    assert_eq!(honest["honest"]["accused"], 0, "{honest}");
    // Without the option nothing is planted on a device.
    let host = ["selftest", "judge", "softmax", "--only", "device_"];
    let host = run(folder.path(), &host, None);
    assert_eq!(host.status.code(), Some(2), "{}", String::from_utf8_lossy(&host.stdout));
}

#[test]
fn compare_refuses_a_contender_of_another_device_than_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let compare = ["compare", "native/simd", "opencl/plain.16", "--device", "opencl*"];
    let output =
        run(folder.path(), &[&compare[..], &["--case", "add:f32[b=1,s=1,d=8]"]].concat(), None);
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{talk}");
    assert!(talk.contains("native/simd runs on host"), "{talk}");
}
