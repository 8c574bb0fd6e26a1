//! Finds the sentence around a link, by the link's target as written. No I/O.

/// Maximum length of the searched part of a page, in bytes.
const MAX_BODY: usize = 256 << 10;
/// Maximum length of a sentence on either side of its link, in bytes.
const MAX_SIDE: usize = 500;
/// How far above a sentence its heading and list title are searched, in bytes.
const MAX_LEAD: usize = 2_000;

/// A link and its context in a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkContext<'a> {
    /// The target as the author wrote it.
    pub raw: &'a str,
    /// The sentence, list item or line with the link.
    pub sentence: &'a str,
    /// The heading above the sentence, and the title of its list (a line that ends with a colon).
    /// Each is empty if there is none.
    pub lead: [&'a str; 2],
}

/// Calls `each` with the links of `body` whose target, as written, passes `filter`. Other links are
/// skipped before the costly search for their sentence. Reads at most 256 KiB of `body`.
pub fn each_link<'a>(
    body: &'a str,
    filter: &dyn Fn(&str) -> bool,
    each: &mut dyn FnMut(LinkContext<'a>),
) {
    let body = &body[..body.floor_char_boundary(MAX_BODY)];
    let bytes = body.as_bytes();
    let mut at = 0;
    while let Some(open) = body[at..].find(['[', ']']).map(|found| at + found) {
        at = open + 1;
        let (raw, end) = match (bytes[open], bytes.get(at)) {
            (b'[', Some(b'[')) => text_until(body, at + 1, "]]"),
            (b']', Some(b'(')) => text_until(body, at + 1, ")"),
            _ => continue,
        };
        let raw = match bytes[open] {
            b'[' => raw.split('|').next().unwrap_or_default().trim_end_matches('\\').trim(),
            _ => link_address(raw),
        };
        if !raw.is_empty() && filter(raw) {
            let (from, to) = (sentence_start(body, open), sentence_end(body, end));
            each(LinkContext {
                raw,
                sentence: body[from..to].trim(),
                lead: heading_and_list_title(body, from),
            });
        }
        at = end.max(at);
    }
}

/// Returns the text from `from` to `close` on the same line, and the end of `close`. The text is
/// empty if the line has no `close`.
fn text_until<'a>(body: &'a str, from: usize, close: &str) -> (&'a str, usize) {
    let rest = body.get(from..).unwrap_or_default();
    let line = rest.split('\n').next().unwrap_or_default();
    line.find(close).map_or(("", from.min(body.len())), |to| (&line[..to], from + to + close.len()))
}

/// Returns the address in `(<address> "title")`.
fn link_address(raw: &str) -> &str {
    let raw = raw.trim();
    match raw.strip_prefix('<') {
        Some(rest) => rest.split('>').next().unwrap_or_default(),
        None => raw.split(char::is_whitespace).next().unwrap_or_default(),
    }
}

/// Returns whether the line feed at `at` ends a paragraph. Either its line is a heading, or the
/// next line is blank, a list item, a heading, a quotation or a table row.
fn ends_paragraph(body: &str, at: usize) -> bool {
    let line = body[..at].rsplit('\n').next().unwrap_or_default();
    let rest = body[at + 1..].trim_start_matches([' ', '\t']);
    line.starts_with('#')
        || rest.is_empty()
        || rest.starts_with(['\n', '\r', '-', '*', '+', '#', '>', '|'])
        || {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            digits > 0 && rest[digits..].starts_with(['.', ')'])
        }
}

/// Returns whether the mark at `at` ends a sentence. A full-width mark does; another mark does if
/// white space follows and it does not belong to an initial or title (`J. Doe`, `Dr. Doe`).
fn ends_sentence(body: &str, at: usize, mark: char) -> bool {
    if matches!(mark, '。' | '！' | '？') {
        return true;
    }
    let after = body[at + mark.len_utf8()..].chars().next();
    let word = body[..at].rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let is_abbreviation = mark == '.'
        && (1..=2).contains(&word.chars().count())
        && word.chars().all(char::is_alphabetic);
    matches!(mark, '.' | '!' | '?') && after.is_none_or(char::is_whitespace) && !is_abbreviation
}

fn sentence_start(body: &str, link: usize) -> usize {
    let earliest = body.floor_char_boundary(link.saturating_sub(MAX_SIDE));
    for (at, c) in body[earliest..link].char_indices().rev() {
        let at = earliest + at;
        if (c == '\n' && ends_paragraph(body, at)) || (c != '\n' && ends_sentence(body, at, c)) {
            return at + c.len_utf8();
        }
    }
    earliest
}

