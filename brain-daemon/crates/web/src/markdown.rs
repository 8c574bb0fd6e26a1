//! Renders markdown as inert HTML.
//!
//! Raw HTML is shown as text. Links lead to pages, files of pages, or the web. Only pictures from
//! this daemon are shown; other images are replaced by their descriptions. The parser emits tags
//! one by one, so templates cannot be used: [`HtmlWriter`] takes only constant names of elements,
//! and escapes everything else. No sanitizer is needed, because raw HTML of a text is never
//! written. No I/O.

mod bare_links;
mod callout;
mod embedded_pages;
mod footnotes;
mod headings;
mod highlight;
mod writer;

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

use brain_page::{PartText, for_each_event};
use maud::{Markup, PreEscaped, html};
use pulldown_cmark::{Alignment, CodeBlockKind, Event, LinkType, Options, Tag, TagEnd};

use crate::text::Text;
use bare_links::bare_links;
use callout::Callout;
pub(crate) use embedded_pages::embedded_pages;
pub(crate) use headings::outline_of;
use headings::{Ids, PartPosition};
use highlight::highlight;
use writer::HtmlWriter;

/// Maximum length of the HTML as a multiple of the text's length. A text whose HTML would be longer
/// is shown as it was written.
const MAX_GROWTH: usize = 6;
/// Bytes of HTML that are allowed in addition, for texts of many short links.
const MAX_EXTRA: usize = 1_000_000;

/// Maximum number of pages that are embedded in one text.
pub(crate) const MAX_EMBEDS: usize = 8;
/// Maximum length of the HTML of an embedded page, in bytes.
pub(crate) const MAX_EMBED_HTML: usize = 200_000;

/// A rendered text.
pub(crate) struct Rendered {
    pub(crate) html: Markup,
    /// The headings, in the order of the text.
    pub(crate) headings: Vec<Heading>,
}

/// A heading of a rendered text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    /// Its depth among the headings, from 1.
    pub(crate) level: u8,
    pub(crate) text: String,
    /// The id of its element.
    pub(crate) id: String,
}

/// The syntax that is rendered.
const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_GFM)
    .union(Options::ENABLE_MATH)
    .union(Options::ENABLE_WIKILINKS);

/// Renders `text`. `page` returns the URL of the page that a link names.
pub(crate) fn render(text: &str, page: impl Fn(&str) -> Option<String>) -> Rendered {
    render_with(text, "", page, |_| None, |_| None)
}

/// Renders `text`; its ids begin with `prefix`. `picture` returns the URL of a picture of this
/// daemon, and `embed` the HTML of a page that `![[…]]` names.
pub(crate) fn render_with(
    text: &str,
    prefix: &str,
    page: impl Fn(&str) -> Option<String>,
    picture: impl Fn(&str) -> Option<String>,
    embed: impl Fn(&str) -> Option<Markup>,
) -> Rendered {
    render_text(text, Ids { prefix, part: None }, page, picture, embed)
}

/// Renders a part of a longer text, as [`render_with`] does. The ids of its headings are unique in
/// the whole text.
pub(crate) fn render_part(
    part: &PartText<'_>,
    page: impl Fn(&str) -> Option<String>,
    picture: impl Fn(&str) -> Option<String>,
    embed: impl Fn(&str) -> Option<Markup>,
) -> Rendered {
    let ids = Ids { prefix: "", part: Some(PartPosition { start: part.start, head: part.head }) };
    render_text(&part.text, ids, page, picture, embed)
}

