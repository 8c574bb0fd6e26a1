//! Reads the conversations and projects of an export of Claude.
//!
//! `conversations.json` is an array of conversations with their messages in order. Pasted text is
//! an attachment with its text. Other files of a message are only named there.

mod message;
mod others;
mod page;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::io;
use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Paths, Sample, literal_line};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::export::{Export, begins_with_words};
use crate::json::{list, text, value};
use crate::long_page::{LongPage, Target};
use crate::time::from_text;
use crate::turns::{Conversation, Head, Place, REPEATED, named, paths_of, title_of, turn_heading};
use message::{blocks, files};
use others::convert_others;
use page::page;

pub(crate) const FORMAT: Format = Format {
    name: "claude",
    title: "conversations of Claude",
    is_by_others: true,
    recognise,
    convert,
};

/// The folder of the pages.
const FOLDER: &str = "Claude";
/// The field with the messages.
const MESSAGES: &str = "chat_messages";
/// The level of the heading of a turn.
const TURN: usize = 2;

fn recognise(sample: &Sample) -> bool {
    begins_with_words(sample, &["\"chat_messages\"", "\"uuid\""], &["\"name\"", "\"sender\""])
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let export = Export::open(path)?;
    let mut paths = Paths::default();
    let known = paths_of(&export, FOLDER, &mut paths, MESSAGES, |conversation| Head {
        title: title(conversation),
        created: from_text(text(&conversation.head, "created_at")),
        updated: from_text(text(&conversation.head, "updated_at")),
        id: text(&conversation.head, "uuid").to_owned(),
    })?;
    // A part that is cut off does not keep the others from being read.
    let mut end = Ok(());
    for (part, known) in export.parts().iter().zip(known) {
        let mut known = known.into_iter().enumerate();
        let read = export.for_each(part, &mut |element| {
            let (number, place) = known.next().unwrap_or_default();
            let lost = |reason: &str, out: &mut Output<'_>| {
                let from = format!("{}, conversation {}", part.name, number + 1);
                Ok(out.lost(&named(&from, "name", &element), reason)?)
            };
            match (Conversation::parse(&element, MESSAGES), place) {
                (Ok(conversation), Place::Path(path)) => {
                    let target = Target { paths: &mut paths, tree: None, out: &mut *out };
                    Ok(write_conversation(&conversation, &part.name, path, target)?)
                }
                (Ok(_), _) => lost(REPEATED, out),
                (Err(reason), _) => lost(&reason, out),
            }
        });
        end = end.and(read);
    }
    match export.tree() {
        Some(tree) => end.and(convert_others(tree, &export, FOLDER, &mut paths, out)),
        None => end,
    }
}

/// Returns the title of a conversation, else one from its first text.
fn title(conversation: &Conversation<'_>) -> String {
    let name = brain_page::single_line(text(&conversation.head, "name"));
    if !name.is_empty() {
        return name;
    }
    let titles = messages(conversation).into_iter().map(|raw| {
        let message = value(raw);
        let part = list(&message, "content").iter().map(|it| text(it, "text"));
        let pasted = list(&message, "attachments").iter().map(|it| text(it, "extracted_content"));
        let texts = std::iter::once(text(&message, "text")).chain(part).chain(pasted);
        texts.map(title_of).find(|it| !it.is_empty()).unwrap_or_default()
    });
    let first = { titles }.find(|it| !it.is_empty());
    first.unwrap_or_else(|| "Untitled".to_owned())
}

/// Returns the messages of a conversation, which are not parsed.
fn messages<'a>(conversation: &Conversation<'a>) -> Vec<&'a RawValue> {
    let messages = conversation.messages.map(|it| serde_json::from_str(it.get()));
    messages.and_then(Result::ok).unwrap_or_default()
}

fn write_conversation(
    conversation: &Conversation<'_>,
    file: &str,
    path: String,
    mut target: Target<'_, '_>,
) -> io::Result<()> {
    let title = title(conversation);
    let from = format!("{file}, {title}");
    let mut page = LongPage::new(page(&conversation.head, "conversation", &from, path, title));
    let mut is_blank = true;
    let mut before = String::new();
    for raw in messages(conversation) {
        let message: Value = match serde_json::from_str(raw.get()) {
            Ok(message) => message,
            Err(error) => {
                let reason = format!("a message is no readable JSON: {error}");
                target.out.lost(&from, &reason)?;
                continue;
            }
        };
        let message = &message;
        let (mut blocks, files) = (blocks(message, TURN), files(message));
        blocks.extend(files.iter().map(|name| format!("(file: {})", literal_line(name))));
        let parent = text(message, "parent_message_uuid");
        let is_branch = !parent.is_empty() && !before.is_empty() && parent != before;
        text(message, "uuid").clone_into(&mut before);
        if blocks.is_empty() {
            continue;
        }
        is_blank = false;
        page.make_room(blocks.iter().map(String::len).sum(), &mut target)?;
        let who = if text(message, "sender") == "human" { "You" } else { "Claude" };
        page.add(&turn_heading(TURN, who, from_text(text(message, "created_at"))));
        if is_branch {
            page.add("(in another branch of the conversation)");
        }
        for block in blocks {
            page.add(&block);
        }
        for name in files {
            target.out.lost(&format!("{from}, {name}"), "the file is not in the export")?;
        }
    }
    if is_blank {
        return target.out.lost(&from, "it has no message with a text");
    }
    page.end(&mut target)
}
