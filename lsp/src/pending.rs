//! Renames that wait for the client, and those that are done.

use std::path::Path;
use std::time::{Duration, Instant};

use brain_page::normalize_name;
use brain_protocol::{OpenDocument, Refactoring};

use crate::document::Documents;
use crate::page_names::{bare, stem};

/// The time for the client to open a moved document again. Then a sync may find the moved file.
const MAX_REOPEN: Duration = Duration::from_millis(80);

/// A rename that the client has to accept.
pub(crate) struct Pending {
    pub(crate) done: Done,
    /// The documents that the client has to change, with their new texts.
    pub(crate) expected: Vec<OpenDocument>,
    /// The documents of the whole change.
    pub(crate) documents: Vec<String>,
    /// The files that the client moves, as absolute paths.
    pub(crate) files: Vec<(String, String)>,
    /// The new paths of documents that are open while their files move.
    pub(crate) reopened: Vec<String>,
    /// When all files were found at their new paths.
    pub(crate) moved_at: Option<Instant>,
    pub(crate) deadline: Instant,
}

impl Pending {
    /// Returns whether the client has moved its files, and opened them again.
    pub(crate) fn has_moved(&mut self, documents: &Documents) -> bool {
        let is_moved =
            |(from, to): &(String, String)| !Path::new(from).exists() && Path::new(to).exists();
        if !self.files.iter().all(is_moved) {
            return false;
        }
        let moved_at = *self.moved_at.get_or_insert_with(Instant::now);
        self.reopened.iter().all(|path| documents.get(path).is_some())
            || moved_at.elapsed() > MAX_REOPEN
    }
}

/// A rename, with what is needed to turn it back.
#[derive(Clone)]
pub(crate) struct Done {
    pub(crate) change: Refactoring,
    /// The document and the index of a renamed heading.
    pub(crate) heading: Option<(String, usize)>,
}

/// The renames of a session.
#[derive(Default)]
pub(crate) struct Renames {
    pub(crate) pending: Vec<Pending>,
    pub(crate) done: Vec<Done>,
    /// Documents that the client has changed and not saved, with the change.
    pub(crate) unsaved: Vec<(String, Refactoring)>,
}

impl Renames {
    pub(crate) fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(crate) fn saved(&mut self, path: &str) {
        self.unsaved.retain(|(unsaved, _)| unsaved != path);
    }

    /// Returns the present name of a page that was renamed in this session, as a link with the
    /// former name writes it.
    pub(crate) fn new_name(&self, link: &str) -> Option<String> {
        let moves = self.done.iter().rev().filter_map(|done| match &done.change {
            Refactoring::Files { moves, .. } => Some(moves),
            _ => None,
        });
        let name = normalize_name(stem(link));
        let found = moves.flatten().find(|it| normalize_name(stem(&it.from)) == name)?;
        let is_path = link.contains('/');
        let has_extension = bare(link) != link;
        Some(match (is_path, has_extension) {
            (true, true) => found.to.clone(),
            (true, false) => bare(&found.to).to_owned(),
            (false, true) => found.to.rsplit('/').next().unwrap_or_default().to_owned(),
            (false, false) => stem(&found.to).to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brain_protocol::{FileMove, SourceId};

    #[test]
    fn a_former_name_is_known_in_the_form_of_the_link() {
        let moves = vec![FileMove { from: "a/Old.md".into(), to: "a/New name.md".into() }];
        let change = Refactoring::Files { source: SourceId::default(), moves };
        let renames = Renames { done: vec![Done { change, heading: None }], ..Renames::default() };
        let new = |link: &str| renames.new_name(link);
        assert_eq!(new("old").as_deref(), Some("New name"));
        assert_eq!(new("a/old").as_deref(), Some("a/New name"));
        assert_eq!(new("old.md").as_deref(), Some("New name.md"));
        assert_eq!(new("other"), None);
    }
}
