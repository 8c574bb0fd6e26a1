//! Recognises files of other formats, and HTML.
//!
//! As a page, calendars, mail and exports of note programs are refused. Stored as text, each would
//! become one page of code; converted as HTML, some would lose all their notes.

use std::fmt;
use std::path::Path;

use super::is_markdown;

/// A format that a page cannot have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignFormat {
    /// iCalendar (RFC 5545).
    Calendar,
    /// vCard (RFC 6350).
    Contacts,
    /// One message (RFC 5322).
    Mail,
    /// Several messages (RFC 4155).
    Mailbox,
    /// Evernote's XML.
    Evernote,
    /// One note of TiddlyWiki with its fields.
    Tiddler,
    /// All notes of a TiddlyWiki, as data in an HTML page.
    TiddlyWiki,
    /// Several notes of this program in one HTML page.
    EvernoteHtml,
}

/// The names of files by which a format is known.
const EXTENSIONS: [(&str, ForeignFormat); 12] = [
    ("ics", ForeignFormat::Calendar),
    ("vcs", ForeignFormat::Calendar),
    ("ical", ForeignFormat::Calendar),
    ("ifb", ForeignFormat::Calendar),
    ("vcf", ForeignFormat::Contacts),
    ("vcard", ForeignFormat::Contacts),
    ("eml", ForeignFormat::Mail),
    ("emlx", ForeignFormat::Mail),
    ("mbox", ForeignFormat::Mailbox),
    ("mbx", ForeignFormat::Mailbox),
    ("enex", ForeignFormat::Evernote),
    ("tid", ForeignFormat::Tiddler),
];

/// The media types by which a format is known.
const MEDIA_TYPES: [(&str, ForeignFormat); 10] = [
    ("text/calendar", ForeignFormat::Calendar),
    ("text/x-vcalendar", ForeignFormat::Calendar),
    ("text/vcard", ForeignFormat::Contacts),
    ("text/x-vcard", ForeignFormat::Contacts),
    ("text/directory", ForeignFormat::Contacts),
    ("message/rfc822", ForeignFormat::Mail),
    ("application/mbox", ForeignFormat::Mailbox),
    ("application/enex+xml", ForeignFormat::Evernote),
    ("application/x-tiddler", ForeignFormat::Tiddler),
    ("text/vnd.tiddlywiki", ForeignFormat::Tiddler),
];

impl ForeignFormat {
    /// How much of a file is searched for marks of its format, in bytes.
    pub const MAX_HEAD: usize = 64 * 1024;

    /// Returns the format of a file: by its name, or by its content if the name does not tell.
    #[must_use]
    pub fn of_file(path: &Path, content: &[u8]) -> Option<Self> {
        match Self::of_name(path) {
            None if !is_markdown(path) => Self::of_content(content),
            by_name => by_name,
        }
    }

    /// Returns the format that the extension of a file states, in any case.
    #[must_use]
    pub fn of_name(path: &Path) -> Option<Self> {
        let extension = path.extension()?;
        EXTENSIONS.iter().find(|(known, _)| extension.eq_ignore_ascii_case(known)).map(|it| it.1)
    }

    /// Returns the format of a media type in lower case, without parameters.
    #[must_use]
    pub fn of_media_type(media_type: &str) -> Option<Self> {
        MEDIA_TYPES.iter().find(|(known, _)| *known == media_type).map(|it| it.1)
    }

    /// Returns the format that the content shows beyond doubt.
    #[must_use]
    pub fn of_content(content: &[u8]) -> Option<Self> {
        let head = head(content);
        let first = head.lines().next().unwrap_or_default().trim_end();
        if first.eq_ignore_ascii_case("BEGIN:VCALENDAR") {
            Some(Self::Calendar)
        } else if first.eq_ignore_ascii_case("BEGIN:VCARD") {
            Some(Self::Contacts)
        } else if first.starts_with("From ") && ends_with_year(first) {
            is_mail(head.lines().skip(1)).then_some(Self::Mailbox)
        } else if first.starts_with('<') {
            of_markup(&head)
        } else if is_mail(head.lines()) {
            Some(Self::Mail)
        } else if is_tiddler(&head) {
            Some(Self::Tiddler)
        } else {
            None
        }
    }

