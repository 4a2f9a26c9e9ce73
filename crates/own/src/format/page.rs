//! The text of an `op.toml` that is made from another format.

use std::fmt::Write;

/// What an `op.toml` says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Page {
    pub(super) summary: String,
    /// Names and default sizes.
    pub(super) axes: Vec<(String, u64)>,
    /// Names and the values that cases give them, the default first.
    pub(super) attributes: Vec<(String, Vec<Number>)>,
    pub(super) dtypes: Vec<&'static str>,
    /// Conditions that the axes of every case meet.
    pub(super) valid: Vec<String>,
    pub(super) operands: Vec<OperandLine>,
    /// Whether the reference has a function `inputs`.
    pub(super) has_inputs: bool,
    /// All cases of a proof.
    pub(super) cases: Vec<String>,
    pub(super) imported: Imported,
}

/// A value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Int(i64),
    Real(f64),
}

impl Number {
    /// As TOML and cases write it.
    pub(super) fn text(self) -> String {
        match self {
            Number::Int(int) => int.to_string(),
            Number::Real(real) => format!("{real:?}"),
        }
    }
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OperandLine {
    pub(super) name: String,
    pub(super) is_output: bool,
    /// Axes or numbers.
    pub(super) shape: Vec<String>,
    /// Its element type, if it is not that of the case.
    pub(super) dtype: Option<String>,
    /// The function `inputs` makes it.
    pub(super) is_made: bool,
    /// The end of its range, if it holds indices.
    pub(super) below: Option<u64>,
}

/// Where the op came from.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Imported {
    pub(super) format: &'static str,
    pub(super) source: String,
    pub(super) rule: String,
    /// Name, stated size, used size.
    pub(super) shrunk: Vec<(String, u64, u64)>,
    /// Cases and their workloads in JSON.
    pub(super) workloads: Vec<(String, String)>,
}

/// A text in quotes.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A list of texts in quotes.
fn quoted_list(texts: &[impl AsRef<str>]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text.as_ref())).collect();
    format!("[{}]", texts.join(", "))
}

impl Page {
    /// The text of the file.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let axes: Vec<String> =
            self.axes.iter().map(|(name, size)| format!("{name} = {size}")).collect();
        let mut line = |words: String| {
            let _ = writeln!(text, "{words}");
        };
        line(format!("# Made from {} by `proofmark new op --from`.", self.imported.format));
        line(format!("summary = {}", quoted(&self.summary)));
        line(format!("axes = {{ {} }}", axes.join(", ")));
        line(format!("dtypes = {}", quoted_list(&self.dtypes)));
        if !self.valid.is_empty() {
            line(format!("valid = {}", quoted_list(&self.valid)));
        }
        if !self.attributes.is_empty() {
            line("\n[attributes]".to_owned());
            for (name, values) in &self.attributes {
                let all: Vec<String> = values.iter().map(|value| value.text()).collect();
                let default = all.first().cloned().unwrap_or_default();
                let all = all.join(", ");
                line(format!("{name} = {{ values = [{all}], default = {default} }}"));
            }
        }
        line("\n[operands]".to_owned());
        for operand in &self.operands {
            line(operand.text());
        }
        line("\n[reference]\npython = \"adapter.py:reference\"".to_owned());
        if self.has_inputs {
            line("inputs = \"inputs\"".to_owned());
        }
        line(
            "\n# Only what the source states is tried, and no special values: it has none.".into(),
        );
        line(format!("[proof]\ncases = {}", quoted_list(&self.cases)));
        line("only_cases = true\nspecials = []".to_owned());
        text.push_str(&self.imported.text());
        text
    }
}

impl OperandLine {
    fn text(&self) -> String {
        let size = |size: &String| match size.parse::<u64>() {
            Ok(number) => number.to_string(),
            Err(_) => quoted(size),
        };
        let shape: Vec<String> = self.shape.iter().map(size).collect();
        let role = if self.is_output { "output" } else { "input" };
        let mut words = format!("role = \"{role}\", shape = [{}]", shape.join(", "));
        if let Some(dtype) = &self.dtype {
            let _ = write!(words, ", dtype = {}", quoted(dtype));
        }
        if self.is_made {
            words.push_str(", made = true");
        }
        if let Some(below) = self.below {
            let _ = write!(words, ", below = {below}");
        }
        format!("{} = {{ {words} }}", self.name)
    }
}

impl Imported {
    fn text(&self) -> String {
        let mut text = format!(
            "\n[imported]\nformat = {}\nsource = {}\n",
            quoted(self.format),
            quoted(&self.source)
        );
        if !self.shrunk.is_empty() {
            let _ = writeln!(text, "rule = {}\n\n[imported.shrunk]", quoted(&self.rule));
            for (name, stated, used) in &self.shrunk {
                let _ = writeln!(text, "{name} = {{ stated = {stated}, used = {used} }}");
            }
        }
        for (case, json) in &self.workloads {
            let (case, json) = (quoted(case), quoted(json));
            let _ = write!(text, "\n[[imported.workloads]]\ncase = {case}\njson = {json}\n");
        }
        text
    }
}
