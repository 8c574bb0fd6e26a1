//! Saves a run as a page, under its own slug and never over another page.
//!
//! `source_kind` names the command, so that models do not take the text for the owner's words.

use brain_protocol::{Fault, Idea, IdeaProfile, Slug, SourceId};

use super::run_state::{IdeaRun, RunPage};
use crate::ideas::IdeaService;
use brain_base::caller::Caller;
use brain_base::clock::day;
use brain_page::{Document, Frontmatter};
use brain_pages::made_page::{MadePage, cite};
use brain_pages::provenance::{BRAINSTORM, LSD};
use brain_store::{CitationRecord, Origin, Reader, StoreError};

/// Maximum number of the question's words in a slug.
const MAX_QUESTION_WORDS: usize = 6;
/// Maximum length of the question's words in a slug, in characters.
const MAX_SLUG_WORDS_CHARS: usize = 60;
/// Maximum length of the question in a title, in characters.
const MAX_TITLE_CHARS: usize = 100;
/// Maximum number of judged ideas that are saved if none passes.
const MAX_FALLBACK_IDEAS: usize = 5;

impl IdeaService {
    /// Saves the passing ideas as a new page. If none passes, saves the best ones, or all ideas if
    /// none is judged. Returns the slug.
    ///
    /// # Errors
    /// As [`brain_pages::pages::PageService::save_made_page`].
    pub(super) fn save_ideas(
        &self,
        caller: &Caller,
        run: &IdeaRun,
        ideas: &[Idea],
    ) -> Result<Slug, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let source = brain_pages::sources::resolve(caller, &reader, None)?.0;
        let made_from = origins(&reader, run)?;
        let citations = citations(&reader, run, &listed(ideas).0)?;
        drop(reader);
        let made = MadePage {
            slug: slug(run),
            content: page(run, ideas, &source),
            route: match run.profile {
                IdeaProfile::Brainstorm => &BRAINSTORM,
                IdeaProfile::Lsd => &LSD,
            },
            uri: format!("{}:{}", run.profile.as_str(), run.run_id),
            source,
            made_from,
            citations,
        };
        Ok(self.pages.save_made_page(caller, made)?.slug)
    }
}

/// Returns the pages that the run read, in their present versions.
fn origins(reader: &Reader, run: &IdeaRun) -> Result<Vec<Origin>, StoreError> {
    let close = run.close.iter().map(|found| &found.page);
    let far = run.far.iter().map(|found| &found.page);
    let mut origins = Vec::new();
    for RunPage { source, slug, .. } in close.chain(far) {
        let found = reader.page(source, slug)?;
        origins.extend(found.map(|page| Origin::Page { id: page.id, version: page.version }));
    }
    Ok(origins)
}

/// Returns what each idea stands on: a text of each of its two pages, in their present versions.
fn citations(
    reader: &Reader,
    run: &IdeaRun,
    ideas: &[&Idea],
) -> Result<Vec<CitationRecord>, StoreError> {
    let mut found = Vec::new();
    for idea in ideas {
        let pages = run.pages_of(idea.id).map(|(close, far)| [&close.page, &far.page]);
        for RunPage { source, slug, .. } in pages.into_iter().flatten() {
            let Some(record) = reader.page(source, slug)? else { continue };
            let content = reader.content(&record)?;
            found.extend(cite(&idea.text, &record, &content.body, 0));
        }
    }
    found.dedup();
    Ok(found)
}

/// Returns `ideas/<day>-<words>-<run id>`, without words if a slug cannot hold them.
fn slug(run: &IdeaRun) -> String {
    let words: Vec<String> = run
        .question
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(MAX_QUESTION_WORDS)
        .map(str::to_lowercase)
        .collect();
    let words: String = words.join("-").chars().take(MAX_SLUG_WORDS_CHARS).collect();
    let day = day(run.started_at);
    [format!("ideas/{day}-{words}-{}", run.run_id), format!("ideas/{day}-{}", run.run_id)]
        .iter()
        .find_map(|text| Slug::from_path(text).ok())
        .map_or_else(|| format!("ideas/{}", run.run_id), String::from)
}

/// Returns the text of the page, including its frontmatter.
fn page(run: &IdeaRun, ideas: &[Idea], source: &SourceId) -> String {
    let mut frontmatter = Frontmatter::empty();
    let title: String = line(&run.question).chars().take(MAX_TITLE_CHARS).collect();
    frontmatter.set("type", "idea");
    frontmatter.set("title", &format!("Ideas: {title}"));
    frontmatter.set_list("tags", &[run.profile.as_str().to_owned()]);
    frontmatter.set("run_id", &run.run_id);
    let mut text = format!("> {}\n", escape(&run.question));
    let (listed, notice) = listed(ideas);
    if !notice.is_empty() {
        text.push_str(&format!("\n{notice}\n"));
    }
    for idea in listed {
        text.push_str(&format!("\n## Idea {}\n\n{}\n\n", idea.id, escape(&idea.text)));
        if let Some((close, far)) = run.pages_of(idea.id) {
            let (close, far) = (link(&close.page, source), link(&far.page, source));
            text.push_str(&format!("From {close} and {far}, {:.2} apart.", idea.distance));
        }
        if let Some(judge) = &idea.judge {
            text.push_str(&format!(" Judged {:.2}. {}", judge.weighted, escape(&judge.note)));
        }
        text.push('\n');
    }
    let list = |head: &str, pages: &mut dyn Iterator<Item = &RunPage>| {
        let lines: Vec<String> = pages.map(|page| format!("- {}\n", link(page, source))).collect();
        format!("\n## {head}\n\n{}", lines.concat())
    };
    text.push_str(&list("Close pages", &mut run.close.iter().map(|page_ref| &page_ref.page)));
    text.push_str(&list("Far pages", &mut run.far.iter().map(|page_ref| &page_ref.page)));
    Document { frontmatter, body: text.into() }.render()
}

