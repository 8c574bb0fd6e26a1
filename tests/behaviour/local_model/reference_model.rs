//! A slow implementation of the model, from its definition.

use std::collections::HashMap;

use brain_tests::tiny_model::{self, DIMENSIONS, HEADS, INNER, LAYERS};

/// The tiny model computed with plain loops in double precision. It shares no code with the daemon.
pub(super) struct ReferenceModel {
    words: Vec<String>,
    tensors: HashMap<String, Vec<f64>>,
}

impl ReferenceModel {
    pub(super) fn new(seed: u64) -> Self {
        let tensors = tiny_model::weights(seed).into_iter().chain(tiny_model::head(seed));
        let tensors =
            tensors.map(|(name, _, values)| (name, values.into_iter().map(f64::from).collect()));
        Self { words: tiny_model::vocabulary(), tensors: tensors.collect() }
    }

    /// Returns a row of the matrix `name`, whose rows have `width` values.
    fn row(&self, name: &str, row: usize, width: usize) -> &[f64] {
        &self.tensors[name][row * width..(row + 1) * width]
    }

    /// Returns `matrix · input + bias`.
    fn dense(&self, name: &str, input: &[f64], outputs: usize) -> Vec<f64> {
        let (matrix, bias) = (format!("{name}.weight"), &self.tensors[&format!("{name}.bias")]);
        (0..outputs)
            .map(|row| dot(self.row(&matrix, row, input.len()), input) + bias[row])
            .collect()
    }

    /// Normalises the sum of two vectors, then scales and shifts it.
    fn layer_norm(&self, name: &str, one: &[f64], other: &[f64]) -> Vec<f64> {
        let sum: Vec<f64> = one.iter().zip(other).map(|(one, other)| one + other).collect();
        let mean = sum.iter().sum::<f64>() / sum.len() as f64;
        let variance = sum.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / sum.len() as f64;
        let (scale, shift) =
            (&self.tensors[&format!("{name}.weight")], &self.tensors[&format!("{name}.bias")]);
        (0..sum.len())
            .map(|at| (sum[at] - mean) / (variance + 1e-12).sqrt() * scale[at] + shift[at])
            .collect()
    }

    /// Returns the vector of a text whose words are all in the vocabulary.
    pub(super) fn vector(&self, text: &str) -> Vec<f64> {
        let words = ["[CLS]"].into_iter().chain(text.split(' ')).chain(["[SEP]"]);
        let tokens = self.encode(words.map(|word| (word, 0)));
        let mut vector: Vec<f64> =
            (0..DIMENSIONS).map(|at| tokens.iter().map(|token| token[at]).sum::<f64>()).collect();
        let length = dot(&vector, &vector).sqrt();
        vector.iter_mut().for_each(|x| *x /= length);
        vector
    }

    /// Returns how well a text answers a question, 0 to 1.
    pub(super) fn relevance(&self, question: &str, text: &str) -> f64 {
        let first = ["[CLS]"].into_iter().chain(question.split(' ')).chain(["[SEP]"]);
        let second = text.split(' ').chain(["[SEP]"]);
        let words = first.map(|word| (word, 0)).chain(second.map(|word| (word, 1)));
        let tokens = self.encode(words);
        let mut pooled = self.dense("pooler.dense", &tokens[0], DIMENSIONS);
        pooled.iter_mut().for_each(|x| *x = x.tanh());
        1.0 / (1.0 + (-self.dense("classifier", &pooled, 1)[0]).exp())
    }

    /// Returns the vectors of words, each with the type of its text.
    fn encode<'t>(&self, words: impl Iterator<Item = (&'t str, usize)>) -> Vec<Vec<f64>> {
        let id = |word: &str| self.words.iter().position(|known| known == word).expect(word);
        let mut tokens: Vec<Vec<f64>> = words
            .map(|(word, kind)| (id(word), kind))
            .enumerate()
            .map(|(position, (id, kind))| {
                let kind = self.row("embeddings.token_type_embeddings.weight", kind, DIMENSIONS);
                let position =
                    self.row("embeddings.position_embeddings.weight", position, DIMENSIONS);
                let both: Vec<f64> =
                    kind.iter().zip(position).map(|(kind, position)| kind + position).collect();
                let word = self.row("embeddings.word_embeddings.weight", id, DIMENSIONS);
                self.layer_norm("embeddings.LayerNorm", word, &both)
            })
            .collect();
        for layer in 0..LAYERS {
            let name = |rest: &str| format!("encoder.layer.{layer}.{rest}");
            let project = |part: &str| -> Vec<Vec<f64>> {
                tokens
                    .iter()
                    .map(|token| {
                        self.dense(&name(&format!("attention.self.{part}")), token, DIMENSIONS)
                    })
                    .collect()
            };
            let (query, key, value) = (project("query"), project("key"), project("value"));
            let head_size = DIMENSIONS / HEADS;
            let mut next = Vec::new();
            for (at, token) in tokens.iter().enumerate() {
                let mut attended = Vec::new();
                for head in 0..HEADS {
                    let of_head =
                        |all: &[f64]| all[head * head_size..(head + 1) * head_size].to_vec();
                    let weights: Vec<f64> = key
                        .iter()
                        .map(|key| {
                            let product = dot(&of_head(&query[at]), &of_head(key));
                            (product / (head_size as f64).sqrt()).exp()
                        })
                        .collect();
                    let sum: f64 = weights.iter().sum();
                    let weighted_value = |column: usize| -> f64 {
                        weights
                            .iter()
                            .zip(&value)
                            .map(|(weight, value)| weight / sum * of_head(value)[column])
                            .sum()
                    };
                    attended.extend((0..head_size).map(weighted_value));
                }
                let attended = self.dense(&name("attention.output.dense"), &attended, DIMENSIONS);
                let middle = self.layer_norm(&name("attention.output.LayerNorm"), token, &attended);
                let mut wide = self.dense(&name("intermediate.dense"), &middle, INNER);
                wide.iter_mut().for_each(|x| *x = *x * 0.5 * (1.0 + erf(*x / 2_f64.sqrt())));
                let narrow = self.dense(&name("output.dense"), &wide, DIMENSIONS);
                next.push(self.layer_norm(&name("output.LayerNorm"), &middle, &narrow));
            }
            tokens = next;
        }
        tokens
    }
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// Returns the error function of `x`, computed with the series whose terms are all positive.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= 2.0 * x * x / f64::from(2 * n + 1);
        sum += term;
    }
    std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum
}
