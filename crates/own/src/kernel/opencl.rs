//! Launches a kernel of the user in OpenCL by its signature.

use super::arguments::{Passes, Scene, Source};
use super::manifest::{LibraryCode, OpenClCode};
use super::signature::Scalar;
use proofmark_contract::{ExplicitCase, Signature, Unsupported};
use proofmark_opencl::{Argument, Launch};

/// The launch of a kernel on a case; `source` is the text of its program.
pub(super) fn launch(
    code: &LibraryCode,
    opencl: &OpenClCode,
    (case, signature): (&ExplicitCase, &Signature),
    source: String,
) -> Result<Launch, Unsupported> {
    let scene = Scene { code, case, signature };
    let plan = scene.call()?;
    let sizes = |formulas: &[crate::Expression], key: &str| {
        formulas.iter().map(|formula| scene.size(formula, key)).collect::<Result<Vec<_>, _>>()
    };
    let local = sizes(&opencl.local, "local")?;
    if local.contains(&0) {
        return Err(Unsupported("`local` is 0 for this case".to_owned()));
    }
    // Whole work-groups, as OpenCL asks for: a kernel leaves out what is beyond its operands.
    let global = sizes(&opencl.global, "global")?;
    let global = global.iter().zip(&local).map(|(all, part)| all.next_multiple_of(*part)).collect();
    let arguments = plan.arguments.iter().map(|it| argument(&it.source, it.passes));
    Ok(Launch {
        source,
        options: opencl.options.clone(),
        function: plan.function.symbol.clone(),
        arguments: arguments.collect::<Result<_, _>>()?,
        global,
        local,
    })
}

fn argument(source: &Source, passes: Passes) -> Result<Argument, Unsupported> {
    let no = |what: &str| Err(Unsupported(format!("a kernel in OpenCL does not take {what}")));
    match (source, passes) {
        (Source::Operand(place), Passes::Address) => Ok(Argument::Operand(*place)),
        (Source::Stride(place), Passes::Value(scalar)) => {
            Ok(Argument::Stride { place: *place, bytes: bytes(scalar) })
        }
        (Source::Fixed(bits), Passes::Value(scalar)) => {
            Ok(Argument::Scalar(bits.to_le_bytes()[..bytes(scalar)].to_vec()))
        }
        (Source::Formula(_), _) => no("the number of threads: the device has compute units"),
        _ => no("this argument: write operands as pointers and numbers as values"),
    }
}

fn bytes(scalar: Scalar) -> usize {
    match scalar {
        Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
        Scalar::I64 | Scalar::U64 | Scalar::F64 => 8,
        Scalar::Bool => 1,
    }
}
