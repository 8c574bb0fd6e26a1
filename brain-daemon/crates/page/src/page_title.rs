//! The title of a page: a stated title, the name of its file, or a sentence of its text.

use std::path::Path;

use brain_protocol::Slug;
use pulldown_cmark::{Event, HeadingLevel, LinkType, Parser, Tag, TagEnd};

use super::file::is_markdown;
use super::file_slug::{distinct_slug, plain_slug};
use super::frontmatter::Frontmatter;
use super::shared_text::Body;
use super::title::{inline_options, link_text, shorten_line};

/// Maximum length of a heading that is a title, in characters.
const MAX_HEADING: usize = 300;

/// How much of the body is searched for a heading at the top, in bytes.
const TOP_BYTES: usize = 8192;

/// Maximum number of lines of a heading before the line that underlines it.
const HEADING_LINES: usize = 4;

/// Returns the title of a page: the one in its frontmatter, else a first-level heading at the top
/// of its text. A page that was captured without both has its first sentence. `None` means that the
/// title is the name of its file, see [`file_title`].
#[must_use]
pub fn title_of(slug: &Slug, frontmatter: &Frontmatter, body: &Body) -> Option<String> {
    frontmatter
        .title()
        .or_else(|| body.top_heading().map(str::to_owned))
        .or_else(|| is_captured(slug, frontmatter.raw()).then(|| body.derived_title().to_owned()))
}

/// Returns the title that a file at `path` gives its page: its name as written, without `.md`. An
/// `index.md`, which stands for its directory (Hugo's bundles), gives the directory's name. An
/// imported page has the name of the file at `origin` (`file:///notes/Big Idea.md`), if the name of
/// its own file (`big-idea.md`) was made from it.
#[must_use]
pub fn file_title(path: &str, origin: Option<&str>) -> String {
    // An imported file has the title that a sync of its directory would give it.
    let depth = path.split('/').count();
    let imported = origin.and_then(|uri| uri.strip_prefix("file://")).map(|origin| {
        let start = origin.rmatch_indices('/').nth(depth - 1).map_or(0, |(at, _)| at + 1);
        &origin[start..]
    });
    let is_own_file = |imported: &&str| {
        let own = plain_slug(path);
        is_markdown(Path::new(imported))
            && own.is_ok()
            && (plain_slug(imported) == own || distinct_slug(imported) == own)
    };
    let path = imported.filter(is_own_file).unwrap_or(path);
    let name = |path: &'_ str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let (own, origin) = (name(path), origin.and_then(|uri| uri.strip_prefix("file://")).map(name));
    let is_same = |origin: &String| {
        *origin != own
            && is_markdown(Path::new(origin))
            && Slug::from_path(origin).is_ok_and(|slug| Slug::from_path(&own) == Ok(slug))
    };
    let file = origin.filter(is_same).unwrap_or(own);
    let stem = match is_markdown(Path::new(&file)) {
        true => file.rsplit_once('.').map_or(file.as_str(), |(stem, _)| stem),
        false => &file,
    };
    let directory = path.rsplit('/').nth(1).filter(|name| !name.is_empty());
    let stem = match (stem, directory) {
        ("index" | "_index", Some(directory)) => directory,
        _ => stem,
    };
    shorten_line(stem, MAX_HEADING).unwrap_or_else(|| file.clone())
}

/// Returns whether the title of a page is only the beginning of a captured text. Such a title is
/// only shown; it is not a name of the page.
#[must_use]
pub fn is_first_sentence(title: &str, slug: &Slug, frontmatter: &str, body: &Body) -> bool {
    is_captured(slug, frontmatter) && body.top_heading().is_none() && title == body.derived_title()
}

/// Returns whether a page was captured, so that its author gave it no file name. `frontmatter` is
/// the text of the frontmatter.
pub(super) fn is_captured(slug: &Slug, frontmatter: &str) -> bool {
    // `inbox/2026-11-21-0123abcd` is a name that brain made.
    let is_inbox_name = slug.as_str().strip_prefix("inbox/").is_some_and(|name| {
        name.len() == 19
            && name.bytes().enumerate().all(|(at, byte)| match at {
                4 | 7 | 10 => byte == b'-',
                0..=9 => byte.is_ascii_digit(),
                _ => byte.is_ascii_hexdigit(),
            })
    });
    let is_key = |line: &str| {
        let rest = line.strip_prefix("captured_via").map(str::trim_start);
        rest.is_some_and(|rest| rest.starts_with([':', '=']))
    };
    is_inbox_name || frontmatter.lines().any(is_key)
}

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
#[allow(clippy::unwrap_used)]
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

    #[test]
    fn a_page_without_a_title_has_the_name_of_its_file() {
        for (path, title) in [
            ("Projects/Big Idea.md", "Big Idea"),
            ("v1.2.md", "v1.2"),
            ("README.markdown", "README"),
            ("a/2024-01-02.mdx", "2024-01-02"),
            ("posts/Storm/index.md", "Storm"),
            ("posts/_index.md", "posts"),
            ("index.md", "index"),
            (".md", ".md"),
        ] {
            assert_eq!(file_title(path, None), title);
        }
        let imported = |origin| file_title("projects/big-idea.md", Some(origin));
        assert_eq!(imported("file:///home/me/Big Idea.md"), "Big Idea");
        let bundle = |origin| file_title("posts/big-storm/index.md", Some(origin));
        assert_eq!(bundle("file:///site/Posts/Big Storm/index.md"), "Big Storm");
        assert_eq!(bundle("file:///site/other/index.md"), "big-storm");
        let root = file_title("index.md", Some("file:///home/me/My Notes/index.md"));
        assert_eq!(root, "index", "the directory itself is not part of the path");
        let signs = distinct_slug("C++.md").unwrap().to_string() + ".md";
        assert_eq!(file_title(&signs, Some("file:///home/me/C++.md")), "C++");
        assert_eq!(imported("file:///home/me/Other.md"), "big-idea");
        assert_eq!(imported("https://example.org/Big Idea.md"), "big-idea");
    }

    #[test]
    fn only_a_captured_page_has_a_sentence_as_title() {
        let (inbox, named) = ("inbox/2026-11-21-0123abcd", "projects/idea");
        let title = |slug: &str, raw: &str, body: &str| {
            title_of(&Slug::parse(slug).unwrap(), &Frontmatter::parse(raw).unwrap(), &body.into())
        };
        assert_eq!(title(inbox, "", "Buy milk").as_deref(), Some("Buy milk"));
        assert_eq!(
            title(named, "captured_via: capture-cli", "Buy milk").as_deref(),
            Some("Buy milk")
        );
        assert_eq!(title(named, "", "Buy milk"), None);
        assert_eq!(title(named, "title: Own", "# Other").as_deref(), Some("Own"));
        assert_eq!(title("inbox/big-idea", "", "Buy milk"), None);
        let is_sentence = |slug: &str, title: &str, body: &str| {
            is_first_sentence(title, &Slug::parse(slug).unwrap(), "", &body.into())
        };
        assert!(is_sentence(inbox, "Buy milk", "Buy milk"));
        assert!(!is_sentence(inbox, "Shopping", "Buy milk"));
        assert!(!is_sentence(inbox, "Plan", "# Plan"));
        assert!(!is_sentence(named, "Buy milk", "Buy milk"));
    }
}
