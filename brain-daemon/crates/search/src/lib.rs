//! Full-text search over title, aliases, tags, slug and body.
//!
//! The index is derived data: it can be deleted, damaged or out of date. The store's owner pushes
//! every change after it is durable. After the index was reopened, the owner pushes the changes
//! that it lacks. This crate does not know the store. Pages come in as [`IndexPage`] and questions
//! as [`Question`]. Results are page ids with scores, so that they can be merged with vectors and
//! links.
//!
//! Pages are in tantivy's index on disk, which one thread commits from time to time, or in the
//! overlay, which holds newer pages. A search uses both with common statistics and one scoring
//! function. So it finds everything pushed before it, a page ranks the same in both, and no search
//! waits for a commit.
//!
//! | file | purpose |
//! |---|---|
//! | `index` | The public index; searches and the indexer share `index_state`, with its `view` |
//! | `fork` | Forks: indexes of past states, which differ in few pages |
//! | `indexer`, `index_writer`, `merge_policy` | The thread that writes to disk |
//! | `disk` | Opens, checks and replaces the index on disk; `schema` has its fields |
//! | `token`, `fold`, `exact`, `language`, `stopwords` | Turn a text into terms |
//! | `document`, `encoding` | The terms of a page, and their form in the index |
//! | `query` | Parses a question into units and words, once; `command` tells pasted command lines |
//! | `replaced_word` | Replaces a word of a question |
//! | `numbers` | The forms of numbers and versions |
//! | `plan`, `days` | Turn a parsed question into groups of terms and conditions |
//! | `fields` | Decides whether `status:active` is a filter |
//! | `quotes` | Decides whether quoted phrases of a question are conditions |
//! | `disk_search`, `best_docs`, `terms`, `phrase_postings`, `doc_bit_set` | Run a plan on disk |
//! | `overlay` | Runs a plan on newer pages |
//! | `names` | Pages that a question names (`name_query`); forms of names are in `name_key` |
//! | `typos` | Other spellings of words that are in no page |
//! | `joined`, `splits` | Adjacent words as one word, and words that pages write as several |
//! | `visible_pages`, `restricted_search` | Search for callers who can see only some sources |
//! | `match_table` | The pages that match, and where the words of the question occur in them |
//! | `rank`, `bm25` | The scoring function; `runs`: adjacent words in the order of the question |
//! | `question_terms` | Words and subjects of a question, for other kinds of search |
//! | `snippet` | The passage to show; `begin` skips words without a match, `markup` finds syntax |

mod begin;
mod best_docs;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod best_docs_tests;
mod bm25;
#[cfg(test)]
mod bulk_tests;
mod command;
mod days;
mod disk;
mod disk_search;
#[cfg(test)]
mod disk_tests;
mod doc_bit_set;
mod document;
mod encoding;
mod exact;
mod fields;
mod fold;
mod fork;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod form_tests;
mod index;
mod index_state;
mod index_writer;
mod indexer;
mod joined;
mod language;
mod markup;
mod match_table;
mod merge_policy;
mod mistyped_words;
mod name_key;
mod name_query;
#[cfg(test)]
mod name_tests;
mod names;
mod numbers;
mod overlay;
mod phrase_postings;
mod plan;
mod query;
#[cfg(test)]
mod query_tests;
mod question_terms;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod quote_tests;
mod quotes;
mod rank;
mod replaced_word;
mod restricted_search;
mod runs;
mod schema;
mod snippet;
mod snippet_line;
#[cfg(test)]
mod snippet_tests;
mod splits;
mod stopwords;
mod terms;
#[cfg(test)]
mod tests;
mod token;
mod top_docs;
#[cfg(test)]
mod typo_tests;
mod typos;
mod view;
mod visible_pages;
#[cfg(test)]
mod visible_tests;
#[cfg(test)]
mod word_tests;

use std::{ops::Range, sync::Arc};

use brain_protocol::{ScorePart, Slug, SourceId};
pub use command::is_option;
pub use days::{DayCondition, DayRole, PageDays};
pub use disk::known_changes;
pub use document::count_terms;
pub use index::Index;
pub use query::Query;
pub use question_terms::{QuestionTerms, QuestionWord, Subject, each_word};
pub use quotes::Quotes;
pub use snippet::{MAX_SNIPPET_CHARS, Snippet, Snippeter, snippet_text};
pub use typos::Spelling;

/// The parts of a page that a search finds or filters by.
#[derive(Debug, Clone)]
pub struct IndexPage {
    /// The page's id: the same for all versions, and never used for another page.
    pub id: u64,
    /// The sequence number of the change; later changes have greater numbers.
    pub seq: u64,
    /// Compared with the sources that a caller can see.
    pub source: SourceId,
    /// Its slug. A question that is the slug finds the page by name.
    pub slug: Slug,
    /// Its title; empty if it has none of its own.
    pub title: String,
    /// The name of its file as written, without the ending.
    pub file_name: String,
    /// Other names of the page.
    pub aliases: Vec<String>,
    /// Its tags, for words of the question and the filter `tag:`.
    pub tags: Vec<String>,
    /// Its type, for the filter `type:`.
    pub page_type: String,
    /// Its fields, each with its key and values: `author` and `Nadia Holt`. Their words are found
    /// as those of the body, and a value by the filter `author:"Nadia Holt"`.
    pub fields: Vec<(String, Vec<String>)>,
    /// The markdown below the frontmatter.
    pub body: Arc<str>,
    /// When it was last changed, in Unix milliseconds.
    pub updated_at: i64,
    /// The days that the page states and mentions, and those on which it was written.
    pub days: Vec<PageDays>,
}

