//! The search room: full text over title, aliases, tags, slug and body.
//!
//! The index is derived. It may be deleted, damaged or behind at any time; whoever owns the truth pushes every change
//! after it is durable, and pushes again what a reopened index has not seen. This room knows nothing of the store, of
//! sockets, of `Brain`: pages come in as [`IndexPage`], questions as [`Question`], and results go out as page numbers
//! with scores, so that vectors and links can be fused with them afterwards.
//!
//! Two places hold pages: tantivy's index on disk, committed now and then by one thread, and the overlay, the pages
//! that are newer. A question is asked of both with shared statistics and one scoring function, so that a search sees
//! whatever was pushed before it, a page ranks the same in both places, and nobody waits for a commit.
//!
//! | file | purpose |
//! |---|---|
//! | `index` | the index as others see it, and the state that searches and the indexer share |
//! | `indexer` | the one thread that writes to disk |
//! | `disk` | opening, checking, replacing the index on disk; `schema` has its fields |
//! | `token`, `fold`, `language`, `stopwords`, `document` | from a page to its terms |
//! | `query`, `plan` | from a question to what is asked of a page |
//! | `gather`, `terms`, `bits` | carrying a plan out on disk; `overlay` on the newest pages |
//! | `visible`, `within` | the same for somebody who may see some sources only: out of their pages alone |
//! | `rank` | the one scoring function |
//! | `names` | what else a question says: which pages it names, which pages it allows |
//! | `snippet` | the passage to show |

mod bits;
mod disk;
mod document;
mod fold;
mod gather;
mod index;
mod indexer;
mod language;
mod names;
mod overlay;
mod plan;
mod query;
mod rank;
mod schema;
mod snippet;
mod stopwords;
mod terms;
#[cfg(test)]
mod tests;
mod token;
mod visible;
#[cfg(test)]
mod visible_tests;
mod within;

use std::sync::Arc;

use brain_protocol::{ScorePart, Slug, SourceId};

pub use disk::known_changes;
pub use document::terms;
pub use index::Index;
pub use names::{Asked, AskedWord, Subject, each_word};
pub use snippet::{MAX_SNIPPET_CHARS, Snippet, Snippeter};

/// A page as the index needs it.
#[derive(Debug, Clone)]
pub struct IndexPage {
    /// The page's number, the same for all its versions and never used again.
    pub id: u64,
    /// The number of the change that made it so; later changes have greater ones.
    pub seq: u64,
    /// Where it belongs.
    pub source: SourceId,
    /// Its slug.
    pub slug: Slug,
    /// Its title.
    pub title: String,
    /// Other names it answers to.
    pub aliases: Vec<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its type.
    pub page_type: String,
    /// The markdown below the frontmatter.
    pub body: Arc<str>,
    /// When it was last changed, in Unix milliseconds.
    pub updated_at: i64,
}

/// A change to index.
#[derive(Debug, Clone)]
pub enum Change {
    /// The page is new, or so from now on.
    Put(Arc<IndexPage>),
    /// The page is not to be found any more.
    Remove {
        /// Its number.
        id: u64,
        /// The number of the change.
        seq: u64,
    },
}

/// How the index works. The defaults are for a daemon.
#[derive(Debug, Clone)]
pub struct Options {
    /// The language of pages that do not show theirs, ISO 639-1; one without a stemmer is not stemmed.
    pub default_language: String,
    /// The oldest change waits for its commit at most about so long.
    pub commit_after: std::time::Duration,
    /// A pause in the changes after which they are committed.
    pub commit_when_idle: std::time::Duration,
    /// So many changes are committed without waiting for a pause.
    pub commit_changes: usize,
    /// The same while changes come faster than they are indexed.
    pub commit_changes_bulk: usize,
    /// Memory for changes that the disk does not take, in bytes. Beyond it the oldest are let go of, are not found any
    /// more, and must be pushed again after the next [`Index::open`]; [`Opened::seq`] says from where.
    pub overlay_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            default_language: "en".into(),
            commit_after: std::time::Duration::from_secs(5),
            commit_when_idle: std::time::Duration::from_secs(2),
            commit_changes: 512,
            commit_changes_bulk: 4096,
            overlay_bytes: 128 << 20,
        }
    }
}

/// What [`Index::open`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Every change up to this one is in the index; push the later ones.
    pub seq: u64,
    /// Why the index that was there has been replaced by an empty one, when it has been.
    pub rebuilt: Option<String>,
}

/// A question and who asks.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// The question as typed; see [`brain_protocol::Search::query`].
    pub text: String,
    /// How many pages to answer with.
    pub limit: usize,
    /// Only pages of these sources; all when `None`. Of none when empty.
    pub sources: Option<Vec<SourceId>>,
    /// What whoever asks may see: pages of these sources; all when `None`. The answer is made of
    /// those pages alone: nothing in it depends on another page, not even the order.
    pub view: Option<Vec<SourceId>>,
    /// Only pages of this type.
    pub page_type: Option<String>,
    /// Only pages with all of these tags.
    pub tags: Vec<String>,
    /// Only pages changed at or after this moment, in Unix milliseconds.
    pub since: Option<i64>,
    /// Only pages changed at or before this moment.
    pub until: Option<i64>,
    /// Whether to say what the scores are made of.
    pub explain: bool,
}

/// The answer to a question.
#[derive(Debug)]
pub struct Found {
    /// Best first.
    pub hits: Vec<Ranked>,
    /// Whether there are more.
    pub truncated: bool,
    /// Makes the passages to show.
    pub snippets: Snippeter,
}

/// A found page.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The page's number.
    pub id: u64,
    /// Comparable within one answer. A thousand for each tier, and the words' part.
    pub score: f32,
    /// 3 when the question is the page's title, 2 for an alias, 1 for its slug, else 0. What fuses other signals
    /// keeps higher tiers first.
    pub tier: u8,
    /// Why it matched: `title`, `alias`, `slug`, `text`, `tag`. A word of an alias counts as `title`.
    pub matched: Vec<&'static str>,
    /// The parts of the score; empty unless asked for.
    pub explain: Vec<ScorePart>,
}

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The index on disk cannot be read. Opening it again replaces it.
    #[error("the search index is damaged ({0}); it is made anew at the next start")]
    Damaged(String),
    /// The question could not be answered, though the index is sound: a fault of the program.
    #[error("the search failed: {0}")]
    Failed(String),
    /// The index on disk cannot be written. What was pushed is found nevertheless, and is tried again.
    #[error("the search index cannot be written: {0}")]
    Unwritable(String),
    /// The indexing thread could not be started or has ended.
    #[error("the search index has stopped: {0}")]
    Stopped(String),
}
