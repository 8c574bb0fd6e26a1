//! `brain ask --save` and `brain ask --stale`: answers that are kept, and those that age.

use brain_protocol::{
    AnswerSave, AskReply, CitationChange, CitedPage, Fault, FaultCode, PageRef, StaleAnswerList,
    StaleAnswers, StaleCitation, WriteReply,
};

use crate::{
    context::Context,
    output::{Outcome, Show, Text, count, page_name},
};

/// Saves an answer as a page.
///
/// # Errors
/// `usage` if there is no answer; the daemon's fault.
pub(super) fn save(context: &Context, reply: &AskReply) -> Result<WriteReply, Fault> {
    let Some(answer) = reply.answer.clone().filter(|_| !reply.partial) else {
        return Err(Fault::new(FaultCode::Usage, "there is no whole answer to save")
            .hint("an answer needs a language model: see docs/ask.md"));
    };
    let citations = reply.citations.iter().map(|citation| CitedPage {
        number: citation.number,
        page: PageRef::new(&citation.source_id, &citation.slug),
        line: citation.line,
    });
    context.call(AnswerSave {
        question: reply.question.clone(),
        answer,
        citations: citations.collect(),
    })
}

/// Lists the saved answers whose cited texts changed.
///
/// # Errors
/// The daemon's fault.
pub(super) fn stale(context: &Context) -> Result<Outcome, Fault> {
    context.run(StaleAnswerList { page: None, names_only: false })
}

impl Show for StaleAnswers {
    fn text(&self, t: &mut Text) {
        for (n, answer) in self.answers.iter().enumerate() {
            if n > 0 {
                t.raw_line("");
            }
            let page = page_name(&answer.source_id, &answer.slug);
            let line = format!("{}  {}", t.paint.cyan(&page), t.cut(&answer.title, page.len() + 2));
            t.raw_line(&line);
            answer.changes.iter().for_each(|change| show_change(change, t));
        }
    }

    fn quiet(&self, t: &mut Text) {
        for answer in &self.answers {
            t.raw_line(&page_name(&answer.source_id, &answer.slug));
        }
    }

    fn notes(&self) -> Vec<String> {
        let checked = count(self.checked, "saved answer");
        match self.answers.len() {
            0 => vec![format!("{checked}, none is stale")],
            stale => vec![format!("{checked}, {stale} stale; ask again to replace one")],
        }
    }
}

fn show_change(change: &StaleCitation, t: &mut Text) {
    let page = match &change.page {
        Some(page) => {
            page_name(page.source.as_ref().map_or("default", |source| source.as_str()), &page.slug)
        }
        None => "a page that is gone".to_owned(),
    };
    t.line(&format!("  {page} version {}: {}", change.version, change.change));
    if !change.was.is_empty() {
        t.prose("    was  ", 9, &change.was);
    }
    match (&change.now, change.change) {
        (Some(now), _) => t.prose("    now  ", 9, now),
        (None, CitationChange::Changed) => t.line("    now  (the text is gone)"),
        (None, _) => {}
    }
}
