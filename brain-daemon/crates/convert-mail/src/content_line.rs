//! Content lines and components: the common syntax of vCard and iCalendar (RFC 6350, RFC 5545), and
//! that of vCard 2.1.
//!
//! Lines are unfolded as bytes, because programs fold them within a character.

use std::io::{self, BufRead, Read as _};

use crate::codec;

/// Maximum length of a line after unfolding, in bytes: a file of 16 MB in base64.
const MAX_LINE: usize = 24 * 1024 * 1024;
/// Maximum number of components in each other.
const MAX_DEPTH: usize = 8;

/// A line: `item1.TEL;TYPE=cell:+47 1`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// What stands before the name and a dot; empty if there is none.
    pub(crate) group: String,
    /// The name, in upper case.
    pub(crate) name: String,
    /// Names of parameters in upper case, and values.
    params: Vec<(String, String)>,
    value: Vec<u8>,
}

impl Line {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut colons = unquoted_positions(bytes, b':');
        let mut colon = colons.next()?;
        // Some programs write `TZID=GMT+01:00` without quotes. A time has no colon.
        if bytes[..colon].to_ascii_uppercase().windows(6).any(|part| part == b";TZID=") {
            colon = colons.last().unwrap_or(colon);
        }
        let head = codec::text(&bytes[..colon], None);
        let mut parts = split_unquoted(&head, ';').into_iter();
        let name = parts.next()?.trim();
        let (group, name) = name.rsplit_once('.').unwrap_or(("", name));
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        let mut line = Self {
            group: group.to_owned(),
            name: name.to_ascii_uppercase(),
            params: Vec::new(),
            value: bytes[colon + 1..].to_vec(),
        };
        for part in parts {
            let (name, value) = match part.split_once('=') {
                Some((name, value)) => (name.trim().to_ascii_uppercase(), value),
                // vCard 2.1 writes the value alone.
                None if is_encoding(part) => ("ENCODING".to_owned(), part),
                None => ("TYPE".to_owned(), part),
            };
            for value in split_unquoted(value, ',') {
                let value = value.replace('"', "");
                // Escapes of RFC 6868.
                let value = value.replace("^n", "\n").replace("^'", "\"").replace("^^", "^");
                match name.as_str() {
                    "TYPE" => line
                        .params
                        .extend(value.split(',').map(|it| (name.clone(), it.trim().to_owned()))),
                    _ => line.params.push((name.clone(), value.trim().to_owned())),
                }
            }
        }
        Some(line)
    }

    /// Returns the first value of a parameter.
    pub(crate) fn param(&self, name: &str) -> Option<&str> {
        let param = self.params.iter().find(|(known, value)| known == name && !value.is_empty());
        param.map(|(_, value)| value.as_str())
    }

    /// Returns all values of a parameter.
    pub(crate) fn params<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let params = self.params.iter().filter(move |(known, _)| known == name);
        params.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    fn has_encoding(&self, names: &[&str]) -> bool {
        self.params("ENCODING").any(|it| names.iter().any(|name| it.eq_ignore_ascii_case(name)))
    }

    fn is_quoted_printable(&self) -> bool {
        self.has_encoding(&["QUOTED-PRINTABLE"])
    }

    fn is_base64(&self) -> bool {
        self.has_encoding(&["B", "BASE64"])
    }

    /// Returns the value as text.
    pub(crate) fn text(&self) -> String {
        self.decoded(&self.value).trim().to_owned()
    }

    /// Returns the texts between signs such as `;` or `,`.
    pub(crate) fn texts(&self, separator: u8) -> Vec<String> {
        if self.is_base64() {
            let text = self.text();
            return text.split(char::from(separator)).map(|it| it.trim().to_owned()).collect();
        }
        let parts = split(&self.value, separator).into_iter();
        parts.map(|part| self.decoded(part).trim().to_owned()).collect()
    }

    /// Returns the value as written.
    pub(crate) fn raw(&self) -> String {
        codec::text(&self.value, None).trim().to_owned()
    }

    /// Returns the bytes of a value in base64 or a `data:` address, with their media type.
    pub(crate) fn binary(&self) -> Option<(Vec<u8>, String)> {
        if self.is_base64() {
            let kind = self.param("MEDIATYPE").or_else(|| self.param("FMTTYPE"));
            let kind = kind.or_else(|| self.param("TYPE")).unwrap_or_default();
            return Some((codec::base64(&self.value), kind.to_lowercase()));
        }
        let rest = self.value.strip_prefix(b"data:")?;
        let comma = rest.iter().position(|byte| *byte == b',')?;
        let kind = codec::text(&rest[..comma], None).to_lowercase();
        let kind = kind.trim_end_matches('\\').strip_suffix(";base64")?;
        Some((codec::base64(&rest[comma + 1..]), kind.to_owned()))
    }

    /// Decodes a part of the value. What quoted-printable hides, such as `=3B`, is text.
    fn decoded(&self, bytes: &[u8]) -> String {
        let charset = self.param("CHARSET");
        match () {
            () if self.is_quoted_printable() => {
                codec::text(&codec::quoted_printable(&unescaped(bytes, false)), charset)
            }
            () if self.is_base64() => codec::text(&codec::base64(bytes), charset),
            () => codec::text(&unescaped(bytes, true), charset),
        }
        .replace("\r\n", "\n")
    }
}

