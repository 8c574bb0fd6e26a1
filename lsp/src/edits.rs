//! Edits of texts, in the form that the client can apply.

use gen_lsp_types::TextEdit;
use serde_json::{Value, json};

use crate::text::Text;

/// Returns the edits that turn `old` into `new`: at most one in each line that differs.
pub(crate) fn difference(old: &Text, new: &str) -> Vec<TextEdit> {
    let text = old.as_str();
    let pairs = || text.split_inclusive('\n').zip(new.split_inclusive('\n'));
    let count = |text: &str| text.split_inclusive('\n').count();
    let mut edits = Vec::new();
    let mut at = 0;
    let mut edit = |at: usize, line: &str, new: &str| {
        if line == new {
            return;
        }
        let start = line.char_indices().zip(new.chars()).find(|((_, a), b)| a != b);
        let mut start = start.map_or(line.len().min(new.len()), |((at, _), _)| at);
        // No position is inside of a line end.
        if line[..start].ends_with('\r') {
            start -= 1;
        }
        let (rest, new_rest) = (&line[start..], &new[start..]);
        let same = rest.chars().rev().zip(new_rest.chars().rev()).take_while(|(a, b)| a == b);
        let mut end: usize = same.map(|(c, _)| c.len_utf8()).sum();
        if line[..line.len() - end].ends_with('\r') && line[line.len() - end..].starts_with('\n') {
            end -= 1;
        }
        edits.push(TextEdit {
            range: old.range(at + start..at + line.len() - end),
            new_text: new_rest[..new_rest.len() - end].to_owned(),
        });
    };
    if count(text) == count(new) {
        for (line, new) in pairs() {
            edit(at, line, new);
            at += line.len();
        }
    } else {
        edit(0, text, new);
    }
    edits
}

/// The edits of one document.
pub(crate) struct DocumentEdits {
    pub(crate) uri: String,
    pub(crate) version: Option<i32>,
    pub(crate) edits: Vec<TextEdit>,
}

/// What the client can do with an edit of the workspace.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EditSupport {
    /// It knows `documentChanges`.
    pub(crate) versions: bool,
    /// It can rename files, and so knows `documentChanges`.
    pub(crate) rename: bool,
}

/// Returns an edit of the workspace: in one form only, and first the texts, then the names of files.
pub(crate) fn workspace_edit(
    support: EditSupport,
    documents: Vec<DocumentEdits>,
    renamed_files: &[(String, String)],
) -> Value {
    let documents = documents.into_iter().filter(|document| !document.edits.is_empty());
    if !support.versions {
        let changes: serde_json::Map<String, Value> =
            documents.map(|document| (document.uri, json!(document.edits))).collect();
        return json!({ "changes": changes });
    }
    let texts = documents.map(|document| {
        let id = json!({ "uri": document.uri, "version": document.version });
        json!({ "textDocument": id, "edits": document.edits })
    });
    let names = renamed_files
        .iter()
        .map(|(from, to)| json!({ "kind": "rename", "oldUri": from, "newUri": to }));
    json!({ "documentChanges": texts.chain(names).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Change, Encoding};
    use proptest::prelude::*;

    fn applied(old: &str, new: &str) -> String {
        let mut text = Text::new(old.to_owned(), Encoding::Utf16);
        let mut edits = difference(&text, new);
        edits.reverse();
        let change = |edit: TextEdit| Change { range: Some(edit.range), text: edit.new_text };
        edits.into_iter().map(change).for_each(|change| text.apply(change));
        text.as_str().to_owned()
    }

    #[test]
    fn an_edit_has_only_what_differs() {
        let text = Text::new("a [[Old]] b\nc\n".to_owned(), Encoding::Utf16);
        let edits = difference(&text, "a [[New page]] b\nc\n");
        assert_eq!(edits.len(), 1);
        let range = edits[0].range;
        assert_eq!((range.start.character, range.end.character), (4, 7));
        assert_eq!(edits[0].new_text, "New page");
    }

    proptest! {
        #[test]
        fn edits_lead_from_any_text_to_any_other(old in "(a|b|🦓|\n|\r\n){0,9}", new in "(a|b|🦓|\n|\r\n){0,9}") {
            prop_assert_eq!(applied(&old, &new), new);
        }
    }
}
