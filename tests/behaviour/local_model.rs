//! The embedding model that runs in the daemon, tested with a tiny model: vectors equal those of a
//! reference implementation, and damaged files are refused.

mod reference_model;

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::time::Duration;

use self::reference_model::ReferenceModel;
use brain_embed::{
    EmbedErrorKind, Embedder, LocalModel, Reranker, VectorPurpose, inspect, is_reranker,
};
use brain_tests::tiny_model::{self, DIMENSIONS, MAX_TOKENS};
use serde_json::{Value, json};

/// Writes the tiny model of `seed` to a new directory.
fn model(seed: u64) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    tiny_model::write(dir.path(), seed);
    dir
}

fn embed(dir: &Path, texts: &[&str]) -> Vec<Vec<f32>> {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    LocalModel::new(dir.to_owned(), 2).embed(&texts, VectorPurpose::Document, &|| true).unwrap()
}

fn largest_difference(one: &[f32], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| (f64::from(*one) - other).abs()).fold(0.0, f64::max)
}

#[test]
fn vectors_are_near_those_of_the_reference_model() {
    let dir = model(7);
    let reference = ReferenceModel::new(7);
    let texts = [
        "the doctor is at the sea",
        "car",
        "a teacher and a tutor with money in the house , the boat and the storm ; the dog , the \
            bread . the letter !",
        "ship vessel boat",
        "k 2 8 ?",
    ];
    let together = embed(dir.path(), &texts);
    for (text, vector) in texts.iter().zip(&together) {
        // Matrices and values are rounded to 8 bits.
        let difference = largest_difference(vector, &reference.vector(text));
        assert!(difference < 0.008, "{text}: {difference}");
        assert_eq!(embed(dir.path(), &[text])[0], *vector, "{text}: the same beside other texts");
    }
    assert!(
        largest_difference(&together[0], &ReferenceModel::new(8).vector(texts[0])) > 0.01,
        "another seed makes another model"
    );
}

#[test]
fn relevance_equals_that_of_the_reference_model() {
    let reference = ReferenceModel::new(7);
    let question = "is the boat at the sea";
    let texts = [
        "the ship is at the sea",
        "bread",
        "a teacher and a tutor with money in the house , the boat and the storm ; the dog , the \
            bread . the letter !",
    ];
    let owned: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    let expected: Vec<f64> = texts.iter().map(|text| reference.relevance(question, text)).collect();
    assert!(expected.windows(2).all(|two| (two[0] - two[1]).abs() > 1e-3), "{expected:?}");
    let dir = tempfile::tempdir().unwrap();
    tiny_model::write_reranker(dir.path(), 7);
    let local = LocalModel::new(dir.path().to_owned(), 2);
    let together = local.rerank(question, &owned, &|| true).unwrap();
    assert!(largest_difference(&together, &expected) < 1e-5, "{together:?} {expected:?}");
    for (text, expected) in owned.iter().zip(&expected) {
        let alone = local.rerank(question, std::slice::from_ref(text), &|| true).unwrap();
        assert!(largest_difference(&alone, &[*expected]) < 1e-5, "{text}");
    }
    assert_eq!(local.rerank(question, &[], &|| true).unwrap(), [0.0; 0]);
    assert_eq!(
        local.rerank(question, &owned, &|| false).unwrap_err().kind,
        EmbedErrorKind::Stopped
    );
    // Long texts are cut, and the question is not.
    let long = vec!["boat".to_owned() + &" storm".repeat(500)];
    assert_eq!(local.rerank(question, &long, &|| true).unwrap().len(), 1);

    // A reranker makes no vectors, and a sentence model scores no texts.
    assert!(is_reranker(dir.path()) && inspect(dir.path()).unwrap().dimensions == 1);
    assert!(local.space().unwrap_err().message.contains("is a reranker"));
    assert!(local.embed(&owned, VectorPurpose::Query, &|| true).is_err());
    let sentences = model(7);
    let local = LocalModel::new(sentences.path().to_owned(), 1);
    assert!(!is_reranker(sentences.path()));
    assert!(
        local.rerank(question, &owned, &|| true).unwrap_err().message.contains("is not a reranker")
    );
}

