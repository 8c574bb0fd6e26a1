//! Builds an ONNX graph of a BERT encoder from the tensors of its file. A reranker has two dense
//! layers above the encoder, and reads the types of tokens.
//!
//! All tensors are in one memory block, which the runtime takes over and uses without a copy.
//! Matrices are transposed so that rows are inputs. The three matrices of an attention block are
//! joined. Besides the block, only the tensors that are being copied are in memory.
//!
//! The matrices of a sentence model have 8-bit numbers with a scale for each output, and the values
//! that they multiply are rounded to 8 bits with a scale for each text. That takes a third of the
//! time, and less memory. A reranker keeps its floats: its scores differ less between texts.

use std::path::Path;

use super::model_card::{Activation, Shape};
use super::onnx::Dimension::{Fixed, Named};
use super::onnx::{Attribute, DataType, OnnxGraph};
use super::weights::Tensors;
use crate::EmbedError;

/// Name of the input of token ids.
pub(super) const TOKENS: &str = "input_ids";
/// Name of the input that has 1 for a token and 0 for padding.
pub(super) const MASK: &str = "attention_mask";
/// Name of the input of token types, for a reranker.
pub(super) const TYPES: &str = "token_type_ids";
/// Name of the input of token positions, from 0: one row for all texts. Other models have
/// `position_ids`, with one row for each text.
pub(super) const POSITIONS: &str = "places";
/// Name of the output.
pub(super) const OUTPUT: &str = "last_hidden_state";
/// Name of the tensors' memory block.
pub(super) const MEMORY: &str = "weights.data";
/// Alignment of tensors: a line of the CPU's cache.
const ALIGN: usize = 64;
/// Largest number of a rounded matrix. With 127, two products could overflow the 16 bits in which
/// processors without VNNI add them, and machines would differ.
const MAX_ROUNDED: f32 = 63.0;
/// Name of the zero point of all rounded matrices.
const NO_SHIFT: &str = "no_shift";

/// A graph and its tensors.
pub(super) struct BuiltGraph {
    /// An ONNX file.
    pub(super) graph: Vec<u8>,
    /// The block [`MEMORY`].
    pub(super) memory: Vec<u8>,
}

/// Returns names and shapes of the tensors of one layer.
fn layer(shape: &Shape, at: usize) -> Vec<(String, Vec<usize>)> {
    let (hidden, inner) = (shape.hidden, shape.inner);
    let parts = [
        ("attention.self.query.weight", vec![hidden, hidden]),
        ("attention.self.query.bias", vec![hidden]),
        ("attention.self.key.weight", vec![hidden, hidden]),
        ("attention.self.key.bias", vec![hidden]),
        ("attention.self.value.weight", vec![hidden, hidden]),
        ("attention.self.value.bias", vec![hidden]),
        ("attention.output.dense.weight", vec![hidden, hidden]),
        ("attention.output.dense.bias", vec![hidden]),
        ("attention.output.LayerNorm.weight", vec![hidden]),
        ("attention.output.LayerNorm.bias", vec![hidden]),
        ("intermediate.dense.weight", vec![inner, hidden]),
        ("intermediate.dense.bias", vec![inner]),
        ("output.dense.weight", vec![hidden, inner]),
        ("output.dense.bias", vec![hidden]),
        ("output.LayerNorm.weight", vec![hidden]),
        ("output.LayerNorm.bias", vec![hidden]),
    ];
    parts.into_iter().map(|(name, shape)| (format!("encoder.layer.{at}.{name}"), shape)).collect()
}

