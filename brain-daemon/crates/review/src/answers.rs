//! Saved answers and ideas: each keeps the texts that it cites, and is stale when one of them is
//! gone.

use std::collections::BTreeMap;

use brain_base::caller::{Caller, Visibility};
use brain_base::clock::day;
use brain_page::{
    Document, Frontmatter, Quote, escape_paragraph, normalize_quoted, sentences, single_line,
    unified_diff,
};
use brain_pages::made_page::{MadePage, cite};
use brain_pages::provenance::ANSWER;
use brain_protocol::{
    AnswerSave, CitationChange, CitedPage, Command, Fault, FaultCode, PageRef, Slug, StaleAnswer,
    StaleAnswerList, StaleAnswers, StaleCitation, WriteReply, hint,
};
use brain_store::{CitationRecord, Origin, PageRecord, Reader, unless_damaged};

use crate::ReviewService;

/// Maximum number of citations of an answer.
const MAX_CITATIONS: usize = 200;
/// Maximum number of the question's words in a slug.
const MAX_QUESTION_WORDS: usize = 6;

impl ReviewService {
    /// Saves an answer as a page, with the texts that it cites.
    ///
    /// # Errors
    /// `usage` for an empty answer or too many citations; the fault of finding a cited page;
    /// otherwise the errors of a put.
    pub fn save_answer(&self, caller: &Caller, request: &AnswerSave) -> Result<WriteReply, Fault> {
        if request.answer.trim().is_empty() || request.citations.len() > MAX_CITATIONS {
            let message = "an answer has text, and at most 200 citations";
            return Err(Fault::new(FaultCode::Usage, message)
                .hint(hint!("ask again: {}", Command::AskSave { question: None })));
        }
        let reader = self.store.read(caller.visibility())?;
        let (mut citations, mut origins, mut lines) = (Vec::new(), Vec::new(), Vec::new());
        for cited in &request.citations {
            let (source, slug, record) = self.pages.find(caller, &reader, &cited.page)?;
            let content = reader.content(&record)?;
            citations.extend(quotes(&request.answer, cited, &content.body, &record));
            origins.push(Origin::Page { id: record.id, version: record.version });
            lines.push(format!("- ({}) [[{source}:{slug}]]\n", cited.number));
        }
        let source = brain_pages::sources::resolve(caller, &reader, None)?.0;
        drop(reader);
        let text = page(&request.question, &request.answer, &lines);
        let slug = slug(&request.question, self.clock.now());
        self.pages.save_made_page(
            caller,
            MadePage {
                source,
                slug,
                content: text,
                route: &ANSWER,
                uri: "ask".to_owned(),
                made_from: origins,
                citations,
            },
        )
    }

