//! Shows collected data: status, deletions, alerts, and the metrics history ("curve") of a post.
//!
//! Finds posts, deletions and alerts by the journal, so it does not read all posts.

use std::cmp::Reverse;
use std::collections::HashSet;

use brain_protocol::{
    Alert, AlertKind, CollectorAlertsReply, CollectorCounts, CollectorCurve,
    CollectorDeletionsReply, CollectorPeriod, CollectorStatusReply, Command, Curve, Deletion,
    Fault, FaultCode, RateLimit, Snapshot, hint,
};

use super::data_fault;
use crate::service::CollectorService;
use crate::{Data, DataFault, Journal, JournalEvent, Line, PostId, RESERVE, State, preview};
use brain_base::clock::{parse_instant, rfc3339};

/// Maximum age of a mover (a post with fast growing likes), in milliseconds.
const MOVER_WINDOW_MS: i64 = 48 * 60 * 60 * 1000;
/// Maximum posts examined for movers.
const MAX_EXAMINED: usize = 500;
/// Maximum number of movers.
const MAX_MOVERS: usize = 5;
/// Maximum rows of an answer.
const MAX_ROWS: u32 = 1000;

impl CollectorService {
    /// Returns the state of the last run, and the limits of the platform.
    pub fn status(&self) -> Result<CollectorStatusReply, Fault> {
        let settings = self.collector_settings();
        let data = Data::new(&settings.dir);
        let (state, damage) = State::peek(&data).map_err(|f| data_fault(&f))?;
        if let Some(damage) = damage {
            tracing::warn!(damage, "the collector's state is damaged");
        }
        let off_because = if self.env.config.enabled {
            // The reason includes the hint, which names the remedy.
            self.run_inputs().err().map(|fault| {
                fault
                    .hint
                    .map_or(fault.message.clone(), |hint| format!("{}; {hint}", fault.message))
            })
        } else {
            Some(
                "collector.enabled is false: set it to true in config.toml and restart the daemon"
                    .into(),
            )
        };
        let next_run = match &off_because {
            None => Some(rfc3339(self.env.task.next_start(self.env.clock.now()))),
            Some(_) => None,
        };
        let now = self.env.clock.now().div_euclid(1000);
        let rate_limits = state.rate_limits.all().map(|(endpoint, allowance)| RateLimit {
            endpoint: endpoint.to_owned(),
            remaining: allowance.remaining,
            reset: allowance.reset,
            held: allowance.remaining <= RESERVE && now < allowance.reset,
        });
        let rate_limits = rate_limits.collect();
        let stream = self.stream_status(off_because.as_deref());
        let movers = self.movers(&data, &Journal::new(&settings.dir))?;
        let settings = Self::with_account(settings, &state);
        Ok(CollectorStatusReply {
            enabled: off_because.is_none(),
            off_because,
            handle: settings.handle,
            user_id: settings.user_id.map(|id| id.to_string()),
            platform_api: settings.platform_api,
            dir: settings.dir.display().to_string(),
            next_run,
            last_run: state.last_report,
            stored: CollectorCounts {
                own: data.count("tweets/own"),
                mentions: data.count("tweets/mentions"),
                searches: data.count("tweets/searches"),
                deletions: data.count("deletions"),
                engagement: data.count("engagement"),
            },
            rate_limits,
            stream: stream.filter(|_| self.env.config.stream),
            movers,
        })
    }