/// Returns names and shapes of the tensors before the first layer.
fn embeddings(shape: &Shape) -> [(&'static str, Vec<usize>); 5] {
    [
        ("embeddings.word_embeddings.weight", vec![shape.vocabulary, shape.hidden]),
        ("embeddings.position_embeddings.weight", vec![shape.positions, shape.hidden]),
        ("embeddings.token_type_embeddings.weight", vec![shape.types, shape.hidden]),
        ("embeddings.LayerNorm.weight", vec![shape.hidden]),
        ("embeddings.LayerNorm.bias", vec![shape.hidden]),
    ]
}

/// Returns names and shapes of the tensors above the last layer.
fn head(shape: &Shape) -> Vec<(String, Vec<usize>)> {
    let Some(head) = shape.head else { return Vec::new() };
    let hidden = shape.hidden;
    let parts = [
        (head.inner, "weight", vec![hidden, hidden]),
        (head.inner, "bias", vec![hidden]),
        (head.output, "weight", vec![1, hidden]),
        (head.output, "bias", vec![1]),
    ];
    parts.into_iter().map(|(name, part, shape)| (format!("{name}.{part}"), shape)).collect()
}

/// Checks that the file has all tensors that `shape`, from `config.json`, requires.
pub(super) fn check(path: &Path, shape: &Shape) -> Result<(), EmbedError> {
    let tensors = Tensors::open(path)?;
    for (name, shape) in &embeddings(shape) {
        tensors.check(name, shape)?;
    }
    let layers = (0..shape.layers).flat_map(|at| layer(shape, at));
    for (name, shape) in layers.chain(head(shape)) {
        tensors.check(&name, &shape)?;
    }
    Ok(())
}

/// Builds the graph of a model and reads its tensors.
pub(super) fn build(path: &Path, shape: &Shape) -> Result<BuiltGraph, EmbedError> {
    // Memory is reserved by the shape, so the shape is checked first.
    check(path, shape)?;
    let mut builder = OnnxBuilder {
        tensors: Tensors::open(path)?,
        graph: OnnxGraph::default(),
        memory: reserve_memory(shape),
        shape,
    };
    builder.graph.byte(NO_SHIFT, 0);
    builder.inputs()?;
    let mut last = "embedded".to_owned();
    for at in 0..shape.layers {
        last = builder.layer(at, &last)?;
    }
    if shape.head.is_some() {
        last = builder.head(&last)?;
    }
    let OnnxBuilder { mut graph, memory, .. } = builder;
    graph.run("Identity", &[&last], OUTPUT, &[]);
    match shape.head {
        Some(_) => graph.output(DataType::Float, OUTPUT, &[Named("texts"), Fixed(1)]),
        None => graph.output(
            DataType::Float,
            OUTPUT,
            &[Named("texts"), Named("tokens"), Fixed(shape.hidden)],
        ),
    }
    Ok(BuiltGraph { graph: graph.finish(), memory })
}

/// Whether the matrices of the layers are rounded. Then a batch must have a single text, because
/// its texts would share a scale: the vector of a text would depend on the others.
pub(super) fn is_rounded(shape: &Shape) -> bool {
    shape.head.is_none()
}

/// Reserves memory for all tensors at once: a block that grows is in memory twice.
fn reserve_memory(shape: &Shape) -> Vec<u8> {
    let bytes_of = |tensor: &[usize]| tensor.iter().product::<usize>() * 4 + ALIGN;
    let before: usize = embeddings(shape).iter().map(|(_, tensor)| bytes_of(tensor)).sum();
    let in_layer = |tensor: &[usize]| match tensor {
        // A rounded matrix, and its scales.
        [rows, columns] if is_rounded(shape) => rows * columns + rows * 4 + 2 * ALIGN,
        tensor => bytes_of(tensor),
    };
    let each: usize = layer(shape, 0).iter().map(|(_, tensor)| in_layer(tensor)).sum();
    let after: usize = head(shape).iter().map(|(_, tensor)| bytes_of(tensor)).sum();
    Vec::with_capacity(before + each * shape.layers + after)
}

/// A graph under construction.
struct OnnxBuilder<'a> {
    tensors: Tensors,
    graph: OnnxGraph,
    memory: Vec<u8>,
    shape: &'a Shape,
}

