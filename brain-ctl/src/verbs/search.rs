//! `brain search`: finds pages.

use brain_protocol::{Exit, Fault, Hit, Hits, MAX_HITS, page_name};
use clap::Args;
use serde::Serialize;

use crate::{
    as_of::AsOfOption,
    command::{Group, Verb},
    context::Context,
    fail,
    output::{FormatOption, Listing, Outcome, Show, Text, clean, cut_to_width, format_to_day},
    picker, unknown_label,
    when::PeriodOptions,
};

/// Maximum width of the query in messages, in columns of the terminal.
const MAX_QUERY_WIDTH: usize = 100;

/// Arguments of `search`.
#[derive(Debug, Args)]
pub(crate) struct SearchCommand {
    /// Query: words, "phrases", -word, prefix*, title: tag: type: source:
    #[arg(
        value_name = "QUERY",
        required_unless_present = "interactive",
        allow_negative_numbers = true
    )]
    query: Vec<String>,

    /// Number of pages, 1 to 200
    #[arg(
        long,
        value_name = "N",
        default_value_t = 20,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_HITS))
    )]
    limit: u32,

    /// Only pages of this source
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,

    /// Only pages of this type
    #[arg(long = "type", value_name = "TYPE")]
    page_type: Option<String>,

    /// Only pages with this tag (repeatable; all are required)
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,

    #[command(flatten)]
    period: PeriodOptions,

    #[command(flatten)]
    as_of: AsOfOption,

    /// Part of the results, from 1; at most 200 results in all
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_HITS))
    )]
    page: u32,

    #[command(flatten)]
    format: FormatOption,

    /// Show the parts of each score
    #[arg(long)]
    explain: bool,

    /// The last word may be the beginning of a word of a name ("ada lov")
    #[arg(long)]
    prefix: bool,

    /// Choose a page while typing, and print it (with -q its name)
    #[arg(long, short, conflicts_with = "as_of")]
    interactive: bool,
}

impl Verb for SearchCommand {
    const NAME: &'static str = "search";
    const GROUP: Group = Group::Reading;
    const ABOUT: &'static str = "Find pages";
    const ALIASES: &'static [&'static str] = &["find"];
    const EXAMPLES: &'static str = "Examples:
  brain search \"who invested in acme?\" --limit 5
  brain search '\"analytical engine\" -steam type:person' --since 7d";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let (since, until) = self.period.instants();
        let skipped = self.limit.saturating_mul(self.page - 1);
        let needed = skipped.saturating_add(self.limit);
        let request = brain_protocol::Search {
            query: self.query.join(" "),
            limit: needed.min(MAX_HITS),
            source: fail::parse_source(self.source.as_deref())?,
            page_type: self.page_type,
            tags: self.tags,
            since,
            until,
            explain: self.explain,
            prefix: self.prefix,
        };
        if self.interactive {
            return print_chosen(context, request);
        }
        let labels = (request.tags.clone(), request.page_type.clone());
        let (mut hits, label) = self.as_of.call(context, request)?;
        hits.hits.drain(..hits.hits.len().min(skipped as usize));
        let hits = FoundPages { hits, skipped, page: self.page };
        let mut outcome = context.list(&hits, &self.format)?;
        if !context.json {
            outcome.warnings.extend(hits.hits.degraded.iter().cloned());
            if hits.hits.hits.is_empty() && !self.as_of.is_set() {
                let (tags, page_type) = &labels;
                outcome.notes.extend(unknown_label::suggestion_note(
                    context,
                    tags,
                    page_type.as_deref(),
                ));
            }
            outcome.notes.extend(hits.hits.note.as_deref().map(clean));
        }
        label.add_to(outcome, self.format.is_json(context.json))
    }
}

/// Lets the user choose a page and prints it, or its name with `--quiet`. Without a choice, the
/// command fails silently.
fn print_chosen(context: &Context, request: brain_protocol::Search) -> Result<Outcome, Fault> {
    match picker::pick(context, request)? {
        Some(page) if context.quiet => Ok(Outcome::text(format!("{page}\n"))),
        Some(page) => context.run(brain_protocol::Get { page, version: None }),
        None => Ok(Outcome { exit: Some(Exit::Failed), ..Outcome::default() }),
    }
}