    /// Returns the curves of at most [`MAX_MOVERS`] recent posts, fastest growing first.
    fn movers(&self, data: &Data, journal: &Journal) -> Result<Vec<Curve>, Fault> {
        let entries =
            journal.since(self.env.clock.now() - MOVER_WINDOW_MS).map_err(|f| data_fault(&f))?;
        let mut distinct_ids = HashSet::new();
        let ids = entries.iter().rev().filter_map(|entry| match &entry.event {
            JournalEvent::Post { id, .. } | JournalEvent::Alert { id, .. }
                if distinct_ids.insert(id.as_str()) =>
            {
                PostId::parse(id)
            }
            _ => None,
        });
        let mut growing: Vec<(f64, PostId)> = Vec::new();
        for id in ids.take(MAX_EXAMINED) {
            let Some(snapshots) = skip_damaged(data.snapshots(&id))? else { continue };
            let likes_per_ms = likes_per_ms(&snapshots);
            if likes_per_ms > 0.0 && !data.is_deleted(&id) {
                growing.push((likes_per_ms, id));
            }
        }
        growing.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| b.1.cmp(&a.1)));
        let curves = growing
            .iter()
            .take(MAX_MOVERS)
            .map(|(_, id)| Ok(skip_damaged(data.curve(id))?.flatten()));
        Ok(curves.collect::<Result<Vec<_>, Fault>>()?.into_iter().flatten().collect())
    }

    /// Returns the recorded deletions since a time, newest first.
    pub fn deletions(&self, request: &CollectorPeriod) -> Result<CollectorDeletionsReply, Fault> {
        let (since, limit) = parse_span(request)?;
        let dir = self.collector_settings().dir;
        let (data, journal) = (Data::new(&dir), Journal::new(&dir));
        let mut deletions = Vec::new();
        for entry in journal.since(since).map_err(|f| data_fault(&f))?.iter().rev() {
            let JournalEvent::Deletion { id } = &entry.event else { continue };
            if let Some(deletion) = find_deletion(&data, id)? {
                deletions.push(deletion);
            }
            if deletions.len() > limit {
                break;
            }
        }
        let truncated = deletions.len() > limit;
        deletions.truncate(limit);
        deletions.sort_by_key(|deletion| Reverse(parse_instant(&deletion.detected_at)));
        Ok(CollectorDeletionsReply { deletions, truncated })
    }

    /// Returns the alerts since a time, including deletions, newest first.
    pub fn alerts(&self, request: &CollectorPeriod) -> Result<CollectorAlertsReply, Fault> {
        let (since, limit) = parse_span(request)?;
        let dir = self.collector_settings().dir;
        let (data, journal) = (Data::new(&dir), Journal::new(&dir));
        let mut alerts = Vec::new();
        for entry in journal.since(since).map_err(|f| data_fault(&f))?.into_iter().rev() {
            let alert = match entry.event {
                JournalEvent::Deletion { id } => {
                    find_deletion(&data, &id)?.map(|deletion| deletion_alert(entry.at, deletion))
                }
                JournalEvent::Alert { alert, id, author, message } => {
                    Some(Alert { at: entry.at, kind: alert, id, author, message })
                }
                JournalEvent::Post { .. } | JournalEvent::Enriched { .. } => None,
            };
            alerts.extend(alert);
            if alerts.len() > limit {
                break;
            }
        }
        let truncated = alerts.len() > limit;
        alerts.truncate(limit);
        Ok(CollectorAlertsReply { alerts, truncated })
    }

    /// Returns the metrics history of a post.
    ///
    /// # Errors
    /// `usage` for an invalid id; `unknown_post` if the post was not collected; otherwise the fault
    /// of reading its files.
    pub fn curve(&self, request: &CollectorCurve) -> Result<Curve, Fault> {
        let id = PostId::parse(&request.id).ok_or_else(|| {
            let shown: String = request.id.chars().take(40).flat_map(char::escape_debug).collect();
            Fault::new(FaultCode::Usage, format!("\"{shown}\" is not the id of a post")).hint(
                hint!(
                    "an id has 1 to 19 digits, as in the post's URL; {} lists posts",
                    Command::CollectorDigest
                ),
            )
        })?;
        let data = Data::new(&self.collector_settings().dir);
        data.curve(&id).map_err(|f| data_fault(&f))?.ok_or_else(|| {
            Fault::new(FaultCode::UnknownPost, format!("the collector has no post {id}"))
                .hint(hint!("{} lists the collected posts", Command::CollectorDigest))
        })
    }
}

/// Returns a recorded deletion. `None` if a crash left a journal entry without a record. The next
/// run writes both.
fn find_deletion(data: &Data, id: &str) -> Result<Option<Deletion>, Fault> {
    let Some(id) = PostId::parse(id) else { return Ok(None) };
    Ok(skip_damaged(data.deletion(&id))?.flatten())
}

/// Treats a damaged file as missing and logs it.
fn skip_damaged<T>(read: Result<T, DataFault>) -> Result<Option<T>, Fault> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(fault) if fault.is_damage() => {
            tracing::warn!(%fault, "a file of the collector is damaged");
            Ok(None)
        }
        Err(fault) => Err(data_fault(&fault)),
    }
}

/// Returns the alert of a deletion: its event line.
fn deletion_alert(at: String, deletion: Deletion) -> Alert {
    let Deletion { id, author, text, .. } = deletion;
    let line = Line::Deletion { id: id.clone(), author: author.clone(), preview: preview(&text) };
    Alert { at, kind: AlertKind::Deletion, id, author, message: line.to_string() }
}

