//! A fact: what it is about, its field, its value, and when it holds.

use super::span::Span;
use super::value::Value;

/// What a fact is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Subject {
    /// A page, by its id.
    Page(u64),
    /// A thing without a page, by its normalised name.
    Name(String),
}

/// A fact of a sentence.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fact {
    pub(crate) subject: Subject,
    /// The usual name of the field.
    pub(crate) field: String,
    pub(crate) value: Value,
    pub(crate) span: Span,
    pub(crate) timing: Timing,
}

/// What a sentence says about the time of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timing {
    /// It holds.
    Holds,
    /// It begins: what held before has ended.
    Begins,
    /// It ends.
    Ends,
}

impl Subject {
    /// Returns whether the value is the thing itself.
    pub(crate) fn is_value(&self, value: &Value) -> bool {
        matches!((self, value), (Self::Page(a), Value::Page(b)) if a == b)
    }
}
