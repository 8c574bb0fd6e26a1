//! The heading at the top of a page's text, which is its title.

use pulldown_cmark::{Event, HeadingLevel, LinkType, Parser, Tag, TagEnd};

use super::title::{inline_options, link_text, shorten_line};

/// Maximum length of a heading that is a title, in characters.
pub(super) const MAX_HEADING: usize = 300;

/// How much of the body is searched for a heading at the top, in bytes.
const TOP_BYTES: usize = 8192;

/// Maximum number of lines of a heading before the line that underlines it.
const HEADING_LINES: usize = 4;

/// Returns the first-level heading at the top of `body`. Comments, HTML, images, badges and
/// thematic breaks may precede it.
#[must_use]
pub fn top_heading(body: &str) -> Option<String> {
    let body = body.strip_prefix('\u{FEFF}').unwrap_or(body);
    let mut lines = body.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next()?;
    // Most texts begin with a word, so they have no other heading than an underlined one.
    if first.starts_with(char::is_alphanumeric) && !lines.take(HEADING_LINES).any(is_underline) {
        return None;
    }
    let top = &body[..body.floor_char_boundary(TOP_BYTES)];
    let (mut title, mut depth, mut is_target) = (None::<String>, 0_usize, false);
    for event in Parser::new_ext(top, inline_options()) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                if level != HeadingLevel::H1 {
                    return None;
                }
                title = Some(String::new());
            }
            Event::End(TagEnd::Heading(_)) => {
                let heading = title.take().and_then(|text| shorten_line(&text, MAX_HEADING));
                if heading.is_some() {
                    return heading;
                }
            }
            Event::Start(Tag::Image { .. }) if title.is_none() => depth += 1,
            Event::End(TagEnd::Image) if title.is_none() => depth = depth.saturating_sub(1),
            Event::Text(text) | Event::Code(text) => match &mut title {
                Some(title) => title.push_str(link_text(&text, is_target)),
                None if depth == 0 && !text.trim().is_empty() && !is_comment(&text) => return None,
                None => {}
            },
            Event::SoftBreak | Event::HardBreak => {
                if let Some(title) = &mut title {
                    title.push(' ');
                }
            }
            Event::Start(Tag::Link {
                link_type: LinkType::WikiLink { has_pothole: false },
                ..
            }) => is_target = true,
            Event::End(TagEnd::Link) => is_target = false,
            Event::Start(Tag::HtmlBlock | Tag::Paragraph | Tag::Link { .. })
            | Event::End(TagEnd::HtmlBlock | TagEnd::Paragraph)
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::Rule => {}
            Event::Start(_) if title.is_none() => return None,
            _ => {}
        }
    }
    None
}

/// Returns whether `text` is a comment in the form of Obsidian, on one line.
fn is_comment(text: &str) -> bool {
    let text = text.trim();
    text.len() >= 4 && text.starts_with("%%") && text.ends_with("%%")
}

/// Returns whether the line makes the text above it a first-level heading.
fn is_underline(line: &str) -> bool {
    line.bytes().all(|byte| byte == b'=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_at_the_top() {
        for (body, title) in [
            ("# Plan #\nx", Some("Plan")),
            ("\n\n#  The *big* [idea](x) `now`\n", Some("The big idea now")),
            ("Plan\n====\nx", Some("Plan")),
            ("<!-- c -->\n\n# Plan", Some("Plan")),
            ("<p align=\"center\">\n<img src=\"x\">\n</p>\n\n# Plan", Some("Plan")),
            ("[![Build](a.svg)](b)\n![Logo](c.png)\n\n# Plan", Some("Plan")),
            ("%% private %%\n\n# See [[people/ann]]", Some("See ann")),
            ("---\n# Plan", Some("Plan")),
            ("Some loose text.\n\n# Later", None),
            ("## Second level\n# First", None),
            ("- item\n\n# Later", None),
            ("> # Quoted\n", None),
            ("```sh\n# comment\n```\n", None),
            ("#tag\n\n# Later", None),
            ("#\n", None),
            ("", None),
        ] {
            assert_eq!(top_heading(body).as_deref(), title, "{body:?}");
        }
    }
}