/// A part of the results, and its position among all results.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct FoundPages {
    /// The results of the part.
    pub(super) hits: Hits,
    /// The number of results before the part.
    #[serde(skip)]
    pub(super) skipped: u32,
    /// The number of the part, from 1.
    #[serde(skip)]
    pub(super) page: u32,
}

impl Listing for FoundPages {
    const FIELDS: &'static [&'static str] =
        &["slug", "source_id", "title", "type", "score", "updated_at", "snippet"];

    fn records(&self) -> Vec<Vec<String>> {
        let record = |hit: &Hit| {
            vec![
                hit.slug.to_string(),
                hit.source_id.to_string(),
                hit.title.clone(),
                hit.page_type.clone(),
                format!("{:.3}", hit.score),
                hit.updated_at.clone(),
                hit.snippet.clone(),
            ]
        };
        self.hits.hits.iter().map(record).collect()
    }

    fn paths(&self) -> Option<Vec<&str>> {
        Some(self.hits.hits.iter().filter_map(|hit| hit.path.as_deref()).collect())
    }
}

impl Show for FoundPages {
    fn text(&self, t: &mut Text) {
        let last = self.skipped as usize + self.hits.hits.len();
        let digits = last.to_string().len().max(2);
        for (i, hit) in self.hits.hits.iter().enumerate() {
            show_hit(&self.hits, hit, self.skipped as usize + i + 1, digits, t);
        }
    }

    fn quiet(&self, t: &mut Text) {
        for hit in &self.hits.hits {
            t.raw_line(&name_in(&self.hits, hit));
        }
    }

    fn notes(&self) -> Vec<String> {
        if self.hits.hits.is_empty() && self.page > 1 {
            return vec![format!("the results have no part {}", self.page)];
        }
        if self.hits.hits.is_empty() {
            return vec![format!(
                "no page found for \"{}\"",
                cut_to_width(&clean(&self.hits.query), Some(MAX_QUERY_WIDTH))
            )];
        }
        let advice = match self.skipped as usize + self.hits.hits.len() >= MAX_HITS as usize {
            true => "use a more specific query".to_owned(),
            false => format!("use --limit, or --page {}", self.page + 1),
        };
        self.hits.truncated.then(|| format!("more matches exist: {advice}")).into_iter().collect()
    }
}

/// Returns the name of a hit's page as commands accept it.
fn name_in(hits: &Hits, hit: &Hit) -> String {
    page_name(hits.default_source.as_str(), &hit.source_id, &hit.slug)
}

