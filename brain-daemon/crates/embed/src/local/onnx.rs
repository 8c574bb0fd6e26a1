//! Writes a graph in the wire format of ONNX (protocol buffers), as far as an encoder needs it. Only the numbers of fields that are used
//! are here; they are those of `onnx.proto`.

/// The version of the format, and of the two sets of operators.
const FORMAT: u64 = 10;
const OPERATORS: u64 = 20;
const OPERATORS_MORE: u64 = 1;
/// The set of operators that is not the standard's.
const MORE: &str = "com.microsoft";

/// Numbers of ONNX for kinds of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Four bytes, a fraction.
    Float = 1,
    /// Eight bytes.
    Int64 = 7,
}

/// A protocol buffer that is being written.
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

/// What an operator is told besides its inputs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Attribute {
    /// A fraction.
    Float(f32),
    /// A whole number.
    Int(u64),
    /// A word.
    Text(&'static str),
}

/// A graph that is being written. Values are known by name; operators are added in the order in which they run.
#[derive(Default)]
pub(super) struct Graph(Message);

impl Graph {
    fn add(&mut self, field: u64, message: &Message) {
        self.0 = std::mem::take(&mut self.0).bytes(field, &message.0);
    }

    /// An input or output of whole numbers or fractions; each dimension has a name or a size.
    fn value(kind: Kind, name: &str, shape: &[Result<&str, usize>]) -> Message {
        let mut dimensions = Message::default();
        for dimension in shape {
            let dimension = match dimension {
                Ok(name) => Message::default().bytes(2, name.as_bytes()),
                Err(size) => Message::default().number(1, *size as u64),
            };
            dimensions = dimensions.bytes(1, &dimension.0);
        }
        let tensor = Message::default().number(1, kind as u64).bytes(2, &dimensions.0);
        let about = Message::default().bytes(1, &tensor.0);
        Message::default().bytes(1, name.as_bytes()).bytes(2, &about.0)
    }

    /// An input of the graph.
    pub(super) fn input(&mut self, kind: Kind, name: &str, shape: &[Result<&str, usize>]) {
        self.add(11, &Self::value(kind, name, shape));
    }

    /// An output of the graph.
    pub(super) fn output(&mut self, kind: Kind, name: &str, shape: &[Result<&str, usize>]) {
        self.add(12, &Self::value(kind, name, shape));
    }

    /// Whole numbers that are always the same.
    pub(super) fn numbers(&mut self, name: &str, values: &[i64]) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let tensor = Message::default()
            .number(1, values.len() as u64)
            .number(2, Kind::Int64 as u64)
            .bytes(8, name.as_bytes())
            .bytes(9, &bytes);
        self.add(5, &tensor);
    }

    /// Fractions that are always the same.
    #[cfg(test)]
    pub(super) fn fractions(&mut self, name: &str, shape: &[usize], values: &[f32]) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut tensor = Message::default();
        for dimension in shape {
            tensor = tensor.number(1, *dimension as u64);
        }
        self.add(
            5,
            &tensor.number(2, Kind::Float as u64).bytes(8, name.as_bytes()).bytes(9, &bytes),
        );
    }

    /// Fractions that are always the same, and lie at `begin` in the file `place`.
    pub(super) fn outside(&mut self, name: &str, shape: &[usize], place: &str, begin: usize) {
        let mut tensor = Message::default();
        for dimension in shape {
            tensor = tensor.number(1, *dimension as u64);
        }
        tensor = tensor.number(2, Kind::Float as u64).bytes(8, name.as_bytes());
        let length = shape.iter().product::<usize>() * 4;
        for (key, value) in [
            ("location", place.to_owned()),
            ("offset", begin.to_string()),
            ("length", length.to_string()),
        ] {
            let pair = Message::default().bytes(1, key.as_bytes()).bytes(2, value.as_bytes());
            tensor = tensor.bytes(13, &pair.0);
        }
        self.add(5, &tensor.number(14, 1));
    }

    /// An operator of the standard.
    pub(super) fn run(
        &mut self,
        what: &str,
        inputs: &[&str],
        output: &str,
        told: &[(&str, Attribute)],
    ) {
        self.node(what, "", inputs, output, told);
    }

    /// An operator that is not the standard's.
    pub(super) fn run_more(
        &mut self,
        what: &str,
        inputs: &[&str],
        output: &str,
        told: &[(&str, Attribute)],
    ) {
        self.node(what, MORE, inputs, output, told);
    }

    fn node(
        &mut self,
        what: &str,
        set: &str,
        inputs: &[&str],
        output: &str,
        told: &[(&str, Attribute)],
    ) {
        let mut node = Message::default();
        for input in inputs {
            node = node.bytes(1, input.as_bytes());
        }
        // Named as its output is: an error of the runtime says where.
        node =
            node.bytes(2, output.as_bytes()).bytes(3, output.as_bytes()).bytes(4, what.as_bytes());
        for (name, value) in told {
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

    /// The bytes of a file with this graph.
    pub(super) fn finish(self) -> Vec<u8> {
        let graph = self.0.bytes(2, b"encoder");
        let set =
            |name: &str, version| Message::default().bytes(1, name.as_bytes()).number(2, version);
        Message::default()
            .number(1, FORMAT)
            .bytes(7, &graph.0)
            .bytes(8, &set("", OPERATORS).0)
            .bytes(8, &set(MORE, OPERATORS_MORE).0)
            .0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_is_that_of_protocol_buffers() {
        // The example of the format's own description: field 1, the number 150; field 2, the text "testing".
        assert_eq!(Message::default().number(1, 150).0, [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().bytes(2, b"testing").0, b"\x12\x07testing");
        assert_eq!(Message::default().float(2, 1.0).0, [0x15, 0, 0, 0x80, 0x3f]);
    }
}
