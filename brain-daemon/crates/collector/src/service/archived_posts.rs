//! Adds posts of the account's own archive to the collector's files.
//!
//! They are no events: the journal does not list them, so that a digest is about new posts, and no
//! analysis pays for old ones. The state does not change, because a run reads the newest pages
//! whatever is stored: it needs them to notice deletions. A run finds these posts there.

use std::path::PathBuf;

use brain_base::clock::rfc3339;
use brain_base::leases;
use brain_protocol::{Fault, FaultCode, ImportedPosts};
use brain_sync::sync::PostKeeper;
use serde_json::{Value, json};

use super::data_fault;
use crate::service::CollectorService;
use crate::{
    ARCHIVED, AUTHOR, COLLECTED_AT, Data, LAST_UPDATED, Record, RunSettings, State, Stream,
};

impl CollectorService {
    /// Returns the settings with the account, if it is known.
    fn settings_with_account(&self) -> Result<RunSettings, Fault> {
        let settings = self.collector_settings();
        let (state, _) = State::peek(&Data::new(&settings.dir)).map_err(|f| data_fault(&f))?;
        Ok(Self::with_account(settings, &state))
    }
}

impl PostKeeper for CollectorService {
    fn directory(&self, account: &str) -> Result<Option<PathBuf>, Fault> {
        let settings = self.settings_with_account()?;
        let Some(own) = &settings.user_id else { return Ok(None) };
        let refused = |message: String| Err(Fault::new(FaultCode::Usage, message));
        if account.is_empty() {
            return refused("the archive does not name its account in data/account.js".to_owned());
        }
        if own.as_str() != account {
            return refused(format!("it is of the account {own}, and the archive of {account}"));
        }
        if self.env.leases.is_elsewhere(leases::COLLECTOR) {
            return refused("another machine runs it; import the archive there, too".to_owned());
        }
        Ok(Some(settings.dir))
    }

    fn add_posts(&self, posts: Vec<Value>, dry_run: bool) -> Result<ImportedPosts, Fault> {
        let settings = self.settings_with_account()?;
        let now = json!(rfc3339(self.env.clock.now()));
        let record = |post: Value| {
            let mut post = Record::new(post)?;
            let fields = post.fields_mut();
            fields.retain(|name, _| !name.starts_with('_'));
            if let Some(handle) = &settings.handle {
                fields.insert(AUTHOR.to_owned(), json!({"username": handle}));
            }
            fields.insert(ARCHIVED.to_owned(), json!(true));
            fields.insert(COLLECTED_AT.to_owned(), now.clone());
            fields.insert(LAST_UPDATED.to_owned(), now.clone());
            Some(post)
        };
        let posts: Vec<Record> = posts.into_iter().filter_map(record).collect();
        let data = Data::new(&settings.dir);
        if !dry_run {
            data.prepare().map_err(|fault| data_fault(&fault))?;
        }
        let [added, present, deleted] =
            data.add_posts(Stream::Own, &posts, dry_run).map_err(|fault| data_fault(&fault))?;
        let directory = settings.dir.display().to_string();
        Ok(ImportedPosts { directory, added, present, deleted })
    }
}
