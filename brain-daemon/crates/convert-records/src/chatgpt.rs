//! Reads the conversations of an export of ChatGPT.
//!
//! `conversations.json` is an array of conversations, in newer exports cut into
//! `conversations-000.json` and so on. A conversation is a tree of messages, because an edited
//! question starts a branch. Times are seconds since 1970. Pictures and other files lie beside it.

mod assets;
mod branches;
mod canvas;
mod marks;
mod message;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::path::Path;

use brain_convert_base::{
    ConvertError, Format, Output, Page, Paths, Sample, Tree, Value as Field, literal_line,
};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::export::{Export, begins_with_words};
use crate::json::{fields, is_true, list, text, value};
use crate::long_page::{LongPage, Target};
use crate::time::from_seconds;
use crate::turns::{Conversation, Head, Place, REPEATED, named, paths_of, title_of, turn_heading};
use assets::Assets;
use branches::{branches, nodes};
use message::{Role, Shown, role, shown};

pub(crate) const FORMAT: Format = Format {
    name: "chatgpt",
    title: "conversations of ChatGPT",
    is_by_others: true,
    recognise,
    convert,
};

/// The folder of the pages.
const FOLDER: &str = "ChatGPT";
/// The field with the messages.
const MESSAGES: &str = "mapping";
/// The level of the heading of a turn, and of one in another branch.
const TURN: usize = 2;
const TURN_IN_BRANCH: usize = 3;

fn recognise(sample: &Sample) -> bool {
    let words = ["\"mapping\"", "\"message\""];
    begins_with_words(sample, &words, &["\"children\"", "\"author\""])
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let export = Export::open(path)?;
    // Files are read while the conversations are, so the archive is opened twice.
    let files = match export.tree() {
        Some(_) => Tree::open(path).map_err(ConvertError::read(path))?,
        None => None,
    };
    let assets = Assets::of(files.as_ref());
    let mut paths = Paths::default();
    let known = paths_of(&export, FOLDER, &mut paths, MESSAGES, |conversation| Head {
        title: title(conversation),
        created: from_seconds(conversation.head.get("create_time")),
        updated: from_seconds(conversation.head.get("update_time")),
        id: id(&conversation.head).to_owned(),
    })?;
    let mut hidden = 0;
    // A part that is cut off does not keep the others from being read.
    let mut end = Ok(());
    for (part, known) in export.parts().iter().zip(known) {
        let mut known = known.into_iter().enumerate();
        let read = export.for_each(part, &mut |element| {
            let (number, place) = known.next().unwrap_or_default();
            let from = format!("{}, conversation {}", part.name, number + 1);
            let conversation = match Conversation::parse(&element, MESSAGES) {
                Ok(conversation) => conversation,
                Err(reason) => return Ok(out.lost(&named(&from, "title", &element), &reason)?),
            };
            let Place::Path(path) = place else {
                return Ok(out.lost(&named(&from, "title", &element), REPEATED)?);
            };
            let target = Target { paths: &mut paths, tree: files.as_ref(), out: &mut *out };
            let mut writer = Writer { target, assets: &assets, hidden: 0 };
            writer.conversation(&conversation, part.name.as_str(), path)?;
            hidden += writer.hidden;
            Ok(())
        });
        end = end.and(read);
    }
    if hidden > 0 {
        let reason = format!(
            "messages that ChatGPT hides (instructions for the model) are in no page: {hidden}"
        );
        out.lost("conversations", &reason)?;
    }
    assets.report_unused(out)?;
    end
}

/// Returns the title of a conversation, else one from its first text.
fn title(conversation: &Conversation<'_>) -> String {
    let title = brain_page::single_line(text(&conversation.head, "title"));
    if !title.is_empty() {
        return title;
    }
    let nodes = nodes(conversation.messages);
    let main = branches(&nodes, text(&conversation.head, "current_node")).main;
    let mut messages = main.into_iter().map(value).filter(|it| role(it) == Role::User);
    let first = messages.find_map(|message| {
        let parts = list(message.get("content")?, "parts").iter();
        let texts = parts.map(|part| part.as_str().unwrap_or_else(|| text(part, "text")));
        texts.map(title_of).find(|it| !it.is_empty())
    });
    first.unwrap_or_else(|| "Untitled".to_owned())
}

struct Writer<'a, 'o> {
    target: Target<'a, 'o>,
    assets: &'a Assets<'a>,
    /// The number of hidden messages with a text.
    hidden: u64,
}

impl Writer<'_, '_> {
    fn conversation(
        &mut self,
        conversation: &Conversation<'_>,
        from: &str,
        path: String,
    ) -> io::Result<()> {
        let nodes = nodes(conversation.messages);
        let branches = branches(&nodes, text(&conversation.head, "current_node"));
        let mut page = LongPage::new(page(conversation, &branches.main, from, path));
        let from = format!("{from}, {}", title(conversation));
        let mut done = HashSet::new();
        let mut is_blank = self.turns(&branches.main, TURN, &mut page, &from, &mut done)?;
        let mut has_heading = false;
        for branch in &branches.others {
            if !branch.messages.iter().any(|it| is_shown(&value(it))) {
                self.turns(&branch.messages, TURN, &mut page, &from, &mut done)?;
                continue;
            }
            if !has_heading {
                page.add(&format!("{} Other branches", "#".repeat(TURN)));
                has_heading = true;
            }
            let after = branch.after.as_ref().map(beginning).unwrap_or_default();
            if !after.is_empty() {
                page.add(&format!("After “{}”:", literal_line(&after)));
            }
            is_blank &=
                self.turns(&branch.messages, TURN_IN_BRANCH, &mut page, &from, &mut done)?;
        }
        if is_blank {
            return self.target.out.lost(&from, "it has no message that ChatGPT shows");
        }
        page.end(&mut self.target)
    }

