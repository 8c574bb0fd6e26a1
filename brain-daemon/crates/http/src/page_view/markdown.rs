//! Renders markdown as inert HTML.
//!
//! Raw HTML is shown as text, images are their descriptions, and links lead to pages or the web.
//! The parser emits tags one by one, so no template can hold them; [`Writer`] takes only constant
//! names of elements and escapes everything else. No sanitizer is needed, because raw HTML is never
//! written. No I/O.

use std::ops::ControlFlow;

use maud::{Markup, PreEscaped, Render as _, html};
use pulldown_cmark::{Event, HeadingLevel, Options, Tag, TagEnd};

use crate::html::Text;
use brain_page::for_each_event;

/// How many times as long as the text its HTML may be. Longer results are shown as plain text.
const MAX_GROWTH: usize = 6;

/// Returns the HTML of `text`. `page` returns the URL of the page that a link names.
pub(super) fn render(text: &str, page: impl Fn(&str) -> Option<String>) -> Markup {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_WIKILINKS;
    let out = Writer { html: String::with_capacity(text.len() * 5 / 4), open: Vec::new() };
    let mut renderer = Renderer { out, page, links: Vec::new(), in_table_head: false };
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
        return html! { pre { (Text(text)) } };
    }
    PreEscaped(renderer.out.html)
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
        if !matches!(name, "br" | "hr") {
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

struct Renderer<F> {
    out: Writer,
    page: F,
    /// For each link around the current event, whether it leads anywhere.
    links: Vec<bool>,
    in_table_head: bool,
}

impl<F: Fn(&str) -> Option<String>> Renderer<F> {
    fn event(&mut self, event: Event<'_>) {
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

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.out.start("p"),
            Tag::Heading { level, .. } => self.out.start(heading(level)),
            Tag::BlockQuote(_) => self.out.start("blockquote"),
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
            Tag::Table(_) => self.out.start("table"),
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
            Tag::Image { .. } => {
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
            TagEnd::CodeBlock | TagEnd::HtmlBlock => {
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
            | TagEnd::Heading(_)
            | TagEnd::BlockQuote(_)
            | TagEnd::List(_)
            | TagEnd::Item
            | TagEnd::FootnoteDefinition
            | TagEnd::Table
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

    /// Returns where a link leads, if it may lead there.
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

/// Returns the element of a heading, one level lower, because the page's title is the first.
fn heading(level: HeadingLevel) -> &'static str {
    match level {
        HeadingLevel::H1 => "h2",
        HeadingLevel::H2 => "h3",
        HeadingLevel::H3 => "h4",
        HeadingLevel::H4 => "h5",
        HeadingLevel::H5 | HeadingLevel::H6 => "h6",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        render(text, |target| (target == "people/ada").then(|| "/page/people/ada".to_owned())).0
    }

    #[test]
    fn markdown_becomes_html() {
        assert_eq!(
            html("# A\n\nb *c* **d** ~~e~~ `f<`"),
            "<h2>A</h2>\n<p>b <em>c</em> <strong>d</strong> <del>e</del> <code>f&lt;</code></p>\n"
        );
        assert_eq!(html("3. a\n4. b"), "<ol start=\"3\">\n<li>a</li>\n<li>b</li>\n</ol>\n");
        assert!(html("- [x] a\n- [ ] b").contains("☑ a"));
        assert!(html("|a|\n|-|\n|b|").contains("<tr><th>a</th></tr>\n<tr><td>b</td></tr>"));
        assert!(html("```html\n<b>\n```").contains("<pre><code>&lt;b&gt;\n</code></pre>"));
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
