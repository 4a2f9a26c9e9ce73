//! Functions of real libraries, built by the C compiler of the machine.

use crate::trial::{Operands, case, example};
use proofmark_contract::{ExplicitCase, KernelError, Signature};
use proofmark_own::kernel::{BuildError, KernelFile, load};
use proofmark_peers::{NotLoaded, Peered};
use std::fs;
use std::path::Path;

const CASE: &str = "rows:f32[rows=3,cols=8]";

fn loaded(kernel: &KernelFile, of: (&ExplicitCase, &Signature)) -> Peered {
    kernel.build().unwrap_or_else(|error| panic!("{error}"));
    load(kernel, None, of, 1).unwrap_or_else(|reason| panic!("{reason:?}"))
}

/// A function of `values.c` by its signature.
fn of_values(folder: &Path, lines: &str) -> KernelFile {
    let build = r#"["cc", "-O1", "-shared", "-fPIC", "-o", "libvalues.so", "values.c"]"#;
    let text =
        format!("library = \"libvalues.so\"\nbuild = {build}\nsources = [\"values.c\"]\n{lines}\n");
    let path = folder.join("values.toml");
    fs::write(&path, text).unwrap();
    KernelFile::read(&path).unwrap()
}

#[test]
fn a_c_function_is_called_by_its_prototype() {
    let (_folder, kernel) = example("softmax.toml");
    let (case, signature) = case(CASE);
    kernel.supports(&case, &signature).unwrap();
    let peered = loaded(&kernel, (&case, &signature));
    assert_eq!((peered.kernel.name(), peered.receipt.version.as_str()), ("softmax", "1.0"));
    assert!(!peered.kernel.is_parallel() && !peered.kernel.settles());
    let mut operands = Operands::new((&case, &signature), 0);
    peered.kernel.run(&mut operands.call(1)).unwrap();
    operands.check_softmax(4);
    peered.empty.expect("the overhead of libffi can be measured")();
    // Other operands, other addresses.
    let mut others = Operands::new((&case, &signature), 0);
    peered.kernel.run(&mut others.call(1)).unwrap();
    assert_eq!(others.y(), operands.y());
}

#[test]
fn numbers_by_reference_are_whole_again_before_each_call() {
    let (_folder, kernel) = example("scale.toml");
    let (case, signature) = case(CASE);
    let peered = loaded(&kernel, (&case, &signature));
    for _ in 0..3 {
        let mut operands = Operands::new((&case, &signature), 0);
        peered.kernel.run(&mut operands.call(1)).unwrap();
        let expected: Vec<f64> = operands.x().iter().map(|x| 2.5 * x).collect();
        assert_eq!(operands.y(), expected);
    }
}

#[test]
fn weights_are_packed_outside_of_calls() {
    let (_folder, kernel) = example("packed.toml");
    let (case, signature) = case("rows:f32[rows=2,cols=3]");
    let peered = loaded(&kernel, (&case, &signature));
    let mut operands = Operands::new((&case, &signature), 0);
    let unpacked = peered.kernel.run(&mut operands.call(1));
    assert!(
        matches!(unpacked, Err(KernelError::TooSmall { got: 0, need: 36, .. })),
        "{unpacked:?}"
    );
    operands.prepare(peered.kernel, 1).unwrap();
    peered.kernel.run(&mut operands.call(1)).unwrap();
    let (x, w) = (operands.x(), operands.w());
    for (i, y) in operands.y().iter().enumerate() {
        let (row, col) = (i / 3, i % 3);
        let expected: f64 = (0..3).map(|k| x[row * 3 + k] * w[k * 3 + col]).sum();
        assert_eq!(*y, expected, "element {i}");
    }
    let of_inputs = kernel_of(&kernel, "const float *w, uint8_t", "const float *x, uint8_t");
    let reason = of_inputs.supports(&case, &signature).unwrap_err().to_string();
    assert!(reason.contains("`x`") && reason.contains("only weights"), "{reason}");
}

/// The same file with other words.
fn kernel_of(kernel: &KernelFile, from: &str, to: &str) -> KernelFile {
    let text = fs::read_to_string(&kernel.path).unwrap();
    KernelFile::parse(&text.replace(from, to), &kernel.path).unwrap()
}

