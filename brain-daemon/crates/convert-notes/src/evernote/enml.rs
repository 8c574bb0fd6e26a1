//! Converts ENML, the XML of a note's content, to markdown by way of HTML.
//!
//! ENML is XML: an HTML parser would put text into `<en-todo/>` (see IM05 of the facts about
//! imports). Things that HTML cannot say (attachments, links to notes) are words in the HTML that no
//! text contains; they are replaced in the markdown.

mod attributes;
mod html;
mod literal;
mod places;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use quick_xml::Reader;
use quick_xml::events::Event;

use super::entities;
use super::reasons::Reasons;
use super::tasks::Task;
use attributes::Attributes;
use brain_convert_base::{count_words, fenced, hidden_text};
use brain_page::{MediaType, PayloadError, payload};
use html::{Html, Kind};
use places::Places;

/// Maximum number of elements in each other that are converted. Deeper ones are only their text.
const MAX_DEPTH: usize = 200;
/// Elements that separate the text before them from the text after them.
const BLOCKS: [&str; 13] = [
    "address", "center", "dd", "div", "dl", "dt", "en-note", "p", "section", "article", "header",
    "footer", "caption",
];
/// Elements that HTML has, too. All others are only their text.
const KNOWN: [&str; 34] = [
    "b",
    "strong",
    "i",
    "em",
    "cite",
    "dfn",
    "var",
    "code",
    "kbd",
    "samp",
    "tt",
    "s",
    "strike",
    "del",
    "ins",
    "sub",
    "sup",
    "q",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "img",
    "blockquote",
    "table",
    "thead",
    "tbody",
    "tfoot",
    "tr",
    "td",
    "th",
];

/// Elements that have no content. Text after one of them is not in it, even if nothing ends it.
const EMPTY: [&str; 9] = ["br", "hr", "img", "col", "wbr", "input", "area", "en-media", "en-todo"];

/// The reason for a content whose tags do not match.
const UNMATCHED: &str = "its content has tags that do not match; its text is kept";

/// What the content of a note refers to.
pub(super) trait Targets {
    /// Returns the path of the note that a link's address and text name, or `None`.
    fn note(&self, address: &str, text: &str) -> Option<String>;
    /// Returns the markdown of the file with this hash, and marks the file as used.
    fn file(&mut self, hash: &str) -> Option<String>;
}

/// A converted content.
pub(super) struct Converted {
    pub(super) markdown: String,
    /// What was lost: reasons for the report.
    pub(super) lost: Reasons,
}

/// Converts the content of a note. `tasks` stand at the places of their groups; a task without a
/// place stands at the end.
pub(super) fn convert(enml: &str, tasks: &[Task], targets: &mut dyn Targets) -> Converted {
    let mut walker = Walker {
        html: Html::new(Places::new(enml)),
        targets,
        groups: groups(tasks),
        lost: Reasons::default(),
        text: String::new(),
        open: Vec::new(),
        open_names: HashMap::new(),
        skipped: 0,
        is_hidden: false,
        hidden_words: 0,
        deep: 0,
    };
    let result = walker.walk(enml);
    walker.rest_of_tasks();
    let (mut lost, html, mut hidden_words) = (walker.lost, walker.html, walker.hidden_words);
    let (html, places) = html.finish();
    let html = match result {
        Ok(()) => html,
        Err(reason) => {
            lost.push(format!("its content is not XML, and is read as HTML: {reason}"));
            as_html(enml, &mut lost)
        }
    };
    let markdown = match payload(MediaType::Html, html.as_bytes()) {
        Ok(payload) => {
            hidden_words += payload.hidden_words;
            places.fill(&payload.document.body, &mut lost)
        }
        Err(PayloadError::Empty) => String::new(),
        Err(error) => {
            lost.push(format!("its content is not converted, and stays as code: {error}"));
            fenced("xml", enml)
        }
    };
    hidden_text(hidden_words).into_iter().for_each(|reason| lost.push(reason));
    Converted { markdown, lost }
}

/// Returns a content that is not XML for the converter of HTML. Reports what HTML does not have.
fn as_html(enml: &str, lost: &mut Reasons) -> String {
    // An element at the beginning, so that no text makes the HTML another format.
    let mut html = "<div></div>".to_owned();
    let mut rest = enml;
    while let Some((before, encrypted)) = rest.split_once("<en-crypt") {
        html.push_str(before);
        html.push_str("(encrypted text)");
        rest = encrypted.split_once("</en-crypt>").map_or("", |(_, after)| after);
        lost.push("it has an encrypted text".to_owned());
    }
    html.push_str(rest);
    for (mark, name) in [("<en-todo", "check boxes"), ("<en-media", "places of its files")] {
        if html.contains(mark) {
            lost.push(format!("the {name} in its text are left out"));
        }
    }
    html.replace('\0', "")
}

