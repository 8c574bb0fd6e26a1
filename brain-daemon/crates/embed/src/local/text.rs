//! Tokenization, and batches with little padding.

use std::ops::Range;

use tokenizers::{EncodeInput, Tokenizer, TruncationParams};

use super::error::{damaged, missing};
use super::model_card::{ModelCard, read_bounded_file};
use crate::{EmbedError, EmbedErrorKind};

/// Maximum size of `tokenizer.json`, in bytes. One with a quarter of a million words has 17 MiB.
const MAX_TOKENIZER_BYTES: u64 = 64 * 1024 * 1024;
/// Maximum bytes of a text that are tokenized. A model reads far fewer.
const MAX_TEXT_BYTES: usize = 64 * 1024;
/// Maximum tokens of a batch, including padding; a longer text is a batch of its own. A layer's
/// results for this many tokens fit into a core's cache.
const MAX_BATCH_TOKENS: usize = 512;
/// Maximum texts of a batch.
pub(super) const MAX_BATCH_TEXTS: usize = 32;

/// Tokens that stand for unknown text.
const UNKNOWN: [&str; 2] = ["[UNK]", "<unk>"];

/// Text that the model reads before each text of a call.
#[derive(Debug, Clone, Copy)]
pub(super) enum LeadingText<'a> {
    /// A prefix of the text.
    Prefix(&'a str),
    /// The first text of a pair.
    Question(&'a str),
}

/// The tokens of a text or a pair.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TextTokens {
    /// Index of the text.
    pub(super) text_index: usize,
    /// Token ids, at least one.
    pub(super) ids: Vec<i32>,
    /// The type of each token: 1 in the second text of a pair.
    pub(super) types: Vec<i32>,
}

/// Loads a model's tokenizer.
pub(super) fn tokenizer(card: &ModelCard) -> Result<Tokenizer, EmbedError> {
    let path = &card.tokenizer;
    let bytes = read_bounded_file(path, MAX_TOKENIZER_BYTES)?.ok_or_else(|| missing(path))?;
    let file_error = |_| damaged(path, "is not a tokenizer that brain can run");
    let mut tokenizer = Tokenizer::from_bytes(&bytes).map_err(file_error)?;
    // The file has the settings of its last use.
    let truncation =
        TruncationParams { max_length: card.max_tokens, ..TruncationParams::default() };
    tokenizer.with_padding(None).with_truncation(Some(truncation)).map_err(file_error)?;
    Ok(tokenizer)
}

/// Returns the prefix and the trimmed beginning of a text, in lower case if the model requires it.
pub(super) fn prepare(card: &ModelCard, prefix: &str, text: &str) -> String {
    let text = text.get(..text.floor_char_boundary(MAX_TEXT_BYTES)).unwrap_or(text).trim();
    let text = format!("{prefix}{text}");
    if card.lower_case { text.to_lowercase() } else { text }
}

/// Returns the share of letters that the model knows as words or parts of words (0 to 1). Returns 1
/// for a text without letters or one that cannot be tokenized.
///
/// A letter of a word that is spelled by a token of its own, or by several, does not count: for
/// scripts that are rare in its training data, a model has only such tokens. Words of one letter
/// and characters that can be words (Han, kana, Hangul) count when they are one token.
pub(super) fn coverage(tokenizer: &Tokenizer, text: &str) -> f32 {
    let Ok(tokens) = tokenizer.encode(text, false) else { return 1.0 };
    let is_letter = |c: &char| c.is_alphabetic();
    let (mut letter_count, mut known_count) = (0_usize, 0_usize);
    let tokens: Vec<_> = tokens.get_offsets().iter().zip(tokens.get_tokens()).collect();
    // Tokens at the same offsets are parts of a character: its bytes, or parts of a syllable.
    for parts in tokens.chunk_by(|token, next| token.0 == next.0) {
        let Some(&(&(begin, end), token)) = parts.first() else { continue };
        let (Some(before), Some(inside), Some(after)) =
            (text.get(..begin), text.get(begin..end), text.get(end..))
        else {
            continue;
        };
        let letters = inside.chars().filter(is_letter).count();
        letter_count += letters;
        let is_word = || {
            let has_neighbour =
                before.chars().next_back().iter().chain(&after.chars().next()).any(is_letter);
            !has_neighbour || inside.chars().any(can_be_word)
        };
        let is_known = parts.len() == 1 && !UNKNOWN.contains(&token.as_str());
        if is_known && (letters > 1 || is_word()) {
            known_count += letters;
        }
    }
    if letter_count == 0 { 1.0 } else { known_count as f32 / letter_count as f32 }
}

/// Returns whether the character can be a word: kana, Han or Hangul.
fn can_be_word(c: char) -> bool {
    matches!(c,
        '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{AC00}'..='\u{D7A3}' | '\u{F900}'..='\u{FAFF}')
}

