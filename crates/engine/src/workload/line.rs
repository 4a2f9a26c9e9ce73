//! Lines of workloads.
//!
//! ```text
//! # Llama-3-8B, the output projection, for one token and for 512
//! matmul:f32,bf16 m=1 n=4096 k=4096 layout=nt @llama-3-8b:1/output x32
//! matmul:f32,bf16 m=512 n=4096 k=4096 layout=nt @llama-3-8b:512/output x32
//! ```
//!
//! A line is an op, its element types, and `name=value` for axes (as in sweeps) and attributes.
//! `@model:tokens/layer` says where a model has it, `x32` how many times a step of it does.

use super::wanted::{MOST_CASES, Wanted};
use crate::{EngineError, Sweep, find_op};
use proofmark_contract::{check_case, complete_case};
use proofmark_schema::plan::Use;
use proofmark_schema::{AttrValue, Case, DType};

/// The cases of a line that is not empty.
pub(super) fn of_line(line: &str) -> Result<Vec<Wanted>, EngineError> {
    let (head, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let form = || EngineError::Unfit(format!("`{head}` is not of the form `op:f32,bf16`"));
    let (op, dtypes) = head.split_once(':').ok_or_else(form)?;
    let entry = find_op(op)?;
    let dtypes: Vec<DType> =
        dtypes.split(',').map(str::parse).collect::<Result<_, _>>().map_err(|_| form())?;
    let mut axes = Vec::new();
    let mut attrs = Vec::new();
    let mut used = None;
    let mut times = 1;
    for part in rest.split_whitespace() {
        let bad = |form: &str| EngineError::Unfit(format!("`{part}` is not of the form `{form}`"));
        if let Some(place) = part.strip_prefix('@') {
            used = Some(place_of(place).ok_or_else(|| bad("@model:tokens/layer"))?);
        } else if let Some(count) = part.strip_prefix('x').and_then(|count| count.parse().ok()) {
            times = count;
        } else {
            let (name, value) = part.split_once('=').ok_or_else(|| bad("name=value"))?;
            if entry.op.axes().iter().any(|axis| axis.name == name) {
                axes.push(part);
            } else {
                let value = AttrValue::parse(value).ok_or_else(|| bad("name=value"))?;
                attrs.push((name.to_owned(), value));
            }
        }
    }
    let uses: Vec<Use> = used.map(|place| Use { times, ..place }).into_iter().collect();
    let sweep = if axes.is_empty() { Sweep::default() } else { axes.join(" ").parse()? };
    let combinations = sweep.combinations();
    if combinations.len().saturating_mul(dtypes.len()) > MOST_CASES {
        let told = "a line has more than 100,000 cases: give fewer sizes or element types";
        return Err(EngineError::Unfit(told.to_owned()));
    }
    let mut cases = Vec::new();
    for dtype in dtypes {
        for axes in combinations.clone() {
            let case = Case { op: op.to_owned(), dtype, axes, attrs: attrs.clone() };
            let case = complete_case(entry.op, &case);
            check_case(entry.op, &case)
                .map_err(|reason| EngineError::Case { case: case.to_string(), reason })?;
            cases.push(Wanted { entry, case, uses: uses.clone() });
        }
    }
    Ok(cases)
}

/// Reads `model:tokens/layer`.
fn place_of(text: &str) -> Option<Use> {
    let (model, rest) = text.split_once(':')?;
    let (tokens, layer) = rest.split_once('/')?;
    let tokens = tokens.parse().ok().filter(|&tokens| tokens > 0)?;
    Some(Use { model: model.to_owned(), tokens, layer: layer.to_owned(), times: 1 })
}

#[cfg(test)]
mod tests {
    use super::super::words;
    use super::*;

    #[test]
    fn a_line_names_ops_types_axes_and_attributes_in_any_order() {
        let cases = of_line("matmul:f32,bf16 layout=nt m=1,8 n=64 k=32").unwrap();
        let texts: Vec<String> = cases.iter().map(|wanted| wanted.case.to_string()).collect();
        assert_eq!(texts[0], "matmul:f32[b=1,m=1,n=64,k=32;layout=nt]");
        assert_eq!(texts[3], "matmul:bf16[b=1,m=8,n=64,k=32;layout=nt]");
        assert_eq!(texts.len(), 4);
        assert!(cases.iter().all(|wanted| wanted.uses.is_empty()));
    }

    #[test]
    fn a_line_says_where_a_model_has_it_and_how_often() {
        let [wanted] = &of_line("add:f32 s=8 d=64 @tiny:8/residual x24").unwrap()[..] else {
            panic!("one case");
        };
        let [used] = &wanted.uses[..] else { panic!("one use") };
        assert_eq!((used.model.as_str(), used.layer.as_str()), ("tiny", "residual"));
        assert_eq!((used.tokens, used.times), (8, 24));
    }

    #[test]
    fn what_is_wrong_in_a_line_is_told() {
        let told = |line| words(&of_line(line).err().unwrap());
        assert!(told("matmul m=1").contains("op:f32,bf16"));
        assert!(told("matmul:f99 m=1").contains("op:f32,bf16"));
        assert!(told("matnul:f32 m=1").contains("matmul"));
        assert!(told("matmul:f32 mm=1").contains("mm"));
        assert!(told("matmul:f32 m=x").contains("sizes are"));
        assert!(told("matmul:f32 m=1 @tiny").contains("@model:tokens/layer"));
        assert!(told("matmul:f32 m=1 @tiny:0/x").contains("@model:tokens/layer"));
        assert!(told("matmul:f32 m=1 twice").contains("name=value"));
    }
}
