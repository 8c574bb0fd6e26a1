//! The page of a thread: its messages in order, and their files.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use brain_convert_base::{ConvertError, Output, Page, Paths, Value, literal_line};
use jiff::Zoned;

use super::address::Address;
use super::file_name::file_name;
use super::header::Header;
use super::html;
use super::part::{CONTAINER, Content, FilePart, Text, content};
use super::plain;
use super::quote::Seen;
use super::store::{Position, Store};
use super::threads::Summary;
use crate::calendar;

/// When a page has this length in bytes, the next message of its thread begins another page.
const MAX_PAGE: usize = 2 * 1024 * 1024;
/// Maximum length of the text of a message, in bytes.
const MAX_TEXT: usize = 2 * 1024 * 1024;
/// Maximum number of recipients that are shown above a message. The fields of the page have all.
const MAX_SHOWN: usize = 20;
/// Maximum length of a date that is shown as written, in characters.
const MAX_DATE: usize = 100;
/// Maximum number of senders, of recipients and of labels in the fields of a page.
const MAX_PEOPLE: usize = 1000;
/// The folder of all pages.
const FOLDER: &str = "mail";
/// What is shown for an empty subject, as mail programs do.
const NO_SUBJECT: &str = "(no subject)";

/// Writes the pages of a thread: one, or more if it is long. Returns the number of words that its
/// messages hide.
pub(super) fn write_thread(
    store: &Store,
    thread: &[Summary],
    paths: &mut Paths,
    out: &mut Output<'_>,
) -> Result<usize, ConvertError> {
    let mut draft = Draft::default();
    let (mut number, mut hidden_words) = (1, 0);
    for summary in thread {
        let Some(bytes) = store.read(summary.position)? else {
            out.lost(&name(store, summary), "the message is too large: 48 MB is the limit")?;
            continue;
        };
        if draft.page.body.len() > MAX_PAGE {
            number += 1;
            let next = Draft { title: format!("{} ({number})", draft.base), ..Draft::default() };
            std::mem::replace(&mut draft, next).write(store, paths, out)?;
        }
        for reason in draft.add(store, summary, &bytes) {
            out.lost(&name(store, summary), &reason)?;
        }
        hidden_words += std::mem::take(&mut draft.hidden_words);
    }
    draft.write(store, paths, out)?;
    Ok(hidden_words)
}

/// Returns how a person knows a message: its file, subject and day.
pub(super) fn name(store: &Store, summary: &Summary) -> String {
    let day = summary.date.map_or(String::new(), |it| format!(", {}", it.strftime("%Y-%m-%d")));
    let subject = if summary.subject.is_empty() { NO_SUBJECT } else { &summary.subject };
    format!("{}, \"{subject}\"{day}", store.name(summary.position))
}

/// A page that is not complete.
#[derive(Default)]
struct Draft {
    page: Page,
    /// The subject of the thread.
    base: String,
    /// The title, if it differs from the subject.
    title: String,
    folder: String,
    day: Option<String>,
    senders: Vec<String>,
    recipients: Vec<String>,
    labels: Vec<String>,
    seen: Seen,
    /// Number of words that the HTML of the last message hides.
    hidden_words: usize,
    /// Names of files by the checksum of their bytes: replies repeat pictures of signatures.
    names: HashMap<u64, String>,
    files: Vec<(Position, Vec<(FilePart, String)>)>,
}

