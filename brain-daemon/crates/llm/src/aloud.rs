//! What a model says without what it thinks before, which some write between `<think>` and `</think>`. Pure.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// What has come of an answer.
#[derive(Debug, Default)]
pub(super) struct Aloud {
    state: State,
    /// What is not decided yet: perhaps the beginning of a mark.
    held: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing but white space has come.
    #[default]
    Start,
    /// It thinks.
    Thinks,
    /// It has thought, and has not begun to speak.
    Pauses,
    /// It speaks.
    Speaks,
}

impl Aloud {
    /// Takes the next piece, and gives what of it is to be heard. White space before the first word is not.
    pub(super) fn push(&mut self, piece: &str) -> String {
        if self.state == State::Speaks {
            return piece.to_owned();
        }
        self.held.push_str(piece);
        loop {
            match self.state {
                State::Start => {
                    let text = self.held.trim_start();
                    if let Some(rest) = text.strip_prefix(OPEN) {
                        (self.held, self.state) = (rest.to_owned(), State::Thinks);
                    } else if OPEN.starts_with(text) {
                        return String::new();
                    } else {
                        self.state = State::Pauses;
                    }
                }
                State::Thinks => {
                    let Some((_, rest)) = self.held.split_once(CLOSE) else {
                        // Of a thought only what may be the beginning of its end is kept.
                        let keep =
                            (1..CLOSE.len()).rev().find(|n| self.held.ends_with(&CLOSE[..*n]));
                        self.held = CLOSE.get(..keep.unwrap_or(0)).unwrap_or_default().to_owned();
                        return String::new();
                    };
                    (self.held, self.state) = (rest.to_owned(), State::Pauses);
                }
                State::Pauses => {
                    let said = self.held.trim_start().to_owned();
                    self.held.clear();
                    if !said.is_empty() {
                        self.state = State::Speaks;
                    }
                    return said;
                }
                State::Speaks => return std::mem::take(&mut self.held),
            }
        }
    }

    /// The answer is at its end: what was held back because it might have been a mark.
    pub(super) fn end(self) -> String {
        match self.state {
            State::Start => self.held.trim().to_owned(),
            _ => String::new(),
        }
    }
}

/// What a whole answer says. Of one that never came to its end of thinking nothing.
pub(super) fn said(text: &str) -> String {
    let mut aloud = Aloud::default();
    let mut said = aloud.push(text);
    said.push_str(&aloud.end());
    said.truncate(said.trim_end().len());
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_not_heard_wherever_the_text_is_cut() {
        for (text, heard) in [
            (" <think>hm </thin </ <think></think>\n hi <think> there", "hi <think> there"),
            ("\n plain </think> text ", "plain </think> text"),
            ("<think>never ends </think", ""),
            ("<thinker> it is", "<thinker> it is"),
            ("<thi", "<thi"),
            ("<think></think>ü", "ü"),
            ("  ", ""),
            ("", ""),
        ] {
            assert_eq!(said(text), heard, "{text}");
            let mut aloud = Aloud::default();
            let mut pieces: String = text.chars().map(|c| aloud.push(&c.to_string())).collect();
            pieces.push_str(&aloud.end());
            assert_eq!(pieces.trim_end(), heard, "{text}");
        }
    }
}
