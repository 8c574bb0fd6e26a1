//! Answers without a language model: lists the pages that answer by links. No I/O.

use brain_protocol::{AskReply, Citation};

use brain_retrieval::search::LinkAnswer;

/// Maximum number of pages that an answer lists. The total in its first line counts all pages.
const MAX_LINES: usize = 50;
/// The hint that explains where the answer comes from.
const HINT: &str =
    "this answer comes from the links of your pages; no language model is configured";

/// Returns the answer: a line for each of the first pages, with its day, title and citation.
pub(super) fn answer(link_answer: LinkAnswer, empty_reply: AskReply) -> AskReply {
    let total = link_answer.pages.len();
    let mut lines = Vec::new();
    if link_answer.is_count || total > 1 {
        lines.push(format!("{total} {}", link_answer.noun).trim().to_owned() + ":");
    }
    let mut citations = Vec::new();
    for (number, ((source_id, slug, record), day)) in
        (1_u32..).zip(link_answer.pages.into_iter().take(MAX_LINES))
    {
        let title = record.title.split_whitespace().collect::<Vec<_>>().join(" ");
        let day = day.map(|day| format!("{day}  ")).unwrap_or_default();
        lines.push(format!("- {day}{title} [{number}]"));
        citations.push(Citation { number, slug, source_id, title, line: 1 });
    }
    if total > MAX_LINES {
        lines.push(format!("- … {} more", total - MAX_LINES));
    }
    AskReply { answer: Some(lines.join("\n")), citations, hint: Some(HINT.into()), ..empty_reply }
}
