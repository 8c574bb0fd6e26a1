//! An automaton for the terms of the index that are near a mistyped word.

use brain_protocol::EditDistance;
use tantivy_fst::Automaton;

/// The compared part of words: all letters, in texts and names; or a beginning, in names only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ComparedPart {
    Whole,
    Beginning,
}

/// An automaton that accepts terms near a word, or terms with a beginning near it.
pub(super) struct NearWords<'a> {
    pub(super) word: &'a EditDistance,
    pub(super) part: ComparedPart,
}

/// The state after a part of a term was read.
#[derive(Clone)]
pub(super) struct PartialTerm {
    row: brain_protocol::EditRow,
    /// The bytes of an incomplete character.
    bytes: [u8; 4],
    /// Number of these bytes.
    count: usize,
    /// Whether a beginning of the term is near.
    has_near_beginning: bool,
}

impl Automaton for NearWords<'_> {
    type State = Option<PartialTerm>;

    fn start(&self) -> Self::State {
        let row = self.word.start();
        Some(PartialTerm { row, bytes: [0; 4], count: 0, has_near_beginning: false })
    }

    fn is_match(&self, state: &Self::State) -> bool {
        state.as_ref().is_some_and(|it| {
            it.has_near_beginning || (it.count == 0 && self.word.at_end(&it.row).is_some())
        })
    }

    fn can_match(&self, state: &Self::State) -> bool {
        state.as_ref().is_some_and(|it| it.has_near_beginning || self.word.can_match(&it.row))
    }

    fn will_always_match(&self, state: &Self::State) -> bool {
        state.as_ref().is_some_and(|it| it.has_near_beginning)
    }

    fn accept(&self, state: &Self::State, byte: u8) -> Self::State {
        let mut next = state.clone()?;
        if next.has_near_beginning {
            return Some(next);
        }
        *next.bytes.get_mut(next.count)? = byte;
        next.count += 1;
        match std::str::from_utf8(&next.bytes[..next.count]) {
            Ok(text) => {
                next.row = self.word.read(&next.row, text.chars().next()?);
                next.count = 0;
                next.has_near_beginning =
                    self.part == ComparedPart::Beginning && self.word.at_end(&next.row).is_some();
                Some(next)
            }
            // More bytes of the character follow.
            Err(error) if error.error_len().is_none() => Some(next),
            Err(_) => None,
        }
    }
}
