//! `op.toml`: what an op of the user is.

use crate::Expression;
use proofmark_schema::DType;
use proofmark_tensor::Fill;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;
use std::path::PathBuf;

/// The name of the file in an op's folder.
pub const MANIFEST: &str = "op.toml";

/// What `op.toml` says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    /// The op's name; that of its folder where the file states none.
    pub(crate) name: Option<String>,
    /// One line: the formula.
    pub(crate) summary: String,
    /// The axes in declared order.
    pub(crate) axes: Ordered<AxisText>,
    /// The attributes.
    #[serde(default)]
    pub(crate) attributes: Ordered<AttributeText>,
    /// Element types.
    #[serde(default = "single_precision")]
    pub(crate) dtypes: Vec<DType>,
    /// What must hold for the axes and attributes of a case.
    #[serde(default)]
    pub(crate) valid: OneOrMore<ExpressionText>,
    /// The operands in declared order.
    pub(crate) operands: Ordered<OperandText>,
    /// Arithmetic and traffic of a call.
    #[serde(default)]
    pub(crate) work: WorkText,
    /// Where the truth comes from.
    pub(crate) reference: ReferenceText,
    /// Rules for special values, by topic.
    #[serde(default)]
    pub(crate) edges: Ordered<String>,
    /// What the gate tries.
    #[serde(default)]
    pub(crate) proof: ProofText,
    /// Where it came from, if it was read from another project's format.
    pub(crate) imported: Option<ImportedText>,
    /// Named sizes and sweeps, as in the suite of a built-in op.
    #[serde(default)]
    pub(crate) sizes: Ordered<toml::Table>,
}

/// A default size, or a table with more.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum AxisText {
    /// The size where a sweep names none.
    Default(u64),
    /// A table.
    Full {
        /// The size where a sweep names none.
        default: u64,
        /// What it counts.
        #[serde(default)]
        meaning: String,
        /// Its column in flat tables: `batch`, `sequence` or `dimension`.
        role: Option<AxisRoleText>,
    },
}

/// The column of an axis in flat tables.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AxisRoleText {
    /// Independent problems.
    Batch,
    /// Positions of a sequence, or rows.
    Sequence,
    /// An inner dimension.
    Dimension,
}

/// An attribute: a table, or only its default.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum AttributeText {
    /// `true` or `false`.
    Flag(bool),
    /// One of a list.
    Listed {
        /// All values.
        values: Vec<Scalar>,
        /// What it is where a case does not name it.
        default: Scalar,
        /// What it changes.
        #[serde(default)]
        meaning: String,
    },
    /// A number in a range.
    Range {
        /// Least value.
        low: Scalar,
        /// Greatest value.
        high: Scalar,
        /// What it is where a case does not name it.
        default: Scalar,
        /// What it changes.
        #[serde(default)]
        meaning: String,
    },
}

/// A value of an attribute.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Scalar {
    /// A whole number.
    Int(i64),
    /// A real number.
    Real(f64),
    /// A word.
    Word(String),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Int(int) => write!(f, "{int}"),
            Scalar::Real(real) => write!(f, "{real:?}"),
            Scalar::Word(word) => f.write_str(word),
        }
    }
}

/// An operand.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OperandText {
    /// What a call does with it.
    pub(crate) role: RoleText,
    /// Its sizes: axes, numbers or expressions.
    pub(crate) shape: Vec<SizeText>,
    /// Its element type, where it is not that of the case.
    pub(crate) dtype: Option<DType>,
    /// Kernels must accept rows that do not lie densely.
    #[serde(default)]
    pub(crate) strided: bool,
    /// The only fill whose values make sense, as `uniform(0,1)`.
    pub(crate) fill: Option<FillText>,
    /// Its elements are whole numbers from 0 to this, exclusive: indices.
    pub(crate) below: Option<ExpressionText>,
    /// Its values come from the function that `inputs` of the reference names.
    #[serde(default)]
    pub(crate) made: bool,
}

/// What a call does with an operand.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RoleText {
    /// Read anew by each call.
    Input,
    /// Read, and the same for many calls.
    Weight,
    /// Written.
    Output,
}

/// Arithmetic and traffic of a call.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkText {
    /// Operations; a multiply-add counts two. Tables show no rate where they are not stated.
    pub(crate) flops: Option<ExpressionText>,
    /// Calls of exp and of similar functions.
    pub(crate) transcendentals: Option<ExpressionText>,
    /// Bytes that are read at least once, where not all inputs are read.
    pub(crate) bytes_read: Option<ExpressionText>,
    /// Bytes that are written at least once, where not all outputs are written.
    pub(crate) bytes_written: Option<ExpressionText>,
    /// Terms in the longest sum; from the reference where it is not stated.
    pub(crate) reduction: Option<ExpressionText>,
}

