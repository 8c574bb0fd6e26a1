//! Checks of sources, the watcher, models, the collector and the tunnel.

use brain_protocol::{CheckStatus, Fault, SourceId};

use crate::{Brain, WatchState, collector as collecting, tunnel as tunnelling};
use brain_base::caller::Visibility;

use super::{Finding, fail, ok, warn};

pub(super) fn sources(brain: &Brain) -> Result<Finding, Fault> {
    let sources = brain.store.read(Visibility::All)?.sources()?;
    let named = |found: Vec<(&SourceId, String)>| -> String {
        let found: Vec<String> = found.iter().map(|(id, why)| format!("{id}: {why}")).collect();
        found.join("; ")
    };
    let unusable: Vec<_> = sources
        .iter()
        .filter_map(|(id, record)| Some((id, brain.sources.unusable(record)?)))
        .collect();
    if !unusable.is_empty() {
        return fail(named(unusable), "brain sources list");
    }
    let unsynced: Vec<_> = sources
        .iter()
        .filter_map(|(id, record)| Some((id, record.synced.clone()?.problem?)))
        .collect();
    if let Some((id, _)) = unsynced.first() {
        let hint = format!("brain sync --source {id}");
        return warn(named(unsynced), hint);
    }
    ok(format!("{} registered, all there", sources.len()))
}

pub(super) fn watcher(brain: &Brain) -> Result<Finding, Fault> {
    match brain.sources.watched.state() {
        WatchState::Off => ok("off (`sources.watch`)"),
        WatchState::Watching { directories } => ok(format!("{directories} directories")),
        WatchState::Failing(problem) => warn(
            format!("{problem}; the sources are looked through every minute"),
            "brain sync --all",
        ),
    }
}

pub(super) fn embedding(brain: &Brain) -> Result<Finding, Fault> {
    let standing = brain.embedding.meaning_status();
    let Some(model) = standing.model else {
        return ok(
            "none: search goes by words; `brain model install all-minilm-l6-v2` adds search by meaning",
        );
    };
    if let Some((problem, hint)) = standing.problem {
        let told = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        return warn(format!("{problem}{told}"), "brain embed --stale");
    }
    let with = format!("{} with {model}", standing.provider);
    let missing = match standing.missing {
        0 => String::new(),
        n => format!(", {n} pages have no vectors yet"),
    };
    ok(format!("{with}: {} pages, {} windows{missing}", standing.pages, standing.windows))
}

pub(super) fn collector(brain: &Brain) -> Result<Finding, Fault> {
    match brain.collector.health()? {
        collecting::CollectorHealth::Healthy(how) => ok(how),
        collecting::CollectorHealth::Unhealthy { problem, hint } => warn(problem, hint),
    }
}

pub(super) fn tunnel(brain: &Brain) -> Result<Finding, Fault> {
    match brain.tunnel.health()? {
        tunnelling::TunnelHealth::Healthy(how) => ok(how),
        tunnelling::TunnelHealth::Unhealthy { problem, hint } => warn(problem, hint),
    }
}

pub(super) fn language_model(brain: &Brain) -> Result<Finding, Fault> {
    Ok(match brain.models.llm_standing() {
        Ok(how) => (CheckStatus::Ok, how, None),
        Err((problem, hint)) => (CheckStatus::Warn, problem, Some(hint)),
    })
}