/// Tokenizes `text`, which has this index in the call, or a pair: a question and `text`.
/// `vocabulary` is the size of the model's vocabulary, if known.
pub(super) fn tokens(
    tokenizer: &Tokenizer,
    card: &ModelCard,
    leading: LeadingText<'_>,
    (index, text): (usize, &str),
    vocabulary: Option<usize>,
) -> Result<TextTokens, EmbedError> {
    let input: EncodeInput<'_> = match leading {
        LeadingText::Prefix(prefix) => prepare(card, prefix, text).into(),
        LeadingText::Question(question) => {
            (prepare(card, "", question), prepare(card, "", text)).into()
        }
    };
    let text_error = |_| EmbedError {
        kind: EmbedErrorKind::Text,
        message: "the model's tokenizer cannot tokenize a text".into(),
        hint: None,
    };
    let encoded = tokenizer.encode_fast(input, true).map_err(text_error)?;
    let max_id = vocabulary.map_or(i32::MAX, |size| i32::try_from(size).unwrap_or(i32::MAX));
    let ids: Option<Vec<i32>> = encoded
        .get_ids()
        .iter()
        .map(|id| i32::try_from(*id).ok().filter(|id| *id < max_id))
        .collect();
    match ids {
        Some(ids) if !ids.is_empty() => {
            let types = encoded.get_type_ids().iter().map(|kind| i32::from(*kind > 0)).collect();
            Ok(TextTokens { text_index: index, ids, types })
        }
        Some(_) => Err(damaged(
            &card.tokenizer,
            "returned no tokens for a text, not even start and end tokens",
        )),
        None => Err(damaged(
            &card.tokenizer,
            "does not match the model: it has token ids outside the model's vocabulary",
        )),
    }
}

/// Sorts texts by length, longest first, and returns batches of at most `max_texts` texts of
/// similar length.
pub(super) fn batches(texts: &mut [TextTokens], max_texts: usize) -> Vec<Range<usize>> {
    texts.sort_by_key(|tokens| (std::cmp::Reverse(tokens.ids.len()), tokens.text_index));
    let (mut batches, mut begin) = (Vec::new(), 0);
    while let Some(longest) = texts.get(begin) {
        let count = (MAX_BATCH_TOKENS / longest.ids.len().max(1)).clamp(1, max_texts);
        let end = texts.len().min(begin + count);
        batches.push(begin..end);
        begin = end;
    }
    batches
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn coverage_counts_letters_of_words_and_their_parts() {
        let tokenizer = |normalizer: serde_json::Value, vocab: serde_json::Value| {
            let file = serde_json::json!({
                "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
                "normalizer": normalizer,
                "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
                "model": {"type": "WordPiece", "unk_token": "[UNK]",
                    "continuing_subword_prefix": "##",
                    "max_input_chars_per_word": 100, "vocab": vocab},
            });
            Tokenizer::from_bytes(file.to_string()).unwrap()
        };
        // Hangul syllables as separate letters (NFD), as some models need them; and composed.
        let nfd = serde_json::json!({"type": "NFD"});
        let parts = tokenizer(
            nfd,
            serde_json::json!({"[UNK]": 0, "\u{1100}": 1, "##\u{1161}": 2, "##\u{1100}": 3}),
        );
        assert!(coverage(&parts, "가가").abs() < 1e-6);
        let whole =
            tokenizer(serde_json::Value::Null, serde_json::json!({"[UNK]": 0, "가": 1, "##가": 2}));
        assert!((coverage(&whole, "가가") - 1.0).abs() < 1e-6);
        let vocab = serde_json::json!({"[UNK]": 0, "boat": 1, "##s": 2, "i": 3, "ب": 4, "##ح": 5,
            "##ر": 6, "漢": 7, "##字": 8});
        let tokenizer = tokenizer(serde_json::Value::Null, vocab);
        let coverage = |text: &str| coverage(&tokenizer, text);
        for (text, share) in [
            ("boat i boat", 1.0),
            ("boats", 0.8),
            ("boat ship", 0.5),
            ("بحر", 0.0),
            ("漢字", 1.0),
            ("ทะเล", 0.0),
            ("boat بحرب", 0.5),
            ("2026 ?!", 1.0),
            ("", 1.0),
        ] {
            assert!((coverage(text) - share).abs() < 1e-6, "{text}: {}", coverage(text));
        }
    }

    proptest! {
        #[test]
        fn batches_have_each_text_once_within_limits(lengths in prop::collection::vec(1_usize..3000,
            0..200)) {
            let mut texts: Vec<TextTokens> =
                lengths.iter().enumerate().map(|(text_index, length)| TextTokens {
                    text_index,
                    ids: vec![1; *length],
                    types: vec![0; *length],
                }).collect();
            let batches = batches(&mut texts, MAX_BATCH_TEXTS);
            prop_assert_eq!(batches.iter().map(Range::len).sum::<usize>(), lengths.len());
            prop_assert!(batches.windows(2).all(|two| two[0].end == two[1].start));
            for batch in batches {
                let longest = texts[batch.clone()].iter().map(|tokens| tokens.ids.len()).max()
                    .unwrap();
                prop_assert!(batch.len() == 1 || longest * batch.len() <= MAX_BATCH_TOKENS);
                prop_assert!(batch.len() <= MAX_BATCH_TEXTS);
            }
        }
    }
}
