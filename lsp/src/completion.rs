//! Completion: pages, headings, blocks, tags, footnotes, and the frontmatter.
//!
//! All items of a list replace the same range, which is on one line and contains the cursor. The
//! list is short and never complete: the client asks again at each key.

use std::ops::Range;

use brain_page::{code_blocks, heading_anchors};
use brain_protocol::{
    Complete, CompletionKind, CompletionValue, EditorPage, Fault, FaultCode, PageNames, WrittenLink,
};
use gen_lsp_types::{CompletionItem, CompletionItemKind, CompletionList, TextEdit};
use serde_json::{Value, json};

use crate::document::Outline;
use crate::frontmatter;
use crate::page_links::{
    OwnPlace, Style, encode, label_bar, markdown_target, wiki_inner, wiki_target,
};
use crate::server::{Answer, Place, Server};
use crate::text::Text;

/// Maximum number of items of a list.
const MAX_ITEMS: usize = 50;
/// Maximum number of pages of a list: more than a menu shows. Each is read from the store at each
/// key.
const MAX_PAGES: u32 = 30;

/// What is being typed at the cursor, with the position of its first byte.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typing {
    /// A single `[`.
    Bracket,
    /// The name of a page after `[[`.
    Page(usize),
    /// A heading of a page after `[[page#`: the target of the link before it.
    Heading(usize, String),
    /// A block of a page after `[[page#^`.
    Block(usize, String),
    /// The target after `](`.
    Target(usize),
    /// An anchor after `](page.md#`.
    Anchor(usize, String),
    /// A tag after `#`.
    Tag(usize),
    /// A label after `[^`.
    Footnote(usize),
}

/// The range that the items replace, and what stands in it.
pub(crate) struct Site<'a> {
    text: &'a Text,
    range: Range<usize>,
    /// What stands before the cursor.
    typed: &'a str,
    /// What follows the inserted text.
    close: &'a str,
    /// Whether an anchor or a label follows.
    is_followed: bool,
}

impl<'a> Site<'a> {
    /// The range from `start` to the cursor.
    pub(crate) fn new(text: &'a Text, start: usize, cursor: usize, close: &'a str) -> Self {
        let typed = &text.as_str()[start..cursor];
        Self { text, range: start..cursor, typed, close, is_followed: false }
    }

    /// The range from `start` to the cursor, for what `close` ends. If it is closed already, the
    /// range also has the rest of the name, up to an anchor or a label. Editors often close brackets
    /// themselves, so those behind the cursor are not doubled.
    fn closed_by(close: &'a str, text: &'a Text, start: usize, cursor: usize) -> Self {
        let rest = &text.as_str()[cursor..text.line_at(cursor).1.end];
        let site = Self::new(text, start, cursor, close);
        let (others, ends): (&[char], &[char]) = match close {
            ")" => (&['(', '['], &['#', ' ']),
            _ => (&['[', ']'], &['#', '|', '\\']),
        };
        let closed = rest.find(close).filter(|end| !rest[..*end].contains(others));
        let Some(closed) = closed else {
            let first = close.chars().next().unwrap_or_default();
            let count = rest.chars().take_while(|c| *c == first).count();
            return Self { close: &close[count.min(close.len())..], ..site };
        };
        let end = rest[..closed].find(ends).unwrap_or(closed);
        Self { range: start..cursor + end, close: "", is_followed: end < closed, ..site }
    }

    /// Returns an item. `name` is what the user may be typing.
    fn item(&self, kind: CompletionItemKind, name: &str, new_text: &str) -> CompletionItem {
        let is_beginning = name.to_lowercase().starts_with(&self.typed.to_lowercase());
        // The client keeps items that look like what stands in the range.
        let filter = if is_beginning { name.to_owned() } else { format!("{} {name}", self.typed) };
        CompletionItem {
            label: name.to_owned(),
            kind: Some(kind),
            filter_text: Some(filter),
            text_edit: Some(self.edit(format!("{new_text}{}", self.close)).into()),
            ..CompletionItem::default()
        }
    }

    fn edit(&self, new_text: String) -> TextEdit {
        TextEdit { range: self.text.range(self.range.clone()), new_text }
    }

    pub(crate) fn items(
        &self,
        kind: CompletionItemKind,
        values: impl IntoIterator<Item = CompletionValue>,
    ) -> Vec<CompletionItem> {
        let item = |value: CompletionValue| CompletionItem {
            detail: (!value.description.is_empty()).then_some(value.description),
            ..self.item(kind, &value.value, &value.value)
        };
        values.into_iter().map(item).collect()
    }
}

