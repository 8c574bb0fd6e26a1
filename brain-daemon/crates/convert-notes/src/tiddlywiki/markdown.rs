//! Links in tiddlers that are markdown: `[label](#Title)`, `![alt](Title)`, `[[label|Title]]`.

use std::collections::HashSet;

use brain_page::code_blocks;

use super::links::Links;

/// Maximum length of a link, in bytes.
const MAX_LINK: usize = 2000;

/// Returns the markdown with links to pages and files. Leaves everything else as it is.
pub(super) fn with_links(text: &str, links: &mut Links<'_>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut code = code_blocks(text).into_iter().peekable();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        while code.next_if(|block| block.end <= at).is_some() {}
        match code.peek().is_some_and(|block| block.start < end) {
            true => out.push_str(line),
            false => with_links_in_line(line, links, &mut out),
        }
        at = end;
    }
    out
}

fn with_links_in_line(line: &str, links: &mut Links<'_>, out: &mut String) {
    let mut rest = line;
    // The lengths of backquotes that do not come again.
    let mut gone = HashSet::new();
    while let Some(at) = rest.find(['[', '`', '!']) {
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(before);
        let ticks = from.bytes().take_while(|byte| *byte == b'`').count();
        let (shown, length) = match from.split_at_checked(ticks) {
            Some((mark, code)) if ticks > 0 => {
                let end = (!gone.contains(&ticks)).then(|| code.find(mark)).flatten();
                if end.is_none() {
                    gone.insert(ticks);
                }
                (None, end.map_or(ticks, |end| end + 2 * ticks))
            }
            _ => piece(from, links).map_or((None, 1), |(shown, length)| (Some(shown), length)),
        };
        let (source, after) = from.split_at_checked(length).unwrap_or((from, ""));
        out.push_str(shown.as_deref().unwrap_or(source));
        rest = after;
    }
    out.push_str(rest);
}

/// Converts the link at the beginning. Returns it and the length of its source.
fn piece(from: &str, links: &mut Links<'_>) -> Option<(String, usize)> {
    let from = from.get(..from.floor_char_boundary(MAX_LINK))?;
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