#[test]
fn every_kind_of_argument_arrives_as_it_was_given() {
    let (folder, _) = example("softmax.toml");
    let kernel = of_values(
        folder.path(),
        "call = \"void values(float *y, int g, unsigned rows, int64_t x_len, size_t cols, \
         float factor, double d = 0.5, bool exact, const char *mode, int n = -rows * 2, \
         double d2 = 1, double d3 = 1, double d4 = 1, double d5 = 1, double d6 = 1, \
         double d7 = 1, double d8 = 1, float ninth = -1.25, const float *x)\"",
    );
    let (case, signature) = case("rows:f32[rows=3,cols=8;g=-5]");
    let peered = loaded(&kernel, (&case, &signature));
    let mut operands = Operands::new((&case, &signature), 0);
    peered.kernel.run(&mut operands.call(1)).unwrap();
    let expected = [-5.0, 3.0, 24.0, 8.0, 2.5, 7.5, 1.0, 1.0, -6.0, -1.25, 0.5];
    assert_eq!(operands.y()[..11], expected);
}

#[test]
fn arguments_in_registers_arrive_as_they_were_given() {
    let (folder, _) = example("softmax.toml");
    let kernel = of_values(
        folder.path(),
        "call = \"int in_registers(float *y, int g, float factor, int64_t x_len, double d = -0.5, \
         bool exact, const float *x)\"",
    );
    let (case, signature) = case("rows:f32[rows=3,cols=8;g=-5]");
    let peered = loaded(&kernel, (&case, &signature));
    let mut operands = Operands::new((&case, &signature), 0);
    peered.kernel.run(&mut operands.call(1)).unwrap();
    assert_eq!(operands.y()[..6], [-5.0, 2.5, 24.0, -0.5, 1.0, 0.5]);
}

#[test]
fn rows_are_apart_only_for_a_function_that_takes_the_stride() {
    let (folder, softmax) = example("softmax.toml");
    let strided = of_values(
        folder.path(),
        "call = \"(x: *const f32, y: *mut f32, rows: usize, cols: usize, x_stride: usize, \
         y_stride: i32)\"\nsymbol = \"copy_rows\"",
    );
    let (case, signature) = case(CASE);
    let peered = loaded(&strided, (&case, &signature));
    for padding in [0, 5] {
        let mut operands = Operands::new((&case, &signature), padding);
        peered.kernel.run(&mut operands.call(1)).unwrap();
        assert_eq!(operands.y(), operands.x());
    }
    let is_dense = |kernel: &KernelFile| kernel.contract(&case, &signature).dense_rows;
    assert!(!is_dense(&strided), "it does not take `w`, and the strides of the others");
    assert!(is_dense(&softmax));
    let dense = loaded(&softmax, (&case, &signature));
    let mut operands = Operands::new((&case, &signature), 5);
    let refused = dense.kernel.run(&mut operands.call(1)).unwrap_err().to_string();
    assert!(refused.contains("`x` lie 13") && refused.contains("`x_stride`"), "{refused}");
}

#[test]
fn a_span_counts_the_padding_between_rows() {
    let (folder, _) = example("softmax.toml");
    let kernel = of_values(
        folder.path(),
        "call = \"spans(y: *mut f32, y_span: usize, x: *const f32, x_span: usize, y_stride: i32, \
         x_stride: usize)\"",
    );
    let (case, signature) = case(CASE);
    let peered = loaded(&kernel, (&case, &signature));
    for (padding, span) in [(0, 24.0), (5, 34.0)] {
        let mut operands = Operands::new((&case, &signature), padding);
        peered.kernel.run(&mut operands.call(1)).unwrap();
        assert_eq!(operands.y()[..3], [span, span, 8.0 + padding as f64]);
    }
}

#[test]
fn a_kernel_takes_what_its_parameters_and_their_formulas_name() {
    let (folder, _) = example("softmax.toml");
    let kernel = of_values(
        folder.path(),
        "call = \"void copy_f32(const float *x, float *y, size_t n = rows * cols)\"",
    );
    assert!(kernel.takes("rows") && kernel.takes("cols"));
    assert!(!kernel.takes("g") && !kernel.takes("n"));
}

