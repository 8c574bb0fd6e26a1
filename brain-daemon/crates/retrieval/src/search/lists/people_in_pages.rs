//! Lists of people in pages: `attendees` in the frontmatter, `## Attendees`, `Present: Ann, Bo`,
//! `Present were Ann and Bo.`

use brain_page::normalize_name;
use brain_questions::function_words::{is_negation, names_absence};
use brain_questions::relation_words::names_attendance;
use brain_store::{Content, PageEntry, Reader, Resolution, StoreError, unless_damaged};

use super::names_in_text::{link_in, list_item, split_names};
use super::sentences::listed_in_sentence;
use super::{ListEntry, folded_words};

/// Maximum number of words of a label such as `Who was there`.
const MAX_LABEL_WORDS: usize = 3;
/// Maximum number of words of a person's name. A longer text is a sentence.
const MAX_NAME_WORDS: usize = 5;

/// Returns the list of people that a page states, and its label. `None` if it has none.
pub(super) fn people_list(
    reader: &Reader,
    page: &PageEntry,
) -> Result<Option<(String, Vec<ListEntry>)>, StoreError> {
    let content = unless_damaged(reader.content(&page.2))?;
    let Some(Content { frontmatter, body }) = content else { return Ok(None) };
    let mut label = String::new();
    let mut items: Vec<String> = Vec::new();
    if let Ok(frontmatter) = frontmatter.parsed() {
        for key in frontmatter.keys().filter(|key| is_label(&key.replace('_', " "))) {
            label = key.to_owned();
            items.extend(frontmatter.list(key).iter().flat_map(|value| split_names(value)));
        }
    }
    if items.is_empty() {
        (label, items) = listed_in_body(&body);
    }
    if items.is_empty() {
        (label, items) = listed_in_sentence(&body).unwrap_or_default();
    }
    let mut people: Vec<ListEntry> = Vec::new();
    for item in items {
        let Some(person) = person(reader, page, &item)? else { continue };
        if people.iter().all(|known| known.text != person.text) {
            people.push(person);
        }
    }
    Ok((!people.is_empty()).then_some((label, people)))
}

/// Returns whether a text is the label of a list of people at an event.
fn is_label(text: &str) -> bool {
    let words = folded_words(text);
    !words.is_empty()
        && words.len() <= MAX_LABEL_WORDS
        && words.iter().any(|word| names_attendance(word))
        && !words.iter().any(|word| is_negation(word) || names_absence(word))
}

/// Returns the first list of people in a body, and its label.
fn listed_in_body(body: &str) -> (String, Vec<String>) {
    let (mut label, mut items) = (String::new(), Vec::new());
    let mut is_list = false;
    for line in body.lines().map(str::trim) {
        if let Some(heading) = line.strip_prefix('#') {
            if !items.is_empty() {
                break;
            }
            let heading = heading.trim_matches(['#', ' ', ':']);
            is_list = is_label(heading);
            label = heading.to_owned();
            continue;
        }
        let item = list_item(line);
        let text = item.unwrap_or(line);
        if let Some((name, rest)) = text.split_once(':').filter(|(name, _)| is_label(name)) {
            label = name.trim_matches(['*', '_', ' ']).to_owned();
            items.extend(split_names(rest.trim_matches(['*', '_', ' '])));
            if !items.is_empty() {
                break;
            }
            is_list = true;
            continue;
        }
        match item {
            Some(item) if is_list => items.extend(split_names(item)),
            // A line of names, not a sentence.
            None if is_list && !line.is_empty() && !line.ends_with('.') && items.is_empty() => {
                items.extend(split_names(line));
            }
            None if is_list && !line.is_empty() => break,
            _ => {}
        }
    }
    (label, items)
}

/// Returns the page of a name in the source of `page`, if it is the only one.
fn only_page_named(
    reader: &Reader,
    page: &PageEntry,
    name: &str,
) -> Result<Option<PageEntry>, StoreError> {
    let mut pages = reader.pages_by_name(&page.0, &normalize_name(name), 2)?;
    Ok(if pages.len() == 1 { pages.pop() } else { None })
}

/// Returns the page that a link of `page` leads to. A key such as `author` has no links, so its
/// page is found by the name.
pub(super) fn linked_page(
    reader: &Reader,
    page: &PageEntry,
    target: &str,
) -> Result<Option<PageEntry>, StoreError> {
    for link in reader.derived(page.2.id)?.links {
        if link.raw == target
            && let Resolution::Page(found) = reader.resolve(&link, (&page.0, &page.1))?
        {
            return Ok(Some(*found));
        }
    }
    only_page_named(reader, page, target.rsplit('/').next().unwrap_or(target))
}

/// Returns the person that an item of a list names. `None` if it is no name.
fn person(reader: &Reader, page: &PageEntry, item: &str) -> Result<Option<ListEntry>, StoreError> {
    if let Some((target, shown)) = link_in(item) {
        return Ok(Some(match linked_page(reader, page, target)? {
            Some(found) => ListEntry::of_page(found, None),
            None => {
                let shown = shown.rsplit('/').next().unwrap_or(shown).to_owned();
                ListEntry { text: shown, page: None, day: None }
            }
        }));
    }
    let end = [" (", " – ", " — ", " - ", ":"].iter().filter_map(|mark| item.find(mark)).min();
    let name = item[..end.unwrap_or(item.len())].trim_matches(['*', '_', '@', ' ', '.', '"']);
    if name.is_empty() || folded_words(name).len() > MAX_NAME_WORDS {
        return Ok(None);
    }
    Ok(Some(match only_page_named(reader, page, name)? {
        Some(found) => ListEntry::of_page(found, None),
        None => ListEntry { text: name.to_owned(), page: None, day: None },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_people_are_found_in_a_body() {
        for (body, label, names) in [
            ("## Attendees\n\n- [[Ann]]\n- Bo Lund (chair)\n\n## Notes\n\n- tea", "Attendees", 2),
            ("**Attendees:** [[Ann]], [[Bo]] and Edith\n\nText.", "Attendees", 3),
            ("- Present: Ann & Bo\n- Absent: Cy", "Present", 2),
            ("Teilnehmer:\n- Ann\n- Bo\n\nEs war kalt.", "Teilnehmer", 2),
            ("## Participants\nAnn, Bo\n\nA sentence follows.", "Participants", 2),
            ("## Asistentes\n\n1. Ann\n2. Bo", "Asistentes", 2),
        ] {
            let (found, items) = listed_in_body(body);
            assert_eq!((found.as_str(), items.len()), (label, names), "{body}: {items:?}");
        }
        for body in [
            "## Notes\n\n- Ann",
            "Ann was at home.",
            "## Not present\n\n- Cy",
            "Nadie presente: Cy",
            "",
        ] {
            assert_eq!(listed_in_body(body).1, Vec::<String>::new(), "{body}");
        }
    }
}
