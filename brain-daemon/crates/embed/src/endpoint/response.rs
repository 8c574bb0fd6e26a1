//! Parses an endpoint's response: vectors in the order of the texts. No I/O.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};

/// Maximum length of a vector.
const MAX_DIMENSIONS: usize = 8192;

/// A valid response.
#[derive(Debug, PartialEq)]
pub(super) struct EmbeddingResponse {
    /// One vector of length one for each text, in their order, all of the same dimension.
    pub(super) vectors: Vec<Vec<f32>>,
    /// Number of tokens as counted by the service; 0 if not given.
    pub(super) tokens: u64,
}

#[derive(Deserialize)]
struct Body {
    data: Vec<EmbeddingRow>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct EmbeddingRow {
    #[serde(default)]
    index: Option<usize>,
    embedding: Numbers,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Usage {
    prompt_tokens: Option<u64>,
    total_tokens: Option<u64>,
}

/// Numbers as JSON, or as little-endian 32-bit floats in base64.
struct Numbers(Vec<f32>);

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct NumbersVisitor;

        impl<'de> Visitor<'de> for NumbersVisitor {
            type Value = Numbers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of numbers, or base64")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Numbers, A::Error> {
                let mut numbers =
                    Vec::with_capacity(list.size_hint().unwrap_or(0).min(MAX_DIMENSIONS));
                while let Some(number) = list.next_element::<f32>()? {
                    if numbers.len() == MAX_DIMENSIONS {
                        return Err(A::Error::custom("too many numbers"));
                    }
                    numbers.push(number);
                }
                Ok(Numbers(numbers))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Numbers, E> {
                let bytes = STANDARD.decode(text).map_err(E::custom)?;
                let (fours, rest) = bytes.as_chunks::<4>();
                if !rest.is_empty() || fours.len() > MAX_DIMENSIONS {
                    return Err(E::custom("not a vector's bytes"));
                }
                Ok(Numbers(fours.iter().map(|four| f32::from_le_bytes(*four)).collect()))
            }
        }

        from.deserialize_any(NumbersVisitor)
    }
}

/// Parses the response to `count` texts, with vectors of length `length` if given.
///
/// # Errors
/// A phrase that follows "its answer", when the response does not follow OpenAI's API, or when its
/// vectors do not match the texts or `length`.
pub(super) fn read(
    body: &[u8],
    count: usize,
    length: Option<usize>,
) -> Result<EmbeddingResponse, String> {
    let text = body.trim_ascii_start();
    if text.starts_with(b"<") {
        return Err("is an HTML page, not JSON".into());
    }
    let body: Body = serde_json::from_slice(text).map_err(|e| match e.classify() {
        serde_json::error::Category::Eof => "was cut off".to_owned(),
        serde_json::error::Category::Syntax => "is not JSON".to_owned(),
        _ => "does not follow OpenAI's API".to_owned(),
    })?;
    if body.data.len() != count {
        return Err(format!("has {} vectors for {count} texts", body.data.len()));
    }
    let mut sorted: Vec<Option<Vec<f32>>> = vec![None; count];
    for (rank, row) in body.data.into_iter().enumerate() {
        // Some services omit the index: their vectors are in the order of the texts.
        match sorted.get_mut(row.index.unwrap_or(rank)) {
            Some(free @ None) => *free = Some(row.embedding.0),
            _ => return Err("has two vectors for one text, or a vector for none".into()),
        }
    }
    let mut vectors: Vec<Vec<f32>> = sorted.into_iter().flatten().collect();
    let length = length.or(vectors.first().map(Vec::len)).unwrap_or(0);
    for vector in &mut vectors {
        if vector.is_empty() || vector.len() != length {
            return Err(format!(
                "has a vector of {} numbers where {length} were expected",
                vector.len()
            ));
        }
        scale_to_length_one(vector)?;
    }
    let usage = body.usage.unwrap_or_default();
    Ok(EmbeddingResponse {
        vectors,
        tokens: usage.prompt_tokens.or(usage.total_tokens).unwrap_or(0),
    })
}