/// Returns likes per millisecond between the last two snapshots; 0 if unknown.
fn likes_per_ms(snapshots: &[Snapshot]) -> f64 {
    let [.., before, last] = snapshots else { return 0.0 };
    let at = |snapshot: &Snapshot| parse_instant(&snapshot.timestamp);
    let (Some(from), Some(to)) = (at(before), at(last)) else { return 0.0 };
    if to <= from {
        return 0.0;
    }
    (last.metrics.like_count as f64 - before.metrics.like_count as f64) / (to - from) as f64
}

/// Returns the start time, in Unix milliseconds, and the maximum number of rows of a request.
///
/// # Errors
/// `usage` for an invalid time or limit.
fn parse_span(request: &CollectorPeriod) -> Result<(i64, usize), Fault> {
    let since = match &request.since {
        None => i64::MIN,
        Some(text) => parse_instant(text).ok_or_else(|| {
            let shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
            Fault::new(FaultCode::Usage, format!("\"{shown}\" is neither a day nor an instant"))
                .hint("write it as YYYY-MM-DD, or as 2026-11-21T10:30:00Z")
        })?,
    };
    if !(1..=MAX_ROWS).contains(&request.limit) {
        let message = format!("a limit of {} is out of range", request.limit);
        return Err(Fault::new(FaultCode::Usage, message).hint(format!("it is 1 to {MAX_ROWS}")));
    }
    Ok((since, request.limit as usize))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use brain_protocol::{DeletionReason, Metrics};

    use super::*;

    fn snapshot(time: &str, likes: u64) -> Snapshot {
        let metrics = Metrics { like_count: likes, ..Metrics::default() };
        Snapshot { timestamp: format!("2026-11-21T{time}Z"), metrics }
    }

    #[test]
    fn likes_per_ms_uses_the_last_two_snapshots() {
        let (a, b, c) =
            (snapshot("10:00:00", 0), snapshot("10:00:10", 5000), snapshot("10:00:20", 5010));
        assert_eq!(likes_per_ms(&[a.clone(), b.clone(), c.clone()]), 0.001);
        assert_eq!((likes_per_ms(&[]), likes_per_ms(std::slice::from_ref(&a))), (0.0, 0.0));
        assert!(
            likes_per_ms(&[c, snapshot("10:00:30", 10)]) < 0.0,
            "the rate is negative if the likes decrease"
        );
        assert_eq!(likes_per_ms(&[b, a]), 0.0, "the clock went backwards");
        assert_eq!(likes_per_ms(&[snapshot("nonsense", 1), snapshot("10:00:00", 9)]), 0.0);
    }

    #[test]
    fn spans_and_limits_are_checked() {
        let parse = |since: Option<&str>, limit| {
            parse_span(&CollectorPeriod { since: since.map(str::to_owned), limit })
        };
        assert_eq!(parse(None, 1).unwrap(), (i64::MIN, 1));
        assert_eq!(parse(Some("2026-11-21"), 1000).unwrap(), (1_795_219_200_000, 1000));
        assert_eq!(parse(Some("2026-11-21T10:00:00.5Z"), 7).unwrap().0, 1_795_255_200_500);
        for (since, limit) in [
            (None, 0),
            (None, 1001),
            (Some("yesterday"), 5),
            (Some("2026-13-01"), 5),
            (Some("\u{1b}[2J"), 5),
        ] {
            let fault = parse(since, limit).unwrap_err();
            assert_eq!(fault.code, FaultCode::Usage);
            assert!(fault.hint.is_some() && !fault.message.contains('\u{1b}'));
        }
    }

    #[test]
    fn the_alert_of_a_deletion_is_its_event_line() {
        let deletion = Deletion {
            id: "17".into(),
            author: "ada".into(),
            text: "first\nsecond \u{1b}[2J".into(),
            created_at: None,
            detected_at: "2026-11-21T10:00:00.000Z".into(),
            reason: DeletionReason::NotFound.to_string(),
        };
        let alert = deletion_alert("2026-11-21T10:00:01.000Z".into(), deletion);
        assert!(
            alert.message.starts_with("DELETION_DETECTED:17:ada:first second "),
            "{}",
            alert.message
        );
        assert!(!alert.message.contains('\u{1b}'));
        assert_eq!(
            (alert.kind, alert.at.as_str()),
            (AlertKind::Deletion, "2026-11-21T10:00:01.000Z")
        );
    }
}
