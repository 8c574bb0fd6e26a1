//! The model that runs in the daemon, with a tiny one that this test makes: its numbers against
//! plain loops, and what it says of damaged files.

use std::cell::Cell;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use brain_embed::{EmbedErrorKind, Embedder, Local, Purpose, inspect};
use brain_tests::tiny_model::{self, DIMENSIONS, HEADS, INNER, LAYERS, MAX_TOKENS};
use serde_json::{Value, json};

/// The tiny model, one number after the other, in twice the precision. Shares nothing with the
/// daemon.
struct Plain {
    words: Vec<String>,
    tensors: HashMap<String, Vec<f64>>,
}

impl Plain {
    fn new(seed: u64) -> Self {
        let tensors = tiny_model::weights(seed).into_iter();
        let tensors =
            tensors.map(|(name, _, values)| (name, values.into_iter().map(f64::from).collect()));
        Self { words: tiny_model::vocabulary(), tensors: tensors.collect() }
    }

    fn get(&self, name: &str, row: usize, width: usize) -> &[f64] {
        &self.tensors[name][row * width..(row + 1) * width]
    }

    /// `matrix · input + bias`.
    fn dense(&self, name: &str, input: &[f64], outputs: usize) -> Vec<f64> {
        let (matrix, bias) = (format!("{name}.weight"), &self.tensors[&format!("{name}.bias")]);
        (0..outputs)
            .map(|row| dot(self.get(&matrix, row, input.len()), input) + bias[row])
            .collect()
    }

    fn norm(&self, name: &str, one: &[f64], other: &[f64]) -> Vec<f64> {
        let sum: Vec<f64> = one.iter().zip(other).map(|(one, other)| one + other).collect();
        let mean = sum.iter().sum::<f64>() / sum.len() as f64;
        let spread = sum.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / sum.len() as f64;
        let (scale, shift) =
            (&self.tensors[&format!("{name}.weight")], &self.tensors[&format!("{name}.bias")]);
        (0..sum.len())
            .map(|at| (sum[at] - mean) / (spread + 1e-12).sqrt() * scale[at] + shift[at])
            .collect()
    }

    /// The vector of a text of words that the model knows.
    fn vector(&self, text: &str) -> Vec<f64> {
        let ids = ["[CLS]"].into_iter().chain(text.split(' ')).chain(["[SEP]"]);
        let ids = ids.map(|word| self.words.iter().position(|known| known == word).expect(word));
        let mut tokens: Vec<Vec<f64>> = ids
            .enumerate()
            .map(|(place, id)| {
                let kind = self.get("embeddings.token_type_embeddings.weight", 0, DIMENSIONS);
                let place = self.get("embeddings.position_embeddings.weight", place, DIMENSIONS);
                let both: Vec<f64> =
                    kind.iter().zip(place).map(|(kind, place)| kind + place).collect();
                let word = self.get("embeddings.word_embeddings.weight", id, DIMENSIONS);
                self.norm("embeddings.LayerNorm", word, &both)
            })
            .collect();
        for layer in 0..LAYERS {
            let name = |rest: &str| format!("encoder.layer.{layer}.{rest}");
            let part = |part: &str| -> Vec<Vec<f64>> {
                tokens
                    .iter()
                    .map(|token| {
                        self.dense(&name(&format!("attention.self.{part}")), token, DIMENSIONS)
                    })
                    .collect()
            };
            let (query, key, value) = (part("query"), part("key"), part("value"));
            let each = DIMENSIONS / HEADS;
            let mut next = Vec::new();
            for (at, token) in tokens.iter().enumerate() {
                let mut seen = Vec::new();
                for head in 0..HEADS {
                    let of = |all: &[f64]| all[head * each..(head + 1) * each].to_vec();
                    let weights: Vec<f64> = key
                        .iter()
                        .map(|key| (dot(&of(&query[at]), &of(key)) / (each as f64).sqrt()).exp())
                        .collect();
                    let sum: f64 = weights.iter().sum();
                    let mix = |column: usize| -> f64 {
                        weights
                            .iter()
                            .zip(&value)
                            .map(|(weight, value)| weight / sum * of(value)[column])
                            .sum()
                    };
                    seen.extend((0..each).map(mix));
                }
                let seen = self.dense(&name("attention.output.dense"), &seen, DIMENSIONS);
                let middle = self.norm(&name("attention.output.LayerNorm"), token, &seen);
                let mut wide = self.dense(&name("intermediate.dense"), &middle, INNER);
                wide.iter_mut().for_each(|x| *x = *x * 0.5 * (1.0 + erf(*x / 2_f64.sqrt())));
                let narrow = self.dense(&name("output.dense"), &wide, DIMENSIONS);
                next.push(self.norm(&name("output.LayerNorm"), &middle, &narrow));
            }
            tokens = next;
        }
        let mut vector: Vec<f64> =
            (0..DIMENSIONS).map(|at| tokens.iter().map(|token| token[at]).sum::<f64>()).collect();
        let length = dot(&vector, &vector).sqrt();
        vector.iter_mut().for_each(|x| *x /= length);
        vector
    }
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// The error function, by the series whose terms are all of one sign.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= 2.0 * x * x / f64::from(2 * n + 1);
        sum += term;
    }
    std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

