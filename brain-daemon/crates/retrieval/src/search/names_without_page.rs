//! Persons to whom a page links, but who have no page: `[[Kate Anderson]]` in `Present were
//! [[Ulrich]] and [[Kate Anderson]].`

use std::collections::{HashMap, HashSet};

use brain_page::{MENTIONS, each_link};
use brain_questions::forms::QuestionForm;
use brain_questions::kinds::is_person;
use brain_search::{Subject, each_word};
use brain_store::{Content, PageEntry, Reader, Resolution, StoreError, unless_damaged};

use super::neighbours::{body_link, frontmatter_link};
use super::relations::{MAX_STARTS, RelationSearch};
use super::target_pages::{kinds, target_pages};

/// Maximum number of links of a page that are read.
const MAX_LINKS: usize = 400;

impl RelationSearch<'_> {
    /// Returns the names of persons without a page to whom a link on a page of `subject` states the
    /// relation, for a question that asks for persons.
    pub(super) fn names_without_page(
        &self,
        form: &QuestionForm,
        subject: &Subject,
    ) -> Result<Vec<String>, StoreError> {
        let targets = target_pages(self.terms, form, &HashSet::new());
        let mut names: Vec<String> = Vec::new();
        // `who is Acme` names no relation.
        if targets.content.is_empty() {
            return Ok(names);
        }
        let mut add = |name: String| {
            if !names.contains(&name) {
                names.push(name);
            }
        };
        for id in subject.pages.iter().take(MAX_STARTS) {
            let Some(page) = self.reader.by_id(*id)? else { continue };
            let mut missing = HashSet::new();
            for link in self.reader.derived(*id)?.links.into_iter().take(MAX_LINKS) {
                let is_missing =
                    matches!(self.reader.resolve(&link, (&page.0, &page.1))?, Resolution::Missing);
                if !is_missing || !may_be_person(&link.raw) {
                    continue;
                }
                if link.kind == MENTIONS {
                    missing.insert(link.raw);
                } else if frontmatter_link(&page, &link, &targets).has_all_words {
                    add(last_part(&link.raw).to_owned());
                }
            }
            let Some(Content { body, .. }) = unless_damaged(self.reader.content(&page.2))? else {
                continue;
            };
            each_link(&body, &|raw| missing.contains(raw), &mut |link| {
                let context = (link.raw, link.sentence);
                if body_link(&page, context, link.lead, &targets).has_all_words {
                    add(shown_text(link.sentence, link.raw).to_owned());
                }
            });
        }
        Ok(names)
    }
}

/// Returns the persons to whom the page links in its text, each with its page, if it has one.
pub(super) fn people_linked_by(
    reader: &Reader,
    id: u64,
) -> Result<Vec<(Option<u64>, String)>, StoreError> {
    let Some(page) = reader.by_id(id)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let mut missing: HashMap<String, usize> = HashMap::new();
    for link in reader.derived(id)?.links.into_iter().take(MAX_LINKS) {
        match reader.resolve(&link, (&page.0, &page.1))? {
            Resolution::Page(target) if is_person_page(&target) => {
                found.push((Some(target.2.id), target.2.title.clone()));
            }
            Resolution::Missing if has_person_folder(&link.raw) => {
                missing.insert(link.raw.clone(), found.len());
                found.push((None, last_part(&link.raw).to_owned()));
            }
            _ => {}
        }
    }
    if missing.is_empty() {
        return Ok(found);
    }
    let Some(Content { body, .. }) = unless_damaged(reader.content(&page.2))? else {
        return Ok(found);
    };
    each_link(&body, &|raw| missing.contains_key(raw), &mut |link| {
        if let Some(person) = missing.get(link.raw).and_then(|at| found.get_mut(*at)) {
            shown_text(link.sentence, link.raw).clone_into(&mut person.1);
        }
    });
    Ok(found)
}

fn is_person_page(page: &PageEntry) -> bool {
    kinds(page).iter().any(|kind| is_person(kind))
}

/// Returns whether the target of a link can be a person: in a folder for persons, or a name of at
/// least two words without a folder.
fn may_be_person(raw: &str) -> bool {
    has_person_folder(raw) || (!raw.contains(['/', '.', '#']) && is_full_name(raw))
}

fn has_person_folder(raw: &str) -> bool {
    let folders = raw.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').any(|folder| is_person(&folder.to_lowercase()))
}

fn is_full_name(raw: &str) -> bool {
    let mut count = 0;
    each_word(raw, &mut |_| count += 1);
    (2..=4).contains(&count)
        && raw.split_whitespace().all(|word| word.starts_with(char::is_uppercase))
}

fn last_part(raw: &str) -> &str {
    raw.rsplit('/').next().unwrap_or(raw)
}

/// Returns the text that a link shows in its sentence.
fn shown_text<'a>(sentence: &'a str, raw: &'a str) -> &'a str {
    let Some(at) = sentence.find(raw) else { return last_part(raw) };
    let (before, after) = (&sentence[..at], &sentence[at + raw.len()..]);
    if let Some(before) = before.trim_end_matches('<').strip_suffix("](") {
        return before.rsplit('[').next().unwrap_or(before).trim();
    }
    let inner = after.split("]]").next().unwrap_or_default();
    match inner.split_once('|') {
        Some((_, shown)) => shown.trim(),
        None => last_part(raw),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_without_a_page_has_a_name() {
        for (sentence, raw, name) in [
            ("held with [Ann Lee](people/ann-lee) and Bo", "people/ann-lee", "Ann Lee"),
            ("held with [[people/ann-lee|Ann Lee]] and [[Bo|B]]", "people/ann-lee", "Ann Lee"),
            ("held with [[Ann Lee]] and [[Bo|B]]", "Ann Lee", "Ann Lee"),
            ("held", "people/ann", "ann"),
        ] {
            assert_eq!(shown_text(sentence, raw), name, "{sentence}");
        }
        assert!(may_be_person("people/ann") && may_be_person("Ann Lee"));
        assert!(
            !may_be_person("companies/acme") && !may_be_person("budget") && !may_be_person("a b")
        );
    }
}
