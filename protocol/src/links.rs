//! Wire types of tags, links between pages, and timelines.

use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{PageRef, Slug, SourceId, TrustLevel};

/// `brain tags`: lists all tags, or lists and changes those of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tags {
    /// The source. If absent: for a page, as in [`PageRef::source`]; for all tags, all sources.
    pub source: Option<SourceId>,
    /// The page; all pages if absent.
    pub slug: Option<Slug>,
    /// Tags to add to the page.
    pub add: Vec<String>,
    /// Tags to remove from the page.
    pub remove: Vec<String>,
}

impl Tags {
    /// Returns whether the request changes nothing.
    pub(crate) fn is_lookup(&self) -> bool {
        self.add.is_empty() && self.remove.is_empty()
    }
}

/// All tags.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagCounts {
    /// Most used first.
    pub tags: Vec<TagCount>,
}

/// A tag and the number of active pages with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagCount {
    /// The tag.
    pub tag: String,
    /// The number of these pages.
    pub pages: u64,
}

/// One page's tags.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageTags {
    /// The page.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// Its tags after the request.
    pub tags: Vec<String>,
    /// Whether the request changed them.
    pub changed: bool,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// `brain link`: adds a typed link to a page, or removes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The page that contains the link.
    pub from: PageRef,
    /// The slug of the page that the link points to.
    pub to: Slug,
    /// The frontmatter key of the link, for example `related` or `company`.
    pub kind: String,
    /// Whether to remove the link.
    pub remove: bool,
    /// The source of the page that the link points to; the source of `from` if absent.
    pub to_source: Option<SourceId>,
}

words! {
    /// The effect of a change of a link, an attachment or a source.
    ChangeStatus {
        Added = "added", Attached = "attached", Changed = "changed",
        /// It is the default source.
        Default = "default",
        Removed = "removed", Unchanged = "unchanged",
    }

    /// Whether the target of a link is a page.
    TargetStatus {
        Live = "live", Missing = "missing",
        /// It is an alias of several pages.
        Ambiguous = "ambiguous",
    }
}

/// The result of `link`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkReply {
    /// The page that contains the link.
    pub from: Slug,
    /// The page that the link points to.
    pub to: Slug,
    /// The frontmatter key of the link.
    pub kind: String,
    /// `Added`, `Removed` or `Unchanged`.
    pub status: ChangeStatus,
    /// Whether the page that the link points to exists.
    #[serde(rename = "live")]
    pub target_exists: bool,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// `brain links`: lists the links of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Links {
    /// The page.
    pub page: PageRef,
}

impl From<PageRef> for Links {
    fn from(page: PageRef) -> Self {
        Self { page }
    }
}

/// `brain backlinks`: lists the links to a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backlinks {
    /// The page.
    pub page: PageRef,
}

impl From<PageRef> for Backlinks {
    fn from(page: PageRef) -> Self {
        Self { page }
    }
}

/// The links of a page, or to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinksReply {
    /// The page.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// `links` or `backlinks`.
    pub direction: String,
    /// The links, in the order of the text; backlinks are ordered by slug.
    pub links: Vec<LinkRow>,
    /// Whether there are more links than the limit.
    pub truncated: bool,
}

/// One link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkRow {
    /// The page at the other end, if it exists.
    pub slug: Option<Slug>,
    /// Its source.
    pub source_id: Option<SourceId>,
    /// Its title.
    pub title: Option<String>,
    /// The link's target as written, for example `companies/acme` or `Acme`.
    pub target: String,
    /// `mentions` for a link in the text, else the frontmatter key.
    pub kind: String,
    /// Whether the target is a page.
    pub status: TargetStatus,
    /// The interface that the page at the other end came through.
    pub source_kind: Option<String>,
    /// Who wrote the title of the page at the other end.
    pub trust: TrustLevel,
    /// The absolute path of that page's file; only for callers with the scope `admin`.
    pub path: Option<String>,
    /// The sentence with the link, for backlinks from the text of a page.
    pub sentence: Option<String>,
}

/// `brain graph`: lists the pages around a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graph {
    /// The page at the centre.
    pub page: PageRef,
    /// The maximum distance in links, 1 to 5.
    pub depth: u32,
    /// The maximum number of pages, 1 to 1000.
    pub limit: u32,
}

/// The pages around a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphReply {
    /// The pages, nearest first.
    pub nodes: Vec<GraphNode>,
    /// The links between `nodes`.
    pub edges: Vec<GraphEdge>,
    /// Whether there are more pages than the limit.
    pub truncated: bool,
}

/// A page in a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphNode {
    /// The page.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// Its title.
    pub title: String,
    /// Its type.
    #[serde(rename = "type")]
    pub page_type: String,
    /// The distance from the centre in links.
    pub depth: u32,
    /// The interface it came through.
    pub source_kind: Option<String>,
    /// Who wrote its title.
    pub trust: TrustLevel,
}

/// A link between two `nodes`, by their indices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphEdge {
    /// The index of the page that contains the link.
    pub from: u32,
    /// The index of the page it points to.
    pub to: u32,
    /// `mentions` or the frontmatter key.
    pub kind: String,
}

