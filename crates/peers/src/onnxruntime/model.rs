//! The ONNX model of a case, as bytes.

use super::message::Message;
use ort_sys::ONNXTensorElementDataType as Element;
use proofmark_contract::Signature;
use proofmark_schema::DType;
use std::ffi::CString;

/// Fields of messages, by the numbers in `onnx.proto`.
mod field {
    pub(super) const MODEL_IR: u32 = 1;
    pub(super) const MODEL_GRAPH: u32 = 7;
    pub(super) const MODEL_OPSET: u32 = 8;
    pub(super) const OPSET_DOMAIN: u32 = 1;
    pub(super) const OPSET_VERSION: u32 = 2;
    pub(super) const GRAPH_NODE: u32 = 1;
    pub(super) const GRAPH_NAME: u32 = 2;
    pub(super) const GRAPH_INPUT: u32 = 11;
    pub(super) const GRAPH_OUTPUT: u32 = 12;
    pub(super) const NODE_INPUT: u32 = 1;
    pub(super) const NODE_OUTPUT: u32 = 2;
    pub(super) const NODE_OP: u32 = 4;
    pub(super) const NODE_ATTRIBUTE: u32 = 5;
    pub(super) const NODE_DOMAIN: u32 = 7;
    pub(super) const ATTRIBUTE_NAME: u32 = 1;
    pub(super) const ATTRIBUTE_REAL: u32 = 2;
    pub(super) const ATTRIBUTE_INTEGER: u32 = 3;
    pub(super) const ATTRIBUTE_INTEGERS: u32 = 8;
    pub(super) const ATTRIBUTE_KIND: u32 = 20;
    pub(super) const VALUE_NAME: u32 = 1;
    pub(super) const VALUE_TYPE: u32 = 2;
    pub(super) const TYPE_TENSOR: u32 = 1;
    pub(super) const TENSOR_ELEMENT: u32 = 1;
    pub(super) const TENSOR_SHAPE: u32 = 2;
    pub(super) const SHAPE_SIZE: u32 = 1;
    pub(super) const SIZE_VALUE: u32 = 1;
}

/// The domain of ONNX Runtime's own ops.
const OWN: &str = "com.microsoft";
/// Kinds of attributes.
const REAL: u64 = 1;
const INTEGER: u64 = 2;
const INTEGERS: u64 = 7;

/// A graph in words: one node a line, `y0 = Softmax<axis=-1>(x0)`. Inputs of the case are `x0`,
/// `x1`, …, its outputs `y0`, …; everything else is the graph's own.
pub(super) struct Graph {
    pub(super) nodes: String,
    /// Operands whose elements the nodes take in another shape than the case's: name and shape.
    pub(super) shapes: Vec<(&'static str, Vec<usize>)>,
    /// The set of ONNX's ops that the nodes are of, with the format of models that has it.
    pub(super) opset: (u64, u64),
}

/// The set of ops for every graph that needs no newer one.
const OPSET: (u64, u64) = (17, 8);

impl From<String> for Graph {
    fn from(nodes: String) -> Graph {
        Graph { nodes, shapes: Vec::new(), opset: OPSET }
    }
}

impl Graph {
    /// The same with an operand in this shape.
    pub(super) fn shaped(mut self, name: &'static str, shape: impl Into<Vec<usize>>) -> Graph {
        self.shapes.push((name, shape.into()));
        self
    }
}

/// An input or output of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    /// Its name, with the 0 that C wants.
    pub(super) name: CString,
    /// Sizes along each axis.
    pub(super) shape: Vec<usize>,
    /// The type of its elements.
    pub(super) dtype: DType,
}

/// A model with its operands in the order of calls.
pub(super) struct Model {
    pub(super) bytes: Vec<u8>,
    pub(super) values: Vec<Value>,
    /// How many of them are only read; they come first.
    pub(super) inputs: usize,
}

impl Model {
    /// The model of a graph on operands.
    pub(super) fn new(graph: &Graph, signature: &Signature) -> Result<Model, String> {
        let inputs = signature.inputs().len();
        let mut values = Vec::new();
        for (place, operand) in signature.operands().iter().enumerate() {
            let name = match place.checked_sub(inputs) {
                None => format!("x{place}"),
                Some(place) => format!("y{place}"),
            };
            let other = graph.shapes.iter().find(|(shaped, _)| *shaped == name);
            let shape = other.map_or(&operand.shape, |(_, shape)| shape).clone();
            let name = CString::new(name).map_err(|error| error.to_string())?;
            values.push(Value { name, shape, dtype: operand.dtype });
        }
        let mut written = Message::default().text(field::GRAPH_NAME, "case");
        for line in graph.nodes.lines().filter(|line| !line.trim().is_empty()) {
            let node = node(line).ok_or_else(|| format!("`{line}` is no node"))?;
            written = written.message(field::GRAPH_NODE, node);
        }
        for (place, value) in values.iter().enumerate() {
            let field = if place < inputs { field::GRAPH_INPUT } else { field::GRAPH_OUTPUT };
            written = written.message(field, described(value)?);
        }
        let opset = |domain: &str, version| {
            let named = Message::default().text(field::OPSET_DOMAIN, domain);
            named.number(field::OPSET_VERSION, version)
        };
        let (version, format) = graph.opset;
        let bytes = Message::default()
            .number(field::MODEL_IR, format)
            .message(field::MODEL_GRAPH, written)
            .message(field::MODEL_OPSET, opset("", version))
            .message(field::MODEL_OPSET, opset(OWN, 1))
            .0;
        Ok(Model { bytes, values, inputs })
    }
}

