//! Our kernels in OpenCL as contenders: one for each work-group size that they declare.

use crate::device::{found, name_of_first, set_environment};
use crate::launch::{Launch, ready};
use crate::mutants::{MUTANTS, Mutant};
use crate::plans::{self, MakePlan, Plan};
use proofmark_contract::{ExplicitCase, Signature, Unsupported};
use proofmark_peers::{Found, Needs, Peer, Ready, Source};
use proofmark_schema::{ContenderId, DType, ErrorContract, Family, Reproducibility};
use std::sync::OnceLock;

/// A kernel with the work-group sizes that it declares.
pub(crate) struct Idea {
    pub(crate) op: &'static [&'static str],
    /// The kernel's name in its source, and the first part of the contender's.
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) source: &'static str,
    /// Work-items along the first two dimensions.
    groups: &'static [[usize; 2]],
    plan: MakePlan,
}

/// Work-groups along a row: less than a vector, a cache line of results, several of them.
const ALONG_ROWS: &[[usize; 2]] = &[[16, 1], [64, 1], [256, 1]];

/// Every kernel of OpenCL.
pub(crate) const IDEAS: &[Idea] = &[
    Idea {
        op: &["add"],
        name: "plain",
        summary: "an element a work-item",
        source: include_str!("../kernels/add.cl"),
        groups: ALONG_ROWS,
        plan: plans::add,
    },
    Idea {
        op: &["softmax"],
        name: "rows",
        summary: "a row a work-group, joined by a tree in local memory",
        source: include_str!("../kernels/softmax.cl"),
        groups: ALONG_ROWS,
        plan: plans::softmax,
    },
    Idea {
        op: &["rms_norm"],
        name: "rows",
        summary: "a row a work-group, joined by a tree in local memory",
        source: include_str!("../kernels/rms_norm.cl"),
        groups: ALONG_ROWS,
        plan: plans::rms_norm,
    },
    Idea {
        op: &["matmul"],
        name: "naive",
        summary: "an element a work-item, all from global memory",
        source: include_str!("../kernels/matmul.cl"),
        groups: &[[8, 8], [16, 16]],
        plan: plans::naive,
    },
    Idea {
        op: &["matmul"],
        name: "tiled",
        summary: "tiles in local memory, 4 rows of 16 columns a work-item",
        source: include_str!("../kernels/matmul.cl"),
        groups: &[[4, 4], [8, 8], [16, 16]],
        plan: plans::tiled,
    },
    Idea {
        op: &["attention"],
        name: "rows",
        summary: "a query a work-group, keys in blocks with a running maximum",
        source: include_str!("../kernels/attention.cl"),
        groups: &[[16, 1], [64, 1]],
        plan: plans::attention,
    },
];

/// A kernel at one work-group size, or a wrong one.
struct Contender {
    idea: &'static Idea,
    name: &'static str,
    group: [usize; 2],
    mutant: Option<&'static Mutant>,
}

/// Every kernel of OpenCL at every work-group size.
pub fn kernels() -> Vec<&'static dyn Peer> {
    all().iter().map(|contender| contender as &dyn Peer).collect()
}

fn all() -> &'static [Contender] {
    static ALL: OnceLock<Vec<Contender>> = OnceLock::new();
    ALL.get_or_init(|| {
        let of = |idea: &'static Idea| {
            idea.groups.iter().map(move |&group| Contender {
                idea,
                // Contenders live as long as the program.
                name: format!("{}.{}", idea.name, shape(group)).leak(),
                group,
                mutant: None,
            })
        };
        IDEAS.iter().flat_map(of).collect()
    })
}

/// The id of a kernel of an op that stands for its device: the last idea, at a middle work-group
/// size.
pub fn usual(op: &str) -> Option<ContenderId> {
    let idea = IDEAS.iter().rev().find(|idea| idea.op == [op])?;
    let group = idea.groups[idea.groups.len() / 2];
    let name = format!("{}.{}", idea.name, shape(group));
    Some(ContenderId { family: Family::OpenCl, name, isa: None })
}

