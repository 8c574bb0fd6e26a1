//! Reads a response as it arrives: one JSON object, or a stream of events.

use serde_json::Value;

use super::sse::EventParser;
use super::stream_state::ResponseState;
use super::strip_thinking::{ThinkingFilter, strip_thinking};
use super::{Completion, Finish, Provider, anthropic, openai};

/// Maximum size of a response in one object, and of the text of a streamed one, in bytes.
const MAX_BYTES: usize = 1024 * 1024;
/// Maximum size of a stream in bytes. An event of some hundred bytes may carry one word.
const MAX_STREAM_BYTES: usize = 64 * MAX_BYTES;

/// How a response ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The answer is complete, or reached its maximum length.
    Complete(Finish),
    /// The model refused to answer.
    Refused,
    /// The service reported an error.
    Failed {
        /// The service's error code.
        code: String,
        /// The service's error message.
        message: String,
    },
    /// The response does not follow the API.
    Invalid,
    /// The response broke off.
    Incomplete,
}

/// Reads one response.
pub(super) struct ResponseReader<'a> {
    provider: Provider,
    /// Receives the text; `None` when no stream was requested.
    on_text: Option<&'a mut dyn FnMut(&str)>,
    /// The whole response, or its beginning until it is known to be a stream.
    buffer: Vec<u8>,
    /// Number of bytes so far.
    bytes: usize,
    /// The parser of a stream; `None` for one object.
    events: Option<EventParser>,
    /// Removes the reasoning from a stream.
    filter: ThinkingFilter,
    /// The text so far.
    text: String,
    state: ResponseState,
    /// Whether at least one event followed the API.
    has_event: bool,
    /// Whether the response is too long, or does not follow the API.
    is_invalid: bool,
}

impl<'a> ResponseReader<'a> {
    pub(super) fn new(provider: Provider, on_text: Option<&'a mut dyn FnMut(&str)>) -> Self {
        Self {
            provider,
            on_text,
            buffer: Vec::new(),
            bytes: 0,
            events: None,
            filter: ThinkingFilter::default(),
            text: String::new(),
            state: ResponseState::default(),
            has_event: false,
            is_invalid: false,
        }
    }

    /// Returns whether a stream was requested.
    pub(super) fn is_stream(&self) -> bool {
        self.on_text.is_some()
    }

    /// Returns whether the stream reported its end, a refusal or an error.
    pub(super) fn is_finished(&self) -> bool {
        self.state.is_over || self.state.is_refused || self.state.failure.is_some()
    }

    /// Takes the next bytes; returns whether to read on.
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        self.bytes += bytes.len();
        if let Some(events) = self.events.take() {
            return self.push_events(events, bytes);
        }
        self.buffer.extend_from_slice(bytes);
        if self.on_text.is_some() {
            // Some servers do not support streams, and respond with one object.
            match self.buffer.trim_ascii_start().first() {
                Some(b'{') | None => {}
                Some(_) => {
                    let start = std::mem::take(&mut self.buffer);
                    return self.push_events(EventParser::default(), &start);
                }
            }
        }
        self.is_invalid |= self.bytes > MAX_BYTES;
        !self.is_invalid
    }

    fn push_events(&mut self, mut events: EventParser, bytes: &[u8]) -> bool {
        self.is_invalid |= !events.push(bytes, &mut |data| self.event(data));
        self.is_invalid |= self.bytes > MAX_STREAM_BYTES || self.text.len() > MAX_BYTES;
        self.events = Some(events);
        !(self.is_invalid || self.is_finished())
    }

    /// Reads the data of an event.
    fn event(&mut self, data: &[u8]) {
        if self.is_invalid || self.state.is_over || self.state.failure.is_some() {
            return;
        }
        if data.trim_ascii() == b"[DONE]" {
            self.state.is_over = true;
            return;
        }
        let piece =
            serde_json::from_slice::<Value>(data).ok().and_then(|event| match self.provider {
                Provider::OpenAi => openai::read_event(&mut self.state, &event),
                Provider::Anthropic => anthropic::read_event(&mut self.state, &event),
            });
        self.has_event |= piece.is_some();
        match piece {
            Some(piece) if piece.is_empty() => {}
            Some(piece) => {
                let visible = self.filter.push(&piece);
                self.append(&visible);
            }
            None => self.is_invalid = true,
        }
    }

    /// Appends text to the answer.
    fn append(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        if let Some(on_text) = &mut self.on_text {
            on_text(text);
        }
    }

    /// Ends the response. Returns the text, how the response ended, and the tokens in and out.
    pub(super) fn end(mut self) -> (String, End, (u64, u64)) {
        let Some(mut events) = self.events.take() else { return self.end_whole() };
        let was_invalid = self.is_invalid;
        events.end(&mut |data| self.event(data));
        // An incomplete last event does not make the response invalid: the stream broke off.
        self.is_invalid = was_invalid;
        let rest = std::mem::take(&mut self.filter).end();
        self.append(&rest);
        self.text.truncate(self.text.trim_end().len());
        let end = match (self.state.failure, self.state.finish) {
            _ if self.is_invalid => End::Invalid,
            (Some((code, message)), _) => End::Failed { code, message },
            _ if self.state.is_refused => End::Refused,
            (None, Some(finish)) => End::Complete(finish),
            (None, None) if self.state.is_over => End::Complete(Finish::Stop),
            (None, None) if self.has_event => End::Incomplete,
            // Bytes arrived, but no event.
            (None, None) => End::Invalid,
        };
        (self.text, end, self.state.tokens)
    }

    /// Ends a response that is one object.
    fn end_whole(mut self) -> (String, End, (u64, u64)) {
        if self.buffer.is_empty() {
            return (String::new(), End::Incomplete, (0, 0));
        }
        let value: Option<Value> =
            if self.is_invalid { None } else { serde_json::from_slice(&self.buffer).ok() };
        let Some(value) = value else { return (String::new(), End::Invalid, (0, 0)) };
        let (read, tokens) = match self.provider {
            Provider::OpenAi => (openai::read(&value), openai::usage(&value)),
            Provider::Anthropic => (anthropic::read(&value), anthropic::usage(&value)),
        };
        match read {
            Some(Completion::Text(text, finish)) => {
                self.append(&strip_thinking(&text));
                (self.text, End::Complete(finish), tokens)
            }
            Some(Completion::Refused) => (String::new(), End::Refused, tokens),
            None => (String::new(), End::Invalid, tokens),
        }
    }
}
