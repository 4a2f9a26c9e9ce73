//! `proofmark list`: what there is.

use super::{StorePath, cap, here, shelf};
use crate::exit;
use crate::output::{Failure, Format, print_document};
use clap::{Args, ValueEnum};
use proofmark_engine::{
    AttributeKind, Covered, Entry, Known, Role, SIZES, Suite, coverage, devices, find_op, ops,
    peers,
};
use proofmark_report::reports::{
    self, CoverageRow, ListedAxis, ListedKernel, ListedLimits, ListedOp, ListedOperand, ListedSize,
    Meant, OpCard,
};
use proofmark_schema::{Case, Outcome};

/// Arguments of `list`.
#[derive(Args)]
pub(crate) struct List {
    /// What to list; both by default
    #[arg(value_enum)]
    what: Option<What>,
    /// Only this op
    #[arg(long)]
    op: Option<String>,
    /// Every op against every kernel and peer: proven, unsupported, absent
    #[arg(long, conflicts_with = "what")]
    coverage: bool,
    #[command(flatten)]
    store: StorePath,
    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// Ops with their axes, attributes, element types and kernels.
    Ops,
    /// Named sizes and the cases they mean.
    Sizes,
    /// Devices that contenders run on: their drivers, memory, clocks and limits.
    Devices,
}

impl List {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        if self.coverage {
            return self.list_coverage();
        }
        if self.what == Some(What::Devices) {
            let (devices, absent) = devices(cap()?);
            print_document(self.format, &reports::devices(&devices, absent.as_deref()))?;
            return Ok(exit::PASS);
        }
        list(self.what, self.op.as_deref(), self.format)
    }

    fn list_coverage(&self) -> Result<u8, Failure> {
        let only = self.op.as_deref().map(find_op).transpose()?;
        let all = coverage(&self.store.open()?, &here(None)?.program, &shelf(), cap()?);
        let wanted = all.iter().filter(|one| only.is_none_or(|only| only.op.name() == one.op));
        let row = |one: &Covered| CoverageRow {
            op: one.op.to_owned(),
            contender: one.contender.to_string(),
            states: one
                .known
                .iter()
                .map(|(dtype, known)| (dtype.to_string(), outcome(*known)))
                .collect(),
        };
        let rows: Vec<CoverageRow> = wanted.map(row).collect();
        print_document(self.format, &reports::coverage(&rows))?;
        Ok(exit::PASS)
    }
}

fn outcome(known: Known) -> Option<Outcome> {
    match known {
        Known::Judged(outcome) => Some(outcome),
        Known::NotYet => None,
        Known::Absent => Some(Outcome::Absent),
    }
}

/// Lists ops, sizes or both; `bench --list-ops` and `--list-sizes` come here too.
pub(crate) fn list(what: Option<What>, op: Option<&str>, format: Format) -> Result<u8, Failure> {
    let entries: Vec<&Entry> = match op {
        Some(name) => vec![find_op(name)?],
        None => ops().to_vec(),
    };
    let listed: Vec<ListedOp> = if what == Some(What::Sizes) {
        Vec::new()
    } else {
        entries.iter().map(|entry| listed_op(entry)).collect::<Result<_, _>>()?
    };
    let sizes = if what == Some(What::Ops) { Vec::new() } else { listed_sizes(&entries)? };
    print_document(format, &reports::list(&listed, &sizes))?;
    Ok(exit::PASS)
}

fn listed_op(entry: &Entry) -> Result<ListedOp, Failure> {
    let attribute = |attribute: &proofmark_engine::Attribute| {
        let values = match attribute.kind {
            AttributeKind::Flag { .. } => "true|false".to_owned(),
            AttributeKind::Int { low, high, .. } => format!("{low}..{high}"),
            AttributeKind::Real { low, high, .. } => format!("{low}..{high}"),
            AttributeKind::Word { words, .. } => words.join("|"),
        };
        let default = attribute.default().to_string();
        let default = default.strip_suffix(".0").unwrap_or(&default);
        format!("{}={default} ({values})", attribute.name)
    };
    Ok(ListedOp {
        name: entry.op.name().to_owned(),
        summary: entry.op.summary().to_owned(),
        edges: entry.op.edges().iter().map(|&edge| edge.to_owned()).collect(),
        axes: entry
            .op
            .axes()
            .iter()
            .map(|axis| ListedAxis {
                name: axis.name.to_owned(),
                meaning: axis.meaning.to_owned(),
                default: axis.default,
            })
            .collect(),
        attributes: entry.op.attributes().iter().map(attribute).collect(),
        peers: peers::PEERS
            .iter()
            .filter(|peer| peer.has(entry.op.name()))
            .map(|peer| peer.name().to_owned())
            .collect(),
        dtypes: entry.op.dtypes().iter().map(ToString::to_string).collect(),
        kernels: entry
            .kernels
            .iter()
            .map(|kernel| ListedKernel {
                name: kernel.name().to_owned(),
                isas: kernel.isas().iter().map(ToString::to_string).collect(),
            })
            .collect(),
        card: card(entry)?,
    })
}

/// What the judge knows of the op on the case of its default sizes and first element type.
fn card(entry: &Entry) -> Result<Option<OpCard>, Failure> {
    let op = entry.op;
    let Some(&dtype) = op.dtypes().first() else { return Ok(None) };
    let case = op
        .axes()
        .iter()
        .fold(Case::new(op.name(), dtype), |case, axis| case.axis(axis.name, axis.default));
    let Ok(signature) = op.signature(&case) else { return Ok(None) };
    let role = |role| match role {
        Role::Input => "input",
        Role::Weight => "weight",
        Role::Random => "random",
        Role::Output => "output",
        Role::InOut => "inout",
    };
    let meant =
        |name: &str, meaning: &str| Meant { name: name.to_owned(), meaning: meaning.to_owned() };
    let limits = op.limits(&case);
    let operands = signature.operands().iter().map(|operand| ListedOperand {
        name: operand.name.to_owned(),
        role: role(operand.role),
        dtype: operand.dtype.to_string(),
        shape: operand.shape.clone(),
    });
    Ok(Some(OpCard {
        operands: operands.collect(),
        attributes: op.attributes().iter().map(|one| meant(one.name, one.meaning)).collect(),
        work: op.work(&case),
        limits: ListedLimits {
            q_max: limits.q_max,
            q_rms: limits.q_rms,
            structured: limits.structured,
        },
        analysis: Suite::of(entry)?.analysis,
        wrong_kernels: entry.mutants.iter().map(|one| meant(one.name, one.flaw)).collect(),
        case: case.to_string(),
    }))
}

fn listed_sizes(entries: &[&Entry]) -> Result<Vec<ListedSize>, Failure> {
    let meaning = |size: &str| match size {
        "small" => "fits the first-level cache",
        "medium" => "one layer of a small model",
        "large" => "beyond the caches",
        _ => "many independent rows",
    };
    let mut sizes = Vec::new();
    for size in SIZES {
        let mut cases = Vec::new();
        for entry in entries {
            let suite = Suite::of(entry)?;
            let axes = &suite.sizes[size];
            let ordered = entry.op.axes().iter().filter_map(|axis| {
                axes.get(axis.name).map(|value| format!("{}={value}", axis.name))
            });
            let axes: Vec<String> = ordered.collect();
            cases.push(format!("{}[{}]", entry.op.name(), axes.join(",")));
        }
        sizes.push(ListedSize { name: size.to_owned(), summary: meaning(size).to_owned(), cases });
    }
    Ok(sizes)
}
