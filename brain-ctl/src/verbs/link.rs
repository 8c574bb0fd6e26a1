//! `brain link`, `brain links` and `brain backlinks`: add, remove and list links.

use brain_protocol::{
    BrokenLinks, BrokenLinksReply, ChangeStatus, Fault, LinkReply, LinkRow, LinksReply, Slug,
};
use clap::Args;

use super::page;
use crate::{
    as_of::AsOfOption,
    command::{Group, Verb},
    context::Context,
    fail,
    output::{
        Column, FormatOption, Listing, Outcome, Paint, Show, Table, Text, count, json_records,
        page_name,
    },
};

/// Arguments of `link`.
#[derive(Debug, Args)]
pub(crate) struct LinkCommand {
    /// The page that gets the link
    #[arg(value_name = "FROM")]
    from: String,

    /// The target page, which may not exist yet
    #[arg(value_name = "TO")]
    to: String,

    /// Frontmatter key of the link, for example company
    #[arg(long, value_name = "KIND", default_value = "related")]
    kind: String,

    /// Remove the link
    #[arg(long)]
    remove: bool,

    /// The source of FROM [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for LinkCommand {
    const NAME: &'static str = "link";
    const GROUP: Group = Group::Organising;
    const ABOUT: &'static str = "Link a page to another";
    const EXAMPLES: &'static str = "Examples:
  brain link people/ada companies/acme --kind company
  brain link people/ada people/charles --remove";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let to = page(&self.to, None)?;
        context.run(brain_protocol::Link {
            from: page(&self.from, self.source.as_deref())?,
            to: to.slug,
            kind: self.kind,
            remove: self.remove,
            to_source: to.source,
        })
    }
}

impl Show for LinkReply {
    fn text(&self, t: &mut Text) {
        t.line(&format!("{} {} → {} ({})", self.status, self.from, self.to, self.kind));
    }

    fn quiet(&self, _: &mut Text) {}

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn notes(&self) -> Vec<String> {
        // Only a new link gets the note: `unchanged` can also mean that there was no link to
        // remove.
        match self.status == ChangeStatus::Added && !self.target_exists {
            true => {
                vec![format!("{} does not exist yet; the link works once it does", self.to)]
            }
            false => Vec::new(),
        }
    }
}

/// Arguments of `links`.
#[derive(Debug, Args)]
pub(crate) struct LinksCommand {
    /// The page's slug
    #[arg(value_name = "SLUG", required_unless_present = "broken")]
    slug: Option<String>,

    /// List the missing and ambiguous links of all pages
    #[arg(long, conflicts_with_all = ["slug", "as_of"])]
    broken: bool,

    /// Number of links to list with --broken, 1 to 1000
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    limit: u32,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,

    #[command(flatten)]
    as_of: AsOfOption,

    #[command(flatten)]
    format: FormatOption,
}

impl Verb for LinksCommand {
    const NAME: &'static str = "links";
    const GROUP: Group = Group::Organising;
    const ABOUT: &'static str = "List the links of a page";
    const EXAMPLES: &'static str = "Examples:
  brain links people/ada
  brain links --broken --source work";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let source = self.source.as_deref();
        match &self.slug {
            Some(slug) => {
                let request = brain_protocol::Links { page: page(slug, source)? };
                let (links, label) = self.as_of.call(context, request)?;
                let outcome = context.list(&links, &self.format)?;
                label.add_to(outcome, self.format.is_json(context.json))
            }
            None => {
                let source = fail::parse_source(source)?;
                let links = context.call(BrokenLinks { source, limit: self.limit })?;
                context.list(&links, &self.format)
            }
        }
    }
}

/// Arguments of `backlinks`.
#[derive(Debug, Args)]
pub(crate) struct BacklinksCommand {
    /// The page's slug
    #[arg(value_name = "SLUG")]
    slug: String,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,

    #[command(flatten)]
    as_of: AsOfOption,

    #[command(flatten)]
    format: FormatOption,
}

impl Verb for BacklinksCommand {
    const NAME: &'static str = "backlinks";
    const GROUP: Group = Group::Organising;
    const ABOUT: &'static str = "List the pages that link to a page";
    const EXAMPLES: &'static str = "Examples:
  brain backlinks companies/acme
  brain backlinks companies/acme --quiet | wc -l";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let page = page(&self.slug, self.source.as_deref())?;
        let (links, label) = self.as_of.call(context, brain_protocol::Backlinks { page })?;
        let outcome = context.list(&links, &self.format)?;
        label.add_to(outcome, self.format.is_json(context.json))
    }
}

/// Columns of backlinks, with the sentence that contains the link.
const BACKLINK_COLUMNS: &[Column] = &[
    Column::uncut("PAGE").with_paint(Paint::cyan),
    Column::flexible("KIND", 8).droppable(3),
    Column::fixed("STATUS").droppable(2),
    Column::flexible("SENTENCE", 20).droppable(1),
];

