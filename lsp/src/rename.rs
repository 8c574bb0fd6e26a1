//! Renaming pages, headings, tags, files and folders.
//!
//! The daemon plans a rename and returns the new texts of the open documents. The client gets them as
//! an edit. When the documents have these texts, the client has accepted its half, and the daemon
//! does the other one: it changes the closed pages, and moves the file unless the client did. If the
//! client does not accept, nothing happens. A document that is closed without having been saved, for
//! example because the editor was killed, is updated by the daemon as well.

use std::path::Path;
use std::time::{Duration, Instant};

use brain_page::{renamed_anchor, retarget_anchors};
use brain_protocol::{
    Fault, FaultCode, FileMove, OpenDocument, Refactor, RefactorReply, Refactoring, SourceId,
    TargetStatus,
};
use serde_json::{Value, json};

use crate::document::Outline;
use crate::edits::{DocumentEdits, difference, workspace_edit};
use crate::navigate::{Element, distinct, written};
use crate::page_names::{bare, stem};
use crate::pending::{Done, Pending};
use crate::server::{Answer, Place, Server};

use crate::uri::{path_of, uri_of};

/// The time for the client to apply an edit, and to move files.
const MAX_WAIT: Duration = Duration::from_secs(20);

impl Server {
    pub(crate) fn prepare_rename(&mut self, place: &Place) -> Answer {
        let (_, document) = self.open_document(&place.text_document)?;
        let outline = document.outline();
        let range = match outline.element_at(document.text.byte(place.position)) {
            Some(Element::Link(link)) if !link.path().is_empty() => {
                link.target.as_ref().map(|range| range.start..range.start + link.path().len())
            }
            Some(Element::Heading(index)) => Some(outline.headings[index].name.clone()),
            Some(Element::Tag(range)) => Some(range),
            _ => None,
        };
        let Some(range) = range else { return Ok(Value::Null) };
        let name = &document.text.as_str()[range.clone()];
        let placeholder = if name.contains('/') { stem(name) } else { bare(name) };
        Ok(json!({ "range": document.text.range(range), "placeholder": placeholder }))
    }

    pub(crate) fn rename(&mut self, place: &Place, new_name: &str) -> Answer {
        let (path, document) = self.open_document(&place.text_document)?;
        let outline = document.outline();
        let new_name = new_name.trim();
        if new_name.is_empty() || new_name.contains(['\n', '\r']) {
            return Err(usage("the new name must be one line of text"));
        }
        match outline.element_at(document.text.byte(place.position)) {
            Some(Element::Link(link)) if !link.path().is_empty() => {
                let found = self.resolve_one(&path, written(&link), false)?;
                let found = found.filter(|found| found.status == TargetStatus::Live);
                let page = found.and_then(|found| match found.pages.as_slice() {
                    [page] => page.page.source.clone().map(|source| (source, page.path.clone())),
                    _ => None,
                });
                let Some((source, from)) = page else {
                    let message = format!("\"{}\" leads to no single page", link.path());
                    return Err(Fault::new(FaultCode::NotFound, message)
                        .hint("the code actions of the link create or choose one"));
                };
                let to = sibling(&from, new_name);
                self.rename_files(source, vec![FileMove { from, to }], true)
            }
            Some(Element::Heading(index)) => self.rename_heading(&path, index, new_name),
            Some(Element::Tag(range)) => {
                let from = document.text.as_str()[range].to_owned();
                let to = new_name.trim_start_matches('#').to_owned();
                let change = Refactoring::Tag { from, to };
                self.start(Done { change, heading: None }, None, Vec::new())
            }
            _ => Err(usage("there is nothing to rename here")
                .hint("place the cursor on a link, a heading or a tag")),
        }
    }

