//! An op of the user, as the gate, the records and the tables see it.

use crate::manifest::{
    AttributeText, AxisRoleText, AxisText, ExpressionText, Manifest, OperandText, RoleText, Scalar,
    ShrunkText,
};
use crate::reference::Reference;
use crate::{Expression, cases};
use proofmark_contract::{
    Attribute, AttributeKind, Axis, AxisRole, BadCase, Definition, Filling, NoTruth, Op, Operand,
    Portfolio, Role, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::imported::{ImportedFrom, Shrunk};
use proofmark_schema::{AttrValue, Case, DType, Work, is_name};
use proofmark_tensor::{Fill, mix};
use std::path::{Path, PathBuf};

/// An op that a folder defines.
pub struct OwnOp {
    folder: PathBuf,
    name: &'static str,
    summary: &'static str,
    edges: &'static [&'static str],
    axes: &'static [Axis],
    attributes: &'static [Attribute],
    dtypes: &'static [DType],
    manifest: Manifest,
    operand_names: Vec<&'static str>,
    reference: Reference,
}

/// A text that lives as long as the process, as the texts of the built-in ops do.
fn kept(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

fn kept_all<T>(all: Vec<T>) -> &'static [T] {
    Box::leak(all.into_boxed_slice())
}

impl OwnOp {
    /// The op of a folder with this `op.toml`.
    ///
    /// # Errors
    /// What in `op.toml` contradicts itself.
    pub(crate) fn new(
        folder: &Path,
        manifest: Manifest,
        reference: Reference,
    ) -> Result<OwnOp, String> {
        let folder_name = folder.file_name().unwrap_or_default().to_string_lossy();
        let name = manifest.name.clone().unwrap_or_else(|| folder_name.into_owned());
        if !is_name(&name) {
            return Err(format!("`{name}` is no name: write letters, digits and `._+-`"));
        }
        let axis = |(name, text): &(String, AxisText)| {
            let (default, meaning, role) = match text {
                AxisText::Default(default) => (*default, "", None),
                AxisText::Full { default, meaning, role } => (*default, meaning.as_str(), *role),
            };
            let role = match role {
                Some(AxisRoleText::Batch) => AxisRole::Batch,
                Some(AxisRoleText::Sequence) => AxisRole::Sequence,
                Some(AxisRoleText::Dimension) | None => AxisRole::Dimension,
            };
            Axis { name: kept(name), meaning: kept(meaning), role, default }
        };
        let axes: Vec<Axis> = manifest.axes.0.iter().map(axis).collect();
        let attribute = |(name, text): &(String, AttributeText)| attribute(name, text);
        let attributes: Result<Vec<_>, String> =
            manifest.attributes.0.iter().map(attribute).collect();
        let edges = manifest.edges.0.iter().map(|(topic, rule)| kept(&format!("{topic}: {rule}")));
        let op = OwnOp {
            folder: folder.to_owned(),
            name: kept(&name),
            summary: kept(&manifest.summary),
            edges: kept_all(edges.collect()),
            axes: kept_all(axes),
            attributes: kept_all(attributes?),
            dtypes: kept_all(manifest.dtypes.clone()),
            operand_names: manifest.operands.0.iter().map(|(name, _)| kept(name)).collect(),
            manifest,
            reference,
        };
        op.check()?;
        Ok(op)
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The files that decide what it is and how its kernels are judged.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files = vec![self.folder.join(crate::MANIFEST), self.reference.file().to_owned()];
        // What the reference may read from its folder, as an imported problem.
        for folder in ["", crate::format::TASK_FOLDER] {
            let beside = std::fs::read_dir(self.folder.join(folder)).into_iter().flatten();
            let beside = beside.flatten().map(|entry| entry.path());
            let is_read = |path: &PathBuf| {
                path.extension().is_some_and(|extension| extension == "py" || extension == "json")
            };
            files.extend(beside.filter(is_read));
        }
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Where its truth comes from.
    pub fn reference(&self) -> &Reference {
        &self.reference
    }

    /// What `op.toml` says of the operand of that name.
    pub(crate) fn operand_text(&self, name: &str) -> Option<&OperandText> {
        self.manifest.operands.0.iter().find(|(known, _)| known == name).map(|(_, text)| text)
    }

    /// The end of the range of an operand that holds indices.
    pub(crate) fn below(&self, name: &str, case: &Case) -> Option<u64> {
        self.count(self.operand_text(name)?.below.as_ref(), case)
    }

    /// The case of the declared defaults.
    pub fn default_case(&self, dtype: DType) -> Case {
        self.axes
            .iter()
            .fold(Case::new(self.name, dtype), |case, axis| case.axis(axis.name, axis.default))
    }

    /// The manifest.
    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Errors that concern every case are found once, when the folder is read.
    fn check(&self) -> Result<(), String> {
        let Some(&dtype) = self.dtypes.first() else {
            return Err("`dtypes` is empty: name at least one element type".to_owned());
        };
        let is_output = |(_, operand): &(String, OperandText)| operand.role.is_written();
        if !self.manifest.operands.0.iter().any(is_output) {
            return Err("no operand has `role = \"output\"`".to_owned());
        }
        let axes = self.manifest.axes.0.iter().map(|(name, _)| name);
        let operands = self.manifest.operands.0.iter().map(|(name, _)| name);
        let others: Vec<&String> = axes.chain(operands).collect();
        // An axis and an operand may have one name, as in `a[m,k] b[k,n]` with batches `b`: where a
        // parameter has it, the operand is meant.
        let attributes = self.manifest.attributes.0.iter().map(|(name, _)| name);
        if let Some(name) = attributes.into_iter().find(|name| others.contains(name)) {
            return Err(format!(
                "`{name}` is an attribute, and an axis or operand too: rename one"
            ));
        }
        let case = self.default_case(dtype);
        let signature = proofmark_contract::check_case(self, &case);
        signature.map_err(|error| format!("the default sizes are no case of this op: {error}"))?;
        for text in self.manifest.work.all() {
            self.value(&text.0, &case)?;
        }
        for extra in &self.manifest.proof.cases {
            cases::stated(self, extra, dtype)?;
        }
        let is_made = |(_, operand): &(String, OperandText)| operand.made;
        let made = self.manifest.operands.0.iter().find(|operand| is_made(operand));
        if let (Some((name, _)), None) = (made, self.manifest.reference.inputs()) {
            return Err(format!("`{name}` is made: name the function in `inputs` of `reference`"));
        }
        for name in self.manifest.proof.specials.iter().flatten() {
            if !self.manifest.operands.0.iter().any(|(known, _)| known == name) {
                return Err(format!("`specials` names `{name}`, which is no operand"));
            }
        }
        Ok(())
    }

    /// The value of an expression for a case: of axes, flags and whole numbers.
    fn value(&self, expression: &Expression, case: &Case) -> Result<i64, String> {
        let of_name = |name: &str| {
            if let Some(size) = case.size(name) {
                return i64::try_from(size).ok();
            }
            let attribute = self.attributes.iter().find(|attribute| attribute.name == name)?;
            match case.get(name).cloned().unwrap_or_else(|| attribute.default()) {
                AttrValue::Int(number) => Some(number),
                AttrValue::Flag(flag) => Some(i64::from(flag)),
                AttrValue::Real(_) | AttrValue::Word(_) => None,
            }
        };
        expression.value(&of_name).map_err(|error| error.to_string())
    }

    /// The value of an expression that a case was accepted with; 0 for what has none.
    fn count(&self, text: Option<&ExpressionText>, case: &Case) -> Option<u64> {
        let value = self.value(&text?.0, case).unwrap_or(0);
        Some(u64::try_from(value).unwrap_or(0))
    }

    fn operand(&self, index: usize, case: &Case) -> Result<Operand, String> {
        let text = &self.manifest.operands.0[index].1;
        let size = |text: &ExpressionText| {
            let value = self.value(&text.0, case)?;
            usize::try_from(value).map_err(|_| format!("`{}` is {value}, no size", text.0))
        };
        let shape: Vec<usize> = text.shape.iter().map(size).collect::<Result<_, _>>()?;
        let role = match text.role {
            RoleText::Input => Role::Input,
            RoleText::Weight => Role::Weight,
            RoleText::Output => Role::Output,
        };
        let dtype = text.dtype.unwrap_or(case.dtype);
        let operand = Operand::new(self.operand_names[index], role, dtype, &shape);
        let operand = if text.strided { operand } else { operand.dense() };
        Ok(match &text.fill {
            Some(fill) => operand.only(fill.0.clone()),
            // `structure` makes indices of the bits.
            // The same for what the user's function makes.
            None if text.made && operand.dtype.is_float() => {
                operand.only(Fill::Uniform { low: 0.0, high: 1.0 })
            }
            None if text.below.is_some() || text.made => operand.only(Fill::RandomBits { bits: 7 }),
            None => operand,
        })
    }
}

impl RoleText {
    fn is_written(self) -> bool {
        matches!(self, RoleText::Output)
    }
}

fn attribute(name: &str, text: &AttributeText) -> Result<Attribute, String> {
    let number = |scalar: &Scalar| match scalar {
        Scalar::Int(int) => Some(*int as f64),
        Scalar::Real(real) => Some(*real),
        Scalar::Word(_) => None,
    };
    let range = |values: &[&Scalar], default: &Scalar| match default {
        Scalar::Word(_) => Err(format!("attribute `{name}`: its default is no number")),
        Scalar::Int(default) if values.iter().all(|value| matches!(value, Scalar::Int(_))) => {
            let ints = || values.iter().filter_map(|value| number(value)).map(|it| it as i64);
            let (low, high) = (ints().min().unwrap_or(*default), ints().max().unwrap_or(*default));
            Ok(AttributeKind::Int { low, high, default: *default })
        }
        default => {
            let reals = || values.iter().filter_map(|value| number(value));
            let low = reals().fold(f64::INFINITY, f64::min);
            let high = reals().fold(f64::NEG_INFINITY, f64::max);
            Ok(AttributeKind::Real { low, high, default: number(default).unwrap_or(low) })
        }
    };
    let (meaning, kind) = match text {
        AttributeText::Flag(default) => ("", AttributeKind::Flag { default: *default }),
        AttributeText::Listed { values, default, meaning } => {
            if !values.contains(default) {
                return Err(format!("attribute `{name}`: its default is none of its values"));
            }
            let words: Option<Vec<&'static str>> = values
                .iter()
                .map(|value| match value {
                    Scalar::Word(word) => Some(kept(word)),
                    _ => None,
                })
                .collect();
            let kind = match (words, default) {
                (Some(words), Scalar::Word(default)) => {
                    AttributeKind::Word { words: kept_all(words), default: kept(default) }
                }
                _ => range(&values.iter().collect::<Vec<_>>(), default)?,
            };
            (meaning.as_str(), kind)
        }
        AttributeText::Range { low, high, default, meaning } => {
            (meaning.as_str(), range(&[low, high, default], default)?)
        }
    };
    Ok(Attribute { name: kept(name), meaning: kept(meaning), kind })
}

impl Definition for OwnOp {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn edges(&self) -> &'static [&'static str] {
        self.edges
    }

