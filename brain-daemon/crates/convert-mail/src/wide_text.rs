//! Reads UTF-16 as UTF-8. Old versions of Outlook and Windows write contacts so.

use std::io::{self, BufRead, BufReader, Read};

use encoding_rs::{Decoder, Encoding, UTF_8};

/// How many bytes are decoded at a time.
const CHUNK: usize = 16 * 1024;

/// Returns the encoding that a byte order mark states, if it is UTF-16.
fn wide(head: &[u8]) -> Option<&'static Encoding> {
    Encoding::for_bom(head).map(|(encoding, _)| encoding).filter(|encoding| *encoding != UTF_8)
}

/// Returns the beginning of a file as UTF-8, without a byte order mark.
pub(crate) fn utf_8_head(head: &[u8]) -> Vec<u8> {
    match wide(head) {
        Some(encoding) => encoding.decode(head).0.into_owned().into_bytes(),
        None => head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).to_vec(),
    }
}

/// Returns a reader of UTF-8. A byte order mark decides; without one, nothing is changed.
pub(crate) fn utf_8_reader<'a>(reader: &'a mut dyn BufRead) -> io::Result<Box<dyn BufRead + 'a>> {
    Ok(match wide(reader.fill_buf()?) {
        Some(encoding) => {
            let decoder = encoding.new_decoder();
            Box::new(BufReader::new(WideReader { reader, decoder, out: Vec::new(), at: 0 }))
        }
        None => Box::new(reader),
    })
}

struct WideReader<'a> {
    reader: &'a mut dyn BufRead,
    decoder: Decoder,
    /// Decoded bytes, and how many of them were read.
    out: Vec<u8>,
    at: usize,
}

impl Read for WideReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.out.len() {
            let mut bytes = [0; CHUNK];
            let count = self.reader.read(&mut bytes)?;
            let max = self.decoder.max_utf8_buffer_length(count).unwrap_or(4 * CHUNK);
            self.out.resize(max, 0);
            let (_, _, written, _) =
                self.decoder.decode_to_utf8(&bytes[..count], &mut self.out, false);
            self.out.truncate(written);
            self.at = 0;
            if count == 0 {
                break;
            }
        }
        let rest = &self.out[self.at..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn utf_16_with_a_mark_is_read_as_utf_8() {
        let text = "aé€𝄞\r\n".repeat(10_000);
        let units: Vec<u16> = std::iter::once(0xFEFF).chain(text.encode_utf16()).collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        for bytes in [&little, &big, &text.as_bytes().to_vec()] {
            let mut found = String::new();
            let mut reader = BufReader::with_capacity(7, bytes.as_slice());
            utf_8_reader(&mut reader).unwrap().read_to_string(&mut found).unwrap();
            assert_eq!(found, text);
            assert!(utf_8_head(&bytes[..20]).starts_with("aé€".as_bytes()));
        }
    }
}
