//! Jobs: failures, retention, lists, and which callers see a job.

use brain_base::caller::Scope;
use brain_base::clock::{Clock, rfc3339};
use brain_core::ingest::{IngestItem, JobKind};
use brain_protocol::{FaultCode, JobList, JobRetry, JobState, PageRef, Request, Slug};
use brain_tests::expect_reply;

use crate::ingest_fixture::{Fixture, code, granted, phone, text};
use crate::mock_clock::HOUR;

#[test]
fn stored_jobs_are_removed_after_their_retention() {
    let fixture = Fixture::new();
    let first = fixture.send(text("first")).unwrap();
    fixture.process_queue();
    // Stored jobs are kept for 10 minutes longer than the 24 hours of the duplicate check.
    fixture.clock.advance(24 * HOUR + 10 * 60_000 - 1);
    assert_eq!(
        (fixture.brain().ingest.remove_expired_jobs().unwrap(), fixture.counts()),
        (0, (0, 0, 1))
    );
    let second = fixture.send(text("first")).unwrap();
    fixture.clock.advance(1);
    assert_eq!(
        (fixture.brain().ingest.remove_expired_jobs().unwrap(), fixture.counts()),
        (1, (1, 0, 0))
    );
    assert_eq!(fixture.show_as(&phone(), &first).unwrap_err(), FaultCode::UnknownJob);
    // The content now leads to the second job.
    assert_eq!(fixture.send(text("first")).unwrap().job_id, second.job_id);
}

#[test]
fn failing_items_are_tried_three_times() {
    let mut fixture = Fixture::new();
    let in_the_way = fixture.occupy_every_slug_of("poison");
    let before = fixture.send(text("before")).unwrap();
    let poison = fixture.send(text("poison")).unwrap();
    // This item fails before it reaches the writer.
    let long = fixture
        .send(IngestItem { title: Some("t".repeat(70_000)), ..text("a title without end") })
        .unwrap();
    let after = fixture.send(text("after")).unwrap();
    assert_eq!((fixture.process_queue(), fixture.process_queue()), (4, 0));
    for good in [&before, &after] {
        assert_eq!(fixture.show(good).status, JobState::Stored);
    }
    let job = fixture.show(&poison);
    assert_eq!((job.status, job.attempts, job.slug), (JobState::Retrying, 1, None));
    assert_eq!(job.retry_at.as_deref(), Some("2026-11-21T12:00:01.000Z"));
    assert_eq!(job.error.unwrap().code, "conflict");
    assert_eq!(fixture.show(&long).error.unwrap().code, "too_large");
    assert_eq!(fixture.counts(), (2, 0, 2));
    // Until the final failure, the same content is a duplicate.
    assert_eq!(fixture.send(text("poison")).unwrap().status.as_str(), "duplicate");
    fixture.clock.advance(999);
    assert_eq!(fixture.process_queue(), 0, "no retry within a second");
    assert_eq!(fixture.brain().ingest.ms_until_due(JobKind::Text).unwrap(), Some(1));
    fixture.clock.advance(1);
    assert_eq!(fixture.process_queue(), 2);
    assert_eq!(
        fixture.show(&poison).retry_at.as_deref(),
        Some("2026-11-21T12:00:03.000Z"),
        "the second delay is twice as long"
    );
    fixture.reopen();
    fixture.clock.advance(2000);
    assert_eq!(
        (fixture.process_queue(), fixture.brain().ingest.ms_until_due(JobKind::Text).unwrap()),
        (2, None)
    );
    let job = fixture.show(&poison);
    assert_eq!((job.status, job.attempts, job.retry_at), (JobState::Failed, 3, None));
    assert_eq!(job.finished_at.as_deref(), Some(rfc3339(fixture.clock.now()).as_str()));
    let (status, message) = fixture.queue_check();
    assert!(status == "warn" && message.starts_with("2 items failed"), "{status}: {message}");
    let failed: Vec<_> =
        fixture.jobs(Some(JobState::Failed)).jobs.into_iter().map(|job| job.job_id).collect();
    assert_eq!((failed, fixture.counts()), (vec![long.job_id, poison.job_id], (0, 2, 2)));
    // After the final failure, the same content is a new item.
    let anew = fixture.send(text("poison")).unwrap();
    assert_eq!(anew.status.as_str(), "queued");
    // After the page at one of the slugs is purged, both items become one page at this slug.
    fixture
        .ask(Request::Delete(
            PageRef { source: None, slug: Slug::parse(&in_the_way[2]).unwrap() }.into(),
        ))
        .unwrap();
    fixture.clock.advance(4 * 24 * HOUR);
    fixture.brain().pages.purge_due().unwrap();
    assert_eq!((fixture.retry(), fixture.process_queue()), (2, 3));
    assert_eq!(fixture.show(&poison).slug.as_deref(), Some(in_the_way[2].as_str()));
    assert_eq!(
        fixture.show(&anew).slug,
        fixture.show(&poison).slug,
        "the same content is one page"
    );
    assert_eq!(fixture.page(&in_the_way[2]).version, 1);
}

