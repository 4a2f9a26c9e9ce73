//! Signatures of Rust and C that mean the same, and texts that are none.

use super::names::pointee;
use super::*;

fn parsed(text: &str) -> Prototype {
    Prototype::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn rust_and_c_write_the_same_signature() {
    let rust = "softmax(x: *const f32, y: *mut f32, rows: usize, cols: i64, g: i32) -> i32";
    let expected = parsed(rust);
    let element = Pointee::Element(DType::F32);
    let takes: Vec<Takes> = expected.parameters.iter().map(|it| it.takes).collect();
    assert_eq!(
        takes,
        [
            Takes::Pointer { to: element, writes: false },
            Takes::Pointer { to: element, writes: true },
            Takes::Value(Scalar::U64),
            Takes::Value(Scalar::I64),
            Takes::Value(Scalar::I32),
        ]
    );
    assert_eq!((expected.name.as_deref(), expected.returns), (Some("softmax"), Some(Scalar::I32)));
    for text in [
        "fn softmax(x: *const f32, y: *mut f32, rows: usize, cols: isize, g: i32,) -> i32",
        "int softmax(const float *x, float *y, size_t rows, int64_t cols, int g);",
        "int softmax(const float* restrict x, float* __restrict y, size_t rows, long cols, int g)",
        "extern int softmax(float const x[], float y[], unsigned long rows, ptrdiff_t cols, int g)",
        "int softmax(const float *x, float *y, std::size_t rows, std::int64_t cols, int g)",
        "int32_t softmax(const float*x,float*y,const size_t rows,long long cols,signed int g)",
    ] {
        assert_eq!(parsed(text), expected, "{text}");
    }
    assert_eq!(parsed("(x: *const f32)").name, None);
    assert_eq!(parsed("void f(float *x)").returns, None);
    assert_eq!(parsed("(x: *const f32) -> ()").returns, None);
}

#[test]
fn numbers_by_reference_have_both_forms() {
    let rust = parsed("(x: *const f32, rows: &i32, cols: &mut usize)");
    assert_eq!(rust.parameters[1].takes, Takes::Reference(Scalar::I32));
    assert_eq!(rust.parameters[2].takes, Takes::Reference(Scalar::U64));
    let c = parsed("void f_(const float *x, const int *rows, size_t *cols)");
    let Takes::Pointer { to, .. } = c.parameters[1].takes else { panic!("{c:?}") };
    assert_eq!(to.scalar(), Some(Scalar::I32));
    let Takes::Pointer { to, writes } = c.parameters[2].takes else { panic!("{c:?}") };
    assert_eq!((to.scalar(), writes), (Some(Scalar::U64), true));
}

#[test]
fn an_operand_and_an_axis_may_have_one_name() {
    let product = parsed("(a: *const f32, b: *const f32, c: *mut f32, b: usize, m: usize)");
    assert_eq!(product.parameters.len(), 5);
}

#[test]
fn a_parameter_may_have_a_value_of_its_own() {
    let given = parsed("(x: *const f32, n: usize = max(rows, 1) * cols, alpha: f32 = -1.5)");
    let Some(Value::Whole(formula)) = &given.parameters[1].value else { panic!("{given:?}") };
    assert!(formula.uses("rows") && formula.uses("cols"));
    assert_eq!(given.parameters[2].value, Some(Value::Real(-1.5)));
    let c = parsed("void sgemm(int order = 101, const float *x, float alpha = 1.0)");
    assert_eq!(c.parameters[0].takes, Takes::Value(Scalar::I32));
    assert_eq!(c.parameters[2].value, Some(Value::Real(1.0)));
}

#[test]
fn a_pointer_fits_elements_of_its_type_only() {
    let fits = |name| DType::ALL.into_iter().filter(|it| pointee(name).unwrap().fits(*it)).count();
    assert_eq!(["void", "f32", "double", "bf16"].map(fits), [DType::ALL.len(), 1, 1, 1]);
    assert_eq!(["u16", "u8", "char", "int8_t", "size_t"].map(fits), [2, 3, 4, 1, 0]);
}

#[test]
fn what_is_no_signature_says_why() {
    for (text, word) in [
        ("softmax", "no parameters"),
        ("f()", "no operand"),
        ("void f(void)", "no operand"),
        ("f(x: *const f32", "`)` is missing"),
        ("(x: *const f99)", "`f99` cannot be pointed to"),
        ("(x: *const f32, rows: real)", "`real` is not the type"),
        ("(x: f16)", "`f16` is not the type"),
        ("(x: *const f32) -> f32", "it returns `f32`"),
        ("(x: *const f32) -> bool", "it returns `bool`"),
        ("float *f(float *x)", "returns a pointer"),
        ("void *f(float *x)", "returns a pointer"),
        ("(float *x)", "write `int name"),
        ("(x: *const f32) noexcept", "`noexcept` follows"),
        ("void f(float **x)", "pointer to pointers"),
        ("void f(float)", "`float` is not a parameter"),
        ("void f(float *restrict)", "is not a parameter"),
        ("(x: *const f32, x: *mut f32)", "`x` is given twice"),
        ("(x: *const f32, rows: usize, rows: &i32)", "`rows` is given twice"),
        ("(x: *const f32, y)", "`y` is not a parameter"),
        ("(x: *const f32, 2y: i32)", "`2y` is not the name"),
        ("a-b(x: *const f32)", "`a-b` is not the name"),
        ("(x: *const f32, n: i32 = rows +)", "is no expression"),
    ] {
        let said = Prototype::parse(text).unwrap_err().to_string();
        assert!(said.contains(word), "{text}: {said}");
    }
}
