//! Descriptions become pages, and pages become ops, without an interpreter.

use super::page::{Imported, Number, OperandLine, Page};
use super::{Folder, Source, filled, has_compiler, plain_name};
use crate::manifest::Manifest;
use proofmark_contract::{Definition, Op};
use proofmark_schema::{Case, DType};
use std::path::Path;

fn operand(name: &str, is_output: bool, shape: &[&str]) -> OperandLine {
    OperandLine {
        name: name.to_owned(),
        is_output,
        shape: shape.iter().map(|size| (*size).to_owned()).collect(),
        dtype: None,
        is_made: false,
        below: None,
    }
}

fn page() -> Page {
    let mask = OperandLine {
        dtype: Some("u8".to_owned()),
        is_made: true,
        ..operand("mask", false, &["4", "8"])
    };
    Page {
        summary: "a \"quoted\" problem".to_owned(),
        axes: vec![("rows".to_owned(), 4)],
        attributes: vec![("seed".to_owned(), vec![Number::Int(42), Number::Int(1)])],
        dtypes: vec!["f32"],
        valid: vec!["rows == 4".to_owned()],
        operands: vec![
            operand("x", false, &["rows", "8"]),
            mask,
            operand("y", true, &["rows", "8"]),
        ],
        has_inputs: true,
        cases: vec!["seed=42".to_owned(), "seed=1".to_owned()],
        imported: Imported {
            format: "kernelbench",
            source: "7_Rows.py".to_owned(),
            rule: "halved".to_owned(),
            shrunk: vec![("rows".to_owned(), 4096, 4)],
            workloads: Vec::new(),
        },
    }
}

fn folder() -> Folder {
    let files = [
        ("problem.py", "# the problem\n"),
        ("adapter.py", "def reference(x): ...\n"),
        ("kernels/a.py", "# a kernel\n"),
    ];
    let files = files.map(|(path, text)| (path.to_owned(), text.to_owned())).to_vec();
    Folder { name: "rows_7".to_owned(), page: page(), files, notes: Vec::new() }
}

fn source(within: &Path) -> Source<'_> {
    Source {
        problem: Path::new("7_Rows.py"),
        answers: &[],
        workloads: None,
        bytes: 1,
        name: None,
        within,
    }
}

#[test]
fn a_page_is_read_as_the_op_that_it_describes() {
    let place = tempfile::tempdir().unwrap();
    let written = folder().write(&source(place.path())).unwrap();
    assert_eq!((written.name.as_str(), written.files.len()), ("rows_7", 4));
    let folder = place.path().join("rows_7");
    let op = crate::load(&folder, None).unwrap();
    assert_eq!(op.summary(), "a \"quoted\" problem");
    let cases = op.proof_cases(DType::F32);
    let cases: Vec<String> = cases.iter().map(ToString::to_string).collect();
    assert_eq!(cases, ["rows_7:f32[rows=4;seed=42]", "rows_7:f32[rows=4;seed=1]"]);
    let from = op.imported(&op.default_case(DType::F32)).unwrap();
    assert_eq!((from.format.as_str(), from.name.as_str()), ("kernelbench", "7_Rows.py"));
    let caveat = "sizes are smaller than in 7_Rows.py (kernelbench): rows 4096 → 4";
    assert_eq!(from.caveat().as_deref(), Some(caveat));
    assert!(op.files().contains(&folder.join("problem.py")), "what the reference imports counts");
}

#[test]
fn sizes_that_an_imported_problem_does_not_have_are_refused() {
    let place = tempfile::tempdir().unwrap();
    folder().write(&source(place.path())).unwrap();
    let folder = place.path().join("rows_7");
    let op = crate::load(&folder, None).unwrap();
    let other = Case::new("rows_7", DType::F32).axis("rows", 8);
    assert!(op.signature(&other).unwrap_err().to_string().contains("rows == 4"));
}

#[test]
fn answers_are_added_to_a_folder_of_the_same_problem_and_to_no_other() {
    let place = tempfile::tempdir().unwrap();
    folder().write(&source(place.path())).unwrap();
    let added = folder().write(&source(place.path())).unwrap();
    assert_eq!(added.files, [place.path().join("rows_7/kernels/a.py")]);
    let mut other = folder();
    other.files[0].1 = "# another problem\n".to_owned();
    assert!(matches!(other.write(&source(place.path())), Err(crate::NewOpError::Exists(_))));
}