#[test]
fn element_types_choose_the_function() {
    let (folder, _) = example("softmax.toml");
    let kernel = of_values(
        folder.path(),
        "call = [\"void copy_f32(const float *x, float *y, size_t n = x_len)\", \
         \"void copy_bf16(const bf16 *x, bf16 *y, size_t n = x_len)\"]",
    );
    let supports = |dtype: &str| {
        let (case, signature) = case(&format!("rows:{dtype}[rows=1,cols=4]"));
        kernel.supports(&case, &signature).map_err(|reason| reason.to_string())
    };
    assert_eq!((supports("f32"), supports("bf16")), (Ok(()), Ok(())));
    let reason = supports("f16").unwrap_err();
    assert!(reason.contains("`x` is f16, and `copy_bf16` takes it as bf16"), "{reason}");
    let both = kernel_of(&kernel, "const float *x, float *y", "const void *x, void *y");
    let (case, signature) = case("rows:bf16[rows=1,cols=4]");
    let reason = both.supports(&case, &signature).unwrap_err().to_string();
    assert!(reason.contains("`copy_f32` and `copy_bf16` both fit"), "{reason}");
}

#[test]
fn a_code_that_is_not_zero_is_an_error_with_the_code() {
    let (folder, _) = example("softmax.toml");
    let kernel = of_values(folder.path(), "call = \"int fails(const float *x, float *y)\"");
    let (case, signature) = case(CASE);
    let peered = loaded(&kernel, (&case, &signature));
    let mut operands = Operands::new((&case, &signature), 0);
    let error = peered.kernel.run(&mut operands.call(1)).unwrap_err().to_string();
    assert!(error.contains("`fails` returned -7"), "{error}");
}

#[test]
fn a_code_is_as_wide_as_its_type() {
    let (folder, _) = example("softmax.toml");
    let (case, signature) = case(CASE);
    for (returns, is_wide) in [("int", false), ("int64_t", true)] {
        let call = format!("call = \"{returns} fills_the_register(const float *x, float *y)\"");
        let kernel = of_values(folder.path(), &call);
        let peered = loaded(&kernel, (&case, &signature));
        let mut operands = Operands::new((&case, &signature), 0);
        assert_eq!(peered.kernel.run(&mut operands.call(1)).is_err(), is_wide, "{returns}");
    }
}

#[test]
fn scratch_memory_and_arguments_follow_the_number_of_threads() {
    let (folder, _) = example("softmax.toml");
    let kernel = of_values(
        folder.path(),
        "workspace_bytes = \"64 * threads\"\ncall = \"(x: *const f32, y: *mut f32, \
         workspace: *mut u8, threads: i32, last: usize = 64 * threads - 1)\"\n\
         symbol = \"in_workspace\"",
    );
    let (case, signature) = case(CASE);
    let peered = loaded(&kernel, (&case, &signature));
    assert!(peered.kernel.is_parallel());
    let mut operands = Operands::new((&case, &signature), 0);
    for threads in [1, 3, 2] {
        peered.kernel.set_threads(threads);
        operands.prepare(peered.kernel, threads).unwrap();
        assert_eq!(operands.workspace.as_slice().len(), 64 * threads);
        peered.kernel.run(&mut operands.call(threads)).unwrap();
        assert_eq!(operands.y()[0], threads as f64);
    }
    operands.workspace = proofmark_tensor::AlignedBuffer::new(64);
    let small = peered.kernel.run(&mut operands.call(2));
    assert!(matches!(small, Err(KernelError::TooSmall { need: 128, .. })), "{small:?}");
    let serial = kernel_of(&kernel, "workspace_bytes", "threads = 1\nworkspace_bytes");
    assert!(!loaded(&serial, (&case, &signature)).kernel.is_parallel());
}

