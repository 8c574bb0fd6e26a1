//! Writes lists whose items are lines: their indentation says how deep they are.

/// A list.
#[derive(Default)]
pub(crate) struct List {
    out: String,
    /// The indentation of the open lists in the source.
    open: Vec<usize>,
}

impl List {
    /// Adds an item. `text` is markdown.
    pub(crate) fn item(&mut self, indent: usize, marker: &str, text: &str) {
        while self.open.len() > 1 && self.open.last().is_some_and(|last| *last > indent) {
            self.open.pop();
        }
        if self.open.last().is_none_or(|last| *last < indent) {
            self.open.push(indent);
        }
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        // Four blanks put an item below one with `-`, and one with a number of two digits.
        self.out.push_str(&"    ".repeat(self.open.len().saturating_sub(1)));
        self.out.push_str(marker);
        self.out.push(' ');
        self.out.push_str(text);
    }

    /// Adds a line to the last item. `text` is markdown.
    pub(crate) fn line(&mut self, text: &str) {
        self.out.push_str("  \n");
        self.out.push_str(&"    ".repeat(self.open.len()));
        self.out.push_str(text);
    }

    /// Returns the list.
    pub(crate) fn finish(self) -> String {
        self.out
    }
}
