//! Reasons for the report, each once.

use std::collections::HashSet;

/// Maximum number of reasons for one note.
const MAX_REASONS: usize = 500;

/// What of a note was lost.
#[derive(Debug, Default)]
pub(super) struct Reasons {
    list: Vec<String>,
    seen: HashSet<String>,
    /// Number of reasons beyond the limit.
    more: usize,
}

impl Reasons {
    pub(super) fn push(&mut self, reason: String) {
        if self.list.len() >= MAX_REASONS {
            self.more += 1;
        } else if self.seen.insert(reason.clone()) {
            self.list.push(reason);
        }
    }

    /// Adds that a reference has an unknown name.
    pub(super) fn push_name(&mut self, name: &str) {
        self.push(format!("the name &{name}; is unknown and stays as it is"));
    }

    /// Returns all reasons; the last one counts those beyond the limit.
    pub(super) fn all(&self) -> Vec<String> {
        let mut all = self.list.clone();
        if self.more > 0 {
            all.push(format!("{} more reasons like these", self.more));
        }
        all
    }
}