    fn axes(&self) -> &'static [Axis] {
        self.axes
    }

    fn attributes(&self) -> &'static [Attribute] {
        self.attributes
    }

    fn dtypes(&self) -> &'static [DType] {
        self.dtypes
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        for (name, text) in &self.manifest.attributes.0 {
            let (AttributeText::Listed { values, .. }, Some(given)) = (text, case.get(name)) else {
                continue;
            };
            let is_given = |value: &Scalar| match (value, given) {
                (Scalar::Int(a), AttrValue::Int(b)) => a == b,
                (Scalar::Real(a), AttrValue::Real(b)) => a == b,
                (Scalar::Int(a), AttrValue::Real(b)) => *a as f64 == *b,
                (Scalar::Real(a), AttrValue::Int(b)) => *a == *b as f64,
                (Scalar::Word(a), AttrValue::Word(b)) => a == b,
                _ => false,
            };
            if !values.iter().any(is_given) {
                let known: Vec<String> = values.iter().map(Scalar::to_string).collect();
                let known = known.join(", ");
                let reason = format!("attribute `{name}` cannot be {given}: it is one of {known}");
                return Err(BadCase::Contradiction(reason));
            }
        }
        for condition in self.manifest.valid.as_slice() {
            if self.value(&condition.0, case).map_err(BadCase::Contradiction)? == 0 {
                return Err(BadCase::Contradiction(format!("`{}` does not hold", condition.0)));
            }
        }
        let operands = (0..self.operand_names.len()).map(|index| self.operand(index, case));
        let operands: Result<Vec<_>, String> = operands.collect();
        operands.map(Signature::new).map_err(BadCase::Contradiction)
    }
}

