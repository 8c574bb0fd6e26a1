//! Captures while the server of a shared brain is away: this machine keeps the text as an ingest
//! job. It becomes a page when the server answers.

use std::sync::mpsc::sync_channel;

use brain_base::caller;
use brain_page::hex;
use brain_protocol::{Fault, JobState, WriteReply, WriteStatus};
use brain_store::{JobOptions, JobRecord, StoreError};

use super::capture_input::{CaptureInput, NewCapture};
use crate::pages::PageService;
use crate::provenance::{CAPTURE_CLI, IngestRoute, VOICE};
use crate::write_page::captured_at;

/// Whether captures by this route are kept while the server is away. AI clients get the error, so
/// that they can try again.
pub(super) fn can_be_queued(route: &IngestRoute) -> bool {
    client_of(route).is_some()
}

/// Returns the client of jobs for this route. It decides the route of the later page.
fn client_of(route: &IngestRoute) -> Option<&'static str> {
    [(&CAPTURE_CLI, caller::CAPTURE), (&VOICE, caller::VOICE)]
        .into_iter()
        .find(|(queued, _)| queued.kind == route.kind)
        .map(|(_, client)| client)
}

impl PageService {
    /// Keeps a capture for later. `reason` says why the server is away.
    pub(super) fn queue_capture(
        &self,
        input: &CaptureInput,
        capture: &NewCapture,
        reason: &str,
    ) -> Result<WriteReply, Fault> {
        let NewCapture { slug, page, .. } = capture;
        let record = JobRecord {
            state: JobState::Queued,
            client: client_of(input.route).unwrap_or(caller::CAPTURE).into(),
            source: input.source.clone(),
            content_hash: input.hash,
            content_type: "text/markdown".into(),
            bytes: page.content.body.len() as u64,
            options: JobOptions {
                slug: input.slug.clone(),
                uri: Some(input.uri.clone()),
                ..JobOptions::default()
            },
            content: page.content.clone(),
            received_at: input.now,
            finished_at: None,
            attempts: 0,
            due_at: input.now,
            slug: None,
            error: None,
            duplicate_keys: Vec::new(),
        };
        let (sender, result) = sync_channel(1);
        self.store.write_then(
            move |transaction| transaction.add_job(&record),
            // The caller waits below.
            move |result| _ = sender.send(result),
        );
        result.recv().map_err(|_| StoreError::Closed)??;
        let warning = format!(
            "the server of this shared brain is away ({reason}): this machine keeps the text and \
             sends it when the server answers"
        );
        Ok(WriteReply {
            slug: slug.clone(),
            status: WriteStatus::Queued,
            duplicate: false,
            chunks: page.chunks,
            content_hash: hex(&input.hash),
            written: false,
            path: String::new(),
            source_id: input.source.clone(),
            source_kind: Some(input.route.kind.into()),
            source_uri: Some(input.uri.clone()),
            captured_at: captured_at(&page.content),
            warnings: vec![warning],
            version: 1,
        })
    }
}
