//! Health of the sources and of their watcher.

use std::sync::Arc;

use brain_protocol::SourceId;

use super::own_sources;
use super::watch_state::WatchState;
use crate::SourceService;
use crate::health::{Finding, Health, HealthCheck, fail, ok, warn};
use brain_base::caller::Visibility;

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
            return fail(summary(unusable), "brain sources list");
        }
        let sync_problems: Vec<_> = sources
            .iter()
            .filter_map(|(id, record)| Some((id, record.last_sync.clone()?.problem?)))
            .collect();
        if let Some((id, _)) = sync_problems.first() {
            let hint = format!("brain sync --source {id}");
            return warn(summary(sync_problems), hint);
        }
        ok(format!("{} registered, all there", sources.len()))
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
                "brain sync --all",
            ),
        }
    }
}
