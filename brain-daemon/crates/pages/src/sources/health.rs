//! Health of the sources and of their watcher.

use std::sync::Arc;
use std::time::{Duration, Instant};

use brain_protocol::{Command, SourceId};

use super::own_sources;
use super::watch_state::WatchState;
use crate::sources::SourceService;
use brain_base::caller::Visibility;
use brain_page::program_copy;
use brain_service::health::{Finding, Health, HealthCheck, fail, ok, warn};
use brain_store::{Reader, SourceRecord, StoreError};

/// How long the copies are counted: about 150,000 files.
const MAX_COUNTING: Duration = Duration::from_millis(100);

impl Health for SourceService {
    fn checks(self: Arc<Self>) -> Vec<HealthCheck> {
        vec![
            HealthCheck::new("sources", &self, Self::check_sources),
            HealthCheck::new("watcher", &self, Self::check_watcher),
        ]
    }
}

impl SourceService {
    fn check_sources(&self) -> Finding {
        let reader = self.store.read(Visibility::All)?;
        let sources = own_sources(&reader)?;
        let copies = count_copies(&reader, &sources)?;
        drop(reader);
        let summary = |problems: Vec<(&SourceId, String)>| -> String {
            let lines: Vec<String> =
                problems.iter().map(|(id, why)| format!("{id}: {why}")).collect();
            lines.join("; ")
        };
        let unusable: Vec<_> = sources
            .iter()
            .filter_map(|(id, record)| Some((id, self.directory_problem(id, record)?)))
            .collect();
        if !unusable.is_empty() {
            return fail(summary(unusable), Command::SourcesList);
        }
        let sync_problems: Vec<_> = sources
            .iter()
            .filter_map(|(id, record)| Some((id, record.last_sync.clone()?.problem?)))
            .collect();
        if let Some((id, _)) = sync_problems.first() {
            let hint = Command::SyncSource { source: Some(id.to_string()) };
            return warn(summary(sync_problems), hint);
        }
        ok(format!("{} registered, all there{copies}", sources.len()))
    }

    fn check_watcher(&self) -> Finding {
        match self.watcher.state() {
            WatchState::Off => ok("off (`sources.watch`)"),
            WatchState::Starting => ok("starting: all sources are scanned first"),
            WatchState::Watching { directories, looked_through } if looked_through.is_empty() => {
                ok(format!("{directories} directories"))
            }
            WatchState::Watching { directories, looked_through } => {
                let names: Vec<&str> = looked_through.iter().map(SourceId::as_str).collect();
                ok(format!(
                    "{directories} directories; {} can change without an event, on a network or \
                     FUSE file system, and is looked through every 5 minutes",
                    names.join(", ")
                ))
            }
            WatchState::Failing(problem) => warn(
                format!("{problem}; the sources are scanned every minute instead"),
                Command::SyncAll,
            ),
        }
    }
}

/// Returns the end of a sentence with the number of pages whose files are copies that sync programs
/// made. It is empty without copies.
fn count_copies(
    reader: &Reader,
    sources: &[(SourceId, SourceRecord)],
) -> Result<String, StoreError> {
    let until = Instant::now() + MAX_COUNTING;
    let (mut count, mut at_least) = (0_u64, "");
    for (source, _) in sources {
        for (n, row) in reader.paths(source, "")?.enumerate() {
            let (path, page) = row?;
            if program_copy(&path).is_some() && reader.by_id(page)?.is_some() {
                count += 1;
            }
            if n % 1000 == 999 && Instant::now() > until {
                at_least = "at least ";
                break;
            }
        }
    }
    Ok(match count {
        0 => String::new(),
        1 => {
            format!("; {at_least}1 page is a copy that a sync program made: {}", Command::DiffCopy)
        }
        _ => format!(
            "; {at_least}{count} pages are copies that sync programs made: {}",
            Command::DiffCopy
        ),
    })
}
