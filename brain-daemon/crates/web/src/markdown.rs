//! Renders markdown as inert HTML.
//!
//! Raw HTML is shown as text, and links lead to pages, their files or the web. Pictures are those
//! that the page has as files; of others, the descriptions are shown.
//! The parser emits tags one by one, so no template can hold them; [`Writer`] takes only constant
//! names of elements and escapes everything else. No sanitizer is needed, because raw HTML is never
//! written. No I/O.

use std::ops::ControlFlow;

use brain_page::for_each_event;
use maud::{Markup, PreEscaped, Render as _, html};
use pulldown_cmark::{BlockQuoteKind, Event, HeadingLevel, Options, Tag, TagEnd};

use crate::text::Text;

/// Maximum length of the HTML as a multiple of the text. Longer results are shown as plain text.
const MAX_GROWTH: usize = 6;

/// A rendered text.
pub(crate) struct Rendered {
    pub(crate) html: Markup,
    /// In the order of the text.
    pub(crate) headings: Vec<Heading>,
}

/// A heading of a rendered text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    /// From 1.
    pub(crate) level: u8,
    pub(crate) text: String,
    /// The id of its element.
    pub(crate) id: String,
}

/// Renders `text`. `page` returns the URL of the page or file that a link names, and `picture` that
/// of a picture of this daemon.
pub(crate) fn render(
    text: &str,
    page: impl Fn(&str) -> Option<String>,
    picture: impl Fn(&str) -> Option<String>,
) -> Rendered {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_GFM
        | Options::ENABLE_WIKILINKS;
    let out = Writer { html: String::with_capacity(text.len() * 5 / 4), open: Vec::new() };
    let mut renderer = Renderer {
        out,
        page,
        picture,
        image: None,
        links: Vec::new(),
        in_table_head: false,
        headings: Vec::new(),
        levels: Vec::new(),
        in_heading: false,
    };
    let max = MAX_GROWTH * text.len() + MAX_GROWTH * 1024;
    for_each_event(text, options, |event, _| {
        renderer.event(event);
        if renderer.out.html.len() > max {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    if renderer.out.html.len() > max {
        // Some nested structures grow quadratically; they are shown as written.
        return Rendered { html: html! { pre { (Text(text)) } }, headings: Vec::new() };
    }
    Rendered { html: PreEscaped(renderer.out.html), headings: renderer.headings }
}

/// Writes elements with constant names, and text that it escapes.
struct Writer {
    html: String,
    /// The open elements.
    open: Vec<&'static str>,
}

impl Writer {
    fn start(&mut self, name: &'static str) {
        self.start_with(name, &[]);
    }

    fn start_with(&mut self, name: &'static str, attributes: &[(&'static str, &str)]) {
        self.html.push('<');
        self.html.push_str(name);
        for (attribute, value) in attributes {
            self.html.push(' ');
            self.html.push_str(attribute);
            self.html.push_str("=\"");
            self.text(value);
            self.html.push('"');
        }
        self.html.push('>');
        if matches!(name, "blockquote" | "ul" | "ol" | "table" | "br" | "hr") {
            self.html.push('\n');
        }
        if !matches!(name, "br" | "hr" | "img") {
            self.open.push(name);
        }
    }

    /// Ends the innermost element.
    fn end(&mut self) {
        let Some(name) = self.open.pop() else { return };
        self.html.push_str("</");
        self.html.push_str(name);
        self.html.push('>');
        let is_line = matches!(name, "p" | "pre" | "blockquote" | "ul" | "ol" | "li" | "div")
            || matches!(name, "table" | "tr" | "h2" | "h3" | "h4" | "h5" | "h6");
        if is_line {
            self.html.push('\n');
        }
    }

    fn text(&mut self, text: &str) {
        Text(text).render_to(&mut self.html);
    }

    fn element(&mut self, name: &'static str, text: &str) {
        self.start(name);
        self.text(text);
        self.end();
    }
}

struct Renderer<F, P> {
    out: Writer,
    page: F,
    picture: P,
    /// The picture around the current event: its URL, its description so far, and the pictures in
    /// that.
    image: Option<(String, String, u32)>,
    /// For each link around the current event, whether it leads anywhere.
    links: Vec<bool>,
    in_table_head: bool,
    headings: Vec<Heading>,
    /// The levels of the headings around the current event.
    levels: Vec<HeadingLevel>,
    in_heading: bool,
}

impl<F: Fn(&str) -> Option<String>, P: Fn(&str) -> Option<String>> Renderer<F, P> {
    fn event(&mut self, event: Event<'_>) {
        if self.image.is_some() {
            return self.describe(&event);
        }
        if let (true, Event::Text(text) | Event::Code(text)) = (self.in_heading, &event)
            && let Some(heading) = self.headings.last_mut()
        {
            heading.text.push_str(text);
        }
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text) => self.out.text(&text),
            Event::Code(text) => self.out.element("code", &text),
            Event::SoftBreak => self.out.text("\n"),
            Event::HardBreak => self.out.start("br"),
            Event::Rule => self.out.start("hr"),
            Event::FootnoteReference(label) => self.out.element("sup", &label),
            Event::TaskListMarker(done) => self.out.text(if done { "☑ " } else { "☐ " }),
        }
    }

    /// Adds an event to the description of the picture around it, and writes the picture at its end.
    fn describe(&mut self, event: &Event<'_>) {
        let Some((_, description, depth)) = &mut self.image else { return };
        match event {
            Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => {
                description.push_str(text);
            }
            Event::SoftBreak | Event::HardBreak => description.push(' '),
            Event::Start(Tag::Image { .. }) => *depth += 1,
            Event::End(TagEnd::Image) if *depth > 0 => *depth -= 1,
            Event::End(TagEnd::Image) => {
                if let Some((url, description, _)) = self.image.take() {
                    let attributes = [("src", &*url), ("alt", &*description), ("loading", "lazy")];
                    self.out.start_with("img", &attributes);
                }
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.out.start("p"),
            Tag::Heading { level, .. } => {
                let id = format!("s{}", self.headings.len() + 1);
                // Levels that the author skips are not skipped in the outline of the screen.
                while self.levels.last().is_some_and(|above| *above >= level) {
                    self.levels.pop();
                }
                self.levels.push(level);
                let depth = self.levels.len();
                self.out.start_with(heading(depth), &[("id", &id)]);
                self.headings.push(Heading { level: depth as u8, text: String::new(), id });
                self.in_heading = true;
            }
            Tag::BlockQuote(None) => self.out.start("blockquote"),
            Tag::BlockQuote(Some(kind)) => {
                let (class, name) = callout(kind);
                self.out.start_with("blockquote", &[("class", class)]);
                self.out.element("strong", name);
            }
            Tag::CodeBlock(_) | Tag::HtmlBlock => {
                self.out.start("pre");
                self.out.start("code");
            }
            Tag::List(None) => self.out.start("ul"),
            Tag::List(Some(first)) => self.out.start_with("ol", &[("start", &first.to_string())]),
            Tag::Item => self.out.start("li"),
            Tag::FootnoteDefinition(label) => {
                self.out.start_with("div", &[("class", "footnote")]);
                self.out.element("sup", &label);
                self.out.text(" ");
            }
            Tag::Table(_) => {
                // It scrolls by itself, so the keyboard must reach it.
                self.out.start_with("div", &[("class", "wide"), ("tabindex", "0")]);
                self.out.start("table");
            }
            Tag::TableHead => {
                self.in_table_head = true;
                self.out.start("tr");
            }
            Tag::TableRow => self.out.start("tr"),
            Tag::TableCell => self.out.start(if self.in_table_head { "th" } else { "td" }),
            Tag::Emphasis => self.out.start("em"),
            Tag::Strong => self.out.start("strong"),
            Tag::Strikethrough => self.out.start("del"),
            Tag::Link { dest_url, .. } => {
                // Links cannot be nested.
                let url = self.url(&dest_url).filter(|_| !self.links.contains(&true));
                self.links.push(url.is_some());
                if let Some(url) = url {
                    let rel = "noopener noreferrer nofollow";
                    self.out.start_with("a", &[("href", &url), ("rel", rel)]);
                }
            }
            Tag::Image { dest_url, .. } => {
                if let Some(url) = (self.picture)(&dest_url) {
                    self.image = Some((url, String::new(), 0));
                    return;
                }
                self.out.start_with("span", &[("class", "picture")]);
                self.out.text("picture: ");
            }
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
            | TagEnd::Strikethrough
            | TagEnd::Image => self.out.end(),
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
        if let Ok(url) = url::Url::parse(target)
            && matches!(url.scheme(), "http" | "https")
        {
            return Some(url.into());
        }
        if target.starts_with("//") || target.starts_with('#') {
            return None;
        }
        (self.page)(target)
    }
}

/// Returns the element of a heading with `depth` headings around it and itself. The page's title is
/// the first level.
fn heading(depth: usize) -> &'static str {
    match depth {
        0 | 1 => "h2",
        2 => "h3",
        3 => "h4",
        4 => "h5",
        _ => "h6",
    }
}

