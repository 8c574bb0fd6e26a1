//! Health of the index, compared with the store.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use brain_protocol::{Command, Fault, hint};

use crate::search::SearchService;
use brain_base::caller::Visibility;
use brain_service::health::{Finding, Health, HealthCheck, fail, ok, warn};

impl Health for SearchService {
    fn checks(self: Arc<Self>) -> Vec<HealthCheck> {
        vec![HealthCheck::new("index", &self, Self::check_index)]
    }
}

impl SearchService {
    fn check_index(&self) -> Finding {
        if let Some(reason) = self.index.degraded() {
            return warn(reason, Command::Status);
        }
        let Some(index) = self.index.get() else { return fail("not open", Command::Stop) };
        let count = || -> Result<(u64, u64), Fault> {
            Ok((index.doc_count(), self.store.read(Visibility::All)?.counts()?.active))
        };
        // Read before the counts, because an import may end meanwhile.
        let mut incomplete_reason = self.index.incomplete_reason(None);
        let (mut docs, mut pages) = count()?;
        // A write between the two counts is no finding.
        for _ in 0..5 {
            if docs == pages {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
            incomplete_reason = self.index.incomplete_reason(None);
            (docs, pages) = count()?;
        }
        if docs != pages {
            return difference([docs, pages], incomplete_reason, self.index.dir());
        }
        let rebuilt = self
            .index
            .rebuild_reason()
            .map_or_else(String::new, |why| format!("; rebuilt at this start: {why}"));
        ok(format!("pages: {docs}, not yet on disk: {}{rebuilt}", index.uncommitted_count()))
    }
}

/// Returns the finding about an index whose number of pages differs from that of the store.
/// `incomplete_reason` is the reason why the index may be behind for a while.
fn difference([docs, pages]: [u64; 2], incomplete_reason: Option<String>, dir: &Path) -> Finding {
    let numbers = format!("the index has {docs} pages, the store {pages}");
    match incomplete_reason {
        Some(why) => warn(
            format!("the index is catching up: {numbers}; {why}"),
            hint!("{} shows when it is up to date", Command::Status),
        ),
        None => warn(numbers, Command::StopAndRemove { path: Some(dir.display().to_string()) }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn removal_is_advised_only_if_the_index_does_not_catch_up() {
        let dir = Path::new("/home/me/.brain/index");
        let (_, message, hint) =
            difference([5, 9], Some("an import is at work".into()), dir).unwrap();
        assert!(message.starts_with("the index is catching up"), "{message}");
        assert!(!hint.unwrap().to_string().contains("rm "));
        let (_, message, hint) = difference([5, 9], None, dir).unwrap();
        assert_eq!(message, "the index has 5 pages, the store 9");
        assert_eq!(hint.unwrap().to_string(), "brain stop && rm -r /home/me/.brain/index");
    }
}
