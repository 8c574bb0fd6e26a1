//! HTML of messages.

use brain_convert_base::count_words;
use brain_page::{MediaType, PayloadError, payload};

/// Elements whose text is not shown.
const HIDDEN: [&str; 4] = ["style", "script", "head", "title"];

/// Maximum length of the title of a picture, in characters.
const MAX_TITLE: usize = 1000;

/// Returns about how many words the HTML shows.
pub(super) fn words(html: &str) -> usize {
    let mut count = 0;
    let mut hidden: Option<&str> = None;
    let mut pieces = html.split('<');
    let first = pieces.next().unwrap_or_default();
    count += count_words(first);
    for piece in pieces {
        let name = piece.trim_start_matches('/');
        let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
        let known = HIDDEN.iter().find(|it| it.eq_ignore_ascii_case(&name[..end]));
        match (known, piece.starts_with('/')) {
            (Some(name), false) if hidden.is_none() => hidden = Some(name),
            (Some(name), true) if hidden == Some(name) => hidden = None,
            _ => {}
        }
        if hidden.is_none() {
            let text = piece.split_once('>').map_or("", |(_, text)| text);
            count += count_words(text);
        }
    }
    count
}

/// Converts HTML to markdown. Its headings become headings below that of the message.
///
/// Returns also the number of words that the HTML hides.
///
/// # Errors
/// The reason why it cannot be converted.
pub(super) fn markdown(html: &str) -> Result<(String, usize), String> {
    match payload(MediaType::Html, html.as_bytes()) {
        Ok(payload) => Ok((with_lower_headings(&payload.document.body), payload.hidden_words)),
        Err(PayloadError::Empty) => Ok((String::new(), 0)),
        Err(error) => Err(error.to_string()),
    }
}

/// Adds two `#` to each heading, up to six.
fn with_lower_headings(markdown: &str) -> String {
    let mut out = String::with_capacity(markdown.len());
    let mut fence: Option<&str> = None;
    for line in markdown.trim_end().split('\n') {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        fence = match (fence, mark) {
            (None, mark) => mark,
            (Some(open), Some(mark)) if open == mark => None,
            (open, _) => open,
        };
        if fence.is_some() {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        if (1..=6).contains(&level) && line[level..].starts_with(' ') {
            out.push_str(&"#".repeat(2.min(6 - level)));
        }
        out.push_str(line);
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out
}

/// Replaces the addresses of pictures in the message (`cid:`) by names of files. Returns the text,
/// and the ids that it shows.
pub(super) fn with_pictures(
    markdown: &str,
    mut name_of: impl FnMut(&str) -> Option<String>,
) -> String {
    let mut out = String::with_capacity(markdown.len());
    let mut rest = markdown;
    while let Some(at) = rest.find("](cid:") {
        let (before, after) = rest.split_at(at);
        let id = after["](cid:".len()..].split([')', ' ']).next().unwrap_or_default();
        let end = at + "](cid:".len() + id.len();
        let mut near = rest[end..].char_indices().take(MAX_TITLE);
        let close = near.find(|(_, c)| *c == ')').map(|(close, _)| end + close + 1);
        let start = before.rfind("![");
        match (start, close, name_of(&percent_decoded(id))) {
            (Some(start), Some(close), Some(name)) if !before[start..].contains(']') => {
                out.push_str(&before[..start]);
                out.push_str(&format!("![[{name}]]"));
                rest = &rest[close..];
            }
            _ => {
                out.push_str(&rest[..end]);
                rest = &rest[end..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn percent_decoded(id: &str) -> String {
    id.replace("%40", "@").replace("%24", "$").replace("%25", "%")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn words_of_styles_do_not_count() {
        let html =
            "<head><title>a b</title></head><style>p {x}</style><p class='a b'>one <b>two</b>";
        assert_eq!(words(html), 2);
        assert_eq!(words("no tags here"), 3);
        assert_eq!(words("<"), 0);
    }

    #[test]
    fn headings_are_below_that_of_the_message() {
        assert_eq!(
            markdown("<h1>A</h1><h5>B</h5><p>#c</p>").unwrap().0,
            "### A\n\n###### B\n\n\\#c"
        );
        assert_eq!(markdown("").unwrap().0, "");
    }

    #[test]
    fn pictures_of_the_message_become_files() {
        let name = |id: &str| (id == "a@b").then(|| "logo.png".to_owned());
        assert_eq!(with_pictures("x ![L](cid:a%40b \"t\") y", name), "x ![[logo.png]] y");
        assert_eq!(
            with_pictures("x ![](cid:other) [t](cid:a@b)", name),
            "x ![](cid:other) [t](cid:a@b)"
        );
    }

    #[test]
    fn a_table_for_the_layout_becomes_text() {
        let html = "<table><tr><td><table><tr><td>Hello</td></tr></table></td></tr><tr><td>\
                    <table><tr><td>The ferry</td></tr></table></td></tr></table>";
        let (text, _) = markdown(html).unwrap();
        assert!(!text.contains('|'), "{text}");
        assert!(text.contains("Hello") && text.contains("The ferry"), "{text}");
    }
}
