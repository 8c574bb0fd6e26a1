//! The files of a mail program: mbox files, and files of one message each.

use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use brain_convert_base::{ConvertError, Entry, Output, Tree};

use super::folder::{folder_of, folder_of_mbox};
use super::header::Header;
use super::scan::{Found, is_mbox, scan};

/// Maximum size of a message, in bytes. Mail servers accept 25 to 150 MB.
const MAX_MESSAGE: usize = 48 * 1024 * 1024;
/// How much of a file is looked at, in bytes.
const MAX_HEAD: usize = 64 * 1024;
/// How much of the end of an `.emlx` is searched for its properties, in bytes.
const MAX_PROPERTIES: usize = 16 * 1024;
/// The flag of a deleted message in the properties of an `.emlx`.
const APPLE_DELETED: u64 = 2;
/// Endings of files that mail programs keep beside mail.
const SIDE_ENDINGS: [&str; 14] = [
    ".msf",
    ".dat",
    ".html",
    ".json",
    ".plist",
    ".toc",
    ".db",
    ".sqlite",
    ".ini",
    ".lock",
    ".log",
    ".cache",
    ".index",
    "dovecot-keywords",
];
/// Beginnings of names of such files.
const SIDE_NAMES: [&str; 9] = [
    "dovecot",
    "courier",
    "maildirfolder",
    "subscriptions",
    ".",
    "imapcache",
    "table_of_contents",
    "filterlog",
    "mimeheaders",
];

/// What a file of a mail program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Mbox,
    Message,
    /// A file of the program beside the mail.
    Side,
    Other,
}

impl Kind {
    /// Returns the kind of a file by its beginning.
    pub(super) fn of(head: &[u8]) -> Self {
        let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
        match is_mbox(head) {
            true => Self::Mbox,
            false if is_message(head) => Self::Message,
            false => Self::Other,
        }
    }

    /// Returns the kind of a file of a directory or archive.
    pub(super) fn of_entry(tree: &Tree, entry: &Entry) -> io::Result<Self> {
        let head = tree.head(entry, MAX_HEAD)?;
        let kind = Self::of(&head);
        let name = entry.name().to_lowercase();
        // In `tmp` of a Maildir are messages that did not arrive whole.
        let is_side = entry.size == 0
            || entry.folder().rsplit('/').next() == Some("tmp")
            || SIDE_ENDINGS.iter().any(|end| name.ends_with(end))
            || SIDE_NAMES.iter().any(|start| name.starts_with(start));
        let is_named = [".eml", ".emlx"].iter().any(|end| name.ends_with(end));
        Ok(match kind {
            Self::Other if is_named && Header::parse(without_count(&head)).0.has_fields() => {
                Self::Message
            }
            Self::Other if is_side => Self::Side,
            kind => kind,
        })
    }
}

/// Returns whether a file begins with the header of a message.
fn is_message(head: &[u8]) -> bool {
    let (header, _) = Header::parse(without_count(head));
    let has = |name: &str| !header.raw(name).is_empty();
    let transport = ["message-id", "received", "mime-version", "return-path", "x-mozilla-status"];
    let is_sent = has("from") && (has("date") || has("to") || has("subject"));
    let is_addressed = has("from") && has("date") && (has("to") || has("subject"));
    is_sent && transport.iter().any(|name| has(name)) || is_addressed
}

/// Returns the message in a file of Apple Mail (`.emlx`), which begins with its length.
fn without_count(bytes: &[u8]) -> &[u8] {
    let Some(end) = bytes.iter().take(16).position(|byte| *byte == b'\n') else { return bytes };
    let count = std::str::from_utf8(&bytes[..end]).ok().and_then(|it| it.trim().parse().ok());
    let Some(count) = count else { return bytes };
    let message = &bytes[end + 1..];
    message.get(..count).unwrap_or(message)
}

/// Returns whether the properties after the message of an `.emlx` say that it was deleted.
fn is_deleted_in_apple_mail(file: &[u8]) -> bool {
    let message = without_count(file);
    if message.len() == file.len() {
        return false;
    }
    let properties = &file[file.len().saturating_sub(MAX_PROPERTIES)..];
    let text = String::from_utf8_lossy(properties);
    let flags = text.rsplit_once("<key>flags</key>").and_then(|(_, rest)| {
        let number = rest.trim_start().strip_prefix("<integer>")?.split('<').next()?;
        number.trim().parse::<u64>().ok()
    });
    flags.is_some_and(|flags| flags & APPLE_DELETED != 0)
}

/// A file with mail.
struct Source {
    /// Its name for people.
    name: String,
    /// The folder of its pages.
    folder: String,
    is_mbox: bool,
    place: Place,
}

enum Place {
    File(PathBuf),
    Entry(Entry),
}

/// A message in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    source: usize,
    offset: u64,
    len: u64,
}

