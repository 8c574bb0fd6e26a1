//! Splits a page's text into frontmatter and body, and joins them. Does not interpret either.

use std::borrow::Cow;

use super::frontmatter::{Frontmatter, FrontmatterError, MAX_FRONTMATTER, is_closing};
use super::shared_text::Body;
use super::toml;
use super::yaml::BadText;

/// A page as in a file: frontmatter and body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The block of YAML or TOML; empty if there is none.
    pub frontmatter: Frontmatter,
    /// The rest in the author's characters, including line ends, without the one blank line between
    /// frontmatter and body.
    pub body: Body,
}

impl Document {
    /// Parses a document. Drops one leading byte order mark.
    ///
    /// The frontmatter is the text between a first line `---` and the next line `---` or `...`. It
    /// is a YAML mapping, comments, or empty. Or it is the TOML between two lines `+++`. Without a
    /// closing line, or if the text between two lines `---` is prose, the whole document is body.
    ///
    /// # Errors
    /// When a block that looks like frontmatter is malformed, longer than [`MAX_FRONTMATTER`], or
    /// refused by [`Frontmatter::parse`]. Lines are counted from the first line of the document.
    pub fn parse(text: &str) -> Result<Self, FrontmatterError> {
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let all_body = || Ok(Self { frontmatter: Frontmatter::empty(), body: text.into() });
        let Some((raw, body)) = split(text) else {
            return all_body();
        };
        let body =
            ["\r\n", "\n", "\r"].iter().find_map(|end| body.strip_prefix(end)).unwrap_or(body);
        match Frontmatter::read(&raw) {
            Ok(frontmatter) => Ok(Self { frontmatter, body: body.into() }),
            Err(BadText::NotMapping) => all_body(),
            Err(BadText::Bad { .. }) if !looks_like_frontmatter(&raw) => all_body(),
            Err(BadText::Bad { line, column, message }) => {
                Err(FrontmatterError { line: line + 1, column, message })
            }
        }
    }

    /// Returns the document as text, which [`Document::parse`] parses to an equal document; see
    /// [`file_text`].
    #[must_use]
    pub fn render(&self) -> String {
        file_text(self.frontmatter.raw(), &self.body)
    }
}

/// Returns a page as in its file: `---`, the YAML, `---`, a blank line, the body; or the same with
/// TOML and `+++`. Without frontmatter it is only the body, unless that would be parsed as
/// frontmatter. The lines of the frontmatter end like the first line of the body.
#[must_use]
pub fn file_text(frontmatter: &str, body: &str) -> String {
    if frontmatter.is_empty() {
        let is_plain_body = !body.starts_with(['-', '+', '\u{FEFF}'])
            || Document::parse(body)
                .is_ok_and(|read| read.frontmatter.is_empty() && read.body == body);
        if is_plain_body {
            return body.to_owned();
        }
    }
    join(frontmatter, body, line_end(body))
}

/// Returns the text of the file as earlier versions of brain wrote it, if it differs.
pub(super) fn earlier_file_text(frontmatter: &str, body: &str) -> Option<String> {
    if frontmatter.is_empty() {
        // TOML was part of the body.
        return body.starts_with(toml::FENCE).then(|| body.to_owned());
    }
    (line_end(body) != "\n").then(|| join(frontmatter, body, "\n"))
}

/// Returns the line end of the first line; LF if there is none.
fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Joins frontmatter and body. Each line of the frontmatter ends with `end`.
fn join(frontmatter: &str, body: &str, end: &str) -> String {
    let mut out = String::with_capacity(frontmatter.len() + body.len() + 12);
    let mut line = |text: &str| {
        out.push_str(text);
        out.push_str(end);
    };
    let (fence, lines) = match toml::block(frontmatter) {
        Some(lines) => (toml::FENCE, lines),
        None => ("---", frontmatter),
    };
    line(fence);
    lines.lines().for_each(&mut line);
    line(fence);
    if !body.is_empty() {
        line("");
        out.push_str(body);
    }
    out
}

