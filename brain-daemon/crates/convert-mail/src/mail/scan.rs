//! Finds the messages of an mbox file, in one pass and bounded memory.
//!
//! Body lines that begin with `From ` are often not escaped. So a line begins a message only if it
//! has the form of the first line of the file, and a header field follows. Where the header states
//! the length of the body and the next message begins after that, no line within it counts: mutt
//! and others write such files (mboxcl2).

use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, BufRead, Read as _, Seek, SeekFrom};

use jiff::Timestamp;

use super::date::date;
use super::header::field_name;

/// Maximum length of a piece of a line, in bytes.
const MAX_PIECE: u64 = 16 * 1024;
/// Maximum length of a header that is kept, in bytes.
const MAX_HEADER: usize = 256 * 1024;
/// Maximum length of a line that begins a message, with the line ends before it, in bytes.
const MAX_SEPARATOR: u64 = 1000;

/// A message in a file.
#[derive(Debug)]
pub(super) struct Found {
    /// Where it begins, after the line `From `.
    pub(super) offset: u64,
    /// Its length in bytes.
    pub(super) len: u64,
    /// Its header, or the beginning of a long one.
    pub(super) header: Vec<u8>,
    /// A checksum of its body without blank lines.
    pub(super) digest: u64,
    /// Whether the file says beside the message that its owner deleted it.
    pub(super) is_deleted: bool,
    /// When it was delivered, as the line before it says.
    pub(super) delivered: Option<Timestamp>,
}

/// The form of a line that begins a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `From ida@example.org Tue Mar  3 10:00:00 2026`
    Dated,
    /// `From`, 40 hexadecimal digits and a fixed date: a patch of git.
    Patch,
    /// `From` alone, or with an address.
    Bare,
}

/// Returns whether a file begins as an mbox.
pub(super) fn is_mbox(head: &[u8]) -> bool {
    let mut lines = head.split(|byte| *byte == b'\n');
    let first = lines.next().and_then(form);
    first.is_some() && lines.next().is_some_and(is_field)
}

/// Calls `each` for all messages, in order.
///
/// # Errors
/// If the file cannot be read, or from `each`.
pub(super) fn scan<E: From<io::Error>>(
    mut reader: impl BufRead + Seek,
    mut each: impl FnMut(Found) -> Result<(), E>,
) -> Result<(), E> {
    let mut scan = Scan::default();
    let mut piece = Vec::new();
    loop {
        piece.clear();
        reader.by_ref().take(MAX_PIECE).read_until(b'\n', &mut piece)?;
        if piece.is_empty() {
            break;
        }
        if scan.is_in_stated_body(&piece, &mut reader)? {
            scan.separator.take().iter().for_each(|line| scan.text(line));
        }
        if let Some(found) = scan.piece(&piece) {
            each(found)?;
        }
    }
    if let Some(separator) = scan.separator.take() {
        scan.text(&separator);
    }
    scan.end_of_message(scan.at).map_or(Ok(()), each)
}

#[derive(Default)]
struct Scan {
    /// Offset of the next piece.
    at: u64,
    /// Whether the last piece did not end its line.
    is_within_line: bool,
    /// The form of the first line of the file.
    form: Option<Form>,
    /// A line of that form, whose next line is not seen yet.
    separator: Option<Vec<u8>>,
    message: Option<Message>,
}

struct Message {
    delivered: Option<Timestamp>,
    offset: u64,
    header: Vec<u8>,
    is_header: bool,
    /// Where the body ends according to the header, until that turns out to be wrong.
    stated_end: Option<u64>,
    digest: DefaultHasher,
}

impl Scan {
    /// Takes the next piece. Returns the message that it ends.
    fn piece(&mut self, piece: &[u8]) -> Option<Found> {
        let is_line = !std::mem::replace(&mut self.is_within_line, !piece.ends_with(b"\n"));
        let mut found = None;
        if let Some(separator) = self.separator.take() {
            if is_line && is_field(piece) {
                found = self.end_of_message(self.at - separator.len() as u64);
                self.message = Some(Message {
                    delivered: delivered(&separator),
                    offset: self.at,
                    header: Vec::new(),
                    is_header: true,
                    stated_end: None,
                    digest: DefaultHasher::new(),
                });
            } else {
                self.text(&separator);
            }
        }
        let form = if is_line && piece.starts_with(b"From") { form(piece) } else { None };
        if form.is_some() && self.form.is_none() {
            self.form = form;
        }
        if form.is_some() && form == self.form {
            self.separator = Some(piece.to_vec());
        } else {
            self.text(piece);
        }
        self.at += piece.len() as u64;
        found
    }

