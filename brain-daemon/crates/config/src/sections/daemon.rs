//! `[daemon]`, `[store]`, `[pages]`, `[sources]`, `[import]`, `[backup]`, `[machines]` and
//! `[history]`.

use std::path::PathBuf;
use std::time::Duration;

use brain_base::home::Home;

use crate::rules::{
    age_of_versions, boolean, day_pattern, limit, number, optional, path, processors, retention,
    span, text, texts, user_ids, word,
};
use crate::values::{HomePath, Processor, Retention};

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// Errors.
    Error,
    /// Errors and warnings.
    Warn,
    /// Errors, warnings and events.
    Info,
    /// Everything.
    Debug,
}

section! {
    /// The daemon and its control socket.
    DaemonConfig [daemon]

    socket: String = text(), "",
        "path of the control socket; empty: run/brain.sock in the home";
    connections: usize = number(1, 10_000), "256",
        "maximum number of clients served at once; further ones wait";
    log: LogLevel = word(&[
            ("error", LogLevel::Error),
            ("warn", LogLevel::Warn),
            ("info", LogLevel::Info),
            ("debug", LogLevel::Debug),
        ]), "info",
        "how much is logged to standard error";
    allow_uids: Vec<u32> = user_ids(), "",
        "user ids that can read and write pages through a socket of systemd";
    allow_group: Option<String> = optional(), "",
        "group, by name or number, whose members can read and write pages through a socket of \
         systemd; it must be the SocketGroup= of that socket";
}

section! {
    /// The store.
    StoreConfig [store]

    cache_mb: usize = number(1, 100_000), "4",
        "memory for the store's cache, in MB";
    min_free_mb: u64 = number(1, 1_000_000), "32",
        "free disk space in MB below which writes are refused, so that reads still work";
    dedup_entries: usize = number(1, 1_000_000), "5000",
        "captures remembered for the duplicate check of 24 hours";
}

section! {
    /// Pages.
    PagesConfig [pages]

    daily: String = day_pattern(), "daily/%Y-%m-%d",
        "slug of the daily note; %Y is the year, %m the month, %d the day, %V the week";
    max_attachment_mb: usize = number(1, 16), "16",
        "maximum size of a file that is attached to a page, in MB";
}

section! {
    /// Directories and git repositories with pages.
    SourcesConfig [sources]

    watch: bool = boolean(), "false",
        "whether the daemon watches the directories of sources and synchronises changed files";
    git_approved: Vec<String> = texts(), "[]",
        "fingerprints of git configurations that can run programs when a source is pulled";
    include: Vec<String> = texts(), "[]",
        "patterns of the files that sync and import read, as in .gitignore; \"NAME:PATTERN\" for \
         one source; empty: all";
    exclude: Vec<String> = texts(), "[]",
        "patterns of files and directories that sync and import leave out";
}

section! {
    /// Import of documents.
    ImportConfig [import]

    processors: Vec<Processor> = processors(), "[]",
        "programs that convert documents in an imported directory: \"EXTENSION: PROGRAM\"; they \
         run with the rights of the daemon";
}

section! {
    /// What is kept of the past.
    HistoryConfig [history]

    keep: Option<Duration> = age_of_versions(), "forever",
        "how long every former version is kept: forever, or a number with d or y; of older ones \
         brain keeps the last one of each day for 31 days more, of each month for a year, and of \
         each year";
    seen: Retention = retention(), "90d",
        "how long it is recorded what AI clients were given: a time such as 90d, forever, or off";
    left: Retention = retention(), "365d",
        "how long requests to other hosts are recorded: a time such as 365d, forever, or off";
}

section! {
    /// A brain on several machines.
    MachinesConfig [machines]

    max_token_age: Duration = span(1, 365 * 24 * 60 * 60), "10s",
        "time without an answer of the server after which tokens from other machines are refused, \
         because a revocation may not have arrived: a number with s, m, h or d";
}

section! {
    /// Scheduled backups, and the kept copy of the store.
    BackupConfig [backup]

    dir: Option<HomePath> = path(), "",
        "directory of scheduled backups: absolute, below ~/, or in brain's home; empty: no backups";
    every: Duration = span(60, 365 * 24 * 60 * 60), "24h",
        "time between two backups: a number with s, m, h or d";
    keep: usize = number(1, 1000), "7",
        "number of backups to keep; older ones of this store are removed";
    kept_every: Duration = span(1, 30 * 24 * 60 * 60), "10m",
        "minimum age of the store's copy in kept/ before a changed store is copied again";
    kept_max_mb: Option<u64> = limit(1_000_000), "1000",
        "size of the store in MB above which no copy is kept in kept/; 0: no copy";
}

impl BackupConfig {
    /// Returns the directory of scheduled backups; `None` if there are none.
    #[must_use]
    pub fn directory(&self, home: &Home) -> Option<PathBuf> {
        Some(self.dir.as_ref()?.resolve(home))
    }

    /// Returns the time between two backups, in milliseconds.
    #[must_use]
    pub fn every_ms(&self) -> i64 {
        i64::try_from(self.every.as_millis()).unwrap_or(i64::MAX)
    }

    /// Returns the minimum age of the kept copy before it is replaced, in milliseconds.
    #[must_use]
    pub fn kept_every_ms(&self) -> i64 {
        i64::try_from(self.kept_every.as_millis()).unwrap_or(i64::MAX)
    }
}