/// Returns the class and the name of a callout.
fn callout(kind: BlockQuoteKind) -> (&'static str, &'static str) {
    match kind {
        BlockQuoteKind::Note => ("callout note", "Note"),
        BlockQuoteKind::Tip => ("callout tip", "Tip"),
        BlockQuoteKind::Important => ("callout important", "Important"),
        BlockQuoteKind::Warning => ("callout warning", "Warning"),
        BlockQuoteKind::Caution => ("callout caution", "Caution"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        let page = |target: &str| (target == "people/ada").then(|| "/page/people/ada".to_owned());
        let picture = |target: &str| (target == "own.png").then(|| "/web/own.png".to_owned());
        render(text, page, picture).html.0
    }

    #[test]
    fn markdown_becomes_html() {
        assert_eq!(
            html("# A\n\nb *c* **d** ~~e~~ `f<`"),
            "<h2 id=\"s1\">A</h2>\n<p>b <em>c</em> <strong>d</strong> <del>e</del> <code>f&lt;</code></p>\n"
        );
        assert_eq!(html("3. a\n4. b"), "<ol start=\"3\">\n<li>a</li>\n<li>b</li>\n</ol>\n");
        assert!(html("- [x] a\n- [ ] b").contains("☑ a"));
        assert!(html("|a|\n|-|\n|b|").contains("<tr><th>a</th></tr>\n<tr><td>b</td></tr>"));
        assert!(html("```html\n<b>\n```").contains("<pre><code>&lt;b&gt;\n</code></pre>"));
    }

    #[test]
    fn headings_make_an_outline() {
        let rendered = render("## A `b` <i>\n\ntext\n\n#### [[c|C]]", |_| None, |_| None);
        let expected = [("A b ", 1, "s1"), ("C", 2, "s2")];
        let expected =
            expected.map(|(text, level, id)| Heading { level, text: text.into(), id: id.into() });
        assert_eq!(rendered.headings, expected);
        assert!(rendered.html.0.contains("<h3 id=\"s2\">C</h3>"));
        let callout = html("> [!WARNING]\n> <b>careful</b>");
        assert!(callout.contains("<blockquote class=\"callout warning\">"), "{callout}");
        assert!(!callout.contains("<b>"), "{callout}");
    }

    #[test]
    fn links_lead_to_pages_and_to_the_web() {
        assert!(html("[[people/ada]]").contains("<a href=\"/page/people/ada\" rel="));
        assert!(html("[[people/ada|Ada]]").contains(">Ada</a>"));
        assert!(
            html("[a](https://x.example/?a=1&b=\"2)")
                .contains("href=\"https://x.example/?a=1&amp;b=%222\"")
        );
        for none in [
            "[a](javascript:alert(1))",
            "[a](JaVaScRiPt:alert(1))",
            "[a](java\tscript:alert(1))",
            "[a](&#106;avascript:alert(1))",
            "[a](data:text/html,x)",
            "[a](vbscript:x)",
            "[a](file:///etc/passwd)",
            "[a](//evil.example)",
            "[a](#top)",
            "<mailto:a@b.example>",
            "[[javascript:alert(1)]]",
        ] {
            assert!(!html(none).contains("<a"), "{none}: {}", html(none));
        }
    }

    #[test]
    fn a_picture_of_the_page_is_shown_and_no_other() {
        assert_eq!(
            html("a ![b *c* `d` \"<x>](own.png) e"),
            "<p>a <img src=\"/web/own.png\" alt=\"b c d &quot;&lt;x&gt;\" loading=\"lazy\"> e</p>\n"
        );
        assert!(html("![[own.png]]").contains("<img src=\"/web/own.png\" alt=\"own.png\""));
        assert!(html("[![x](own.png)](https://x.example)").contains("nofollow\"><img src="));
        let nested = html("![a ![b](own.png) c](own.png) d");
        assert_eq!(nested.matches("<img").count(), 1, "{nested}");
        assert!(nested.contains("alt=\"a b c\"") && nested.contains("> d</p>"), "{nested}");
        for other in ["![x](other.png)", "![x](https://evil.example/own.png)", "![[none.png]]"] {
            let html = html(other);
            assert!(html.contains("picture: ") && !html.contains("<img"), "{html}");
        }
    }

    #[test]
    fn hostile_markdown_becomes_text() {
        let evil = "<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n\
                    a <b onclick=x>b</b> ![p<\">](https://evil.example/p.png)\n\n\
                    <style>*{}</style>\n\n\
                    [a\"onmouseover=x](https://x.example/\"onmouseover=alert(1))\n\n\
                    [^1]\n\n[^1]: <i>n</i>";
        let html = html(evil);
        for tag in ["<script", "<img", "<b ", "<style", "<i>", "evil.example"] {
            assert!(!html.contains(tag), "{tag}: {html}");
        }
        assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{html}");
        assert!(!html.contains("\"onmouseover"), "{html}");
    }
}
