//! Wire types of the daily note, random pages, pages without links, and tasks.

use serde::{Deserialize, Serialize};

use crate::{Slug, SourceId};

/// `brain today`: creates the daily note of a day, unless it exists. The reply is a
/// [`crate::WriteReply`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Today {
    /// The day in the user's time zone, `YYYY-MM-DD`.
    pub day: String,
    /// The source; the default one if absent.
    pub source: Option<SourceId>,
}

/// `brain random`: reads a random page; all pages that match are equally likely. The reply is a
/// [`crate::Page`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Random {
    /// Only this source; all if absent.
    pub source: Option<SourceId>,
    /// Only pages of this type.
    pub page_type: Option<String>,
    /// Only pages with this tag.
    pub tag: Option<String>,
}

/// `brain orphans`: lists pages without links to or from another page, ordered by source and slug.
/// The reply is [`crate::Pages`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Orphans {
    /// Only this source; all if absent.
    pub source: Option<SourceId>,
    /// The maximum number of pages, 1 to 1000.
    pub limit: u32,
    /// The number of pages before the first one of the reply.
    pub skip: u32,
}

/// `brain todos`: lists the tasks of pages, those of the last changed page first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Todos {
    /// Only this source; all if absent.
    pub source: Option<SourceId>,
    /// Only pages whose slugs have this prefix.
    pub prefix: Option<String>,
    /// Done tasks instead of open ones.
    pub done: bool,
    /// The maximum number of tasks, 1 to 1000.
    pub limit: u32,
    /// The number of tasks before the first one of the reply.
    pub skip: u32,
}

/// Tasks of pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TodosReply {
    /// The tasks.
    pub todos: Vec<TodoRow>,
    /// Whether there are more.
    pub truncated: bool,
}

/// A task: a line `- [ ]` or `- [x]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TodoRow {
    /// The page of the task.
    pub slug: Slug,
    /// The source of the page.
    pub source_id: SourceId,
    /// The line in the page's file, from 1. If `path` is absent, the line in the output of
    /// `brain get`.
    pub line: u32,
    /// The text after `[ ]` or `[x]`, on one line.
    pub text: String,
    /// Whether the task is done.
    pub done: bool,
    /// The interface through which the page was written.
    pub source_kind: Option<String>,
    /// The absolute path of the page's file, for callers with the scope `admin`.
    pub path: Option<String>,
}
