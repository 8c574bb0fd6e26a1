//! The status of the daemon.

use brain_base::permission::permit;
use brain_protocol::{Command, Doctor, Fault, Operation, StatusReply, VERSION};

use crate::Brain;
use brain_base::caller::Caller;

impl Brain {
    pub(crate) fn status(&self, caller: &Caller) -> Result<StatusReply, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let counts = reader.counts()?;
        let jobs = reader.job_counts()?;
        drop(reader);
        let mut degraded: Vec<String> = self.files.read_only_notice().into_iter().collect();
        degraded.extend(
            self.env
                .home
                .has_moved()
                .then(|| brain_service::moved_home::moved_home_message(&self.env.home)),
        );
        let replaced = brain_service::moved_home::replaced_store(&self.env.home, &self.store);
        degraded.extend(replaced.map(|(message, _)| message));
        degraded.extend(self.changed_config_notice());
        degraded.extend(self.index.degraded());
        degraded.extend(self.machines.degraded());
        degraded.extend(self.access.http_addresses().missing);
        degraded.extend(
            self.files.failing_files().map(|(why, _)| format!("a file is not written: {why}")),
        );
        let mut workers = self.workers.list();
        let failing = workers.iter().filter_map(|it| Some((&it.name, it.failure.as_ref()?)));
        degraded.extend(failing.map(|(name, failure)| {
            format!("the worker \"{name}\" failed at {}; see {}", failure.at, Command::Doctor)
        }));
        if permit(caller, Doctor::INFO).is_err() {
            // The message of a panic can contain text of a page, or a path.
            let failures = workers.iter_mut().filter_map(|worker| worker.failure.as_mut());
            failures.for_each(|failure| failure.message.clear());
        }
        Ok(StatusReply {
            version: VERSION.into(),
            pid: std::process::id(),
            home: self.env.home.root().display().to_string(),
            socket: self.env.config.socket(&self.env.home).display().to_string(),
            uptime_seconds: self.process.started.elapsed().as_secs(),
            schema: counts.schema as u32,
            pages: counts.active,
            deleted: counts.deleted,
            sources: counts.sources,
            store_bytes: std::fs::metadata(self.store.path()).map_or(0, |m| m.len()),
            index_behind: self.index.uncommitted_count(),
            outbox: self.files.waiting_files(counts.outbox),
            degraded,
            http_local: self.access.http_addresses().local.map(|a| a.to_string()),
            http_public: self.access.http_addresses().public.map(|a| a.to_string()),
            jobs,
            workers,
            machines: self.machines.summary(permit(caller, Doctor::INFO).is_ok()),
        })
    }

    /// Returns a notice if the configuration file is not the one that this daemon read.
    pub(crate) fn changed_config_notice(&self) -> Option<String> {
        let config = &self.env.config;
        config.has_changed_file().then(|| {
            let path = config.file().display();
            format!("{path} has changed since the daemon started; to use it: {}", Command::Restart)
        })
    }
}
