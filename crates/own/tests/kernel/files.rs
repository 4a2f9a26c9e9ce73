//! What files of kernels say, and what is told about mistakes in them.

use crate::trial::case;
use proofmark_own::kernel::{Code, KernelFile, Tensors, Threads};
use proofmark_schema::{DType, Reproducibility, Underflow};
use std::path::Path;

const LEAST: &str = "library = \"a.so\"\ncall = \"void f(const float *x, float *y)\"\n";

fn parse(text: &str, name: &str) -> Result<KernelFile, String> {
    let path = Path::new("/ops/kernels").join(name);
    KernelFile::parse(text, &path).map_err(|error| error.to_string())
}

#[test]
fn the_least_file_names_a_library_and_a_prototype() {
    let kernel = parse(LEAST, "fast.toml").unwrap();
    let Code::Library(code) = &kernel.code else { panic!("{kernel:?}") };
    assert_eq!(code.library, Path::new("/ops/kernels/a.so"));
    assert_eq!((kernel.name.as_str(), kernel.summary.as_str()), ("fast", "`f` of a.so"));
    assert_eq!((code.threads.clone(), code.has_jit), (Threads::One, false));
    let (f32, signature) = case("rows:f32[rows=1,cols=1]");
    let contract = kernel.contract(&f32, &signature);
    assert_eq!(contract.reproducibility, Reproducibility::None);
    assert_eq!((contract.accumulate, contract.underflow), (DType::F32, Underflow::Gradual));
    assert!(kernel.supports(&f32, &signature).is_ok());
    let (f64, _) = case("rows:f64[rows=1,cols=1]");
    assert_eq!(kernel.contract(&f64, &signature).accumulate, DType::F64);
}

#[test]
fn promises_and_element_types_are_those_of_the_file() {
    let more = "dtypes = [\"bf16\"]\nthreads = \"n\"\n[promises]\naccumulate = \"f64\"\n\
                reproducible = \"thread_invariant\"\nflushes_subnormals = true\ncancels = true\n";
    let text = LEAST.replace("float *y", "float *y, int n") + more;
    let kernel = parse(&text, "fast.toml").unwrap();
    let (f32, signature) = case("rows:f32[rows=1,cols=1]");
    let contract = kernel.contract(&f32, &signature);
    assert_eq!(contract.accumulate, DType::F64);
    assert_eq!(contract.reproducibility, Reproducibility::ThreadInvariant);
    assert_eq!(contract.concessions().len(), 3, "its rows have no stride, too");
    let reason = kernel.supports(&f32, &signature).unwrap_err().to_string();
    assert_eq!(reason, "its file names bf16 only");
    let Code::Library(code) = kernel.code else { panic!() };
    assert_eq!(code.threads, Threads::By("n".to_owned()));
}

#[test]
fn a_mistake_is_told_with_its_line_and_the_nearest_key() {
    let packed = "call = \"void f(const u8 *packed, float *y)\"\n";
    for (text, words) in [
        (
            "libary = \"a.so\"\n".to_owned(),
            ["line 1: there is no key `libary`", "did you mean `library`?"],
        ),
        (format!("{LEAST}\nversoin = \"1\"\n"), ["line 4", "did you mean `version`?"]),
        ("library = \"a.so\"\n".to_owned(), ["`call` is missing", ""]),
        ("library = 1\n".to_owned(), ["line 1", "string"]),
        (
            format!("{LEAST}dtypes = [\"f32\",\n\"f33\"]\n"),
            ["line 4", "`f33` is not an element type"],
        ),
        (format!("{LEAST}symbol = \"g\"\n"), ["line 3", "names `f` already"]),
        (format!("{LEAST}threads = 2\n"), ["line 3", "write 1"]),
        (format!("{LEAST}threads = \"n\"\n"), ["line 3", "parameter `n`"]),
        (format!("{LEAST}threads = true\n"), ["line 3", "write 1"]),
        (format!("{LEAST}setup = \"g\"\n"), ["line 3", "`setup_call` is missing"]),
        (format!("{LEAST}packed_bytes = \"4\"\n"), ["line 3", "`setup_call` is missing"]),
        (format!("{LEAST}workspace_bytes = \"4 *\"\n"), ["line 3", "is no expression"]),
        (
            format!("{LEAST}workspace_bytes = \"4\"\n"),
            ["line 2", "not every call takes `workspace`"],
        ),
        (format!("{LEAST}build = [\"cc\"]\n"), ["line 3", "`sources` is missing"]),
        (format!("{LEAST}build = []\n"), ["line 3", "the command is empty"]),
        (format!("{LEAST}[promises]\nflushes = true\n"), ["line 4", "flushes_subnormals"]),
        (format!("library = \"a.so\"\n{packed}"), ["line 2", "there is no `setup_call`"]),
        (
            format!(
                "library = \"a.so\"\n{packed}packed_bytes = \"1\"\n\
                 setup_call = \"void g(const float *w)\"\n"
            ),
            ["line 4", "takes `packed: *mut u8`"],
        ),
        (
            "library = \"a.so\"\ncall = \"(x: *const f32)\"\n".to_owned(),
            ["line 2", "`symbol` is missing"],
        ),
        ("library = \"a.so\"\ncall = []\n".to_owned(), ["line 2", "list of signatures is empty"]),
        ("library = \"a.so\"\ncall = 4\n".to_owned(), ["line 2", "write a signature"]),
        ("library = \"a.so\"\ncall = \"f\"\n".to_owned(), ["line 2", "no parameters"]),
        ("library = \"\"\ncall = \"void f(float *y)\"\n".to_owned(), ["line 1", "empty"]),
    ] {
        let said = parse(&text, "fast.toml").unwrap_err();
        assert!(words.iter().all(|word| said.contains(word)), "{text}: {said}");
        assert!(said.starts_with("/ops/kernels/fast.toml"), "{said}");
    }
    assert!(parse(LEAST, "fast.txt").unwrap_err().contains("a .toml or a .py file"));
    assert!(parse(LEAST, "f st.toml").unwrap_err().contains("`f st` is no name"));
}

