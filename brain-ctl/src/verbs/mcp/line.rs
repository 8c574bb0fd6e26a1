//! Reads messages, one on each line, of bounded length.

use std::{
    borrow::Cow,
    fmt,
    io::{self, BufRead, ErrorKind},
};

use brain_protocol::MAX_MESSAGE;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

/// Bytes to keep of the beginning of a message that is too long, to find its `id`.
const HEAD_BYTES: usize = 64 * 1024;
/// Bytes to keep of its end, for the same purpose.
const TAIL_BYTES: usize = 512;

/// The content of a line.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    /// A message without the line feed; not empty.
    Whole(Vec<u8>),
    /// A message of more than [`MAX_MESSAGE`] bytes, which were dropped. The value is its `id`, if
    /// found.
    TooLong(Option<Value>),
}

/// Returns the next line that is not empty, or `None` at the end.
///
/// # Errors
/// Returns the reader's error if reading fails.
pub(super) fn next(from: &mut impl BufRead) -> io::Result<Option<Line>> {
    next_within(from, MAX_MESSAGE)
}

/// Returns the next line that is not empty, with at most `max` bytes.
fn next_within(from: &mut impl BufRead, max: usize) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut tail: Option<Vec<u8>> = None;
    loop {
        let available = match from.fill_buf() {
            Ok(available) => available,
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        let (length, line_feed_length) = match available.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at, 1),
            None => (available.len(), 0),
        };
        let (part, is_complete) =
            (&available[..length], line_feed_length == 1 || available.is_empty());
        match &mut tail {
            None if line.len() + part.len() > max => {
                line.extend_from_slice(&part[..max.saturating_sub(line.len())]);
                tail = Some(last_bytes(&[&line, part]));
                line.truncate(HEAD_BYTES);
                line.shrink_to_fit();
            }
            None => line.extend_from_slice(part),
            Some(tail) => *tail = last_bytes(&[tail, part]),
        }
        let is_end = available.is_empty();
        from.consume(length + line_feed_length);
        if !is_complete {
            continue;
        }
        if let Some(tail) = tail {
            return Ok(Some(Line::TooLong(
                id_at_the_front(&line).or_else(|| id_at_the_end(&tail)),
            )));
        }
        while line.last().is_some_and(u8::is_ascii_whitespace) {
            line.pop();
        }
        if !line.is_empty() {
            return Ok(Some(Line::Whole(line)));
        }
        if is_end {
            return Ok(None);
        }
    }
}

/// Returns the last [`TAIL_BYTES`] bytes of both parts together.
fn last_bytes(parts: &[&[u8]; 2]) -> Vec<u8> {
    let [former, newer] = parts.map(|part| &part[part.len().saturating_sub(TAIL_BYTES)..]);
    let both = [former, newer].concat();
    both[both.len().saturating_sub(TAIL_BYTES)..].to_vec()
}

/// Finds the `id` in the beginning of an object that is cut off.
fn id_at_the_front(text: &[u8]) -> Option<Value> {
    struct IdVisitor<'a>(&'a mut Option<Value>);
    impl<'de> Visitor<'de> for IdVisitor<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            let mut found = None;
            while let Some(key) = map.next_key::<Cow<'_, str>>()? {
                // A key follows, so the value of `id` is complete.
                if found.is_some() {
                    *self.0 = found;
                    return Ok(());
                }
                match &*key {
                    "id" => found = Some(map.next_value()?),
                    _ => drop(map.next_value::<IgnoredAny>()?),
                }
            }
            Ok(())
        }
    }
    let mut id = None;
    // Deserialising fails at the cut, after the visitor stored the id.
    let _ = serde_json::Deserializer::from_slice(text).deserialize_map(IdVisitor(&mut id));
    id.filter(is_id)
}

/// Finds the `id` in the end of an object, if `id` is the object's last member.
fn id_at_the_end(text: &[u8]) -> Option<Value> {
    const KEY: &[u8] = b"\"id\":";
    let text = text.trim_ascii_end();
    let at = text.windows(KEY.len()).rposition(|window| window == KEY)?;
    // A backslash before the quotation mark means that the key is inside a string.
    if at.checked_sub(1).is_some_and(|before| text[before] == b'\\') {
        return None;
    }
    let value = text[at + KEY.len()..].strip_suffix(b"}")?;
    serde_json::from_slice(value).ok().filter(is_id)
}

/// Returns whether a value can be an `id`: a string or a number.
fn is_id(value: &Value) -> bool {
    value.is_string() || value.is_number()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(text: &[u8], max: usize) -> Vec<Line> {
        let mut from = io::BufReader::with_capacity(7, text);
        std::iter::from_fn(|| next_within(&mut from, max).expect("reads")).collect()
    }

    #[test]
    fn lines_are_separated_however_they_arrive() {
        let whole = |text: &str| Line::Whole(text.into());
        assert_eq!(
            read_all(b"{\"a\":1}\r\n\n  \n{\"b\":2}\nlast", 100),
            [whole("{\"a\":1}"), whole("{\"b\":2}"), whole("last")]
        );
        assert_eq!(read_all(b"", 100), []);
        assert_eq!(
            read_all(b"12345\n123456\n1\n", 5),
            [whole("12345"), Line::TooLong(None), whole("1")]
        );
    }

    #[test]
    fn the_id_of_a_long_line_is_found() {
        let pad = "x".repeat(5000);
        let id = |text: String| match read_all(format!("{text}\n{{}}\n").as_bytes(), 3000).remove(0)
        {
            Line::TooLong(id) => id.map(|id| id.to_string()),
            Line::Whole(_) => panic!("{text} was accepted"),
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            id(format!(r#"{{"jsonrpc":"2.0","id":7,"params":{{"a":"{pad}"}}}}"#)),
            some("7")
        );
        assert_eq!(
            id(format!(r#"{{"params":{{"id":1,"a":"{pad}"}},"jsonrpc":"2.0","id":"x"}} "#)),
            some("\"x\"")
        );
        assert_eq!(
            id(format!(r#"{{"params":{{"a":"{pad}","id":7}}}}"#)),
            None,
            "the id of another object"
        );
        assert_eq!(id(format!(r#"{{"params":"{pad}\"id\":7}}"#)), None, "inside a string");
        assert_eq!(id(format!(r#"{{"params":"{pad}","id":null}}"#)), None);
        assert_eq!(id(pad), None);
    }
}
