//! Removes a model's reasoning, which some models write between `<think>` and `</think>` before the
//! answer.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Removes the reasoning from a streamed answer.
#[derive(Debug, Default)]
pub(super) struct ThinkingFilter {
    state: ThinkingState,
    /// Text that is not decided yet: it may be the beginning of a tag.
    pending: String,
}

/// The position in an answer.
#[derive(Debug, Default, PartialEq, Eq)]
enum ThinkingState {
    /// Only white space so far.
    #[default]
    Start,
    /// Within the reasoning.
    Reasoning,
    /// Before the first word of the answer.
    BeforeAnswer,
    /// Within the answer.
    Answer,
}

impl ThinkingFilter {
    /// Takes a piece and returns the text that became visible. Removes leading white space.
    pub(super) fn push(&mut self, piece: &str) -> String {
        if self.state == ThinkingState::Answer {
            return piece.to_owned();
        }
        self.pending.push_str(piece);
        loop {
            match self.state {
                ThinkingState::Start => {
                    let text = self.pending.trim_start();
                    if let Some(rest) = text.strip_prefix(OPEN) {
                        (self.pending, self.state) = (rest.to_owned(), ThinkingState::Reasoning);
                    } else if OPEN.starts_with(text) {
                        return String::new();
                    } else {
                        self.state = ThinkingState::BeforeAnswer;
                    }
                }
                ThinkingState::Reasoning => {
                    let Some((_, rest)) = self.pending.split_once(CLOSE) else {
                        // Keep only what may be the beginning of the closing tag.
                        let tag_len =
                            (1..CLOSE.len()).rev().find(|n| self.pending.ends_with(&CLOSE[..*n]));
                        self.pending =
                            CLOSE.get(..tag_len.unwrap_or(0)).unwrap_or_default().to_owned();
                        return String::new();
                    };
                    (self.pending, self.state) = (rest.to_owned(), ThinkingState::BeforeAnswer);
                }
                ThinkingState::BeforeAnswer => {
                    let visible = self.pending.trim_start().to_owned();
                    self.pending.clear();
                    if !visible.is_empty() {
                        self.state = ThinkingState::Answer;
                    }
                    return visible;
                }
                ThinkingState::Answer => return std::mem::take(&mut self.pending),
            }
        }
    }

    /// Ends the answer; returns the pending text that turned out to be no tag.
    pub(super) fn end(self) -> String {
        match self.state {
            ThinkingState::Start => self.pending.trim().to_owned(),
            _ => String::new(),
        }
    }
}

/// Returns an answer without its reasoning. Empty when the reasoning never ends.
pub(super) fn strip_thinking(text: &str) -> String {
    let mut filter = ThinkingFilter::default();
    let mut visible = filter.push(text);
    visible.push_str(&filter.end());
    visible.truncate(visible.trim_end().len());
    visible
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_is_removed_for_any_split_of_the_text() {
        for (text, visible) in [
            (" <think>hm </thin </ <think></think>\n hi <think> there", "hi <think> there"),
            ("\n plain </think> text ", "plain </think> text"),
            ("<think>never ends </think", ""),
            ("<thinker> it is", "<thinker> it is"),
            ("<thi", "<thi"),
            ("<think></think>ü", "ü"),
            ("  ", ""),
            ("", ""),
        ] {
            assert_eq!(strip_thinking(text), visible, "{text}");
            let mut filter = ThinkingFilter::default();
            let mut pieces: String = text.chars().map(|c| filter.push(&c.to_string())).collect();
            pieces.push_str(&filter.end());
            assert_eq!(pieces.trim_end(), visible, "{text}");
        }
    }
}
