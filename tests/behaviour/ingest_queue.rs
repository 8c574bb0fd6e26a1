//! The ingest queue of a real brain, without HTTP and with a mock clock: each accepted item becomes
//! one page; duplicates, retries and failures.

mod jobs;

use brain_base::caller::Scope;
use brain_core::NoProgress;
use brain_core::ingest::{IngestItem, IngestReceipt, MAX_JOBS_PER_BATCH};
use brain_page::content_hash;
use brain_protocol::{
    Backup, FaultCode, JobId, JobShow, JobState, PageRef, Reply, Request, Slug, SourceRemove,
    Status,
};
use brain_tests::expect_reply;

use crate::ingest_fixture::{Fixture, code, granted, phone, source, text};
use crate::mock_clock::HOUR;

#[test]
fn items_are_stored_first_and_become_pages_with_provenance() {
    let mut fixture = Fixture::new();
    let sent = fixture.send(text("Milk, eggs and a new pump\nfor the boat")).unwrap();
    assert_eq!((sent.status.as_str(), sent.source_id.as_str()), ("queued", "default"));
    assert_eq!(sent.content_hash, content_hash("Milk, eggs and a new pump\nfor the boat"));
    assert_eq!((fixture.show(&sent).status, fixture.counts()), (JobState::Queued, (1, 0, 0)));
    // The item survives a restart at this moment.
    fixture.reopen();
    fixture.clock.advance(HOUR);
    assert_eq!((fixture.process_queue(), fixture.process_queue()), (1, 0));
    let slug = format!("inbox/2026-11-21-{}", &sent.content_hash[..8]);
    let job = fixture.show(&sent);
    assert_eq!(
        (job.status, job.slug.as_deref(), job.attempts),
        (JobState::Stored, Some(slug.as_str()), 1)
    );
    assert_eq!(
        (job.received_at.as_str(), fixture.counts()),
        ("2026-11-21T12:00:00.000Z", (0, 0, 1))
    );
    let page = fixture.page(&slug);
    // The page contains the job's id in encrypted form. Either form finds the job.
    let uri = page.source_uri.clone().unwrap();
    let id = JobId::parse(uri.strip_prefix("webhook:phone:").unwrap()).unwrap();
    assert_ne!(id, sent.job_id, "the id in the page does not reveal the number of jobs");
    let job = expect_reply!(fixture.ask(Request::JobShow(JobShow { id })), Job);
    assert_eq!((job.job_id, job.slug.as_deref()), (sent.job_id, Some(slug.as_str())));
    assert_eq!(
        (page.body.as_str(), page.title.as_str()),
        ("Milk, eggs and a new pump\nfor the boat", "Milk, eggs and a new pump")
    );
    assert_eq!(
        (page.source_kind.as_deref(), page.source_uri.as_deref()),
        (Some("webhook"), Some(uri.as_str()))
    );
    assert_eq!(
        (page.ingested_via.as_deref(), page.ingested_at.as_deref()),
        (Some("webhook"), Some("2026-11-21T12:00:00.000Z"))
    );
    assert!(page.frontmatter.contains("source_kind: webhook\n"), "{}", page.frontmatter);
    let file =
        std::fs::read_to_string(fixture.dir.path().join(format!("home/pages/{slug}.md"))).unwrap();
    assert!(file.ends_with("for the boat"), "{file}");
}

#[test]
fn request_fields_override_the_frontmatter() {
    let fixture = Fixture::new();
    let item = IngestItem {
        slug: Some(Slug::parse("boat/pump").unwrap()),
        title: Some(" The pump ".into()),
        page_type: Some("idea".into()),
        uri: Some("https://example.org/pump".into()),
        ..text("# Something else\n\nIt leaks.")
    };
    let sent = fixture.send(item).unwrap();
    fixture.process_queue();
    assert_eq!(fixture.show(&sent).slug.as_deref(), Some("boat/pump"));
    let page = fixture.page("boat/pump");
    assert_eq!((page.title.as_str(), page.page_type.as_str()), ("The pump", "idea"));
    assert_eq!(page.source_uri.as_deref(), Some("https://example.org/pump"));
    // Other content for a requested slug is a new version of that page.
    fixture
        .send(IngestItem {
            slug: Some(Slug::parse("boat/pump").unwrap()),
            ..text("It is repaired.")
        })
        .unwrap();
    fixture.process_queue();
    assert_eq!(
        (fixture.page("boat/pump").body.as_str(), fixture.page("boat/pump").version),
        ("It is repaired.", 2)
    );
    let odd = IngestItem { page_type: Some("Two words".into()), ..text("x") };
    assert_eq!(code(fixture.send(odd)), FaultCode::InvalidRequest);
}

