//! The text of a message of ChatGPT.

use brain_convert_base::{literal_line, literal_text};
use serde_json::Value;

use super::canvas;
use super::marks::without_marks;
use crate::embedded::{code, inline_code, model_text, web_link};
use crate::json::{is_true, list, text};

/// Who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    User,
    /// ChatGPT, and its tools.
    Model,
    /// Instructions that ChatGPT does not show.
    Hidden,
}

/// A file that a message shows.
pub(super) struct Asset {
    /// What names it in the export: `file-service://file-…`, `sediment://file_…`, or its id.
    pub(super) pointer: String,
    /// Its name, if that is known.
    pub(super) name: String,
}

/// What is shown of a message.
#[derive(Default)]
pub(super) struct Shown {
    /// Blocks of markdown.
    pub(super) blocks: Vec<String>,
    pub(super) assets: Vec<Asset>,
    /// Kinds of parts that are not read.
    pub(super) unread: Vec<String>,
}

impl Shown {
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.assets.is_empty() && self.unread.is_empty()
    }

    fn push(&mut self, block: String) {
        if !block.trim().is_empty() {
            self.blocks.push(block);
        }
    }
}

/// Returns who wrote a message.
pub(super) fn role(message: &Value) -> Role {
    let is_hidden = message
        .get("metadata")
        .is_some_and(|it| is_true(it, "is_visually_hidden_from_conversation"));
    let kind = message.get("content").map_or("", |it| text(it, "content_type"));
    match message.get("author").map_or("", |it| text(it, "role")) {
        _ if is_hidden || kind.ends_with("_editable_context") => Role::Hidden,
        "user" => Role::User,
        "system" => Role::Hidden,
        _ => Role::Model,
    }
}

/// Returns what is shown of a message below a heading of `level`.
pub(super) fn shown(message: &Value, level: usize) -> Shown {
    let mut shown = Shown::default();
    let Some(content) = message.get("content") else { return shown };
    let writer = Writer { message, level };
    match text(content, "content_type") {
        "text" | "multimodal_text" => {
            for part in list(content, "parts") {
                writer.part(part, &mut shown);
            }
        }
        "code" => {
            let parts = list(content, "parts").iter().filter_map(Value::as_str);
            let parts: Vec<&str> = std::iter::once(text(content, "text")).chain(parts).collect();
            shown.push(writer.call(parts.concat().as_str(), text(content, "language")));
        }
        "execution_output" => {
            let output = text(content, "text");
            if !output.trim().is_empty() {
                shown.push(code(output, ""));
            }
        }
        "tether_quote" => {
            let title = [text(content, "title"), text(content, "domain")];
            let title = title.into_iter().find(|it| !it.is_empty()).unwrap_or_default();
            shown.push(match text(content, "url") {
                "" => literal_line(title),
                url => web_link(title, url),
            });
            shown.push(literal_text(text(content, "text")));
        }
        "thoughts" => {
            for thought in list(content, "thoughts") {
                shown.push(literal_line(text(thought, "summary")));
                shown.push(model_text(text(thought, "content"), level));
            }
        }
        kind => {
            let keys = ["name", "title", "url", "result", "summary", "text", "content"];
            let before = shown.blocks.len();
            for key in keys {
                shown.push(literal_text(text(content, key)));
            }
            let is_known = ["tether_browsing_display", "reasoning_recap", "system_error"];
            if before == shown.blocks.len() && !kind.is_empty() && !is_known.contains(&kind) {
                shown.unread.push(kind.to_owned());
            }
        }
    }
    writer.attachments(&mut shown);
    writer.name_tool(&mut shown);
    shown
}

struct Writer<'a> {
    message: &'a Value,
    level: usize,
}

impl Writer<'_> {
    /// Returns who is to read the message, if that is a tool.
    fn recipient(&self) -> &str {
        match text(self.message, "recipient") {
            "all" | "assistant" => "",
            recipient => recipient,
        }
    }

    /// Writes a part of a text: a text, or a picture, sound or transcript.
    fn part(&self, part: &Value, shown: &mut Shown) {
        if let Some(part) = part.as_str() {
            let is_user = role(self.message) == Role::User;
            shown.push(match self.recipient() {
                _ if part.trim().is_empty() => String::new(),
                _ if is_user => literal_text(part),
                "" => model_text(&without_marks(self.message, part), self.level),
                _ => self.call(part, ""),
            });
            return;
        }
        let pointers = ["audio_asset_pointer", "video_container_asset_pointer"];
        let inner = pointers.iter().filter_map(|key| part.get(*key));
        let inner = inner.chain(list(part, "frames_asset_pointers"));
        for asset in std::iter::once(part).chain(inner) {
            let pointer = text(asset, "asset_pointer");
            if !pointer.is_empty() {
                shown.assets.push(Asset { pointer: pointer.to_owned(), name: String::new() });
            }
        }
        shown.push(literal_text(text(part, "text")));
        let kind = text(part, "content_type");
        if text(part, "text").is_empty() && !kind.contains("asset_pointer") && !part.is_null() {
            shown.unread.push(kind.to_owned());
        }
    }

    /// Returns what the model sent to a tool.
    fn call(&self, sent: &str, language: &str) -> String {
        if sent.trim().is_empty() {
            return String::new();
        }
        if let Some(document) = canvas::document(self.recipient(), sent, self.level) {
            return document;
        }
        let language = match (self.recipient(), language) {
            ("python", _) => "python",
            ("", "unknown") => "",
            (_, "unknown" | "") => "json",
            (_, language) => language,
        };
        let to = match self.recipient() {
            "" => String::new(),
            recipient => format!("To {}:\n\n", inline_code(recipient)),
        };
        to + &code(sent, language)
    }

    /// Adds the files that the user sent with the message.
    fn attachments(&self, shown: &mut Shown) {
        let attachments =
            self.message.get("metadata").map_or(&[][..], |it| list(it, "attachments"));
        for attachment in attachments {
            let (id, name) = (text(attachment, "id"), text(attachment, "name").to_owned());
            let is_same = |it: &&mut Asset| !id.is_empty() && it.pointer.contains(id);
            match shown.assets.iter_mut().find(is_same) {
                Some(asset) => asset.name = name,
                None => shown.assets.push(Asset { pointer: id.to_owned(), name }),
            }
        }
    }

    /// Says which tool wrote the message.
    fn name_tool(&self, shown: &mut Shown) {
        let Some(author) = self.message.get("author") else { return };
        if text(author, "role") == "tool" && !shown.blocks.is_empty() {
            let name = match text(author, "name") {
                "" => "a tool".to_owned(),
                name => inline_code(name),
            };
            shown.blocks.insert(0, format!("From {name}:"));
        }
    }
}