    /// Returns whether an import of the file reads what it has.
    #[must_use]
    pub fn is_importable(self) -> bool {
        self != Self::EvernoteHtml
    }

    /// Returns what to do with such a file.
    #[must_use]
    pub fn advice(self) -> &'static str {
        match self.is_importable() {
            true => "import the file on the machine of the brain",
            false => "keep the file; export the notes as ENEX, or as one HTML page for each note",
        }
    }
}

impl fmt::Display for ForeignFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Calendar => f.write_str("a calendar (iCalendar)"),
            Self::Contacts => f.write_str("a list of contacts (vCard)"),
            Self::Mail => f.write_str("a mail message"),
            Self::Mailbox => f.write_str("a mailbox (mbox)"),
            Self::Evernote => f.write_str("an export of Evernote (ENEX)"),
            Self::Tiddler => f.write_str("a note of TiddlyWiki (.tid)"),
            Self::TiddlyWiki => f.write_str("a TiddlyWiki in one HTML page"),
            Self::EvernoteHtml => f.write_str("an export of several Evernote notes in HTML"),
        }
    }
}

/// Returns whether a file is HTML: by its name, or by its content if it has no extension.
#[must_use]
pub fn is_html(path: &Path, content: &[u8]) -> bool {
    match path.extension() {
        Some(extension) => {
            ["html", "htm", "xhtml"].iter().any(|known| extension.eq_ignore_ascii_case(known))
        }
        None => {
            let head = head(content).get(..15).unwrap_or_default().to_ascii_lowercase();
            head.starts_with("<!doctype html") || head.starts_with("<html")
        }
    }
}

/// Returns the beginning of a text, without white space and byte order mark before it.
fn head(content: &[u8]) -> std::borrow::Cow<'_, str> {
    let content = content.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(content).trim_ascii_start();
    String::from_utf8_lossy(&content[..content.len().min(ForeignFormat::MAX_HEAD)])
}

/// Returns the format of XML or HTML.
fn of_markup(head: &str) -> Option<ForeignFormat> {
    let lower = head.to_ascii_lowercase();
    let several = |mark: &str| lower.matches(mark).nth(1).is_some();
    if lower.contains("<en-export") {
        Some(ForeignFormat::Evernote)
    } else if !lower.contains("<html") && !lower.contains("<!doctype html") {
        None
    } else if lower.contains("name=\"tiddlywiki-version\"")
        || lower.contains("content=\"tiddlywiki\"")
    {
        Some(ForeignFormat::TiddlyWiki)
    } else if lower.contains("content=\"evernote") && several("<a name=") && several("<h1") {
        Some(ForeignFormat::EvernoteHtml)
    } else {
        None
    }
}

/// Returns whether the line that begins a message of a mailbox ends with a year.
fn ends_with_year(line: &str) -> bool {
    let mut words = line.split_whitespace().rev().filter(|word| !word.starts_with(['+', '-']));
    let year = words.next().unwrap_or_default();
    let time = words.next().unwrap_or_default();
    year.len() == 4
        && year.bytes().all(|b| b.is_ascii_digit())
        && time.bytes().filter(|b| *b == b':').count() >= 1
}

/// Returns whether lines begin with the header of a message: a sender and a field that a person
/// does not write.
fn is_mail<'a>(lines: impl Iterator<Item = &'a str>) -> bool {
    const FROM_PROGRAMS: [&str; 4] = ["received", "message-id", "mime-version", "return-path"];
    let (mut has_sender, mut is_from_program) = (false, false);
    for line in lines.take_while(|line| !line.trim().is_empty()) {
        if line.starts_with([' ', '\t']) {
            continue;
        }
        let Some((name, _)) = line.split_once(':') else { return false };
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return false;
        }
        has_sender |= name.eq_ignore_ascii_case("from");
        is_from_program |= FROM_PROGRAMS.iter().any(|known| name.eq_ignore_ascii_case(known));
    }
    has_sender && is_from_program
}

