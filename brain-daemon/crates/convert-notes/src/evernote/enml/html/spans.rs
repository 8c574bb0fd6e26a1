//! Formats of text within a block.

use super::{Html, Kind};

impl Html {
    /// Opens text with these formats. Marked text has `==` around it.
    pub(in super::super) fn open_span(&mut self, formats: &[&str], is_marked: bool) {
        let mut end = String::new();
        let mark = Some("==").filter(|_| is_marked && self.inline_code == 0);
        if let Some(word) = mark.and_then(|mark| self.places.add_sign(mark)) {
            self.content();
            self.out.push_str(&word);
            end = word;
        }
        for name in formats {
            self.out.push_str(&format!("<{name}>"));
            end.insert_str(0, &format!("</{name}>"));
        }
        self.open(Kind::Other, &end);
    }
}
