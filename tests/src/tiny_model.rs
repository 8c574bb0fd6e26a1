//! A tiny sentence model in the daemon's model format: two layers, 32 dimensions, weights from a
//! seed. The model is untrained, but vectors depend mostly on the words of a text, and words in one
//! line of [`MEANINGS`] have nearly the same vector. So tests can search by meaning.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

/// Length of vectors.
pub const DIMENSIONS: usize = 32;
/// Number of attention heads.
pub const HEADS: usize = 2;
/// Number of encoder layers.
pub const LAYERS: usize = 2;
/// Inner length of a feed-forward block.
pub const INNER: usize = 64;
/// Maximum number of token positions.
pub const POSITIONS: usize = 256;
/// Maximum number of tokens of a text, including `[CLS]` and `[SEP]`.
pub const MAX_TOKENS: usize = 128;

/// Words in one line have nearly the same vector. Other words, except stop words, are split into
/// characters.
pub const MEANINGS: [&[&str]; 12] = [
    &["car", "automobile", "vehicle"],
    &["doctor", "physician", "medic"],
    &["boat", "ship", "vessel"],
    &["money", "cash", "funds"],
    &["house", "home", "dwelling"],
    &["dog", "hound", "puppy"],
    &["sea", "ocean", "tide"],
    &["meeting", "appointment", "gathering"],
    &["bread", "loaf", "baker"],
    &["storm", "tempest", "gale"],
    &["letter", "message", "note"],
    &["teacher", "tutor", "lecturer"],
];

/// Stop words. Like characters, they have shorter vectors than the words of [`MEANINGS`].
const STOP_WORDS: [&str; 20] = [
    "a", "an", "and", "are", "as", "at", "by", "for", "from", "in", "is", "it", "of", "on", "or",
    "that", "the", "to", "was", "with",
];
/// Special tokens. Their ids are their positions.
const SPECIAL: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
/// Characters that are tokens. Letters and digits are also continuations, such as `##a`.
const CHARACTERS: &str = "abcdefghijklmnopqrstuvwxyz0123456789.,:;!?'\"-_/()[]#>*@&%+=$";

/// A pseudo-random number generator (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number between 0 and 1, both excluded.
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Returns `count` normally distributed numbers (Box and Muller) with the mean 0 and the
    /// standard deviation `scale`.
    fn normal(&mut self, count: usize, scale: f64) -> Vec<f32> {
        (0..count)
            .map(|_| {
                let (radius, turn) = ((-2.0 * self.unit().ln()).sqrt(), self.unit());
                (radius * (std::f64::consts::TAU * turn).cos() * scale) as f32
            })
            .collect()
    }
}

/// Name, shape and values of a tensor.
pub type Tensor = (String, Vec<usize>, Vec<f32>);

/// Returns the tokens in the order of their ids.
#[must_use]
pub fn vocabulary() -> Vec<String> {
    let mut words: Vec<String> = SPECIAL.iter().map(|word| (*word).to_owned()).collect();
    words.extend(CHARACTERS.chars().map(String::from));
    words.extend(
        CHARACTERS.chars().filter(char::is_ascii_alphanumeric).map(|sign| format!("##{sign}")),
    );
    words.extend(STOP_WORDS.iter().filter(|word| word.len() > 1).map(|word| (*word).to_owned()));
    words.extend(MEANINGS.iter().flat_map(|line| line.iter()).map(|word| (*word).to_owned()));
    words
}