    /// Returns whether the open separator, after which `piece` follows, is a line of a body whose
    /// length the header states. The position of the reader stays.
    fn is_in_stated_body(
        &mut self,
        piece: &[u8],
        reader: &mut (impl BufRead + Seek),
    ) -> io::Result<bool> {
        let Some(message) = self.message.as_mut().filter(|_| self.separator.is_some()) else {
            return Ok(false);
        };
        let Some(end) = message.stated_end.filter(|end| *end > self.at) else { return Ok(false) };
        // Looked up only now, because most bodies have no such line.
        let mut after = Vec::new();
        let is_in_file = end <= reader.seek(SeekFrom::End(0))?;
        if is_in_file {
            reader.seek(SeekFrom::Start(end))?;
            reader.by_ref().take(MAX_SEPARATOR).read_to_end(&mut after)?;
        }
        reader.seek(SeekFrom::Start(self.at + piece.len() as u64))?;
        let next = after.trim_ascii_start().split(|byte| *byte == b'\n').next().unwrap_or_default();
        let is_end = next.is_empty() || form(next).is_some_and(|it| Some(it) == self.form);
        let is_right = is_in_file && is_end;
        message.stated_end = is_right.then_some(end);
        Ok(is_right)
    }

    /// Takes a piece of the message.
    fn text(&mut self, piece: &[u8]) {
        let Some(message) = &mut self.message else { return };
        let is_blank = piece.trim_ascii().is_empty();
        if !message.is_header {
            if !is_blank {
                message.digest.write(piece.trim_ascii_end());
            }
        } else if is_blank || message.header.len() >= MAX_HEADER {
            message.is_header = false;
            let len = stated_length(&message.header);
            let body = self.at + piece.len() as u64;
            message.stated_end = len.and_then(|len| body.checked_add(len));
        } else {
            message.header.extend_from_slice(piece);
        }
    }

    /// Returns the message that ends at this offset.
    fn end_of_message(&mut self, end: u64) -> Option<Found> {
        let Message { delivered, offset, header, digest, .. } = self.message.take()?;
        let digest = digest.finish();
        Some(Found { offset, len: end - offset, header, digest, is_deleted: false, delivered })
    }
}

/// Returns the form of a line that can begin a message.
fn form(line: &[u8]) -> Option<Form> {
    let line = std::str::from_utf8(line).ok()?.trim_end();
    let mut words = line.split_ascii_whitespace();
    if words.next() != Some("From") || line.starts_with(|c: char| c.is_whitespace()) {
        return None;
    }
    let sender = words.next();
    let date: Vec<&str> = words.collect();
    let is_hash = |word: &str| word.len() == 40 && word.bytes().all(|b| b.is_ascii_hexdigit());
    if date.is_empty() {
        return sender.is_none_or(|it| it == "-" || it.contains('@')).then_some(Form::Bare);
    }
    let is_time = |word: &&str| {
        word.len() >= 4
            && word.as_bytes().iter().filter(|b| **b == b':').count() >= 1
            && word.starts_with(|c: char| c.is_ascii_digit())
    };
    let is_year = |word: &&str| word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit());
    if !date.iter().any(is_time) || !date.iter().any(is_year) {
        return None;
    }
    Some(if sender.is_some_and(is_hash) { Form::Patch } else { Form::Dated })
}

/// Returns the date in a line that begins a message: `From a@x Tue Mar  3 10:00:00 2026`. It is in
/// UTC (RFC 4155), if it has no zone before the year, as Gmail's `10:00:00 +0000 2026` has. That of
/// a patch is always the same, and means nothing.
fn delivered(line: &[u8]) -> Option<Timestamp> {
    if form(line) != Some(Form::Dated) {
        return None;
    }
    let line = std::str::from_utf8(line).ok()?;
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let (month, day, time, zone, year) = match words.as_slice() {
        [.., month, day, time, year] if time.contains(':') => (month, day, time, "+0000", year),
        [.., month, day, time, zone, year] => (month, day, time, *zone, year),
        _ => return None,
    };
    Some(date(&format!("{day} {month} {year} {time} {zone}"))?.timestamp())
}

/// Returns the length of the body that a header states.
fn stated_length(header: &[u8]) -> Option<u64> {
    let mut lines = header.split(|byte| *byte == b'\n');
    let value = lines.find_map(|line| {
        let name = field_name(line)?;
        name.trim_end().eq_ignore_ascii_case("content-length").then(|| &line[name.len() + 1..])
    })?;
    std::str::from_utf8(value).ok()?.trim().parse().ok()
}

