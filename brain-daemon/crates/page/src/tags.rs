//! Tags in the text of a page: `#tag` and `#nested/tag`, as Obsidian reads them.

use super::document::Document;
use super::frontmatter::{Frontmatter, normalize_tag};
use super::prose::{comments_and_formulas, for_each_prose_range, is_in};
use std::collections::HashSet;
use std::ops::Range;
use unicode_normalization::char::is_combining_mark;

/// Maximum length of a tag, in bytes.
const MAX_TAG: usize = 200;
/// Maximum number of tags of one text; further ones are ignored.
const MAX_TAGS: usize = 1000;

/// Returns the tags of a page as they are stored: those of its frontmatter, then those of its text.
#[must_use]
pub fn page_tags(frontmatter: &Frontmatter, body: &str) -> Vec<String> {
    let mut tags = frontmatter.tags();
    for tag in body_tags(body).into_iter().map(normalize_tag) {
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    tags
}

/// Returns the tags of `body` without their `#`, as they are written, each spelling once, in the
/// order of the text.
///
/// A tag begins a line, or follows white space or `*_~=`. It has letters and marks of any script,
/// digits, emoji, `_`, `-` and `/`, and not only digits. Ignores tags in code, links, addresses and
/// comments and `$$formulas$$`, and after a backslash. Linear in the length of the body.
#[must_use]
pub fn body_tags(body: &str) -> Vec<&str> {
    let (mut tags, mut known) = (Vec::new(), HashSet::new());
    for_each_tag(body, |_, tag| {
        if tags.len() < MAX_TAGS && known.insert(tag) {
            tags.push(tag);
        }
    });
    tags
}

/// Returns the byte ranges of the tags of `body`, without their `#`, in order.
#[must_use]
pub fn tag_ranges(body: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    for_each_tag(body, |at, tag| ranges.push(at..at + tag.len()));
    ranges
}

/// Calls `each` with the position and the text of each tag, without its `#`.
fn for_each_tag<'a>(body: &'a str, mut each: impl FnMut(usize, &'a str)) {
    // A page without a possible tag need not be parsed as markdown.
    if !body.match_indices('#').any(|(at, _)| tag_at(body, at, at).is_some()) {
        return;
    }
    let hidden = comments_and_formulas(body);
    for_each_prose_range(body, |run| {
        for (at, _) in body[run.clone()].match_indices('#') {
            let at = run.start + at;
            if let Some(tag) = tag_at(&body[..run.end], at, run.start)
                && !is_in(&hidden, at)
            {
                each(at + 1, tag);
            }
        }
    });
}

/// Renames the tag `from`, and those below it, in a page. Both are without `#`. Returns whether the
/// page had one.
pub fn rename_tag(document: &mut Document, from: &str, to: &str) -> bool {
    let from = normalize_tag(from);
    let renamed = |tag: &str| {
        let tag = normalize_tag(tag);
        let rest = tag.strip_prefix(from.as_str())?;
        (rest.is_empty() || rest.starts_with('/')).then(|| format!("{to}{rest}"))
    };
    let mut body = document.body.to_string();
    let mut has_tag = false;
    for range in tag_ranges(&document.body).into_iter().rev() {
        if let Some(new) = renamed(&document.body[range.clone()]) {
            body.replace_range(range, &new);
            has_tag = true;
        }
    }
    if has_tag {
        document.body = body.into();
    }
    for key in ["tags", "tag"] {
        let tags = document.frontmatter.list(key);
        // One text can have several tags.
        let parts = tags.iter().flat_map(|tag| tag.split([',', ' '])).map(str::trim);
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        if parts.iter().any(|tag| renamed(tag).is_some()) && document.frontmatter.is_plain(key) {
            let new = parts.iter().map(|tag| renamed(tag).unwrap_or_else(|| (*tag).to_owned()));
            let new: Vec<String> = new.collect();
            document.frontmatter.set_list(key, &new);
            has_tag = true;
        }
    }
    has_tag
}

/// Returns the tag whose `#` is at `at` of `text`, if one can begin there. `start` is the beginning
/// of the surrounding prose.
fn tag_at(text: &str, at: usize, start: usize) -> Option<&str> {
    let before = &text[..at];
    let can_begin = match before.chars().next_back() {
        None => true,
        Some(c) if c.is_whitespace() => true,
        // Only if a quotation, an emphasis or a piece of HTML ends before the prose.
        Some('>' | '*' | '_') => at == start,
        Some('=') => before.ends_with("=="),
        Some('~') => before.ends_with("~~"),
        Some(_) => false,
    };
    let rest = &text[at + 1..];
    let end = rest.find(|c| !is_tag_char(c)).unwrap_or(rest.len());
    let tag = rest[..end].trim_end_matches('/');
    let is_tag = can_begin
        && !tag.starts_with('/')
        && tag.len() <= MAX_TAG
        && tag.contains(|c: char| !c.is_numeric())
        && tag.contains(char::is_alphanumeric);
    is_tag.then_some(tag)
}

fn is_tag_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '/') || is_combining_mark(c) || is_emoji(c)
}

