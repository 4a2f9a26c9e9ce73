//! The ONNX model of a case, as bytes: a graph of one op in protocol buffers.

use proofmark_schema::{Case, DType};

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
    pub(super) const ATTRIBUTE_KIND: u32 = 20;
    pub(super) const VALUE_NAME: u32 = 1;
    pub(super) const VALUE_TYPE: u32 = 2;
    pub(super) const TYPE_TENSOR: u32 = 1;
    pub(super) const TENSOR_ELEMENT: u32 = 1;
    pub(super) const TENSOR_SHAPE: u32 = 2;
    pub(super) const SHAPE_SIZE: u32 = 1;
    pub(super) const SIZE_VALUE: u32 = 1;
}

/// The format of models and the set of ops that everything here is in.
const IR_VERSION: u64 = 8;
const OPSET: u64 = 17;
/// The domain of ONNX Runtime's own ops.
const OWN: &str = "com.microsoft";
const REAL: u64 = 1;
const INTEGER: u64 = 2;

/// An input or the output of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    /// Its name, with the 0 that C wants.
    pub(super) name: &'static std::ffi::CStr,
    /// Sizes along each axis.
    pub(super) shape: Vec<usize>,
}

/// A model with its operands in the order of calls, the result last.
pub(super) struct Model {
    pub(super) bytes: Vec<u8>,
    pub(super) values: Vec<Value>,
}

/// ONNX's number of an element type.
pub(super) fn number(dtype: DType) -> Option<i32> {
    match dtype {
        DType::F32 => Some(1),
        DType::F16 => Some(10),
        DType::Bf16 => Some(16),
        _ => None,
    }
}

/// The model of a case.
pub(super) fn of(case: &Case) -> Model {
    let size = |axis: &str| case.size(axis).unwrap_or(1) as usize;
    let rows = || ["b", "s", "d"].map(size).to_vec();
    let axis = |name| Message::attribute(name, INTEGER).number(field::ATTRIBUTE_INTEGER, u64::MAX);
    let (nodes, shapes) = match case.op.as_str() {
        "matmul" => product(case),
        "softmax" => {
            let node = Message::node("Softmax", "", &["a"], "c");
            (vec![node.message(field::NODE_ATTRIBUTE, axis("axis"))], vec![rows(), rows()])
        }
        "rms_norm" => {
            let eps = Message::attribute("epsilon", REAL)
                .real(field::ATTRIBUTE_REAL, case.real("eps", 1e-6) as f32);
            let node = Message::node("SimplifiedLayerNormalization", "", &["a", "b"], "c")
                .message(field::NODE_ATTRIBUTE, axis("axis"))
                .message(field::NODE_ATTRIBUTE, eps);
            (vec![node], vec![rows(), vec![size("d")], rows()])
        }
        // The usual two ops; the optimiser makes one of them.
        "silu" => {
            let nodes = vec![
                Message::node("Sigmoid", "", &["a"], "s"),
                Message::node("Mul", "", &["a", "s"], "c"),
            ];
            (nodes, vec![rows(), rows()])
        }
        _ => (vec![Message::node("Add", "", &["a", "b"], "c")], vec![rows(); 3]),
    };
    let inputs = shapes.len() - 1;
    let names = [c"a", c"b"].into_iter().take(inputs).chain([c"c"]);
    let values: Vec<Value> = names.zip(shapes).map(|(name, shape)| Value { name, shape }).collect();
    let bytes = model(&nodes, &values, number(case.dtype).unwrap_or(0));
    Model { bytes, values }
}

fn product(case: &Case) -> (Vec<Message>, Vec<Vec<usize>>) {
    let [b, m, n, k] = ["b", "m", "n", "k"].map(|axis| case.size(axis).unwrap_or(1) as usize);
    let is_transposed = case.word("layout", "nn") == "nt";
    let node = match is_transposed {
        false => Message::node("MatMul", "", &["a", "b"], "c"),
        // What the optimiser makes of a transposition before a product.
        true => Message::node("FusedMatMul", OWN, &["a", "b"], "c").message(
            field::NODE_ATTRIBUTE,
            Message::attribute("transB", INTEGER).number(field::ATTRIBUTE_INTEGER, 1),
        ),
    };
    let mut right = if is_transposed { vec![n, k] } else { vec![k, n] };
    if !case.flag("shared", false) {
        right.insert(0, b);
    }
    (vec![node], vec![vec![b, m, k], right, vec![b, m, n]])
}