/// Returns the ideas that the page lists, and what it says of their choice.
fn listed(ideas: &[Idea]) -> (Vec<&Idea>, &'static str) {
    let passing: Vec<&Idea> = ideas.iter().filter(|idea| idea.passes).collect();
    let has_scores = ideas.iter().any(|idea| idea.judge.is_some());
    match (passing.is_empty(), has_scores) {
        (false, _) => (passing, ""),
        (true, true) => {
            (ideas.iter().take(MAX_FALLBACK_IDEAS).collect(), "No idea passed; these are the best.")
        }
        (true, false) if ideas.is_empty() => (Vec::new(), "There are no ideas yet."),
        (true, false) => (ideas.iter().collect(), "These ideas have no scores."),
    }
}

/// Returns a link from a page in `source` to `page`.
fn link(page: &RunPage, source: &SourceId) -> String {
    match page.source == *source {
        true => format!("[[{}]]", page.slug),
        false => format!("[[{}:{}]]", page.source, page.slug),
    }
}

/// Turns untrusted text into one escaped line, without links, tags, headings or dated entries.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in line(text).chars() {
        if matches!(c, '[' | ']' | '#' | '<' | '\\' | '`') {
            out.push('\\');
        }
        out.push(c);
    }
    // At the start of a paragraph, these would begin a list, quotation, table or rule.
    match out.starts_with(['-', '*', '+', '>', '=', '|', '~']) {
        true => format!("\\{out}"),
        false => out,
    }
}

/// Returns the text on one line, without control characters.
fn line(text: &str) -> String {
    let text: String = text.chars().filter(|c| c.is_whitespace() || !c.is_control()).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::run_state::{Band, ClosePageRef, FarPageRef};
    use super::*;
    use brain_page::{body_tags, timeline};

    fn run_page(source: &str, slug: &str) -> RunPage {
        RunPage {
            source: SourceId::parse(source).unwrap(),
            slug: Slug::parse(slug).unwrap(),
            title: slug.into(),
        }
    }

    fn run(question: &str) -> IdeaRun {
        let mut run =
            IdeaRun::new("abcdefgh".into(), IdeaProfile::Brainstorm, question, 1_795_257_045_123);
        run.close = vec![ClosePageRef { page: run_page("default", "notes/near"), score: 1.0 }];
        run.far = vec![FarPageRef {
            page: run_page("work", "plans/far"),
            distances: vec![0.61],
            band: Band::Far,
        }];
        run.cross();
        run
    }

    fn idea(text: &str, passes: bool) -> Idea {
        let slug = |slug: &str| Slug::parse(slug).unwrap();
        Idea {
            id: 1,
            text: text.into(),
            close_slug: slug("notes/near"),
            far_slug: slug("plans/far"),
            distance: 0.61,
            judge: None,
            passes,
            close_source_id: SourceId::default(),
            far_source_id: SourceId::parse("work").unwrap(),
        }
    }

    #[test]
    fn slug_has_day_words_and_run_id() {
        assert_eq!(
            slug(&run("How do I cut latency by half, really?")),
            "ideas/2026-11-21-how-do-i-cut-latency-by-abcdefgh"
        );
        assert_eq!(slug(&run("解析機関?")), "ideas/2026-11-21-解析機関-abcdefgh");
        for odd in ["!?", "../../etc/passwd", &"x".repeat(1000), "a\u{202e}b"] {
            let slug = slug(&run(odd));
            assert!(Slug::parse(slug.clone()).is_ok() && slug.ends_with("abcdefgh"), "{slug}");
        }
    }

    #[test]
    fn saved_page_links_both_pages_and_escapes_text() {
        let evil =
            "See [[people/boss]] and [x](y.md) #urgent\n- 2026-01-01 | Fired\n# Head <b>`code`";
        let text = page(&run("Why?\n---\ntype: person"), &[idea(evil, true)], &SourceId::default());
        let document = Document::parse(&text).unwrap();
        assert_eq!(document.frontmatter.page_type().as_deref(), Some("idea"), "{text}");
        let own = Slug::parse("ideas/x").unwrap();
        let mut links: Vec<String> = brain_page::links(&own, &document.body, &document.frontmatter)
            .into_iter()
            .map(|link| link.raw)
            .collect();
        links.sort();
        links.dedup();
        assert_eq!(links, ["notes/near", "work:plans/far"], "{text}");
        assert_eq!(body_tags(&document.body), Vec::<String>::new(), "{text}");
        assert!(timeline(&document.body).is_empty(), "{text}");
        assert!(text.contains("0.61 apart"));
    }

    #[test]
    fn page_has_passing_ideas_or_all_unscored_ones() {
        let both = [idea("Good.", true), Idea { id: 2, ..idea("Bad.", false) }];
        let text = page(&run("Why?"), &both, &SourceId::default());
        assert!(text.contains("Good.") && !text.contains("Bad."), "{text}");
        let text = page(&run("Why\u{1b}[2J\u{7}?"), &both[..1], &SourceId::default());
        assert!(text.contains("> Why\\[2J?") && !text.contains(['\u{1b}', '\u{7}']), "{text}");
        let text = page(&run("Why?"), &both[1..], &SourceId::default());
        assert!(text.contains("Bad.") && text.contains("have no scores"), "{text}");
    }
}