fn model(seed: u64) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    tiny_model::write(dir.path(), seed);
    dir
}

fn embed(dir: &Path, texts: &[&str]) -> Vec<Vec<f32>> {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    Local::new(dir.to_owned(), 2).embed(&texts, Purpose::Document, &|| true).unwrap()
}

fn far(one: &[f32], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| (f64::from(*one) - other).abs()).fold(0.0, f64::max)
}

#[test]
fn its_vectors_are_those_of_plain_loops() {
    let dir = model(7);
    let plain = Plain::new(7);
    let texts = [
        "the doctor is at the sea",
        "car",
        "a teacher and a tutor with money in the house , the boat and the storm ; the dog , the bread . the letter !",
        "ship vessel boat",
        "k 2 8 ?",
    ];
    // Side by side, padded, and each for itself.
    let together = embed(dir.path(), &texts);
    for (text, vector) in texts.iter().zip(&together) {
        let expected = plain.vector(text);
        assert!(far(vector, &expected) < 1e-5, "{text}: {}", far(vector, &expected));
        assert!(far(&embed(dir.path(), &[text])[0], &expected) < 1e-5, "{text}");
    }
    assert!(
        far(&together[0], &Plain::new(8).vector(texts[0])) > 0.01,
        "another seed is another model"
    );
}

#[test]
fn what_means_the_same_is_near() {
    let dir = model(1);
    let vectors = embed(
        dir.path(),
        &["the physician has a boat", "a doctor with a ship", "bread and money in the storm"],
    );
    let near = |one: usize, other: usize| -> f32 {
        vectors[one].iter().zip(&vectors[other]).map(|(a, b)| a * b).sum()
    };
    assert!(near(0, 1) > near(0, 2) + 0.2, "{} and {}", near(0, 1), near(0, 2));
}

#[test]
fn only_as_many_tokens_count_as_the_model_says() {
    let dir = model(2);
    let all = vec!["boat"; MAX_TOKENS - 2].join(" ");
    let vectors =
        embed(dir.path(), &[&all, &format!("{all} storm storm storm"), &format!("storm {all}")]);
    assert!(far(&vectors[0], &vectors[1].iter().map(|x| f64::from(*x)).collect::<Vec<_>>()) < 1e-6);
    assert!(far(&vectors[0], &vectors[2].iter().map(|x| f64::from(*x)).collect::<Vec<_>>()) > 1e-4);
    // Neither nothing at all nor a great deal is too much for it.
    assert_eq!(embed(dir.path(), &["", "\u{0}", &"x".repeat(1 << 20)]).len(), 3);
}

#[test]
fn the_files_beside_the_weights_are_heeded() {
    let dir = model(3);
    let put =
        |name: &str, value: &Value| fs::write(dir.path().join(name), value.to_string()).unwrap();
    let before = Local::new(dir.path().to_owned(), 1).space().unwrap();
    let mean = embed(dir.path(), &["the boat"]);

    put(
        "1_Pooling/config.json",
        &json!({"embedding_dimension": DIMENSIONS, "pooling_mode": "cls"}),
    );
    assert_ne!(embed(dir.path(), &["the boat"]), mean);
    put(
        "config_sentence_transformers.json",
        &json!({"prompts": {"query": "letter : ", "document": ""}}),
    );
    let local = Local::new(dir.path().to_owned(), 1);
    let texts = ["the boat".to_owned()];
    let query = local.embed(&texts, Purpose::Query, &|| true).unwrap();
    assert_eq!(query, embed(dir.path(), &["letter : the boat"]));
    assert_ne!(query, local.embed(&texts, Purpose::Document, &|| true).unwrap());
    assert_ne!(
        local.space().unwrap().identity,
        before.identity,
        "these vectors cannot be compared with those"
    );
}