    /// Renames a heading. Links in the document follow by the client's edit, others by the daemon.
    fn rename_heading(&mut self, path: &str, index: usize, new_name: &str) -> Answer {
        let (own, change) = self.heading_change(path, index, new_name)?;
        match change {
            Some(change) => {
                let heading = Some((path.to_owned(), index));
                self.start(Done { change, heading }, Some(own), Vec::new())
            }
            None => Ok(self.edit_of(&[own], &[])),
        }
    }

    /// Renames files of a source. `by_client` adds the moves to the edit, if the client can do them.
    fn rename_files(&mut self, source: SourceId, moves: Vec<FileMove>, by_client: bool) -> Answer {
        let can_rename = self.support.edits.rename;
        let root = match moves.first() {
            Some(first) if by_client && can_rename => self.root_of(&source, &first.from)?,
            _ => None,
        };
        let absolute = |path: &str| root.as_ref().map(|root| format!("{root}/{path}"));
        let file =
            |it: &FileMove| Some(FileMove { from: absolute(&it.from)?, to: absolute(&it.to)? });
        let files: Vec<FileMove> = moves.iter().filter_map(file).collect();
        let done = Done { change: Refactoring::Files { source, moves }, heading: None };
        let edit = self.start(done, None, files.clone())?;
        // Some clients change the texts, and then fail because the folder does not exist.
        for folder in files.iter().filter_map(|it| Path::new(&it.to).parent()) {
            let _ = std::fs::create_dir_all(folder);
        }
        Ok(edit)
    }

    /// Returns the directory of a source that has the file `path`.
    fn root_of(&self, source: &SourceId, path: &str) -> Result<Option<String>, Fault> {
        let list = self.daemon.run(brain_protocol::SourceList)?;
        let row = list.sources.into_iter().find(|row| row.source_id == *source);
        let root = row.map(|row| row.path.trim_end_matches('/').to_owned());
        Ok(root.filter(|root| Path::new(root).join(path).exists()))
    }

    /// Plans a change, and returns the edit for the client. `own` is a document that the change
    /// begins with. The client moves `files`.
    fn start(&mut self, done: Done, own: Option<OpenDocument>, files: Vec<FileMove>) -> Answer {
        let plan = self.refactor(&done.change, true, Vec::new())?;
        let mut expected = plan.texts;
        expected.extend(own);
        let edit = self.edit_of(&expected, &files);
        let new_path = |path: &String| files.iter().find_map(|file| file.moved(path));
        let reopened = self.documents.keys().filter_map(new_path).collect();
        self.renames.pending.push(Pending {
            done,
            is_back: false,
            request: None,
            expected,
            files,
            reopened,
            moved_at: None,
            deadline: Instant::now() + MAX_WAIT,
        });
        Ok(edit)
    }

    pub(crate) fn refactor(
        &self,
        change: &Refactoring,
        is_plan: bool,
        only: Vec<String>,
    ) -> Result<RefactorReply, Fault> {
        let open = self.open_texts();
        self.daemon.run(Refactor { change: change.clone(), open, is_plan, only })
    }

    fn edit_of(&self, expected: &[OpenDocument], files: &[FileMove]) -> Value {
        let documents = expected.iter().filter_map(|new| {
            let document = self.documents.get(&new.file)?;
            let edits = difference(&document.text, &new.text);
            Some(DocumentEdits { uri: document.uri.clone(), version: document.version, edits })
        });
        let files: Vec<_> = files.iter().map(|it| (self.uri(&it.from), uri_of(&it.to))).collect();
        workspace_edit(self.support.edits, documents.collect(), &files)
    }

