//! How pages show what a reader marked in a book.

use brain_convert_base::literal_text;

/// Returns a marked text as a quotation with a line about its place.
pub(crate) fn quotation(text: &str, caption: &str) -> String {
    let mut out = String::new();
    for line in literal_text(text).lines() {
        out.push_str(if line.is_empty() { ">" } else { "> " });
        out.push_str(line);
        out.push('\n');
    }
    if !caption.is_empty() {
        out.push_str(">\n> — ");
        out.push_str(caption);
    }
    out.trim_end().to_owned()
}

/// Returns a remark of the reader.
pub(crate) fn remark(text: &str, caption: &str) -> String {
    let blank = if caption.is_empty() { "" } else { ", " };
    format!("Note{blank}{caption}:\n\n{}", literal_text(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotation_stays_one() {
        assert_eq!(quotation("a\n\n# b", "page 1"), "> a\n>\n> \\# b\n>\n> — page 1");
        assert_eq!(quotation("a", ""), "> a");
        assert_eq!(remark("a", "page 1"), "Note, page 1:\n\na");
    }
}
