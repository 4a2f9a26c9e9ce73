//! Ops of folders, without an interpreter: what `op.toml` says, and what it may not say.

use proofmark_contract::{Definition, Op, check_case};
use proofmark_own::{Interpreter, Language, OwnOp, folders_from, kernels, load, write_op};
use proofmark_schema::{AttrValue, Case, DType};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const GROUPS: &str = r#"
summary = "softmax over groups of g neighbouring columns"
axes = { rows = 128, cols = 1024 }
attributes = { g = { values = [4, 8, 16], default = 8 }, flip = false }
dtypes = ["f32", "bf16"]
valid = "cols % g == 0"

[operands]
x = { role = "input", shape = ["rows", "cols"] }
y = { role = "output", shape = ["rows", "cols / g"] }

[work]
flops = "5 * rows * cols"

[reference]
python = "reference.py:groups"

[proof]
cases = ["rows=3 cols=40 g=4"]
"#;

/// An op's folder with this `op.toml`.
fn folder(text: &str) -> TempDir {
    let folder = tempfile::Builder::new().prefix("groups").tempdir().unwrap();
    fs::write(folder.path().join("op.toml"), text).unwrap();
    fs::write(folder.path().join("reference.py"), "def groups(x, g):\n    return x\n").unwrap();
    folder
}

fn read(text: &str) -> Result<&'static OwnOp, String> {
    load(folder(text).path(), None).map_err(|error| error.to_string())
}

fn groups(rows: u64, cols: u64) -> Case {
    let op = read(GROUPS).unwrap();
    Case::new(op.name(), DType::F32).axis("rows", rows).axis("cols", cols)
}

#[test]
fn an_op_is_what_its_file_says() {
    let folder = folder(GROUPS);
    let op = load(folder.path(), None).unwrap();
    assert_eq!(op.name(), folder.path().file_name().unwrap().to_str().unwrap());
    assert_eq!(op.dtypes(), [DType::F32, DType::Bf16]);
    let case = op.default_case(DType::F32).attr("g", AttrValue::Int(16));
    let signature = check_case(op, &case).unwrap();
    let shapes: Vec<&[usize]> = signature.operands().iter().map(|it| &it.shape[..]).collect();
    assert_eq!(shapes, [&[128, 1024][..], &[128, 64]]);
    let work = op.work(&case);
    assert_eq!(work.flops, 5 * 128 * 1024);
    assert_eq!((work.bytes_read, work.bytes_written), (4 * 128 * 1024, 4 * 128 * 64));
}

#[test]
fn a_case_meets_the_conditions_and_the_listed_values() {
    let op = read(GROUPS).unwrap();
    let refusal = |case: &Case| check_case(op, case).unwrap_err().to_string();
    let case = |rows, cols| Case { op: op.name().to_owned(), ..groups(rows, cols) };
    assert!(check_case(op, &case(3, 40)).is_ok());
    assert!(refusal(&case(3, 41)).contains("`cols % g == 0` does not hold"));
    let other = case(3, 40).attr("g", AttrValue::Int(5));
    assert!(refusal(&other).contains("it is one of 4, 8, 16"), "{}", refusal(&other));
}

#[test]
fn a_proof_covers_stated_cases_and_every_value_of_attributes() {
    let op = read(GROUPS).unwrap();
    let cases = op.proof_cases(DType::F32);
    for (at, case) in cases.iter().enumerate() {
        assert!(check_case(op, case).is_ok(), "{case}");
        assert!(!cases[..at].contains(case), "{case} twice");
    }
    let has = |name: &str, value: AttrValue| cases.iter().any(|it| it.get(name) == Some(&value));
    assert!(has("g", AttrValue::Int(4)) && has("g", AttrValue::Int(16)));
    let flipped = cases.iter().filter(|it| it.get("flip") == Some(&AttrValue::Flag(true)));
    assert!(flipped.count() > 1, "a single size may not show what a value changes");
    let is_stated = |case: &Case| (case.size("rows"), case.size("cols")) == (Some(3), Some(40));
    assert!(cases.iter().any(is_stated));
    let sizes = cases.iter().filter_map(|case| case.size("cols"));
    assert!(sizes.collect::<std::collections::BTreeSet<_>>().len() >= 5, "one size proves little");
    for axis in ["rows", "cols"] {
        let is_long = |case: &Case| case.size(axis).is_some_and(|size| size > 1024);
        assert!(
            cases.iter().any(is_long),
            "kernels split sums in blocks: no case is long in {axis}"
        );
    }
}

