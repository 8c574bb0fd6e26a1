//! Requests that arrived through the tunnel, and replay of ingested jobs.
//!
//! Keeps the last requests in memory, without bodies, queries and headers.

use std::collections::VecDeque;
use std::sync::mpsc;

use brain_protocol::{
    Command, Fault, FaultCode, IngestStatus, JobId, JobState, TunnelReplay, TunnelReplayReply,
    TunnelRequest, TunnelRequests, TunnelRequestsReply, hint,
};
use parking_lot::{Mutex, MutexGuard};

use crate::service::TunnelService;
use brain_base::caller::Visibility;
use brain_store::{Content, JobRecord};

/// The maximum number of requests in the log.
const MAX_REQUESTS: usize = 1000;

/// The most recent requests.
#[derive(Debug, Default)]
pub(super) struct RequestLog(Mutex<VecDeque<TunnelRequest>>);

impl RequestLog {
    fn requests(&self) -> MutexGuard<'_, VecDeque<TunnelRequest>> {
        self.0.lock()
    }

    fn add(&self, request: TunnelRequest) {
        let mut requests = self.requests();
        if requests.len() == MAX_REQUESTS {
            requests.pop_front();
        }
        requests.push_back(request);
    }

    /// Returns up to `limit` requests, newest first; only those with an error status if `failed` is
    /// set.
    fn newest(&self, failed: bool, limit: usize) -> TunnelRequestsReply {
        let requests = self.requests();
        let mut matching = requests.iter().rev().filter(|request| !failed || request.status >= 400);
        let newest = matching.by_ref().take(limit).cloned().collect();
        TunnelRequestsReply { requests: newest, truncated: matching.next().is_some() }
    }
}

impl TunnelService {
    /// Records a request that arrived through the tunnel. In memory only; does not block.
    pub fn record_request(&self, request: TunnelRequest) {
        self.state.requests.add(request);
    }

    /// Lists the last requests through the tunnel.
    pub fn requests(&self, request: &TunnelRequests) -> Result<TunnelRequestsReply, Fault> {
        let limit = (request.limit as usize).clamp(1, MAX_REQUESTS);
        Ok(self.state.requests.newest(request.failed, limit))
    }

    /// Processes the item of an ingest job again.
    pub fn replay(&self, request: &TunnelReplay) -> Result<TunnelReplayReply, Fault> {
        let id = JobId(self.ingest.job_number(request.job_id));
        let job = self.store.read_queue()?.job(id.0)?.ok_or_else(|| {
            Fault::new(FaultCode::UnknownJob, format!("there is no job {id}")).hint(hint!(
                "jobs are kept for 24 hours after they became pages, and 7 days after they failed: \
                 {}",
                Command::JobsList
            ))
        })?;
        let content = self.job_content(id, &job)?;
        let source_exists = self.store.sources()?.iter().any(|(source, _)| *source == job.source);
        if !source_exists {
            let message = format!("source \"{}\" of {id} is not registered", job.source.as_str());
            return Err(Fault::new(FaultCode::UnknownSource, message).hint(hint!(
                "register it again: {}, or let the sender repeat the request",
                Command::SourcesAdd { source: Some(job.source.to_string()), path: None }
            )));
        }
        // Replays the item as it arrived: with the same client and options.
        let (sender, receiver) = mpsc::channel();
        self.ingest.ingest_again(job, content, move |result| drop(sender.send(result)));
        let accepted = receiver.recv().map_err(|_| {
            Fault::new(FaultCode::Stopping, "the daemon is stopping")
                .hint("start it again, then replay it")
        })??;
        let message = match accepted.status {
            IngestStatus::Duplicate if accepted.job_id == id => {
                "it is already queued, or its page has this content; nothing was added"
            }
            IngestStatus::Duplicate => "the same content was ingested already; nothing was added",
            IngestStatus::Queued => "it was ingested again, as if its sender had repeated it",
        };
        Ok(TunnelReplayReply {
            job_id: id,
            new_job_id: accepted.job_id,
            status: accepted.status,
            message: message.into(),
        })
    }

    /// Returns the content of a job: from the queue while it waits or after it failed, else from
    /// its page.
    fn job_content(&self, id: JobId, job: &JobRecord) -> Result<Content, Fault> {
        if job.state != JobState::Stored {
            return Ok(job.content.clone());
        }
        let reader = self.store.read(Visibility::All)?;
        let page = match &job.slug {
            Some(slug) => reader.page_even_deleted(&job.source, slug)?,
            None => None,
        };
        match page.filter(|page| page.content_hash == job.content_hash) {
            // The frontmatter of the page belongs to brain; the job has the item's own options.
            Some(page) => Ok(Content { body: reader.content(&page)?.body, ..Content::default() }),
            None => Err(Fault::new(
                FaultCode::Conflict,
                format!("{id} cannot be replayed: the page that it became was changed or deleted"),
            )
            .hint("a request is kept only until it is a page: send it again from its sender")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_log_keeps_the_last_thousand() {
        let log = RequestLog::default();
        for n in 0..1500_u64 {
            log.add(TunnelRequest {
                at: String::new(),
                method: "POST".into(),
                path: "/ingest".into(),
                status: if n % 3 == 0 { 401 } else { 202 },
                took_us: n,
                client: "-".into(),
                bytes: n,
                job_id: None,
            });
        }
        let all = log.newest(false, 1000);
        assert_eq!(
            (all.requests.len(), all.requests[0].took_us, all.truncated),
            (1000, 1499, false)
        );
        let failed = log.newest(true, 10);
        assert!(failed.truncated && failed.requests.iter().all(|request| request.status == 401));
        assert_eq!(failed.requests[0].took_us, 1497);
    }
}