impl Draft {
    /// Adds a message. Returns what is not in the page, and why.
    fn add(&mut self, store: &Store, summary: &Summary, bytes: &[u8]) -> Vec<String> {
        let (header, _) = Header::parse(bytes);
        let sent = header.sent();
        let is_first = self.page.from.is_empty();
        if is_first {
            self.page.from = entry(store, summary.position, &header);
            store.folder(summary.position).clone_into(&mut self.folder);
            let delivered = || summary.date.map(|date| date.strftime("%Y-%m-%d").to_string());
            let day = sent.as_ref().map(|sent| sent.strftime("%Y-%m-%d").to_string());
            self.day = day.or_else(delivered);
            self.page.created = summary.date;
            self.base = match &*summary.subject {
                "" => NO_SUBJECT.to_owned(),
                subject => subject.to_owned(),
            };
        }
        self.page.updated = self.page.updated.max(summary.date);
        let to = header.addresses("to");
        let cc = header.addresses("cc");
        let bcc = header.addresses("bcc");
        let labels = header.text("x-gmail-labels");
        let labels = labels.split(',').map(|it| it.trim().trim_matches('"').to_owned());
        add_new(&mut self.labels, labels.filter(|label| !label.is_empty()));
        let mut content = content(bytes);
        let mut lost = std::mem::take(&mut content.lost);
        add_new(&mut self.senders, header.addresses("from").iter().map(Address::full));
        let recipients = to.iter().chain(&cc).chain(&bcc).map(Address::full);
        if !add_new(&mut self.recipients, recipients) {
            lost.push(format!("only {MAX_PEOPLE} recipients are in the fields of its page"));
        }
        let text = self.text(summary.position, bytes, content, &mut lost);
        let mut blocks = vec![heading(&header, sent.as_ref())];
        let mut lines = vec![];
        if !is_first && !summary.subject.is_empty() && *summary.subject != self.base {
            lines.push(("Subject", literal_line(&header.text("subject"))));
        }
        lines.extend([("To", shown(&to)), ("Cc", shown(&cc)), ("Bcc", shown(&bcc))]);
        blocks.push(field_lines(&lines));
        blocks.push(self.seen.fold(&text));
        blocks.retain(|block| !block.is_empty());
        if !is_first {
            self.page.body.push_str("\n\n");
        }
        self.page.body.push_str(&blocks.join("\n\n"));
        lost
    }

    /// Returns the text of a message with its files.
    fn text(
        &mut self,
        position: Position,
        bytes: &[u8],
        content: Content,
        lost: &mut Vec<String>,
    ) -> String {
        let files = self.attach(bytes, content.files);
        let mut shown = HashSet::new();
        let mut blocks = Vec::new();
        let mut texts = content.texts.into_iter().peekable();
        while let Some(text) = texts.next() {
            blocks.push(match text {
                Text::Plain(text) => plain::markdown(&text),
                Text::Html(html) => {
                    let (text, hidden_words) = html_text(&html, lost);
                    self.hidden_words += hidden_words;
                    html::with_pictures(&text, |id| {
                        let mut files = files.iter().map(|(file, name, _)| (file, name));
                        let Some((_, name)) = files.find(|(file, _)| file.content_id == id) else {
                            lost.push(format!("its picture {id} is not in the message"));
                            return None;
                        };
                        shown.insert(name.clone());
                        Some(name.clone())
                    })
                }
                Text::Message(header) => inner_heading(&header),
                Text::EndOfMessage if texts.peek().is_some() => "* * *".to_owned(),
                Text::EndOfMessage => String::new(),
            });
        }
        blocks.retain(|block| !block.is_empty());
        if blocks.is_empty() {
            // An invitation can be a calendar alone.
            let calendars = files.iter().filter(|(file, ..)| file.media_type == "text/calendar");
            blocks.extend(calendars.map(|(file, ..)| calendar::text(&file.bytes(bytes))));
        }
        let mut text = blocks.join("\n\n");
        if text.len() > MAX_TEXT {
            lost.push(format!("only the first {MAX_TEXT} bytes of its text are in the page"));
            let end = (0..=MAX_TEXT).rev().find(|at| text.is_char_boundary(*at));
            text.truncate(end.unwrap_or(0));
        }
        let links =
            files.iter().filter(|(_, name, _)| !shown.contains(name)).map(|(file, name, _)| {
                let mark = if brain_page::is_picture(name) { "!" } else { "" };
                let remark =
                    if file.is_container() { format!(" ({CONTAINER})") } else { "".into() };
                format!("- {mark}[[{name}]]{remark}")
            });
        let mut listed = HashSet::new();
        let links: Vec<String> = links.filter(|link| listed.insert(link.clone())).collect();
        let new = files.into_iter().filter(|(_, _, is_new)| *is_new);
        self.files.push((position, new.map(|(file, name, _)| (file, name)).collect()));
        if links.is_empty() { text } else { format!("{text}\n\n{}", links.join("\n")) }
    }

    /// Gives each file a name in the page. Returns whether the file is new there.
    fn attach(&mut self, bytes: &[u8], files: Vec<FilePart>) -> Vec<(FilePart, String, bool)> {
        let mut attached = Vec::with_capacity(files.len());
        for file in files {
            let wish = file_name(&file.name, &file.media_type);
            let mut hasher = DefaultHasher::new();
            (&wish, file.key(bytes)).hash(&mut hasher);
            let known = self.names.get(&hasher.finish()).cloned();
            let is_new = known.is_none();
            let name = known.unwrap_or_else(|| self.page.attach(&wish));
            self.names.insert(hasher.finish(), name.clone());
            attached.push((file, name, is_new));
        }
        attached
    }

