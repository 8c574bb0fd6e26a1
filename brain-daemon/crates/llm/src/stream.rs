//! An answer is heard as it comes: whole, or as a stream of events. Pure but for whom it is told to.

use serde_json::Value;

use super::aloud::{Aloud, said};
use super::sse::Events;
use super::{Finish, Provider, Said, anthropic, fault, openai};

/// The longest answer that comes whole, and the longest text of one that comes in events, in bytes.
const MOST: usize = 1024 * 1024;
/// The longest stream, in bytes: an event of some hundred bytes may bring one word.
const STREAM: usize = 64 * MOST;

/// What the events of a stream have said besides text.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Tokens in and out by the service's count.
    pub(super) tokens: (u64, u64),
    /// Why it ended, once that was said.
    pub(super) finish: Option<Finish>,
    /// The model does not want to.
    pub(super) is_refused: bool,
    /// The stream said that it is over.
    pub(super) is_over: bool,
    /// The service gave up: what it calls that, and its words.
    pub(super) gave_up: Option<(String, String)>,
}

impl Heard {
    /// Notes a count of tokens: the last one that is more than nothing is right.
    pub(super) fn count(&mut self, (tokens_in, tokens_out): (u64, u64)) {
        let newer = |old, new| if new > 0 { new } else { old };
        self.tokens = (newer(self.tokens.0, tokens_in), newer(self.tokens.1, tokens_out));
    }

    /// Notes an error in the middle of a stream.
    pub(super) fn fault(&mut self, error: &Value) {
        let kind = |name: &str| error.get(name).and_then(Value::as_str);
        let kind = kind("type").or_else(|| kind("code")).unwrap_or_default();
        self.gave_up = Some((kind.to_owned(), fault::words(error)));
    }
}

/// What came to an end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The model was through, or came to its length.
    Through(Finish),
    /// The model does not want to.
    Refused,
    /// The service gave up: what it calls that, and its words.
    GaveUp(String, String),
    /// What came is no answer of this shape.
    Unreadable,
    /// It is not at its end.
    Open,
}

/// An answer that is being heard.
pub(super) struct Hearing<'a> {
    provider: Provider,
    /// Who wants to hear it; `None`: it was not asked for as a stream.
    on_text: Option<&'a mut dyn FnMut(&str)>,
    /// Everything that came: of a stream only until it is clear that it is one.
    whole: Vec<u8>,
    bytes: usize,
    events: Option<Events>,
    aloud: Aloud,
    /// What the model said until now.
    text: String,
    heard: Heard,
    /// At least one event was one of this shape.
    is_known: bool,
    is_nonsense: bool,
}

impl<'a> Hearing<'a> {
    pub(super) fn new(provider: Provider, on_text: Option<&'a mut dyn FnMut(&str)>) -> Self {
        Self {
            provider,
            on_text,
            whole: Vec::new(),
            bytes: 0,
            events: None,
            aloud: Aloud::default(),
            text: String::new(),
            heard: Heard::default(),
            is_known: false,
            is_nonsense: false,
        }
    }

    /// Whether it was asked for as a stream.
    pub(super) fn is_stream(&self) -> bool {
        self.on_text.is_some()
    }

    /// Whether a stream said that it is at its end, whatever that is.
    pub(super) fn is_through(&self) -> bool {
        self.heard.is_over || self.heard.is_refused || self.heard.gave_up.is_some()
    }

    /// Takes the next bytes; whether more are wanted.
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        self.bytes += bytes.len();
        if let Some(events) = self.events.take() {
            return self.pushed(events, bytes);
        }
        self.whole.extend_from_slice(bytes);
        if self.on_text.is_some() {
            // Some servers know no streams: they answer with one object.
            match self.whole.trim_ascii_start().first() {
                Some(b'{') | None => {}
                Some(_) => {
                    let begun = std::mem::take(&mut self.whole);
                    return self.pushed(Events::default(), &begun);
                }
            }
        }
        self.is_nonsense |= self.bytes > MOST;
        !self.is_nonsense
    }

    fn pushed(&mut self, mut events: Events, bytes: &[u8]) -> bool {
        self.is_nonsense |= !events.push(bytes, &mut |data| self.event(data));
        self.is_nonsense |= self.bytes > STREAM || self.text.len() > MOST;
        self.events = Some(events);
        !(self.is_nonsense || self.is_through())
    }

    fn event(&mut self, data: &[u8]) {
        if self.is_nonsense || self.heard.is_over || self.heard.gave_up.is_some() {
            return;
        }
        if data.trim_ascii() == b"[DONE]" {
            self.heard.is_over = true;
            return;
        }
        let piece =
            serde_json::from_slice::<Value>(data).ok().and_then(|event| match self.provider {
                Provider::OpenAi => openai::hear(&mut self.heard, &event),
                Provider::Anthropic => anthropic::hear(&mut self.heard, &event),
            });
        self.is_known |= piece.is_some();
        match piece {
            Some(piece) if piece.is_empty() => {}
            Some(piece) => {
                let aloud = self.aloud.push(&piece);
                self.say(&aloud);
            }
            None => self.is_nonsense = true,
        }
    }

    fn say(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        if let Some(on_text) = &mut self.on_text {
            on_text(text);
        }
    }

    /// The answer is at its end, or nobody waits for more of it: what was said, how it ended, and the tokens.
    pub(super) fn end(mut self) -> (String, End, (u64, u64)) {
        let Some(mut events) = self.events.take() else { return self.end_whole() };
        let was_nonsense = self.is_nonsense;
        events.end(&mut |data| self.event(data));
        // A line that is torn is no nonsense: the stream broke off there.
        self.is_nonsense = was_nonsense;
        let rest = std::mem::take(&mut self.aloud).end();
        self.say(&rest);
        self.text.truncate(self.text.trim_end().len());
        let end = match (self.heard.gave_up, self.heard.finish) {
            _ if self.is_nonsense => End::Unreadable,
            (Some((kind, words)), _) => End::GaveUp(kind, words),
            _ if self.heard.is_refused => End::Refused,
            (None, Some(finish)) => End::Through(finish),
            (None, None) if self.heard.is_over => End::Through(Finish::Stop),
            (None, None) if self.is_known => End::Open,
            // Something came, and nothing of it was an event.
            (None, None) => End::Unreadable,
        };
        (self.text, end, self.heard.tokens)
    }

    fn end_whole(mut self) -> (String, End, (u64, u64)) {
        if self.whole.is_empty() {
            return (String::new(), End::Open, (0, 0));
        }
        let value: Option<Value> =
            if self.is_nonsense { None } else { serde_json::from_slice(&self.whole).ok() };
        let Some(value) = value else { return (String::new(), End::Unreadable, (0, 0)) };
        let (read, tokens) = match self.provider {
            Provider::OpenAi => (openai::read(&value), openai::usage(&value)),
            Provider::Anthropic => (anthropic::read(&value), anthropic::usage(&value)),
        };
        match read {
            Some(Said::Text(text, finish)) => {
                self.say(&said(&text));
                (self.text, End::Through(finish), tokens)
            }
            Some(Said::Refused) => (String::new(), End::Refused, tokens),
            None => (String::new(), End::Unreadable, tokens),
        }
    }
}
