//! The beginning of a comment.

use crate::model::{Inline, Style, Text};

/// Returns the beginning of a comment: "Comment by Ann, 2026-01-02:".
pub(crate) fn comment_label(author: &str, time: &str) -> Inline {
    let author = brain_page::single_line(author);
    let day = time.split('T').next().unwrap_or_default();
    let mut text = String::from("Comment");
    if !author.is_empty() {
        text.push_str(" by ");
        text.push_str(&author);
    }
    if day.len() == "2026-01-02".len() {
        text.push_str(", ");
        text.push_str(&brain_page::single_line(day));
    }
    text.push(':');
    let style = Style { bold: true, ..Style::default() };
    Inline::Text(Text { text, style, link: None })
}
