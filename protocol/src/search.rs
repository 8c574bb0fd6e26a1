//! Wire types of full-text and semantic search.

use serde::{Deserialize, Serialize};

use crate::{PageVersion, Slug, SourceId, TrustLevel};

/// `brain search`: finds pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Search {
    /// The query as typed: words, `"phrases"`, `-word`, `prefix*`, `title:`, `tag:`,
    /// `type:`, `source:`.
    pub query: String,
    /// The maximum number of pages, 1 to [`crate::MAX_HITS`].
    pub limit: u32,
    /// Only pages of this source; all if absent.
    pub source: Option<SourceId>,
    /// Only pages of this type.
    pub page_type: Option<String>,
    /// Only pages with all of these tags.
    pub tags: Vec<String>,
    /// Only pages changed at or after this day or time (`YYYY-MM-DD` or RFC 3339).
    pub since: Option<String>,
    /// Only pages changed at or before this day or time.
    pub until: Option<String>,
    /// Whether to explain each score.
    pub explain: bool,
    /// Whether the user is still typing: the last word may be the beginning of a word of a name.
    pub prefix: bool,
}

/// Search results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Hits {
    /// The query.
    pub query: String,
    /// The hits, best first; one for each page.
    pub hits: Vec<Hit>,
    /// Whether there are more matches than the limit.
    pub truncated: bool,
    /// Why results can be missing, for example because the index is being rebuilt.
    pub degraded: Option<String>,
    /// Time in the daemon, in microseconds.
    pub took_us: u64,
    /// The default source, which is searched first for a slug without a source.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub default_source: SourceId,
    /// How brain interpreted the query, if that is not obvious: phrases that are not required,
    /// other spellings, dates.
    pub note: Option<String>,
}

/// One found page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Hit {
    /// Its slug.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "people/ada-lovelace"))]
    pub slug: Slug,
    /// Its source.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub source_id: SourceId,
    /// Its title.
    pub title: String,
    /// Its type.
    #[serde(rename = "type")]
    pub page_type: String,
    /// The score, comparable within this reply only.
    pub score: f32,
    /// The best passage, one line, at most 240 characters.
    pub snippet: String,
    /// The parts of `snippet` that match: byte offsets of start and end, end exclusive.
    pub highlights: Vec<(u32, u32)>,
    /// The number of the chunk with the snippet, from 0.
    pub chunk: u32,
    /// Why it matched: `title`, `alias`, `slug`, `text`, `tag`, `meaning`, `link`.
    pub matched: Vec<String>,
    /// When its text was last changed.
    pub updated_at: String,
    /// The parts of the score; empty unless requested.
    pub explain: Vec<ScorePart>,
    /// The line of the body in which the snippet begins, from 1.
    pub line: u32,
    /// The interface it came through.
    pub source_kind: Option<String>,
    /// The origin of the content.
    pub source_uri: Option<String>,
    /// The page's address on the web.
    pub url: Option<String>,
    /// Who wrote the title and the snippet.
    pub trust: TrustLevel,
    /// The absolute path of its file, for callers with the scope `admin`.
    pub path: Option<String>,
    /// Other pages with the same text, as `source:slug`.
    pub also_in: Vec<String>,
    /// The path, in its source, of the file of which its file is a copy, by the name that a sync
    /// program gave it. There need not be such a file any more.
    pub copy_of: Option<String>,
    /// How `snippet` is made from the page's body; `None` if it is made from the frontmatter. Not on
    /// the wire.
    #[serde(skip)]
    pub span: Option<SnippetSpan>,
    /// The page's version. Not on the wire.
    #[serde(skip)]
    pub page: PageVersion,
    /// The ids of the pages in `also_in`. Not on the wire.
    #[serde(skip)]
    pub copies: Vec<u64>,
}

/// The part of a body that a snippet shows. The snippet can be made from it again, without the
/// question. All numbers are byte offsets in the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SnippetSpan {
    /// Where the snippet begins.
    pub start: u32,
    /// The end of the matches that it shows.
    pub matches_end: u32,
    /// Where it ends at the latest.
    pub limit: u32,
    /// Whether its passage has text before `start`.
    pub has_more_before: bool,
    /// Whether its passage has text after `limit`.
    pub has_more_after: bool,
}

/// One part of a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ScorePart {
    /// The reason, for example `text: latency`.
    pub reason: String,
    /// Its share of the score.
    pub score: f32,
}