/// `brain graph --all`: lists all pages, or those around a page, with their positions in a drawing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct GraphLayout {
    /// Only this page and the pages around it; all pages if absent.
    pub page: Option<PageRef>,
    /// The maximum distance of pages from `page` in links, 1 to 5.
    pub depth: u32,
    /// Only this source; all if absent.
    pub source: Option<SourceId>,
    /// Only pages of this type.
    pub page_type: Option<String>,
    /// Only pages with this tag.
    pub tag: Option<String>,
    /// Only pages that were created on or before this day, `YYYY-MM-DD`.
    pub until: Option<String>,
    /// The maximum number of pages; all if absent.
    pub limit: Option<u32>,
    /// The number of pages before the first one of the reply.
    pub skip: u32,
}

/// Pages with their positions in a drawing, and the links between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphLayoutReply {
    /// The sources of the graph.
    pub sources: Vec<SourceId>,
    /// The types of its pages, the most frequent first.
    pub types: Vec<String>,
    /// The pages that match, those with most links first.
    pub nodes: Vec<LayoutNode>,
    /// The links between `nodes`.
    pub edges: Vec<LayoutEdge>,
    /// The number of pages that match.
    pub total: u64,
    /// Whether there are more pages around the requested page than were read.
    pub truncated: bool,
}

/// A page with its position in a drawing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutNode {
    /// The page.
    pub slug: Slug,
    /// The index of its source in `sources`.
    pub source: u32,
    /// Its title.
    pub title: String,
    /// The index of its type in `types`.
    #[serde(rename = "type")]
    pub page_type: u32,
    /// The number of its links from and to other pages of the graph.
    pub links: u32,
    /// The day it was created, in days since 1970-01-01.
    pub created_day: i32,
    /// Its distance from the left. The drawing is a square of 65536 by 65536.
    pub x: u16,
    /// Its distance from the top of that square.
    pub y: u16,
    /// Who wrote its title.
    pub trust: TrustLevel,
}

/// A link between two `nodes` of a layout, by their indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutEdge {
    /// The index of the page that contains the link.
    pub from: u32,
    /// The index of the page it points to.
    pub to: u32,
}

/// `brain links --broken`: lists links whose target is no page, or an alias of several pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenLinks {
    /// Only this source; all if absent.
    pub source: Option<SourceId>,
    /// The maximum number of links, 1 to 1000.
    pub limit: u32,
}

/// Broken links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenLinksReply {
    /// The links, ordered by source and slug of the page that contains them.
    pub links: Vec<BrokenLink>,
    /// The number of links whose target is no page.
    pub missing: u64,
    /// The number of links whose target is an alias of several pages.
    pub ambiguous: u64,
    /// Whether there are more links than the limit.
    pub truncated: bool,
}

/// A link whose target is no page, or an alias of several pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenLink {
    /// The page that contains the link.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// The target as written.
    pub target: String,
    /// `mentions` for a link in the text, else the frontmatter key.
    pub kind: String,
    /// `Missing` or `Ambiguous`.
    pub status: TargetStatus,
    /// The possible targets, at most ten.
    pub candidates: Vec<Slug>,
}

/// `brain timeline`: lists dated lines of a page, or of all pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Timeline {
    /// The source. If absent: for a page, as in [`PageRef::source`]; for all pages, all sources.
    pub source: Option<SourceId>,
    /// The page; all pages if absent.
    pub slug: Option<Slug>,
    /// The first day, `YYYY-MM-DD`.
    pub since: Option<String>,
    /// The last day, `YYYY-MM-DD`.
    pub until: Option<String>,
    /// The maximum number of entries, 1 to 1000.
    pub limit: u32,
    /// The number of entries before the first one of the reply.
    pub skip: u32,
}

/// `brain timeline --days`: counts the dated lines of each day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct TimelineDays {
    /// Only pages of this source; all visible sources if absent.
    pub source: Option<SourceId>,
    /// The first day, `YYYY-MM-DD`.
    pub since: Option<String>,
    /// The last day, `YYYY-MM-DD`.
    pub until: Option<String>,
}

/// The days of a period with dated lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineDaysReply {
    /// The days with at least one line, oldest first.
    pub days: Vec<DayCount>,
    /// The last day before the period that has a line.
    pub before: Option<String>,
    /// The first day after the period that has a line.
    pub after: Option<String>,
}

/// The number of dated lines of a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayCount {
    /// The day, `YYYY-MM-DD`.
    pub date: String,
    /// The number of lines.
    pub entries: u64,
}

/// Dated lines, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineReply {
    /// The entries.
    pub entries: Vec<TimelineRow>,
    /// Whether there are more entries than the limit.
    pub truncated: bool,
}

/// A dated line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineRow {
    /// The day, `YYYY-MM-DD`.
    pub date: String,
    /// The text of the line, without its date and source.
    pub text: String,
    /// The text of `[Source: …]`.
    pub source: Option<String>,
    /// The page of the line.
    pub slug: Slug,
    /// The source of the page.
    pub source_id: SourceId,
    /// The interface that the page came through.
    pub source_kind: Option<String>,
    /// Who wrote the line.
    pub trust: TrustLevel,
    /// The absolute path of the page's file, for callers with the scope `admin`.
    pub path: Option<String>,
}