/// The node of a line: `outputs = [own.]Op<attributes>(inputs)`, everything but the op optional.
fn node(line: &str) -> Option<Message> {
    let (outputs, call) = line.split_once(" = ")?;
    let (head, inputs) = call.strip_suffix(')')?.split_once('(')?;
    let (op, attributes) = match head.split_once('<') {
        Some((op, attributes)) => (op, attributes.strip_suffix('>')?),
        None => (head, ""),
    };
    let (op, domain) = op.strip_prefix("own.").map_or((op, ""), |op| (op, OWN));
    let mut node = Message::default().text(field::NODE_OP, op).text(field::NODE_DOMAIN, domain);
    // A name that is left out stays in its place.
    for name in inputs.split(',').filter(|_| !inputs.is_empty()) {
        node = node.text(field::NODE_INPUT, name.trim());
    }
    for name in outputs.split(',') {
        node = node.text(field::NODE_OUTPUT, name.trim());
    }
    for attribute in attributes.split(',').filter(|text| !text.is_empty()) {
        let (name, value) = attribute.trim().split_once('=')?;
        node = node.message(field::NODE_ATTRIBUTE, self::attribute(name, value)?);
    }
    Some(node)
}

/// An attribute: a whole number, several between colons, or a number with a point or exponent.
fn attribute(name: &str, value: &str) -> Option<Message> {
    let named = Message::default().text(field::ATTRIBUTE_NAME, name);
    if value.contains(':') {
        let mut several = named.number(field::ATTRIBUTE_KIND, INTEGERS);
        for value in value.split(':').filter(|value| !value.is_empty()) {
            several = several.number(field::ATTRIBUTE_INTEGERS, whole(value)?);
        }
        return Some(several);
    }
    if let Some(value) = whole(value) {
        let one = named.number(field::ATTRIBUTE_KIND, INTEGER);
        return Some(one.number(field::ATTRIBUTE_INTEGER, value));
    }
    let value = value.parse().ok()?;
    Some(named.number(field::ATTRIBUTE_KIND, REAL).real(field::ATTRIBUTE_REAL, value))
}

/// A whole number as protocol buffers have it, negative ones as their two's complement.
fn whole(value: &str) -> Option<u64> {
    value.parse::<i64>().ok().map(i64::cast_unsigned)
}

fn described(value: &Value) -> Result<Message, String> {
    let mut shape = Message::default();
    for &size in &value.shape {
        let size = Message::default().number(field::SIZE_VALUE, size as u64);
        shape = shape.message(field::SHAPE_SIZE, size);
    }
    let tensor = Message::default()
        .number(field::TENSOR_ELEMENT, element(value.dtype) as u64)
        .message(field::TENSOR_SHAPE, shape);
    let kind = Message::default().message(field::TYPE_TENSOR, tensor);
    let name = value.name.to_str().map_err(|error| error.to_string())?;
    Ok(Message::default().text(field::VALUE_NAME, name).message(field::VALUE_TYPE, kind))
}

/// The library's number of an element type, which is ONNX's.
pub(super) fn element(dtype: DType) -> Element {
    match dtype {
        DType::F64 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE,
        DType::F32 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
        DType::F16 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16,
        DType::Bf16 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16,
        DType::F8e4m3 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN,
        DType::F8e5m2 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2,
        DType::I8 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8,
        DType::U8 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8,
        DType::I32 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32,
        DType::U32 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32,
        DType::I64 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_contract::{Operand, Role};

    #[test]
    fn a_line_becomes_a_node_with_what_it_names() {
        let written =
            |line: &str| node(line).map(|node| String::from_utf8_lossy(&node.0).into_owned());
        let whole = written("y0,,s = own.Norm<axis=-1,epsilon=1e-5>(x0, x1)").unwrap();
        for part in ["y0", "s", "Norm", OWN, "axis", "epsilon", "x0", "x1"] {
            assert!(whole.contains(part), "{part} in {whole:?}");
        }
        assert!(written("c = Constant<value_float=2.5>()").is_some());
        assert!(written("t = Transpose<perm=0:2:1>(x0)").is_some());
        assert!(written("y0 = Relu(x0").is_none());
        assert!(written("y0 = Softmax<axis=one>(x0)").is_none());
    }

    #[test]
    fn attributes_have_the_kind_of_their_values() {
        let kind = |value: &str| {
            let bytes = attribute("a", value).unwrap().0;
            // The field's number takes two bytes, after the name's three.
            bytes[5]
        };
        assert_eq!(
            [kind("-1"), kind("1e-6"), kind("0:1")].map(u64::from),
            [INTEGER, REAL, INTEGERS]
        );
    }

    #[test]
    fn operands_keep_their_types_and_may_be_taken_in_another_shape() {
        let operands = vec![
            Operand::new("codes", Role::Input, DType::I8, &[2, 3]),
            Operand::new("scales", Role::Input, DType::F32, &[2]),
            Operand::new("x", Role::Output, DType::F32, &[2, 3]),
        ];
        let graph = Graph::from("y0 = DequantizeLinear<axis=0>(x0, x1)".to_owned());
        let model = Model::new(&graph.shaped("x1", [1, 2]), &Signature::new(operands)).unwrap();
        let of = |place: usize| (model.values[place].dtype, model.values[place].shape.clone());
        assert_eq!(model.inputs, 2);
        assert_eq!(of(0), (DType::I8, vec![2, 3]));
        assert_eq!(of(1), (DType::F32, vec![1, 2]));
        assert_eq!(model.values[2].name.to_str(), Ok("y0"));
    }
}