impl Op for OwnOp {
    fn work(&self, case: &Case) -> Work {
        let text = &self.manifest.work;
        let bytes = |is_written: bool| {
            let operands = self.signature(case).map(|s| s.operands().to_vec()).unwrap_or_default();
            let those = operands.iter().filter(|operand| operand.role.is_written() == is_written);
            those.map(Operand::bytes).sum()
        };
        Work {
            flops: self.count(text.flops.as_ref(), case).unwrap_or(0),
            bytes_read: self.count(text.bytes_read.as_ref(), case).unwrap_or_else(|| bytes(false)),
            bytes_written: self
                .count(text.bytes_written.as_ref(), case)
                .unwrap_or_else(|| bytes(true)),
            transcendentals: self.count(text.transcendentals.as_ref(), case).unwrap_or(0),
        }
    }

    fn reduction(&self, case: &Case) -> u64 {
        let stated = self.count(self.manifest.work.reduction.as_ref(), case);
        stated.unwrap_or_else(|| self.reference.reduction(self, case)).max(1)
    }

    /// The reference gives all rows at once.
    fn sequences(&self, _case: &Case) -> usize {
        1
    }

    /// A process of its own computes it.
    fn has_costly_truth(&self) -> bool {
        true
    }

    /// # Panics
    /// If the reference fails. The gate asks for [`Op::truth`].
    fn oracle(&self, case: &Case, inputs: &Values, output: usize, want: &Want) -> Truth {
        match self.truth(case, inputs, output, want) {
            Ok(truth) => truth,
            Err(reason) => panic!("{reason}"),
        }
    }