    /// Lists the saved answers that are stale.
    ///
    /// # Errors
    /// The fault of finding the named page; or the store fails.
    pub fn stale_answers(
        &self,
        caller: &Caller,
        request: &StaleAnswerList,
    ) -> Result<StaleAnswers, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let mut by_answer: BTreeMap<u64, Vec<CitationRecord>> = BTreeMap::new();
        match &request.page {
            Some(page) => {
                let (.., record) = self.pages.find(caller, &reader, page)?;
                by_answer.insert(record.id, reader.citations_of(record.id)?);
            }
            None => {
                for (answer, citation) in reader.citations()? {
                    by_answer.entry(answer).or_default().push(citation);
                }
            }
        }
        let (mut answers, mut checked) = (Vec::new(), 0);
        for (answer, citations) in by_answer {
            let Some((source_id, slug, record)) = reader.by_id(answer)? else { continue };
            checked += u64::from(!citations.is_empty());
            let mut changes = Vec::new();
            for citation in citations {
                changes.extend(self.change_of(&reader, &citation)?);
            }
            if request.names_only {
                changes.iter_mut().for_each(|it| (it.was, it.now) = (String::new(), None));
            }
            if !changes.is_empty() {
                answers.push(StaleAnswer { slug, source_id, title: record.title, changes });
            }
        }
        Ok(StaleAnswers { answers, checked })
    }

    /// Returns what became of a cited text; `None` if its page still has it. A page that the caller
    /// cannot see tells nothing but that.
    fn change_of(
        &self,
        reader: &Reader,
        citation: &CitationRecord,
    ) -> Result<Option<StaleCitation>, Fault> {
        let stale = StaleCitation {
            page: None,
            version: citation.version,
            change: CitationChange::Purged,
            was: citation.span.clone(),
            now: None,
        };
        if citation.span.is_empty() {
            return Ok(Some(stale));
        }
        let Some((source, slug, record)) = reader.by_id_including_deleted(citation.page)? else {
            let exists =
                self.store.read(Visibility::All)?.by_id_including_deleted(citation.page)?.is_some();
            // The text of a page that the caller cannot see is not shown.
            let hidden = StaleCitation { was: String::new(), ..stale };
            return Ok((!exists).then_some(hidden));
        };
        let stale = StaleCitation { page: Some(PageRef::new(&source, &slug)), ..stale };
        if record.deleted_at.is_some() {
            return Ok(Some(StaleCitation { change: CitationChange::Deleted, ..stale }));
        }
        if record.version == citation.version {
            return Ok(None);
        }
        let Some(content) = unless_damaged(reader.content(&record))? else { return Ok(None) };
        let quote = Quote {
            span: citation.span.clone(),
            before: citation.before.clone(),
            after: citation.after.clone(),
            count: citation.count as usize,
        };
        if quote.is_in(&content.body) {
            return Ok(None);
        }
        let former = unless_damaged(reader.version(citation.page, citation.version))?.flatten();
        let now =
            former.and_then(|former| replacement(&former.content.body, &content.body, &quote.span));
        Ok(Some(StaleCitation { change: CitationChange::Changed, now, ..stale }))
    }
}

/// Returns the texts of a page that the sentences with its number in the answer stand on.
fn quotes(answer: &str, cited: &CitedPage, body: &str, record: &PageRecord) -> Vec<CitationRecord> {
    let mark = format!("[{}]", cited.number);
    let start = body.split_inclusive('\n').take(cited.line.saturating_sub(1) as usize);
    let start = start.map(str::len).sum::<usize>();
    let statements = sentences(answer).into_iter().filter(|(_, it)| it.contains(&mark));
    let mut found: Vec<CitationRecord> =
        statements.filter_map(|(_, statement)| cite(statement, record, body, start)).collect();
    found.dedup();
    found
}

/// Returns the lines that replaced the line with `span`, as the comparison of both texts shows.
fn replacement(old: &str, new: &str, span: &str) -> Option<String> {
    let diff = unified_diff(old, new, ("", ""))?.text;
    let first_words: String = span.chars().take(40).collect();
    let mut lines = diff.lines().skip(2).peekable();
    while let Some(line) = lines.next() {
        let removed = line.strip_prefix('-').map(normalize_quoted);
        if !removed
            .is_some_and(|it| it.contains(&first_words) || (!it.is_empty() && span.contains(&it)))
        {
            continue;
        }
        let rest = lines.skip_while(|line| line.starts_with('-'));
        let added: Vec<&str> = rest.map_while(|line| line.strip_prefix('+')).collect();
        let text = normalize_quoted(&added.join(" "));
        return (!text.is_empty()).then_some(text);
    }
    None
}

/// Returns `answers/<day>-<words>`.
fn slug(question: &str, now: i64) -> String {
    let words: Vec<String> = question
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(MAX_QUESTION_WORDS)
        .map(str::to_lowercase)
        .collect();
    let day = day(now);
    let name = format!("answers/{day}-{}", words.join("-"));
    Slug::from_path(&name).map_or_else(|_| format!("answers/{day}"), String::from)
}

/// Returns the text of the page. A model's answer has no links, tags or headings of its own.
fn page(question: &str, answer: &str, citations: &[String]) -> String {
    let mut frontmatter = Frontmatter::empty();
    frontmatter.set("type", "answer");
    frontmatter.set("title", &single_line(question));
    let question = escape_paragraph(&single_line(question));
    let answer: Vec<String> =
        answer.lines().filter(|line| !line.trim().is_empty()).map(escape_paragraph).collect();
    let mut text = format!("> {question}\n\n{}\n", answer.join("\n\n"));
    if !citations.is_empty() {
        text.push_str(&format!("\n{}", citations.concat()));
    }
    Document { frontmatter, body: text.into() }.render()
}