#[test]
fn equal_content_is_a_duplicate_for_24_hours() {
    let fixture = Fixture::new();
    let first = fixture.send(text("one thought")).unwrap();
    let again = fixture
        .send(IngestItem { title: Some("Other options".into()), ..text("one thought\r\n") })
        .unwrap();
    assert_eq!((again.status.as_str(), again.job_id), ("duplicate", first.job_id));
    fixture.process_queue();
    fixture.clock.advance(24 * HOUR - 1);
    fixture.brain().ingest.remove_expired_jobs().unwrap();
    let late = fixture.send(text("one thought")).unwrap();
    assert_eq!((late.status.as_str(), late.job_id), ("duplicate", first.job_id));
    assert_eq!(
        fixture.show(&late).status,
        JobState::Stored,
        "the job named by a duplicate can be shown"
    );
    // The same content of another client, or for another source, is a separate item.
    fixture.add_source("work");
    let tablet = granted("tablet", Scope::Write, &[]);
    let other = fixture.send_as(&tablet, text("one thought")).unwrap();
    assert_eq!(other.status.as_str(), "queued");
    let elsewhere =
        fixture.send(IngestItem { source: Some(source("work")), ..text("one thought") }).unwrap();
    assert_eq!((elsewhere.status.as_str(), elsewhere.source_id.as_str()), ("queued", "work"));
    fixture.clock.advance(1);
    assert_eq!(
        fixture.send(text("one thought")).unwrap().status.as_str(),
        "queued",
        "after 24 hours it is no duplicate"
    );
    assert_eq!(fixture.process_queue(), 3);
    // The tablet's item leads to the existing page, which did not change.
    let slug = fixture.show(&first).slug.unwrap();
    assert_eq!(
        (fixture.page(&slug).version, fixture.show_as(&tablet, &other).unwrap().slug),
        (1, Some(slug.clone()))
    );
}

#[test]
fn deleted_or_changed_content_is_ingested_again() {
    let fixture = Fixture::new();
    let first = fixture.send(text("to and fro")).unwrap();
    fixture.process_queue();
    let slug = fixture.show(&first).slug.unwrap();
    fixture
        .ask(Request::Delete(PageRef { source: None, slug: Slug::parse(&slug).unwrap() }.into()))
        .unwrap();
    let again = fixture.send(text("to and fro")).unwrap();
    assert_eq!(again.status.as_str(), "queued", "an item of a deleted page is no duplicate");
    fixture.process_queue();
    assert_eq!(
        (fixture.show(&again).slug, fixture.page(&slug).body.as_str()),
        (Some(slug.clone()), "to and fro")
    );
    // A delivery with the same idempotency key is a duplicate even if its page was deleted.
    let keyed_item =
        || IngestItem { idempotency_key: Some("delivery-7".into()), ..text("delivered") };
    let delivered = fixture.send(keyed_item()).unwrap();
    fixture.process_queue();
    let slug = fixture.show(&delivered).slug.unwrap();
    fixture
        .ask(Request::Delete(PageRef { source: None, slug: Slug::parse(&slug).unwrap() }.into()))
        .unwrap();
    assert_eq!(fixture.send(keyed_item()).unwrap().status.as_str(), "duplicate");
}

#[test]
fn items_with_a_slug_become_that_page() {
    let fixture = Fixture::new();
    let item_with_slug = |slug: &str, body: &str| IngestItem {
        slug: Some(Slug::parse(slug).unwrap()),
        ..text(body)
    };
    for (slug, body) in
        [("light/a", "up"), ("light/a", "down"), ("light/a", "up"), ("light/b", "up")]
    {
        assert_eq!(
            fixture.send(item_with_slug(slug, body)).unwrap().status.as_str(),
            "queued",
            "{slug} {body}"
        );
        fixture.process_queue();
        assert_eq!(fixture.page(slug).body, body);
    }
    assert_eq!(fixture.send(item_with_slug("light/b", "up")).unwrap().status.as_str(), "duplicate");
}

#[test]
fn retried_items_never_replace_newer_pages() {
    let fixture = Fixture::new();
    fixture.add_source("work");
    let item_for_work = |body: &str| IngestItem {
        source: Some(source("work")),
        slug: Some(Slug::parse("o/x").unwrap()),
        ..text(body)
    };
    let old = fixture.send(item_for_work("old")).unwrap();
    fixture.ask(Request::SourceRemove(SourceRemove { id: source("work"), yes: true })).unwrap();
    for _ in 0..3 {
        fixture.process_queue();
        fixture.clock.advance(4000);
    }
    assert_eq!(fixture.show(&old).status, JobState::Failed);
    fixture.add_source("work");
    let new = fixture.send(item_for_work("new")).unwrap();
    fixture.process_queue();
    assert_eq!(fixture.show(&new).status, JobState::Stored);
    assert_eq!(fixture.retry(), 1);
    for _ in 0..3 {
        fixture.process_queue();
        fixture.clock.advance(4000);
    }
    let job = fixture.show(&old);
    assert_eq!((job.status, job.error.unwrap().code.as_str()), (JobState::Failed, "conflict"));
}

