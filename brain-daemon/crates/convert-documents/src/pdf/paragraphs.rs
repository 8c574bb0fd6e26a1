//! Makes paragraphs of the lines of a page.

use std::collections::HashSet;

use brain_convert_base::literal_line;

use super::characters::SOFT_HYPHEN;

/// A line that is shorter than this part of the page's usual line ends its paragraph.
const SHORT: f32 = 0.7;
/// The lines of a page that are longer than this part of its lines are its usual ones.
const USUAL: f32 = 0.8;
/// Characters that divide a word at the end of a line.
const HYPHENS: [char; 3] = ['-', '\u{2010}', SOFT_HYPHEN];
/// Maximum level of a heading in markdown.
const MAX_LEVEL: usize = 6;

/// A bookmark of a page.
#[derive(Debug)]
pub(super) struct Bookmark {
    /// Its title, in one line.
    pub(super) title: String,
    /// Its level, from 1.
    pub(super) level: usize,
}

/// The words of a document. They tell whether a hyphen at a line's end belongs to the word.
#[derive(Debug, Default)]
pub(super) struct Words(HashSet<String>);

impl Words {
    /// Adds the words of a line, except for its first and last one, which can be parts.
    pub(super) fn add(&mut self, line: &str) {
        let line = line.replace(SOFT_HYPHEN, "-");
        let mut words = line.split_whitespace().skip(1).peekable();
        while let Some(word) = words.next() {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric());
            if words.peek().is_some() && !word.is_empty() {
                self.0.insert(word.to_lowercase());
            }
        }
    }

    fn contains(&self, word: &str) -> bool {
        self.0.contains(&word.to_lowercase())
    }
}

/// Returns the markdown of a page. A line that is the title of one of its bookmarks is a heading.
pub(super) fn markdown(lines: &[String], bookmarks: &[Bookmark], words: &Words) -> String {
    let lines = join_divided_words(lines, words);
    let mut lengths: Vec<usize> = lines.iter().map(|line| line.chars().count()).collect();
    lengths.sort_unstable();
    let usual = (lengths.len() as f32 * USUAL) as usize;
    let usual = lengths.get(usual).or(lengths.last()).copied().unwrap_or_default();
    let mut out = String::new();
    for line in &lines {
        let bookmark = bookmarks.iter().find(|it| is_title(line, &it.title));
        let is_short = (line.chars().count() as f32) < usual as f32 * SHORT;
        if let Some(bookmark) = bookmark {
            let end = out.trim_end().len();
            out.truncate(end);
            out.push_str(if out.is_empty() { "" } else { "\n\n" });
            // A page is a heading of level 2.
            out.push_str(&"#".repeat((bookmark.level + 2).min(MAX_LEVEL)));
            out.push(' ');
        }
        out.push_str(&literal_line(line));
        out.push_str(if is_short || bookmark.is_some() { "\n\n" } else { "\n" });
    }
    out.trim_end().to_owned()
}

/// Returns whether a line is this title, perhaps with its number.
fn is_title(line: &str, title: &str) -> bool {
    let is_number = |text: &str| {
        let text = text.trim_end();
        text.chars().count() <= 12
            && text.chars().any(char::is_numeric)
            && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | ' ' | ':'))
    };
    match line.strip_suffix(title) {
        Some("") => !title.is_empty(),
        Some(number) => number.ends_with([' ', '.']) && is_number(number),
        None => false,
    }
}

/// Joins the parts of words that are divided at the end of a line.
fn join_divided_words(lines: &[String], words: &Words) -> Vec<String> {
    let mut joined: Vec<String> = Vec::with_capacity(lines.len());
    for line in lines {
        let Some(previous) = joined.last_mut() else {
            joined.push(line.clone());
            continue;
        };
        let (head, rest) = line.split_once(' ').unwrap_or((line, ""));
        match connection(previous, head, words) {
            Some(connection) => {
                let hyphen = previous.pop();
                if connection == Connection::WithHyphen {
                    previous.extend(hyphen.map(|_| '-'));
                }
                previous.push_str(head);
                if !rest.is_empty() {
                    joined.push(rest.to_owned());
                }
            }
            None => joined.push(line.clone()),
        }
    }
    for line in &mut joined {
        // Within a line it is a hyphen that the page shows.
        *line = line.replace(SOFT_HYPHEN, "-");
    }
    joined
}

#[derive(Debug, PartialEq, Eq)]
enum Connection {
    WithHyphen,
    WithoutHyphen,
}

/// Returns how a line and the next word belong together, if its end divides a word.
fn connection(line: &str, next: &str, words: &Words) -> Option<Connection> {
    let hyphen = line.chars().next_back().filter(|c| HYPHENS.contains(c))?;
    let before = &line[..line.len() - hyphen.len_utf8()];
    let before = before.rsplit(' ').next()?.trim_start_matches(|c: char| !c.is_alphanumeric());
    let after = next.trim_end_matches(|c: char| !c.is_alphanumeric());
    let (last, first) = (before.chars().next_back()?, after.chars().next()?);
    if !last.is_alphanumeric() || !first.is_alphanumeric() {
        return None;
    }
    let is_divided = last.is_alphabetic() && first.is_lowercase() && !before.contains("://");
    if !is_divided || before.chars().count() < 2 {
        return Some(Connection::WithHyphen);
    }
    let is_one_word = words.contains(&format!("{before}{after}"));
    let is_compound = words.contains(&format!("{before}-{after}"));
    let keeps_hyphen = is_compound && !is_one_word;
    Some(if keeps_hyphen { Connection::WithHyphen } else { Connection::WithoutHyphen })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn divided_words_are_joined() {
        let mut words = Words::default();
        words.add("the well-known weir was new");
        for (text, expected) in [
            ("for exam-\nple, he said", "for example, he said"),
            ("for exam\u{ad}\nple", "for example"),
            ("on 2026\u{ad}\n11\u{ad}28 at", "on 2026-11-28 at"),
            ("a well-\nknown weir", "a well-known weir"),
            ("the Ida-\nOle line", "the Ida-Ole line"),
            ("from 5 -\n7", "from 5 -\n7"),
            ("e-\nmail", "e-mail"),
        ] {
            let joined = join_divided_words(&lines(text), &words).join("\n");
            assert_eq!(joined.replace('\n', " "), expected.replace('\n', " "), "{text}");
        }
    }

    #[test]
    fn short_lines_end_a_paragraph() {
        let text = "The weir\nIt leaked all night and nobody was there to\nmend it for a long while, \
                    and then it was\ndone.\nThen it stopped, to the surprise of all men";
        let expected = "The weir\n\nIt leaked all night and nobody was there to\nmend it for a long \
                        while, and then it was\ndone.\n\nThen it stopped, to the surprise of all men";
        assert_eq!(markdown(&lines(text), &[], &Words::default()), expected);
    }

    #[test]
    fn titles_of_bookmarks_are_headings() {
        let bookmarks = [Bookmark { title: "The weir".into(), level: 1 }];
        let page = |text| markdown(&lines(text), &bookmarks, &Words::default());
        assert_eq!(page("2.1 The weir\nIt leaked"), "### 2.1 The weir\n\nIt leaked");
        assert_eq!(page("By The weir\nIt leaked"), "By The weir\nIt leaked");
    }

    #[test]
    fn text_that_looks_like_markdown_is_literal() {
        let text = lines("# not a heading\n- *not* a list");
        let expected = "\\# not a heading\n\\- \\*not\\* a list";
        assert_eq!(markdown(&text, &[], &Words::default()), expected);
    }
}