    fn truth(
        &self,
        case: &Case,
        inputs: &Values,
        output: usize,
        want: &Want,
    ) -> Result<Truth, NoTruth> {
        self.reference.truth(self, case, inputs, output, want)
    }

    fn portfolio(&self, _case: &Case, signature: &Signature) -> Portfolio {
        let mut portfolio = Portfolio::standard(signature);
        let uniform = |fill: &crate::manifest::FillText| Filling::uniform(signature, &fill.0);
        // A running maximum that starts at 0 is wrong only where all of its numbers are far below.
        portfolio.structured.push(Filling::uniform(signature, &Fill::Offset { mean: -100.0 }));
        portfolio.exact.extend(self.manifest.proof.exact.iter().map(uniform));
        portfolio.structured.extend(self.manifest.proof.fills.iter().map(uniform));
        portfolio
    }

    fn imported(&self, case: &Case) -> Option<ImportedFrom> {
        let text = self.manifest.imported.as_ref()?;
        let shrunk = |(name, size): &(String, ShrunkText)| Shrunk {
            name: name.clone(),
            stated: size.stated,
            used: size.used,
        };
        let workload = crate::format::workload(self, text, case);
        let shrunk = match workload.as_ref().and_then(|workload| workload.get("axes")) {
            Some(stated) => crate::format::smaller(case, stated),
            None => text.shrunk.0.iter().map(shrunk).collect(),
        };
        let (format, name) = (text.format.clone(), text.source.clone());
        Some(ImportedFrom { format, name, shrunk, workload })
    }

    fn structure(&self, case: &Case, seed: u64, inputs: &mut Values) {
        let Ok(signature) = self.signature(case) else { return };
        if self.manifest.reference.inputs().is_some() {
            self.reference.make_inputs(self, case, &signature, seed, inputs);
        }
        for (index, operand) in signature.operands().iter().enumerate() {
            let Some(below) = self.below(operand.name, case) else { continue };
            for (at, value) in inputs.tensors[index].iter_mut().enumerate() {
                *value = (mix(seed, 41 + index as u64, at as u64) % below.max(1)) as f64;
            }
        }
    }

    fn specials(&self, case: &Case, signature: &Signature) -> Specials {
        let takes = |operand: &Operand| match &self.manifest.proof.specials {
            Some(stated) => stated.iter().any(|name| name == operand.name),
            None => operand.dtype.is_float() && operand.only.is_none(),
        };
        let inputs = signature.inputs().iter().enumerate();
        let operands: Vec<usize> =
            inputs.filter(|(_, operand)| takes(operand)).map(|(index, _)| index).collect();
        // The reference is a textbook formula, in which the square of the largest number overflows.
        // Its results in f64 on such inputs are no promise of a kernel that computes in f32.
        let largest = 2f64.powi((case.dtype.largest().log2() / 4.0) as i32);
        let standard = Specials::standard(&operands, case.dtype, largest);
        Specials { beside_zeros: true, ..standard }
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        cases::made(self, dtype)
    }
}
