//! The header of a message or of a part (RFC 5322, 2.2).

use jiff::Zoned;

use super::address::{Address, addresses};
use super::date::date;
use super::params::Params;
use super::words::decode_words;
use crate::codec;

/// The fields of a header, in order.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// Names in lower case, and unfolded values.
    fields: Vec<(String, String)>,
}

impl Header {
    /// Parses the header at the beginning of a message or part. Returns it with the offset of the
    /// body.
    pub(super) fn parse(bytes: &[u8]) -> (Self, usize) {
        let mut fields: Vec<(String, Vec<u8>)> = Vec::new();
        let mut at = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = line.trim_ascii_end();
            if text.is_empty() {
                at += line.len();
                break;
            }
            if text.first().is_some_and(u8::is_ascii_whitespace) {
                if let Some((_, value)) = fields.last_mut() {
                    value.extend_from_slice(text);
                }
            } else if let Some(name) = field_name(line) {
                let value = text.get(name.len() + 1..).unwrap_or_default();
                fields.push((name.trim_ascii().to_ascii_lowercase(), value.to_vec()));
            } else if !text.starts_with(b">From ") {
                // There is no header, or no blank line after it.
                break;
            }
            at += line.len();
        }
        let decode = |(name, value): (String, Vec<u8>)| (name, codec::text(&value, None));
        (Self { fields: fields.into_iter().map(decode).collect() }, at)
    }

    /// Returns whether there is any field.
    pub(super) fn has_fields(&self) -> bool {
        !self.fields.is_empty()
    }

    /// Returns the value of the first field of this name, as written; empty if there is none.
    pub(super) fn raw(&self, name: &str) -> &str {
        let field = self.fields.iter().find(|(known, _)| known == name);
        field.map_or("", |(_, value)| value.trim())
    }

    /// Returns the values of all fields of this name, as written.
    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let fields = self.fields.iter().filter(move |(known, _)| known == name);
        fields.map(|(_, value)| value.trim())
    }

    /// Returns the text of a field on one line.
    pub(super) fn text(&self, name: &str) -> String {
        brain_page::single_line(&decode_words(self.raw(name)))
    }

    /// Returns the value of a field with its parameters.
    pub(super) fn params(&self, name: &str) -> Params {
        Params::parse(self.raw(name))
    }

    /// Returns the addresses of all fields of this name.
    pub(super) fn addresses(&self, name: &str) -> Vec<Address> {
        self.all(name).flat_map(addresses).collect()
    }

    /// Returns when the message was sent: its date if that has a zone, else the time at which the
    /// last server received it.
    pub(super) fn sent(&self) -> Option<Zoned> {
        let received = self.all("received").filter_map(|value| value.rsplit_once(';'));
        std::iter::once(self.raw("date"))
            .chain(received.map(|(_, date)| date))
            .find_map(|text| date(text.trim()))
    }

    /// Returns the date as written, if it has no zone.
    pub(super) fn local_date(&self) -> Option<&str> {
        let text = self.raw("date");
        (!text.is_empty() && date(text).is_none()).then_some(text)
    }

    /// Returns the id of the message; empty if it has none.
    pub(super) fn id(&self) -> &str {
        ids(self.raw("message-id")).next().unwrap_or_default()
    }

    /// Returns the ids of the messages to which this one replies.
    pub(super) fn references(&self) -> impl Iterator<Item = &str> {
        ids(self.raw("references")).chain(ids(self.raw("in-reply-to")))
    }
}

/// Returns the name of the field at the beginning of a line, as written, without `:`.
pub(super) fn field_name(line: &[u8]) -> Option<&str> {
    let end = line.iter().position(|byte| *byte == b':')?;
    let name = line[..end].trim_ascii_end();
    let is_name = !name.is_empty() && name.iter().all(u8::is_ascii_graphic);
    is_name.then(|| std::str::from_utf8(&line[..end]).ok()).flatten()
}

/// Returns the ids in angle brackets.
fn ids(text: &str) -> impl Iterator<Item = &str> {
    text.split('<').skip(1).filter_map(|it| it.split_once('>')).map(|(id, _)| id.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Header {
        Header::parse(text.as_bytes()).0
    }

    fn sent(text: &str) -> Option<String> {
        header(text).sent().map(|sent| sent.timestamp().to_string())
    }

    #[test]
    fn folded_fields_are_joined() {
        let text = "Subject: a\r\n long\r\n\tsubject\r\nX:\r\n\r\nbody";
        let (header, body) = Header::parse(text.as_bytes());
        assert_eq!(header.text("subject"), "a long subject");
        assert_eq!(&text[body..], "body");
        assert_eq!(Header::parse(b"just text\n\nmore").1, 0);
        assert_eq!(Header::parse(b"A: b\nno blank line").1, 5);
    }

    #[test]
    fn a_date_needs_a_zone() {
        let day = "2026-03-03T09:00:00Z";
        for good in [
            "Date: Tue, 3 Mar 2026 10:00:00 +0100",
            "Date: Mon, 3 Mar 2026 10:00:00 +0100 (CET)",
            "Date: 3 Mar 2026 09:00:00 GMT",
            "Date: 2026-03-03T10:00:00+01:00",
        ] {
            assert_eq!(sent(good).as_deref(), Some(day), "{good}");
        }
        for bad in [
            "Tue, 3 Mar 2026 10:00:00",
            "Tue Mar  3 10:00:00 2026",
            "2026-03-03 10:00",
            "",
            "3 Mar 2026 10:00:00 IST",
        ] {
            let bad = format!("Date: {bad}\n");
            assert_eq!(sent(&bad), None, "{bad}");
            let received = format!("{bad}Received: by a; Tue, 3 Mar 2026 10:00:00 +0100");
            assert_eq!(sent(&received).as_deref(), Some(day), "{bad}");
        }
    }

    #[test]
    fn ids_stand_in_angle_brackets() {
        let header =
            header("Message-ID:\n <a@x>\nReferences: <b@x>\n <c@x>\nIn-Reply-To: <d@x> by");
        assert_eq!(header.id(), "a@x");
        assert_eq!(header.references().collect::<Vec<_>>(), ["b@x", "c@x", "d@x"]);
    }
}
