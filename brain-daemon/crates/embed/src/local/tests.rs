//! Tests with ONNX models that the tests build. Safetensors models are tested in `tests/`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::graph::{MASK, OUTPUT, TOKENS};
use super::onnx::Dimension::{Fixed, Named};
use super::onnx::{DataType, OnnxGraph};
use super::{LocalModel, inspect};
use crate::{EmbedErrorKind, Embedder, VectorPurpose};

/// The vectors of the tokenizer's three tokens, two numbers each: unknown words, "boat" and "sea".
const ROWS: [f32; 6] = [0.0, 1.0, 3.0, 4.0, 1.0, 0.0];

/// Writes a tokenizer of these tokens.
fn write_tokenizer(dir: &Path) {
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": null,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "boat": 1, "sea": 2},
            "unk_token": "[UNK]"},
    });
    fs::write(dir.join("tokenizer.json"), tokenizer.to_string()).unwrap();
}

/// A graph that looks up words in a table, with the inputs of published models.
fn graph(output: &str, more_inputs: &[&str]) -> Vec<u8> {
    let mut graph = OnnxGraph::default();
    for name in [TOKENS, MASK].iter().chain(more_inputs) {
        graph.input(DataType::Int64, name, &[Named("texts"), Named("tokens")]);
    }
    graph.floats("table", &[3, 2], &ROWS);
    graph.run("Gather", &["table", TOKENS], output, &[]);
    graph.output(DataType::Float, output, &[Named("texts"), Named("tokens"), Fixed(2)]);
    graph.finish()
}

fn embed(dir: &Path, texts: &[&str]) -> Result<Vec<Vec<f32>>, super::EmbedError> {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    LocalModel::new(dir.to_owned(), 2).embed(&texts, VectorPurpose::Document, &|| true)
}

#[test]
fn an_onnx_model_is_run_unchanged() {
    for (path, output, more_inputs) in [
        ("model.onnx", OUTPUT, &["token_type_ids"][..]),
        ("onnx/model.onnx", "token_embeddings", &["position_ids"]),
    ] {
        let dir = tempfile::tempdir().unwrap();
        write_tokenizer(dir.path());
        fs::create_dir_all(dir.path().join("onnx")).unwrap();
        fs::write(dir.path().join(path), graph(output, more_inputs)).unwrap();
        let facts = inspect(dir.path()).unwrap();
        assert_eq!((facts.dimensions, facts.sha256.len()), (2, 64));
        assert_eq!(facts.weights, dir.path().join(path));
        let local = LocalModel::new(dir.path().to_owned(), 1);
        assert!(
            (local.coverage("boat zzz") - 1.0).abs() < 1e-6,
            "the coverage is unknown before the model is loaded, and counts as full"
        );
        local.embed(&["boat".to_owned()], VectorPurpose::Query, &|| true).unwrap();
        assert!((local.coverage("boat zzz") - 4.0 / 7.0).abs() < 1e-6);
        // The shorter text is padded beside the longer one, and the padding does not count.
        let vectors = embed(dir.path(), &["boat", "boat sea", "sea sea sea"]).unwrap();
        let near = |vector: &[f32], x: f32, y: f32| {
            (vector[0] - x).abs() < 1e-6 && (vector[1] - y).abs() < 1e-6
        };
        assert!(near(&vectors[0], 0.6, 0.8), "{vectors:?}");
        assert!(near(&vectors[1], 0.5_f32.sqrt(), 0.5_f32.sqrt()), "{vectors:?}");
        assert!(near(&vectors[2], 1.0, 0.0), "{vectors:?}");
    }
}

#[test]
fn an_unusable_graph_is_refused_with_its_file_name() {
    let mut without_output = OnnxGraph::default();
    without_output.input(DataType::Int64, TOKENS, &[Named("texts"), Named("tokens")]);
    let mut unknown_operator = OnnxGraph::default();
    unknown_operator.input(DataType::Int64, TOKENS, &[Named("texts"), Named("tokens")]);
    unknown_operator.run("NoSuchOperator", &[TOKENS], OUTPUT, &[]);
    unknown_operator.output(DataType::Float, OUTPUT, &[Named("texts"), Named("tokens"), Fixed(2)]);
    let mut external = OnnxGraph::default();
    external.input(DataType::Int64, TOKENS, &[Named("texts"), Named("tokens")]);
    external.external(DataType::Float, "table", &[3, 2], ("other.data", 0));
    external.run("Gather", &["table", TOKENS], OUTPUT, &[]);
    external.output(DataType::Float, OUTPUT, &[Named("texts"), Named("tokens"), Fixed(2)]);
    let whole = graph(OUTPUT, &[]);
    for (bytes, reason) in [
        (Vec::new(), "cannot be loaded"),
        (b"no graph at all".to_vec(), "cannot be loaded"),
        (whole[..whole.len() / 2].to_vec(), "cannot be loaded"),
        (without_output.finish(), "no output"),
        (unknown_operator.finish(), "NoSuchOperator"),
        (external.finish(), "external data"),
        (graph(OUTPUT, &["pixel_values"]), "pixel_values"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        write_tokenizer(dir.path());
        fs::write(dir.path().join("model.onnx"), bytes).unwrap();
        fs::write(dir.path().join("other.data"), [0; 24]).unwrap();
        let fault = inspect(dir.path()).unwrap_err();
        assert_eq!(fault.kind, EmbedErrorKind::Model);
        assert!(
            fault.message.contains("model.onnx") && fault.message.contains(reason),
            "{reason}: {fault:?}"
        );
        assert!(fault.hint.unwrap().to_string().contains("brain model install"));
    }
}

#[test]
fn a_changed_graph_is_reloaded_as_another_space() {
    let dir = tempfile::tempdir().unwrap();
    write_tokenizer(dir.path());
    fs::write(dir.path().join("model.onnx"), graph(OUTPUT, &[])).unwrap();
    let local = LocalModel::new(dir.path().to_owned(), 1);
    let before = local.space().unwrap();
    assert!(!local.is_loaded(), "facts need no loaded model");
    local.embed(&["boat".into()], VectorPurpose::Query, &|| true).unwrap();
    local.unload_if_idle(Duration::from_secs(3600));
    assert!(local.is_loaded(), "a model that was just used stays loaded");

    fs::write(dir.path().join("model.onnx"), graph("token_embeddings", &["token_type_ids"]))
        .unwrap();
    assert_ne!(local.space().unwrap().identity, before.identity);
    local.embed(&["boat".into()], VectorPurpose::Query, &|| true).unwrap();
    local.unload_if_idle(Duration::ZERO);
    assert!(!local.is_loaded());
}
