//! `brain jobs`: lists, shows and retries ingest jobs. A job makes a page of an item that was
//! received over HTTP.

use brain_protocol::{
    Fault, IngestJob, JobId, JobList, JobRetry, JobRetryReply, JobShow, JobState, Jobs as JobsReply,
};
use clap::{Args, ValueEnum};

use super::access::check_flags;
use crate::{
    command::{Group, Verb},
    context::Context,
    fail,
    output::{
        Column, Outcome, Paint, Show, Table, Text, count, format_bytes, format_to_minute, page_name,
    },
};

/// Arguments of `jobs`.
#[derive(Debug, Args)]
pub(crate) struct JobsCommand {
    /// What to do with the jobs
    #[arg(value_enum, value_name = "ACTION", default_value_t = JobsAction::List)]
    action: JobsAction,

    /// Id of the job (show, retry)
    #[arg(value_name = "JOB", value_parser = JobId::parse, required_if_eq("action", "show"))]
    job: Option<JobId>,

    /// Only jobs in this state (list)
    #[arg(long, value_enum, value_name = "STATE")]
    state: Option<StateFilter>,

    /// Number of jobs, 1 to 1000 [default: 50] (list)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: Option<u32>,

    /// Continue after this cursor, the value of `next` in the previous JSON reply (list)
    #[arg(long, value_name = "NEXT", value_parser = JobId::parse)]
    after: Option<JobId>,

    /// Retry all failed jobs (retry)
    #[arg(long)]
    all: bool,
}

/// The actions of `jobs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum JobsAction {
    /// List jobs
    List,
    /// Show one job
    Show,
    /// Retry failed jobs
    Retry,
}

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StateFilter {
    /// In the queue
    Queued,
    /// Being processed
    Processing,
    /// Failed; will be retried automatically
    Retrying,
    /// Stored as a page
    Stored,
    /// Failed permanently
    Failed,
}

impl From<StateFilter> for JobState {
    fn from(state: StateFilter) -> Self {
        match state {
            StateFilter::Queued => Self::Queued,
            StateFilter::Processing => Self::Processing,
            StateFilter::Retrying => Self::Retrying,
            StateFilter::Stored => Self::Stored,
            StateFilter::Failed => Self::Failed,
        }
    }
}

impl Verb for JobsCommand {
    const NAME: &'static str = "jobs";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "List and retry items received over HTTP";
    const EXAMPLES: &'static str = "Examples:
  brain jobs list --state failed
  brain jobs retry --all";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        use JobsAction::{List, Retry};
        check_flags(
            Self::NAME,
            &self.action,
            &[
                ("a job's id", self.job.is_some(), &[JobsAction::Show, Retry]),
                ("--state", self.state.is_some(), &[List]),
                ("--limit", self.limit.is_some(), &[List]),
                ("--after", self.after.is_some(), &[List]),
                ("--all", self.all, &[Retry]),
            ],
        )?;
        match (self.action, self.job) {
            (List, _) => context.run(JobList {
                state: self.state.map(JobState::from),
                limit: self.limit.unwrap_or(50),
                after: self.after,
            }),
            (JobsAction::Show, Some(id)) => context.run(JobShow { id }),
            (Retry, Some(_)) if self.all => {
                Err(fail::usage("a job and --all cannot be combined").hint("give one of them"))
            }
            (Retry, Some(id)) => context.run(JobRetry { id: Some(id) }),
            (Retry, None) if self.all => context.run(JobRetry { id: None }),
            (JobsAction::Show | Retry, None) => Err(fail::usage("no job is named").hint(
                "retry one: brain jobs retry job_17; retry all failed ones: brain jobs retry --all",
            )),
        }
    }
}

const COLUMNS: &[Column] = &[
    Column::fixed("JOB").with_paint(Paint::cyan),
    Column::fixed("STATE"),
    Column::fixed("RECEIVED").droppable(1),
    Column::flexible("CLIENT", 10).droppable(2),
    Column::flexible("PAGE OR ERROR", 16),
];

/// Returns the name of a job's page as commands accept it, or `None` if the job has no page.
fn page_of(job: &IngestJob) -> Option<String> {
    job.slug.as_ref().map(|slug| page_name(&job.source_id, slug))
}