/// All files with mail.
pub(super) struct Store {
    root: PathBuf,
    tree: Option<Tree>,
    sources: Vec<Source>,
}

impl Store {
    /// Lists the files at a path. Reports those that have no mail.
    pub(super) fn open(path: &Path, out: &mut Output<'_>) -> Result<Self, ConvertError> {
        let tree = Tree::open(path).map_err(ConvertError::read(path))?;
        let mut store = Self { root: path.to_owned(), tree: None, sources: Vec::new() };
        let Some(tree) = tree else {
            store.add_file(path)?;
            return Ok(store);
        };
        tree.report_problems(out)?;
        for entry in tree.entries() {
            let name = entry.path.clone();
            match Kind::of_entry(&tree, entry) {
                Ok(Kind::Side) => {}
                Ok(Kind::Other) => out.lost(&name, "it is no mail")?,
                Ok(Kind::Mbox) if tree.is_archive() => {
                    out.lost(&name, "an mbox in a ZIP archive is not read; unpack the archive")?;
                }
                Ok(kind) => {
                    let is_mbox = kind == Kind::Mbox;
                    let folder =
                        if is_mbox { folder_of_mbox(&name) } else { folder_of(entry.folder()) };
                    let place = match tree.is_archive() {
                        true => Place::Entry(entry.clone()),
                        false => Place::File(path.join(&name)),
                    };
                    store.sources.push(Source { name, folder, is_mbox, place });
                }
                Err(error) => out.lost(&name, &format!("it cannot be read: {error}"))?,
            }
        }
        store.tree = Some(tree);
        Ok(store)
    }

    fn add_file(&mut self, path: &Path) -> Result<(), ConvertError> {
        let mut head = Vec::new();
        let file = File::open(path).map_err(ConvertError::read(path))?;
        file.take(MAX_HEAD as u64).read_to_end(&mut head).map_err(ConvertError::read(path))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_mbox = match Kind::of(&head) {
            Kind::Mbox => true,
            Kind::Message => false,
            _ if head.is_empty() => return Ok(()),
            _ if Header::parse(without_count(&head)).0.has_fields() => false,
            _ => {
                let reason = "it begins neither as an mbox nor as a message".to_owned();
                return Err(ConvertError::Malformed { from: name, reason });
            }
        };
        let folder = if is_mbox { folder_of_mbox(&name) } else { String::new() };
        self.sources.push(Source { name, folder, is_mbox, place: Place::File(path.to_owned()) });
        Ok(())
    }

    /// Calls `each` for all messages, in order. Reports files of one message that cannot be read.
    pub(super) fn for_each(
        &self,
        out: &mut Output<'_>,
        mut each: impl FnMut(&mut Output<'_>, Position, Found) -> Result<(), ConvertError>,
    ) -> Result<(), ConvertError> {
        for (number, source) in self.sources.iter().enumerate() {
            if source.is_mbox {
                let path = self.path(source);
                let file = File::open(&path).map_err(ConvertError::read(&path))?;
                scan::<ScanError>(BufReader::with_capacity(1 << 18, file), |found| {
                    let (offset, len) = (found.offset, found.len);
                    Ok(each(out, Position { source: number, offset, len }, found)?)
                })
                .map_err(|error| error.of(&path))?;
                continue;
            }
            let position = Position { source: number, offset: 0, len: u64::MAX };
            let path = self.path(source);
            let file = match self.read_bytes(source, &path, position) {
                Ok(bytes) => bytes.unwrap_or_default(),
                Err(error) => {
                    out.lost(&source.name, &ConvertError::read(&path)(error).to_string())?;
                    continue;
                }
            };
            let bytes = without_count(&file);
            let is_deleted = is_deleted_in_apple_mail(&file);
            let body = Header::parse(bytes).1;
            let (header, digest) = (bytes[..body].to_vec(), digest(&bytes[body..]));
            let len = bytes.len() as u64;
            each(
                out,
                position,
                Found { offset: 0, len, header, digest, is_deleted, delivered: None },
            )?;
        }
        Ok(())
    }

    /// Reads a message. Returns `None` if it is too large.
    pub(super) fn read(&self, position: Position) -> Result<Option<Vec<u8>>, ConvertError> {
        let Some(source) = self.sources.get(position.source) else { return Ok(None) };
        let path = self.path(source);
        let bytes = self.read_bytes(source, &path, position).map_err(ConvertError::read(&path))?;
        Ok(bytes.map(|bytes| match source.is_mbox {
            true => unescaped(bytes),
            false if without_count(&bytes).len() == bytes.len() => bytes,
            false => without_count(&bytes).to_vec(),
        }))
    }

    fn read_bytes(
        &self,
        source: &Source,
        path: &Path,
        position: Position,
    ) -> io::Result<Option<Vec<u8>>> {
        match (&source.place, &self.tree) {
            (Place::Entry(entry), Some(tree)) => tree.read(entry, MAX_MESSAGE),
            _ if source.is_mbox && position.len > MAX_MESSAGE as u64 => Ok(None),
            _ => {
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(position.offset))?;
                let mut bytes = Vec::new();
                let max = position.len.min(MAX_MESSAGE as u64 + 1);
                file.take(max).read_to_end(&mut bytes)?;
                Ok((bytes.len() <= MAX_MESSAGE).then_some(bytes))
            }
        }
    }

