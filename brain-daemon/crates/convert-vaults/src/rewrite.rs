//! Rewrites the links of a markdown text. Code, and all other text, stays.
//!
//! Links are `[x](y)`, `![x](y)`, those by reference, `[[x]]`, `![[x]]`, and addresses in HTML.

use std::ops::{ControlFlow, Range};

use brain_convert_base::{link, link_address};
use brain_page::for_each_event;
use pulldown_cmark::{Event, LinkType, Options, Tag, TagEnd};

/// Options for parsing. Without tables, so that the `|` in `[[a|b]]` does not start a cell.
const MARKDOWN: Options = Options::ENABLE_WIKILINKS.union(Options::ENABLE_FOOTNOTES);

/// A link in a text.
pub(crate) struct Link<'a> {
    /// Whether it has double brackets.
    pub(crate) is_wiki: bool,
    /// The address, or what stands in double brackets before the first `|`.
    pub(crate) target: &'a str,
    /// What is shown, as markdown; empty if there is nothing. In double brackets, what follows `|`.
    pub(crate) label: &'a str,
}

/// What a link becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NewLink {
    /// It stays as it is.
    Keep,
    /// It leads to the page at this path, which can have an anchor, and shows the label.
    Page { path: String, label: String },
    /// It leads to the file of the page with this name.
    File(String),
    /// It becomes this text.
    Text(String),
}

/// What is asked about the links and the other text of a page.
pub(crate) trait Rewrite {
    /// Returns what a link becomes.
    fn link(&mut self, link: &Link<'_>) -> NewLink;

    /// Returns what a text becomes that is outside of code, links and HTML; `None` if it stays.
    fn text(&mut self, _text: &str) -> Option<String> {
        None
    }
}

/// Returns the text with all links replaced, and all other text outside of code.
pub(crate) fn rewrite(body: &str, rules: &mut dyn Rewrite) -> String {
    if !body.contains(['[', '<', '#', '@']) {
        return body.to_owned();
    }
    let (edits, open) = (Vec::new(), Vec::new());
    let mut rewriter = Rewriter { body, rules, edits, open, is_code: false, run: 0..0 };
    for_each_event(body, MARKDOWN, |event, range| {
        rewriter.event(event, range);
        ControlFlow::Continue(())
    });
    rewriter.end_run();
    let mut edits = rewriter.edits;
    edits.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(body.len() + 64);
    let mut at = 0;
    for (range, new) in edits {
        // A later edit within an earlier one is part of what that one replaces.
        if range.start >= at {
            out.push_str(body.get(at..range.start).unwrap_or_default());
            out.push_str(&new);
            at = range.end;
        }
    }
    out.push_str(body.get(at..).unwrap_or_default());
    out
}

/// A link whose end was not reached yet.
struct Open<'a> {
    range: Range<usize>,
    link_type: LinkType,
    target: String,
    title: String,
    is_embed: bool,
    /// The range of the label.
    label: Option<Range<usize>>,
    has_nested: bool,
    /// The address of a nested picture.
    nested: Option<String>,
    body: &'a str,
}

impl<'a> Open<'a> {
    fn label(&self) -> &'a str {
        self.label.clone().and_then(|label| self.body.get(label)).unwrap_or_default()
    }

    fn source(&self) -> &'a str {
        self.body.get(self.range.clone()).unwrap_or_default()
    }
}

struct Rewriter<'a, 'f> {
    body: &'a str,
    rules: &'f mut dyn Rewrite,
    edits: Vec<(Range<usize>, String)>,
    open: Vec<Open<'a>>,
    is_code: bool,
    /// The text that is read. The parser splits it at signs that could have a meaning.
    run: Range<usize>,
}

