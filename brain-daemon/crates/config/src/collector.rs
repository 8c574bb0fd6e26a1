//! What the collector is told: its settings, when it runs, what is switched on.

use std::path::PathBuf;

use brain_protocol::Fault;

use super::kinds::span;
use super::{Config, invalid};
use brain_base::home::Home;
use brain_base::schedule::{self, ScheduledTask};

/// Which of the collector's further patterns are switched on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)]
pub struct Switches {
    /// The persistent connection.
    pub stream: bool,
    /// Own posts are watched for their first 60 seconds.
    pub outbound: bool,
    /// Posts are rated.
    pub ratings: bool,
    /// Text in pictures is read.
    pub images: bool,
    /// Web pages that posts name are taken in.
    pub articles: bool,
    /// Videos that posts name are noted.
    pub videos: bool,
}

impl Config {
    /// No two of the daemon's jobs begin in one minute, and a backup finds one.
    pub(super) fn check_jobs(&self) -> Result<(), Fault> {
        // Checked even while it is off.
        self.collector_job()?;
        let jobs = self.planned_jobs()?;
        if let Some((one, other, minute)) = schedule::find_conflict(&jobs) {
            let (hour, minute) = (minute / 60, minute % 60);
            let what = format!(
                "{one} and {other} would both begin at {hour:02}:{minute:02}; one minute is for one job"
            );
            return Err(
                invalid(what).hint(format!("change one of {one}.at, {one}.every and {other}_at"))
            );
        }
        if schedule::is_full(&jobs) && !self.text("backup", "dir").trim().is_empty() {
            let what =
                "collector begins in every minute, and leaves none in which backup could begin";
            return Err(invalid(what.into()).hint("let collector.every be 2m or more"));
        }
        Ok(())
    }

    /// What needs another switch has it.
    pub(super) fn check_switches(&self) -> Result<(), Fault> {
        let on = self.collector_switches();
        if !on.outbound || on.stream {
            return Ok(());
        }
        Err(invalid("collector.outbound needs collector.stream, which is off".into())
            .hint("set collector.stream = true, or take collector.outbound away"))
    }

    /// The jobs that begin at fixed minutes.
    ///
    /// # Errors
    /// As [`Config::collector_job`].
    pub fn planned_jobs(&self) -> Result<Vec<ScheduledTask>, Fault> {
        let mut jobs = Vec::new();
        if self.collector_enabled() {
            jobs.push(self.collector_job()?);
        }
        jobs.extend(self.ratings_job()?);
        Ok(jobs)
    }

    /// Whether the collector runs by itself.
    #[must_use]
    pub fn collector_enabled(&self) -> bool {
        self.is_true("collector", "enabled")
    }

    /// When the collector runs.
    ///
    /// # Errors
    /// `invalid_config`; not after [`Config::load`] has passed.
    pub fn collector_job(&self) -> Result<ScheduledTask, Fault> {
        let every = span(self.text("collector", "every")).unwrap_or_default();
        ScheduledTask::new("collector", every, self.number("collector", "at") as u32)
    }

    /// When posts are rated again; `None` when they are not.
    ///
    /// # Errors
    /// As [`Config::collector_job`].
    pub fn ratings_job(&self) -> Result<Option<ScheduledTask>, Fault> {
        let at = self.number("collector", "ratings_at") as u32;
        self.is_true("collector", "ratings")
            .then(|| ScheduledTask::new("collector.ratings", 30 * 60, at))
            .transpose()
    }

    /// The file with the platform's bearer token; `None` when it is at its usual place.
    #[must_use]
    pub fn platform_token_file(&self, home: &Home) -> Option<PathBuf> {
        self.path("collector", "token_file", home)
    }

    /// Which of the collector's switches are on.
    #[must_use]
    pub fn collector_switches(&self) -> Switches {
        let on = |name| self.is_true("collector", name);
        Switches {
            stream: on("stream"),
            outbound: on("outbound"),
            ratings: on("ratings"),
            images: on("images"),
            articles: on("articles"),
            videos: on("videos"),
        }
    }

    /// From how many followers, and posts within a week, on somebody without a page gets one.
    #[must_use]
    pub fn notability(&self) -> (u64, u64) {
        (self.number("collector", "notable_followers"), self.number("collector", "notable_posts"))
    }
}
