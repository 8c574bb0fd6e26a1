//! The queue behind `POST /ingest`: what is taken in becomes a page, once; duplicates, retries and
//! failures by a clock that is ours. The brain is the real one; HTTP is not in it.

use brain_base::caller::Scope;
use brain_base::clock::{Clock, rfc3339};
use brain_core::Silent;
use brain_core::ingest::{Accepted, CHUNK, Item};
use brain_page::content_hash;
use brain_protocol::{
    Backup, FaultCode, JobId, JobList, JobRetry, JobShow, JobState, PageRef, Reply, Request, Slug,
    SourceRemove, Status,
};

use crate::hands::HOUR;
use crate::ingest_lab::{Lab, code, granted, phone, source, text};

#[test]
fn an_item_is_safe_first_and_a_page_with_its_provenance_then() {
    let mut lab = Lab::new();
    let sent = lab.send(text("Milk, eggs and a new pump\nfor the boat")).unwrap();
    assert_eq!((sent.status.as_str(), sent.source_id.as_str()), ("queued", "default"));
    assert_eq!(sent.content_hash, content_hash("Milk, eggs and a new pump\nfor the boat"));
    assert_eq!((lab.show(&sent).status, lab.counts()), (JobState::Queued, (1, 0, 0)));
    // A daemon that ends now has it at its next start.
    lab.reopen();
    lab.clock.turn(HOUR);
    assert_eq!((lab.process_queue(), lab.process_queue()), (1, 0));
    let slug = format!("inbox/2026-11-21-{}", &sent.content_hash[..8]);
    let job = lab.show(&sent);
    assert_eq!(
        (job.status, job.slug.as_deref(), job.attempts),
        (JobState::Stored, Some(slug.as_str()), 1)
    );
    assert_eq!((job.received_at.as_str(), lab.counts()), ("2026-11-21T12:00:00.000Z", (0, 0, 1)));
    let page = lab.page(&slug);
    // The page names its job by another number, which leads to it all the same.
    let uri = page.source_uri.clone().unwrap();
    let id = JobId::parse(uri.strip_prefix("webhook:phone:").unwrap()).unwrap();
    assert_ne!(id, sent.job_id, "how many jobs there were is nothing for who reads a page");
    let Ok(Reply::Job(same)) = lab.ask(Request::JobShow(JobShow { id })) else { panic!("{id}") };
    assert_eq!((same.job_id, same.slug.as_deref()), (sent.job_id, Some(slug.as_str())));
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
        std::fs::read_to_string(lab.dir.path().join(format!("home/pages/{slug}.md"))).unwrap();
    assert!(file.ends_with("for the boat"), "{file}");
}

#[test]
fn what_the_sender_wishes_goes_before_what_the_text_says() {
    let lab = Lab::new();
    let wishes = Item {
        slug: Some(Slug::parse("boat/pump").unwrap()),
        title: Some(" The pump ".into()),
        page_type: Some("idea".into()),
        uri: Some("https://example.org/pump".into()),
        ..text("# Something else\n\nIt leaks.")
    };
    let sent = lab.send(wishes).unwrap();
    lab.process_queue();
    assert_eq!(lab.show(&sent).slug.as_deref(), Some("boat/pump"));
    let page = lab.page("boat/pump");
    assert_eq!((page.title.as_str(), page.page_type.as_str()), ("The pump", "idea"));
    assert_eq!(page.source_uri.as_deref(), Some("https://example.org/pump"));
    // Other content at a slug that was asked for is a new version of that page.
    lab.send(Item { slug: Some(Slug::parse("boat/pump").unwrap()), ..text("It is mended.") })
        .unwrap();
    lab.process_queue();
    assert_eq!(
        (lab.page("boat/pump").body.as_str(), lab.page("boat/pump").version),
        ("It is mended.", 2)
    );
    let odd = Item { page_type: Some("Two words".into()), ..text("x") };
    assert_eq!(code(lab.send(odd)), FaultCode::InvalidRequest);
}

