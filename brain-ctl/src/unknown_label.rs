//! Suggestions for tags and types that no page has.

use brain_protocol::{Complete, CompletionKind, Tags, TagsReply, nearest};

use crate::context::Context;

/// Returns a note about the first tag that no page has; otherwise about the type, if no page has
/// it. The note suggests the most similar name. `None` if all exist, or if the daemon fails.
pub(crate) fn suggestion_note(
    context: &Context,
    tags: &[String],
    page_type: Option<&str>,
) -> Option<String> {
    if !tags.is_empty() {
        let request = Tags { source: None, slug: None, add: Vec::new(), remove: Vec::new() };
        let Ok(TagsReply::All(known)) = context.call(request) else { return None };
        let known: Vec<&str> = known.tags.iter().map(|tag| tag.tag.as_str()).collect();
        let note = tags.iter().find_map(|tag| unknown_note("tag", tag, &known));
        if note.is_some() {
            return note;
        }
    }
    let page_type = page_type?;
    let request = Complete { kind: CompletionKind::Type, text: String::new() };
    let known = context.call(request).ok()?.values;
    let known: Vec<&str> = known.iter().map(|name| name.value.as_str()).collect();
    unknown_note("type", page_type, &known)
}

/// Returns the note about a name of this kind, unless it is known.
fn unknown_note(kind: &str, given: &str, known: &[&str]) -> Option<String> {
    let given = given.trim().trim_start_matches('#').to_lowercase();
    if known.contains(&given.as_str()) {
        return None;
    }
    let note = format!("no page has the {kind} \"{given}\"");
    Some(match nearest(&given, known.iter().copied()) {
        Some(name) => format!("{note}; did you mean \"{name}\"?"),
        None => note,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_label_is_suggested() {
        let known = ["mathematics", "work"];
        assert_eq!(unknown_note("tag", "#Work", &known), None);
        assert_eq!(
            unknown_note("tag", "mathemaitcs", &known).as_deref(),
            Some("no page has the tag \"mathemaitcs\"; did you mean \"mathematics\"?")
        );
        assert_eq!(
            unknown_note("type", "zebra", &known).as_deref(),
            Some("no page has the type \"zebra\"")
        );
    }
}