    /// Returns the name of a message's file, and its place in it.
    pub(super) fn name(&self, position: Position) -> String {
        match self.sources.get(position.source) {
            Some(source) if source.is_mbox => format!("{}, byte {}", source.name, position.offset),
            Some(source) => source.name.clone(),
            None => String::new(),
        }
    }

    /// Returns the name of a message's file.
    pub(super) fn file(&self, position: Position) -> &str {
        self.sources.get(position.source).map_or("", |source| source.name.as_str())
    }

    /// Returns whether a message is in a file with others.
    pub(super) fn is_mbox(&self, position: Position) -> bool {
        self.sources.get(position.source).is_some_and(|source| source.is_mbox)
    }

    /// Returns whether the messages are of more than one folder.
    pub(super) fn has_several_folders(&self) -> bool {
        self.sources.windows(2).any(|pair| pair[0].folder != pair[1].folder)
    }

    /// Returns the folders of the page of a message.
    pub(super) fn folder(&self, position: Position) -> &str {
        self.sources.get(position.source).map_or("", |source| source.folder.as_str())
    }

    fn path(&self, source: &Source) -> PathBuf {
        match &source.place {
            Place::File(path) => path.clone(),
            Place::Entry(entry) => self.root.join(&entry.path),
        }
    }
}

/// An error while an mbox is scanned.
enum ScanError {
    Read(io::Error),
    Each(ConvertError),
}

impl From<io::Error> for ScanError {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

impl From<ConvertError> for ScanError {
    fn from(error: ConvertError) -> Self {
        Self::Each(error)
    }
}

impl ScanError {
    fn of(self, path: &Path) -> ConvertError {
        match self {
            Self::Read(error) => ConvertError::read(path)(error),
            Self::Each(error) => error,
        }
    }
}

fn digest(body: &[u8]) -> u64 {
    use std::hash::{DefaultHasher, Hasher as _};
    let mut digest = DefaultHasher::new();
    for line in body.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        digest.write(line.trim_ascii_end());
    }
    digest.finish()
}

/// Removes one `>` from body lines `>From `, which a program added.
fn unescaped(bytes: Vec<u8>) -> Vec<u8> {
    let is_escaped = |line: &[u8]| {
        let text = line.trim_ascii_start();
        let from = &text[text.iter().take_while(|byte| **byte == b'>').count()..];
        line.starts_with(b">") && from.starts_with(b"From ")
    };
    if !bytes.split(|byte| *byte == b'\n').any(is_escaped) {
        return bytes;
    }
    let mut out = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        out.extend_from_slice(if is_escaped(line) { &line[1..] } else { line });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_lines_lose_one_mark() {
        let text = b"A: b\n\n>From me\n>>From you\n> From\nFrom x\n".to_vec();
        assert_eq!(unescaped(text), b"A: b\n\nFrom me\n>From you\n> From\nFrom x\n");
    }

    #[test]
    fn a_message_of_apple_mail_begins_with_its_length() {
        assert_eq!(without_count(b"4\nA: b\n<plist>"), b"A: b");
        assert_eq!(without_count(b"A: b\n"), b"A: b\n");
        assert_eq!(without_count(b"99\nA: b"), b"A: b");
    }

    #[test]
    fn im11_deleted_messages_of_apple_mail_are_known_by_their_flags() {
        let file = |flags: u64| {
            format!(
                "5\nA: b\n<?xml version=\"1.0\"?><plist><dict><key>flags</key>\n\t\
                 <integer>{flags}</integer></dict></plist>\n"
            )
        };
        assert!(is_deleted_in_apple_mail(file(8_590_195_715).as_bytes()));
        assert!(!is_deleted_in_apple_mail(file(8_590_195_713).as_bytes()));
        assert!(!is_deleted_in_apple_mail(b"A: b\n\n<key>flags</key><integer>2</integer>"));
        assert!(!is_deleted_in_apple_mail(b""));
    }

    #[test]
    fn a_message_is_known_by_its_header() {
        assert!(is_message(b"From: a@x\nTo: b@x\nDate: x\n\nhi"));
        assert!(is_message(b"Return-Path: <a@x>\nFrom: a@x\nSubject: s\n\nhi"));
        assert!(is_message(b"From: a@x\nSubject: s\nDate: x\n\nhi"));
        assert!(!is_message(b"From: the harbour\n\nA note."));
        assert!(!is_message(b"title: x\ndate: 2026-01-01\n\nA note."));
    }
}