#[test]
fn the_same_content_is_a_duplicate_for_24_hours_whether_it_is_a_page_yet_or_not() {
    let lab = Lab::new();
    let first = lab.send(text("one thought")).unwrap();
    let again =
        lab.send(Item { title: Some("Other wishes".into()), ..text("one thought\r\n") }).unwrap();
    assert_eq!((again.status.as_str(), again.job_id), ("duplicate", first.job_id));
    lab.process_queue();
    lab.clock.turn(24 * HOUR - 1);
    lab.brain().ingest.remove_expired_jobs().unwrap();
    let late = lab.send(text("one thought")).unwrap();
    assert_eq!((late.status.as_str(), late.job_id), ("duplicate", first.job_id));
    assert_eq!(lab.show(&late).status, JobState::Stored, "what a duplicate names can be asked for");
    // Somebody else's item is his own; and so is one for another source.
    lab.add_source("work");
    let tablet = granted("tablet", Scope::Write, &[]);
    let other = lab.send_as(&tablet, text("one thought")).unwrap();
    assert_eq!(other.status, "queued");
    let elsewhere = lab.send(Item { source: Some(source("work")), ..text("one thought") }).unwrap();
    assert_eq!((elsewhere.status.as_str(), elsewhere.source_id.as_str()), ("queued", "work"));
    lab.clock.turn(1);
    assert_eq!(lab.send(text("one thought")).unwrap().status, "queued", "24 hours are over");
    assert_eq!(lab.process_queue(), 3);
    // The page was there: nothing was added to it.
    let slug = lab.show(&first).slug.unwrap();
    assert_eq!(
        (lab.page(&slug).version, lab.show_as(&tablet, &other).unwrap().slug),
        (1, Some(slug.clone()))
    );
}

#[test]
fn what_was_deleted_or_changed_since_is_taken_in_again() {
    let lab = Lab::new();
    let first = lab.send(text("to and fro")).unwrap();
    lab.process_queue();
    let slug = lab.show(&first).slug.unwrap();
    lab.ask(Request::Delete(PageRef { source: None, slug: Slug::parse(&slug).unwrap() }.into()))
        .unwrap();
    let again = lab.send(text("to and fro")).unwrap();
    assert_eq!(again.status, "queued", "the page is gone, so this is no duplicate");
    lab.process_queue();
    assert_eq!(
        (lab.show(&again).slug, lab.page(&slug).body.as_str()),
        (Some(slug.clone()), "to and fro")
    );
    // A delivery that names itself is the same one, whatever became of its page.
    let keyed = || Item { idempotency_key: Some("delivery-7".into()), ..text("delivered") };
    let delivered = lab.send(keyed()).unwrap();
    lab.process_queue();
    let slug = lab.show(&delivered).slug.unwrap();
    lab.ask(Request::Delete(PageRef { source: None, slug: Slug::parse(&slug).unwrap() }.into()))
        .unwrap();
    assert_eq!(lab.send(keyed()).unwrap().status, "duplicate");
}

#[test]
fn whoever_names_the_page_gets_it_there() {
    let lab = Lab::new();
    let at = |slug: &str, body: &str| Item { slug: Some(Slug::parse(slug).unwrap()), ..text(body) };
    for (slug, body) in
        [("light/a", "up"), ("light/a", "down"), ("light/a", "up"), ("light/b", "up")]
    {
        assert_eq!(lab.send(at(slug, body)).unwrap().status, "queued", "{slug} {body}");
        lab.process_queue();
        assert_eq!(lab.page(slug).body, body);
    }
    assert_eq!(lab.send(at("light/b", "up")).unwrap().status, "duplicate");
}

