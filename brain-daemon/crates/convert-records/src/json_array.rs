//! Reads a large JSON array element by element, so that only one element is in memory.
//!
//! This only finds where an element begins and ends. The caller parses it, and can go on if that
//! fails.

use std::io::Read;

use brain_convert_base::ConvertError;

/// Maximum size of an element, in bytes. Its parsed form takes a few times as much memory.
pub(crate) const MAX_ELEMENT: usize = 32 * 1024 * 1024;
/// How much of an element that is too large is kept, so that it can be named.
const HEAD: usize = 4096;
/// How much may stand before the array: `window.YTD.tweets.part0 = `.
const MAX_PREFIX: usize = 256;
/// How much is read at once.
const BUFFER: usize = 64 * 1024;

/// An element of the array.
pub(crate) enum Element<'a> {
    /// Its whole text.
    Whole(&'a [u8]),
    /// It has more than [`MAX_ELEMENT`] bytes. This is its beginning.
    TooLarge(&'a [u8]),
}

/// Calls `each` with every element of the array in `input`, in order. `from` names the input.
///
/// # Errors
/// [`ConvertError::Malformed`] if there is no array, or if it has no end. The elements before that
/// are handed over. Errors of `each` end the reading.
pub(crate) fn for_each_element(
    input: &mut dyn Read,
    from: &str,
    each: &mut dyn FnMut(Element<'_>) -> Result<(), ConvertError>,
) -> Result<(), ConvertError> {
    let malformed = |reason: String| ConvertError::Malformed { from: from.to_owned(), reason };
    let mut scanner = Scanner::default();
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = match input.read(&mut buffer) {
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(malformed(format!("it cannot be read on: {error}"))),
        };
        if read == 0 {
            break;
        }
        scanner.push(buffer.get(..read).unwrap_or_default(), each)?;
        match scanner.place {
            Place::NoArray => return Err(malformed("it is no JSON array".to_owned())),
            Place::After => return Ok(()),
            _ => {}
        }
    }
    let count = scanner.count;
    Err(malformed(format!("it ends in the middle of the array, after {count} entries")))
}

/// Where in the input the scanner is.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Before,
    Between,
    Value,
    Text,
    /// After a backslash in a text.
    Escaped,
    After,
    NoArray,
}

#[derive(Default)]
struct Scanner {
    place: Place,
    /// How many brackets and braces of the element are open.
    depth: usize,
    /// The length of the element so far, and of what stands before the array.
    length: usize,
    /// The element so far, at most [`MAX_ELEMENT`] bytes.
    element: Vec<u8>,
    count: u64,
}