/// Returns whether a line is in quoted-printable and goes on after `=`.
fn ends_softly(line: &[u8]) -> bool {
    line.ends_with(b"=") && Line::parse(line).is_some_and(|line| line.is_quoted_printable())
}

fn is_encoding(text: &str) -> bool {
    ["QUOTED-PRINTABLE", "BASE64", "8BIT", "7BIT"].iter().any(|it| it.eq_ignore_ascii_case(text))
}

/// Returns the text of escapes: `\n`, `\,`, `\;`. vCard 2.1 has no escape for a line end.
fn unescaped(bytes: &[u8], has_line_ends: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'n' | b'N') if has_line_ends => out.push(b'\n'),
            Some(sign @ (b'\\' | b',' | b';' | b':')) => out.push(sign),
            Some(other) => out.extend([b'\\', other]),
            None => out.push(b'\\'),
        }
    }
    out
}

/// Splits at a sign that is not after a backslash.
fn split(bytes: &[u8], sign: u8) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let (mut start, mut is_escaped) = (0, false);
    for (at, byte) in bytes.iter().enumerate() {
        if is_escaped {
            is_escaped = false;
        } else if *byte == b'\\' {
            is_escaped = true;
        } else if *byte == sign {
            parts.push(&bytes[start..at]);
            start = at + 1;
        }
    }
    parts.push(&bytes[start..]);
    parts
}

/// Splits at a sign that is not in quotation marks.
fn split_unquoted(text: &str, sign: char) -> Vec<&str> {
    let mut is_quoted = false;
    text.split(|c: char| {
        is_quoted ^= c == '"';
        c == sign && !is_quoted
    })
    .collect()
}

/// Returns where a sign stands outside of quotation marks.
fn unquoted_positions(bytes: &[u8], sign: u8) -> impl Iterator<Item = usize> + '_ {
    let mut is_quoted = false;
    bytes.iter().enumerate().filter_map(move |(at, byte)| {
        is_quoted ^= *byte == b'"';
        (*byte == sign && !is_quoted).then_some(at)
    })
}

/// A component: the lines between `BEGIN` and `END`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Component {
    /// Its name, in upper case.
    pub(crate) name: String,
    pub(crate) lines: Vec<Line>,
    pub(crate) children: Vec<Component>,
}

impl Component {
    /// Returns the first line of this name.
    pub(crate) fn line(&self, name: &str) -> Option<&Line> {
        self.lines.iter().find(|line| line.name == name)
    }

    /// Returns all lines of this name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Line> {
        self.lines.iter().filter(move |line| line.name == name)
    }

    /// Returns the text of the first line of this name; empty if there is none.
    pub(crate) fn text(&self, name: &str) -> String {
        self.line(name).map(Line::text).unwrap_or_default()
    }
}

/// Reads the components of a file one after the other.
pub(crate) struct Components<R> {
    reader: R,
    /// The physical line that is read but not used.
    next: Option<Vec<u8>>,
    /// Whether the file ended within a component.
    pub(crate) is_cut: bool,
    /// Lines outside of a component that are none, and lines that are too long.
    pub(crate) bad_lines: u64,
}