#[test]
fn an_item_that_is_tried_again_never_replaces_what_came_meanwhile() {
    let lab = Lab::new();
    lab.add_source("work");
    let at = |body: &str| Item {
        source: Some(source("work")),
        slug: Some(Slug::parse("o/x").unwrap()),
        ..text(body)
    };
    let old = lab.send(at("old")).unwrap();
    lab.ask(Request::SourceRemove(SourceRemove { id: source("work"), yes: true })).unwrap();
    for _ in 0..3 {
        lab.process_queue();
        lab.clock.turn(4000);
    }
    assert_eq!(lab.show(&old).status, JobState::Failed);
    lab.add_source("work");
    let new = lab.send(at("new")).unwrap();
    lab.process_queue();
    assert_eq!(lab.show(&new).status, JobState::Stored);
    assert_eq!(lab.retry(), 1);
    for _ in 0..3 {
        lab.process_queue();
        lab.clock.turn(4000);
    }
    let job = lab.show(&old);
    assert_eq!((job.status, job.error.unwrap().code.as_str()), (JobState::Failed, "conflict"));
}

#[test]
fn a_clock_that_is_set_back_leaves_nothing_waiting() {
    let lab = Lab::new();
    lab.clock.turn(10 * 365 * 24 * HOUR);
    let sent = lab.send(text("from the future")).unwrap();
    lab.clock.turn(-10 * 365 * 24 * HOUR);
    assert_eq!(lab.send(text("from the future")).unwrap().job_id, sent.job_id, "it waits");
    assert_eq!(lab.process_queue(), 1);
    assert_eq!(lab.show(&sent).status, JobState::Stored);
}

#[test]
fn jobs_are_forgotten_when_nobody_can_mean_them_any_more() {
    let lab = Lab::new();
    let first = lab.send(text("first")).unwrap();
    lab.process_queue();
    lab.clock.turn(24 * HOUR + 10 * 60_000 - 1);
    assert_eq!((lab.brain().ingest.remove_expired_jobs().unwrap(), lab.counts()), (0, (0, 0, 1)));
    let second = lab.send(text("first")).unwrap();
    lab.clock.turn(1);
    assert_eq!((lab.brain().ingest.remove_expired_jobs().unwrap(), lab.counts()), (1, (1, 0, 0)));
    assert_eq!(lab.show_as(&phone(), &first).unwrap_err(), FaultCode::UnknownJob);
    // The second is what the content leads to by now.
    assert_eq!(lab.send(text("first")).unwrap().job_id, second.job_id);
}

#[test]
fn an_idempotency_key_names_one_item_for_24_hours() {
    let lab = Lab::new();
    let keyed = |body: &str| Item { idempotency_key: Some("k-1".into()), ..text(body) };
    let first = lab.send(keyed("alpha")).unwrap();
    let again = lab.send(keyed("alpha")).unwrap();
    assert_eq!((again.status.as_str(), again.job_id), ("duplicate", first.job_id));
    let fault = lab.send(keyed("beta")).unwrap_err();
    assert_eq!(fault.code, FaultCode::Conflict);
    assert!(fault.message.contains(&first.job_id.to_string()), "{fault}");
    lab.add_source("work");
    let elsewhere = Item { source: Some(source("work")), ..keyed("alpha") };
    assert_eq!(
        code(lab.send(elsewhere)),
        FaultCode::Conflict,
        "the same for another source is another item"
    );
    // Keys are each client's own.
    assert_eq!(
        lab.send_as(&granted("tablet", Scope::Write, &[]), keyed("beta")).unwrap().status,
        "queued"
    );
    lab.clock.turn(24 * HOUR);
    assert_eq!(lab.send(keyed("beta")).unwrap().status, "queued");
}