impl Scanner {
    fn push(
        &mut self,
        bytes: &[u8],
        each: &mut dyn FnMut(Element<'_>) -> Result<(), ConvertError>,
    ) -> Result<(), ConvertError> {
        // Where the part of the element in `bytes` begins.
        let mut start = 0;
        for (at, byte) in bytes.iter().copied().enumerate() {
            match self.place {
                Place::Before => self.before(byte),
                Place::Between => match byte {
                    b']' => self.place = Place::After,
                    b',' | b' ' | b'\n' | b'\r' | b'\t' => {}
                    _ => {
                        (self.depth, start) = (0, at);
                        self.place = Place::Value;
                        self.value(byte);
                    }
                },
                Place::Value if self.depth == 0 && matches!(byte, b',' | b']') => {
                    self.keep(bytes.get(start..at).unwrap_or_default());
                    self.hand_over(each)?;
                    self.place = if byte == b']' { Place::After } else { Place::Between };
                }
                Place::Value => self.value(byte),
                Place::Text => match byte {
                    b'\\' => self.place = Place::Escaped,
                    b'"' => self.place = Place::Value,
                    _ => {}
                },
                Place::Escaped => self.place = Place::Text,
                Place::After | Place::NoArray => return Ok(()),
            }
        }
        if matches!(self.place, Place::Value | Place::Text | Place::Escaped) {
            self.keep(bytes.get(start..).unwrap_or_default());
        }
        Ok(())
    }

    /// Accepts a byte before the array.
    fn before(&mut self, byte: u8) {
        self.length += 1;
        if byte == b'[' {
            (self.place, self.length) = (Place::Between, 0);
        } else if byte == b'{' || self.length > MAX_PREFIX {
            self.place = Place::NoArray;
        }
    }

    /// Accepts a byte of an element outside of a text.
    fn value(&mut self, byte: u8) {
        match byte {
            b'"' => self.place = Place::Text,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        if self.length <= MAX_ELEMENT {
            self.element.extend_from_slice(bytes);
        } else {
            self.element.extend(bytes.iter().take(HEAD.saturating_sub(self.element.len())));
            self.element.truncate(HEAD);
        }
    }

    fn hand_over(
        &mut self,
        each: &mut dyn FnMut(Element<'_>) -> Result<(), ConvertError>,
    ) -> Result<(), ConvertError> {
        self.count += 1;
        let is_whole = self.length <= MAX_ELEMENT;
        let handed = each(match is_whole {
            true => Element::Whole(self.element.trim_ascii()),
            false => Element::TooLarge(&self.element),
        });
        self.element.clear();
        // A large element is rare, and its memory is better given back.
        self.element.shrink_to(BUFFER);
        self.length = 0;
        handed
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A reader that gives one byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
            (buffer[0], self.0) = (*first, rest);
            Ok(1)
        }
    }

    fn elements(text: &str) -> (Vec<String>, Option<String>) {
        let read = |input: &mut dyn Read| {
            let mut found = Vec::new();
            let error = for_each_element(input, "x.json", &mut |element| {
                let (Element::Whole(bytes) | Element::TooLarge(bytes)) = element;
                found.push(String::from_utf8(bytes.to_vec()).unwrap());
                Ok(())
            });
            (found, error.err().map(|error| error.to_string()))
        };
        let whole = read(&mut text.as_bytes());
        assert_eq!(whole, read(&mut Slow(text.as_bytes())));
        whole
    }

    #[test]
    fn elements_are_cut_out_whole() {
        let text = "window.YTD.x.part0 = [ {\"a\":\"]},\\\"[\"} ,[1,[2]],\n null,\"\\\\\",3];";
        let (found, error) = elements(text);
        assert_eq!(found, ["{\"a\":\"]},\\\"[\"}", "[1,[2]]", "null", "\"\\\\\"", "3"]);
        assert_eq!(error, None);
        assert_eq!(elements("[]"), (vec![], None));
    }

    #[test]
    fn a_cut_array_gives_its_whole_elements_and_an_error() {
        let text = "[{\"a\":1},{\"b\":2},{\"c\":3}]";
        for end in 0..text.len() {
            let (found, error) = elements(&text[..end]);
            assert!(error.is_some(), "{end}");
            assert_eq!(found.len(), [8, 16].iter().filter(|it| **it < end).count(), "{end}");
        }
    }

    #[test]
    fn other_input_is_no_array() {
        for text in ["{\"a\":[1]}", &"x".repeat(9000)] {
            assert_eq!(elements(text).1.unwrap(), "x.json: it is no JSON array");
        }
        assert!(elements("").1.is_some());
    }

    #[test]
    fn a_large_element_is_handed_over_by_its_head() {
        let text = format!("[{{\"title\":\"big\",\"x\":\"{}\"}},7]", "y".repeat(MAX_ELEMENT));
        let mut found = Vec::new();
        let each = &mut |element: Element<'_>| {
            found.push(match element {
                Element::Whole(bytes) => (true, bytes.to_vec()),
                Element::TooLarge(bytes) => (false, bytes.to_vec()),
            });
            Ok(())
        };
        for_each_element(&mut text.as_bytes(), "x", each).unwrap();
        assert_eq!(found.len(), 2);
        assert!(
            !found[0].0
                && found[0].1.starts_with(b"{\"title\":\"big\"")
                && found[0].1.len() <= HEAD
        );
        assert_eq!(found[1], (true, b"7".to_vec()));
    }
}