/// Returns the text between the first line `---` and its closing line, and the text after that
/// line. TOML is returned with the line `+++` before it.
fn split(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let (first, start) = line(text, 0)?;
    let is_toml = match first.trim_end() {
        "---" => false,
        toml::FENCE => true,
        _ => return None,
    };
    let mut at = start;
    while let Some((found, next)) = line(text, at) {
        let (raw, rest) = (&text[start..at], &text[next..]);
        if is_toml && found.trim_end() == toml::FENCE {
            return Some((Cow::Owned(format!("{}\n{raw}", toml::FENCE)), rest));
        }
        if !is_toml && is_closing(found) {
            // Between lines of dashes, a line of plus signs is prose.
            return (!raw.starts_with(toml::FENCE)).then_some((Cow::Borrowed(raw), rest));
        }
        at = next;
    }
    None
}

/// Returns the line at `at` without its end (LF, CRLF or CR), and the position of the next line.
fn line(text: &str, at: usize) -> Option<(&str, usize)> {
    let rest = &text[at..];
    if rest.is_empty() {
        return None;
    }
    let Some(end) = rest.bytes().position(|b| b == b'\n' || b == b'\r') else {
        return Some((rest, text.len()));
    };
    let width = if rest[end..].starts_with("\r\n") { 2 } else { 1 };
    Some((&rest[..end], at + end + width))
}

/// Returns whether an invalid block was meant as frontmatter. Its first line, or more than half of
/// its unindented lines, has the form `key: value`, or the block begins with `{`. Prose between two
/// thematic breaks is not frontmatter.
fn looks_like_frontmatter(raw: &str) -> bool {
    if let Some(text) = toml::block(raw) {
        return toml::looks_like_toml(text);
    }
    let head = &raw[..raw.floor_char_boundary(MAX_FRONTMATTER)];
    let lines = head.split(['\n', '\r']).filter(|l| !l.trim().is_empty() && !l.starts_with('#'));
    let (mut first, mut keys, mut all) = (false, 0_usize, 0_usize);
    for line in lines.filter(|l| !l.starts_with([' ', '\t', '-'])) {
        let key = is_key_line(line);
        first |= key && all == 0;
        keys += usize::from(key);
        all += 1;
    }
    first || keys * 2 > all || raw.trim_start().starts_with('{')
}

