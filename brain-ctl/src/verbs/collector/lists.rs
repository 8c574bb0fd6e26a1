//! `brain collector deletions`, `alerts` and `enrich`. Texts come from outside and are cleaned.

use brain_protocol::{
    AlertKind, CollectorAlertsReply, CollectorDeletionsReply, CollectorEnrichReply, DeletionReason,
    Exit,
};

use crate::output::{Column, Paint, Show, Table, Text, count, format_to_minute, page_name};

/// Describes the reason of a deletion.
fn reason_text(reason: &str) -> &str {
    match DeletionReason::parse(reason) {
        Some(DeletionReason::NotAuthorized) => "hidden",
        Some(_) => "deleted",
        None => reason,
    }
}

const DELETIONS: &[Column] = &[
    Column::fixed("DETECTED").droppable(1),
    Column::fixed("POST").with_paint(Paint::cyan),
    Column::flexible("AUTHOR", 8),
    Column::fixed("REASON").droppable(2),
    Column::flexible("TEXT", 12),
];

impl Show for CollectorDeletionsReply {
    fn text(&self, t: &mut Text) {
        let mut table = Table::new(DELETIONS);
        for deletion in &self.deletions {
            let text = if deletion.text.is_empty() { "(not kept)" } else { &deletion.text };
            table.row([
                &format_to_minute(&deletion.detected_at),
                &deletion.id,
                &deletion.author,
                reason_text(&deletion.reason),
                text,
            ]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for deletion in &self.deletions {
            t.line(&deletion.id);
        }
    }

    fn notes(&self) -> Vec<String> {
        if self.deletions.is_empty() {
            return vec!["no deletions".into()];
        }
        let mut notes = Vec::new();
        if self
            .deletions
            .iter()
            .any(|deletion| deletion.reason == DeletionReason::NotAuthorized.as_str())
        {
            notes.push("hidden: the account became private or was suspended".into());
        }
        notes.extend(self.truncated.then(|| "more exist: use --limit or --since".to_owned()));
        notes
    }
}

const ALERTS: &[Column] = &[
    Column::fixed("WHEN").droppable(1),
    Column::fixed("KIND"),
    Column::fixed("POST").with_paint(Paint::cyan).droppable(3),
    Column::flexible("AUTHOR", 8).droppable(2),
    Column::flexible("MESSAGE", 20),
];

/// Removes the kind, post and author from an alert's message, because other columns show them.
fn short_message(kind: AlertKind, id: &str, message: &str) -> String {
    let details = match kind {
        AlertKind::Deletion => message.strip_prefix("DELETION_DETECTED:"),
        AlertKind::Velocity => message.strip_prefix("VELOCITY_ALERT:"),
        AlertKind::ReplyRatio | AlertKind::QuoteRatio => None,
    };
    let details = details
        .and_then(|details| details.strip_prefix(id))
        .and_then(|details| details.strip_prefix(':'));
    match (details, kind) {
        // The details are `AUTHOR:TEXT`.
        (Some(details), AlertKind::Deletion) => {
            details.split_once(':').map_or(details, |(_, text)| text).to_owned()
        }
        (Some(details), _) => details.replace(':', " "),
        (None, _) => message.to_owned(),
    }
}

impl Show for CollectorAlertsReply {
    fn text(&self, t: &mut Text) {
        let mut table = Table::new(ALERTS);
        for alert in &self.alerts {
            let message = short_message(alert.kind, &alert.id, &alert.message);
            table.row([
                &format_to_minute(&alert.at),
                alert.kind.as_str(),
                &alert.id,
                &alert.author,
                &message,
            ]);
        }
        table.write(t);
    }

    /// Prints the event lines.
    fn quiet(&self, t: &mut Text) {
        for alert in &self.alerts {
            t.line(&alert.message);
        }
    }

    fn notes(&self) -> Vec<String> {
        match (self.alerts.is_empty(), self.truncated) {
            (true, _) => vec!["no alerts".into()],
            (false, true) => vec!["more exist: use --limit or --since".into()],
            (false, false) => Vec::new(),
        }
    }
}

impl Show for CollectorEnrichReply {
    fn text(&self, t: &mut Text) {
        for page in &self.pages {
            let name = t.paint.cyan(&page_name(&page.source_id, &page.slug));
            let new = if page.created { " (new)" } else { "" };
            t.raw_line(&format!("{name}{new}"));
            for line in &page.lines {
                t.prose("  ", 4, line);
            }
        }
        let lines: usize = self.pages.iter().map(|page| page.lines.len()).sum();
        let pages = count(self.pages.len() as u64, "page");
        let lines = count(lines as u64, "line");
        t.line(&match (self.pages.is_empty(), self.dry_run) {
            (true, _) => "nothing to write".into(),
            (false, true) => format!("{lines} would be written into {pages}"),
            (false, false) => format!("{lines} written into {pages}"),
        });
    }

    fn quiet(&self, t: &mut Text) {
        for page in &self.pages {
            t.line(&page_name(&page.source_id, &page.slug));
        }
    }

    fn failures(&self) -> Vec<String> {
        self.failures.clone()
    }

    fn notes(&self) -> Vec<String> {
        let below_threshold = match self.people_below_threshold {
            0 => None,
            n => Some(format!(
                "{} below the threshold for a new page \
                 (collector.notable_followers, collector.notable_posts)",
                if n == 1 { "1 person is".into() } else { format!("{n} people are") }
            )),
        };
        self.pages_without_account.iter().cloned().chain(below_threshold).collect()
    }

    fn exit(&self) -> Exit {
        if self.failures.is_empty() { Exit::Done } else { Exit::Failed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::width;
    use brain_protocol::{Alert, Deletion, EnrichedPage, Slug, SourceId};

    const HOSTILE: &str =
        "\u{1b}[31mred\u{202e} and\nthe next line, which goes on and on and on and on";

    fn assert_fits(text: &str) {
        for line in text.lines() {
            assert!(width(line) <= 60, "{line}");
        }
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    }

    fn deletion(reason: DeletionReason, text: &str) -> Deletion {
        Deletion {
            id: "1234567890123456789".into(),
            author: "ada_lovelace_15".into(),
            text: text.into(),
            created_at: None,
            detected_at: "2026-11-21T10:30:00.000Z".into(),
            reason: reason.to_string(),
        }
    }

    #[test]
    fn deletions_fit_60_columns_and_are_clean() {
        let reply = CollectorDeletionsReply {
            deletions: vec![
                deletion(DeletionReason::NotFound, HOSTILE),
                deletion(DeletionReason::NotAuthorized, ""),
            ],
            truncated: true,
        };
        let mut t = Text::plain(Some(60));
        reply.text(&mut t);
        assert_fits(t.as_str());
        assert_eq!(t.as_str().lines().count(), 3, "{}", t.as_str());
        assert!(
            t.as_str().contains("1234567890123456789") && t.as_str().contains("(not kept)"),
            "{}",
            t.as_str()
        );
        assert_eq!(reply.notes().len(), 2);
        let none = CollectorDeletionsReply { deletions: Vec::new(), truncated: false };
        assert_eq!(none.notes(), ["no deletions"]);
    }

    fn alert(kind: AlertKind, message: &str) -> Alert {
        Alert {
            at: "2026-11-21T10:30:00.000Z".into(),
            kind,
            id: "17".into(),
            author: "ada".into(),
            message: message.into(),
        }
    }

    #[test]
    fn alerts_are_readable_and_quiet_prints_event_lines() {
        let line = "DELETION_DETECTED:17:ada:at 10:30 we said: no";
        let reply = CollectorAlertsReply {
            alerts: vec![
                alert(AlertKind::Deletion, line),
                alert(AlertKind::Velocity, "VELOCITY_ALERT:17:likes:50->100:30min"),
                alert(AlertKind::ReplyRatio, HOSTILE),
            ],
            truncated: false,
        };
        let mut t = Text::plain(Some(60));
        reply.text(&mut t);
        assert_fits(t.as_str());
        assert!(t.as_str().contains("at 10:30 we said: no"), "{}", t.as_str());
        assert!(t.as_str().contains("likes 50->100 30min"), "{}", t.as_str());
        let mut quiet = Text::plain(None);
        reply.quiet(&mut quiet);
        assert!(quiet.as_str().starts_with(&format!("{line}\n")), "{}", quiet.as_str());
        assert_eq!(quiet.as_str().lines().count(), 3);
    }

    #[test]
    fn enrichment_lists_lines_by_page() {
        let slug = Slug::parse("people/ada-lovelace").expect("slug");
        let page = EnrichedPage {
            source_id: SourceId::default(),
            slug,
            created: true,
            lines: vec![format!(
                "- 2026-11-21 | Deleted tweet: {HOSTILE} [Source: x deletion, detected 2026-11-21]"
            )],
        };
        let mut reply = CollectorEnrichReply {
            dry_run: true,
            pages: vec![page],
            people_below_threshold: 2,
            pages_without_account: Vec::new(),
            failures: Vec::new(),
        };
        let mut t = Text::plain(Some(60));
        reply.text(&mut t);
        assert_fits(t.as_str());
        assert!(
            t.as_str().starts_with("people/ada-lovelace (new)\n  - 2026-11-21 |"),
            "{}",
            t.as_str()
        );
        assert!(t.as_str().ends_with("1 line would be written into 1 page\n"), "{}", t.as_str());
        assert!(reply.notes()[0].starts_with("2 people"));
        assert_eq!(reply.exit(), Exit::Done);
        reply.pages[0].source_id = SourceId::parse("work").expect("source");
        let mut quiet = Text::plain(None);
        reply.quiet(&mut quiet);
        assert_eq!(quiet.as_str(), "work:people/ada-lovelace\n");
        reply.failures.push("people/ada-lovelace: the disk is full".into());
        assert_eq!(reply.exit(), Exit::Failed);
    }
}