    /// Adds messages. Messages of one side that follow each other are one turn. Returns whether
    /// there was nothing to add.
    fn turns(
        &mut self,
        messages: &[&RawValue],
        level: usize,
        page: &mut LongPage,
        from: &str,
        done: &mut HashSet<String>,
    ) -> io::Result<bool> {
        let mut current = None;
        for raw in messages {
            let message: Value = match serde_json::from_str(raw.get()) {
                Ok(message) => message,
                Err(error) => {
                    let reason = format!("a message is no readable JSON: {error}");
                    self.target.out.lost(from, &reason)?;
                    continue;
                }
            };
            let mut shown = shown(&message, level);
            if shown.is_empty() {
                continue;
            }
            let side = role(&message);
            if side == Role::Hidden {
                self.hidden += 1;
                continue;
            }
            page.make_room(shown.blocks.iter().map(String::len).sum::<usize>(), &mut self.target)?;
            if current != Some(side) || page.is_empty() {
                let time = from_seconds(message.get("create_time"));
                page.add(&turn_heading(level, &who(&message), time));
            }
            current = Some(side);
            for block in shown.blocks.drain(..) {
                page.add(&block);
            }
            self.files(&shown, page, from, done)?;
        }
        Ok(current.is_none())
    }

    /// Adds the files of a message, each once to a conversation.
    fn files(
        &mut self,
        shown: &Shown,
        page: &mut LongPage,
        from: &str,
        done: &mut HashSet<String>,
    ) -> io::Result<()> {
        for asset in &shown.assets {
            match self.assets.find(asset) {
                Some((entry, name)) => {
                    if done.insert(entry.path.clone()) {
                        page.attach(&name, entry);
                    }
                }
                None => {
                    let name = if asset.name.is_empty() { &asset.pointer } else { &asset.name };
                    page.add(&format!("(file: {})", literal_line(name)));
                    let from = format!("{from}, {name}");
                    self.target.out.lost(&from, "the file is not in the export")?;
                }
            }
        }
        for kind in &shown.unread {
            let reason = format!("a part of the kind \"{kind}\" is not read");
            self.target.out.lost(from, &reason)?;
        }
        Ok(())
    }
}

/// Returns the page of a conversation, without its text.
fn page(conversation: &Conversation<'_>, main: &[&RawValue], from: &str, path: String) -> Page {
    let title = title(conversation);
    let conversation = &conversation.head;
    let models: BTreeSet<String> = main.iter().filter_map(|it| model(it)).collect();
    let mut fields = Vec::new();
    if !id(conversation).is_empty() {
        fields.push(("conversation".to_owned(), Field::Text(id(conversation).to_owned())));
    }
    if !models.is_empty() {
        fields.push(("models".to_owned(), Field::List(models.into_iter().collect())));
    }
    if is_true(conversation, "is_archived") {
        fields.push(("archived".to_owned(), Field::Text("yes".to_owned())));
    }
    let mut page = Page::default();
    page.from = format!("{from}, {title}");
    page.path = path;
    page.created = from_seconds(conversation.get("create_time"));
    page.updated = from_seconds(conversation.get("update_time"));
    page.title = title;
    page.fields = fields;
    page
}

/// Returns the id of a conversation; empty if it has none.
fn id(conversation: &Value) -> &str {
    let ids = [text(conversation, "conversation_id"), text(conversation, "id")];
    ids.into_iter().find(|it| !it.is_empty()).unwrap_or_default()
}

/// Returns the model that wrote a message.
fn model(message: &RawValue) -> Option<String> {
    let fields = fields(message.get().as_bytes()).ok()?;
    let metadata = value(fields.get("metadata")?);
    Some(text(&metadata, "model_slug").to_owned()).filter(|it| !it.is_empty())
}

/// Returns the name of the side that wrote a message.
fn who(message: &Value) -> String {
    let model = message.get("metadata").map_or("", |it| text(it, "model_slug"));
    match (role(message), literal_line(model)) {
        (Role::User, _) => "You".to_owned(),
        (_, model) if model.is_empty() => "ChatGPT".to_owned(),
        (_, model) => format!("ChatGPT ({model})"),
    }
}

/// Returns the beginning of a message.
fn beginning(message: &Value) -> String {
    let parts = message.get("content").map_or(&[][..], |it| list(it, "parts"));
    parts
        .iter()
        .filter_map(Value::as_str)
        .map(title_of)
        .find(|it| !it.is_empty())
        .unwrap_or_default()
}

/// Returns whether ChatGPT shows something of a message.
fn is_shown(message: &Value) -> bool {
    role(message) != Role::Hidden && !shown(message, TURN).is_empty()
}