#[test]
fn an_operand_that_is_made_needs_the_function_that_makes_it() {
    let text = page().text().replace("inputs = \"inputs\"\n", "");
    let place = tempfile::tempdir().unwrap();
    folder().write(&source(place.path())).unwrap();
    let folder = place.path().join("rows_7");
    std::fs::write(folder.join("op.toml"), text).unwrap();
    let error = crate::load(&folder, None).err().unwrap().to_string();
    assert!(error.contains("`mask` is made"), "{error}");
}

#[test]
fn names_of_problems_become_names_of_ops() {
    let name = |path: &str| super::kernelbench::name(Path::new(path));
    assert_eq!(name("level1/23_Softmax.py"), "softmax_23");
    assert_eq!(name("50_conv_standard_2D__square_input.py"), "conv_standard_2d_square_input_50");
    assert_eq!(name("My-Problem.py"), "my_problem");
    assert_eq!(plain_name(Path::new("a/answer 2.py")), "answer_2");
}

#[test]
fn templates_have_no_blank_left_and_a_compiler_is_seen() {
    assert_eq!(filled("f({A}, {B})", &[("A", "x"), ("B", "{y}")]), "f(x, {y})");
    assert!(has_compiler("model = torch.compile(model)") && !has_compiler("torch.relu(x)"));
}

#[test]
fn a_page_without_shrunk_sizes_has_no_rule() {
    let mut page = page();
    page.imported.shrunk.clear();
    let manifest: Manifest = toml::from_str(&page.text()).unwrap();
    assert!(manifest.imported.unwrap().shrunk.0.is_empty() && !page.text().contains("rule"));
}

/// A file of the tests in a format.
fn example(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats").join(path)
}

/// The Definition of the tests with its workloads and these Solutions.
fn definition(answers: &[&str], bytes: u64) -> Result<Folder, crate::NewOpError> {
    let problem = example("flashinfer/definition.json");
    let workloads = example("flashinfer/workloads.jsonl");
    let answers: Vec<_> = answers.iter().map(|answer| example(answer)).collect();
    let (answers, workloads) = (answers.as_slice(), Some(workloads.as_path()));
    let within = Path::new(".");
    let source = Source { problem: &problem, answers, workloads, bytes, name: None, within };
    super::flashinfer::folder(&source)
}

#[test]
fn a_definition_becomes_an_op_and_workloads_its_cases() {
    let made = definition(&[], 1 << 16).unwrap();
    let place = tempfile::tempdir().unwrap();
    let written = made.write(&source(place.path())).unwrap();
    let folder = place.path().join(&written.name);
    let op = crate::load(&folder, None).unwrap();
    let cases = op.proof_cases(DType::Bf16);
    let words: Vec<String> = cases.iter().map(ToString::to_string).collect();
    // Elements of 100,000 rows take 19 MB: the rows are halved until they fit into 64 KiB.
    assert_eq!(
        words,
        [
            "scaled_gather:bf16[n=7,hidden=48;scale=0.5]",
            "scaled_gather:bf16[n=195,hidden=48;scale=1.25]"
        ]
    );
    let signature = op.signature(&cases[0]).unwrap();
    let operands: Vec<String> = signature
        .operands()
        .iter()
        .map(|it| format!("{} {} {:?}", it.name, it.dtype, it.shape))
        .collect();
    assert_eq!(operands, ["x bf16 [7, 48]", "keep u8 [7]", "y bf16 [7, 48]", "total f32 [1]"]);
    let from = op.imported(&cases[1]).unwrap();
    assert_eq!(from.workload.unwrap()["uuid"], "11111111-0000-4000-8000-000000000002");
    // Commands leave out attributes that have their default.
    let short: Case = "scaled_gather:bf16[n=7,hidden=48]".parse().unwrap();
    let workload = op.imported(&short).unwrap().workload.unwrap();
    assert_eq!(workload["uuid"], "11111111-0000-4000-8000-000000000001");
    let shrunk: Vec<String> = from.shrunk.iter().map(ToString::to_string).collect();
    assert_eq!(shrunk, ["n 100000 → 195"]);
    assert_eq!(op.imported(&cases[0]).unwrap().shrunk, []);
}

