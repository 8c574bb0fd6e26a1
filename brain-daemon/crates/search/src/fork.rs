//! Forks: indexes that begin with the pages of another one and go their own way in memory.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use super::{
    Index,
    index_state::{IndexState, SharedIndex},
    overlay::Slot,
    view::View,
    visible_pages::VisibleDocsCache,
};

/// How often a push may come in between.
const MAX_ATTEMPTS: usize = 8;

impl Index {
    /// Returns an index with the pages that this one has now, and the sequence number of the last
    /// change among them. It shares the segments on disk, keeps its own changes in memory and
    /// writes nothing. Its sequence numbers begin anew. `None` if this index is not complete.
    #[must_use]
    pub fn fork(&self) -> Option<(Self, u64)> {
        for _ in 0..MAX_ATTEMPTS {
            self.analyze_pending();
            let view = self.shared.view();
            let state = self.shared.state();
            if state.problem.is_some() || state.lasting_problem.is_some() {
                return None;
            }
            if state.pending.is_empty() && Arc::ptr_eq(&view, &state.view) {
                let seq = state.pushed;
                drop(state);
                return Some((self.with_pages_of(&view), seq));
            }
        }
        None
    }

    fn with_pages_of(&self, view: &View) -> Self {
        let entries = view.overlay.iter();
        // Every change of the fork is newer.
        let overlay =
            entries.map(|(id, slot)| (*id, Slot { seq: 0, entry: slot.entry.clone() })).collect();
        let view =
            View { searcher: view.searcher.clone(), overlay, languages: view.languages.clone() };
        // No thread takes its changes, so nobody must wait for one.
        let state = IndexState { has_ended: true, ..IndexState::new(view, 0) };
        let shared = SharedIndex {
            state: Mutex::new(state),
            wake: Condvar::new(),
            done: Condvar::new(),
            analyzers: Mutex::default(),
            visible_docs: VisibleDocsCache::default(),
            fields: self.shared.fields,
            options: self.shared.options.clone(),
            default_language: self.shared.default_language(),
            dir: self.shared.dir.clone(),
        };
        Self { shared: Arc::new(shared), thread: None }
    }
}
