//! `brain search`: finds pages.

use brain_protocol::{Fault, Hit, Hits, MAX_HITS, SourceId};
use clap::Args;

use crate::{
    args::{Group, Verb},
    context::Context,
    fail,
    output::{Outcome, Show, Text, clean, day, fit},
    when::Period,
};

/// Maximum columns of the query in messages.
const MAX_QUERY_WIDTH: usize = 100;

/// Arguments of `search`.
#[derive(Debug, Args)]
pub(crate) struct Search {
    /// Query: words, "phrases", -word, prefix*, title: tag: type: source:
    #[arg(value_name = "QUERY", required = true, allow_negative_numbers = true)]
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
    period: Period,

    /// Show the parts of each score
    #[arg(long)]
    explain: bool,
}

impl Verb for Search {
    const NAME: &'static str = "search";
    const GROUP: Group = Group::Reading;
    const ABOUT: &'static str = "Find pages";
    const EXAMPLES: &'static str = "Examples:
  brain search \"who invested in acme?\" --limit 5
  brain search '\"analytical engine\" -steam type:person' --since 7d";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let (since, until) = self.period.instants();
        let hits = context.call(brain_protocol::Search {
            query: self.query.join(" "),
            limit: self.limit,
            source: fail::source(self.source.as_deref())?,
            page_type: self.page_type,
            tags: self.tags,
            since,
            until,
            explain: self.explain,
        })?;
        let mut outcome = context.show(&hits)?;
        if !context.json {
            outcome.warnings.extend(hits.degraded.iter().cloned());
        }
        Ok(outcome)
    }
}

impl Show for Hits {
    fn text(&self, t: &mut Text) {
        let digits = self.hits.len().to_string().len().max(2);
        for (i, hit) in self.hits.iter().enumerate() {
            show_hit(hit, i + 1, digits, t);
        }
    }

    fn quiet(&self, t: &mut Text) {
        for hit in &self.hits {
            t.raw(hit.slug.as_str());
        }
    }

    fn notes(&self) -> Vec<String> {
        if self.hits.is_empty() {
            return vec![format!(
                "no page found for \"{}\"",
                fit(&clean(&self.query), Some(MAX_QUERY_WIDTH))
            )];
        }
        let advice = match self.hits.len() >= MAX_HITS as usize {
            true => "use a more specific query",
            false => "--limit shows more",
        };
        self.truncated.then(|| format!("more matches exist; {advice}")).into_iter().collect()
    }
}

/// Prints a hit: rank and title; slug, type, day; the passage. Lines fit the terminal.
fn show_hit(hit: &Hit, rank: usize, digits: usize, t: &mut Text) {
    let indent = digits + 2;
    let title = t.cut(&hit.title, indent);
    let line = format!("{rank:>digits$}  {}", t.paint.bold(&title));
    t.raw(&line);

    let mut facts = format!("{} · {}", hit.page_type, day(&hit.updated_at));
    if hit.source_id.as_str() != SourceId::DEFAULT {
        facts.push_str(&format!(" · {}", hit.source_id));
    }
    // A page that contains none of the query's words gets a reason.
    let has_words = hit.matched.iter().any(|reason| !matches!(reason.as_str(), "meaning" | "link"));
    if !has_words && !hit.matched.is_empty() {
        facts.push_str(&format!(" · by {}", hit.matched.join(" and ")));
    }
    let slug = t.cut(hit.slug.as_str(), indent);
    let used_columns = indent + crate::output::width(&slug) + 3;
    let mut line = format!("{}{}", " ".repeat(indent), t.paint.cyan(&slug));
    let facts = t.cut(&facts, used_columns);
    if crate::output::width(&facts) > 3 {
        line.push_str(&t.paint.dim(&format!(" · {facts}")));
    }
    t.raw(&line);

    if !hit.snippet.is_empty() {
        t.passage(indent, &hit.snippet, &hit.highlights);
    }
    if !hit.explain.is_empty() {
        let line = format!("matched by {}", hit.matched.join(", "));
        let line = format!("{}{}", " ".repeat(indent), t.paint.dim(&t.cut(&line, indent)));
        t.raw(&line);
    }
    for part in &hit.explain {
        let reason = t.cut(&part.reason, indent + 10);
        let line = format!("{}{:>8.3}  {reason}", " ".repeat(indent), part.score);
        t.raw(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::width;
    use brain_protocol::{ScorePart, Slug, TrustLevel};

    fn hits() -> Hits {
        let hit = Hit {
            slug: Slug::parse("people/ada-lovelace-countess-of-something-very-long").expect("slug"),
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
        };
        Hits {
            query: "engine".into(),
            hits: vec![hit],
            truncated: false,
            degraded: None,
            took_us: 1,
        }
    }

    #[test]
    fn no_line_of_a_hit_is_wider_than_the_terminal() {
        for room in [20, 40, 60, 80, 200] {
            let mut t = Text::plain(Some(room));
            hits().text(&mut t);
            for line in t.as_str().lines() {
                assert!(width(line) <= room, "{room}: {line}");
                assert!(!line.contains('\u{1b}'));
            }
        }
        let mut t = Text::plain(Some(40));
        hits().text(&mut t);
        assert!(t.as_str().contains("analytical engine"), "{}", t.as_str());
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
        found.hits[0].matched = vec!["meaning".into(), "link".into()];
        found.hits[0].explain[0].reason = "meaning: cosine 0.512".into();
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
