//! Writes graphs in ONNX's wire format (protocol buffers), as far as an encoder needs it.
//!
//! Field numbers are those of `onnx.proto`; unused fields are left out.

/// Version of the format.
const FORMAT_VERSION: u64 = 10;
/// Version of ONNX's own operator set.
const ONNX_SET_VERSION: u64 = 20;
/// The second operator set: Microsoft's extensions.
const MICROSOFT_SET: &str = "com.microsoft";
/// Version of the second operator set.
const MICROSOFT_SET_VERSION: u64 = 1;

/// Data types of ONNX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataType {
    /// 32-bit float.
    Float = 1,
    /// 8-bit integer.
    Int8 = 3,
    /// 64-bit integer.
    Int64 = 7,
}

impl DataType {
    /// Returns the length of a number, in bytes.
    fn bytes(self) -> usize {
        match self {
            Self::Float => 4,
            Self::Int8 => 1,
            Self::Int64 => 8,
        }
    }
}

/// A protocol buffer under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn float(mut self, field: u64, value: f32) -> Self {
        self.varint(field << 3 | 5);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend(value);
        self
    }
}

/// An attribute of an operator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Attribute {
    /// A float.
    Float(f32),
    /// An integer.
    Int(u64),
    /// A string.
    Text(&'static str),
}

/// A dimension of an input or output.
pub(super) enum Dimension<'a> {
    /// A size that is known only when the graph runs.
    Named(&'a str),
    /// A fixed size.
    Fixed(usize),
}

/// A graph under construction. Values are referred to by name; operators are added in the order in
/// which they run.
#[derive(Default)]
pub(super) struct OnnxGraph(Message);

impl OnnxGraph {
    fn add(&mut self, field: u64, message: &Message) {
        self.0 = std::mem::take(&mut self.0).bytes(field, &message.0);
    }

