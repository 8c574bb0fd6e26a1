//! Markdown as HTML that nothing acts in: every tag is one of these here, raw HTML is shown as the text it is, pictures are their
//! descriptions, and links lead to pages or to the web. Pure.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use pulldown_cmark::{CodeBlockKind, Event, Options, Tag, TagEnd};

use crate::escape;
use brain_page::for_each_event;

/// How many times as long as the text its HTML may be; what is longer is shown as plain text.
const MAX_GROWTH: usize = 6;

/// The HTML of `text`. `page` knows the address of the page that a link means.
pub(super) fn render(text: &str, page: impl Fn(&str) -> Option<String>) -> String {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_WIKILINKS;
    let mut out = Out {
        html: String::with_capacity(text.len() * 5 / 4),
        page,
        open: Vec::new(),
        head: false,
    };
    let most = MAX_GROWTH * text.len() + MAX_GROWTH * 1024;
    for_each_event(text, options, |event, _| {
        out.event(event);
        if out.html.len() > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if out.html.len() > most {
        // Nests that inflate are shown as they were written.
        return format!("<pre>{}</pre>\n", escape::text(text));
    }
    out.html
}

struct Out<F> {
    html: String,
    page: F,
    /// Of each link around here, whether it leads anywhere.
    open: Vec<bool>,
    /// Whether this is the head of a table.
    head: bool,
}

impl<F: Fn(&str) -> Option<String>> Out<F> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text) => self.html.push_str(&escape::text(&text)),
            Event::Code(text) => self.put(format_args!("<code>{}</code>", escape::text(&text))),
            Event::SoftBreak => self.html.push('\n'),
            Event::HardBreak => self.html.push_str("<br>\n"),
            Event::Rule => self.html.push_str("<hr>\n"),
            Event::FootnoteReference(label) => {
                self.put(format_args!("<sup>{}</sup>", escape::text(&label)));
            }
            Event::TaskListMarker(done) => self.html.push_str(if done { "☑ " } else { "☐ " }),
        }
    }

    fn put(&mut self, what: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = self.html.write_fmt(what);
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.html.push_str("<p>"),
            // The title is the first of them.
            Tag::Heading { level, .. } => self.put(format_args!("<h{}>", (level as u8 + 1).min(6))),
            Tag::BlockQuote(_) => self.html.push_str("<blockquote>\n"),
            Tag::CodeBlock(CodeBlockKind::Indented | CodeBlockKind::Fenced(_)) | Tag::HtmlBlock => {
                self.html.push_str("<pre><code>");
            }
            Tag::List(None) => self.html.push_str("<ul>\n"),
            Tag::List(Some(first)) => self.put(format_args!("<ol start=\"{first}\">\n")),
            Tag::Item => self.html.push_str("<li>"),
            Tag::FootnoteDefinition(label) => {
                self.put(format_args!(
                    "<div class=\"footnote\"><sup>{}</sup> ",
                    escape::text(&label)
                ));
            }
            Tag::Table(_) => self.html.push_str("<table>\n"),
            Tag::TableHead => {
                self.head = true;
                self.html.push_str("<tr>");
            }
            Tag::TableRow => self.html.push_str("<tr>"),
            Tag::TableCell => self.html.push_str(if self.head { "<th>" } else { "<td>" }),
            Tag::Emphasis => self.html.push_str("<em>"),
            Tag::Strong => self.html.push_str("<strong>"),
            Tag::Strikethrough => self.html.push_str("<del>"),
            Tag::Link { dest_url, .. } => {
                // A link in a link is none.
                let inner = self.open.iter().any(|open| *open);
                let address = self.address(&dest_url).filter(|_| !inner);
                if let Some(address) = &address {
                    self.put(format_args!(
                        "<a href=\"{}\" rel=\"noopener noreferrer nofollow\">",
                        escape::text(address)
                    ));
                }
                self.open.push(address.is_some());
            }
            Tag::Image { .. } => self.html.push_str("<span class=\"picture\">picture: "),
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
            TagEnd::Paragraph => self.html.push_str("</p>\n"),
            TagEnd::Heading(level) => self.put(format_args!("</h{}>\n", (level as u8 + 1).min(6))),
            TagEnd::BlockQuote(_) => self.html.push_str("</blockquote>\n"),
            TagEnd::CodeBlock | TagEnd::HtmlBlock => self.html.push_str("</code></pre>\n"),
            TagEnd::List(true) => self.html.push_str("</ol>\n"),
            TagEnd::List(false) => self.html.push_str("</ul>\n"),
            TagEnd::Item => self.html.push_str("</li>\n"),
            TagEnd::FootnoteDefinition => self.html.push_str("</div>\n"),
            TagEnd::Table => self.html.push_str("</table>\n"),
            TagEnd::TableHead => {
                self.head = false;
                self.html.push_str("</tr>\n");
            }
            TagEnd::TableRow => self.html.push_str("</tr>\n"),
            TagEnd::TableCell => self.html.push_str(if self.head { "</th>" } else { "</td>" }),
            TagEnd::Emphasis => self.html.push_str("</em>"),
            TagEnd::Strong => self.html.push_str("</strong>"),
            TagEnd::Strikethrough => self.html.push_str("</del>"),
            TagEnd::Link => {
                if self.open.pop() == Some(true) {
                    self.html.push_str("</a>");
                }
            }
            TagEnd::Image => self.html.push_str("</span>"),
            TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    /// Where a link leads, if it may lead there.
    fn address(&self, target: &str) -> Option<String> {
        let target = target.trim();
        if let Ok(address) = url::Url::parse(target)
            && matches!(address.scheme(), "http" | "https")
        {
            return Some(address.into());
        }
        if target.starts_with("//") || target.starts_with('#') {
            return None;
        }
        (self.page)(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        render(text, |target| (target == "people/ada").then(|| "/page/people/ada".to_owned()))
    }

    #[test]
    fn markdown_is_markdown() {
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
    fn nothing_in_it_acts() {
        let evil = "<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\na <b onclick=x>b</b> ![p<\">](https://evil.example/p.png)\n\n\
                    <style>*{}</style>\n\n[a\"onmouseover=x](https://x.example/\"onmouseover=alert(1))\n\n[^1]\n\n[^1]: <i>n</i>";
        let html = html(evil);
        for tag in ["<script", "<img", "<b ", "<style", "<i>", "evil.example"] {
            assert!(!html.contains(tag), "{tag}: {html}");
        }
        assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{html}");
        assert!(!html.contains("\"onmouseover"), "{html}");
    }
}
