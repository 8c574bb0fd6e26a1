//! Suggestions for tags and types that no page has.

use brain_protocol::{Complete, CompletionKind, Tags, TagsReply, nearest};

use crate::context::Context;

/// Returns a note about the first of these tags that no page has, or about the type, with the most
/// similar one. `None` if all exist, or if the daemon cannot be asked.
pub(crate) fn note(context: &Context, tags: &[String], page_type: Option<&str>) -> Option<String> {
    if !tags.is_empty() {
        let all = Tags { source: None, slug: None, add: Vec::new(), remove: Vec::new() };
        let Ok(TagsReply::All(known)) = context.call(all) else { return None };
        let known: Vec<&str> = known.tags.iter().map(|tag| tag.tag.as_str()).collect();
        let note = tags.iter().find_map(|tag| unknown("tag", tag, &known));
        if note.is_some() {
            return note;
        }
    }
    let page_type = page_type?;
    let all = Complete { kind: CompletionKind::Type, text: String::new() };
    let known = context.call(all).ok()?.values;
    let known: Vec<&str> = known.iter().map(|name| name.value.as_str()).collect();
    unknown("type", page_type, &known)
}

fn unknown(kind: &str, given: &str, known: &[&str]) -> Option<String> {
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
        assert_eq!(unknown("tag", "#Work", &known), None);
        assert_eq!(
            unknown("tag", "mathemaitcs", &known).as_deref(),
            Some("no page has the tag \"mathemaitcs\"; did you mean \"mathematics\"?")
        );
        assert_eq!(
            unknown("type", "zebra", &known).as_deref(),
            Some("no page has the type \"zebra\"")
        );
    }
}