/// Returns the encoder's tensors under their usual names.
#[must_use]
pub fn weights(seed: u64) -> Vec<Tensor> {
    let mut random = Random(seed);
    let mut tensors: Vec<Tensor> = Vec::new();
    tensors.push((
        "embeddings.word_embeddings.weight".into(),
        vec![vocabulary().len(), DIMENSIONS],
        word_embeddings(&mut random),
    ));
    let mut normal = |name: &str, shape: &[usize], scale: f64, mean: f32| {
        let mut data = random.normal(shape.iter().product(), scale);
        data.iter_mut().for_each(|each| *each += mean);
        tensors.push((name.to_owned(), shape.to_vec(), data));
    };
    normal("embeddings.position_embeddings.weight", &[POSITIONS, DIMENSIONS], 0.02, 0.0);
    normal("embeddings.token_type_embeddings.weight", &[2, DIMENSIONS], 0.02, 0.0);
    normal("embeddings.LayerNorm.weight", &[DIMENSIONS], 0.05, 1.0);
    normal("embeddings.LayerNorm.bias", &[DIMENSIONS], 0.02, 0.0);
    for layer in 0..LAYERS {
        let name = |rest: &str| format!("encoder.layer.{layer}.{rest}");
        for part in ["query", "key", "value"] {
            normal(
                &name(&format!("attention.self.{part}.weight")),
                &[DIMENSIONS, DIMENSIONS],
                0.15,
                0.0,
            );
            normal(&name(&format!("attention.self.{part}.bias")), &[DIMENSIONS], 0.1, 0.0);
        }
        for (part, shape) in [
            ("attention.output", [DIMENSIONS, DIMENSIONS]),
            ("intermediate", [INNER, DIMENSIONS]),
            ("output", [DIMENSIONS, INNER]),
        ] {
            normal(&name(&format!("{part}.dense.weight")), &shape, 0.06, 0.0);
            normal(&name(&format!("{part}.dense.bias")), &shape[..1], 0.02, 0.0);
            if part != "intermediate" {
                normal(&name(&format!("{part}.LayerNorm.weight")), &[DIMENSIONS], 0.05, 1.0);
                normal(&name(&format!("{part}.LayerNorm.bias")), &[DIMENSIONS], 0.02, 0.0);
            }
        }
    }
    tensors
}

/// Returns the tensors that a reranker has above the encoder.
#[must_use]
pub fn head(seed: u64) -> Vec<Tensor> {
    let mut random = Random(!seed);
    let mut normal = |name: &str, shape: &[usize], scale: f64| {
        (name.to_owned(), shape.to_vec(), random.normal(shape.iter().product(), scale))
    };
    vec![
        normal("pooler.dense.weight", &[DIMENSIONS, DIMENSIONS], 1.0),
        normal("pooler.dense.bias", &[DIMENSIONS], 0.05),
        normal("classifier.weight", &[1, DIMENSIONS], 0.5),
        normal("classifier.bias", &[1], 0.05),
    ]
}

/// Returns the word embeddings, one row per token.
fn word_embeddings(random: &mut Random) -> Vec<f32> {
    let mut line_vectors: Vec<Option<Vec<f32>>> = vec![None; MEANINGS.len()];
    let mut rows = Vec::new();
    for word in vocabulary() {
        let line_index = MEANINGS.iter().position(|line| line.contains(&word.as_str()));
        let scale = match line_index {
            // Small against the deviation 1.0 of the vector that the words of a line share.
            Some(_) => 0.15,
            None => 0.4,
        };
        let mut row = random.normal(DIMENSIONS, scale);
        if let Some(line_vector) = line_index.and_then(|index| line_vectors.get_mut(index)) {
            let line_vector = line_vector.get_or_insert_with(|| random.normal(DIMENSIONS, 1.0));
            row.iter_mut().zip(line_vector.iter()).for_each(|(value, part)| *value += part);
        }
        rows.extend(row);
    }
    rows
}

