//! A replay ingests the original bytes of an item again, in the name of the original sender.

use brain_core::ingest::{IngestItem, IngestReceipt};
use brain_page::MediaType;
use brain_protocol::{
    Fault, FaultCode, JobId, JobState, PageRef, Reply, Request, Slug, TunnelReplay,
    TunnelReplayReply,
};

use crate::ingest_fixture::{Fixture, text};

const ITEM_TEXT: &str = "---\nmood: odd\nprotected: true\ntitle: A title\n---\n\npoison";

fn replay(fixture: &Fixture, receipt: &IngestReceipt) -> Result<TunnelReplayReply, Fault> {
    match fixture.ask(Request::TunnelReplay(TunnelReplay { job_id: receipt.job_id }))? {
        Reply::TunnelReplay(replayed) => Ok(replayed),
        other => panic!("{other:?}"),
    }
}

fn delete_page(fixture: &Fixture, slug: &str) {
    fixture
        .ask(Request::Delete(PageRef { source: None, slug: Slug::parse(slug).unwrap() }.into()))
        .unwrap();
}

#[test]
fn a_failed_item_is_replayed_as_it_was_sent() {
    let fixture = Fixture::new();
    let item = || IngestItem { media_type: MediaType::Markdown.into(), ..text(ITEM_TEXT) };
    let occupying_slugs = fixture.occupy_every_slug_of("poison");
    let receipt = fixture.send(item()).unwrap();
    while fixture.show(&receipt).status != JobState::Failed {
        fixture.process_queue();
        fixture.clock.advance(2000);
    }
    delete_page(&fixture, &occupying_slugs[0]);
    fixture.clock.advance(4 * 24 * 60 * 60 * 1000);
    fixture.brain().pages.purge_due().unwrap();
    let replayed = replay(&fixture, &receipt).unwrap();
    assert_eq!(replayed.status.as_str(), "queued");
    fixture.process_queue();
    let new_receipt = IngestReceipt { job_id: replayed.new_job_id, ..receipt.clone() };
    let (first, job) = (fixture.show(&receipt), fixture.show(&new_receipt));
    assert_eq!(
        (job.status, &job.client, &job.content_type, job.bytes, &job.source_id),
        (JobState::Stored, &first.client, &first.content_type, first.bytes, &first.source_id)
    );
    let page = fixture.page(job.slug.as_deref().unwrap());
    assert_eq!((page.body.as_str(), page.title.as_str()), ("poison", "A title"));
    // The result equals that of a new item: inactive keys are not wrapped twice.
    delete_page(&fixture, job.slug.as_deref().unwrap());
    let direct = fixture.send(item()).unwrap();
    fixture.process_queue();
    let direct = fixture.page(fixture.show(&direct).slug.as_deref().unwrap());
    let lines = |page: &str| -> Vec<String> {
        page.lines().filter(|line| !line.contains(":job_")).map(str::to_owned).collect()
    };
    assert_eq!(lines(&page.frontmatter), lines(&direct.frontmatter));
    assert_eq!(page.frontmatter.matches("received").count(), 1, "{}", page.frontmatter);
}

#[test]
fn a_replay_of_an_unknown_job_is_refused_with_a_hint() {
    let fixture = Fixture::new();
    let receipt = fixture.send(text("a thought")).unwrap();
    let unknown = IngestReceipt { job_id: JobId(999), ..receipt };
    let fault = replay(&fixture, &unknown).unwrap_err();
    assert_eq!((fault.code, fault.hint.is_some()), (FaultCode::UnknownJob, true));
}