fn model(nodes: &[Message], values: &[Value], element: i32) -> Vec<u8> {
    let mut graph = Message::default().text(field::GRAPH_NAME, "case");
    for node in nodes {
        graph = graph.message(field::GRAPH_NODE, node.clone());
    }
    for (place, value) in values.iter().enumerate() {
        let is_last = place + 1 == values.len();
        let field = if is_last { field::GRAPH_OUTPUT } else { field::GRAPH_INPUT };
        graph = graph.message(field, Message::value(value, element));
    }
    let opset = |domain: &str, version| {
        let named = Message::default().text(field::OPSET_DOMAIN, domain);
        named.number(field::OPSET_VERSION, version)
    };
    Message::default()
        .number(field::MODEL_IR, IR_VERSION)
        .message(field::MODEL_GRAPH, graph)
        .message(field::MODEL_OPSET, opset("", OPSET))
        .message(field::MODEL_OPSET, opset(OWN, 1))
        .0
}

/// A message of protocol buffers, field by field.
#[derive(Clone, Default)]
struct Message(Vec<u8>);

impl Message {
    fn node(op: &str, domain: &str, inputs: &[&str], output: &str) -> Message {
        let mut node = Message::default();
        for input in inputs {
            node = node.text(field::NODE_INPUT, input);
        }
        node.text(field::NODE_OUTPUT, output)
            .text(field::NODE_OP, op)
            .text(field::NODE_DOMAIN, domain)
    }

    fn attribute(name: &str, kind: u64) -> Message {
        Message::default().text(field::ATTRIBUTE_NAME, name).number(field::ATTRIBUTE_KIND, kind)
    }

    fn value(value: &Value, element: i32) -> Message {
        let mut shape = Message::default();
        for &size in &value.shape {
            let size = Message::default().number(field::SIZE_VALUE, size as u64);
            shape = shape.message(field::SHAPE_SIZE, size);
        }
        let tensor = Message::default()
            .number(field::TENSOR_ELEMENT, u64::from(element.unsigned_abs()))
            .message(field::TENSOR_SHAPE, shape);
        let kind = Message::default().message(field::TYPE_TENSOR, tensor);
        Message::default()
            .text(field::VALUE_NAME, &value.name.to_string_lossy())
            .message(field::VALUE_TYPE, kind)
    }

    fn number(mut self, field: u32, value: u64) -> Message {
        self.varint(u64::from(field) << 3);
        self.varint(value);
        self
    }

    fn real(mut self, field: u32, value: f32) -> Message {
        self.varint(u64::from(field) << 3 | 5);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn text(self, field: u32, text: &str) -> Message {
        self.message(field, Message(text.as_bytes().to_vec()))
    }

    fn message(mut self, field: u32, inner: Message) -> Message {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(inner.0.len() as u64);
        self.0.extend(inner.0);
        self
    }

    /// Seven bits a byte, lowest first; the high bit says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_protocol_buffers_have_them() {
        assert_eq!(Message::default().number(1, 150).0, [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().text(2, "testing").0[..3], [0x12, 0x07, b't']);
        let minus_one = Message::default().number(3, u64::MAX).0;
        assert_eq!((minus_one.len(), minus_one[10]), (11, 1), "ten bytes for a negative number");
        let inner = Message::default().number(1, 150);
        assert_eq!(Message::default().message(3, inner).0, [0x1a, 0x03, 0x08, 0x96, 0x01]);
        assert_eq!(Message::default().number(20, 2).0, [0xa0, 0x01, 0x02]);
    }

    #[test]
    fn operands_have_the_shapes_of_the_op() {
        let shapes = |case: &str| -> Vec<Vec<usize>> {
            let values = of(&case.parse().unwrap()).values.into_iter();
            values.map(|value| value.shape).collect()
        };
        let product = "matmul:f32[b=2,m=3,n=5,k=7;layout=nt]";
        assert_eq!(shapes(product), [vec![2, 3, 7], vec![2, 5, 7], vec![2, 3, 5]]);
        let shared = "matmul:f32[b=2,m=3,n=5,k=7;shared=true]";
        assert_eq!(shapes(shared), [vec![2, 3, 7], vec![7, 5], vec![2, 3, 5]]);
        let norm = "rms_norm:f32[b=2,s=3,d=5]";
        assert_eq!(shapes(norm), [vec![2, 3, 5], vec![5], vec![2, 3, 5]]);
    }
}