#[test]
fn a_solution_becomes_a_kernel_by_its_style() {
    let made = definition(&["flashinfer/right.json", "flashinfer/wrong.json"], 1 << 16).unwrap();
    let text = |name: &str| {
        let found = made.files.iter().find(|(path, _)| path == name);
        found.map(|(_, text)| text.clone()).unwrap()
    };
    let right = text("kernels/right_v1.py");
    assert!(right.contains("def run(x, keep, scale, y, total):"), "{right}");
    assert!(right.contains("y, total.reshape(())"), "a single number has no axes there: {right}");
    let wrong = text("kernels/wrong_v1.py");
    assert!(wrong.contains("def run(x, keep, scale):") && wrong.contains("return "), "{wrong}");
    for (name, text) in [("right_v1", right), ("wrong_v1", wrong)] {
        let path = Path::new("/kernels").join(format!("{name}.py"));
        let file = crate::kernel::KernelFile::parse(&text, &path).unwrap();
        assert_eq!(file.name, name);
    }
}

#[test]
fn what_cannot_be_read_is_refused_by_name() {
    let place = tempfile::tempdir().unwrap();
    let changed = |file: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(example(file)).unwrap();
        assert!(text.contains(from), "{file} has no {from}");
        let path = place.path().join(Path::new(file).file_name().unwrap());
        std::fs::write(&path, text.replace(from, to)).unwrap();
        path
    };
    let refused = |problem: &Path, answers: &[std::path::PathBuf]| {
        let (workloads, within) = (None, Path::new("."));
        let source = Source { problem, answers, workloads, bytes: 1 << 16, name: None, within };
        super::flashinfer::folder(&source).err().unwrap().to_string()
    };
    let whole = example("flashinfer/definition.json");
    let cuda = changed("flashinfer/right.json", "\"python\"", "\"cuda\"");
    assert!(refused(&whole, &[cuda]).contains("UNSUPPORTED: its language is cuda"));
    let other = changed("flashinfer/wrong.json", "scaled_gather", "another");
    assert!(refused(&whole, &[other]).contains("a Solution of `another`"));
    let short = changed("flashinfer/definition.json", "\"bool\"", "\"float4_e2m1\"");
    assert!(refused(&short, &[]).contains("UNSUPPORTED: `keep` is float4_e2m1"));
}

#[test]
fn a_workload_that_stays_too_large_is_left_out_by_name() {
    // `n > 4` holds for 5 rows, which take at most 64 times the limit.
    let least = definition(&[], 24).unwrap();
    assert!(least.page.cases[1].starts_with("n=6 "), "{:?}", least.page.cases);
    let error = definition(&[], 1).err().unwrap().to_string();
    assert!(error.contains("give a larger limit: --bytes"), "{error}");
}

#[test]
fn a_task_is_read_with_both_ways_of_writing_a_case() {
    let path = example("gpu_mode/row_sums/task.yml");
    let text = std::fs::read_to_string(&path).unwrap();
    let task = super::gpu_mode::parse(&path, &text).unwrap();
    let rows = |case: &serde_json::Map<String, serde_json::Value>| case["rows"].as_u64();
    let all: Vec<_> = task.tests.iter().chain(&task.benchmarks).filter_map(rows).collect();
    assert_eq!(all, [5, 8, 4096]);
    assert_eq!((task.files.len(), task.files[0].source.as_str()), (4, "@SUBMISSION@"));
    let error = super::gpu_mode::parse(&path, "lang: py").unwrap_err().to_string();
    assert!(error.contains("neither `tests` nor `benchmarks`"), "{error}");
}

#[test]
fn values_of_json_are_written_as_python_writes_them() {
    let value = serde_json::json!({"a": [true, null, 1.5], "b": "x\n"});
    assert_eq!(super::gpu_mode::python(&value), r#"{"a": [True, None, 1.5], "b": "x\n"}"#);
}
