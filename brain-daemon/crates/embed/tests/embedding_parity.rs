//! Compares the model of the daemon with the reference library on 200 texts. `embedding/make.py`
//! created the texts and the reference vectors. `BRAIN_TEST_MODEL` is the directory of
//! all-MiniLM-L6-v2.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::Write;
use std::path::{Path, PathBuf};

use brain_embed::{Embedder, LocalModel, VectorPurpose, inspect};

/// SHA-256 of the weights that made the reference vectors.
const WEIGHTS: &str = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db";

#[test]
#[ignore = "`.ci/model parity` fetches the model and runs this"]
fn two_hundred_texts_have_nearly_the_vectors_of_the_reference() {
    let model = PathBuf::from(std::env::var_os("BRAIN_TEST_MODEL").expect("BRAIN_TEST_MODEL"));
    let facts = inspect(&model).unwrap();
    assert_eq!(facts.sha256, WEIGHTS, "the reference vectors are not this model's");
    let data_dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/embedding");
    let texts: Vec<String> =
        serde_json::from_slice(&std::fs::read(data_dir.join("texts.json")).unwrap()).unwrap();
    let reference = std::fs::read(data_dir.join("reference.i16")).unwrap();
    let reference: Vec<f64> =
        reference.as_chunks().0.iter().map(|bytes| f64::from(i16::from_le_bytes(*bytes))).collect();
    let width = facts.dimensions as usize;
    assert_eq!((texts.len(), reference.len()), (200, 200 * width));

    let vectors =
        LocalModel::new(model, 2).embed(&texts, VectorPurpose::Document, &|| true).unwrap();
    let (mut worst, mut sum): (f64, f64) = (1.0, 0.0);
    for ((text, vector), expected) in texts.iter().zip(&vectors).zip(reference.chunks(width)) {
        let dot: f64 =
            vector.iter().zip(expected).map(|(one, other)| f64::from(*one) * other).sum();
        let length = |sum: f64| sum.sqrt();
        let ours = length(vector.iter().map(|x| f64::from(*x).powi(2)).sum());
        let cosine = dot / ours / length(expected.iter().map(|x| x * x).sum());
        assert!((ours - 1.0).abs() < 1e-5, "{text:?} has a vector of length {ours}");
        // Matrices and values are rounded to 8 bits. A single sign has the smallest cosine.
        assert!(cosine > 0.96, "{text:?} has {cosine}");
        (worst, sum) = (worst.min(cosine), sum + cosine);
    }
    let mean = sum / 200.0;
    assert!(mean > 0.985, "the mean cosine is {mean}");
    writeln!(
        std::io::stderr(),
        "200 texts, cosine with the reference: mean {mean:.4}, least {worst:.4}"
    )
    .unwrap();
}
