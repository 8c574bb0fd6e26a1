//! The parts of a long page: their URLs, the links between them, and the outline.

use brain_page::LongText;
use maud::{Markup, html};

use crate::markdown::{self, Heading};
use crate::page_path::page_path;
use crate::text::Text;

/// Maximum number of headings in an outline.
const MAX_HEADINGS: usize = 500;
/// Number of parts before and after the shown part to which links lead.
const NEAR: usize = 2;

/// The view of a page that a URL selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageView {
    /// The former version; `None` for the current page.
    pub(super) version: Option<u32>,
    /// The part, from 1.
    pub(super) part: usize,
    /// Whether all tags are shown, however many.
    pub(super) has_all_tags: bool,
}

impl PageView {
    /// Parses the query of a URL: `version=N`, `part=N` and `tags=all`.
    pub(super) fn parse(query: &str) -> Self {
        let mut view = Self { version: None, part: 1, has_all_tags: false };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "version" => view.version = value.parse().ok(),
                "part" => view.part = value.parse().unwrap_or(1),
                "tags" => view.has_all_tags = value == "all",
                _ => {}
            }
        }
        view
    }

    /// Returns the path of this view of the page `name`.
    pub(super) fn path(self, name: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if let Some(version) = self.version {
            query.append_pair("version", &version.to_string());
        }
        if self.part > 1 {
            query.append_pair("part", &self.part.to_string());
        }
        if self.has_all_tags {
            query.append_pair("tags", "all");
        }
        let query = query.finish();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}{mark}{query}", page_path(name))
    }
}

/// Links to the previous and the next part of the page `name`, and by number to the first, the last
/// and the near parts. Nothing if the page has only one part.
pub(super) fn navigation(name: &str, view: PageView, count: usize, label: &str) -> Markup {
    let path = |part: usize| PageView { part, ..view }.path(name);
    let is_near = |part: usize| part == 1 || part == count || part.abs_diff(view.part) <= NEAR;
    let shown: Vec<usize> = (1..=count).filter(|part| is_near(*part)).collect();
    html! {
        @if count > 1 {
            nav class="chips" aria-label=(label) {
                @if view.part > 1 {
                    a class="chip" rel="prev" href=(Text(&path(view.part - 1))) { "Previous part" }
                }
                @for (at, part) in shown.iter().copied().enumerate() {
                    @if at > 0 && shown[at - 1] + 1 < part { span class="facts" { "…" } }
                    @if part == view.part {
                        span class="facts" aria-current="page" { "Part " (part) " of " (count) }
                    } @else {
                        a class="chip" aria-label={ "Part " (part) } href=(Text(&path(part))) {
                            (part)
                        }
                    }
                }
                @if view.part < count {
                    a class="chip" rel="next" href=(Text(&path(view.part + 1))) { "Next part" }
                }
            }
        }
    }
}

/// Returns the headings of the whole text, each with its part. `rendered` has the headings of the
/// shown part.
pub(super) fn headings(
    body: &str,
    long: &LongText<'_>,
    rendered: Vec<Heading>,
) -> Vec<(usize, Heading)> {
    match long.count() {
        1 => rendered.into_iter().map(|heading| (1, heading)).collect(),
        _ => markdown::outline_of(body, long),
    }
}

/// Shows the outline. With more than [`MAX_HEADINGS`] headings, shows only those of the shown part
/// and of the top level, up to that number.
pub(super) fn outline(name: &str, view: PageView, mut headings: Vec<(usize, Heading)>) -> Markup {
    let all = headings.len();
    if all > MAX_HEADINGS {
        headings.retain(|(part, heading)| *part == view.part || heading.level == 1);
        headings.truncate(MAX_HEADINGS);
    }
    let path = |part: usize| match part == view.part {
        true => String::new(),
        false => PageView { part, ..view }.path(name),
    };
    html! {
        @if all > 1 {
            nav class="outline" aria-labelledby="outline" {
                h2 id="outline" { "Outline" }
                ul {
                    @for (part, heading) in &headings {
                        li class={ "level" (heading.level) } {
                            a href={ (Text(&path(*part))) "#" (heading.id) } {
                                bdi { (Text(&heading.text)) }
                            }
                        }
                    }
                }
                @if headings.len() < all {
                    p class="facts" { (all - headings.len()) " more headings" }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: PageView = PageView { version: None, part: 1, has_all_tags: false };

    #[test]
    fn urls_name_version_part_and_tags() {
        for query in ["", "version=3", "part=2", "version=3&part=2&tags=all"] {
            let mark = if query.is_empty() { "" } else { "?" };
            assert_eq!(PageView::parse(query).path("a"), format!("/page/a{mark}{query}"));
        }
        assert_eq!(PageView::parse("part=x&version=-1&other"), FIRST);
    }

    #[test]
    fn links_lead_to_near_parts() {
        assert_eq!(navigation("a", FIRST, 1, "Parts").0, "");
        let shown = navigation("a", PageView { part: 10, ..FIRST }, 20, "Parts").0;
        for part in [8, 9, 11, 12, 20] {
            assert!(shown.contains(&format!("/page/a?part={part}\"")), "{part}: {shown}");
        }
        assert!(!shown.contains("part=7\"") && shown.contains("href=\"/page/a\""), "{shown}");
        assert_eq!(shown.matches('…').count(), 2, "{shown}");
    }

    #[test]
    fn a_long_outline_has_the_shown_part_and_the_top_level() {
        let heading = |at: usize| Heading {
            level: if at.is_multiple_of(100) { 1 } else { 2 },
            text: format!("h{at}"),
            id: format!("s{at}"),
        };
        let all: Vec<_> = (0..1000).map(|at| (at / 100 + 1, heading(at))).collect();
        let shown = outline("a", PageView { part: 2, ..FIRST }, all).0;
        assert_eq!(shown.matches("<li").count(), 109, "{shown}");
        assert!(shown.contains("href=\"#s150\"") && shown.contains("891 more headings"));
        assert!(shown.contains("href=\"/page/a?part=10#s900\""), "{shown}");
    }
}
