//! Concurrent clients: writers of one page or one text, readers, and searches during an import.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use brain_protocol::{
    FaultCode, Get, Hit, Import, Origin, PageRef, Put, Reply, Request, Search, Slug, SourceId,
    Sync, Tags, WriteReply, WriteStatus,
};
use brain_tests::{Client, TestHome, capture, expect_reply};

fn page(slug: &str) -> PageRef {
    PageRef { source: None, slug: Slug::parse(slug).unwrap() }
}

fn put(client: &mut Client, slug: &str, text: &str) -> WriteReply {
    let put = Put {
        page: page(slug),
        content: text.into(),
        origin: Origin::Stdin,
        allow_empty: false,
        expect: None,
    };
    let written = expect_reply!(client.ask(&Request::Put(put)), Write);
    written
}

fn assert_file_agrees(home: &TestHome, slug: &str) {
    let stored = home.get(slug);
    assert_eq!(
        fs::read_to_string(home.page_file(slug)).unwrap(),
        stored["content"].as_str().unwrap(),
        "{slug}"
    );
}

#[test]
fn concurrent_writers_each_make_a_version_of_the_page() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let home = &home;
            scope.spawn(move || {
                let mut client = home.connect().unwrap();
                for n in 0..12 {
                    let written =
                        put(&mut client, "shared", &format!("writer {worker} round {n}\n"));
                    assert!(written.written, "{written:?}");
                }
            });
        }
    });
    let history = home.json(["history", "shared"]);
    let versions = history["versions"].as_array().unwrap();
    assert_eq!(versions.len(), 96, "no write is lost");
    let numbers: BTreeSet<u64> = versions.iter().map(|v| v["version"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=96).collect());
    let bodies: BTreeSet<String> = (1..=96)
        .map(|n| {
            home.json(["get", "shared", "--version", &n.to_string()])["body"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(bodies.len(), 96, "each version is the text of one writer");
    assert_file_agrees(&home, "shared");
    assert_eq!(home.json(["status"])["outbox"], 0);
}

#[test]
fn one_text_from_many_clients_becomes_one_page() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    // Text, slug, status and time of each capture.
    let replies = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                let mut client = home.connect().unwrap();
                for n in 0..8 {
                    let request = capture(format!("everybody's thought {n}"));
                    let written = expect_reply!(client.ask(&request), Write);
                    replies.lock().unwrap().push((
                        n,
                        written.slug.to_string(),
                        written.status,
                        written.captured_at,
                    ));
                }
            });
        }
    });
    let replies = replies.into_inner().unwrap();
    for n in 0..8 {
        let of_text: Vec<_> = replies.iter().filter(|row| row.0 == n).collect();
        assert_eq!(of_text.len(), 12);
        let created = of_text.iter().filter(|row| row.2 == WriteStatus::Created).count();
        assert_eq!(created, 1, "{of_text:?}");
        let (slug, time) = (&of_text[0].1, &of_text[0].3);
        assert!(of_text.iter().all(|row| row.1 == *slug && row.3 == *time), "{of_text:?}");
    }
    assert_eq!(home.json(["status"])["pages"], 8);
}

#[test]
fn page_file_and_search_agree_after_concurrent_changes() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for n in 0..4 {
        home.put(&format!("p/{n}"), "walrus\n");
    }
    std::thread::scope(|scope| {
        for worker in 0..6 {
            let home = &home;
            scope.spawn(move || {
                let mut client = home.connect().unwrap();
                for round in 0..12 {
                    let slug = format!("p/{}", (worker + round) % 4);
                    let answer = match (worker + round / 4) % 3 {
                        0 => client.ask(&Request::Delete(page(&slug).into())),
                        1 => client.ask(&Request::Restore(page(&slug).into())),
                        _ => Ok(Reply::Write(put(
                            &mut client,
                            &slug,
                            &format!("walrus {worker} {round}\n"),
                        ))),
                    };
                    if let Err(fault) = answer {
                        let expected = [FaultCode::AlreadySoftDeleted, FaultCode::AlreadyActive];
                        assert!(expected.contains(&fault.code), "{fault:?}");
                    }
                }
            });
        }
    });
    let mut active = Vec::new();
    for n in 0..4 {
        let slug = format!("p/{n}");
        let output = home.brain(["get", &slug, "--json"]);
        assert_eq!(home.page_file(&slug).exists(), output.code == 0, "{slug}: {output:?}");
        if output.code == 0 {
            assert_file_agrees(&home, &slug);
            active.push(slug);
        } else {
            assert!(home.path().join(format!("pages/.trash/{slug}.md")).exists());
        }
    }
    let mut found = home.search("walrus");
    found.sort();
    assert_eq!(found, active);
    assert_eq!(home.json(["status"])["outbox"], 0);
}

#[test]
fn concurrently_added_tags_are_all_kept() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("tagged", "body\n");
    std::thread::scope(|scope| {
        for worker in 0..10 {
            let home = &home;
            scope.spawn(move || {
                let mut client = home.connect().unwrap();
                let slug = Some(Slug::parse("tagged").unwrap());
                let tags = Tags {
                    source: None,
                    slug,
                    add: vec![format!("t{worker}")],
                    remove: Vec::new(),
                };
                client.ask(&Request::Tags(tags)).unwrap();
            });
        }
    });
    assert_eq!(
        home.get("tagged")["tags"].as_array().unwrap().len(),
        10,
        "no change overwrites another"
    );
    assert_file_agrees(&home, "tagged");
}

