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
            let is_after_return = std::mem::replace(&mut self.is_after_return, byte == b'\r');
            match byte {
                b'\n' if is_after_return => {}
                b'\n' | b'\r' => self.end_line(each),
                byte => self.line.push(byte),
            }
            if self.line.len() + self.data.as_ref().map_or(0, Vec::len) > MAX_EVENT_BYTES {
                return false;
            }
        }
        true
    }

    /// Ends the stream. A last event without a blank line after it counts: some servers omit that
    /// line.
    pub(super) fn end(&mut self, each: &mut dyn FnMut(&[u8])) {
        if !self.line.is_empty() {
            self.end_line(each);
        }
        self.end_line(each);
    }

    /// Handles a complete line. A blank line completes an event.
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
        let (mut parser, mut events) = (EventParser::default(), Vec::new());
        let mut each = |data: &[u8]| events.push(String::from_utf8_lossy(data).into_owned());
        for part in parts {
            assert!(parser.push(part, &mut each));
        }
        parser.end(&mut each);
        events
    }

    #[test]
    fn events_are_the_same_for_any_split_of_the_bytes() {
        let stream = "\u{feff}: hello\r\nevent: a\r\ndata: one\r\n\r\n: keep \
            alive\n\ndata:two\ndata: three ü\nid: 7\n\ndata\n\rdatabase: no\r\rdata: last";
        let whole = ["one", "two\nthree ü", "", "last"];
        assert_eq!(events(&[stream.as_bytes()]), whole);
        for at in 0..stream.len() {
            let (first, second) = stream.as_bytes().split_at(at);
            assert_eq!(events(&[first, second]), whole, "{at}");
        }
        let single: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
        assert_eq!(events(&single), whole);
    }

    #[test]
    fn a_too_long_event_is_rejected() {
        let mut parser = EventParser::default();
        assert!(!parser.push(&vec![b'x'; MAX_EVENT_BYTES + 1], &mut |_| ()));
        let mut parser = EventParser::default();
        let line = [b"data: ".as_slice(), &vec![b'x'; 1000], b"\n"].concat();
        assert!((0..2000).any(|_| !parser.push(&line, &mut |_| ())));
    }
}
