//! The daemon's half of a rename, after the client has accepted its own.

use std::time::Instant;

use brain_protocol::{Fault, FaultCode};

use crate::pending::Pending;
use crate::server::{Server, text_of};

impl Server {
    /// Does the daemon's half of the renames that the client has accepted.
    pub(crate) fn continue_renames(&mut self) {
        for mut pending in std::mem::take(&mut self.renames.pending) {
            if pending.expected.is_empty() && pending.has_moved(&self.documents) {
                let waiting = self.commit(pending);
                self.renames.pending.extend(waiting);
            } else {
                self.renames.pending.push(pending);
            }
        }
        self.refuse_renames(|pending| Instant::now() > pending.deadline);
    }

    /// Gives renames up that the client does not accept.
    pub(crate) fn refuse_renames(&mut self, is_refused: impl Fn(&Pending) -> bool) {
        let count = self.renames.pending.len();
        self.renames.pending.retain(|pending| !is_refused(pending));
        if self.renames.pending.len() < count {
            self.show(2, "nothing was renamed: the editor did not apply the change");
        }
    }

    /// Lets the daemon do its half. Returns the rename if the daemon cannot be reached: doing it
    /// twice is the same as once.
    fn commit(&mut self, pending: Pending) -> Option<Pending> {
        let reply = self.refactor(&pending.done.change, false, Vec::new());
        let is_lost = |fault: &Fault| fault.code == FaultCode::Unreachable;
        if reply.as_ref().is_err_and(is_lost) && Instant::now() < pending.deadline {
            return Some(pending);
        }
        let open: Vec<String> = self.documents.keys().cloned().collect();
        self.stale.extend(open.iter().cloned());
        match reply {
            Ok(reply) => {
                self.renames.finished(pending, open);
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
        None
    }

    /// Lets the daemon update a document that was closed without having been saved. If it was to be
    /// changed for a rename, the client has refused that.
    pub(crate) fn closed(&mut self, path: &str) {
        if self.renames.pending.iter().any(|pending| pending.moved(path).is_some()) {
            return;
        }
        self.refuse_renames(|pending| pending.expected.iter().any(|new| new.file == path));
        self.update_unsaved(|unsaved| unsaved == path);
    }

    /// Lets the daemon update documents that are closed and were not saved.
    fn update_unsaved(&mut self, is_closed: impl Fn(&str) -> bool) {
        let unsaved = std::mem::take(&mut self.renames.unsaved);
        let (mut closed, unsaved): (Vec<_>, _) =
            unsaved.into_iter().partition(|it| is_closed(&it.0));
        self.renames.unsaved = unsaved;
        while let Some((_, change)) = closed.first().cloned() {
            let (same, others): (Vec<_>, _) = closed.into_iter().partition(|it| it.1 == change);
            closed = others;
            let paths = same.into_iter().map(|it| it.0).collect();
            if let Err(fault) = self.refactor(&change, false, paths) {
                self.show(1, &text_of(&fault));
            }
        }
    }

    /// Finishes when the editor is gone: updates what it did not save.
    pub(crate) fn finish_renames(&mut self) {
        self.documents.clear();
        // Without open documents, a rename counts as accepted if its files were moved.
        self.renames.pending.retain(|pending| !pending.files.is_empty());
        for pending in &mut self.renames.pending {
            pending.expected.clear();
            pending.reopened.clear();
        }
        self.continue_renames();
        self.update_unsaved(|_| true);
    }
}