/// Returns whether a text begins with the fields of a tiddler: its title, and a time of 17 digits.
fn is_tiddler(head: &str) -> bool {
    let (mut has_title, mut has_time) = (false, false);
    for line in head.lines().take_while(|line| !line.is_empty()) {
        let Some((name, value)) = line.split_once(": ") else { return false };
        has_title |= name == "title";
        let is_time = value.len() == 17 && value.bytes().all(|b| b.is_ascii_digit());
        has_time |= is_time && matches!(name, "created" | "modified");
    }
    has_title && has_time
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(name: &str, content: &str) -> Option<ForeignFormat> {
        ForeignFormat::of_file(Path::new(name), content.as_bytes())
    }

    #[test]
    fn a_format_is_known_by_its_name() {
        for (name, expected) in [
            ("a.ics", ForeignFormat::Calendar),
            ("a.VCF", ForeignFormat::Contacts),
            ("mail/a.eml", ForeignFormat::Mail),
            ("a.mbox", ForeignFormat::Mailbox),
            ("My Notes.enex", ForeignFormat::Evernote),
            ("a.tid", ForeignFormat::Tiddler),
        ] {
            assert_eq!(format(name, "x"), Some(expected), "{name}");
        }
        for name in ["a.md", "a.txt", "ics", "a.ics.md", ""] {
            assert_eq!(format(name, "x"), None, "{name}");
        }
    }

    #[test]
    fn content_tells_where_a_name_does_not() {
        let header = "From: a@b.c\nSubject: x\nMessage-ID: <1>\n y\n\nText";
        let wiki = "<!doctype html>\n<html><head><meta name=\"application-name\" \
                    content=\"TiddlyWiki\" />";
        let evernote = "<html><head><meta name=\"exporter-version\" content=\"Evernote Mac 7\"/>\
                        <a name=\"1\"/><h1>A</h1><a name=\"2\"/><h1>B</h1>";
        let enex = "<?xml version=\"1.0\"?>\n<!DOCTYPE en-export SYSTEM \"x\">\n<en-export>";
        let mailbox = format!("From a@b.c Fri Jul  8 12:08:34 2011\n{header}");
        let tiddler = "created: 20240128101010000\ntags: a\ntitle: My Note\n\nText";
        for (content, expected) in [
            ("\u{FEFF}BEGIN:VCALENDAR\r\nVERSION:2.0", ForeignFormat::Calendar),
            ("begin:vcard\nFN:Ann", ForeignFormat::Contacts),
            (header, ForeignFormat::Mail),
            (&mailbox, ForeignFormat::Mailbox),
            (enex, ForeignFormat::Evernote),
            (tiddler, ForeignFormat::Tiddler),
            (wiki, ForeignFormat::TiddlyWiki),
            (evernote, ForeignFormat::EvernoteHtml),
        ] {
            assert_eq!(format("export", content), Some(expected), "{content}");
            assert_eq!(format("note.md", content), None, "a name that tells: {content}");
        }
    }

    #[test]
    fn prose_is_no_other_format() {
        for content in [
            "",
            "From: Ann\nTo: Bob\n\nSee you at 12:30",
            "From Ann I heard that it began in 2011\nMessage-ID: x",
            "The line BEGIN:VCALENDAR begins a calendar.",
            "title: A note\ncreated: 2024-01-28\n\nText",
            "<!doctype html><html><h1>A</h1><h1>About TiddlyWiki and Evernote</h1></html>",
            "<html><meta name=\"exporter-version\" content=\"Evernote Mac 7\"/><h1>A</h1><h1>B</h1>",
        ] {
            assert_eq!(format("x.txt", content), None, "{content}");
        }
    }

    #[test]
    fn html_is_known_by_name_or_content() {
        let is_html = |name: &str, content: &str| is_html(Path::new(name), content.as_bytes());
        assert!(is_html("a.html", "") && is_html("a.HTM", "x") && is_html("a.xhtml", "x"));
        assert!(is_html("page", "\n<!DOCTYPE HTML>\n<p>") && is_html("page", "<html lang=\"en\">"));
        assert!(!is_html("a.md", "<html lang=\"en\">") && !is_html("a.txt", "<!doctype html>"));
        assert!(!is_html("page", "<p>x") && !is_html("page", "ä"));
    }
}
