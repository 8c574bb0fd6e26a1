//! Parses server-sent events (WHATWG HTML, section 9.2).
//!
//! Only `data` is read: the OpenAI and Anthropic APIs name the type of an event there.

/// Maximum size of an event in bytes.
const MAX_EVENT_BYTES: usize = 1024 * 1024;

/// The parser of one stream.
#[derive(Debug, Default)]
pub(super) struct EventParser {
    /// The incomplete line.
    line: Vec<u8>,
    /// The data of the incomplete event.
    data: Option<Vec<u8>>,
    /// Whether the last byte was a carriage return. A line feed after it ends no further line.
    is_after_return: bool,
}

impl EventParser {
    /// Takes the next bytes and passes the data of each completed event to `each`. Returns `false`
    /// when an event is too long; the rest is then ignored.
    pub(super) fn push(&mut self, bytes: &[u8], each: &mut dyn FnMut(&[u8])) -> bool {
        for &byte in bytes {
            let follows = std::mem::replace(&mut self.is_after_return, byte == b'\r');
            match byte {
                b'\n' if follows => {}
                b'\n' | b'\r' => self.end_line(each),
                byte => self.line.push(byte),
            }
            if self.line.len() + self.data.as_ref().map_or(0, Vec::len) > MAX_EVENT_BYTES {
                return false;
            }
        }
        true
    }

    /// Ends the stream. A last event without its blank line counts: some servers omit it.
    pub(super) fn end(&mut self, each: &mut dyn FnMut(&[u8])) {
        if !self.line.is_empty() {
            self.end_line(each);
        }
        self.end_line(each);
    }

    fn end_line(&mut self, each: &mut dyn FnMut(&[u8])) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            if let Some(data) = self.data.take() {
                each(&data);
            }
            return;
        }
        let Some(rest) = line.strip_prefix(b"data") else { return };
        let value = match rest {
            [] => rest,
            [b':', b' ', value @ ..] | [b':', value @ ..] => value,
            _ => return,
        };
        match &mut self.data {
            None => self.data = Some(value.to_vec()),
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(parts: &[&[u8]]) -> Vec<String> {
        let (mut events, mut found) = (EventParser::default(), Vec::new());
        let mut each = |data: &[u8]| found.push(String::from_utf8_lossy(data).into_owned());
        for part in parts {
            assert!(events.push(part, &mut each));
        }
        events.end(&mut each);
        found
    }

    #[test]
    fn events_are_the_same_for_any_split_of_the_bytes() {
        let stream = "\u{feff}: hello\r\nevent: a\r\ndata: one\r\n\r\n: keep \
            alive\n\ndata:two\ndata: three ü\nid: 7\n\ndata\n\rdatabase: no\r\rdata: last";
        let whole = ["one", "two\nthree ü", "", "last"];
        assert_eq!(events(&[stream.as_bytes()]), whole);
        for at in 0..stream.len() {
            let (one, two) = stream.as_bytes().split_at(at);
            assert_eq!(events(&[one, two]), whole, "{at}");
        }
        let single: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
        assert_eq!(events(&single), whole);
    }

    #[test]
    fn an_endless_event_is_rejected() {
        let mut events = EventParser::default();
        assert!(!events.push(&vec![b'x'; MAX_EVENT_BYTES + 1], &mut |_| ()));
        let mut events = EventParser::default();
        let line = [b"data: ".as_slice(), &vec![b'x'; 1000], b"\n"].concat();
        assert!((0..2000).any(|_| !events.push(&line, &mut |_| ())));
    }
}