#[test]
fn the_source_is_the_one_named_within_the_grant_or_the_first_of_ones_own() {
    let lab = Lab::new();
    lab.add_source("work");
    lab.add_source("family");
    let named = |id: &str| Item { source: Some(source(id)), ..text("x") };
    let bound = granted("bound", Scope::Write, &["gone", "work", "family"]);
    assert_eq!(lab.send_as(&bound, text("x")).unwrap().source_id.as_str(), "work");
    assert_eq!(lab.send_as(&bound, named("family")).unwrap().source_id.as_str(), "family");
    assert_eq!(code(lab.send_as(&bound, named("default"))), FaultCode::Forbidden);
    let fault = lab.send_as(&bound, named("nowhere")).unwrap_err();
    assert_eq!(fault.code, FaultCode::UnknownSource);
    let hint = fault.hint.unwrap();
    assert!(hint.ends_with("family, work"), "others' sources are not told: {hint}");
    assert_eq!(
        code(lab.send_as(&granted("lost", Scope::Write, &["gone"]), text("x"))),
        FaultCode::Forbidden
    );
    assert_eq!(
        code(lab.send_as(&granted("reader", Scope::Read, &[]), text("x"))),
        FaultCode::Forbidden
    );
    // A source counts from the moment when it is registered, to the moment when it is removed.
    assert_eq!(code(lab.send(named("later"))), FaultCode::UnknownSource);
    lab.add_source("later");
    assert_eq!(lab.send(named("later")).unwrap().status, "queued");
    lab.ask(Request::SourceRemove(SourceRemove { id: source("later"), yes: true })).unwrap();
    assert_eq!(code(lab.send(named("later"))), FaultCode::UnknownSource);
    // What was accepted for it waits with its text until it is there again.
    assert_eq!(lab.process_queue(), 3);
    assert_eq!(lab.counts(), (1, 0, 2));
    lab.add_source("later");
    lab.clock.turn(1000);
    assert_eq!((lab.process_queue(), lab.counts()), (1, (0, 0, 3)));
    let stored = std::fs::read_dir(lab.dir.path().join("later/inbox")).unwrap().count();
    assert_eq!(stored, 1, "its file is in its own source's directory");
}

#[test]
fn a_body_without_text_is_refused() {
    let lab = Lab::new();
    for empty in ["", " \n\t\u{a0}\n"] {
        assert_eq!(code(lab.send(text(empty))), FaultCode::EmptyBody, "{empty:?}");
    }
    let bytes = |body: &[u8]| Item { body: body.to_vec(), ..text("") };
    assert_eq!(code(lab.send(bytes(b"caf\xe9"))), FaultCode::InvalidEncoding);
    assert_eq!(code(lab.send(bytes(b"a\0b"))), FaultCode::InvalidEncoding);
    assert_eq!(lab.counts(), (0, 0, 0));
}

#[test]
fn a_full_queue_refuses_what_is_new_and_knows_what_it_has() {
    let lab = Lab::with("[ingest]\nqueue = 3\n");
    let sent: Vec<Accepted> =
        (0..3).map(|n| lab.send(text(&format!("item {n}"))).unwrap()).collect();
    assert_eq!(code(lab.send(text("item 3"))), FaultCode::QueueFull);
    assert_eq!(lab.send(text("item 1")).unwrap().job_id, sent[1].job_id);
    assert_eq!((lab.process_queue(), lab.counts()), (3, (0, 0, 3)));
    assert_eq!(lab.send(text("item 3")).unwrap().status, "queued");
}

#[test]
fn other_content_with_the_same_digits_takes_the_next_ones() {
    let lab = Lab::new();
    let digits = content_hash("late");
    lab.put(&format!("inbox/2026-11-21-{}", &digits[..8]), "in the way");
    let sent = lab.send(text("late")).unwrap();
    lab.process_queue();
    let slug = lab.show(&sent).slug.unwrap();
    assert_eq!(slug, format!("inbox/2026-11-21-{}", &digits[8..16]));
    assert_eq!(lab.page(&slug).body, "late");
}

