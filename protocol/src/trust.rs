//! Wire types of trust: who wrote a page, and which of its lines.

use serde::{Deserialize, Serialize};

use crate::PageRef;

/// Who wrote a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum TrustLevel {
    /// The owner.
    #[default]
    Owner,
    /// The owner, except some lines from outside.
    Mixed,
    /// The web, a message, a program or a model.
    Outside,
}

/// Lines of a page that somebody other than its author wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MarkedLines {
    /// The first line, counted from 1 in the whole page as in its file.
    pub first: u32,
    /// The last line.
    pub last: u32,
    /// The interface that the lines came through.
    pub source_kind: String,
    /// The client or address that the lines came from.
    pub source_uri: String,
    /// When the lines were written.
    pub written_at: String,
}

/// `brain trust`: makes all lines of a page the owner's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    /// The page.
    pub page: PageRef,
}

impl From<PageRef> for Trust {
    fn from(page: PageRef) -> Self {
        Self { page }
    }
}