/// Returns what is being typed at the end of `before`, the line up to the cursor. Positions are
/// relative to the line.
pub(crate) fn typing(before: &str) -> Option<Typing> {
    if let Some(start) = before.rfind("[[").map(|at| at + 2)
        && !before[start..].contains("]]")
        && !before[start..].contains('[')
    {
        let inner = &before[start..];
        if inner.contains('|') {
            return None;
        }
        return Some(match inner.rfind('#').map(|at| start + at + 1) {
            None => Typing::Page(start),
            Some(at) => {
                let target = before[start..at - 1].split('#').next().unwrap_or_default().to_owned();
                match before[at..].starts_with('^') {
                    true => Typing::Block(at + 1, target),
                    false => Typing::Heading(at, target),
                }
            }
        });
    }
    if let Some(start) = before.rfind("](").map(|at| at + 2)
        && !before[start..].contains([')', ' ', '<'])
    {
        return Some(match before[start..].find('#').map(|at| start + at) {
            None => Typing::Target(start),
            Some(at) => Typing::Anchor(at + 1, before[start..at].to_owned()),
        });
    }
    if let Some(start) = before.rfind("[^").map(|at| at + 2)
        && !before[start..].contains([']', ' '])
    {
        return Some(Typing::Footnote(start));
    }
    if before.ends_with('[') {
        return Some(Typing::Bracket);
    }
    let start = before.rfind('#').map(|at| at + 1)?;
    let is_first = before[..start - 1].chars().next_back().is_none_or(char::is_whitespace);
    let is_tag = |c: char| c.is_alphanumeric() || "_-/".contains(c);
    (is_first && before[start..].chars().all(is_tag)).then_some(Typing::Tag(start))
}

impl Server {
    /// Completes. Without the daemon the list is empty: an error at each key would disturb.
    pub(crate) fn completion_or_none(&mut self, place: &Place) -> Answer {
        match self.completion(place) {
            Err(fault) if fault.code != FaultCode::Usage => Ok(list(Vec::new())),
            answer => answer,
        }
    }

    fn completion(&mut self, place: &Place) -> Answer {
        let (path, document) = self.open_document(&place.text_document)?;
        let text = &document.text;
        let cursor = text.byte(place.position);
        let (_, line) = text.line_at(cursor);
        let before = &text.as_str()[line.start..cursor];
        let at = |start: usize| line.start + start;
        let found = typing(before);
        // In code, brackets and signs are no links and tags.
        let is_in_code = |block: Range<usize>| block.start <= cursor && cursor <= block.end;
        if found.is_some() && code_blocks(text.as_str()).into_iter().any(is_in_code) {
            return Ok(list(Vec::new()));
        }
        let items = match found {
            _ if before.is_empty() && cursor > 0 => self.in_frontmatter(text, cursor)?,
            Some(Typing::Page(start)) => self.pages(&path, text, at(start), cursor)?,
            Some(Typing::Target(start)) => self.targets(&path, text, at(start), cursor)?,
            Some(Typing::Heading(start, target)) => {
                let site = Site::closed_by("]]", text, at(start), cursor);
                self.headings(&path, &site, (&target, true))?
            }
            Some(Typing::Anchor(start, target)) => {
                let site = Site::closed_by(")", text, at(start), cursor);
                self.headings(&path, &site, (&target, false))?
            }
            Some(Typing::Block(start, target)) => {
                let site = Site::closed_by("]]", text, at(start), cursor);
                self.blocks(&path, &site, &target)?
            }
            Some(Typing::Footnote(start)) => {
                let site = Site::closed_by("]", text, at(start), cursor);
                site.items(CompletionItemKind::Reference, footnotes(text.as_str()))
            }
            Some(Typing::Bracket) => Vec::new(),
            found => match self.in_frontmatter(text, cursor)? {
                items if !items.is_empty() => items,
                _ => match found {
                    Some(Typing::Tag(start)) => {
                        let site = Site::new(text, at(start), cursor, "");
                        let values = self.values(CompletionKind::Tag, site.typed)?;
                        site.items(CompletionItemKind::Keyword, values)
                    }
                    _ => Vec::new(),
                },
            },
        };
        Ok(list(items))
    }

