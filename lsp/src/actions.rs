//! Code actions: create a missing page, take a similar one, make a link exact, link a mention.

use brain_page::LinkSpan;
use brain_protocol::{EditorPage, Fault, ResolvedLink, TargetStatus, WrittenLink};
use gen_lsp_types::TextEdit;
use serde_json::{Value, json};

use crate::document::Document;
use crate::edits::{DocumentEdits, workspace_edit};
use crate::navigate::written;
use crate::page_links::{
    OwnPlace, in_form_of, label_bar, markdown_target, wiki_inner, wiki_target,
};
use crate::page_names::bare;
use crate::server::{Answer, OfDocument, Server};

/// Maximum number of words of an unlinked mention.
const MAX_WORDS: usize = 5;

impl Server {
    pub(crate) fn code_actions(&mut self, of: &OfDocument) -> Answer {
        let (path, document) = self.open_document(&of.text_document)?;
        let Some(range) = of.range.map(|range| document.text.bytes(range)) else {
            return Ok(json!([]));
        };
        let outline = document.outline();
        let actions = match outline.link_at(range.start) {
            Some(link) if !link.path().is_empty() => {
                let Some(found) = self.resolve_one(&path, written(link), true)? else {
                    return Ok(json!([]));
                };
                self.link_actions(&path, document, link, &found)?
            }
            Some(_) => Vec::new(),
            None if outline.body <= range.start => self.mention_actions(&path, document, &range)?,
            None => Vec::new(),
        };
        Ok(Value::Array(actions))
    }

    /// Returns the actions for a link that leads nowhere, or to several pages.
    fn link_actions(
        &self,
        path: &str,
        document: &Document,
        link: &LinkSpan,
        found: &ResolvedLink,
    ) -> Result<Vec<Value>, Fault> {
        let Some(target) = link.target.clone() else { return Ok(Vec::new()) };
        let target = target.start..target.start + link.path().len();
        let replace = |title: String, new: String, is_preferred: bool| {
            let edit = self.edit(path, document, target.clone(), new);
            json!({
                "title": title, "kind": "quickfix", "isPreferred": is_preferred, "edit": edit,
            })
        };
        let own = self.own_place(path)?;
        let exact = |page: &EditorPage| match link.is_wiki {
            true => match page.page.source == own.source {
                true => bare(&page.path).to_owned(),
                false => wiki_target(&own, page),
            },
            false => markdown_target(&own, &page.path),
        };
        let mut actions = Vec::new();
        if found.status == TargetStatus::Missing {
            let is_former = |_: &&EditorPage| found.is_former;
            if let Some(page) = found.pages.first().filter(is_former) {
                let new = in_form_of(link, &own, page);
                actions.push(replace(format!("Replace by the new name \"{new}\""), new, true));
            }
            let arguments =
                json!([{ "uri": document.uri, "target": link.raw, "isWiki": link.is_wiki }]);
            let title = format!("Create the page \"{}\"", link.path());
            actions.push(json!({
                "title": title, "kind": "quickfix",
                "command": {
                    "title": title, "command": "brain.createPage", "arguments": arguments,
                },
            }));
            let similar = found.pages.iter().filter(|_| !found.is_former).take(3);
            actions.extend(similar.map(|page| {
                let new = if link.is_wiki { wiki_target(&own, page) } else { exact(page) };
                replace(format!("Did you mean \"{}\"?", page.title), new, false)
            }));
        }
        if found.status == TargetStatus::Ambiguous {
            let pages = found.pages.iter();
            actions.extend(
                pages.map(|page| replace(format!("Link to {}", page.path), exact(page), false)),
            );
        }
        Ok(actions)
    }

    /// Returns actions that turn the selected words, or the words at the cursor, into a link.
    fn mention_actions(
        &self,
        path: &str,
        document: &Document,
        range: &std::ops::Range<usize>,
    ) -> Result<Vec<Value>, Fault> {
        let text = document.text.as_str();
        let places = match range.is_empty() {
            true => words_around(text, &document.text.line_at(range.start).1, range.start),
            false => vec![range.clone()],
        };
        let places: Vec<_> = places
            .into_iter()
            .filter(|place| !text[place.clone()].contains(['\n', '[', ']', '|', '#']))
            .collect();
        let link = |place: &std::ops::Range<usize>| WrittenLink {
            target: text[place.clone()].to_owned(),
            is_wiki: true,
        };
        let reply = self.resolve(path, places.iter().map(link).collect(), false)?;
        let own_page = reply.page;
        let own = self.own_place(path)?;
        let mentions = places.into_iter().zip(reply.links).filter_map(|(place, found)| {
            let page =
                found.pages.into_iter().next().filter(|_| found.status == TargetStatus::Live);
            let page = page.filter(|page| Some(&page.page) != own_page.as_ref())?;
            let words = &text[place.clone()];
            let bar = label_bar(&document.text, place.start);
            let inner = wiki_inner(&own, &EditorPage { alias: None, ..page.clone() }, bar);
            let same = brain_page::normalize_name(words) == brain_page::normalize_name(&inner);
            let new = match same {
                true => format!("[[{words}]]"),
                false => format!("[[{}{bar}{words}]]", wiki_target(&own, &page)),
            };
            let edit = self.edit(path, document, place, new);
            let title = format!("Link \"{words}\" to {}", page.path);
            Some(json!({ "title": title, "kind": "refactor.rewrite", "edit": edit }))
        });
        Ok(mentions.collect())
    }

    fn edit(
        &self,
        path: &str,
        document: &Document,
        range: std::ops::Range<usize>,
        new_text: String,
    ) -> Value {
        let edits = vec![TextEdit { range: document.text.range(range), new_text }];
        let edits = DocumentEdits { uri: self.uri(path), version: document.version, edits };
        workspace_edit(self.support.edits, vec![edits], &[])
    }

    /// Returns the place of a document in its source.
    pub(crate) fn own_place(&self, path: &str) -> Result<OwnPlace, Fault> {
        Ok(OwnPlace::of(path, &self.resolve(path, Vec::new(), false)?))
    }
}

/// Returns the ranges of up to [`MAX_WORDS`] words around a byte, the longest first.
fn words_around(
    text: &str,
    line: &std::ops::Range<usize>,
    byte: usize,
) -> Vec<std::ops::Range<usize>> {
    let mut words: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, c) in text[line.clone()].char_indices() {
        let (start, end) = (line.start + at, line.start + at + c.len_utf8());
        match words.last_mut() {
            Some(last) if c.is_alphanumeric() && last.end == start => last.end = end,
            _ if c.is_alphanumeric() => words.push(start..end),
            _ => {}
        }
    }
    let Some(here) = words.iter().position(|word| word.start <= byte && byte <= word.end) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for length in (1..=MAX_WORDS).rev() {
        for first in (here + 1).saturating_sub(length)..=here {
            if let Some(last) = words.get(first + length - 1) {
                found.push(words[first].start..last.end);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_around_the_cursor_are_tried_longest_first() {
        let text = "see the big plan now";
        let found = words_around(text, &(0..text.len()), 9);
        let found: Vec<&str> = found.into_iter().map(|range| &text[range]).collect();
        assert_eq!(found.first(), Some(&"see the big plan now"));
        assert_eq!(found.last(), Some(&"big"));
        assert!(found.contains(&"big plan"));
        assert!(words_around("a  b", &(0..4), 2).is_empty());
    }
}