#[test]
fn it_is_loaded_at_the_first_text_and_let_go_of() {
    let dir = model(4);
    let local = Local::new(dir.path().join("later"), 2);
    assert_eq!(local.space().unwrap_err().kind, EmbedErrorKind::Model);
    tiny_model::write(&dir.path().join("later"), 4);
    let space = local.space().unwrap();
    assert_eq!((space.model.as_str(), space.dimensions), ("later", DIMENSIONS));
    assert!(local.embed(&[], Purpose::Query, &|| true).unwrap().is_empty());
    assert!(!local.is_loaded());
    let texts = ["boat".to_owned()];
    let first = local.embed(&texts, Purpose::Query, &|| true).unwrap();
    assert!(local.is_loaded());
    local.unload_if_idle(Duration::from_secs(600));
    assert!(local.is_loaded());
    local.unload_if_idle(Duration::ZERO);
    assert!(!local.is_loaded());
    assert_eq!(local.embed(&texts, Purpose::Query, &|| true).unwrap(), first);
}

#[test]
fn vectors_of_other_weights_are_never_taken_for_those_of_the_space() {
    let dir = model(4);
    let local = Local::new(dir.path().to_owned(), 1);
    let texts = ["boat".to_owned()];
    let space = local.space().unwrap();
    let first = local.embed(&texts, Purpose::Query, &|| true).unwrap();
    // Somebody puts others in their place while it runs.
    tiny_model::write(dir.path(), 5);
    let weights =
        fs::File::options().append(true).open(dir.path().join("model.safetensors")).unwrap();
    weights.set_modified(std::time::SystemTime::now() + Duration::from_secs(5)).unwrap();
    assert_eq!(
        local.embed(&texts, Purpose::Query, &|| true).unwrap_err().kind,
        EmbedErrorKind::Changed
    );
    assert_ne!(local.space().unwrap().identity, space.identity);
    assert_ne!(local.embed(&texts, Purpose::Query, &|| true).unwrap(), first);
}

#[test]
fn it_stops_when_told_to() {
    let dir = model(5);
    let texts: Vec<String> =
        (0..600).map(|at| format!("the boat number {at} and the storm")).collect();
    let local = Local::new(dir.path().to_owned(), 2);
    let asked = Cell::new(0);
    let thrice = || {
        asked.set(asked.get() + 1);
        asked.get() < 5
    };
    let fault = local.embed(&texts, Purpose::Document, &thrice).unwrap_err();
    assert_eq!(fault.kind, EmbedErrorKind::Stopped);
    assert_eq!(asked.get(), 5);
    assert_eq!(local.embed(&texts, Purpose::Document, &|| true).unwrap().len(), 600);
}

#[test]
fn several_use_it_at_once() {
    let dir = model(6);
    let local = Local::new(dir.path().to_owned(), 2);
    let texts: Vec<String> = (0..100).map(|at| format!("ship {at} of the ocean")).collect();
    let expected = local.embed(&texts, Purpose::Document, &|| true).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..3 {
                    local.unload_if_idle(Duration::ZERO);
                    let vectors = local.embed(&texts, Purpose::Document, &|| true).unwrap();
                    for (one, other) in vectors.iter().zip(&expected) {
                        assert!(
                            far(one, &other.iter().map(|x| f64::from(*x)).collect::<Vec<_>>())
                                < 1e-5
                        );
                    }
                }
            });
        }
    });
}

/// A model with one thing wrong is refused, and the file is named.
fn refused(file: &str, says: &str, harm: impl FnOnce(&Path)) {
    let dir = model(9);
    harm(dir.path());
    let local = Local::new(dir.path().to_owned(), 1);
    let faults = [
        inspect(dir.path()).unwrap_err(),
        local.embed(&["the boat".to_owned()], Purpose::Query, &|| true).unwrap_err(),
    ];
    for fault in faults {
        assert_eq!(fault.kind, EmbedErrorKind::Model, "{fault:?}");
        assert!(
            fault.message.contains(file) && fault.message.contains(says),
            "{file}, {says}: {fault:?}"
        );
        assert!(fault.hint.unwrap().contains("brain model install"));
        let place = dir.path().to_str().unwrap();
        assert!(
            !fault.message.contains(place),
            "where it is, is told to owners only: {}",
            fault.message
        );
    }
}

