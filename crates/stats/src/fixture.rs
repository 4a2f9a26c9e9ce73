//! Reads the reference values that `fixtures/make.py` wrote.

use serde_json::Value;

/// One row of a fixture: a JSON object.
pub(crate) struct Fixture(Value);

impl Fixture {
    /// The rows of a fixture file: a JSON list of objects, never empty.
    pub(crate) fn rows(text: &str) -> Vec<Fixture> {
        let rows: Vec<Value> = serde_json::from_str(text).unwrap();
        assert!(!rows.is_empty());
        rows.into_iter().map(Fixture).collect()
    }

    /// A number.
    pub(crate) fn number(&self, name: &str) -> f64 {
        self.0[name].as_f64().unwrap_or_else(|| panic!("no number {name}"))
    }

    /// A whole number.
    pub(crate) fn count(&self, name: &str) -> usize {
        self.0[name].as_u64().unwrap_or_else(|| panic!("no count {name}")) as usize
    }

    /// A list of numbers.
    pub(crate) fn numbers(&self, name: &str) -> Vec<f64> {
        let list = self.0[name].as_array().unwrap_or_else(|| panic!("no list {name}"));
        list.iter().map(|value| value.as_f64().unwrap()).collect()
    }

    /// A list of yes and no.
    pub(crate) fn flags(&self, name: &str) -> Vec<bool> {
        let list = self.0[name].as_array().unwrap_or_else(|| panic!("no list {name}"));
        list.iter().map(|value| value.as_bool().unwrap()).collect()
    }
}

/// Whether two numbers agree to a relative error.
pub(crate) fn close(got: f64, want: f64, relative: f64) -> bool {
    (got - want).abs() <= relative * want.abs().max(f64::MIN_POSITIVE)
}

/// Whether two lists agree entry by entry to a relative error.
pub(crate) fn all_close(got: &[f64], want: &[f64], relative: f64) -> bool {
    got.len() == want.len() && got.iter().zip(want).all(|(g, w)| close(*g, *w, relative))
}