#[test]
fn items_are_processed_after_the_clock_goes_back() {
    let fixture = Fixture::new();
    fixture.clock.advance(10 * 365 * 24 * HOUR);
    let sent = fixture.send(text("from the future")).unwrap();
    fixture.clock.advance(-10 * 365 * 24 * HOUR);
    assert_eq!(
        fixture.send(text("from the future")).unwrap().job_id,
        sent.job_id,
        "the waiting item is recognised"
    );
    assert_eq!(fixture.process_queue(), 1);
    assert_eq!(fixture.show(&sent).status, JobState::Stored);
}

#[test]
fn an_idempotency_key_names_one_item_for_24_hours() {
    let fixture = Fixture::new();
    let keyed_item = |body: &str| IngestItem { idempotency_key: Some("k-1".into()), ..text(body) };
    let first = fixture.send(keyed_item("alpha")).unwrap();
    let again = fixture.send(keyed_item("alpha")).unwrap();
    assert_eq!((again.status.as_str(), again.job_id), ("duplicate", first.job_id));
    let fault = fixture.send(keyed_item("beta")).unwrap_err();
    assert_eq!(fault.code, FaultCode::Conflict);
    assert!(fault.message.contains(&first.job_id.to_string()), "{fault}");
    fixture.add_source("work");
    let elsewhere = IngestItem { source: Some(source("work")), ..keyed_item("alpha") };
    assert_eq!(
        code(fixture.send(elsewhere)),
        FaultCode::Conflict,
        "the key cannot be reused for another source"
    );
    // Each client has its own keys.
    assert_eq!(
        fixture
            .send_as(&granted("tablet", Scope::Write, &[]), keyed_item("beta"))
            .unwrap()
            .status
            .as_str(),
        "queued"
    );
    fixture.clock.advance(24 * HOUR);
    assert_eq!(fixture.send(keyed_item("beta")).unwrap().status.as_str(), "queued");
}

#[test]
fn an_item_without_source_goes_to_the_first_granted_one() {
    let fixture = Fixture::new();
    fixture.add_source("work");
    fixture.add_source("family");
    let named = |id: &str| IngestItem { source: Some(source(id)), ..text("x") };
    // The source `gone` does not exist, so `work` is the first.
    let bound = granted("bound", Scope::Write, &["gone", "work", "family"]);
    assert_eq!(fixture.send_as(&bound, text("x")).unwrap().source_id.as_str(), "work");
    assert_eq!(fixture.send_as(&bound, named("family")).unwrap().source_id.as_str(), "family");
    assert_eq!(code(fixture.send_as(&bound, named("default"))), FaultCode::Forbidden);
    let fault = fixture.send_as(&bound, named("nowhere")).unwrap_err();
    assert_eq!(fault.code, FaultCode::UnknownSource);
    let hint = fault.hint.unwrap().to_string();
    assert!(hint.ends_with("family, work"), "the hint names only permitted sources: {hint}");
    assert_eq!(
        code(fixture.send_as(&granted("lost", Scope::Write, &["gone"]), text("x"))),
        FaultCode::Forbidden
    );
    assert_eq!(
        code(fixture.send_as(&granted("reader", Scope::Read, &[]), text("x"))),
        FaultCode::Forbidden
    );
    // A source is accepted from its registration until its removal.
    assert_eq!(code(fixture.send(named("later"))), FaultCode::UnknownSource);
    fixture.add_source("later");
    assert_eq!(fixture.send(named("later")).unwrap().status.as_str(), "queued");
    fixture.ask(Request::SourceRemove(SourceRemove { id: source("later"), yes: true })).unwrap();
    assert_eq!(code(fixture.send(named("later"))), FaultCode::UnknownSource);
    // Items for a removed source wait until it is registered again.
    assert_eq!(fixture.process_queue(), 3);
    assert_eq!(fixture.counts(), (1, 0, 2));
    fixture.add_source("later");
    fixture.clock.advance(1000);
    assert_eq!((fixture.process_queue(), fixture.counts()), (1, (0, 0, 3)));
    let stored = std::fs::read_dir(fixture.dir.path().join("later/inbox")).unwrap().count();
    assert_eq!(stored, 1, "the file is in the directory of its source");
}

