//! The daemon's half of a rename, after the client has accepted its own.

use std::time::Instant;

use brain_protocol::{Fault, FaultCode};

use crate::pending::Pending;
use crate::server::{Server, text_of};

/// Maximum number of renames that can be turned back, and whose names are known.
const MAX_DONE: usize = 50;

impl Server {
    /// Does the daemon's half of the renames that the client has accepted.
    pub(crate) fn continue_renames(&mut self) {
        let mut waiting = Vec::new();
        for mut pending in std::mem::take(&mut self.renames.pending) {
            let has_moved = pending.has_moved(&self.documents);
            pending.expected.retain(|new| match self.documents.get(&new.file) {
                Some(document) => document.text.as_str() != new.text,
                None => false,
            });
            if has_moved && pending.expected.is_empty() {
                waiting.extend(self.commit(pending));
            } else if Instant::now() < pending.deadline {
                waiting.push(pending);
            } else {
                self.show(2, "nothing was renamed: the editor did not apply the change");
            }
        }
        self.renames.pending.extend(waiting);
    }

    /// Lets the daemon do its half. Returns the rename if the daemon cannot be reached: doing it
    /// twice is the same as once.
    fn commit(&mut self, pending: Pending) -> Option<Pending> {
        let reply = self.refactor(&pending.done.change, false, Vec::new());
        let is_lost = |fault: &Fault| fault.code == FaultCode::Unreachable;
        if reply.as_ref().is_err_and(is_lost) && Instant::now() < pending.deadline {
            return Some(pending);
        }
        let Pending { done, documents, files, .. } = pending;
        match reply {
            Ok(reply) => {
                let moved = |path: String| {
                    let found = files.iter().find(|(from, _)| *from == path);
                    found.map_or(path, |(_, to)| to.clone())
                };
                let unsaved = documents.into_iter().map(|path| (moved(path), done.change.clone()));
                self.renames.unsaved.extend(unsaved);
                self.renames.done.push(done);
                let excess = self.renames.done.len().saturating_sub(MAX_DONE);
                self.renames.done.drain(..excess);
                if let Some(first) = reply.left.first() {
                    let count = reply.left.len();
                    self.show(2, &format!("{count} links could not be updated, first: {first}"));
                }
                for warning in reply.warnings.iter().take(1) {
                    self.show(2, warning);
                }
            }
            Err(fault) => self.show(1, &format!("not renamed everywhere: {}", text_of(&fault))),
        }
        let open: Vec<String> = self.documents.iter().map(|(path, _)| path.clone()).collect();
        self.stale.extend(open);
        None
    }

    /// Lets the daemon update a document that was closed without having been saved.
    pub(crate) fn closed(&mut self, path: &str) {
        let unsaved = std::mem::take(&mut self.renames.unsaved);
        let (closed, unsaved): (Vec<_>, _) = unsaved.into_iter().partition(|it| it.0 == path);
        self.renames.unsaved = unsaved;
        for (path, change) in closed {
            if let Err(fault) = self.refactor(&change, false, vec![path]) {
                self.show(1, &text_of(&fault));
            }
        }
    }

    /// Finishes when the editor is gone: updates what it did not save.
    pub(crate) fn finish_renames(&mut self) {
        let open: Vec<String> = self.documents.iter().map(|(path, _)| path.clone()).collect();
        for path in open {
            self.documents.close(&path);
        }
        // Without open documents, a rename counts as accepted if its files were moved.
        self.renames.pending.retain(|pending| !pending.files.is_empty());
        self.continue_renames();
        for (path, change) in std::mem::take(&mut self.renames.unsaved) {
            let _ = self.refactor(&change, false, vec![path]);
        }
    }
}