/// Returns whether `line` has the form `key: …`, with a key of one word, which may be in quotes.
fn is_key_line(line: &str) -> bool {
    let Some((key, rest)) = line.split_once(':') else {
        return false;
    };
    let key = key.trim().trim_matches(['"', '\'']);
    (rest.is_empty() || rest.starts_with([' ', '\t']))
        && !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '&' | '*' | '!'))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::content_hash;
    use proptest::prelude::*;

    fn parts(text: &str) -> (String, String) {
        let d = Document::parse(text).unwrap();
        (d.frontmatter.raw().to_owned(), d.body.into())
    }

    fn pair(raw: &str, body: &str) -> (String, String) {
        (raw.to_owned(), body.to_owned())
    }

    #[test]
    fn frontmatter_is_found_in_every_form() {
        let expected = pair("a: 1\n", "body\n");
        assert_eq!(parts("---\na: 1\n---\n\nbody\n"), expected);
        assert_eq!(parts("---\na: 1\n---\nbody\n"), expected);
        assert_eq!(parts("---  \na: 1\n...\nbody\n"), expected);
        assert_eq!(parts("\u{FEFF}---\r\na: 1\r\n--- \r\n\r\nbody\n"), expected);
        assert_eq!(parts("---\ra: 1\r---\r\rbody\n"), expected);
        assert_eq!(parts("---\na: 1\n---"), pair("a: 1\n", ""));
        assert_eq!(parts("---\n---\nbody"), pair("", "body"));
        assert_eq!(parts("---\n\n---\nbody"), pair("", "body"));
        assert_eq!(parts("---\n# c: d\n---\nbody"), pair("# c: d\n", "body"));
        assert_eq!(parts("---\na: 1\n---\n\n\n x\r\n---\r\ny"), pair("a: 1\n", "\n x\r\n---\r\ny"));
        assert_eq!(parts("---\na: |\n  ---\n  x\n---\nb"), pair("a: |\n  ---\n  x\n", "b"));
    }

    #[test]
    fn text_between_rules_is_no_frontmatter() {
        for text in [
            "",
            "plain",
            "---",
            "---\n",
            "---\na: 1\n",
            "---\nprose\n---\nmore",
            "---\n\nSome prose, and more.\n\n---\n\nx",
            "---\n- a\n- b\n---\n",
            "----\na: 1\n----\n",
            " ---\na: 1\n---\n",
            "\n---\na: 1\n---\n",
            "text\n---\na: 1\n---\n",
            "---\n# Heading\n\nLong text with: colon\nand *emphasis* `code`\n---\nx",
            "---\n[link]: <x\n@y\n---\n",
        ] {
            assert_eq!(parts(text), pair("", text), "{text:?}");
        }
    }

    #[test]
    fn malformed_frontmatter_is_an_error_with_a_position() {
        let e = Document::parse("---\r\ntitle: \"x\r\ntype: note\r\n---\r\nbody").unwrap_err();
        assert!(e.line >= 2 && e.column >= 1, "{e}");
        let e = Document::parse("---\ntitle: x\n\ttype: note\n---\nbody").unwrap_err();
        assert!(e.line == 2 || e.line == 3, "{e}");
        assert!(Document::parse("---\ntitle: a: b\n---\n").is_err());
        assert!(Document::parse("---\n{a: 1\n---\n").is_err());
        let long = format!("---\n{}---\nbody", "key: value\n".repeat(9000));
        assert_eq!(Document::parse(&long).unwrap_err().line, 2);
        let prose = format!("---\n{}---\nbody", "Prose without an end.\n".repeat(7000));
        assert_eq!(parts(&prose).1, prose);
    }

    #[test]
    fn a_body_that_looks_like_frontmatter_stays_body() {
        let text = "---\n---\n---\ntitle: x\n---\nbody";
        let d = Document::parse(text).unwrap();
        assert_eq!((d.frontmatter.is_empty(), d.body.as_str()), (true, "---\ntitle: x\n---\nbody"));
        assert_eq!(Document::parse(&d.render()).unwrap(), d);
        let d = Document { frontmatter: Frontmatter::empty(), body: "\u{FEFF}x".into() };
        assert_eq!(Document::parse(&d.render()).unwrap(), d);
    }

    #[test]
    fn rendering_adds_nothing() {
        for text in
            ["---\na: 1\n---\n\nbody\n", "---\na: 1\n---\n", "body\n", "---\nrule\n---\n", "\n\nx"]
        {
            assert_eq!(Document::parse(text).unwrap().render(), text);
        }
    }

    proptest! {
        #[test]
        fn rendered_documents_parse_to_equal_ones(
            text in "\u{FEFF}{0,2}(---|\\.\\.\\.|a: 1|b: x #y|tags: \\[a\\]|c:|  - d|prose|# \
                c|\\{e: f\\}|\u{FEFF}| |\\PC{0,6})?(\n|\r\n|\r|(---|k: \
                v)\n|){0,3}((---|\\.\\.\\.|a: 1|b: x #y|c:|  - d|prose| \
                |\\PC{0,6})(\n|\r\n|\r)){0,8}",
        ) {
            if let Ok(d) = Document::parse(&text) {
                let out = d.render();
                let again = Document::parse(&out).unwrap();
                prop_assert_eq!(&again, &d);
                prop_assert_eq!(again.render(), out);
                prop_assert_eq!(content_hash(&again.body), content_hash(&d.body));
                prop_assert!(text.ends_with(&*d.body));
            }
        }

        #[test]
        fn any_body_survives(raw in "(a: [a-z]\n)?",
            body in "(---\n|a: 1\n|\r|\u{FEFF}|x| |\n){0,8}") {
            let d = Document { frontmatter: Frontmatter::parse(&raw).unwrap(), body: body.into() };
            prop_assert_eq!(Document::parse(&d.render()).unwrap(), d);
        }
    }
}