fn render_text(
    text: &str,
    ids: Ids<'_>,
    page: impl Fn(&str) -> Option<String>,
    picture: impl Fn(&str) -> Option<String>,
    embed: impl Fn(&str) -> Option<Markup>,
) -> Rendered {
    let out = HtmlWriter { html: String::with_capacity(text.len() * 5 / 4), open: Vec::new() };
    let mut renderer = Renderer {
        out,
        text,
        ids,
        plain: String::new(),
        page,
        picture,
        embed,
        image: None,
        links: Vec::new(),
        images: Vec::new(),
        muted: 0,
        title_end: None,
        code: None,
        footnotes: HashMap::new(),
        alignments: Vec::new(),
        cell: 0,
        in_table_head: false,
        headings: Vec::new(),
        levels: Vec::new(),
        in_heading: false,
    };
    let embeds = if text.contains("![[") { MAX_EMBEDS * MAX_EMBED_HTML } else { 0 };
    let max = MAX_GROWTH * text.len() + MAX_EXTRA + embeds;
    for_each_event(text, OPTIONS, |event, range| {
        renderer.event(event, &range);
        if renderer.out.html.len() > max {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    renderer.write_plain();
    if renderer.out.html.len() > max {
        // Some nested structures grow quadratically.
        return Rendered { html: html! { pre { (Text(text)) } }, headings: Vec::new() };
    }
    Rendered { html: PreEscaped(renderer.out.html), headings: renderer.headings }
}

/// A picture whose description is being read.
struct Picture {
    url: String,
    description: String,
    /// The number of pictures around the current event in the description.
    nested: u32,
}

struct Renderer<'a, F, P, E> {
    out: HtmlWriter,
    text: &'a str,
    ids: Ids<'a>,
    /// Text that is not written yet. It joins the pieces into which the parser splits an address.
    plain: String,
    page: F,
    picture: P,
    embed: E,
    /// The picture around the current event.
    image: Option<Picture>,
    /// For each link around the current event, whether it has a URL.
    links: Vec<bool>,
    /// For each image around the current event, whether it is shown as a link.
    images: Vec<bool>,
    /// The number of images around the current event from an embedded page on. Their descriptions
    /// are omitted.
    muted: usize,
    /// Where the title of the current callout ends in the text, in bytes. The title is written
    /// already.
    title_end: Option<usize>,
    /// The language and the text of the current block of code.
    code: Option<(String, String)>,
    /// The number of each footnote by its label, and whether the text refers to it.
    footnotes: HashMap<String, (usize, bool)>,
    /// The alignments of the columns of the current table.
    alignments: Vec<Alignment>,
    /// The column of the next cell of the current row.
    cell: usize,
    in_table_head: bool,
    headings: Vec<Heading>,
    /// The levels of the headings around the current event.
    levels: Vec<u8>,
    in_heading: bool,
}

impl<F, P, E> Renderer<'_, F, P, E>
where
    F: Fn(&str) -> Option<String>,
    P: Fn(&str) -> Option<String>,
    E: Fn(&str) -> Option<Markup>,
{
    fn event(&mut self, event: Event<'_>, range: &Range<usize>) {
        if self.is_skipped(&event, range) {
            return;
        }
        if self.image.is_some() {
            return self.describe(&event);
        }
        if let (Some((_, code)), Event::Text(text)) = (&mut self.code, &event) {
            code.push_str(text);
            return;
        }
        if let (true, Event::Text(text) | Event::Code(text)) = (self.in_heading, &event)
            && let Some(heading) = self.headings.last_mut()
        {
            heading.text.push_str(text);
        }
        if let Event::Text(text) = &event {
            return self.plain.push_str(text);
        }
        self.write_plain();
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.out.text(&text),
            Event::InlineMath(text) => self.math(&text, "$"),
            Event::DisplayMath(text) => self.math(&text, "$$"),
            Event::Code(text) => self.out.element("code", &text),
            Event::SoftBreak => self.out.text("\n"),
            Event::HardBreak => self.out.start("br"),
            Event::Rule => self.out.start("hr"),
            Event::FootnoteReference(label) => self.footnote_reference(&label),
            Event::TaskListMarker(done) => {
                let (sign, label) = if done { ("☑", "done") } else { ("☐", "to do") };
                let attributes = [("class", "task"), ("role", "img"), ("aria-label", label)];
                self.out.start_with("span", &attributes);
                self.out.text(sign);
                self.out.end();
                self.out.text(" ");
            }
        }
    }

    /// Writes the text before the current event, with links for the addresses in it.
    fn write_plain(&mut self) {
        let plain = std::mem::take(&mut self.plain);
        let mut written = 0;
        let is_linked = self.links.contains(&true);
        let links = if is_linked { Vec::new() } else { bare_links(&plain) };
        for range in links {
            let address = plain.get(range.clone()).unwrap_or_default();
            let Some(url) = web_url(address) else { continue };
            self.out.text(plain.get(written..range.start).unwrap_or_default());
            self.start_link(&url);
            self.out.text(address);
            self.out.end();
            written = range.end;
        }
        self.out.text(plain.get(written..).unwrap_or_default());
        self.plain = plain;
        self.plain.clear();
    }

    /// Begins a link of the text. Its `rel` says that the page does not vouch for the target.
    fn start_link(&mut self, url: &str) {
        let rel = "noopener noreferrer nofollow";
        self.out.start_with("a", &[("href", url), ("rel", rel)]);
    }

    /// Returns whether an event belongs to the title of a callout or to an embedded image.
    fn is_skipped(&mut self, event: &Event<'_>, range: &Range<usize>) -> bool {
        if self.muted > 0 {
            match event {
                Event::Start(Tag::Image { .. }) => self.muted += 1,
                Event::End(TagEnd::Image) => self.muted -= 1,
                _ => {}
            }
            return true;
        }
        let Some(end) = self.title_end else { return false };
        let is_block = match event {
            Event::Start(Tag::Paragraph)
            | Event::End(TagEnd::Paragraph | TagEnd::BlockQuote(_)) => true,
            Event::Start(_) | Event::End(_) => range.start > end,
            _ => false,
        };
        if !is_block && range.start <= end {
            return true;
        }
        if range.start > end || matches!(event, Event::End(TagEnd::BlockQuote(_))) {
            self.title_end = None;
        }
        false
    }

    /// Adds an event to the description of the picture around it. The picture's last event writes
    /// the picture.
    fn describe(&mut self, event: &Event<'_>) {
        let Some(Picture { description, nested, .. }) = &mut self.image else { return };
        match event {
            Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => {
                description.push_str(text);
            }
            Event::SoftBreak | Event::HardBreak => description.push(' '),
            Event::Start(Tag::Image { .. }) => *nested += 1,
            Event::End(TagEnd::Image) if *nested > 0 => *nested -= 1,
            Event::End(TagEnd::Image) => {
                if let Some(Picture { url, description, .. }) = self.image.take() {
                    let attributes = [("src", &*url), ("alt", &*description), ("loading", "lazy")];
                    self.out.start_with("img", &attributes);
                }
            }
            _ => {}
        }
    }

    /// Writes the source of mathematics.
    fn math(&mut self, text: &str, sign: &str) {
        self.out.start_with("code", &[("class", "math")]);
        self.out.text(sign);
        self.out.text(text);
        self.out.text(sign);
        self.out.end();
    }

    /// Begins the description of something that is not shown.
    fn describe_only(&mut self, kind: &str) {
        self.images.push(false);
        self.out.start_with("span", &[("class", "picture")]);
        self.out.text(kind);
    }

    fn quote(&mut self, range: &Range<usize>) {
        let parsed = self.text.get(range.clone()).and_then(Callout::parse);
        let Some((callout, length)) = parsed else { return self.out.start("blockquote") };
        self.title_end = Some(range.start + length);
        self.callout(&callout);
    }

    fn callout(&mut self, callout: &Callout) {
        self.out.start_with("blockquote", &[("class", callout.class)]);
        self.out.element("strong", &callout.title);
    }

    fn cell(&mut self) {
        let name = if self.in_table_head { "th" } else { "td" };
        match self.alignments.get(self.cell) {
            Some(Alignment::Right) => self.out.start_with(name, &[("class", "right")]),
            Some(Alignment::Center) => self.out.start_with(name, &[("class", "center")]),
            _ => self.out.start(name),
        }
        self.cell += 1;
    }

    fn code_block(&mut self, kind: CodeBlockKind<'_>) {
        self.out.start("pre");
        self.out.start("code");
        let language = match kind {
            CodeBlockKind::Fenced(language) => language.into_string(),
            CodeBlockKind::Indented => String::new(),
        };
        self.code = Some((language, String::new()));
    }

    fn image(&mut self, link_type: LinkType, destination: &str) {
        match (self.picture)(destination) {
            Some(url) => {
                let description = String::new();
                self.image = Some(Picture { url, description, nested: 0 });
            }
            None if matches!(link_type, LinkType::WikiLink { .. }) => self.embed_page(destination),
            None => self.describe_only("picture: "),
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: &Range<usize>) {
        match tag {
            Tag::Paragraph => self.out.start("p"),
            Tag::Heading { level, .. } => self.heading(level, range),
            Tag::BlockQuote(None) => self.quote(range),
            Tag::BlockQuote(Some(kind)) => self.callout(&Callout::of(kind)),
            Tag::CodeBlock(kind) => self.code_block(kind),
            Tag::HtmlBlock => {
                self.out.start("pre");
                self.out.start("code");
            }
            Tag::List(None) => self.out.start("ul"),
            Tag::List(Some(first)) => self.out.start_with("ol", &[("start", &first.to_string())]),
            Tag::Item => self.out.start("li"),
            Tag::FootnoteDefinition(label) => self.footnote_definition(&label),
            Tag::Table(alignments) => {
                self.alignments = alignments;
                // A wide table scrolls on its own, so it must be reachable by keyboard.
                self.out.start_with("div", &[("class", "wide"), ("tabindex", "0")]);
                self.out.start("table");
            }
            Tag::TableHead => {
                self.in_table_head = true;
                self.cell = 0;
                self.out.start("tr");
            }
            Tag::TableRow => {
                self.cell = 0;
                self.out.start("tr");
            }
            Tag::TableCell => self.cell(),
            Tag::Emphasis => self.out.start("em"),
            Tag::Strong => self.out.start("strong"),
            Tag::Strikethrough => self.out.start("del"),
            Tag::Link { dest_url, .. } => {
                // Links cannot be nested.
                let url = self.url(&dest_url).filter(|_| !self.links.contains(&true));
                self.links.push(url.is_some());
                if let Some(url) = url {
                    self.start_link(&url);
                }
            }
            Tag::Image { link_type, dest_url, .. } => self.image(link_type, &dest_url),
            Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.in_heading = false;
                self.out.end();
            }
            TagEnd::CodeBlock | TagEnd::HtmlBlock | TagEnd::Table => {
                if let Some((language, code)) = self.code.take() {
                    self.out.html.push_str(&highlight(&language, &code).0);
                }
                self.out.end();
                self.out.end();
            }
            TagEnd::TableHead => {
                self.in_table_head = false;
                self.out.end();
            }
            TagEnd::Link => {
                if self.links.pop() == Some(true) {
                    self.out.end();
                }
            }
            TagEnd::Paragraph
            | TagEnd::BlockQuote(_)
            | TagEnd::List(_)
            | TagEnd::Item
            | TagEnd::FootnoteDefinition
            | TagEnd::TableRow
            | TagEnd::TableCell
            | TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough => self.out.end(),
            TagEnd::Image => {
                if self.images.pop() == Some(true) {
                    self.links.pop();
                }
                self.out.end();
            }
            TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    /// Returns the URL of a link; `None` if it is not allowed or leads to no page.
    fn url(&self, target: &str) -> Option<String> {
        let target = target.trim();
        if let Some(url) = web_url(target) {
            return Some(url);
        }
        if target.starts_with("//") || target.starts_with('#') {
            return None;
        }
        (self.page)(target)
    }
}

/// Returns the normalised address, if its scheme is HTTP or HTTPS.
fn web_url(address: &str) -> Option<String> {
    let url = url::Url::parse(address).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| url.into())
}

#[cfg(test)]
mod tests;