/// A change to index.
#[derive(Debug, Clone)]
pub enum IndexChange {
    /// Adds or replaces the page.
    Put(Arc<IndexPage>),
    /// Removes the page.
    Remove {
        /// The page's id.
        id: u64,
        /// The sequence number of the change.
        seq: u64,
    },
}

/// Options of the index. The defaults are for a daemon.
#[derive(Debug, Clone)]
pub struct Options {
    /// Language of pages whose language is unclear (ISO 639-1). If it has no stemmer, the words of
    /// these pages are not stemmed.
    pub default_language: String,
    /// Approximate maximum time from a change to its commit.
    pub commit_after: std::time::Duration,
    /// A pause in the changes after which they are committed.
    pub commit_when_idle: std::time::Duration,
    /// Number of changes that are committed without waiting for a pause.
    pub commit_changes: usize,
    /// As `commit_changes`, while changes arrive faster than they are indexed.
    pub commit_changes_bulk: usize,
    /// Memory of changes that are committed without waiting for a pause, in bytes: few large pages
    /// need more than thousands of notes. A bulk write waits while as much is not taken yet.
    pub commit_bytes: usize,
    /// Memory for uncommitted changes while the index cannot be written, in bytes. Beyond it, the
    /// oldest are dropped: they are not found, and must be pushed again after the next
    /// [`Index::open`] ([`OpenReport::seq`]).
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
            commit_bytes: 32 << 20,
            overlay_bytes: 128 << 20,
        }
    }
}

/// Result of [`Index::open`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenReport {
    /// The sequence number of the last change in the index; push the later changes.
    pub seq: u64,
    /// Why the existing index was replaced by an empty one, if it was.
    pub rebuilt: Option<String>,
}

/// A search question with filters and the caller's view.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// The parsed text.
    pub query: Arc<Query>,
    /// Maximum number of results.
    pub limit: usize,
    /// Only pages of these sources; `None` for all.
    pub sources: Option<Vec<SourceId>>,
    /// Sources that the caller can see; `None` for all. Nothing in the answer, not even the order,
    /// depends on other pages.
    pub view: Option<Vec<SourceId>>,
    /// Only pages of this type.
    pub page_type: Option<String>,
    /// Only pages with all of these tags.
    pub tags: Vec<String>,
    /// Only pages changed at or after this moment, in Unix milliseconds.
    pub since: Option<i64>,
    /// Only pages changed at or before this moment.
    pub until: Option<i64>,
    /// Only pages with these days.
    pub days: Option<DayCondition>,
    /// Whether to return the parts of the scores.
    pub explain: bool,
    /// Whether quoted phrases only rank; see [`Index::quotes`].
    pub prefer_quotes: bool,
    /// Whether the question is being typed: its last word may be the beginning of a word of a name.
    pub is_being_typed: bool,
    /// Whether only pages that the question names are found, by a name or its beginning: texts are
    /// not searched. Has no effect for callers who cannot see all sources.
    pub names_only: bool,
    /// Whether links answer the question. If so, pages that repeat the question's words get no
    /// bonus.
    pub asks_for_links: bool,
    /// The byte range of [`Query::plain`] that names a day, if the day itself ranks pages and the
    /// question has other words. Its words count less.
    pub day_words: Option<Range<usize>>,
}

/// The best pages for a question, and what is needed to show them.
#[derive(Debug)]
pub struct SearchResults {
    /// The pages, best first.
    pub hits: Vec<RankedPage>,
    /// Whether there are more pages.
    pub truncated: bool,
    /// The spellings that were also searched for mistyped words, if there are any.
    pub spelling: Option<Spelling>,
    /// Creates the passages to show.
    pub snippets: Snippeter,
}

/// A found page with its score.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedPage {
    /// The id from [`IndexPage::id`].
    pub id: u64,
    /// The score, comparable within one answer: 1000 for each tier, plus the score of the words.
    pub score: f32,
    /// 6 if the question is the page's title, 5 for an alias, 4 for its slug, 3 for one of its
    /// names with the words in another order. While the question is being typed: 2 if it begins a
    /// name, 1 if its words begin words of its names. Else 0. Merging with other rankings keeps
    /// higher tiers first.
    pub tier: u8,
    /// The fields that matched: `title`, `alias`, `slug`, `text`, `tag`. A word of an alias counts
    /// as `title`.
    pub matched: Vec<&'static str>,
    /// The parts of the score; empty unless requested.
    pub explain: Vec<ScorePart>,
}

/// Why a search or a write of the index failed.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The index on disk cannot be read. Opening it again replaces it.
    #[error("the search index is damaged ({0}); the next start rebuilds it")]
    Damaged(String),
    /// The search failed although the index is intact: a defect of the program.
    #[error("the search failed: {0}")]
    Failed(String),
    /// The index on disk cannot be written. Pushed changes are found nevertheless, and the write is
    /// repeated.
    #[error("the search index cannot be written: {0}")]
    Unwritable(String),
    /// The indexing thread could not be started or has ended.
    #[error("the search index has stopped: {0}")]
    Stopped(String),
}