#[test]
fn names_and_types_that_do_not_fit_are_told() {
    let (folder, _) = example("softmax.toml");
    let (case, signature) = case(CASE);
    for (call, words) in [
        ("void f(const float *x, float *y, size_t cosl)", "did you mean `cols`?"),
        ("void f(const float *x, float *z)", "`z` is no operand, axis or attribute of `rows`"),
        ("void f(const float *x)", "does not take `y`"),
        ("void f(const float *x, const float *y)", "as constant"),
        ("void f(const double *x, float *y)", "`x` is f32, and `f` takes it as f64"),
        ("void f(const float *x, float *y, int mode)", "`mode` is a word"),
        ("void f(const float *x, float *y, int factor)", "`factor` is a real number"),
        ("void f(const float *x, float *y, int n = factor)", "`factor` is 2.5, no whole"),
        ("void f(const float *x, float *y, int w)", "`w` is an operand"),
        ("void f(const float *x, float *y, unsigned g)", "-5 does not fit u32"),
        ("void f(const float *x, float *y, float x_stride)", "whole number of elements"),
        ("void f(const float *x, float *y, int n = 1 / (g + 5))", "divides by zero"),
    ] {
        let kernel = of_values(folder.path(), &format!("call = \"{call}\""));
        let (case, signature) = crate::trial::case("rows:f32[rows=3,cols=8;g=-5]");
        let reason = kernel.supports(&case, &signature).unwrap_err().to_string();
        assert!(reason.contains(words), "{call}: {reason}");
        let refused = load(&kernel, None, (&case, &signature), 1);
        assert!(matches!(refused, Err(NotLoaded::Unsupported(_))), "{call}");
    }
    let kernel = of_values(folder.path(), "call = \"void nowhere(const float *x, float *y)\"");
    let broken = |kernel: &KernelFile| match load(kernel, None, (&case, &signature), 1) {
        Err(NotLoaded::Broken(reason)) => reason,
        other => panic!("{:?}", other.err()),
    };
    assert!(broken(&kernel).contains("libvalues.so is not there: build it"));
    kernel.build().unwrap();
    let reason = broken(&kernel);
    assert!(reason.contains("has no `nowhere`") && reason.contains("extern"), "{reason}");
}

#[test]
fn a_library_is_built_when_its_sources_or_its_file_are_newer() {
    let (folder, kernel) = example("softmax.toml");
    let source = folder.path().join("softmax.c");
    let age = |path: &Path, seconds| {
        let then = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        fs::File::options().append(true).open(path).unwrap().set_modified(then).unwrap();
    };
    age(&source, 1000);
    age(&kernel.path, 1000);
    assert!(kernel.build().unwrap(), "there is no library");
    assert!(!kernel.build().unwrap());
    let library = folder.path().join("libsoftmax.so");
    age(&library, 1001);
    assert!(!kernel.build().unwrap());
    for changed in [&source, &kernel.path] {
        age(&library, 1001);
        age(changed, 1002);
        assert!(kernel.build().unwrap(), "{}", changed.display());
        age(changed, 1000);
    }
    fs::write(&source, "int broken(").unwrap();
    let said = kernel.build().unwrap_err();
    assert!(
        matches!(&said, BuildError::Failed { said, .. } if said.contains("softmax.c")),
        "{said}"
    );
    let elsewhere = kernel_of(&kernel, "\"cc\"", "\"true\"");
    assert!(matches!(elsewhere.build(), Err(BuildError::NoLibrary { .. })));
    let without = kernel_of(&kernel, "\"cc\"", "\"no-such-compiler\"");
    assert!(matches!(without.build(), Err(BuildError::NoProgram { .. })));
    fs::remove_file(&source).unwrap();
    assert!(matches!(kernel.build(), Err(BuildError::NoSource { .. })));
}

#[test]
fn a_worker_may_read_the_kernel_and_libraries_beside_it() {
    let (folder, kernel) = example("softmax.toml");
    kernel.build().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("libother.so.2"), "").unwrap();
    let permit = kernel.permit(None);
    assert_eq!(permit.reads, [at("libother.so.2"), at("libsoftmax.so"), at("softmax.toml")]);
    assert!(!permit.needs.jit && !permit.needs.interpreter);
    assert!(kernel_of(&kernel, "version", "jit = true\nversion").permit(None).needs.jit);
    assert_eq!(kernel.files(None), [at("libsoftmax.so"), at("softmax.toml")]);
}
