//! Addresses in a header: `"Brandt, Ida" <ida@example.org>, bo@example.org (Bo)` (RFC 5322, 3.4).

use super::params::unquoted;
use super::words::decode_words;

/// Maximum length of a name or address, in characters.
const MAX_NAME: usize = 1000;

/// A person or list in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// The shown name; empty if there is none.
    name: String,
    /// The address; empty if there is none.
    mail: String,
}

impl Address {
    /// Returns the name, or else the address.
    pub(super) fn short(&self) -> &str {
        if self.name.is_empty() { &self.mail } else { &self.name }
    }

    /// Returns name and address: `Ida (ida@example.org)`.
    pub(super) fn full(&self) -> String {
        match (self.name.as_str(), self.mail.as_str()) {
            ("", mail) => mail.to_owned(),
            (name, mail) if name == mail || mail.is_empty() => name.to_owned(),
            (name, mail) => format!("{name} ({mail})"),
        }
    }
}

/// Returns the addresses of a header, those of groups too.
pub(super) fn addresses(text: &str) -> Vec<Address> {
    let mut found = Vec::new();
    let mut part = Part::default();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, part.place) {
            ('\\', Place::Quoted | Place::Comment(_)) => {
                part.push(c);
                if let Some(next) = chars.next() {
                    part.push(next);
                }
            }
            ('"', Place::Quoted) => part.end_of(Place::Name, c),
            ('"', Place::Name) => part.start_of(Place::Quoted, c),
            (_, Place::Quoted) => part.push(c),
            ('(', Place::Comment(depth)) => part.start_of(Place::Comment(depth + 1), c),
            ('(', Place::Name) => part.place = Place::Comment(0),
            (')', Place::Comment(0)) => part.place = Place::Name,
            (')', Place::Comment(depth)) => part.end_of(Place::Comment(depth - 1), c),
            (_, Place::Comment(_)) => part.push(c),
            ('<', Place::Name) => part.start_of_mail(),
            ('>', Place::Mail) => part.place = Place::Name,
            (_, Place::Mail) => part.push(c),
            (',' | ';', Place::Name) => found.extend(std::mem::take(&mut part).address()),
            // What stands before `:` is the name of a group.
            (':', Place::Name) => part = Part::default(),
            (_, Place::Name) => part.push(c),
        }
    }
    found.extend(part.address());
    found
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Name,
    Quoted,
    Mail,
    Comment(u32),
}

/// An address while it is read.
#[derive(Default)]
struct Part {
    place: Place,
    name: String,
    mail: Option<String>,
    comment: String,
}

impl Part {
    fn push(&mut self, c: char) {
        match self.place {
            Place::Name | Place::Quoted => self.name.push(c),
            Place::Mail => self.mail.get_or_insert_default().push(c),
            Place::Comment(_) => self.comment.push(c),
        }
    }

    fn start_of(&mut self, place: Place, c: char) {
        self.place = place;
        self.push(c);
    }

    fn end_of(&mut self, place: Place, c: char) {
        self.push(c);
        self.place = place;
    }

    fn start_of_mail(&mut self) {
        self.place = Place::Mail;
        self.mail = Some(String::new());
    }

    fn address(self) -> Option<Address> {
        let clean = |text: &str| {
            let text = text.trim();
            let inner = match text.len() > 1 && text.starts_with('"') && text.ends_with('"') {
                true => unquoted(text),
                false => text.replace('"', ""),
            };
            let line = brain_page::single_line(&decode_words(&inner));
            // Some programs encode a name with its quotation marks.
            let bare = line.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
            let line = bare.unwrap_or(&line);
            line.chars().take(MAX_NAME).collect::<String>()
        };
        let (name, comment) = (clean(&self.name), clean(&self.comment));
        let address = match self.mail {
            Some(mail) if name.is_empty() => Address { name: comment, mail: clean(&mail) },
            Some(mail) => Address { name, mail: clean(&mail) },
            None if name.contains('@') => Address { name: comment, mail: name },
            None => Address { name, mail: String::new() },
        };
        (!address.short().is_empty()).then_some(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        addresses(text).iter().map(Address::full).collect()
    }

    #[test]
    fn addresses_are_read_in_all_forms() {
        assert_eq!(
            read("\"Brandt, Ida \\\"I\\\"\" <ida@x.example>, bo@x.example (Bo (B)), <a@b>"),
            ["Brandt, Ida \"I\" (ida@x.example)", "Bo (B) (bo@x.example)", "a@b"]
        );
        assert_eq!(
            read("Crew: a@x.example, Ole <o@x.example>;, z@x"),
            ["a@x.example", "Ole (o@x.example)", "z@x"]
        );
        assert_eq!(
            read("=?utf-8?Q?M=C3=BCller=2C_J?= <j@x.example>"),
            ["M\u{fc}ller, J (j@x.example)"]
        );
        assert_eq!(
            read("=?utf-8?Q?=22M=C3=BCller=2C_J=22?= <j@x.example>"),
            ["M\u{fc}ller, J (j@x.example)"]
        );
        assert_eq!(read("undisclosed-recipients:;"), Vec::<String>::new());
        assert_eq!(read("a@x <a@x>, root"), ["a@x", "root"]);
    }

    #[test]
    fn broken_addresses_end() {
        for text in ["\"", "(", "<", "a <b", "\"a\\", ",,;;::", ""] {
            addresses(text);
        }
        addresses(&"(".repeat(100_000));
    }
}
