//! Texts to tokens, and tokens to batches with little padding in them.

use std::ops::Range;

use tokenizers::{Tokenizer, TruncationParams};

use super::card::{Card, small};
use super::fault::{damaged, missing};
use crate::embed::{EmbedFault, EmbedWhy};

/// The largest `tokenizer.json`, in bytes: one of a quarter of a million words has 17 MiB.
const TOKENIZER_MOST: u64 = 64 * 1024 * 1024;
/// Bytes of a text that are looked at at all; more never fit into what counts, unless it is no text.
const TEXT_MOST: usize = 64 * 1024;
/// The most tokens of a batch, padding counted, but for one text that is longer. What a layer makes of so many fits into the cache of a core.
const BATCH_TOKENS: usize = 512;
/// The most texts of a batch.
const BATCH_TEXTS: usize = 32;

/// The tokens of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tokens {
    /// Which text it is.
    pub(super) text: usize,
    /// Their numbers, at least one.
    pub(super) ids: Vec<i32>,
}

/// Reads a model's tokenizer.
pub(super) fn tokenizer(card: &Card) -> Result<Tokenizer, EmbedFault> {
    let path = &card.tokenizer;
    let bytes = small(path, TOKENIZER_MOST)?.ok_or_else(|| missing(path))?;
    let refused = |_| damaged(path, "is no tokenizer that brain can run");
    let mut tokenizer = Tokenizer::from_bytes(&bytes).map_err(refused)?;
    // What the file says of these two is how it was used once.
    let truncation = TruncationParams { max_length: card.max_tokens, ..TruncationParams::default() };
    tokenizer.with_padding(None).with_truncation(Some(truncation)).map_err(refused)?;
    Ok(tokenizer)
}

/// Takes a text apart. `known` is how many tokens the model knows, if that is known.
pub(super) fn tokens(
    tokenizer: &Tokenizer,
    card: &Card,
    prefix: &str,
    text: &str,
    known: Option<usize>,
) -> Result<Vec<i32>, EmbedFault> {
    let text = text.get(..text.floor_char_boundary(TEXT_MOST)).unwrap_or(text).trim();
    let mut text = format!("{prefix}{text}");
    if card.lower_case {
        text = text.to_lowercase();
    }
    let refused = |_| EmbedFault {
        why: EmbedWhy::Text,
        message: "the model's tokenizer cannot take a text apart".into(),
        hint: None,
    };
    let ids = tokenizer.encode_fast(text, true).map_err(refused)?;
    let most = known.map_or(i32::MAX, |known| i32::try_from(known).unwrap_or(i32::MAX));
    let ids: Option<Vec<i32>> =
        ids.get_ids().iter().map(|id| i32::try_from(*id).ok().filter(|id| *id < most)).collect();
    match ids {
        Some(ids) if !ids.is_empty() => Ok(ids),
        Some(_) => Err(damaged(&card.tokenizer, "makes no tokens of a text: it marks neither begin nor end")),
        None => Err(damaged(
            &card.tokenizer,
            "has tokens that the model does not know: they do not belong together",
        )),
    }
}

/// Puts the longest texts first, and says which are run together: of nearly the same length, and not too many.
pub(super) fn batches(texts: &mut [Tokens]) -> Vec<Range<usize>> {
    texts.sort_by_key(|tokens| (std::cmp::Reverse(tokens.ids.len()), tokens.text));
    let (mut batches, mut begin) = (Vec::new(), 0);
    while let Some(longest) = texts.get(begin) {
        let many = (BATCH_TOKENS / longest.ids.len().max(1)).clamp(1, BATCH_TEXTS);
        let end = texts.len().min(begin + many);
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

    proptest! {
        #[test]
        fn batches_have_every_text_once_and_are_not_too_large(lengths in prop::collection::vec(1_usize..3000, 0..200)) {
            let mut texts: Vec<Tokens> =
                lengths.iter().enumerate().map(|(text, many)| Tokens { text, ids: vec![1; *many] }).collect();
            let batches = batches(&mut texts);
            prop_assert_eq!(batches.iter().map(Range::len).sum::<usize>(), lengths.len());
            prop_assert!(batches.windows(2).all(|two| two[0].end == two[1].start));
            for batch in batches {
                let longest = texts[batch.clone()].iter().map(|tokens| tokens.ids.len()).max().unwrap();
                prop_assert!(batch.len() == 1 || longest * batch.len() <= BATCH_TOKENS);
                prop_assert!(batch.len() <= BATCH_TEXTS);
            }
        }
    }
}