const LINK_COLUMNS: &[Column] = &[
    Column::uncut("PAGE").with_paint(Paint::cyan),
    Column::flexible("KIND", 8).droppable(3),
    Column::fixed("STATUS").droppable(1),
    Column::flexible("TITLE", 10).droppable(2),
];

impl Listing for LinksReply {
    const FIELDS: &'static [&'static str] =
        &["slug", "source_id", "title", "target", "kind", "status"];

    fn records(&self) -> Vec<Vec<String>> {
        json_records(&self.links, Self::FIELDS)
    }

    fn paths(&self) -> Option<Vec<&str>> {
        Some(self.links.iter().filter_map(|link| link.path.as_deref()).collect())
    }
}

impl Show for LinksReply {
    fn text(&self, t: &mut Text) {
        let has_sentences = self.links.iter().any(|link| link.sentence.is_some());
        let mut table = Table::new(if has_sentences { BACKLINK_COLUMNS } else { LINK_COLUMNS });
        for link in &self.links {
            let page = linked_name(link);
            let text = link.sentence.as_deref().or(link.title.as_deref()).unwrap_or_default();
            table.linked_row(link.path.as_deref(), [&page, &link.kind, link.status.as_str(), text]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for link in &self.links {
            t.line(&linked_name(link));
        }
    }

    fn notes(&self) -> Vec<String> {
        if !self.links.is_empty() {
            let more =
                self.truncated.then(|| format!("only the first {} are shown", self.links.len()));
            return more.into_iter().collect();
        }
        vec![match self.direction.as_str() {
            "backlinks" => format!("no page links to {}", self.slug),
            _ => format!("{} has no links", self.slug),
        }]
    }
}

/// Returns the name of the page at the other end of a link. Without such a page, returns the target
/// as the link has it.
fn linked_name(link: &LinkRow) -> String {
    match (&link.slug, &link.source_id) {
        (Some(slug), Some(source)) => page_name(source, slug),
        (Some(slug), None) => slug.to_string(),
        (None, _) => link.target.clone(),
    }
}

const BROKEN_COLUMNS: &[Column] = &[
    Column::uncut("PAGE").with_paint(Paint::cyan),
    Column::fixed("STATUS"),
    Column::flexible("LINK", 14),
    Column::flexible("MAY MEAN", 12).droppable(1),
];

impl Listing for BrokenLinksReply {
    const FIELDS: &'static [&'static str] =
        &["slug", "source_id", "target", "kind", "status", "candidates"];

    fn records(&self) -> Vec<Vec<String>> {
        json_records(&self.links, Self::FIELDS)
    }
}

impl Show for BrokenLinksReply {
    fn text(&self, t: &mut Text) {
        let mut table = Table::new(BROKEN_COLUMNS);
        for link in &self.links {
            let candidates: Vec<&str> = link.candidates.iter().map(Slug::as_str).collect();
            let page = page_name(&link.source_id, &link.slug);
            table.row([&page, link.status.as_str(), &link.target, &candidates.join(", ")]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for link in &self.links {
            t.line(&format!("{} {}", page_name(&link.source_id, &link.slug), link.target));
        }
    }

    fn notes(&self) -> Vec<String> {
        if self.links.is_empty() {
            return vec!["no broken links".into()];
        }
        let total = self.missing + self.ambiguous;
        let mut notes = vec![format!(
            "{}: {} missing, {} ambiguous",
            count(total, "link"),
            self.missing,
            self.ambiguous
        )];
        notes.extend(
            self.truncated
                .then(|| format!("only {} are shown; --limit shows more", self.links.len())),
        );
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brain_protocol::{BrokenLink, NameError, SourceId, TargetStatus};

    #[test]
    fn narrow_tables_cut_the_target_before_the_page() -> Result<(), NameError> {
        let link = |slug: &str| {
            Ok::<_, NameError>(BrokenLink {
                slug: Slug::parse(slug)?,
                source_id: SourceId::parse("work")?,
                target: "People/Somebody With A Long Name".into(),
                kind: "mentions".into(),
                status: TargetStatus::Ambiguous,
                candidates: vec![Slug::parse("people/somebody")?, Slug::parse("old/somebody")?],
            })
        };
        let slugs = ["meetings/2026/11/a-long-name-of-a-meeting", "meetings/2026/11/kickoff"];
        let links = vec![link(slugs[0])?, link(slugs[1])?];
        let reply = BrokenLinksReply { links, missing: 0, ambiguous: 2, truncated: false };
        let mut t = Text::plain(Some(60));
        reply.text(&mut t);
        let text = t.as_str();
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        assert!(slugs.iter().all(|slug| text.contains(&format!("work:{slug}  "))), "{text}");
        assert_eq!(text.matches("ambiguous").count(), 2, "{text}");
        assert!(text.contains("  People/S") && text.contains('…'), "{text}");
        Ok(())
    }
}