    /// Returns the values of the brain that a word can become.
    pub(crate) fn values(
        &self,
        kind: CompletionKind,
        typed: &str,
    ) -> Result<Vec<CompletionValue>, Fault> {
        Ok(self.daemon.run(Complete { kind, text: typed.to_owned() })?.values)
    }

    fn names(&self, path: &str, typed: &str) -> Result<(OwnPlace, Vec<EditorPage>), Fault> {
        let (file, text) = (path.to_owned(), typed.to_owned());
        let found = self.daemon.run(PageNames { file, text, limit: MAX_PAGES })?;
        let own = OwnPlace { source: found.source, path: found.path.unwrap_or_default() };
        Ok((own, found.pages))
    }

    /// Completes `[[` with links in the style of the document.
    fn pages(
        &self,
        path: &str,
        text: &Text,
        start: usize,
        cursor: usize,
    ) -> Result<Vec<CompletionItem>, Fault> {
        let whole = text.as_str();
        let (own, pages) = self.names(path, &whole[start..cursor])?;
        let (_, line) = text.line_at(cursor);
        let site = Site::closed_by("]]", text, start, cursor);
        let style = Style::of(&whole[..start - 2], &whole[line.end..]);
        // Pages are embedded by wiki links only.
        let is_embed = whole[..start - 2].ends_with('!');
        if style == Style::Markdown && !site.is_followed && !is_embed {
            // The link has other brackets, so those before and behind the name are replaced.
            let end = site.range.end;
            let closed = whole[end..].bytes().take(2).take_while(|byte| *byte == b']').count();
            let typed = &whole[start - 2..cursor];
            let site = Site { range: start - 2..end + closed, typed, close: "", ..site };
            let pages = pages.into_iter().filter(|page| page.page.source == own.source);
            return Ok(self.markdown_items(&own, &site, pages));
        }
        let bar = label_bar(text, cursor);
        let item = |page: EditorPage| {
            let name = page.alias.as_deref().unwrap_or(&page.title);
            let inner = match site.is_followed {
                true => wiki_target(&own, &page),
                false => wiki_inner(&own, &page, bar),
            };
            let item = site.item(CompletionItemKind::File, name, &inner);
            CompletionItem { detail: Some(page.path), ..item }
        };
        Ok(pages.into_iter().map(item).collect())
    }

    fn markdown_items(
        &self,
        own: &OwnPlace,
        site: &Site<'_>,
        pages: impl Iterator<Item = EditorPage>,
    ) -> Vec<CompletionItem> {
        let item = |page: EditorPage| {
            let name = page.alias.unwrap_or(page.title);
            let label = name.replace(['[', ']'], " ");
            let link = format!("[{label}]({})", markdown_target(own, &page.path));
            let item = site.item(CompletionItemKind::File, &format!("[[{name}"), &link);
            CompletionItem { label: name, detail: Some(page.path), ..item }
        };
        pages.map(item).collect()
    }

    /// Completes the target of a markdown link.
    fn targets(
        &self,
        path: &str,
        text: &Text,
        start: usize,
        cursor: usize,
    ) -> Result<Vec<CompletionItem>, Fault> {
        let typed = &text.as_str()[start..cursor];
        if typed.contains("://") {
            return Ok(Vec::new());
        }
        let name = brain_page::percent_decode(typed.rsplit('/').next().unwrap_or(typed));
        let (own, pages) = self.names(path, &name)?;
        let site = Site::closed_by(")", text, start, cursor);
        let pages = pages.into_iter().filter(|page| page.page.source == own.source);
        let item = |page: EditorPage| {
            let target = markdown_target(&own, &page.path);
            let item = site.item(CompletionItemKind::File, &target, &target);
            CompletionItem { detail: Some(page.title), ..item }
        };
        Ok(pages.map(item).collect())
    }

    fn headings(
        &self,
        path: &str,
        site: &Site<'_>,
        (target, is_wiki): (&str, bool),
    ) -> Result<Vec<CompletionItem>, Fault> {
        let Some((_, outline)) = self.target_text(path, target, is_wiki)? else {
            return Ok(Vec::new());
        };
        let anchors = heading_anchors(outline.headings.iter().map(|it| it.text.as_str()));
        let items = outline.headings.iter().zip(anchors).filter(|(it, _)| !it.text.is_empty());
        let item = |(heading, anchor): (&crate::document::Heading, String)| match is_wiki {
            true => {
                let name = heading.text.replace(['#', '|', '^', '[', ']'], " ");
                site.item(CompletionItemKind::Struct, &heading.text, name.trim())
            }
            false => {
                let item = site.item(CompletionItemKind::Struct, &anchor, &encode(&anchor));
                CompletionItem { detail: Some(heading.text.clone()), ..item }
            }
        };
        Ok(matching(items.map(item).collect(), site.typed))
    }

