//! Pages that a program makes from others, such as saved answers and ideas. Each has a slug of its
//! own, names the pages that it was made from, and keeps the texts that it stands on.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use brain_base::caller::Caller;
use brain_page::{Quote, sentences};
use brain_protocol::{
    Fault, FaultCode, Origin as PutOrigin, PageRef, Precondition, Put, Slug, SourceId, WriteReply,
};
use brain_store::{Act, CitationRecord, Origin, PageRecord, acting, current_act};

use crate::pages::PageService;
use crate::provenance::IngestRoute;

/// Maximum number of slugs that are tried.
const MAX_SLUG_ATTEMPTS: u32 = 99;

/// A page that a program made.
pub struct MadePage {
    /// Its source.
    pub source: SourceId,
    /// Its slug, if no page has it. Otherwise a number is added.
    pub slug: String,
    /// Its text, with frontmatter.
    pub content: String,
    /// How it was made.
    pub route: &'static IngestRoute,
    /// Its `source_uri`.
    pub uri: String,
    /// What it was made from.
    pub made_from: Vec<Origin>,
    /// The texts that it stands on.
    pub citations: Vec<CitationRecord>,
}

impl PageService {
    /// Saves a page that a program made, never over another page.
    ///
    /// # Errors
    /// `conflict` if all tried slugs are taken; otherwise the errors of a put.
    pub fn save_made_page(&self, caller: &Caller, made: MadePage) -> Result<WriteReply, Fault> {
        let MadePage { source, slug: base, content, route, uri, made_from, citations } = made;
        let citations = Arc::new(citations);
        let act = Act { made_from, ..current_act() };
        for attempt in 1..=MAX_SLUG_ATTEMPTS {
            let name = if attempt == 1 { base.clone() } else { format!("{base}-{attempt}") };
            let slug =
                Slug::parse(name).map_err(|e| Fault::new(FaultCode::Internal, e.to_string()))?;
            let put = Put {
                page: PageRef::new(&source, &slug),
                content: content.clone().into_bytes(),
                origin: PutOrigin::Argument,
                allow_empty: false,
                expect: Some(Precondition::Absent),
            };
            let citations = citations.clone();
            let put = || {
                self.put_with(caller, &put, (route, uri.clone()), move |transaction, record| {
                    transaction.set_citations(record.id, &citations)
                })
            };
            match acting(act.clone(), put) {
                Err(fault) if fault.code == FaultCode::Conflict => {}
                written => return written,
            }
        }
        let message = format!(
            "the slugs \"{base}\" to \"{base}-{MAX_SLUG_ATTEMPTS}\" are taken; delete or move one of \
             these pages"
        );
        Err(Fault::new(FaultCode::Conflict, message))
    }
}

/// Returns the citation of a page with `body` for a statement: the page's sentence with the most of
/// its words. Of several, the one nearest to the byte `near`. `None` if the page has no sentence.
#[must_use]
pub fn cite(
    statement: &str,
    record: &PageRecord,
    body: &str,
    near: usize,
) -> Option<CitationRecord> {
    let stated = telling_words(statement);
    let (at, sentence) = sentences(body).into_iter().max_by_key(|(at, sentence)| {
        let shared = telling_words(sentence).intersection(&stated).count();
        (shared, Reverse(at.abs_diff(near)))
    })?;
    let quote = Quote::of(body, sentence, at);
    Some(CitationRecord {
        page: record.id,
        version: record.version,
        span: quote.span,
        before: quote.before,
        after: quote.after,
        count: u32::try_from(quote.count).unwrap_or(u32::MAX),
    })
}

/// Returns the words of a sentence that say something: those of more than three letters.
fn telling_words(text: &str) -> HashSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|it| it.chars().count() > 3);
    words.map(str::to_lowercase).collect()
}
