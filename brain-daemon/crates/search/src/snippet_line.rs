//! Builds the line of a passage, with its highlights.

/// Builds a line of plain text with highlights.
pub(super) struct LineBuilder {
    text: String,
    /// Number of characters of `text`.
    pub(super) chars: usize,
    highlights: Vec<(u32, u32)>,
    /// Start in `text` of the match that is being shown, and its end in the body.
    open_match: Option<(usize, usize)>,
    /// Start of the last space in `text`.
    last_space: Option<usize>,
}

impl LineBuilder {
    /// Creates a line; it begins with an ellipsis if text before it is left out.
    pub(super) fn new(is_cut_before: bool) -> Self {
        let mut line = Self {
            text: String::with_capacity(256),
            chars: 0,
            highlights: Vec::new(),
            open_match: None,
            last_space: None,
        };
        if is_cut_before {
            line.push('…');
        }
        line
    }

    pub(super) fn push(&mut self, c: char) {
        self.text.push(c);
        self.chars += 1;
    }

    /// Adds a space, unless the line begins here or has one already.
    pub(super) fn push_space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with([' ', '…']) {
            self.last_space = Some(self.text.len());
            self.push(' ');
        }
    }

    /// Begins a match that ends at `end` in the body, or extends the one that is being shown.
    pub(super) fn begin_match(&mut self, at: usize, end: usize) {
        self.open_match = match self.open_match {
            Some((from, open_end)) => Some((from, open_end.max(end))),
            None if end > at => Some((self.text.len(), end)),
            None => None,
        };
    }

    /// Ends the match that is being shown, if it ends at or before `at` in the body.
    pub(super) fn end_match(&mut self, at: usize) {
        if let Some((from, _)) = self.open_match.take_if(|(_, end)| at >= *end) {
            self.highlights.push((from as u32, self.text.len() as u32));
        }
    }

    /// Returns the line and its highlights. If text after it is left out, the line is cut at its
    /// last space and ends with an ellipsis.
    pub(super) fn finish(mut self, is_cut_after: bool) -> (String, Vec<(u32, u32)>) {
        self.end_match(usize::MAX);
        let Self { mut text, mut highlights, last_space, .. } = self;
        if is_cut_after {
            // Back to the last space, unless that costs much (scripts without spaces).
            if let Some(space) = last_space.filter(|&space| text.len() - space <= 40) {
                text.truncate(space);
            }
            text.truncate(text.trim_end().len());
            clip(&mut highlights, text.len());
            text.push('…');
        }
        text.truncate(text.trim_end().len());
        // A match can be markup, such as the address of a link.
        clip(&mut highlights, text.len());
        // Adjacent highlights are joined.
        highlights.dedup_by(|b, a| {
            let touch = b.0 <= a.1;
            if touch {
                a.1 = a.1.max(b.1);
            }
            touch
        });
        (text, highlights)
    }
}

/// Ends the highlights at `len`, and removes empty ones.
fn clip(highlights: &mut Vec<(u32, u32)>, len: usize) {
    highlights.retain_mut(|(from, to)| {
        *to = (*to).min(len as u32);
        *from < *to
    });
}
