//! Functions in Python, called inside of this process. A process has one interpreter with one
//! kernel, so that each test runs this program again.

use crate::trial::{Operands, case, example};
use proofmark_own::kernel::load;
use proofmark_peers::{Found, NotLoaded, interpreter};
use std::fs;
use std::path::Path;
use std::process::Command;

const CASE: &str = "rows:f32[rows=3,cols=4]";

/// The interpreter of the machine, with its standard library.
fn python() -> Found {
    interpreter(Path::new("python3")).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs one of the ignored tests below in a process of its own.
#[expect(clippy::disallowed_methods, reason = "a process has one interpreter")]
fn alone(test: &str) {
    let program = std::env::current_exe().unwrap();
    let output = Command::new(program)
        .args([&format!("python::{test}"), "--exact", "--ignored"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn a_function_writes_its_output_or_returns_it() {
    for test in ["writes_its_output", "returns_its_result", "errors_are_told", "is_refused"] {
        alone(test);
    }
}

#[test]
#[ignore = "runs in a process of its own"]
fn writes_its_output() {
    let (folder, kernel) = example("doubled.py");
    let (case, signature) = case(CASE);
    let python = python();
    let peered = load(&kernel, Some(&python), (&case, &signature), 1).expect("it is loaded");
    assert_eq!(peered.receipt.version, "2.1");
    assert!(peered.receipt.build.starts_with("CPython 3."), "{}", peered.receipt.build);
    assert!(!peered.kernel.settles() && !peered.kernel.is_parallel());
    for _ in 0..2 {
        let mut operands = Operands::new((&case, &signature), 0);
        peered.kernel.run(&mut operands.call(1)).unwrap();
        let expected: Vec<f64> = operands.x().iter().map(|x| 2.5 * x).collect();
        assert_eq!(operands.y(), expected);
    }
    peered.empty.expect("an empty call")();
    let permit = kernel.permit(Some(&python));
    assert!(permit.needs.interpreter && !permit.needs.jit);
    assert!(permit.reads.contains(&python.library));
    assert!(permit.reads.contains(&folder.path().to_owned()));
    let files = kernel.files(Some(&python));
    assert!(files.contains(&folder.path().join("returned.py")), "it could import it");
    assert!(!folder.path().join("__pycache__").exists(), "nothing is left behind");
}

#[test]
#[ignore = "runs in a process of its own"]
fn returns_its_result() {
    let (_folder, kernel) = example("returned.py");
    let (case, signature) = case(CASE);
    let peered = load(&kernel, Some(&python()), (&case, &signature), 1).expect("it is loaded");
    let kernel = peered.kernel;
    assert!(kernel.settles() && kernel.is_parallel());
    let mut operands = Operands::new((&case, &signature), 0);
    kernel.set_threads(2);
    operands.prepare(kernel, 2).unwrap();
    kernel.run(&mut operands.call(2)).unwrap();
    assert!(operands.y().iter().all(|y| y.is_nan()), "the result is elsewhere");
    kernel.settle(&mut operands.call(2)).unwrap();
    let (x, w) = (operands.x(), operands.w());
    for (i, y) in operands.y().iter().enumerate() {
        let packed: f64 = (0..4).map(|row| w[row * 4 + i % 4]).sum();
        assert_eq!(*y, x[i] * packed + 2.0, "element {i}");
    }
}

#[test]
#[ignore = "runs in a process of its own"]
fn errors_are_told() {
    let (folder, _) = example("doubled.py");
    let path = folder.path().join("wrong.py");
    let text =
        "def run(x, rows):\n    if rows == 3:\n        return [1.0]\n    raise ValueError('odd')\n";
    fs::write(&path, text).unwrap();
    let kernel = proofmark_own::kernel::KernelFile::read(&path).unwrap();
    let run = |text: &str| {
        let (case, signature) = case(text);
        let peered = load(&kernel, Some(&python()), (&case, &signature), 1).ok().unwrap();
        let mut operands = Operands::new((&case, &signature), 0);
        let ran = peered.kernel.run(&mut operands.call(1));
        ran.and_then(|()| peered.kernel.settle(&mut operands.call(1))).unwrap_err().to_string()
    };
    let said = run(CASE);
    assert!(said.contains("`run` returned float for `y`, which is f32 of 3×4"), "{said}");
    let said = run("rows:f32[rows=2,cols=4]");
    assert!(said.contains("ValueError: odd"), "{said}");
}

#[test]
#[ignore = "runs in a process of its own"]
fn is_refused() {
    let (folder, _) = example("doubled.py");
    let path = folder.path().join("other.py");
    fs::write(&path, "def run(x, y, z):\n    pass\n").unwrap();
    let kernel = proofmark_own::kernel::KernelFile::read(&path).unwrap();
    let (case, signature) = case(CASE);
    let Err(NotLoaded::Broken(reason)) = load(&kernel, None, (&case, &signature), 1) else {
        panic!("there is no interpreter");
    };
    assert!(reason.contains("it needs an interpreter"), "{reason}");
    let refused = load(&kernel, Some(&python()), (&case, &signature), 1);
    let Err(NotLoaded::Unsupported(reason)) = refused else { panic!("there is no `z`") };
    assert!(reason.contains("the parameter `z`; there are x, w, y, cols, rows"), "{reason}");
}

/// CI runs it for each framework: `PROOFMARK_TEST_PYTHON` is an interpreter that has the packages,
/// `PROOFMARK_TEST_KERNEL` a file of the examples, such as `groups_numba.py`.
#[test]
#[ignore = "needs packages"]
#[expect(clippy::disallowed_methods, reason = "the interpreter is not the same everywhere")]
fn a_framework_computes_where_the_operands_lie() {
    let given = |name| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    let python = interpreter(Path::new(&given("PROOFMARK_TEST_PYTHON"))).unwrap();
    let (_folder, kernel) = example(&given("PROOFMARK_TEST_KERNEL"));
    let (case, signature) = case("rows:f32[rows=3,cols=16]");
    for padding in [0, 16] {
        let loaded = load(&kernel, Some(&python), (&case, &signature), 1);
        let peered = loaded.unwrap_or_else(|reason| panic!("{reason:?}"));
        // The gate asks for more threads than small machines have processors.
        for threads in [1, 2, 1, 4096] {
            peered.kernel.set_threads(threads);
            let mut operands = Operands::new((&case, &signature), padding);
            peered.kernel.run(&mut operands.call(threads)).unwrap();
            let is_returned = peered.kernel.settles();
            assert_eq!(operands.y()[0].is_nan(), is_returned, "{}", peered.receipt.build);
            peered.kernel.settle(&mut operands.call(threads)).unwrap();
            operands.check_softmax(4);
        }
    }
    // PyTorch waits at the exit for the interpreter's lock, which this thread has. Workers do not
    // come there: their supervisor kills them.
    // SAFETY: nothing of this process is needed any more.
    unsafe { libc::_exit(0) };
}