    /// Returns the new text of a document whose heading gets another text, with the links in it, and
    /// the change for the daemon if the document is a page.
    fn heading_change(
        &self,
        path: &str,
        index: usize,
        new_name: &str,
    ) -> Result<(OpenDocument, Option<Refactoring>), Fault> {
        let Some(document) = self.documents.get(path) else {
            return Err(usage("the page with the heading is not open in the editor"));
        };
        let outline = document.outline();
        let Some(heading) = outline.headings.get(index) else {
            return Err(usage("the heading is gone"));
        };
        let links = distinct(&outline);
        let reply = self.resolve(path, links.clone(), false)?;
        let is_own = |found: &brain_protocol::ResolvedLink| {
            found.pages.first().map(|page| &page.page) == reply.page.as_ref()
        };
        let own_links: Vec<_> = links
            .into_iter()
            .zip(&reply.links)
            .filter(|(_, it)| is_own(it))
            .map(|it| it.0)
            .collect();
        let mut text = document.text.as_str().to_owned();
        // `#` alone needs a space before the text.
        let is_bare = heading.name.is_empty() && text[..heading.name.start].ends_with('#');
        let new_name = if is_bare { format!(" {new_name}") } else { new_name.to_owned() };
        text.replace_range(heading.name.clone(), &new_name);
        let (before, after) = (outline.heading_texts(), Outline::of(&text).heading_texts());
        if before.len() != after.len() {
            return Err(usage("this text would not be one heading"));
        }
        let (head, body) = text.split_at(outline.body.min(text.len()));
        let (body, _) = retarget_anchors(body, |span, anchor| {
            let is_here = span.path().is_empty() || own_links.contains(&written(span));
            is_here.then(|| renamed_anchor(&before, &after, anchor, span.is_wiki)).flatten()
        });
        let page = reply.page.filter(|_| reply.is_stored);
        let change = page.map(|page| Refactoring::Headings { page, before, after });
        Ok((OpenDocument { file: path.to_owned(), text: format!("{head}{body}") }, change))
    }

    pub(crate) fn will_rename_files(&mut self, params: &Value) -> Answer {
        let files = params.get("files").and_then(Value::as_array).cloned().unwrap_or_default();
        let path = |file: &Value, key: &str| path_of(file.get(key)?.as_str()?);
        let files: Vec<FileMove> = files
            .iter()
            .filter_map(|it| Some(FileMove { from: path(it, "oldUri")?, to: path(it, "newUri")? }))
            .collect();
        let is_own = |file| self.renames.pending.iter().any(|it| it.files.contains(file));
        if files.is_empty() || files.iter().all(is_own) {
            return Ok(Value::Null);
        }
        let Some((source, moves)) = self.moves(&files)? else { return Ok(Value::Null) };
        let done = Done { change: Refactoring::Files { source, moves }, heading: None };
        self.start(done, None, files)?;
        // The client moves the files itself.
        let pending = self.renames.pending.last();
        Ok(pending.map_or(Value::Null, |pending| self.edit_of(&pending.expected, &[])))
    }

    /// Returns the moves of files within one source.
    fn moves(&self, files: &[FileMove]) -> Result<Option<(SourceId, Vec<FileMove>)>, Fault> {
        let mut found: Option<(SourceId, Vec<FileMove>)> = None;
        for FileMove { from, to } in files {
            let (Some((source, from)), Some((to_source, to))) =
                (self.place_in_source(from)?, self.place_in_source(to)?)
            else {
                continue;
            };
            let (first, moves) = found.get_or_insert_with(|| (source.clone(), Vec::new()));
            if *first == source && source == to_source {
                moves.push(FileMove { from, to });
            }
        }
        Ok(found.filter(|(_, moves)| !moves.is_empty()))
    }

    /// Returns the source of a file or directory, and the path in it.
    fn place_in_source(&self, path: &str) -> Result<Option<(SourceId, String)>, Fault> {
        let path = path.trim_end_matches('/');
        // Only files of markdown have a place; a directory has that of a file in it.
        let is_file = bare(path) != path;
        let inner = if is_file { path.to_owned() } else { format!("{path}/x.md") };
        let own = self.own_place(&inner)?;
        let found = if is_file { own.path.as_str() } else { own.path.trim_end_matches("x.md") };
        let found = found.trim_end_matches('/').to_owned();
        Ok(own.source.map(|source| (source, found)).filter(|(_, path)| !path.is_empty()))
    }

