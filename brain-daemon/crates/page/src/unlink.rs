//! Replaces links in a text by what they show.

use std::ops::ControlFlow;

use brain_protocol::Slug;
use pulldown_cmark::{Event, Tag};

use super::links::{LinkReader, MENTIONS, PageLink};
use super::markdown::for_each_event;
use super::prose::{MARKDOWN, comments_and_formulas, is_in};
use super::retarget::LinkForm;

/// Replaces the links of the page `slug` for which `is_it` returns `true` by their text. All other
/// text stays.
#[must_use]
pub fn unlink(body: &str, slug: &Slug, is_it: impl Fn(&PageLink) -> bool) -> String {
    let (hidden, reader) = (comments_and_formulas(body), LinkReader::of(slug));
    let mut edits = Vec::new();
    for_each_event(body, MARKDOWN, |event, range| {
        if let Event::Start(Tag::Link { link_type, dest_url, .. }) = event
            && let Some(form) = LinkForm::of(link_type).filter(|_| !is_in(&hidden, range.start))
        {
            let raw = dest_url.strip_suffix('\\').unwrap_or(&dest_url).to_owned();
            let target = match form {
                LinkForm::Wiki => reader.parse_wiki_link(&raw),
                LinkForm::Inline | LinkForm::Reference => reader.parse_markdown_link(&raw),
            };
            let link = target.map(|target| PageLink {
                target,
                kind: MENTIONS.to_owned(),
                text: String::new(),
                raw,
            });
            if link.is_some_and(|link| is_it(&link)) {
                let text = shown_text(&body[range.clone()], form);
                edits.push((range, text.to_owned()));
            }
        }
        ControlFlow::Continue(())
    });
    let mut out = body.to_owned();
    for (range, text) in edits.into_iter().rev() {
        out.replace_range(range, &text);
    }
    out
}

/// Returns the text that a link shows.
fn shown_text(link: &str, form: LinkForm) -> &str {
    if form == LinkForm::Wiki {
        let inner = link.trim_start_matches('[').trim_end_matches(']');
        return match inner.rsplit_once('|') {
            Some((_, text)) => text,
            None => inner.rsplit('/').next().unwrap_or(inner),
        };
    }
    let inner = link.strip_prefix('[').unwrap_or(link);
    let end = ["](", "]["].iter().filter_map(|end| inner.rfind(end)).max();
    inner.get(..end.unwrap_or(inner.len())).unwrap_or(inner).trim_end_matches(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unlinked(body: &str) -> String {
        let Ok(slug) = Slug::parse("people/jan".to_owned()) else { panic!("a slug") };
        unlink(body, &slug, |link| link.raw.contains("roe"))
    }

    #[test]
    fn links_become_their_text() {
        assert_eq!(unlinked("a [[people/j-roe]] b\n"), "a j-roe b\n");
        assert_eq!(unlinked("a [[people/j-roe|Jan]] b [[other]]\n"), "a Jan b [[other]]\n");
        assert_eq!(unlinked("a [Jan *R*](j-roe.md) b\n"), "a Jan *R* b\n");
        assert_eq!(unlinked("`[[people/j-roe]]`\n"), "`[[people/j-roe]]`\n");
    }
}
