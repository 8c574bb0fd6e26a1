//! Health of the index, compared with the store.

use std::sync::Arc;
use std::time::Duration;

use brain_protocol::Fault;

use crate::SearchService;
use crate::health::{Finding, Health, HealthCheck, fail, ok, quoted, warn};
use brain_base::caller::Visibility;

impl Health for SearchService {
    fn checks(self: Arc<Self>) -> Vec<HealthCheck> {
        vec![HealthCheck::new("index", &self, Self::check_index)]
    }
}

impl SearchService {
    fn check_index(&self) -> Finding {
        if let Some(reason) = self.index.degraded() {
            return warn(reason, "brain status");
        }
        let Some(index) = self.index.get() else { return fail("not open", "brain stop") };
        let count = || -> Result<(u64, u64), Fault> {
            Ok((index.doc_count(), self.store.read(Visibility::All)?.counts()?.active))
        };
        let (mut docs, mut pages) = count()?;
        // A write between the two counts is no finding.
        for _ in 0..5 {
            if docs == pages {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
            (docs, pages) = count()?;
        }
        if docs != pages {
            return warn(
                format!("the index has {docs} pages, the store {pages}"),
                format!("brain stop && rm -r {}", quoted(self.index.dir())),
            );
        }
        let rebuilt = self
            .index
            .rebuilt()
            .map_or_else(String::new, |why| format!("; rebuilt at this start: {why}"));
        ok(format!("{docs} pages, {} not yet on disk{rebuilt}", index.uncommitted_count()))
    }
}