#[test]
fn an_item_that_fails_is_tried_three_times_and_harms_nobody_beside_it() {
    let mut lab = Lab::new();
    let in_the_way = lab.take_every_slug_of("poison");
    let before = lab.send(text("before")).unwrap();
    let poison = lab.send(text("poison")).unwrap();
    // This one fails before it comes to the writer.
    let long =
        lab.send(Item { title: Some("t".repeat(70_000)), ..text("a title without end") }).unwrap();
    let after = lab.send(text("after")).unwrap();
    assert_eq!((lab.process_queue(), lab.process_queue()), (4, 0));
    for good in [&before, &after] {
        assert_eq!(lab.show(good).status, JobState::Stored);
    }
    let job = lab.show(&poison);
    assert_eq!((job.status, job.attempts, job.slug), (JobState::Retrying, 1, None));
    assert_eq!(job.retry_at.as_deref(), Some("2026-11-21T12:00:01.000Z"));
    assert_eq!(job.error.unwrap().code, "conflict");
    assert_eq!(lab.show(&long).error.unwrap().code, "too_large");
    assert_eq!(lab.counts(), (2, 0, 2));
    // Until it has failed for good it is still the same item.
    assert_eq!(lab.send(text("poison")).unwrap().status, "duplicate");
    lab.clock.turn(999);
    assert_eq!(lab.process_queue(), 0, "one second has not gone");
    assert_eq!(lab.brain().ingest.ms_until_due().unwrap(), Some(1));
    lab.clock.turn(1);
    assert_eq!(lab.process_queue(), 2);
    assert_eq!(
        lab.show(&poison).retry_at.as_deref(),
        Some("2026-11-21T12:00:03.000Z"),
        "twice as long"
    );
    lab.reopen();
    lab.clock.turn(2000);
    assert_eq!((lab.process_queue(), lab.brain().ingest.ms_until_due().unwrap()), (2, None));
    let job = lab.show(&poison);
    assert_eq!((job.status, job.attempts, job.retry_at), (JobState::Failed, 3, None));
    assert_eq!(job.finished_at.as_deref(), Some(rfc3339(lab.clock.now()).as_str()));
    let (status, message) = lab.queue_check();
    assert!(status == "warn" && message.starts_with("2 items failed"), "{status}: {message}");
    let failed: Vec<_> =
        lab.jobs(Some(JobState::Failed)).jobs.into_iter().map(|job| job.job_id).collect();
    assert_eq!((failed, lab.counts()), (vec![long.job_id, poison.job_id], (0, 2, 2)));
    // A failed item stands in nobody's way: the same may be sent anew.
    let anew = lab.send(text("poison")).unwrap();
    assert_eq!(anew.status, "queued");
    // When the reason is gone, it is a page after all.
    lab.ask(Request::Delete(
        PageRef { source: None, slug: Slug::parse(&in_the_way[2]).unwrap() }.into(),
    ))
    .unwrap();
    lab.clock.turn(4 * 24 * HOUR);
    lab.brain().pages.purge_due().unwrap();
    assert_eq!((lab.retry(), lab.process_queue()), (2, 3));
    assert_eq!(lab.show(&poison).slug.as_deref(), Some(in_the_way[2].as_str()));
    assert_eq!(lab.show(&anew).slug, lab.show(&poison).slug, "the same content is one page");
    assert_eq!(lab.page(&in_the_way[2]).version, 1);
}

#[test]
fn what_failed_is_kept_for_seven_days() {
    let lab = Lab::new();
    let long = lab.send(Item { title: Some("t".repeat(70_000)), ..text("never a page") }).unwrap();
    for _ in 0..3 {
        lab.process_queue();
        lab.clock.turn(2000);
    }
    lab.clock.turn(7 * 24 * HOUR - 2001);
    assert_eq!((lab.brain().ingest.remove_expired_jobs().unwrap(), lab.counts()), (0, (0, 1, 0)));
    lab.clock.turn(1);
    assert_eq!((lab.brain().ingest.remove_expired_jobs().unwrap(), lab.counts()), (1, (0, 0, 0)));
    assert_eq!(lab.show_as(&phone(), &long).unwrap_err(), FaultCode::UnknownJob);
    assert_eq!(lab.queue_check().0, "ok");
}