fn sentence_end(body: &str, link: usize) -> usize {
    let latest = body.floor_char_boundary((link + MAX_SIDE).min(body.len()));
    for (at, c) in body[link..latest].char_indices() {
        let at = link + at;
        if c == '\n' && ends_paragraph(body, at) {
            return at;
        }
        if c != '\n' && ends_sentence(body, at, c) {
            return at + c.len_utf8();
        }
    }
    latest
}

/// Returns the nearest heading above `at`, and the nearest line between this heading and `at` that
/// ends with a colon.
fn heading_and_list_title(body: &str, at: usize) -> [&str; 2] {
    let earliest = body.floor_char_boundary(at.saturating_sub(MAX_LEAD));
    let mut colon = "";
    for line in body[earliest..at].lines().rev().map(str::trim) {
        if line.starts_with('#') {
            return [line, colon];
        }
        if colon.is_empty()
            && line.trim_end_matches('*').ends_with(':')
            && !line.starts_with(['-', '+'])
        {
            colon = line;
        }
    }
    ["", colon]
}

/// Returns a sentence on one line, without the markup of links, bold text and list items. A longer
/// sentence is cut after `max_chars` characters and ends with `…`.
pub fn plain_sentence(sentence: &str, max_chars: usize) -> String {
    let mut out = String::with_capacity(sentence.len());
    let mut rest = sentence.trim_start_matches(['-', '*', '+', '>', '#', ' ']);
    while let Some(open) = rest.find('[') {
        out.push_str(&rest[..open]);
        rest = &rest[open + 1..];
        if let Some(inner) = rest.strip_prefix('[') {
            let (name, after) = inner.split_once("]]").unwrap_or((inner, ""));
            out.push_str(name.rsplit('|').next().unwrap_or_default());
            rest = after;
        } else if let Some((name, after)) = rest.split_once("](") {
            out.push_str(name);
            rest = after.split_once(')').map_or("", |(_, after)| after);
        } else {
            out.push('[');
        }
    }
    out.push_str(rest);
    let line = out.split_whitespace().collect::<Vec<_>>().join(" ").replace("**", "");
    match line.char_indices().nth(max_chars) {
        Some((cut, _)) => format!("{}…", line[..cut].trim_end()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn links(body: &str) -> Vec<(String, String, [String; 2])> {
        let mut out = Vec::new();
        each_link(body, &|raw| raw != "unwanted", &mut |c| {
            out.push((c.raw.to_owned(), c.sentence.to_owned(), c.lead.map(str::to_owned)));
        });
        out
    }

    #[test]
    fn each_link_has_its_sentence() {
        assert!(links("Not [this](unwanted).").is_empty());
        let body = "Acme was founded by [Mia](people/mia-0 \"x\"), once of Beta.\nIn 2022 Dr. \
            [[people/bo|Bo]] joined. Others came.";
        let found = links(body);
        assert_eq!(found[0].0, "people/mia-0");
        assert!(
            found[0].1.starts_with("Acme was founded") && found[0].1.ends_with("Beta."),
            "{found:?}"
        );
        assert_eq!(
            (found[1].0.as_str(), found[1].1.as_str()),
            ("people/bo", "In 2022 Dr. [[people/bo|Bo]] joined.")
        );
    }

    #[test]
    fn sentence_may_end_with_its_link() {
        let found = links("Founded by [[people/mia]]. Chris invested in [it](acme). Then");
        assert_eq!(
            (found[0].1.as_str(), found[1].1.as_str()),
            ("Founded by [[people/mia]].", "Chris invested in [it](acme).")
        );
    }

    #[test]
    fn list_item_has_its_heading_and_list_title() {
        let found =
            links("## Attendees\n\nThose who came:\n- [A](a)\n- [B](b)\n\n## Notes\n[C](c) spoke.");
        assert_eq!(found[1].1, "- [B](b)");
        assert_eq!(found[1].2, ["## Attendees", "Those who came:"]);
        assert_eq!(found[2].2, ["## Notes", ""]);
    }

    #[test]
    fn plain_sentence_has_no_link_markup() {
        assert_eq!(
            plain_sentence("- **Who:** [Mia B](p/m), [[p/bo|Bo]] and [x] …", 80),
            "Who: Mia B, Bo and [x] …"
        );
        assert_eq!(plain_sentence("abcdef", 3), "abc…");
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(
            body in "(\\[\\[|\\]\\]|\\]\\(|\\)|\\||\n|\\. |# |- |東|é|a|:|\\PC){0,60}") {
            each_link(&body, &|_| true, &mut |c| { plain_sentence(c.sentence, 20); });
        }
    }
}