impl<R: BufRead> Components<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, next: None, is_cut: false, bad_lines: 0 }
    }

    /// Returns the next component at the top of the file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn next(&mut self) -> io::Result<Option<Component>> {
        let mut open: Vec<Component> = Vec::new();
        while let Some(line) = self.line()? {
            match line.name.as_str() {
                "BEGIN" => {
                    let name = line.raw().to_ascii_uppercase();
                    open.push(Component { name, ..Component::default() });
                    if open.len() > MAX_DEPTH {
                        self.bad_lines += 1;
                        open.truncate(MAX_DEPTH);
                    }
                }
                "END" => {
                    let Some(done) = open.pop() else { continue };
                    match open.last_mut() {
                        Some(parent) => parent.children.push(done),
                        None => return Ok(Some(done)),
                    }
                }
                _ => match open.last_mut() {
                    Some(component) => component.lines.push(line),
                    None => self.bad_lines += 1,
                },
            }
        }
        self.is_cut |= !open.is_empty();
        // What is whole in a cut component counts.
        while open.len() > 1 {
            open.pop();
        }
        Ok(open.pop().filter(|component| !component.children.is_empty()))
    }

    /// Returns the next line, unfolded.
    fn line(&mut self) -> io::Result<Option<Line>> {
        loop {
            let Some(mut bytes) = self.physical_line()? else { return Ok(None) };
            while let Some(next) = self.physical_line()? {
                match next.first() {
                    // A blank after a soft line end belongs to the text.
                    Some(b' ' | b'\t') if bytes.len() < MAX_LINE && !ends_softly(&bytes) => {
                        bytes.extend(&next[1..]);
                    }
                    _ => {
                        self.next = Some(next);
                        break;
                    }
                }
            }
            let Some(mut line) = Line::parse(&bytes) else {
                self.bad_lines += u64::from(!bytes.trim_ascii().is_empty());
                continue;
            };
            if line.is_quoted_printable() {
                self.join_quoted_printable(&mut line)?;
            } else if line.is_base64() {
                self.join_base64(&mut line)?;
            }
            return Ok(Some(line));
        }
    }

    /// In vCard 2.1, a value in quoted-printable goes on after `=`, without a blank.
    fn join_quoted_printable(&mut self, line: &mut Line) -> io::Result<()> {
        while line.value.ends_with(b"=") && line.value.len() < MAX_LINE {
            line.value.pop();
            let Some(next) = self.physical_line()? else { break };
            line.value.extend(next);
        }
        Ok(())
    }

    /// Some programs fold base64 without blanks. Such lines have no `:`.
    fn join_base64(&mut self, line: &mut Line) -> io::Result<()> {
        while let Some(next) = self.physical_line()? {
            if next.trim_ascii().is_empty() || next.contains(&b':') || line.value.len() >= MAX_LINE
            {
                self.next = Some(next);
                break;
            }
            line.value.extend(next);
        }
        Ok(())
    }

    fn physical_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        if let Some(next) = self.next.take() {
            return Ok(Some(next));
        }
        let mut bytes = Vec::new();
        self.reader.by_ref().take(MAX_LINE as u64).read_until(b'\n', &mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        Ok(Some(text.to_vec()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        Components::new(text.as_bytes()).line().unwrap().unwrap()
    }

    #[test]
    fn a_line_has_a_group_parameters_and_a_value() {
        let line = line("item1.tel;TYPE=\"cell,voice\";X=a^nb;pref:+47;1\\, \\n2\r\n");
        assert_eq!((line.group.as_str(), line.name.as_str()), ("item1", "TEL"));
        assert_eq!(line.params("TYPE").collect::<Vec<_>>(), ["cell", "voice", "pref"]);
        assert_eq!(line.param("X"), Some("a\nb"));
        assert_eq!(line.texts(b';'), ["+47", "1, \n2"]);
    }

    #[test]
    fn a_colon_in_quotation_marks_belongs_to_the_parameter() {
        let line = line("ATTENDEE;CN=\"Ida: crew; b\";X=y:mailto:a@x");
        assert_eq!(line.text(), "mailto:a@x");
        assert_eq!(line.param("X"), Some("y"));
    }

    #[test]
    fn a_line_folded_within_a_character_is_read() {
        let text = b"NOTE:Gr\xc3\r\n \xbcn\n  and blue\nEND:X";
        let mut components = Components::new(&text[..]);
        assert_eq!(components.line().unwrap().unwrap().text(), "Gr\u{fc}n and blue");
    }

    #[test]
    fn a_blank_after_a_soft_line_end_is_text() {
        let text = "NOTE;ENCODING=QUOTED-PRINTABLE:B=C3=B8lge=\n and more=\n\tthan\nX:1\n y";
        let mut components = Components::new(text.as_bytes());
        assert_eq!(components.line().unwrap().unwrap().text(), "B\u{f8}lge and more\tthan");
        assert_eq!(components.line().unwrap().unwrap().text(), "1y");
    }

    #[test]
    fn text_in_base64_is_decoded() {
        assert_eq!(line("NOTE;ENCODING=B:SsO4cmcKcmluZw==").text(), "J\u{f8}rg\nring");
        assert_eq!(line("NOTE;BASE64;CHARSET=ISO-8859-1:\n SvhyZw==\n").text(), "J\u{f8}rg");
        assert_eq!(line("N;ENCODING=BASE64:TcO4bGxlcjtJZGE=").texts(b';'), ["M\u{f8}ller", "Ida"]);
    }

    #[test]
    fn components_are_nested() {
        let text = "BEGIN:VCALENDAR\nA:1\nBEGIN:VEVENT\nB:2\nEND:VEVENT\nEND:VCALENDAR\nBEGIN:X\n\
                    BEGIN:Y\nEND:Y\nC:";
        let mut components = Components::new(text.as_bytes());
        let first = components.next().unwrap().unwrap();
        assert_eq!((first.name.as_str(), first.text("A")), ("VCALENDAR", "1".to_owned()));
        assert_eq!(first.children[0].text("B"), "2");
        assert!(!components.is_cut);
        assert_eq!(components.next().unwrap().unwrap().children.len(), 1);
        assert!(components.is_cut);
        assert!(components.next().unwrap().is_none());
    }

    #[test]
    fn deep_components_end() {
        let text = "BEGIN:A\n".repeat(100_000) + &"END:A\n".repeat(100_000);
        let mut components = Components::new(text.as_bytes());
        while components.next().unwrap().is_some() {}
    }
}
