//! The title of a page: a stated title, the name of its file, or a sentence of its text.

use std::path::Path;

use brain_protocol::Slug;

use super::file::is_markdown;
use super::file_slug::{distinct_slug, plain_slug};
use super::frontmatter::Frontmatter;
use super::shared_text::Body;
use super::title::shorten_line;
use super::top_heading::MAX_HEADING;

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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

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
