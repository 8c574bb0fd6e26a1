//! Answers without a language model: lists that the pages state. No I/O.

use brain_protocol::{AskReply, Citation, Command, hint};

use brain_retrieval::search::{DirectAnswer, ListAnswer, ListEntry, PageChoice};
use brain_store::PageEntry;

/// Maximum number of pages that an answer lists. The total in its first line counts all pages.
const MAX_LINES: usize = 50;

/// The lines of an answer with the pages that they cite.
#[derive(Default)]
struct CitedLines {
    lines: Vec<String>,
    citations: Vec<Citation>,
}

/// Returns the answer: a line for each of the first entries, with its day, text and citation.
pub(super) fn answer(direct: DirectAnswer, empty_reply: AskReply) -> AskReply {
    match direct {
        DirectAnswer::List(list) => list_reply(*list, empty_reply),
        DirectAnswer::Choice(choice) => choice_reply(choice, empty_reply),
    }
}

fn list_reply(list: ListAnswer, empty_reply: AskReply) -> AskReply {
    let ListAnswer { noun, is_count, stated_by, entries, origin, doubt } = list;
    let total = entries.len();
    let mut cited = CitedLines::default();
    if let Some(((source, slug, record), label)) = stated_by {
        let page = (source, slug, record);
        let title = one_line(&page.2.title);
        let number = cited.cite(page, &title);
        let count = if is_count { format!("{total} ") } else { String::new() };
        cited.lines.push(format!("{title} [{number}], {count}{}:", label.replace('_', " ")));
    } else if is_count || total > 1 {
        // The word of the question is a plural, of any language.
        let noun = if total == 1 { "page" } else { noun.as_str() };
        cited.lines.push(format!("{total} {noun}").trim().to_owned() + ":");
    }
    cited.add(entries);
    AskReply {
        answer: Some(cited.lines.join("\n")),
        citations: cited.citations,
        unknown: doubt,
        hint: Some(
            format!("this answer comes from the {origin} of your pages, without a language model")
                .into(),
        ),
        ..empty_reply
    }
}

fn choice_reply(choice: PageChoice, empty_reply: AskReply) -> AskReply {
    let PageChoice { name, pages } = choice;
    let example = pages.first().map(|page| clearer(&empty_reply.question, &name, page));
    let mut cited = CitedLines::default();
    cited.lines.push(format!("Which {name}?"));
    cited.add(pages);
    let hint = hint!(
        "several pages have this name; ask with the whole name or the day of one of them: {}",
        Command::Ask { question: example }
    );
    AskReply {
        answer: Some(cited.lines.join("\n")),
        citations: cited.citations,
        hint: Some(hint),
        ..empty_reply
    }
}

/// Returns the question with the whole name of a page in place of `name`, or with its day.
fn clearer(question: &str, name: &str, page: &ListEntry) -> String {
    let title = one_line(&page.text);
    match page.day {
        _ if question.contains(name) && title.to_lowercase() != name.to_lowercase() => {
            question.replacen(name, &title, 1)
        }
        Some(day) => format!("{} on {day}", question.trim_end_matches(['?', ' '])),
        None => title,
    }
}

impl CitedLines {
    /// Adds a line for each of the first entries.
    fn add(&mut self, entries: Vec<ListEntry>) {
        let total = entries.len();
        for ListEntry { text, page, day } in entries.into_iter().take(MAX_LINES) {
            let text = one_line(&text);
            // A title can have the day.
            let day = day.map(|day| day.to_string()).filter(|day| !text.contains(day));
            let day = day.map(|day| format!("{day}  ")).unwrap_or_default();
            match page {
                Some(page) => {
                    let number = self.cite(page, &text);
                    self.lines.push(format!("- {day}{text} [{number}]"));
                }
                None => self.lines.push(format!("- {day}{text}")),
            }
        }
        if total > MAX_LINES {
            self.lines.push(format!("- … {} more", total - MAX_LINES));
        }
    }

    /// Adds a citation and returns its number.
    fn cite(&mut self, (source_id, slug, _): PageEntry, title: &str) -> u32 {
        let number = u32::try_from(self.citations.len()).unwrap_or(u32::MAX).saturating_add(1);
        self.citations.push(Citation { number, slug, source_id, title: title.to_owned(), line: 1 });
        number
    }
}

/// Returns a text on one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_made_clearer_by_a_name_or_a_day() {
        let entry = |text: &str, day: Option<&str>| ListEntry {
            text: text.into(),
            page: None,
            day: day.and_then(|day| day.parse().ok()),
        };
        assert_eq!(
            clearer("meetings with Ann?", "Ann", &entry("Ann Lee", None)),
            "meetings with Ann Lee?"
        );
        let review = entry("Spring review", Some("2025-03-04"));
        assert_eq!(
            clearer("who attended the spring review?", "spring review", &review),
            "who attended the spring review on 2025-03-04"
        );
    }
}
