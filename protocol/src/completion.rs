//! Wire types of shell completions.

use serde::{Deserialize, Serialize};

/// The maximum number of values of one completion.
pub const MAX_COMPLETIONS: usize = 100;

/// The kind of object that a word on the command line names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompletionKind {
    /// A page, by the beginning of its slug, of its slug's last part, or of a word of its title.
    Page,
    /// A tag.
    Tag,
    /// A source.
    Source,
    /// A type of pages.
    Type,
    /// An ingest job.
    Job,
    /// An OAuth client.
    Client,
}

/// A shell's request for the values that a word can become.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Complete {
    /// The kind of object that the word names.
    pub kind: CompletionKind,
    /// The word as typed so far.
    pub text: String,
}

impl Complete {
    /// Returns whether the scope `read` is enough to see the values.
    pub(crate) fn is_about_pages(&self) -> bool {
        !matches!(self.kind, CompletionKind::Job | CompletionKind::Client)
    }
}

/// The values that a word can become.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completions {
    /// At most [`MAX_COMPLETIONS`], best first.
    pub values: Vec<CompletionValue>,
}

/// A value with a description.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletionValue {
    /// The value.
    pub value: String,
    /// Its description in one line: a page's title, the number of a tag's pages.
    pub description: String,
}
