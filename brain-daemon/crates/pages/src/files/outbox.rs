//! The state of file writes, and why a file was not written.

use brain_protocol::Hint;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use brain_files::Tree;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::overwritten_edits::PreservedEdit;

/// Number of locks. Pages whose ids have the same remainder share one.
pub(super) const STRIPES: usize = 64;

/// The state of file writes. It has locks by page, so that two changes of one page cannot write its
/// file in the wrong order.
pub struct Outbox {
    pub(super) stripes: [Mutex<()>; STRIPES],
    /// The last failure of each page whose file could not be written.
    pub(super) failing: Mutex<HashMap<u64, FileFailure>>,
    /// Pages whose file was not checked yet after an unclean end.
    pub(crate) recovering: Mutex<HashSet<u64>>,
    /// Overwritten edits of other programs that became versions.
    pub(crate) preserved_edits: Mutex<Vec<PreservedEdit>>,
    /// Pages that other machines changed. Their files are not written yet.
    pub(super) remote_changes: Mutex<Vec<u64>>,
    pub(super) remote_changes_added: Notify,
    /// The default source's directory.
    pub default_tree: Arc<Tree>,
    /// The directories of the other sources, as of their last use.
    pub(super) trees: Mutex<HashMap<String, Arc<Tree>>>,
}

/// The reason why the file of a page was not written.
#[derive(Debug, Clone)]
pub(super) struct FileFailure {
    pub(super) message: String,
    /// What the owner can do about it.
    pub(super) hint: Option<Hint>,
    /// Whether another program wrote the file at the page's path.
    pub(super) is_foreign: bool,
}

impl Outbox {
    /// Creates the state for a brain with this directory of its default source.
    pub fn new(pages: Tree) -> Self {
        Self {
            stripes: std::array::from_fn(|_| Mutex::new(())),
            failing: Mutex::default(),
            recovering: Mutex::default(),
            preserved_edits: Mutex::default(),
            remote_changes: Mutex::default(),
            remote_changes_added: Notify::new(),
            default_tree: Arc::new(pages),
            trees: Mutex::default(),
        }
    }
}

impl FileFailure {
    /// Returns the message with the hint.
    pub(super) fn text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}; {hint}", self.message),
            None => self.message.clone(),
        }
    }
}
