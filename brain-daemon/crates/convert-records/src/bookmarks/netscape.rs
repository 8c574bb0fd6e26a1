//! Reads the HTML that browsers export (Netscape's format), and that of Pocket.
//!
//! `<DT><H3>` names a folder, and the next `<DL>` has its bookmarks. `<DD>` describes what is
//! before it. Most tags are never closed. Pocket writes lists below headings.

use std::io::Read;

use brain_convert_base::ConvertError;
use html5gum::{DefaultEmitter, HtmlString, IoReader, StartTag, Token, Tokenizer};

use super::collection::{Bookmark, Collection, Item};
use crate::time::{from_any_unit, from_text};

/// Reads a file. What is whole before an error is in the collection.
pub(super) fn read(
    input: impl Read,
    from: &str,
    collection: &mut Collection,
) -> Result<(), ConvertError> {
    let mut emitter = DefaultEmitter::<()>::default();
    emitter.naively_switch_states(true);
    let mut reader = Reader::new(collection);
    let malformed = |reason: String| ConvertError::Malformed { from: from.to_owned(), reason };
    for token in Tokenizer::new_with_emitter(IoReader::new(input), emitter) {
        match token.map_err(|error| malformed(format!("it cannot be read on: {error}")))? {
            Token::StartTag(tag) => reader.start(&tag),
            Token::EndTag(tag) => reader.end(&tag.name),
            Token::String(text) => reader.text(&text),
            _ => {}
        }
    }
    reader.finish().map_err(|reason| malformed(reason.to_owned()))
}

/// What the text is for that is being read.
enum Capture {
    Nothing,
    /// The label of a bookmark.
    Bookmark(Bookmark),
    /// The name of a folder.
    Folder(Option<jiff::Timestamp>),
    /// A heading of the file.
    Heading,
    Description,
}

struct Reader<'a> {
    collection: &'a mut Collection,
    /// The folders around the current place, from the root.
    open: Vec<usize>,
    /// A folder whose list has not begun.
    next: Option<usize>,
    capture: Capture,
    text: String,
    /// The last heading of the file.
    heading: String,
    /// Whether the file is one of Pocket.
    is_pocket: bool,
    /// Whether a list of a browser has begun.
    has_list: bool,
}

impl<'a> Reader<'a> {
    fn new(collection: &'a mut Collection) -> Self {
        Self {
            collection,
            open: Vec::new(),
            next: None,
            capture: Capture::Nothing,
            text: String::new(),
            heading: String::new(),
            is_pocket: false,
            has_list: false,
        }
    }

    fn current(&self) -> usize {
        self.open.last().copied().unwrap_or(Collection::ROOT)
    }

    fn start(&mut self, tag: &StartTag<()>) {
        match tag.name.as_slice() {
            b"a" => {
                self.end_capture();
                self.capture = Capture::Bookmark(bookmark(tag));
            }
            b"h3" => {
                self.end_capture();
                self.capture = Capture::Folder(time(&attribute(tag, "add_date")));
            }
            b"h1" => {
                self.end_capture();
                self.capture = Capture::Heading;
            }
            b"dl" => {
                self.end_capture();
                self.has_list = true;
                let folder = self.next.take().unwrap_or_else(|| self.current());
                self.open.push(folder);
            }
            b"ul" => {
                self.end_capture();
                if !self.has_list {
                    self.is_pocket = true;
                    let heading = std::mem::take(&mut self.heading);
                    self.open = vec![self.collection.folder(Collection::ROOT, &heading)];
                }
            }
            b"dd" => {
                self.end_capture();
                self.capture = Capture::Description;
            }
            b"dt" | b"li" => self.end_capture(),
            b"hr" => {
                self.end_capture();
                let folder = self.current();
                self.collection.add(folder, Item::Separator);
            }
            b"br" => self.text.push('\n'),
            _ => {}
        }
    }

    fn end(&mut self, name: &HtmlString) {
        match name.as_slice() {
            b"a" | b"h1" | b"h3" | b"dd" => self.end_capture(),
            b"dl" => {
                self.end_capture();
                self.next = None;
                self.open.pop();
            }
            b"ul" if self.is_pocket => {
                self.end_capture();
                self.open.clear();
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &HtmlString) {
        if !matches!(self.capture, Capture::Nothing) {
            self.text.push_str(&String::from_utf8_lossy(text));
        }
    }

    /// Stores what was read up to here.
    fn end_capture(&mut self) {
        let text = std::mem::take(&mut self.text);
        let current = self.current();
        match std::mem::replace(&mut self.capture, Capture::Nothing) {
            Capture::Nothing => {}
            Capture::Bookmark(bookmark) => {
                self.next = None;
                let title = brain_page::single_line(&text);
                self.collection.add(current, Item::Bookmark(Bookmark { title, ..bookmark }));
            }
            Capture::Folder(added) => {
                let folder = self.collection.folder(current, &text);
                if let Some(folder) = self.collection.folders.get_mut(folder) {
                    folder.added = folder.added.or(added);
                }
                self.next = Some(folder);
            }
            // The title of a browser's file, or the name of a list of Pocket.
            Capture::Heading => self.heading = text,
            Capture::Description => self.describe(text.trim()),
        }
    }

    fn describe(&mut self, text: &str) {
        let folder = self.current();
        let place = match self.next {
            Some(folder) => self.collection.folders.get_mut(folder).map(|it| &mut it.description),
            None => self.collection.last(folder).map(|it| &mut it.description),
        };
        if let Some(place) = place {
            if !place.is_empty() {
                place.push('\n');
            }
            place.push_str(text);
        }
    }

    /// Ends the file.
    fn finish(mut self) -> Result<(), &'static str> {
        let is_within = matches!(self.capture, Capture::Bookmark(_) | Capture::Folder(_));
        if matches!(self.capture, Capture::Description) {
            self.end_capture();
        }
        if is_within || !self.open.is_empty() {
            return Err("it ends in the middle of a list");
        }
        match self.has_list || self.is_pocket {
            true => Ok(()),
            false => Err("it has no list of bookmarks"),
        }
    }
}

fn attribute(tag: &StartTag<()>, name: &str) -> String {
    let value = tag.attributes.get(name.as_bytes());
    value.map_or_else(String::new, |it| String::from_utf8_lossy(&it.value).trim().to_owned())
}

/// Returns the bookmark of a link, without its label.
fn bookmark(tag: &StartTag<()>) -> Bookmark {
    let tags = attribute(tag, "tags");
    let tags = tags.split(',').map(brain_page::single_line).filter(|it| !it.is_empty());
    let mut details = Vec::new();
    let keyword = attribute(tag, "shortcuturl");
    if !keyword.is_empty() {
        details.push(format!("keyword: {keyword}"));
    }
    for (name, word) in
        [("private", "private"), ("toread", "to read"), ("data-important", "important")]
    {
        if matches!(attribute(tag, name).as_str(), "1" | "true") {
            details.push(word.to_owned());
        }
    }
    let feed = attribute(tag, "feedurl");
    if !feed.is_empty() {
        details.push(format!("feed: {feed}"));
    }
    let added = [attribute(tag, "add_date"), attribute(tag, "time_added")];
    Bookmark {
        address: attribute(tag, "href"),
        added: added.iter().find_map(|it| time(it)),
        tags: tags.collect(),
        details,
        ..Bookmark::default()
    }
}

/// Returns the time of an attribute: a number of any unit, or as some services write it, a date.
fn time(text: &str) -> Option<jiff::Timestamp> {
    from_any_unit(text).or_else(|| from_text(text))
}
