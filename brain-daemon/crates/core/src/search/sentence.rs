//! The sentence that carries a link: found by what the author wrote as its target. Pure.

/// More of a page is not looked through, in bytes.
const MAX_BODY: usize = 256 << 10;
/// A sentence reaches at most so far to either side of its link, in bytes.
const MAX_SIDE: usize = 500;
/// How far back a heading or a line that ends with a colon stands for what is below it, in bytes.
const MAX_LEAD: usize = 2_000;

/// A place in a body where a link stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Carried<'a> {
    /// The target as the author wrote it.
    pub(super) raw: &'a str,
    /// The sentence, list item or line with the link.
    pub(super) sentence: &'a str,
    /// The heading above it, and the line above a list that ends with a colon; empty without.
    pub(super) lead: [&'a str; 2],
}

/// Calls `each` with every link of `body`, as written, that `wants` its target, in order. Only for
/// those the sentence is looked for: a page may have thousands of links.
pub(super) fn carried<'a>(
    body: &'a str,
    wants: &dyn Fn(&str) -> bool,
    each: &mut dyn FnMut(Carried<'a>),
) {
    let body = &body[..body.floor_char_boundary(MAX_BODY)];
    let bytes = body.as_bytes();
    let mut at = 0;
    while let Some(open) = body[at..].find(['[', ']']).map(|found| at + found) {
        at = open + 1;
        let (raw, end) = match (bytes[open], bytes.get(at)) {
            (b'[', Some(b'[')) => within(body, at + 1, "]]"),
            (b']', Some(b'(')) => within(body, at + 1, ")"),
            _ => continue,
        };
        let raw = match bytes[open] {
            b'[' => raw.split('|').next().unwrap_or_default().trim_end_matches('\\').trim(),
            _ => target(raw),
        };
        if !raw.is_empty() && wants(raw) {
            let (from, to) = (beginning(body, open), ending(body, end));
            each(Carried { raw, sentence: body[from..to].trim(), lead: lead(body, from) });
        }
        at = end.max(at);
    }
}

/// What stands before `close`, on this line, and where that ends.
fn within<'a>(body: &'a str, from: usize, close: &str) -> (&'a str, usize) {
    let rest = body.get(from..).unwrap_or_default();
    let line = rest.split('\n').next().unwrap_or_default();
    line.find(close).map_or(("", from.min(body.len())), |to| (&line[..to], from + to + close.len()))
}

/// The address in `(<address> "title")`.
fn target(raw: &str) -> &str {
    let raw = raw.trim();
    match raw.strip_prefix('<') {
        Some(rest) => rest.split('>').next().unwrap_or_default(),
        None => raw.split(char::is_whitespace).next().unwrap_or_default(),
    }
}

/// Whether a line ends for good at the line feed at `at`: it is a heading, or what follows is
/// blank, a list item, a heading, a table's row.
fn breaks(body: &str, at: usize) -> bool {
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

/// Whether a sentence ends with the mark at `at`: white space follows, and it is no initial or
/// title (`J. Doe`, `Dr. Doe`).
fn ends(body: &str, at: usize, mark: char) -> bool {
    if matches!(mark, '。' | '！' | '？') {
        return true;
    }
    let after = body[at + mark.len_utf8()..].chars().next();
    let word = body[..at].rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let short = mark == '.'
        && (1..=2).contains(&word.chars().count())
        && word.chars().all(char::is_alphabetic);
    matches!(mark, '.' | '!' | '?') && after.is_none_or(char::is_whitespace) && !short
}

fn beginning(body: &str, link: usize) -> usize {
    let least = body.floor_char_boundary(link.saturating_sub(MAX_SIDE));
    for (at, c) in body[least..link].char_indices().rev() {
        let at = least + at;
        if (c == '\n' && breaks(body, at)) || (c != '\n' && ends(body, at, c)) {
            return at + c.len_utf8();
        }
    }
    least
}

fn ending(body: &str, link: usize) -> usize {
    let most = body.floor_char_boundary((link + MAX_SIDE).min(body.len()));
    for (at, c) in body[link..most].char_indices() {
        let at = link + at;
        if c == '\n' && breaks(body, at) {
            return at;
        }
        if c != '\n' && ends(body, at, c) {
            return at + c.len_utf8();
        }
    }
    most
}

/// The nearest heading and the nearest line with a colon at its end, above `at`; the latter only
/// below that heading.
fn lead(body: &str, at: usize) -> [&str; 2] {
    let least = body.floor_char_boundary(at.saturating_sub(MAX_LEAD));
    let mut colon = "";
    for line in body[least..at].lines().rev().map(str::trim) {
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

/// `sentence` as people read it: without the marks of links, on one line, at most `most`
/// characters.
pub(super) fn shown(sentence: &str, most: usize) -> String {
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
    match line.char_indices().nth(most) {
        Some((cut, _)) => format!("{}…", line[..cut].trim_end()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(body: &str) -> Vec<(String, String, [String; 2])> {
        let mut out = Vec::new();
        carried(body, &|raw| raw != "unwanted", &mut |c| {
            out.push((c.raw.to_owned(), c.sentence.to_owned(), c.lead.map(str::to_owned)));
        });
        out
    }

    #[test]
    fn the_sentence_of_each_link() {
        assert!(all("Not [this](unwanted).").is_empty());
        let body = "Acme was founded by [Mia](people/mia-0 \"x\"), once of Beta.\nIn 2022 Dr. [[people/bo|Bo]] joined. Others came.";
        let found = all(body);
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
    fn a_sentence_may_end_with_its_link() {
        let found = all("Founded by [[people/mia]]. Chris invested in [it](acme). Then");
        assert_eq!(
            (found[0].1.as_str(), found[1].1.as_str()),
            ("Founded by [[people/mia]].", "Chris invested in [it](acme).")
        );
    }

    #[test]
    fn a_list_has_its_heading_and_its_colon() {
        let found =
            all("## Attendees\n\nThose who came:\n- [A](a)\n- [B](b)\n\n## Notes\n[C](c) spoke.");
        assert_eq!(found[1].1, "- [B](b)");
        assert_eq!(found[1].2, ["## Attendees", "Those who came:"]);
        assert_eq!(found[2].2, ["## Notes", ""]);
    }

    #[test]
    fn shown_without_marks() {
        assert_eq!(
            shown("- **Who:** [Mia B](p/m), [[p/bo|Bo]] and [x] …", 80),
            "Who: Mia B, Bo and [x] …"
        );
        assert_eq!(shown("abcdef", 3), "abc…");
    }

    proptest! {
        #[test]
        fn nothing_panics(body in "(\\[\\[|\\]\\]|\\]\\(|\\)|\\||\n|\\. |# |- |東|é|a|:|\\PC){0,60}") {
            carried(&body, &|_| true, &mut |c| { shown(c.sentence, 20); });
        }
    }
}
