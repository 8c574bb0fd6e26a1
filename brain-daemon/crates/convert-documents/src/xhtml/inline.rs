//! The text of a paragraph of XHTML.

use brain_convert_base::count_words;

use super::Chapter;
use super::notes::{self, Notes};
use crate::container::{folder, resolve, target};
use crate::draft::Draft;
use crate::math::formula;
use crate::model::{Inline, Link, Position, Style, Text};
use crate::xml::Element;

/// Reads the text of paragraphs.
pub(super) struct Inlines<'a, 'd> {
    pub(super) chapter: &'a Chapter<'a>,
    pub(super) draft: &'d mut Draft,
    pub(super) notes: &'d mut Notes,
}

impl Inlines<'_, '_> {
    /// Returns all text of an element.
    pub(super) fn of(&mut self, element: Element<'_>) -> Vec<Inline> {
        let mut out = Vec::new();
        for child in element.children() {
            if !self.is_hidden(child) {
                self.read(child, &mut out);
            }
        }
        out
    }

    /// Reads one element or text.
    pub(super) fn read(&mut self, element: Element<'_>, out: &mut Vec<Inline>) {
        self.walk(element, Style::default(), None, out);
    }

    fn walk(
        &mut self,
        element: Element<'_>,
        mut style: Style,
        link: Option<&Link>,
        out: &mut Vec<Inline>,
    ) {
        let plain = |text: String| Inline::Text(Text { text, style, link: link.cloned() });
        match element.name() {
            "" => {
                out.push(plain(element.own_text().to_owned()));
                return;
            }
            "br" => return out.push(Inline::Break),
            "input" => {
                if matches!(element.attribute("type"), Some("checkbox" | "radio")) {
                    let is_checked = element.attribute("checked").is_some();
                    out.push(plain(if is_checked { "☑ " } else { "☐ " }.to_owned()));
                }
                return;
            }
            "img" | "image" => return self.picture(element, out),
            "script" | "style" | "template" | "rp" | "desc" => return,
            "title" => return,
            "rt" => {
                out.push(plain(format!("({})", element.text())));
                return;
            }
            "math" => return self.formula(element, out),
            "audio" | "video" | "object" | "iframe" | "embed" => {
                let name = element.name();
                self.draft
                    .lost(format!("a thing to play or run ({name}) is only in the kept file"));
            }
            "b" | "strong" => style.bold = true,
            "i" | "em" | "cite" | "dfn" | "var" => style.italic = true,
            "s" | "del" | "strike" => style.strike = true,
            "sup" => style.position = Position::Raised,
            "sub" => style.position = Position::Lowered,
            "code" | "kbd" | "samp" | "tt" => style.code = true,
            "a" => {
                let path = self.chapter.path;
                let href = element.attribute("href").unwrap_or_default();
                if let Some(number) = self.notes.reference(element, (path, href), self.draft) {
                    return out.push(Inline::Note(number));
                }
                if self.notes.is_back_link(element) {
                    return;
                }
                // The number of a note that is no note of the page may not join the word before it.
                if notes::is_reference(element) {
                    style.position = Position::Raised;
                }
                let target = self.target(href);
                return self.children(element, style, target.as_ref().or(link), out);
            }
            _ => {}
        }
        let value = |name: &str| element.attribute(name).unwrap_or_default();
        let style = self.chapter.looks.look(value("class"), value("style"), style);
        self.children(element, style, link, out);
    }

    /// Returns whether the chapter hides an element, and counts its words. Notes are shown when a
    /// reader opens them.
    pub(super) fn is_hidden(&mut self, element: Element<'_>) -> bool {
        let style = element.attribute("style").unwrap_or_default();
        let is_hidden = brain_page::is_hidden_html(element.attribute("hidden"), style)
            && self.notes.number_of(self.chapter.path, element).is_none();
        if is_hidden {
            self.draft.hide(count_words(&element.text()));
        }
        is_hidden
    }

    fn children(
        &mut self,
        element: Element<'_>,
        style: Style,
        link: Option<&Link>,
        out: &mut Vec<Inline>,
    ) {
        for child in element.children() {
            if !self.is_hidden(child) {
                self.walk(child, style, link, out);
            }
        }
    }

    fn target(&self, href: &str) -> Option<Link> {
        let scheme = href.split_once(':').map(|(scheme, _)| scheme);
        match scheme {
            _ if href.is_empty() => None,
            Some(scheme) if !scheme.contains(['/', '#', '.']) => Some(Link::Address(href.into())),
            _ => {
                let (file, id) = target(self.chapter.path, href);
                Some(Link::Place(format!("{file}#{id}").into()))
            }
        }
    }

    /// Remembers a heading for links to it, to the elements that begin with it, and to the file.
    pub(super) fn add_places(&mut self, heading: Element<'_>, ids: Vec<String>, text: &str) {
        let path = self.chapter.path;
        self.draft.add_place(&format!("{path}#"), text);
        let own = heading.descendants().filter_map(|it| it.attribute("id").map(str::to_owned));
        for id in ids.into_iter().chain(own) {
            self.draft.add_place(&format!("{path}#{id}"), text);
        }
    }

    fn picture(&mut self, element: Element<'_>, out: &mut Vec<Inline>) {
        let names = ["src", "xlink:href", "href"];
        let source = names.iter().find_map(|name| element.attribute(name)).unwrap_or_default();
        let description = element.attribute("alt").unwrap_or_default();
        if source.contains("://") || source.starts_with("data:") || source.is_empty() {
            let source: String = brain_page::single_line(source).chars().take(100).collect();
            self.draft.lost(format!("its picture {source} is not in the file"));
            return;
        }
        let path = resolve(folder(self.chapter.path), source);
        out.extend(self.draft.picture(self.chapter.container, &path, description));
    }

    /// A formula: as its author wrote it in another language, or its signs.
    fn formula(&mut self, math: Element<'_>, out: &mut Vec<Inline>) {
        let annotation = math.descendants().find(|it| it.local_name() == "annotation");
        let alternative = math.attribute("alttext").map(str::to_owned);
        let written = alternative.or_else(|| annotation.map(Element::text));
        let text = written.unwrap_or_else(|| formula(math));
        let style = Style { code: true, ..Style::default() };
        out.push(Inline::Text(Text { text: brain_page::single_line(&text), style, link: None }));
    }
}
