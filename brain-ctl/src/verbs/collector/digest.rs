//! `brain collector digest`: lists new posts by author.
//!
//! Names and texts come from outside, so each is made safe for the terminal, on one line.

use brain_protocol::{Digest, DigestAuthor, DigestPost, NamedPage};

use crate::output::{Show, Text, clean, count, format_to_minute, page_name, width};

/// Formats handle and name of an author, if known.
fn author_name(author: &DigestAuthor) -> String {
    match (&author.handle, &author.name) {
        (Some(handle), Some(name)) => format!("@{handle} ({name})"),
        (Some(handle), None) => format!("@{handle}"),
        (None, Some(name)) => format!("{name} ({})", author.id),
        (None, None) => author.id.clone(),
    }
}

/// Lists pages with their relation to an author or a post.
fn page_list(pages: &[NamedPage]) -> String {
    let names = pages.iter().map(|page| {
        let name = page_name(&page.source_id, &page.slug);
        match page.relation.as_str() {
            "subject" => name,
            "candidate" => format!("perhaps {name}"),
            _ => format!("named in {name}"),
        }
    });
    names.collect::<Vec<_>>().join(", ")
}

/// Formats a time as `MM-DD HH:MM`.
fn short_time(at: &str) -> String {
    format_to_minute(at).get(5..).unwrap_or_default().to_owned()
}

/// Prints a post: its time, likes and text, then its pages and the text in its pictures.
fn write_post(t: &mut Text, post: &DigestPost) {
    let at = short_time(post.created_at.as_deref().unwrap_or(&post.collected_at));
    let likes = post
        .metrics
        .map(|metrics| format!("{} ", count(metrics.like_count, "like")))
        .unwrap_or_default();
    let deleted = if post.deleted.is_some() { "deleted " } else { "" };
    let lead = format!("  {} {}{}", t.paint.dim(&at), t.paint.red(deleted), t.paint.yellow(&likes));
    let text = t.cut(&post.text, 2 + width(&at) + 1 + width(deleted) + width(&likes));
    t.raw_line(format!("{lead}{text}").trim_end());
    if !post.pages.is_empty() {
        t.prose("      ", 6, &format!("about {}", page_list(&post.pages)));
    }
    if let Some(text) = post.image_text.as_deref().filter(|text| !text.is_empty()) {
        let lead = "      in picture: ";
        let text = t.cut(text, width(lead));
        t.raw_line(&format!("{lead}{text}"));
    }
}

impl Show for Digest {
    fn text(&self, t: &mut Text) {
        t.line(&format!("{} to {}", format_to_minute(&self.since), format_to_minute(&self.until)));
        for author in &self.authors {
            let own_suffix = if author.own { ", you" } else { "" };
            let head = clean(&author_name(author));
            let posts = count(author.posts.len() as u64, "post");
            t.raw_line("");
            let line = t.cut(&format!("{head}{own_suffix}: {posts}"), 0);
            t.raw_line(&t.paint.bold(&line));
            if !author.pages.is_empty() {
                let lead = format!("  {} ", t.paint.dim("page"));
                t.prose(&lead, 7, &page_list(&author.pages));
            }
            for post in &author.posts {
                write_post(t, post);
            }
        }
        write_section(
            t,
            "Topics",
            self.topics.iter().map(|topic| {
                let author = topic
                    .author
                    .as_ref()
                    .map_or_else(|| topic.author_id.clone(), |author| format!("@{author}"));
                format!(
                    "{author}: {}, {} from {} to {}",
                    topic.topic,
                    count(topic.count, "post"),
                    topic.first,
                    topic.last
                )
            }),
        );
        write_section(
            t,
            "Deleted",
            self.deletions.iter().map(|deletion| {
                let at = short_time(&deletion.detected_at);
                format!("{at} @{}: {}", deletion.author, deletion.text)
            }),
        );
        write_section(
            t,
            "Alerts",
            self.alerts.iter().map(|alert| format!("{} {}", short_time(&alert.at), alert.message)),
        );
    }

    fn quiet(&self, t: &mut Text) {
        for post in self.authors.iter().flat_map(|author| &author.posts) {
            t.line(&post.id);
        }
    }