#[test]
fn texts_of_similar_meaning_have_near_vectors() {
    let dir = model(1);
    let vectors = embed(
        dir.path(),
        &["the physician has a boat", "a doctor with a ship", "bread and money in the storm"],
    );
    let similarity = |one: usize, other: usize| -> f32 {
        vectors[one].iter().zip(&vectors[other]).map(|(a, b)| a * b).sum()
    };
    assert!(
        similarity(0, 1) > similarity(0, 2) + 0.2,
        "{} and {}",
        similarity(0, 1),
        similarity(0, 2)
    );
}

#[test]
fn tokens_beyond_the_models_limit_are_ignored() {
    let dir = model(2);
    let all = vec!["boat"; MAX_TOKENS - 2].join(" ");
    let vectors =
        embed(dir.path(), &[&all, &format!("{all} storm storm storm"), &format!("storm {all}")]);
    assert!(
        largest_difference(
            &vectors[0],
            &vectors[1].iter().map(|x| f64::from(*x)).collect::<Vec<_>>()
        ) < 1e-6
    );
    assert!(
        largest_difference(
            &vectors[0],
            &vectors[2].iter().map(|x| f64::from(*x)).collect::<Vec<_>>()
        ) > 1e-4
    );
    // Empty and very long texts have vectors, too.
    assert_eq!(embed(dir.path(), &["", "\u{0}", &"x".repeat(1 << 20)]).len(), 3);
}

#[test]
fn the_model_obeys_the_settings_beside_its_weights() {
    let dir = model(3);
    let put =
        |name: &str, value: &Value| fs::write(dir.path().join(name), value.to_string()).unwrap();
    let former_space = LocalModel::new(dir.path().to_owned(), 1).space().unwrap();
    let mean_pooled = embed(dir.path(), &["the boat"]);

    put(
        "1_Pooling/config.json",
        &json!({"embedding_dimension": DIMENSIONS, "pooling_mode": "cls"}),
    );
    assert_ne!(embed(dir.path(), &["the boat"]), mean_pooled);
    put(
        "config_sentence_transformers.json",
        &json!({"prompts": {"query": "letter : ", "document": ""}}),
    );
    let local = LocalModel::new(dir.path().to_owned(), 1);
    let texts = ["the boat".to_owned()];
    let query = local.embed(&texts, VectorPurpose::Query, &|| true).unwrap();
    assert_eq!(query, embed(dir.path(), &["letter : the boat"]));
    assert_ne!(query, local.embed(&texts, VectorPurpose::Document, &|| true).unwrap());
    assert_ne!(
        local.space().unwrap().identity,
        former_space.identity,
        "the new vectors cannot be compared with the former ones"
    );
}

#[test]
fn the_model_is_loaded_at_the_first_text_and_unloaded() {
    let dir = model(4);
    let local = LocalModel::new(dir.path().join("later"), 2);
    assert_eq!(local.space().unwrap_err().kind, EmbedErrorKind::Model);
    tiny_model::write(&dir.path().join("later"), 4);
    let space = local.space().unwrap();
    assert_eq!((space.model.as_str(), space.dimensions), ("later", DIMENSIONS));
    assert!(local.embed(&[], VectorPurpose::Query, &|| true).unwrap().is_empty());
    assert!(!local.is_loaded());
    let texts = ["boat".to_owned()];
    let first = local.embed(&texts, VectorPurpose::Query, &|| true).unwrap();
    assert!(local.is_loaded());
    Embedder::unload_if_idle(&local, Duration::from_secs(600));
    assert!(local.is_loaded());
    Embedder::unload_if_idle(&local, Duration::ZERO);
    assert!(!local.is_loaded());
    assert_eq!(local.embed(&texts, VectorPurpose::Query, &|| true).unwrap(), first);
}