    fn blocks(
        &self,
        path: &str,
        site: &Site<'_>,
        target: &str,
    ) -> Result<Vec<CompletionItem>, Fault> {
        let Some((text, _)) = self.target_text(path, target, true)? else {
            return Ok(Vec::new());
        };
        let values = text.as_str().lines().filter_map(|line| {
            let (block, id) = line.trim_end().rsplit_once('^')?;
            let is_id = !id.is_empty() && id.chars().all(|c| c.is_alphanumeric() || c == '-');
            let is_block = is_id && (block.is_empty() || block.ends_with(' '));
            let description = block.trim().chars().take(60).collect();
            is_block.then(|| CompletionValue { value: id.to_owned(), description })
        });
        Ok(matching(site.items(CompletionItemKind::Reference, values), site.typed))
    }

    /// Returns the text to which a link leads; without a target, that of the document itself.
    fn target_text(
        &self,
        path: &str,
        target: &str,
        is_wiki: bool,
    ) -> Result<Option<(Text, std::sync::Arc<Outline>)>, Fault> {
        if target.is_empty() {
            return Ok(self.read(path));
        }
        let link = WrittenLink { target: target.to_owned(), is_wiki };
        let found = self.resolve_one(path, link, false)?;
        let file = found.and_then(|found| found.pages.into_iter().next()).and_then(|it| it.file);
        Ok(file.and_then(|file| self.read(&file)))
    }

    fn in_frontmatter(&self, text: &Text, cursor: usize) -> Result<Vec<CompletionItem>, Fault> {
        let Some(typing) = frontmatter::typing(text, cursor) else { return Ok(Vec::new()) };
        let site = Site::new(text, typing.start, cursor, typing.close);
        let values = match typing.kind {
            Some(kind) => self.values(kind, site.typed)?,
            None => frontmatter::keys(text.as_str()),
        };
        Ok(matching(site.items(CompletionItemKind::Property, values), site.typed))
    }
}

/// Returns the items that contain the typed text, those that begin with it first.
fn matching(items: Vec<CompletionItem>, typed: &str) -> Vec<CompletionItem> {
    let typed = typed.to_lowercase();
    let mut items: Vec<_> =
        items.into_iter().filter(|item| item.label.to_lowercase().contains(&typed)).collect();
    items.sort_by_key(|item| !item.label.to_lowercase().starts_with(&typed));
    items
}

/// Returns the labels of the footnotes that a text defines.
fn footnotes(text: &str) -> Vec<CompletionValue> {
    let label = |line: &str| {
        let (label, description) = line.strip_prefix("[^")?.split_once("]:")?;
        let description = description.trim().chars().take(60).collect();
        Some(CompletionValue { value: label.to_owned(), description })
    };
    text.lines().filter_map(label).collect()
}

/// Returns a list that the client must not complete by itself, in this order.
fn list(mut items: Vec<CompletionItem>) -> Value {
    items.truncate(MAX_ITEMS);
    for (n, item) in items.iter_mut().enumerate() {
        item.sort_text = Some(format!("{n:04}"));
    }
    json!(CompletionList { is_incomplete: true, items, ..CompletionList::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_recognised() {
        let target = |text: &str| text.to_owned();
        for (before, found) in [
            ("[", Some(Typing::Bracket)),
            ("[[", Some(Typing::Page(2))),
            ("- 🦓 see [[Zo", Some(Typing::Page(13))),
            ("[[a]] and [[b", Some(Typing::Page(12))),
            ("[[a]] b", None),
            ("[[a|b", None),
            ("[[a#B c", Some(Typing::Heading(4, target("a")))),
            ("[[#", Some(Typing::Heading(3, target("")))),
            ("[[a#^x", Some(Typing::Block(5, target("a")))),
            ("[x](a/b", Some(Typing::Target(4))),
            ("[x](a.md#h", Some(Typing::Anchor(9, target("a.md")))),
            ("text[^1", Some(Typing::Footnote(6))),
            ("a #ta", Some(Typing::Tag(3))),
            ("a#ta", None),
            ("# Title", None),
        ] {
            assert_eq!(typing(before), found, "{before}");
        }
    }
}
