//! The text of a message of Claude.

use brain_convert_base::{literal_line, literal_text};
use serde_json::Value;

use crate::embedded::{code, inline_code, model_text, web_link};
use crate::json::{list, text};

/// Returns the blocks of a message below a heading of `level`.
pub(super) fn blocks(message: &Value, level: usize) -> Vec<String> {
    let is_user = text(message, "sender") == "human";
    let writer = Writer { is_user, level };
    let mut blocks = Vec::new();
    for part in list(message, "content") {
        writer.part(part, &mut blocks);
    }
    if blocks.iter().all(|it| it.trim().is_empty()) {
        blocks.push(writer.text(text(message, "text")));
    }
    for attachment in list(message, "attachments") {
        let (name, content) =
            (text(attachment, "file_name"), text(attachment, "extracted_content"));
        if !content.is_empty() {
            blocks.push(format!("{}:", shown_name(name)));
            blocks.push(code(content, ""));
        }
    }
    blocks.retain(|it| !it.trim().is_empty());
    blocks
}

/// Returns the names of files that belong to a message and are not in the export.
pub(super) fn files(message: &Value) -> Vec<String> {
    let attachments = list(message, "attachments").iter();
    let without_text = attachments.filter(|it| text(it, "extracted_content").is_empty());
    // Newer exports name them in both lists.
    let known = list(message, "files");
    let is_new =
        |file: &&Value| known.iter().all(|it| text(it, "file_name") != text(file, "file_name"));
    let newer = list(message, "files_v2").iter().filter(is_new);
    let files = known.iter().chain(newer).chain(without_text);
    let name = |it: &Value| match text(it, "file_name") {
        "" => "a file without a name".to_owned(),
        name => brain_page::single_line(name),
    };
    files.map(name).collect()
}

fn shown_name(name: &str) -> String {
    if name.trim().is_empty() { "Pasted text".to_owned() } else { inline_code(name) }
}

struct Writer {
    is_user: bool,
    level: usize,
}

impl Writer {
    fn text(&self, text: &str) -> String {
        if self.is_user { literal_text(text) } else { model_text(text, self.level) }
    }

    fn part(&self, part: &Value, blocks: &mut Vec<String>) {
        match text(part, "type") {
            "text" | "voice_note" => {
                blocks.push(self.text(text(part, "text")));
                blocks.push(sources(part));
            }
            "thinking" => {
                let thinking = text(part, "thinking");
                if !thinking.trim().is_empty() {
                    blocks.push("Thinking:".to_owned());
                    blocks.push(model_text(thinking, self.level));
                }
            }
            "tool_use" => self.tool_use(part, blocks),
            "tool_result" => tool_result(part, blocks),
            "token_budget" => {}
            kind => {
                blocks.push(format!("{}:", inline_code(kind)));
                blocks.push(code(&serde_json::to_string_pretty(part).unwrap_or_default(), "json"));
            }
        }
    }

    /// Writes what Claude sent to a tool. An artifact is a document that it wrote.
    fn tool_use(&self, part: &Value, blocks: &mut Vec<String>) {
        let none = Value::Null;
        let (name, input) = (text(part, "name"), part.get("input").unwrap_or(&none));
        let first = |keys: &[&'static str]| {
            keys.iter().map(|key| text(input, key)).find(|it| !it.is_empty()).unwrap_or_default()
        };
        let content = first(&["content", "file_text"]);
        let title = first(&["title", "path", "id"]);
        let is_document = matches!(name, "artifacts" | "create_file") && !content.is_empty();
        let (old, new) = (text(input, "old_str"), text(input, "new_str"));
        if is_document {
            blocks.push(format!("Document “{}”:", literal_line(&brain_page::single_line(title))));
            blocks.push(match text(input, "type") {
                "text/markdown" => model_text(content, self.level),
                _ => code(content, text(input, "language")),
            });
        } else if !old.is_empty() || !new.is_empty() {
            blocks.push(format!(
                "Change of “{}”, from:",
                literal_line(&brain_page::single_line(title))
            ));
            blocks.push(code(old, ""));
            blocks.push("to:".to_owned());
            blocks.push(code(new, ""));
        } else if !input.is_null() {
            blocks.push(format!("To {}:", inline_code(name)));
            blocks.push(code(&serde_json::to_string_pretty(input).unwrap_or_default(), "json"));
        }
    }
}

/// Writes what a tool answered.
fn tool_result(part: &Value, blocks: &mut Vec<String>) {
    let mut shown = Vec::new();
    if !text(part, "content").trim().is_empty() {
        shown.push(code(text(part, "content"), ""));
    }
    for item in list(part, "content") {
        let (title, url) = (text(item, "title"), text(item, "url"));
        if !url.is_empty() {
            shown.push(web_link(if title.is_empty() { url } else { title }, url));
        }
        match text(item, "text") {
            text if text.trim().is_empty() => {}
            text => shown.push(code(text, "")),
        }
    }
    if !shown.is_empty() {
        let name = text(part, "name");
        let tool = if name.is_empty() { "a tool".to_owned() } else { inline_code(name) };
        blocks.push(format!("From {tool}:"));
        blocks.append(&mut shown);
    }
}

/// Returns the sources that a text names in its metadata.
fn sources(part: &Value) -> String {
    let mut links: Vec<String> = Vec::new();
    for citation in list(part, "citations") {
        let details = citation.get("details").unwrap_or(citation);
        let url = [text(citation, "url"), text(details, "url")];
        let Some(url) = url.into_iter().find(|it| it.starts_with("http")) else { continue };
        let title = text(citation, "title");
        let link = web_link(if title.is_empty() { url } else { title }, url);
        if !links.contains(&link) {
            links.push(link);
        }
    }
    if links.is_empty() { String::new() } else { format!("Sources: {}", links.join(", ")) }
}