#[test]
fn replaced_weights_are_an_error_until_the_space_is_read_again() {
    let dir = model(4);
    let local = LocalModel::new(dir.path().to_owned(), 1);
    let texts = ["boat".to_owned()];
    let space = local.space().unwrap();
    let first = local.embed(&texts, VectorPurpose::Query, &|| true).unwrap();
    // The weights are replaced while the model is loaded.
    tiny_model::write(dir.path(), 5);
    let weights =
        fs::File::options().append(true).open(dir.path().join("model.safetensors")).unwrap();
    weights.set_modified(std::time::SystemTime::now() + Duration::from_secs(5)).unwrap();
    assert_eq!(
        local.embed(&texts, VectorPurpose::Query, &|| true).unwrap_err().kind,
        EmbedErrorKind::Changed
    );
    assert_ne!(local.space().unwrap().identity, space.identity);
    assert_ne!(local.embed(&texts, VectorPurpose::Query, &|| true).unwrap(), first);
}

#[test]
fn embedding_stops_when_its_caller_cancels() {
    let dir = model(5);
    let texts: Vec<String> =
        (0..600).map(|at| format!("the boat number {at} and the storm")).collect();
    let local = LocalModel::new(dir.path().to_owned(), 2);
    let calls = Cell::new(0);
    let allow_four_calls = || {
        calls.set(calls.get() + 1);
        calls.get() < 5
    };
    let fault = local.embed(&texts, VectorPurpose::Document, &allow_four_calls).unwrap_err();
    assert_eq!(fault.kind, EmbedErrorKind::Stopped);
    assert_eq!(calls.get(), 5);
    assert_eq!(local.embed(&texts, VectorPurpose::Document, &|| true).unwrap().len(), 600);
}

#[test]
fn several_threads_share_one_model() {
    let dir = model(6);
    let local = LocalModel::new(dir.path().to_owned(), 2);
    let texts: Vec<String> = (0..100).map(|at| format!("ship {at} of the ocean")).collect();
    let expected = local.embed(&texts, VectorPurpose::Document, &|| true).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..3 {
                    Embedder::unload_if_idle(&local, Duration::ZERO);
                    let vectors = local.embed(&texts, VectorPurpose::Document, &|| true).unwrap();
                    assert_eq!(vectors.len(), expected.len());
                    for (one, other) in vectors.iter().zip(&expected) {
                        assert!(
                            largest_difference(
                                one,
                                &other.iter().map(|x| f64::from(*x)).collect::<Vec<_>>()
                            ) < 1e-5
                        );
                    }
                }
            });
        }
    });
}

/// Asserts that a model damaged by `damage` is refused with `file` and `expected` in the message.
fn assert_refused(file: &str, expected: &str, damage: impl FnOnce(&Path)) {
    let dir = model(9);
    damage(dir.path());
    let local = LocalModel::new(dir.path().to_owned(), 1);
    let faults = [
        inspect(dir.path()).unwrap_err(),
        local.embed(&["the boat".to_owned()], VectorPurpose::Query, &|| true).unwrap_err(),
    ];
    for fault in faults {
        assert_eq!(fault.kind, EmbedErrorKind::Model, "{fault:?}");
        assert!(
            fault.message.contains(file) && fault.message.contains(expected),
            "{file}, {expected}: {fault:?}"
        );
        assert!(fault.hint.unwrap().to_string().contains("brain model install"));
        let dir_path = dir.path().to_str().unwrap();
        assert!(
            !fault.message.contains(dir_path),
            "only owners may see the path: {}",
            fault.message
        );
    }
}