    /// Renames a file or directory by a command. `to` is a path, a URI, or a new name.
    pub(crate) fn rename_path(&mut self, from: &str, to: &str) -> Answer {
        let plain = |text: &str| path_of(text).unwrap_or_else(|| text.to_owned());
        let (from, to) = (plain(from), plain(to));
        let Some((source, from)) = self.place_in_source(&from)? else {
            return Err(usage(&format!("{from} is in no source")));
        };
        let to = match to.starts_with('/') {
            true => match self.place_in_source(&to)? {
                Some((of, to)) if of == source => to,
                _ => return Err(usage(&format!("{to} is not in the source \"{source}\""))),
            },
            false => sibling(&from, &to),
        };
        let edit = self.rename_files(source, vec![FileMove { from, to }], true)?;
        self.apply(&edit);
        Ok(Value::Null)
    }

    /// Turns the last rename back, in documents, closed pages and names of files.
    pub(crate) fn rename_back(&mut self) -> Answer {
        let Some(done) = self.renames.done.last().cloned() else {
            return Err(usage("nothing was renamed in this session"));
        };
        if self.renames.pending.iter().any(|pending| pending.is_back) {
            return Err(usage("the editor has not applied the last change yet"));
        }
        let waiting = self.renames.pending.len();
        let edit = self.edit_back(done);
        match self.renames.pending.get_mut(waiting) {
            Some(pending) => pending.is_back = true,
            // It cannot be turned back any more, or no page needs a change.
            None => _ = self.renames.done.pop(),
        }
        self.apply(&edit?);
        Ok(Value::Null)
    }

    /// Plans to turn a rename back.
    fn edit_back(&mut self, Done { change, heading }: Done) -> Answer {
        match change {
            Refactoring::Files { source, moves } => {
                let back = moves.into_iter().map(|it| FileMove { from: it.to, to: it.from });
                self.rename_files(source, back.rev().collect(), true)
            }
            Refactoring::Tag { from, to } => {
                let change = Refactoring::Tag { from: to, to: from };
                self.start(Done { change, heading: None }, None, Vec::new())
            }
            Refactoring::Headings { before, .. } => {
                let Some((path, index)) = heading else { return Ok(Value::Null) };
                let name = before.get(index).cloned().unwrap_or_default();
                self.rename_heading(&path, index, &name)
            }
        }
    }

    /// Asks the client to apply an edit, unless it is empty.
    fn apply(&mut self, edit: &Value) {
        let is_empty = |value: &Value| match value {
            Value::Array(list) => list.is_empty(),
            Value::Object(map) => map.is_empty(),
            _ => true,
        };
        if edit.as_object().is_some_and(|edit| edit.values().any(|value| !is_empty(value))) {
            let params = json!({ "label": "rename", "edit": edit });
            let request = self.request("workspace/applyEdit", params);
            if let Some(pending) = self.renames.pending.last_mut() {
                pending.request = Some(request);
            }
        }
    }
}

/// Returns the new path of a file: `name` beside it, or a path from the root of the source.
fn sibling(from: &str, name: &str) -> String {
    let extension = &from[bare(from).len()..];
    let name = name.trim_start_matches('/');
    let name = if extension.is_empty() { name } else { bare(name) };
    match from.rsplit_once('/') {
        Some((folder, _)) if !name.contains('/') => format!("{folder}/{name}{extension}"),
        _ => format!("{name}{extension}"),
    }
}

fn usage(message: &str) -> Fault {
    Fault::new(FaultCode::Usage, message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_name_stays_in_the_folder_unless_it_is_a_path() {
        assert_eq!(sibling("a/old.md", "new"), "a/new.md");
        assert_eq!(sibling("a/old.markdown", "new.md"), "a/new.markdown");
        assert_eq!(sibling("a/old.md", "b/new"), "b/new.md");
        assert_eq!(sibling("work", "jobs/2026"), "jobs/2026");
    }
}