/// Encodes tensors as a safetensors file.
#[must_use]
pub fn safetensors(tensors: &[Tensor]) -> Vec<u8> {
    let (mut header, mut data) = (Map::new(), Vec::new());
    header.insert("__metadata__".into(), json!({"format": "pt"}));
    for (name, shape, values) in tensors {
        let begin = data.len();
        data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        header.insert(
            name.clone(),
            json!({"dtype": "F32", "shape": shape, "data_offsets": [begin, data.len()]}),
        );
    }
    let mut header = Value::Object(header).to_string().into_bytes();
    header.resize(header.len().next_multiple_of(8), b' ');
    [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat()
}

/// Returns the content of `tokenizer.json`.
#[must_use]
pub fn tokenizer() -> Value {
    let words = vocabulary();
    let id_of =
        |word: &str| words.iter().position(|each| each == word).expect("the token is missing");
    let special: Vec<Value> = SPECIAL
        .iter()
        .map(|word| {
            json!({"id": id_of(word), "special": true, "content": word, "single_word": false,
                "lstrip": false,
                "rstrip": false, "normalized": false})
        })
        .collect();
    let vocabulary: Map<String, Value> =
        words.iter().enumerate().map(|(at, word)| (word.clone(), json!(at))).collect();
    let token = |word: &str| json!({"SpecialToken": {"id": word, "type_id": 0}});
    let special_token = |word: &str| json!({"id": word, "ids": [id_of(word)], "tokens": [word]});
    json!({
        "version": "1.0",
        // Published models have such settings. The daemon must override `truncation` and `padding`.
        "truncation": {"max_length": 16, "strategy": "LongestFirst", "stride": 0,
            "direction": "Right"},
        "padding": {"strategy": {"Fixed": 16}, "direction": "Right", "pad_to_multiple_of": null,
            "pad_id": 0,
            "pad_type_id": 0, "pad_token": "[PAD]"},
        "added_tokens": special,
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing",
            "single": [token("[CLS]"), {"Sequence": {"id": "A", "type_id": 0}}, token("[SEP]")],
            "pair": [token("[CLS]"), {"Sequence": {"id": "A", "type_id": 0}}, token("[SEP]"),
                {"Sequence": {"id": "B", "type_id": 1}},
                {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
            "special_tokens": {"[CLS]": special_token("[CLS]"), "[SEP]": special_token("[SEP]")}},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary},
    })
}

/// Returns the content of `config.json`.
#[must_use]
pub fn config() -> Value {
    json!({
        "architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu",
        "hidden_size": DIMENSIONS,
        "intermediate_size": INNER, "layer_norm_eps": 1e-12, "max_position_embeddings": POSITIONS,
        "num_attention_heads": HEADS, "num_hidden_layers": LAYERS, "pad_token_id": 0,
        "position_embedding_type": "absolute", "type_vocab_size": 2,
        "vocab_size": vocabulary().len(),
    })
}

/// Writes the model into a directory, which is created. Equal seeds give equal bytes.
///
/// # Panics
/// When the directory cannot be written.
pub fn write(dir: &Path, seed: u64) {
    write_file(dir, "config.json", config().to_string().as_bytes());
    write_file(dir, "tokenizer.json", tokenizer().to_string().as_bytes());
    let sentences = json!({"max_seq_length": MAX_TOKENS});
    write_file(dir, "sentence_bert_config.json", sentences.to_string().as_bytes());
    let pooling = json!({"word_embedding_dimension": DIMENSIONS, "pooling_mode_cls_token": false,
        "pooling_mode_mean_tokens": true});
    write_file(dir, "1_Pooling/config.json", pooling.to_string().as_bytes());
    write_file(dir, "model.safetensors", &safetensors(&weights(seed)));
}

/// Writes a reranker with the same encoder. Names of files and tensors are those of published
/// rerankers.
///
/// # Panics
/// When the directory cannot be written.
pub fn write_reranker(dir: &Path, seed: u64) {
    let mut config = config();
    config["architectures"] = json!(["BertForSequenceClassification"]);
    write_file(dir, "config.json", config.to_string().as_bytes());
    write_file(dir, "tokenizer.json", tokenizer().to_string().as_bytes());
    let mut tensors = weights(seed);
    tensors.extend(head(seed));
    for (name, ..) in &mut tensors {
        if !name.starts_with("classifier.") {
            *name = format!("bert.{name}");
        }
    }
    write_file(dir, "model.safetensors", &safetensors(&tensors));
}

fn write_file(dir: &Path, name: &str, bytes: &[u8]) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().expect("the file has no directory"))
        .expect("the directory cannot be created");
    fs::write(&path, bytes).expect("the file cannot be written");
}