#[test]
fn a_job_answers_its_sender_and_an_admin() {
    let lab = Lab::new();
    let sent = lab.send(text("mine")).unwrap();
    assert_eq!(lab.show(&sent).client, "phone");
    assert_eq!(
        lab.show_as(&granted("tablet", Scope::Write, &[]), &sent).unwrap_err(),
        FaultCode::UnknownJob
    );
    // A later grant of the same name may reach less.
    let narrower = granted("phone", Scope::Write, &["work"]);
    assert_eq!(lab.show_as(&narrower, &sent).unwrap_err(), FaultCode::UnknownJob);
    assert_eq!(
        lab.show_as(&granted("root", Scope::Admin, &[]), &sent).unwrap().job_id,
        sent.job_id
    );
    assert_eq!(
        code(lab.ask(Request::JobRetry(JobRetry { id: Some(sent.job_id) }))),
        FaultCode::Conflict
    );
}

#[test]
fn the_list_goes_from_the_newest_on_in_parts() {
    let lab = Lab::new();
    let sent: Vec<_> =
        (0..5).map(|n| lab.send(text(&format!("item {n}"))).unwrap().job_id).collect();
    assert_eq!(lab.brain().ingest.process_queue(2).unwrap(), 2, "the oldest first");
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let list = JobList { state: Some(JobState::Queued), limit: 2, after };
        let Reply::Jobs(jobs) = lab.ask(Request::JobList(list)).unwrap() else { panic!() };
        seen.extend(jobs.jobs.iter().map(|job| job.job_id));
        after = jobs.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, [sent[4], sent[3], sent[2]]);
    let stored: Vec<_> =
        lab.jobs(Some(JobState::Stored)).jobs.iter().map(|job| job.job_id).collect();
    assert_eq!(stored, [sent[1], sent[0]]);
}

#[test]
fn what_waits_is_in_a_backup_and_goes_on_from_there() {
    let lab = Lab::new();
    let done = lab.send(text("a page already")).unwrap();
    lab.process_queue();
    let long = lab.send(Item { title: Some("t".repeat(70_000)), ..text("fails") }).unwrap();
    lab.process_queue();
    let waits = lab.send(text("still waits")).unwrap();
    let file = lab.dir.path().join("copy.redb");
    let backup = Request::Backup(Backup { path: file.to_str().unwrap().into() });
    let Reply::Backup(report) = lab.ask(backup).unwrap() else { panic!() };
    assert_eq!(report.pages, 1);
    brain_store::verify(&file, &|_, _| true).unwrap();
    std::fs::create_dir_all(lab.dir.path().join("second/home")).unwrap();
    std::fs::copy(&file, lab.dir.path().join("second/home/brain.redb")).unwrap();
    let brain = lab.clock.open(&lab.dir.path().join("second"), 8);
    assert_eq!(brain.ingest.process_queue(CHUNK).unwrap(), 1);
    let state = |of: &Accepted| match brain.answer(
        &phone(),
        Request::JobShow(JobShow { id: of.job_id }),
        &Silent,
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
fn many_senders_at_once_lose_nothing_and_get_one_job_for_one_content() {
    let lab = Lab::new();
    let answers: Vec<Accepted> = std::thread::scope(|scope| {
        let sending: Vec<_> = (0..8)
            .map(|sender| {
                let lab = &lab;
                scope.spawn(move || {
                    let one = |n: usize| {
                        // Every second item is sent by everybody.
                        let whose = if n.is_multiple_of(2) { 0 } else { sender };
                        lab.send(text(&format!("item {n} of {whose}"))).unwrap()
                    };
                    (0..50).map(one).collect::<Vec<_>>()
                })
            })
            .collect();
        sending.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let queued = answers.iter().filter(|sent| sent.status == "queued").count();
    assert_eq!((answers.len(), queued), (400, 25 + 8 * 25));
    // Two at work at the same time do not make a page twice.
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| while lab.process_queue() > 0 {});
        }
    });
    assert_eq!(lab.counts(), (0, 0, 225));
    let Reply::Status(status) = lab.ask(Request::Status(Status)).unwrap() else { panic!() };
    assert_eq!(status.pages, 225);
    for sent in &answers {
        let slug = lab.show(sent).slug.unwrap();
        assert_eq!(
            (lab.page(&slug).content_hash, lab.page(&slug).version),
            (sent.content_hash.clone(), 1)
        );
    }
}