impl OnnxBuilder<'_> {
    /// Starts a tensor in memory and names it in the graph.
    fn begin(&mut self, kind: DataType, name: &str, shape: &[usize]) {
        self.memory.resize(self.memory.len().next_multiple_of(ALIGN), 0);
        self.graph.external(kind, name, shape, (MEMORY, self.memory.len()));
    }

    /// Adds a tensor with these numbers.
    fn put(&mut self, name: &str, shape: &[usize], numbers: impl Iterator<Item = f32>) {
        self.begin(DataType::Float, name, shape);
        self.memory.extend(numbers.flat_map(f32::to_le_bytes));
    }

    /// Adds these rows of a matrix, transposed: from one row per output to one row per input.
    /// Rounds them if the matrices of the layers are rounded.
    fn put_matrix(
        &mut self,
        name: &str,
        (numbers, columns): (&[f32], usize),
        rows: impl Iterator<Item = usize>,
    ) {
        let rows: Vec<&[f32]> = rows
            .map(|row| numbers.get(row * columns..(row + 1) * columns).unwrap_or_default())
            .collect();
        if is_rounded(self.shape) {
            return self.put_rounded(name, &rows, columns);
        }
        let number = |column: usize, row: &&[f32]| row.get(column).copied().unwrap_or_default();
        let transposed =
            (0..columns).flat_map(|column| rows.iter().map(move |row| number(column, row)));
        self.put(name, &[columns, rows.len()], transposed);
    }

    /// Adds the rows of a matrix, transposed and rounded, and the scale of each row.
    fn put_rounded(&mut self, name: &str, rows: &[&[f32]], columns: usize) {
        // Keeps NaN, so that damaged weights make no vector.
        let larger = |max: f32, number: &f32| match max.is_nan() || number.abs() <= max {
            true => max,
            false => number.abs(),
        };
        let scale = |row: &&[f32]| row.iter().fold(f32::MIN_POSITIVE, larger) / MAX_ROUNDED;
        let scales: Vec<f32> = rows.iter().map(scale).collect();
        self.begin(DataType::Int8, name, &[columns, rows.len()]);
        let begin = self.memory.len();
        self.memory.resize(begin + columns * rows.len(), 0);
        for (output, (row, scale)) in rows.iter().zip(&scales).enumerate() {
            let places = self.memory.iter_mut().skip(begin + output).step_by(rows.len());
            for (place, number) in places.zip(*row) {
                *place = ((number / scale).round() as i8) as u8;
            }
        }
        self.put(&format!("{name}.scale"), &[rows.len()], scales.into_iter());
    }

    /// Copies a tensor of the file.
    fn copy_tensor(&mut self, name: &str, shape: &[usize]) -> Result<(), EmbedError> {
        self.begin(DataType::Float, name, shape);
        let memory = &mut self.memory;
        self.tensors.each(name, shape, |part| {
            part.iter().for_each(|number| memory.extend(number.to_le_bytes()));
        })
    }

    /// Copies a matrix of the file as [`OnnxBuilder::put_matrix`] does.
    fn copy_matrix(&mut self, name: &str, rows: usize, columns: usize) -> Result<(), EmbedError> {
        let numbers = self.tensors.read(name, &[rows, columns])?;
        self.put_matrix(name, (&numbers, columns), 0..rows);
        Ok(())
    }

    /// Adds the inputs, and the norm of the sum of the embeddings of tokens, positions and types.
    fn inputs(&mut self) -> Result<(), EmbedError> {
        let shape = self.shape;
        self.graph.input(DataType::Int64, TOKENS, &[Named("texts"), Named("tokens")]);
        self.graph.input(DataType::Int64, MASK, &[Named("texts"), Named("tokens")]);
        self.graph.input(DataType::Int64, POSITIONS, &[Named("tokens")]);
        let [words, positions, types, scale, shift] = embeddings(shape);
        self.copy_tensor(words.0, &words.1)?;
        // In a single text, every token has the first type: the row of that type is added to the
        // positions. In pairs, tokens of the second type get the difference of the two rows.
        let type_rows = self.tensors.read(types.0, &types.1)?;
        let position_rows = self.tensors.read(positions.0, &positions.1)?;
        let used_rows =
            position_rows.get(shape.first_position * shape.hidden..).unwrap_or_default();
        let sum = used_rows
            .iter()
            .zip(type_rows.iter().take(shape.hidden).cycle())
            .map(|(position, first_type)| position + first_type);
        self.put(positions.0, &[shape.positions - shape.first_position, shape.hidden], sum);
        self.copy_tensor(scale.0, &scale.1)?;
        self.copy_tensor(shift.0, &shift.1)?;
        self.graph.run("Gather", &[words.0, TOKENS], "words", &[]);
        self.graph.run("Gather", &[positions.0, POSITIONS], "positions_of_words", &[]);
        let mut words = "words";
        if shape.head.is_some() && shape.types > 1 {
            let (first, second) = type_rows.split_at(shape.hidden);
            let difference = second.iter().zip(first).map(|(second, first)| second - first);
            let rows: Vec<f32> = vec![0.0; shape.hidden].into_iter().chain(difference).collect();
            self.put(types.0, &[2, shape.hidden], rows.into_iter());
            self.graph.input(DataType::Int64, TYPES, &[Named("texts"), Named("tokens")]);
            self.graph.run("Gather", &[types.0, TYPES], "types_of_words", &[]);
            self.graph.run("Add", &[words, "types_of_words"], "typed_words", &[]);
            words = "typed_words";
        }
        self.norm([words, "positions_of_words"], "embeddings.LayerNorm", "embedded");
        Ok(())
    }

    /// Adds the layers above the encoder, for the first token of each text, and returns the name of
    /// their output: one number for each text.
    fn head(&mut self, input: &str) -> Result<String, EmbedError> {
        let Some(head) = self.shape.head else { return Ok(input.to_owned()) };
        let hidden = self.shape.hidden;
        self.graph.integers("first", &[0]);
        self.graph.integers("first_axis", &[1]);
        self.graph.run("Gather", &[input, "first"], "first_tokens", &[("axis", Attribute::Int(1))]);
        self.graph.run("Squeeze", &["first_tokens", "first_axis"], "texts_read", &[]);
        self.copy_matrix(&format!("{}.weight", head.inner), hidden, hidden)?;
        self.copy_tensor(&format!("{}.bias", head.inner), &[hidden])?;
        self.dense("texts_read", head.inner, "pooled");
        self.graph.run("Tanh", &["pooled"], "pooled_tanh", &[]);
        self.copy_matrix(&format!("{}.weight", head.output), 1, hidden)?;
        self.copy_tensor(&format!("{}.bias", head.output), &[1])?;
        self.dense("pooled_tanh", head.output, "relevance");
        Ok("relevance".into())
    }

    /// Adds the layer norm of the sum of two values.
    fn norm(&mut self, summands: [&str; 2], name: &str, output: &str) {
        let (scale, shift) = (format!("{name}.weight"), format!("{name}.bias"));
        let attributes = [("epsilon", Attribute::Float(self.shape.epsilon))];
        let [first, second] = summands;
        self.graph.run_extended(
            "SkipLayerNormalization",
            &[first, second, &scale, &shift],
            output,
            &attributes,
        );
    }

    /// Adds a matrix product with bias. The runtime fuses the steps.
    fn dense(&mut self, input: &str, name: &str, output: &str) {
        let (product, weight) = (format!("{output}.product"), format!("{name}.weight"));
        match is_rounded(self.shape) {
            true => self.rounded_product(input, &weight, &product),
            false => self.graph.run("MatMul", &[input, &weight], &product, &[]),
        }
        self.graph.run("Add", &[&product, &format!("{name}.bias")], output, &[]);
    }

    /// Adds the product of a value, which is rounded, and a rounded matrix.
    fn rounded_product(&mut self, input: &str, weight: &str, product: &str) {
        let [rounded, scale, shift] =
            ["rounded", "scale", "shift"].map(|it| format!("{product}.{it}"));
        let [sums, floats, scales] =
            ["sums", "floats", "scales"].map(|it| format!("{product}.{it}"));
        let graph = &mut self.graph;
        graph.run_for_all("DynamicQuantizeLinear", &[input], &[&rounded, &scale, &shift]);
        graph.run("MatMulInteger", &[&rounded, weight, &shift, NO_SHIFT], &sums, &[]);
        let to = Attribute::Int(DataType::Float as u64);
        graph.run("Cast", &[&sums], &floats, &[("to", to)]);
        graph.run("Mul", &[&scale, &format!("{weight}.scale")], &scales, &[]);
        graph.run("Mul", &[&floats, &scales], product, &[]);
    }

    /// Adds one layer and returns the name of its output.
    fn layer(&mut self, at: usize, input: &str) -> Result<String, EmbedError> {
        let Shape { hidden, inner, heads, .. } = *self.shape;
        let full_name = |part: &str| format!("encoder.layer.{at}.{part}");
        self.copy_attention(at)?;
        let (all, split) = (full_name("attention"), full_name("split"));
        let attention_output = full_name("attention_output");
        let sizes = full_name("sizes");
        self.dense(input, &all, &full_name("all"));
        // A size of 0 keeps an axis: texts and tokens. Query, key and value of a head are adjacent.
        self.graph.integers(&sizes, &[0, 0, heads as i64, 3, (hidden / heads) as i64]);
        self.graph.run("Reshape", &[&full_name("all"), &sizes], &split, &[]);
        let attributes = [("num_heads", Attribute::Int(heads as u64))];
        self.graph.run_extended(
            "MultiHeadAttention",
            &[&split, "", "", "", MASK],
            &attention_output,
            &attributes,
        );

        let (out, norm) =
            (full_name("attention.output.dense"), full_name("attention.output.LayerNorm"));
        self.copy_matrix(&format!("{out}.weight"), hidden, hidden)?;
        self.copy_tensor(&format!("{out}.bias"), &[hidden])?;
        self.copy_norm(&norm)?;
        self.dense(&attention_output, &out, &full_name("attended"));
        self.norm([input, &full_name("attended")], &norm, &full_name("middle"));

        let (up, down) = (full_name("intermediate.dense"), full_name("output.dense"));
        self.copy_matrix(&format!("{up}.weight"), inner, hidden)?;
        self.copy_tensor(&format!("{up}.bias"), &[inner])?;
        self.copy_matrix(&format!("{down}.weight"), hidden, inner)?;
        self.copy_tensor(&format!("{down}.bias"), &[hidden])?;
        let norm = full_name("output.LayerNorm");
        self.copy_norm(&norm)?;
        self.dense(&full_name("middle"), &up, &full_name("wide"));
        let (operator, attributes): (_, &[_]) = match self.shape.activation {
            Activation::Gelu => ("Gelu", &[]),
            Activation::GeluTanh => ("Gelu", &[("approximate", Attribute::Text("tanh"))]),
            Activation::Relu => ("Relu", &[]),
        };
        self.graph.run(operator, &[&full_name("wide")], &full_name("active"), attributes);
        self.dense(&full_name("active"), &down, &full_name("narrow"));
        self.norm([&full_name("middle"), &full_name("narrow")], &norm, &full_name("end"));
        Ok(full_name("end"))
    }

    /// Copies scale and shift of a layer norm.
    fn copy_norm(&mut self, name: &str) -> Result<(), EmbedError> {
        let hidden = [self.shape.hidden];
        self.copy_tensor(&format!("{name}.weight"), &hidden)?;
        self.copy_tensor(&format!("{name}.bias"), &hidden)
    }

    /// Copies the three matrices of an attention block and their biases, joined: for each head, the
    /// columns of query, key and value.
    fn copy_attention(&mut self, at: usize) -> Result<(), EmbedError> {
        let Shape { hidden, heads, .. } = *self.shape;
        let (mut matrix, mut bias) =
            (Vec::with_capacity(3 * hidden * hidden), Vec::with_capacity(3 * hidden));
        for part in ["query", "key", "value"] {
            let name = format!("encoder.layer.{at}.attention.self.{part}");
            matrix.extend(self.tensors.read(&format!("{name}.weight"), &[hidden, hidden])?);
            bias.extend(self.tensors.read(&format!("{name}.bias"), &[hidden])?);
        }
        let each = hidden / heads;
        let order = (0..heads).flat_map(|head| {
            (0..3).flat_map(move |part| (0..each).map(move |at| part * hidden + head * each + at))
        });
        let name = format!("encoder.layer.{at}.attention");
        self.put_matrix(&format!("{name}.weight"), (&matrix, hidden), order.clone());
        self.put(
            &format!("{name}.bias"),
            &[3 * hidden],
            order.map(|row| bias.get(row).copied().unwrap_or_default()),
        );
        Ok(())
    }
}