impl Rewriter<'_, '_> {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        if !matches!(event, Event::End(TagEnd::Link | TagEnd::Image))
            && let Some(open) = self.open.last_mut()
        {
            let label = open.label.get_or_insert_with(|| range.clone());
            label.end = label.end.max(range.end);
        }
        let is_image = matches!(event, Event::Start(Tag::Image { .. }));
        match event {
            Event::Start(
                Tag::Link { link_type, dest_url, title, .. }
                | Tag::Image { link_type, dest_url, title, .. },
            ) => {
                if let Some(outer) = self.open.last_mut() {
                    outer.has_nested = true;
                }
                self.open.push(Open {
                    range,
                    link_type,
                    target: dest_url.into_string(),
                    title: title.into_string(),
                    is_embed: is_image,
                    label: None,
                    has_nested: false,
                    nested: None,
                    body: self.body,
                });
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                if let Some(open) = self.open.pop() {
                    self.close(&open);
                }
            }
            Event::Start(Tag::CodeBlock(_)) => self.is_code = true,
            Event::End(TagEnd::CodeBlock) => self.is_code = false,
            Event::Text(_) if self.open.is_empty() && !self.is_code => {
                if range.start == self.run.end {
                    self.run.end = range.end;
                } else {
                    self.end_run();
                    self.run = range;
                }
            }
            Event::Html(html) | Event::InlineHtml(html)
                if self.body.get(range.clone()) == Some(&*html) =>
            {
                self.html(&html, range.start);
            }
            _ => {}
        }
    }

    fn end_run(&mut self) {
        let run = std::mem::replace(&mut self.run, 0..0);
        let text = self.body.get(run.clone()).unwrap_or_default();
        if !text.is_empty()
            && let Some(new) = self.rules.text(text)
        {
            self.edits.push((run, new));
        }
    }

    fn close(&mut self, open: &Open<'_>) {
        match open.link_type {
            LinkType::Autolink | LinkType::Email => {}
            LinkType::WikiLink { .. } => self.close_wiki(open),
            _ => self.close_markdown(open),
        }
    }

    fn close_wiki(&mut self, open: &Open<'_>) {
        let source = open.source().trim_start_matches('!');
        let inner = source.strip_prefix("[[").and_then(|it| it.strip_suffix("]]"));
        let Some(inner) = inner else { return };
        let (target, label) = inner.split_once('|').unwrap_or((inner, ""));
        // In a table the bar is escaped.
        let bar = if target.ends_with('\\') { "\\|" } else { "|" };
        let target = target.strip_suffix('\\').unwrap_or(target);
        let is_embed = open.is_embed;
        let new = match self.rules.link(&Link { is_wiki: true, target, label }) {
            NewLink::Keep => return,
            NewLink::Text(text) => text,
            NewLink::Page { path, label } => {
                let sign = if is_embed { "!" } else { "" };
                format!("{sign}{}", link(&path, &label)).replace('|', bar)
            }
            NewLink::File(name) => {
                let sign = if is_embed { "!" } else { "" };
                match label.is_empty() {
                    true => format!("{sign}[[{name}]]"),
                    false => format!("{sign}[[{name}{bar}{label}]]"),
                }
            }
        };
        self.edits.push((open.range.clone(), new));
    }

    fn close_markdown(&mut self, open: &Open<'_>) {
        let label = open.label();
        let is_embed = open.is_embed;
        let (target, is_wiki) = (open.target.as_str(), false);
        let new = self.rules.link(&Link { is_wiki, target, label });
        if let Some(outer) = self.open.last_mut().filter(|_| is_embed) {
            outer.nested = Some(open.target.clone());
        }
        // The picture alone says the same.
        if !is_embed && open.nested.as_deref() == Some(target) {
            return self.unwrap(open);
        }
        let is_plain = !label.contains(['[', ']', '*', '_', '`', '<', '|', '\\', '&', '\n'])
            && open.title.is_empty()
            && self.open.is_empty();
        let whole = match new {
            NewLink::Keep => return,
            NewLink::Text(text) => text,
            NewLink::Page { path, label } if is_plain && !open.has_nested => {
                format!("{}{}", if is_embed { "!" } else { "" }, link(&path, &label))
            }
            NewLink::Page { path, .. } => {
                let (path, anchor) = path.split_once('#').unwrap_or((&path, ""));
                let mark = if anchor.is_empty() { "" } else { "#" };
                let address = format!("{}.md{mark}{}", link_address(path), link_address(anchor));
                return self.new_address(open, &address);
            }
            NewLink::File(name) if is_plain && is_embed && is_name(label, &name) => {
                format!("![[{name}]]")
            }
            NewLink::File(name) if is_plain && is_name(label, &name) => format!("[[{name}]]"),
            NewLink::File(name) => return self.new_address(open, &link_address(&name)),
        };
        self.edits.push((open.range.clone(), whole));
    }

    /// The place where the label of a link ends with `]`.
    fn label_end(&self, open: &Open<'_>) -> Option<usize> {
        let start = open.label.as_ref().map_or(open.range.start, |label| label.end);
        let rest = self.body.get(start..open.range.end)?;
        Some(start + rest.find(']')?)
    }

    /// Replaces what follows the label.
    fn new_address(&mut self, open: &Open<'_>, address: &str) {
        let Some(end) = self.label_end(open) else { return };
        let title = open.title.replace('"', "'");
        let title = if title.is_empty() { title } else { format!(" \"{title}\"") };
        self.edits.push((end..open.range.end, format!("]({address}{title})")));
    }

    /// Leaves the label of a link alone.
    fn unwrap(&mut self, open: &Open<'_>) {
        let Some(end) = self.label_end(open) else { return };
        self.edits.push((open.range.start..open.range.start + 1, String::new()));
        self.edits.push((end..open.range.end, String::new()));
    }

    fn html(&mut self, html: &str, start: usize) {
        for range in addresses(html) {
            let target = html.get(range.clone()).unwrap_or_default();
            let new = match self.rules.link(&Link { is_wiki: false, target, label: "" }) {
                NewLink::Page { path, .. } => format!("{}.md", link_address(&path)),
                NewLink::File(name) => link_address(&name),
                NewLink::Keep | NewLink::Text(_) => continue,
            };
            self.edits.push((start + range.start..start + range.end, new));
        }
    }
}

