//! Wire types of the language server: what an editor asks about a document that is open in it.

use serde::{Deserialize, Serialize};

use crate::{PageRef, SourceId, TargetStatus};

/// Finds the pages to which links of a document lead. The document need not be stored as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolve {
    /// The absolute path of the document.
    pub file: String,
    /// Its links.
    pub links: Vec<WrittenLink>,
    /// Whether to add similar pages to links whose target is no page. That can take long.
    pub suggest: bool,
}

/// A link as its author wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WrittenLink {
    /// The target with its anchor.
    pub target: String,
    /// Whether it is written as `[[target]]`.
    pub is_wiki: bool,
}

/// The place of a document, and the targets of its links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolveReply {
    /// The document's page, also before it is stored. Absent if the file is in no source.
    pub page: Option<PageRef>,
    /// The absolute path of the source's directory.
    pub root: Option<String>,
    /// Whether the page is stored.
    pub is_stored: bool,
    /// The targets, in the order of the request.
    pub links: Vec<ResolvedLink>,
}

/// The target of a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedLink {
    /// Whether the target is a page. A file that is no page, such as a picture, is `Live`, too.
    pub status: TargetStatus,
    /// The page. For an ambiguous link the possible pages, for a missing one the page that had the
    /// name before, or else the similar pages.
    pub pages: Vec<EditorPage>,
    /// Whether the target is the former name of the one page. The status is `Missing`, too.
    pub is_former: bool,
}

/// A page as an editor shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditorPage {
    /// The page.
    pub page: PageRef,
    /// Its title.
    pub title: String,
    /// The path of its file from the root of its source.
    pub path: String,
    /// The absolute path of that file, for callers with the scope `admin`. [`PageNames`] leaves it
    /// out.
    pub file: Option<String>,
    /// Whether `[[name]]`, with the name of the file, leads to this page and no other.
    pub is_unique: bool,
    /// The alias that was asked for.
    pub alias: Option<String>,
}

/// Finds the pages whose names the user of an editor may be typing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageNames {
    /// The absolute path of the document. Pages of its source come first.
    pub file: String,
    /// The text so far.
    pub text: String,
    /// The maximum number of pages, 1 to [`crate::MAX_HITS`].
    pub limit: u32,
}

/// Pages with similar names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageNamesReply {
    /// The pages, best first.
    pub pages: Vec<EditorPage>,
    /// The source of the document.
    pub source: Option<SourceId>,
    /// The path of the document from the root of its source.
    pub path: Option<String>,
}

/// Waits until pages change. An answer without a change comes after 20 seconds at most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditorChanges {
    /// The number of changes that the caller knows of.
    pub seen: u64,
}

/// Pages changed, or not yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditorChangesReply {
    /// The number of changes since the start of the daemon.
    pub number: u64,
}

/// Renames something, and updates everything that names it, in one transaction. Documents that are
/// open in an editor are not written: the editor changes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refactor {
    /// The change.
    pub change: Refactoring,
    /// The documents that are open in the editor.
    pub open: Vec<OpenDocument>,
    /// Only returns the new texts of the open documents, and checks whether the change is possible.
    pub is_plan: bool,
    /// Only updates what these documents say, of a change that was made before; everything if empty.
    pub only: Vec<String>,
}

/// What to rename.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refactoring {
    /// Files or directories of a source, with the pages in them. Files that the editor has moved
    /// already stay where they are.
    Files {
        /// The source.
        source: SourceId,
        /// The moves.
        moves: Vec<FileMove>,
    },
    /// Headings of a page: links to them follow. The page itself is not changed.
    Headings {
        /// The page.
        page: PageRef,
        /// Its headings before the change.
        before: Vec<String>,
        /// Its headings after the change: equally many.
        after: Vec<String>,
    },
    /// A tag with those below it, in all pages.
    Tag {
        /// The tag, without `#`.
        from: String,
        /// The new tag, without `#`.
        to: String,
    },
}

/// The move of a file or directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMove {
    /// The path from the root of the source.
    pub from: String,
    /// The new path.
    pub to: String,
}

impl FileMove {
    /// Returns the new path of a file, if the move has it or its directory.
    #[must_use]
    pub fn moved(&self, path: &str) -> Option<String> {
        let rest = path.strip_prefix(self.from.as_str())?;
        (rest.is_empty() || rest.starts_with('/')).then(|| format!("{}{rest}", self.to))
    }
}

/// A document that is open in an editor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenDocument {
    /// Its absolute path.
    pub file: String,
    /// Its text, saved or not.
    pub text: String,
}

/// The result of a refactoring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefactorReply {
    /// The open documents that the editor has to change, with their new texts.
    pub texts: Vec<OpenDocument>,
    /// The pages that the daemon wrote, or would write.
    pub pages: Vec<PageRef>,
    /// What could not be updated: the page, and the link as written.
    pub left: Vec<String>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}