/// Returns whether a line is a field of a header. Some programs repeat the line `From ` first.
fn is_field(line: &[u8]) -> bool {
    line.starts_with(b">From ") || field_name(line).is_some()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_separator_says_when_a_message_was_delivered() {
        let time = |line: &str| delivered(line.as_bytes()).map(|time| time.to_string());
        for line in [
            "From a@x Tue Mar  3 09:00:00 2026\n",
            "From 18@xxx Tue Mar 03 10:00:00 +0100 2026\r\n",
            "From a@x Tue Mar  3 10:00:00 MET 2026\n",
        ] {
            assert_eq!(time(line).as_deref(), Some("2026-03-03T09:00:00Z"), "{line}");
        }
        assert_eq!(time("From a@x Tue Mar  3 10:00:00 IST 2026\n"), None);
    }

    /// Returns the messages of an mbox.
    fn messages(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        scan::<io::Error>(io::Cursor::new(text), |message| {
            let (start, len) = (message.offset as usize, message.len as usize);
            found.push(&text[start..start + len]);
            Ok(())
        })
        .unwrap();
        found
    }

    const PATCH: &str = "From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001\n\
                         From: Ole <ole@x.example>\nSubject: [PATCH] oil the hinge\n\n\
                         diff --git a/hinge b/hinge\n\n";

    #[test]
    fn im10_a_patch_in_a_body_begins_no_message() {
        let ida = "From: Ida <ida@x.example>\nSubject: the patch\n\nPlease apply.\n\n";
        let end = "From my side that is all.\n\n";
        let bo = "From: Bo <bo@x.example>\nSubject: thanks\n\nDone.\n";
        let text = format!(
            "From ida@x.example Tue Mar  3 10:00:00 2026\n{ida}{PATCH}{end}\
             From bo@x.example Tue Mar  3 11:00:00 2026\n{bo}"
        );
        assert_eq!(messages(&text), [format!("{ida}{PATCH}{end}"), bo.to_owned()]);
    }

    #[test]
    fn im10_patches_alone_are_a_message_each() {
        assert_eq!(messages(&PATCH.repeat(3)).len(), 3);
    }

    #[test]
    fn im10_lines_without_a_date_can_begin_messages() {
        let text = "From \nSubject: a\n\nFrom here on\n\nFrom \nno field\n\nFrom \nSubject: b\n\n";
        assert_eq!(messages(text).len(), 2);
        assert_eq!(messages("From - Tue Mar  3 10:00:00 2026\nA: b\n\nx").len(), 1);
    }

    #[test]
    fn im10_a_quoted_separator_begins_no_message() {
        let first = "From ida@x.example Tue Mar  3 10:00:00 2026\n";
        let quoted = ">From bo@x.example Tue Mar  3 11:00:00 2026\nSubject: old\n\nbye\n";
        let text = format!("{first}Subject: a\n\nSee:\n\n{quoted}\n>{quoted}");
        assert_eq!(messages(&text).len(), 1);
        // Without a quotation and a length it is a message, as in all mail programs.
        let text = format!("{first}Subject: a\n\nSee:\n\n{}", &quoted[1..]);
        assert_eq!(messages(&text).len(), 2);
    }

    #[test]
    fn im10_a_mailbox_in_a_body_of_stated_length_begins_no_message() {
        let first = "From ida@x.example Tue Mar  3 10:00:00 2026\n";
        let quoted = "See:\n\nFrom bo@x.example Tue Mar  3 11:00:00 2026\nSubject: old\n\nbye\n";
        let text = |length: usize, end: &str| {
            let header = format!("Subject: a\nContent-Length: {length}\n\n");
            format!("{first}{header}{quoted}{end}")
        };
        let next = format!("\n{first}Subject: b\nContent-Length: 6\n\nDone.\n");
        assert_eq!(messages(&text(quoted.len(), &next)).len(), 2);
        assert_eq!(messages(&text(quoted.len(), "")).len(), 1);
        // A length that leads elsewhere says nothing.
        for wrong in [quoted.len() - 3, quoted.len() + 9, 1_000_000, 0] {
            assert_eq!(messages(&text(wrong, &next)).len(), 3, "{wrong}");
        }
        assert_eq!(messages(&text(usize::MAX, &next)).len(), 3);
    }

    #[test]
    fn long_lines_and_cut_files_are_read() {
        let long = "x".repeat(100_000);
        let text = format!("From a@b Tue Mar  3 10:00:00 2026\nSubject: {long}\n\n{long}\nFrom ");
        assert_eq!(messages(&text), [&text[text.find('S').unwrap()..]]);
        for end in 0..text.len().min(200) {
            messages(&text[..end]);
        }
        assert!(messages("From a@b Tue Mar  3 10:00:00 2026\n").is_empty());
        assert!(messages("").is_empty());
    }

    #[test]
    fn equal_bodies_have_the_same_digest() {
        let mut digests = Vec::new();
        let text = "From a@b Tue Mar  3 10:00:00 2026\nA: 1\n\none\n\ntwo\n\n\
                    From a@b Tue Mar  3 10:00:00 2026\nA: 2\n\none\n\ntwo\n\
                    From a@b Tue Mar  3 10:00:00 2026\nA: 2\n\none\n\ntwq\n";
        scan::<io::Error>(io::Cursor::new(text), |found| {
            digests.push(found.digest);
            Ok(())
        })
        .unwrap();
        assert_eq!(digests[0], digests[1]);
        assert_ne!(digests[0], digests[2]);
    }
}