impl WorkText {
    /// Every expression that is stated.
    pub(crate) fn all(&self) -> impl Iterator<Item = &ExpressionText> {
        let WorkText { flops, transcendentals, bytes_read, bytes_written, reduction } = self;
        [flops, transcendentals, bytes_read, bytes_written, reduction].into_iter().flatten()
    }
}

/// Where the truth comes from.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "write `python = \"file.py:function\"`; `library`, `symbol` and `parameters` are \
                 what `cargo bench` writes"
)]
pub(crate) enum ReferenceText {
    /// A function in Python.
    Python {
        /// `file.py:function`, relative to the folder.
        python: String,
        /// The function of the same file that makes the operands that are `made`. It takes
        /// `data_seed`, axes and attributes by name, and returns tensors by the names of the
        /// operands.
        inputs: Option<String>,
    },
    /// A function of a shared library, which gives values and scales.
    Library {
        /// The library, relative to the folder.
        library: PathBuf,
        /// The function.
        symbol: String,
        /// What it takes, by name.
        parameters: Vec<String>,
    },
}

impl ReferenceText {
    /// The function that makes operands, if there is one.
    pub(crate) fn inputs(&self) -> Option<&str> {
        match self {
            ReferenceText::Python { inputs, .. } => inputs.as_deref(),
            ReferenceText::Library { .. } => None,
        }
    }
}

/// Where an op came from that was read from another project's format.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImportedText {
    /// The format.
    pub(crate) format: String,
    /// Its name there.
    pub(crate) source: String,
    /// The rule by which sizes were made smaller, in words.
    #[serde(default)]
    #[expect(dead_code, reason = "people read it; the sizes themselves are in `shrunk`")]
    pub(crate) rule: String,
    /// Sizes that are smaller here than there.
    #[serde(default)]
    pub(crate) shrunk: Ordered<ShrunkText>,
    /// Workloads of the format, each with the case that it is here.
    #[serde(default)]
    pub(crate) workloads: Vec<WorkloadText>,
}

/// A size that was made smaller.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShrunkText {
    /// What the source states.
    pub(crate) stated: u64,
    /// What is used.
    pub(crate) used: u64,
}

/// A workload of another format.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkloadText {
    /// The case, as `rows=3 cols=40`.
    pub(crate) case: String,
    /// The workload in JSON, as the format has it.
    pub(crate) json: String,
}

/// What the gate tries.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProofText {
    /// More cases than those that are made from the axes, as `rows=3 cols=40 g=8`.
    #[serde(default)]
    pub(crate) cases: Vec<String>,
    /// Only these cases, and none that are made from the axes.
    #[serde(default)]
    pub(crate) only_cases: bool,
    /// More fills of the inputs on top of the standard ones, as `offset(100)`.
    #[serde(default)]
    pub(crate) fills: Vec<FillText>,
    /// Fills on which every right kernel gives the exact result, as `ints(3,1)`.
    #[serde(default)]
    pub(crate) exact: Vec<FillText>,
    /// Inputs that NaN, infinities and zeros are planted in; all of real numbers where none is
    /// stated, none where the list is empty.
    pub(crate) specials: Option<Vec<String>>,
}

/// One value, or a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMore<T> {
    /// One.
    One(T),
    /// A list.
    More(Vec<T>),
}

impl<T> Default for OneOrMore<T> {
    fn default() -> Self {
        OneOrMore::More(Vec::new())
    }
}

impl<T> OneOrMore<T> {
    /// All values.
    pub(crate) fn as_slice(&self) -> &[T] {
        match self {
            OneOrMore::One(one) => std::slice::from_ref(one),
            OneOrMore::More(more) => more,
        }
    }
}

/// A table of TOML in the order of the file.
#[derive(Clone, Debug)]
pub(crate) struct Ordered<T>(pub(crate) Vec<(String, T)>);

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Ordered(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ordered<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Table<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Table<T> {
            type Value = Ordered<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ordered<T>, A::Error> {
                let mut all = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    all.push(entry);
                }
                Ok(Ordered(all))
            }
        }
        deserializer.deserialize_map(Table(PhantomData))
    }
}

/// An expression as TOML holds it: a text, or a number.
#[derive(Clone, Debug)]
pub(crate) struct ExpressionText(pub(crate) Expression);

/// A size of a shape.
pub(crate) type SizeText = ExpressionText;

impl<'de> Deserialize<'de> for ExpressionText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Scalar::deserialize(deserializer)? {
            Scalar::Int(number) => Ok(ExpressionText(Expression::number(number))),
            Scalar::Word(text) => text.parse().map(ExpressionText).map_err(D::Error::custom),
            Scalar::Real(_) => Err(D::Error::custom("expected a whole number or an expression")),
        }
    }
}

/// A fill as TOML holds it.
#[derive(Clone, Debug)]
pub(crate) struct FillText(pub(crate) Fill);

impl<'de> Deserialize<'de> for FillText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(FillText).map_err(D::Error::custom)
    }
}

fn single_precision() -> Vec<DType> {
    vec![DType::F32]
}
