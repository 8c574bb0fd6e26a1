//! Lists ingest jobs, and retries failed ones.

use brain_protocol::{
    Command, Fault, FaultCode, IngestJob, JobError, JobId, JobList, JobRetry, JobRetryReply,
    JobShow, JobState, Jobs, Operation as _, hint,
};

use crate::IngestService;
use brain_base::caller::Caller;
use brain_base::clock::rfc3339;
use brain_base::permission::permit;
use brain_page::hex;
use brain_service::NumberCipher;
use brain_store::{JobRecord, StoreError, Transaction};

/// The maximum number of jobs in one reply.
const MAX_LISTED: u32 = 1000;
/// Maximum number of jobs that one transaction retries, so that other writers do not wait long.
const RETRY_BATCH: usize = 200;

impl IngestService {
    /// Lists ingest jobs, newest first.
    pub fn job_list(&self, request: &JobList) -> Result<Jobs, Fault> {
        let reader = self.store.read_queue()?;
        let limit = request.limit.clamp(1, MAX_LISTED) as usize;
        let below = request.after.map_or(u64::MAX, |id| id.0);
        let is_match =
            |id, stored| request.state.is_none_or(|state| state == self.state_now(id, stored));
        let mut jobs = Vec::new();
        let mut next = None;
        reader.newest_jobs(below, is_match, |id, record| {
            if jobs.len() == limit {
                next = jobs.last().map(|job: &IngestJob| job.job_id);
                return Ok(false);
            }
            jobs.push(self.job_reply(id, record));
            Ok(true)
        })?;
        Ok(Jobs { jobs, counts: reader.job_counts()?, next })
    }

    /// Shows a job to the client that sent it, and to callers that may list jobs. For all others,
    /// the job does not exist. A restricted caller must give the encrypted number.
    pub fn job_show(&self, caller: &Caller, request: &JobShow) -> Result<IngestJob, Fault> {
        let number = self.job_number(request.id);
        if !caller.sees_all() && number == request.id.0 {
            return Err(unknown_job(request.id));
        }
        let record = match self.store.read_queue()?.job(number)? {
            Some(record) => Some(record),
            None => self.store.job_for_log(number)?,
        };
        let is_visible = |record: &JobRecord| {
            permit(caller, JobList::INFO).is_ok()
                || (record.client == caller.name && caller.may_use(&record.source))
        };
        match record.filter(is_visible) {
            Some(record) => {
                let job_id = self.job_id(caller, number);
                Ok(IngestJob { job_id, ..self.job_reply(number, record) })
            }
            None => Err(unknown_job(request.id)),
        }
    }

    /// Returns the number of a job, from an encrypted or a plain id.
    pub fn job_number(&self, id: JobId) -> u64 {
        NumberCipher::of(self.store.number_key()).decrypt(id.0).unwrap_or(id.0)
    }

    /// Returns the id of a job for `caller`: encrypted if the caller is restricted.
    fn job_id(&self, caller: &Caller, number: u64) -> JobId {
        JobId(if caller.sees_all() {
            number
        } else {
            NumberCipher::of(self.store.number_key()).encrypt(number)
        })
    }

    /// Queues failed jobs again.
    pub fn job_retry(&self, request: &JobRetry) -> Result<JobRetryReply, Fault> {
        let reader = self.store.read_queue()?;
        let ids = match request.id {
            Some(id) => {
                let number = self.job_number(id);
                let state = reader.job(number)?.ok_or_else(|| unknown_job(id))?.state;
                if state != JobState::Failed {
                    let state = self.state_now(number, state).as_str();
                    return Err(Fault::new(
                        FaultCode::Conflict,
                        format!("{id} has not failed: it is {state}"),
                    )
                    .hint(hint!("list failed jobs: {}", Command::JobsListFailed)));
                }
                vec![number]
            }
            None => reader.failed_jobs()?,
        };
        drop(reader);
        let mut retried = 0;
        for batch in ids.chunks(RETRY_BATCH) {
            let (batch, now) = (batch.to_vec(), self.clock.now());
            let (count, waiting) =
                self.store.write(move |transaction| retry(transaction, &batch, now))?;
            self.queue.set_waiting(waiting);
            retried += count;
        }
        Ok(JobRetryReply { retried })
    }

    /// Returns the state of a job with this stored state. `processing` is not stored: it comes from
    /// memory.
    fn state_now(&self, id: u64, stored: JobState) -> JobState {
        match stored {
            JobState::Queued | JobState::Retrying if self.queue.is_in_progress(id) => {
                JobState::Processing
            }
            state => state,
        }
    }

    fn job_reply(&self, id: u64, record: JobRecord) -> IngestJob {
        let status = self.state_now(id, record.state);
        IngestJob {
            job_id: JobId(id),
            status,
            content_hash: hex(&record.content_hash),
            source_id: record.source.into(),
            client: record.client,
            content_type: record.content_type,
            bytes: record.bytes,
            received_at: rfc3339(record.received_at),
            finished_at: record.finished_at.map(rfc3339),
            attempts: record.attempts,
            retry_at: (status == JobState::Retrying).then(|| rfc3339(record.due_at)),
            slug: record.slug.map(String::from),
            error: record.error.map(|(code, message)| JobError { code, message }),
        }
    }
}

/// Queues those of these jobs again that have failed; runs in the writer. Returns their number, and
/// the number of waiting jobs.
fn retry(
    transaction: &mut Transaction<'_>,
    ids: &[u64],
    now: i64,
) -> Result<(u64, u64), StoreError> {
    let mut count = 0;
    for &id in ids {
        let Some(failed) = transaction.job(id)?.filter(|job| job.state == JobState::Failed) else {
            continue;
        };
        let queued = JobRecord {
            state: JobState::Queued,
            finished_at: None,
            attempts: 0,
            due_at: now,
            ..failed.clone()
        };
        transaction.change_job(id, &failed, &queued)?;
        count += 1;
    }
    Ok((count, transaction.waiting_jobs()))
}

fn unknown_job(id: JobId) -> Fault {
    Fault::new(FaultCode::UnknownJob, format!("there is no job {id}"))
        .hint("jobs are kept for 24 hours after they became pages, and 7 days after they failed")
}
