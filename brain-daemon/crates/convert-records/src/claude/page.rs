//! The page of a conversation or project of Claude.

use brain_convert_base::{Page, Value as Field};
use serde_json::Value;

use crate::json::text;
use crate::time::from_text;

/// Returns the page of a conversation or project, without its text.
pub(super) fn page(value: &Value, key: &str, from: &str, path: String, title: String) -> Page {
    let mut page = Page::default();
    from.clone_into(&mut page.from);
    page.path = path;
    page.title = title;
    page.created = from_text(text(value, "created_at"));
    page.updated = from_text(text(value, "updated_at"));
    let id = text(value, "uuid");
    if !id.is_empty() {
        page.fields.push((key.to_owned(), Field::Text(id.to_owned())));
    }
    let summary = text(value, "summary");
    if !summary.is_empty() {
        page.fields.push(("summary".to_owned(), Field::Text(brain_page::single_line(summary))));
    }
    page
}