    fn notes(&self) -> Vec<String> {
        if let Some(next) = &self.next {
            return vec![format!("more posts exist: use --after {next}")];
        }
        let empty = self.authors.is_empty() && self.deletions.is_empty() && self.alerts.is_empty();
        if empty { vec!["nothing new".into()] } else { Vec::new() }
    }
}

/// Prints a heading and its lines, cut to the width of the terminal. Prints nothing without lines.
fn write_section(t: &mut Text, title: &str, lines: impl Iterator<Item = String>) {
    for (n, line) in lines.enumerate() {
        if n == 0 {
            t.raw_line("");
            t.raw_line(&t.paint.bold(title));
        }
        let line = t.cut(&line, 2);
        t.raw_line(&format!("  {line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brain_protocol::{
        Alert, AlertKind, Deletion, DeletionReason, DigestTopic, Metrics, Slug, SourceId,
    };

    const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{202e}first\n\
                           second line of a text that is much longer than the terminal is wide";

    fn page(relation: &str) -> NamedPage {
        NamedPage {
            source_id: SourceId::default(),
            slug: Slug::parse("people/ada-lovelace").expect("slug"),
            title: "Ada".into(),
            page_type: "person".into(),
            relation: relation.into(),
        }
    }

    fn digest() -> Digest {
        let at = || "2026-11-21T10:30:00.000Z".to_owned();
        let post = DigestPost {
            id: "17".into(),
            streams: vec!["own".into()],
            created_at: Some(at()),
            collected_at: at(),
            text: HOSTILE.into(),
            url: "https://x.com/ada/status/17".into(),
            metrics: Some(Metrics { like_count: 12, ..Metrics::default() }),
            topics: vec!["#latency".into()],
            mentions: Vec::new(),
            pages: vec![page("mention")],
            rating: None,
            image_text: Some(HOSTILE.into()),
            deleted: Some(at()),
        };
        Digest {
            since: "2026-11-20T10:30:00.000Z".into(),
            until: at(),
            authors: vec![DigestAuthor {
                id: "5".into(),
                handle: Some("ada".into()),
                name: Some(HOSTILE.into()),
                own: true,
                pages: vec![page("subject")],
                posts: vec![post],
            }],
            topics: vec![DigestTopic {
                author_id: "5".into(),
                author: Some("ada".into()),
                topic: format!("#latency{HOSTILE}"),
                count: 4,
                first: "2026-11-15".into(),
                last: "2026-11-20".into(),
                posts: vec!["17".into()],
            }],
            deletions: vec![Deletion {
                id: "18".into(),
                author: "eve".into(),
                text: HOSTILE.into(),
                created_at: None,
                detected_at: at(),
                reason: DeletionReason::NotFound.to_string(),
            }],
            alerts: vec![Alert {
                at: at(),
                kind: AlertKind::Velocity,
                id: "17".into(),
                author: "ada".into(),
                message: "VELOCITY_ALERT:17:likes:50->100:30min".into(),
            }],
            next: None,
        }
    }

    #[test]
    fn a_digest_fits_60_columns_and_is_clean() {
        let mut t = Text::plain(Some(60));
        digest().text(&mut t);
        let text = t.as_str();
        for line in text.lines() {
            assert!(width(line) <= 60, "{line}");
        }
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text}");
        for part in [
            "2026-11-20 10:30 to 2026-11-21 10:30\n",
            "\n  page people/ada-lovelace\n",
            "\n  11-21 10:30 deleted 12 likes ",
            "\n      about named in people/ada-lovelace\n",
            "\nTopics\n  @ada: #latency",
            "\nDeleted\n  11-21 10:30 @eve: ",
            "\nAlerts\n  11-21 10:30 VELOCITY_ALERT:17:likes:50->100:30min\n",
        ] {
            assert!(text.contains(part), "{part:?} is missing:\n{text}");
        }
    }

    #[test]
    fn notes_name_an_empty_digest_and_the_next_part() {
        let empty = Digest {
            authors: Vec::new(),
            topics: Vec::new(),
            deletions: Vec::new(),
            alerts: Vec::new(),
            ..digest()
        };
        assert_eq!(empty.notes(), ["nothing new"]);
        let part = Digest { next: Some("abc".into()), ..digest() };
        assert_eq!(part.notes(), ["more posts exist: use --after abc"]);
        let mut quiet = Text::plain(None);
        part.quiet(&mut quiet);
        assert_eq!(quiet.as_str(), "17\n");
    }
}