/// Scales a vector to length one. The error is a phrase that follows "its answer".
fn scale_to_length_one(vector: &mut [f32]) -> Result<(), String> {
    let square: f64 = vector.iter().map(|n| f64::from(*n) * f64::from(*n)).sum();
    // The sum is not finite if a number is not.
    if !square.is_finite() || square <= f64::MIN_POSITIVE {
        return Err("has a vector that is zero or not finite".into());
    }
    let factor = square.sqrt().recip();
    for number in vector {
        *number = (f64::from(*number) * factor) as f32;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn vectors_of(body: &str, count: usize) -> Result<Vec<Vec<f32>>, String> {
        read(body.as_bytes(), count, None).map(|answer| answer.vectors)
    }

    #[test]
    fn vectors_are_in_order_and_of_length_one() {
        let body = r#"{"object":"list",
            "data":[{"index":1,"embedding":[0,2]},{"index":0,"embedding":[3,4]}],
            "usage":{"prompt_tokens":7,"total_tokens":9}}"#;
        let answer = read(body.as_bytes(), 2, Some(2)).unwrap();
        assert_eq!(
            answer,
            EmbeddingResponse { vectors: vec![vec![0.6, 0.8], vec![0.0, 1.0]], tokens: 7 }
        );
        let plain = vectors_of(r#"{"data":[{"embedding":[1,0]},{"embedding":[0,1]}]}"#, 2).unwrap();
        assert_eq!(plain, [[1.0, 0.0], [0.0, 1.0]]);
        let bytes: Vec<u8> = [3.0_f32, 4.0].iter().flat_map(|n| n.to_le_bytes()).collect();
        let packed =
            format!(r#"{{"data":[{{"index":0,"embedding":"{}"}}]}}"#, STANDARD.encode(bytes));
        assert_eq!(vectors_of(&packed, 1).unwrap(), [[0.6, 0.8]]);
    }

    #[test]
    fn an_invalid_response_yields_no_vector() {
        let nan = STANDARD.encode(f32::NAN.to_le_bytes());
        let infinite = STANDARD.encode(f32::INFINITY.to_le_bytes());
        for (body, count, expected) in [
            ("<html>502</html>", 1, "HTML page"),
            ("", 1, "cut off"),
            (r#"{"data":[{"index":0,"embedding":[1,"#, 1, "cut off"),
            ("pong", 1, "not JSON"),
            ("{}", 1, "OpenAI's API"),
            (r#"{"error":"x"}"#, 1, "OpenAI's API"),
            (r#"{"data":[]}"#, 1, "0 vectors for 1"),
            (r#"{"data":[{"embedding":[1]}]}"#, 2, "1 vectors for 2"),
            (
                r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#,
                2,
                "two vectors",
            ),
            (
                r#"{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}"#,
                2,
                "a vector for none",
            ),
            (r#"{"data":[{"embedding":[1,0]},{"embedding":[1]}]}"#, 2, "of 1 numbers where 2"),
            (r#"{"data":[{"embedding":[]}]}"#, 1, "of 0 numbers"),
            (r#"{"data":[{"embedding":[0,0]}]}"#, 1, "zero or not finite"),
            // Numbers beyond f32 are refused by the parser or become infinite.
            (r#"{"data":[{"embedding":[1e39,0]}]}"#, 1, ""),
            (r#"{"data":[{"embedding":[NaN,0]}]}"#, 1, "not JSON"),
            (r#"{"data":[{"embedding":[null,0]}]}"#, 1, "OpenAI's API"),
            (r#"{"data":[{"embedding":"abc"}]}"#, 1, "OpenAI's API"),
            (r#"{"data":[{"embedding":"YWJj"}]}"#, 1, "OpenAI's API"),
            (&format!(r#"{{"data":[{{"embedding":"{nan}"}}]}}"#), 1, "zero or not finite"),
            (&format!(r#"{{"data":[{{"embedding":"{infinite}"}}]}}"#), 1, "zero or not finite"),
        ] {
            let problem = vectors_of(body, count).unwrap_err();
            assert!(problem.contains(expected), "{body}: {problem}");
        }
        let problem = read(br#"{"data":[{"embedding":[1,0]}]}"#, 1, Some(3)).unwrap_err();
        assert!(problem.contains("of 2 numbers where 3"), "{problem}");
    }
}