impl Show for JobsReply {
    fn text(&self, t: &mut Text) {
        let mut table = Table::new(COLUMNS);
        for job in &self.jobs {
            let outcome = match (page_of(job), &job.error) {
                (Some(page), _) => page,
                (None, Some(error)) => error.message.clone(),
                (None, None) => String::new(),
            };
            let received = format_to_minute(&job.received_at);
            table.row([
                &job.job_id.to_string(),
                job.status.as_str(),
                &received,
                &job.client,
                &outcome,
            ]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for job in &self.jobs {
            t.line(&job.job_id.to_string());
        }
    }

    fn notes(&self) -> Vec<String> {
        let counts = &self.counts;
        let mut notes = vec![format!(
            "{} in the queue, {} failed, {} stored in the last day",
            counts.waiting, counts.failed, counts.stored
        )];
        if counts.failed > 0 {
            notes.push("after fixing the cause: brain jobs retry --all".into());
        }
        if let Some(next) = &self.next {
            notes.push(format!("more jobs exist: use --after {next}"));
        }
        notes
    }
}

impl Show for IngestJob {
    fn text(&self, t: &mut Text) {
        t.line(&format!("{} {}", self.job_id, self.status.as_str()));
        t.field("from", &self.client);
        t.field("source", &self.source_id);
        t.field("content", &format!("{}, {}", self.content_type, format_bytes(self.bytes)));
        t.field("received", &format_to_minute(&self.received_at));
        if let Some(page) = page_of(self) {
            t.field("page", &page);
        }
        if let Some(at) = &self.finished_at {
            t.field("finished", &format_to_minute(at));
        }
        if self.attempts > 1 || self.error.is_some() {
            t.field("tried", &count(self.attempts.into(), "time"));
        }
        if let Some(at) = &self.retry_at {
            t.field("next try", &format_to_minute(at));
        }
        if let Some(error) = &self.error {
            t.field("error", &format!("{} ({})", error.message, error.code));
        }
    }

    fn quiet(&self, t: &mut Text) {
        t.line(page_of(self).as_deref().unwrap_or(self.status.as_str()));
    }

    fn notes(&self) -> Vec<String> {
        match self.status {
            JobState::Failed => vec![format!("retry it: brain jobs retry {}", self.job_id)],
            _ => Vec::new(),
        }
    }
}

impl Show for JobRetryReply {
    fn text(&self, t: &mut Text) {
        t.line(&match self.retried {
            0 => "no failed jobs".to_owned(),
            n => format!("retrying {}", count(n, "job")),
        });
    }

    fn quiet(&self, _: &mut Text) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use brain_protocol::{JobCounts, JobError};

    fn job(status: JobState) -> IngestJob {
        let failed = status == JobState::Failed;
        IngestJob {
            job_id: JobId(1_234_567),
            status,
            content_hash: "ab".repeat(32),
            source_id: "default".into(),
            client: format!("brain_cl_{}", "x".repeat(43)),
            content_type: "text/html".into(),
            bytes: 70_000,
            received_at: "2026-11-21T10:30:00.000Z".into(),
            finished_at: None,
            attempts: 3,
            retry_at: None,
            slug: (!failed).then(|| "inbox/2026-11-21-abababab".into()),
            error: failed
                .then(|| JobError { code: "disk_full".into(), message: "the disk is full".into() }),
        }
    }

    #[test]
    fn the_list_fits_60_columns_and_notes_have_commands() {
        let reply = JobsReply {
            jobs: JobState::ALL.map(job).to_vec(),
            counts: JobCounts { waiting: 3, failed: 1, stored: 1 },
            next: Some(JobId(7)),
        };
        let mut t = Text::plain(Some(60));
        reply.text(&mut t);
        assert!(t.as_str().lines().all(|line| line.chars().count() <= 60), "{}", t.as_str());
        assert!(
            t.as_str().contains("job_1234567") && t.as_str().contains("the disk is full"),
            "{}",
            t.as_str()
        );
        assert!(reply.notes().iter().any(|note| note.contains("--after job_7")));
        assert!(reply.notes().iter().any(|note| note.contains("brain jobs retry --all")));
        let mut quiet = Text::plain(None);
        job(JobState::Stored).quiet(&mut quiet);
        assert_eq!(quiet.as_str(), "inbox/2026-11-21-abababab\n");
    }

    #[test]
    fn the_states_equal_those_of_the_protocol() {
        for state in StateFilter::value_variants() {
            let name = state.to_possible_value().map(|value| value.get_name().to_owned());
            assert_eq!(name.as_deref(), Some(JobState::from(*state).as_str()));
        }
        assert_eq!(StateFilter::value_variants().len(), JobState::ALL.len());
    }
}