#[test]
fn a_proof_covers_a_single_element_along_each_axis() {
    let mut text = GROUPS.to_owned();
    for (from, to) in [
        ("rows = 128,", "b = 1, h = 1, rows = 128,"),
        ("\"rows\", \"cols\"", "\"b\", \"h\", \"rows\", \"cols\""),
        ("\"cols / g\"", "\"cols\""),
        ("cols % g == 0", "cols * g > 0"),
    ] {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let op = read(&text).unwrap();
    let cases = op.proof_cases(DType::F32);
    let axes = ["b", "h", "rows", "cols"];
    for axis in axes {
        // Not those with a long axis, whose others are short.
        let is_single = |case: &Case| {
            case.size(axis) == Some(1) && axes.iter().all(|it| case.size(it) < Some(1024))
        };
        assert!(cases.iter().any(is_single), "no case has a single element along {axis}");
    }
}

#[test]
fn a_proof_tries_a_range_at_its_bounds_and_at_a_number_with_a_long_fraction() {
    let range = "flip = false, scale = { low = -1000.0, high = 1000.0, default = 2.0 }";
    let cases = read(&GROUPS.replace("flip = false", range)).unwrap().proof_cases(DType::F32);
    let number = |case: &Case| match case.get("scale") {
        Some(AttrValue::Real(number)) => Some(*number),
        _ => None,
    };
    let tried: Vec<f64> = cases.iter().filter_map(number).collect();
    assert!([-1000.0, 1000.0].iter().all(|it| tried.contains(it)), "{tried:?}");
    let is_long = |it: &f64| f64::from(*it as f32) == *it && (it * 1024.0).fract() != 0.0;
    assert!(tried.iter().any(is_long), "{tried:?}");
}

#[test]
fn what_contradicts_itself_is_refused_with_the_reason() {
    for (from, to, reason) in [
        ("valid = \"cols % g == 0\"", "valid = \"cols % g == 1\"", "the default sizes are no case"),
        ("y = { role = \"output\"", "y = { role = \"input\"", "no operand has `role = \"output\"`"),
        ("rows = 128, cols", "rows = 128, flip = 1, cols", "`flip` is an attribute, and an axis"),
        ("default = 8 }", "default = 5 }", "its default is none of its values"),
        ("5 * rows * cols", "5 * rows * columns", "columns"),
        ("rows=3 cols=40 g=4", "rows=3 cols=42 g=4", "case `rows=3 cols=42 g=4`"),
        ("[\"f32\", \"bf16\"]", "[]", "`dtypes` is empty"),
        ("[proof]", "[proof]\nspecials = [\"z\"]", "`z`, which is no operand"),
        ("reference.py:groups", "reference.py", "reference.py"),
    ] {
        let text = GROUPS.replace(from, to);
        assert_ne!(text, GROUPS, "{from}");
        let said = read(&text).map(|op| op.name()).unwrap_err();
        assert!(said.contains(reason) && said.contains("op.toml"), "{said}");
    }
}

#[test]
fn an_unknown_key_is_told_with_its_line_and_the_nearest_key() {
    let said = read(&GROUPS.replace("dtypes =", "dtype =")).map(|op| op.name()).unwrap_err();
    assert!(said.contains("op.toml line 5") && said.contains("did you mean `dtypes`?"), "{said}");
}

#[test]
fn a_new_op_can_be_read_with_its_kernel_and_is_found_from_below() {
    for (language, file) in [(Language::C, "plain.toml"), (Language::Python, "plain.py")] {
        let project = tempfile::tempdir().unwrap();
        let folder = project.path().join("ops/row_norm");
        write_op(&folder, language).unwrap();
        let op = load(&folder, None).unwrap();
        assert_eq!(op.name(), "row_norm");
        let interpreter = Box::leak(Box::new(Interpreter::given(None)));
        let all = kernels(op, interpreter).unwrap();
        let ids: Vec<String> = all.iter().map(|kernel| kernel.id().to_string()).collect();
        assert_eq!(ids, ["own/reference", "own/plain"]);
        assert!(folder.join("kernels").join(file).is_file());
        let below = folder.join("kernels");
        assert_eq!(folders_from(&below), [folder.as_path()]);
        assert_eq!(folders_from(project.path()), [folder.as_path()]);
        assert!(write_op(&folder, language).is_err(), "it would be written over");
    }
}

#[test]
fn a_folder_without_an_op_has_none() {
    let project = tempfile::tempdir().unwrap();
    fs::create_dir_all(project.path().join("ops/empty")).unwrap();
    assert_eq!(folders_from(project.path()), Vec::<&Path>::new());
    // One with kernels adds them to an op that is defined elsewhere, in whichever language.
    for name in ["fast.py", "fast.toml"] {
        let folder = project.path().join("ops").join(name.replace('.', "_"));
        fs::create_dir_all(folder.join("kernels")).unwrap();
        fs::write(folder.join("kernels/other.py"), "import triton\n").unwrap();
        assert!(!folders_from(project.path()).contains(&folder), "it may be of another project");
        let header = "# /// script\n# [tool.proofmark]\n# ///\n";
        fs::write(folder.join("kernels").join(name), header).unwrap();
        assert!(folders_from(project.path()).contains(&folder), "{name}");
    }
}

#[test]
fn a_reference_needs_an_interpreter_with_pytorch() {
    let op = read(GROUPS).unwrap();
    let packages = tempfile::tempdir().unwrap();
    let home = serde_json::json!({
        "library": "libpython3.so",
        "home": { "prefix": "/usr", "packages": [packages.path()] },
    });
    let found = || {
        let home = home.to_string().parse().unwrap();
        let interpreter = Box::leak(Box::new(Interpreter::given(Some(home))));
        kernels(op, interpreter).unwrap()[0].elsewhere().unwrap()
    };
    assert!(found().unwrap_err().contains("proofmark peers add pytorch"));
    fs::create_dir(packages.path().join("torch")).unwrap();
    assert!(found().is_ok());
}