/// Returns the tasks by group, each in its order.
fn groups(tasks: &[Task]) -> BTreeMap<&str, Vec<&Task>> {
    let mut groups: BTreeMap<&str, Vec<&Task>> = BTreeMap::new();
    for task in tasks {
        groups.entry(&task.group).or_default().push(task);
    }
    groups.values_mut().for_each(|tasks| tasks.sort_by(|a, b| a.weight.cmp(&b.weight)));
    groups
}

/// Walks the events of ENML.
struct Walker<'a> {
    html: Html,
    targets: &'a mut dyn Targets,
    /// The groups of tasks that have not been written.
    groups: BTreeMap<&'a str, Vec<&'a Task>>,
    lost: Reasons,
    /// Text that is not written yet. References split it.
    text: String,
    /// The names of the open elements, and how many of each name there are.
    open: Vec<String>,
    open_names: HashMap<String, usize>,
    /// Number of open elements whose content is no text.
    skipped: usize,
    /// Whether they are hidden, and the number of hidden words.
    is_hidden: bool,
    hidden_words: usize,
    /// Number of open elements beyond [`MAX_DEPTH`].
    deep: usize,
}

impl Walker<'_> {
    /// # Errors
    /// The reason why the content cannot be read as elements and text.
    fn walk(&mut self, enml: &str) -> Result<(), String> {
        let mut reader = Reader::from_str(enml);
        reader.config_mut().expand_empty_elements = true;
        // Programs other than Evernote write tags as in HTML.
        reader.config_mut().check_end_names = false;
        reader.config_mut().allow_unmatched_ends = true;
        reader.config_mut().allow_dangling_amp = true;
        loop {
            match reader.read_event().map_err(|error| error.to_string())? {
                Event::Start(tag) => {
                    let attributes = Attributes::of(&tag)?;
                    attributes.unknown().iter().for_each(|name| self.lost.push_name(name));
                    self.open(tag.local_name().as_ref(), &attributes)?;
                }
                Event::End(tag) => self.close(tag.local_name().as_ref()),
                Event::Text(text) => self.text(&text.xml10_content()),
                Event::CData(text) => self.text(&text.xml10_content()),
                Event::GeneralRef(name) => {
                    let name = name.xml10_content();
                    match entities::resolve(&name) {
                        Some(text) => self.text(&text),
                        None => {
                            self.text(&format!("&{name};"));
                            self.lost.push_name(&name);
                        }
                    }
                }
                Event::Eof => {
                    self.close_to(0);
                    self.write_text();
                    return Ok(());
                }
                _ => {}
            }
        }
    }

    fn open(&mut self, name: &str, attributes: &Attributes) -> Result<(), String> {
        if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return Err("it has a \"<\" that begins no element".to_owned());
        }
        self.start(name, attributes);
        if EMPTY.contains(&name) {
            self.end();
        } else {
            self.open.push(name.to_owned());
            *self.open_names.entry(name.to_owned()).or_default() += 1;
        }
        Ok(())
    }

    /// Ends the innermost element of a name, and those in it.
    fn close(&mut self, name: &str) {
        if EMPTY.contains(&name) {
            return;
        }
        // Looks only for an element that is there, so that this takes linear time.
        let is_open = self.open_names.get(name).is_some_and(|count| *count > 0);
        match is_open.then(|| self.open.iter().rposition(|open| open == name)).flatten() {
            Some(at) => {
                self.close_to(at + 1);
                self.close_last();
            }
            None => self.lost.push(UNMATCHED.to_owned()),
        }
    }

    /// Ends elements that nothing has ended, until only `count` are open.
    fn close_to(&mut self, count: usize) {
        while self.open.len() > count {
            self.lost.push(UNMATCHED.to_owned());
            self.close_last();
        }
    }

    fn close_last(&mut self) {
        self.end();
        if let Some(name) = self.open.pop()
            && let Some(count) = self.open_names.get_mut(&name)
        {
            *count -= 1;
        }
    }

    fn text(&mut self, text: &str) {
        if self.skipped == 0 {
            self.text.push_str(text);
        } else if self.is_hidden {
            self.hidden_words += count_words(text);
        }
    }

    fn write_text(&mut self) {
        if !self.text.is_empty() {
            self.html.text(&std::mem::take(&mut self.text));
        }
    }

    fn start(&mut self, name: &str, attributes: &Attributes) {
        self.write_text();
        if self.skipped > 0 {
            self.skipped += 1;
            return;
        }
        if self.html.depth() >= MAX_DEPTH {
            self.deep += 1;
            return;
        }
        match name {
            "en-media" => self.media(attributes),
            "en-todo" => {
                self.html.todo(attributes.get("checked") == "true");
                self.html.open(Kind::Other, "");
            }
            "en-crypt" => {
                self.html.text("(encrypted text)");
                let hint = match attributes.get("hint") {
                    "" => "without a hint".to_owned(),
                    hint => format!("with the hint \"{hint}\""),
                };
                self.lost.push(format!("it has an encrypted text {hint}"));
                self.skipped = 1;
            }
            "pre" => self.html.open_code(""),
            "div" if attributes.is_on("-en-codeblock") => {
                self.html.open_code(attributes.style("--en-syntaxLanguage"));
            }
            "div" if attributes.is_on("--en-task-group") => {
                self.group(attributes.style("--en-id"));
                self.skipped = 1;
            }
            _ if attributes.is_hidden() => (self.skipped, self.is_hidden) = (1, true),
            _ if self.html.in_code() => self.html.open_in_code(name),
            _ => self.start_plain(name, attributes),
        }
    }

    /// Begins an element that HTML has, too.
    fn start_plain(&mut self, name: &str, attributes: &Attributes) {
        match name {
            "br" => {
                self.html.line_break();
                self.html.open(Kind::Other, "");
            }
            "ul" => self.html.open_list("ul", attributes.is_on("--en-todo"), ""),
            "ol" => self.html.open_list("ol", false, attributes.get("start")),
            "li" => self.html.open_item(attributes.style("--en-checked")),
            "a" => {
                let address = attributes.get("href");
                self.html.open_link(address, is_note(address));
            }
            "img" => {
                self.html.image(attributes.get("src"), attributes.get("alt"));
                self.html.open(Kind::Other, "");
            }
            "hr" => {
                self.html.block_tag("<hr>");
                self.html.open(Kind::Other, "");
            }
            "td" | "th" => {
                let spans = (attributes.get("rowspan"), attributes.get("colspan"));
                self.html.open_cell(name, spans);
            }
            "span" | "font" => {
                self.html.open_span(&attributes.formats(), attributes.is_highlighted());
            }
            name if BLOCKS.contains(&name) => self.html.open_block(),
            name if KNOWN.contains(&name) => self.html.open_known(name),
            _ => self.html.open(Kind::Other, ""),
        }
    }

    fn end(&mut self) {
        self.write_text();
        match self.skipped {
            0 if self.deep > 0 => self.deep -= 1,
            0 => {
                if let Some((address, text)) = self.html.link_text() {
                    self.end_link(&address, &text);
                } else {
                    self.html.close();
                }
            }
            1 => (self.skipped, self.is_hidden) = (0, false),
            _ => self.skipped -= 1,
        }
    }

    /// Ends a link to a note.
    fn end_link(&mut self, address: &str, text: &str) {
        let shown = brain_page::single_line(text);
        match self.targets.note(address, &shown) {
            Some(path) => self.html.close_note_link(&brain_convert_base::link(&path, &shown)),
            None => {
                if address.starts_with("evernote:") {
                    self.lost.push(format!(
                        "its link to the note \"{shown}\" names no note, or several, of the export"
                    ));
                }
                self.html.close();
            }
        }
    }

    fn media(&mut self, attributes: &Attributes) {
        let hash = attributes.get("hash").to_ascii_lowercase();
        match self.targets.file(&hash) {
            Some(markdown) => self.html.place(markdown),
            None => {
                self.html.text("(missing file)");
                let kind = attributes.get("type");
                self.lost.push(format!("its file {hash} ({kind}) is not in the export"));
            }
        }
        self.html.open(Kind::Other, "");
    }

    /// Writes a group of tasks.
    fn group(&mut self, id: &str) {
        if let Some(tasks) = self.groups.remove(id) {
            self.html.tasks(&tasks);
        }
    }

    fn rest_of_tasks(&mut self) {
        for (_, tasks) in std::mem::take(&mut self.groups) {
            self.html.tasks(&tasks);
        }
    }
}

/// Returns whether an address is the one of a note of Evernote.
fn is_note(address: &str) -> bool {
    let is_web = address.strip_prefix("https://www.evernote.com/shard/").is_some();
    is_web || address.starts_with("evernote:///view/")
}
