//! Fields of the disk index. No text is kept in it: the store has the pages.

use tantivy::{
    schema::{FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions},
    tokenizer::{Token, TokenStream, Tokenizer},
};

use super::encoding::{GAP, GAP_MARK, TERM_MARK};

/// Number of the index's format. Raise it when pages get other terms or fields, so that older
/// indexes are rebuilt.
pub(super) const FORMAT: u32 = 13;

/// The name of [`EncodedTokenizer`] in the index.
pub(super) const TOKENIZER: &str = "brain";

/// The fields of the index.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    /// The page's id, which identifies it in results and replacements.
    pub(super) id: Field,
    /// Stemmed words with positions.
    pub(super) body: Field,
    /// Stemmed words of title and aliases, with positions.
    pub(super) title: Field,
    /// Words that differ from their stems, for prefixes; exact forms of words.
    pub(super) words: Field,
    /// Words of all names, as written, without stems.
    pub(super) names: Field,
    /// Exact values by namespace, such as names, tags, type, source, language and days.
    pub(super) keys: Field,
    /// When the page was last changed, in Unix milliseconds.
    pub(super) updated_at: Field,
}

pub(super) fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let ranked = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer(TOKENIZER)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions)
            .set_fieldnorms(true),
    );
    let listed = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer(TOKENIZER)
            .set_index_option(IndexRecordOption::Basic)
            .set_fieldnorms(false),
    );
    let fields = Fields {
        id: builder.add_u64_field("id", FAST | INDEXED),
        body: builder.add_text_field("body", ranked.clone()),
        title: builder.add_text_field("title", ranked),
        words: builder.add_text_field("words", listed.clone()),
        names: builder.add_text_field("names", listed.clone()),
        keys: builder.add_text_field("keys", listed),
        updated_at: builder.add_i64_field("updated_at", FAST),
    };
    (builder.build(), fields)
}

/// Splits the encoding of [`super::encoding::Terms`].
#[derive(Clone, Default)]
pub(super) struct EncodedTokenizer {
    token: Token,
}

/// The tokens of one encoded text.
pub(super) struct EncodedStream<'a> {
    rest: &'a str,
    token: &'a mut Token,
}

impl Tokenizer for EncodedTokenizer {
    type TokenStream<'a> = EncodedStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> EncodedStream<'a> {
        self.token.reset();
        EncodedStream { rest: text, token: &mut self.token }
    }
}

impl TokenStream for EncodedStream<'_> {
    fn advance(&mut self) -> bool {
        let Some(&mark) = self.rest.as_bytes().first() else { return false };
        let text = &self.rest[1..];
        let end = text.bytes().position(|b| b == TERM_MARK || b == GAP_MARK).unwrap_or(text.len());
        self.token.text.clear();
        self.token.text.push_str(&text[..end]);
        // The first position is 0: a reset sets the position to `usize::MAX`.
        self.token.position =
            self.token.position.wrapping_add(if mark == GAP_MARK { 1 + GAP } else { 1 });
        self.rest = &text[end..];
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

/// Rounds the length of a field down as the disk index does.
pub(super) fn rounded_length(len: u32) -> u32 {
    use tantivy::fieldnorm::FieldNormReader;
    // The disk index has lengths up to 40 exactly. Above, it has the greatest step up to `len`.
    let (mut low, mut high) = (0_u8, 255_u8);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if FieldNormReader::id_to_fieldnorm(middle) <= len {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    FieldNormReader::id_to_fieldnorm(low)
}
