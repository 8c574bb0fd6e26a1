//! Encoding of terms and keys.
//!
//! The disk index gets terms as text, which its tokenizer only splits. The overlay gets them as
//! hashes by position.

use super::{fold::hash, name_key::tag_key, token};

/// Precedes a term.
pub(super) const TERM_MARK: u8 = 1;
/// Precedes the first term of another alias, whose position is [`GAP`] further.
pub(super) const GAP_MARK: u8 = 2;
/// Number of positions between title and aliases, so that no phrase spans both.
pub(super) const GAP: usize = 4;
/// The terms of texts longer than this, in bytes, are counted before they are stored.
const LARGE_TEXT_BYTES: usize = 256 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HashedTerm {
    pub(super) text: String,
    pub(super) hash: u64,
}

impl HashedTerm {
    pub(super) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let hash = hash(text.as_bytes());
        Self { text, hash }
    }
}

/// The terms of one field of a page.
#[derive(Debug, Default)]
pub(super) struct Terms {
    /// Each term after its mark ([`TERM_MARK`] or [`GAP_MARK`]).
    pub(super) encoded: String,
    /// The hash of the term at each position; 0 for none.
    pub(super) hashes: Vec<u64>,
    /// Number of terms.
    pub(super) count: u32,
}

impl Terms {
    /// Reserves memory for the terms of `text`.
    pub(super) fn reserve(&mut self, text: &str) {
        if text.len() <= LARGE_TEXT_BYTES {
            self.encoded.reserve(text.len());
            self.hashes.reserve(text.len() / 6);
            return;
        }
        // Counted first: growing lists would take twice the memory.
        let (mut count, mut bytes) = (0, 0);
        token::scan(text, &mut |t| {
            count += 1;
            bytes += t.text.len() + 1;
        });
        self.hashes.reserve_exact(count);
        self.encoded.reserve_exact(bytes);
    }

    /// Adds the terms of another text, so far behind that no phrase spans both.
    pub(super) fn append_behind_gap(&mut self, more: &Self) {
        if more.count == 0 {
            return;
        }
        if self.count > 0 {
            self.hashes.extend([0; GAP]);
            self.encoded.push(char::from(GAP_MARK));
            self.encoded.push_str(&more.encoded[1..]);
        } else {
            self.encoded.push_str(&more.encoded);
        }
        self.hashes.extend(&more.hashes);
        self.count += more.count;
    }

    pub(super) fn push(&mut self, term: &str, mark: u8) {
        if mark == GAP_MARK {
            self.hashes.extend([0; GAP]);
        }
        self.encoded.push(char::from(mark));
        self.encoded.push_str(term);
        self.hashes.push(hash(term.as_bytes()));
        self.count += 1;
    }
}

/// Namespaces of keys: the exact values of a page.
pub(super) mod key {
    pub(crate) const TITLE: char = 'n';
    pub(crate) const ALIAS: char = 'a';
    pub(crate) const SLUG: char = 'u';
    pub(crate) const ANY_ORDER: char = 'o';
    pub(crate) const BEGINNING: char = 'b';
    pub(crate) const TAG: char = 'g';
    pub(crate) const TAG_WORD: char = 'w';
    pub(crate) const SLUG_WORD: char = 'v';
    pub(crate) const TYPE: char = 't';
    pub(crate) const SOURCE: char = 's';
    pub(crate) const LANGUAGE: char = 'l';
    pub(crate) const DAY: char = 'd';
    /// A key and a value of a field, or a word of the value; see [`super::field_value`].
    pub(crate) const FIELD: char = 'f';
}

/// Returns the value of [`key::FIELD`] for a field's key and value: without case, and with `_` for
/// a space or a hyphen in the key.
pub(super) fn field_value(key: &str, value: &str) -> String {
    let key = key.trim().to_lowercase().replace([' ', '-'], "_");
    format!("{key}={}", tag_key(value))
}

/// Returns the key `value` in `namespace`.
pub(super) fn key_of(namespace: char, value: &str) -> String {
    let mut key = String::with_capacity(value.len() + 2);
    key.push(namespace);
    key.push(':');
    // Keys must not contain marks or exceed a term's length.
    key.extend(token::head(value, 600).chars().filter(|c| !c.is_control()));
    key
}

/// Returns the key `value` in `namespace`, with its hash.
pub(super) fn hashed_key(namespace: char, value: &str) -> HashedTerm {
    HashedTerm::new(key_of(namespace, value))
}