    /// Describes an input or output.
    fn value(kind: DataType, name: &str, shape: &[Dimension<'_>]) -> Message {
        let mut dimensions = Message::default();
        for dimension in shape {
            let dimension = match dimension {
                Dimension::Named(name) => Message::default().bytes(2, name.as_bytes()),
                Dimension::Fixed(size) => Message::default().number(1, *size as u64),
            };
            dimensions = dimensions.bytes(1, &dimension.0);
        }
        let tensor = Message::default().number(1, kind as u64).bytes(2, &dimensions.0);
        let value_type = Message::default().bytes(1, &tensor.0);
        Message::default().bytes(1, name.as_bytes()).bytes(2, &value_type.0)
    }

    /// Adds an input.
    pub(super) fn input(&mut self, kind: DataType, name: &str, shape: &[Dimension<'_>]) {
        self.add(11, &Self::value(kind, name, shape));
    }

    /// Adds an output.
    pub(super) fn output(&mut self, kind: DataType, name: &str, shape: &[Dimension<'_>]) {
        self.add(12, &Self::value(kind, name, shape));
    }

    /// Adds a single 8-bit integer.
    pub(super) fn byte(&mut self, name: &str, value: i8) {
        let tensor = Message::default()
            .number(2, DataType::Int8 as u64)
            .bytes(8, name.as_bytes())
            .bytes(9, &value.to_le_bytes());
        self.add(5, &tensor);
    }

    /// Adds an integer constant.
    pub(super) fn integers(&mut self, name: &str, values: &[i64]) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let tensor = Message::default()
            .number(1, values.len() as u64)
            .number(2, DataType::Int64 as u64)
            .bytes(8, name.as_bytes())
            .bytes(9, &bytes);
        self.add(5, &tensor);
    }

    /// Adds a float constant.
    #[cfg(test)]
    pub(super) fn floats(&mut self, name: &str, shape: &[usize], values: &[f32]) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut tensor = Message::default();
        for dimension in shape {
            tensor = tensor.number(1, *dimension as u64);
        }
        self.add(
            5,
            &tensor.number(2, DataType::Float as u64).bytes(8, name.as_bytes()).bytes(9, &bytes),
        );
    }

    /// Adds a constant that begins at the byte `begin` of the external file `path`.
    pub(super) fn external(
        &mut self,
        kind: DataType,
        name: &str,
        shape: &[usize],
        (path, begin): (&str, usize),
    ) {
        let mut tensor = Message::default();
        for dimension in shape {
            tensor = tensor.number(1, *dimension as u64);
        }
        tensor = tensor.number(2, kind as u64).bytes(8, name.as_bytes());
        let length = shape.iter().product::<usize>() * kind.bytes();
        for (key, value) in [
            ("location", path.to_owned()),
            ("offset", begin.to_string()),
            ("length", length.to_string()),
        ] {
            let pair = Message::default().bytes(1, key.as_bytes()).bytes(2, value.as_bytes());
            tensor = tensor.bytes(13, &pair.0);
        }
        // The data location 1 means an external file.
        self.add(5, &tensor.number(14, 1));
    }

    /// Adds an operator of ONNX's own set. Values are given by name.
    pub(super) fn run(
        &mut self,
        operator: &str,
        inputs: &[&str],
        output: &str,
        attributes: &[(&str, Attribute)],
    ) {
        self.node(operator, "", inputs, &[output], attributes);
    }

    /// Adds an operator of ONNX's own set with several outputs.
    pub(super) fn run_for_all(&mut self, operator: &str, inputs: &[&str], outputs: &[&str]) {
        self.node(operator, "", inputs, outputs, &[]);
    }

    /// Adds an operator of [`MICROSOFT_SET`].
    pub(super) fn run_extended(
        &mut self,
        operator: &str,
        inputs: &[&str],
        output: &str,
        attributes: &[(&str, Attribute)],
    ) {
        self.node(operator, MICROSOFT_SET, inputs, &[output], attributes);
    }

    fn node(
        &mut self,
        operator: &str,
        set: &str,
        inputs: &[&str],
        outputs: &[&str],
        attributes: &[(&str, Attribute)],
    ) {
        let mut node = Message::default();
        for input in inputs {
            node = node.bytes(1, input.as_bytes());
        }
        for output in outputs {
            node = node.bytes(2, output.as_bytes());
        }
        // Errors of the runtime name a node, so it has the name of its first output.
        let name = outputs.first().copied().unwrap_or_default();
        node = node.bytes(3, name.as_bytes()).bytes(4, operator.as_bytes());
        for (name, value) in attributes {
            let attribute = Message::default().bytes(1, name.as_bytes());
            let attribute = match value {
                Attribute::Float(value) => attribute.float(2, *value).number(20, 1),
                Attribute::Int(value) => attribute.number(3, *value).number(20, 2),
                Attribute::Text(value) => attribute.bytes(4, value.as_bytes()).number(20, 3),
            };
            node = node.bytes(5, &attribute.0);
        }
        self.add(1, &node.bytes(7, set.as_bytes()));
    }

    /// Returns the bytes of an ONNX file.
    pub(super) fn finish(self) -> Vec<u8> {
        let graph = self.0.bytes(2, b"encoder");
        let set =
            |name: &str, version| Message::default().bytes(1, name.as_bytes()).number(2, version);
        Message::default()
            .number(1, FORMAT_VERSION)
            .bytes(7, &graph.0)
            .bytes(8, &set("", ONNX_SET_VERSION).0)
            .bytes(8, &set(MICROSOFT_SET, MICROSOFT_SET_VERSION).0)
            .0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_follows_protocol_buffers() {
        // The examples of the format's documentation: field 1, number 150; field 2, text
        // "testing".
        assert_eq!(Message::default().number(1, 150).0, [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().bytes(2, b"testing").0, b"\x12\x07testing");
        assert_eq!(Message::default().float(2, 1.0).0, [0x15, 0, 0, 0x80, 0x3f]);
    }
}