/// Returns whether a label says no more than the name of the file.
fn is_name(label: &str, name: &str) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    label.is_empty() || label == name || label == stem
}

/// Returns the places of the values of `src` and `href` in a piece of HTML.
fn addresses(html: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for name in ["src=", "href="] {
        for (at, _) in html.match_indices(name) {
            let is_name = html.get(..at).is_some_and(|it| it.ends_with(char::is_whitespace));
            let start = at + name.len();
            let Some(value) = html.get(start..).filter(|_| is_name) else { continue };
            let Some(quote) = value.chars().next().filter(|c| ['"', '\''].contains(c)) else {
                continue;
            };
            if let Some(length) = value.get(1..).and_then(|value| value.find(quote)) {
                found.push(start + 1..start + 1 + length);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Rules;

    impl Rewrite for Rules {
        fn link(&mut self, link: &Link<'_>) -> NewLink {
            match link.target {
                "p.md" | "p" => {
                    NewLink::Page { path: "a/p".to_owned(), label: link.label.to_owned() }
                }
                "f.png" => NewLink::File("f 1.png".to_owned()),
                "t" => NewLink::Text("text".to_owned()),
                _ => NewLink::Keep,
            }
        }

        fn text(&mut self, text: &str) -> Option<String> {
            text.contains("#a.b").then(|| text.replace("#a.b", "#a/b"))
        }
    }

    fn rewritten(body: &str) -> String {
        rewrite(body, &mut Rules)
    }

    #[test]
    fn every_form_of_a_link_is_rewritten() {
        for (body, expected) in [
            ("see [P](p.md).", "see [[a/p|P]]."),
            ("see [**P**](p.md \"x\").", "see [**P**](a/p.md \"x\")."),
            ("![](f.png) ![f](f.png)", "![[f 1.png]] ![f](f%201.png)"),
            ("[f.png](f.png)", "[f.png](f%201.png)"),
            ("[[p]] [[p|x]] ![[p]]", "[[a/p]] [[a/p|x]] ![[a/p]]"),
            ("![[f.png|300]] [[t]]", "![[f 1.png|300]] text"),
            ("[a][b] [b]\n\n[b]: p.md\n", "[[a/p|a]] [[a/p|b]]\n\n[b]: p.md\n"),
            ("[![alt](f.png)](p.md)", "[![alt](f%201.png)](a/p.md)"),
            ("[![](f.png)](f.png)", "![](f%201.png)"),
            ("| [[p\\|x]] |", "| [[a/p\\|x]] |"),
            (
                "<img src=\"f.png\"> <a href='p.md'>x</a>",
                "<img src=\"f%201.png\"> <a href='a/p.md'>x</a>",
            ),
            ("- [ ] [P](p.md)\n  - [q](p.md)", "- [ ] [[a/p|P]]\n  - [[a/p|q]]"),
        ] {
            assert_eq!(rewritten(body), expected, "{body}");
        }
    }

    #[test]
    fn text_outside_of_code_and_links_is_rewritten() {
        assert_eq!(rewritten("x #a.b_c * #a.b [[p]] *#a.b*"), "x #a/b_c * #a/b [[a/p]] *#a/b*");
    }

    #[test]
    fn code_and_other_links_stay() {
        for body in [
            "`[P](p.md)` [x](y.md) <https://p.md>",
            "```\n[P](p.md)\n![[f.png]]\n```",
            "    [P](p.md)",
            "\\[P](p.md) [^1]\n\n[^1]: note",
            "a < b [c] d",
            "`#a.b` [#a.b](x)\n\n    #a.b",
        ] {
            assert_eq!(rewritten(body), body);
        }
    }
}