/// Prints a hit: rank and title; name, type and day; the passage. Lines fit the terminal, except a
/// long name. `digits` is the width of the rank.
fn show_hit(hits: &Hits, hit: &Hit, rank: usize, digits: usize, t: &mut Text) {
    let indent = digits + 2;
    let title = t.cut(&hit.title, indent);
    let line = format!("{rank:>digits$}  {}", t.paint.bold(&title));
    t.raw_line(&line);

    let mut facts = format!("{} · {}", hit.page_type, format_to_day(&hit.updated_at));
    if let Some((first, others)) = hit.also_in.split_first() {
        facts.push_str(&format!(" · also in {first}"));
        if !others.is_empty() {
            facts.push_str(&format!(" and {} more", others.len()));
        }
    }
    if let Some(original) = &hit.copy_of {
        facts.push_str(&format!(" · copy of {}", clean(original)));
    }
    // The reason is printed for a page that contains none of the query's words.
    let has_words = hit
        .matched
        .iter()
        .any(|reason| !matches!(reason.as_str(), "meaning" | "link" | "list" | "date"));
    if !has_words && !hit.matched.is_empty() {
        facts.push_str(&format!(" · by {}", hit.matched.join(" and ")));
    }
    let slug = clean(&name_in(hits, hit));
    let used_columns = indent + crate::output::width(&slug) + 3;
    let name = t.paint.cyan(&slug);
    let name = hit.path.as_ref().map_or_else(|| name.clone(), |path| t.hyperlink(path, &name));
    let mut line = format!("{}{name}", " ".repeat(indent));
    let facts = t.cut(&facts, used_columns);
    if crate::output::width(&facts) > 3 {
        line.push_str(&t.paint.dim(&format!(" · {facts}")));
    }
    t.raw_line(&line);

    if !hit.snippet.is_empty() {
        t.passage(indent, &hit.snippet, &hit.highlights);
    }
    if !hit.explain.is_empty() {
        let line = format!("matched by {}", hit.matched.join(", "));
        let line = format!("{}{}", " ".repeat(indent), t.paint.dim(&t.cut(&line, indent)));
        t.raw_line(&line);
    }
    for part in &hit.explain {
        let reason = t.cut(&part.reason, indent + 10);
        let line = format!("{}{:>8.3}  {reason}", " ".repeat(indent), part.score);
        t.raw_line(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::width;
    use brain_protocol::{ScorePart, Slug, SourceId, TrustLevel};

    const SLUG: &str = "people/ada-lovelace-countess-of-something-very-long";

    fn hits() -> FoundPages {
        let hit = Hit {
            slug: Slug::parse(SLUG).expect("slug"),
            source_id: SourceId::default(),
            title: "Ada 👩‍🔬 Lovelace\u{1b}[2J, 解析機関の最初のプログラマー and more of a title"
                .into(),
            page_type: "person".into(),
            score: 3.5,
            snippet:
                "wrote the first program for the analytical engine of Charles Babbage, in a note"
                    .into(),
            highlights: vec![(32, 49)],
            chunk: 0,
            matched: vec!["text".into()],
            updated_at: "2026-11-21T04:51:43.123Z".into(),
            explain: vec![ScorePart { reason: "text: engine".into(), score: 1.25 }],
            line: 1,
            source_kind: None,
            source_uri: None,
            url: None,
            trust: TrustLevel::Owner,
            path: None,
            also_in: Vec::new(),
            copy_of: None,
            span: None,
            page: brain_protocol::PageVersion::default(),
            copies: Vec::new(),
        };
        let hits = Hits {
            query: "engine".into(),
            hits: vec![hit],
            truncated: false,
            degraded: None,
            took_us: 1,
            default_source: SourceId::default(),
            note: None,
        };
        FoundPages { hits, skipped: 0, page: 1 }
    }

    #[test]
    fn only_the_slug_of_a_hit_may_exceed_the_terminal() {
        for columns in [20, 40, 60, 80, 200] {
            let mut t = Text::plain(Some(columns));
            hits().text(&mut t);
            for line in t.as_str().lines() {
                let is_slug = line.trim() == SLUG;
                assert!(width(line) <= columns || is_slug, "{columns}: {line}");
                assert!(!line.contains('\u{1b}'));
            }
        }
        let mut t = Text::plain(Some(40));
        hits().text(&mut t);
        assert!(t.as_str().contains("analytical engine"), "{}", t.as_str());
        assert!(t.as_str().contains(SLUG), "{}", t.as_str());
    }

    #[test]
    fn a_hit_without_query_words_has_a_reason() {
        let mut found = hits();
        let mut t = Text::plain(Some(200));
        found.text(&mut t);
        assert!(
            !t.as_str().contains("· by ") && t.as_str().contains("matched by text"),
            "{}",
            t.as_str()
        );
        found.hits.hits[0].matched = vec!["meaning".into(), "link".into()];
        found.hits.hits[0].explain[0].reason = "meaning: cosine 0.512".into();
        let mut t = Text::plain(Some(200));
        found.text(&mut t);
        assert!(t.as_str().contains("· by meaning and link"), "{}", t.as_str());
        assert!(t.as_str().contains("1.250  meaning: cosine 0.512"), "{}", t.as_str());
    }

    #[test]
    fn quiet_prints_slugs() {
        let mut t = Text::plain(Some(20));
        hits().quiet(&mut t);
        assert_eq!(t.as_str(), "people/ada-lovelace-countess-of-something-very-long\n");
    }
}