#[test]
fn failed_items_are_kept_for_seven_days() {
    let fixture = Fixture::new();
    let long = fixture
        .send(IngestItem { title: Some("t".repeat(70_000)), ..text("never a page") })
        .unwrap();
    for _ in 0..3 {
        fixture.process_queue();
        fixture.clock.advance(2000);
    }
    // The last failure was 2 seconds ago.
    fixture.clock.advance(7 * 24 * HOUR - 2001);
    assert_eq!(
        (fixture.brain().ingest.remove_expired_jobs().unwrap(), fixture.counts()),
        (0, (0, 1, 0))
    );
    fixture.clock.advance(1);
    assert_eq!(
        (fixture.brain().ingest.remove_expired_jobs().unwrap(), fixture.counts()),
        (1, (0, 0, 0))
    );
    assert_eq!(fixture.show_as(&phone(), &long).unwrap_err(), FaultCode::UnknownJob);
    assert_eq!(fixture.queue_check().0, "ok");
}

#[test]
fn jobs_are_visible_to_their_sender_and_admins() {
    let fixture = Fixture::new();
    let sent = fixture.send(text("mine")).unwrap();
    assert_eq!(fixture.show(&sent).client, "phone");
    assert_eq!(
        fixture.show_as(&granted("tablet", Scope::Write, &[]), &sent).unwrap_err(),
        FaultCode::UnknownJob
    );
    // A later grant with the same name may have fewer sources.
    let narrower = granted("phone", Scope::Write, &["work"]);
    assert_eq!(fixture.show_as(&narrower, &sent).unwrap_err(), FaultCode::UnknownJob);
    assert_eq!(
        fixture.show_as(&granted("root", Scope::Admin, &[]), &sent).unwrap().job_id,
        sent.job_id
    );
    assert_eq!(
        code(fixture.ask(Request::JobRetry(JobRetry { id: Some(sent.job_id) }))),
        FaultCode::Conflict
    );
}

#[test]
fn jobs_are_listed_newest_first_in_parts() {
    let fixture = Fixture::new();
    let sent: Vec<_> =
        (0..5).map(|n| fixture.send(text(&format!("item {n}"))).unwrap().job_id).collect();
    assert_eq!(
        fixture.brain().ingest.process_queue(2).unwrap(),
        2,
        "the oldest items are processed first"
    );
    let (mut listed_ids, mut after) = (Vec::new(), None);
    loop {
        let list = JobList { state: Some(JobState::Queued), limit: 2, after };
        let jobs = expect_reply!(fixture.ask(Request::JobList(list)), Jobs);
        listed_ids.extend(jobs.jobs.iter().map(|job| job.job_id));
        after = jobs.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(listed_ids, [sent[4], sent[3], sent[2]]);
    let stored: Vec<_> =
        fixture.jobs(Some(JobState::Stored)).jobs.iter().map(|job| job.job_id).collect();
    assert_eq!(stored, [sent[1], sent[0]]);
}
