//! Documents that ChatGPT writes beside a conversation ("canvas").
//!
//! A message to the tool `canmore` has them as JSON.

use brain_convert_base::literal_line;
use serde_json::Value;

use crate::embedded::{code, model_text};
use crate::json::{list, text};

/// The pattern of a change that replaces the whole document.
const WHOLE: &str = ".*";

/// Returns the document in a message to a tool, or the changes and comments on it, below a heading
/// of `level`. A message to another tool, or in another form, has none.
pub(super) fn document(recipient: &str, sent: &str, level: usize) -> Option<String> {
    let action = recipient.strip_prefix("canmore.")?;
    let sent: Value = serde_json::from_str(sent).ok()?;
    let blocks = match action {
        "create_textdoc" => created(&sent, level),
        "update_textdoc" => list(&sent, "updates").iter().flat_map(changed).collect(),
        "comment_textdoc" => list(&sent, "comments").iter().flat_map(commented).collect(),
        _ => Vec::new(),
    };
    (!blocks.is_empty()).then(|| blocks.join("\n\n"))
}

fn created(sent: &Value, level: usize) -> Vec<String> {
    let content = text(sent, "content");
    if content.trim().is_empty() {
        return Vec::new();
    }
    let name = literal_line(&brain_page::single_line(text(sent, "name")));
    let content = match text(sent, "type").strip_prefix("code/") {
        Some(language) => code(content, language),
        None => model_text(content, level),
    };
    vec![format!("Document “{name}”:"), content]
}

fn changed(update: &Value) -> Vec<String> {
    let (old, new) = (text(update, "pattern"), code(text(update, "replacement"), ""));
    match old {
        WHOLE => vec!["New text of the document:".to_owned(), new],
        old => {
            vec!["Change of the document, from:".to_owned(), code(old, ""), "to:".to_owned(), new]
        }
    }
}

fn commented(comment: &Value) -> Vec<String> {
    vec![
        "Comment on the document, at:".to_owned(),
        code(text(comment, "pattern"), ""),
        literal_line(&brain_page::single_line(text(comment, "comment"))),
    ]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn documents_and_their_changes_are_text() {
        let document = |action: &str, sent: &str| document(&format!("canmore.{action}"), sent, 2);
        let created = r##"{"name":"A [b]","type":"document","content":"# T\n\n- [ ] do"}"##;
        let created = document("create_textdoc", created).unwrap();
        assert_eq!(created, "Document “A \\[b\\]”:\n\n### T\n\n- [ ] do");
        let program = r#"{"name":"p","type":"code/python","content":"x = 1"}"#;
        let program = document("create_textdoc", program).unwrap();
        assert_eq!(program, "Document “p”:\n\n```python\nx = 1\n```");
        let updates = r#"{"updates":[{"pattern":".*","replacement":"new"},
            {"pattern":"a","replacement":"b"}]}"#;
        assert_eq!(
            document("update_textdoc", updates).unwrap(),
            "New text of the document:\n\n```\nnew\n```\n\nChange of the document, from:\n\n\
             ```\na\n```\n\nto:\n\n```\nb\n```"
        );
        let comments = r#"{"comments":[{"pattern":"a","comment":"Why?"}]}"#;
        assert!(document("comment_textdoc", comments).unwrap().ends_with("```\n\nWhy?"));
        for other in ["", "{}", "[]", "{\"content\":1}", "{\"updates\":3}"] {
            assert_eq!(document("create_textdoc", other), None, "{other}");
            assert_eq!(document("update_textdoc", other), None, "{other}");
        }
        assert_eq!(super::document("python", "{}", 2), None);
    }
}