/// How a kernel is launched on a case.
///
/// # Errors
/// If there is no such kernel, or it does not do the case.
pub fn launch_of(id: &ContenderId, case: &ExplicitCase) -> Result<Launch, String> {
    let is_it = |it: &&Contender| it.name == id.name && it.idea.op == [case.op.as_str()];
    let contender = all().iter().find(is_it);
    let contender = contender.ok_or_else(|| format!("there is no `{id}` for `{}`", case.op))?;
    contender.supports(case)?;
    Ok(contender.launch(case)?)
}

/// Every wrong kernel, at the least work-group size of the right one.
fn wrong() -> &'static [Contender] {
    static ALL: OnceLock<Vec<Contender>> = OnceLock::new();
    ALL.get_or_init(|| {
        let of = |mutant: &'static Mutant| {
            let idea = IDEAS.iter().find(|it| it.op[0] == mutant.op && it.name == mutant.of)?;
            let name = mutant.name;
            Some(Contender { idea, name, group: idea.groups[0], mutant: Some(mutant) })
        };
        MUTANTS.iter().filter_map(of).collect()
    })
}

/// `64`, or `8x8`.
fn shape([x, y]: [usize; 2]) -> String {
    if y == 1 { x.to_string() } else { format!("{x}x{y}") }
}

impl Contender {
    fn launch(&self, case: &ExplicitCase) -> Result<Launch, Unsupported> {
        let [x, y] = self.group;
        let Plan { arguments, extent } = (self.idea.plan)(case, x * y)?;
        let local: Vec<usize> = [x, y, 1][..extent.len()].to_vec();
        // Whole work-groups: kernels leave out what is beyond the operands.
        let whole = |(&(elements, each), local): (&(usize, usize), &usize)| {
            elements.div_ceil(each).next_multiple_of(*local)
        };
        let source = self.idea.source;
        Ok(Launch {
            source: self.mutant.map_or_else(|| source.to_owned(), |mutant| mutant.apply(source)),
            options: format!("-cl-std=CL1.2 -DLX={x} -DLY={y}"),
            function: self.idea.name.to_owned(),
            arguments,
            global: extent.iter().zip(&local).map(whole).collect(),
            local,
        })
    }
}

impl Peer for Contender {
    fn name(&self) -> &'static str {
        self.name
    }

    fn family(&self) -> Family {
        if self.mutant.is_some() { Family::Mutant } else { Family::OpenCl }
    }

    fn device(&self) -> &'static str {
        name_of_first()
    }

    fn elsewhere(&self) -> Option<Result<Found, String>> {
        Some(found().map_err(|absent| absent.to_string()))
    }

    fn summary(&self) -> &'static str {
        self.idea.summary
    }

    fn ops(&self) -> &'static [&'static str] {
        self.idea.op
    }

    fn source(&self) -> Source {
        Source::System { debian: "pocl-opencl-icd" }
    }

    fn needs(&self) -> Needs {
        Needs { jit: true, compiler: true, ..Needs::default() }
    }

    fn opens_ms(&self) -> u32 {
        500
    }

    fn supports(&self, case: &ExplicitCase) -> Result<(), Unsupported> {
        if case.dtype != DType::F32 {
            return Err(Unsupported("it has f32 only".to_owned()));
        }
        if case.axes.iter().any(|(_, size)| i32::try_from(*size).is_err()) {
            return Err(Unsupported("it counts in 32 bits".to_owned()));
        }
        self.launch(case).map(drop)
    }

    fn contract(&self, _: &ExplicitCase) -> ErrorContract {
        ErrorContract { reproducibility: Reproducibility::None, ..ErrorContract::default() }
    }

    fn open(&self, _: &Found) -> Result<(), String> {
        set_environment();
        crate::device::first().map(drop)
    }

    fn load(
        &self,
        _: &Found,
        case: &ExplicitCase,
        _: &Signature,
        threads: usize,
    ) -> Result<Ready, String> {
        set_environment();
        ready(self.launch(case)?, threads, env!("CARGO_PKG_VERSION").to_owned())
    }

    fn mutant(&self, name: &str) -> Option<&'static dyn Peer> {
        let is_it = |it: &&Contender| it.idea.op == self.idea.op && it.name == name;
        wrong().iter().find(is_it).map(|contender| contender as &dyn Peer)
    }
}