#[test]
fn a_damaged_model_is_refused_by_the_name_of_its_file() {
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        refused(file, "is not there", |dir| fs::remove_file(dir.join(file)).unwrap());
        refused(file, "", |dir| fs::write(dir.join(file), "").unwrap());
        refused(file, "", |dir| fs::write(dir.join(file), "no such thing").unwrap());
        refused(file, "", |dir| {
            let bytes = fs::read(dir.join(file)).unwrap();
            fs::write(dir.join(file), &bytes[..bytes.len() / 2]).unwrap();
        });
    }
    refused("model.safetensors", "longer", |dir| {
        let bytes = fs::read(dir.join("model.safetensors")).unwrap();
        fs::write(dir.join("model.safetensors"), [bytes, vec![0]].concat()).unwrap();
    });
    refused("model.safetensors", "head", |dir| {
        fs::write(dir.join("model.safetensors"), [u64::MAX.to_le_bytes(), [b' '; 8]].concat())
            .unwrap();
    });
    refused("model.safetensors", "no tensor encoder.layer.1.output.dense.bias", |dir| {
        let mut tensors = tiny_model::weights(9);
        tensors.retain(|(name, ..)| name != "encoder.layer.1.output.dense.bias");
        fs::write(dir.join("model.safetensors"), tiny_model::safetensors(&tensors)).unwrap();
    });
    refused("model.safetensors", "of the shape", |dir| {
        let mut tensors = tiny_model::weights(9);
        tensors[0].1.reverse();
        fs::write(dir.join("model.safetensors"), tiny_model::safetensors(&tensors)).unwrap();
    });
}

#[test]
fn an_odd_model_is_refused_by_the_name_of_its_file() {
    let config = |key: &'static str, value: Value| {
        move |dir: &Path| {
            let mut config = tiny_model::config();
            config[key] = value;
            fs::write(dir.join("config.json"), config.to_string()).unwrap();
        }
    };
    refused("config.json", "modernbert", config("model_type", json!("modernbert")));
    refused("config.json", "swiglu", config("hidden_act", json!("swiglu")));
    refused("config.json", "num_hidden_layers", config("num_hidden_layers", json!(1_000_000_000)));
    refused("config.json", "another type", config("hidden_size", json!(-1)));
    refused("config.json", "no multiple", config("num_attention_heads", json!(5)));
    refused("model.safetensors", "no tensor", config("num_hidden_layers", json!(3)));
    refused("config.json", "relative", config("position_embedding_type", json!("relative_key")));
    let put = |name: &'static str, value: Value| {
        move |dir: &Path| fs::write(dir.join(name), value.to_string()).unwrap()
    };
    refused(
        "1_Pooling/config.json",
        "max_tokens",
        put("1_Pooling/config.json", json!({"pooling_mode_max_tokens": true})),
    );
    refused(
        "modules.json",
        "Dense",
        put("modules.json", json!([{"type": "sentence_transformers.models.Dense"}])),
    );
}

#[test]
fn weights_and_words_that_do_not_belong_together_are_refused() {
    let dir = model(10);
    let mut tokenizer = tiny_model::tokenizer();
    tokenizer["model"]["vocab"]["boat"] = json!(100_000);
    fs::write(dir.path().join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let local = Local::new(dir.path().to_owned(), 1);
    let fault = local.embed(&["the boat".to_owned()], Purpose::Query, &|| true).unwrap_err();
    assert!(fault.message.contains("do not belong together"), "{fault:?}");

    let dir = model(11);
    let mut tensors = tiny_model::weights(11);
    tensors[0].2.fill(f32::NAN);
    fs::write(dir.path().join("model.safetensors"), tiny_model::safetensors(&tensors)).unwrap();
    let local = Local::new(dir.path().to_owned(), 1);
    let fault = local.embed(&["the boat".to_owned()], Purpose::Query, &|| true).unwrap_err();
    assert!(fault.message.contains("makes no vector"), "{fault:?}");
}