#[test]
fn bodies_without_valid_text_are_refused() {
    let fixture = Fixture::new();
    for empty in ["", " \n\t\u{a0}\n"] {
        assert_eq!(code(fixture.send(text(empty))), FaultCode::EmptyBody, "{empty:?}");
    }
    let bytes = |body: &[u8]| IngestItem { body: body.to_vec(), ..text("") };
    assert_eq!(code(fixture.send(bytes(b"caf\xe9"))), FaultCode::InvalidEncoding);
    assert_eq!(code(fixture.send(bytes(b"a\0b"))), FaultCode::InvalidEncoding);
    assert_eq!(fixture.counts(), (0, 0, 0));
}

#[test]
fn a_full_queue_rejects_only_new_items() {
    let fixture = Fixture::with("[ingest]\nqueue = 3\n");
    let sent: Vec<IngestReceipt> =
        (0..3).map(|n| fixture.send(text(&format!("item {n}"))).unwrap()).collect();
    assert_eq!(code(fixture.send(text("item 3"))), FaultCode::QueueFull);
    assert_eq!(fixture.send(text("item 1")).unwrap().job_id, sent[1].job_id);
    assert_eq!((fixture.process_queue(), fixture.counts()), (3, (0, 0, 3)));
    assert_eq!(fixture.send(text("item 3")).unwrap().status.as_str(), "queued");
}

#[test]
fn slug_collisions_take_the_next_digits() {
    let fixture = Fixture::new();
    let digits = content_hash("late");
    fixture.put(&format!("inbox/2026-11-21-{}", &digits[..8]), "in the way");
    let sent = fixture.send(text("late")).unwrap();
    fixture.process_queue();
    let slug = fixture.show(&sent).slug.unwrap();
    assert_eq!(slug, format!("inbox/2026-11-21-{}", &digits[8..16]));
    assert_eq!(fixture.page(&slug).body, "late");
}

#[test]
fn queued_items_survive_backup_and_restore() {
    let fixture = Fixture::new();
    let done = fixture.send(text("a page already")).unwrap();
    fixture.process_queue();
    let long =
        fixture.send(IngestItem { title: Some("t".repeat(70_000)), ..text("fails") }).unwrap();
    fixture.process_queue();
    let waits = fixture.send(text("still waits")).unwrap();
    let file = fixture.dir.path().join("copy.redb");
    let backup = Request::Backup(Backup { path: file.to_str().unwrap().into() });
    let report = expect_reply!(fixture.ask(backup), Backup);
    assert_eq!(report.pages, 1);
    brain_store::verify(&file, &|_, _| true).unwrap();
    std::fs::create_dir_all(fixture.dir.path().join("second/home")).unwrap();
    std::fs::copy(&file, fixture.dir.path().join("second/home/brain.redb")).unwrap();
    let brain = fixture.clock.open_brain(&fixture.dir.path().join("second"), 8);
    assert_eq!(brain.ingest.process_queue(MAX_JOBS_PER_BATCH).unwrap(), 1);
    let state = |receipt: &IngestReceipt| match brain.answer(
        &phone(),
        Request::JobShow(JobShow { id: receipt.job_id }),
        &NoProgress,
    ) {
        Ok(Reply::Job(job)) => job.status,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        (state(&done), state(&long), state(&waits)),
        (JobState::Stored, JobState::Retrying, JobState::Stored)
    );
}

#[test]
fn concurrent_senders_get_one_job_per_content() {
    let fixture = Fixture::new();
    let answers: Vec<IngestReceipt> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|sender| {
                let fixture = &fixture;
                scope.spawn(move || {
                    let send_item = |n: usize| {
                        // Even-numbered items are the same for all clients; odd-numbered items
                        // differ for each client.
                        let owner = if n.is_multiple_of(2) { 0 } else { sender };
                        fixture.send(text(&format!("item {n} of {owner}"))).unwrap()
                    };
                    (0..50).map(send_item).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let queued = answers.iter().filter(|sent| sent.status.as_str() == "queued").count();
    assert_eq!((answers.len(), queued), (400, 25 + 8 * 25));
    // Two concurrent workers do not create a page twice.
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| while fixture.process_queue() > 0 {});
        }
    });
    assert_eq!(fixture.counts(), (0, 0, 225));
    let status = expect_reply!(fixture.ask(Request::Status(Status)), Status);
    assert_eq!(status.pages, 225);
    for sent in &answers {
        let slug = fixture.show(sent).slug.unwrap();
        assert_eq!(
            (fixture.page(&slug).content_hash, fixture.page(&slug).version),
            (sent.content_hash.clone(), 1)
        );
    }
}