#[test]
fn a_file_in_python_takes_what_it_imports() {
    let takes = |text: &str| match parse(text, "fast.py").unwrap().code {
        Code::Python(code) => (code.takes, code.has_jit),
        Code::Library(_) => panic!("{text}"),
    };
    assert_eq!(takes("import struct\ndef run(x): pass\n"), (Tensors::Buffer, false));
    assert_eq!(takes("import numpy as np\n"), (Tensors::Numpy, false));
    assert_eq!(takes("from numba import njit\nimport numpy\n"), (Tensors::Numpy, true));
    assert_eq!(takes("import torch.nn.functional as F\nimport numpy\n"), (Tensors::Torch, true));
    assert_eq!(takes("from jax import numpy\n"), (Tensors::Jax, true));
    let header = "import numpy\n# /// script\n# dependencies = [\"torch\"]\n# [tool.proofmark]\n\
                  # takes = \"torch\"\n# jit = false\n# ///\n";
    assert_eq!(takes(header), (Tensors::Torch, false));
}

#[test]
fn a_header_is_held_to_its_form_by_the_lines_of_the_file() {
    let header = |line: &str| {
        format!("\"\"\"Fast.\"\"\"\n\n# /// script\n# [tool.proofmark]\n# {line}\n# ///\n")
    };
    for (text, words) in [
        (header("taks = \"numpy\""), ["line 5", "did you mean `takes`?"]),
        (header("takes = \"pytorch\""), ["line 5", "torch"]),
        (header("dtypes = [\"f33\"]"), ["line 5", "`f33`"]),
        (header("rows = \"sparse\""), ["line 5", "strided"]),
        ("# /// script\n".to_owned(), ["no end", "# ///"]),
        (header("jit = true").repeat(2), ["more than one header", ""]),
    ] {
        let said = parse(&text, "fast.py").unwrap_err();
        assert!(words.iter().all(|word| said.contains(word)), "{text}: {said}");
    }
    let kernel = parse(&header("rows = \"strided\""), "fast.py").unwrap();
    let (explicit, signature) = case("rows:f32[rows=2,cols=2]");
    let is_dense = |kernel: &KernelFile| kernel.contract(&explicit, &signature).dense_rows;
    assert!(!is_dense(&kernel) && is_dense(&parse("", "fast.py").unwrap()));
    let (bf16, signature) = case("rows:bf16[rows=1,cols=1]");
    let triton = parse("import triton\nimport triton.language as tl\n", "fast.py").unwrap();
    assert!(triton.contract(&bf16, &signature).interpreted);
    let reason = triton.supports(&bf16, &signature).unwrap_err().to_string();
    assert!(reason.contains("`x` is bf16, which the interpreter of Triton"), "{reason}");
    assert!(triton.supports(&explicit, &case("rows:f32[rows=2,cols=2]").1).is_ok());
    let numpy = parse("import numpy\n", "fast.py").unwrap();
    let reason = numpy.supports(&bf16, &signature).unwrap_err().to_string();
    assert!(reason.contains("`x` is bf16, which NumPy does not have"), "{reason}");
}

#[test]
fn a_function_in_python_takes_what_its_parameters_name() {
    let takes = |text: &str| {
        let kernel = parse(text, "fast.py").unwrap();
        ["rows", "eps"].map(|name| kernel.takes(name))
    };
    assert_eq!(takes("def run(x, y, rows):\n    pass\n"), [true, false]);
    assert_eq!(
        takes("def run(\n    x: f(1, 2),\n    *,\n    eps=(0, 1),\n): pass\n"),
        [false, true]
    );
    assert_eq!(takes("def run(x, **others): pass\n"), [true, true], "it takes any");
    assert_eq!(takes("def other(x): pass\nrun = jit(other)\n"), [true, true], "it may");
    assert_eq!(takes("def run(x\n"), [true, true], "it has no end, and is told when it is loaded");
}

#[test]
fn the_kernels_of_a_folder_are_read_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let names = || -> Result<Vec<String>, String> {
        let all = KernelFile::all_in(folder.path()).map_err(|error| error.to_string())?;
        Ok(all.into_iter().map(|kernel| kernel.name).collect())
    };
    assert_eq!(KernelFile::all_in(&folder.path().join("nowhere")), Ok(Vec::new()));
    for (name, text) in [("b.toml", LEAST), ("a.py", ""), ("_shared.py", ""), ("notes.md", "")] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    assert_eq!(names(), Ok(vec!["a".to_owned(), "b".to_owned()]));
    std::fs::write(folder.path().join("b.py"), "").unwrap();
    assert!(names().unwrap_err().contains("has the same name"));
}
