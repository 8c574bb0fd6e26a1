//! Links in tiddlers that are markdown: `[label](#Title)`, `![alt](Title)`, `[[label|Title]]`.

use super::links::Links;

/// Returns the markdown with links to pages and files. Leaves everything else as it is.
pub(super) fn with_links(text: &str, links: &mut Links<'_>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut fence: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => {
                with_links_in_line(line, links, &mut out);
                continue;
            }
            _ => {}
        }
        out.push_str(line);
    }
    out
}

fn with_links_in_line(line: &str, links: &mut Links<'_>, out: &mut String) {
    let mut rest = line;
    while let Some(at) = rest.find(['[', '`', '!']) {
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(before);
        let (shown, length) = match from.strip_prefix('`') {
            Some(code) => (None, code.find('`').map_or(1, |end| end + 2)),
            None => piece(from, links).map_or((None, 1), |(shown, length)| (Some(shown), length)),
        };
        let (source, after) = from.split_at_checked(length).unwrap_or((from, ""));
        out.push_str(shown.as_deref().unwrap_or(source));
        rest = after;
    }
    out.push_str(rest);
}

/// Converts the link at the beginning. Returns it and the length of its source.
fn piece(from: &str, links: &mut Links<'_>) -> Option<(String, usize)> {
    if let Some(inner) = from.strip_prefix("[[") {
        let (content, _) = inner.split_once("]]")?;
        let (label, title) = content.split_once('|').unwrap_or((content, content));
        return links.has_title(title).then(|| (links.link(title, label), content.len() + 4));
    }
    let is_image = from.starts_with("![");
    let inner = from.strip_prefix('!').unwrap_or(from).strip_prefix('[')?;
    let (label, after) = inner.split_once(']')?;
    let (target, _) = after.strip_prefix('(')?.split_once(')')?;
    let length = usize::from(is_image) + label.len() + target.len() + 4;
    let title = decoded(target.trim().trim_matches(['<', '>']));
    let title = title.strip_prefix('#').unwrap_or(&title);
    if !links.has_title(title) {
        return None;
    }
    let shown = match is_image {
        true => links.image(title, label),
        false => links.link(title, label),
    };
    Some((shown, length))
}

/// Decodes `%20`.
fn decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let hex = bytes.as_slice_two().filter(|_| byte == b'%');
        match hex {
            Some(value) => {
                out.push(value);
                bytes.nth(1);
            }
            None => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Looks at two hexadecimal digits.
trait Hex {
    fn as_slice_two(&self) -> Option<u8>;
}

impl Hex for std::str::Bytes<'_> {
    fn as_slice_two(&self) -> Option<u8> {
        let mut ahead = self.clone();
        let high = char::from(ahead.next()?).to_digit(16)?;
        let low = char::from(ahead.next()?).to_digit(16)?;
        u8::try_from(high * 16 + low).ok()
    }
}