    /// Writes the page and its files.
    fn write(
        mut self,
        store: &Store,
        paths: &mut Paths,
        out: &mut Output<'_>,
    ) -> Result<(), ConvertError> {
        if self.page.from.is_empty() {
            return Ok(());
        }
        self.page.title = if self.title.is_empty() { self.base } else { self.title };
        let name = match self.day {
            Some(day) => format!("{day} {}", self.page.title),
            None => self.page.title.clone(),
        };
        let folders = self.folder.split('/').filter(|folder| !folder.is_empty());
        self.page.path = paths.add(std::iter::once(FOLDER).chain(folders), &name);
        let mut field = |name: &str, values: Vec<String>| {
            if !values.is_empty() {
                self.page.fields.push((name.to_owned(), Value::List(values)));
            }
        };
        field("from", self.senders);
        field("to", self.recipients);
        field("labels", self.labels);
        self.page.fields.insert(0, ("type".to_owned(), Value::Text("email".to_owned())));
        out.page(&self.page)?;
        for (position, files) in self.files.iter().filter(|(_, files)| !files.is_empty()) {
            let bytes = store.read(*position)?.unwrap_or_default();
            for (file, name) in files {
                out.file(&self.page, name, &file.bytes(&bytes))?;
            }
        }
        Ok(())
    }
}

/// Returns the file of a message and its id there.
fn entry(store: &Store, position: Position, header: &Header) -> String {
    match (header.id(), store.is_mbox(position)) {
        ("", _) | (_, false) => store.name(position),
        (id, true) => format!("{}, message {id}", store.file(position)),
    }
}

/// Adds the values that are not in a list. Returns whether it has place for them.
fn add_new(list: &mut Vec<String>, values: impl Iterator<Item = String>) -> bool {
    for value in values {
        if !list.contains(&value) {
            if list.len() == MAX_PEOPLE {
                return false;
            }
            list.push(value);
        }
    }
    true
}

/// Returns `## Ida Brandt, 2026-03-03 10:00 +0100`.
fn heading(header: &Header, sent: Option<&Zoned>) -> String {
    let sender = header.addresses("from").first().map(|it| it.short().to_owned());
    let time = match (sent, header.local_date()) {
        (_, Some(date)) => Some(brain_page::single_line(date).chars().take(MAX_DATE).collect()),
        (Some(sent), None) => Some(sent.strftime("%Y-%m-%d %H:%M %z").to_string()),
        (None, None) => None,
    };
    let parts: Vec<String> = sender.into_iter().chain(time).collect();
    match parts.is_empty() {
        true => "## ?".to_owned(),
        false => format!("## {}", literal_line(&parts.join(", "))),
    }
}

/// Returns the heading and the fields of a message in a message.
fn inner_heading(header: &Header) -> String {
    let subject = header.text("subject");
    let subject = if subject.is_empty() { NO_SUBJECT } else { &subject };
    let fields = field_lines(&[
        ("From", shown(&header.addresses("from"))),
        ("Date", literal_line(&header.text("date"))),
        ("To", shown(&header.addresses("to"))),
        ("Cc", shown(&header.addresses("cc"))),
    ]);
    format!("### {}\n\n{fields}", literal_line(subject)).trim_end().to_owned()
}

/// Returns a line for each field that is not empty.
fn field_lines(fields: &[(&str, String)]) -> String {
    let fields = fields.iter().filter(|(_, value)| !value.is_empty());
    fields.map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join("  \n")
}

fn shown(addresses: &[Address]) -> String {
    let mut names: Vec<String> =
        addresses.iter().take(MAX_SHOWN).map(|it| literal_line(&it.full())).collect();
    if let Some(more) = addresses.len().checked_sub(MAX_SHOWN).filter(|more| *more > 0) {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

/// Returns the text of HTML, and the number of words that it hides. If it cannot be converted, it
/// is kept as code.
fn html_text(html: &str, lost: &mut Vec<String>) -> (String, usize) {
    if html.contains("src=\"data:") || html.contains("src='data:") {
        lost.push("files written into its HTML (data:) are left out".to_owned());
    }
    html::markdown(html).unwrap_or_else(|error| {
        lost.push(format!("its HTML was not converted, and is kept as code: {error}"));
        (format!("~~~~~~~~html\n{html}\n~~~~~~~~"), 0)
    })
}