#[test]
fn a_damaged_model_is_refused_with_the_name_of_its_file() {
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        assert_refused(file, "is missing", |dir| fs::remove_file(dir.join(file)).unwrap());
        assert_refused(file, "", |dir| fs::write(dir.join(file), "").unwrap());
        assert_refused(file, "", |dir| fs::write(dir.join(file), "no such thing").unwrap());
        assert_refused(file, "", |dir| {
            let bytes = fs::read(dir.join(file)).unwrap();
            fs::write(dir.join(file), &bytes[..bytes.len() / 2]).unwrap();
        });
    }
    assert_refused("model.safetensors", "longer", |dir| {
        let bytes = fs::read(dir.join("model.safetensors")).unwrap();
        fs::write(dir.join("model.safetensors"), [bytes, vec![0]].concat()).unwrap();
    });
    assert_refused("model.safetensors", "head", |dir| {
        fs::write(dir.join("model.safetensors"), [u64::MAX.to_le_bytes(), [b' '; 8]].concat())
            .unwrap();
    });
    assert_refused("model.safetensors", "no tensor encoder.layer.1.output.dense.bias", |dir| {
        let mut tensors = tiny_model::weights(9);
        tensors.retain(|(name, ..)| name != "encoder.layer.1.output.dense.bias");
        fs::write(dir.join("model.safetensors"), tiny_model::safetensors(&tensors)).unwrap();
    });
    assert_refused("model.safetensors", "of the shape", |dir| {
        let mut tensors = tiny_model::weights(9);
        tensors[0].1.reverse();
        fs::write(dir.join("model.safetensors"), tiny_model::safetensors(&tensors)).unwrap();
    });
}

#[test]
fn an_unsupported_model_is_refused_with_the_name_of_its_file() {
    let config = |key: &'static str, value: Value| {
        move |dir: &Path| {
            let mut config = tiny_model::config();
            config[key] = value;
            fs::write(dir.join("config.json"), config.to_string()).unwrap();
        }
    };
    assert_refused("config.json", "modernbert", config("model_type", json!("modernbert")));
    assert_refused("config.json", "swiglu", config("hidden_act", json!("swiglu")));
    assert_refused(
        "config.json",
        "num_hidden_layers",
        config("num_hidden_layers", json!(1_000_000_000)),
    );
    assert_refused("config.json", "another type", config("hidden_size", json!(-1)));
    assert_refused("config.json", "not a multiple", config("num_attention_heads", json!(5)));
    assert_refused("model.safetensors", "no tensor", config("num_hidden_layers", json!(3)));
    assert_refused(
        "config.json",
        "relative",
        config("position_embedding_type", json!("relative_key")),
    );
    let put = |name: &'static str, value: Value| {
        move |dir: &Path| fs::write(dir.join(name), value.to_string()).unwrap()
    };
    assert_refused(
        "1_Pooling/config.json",
        "max_tokens",
        put("1_Pooling/config.json", json!({"pooling_mode_max_tokens": true})),
    );
    assert_refused(
        "modules.json",
        "Dense",
        put("modules.json", json!([{"type": "sentence_transformers.models.Dense"}])),
    );
}

#[test]
fn weights_and_tokenizer_that_do_not_match_are_refused() {
    let dir = model(10);
    let mut tokenizer = tiny_model::tokenizer();
    tokenizer["model"]["vocab"]["boat"] = json!(100_000);
    fs::write(dir.path().join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let local = LocalModel::new(dir.path().to_owned(), 1);
    let fault = local.embed(&["the boat".to_owned()], VectorPurpose::Query, &|| true).unwrap_err();
    assert!(fault.message.contains("does not match the model"), "{fault:?}");

    let dir = model(11);
    let mut tensors = tiny_model::weights(11);
    tensors[0].2.fill(f32::NAN);
    fs::write(dir.path().join("model.safetensors"), tiny_model::safetensors(&tensors)).unwrap();
    let local = LocalModel::new(dir.path().to_owned(), 1);
    let fault = local.embed(&["the boat".to_owned()], VectorPurpose::Query, &|| true).unwrap_err();
    assert!(fault.message.contains("makes no vector"), "{fault:?}");
}