#[test]
fn readers_always_see_a_complete_page() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let text = |n: usize| format!("---\ntitle: T{n}\n---\n{}\n", format!("n{n} ").repeat(3000));
    home.put("moving", &text(0));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = home.connect().unwrap();
            for n in 1..40 {
                put(&mut client, "moving", &text(n));
            }
            done.store(true, Ordering::SeqCst);
        });
        for _ in 0..3 {
            scope.spawn(|| {
                let mut client = home.connect().unwrap();
                let mut titles = BTreeSet::new();
                while !done.load(Ordering::SeqCst) {
                    let get = Request::Get(Get { page: page("moving"), version: None });
                    let page = expect_reply!(client.ask(&get), Page);
                    let n = page.title.trim_start_matches('T').to_owned();
                    assert_eq!(
                        page.body,
                        format!("{}\n", format!("n{n} ").repeat(3000)),
                        "title and body are of one version"
                    );
                    titles.insert(page.title);
                    let file = fs::read_to_string(home.page_file("moving")).unwrap();
                    assert!(
                        file.starts_with("---\n") && file.split_whitespace().count() > 3000,
                        "an incomplete file"
                    );
                }
                assert!(titles.len() > 1, "the page did not change during the reads: {titles:?}");
            });
        }
    });
}

/// Searches for `word`; returns the slugs, also of copies, and the reason if the result may be
/// incomplete.
fn search_word(client: &mut Client, word: &str) -> (Vec<String>, Option<String>) {
    let search = Search { query: word.into(), limit: 5, ..Search::default() };
    let hits = expect_reply!(client.ask(&Request::Search(search)), Hits);
    let names = |hit: Hit| [vec![hit.slug.to_string()], hit.also_in].concat();
    (hits.hits.into_iter().flat_map(names).collect(), hits.degraded)
}

#[test]
fn a_search_does_not_wait_for_a_concurrent_import_or_sync() {
    const FILES: usize = 6000;
    let home = TestHome::new();
    let notes = home.outside().join("notes");
    fs::create_dir_all(&notes).unwrap();
    let filler = "a sentence about nothing in particular, which is here to be indexed ".repeat(15);
    for n in 0..FILES {
        fs::write(
            notes.join(format!("note-{n:05}.md")),
            format!("# Note {n}\n\nzqnote{n}zq {filler}\n"),
        )
        .unwrap();
    }
    let _daemon = home.daemon();
    home.json(["sources", "add", "notes", "--path", notes.to_str().unwrap()]);
    let copy = home.outside().join("copy");
    fs::create_dir_all(&copy).unwrap();
    for file in fs::read_dir(&notes).unwrap().flatten() {
        fs::copy(file.path(), copy.join(file.file_name())).unwrap();
    }
    home.put("before/all", "zqbeforezq\n");
    let import = Request::Import(Import {
        path: copy.display().to_string(),
        source: None,
        format: None,
        since: None,
        dry_run: false,
        scrub: false,
    });
    let sync =
        Request::Sync(Sync { source: Some(SourceId::parse("notes").unwrap()), ..Sync::default() });
    for (operation, request) in [("import", import), ("sync", sync)] {
        let is_over = AtomicBool::new(false);
        let (mut durations, mut incomplete, began) = (Vec::new(), 0, Instant::now());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut client = home.connect().unwrap();
                client.stream.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
                let reply = client.ask(&request);
                // The operation is acknowledged, so its last page is found at once.
                let (found, _) = search_word(&mut client, &format!("zqnote{}zq", FILES - 1));
                is_over.store(true, Ordering::Relaxed);
                reply.unwrap();
                assert_eq!(found.len(), if operation == "import" { 1 } else { 2 }, "{found:?}");
            });
            let mut client = home.connect().unwrap();
            for n in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let word = format!("zq{operation}{n}zq");
                let slug = format!("beside/{operation}-{n}");
                if n % 10 == 0 {
                    put(&mut client, &slug, &format!("{word}\n"));
                }
                let start = Instant::now();
                let (found, degraded) =
                    search_word(&mut client, if n % 10 == 0 { &word } else { "zqbeforezq" });
                durations.push(start.elapsed());
                incomplete += usize::from(degraded.is_some_and(|it| it.contains(operation)));
                let expected = if n % 10 == 0 { slug.as_str() } else { "before/all" };
                assert_eq!(found, [expected], "{operation}, search {n}");
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        durations.sort_unstable();
        let (count, median) = (durations.len(), durations[durations.len() / 2]);
        println!("{operation}: {count} searches, {median:?} median, {:?} max", durations.last());
        assert!(incomplete > 0, "{operation}: no search of {count} says that it may miss pages");
        // A search that waits for the operation takes as long as that, on a busy machine, too.
        let limit = Duration::from_millis(500).max(began.elapsed() / 20);
        assert!(median < limit, "{operation}: median {median:?} of {:?}", began.elapsed());
    }
}
