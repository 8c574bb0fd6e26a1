//! Wire types of the web interface's sign-in.

use serde::{Deserialize, Serialize};

use crate::{PageRef, Secret};

/// `brain open`: lets a browser on this machine sign in, or signs all browsers out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct BrowserOpen {
    /// The page to show; the search page if absent.
    pub page: Option<PageRef>,
    /// Whether to end all sessions of browsers instead.
    pub sign_out: bool,
}

/// The result of `open`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrowserOpenReply {
    /// The address that signs a browser in, once; `None` after a sign-out.
    pub url: Option<Secret>,
    /// How long the address is valid, in seconds; 0 after a sign-out.
    pub valid_seconds: u32,
    /// The number of ended sessions.
    pub signed_out: u32,
}