/// Returns whether `c` is an emoji or joins emoji.
fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{1F000}'..='\u{1FAFF}' | '\u{2600}'..='\u{27BF}' | '\u{2B50}' | '\u{2B55}' | '\u{200D}'
        | '\u{E0020}'..='\u{E007F}')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_tag_and_those_below_it_are_renamed() {
        let text = "---\ntags: [work, home]\n---\n\n#work #work/a #worker `#work` #Work.\n";
        let mut document = Document::parse(text).unwrap();
        assert!(rename_tag(&mut document, "#work", "job"));
        assert_eq!(&*document.body, "#job #job/a #worker `#work` #job.\n");
        assert_eq!(document.frontmatter.tags(), ["job", "home"]);
        assert!(!rename_tag(&mut document, "work", "job"));
    }

    #[test]
    fn formulas_have_no_tags() {
        assert_eq!(body_tags("$$\n#a\n\n#b x\n$$\n#c $$ #d $$"), ["c"]);
    }

    #[test]
    fn tags_have_letters_of_every_script() {
        assert_eq!(
            body_tags(
                "#one two #nested/tag, #日本語 #ไทย/บันทึก #हिन्दी #snake_case-2 #y1984 #2024-01\n#é"
            ),
            [
                "one",
                "nested/tag",
                "日本語",
                "ไทย/บันทึก",
                "हिन्दी",
                "snake_case-2",
                "y1984",
                "2024-01",
                "é"
            ]
        );
    }

    #[test]
    fn a_tag_with_an_emoji_is_whole() {
        assert_eq!(body_tags("#proj/🚀 #a🚀b, #team👩‍💻 #🚀"), ["proj/🚀", "a🚀b", "team👩‍💻"]);
    }

    #[test]
    fn tags_begin_after_space_or_emphasis() {
        assert_eq!(
            body_tags(
                "# Head #in-head\n\n- #item\n- [ ] #task\n\n> [!note] Title #call\n> \
                    #quoted\n>#tight\n\n**#bold** _#em_ ==#mark== ~~#gone~~ <b>#html</b>\n\n| a | \
                    #cell |\n"
            ),
            [
                "in-head", "item", "task", "call", "quoted", "tight", "bold", "em", "mark", "gone",
                "html", "cell"
            ]
        );
    }

    #[test]
    fn other_hash_signs_are_not_tags() {
        for body in [
            "# Heading",
            "## two",
            "#",
            "# ",
            "#1984",
            "\\#escaped",
            "a#b",
            "(#paren)",
            "x ##double",
            "https://example.org/#frag https://example.org/a#b",
            "<https://example.org/#x>",
            "[#text](to)",
            "[text](to#heading)",
            "![#alt](x.png)",
            "[[Page#Heading]] [[#Heading]] [[a|#b]]",
            "`#code`",
            "```\n#fenced\n```",
            "    #indented",
            "> ```\n> #quoted-code\n> ```",
            "<!-- #comment -->",
            "%%#comment%% %% #comment %%",
            "%%\n#comment\n\n- #comment\n%%",
            "&#35;tag &#x41;",
            "#/leading",
            "#-- #_",
            "#!shebang",
            "a>#b 2*#c snake_#d",
            "x\n\na>#b 2*#c snake_#d",
        ] {
            assert_eq!(body_tags(body), Vec::<&str>::new(), "{body}");
        }
        assert_eq!(body_tags("#a #a #A #b/ #c//d"), ["a", "A", "b", "c//d"]);
        assert!(body_tags(&format!("#{}", "x".repeat(MAX_TAG + 1))).is_empty());
        assert_eq!(body_tags("100%% #real"), ["real"]);
    }

    proptest! {
        #[test]
        fn tags_are_slices_of_the_text(body in "([#a1é日_/ *`%>\\[\\]()|\\\\-]|\n|\\PC){0,60}") {
            let tags = body_tags(&body);
            for tag in &tags {
                let written = format!("#{tag}");
                prop_assert!(body.contains(&written), "{:?}", tag);
                prop_assert!(!tag.is_empty() && tag.chars().all(is_tag_char));
                prop_assert!(!tag.chars().all(char::is_numeric));
            }
            let mut once = tags.clone();
            once.sort_unstable();
            once.dedup();
            prop_assert_eq!(once.len(), tags.len());
        }

        #[test]
        fn a_plain_tag_is_found(tag in "[a-zé日][a-z0-9日-]{0,10}(_[a-z0-9日]{1,10})?(/[a-z]{1,5})?",
            lead in "[a-z ]{0,10}") {
            let body = format!("{lead} #{tag} end");
            prop_assert_eq!(body_tags(body.trim_start()), vec![tag.as_str()]);
        }
    }
}
