//! Attachments: files that belong to pages, from the command line to a restored backup.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use brain_protocol::{Attach, AttachmentGet, PageRef, Reply, Request, Slug};
use brain_tests::TestHome;
use brain_tests::mcp::mcp;
use serde_json::{Value, json};

use crate::mock_clock::{HOUR, MockClock};

fn hash(bytes: &[u8]) -> String {
    brain_page::hex(&brain_files::digest(bytes))
}

/// Returns the path of the stored file with these bytes.
fn stored_file(home: &TestHome, bytes: &[u8]) -> PathBuf {
    let hash = hash(bytes);
    home.path().join("attachments").join(&hash[..2]).join(&hash)
}

/// Writes a file outside of the home and returns its path.
fn file(home: &TestHome, name: &str, bytes: &[u8]) -> String {
    fs::write(home.outside().join(name), bytes).unwrap();
    home.outside().join(name).to_str().unwrap().to_owned()
}

/// Attaches a file with this content, and returns the entry of the file in the reply.
fn attach(home: &TestHome, slug: &str, name: &str, bytes: &[u8]) -> Value {
    let path = file(home, name, bytes);
    home.json(["attach", slug, &path])["files"][0].clone()
}

fn names(list: &Value) -> Vec<&str> {
    list["attachments"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect()
}

#[test]
fn a_file_is_kept_with_a_page_and_its_frontmatter_names_it() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("trips/rome", "---\ntitle: Rome\n---\n\n# Rome\n\n![[forum.png]]\n");
    let reply = attach(&home, "trips/rome", "forum.png", b"a picture");
    assert_eq!((&reply["status"], &reply["version"]), (&json!("attached"), &json!(2)));
    let page = home.get("trips/rome");
    let frontmatter = page["frontmatter"].as_str().unwrap();
    assert!(frontmatter.contains("attachments:") && frontmatter.contains("forum.png"), "{page}");
    let text = fs::read_to_string(home.page_file("trips/rome")).unwrap();
    assert!(text.contains("forum.png") && text.contains("attachments"), "{text}");
    assert_eq!(fs::read(stored_file(&home, b"a picture")).unwrap(), b"a picture");

    let list = home.json(["attachments", "trips/rome"]);
    let entry = &list["attachments"][0];
    assert_eq!(entry["name"], "forum.png");
    assert_eq!((&entry["bytes"], &entry["media_type"]), (&json!(9), &json!("image/png")));
    assert_eq!(entry["hash"], hash(b"a picture"));
    assert_eq!(entry["pages"], json!([{"source": "default", "slug": "trips/rome"}]));
    let text = home.brain(["attachments"]).expect(0).stdout;
    assert!(text.contains("forum.png") && text.contains("trips/rome"), "{text}");

    // The same file again changes nothing.
    let again = attach(&home, "trips/rome", "forum.png", b"a picture");
    assert_eq!((&again["status"], &again["version"]), (&json!("unchanged"), &json!(2)));
    let target = home.outside().join("copy.png");
    let target = target.to_str().unwrap();
    home.json(["attachments", "trips/rome", "--get", "forum.png", "--to", target]);
    assert_eq!(fs::read(target).unwrap(), b"a picture");
    let error = home.fault(["attachments", "trips/rome", "--get", "forum.png", "--to", target], 1);
    assert_eq!(error["code"], "io", "a file is never replaced: {error}");
}

#[test]
fn the_same_bytes_are_stored_once() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "one\n");
    home.put("b", "two\n");
    let paths = [file(&home, "x.png", b"same"), file(&home, "y.png", b"same")];
    let reply = home.json(["attach", "a", &paths[0], &paths[1]]);
    assert_eq!(reply["files"].as_array().unwrap().len(), 2);
    home.json(["attach", "b", &paths[0], "--name", "z.png"]);
    let dir = stored_file(&home, b"same").parent().unwrap().to_owned();
    assert_eq!(fs::read_dir(dir).unwrap().count(), 1);
    assert_eq!(names(&home.json(["attachments"])), ["x.png", "y.png", "z.png"]);
    let pages = &home.json(["attachments", "b"])["attachments"][0]["pages"];
    assert_eq!(pages.as_array().unwrap().len(), 2, "both pages have these bytes: {pages}");
}

#[test]
fn refused_files_have_a_code_and_leave_nothing() {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_PAGES_MAX_ATTACHMENT_MB".into(), "1".into()));
    let _daemon = home.daemon();
    home.put("p", "words\n");
    home.put("odd", "---\nattachments: {a: 1}\n---\nwords\n");
    let refused = |args: &[&str], exit: i32, code: &str| {
        let error = home.fault(args, exit);
        assert_eq!(error["code"], code, "{args:?}: {error}");
        format!("{} {}", error["message"].as_str().unwrap(), error["hint"].as_str().unwrap())
    };
    let good = file(&home, "good.png", b"good");
    let large = file(&home, "large.bin", &vec![0; 1_000_001]);
    let text = refused(&["attach", "p", &large], 1, "too_large");
    assert!(text.contains("1 MB") && text.contains("pages.max_attachment_mb"), "{text}");
    refused(&["attach", "p", &file(&home, "empty", b"")], 2, "empty_content");
    refused(&["attach", "p", "/nonexistent/x.png"], 1, "io");
    refused(&["attach", "p", home.outside().to_str().unwrap()], 2, "usage");
    refused(&["attach", "nothing/here", &good], 4, "not_found");
    refused(&["attach", "odd", &good], 1, "conflict");
    for name in ["../x", "a/b", "..", "/etc/passwd", "a\u{202e}gnp.exe", "a\nb", ".x", "n.md", ""] {
        refused(&["attach", "p", &good, "--name", name], 2, "invalid_request");
    }
    assert!(!home.path().join("attachments").exists(), "nothing was written");

    home.json(["attach", "p", &good]);
    let other = file(&home, "good.png", b"other");
    let text = refused(&["attach", "p", &other], 1, "conflict");
    assert!(text.contains("--name"), "{text}");
    assert!(!stored_file(&home, b"other").exists(), "the refused file is not left");
    assert_eq!(fs::read(stored_file(&home, b"good")).unwrap(), b"good");
    refused(&["attachments", "p", "--remove", "none.png"], 4, "not_found");
    refused(&["attachments", "p", "--get", "none.png"], 4, "not_found");
}

#[test]
fn a_removed_file_comes_back_with_a_former_version() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("p", "words\n");
    attach(&home, "p", "x.png", b"first");
    let removed = home.json(["attachments", "p", "--remove", "x.png"]);
    assert_eq!((&removed["status"], &removed["version"]), (&json!("removed"), &json!(3)));
    assert!(!home.get("p")["frontmatter"].as_str().unwrap().contains("attachments"));
    assert_eq!(names(&home.json(["attachments", "p"])), Vec::<&str>::new());
    assert!(stored_file(&home, b"first").exists(), "a former version names it");
    // Another file can have the name now, and the bytes of the first one stay.
    attach(&home, "p", "x.png", b"second");
    assert!(stored_file(&home, b"first").exists());
    home.json(["revert", "p", "1"]);
    assert_eq!(names(&home.json(["attachments", "p"])), Vec::<&str>::new());
    home.json(["revert", "p", "4"]);
    assert_eq!(names(&home.json(["attachments", "p"])), ["x.png"]);
    // The text names it, so it stays.
    home.put("p", "![[x.png]]\n");
    let error = home.fault(["attachments", "p", "--remove", "x.png"], 1);
    assert_eq!(error["code"], "conflict", "{error}");
    assert_eq!(names(&home.json(["attachments", "p"])), ["x.png"]);
}

#[test]
fn a_file_moves_and_merges_with_its_page() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "one\n");
    home.put("b", "two\n");
    attach(&home, "a", "x.png", b"of a");
    home.json(["mv", "a", "c"]);
    assert_eq!(names(&home.json(["attachments", "c"])), ["x.png"]);
    attach(&home, "b", "x.png", b"of b");
    let error = home.fault(["merge", "c", "b"], 1);
    assert_eq!(error["code"], "conflict", "{error}");
    home.json(["attachments", "b", "--remove", "x.png"]);
    attach(&home, "b", "y.png", b"y");
    home.json(["merge", "c", "b"]);
    assert_eq!(names(&home.json(["attachments", "b"])), ["x.png", "y.png"]);
    assert!(home.get("b")["frontmatter"].as_str().unwrap().contains("x.png"));
    home.json(["purge", "c", "--now", "--yes"]);
    assert!(stored_file(&home, b"of a").exists(), "the merged page names the file");
}

#[test]
fn purge_removes_a_file_that_no_other_page_has() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "one\n");
    home.put("b", "two\n");
    attach(&home, "a", "own.png", b"own");
    attach(&home, "a", "shared.png", b"shared");
    attach(&home, "b", "shared.png", b"shared");
    let reply = home.json(["purge", "a", "--now", "--yes"]);
    assert_eq!(reply["warnings"], json!([]));
    assert!(!stored_file(&home, b"own").exists() && stored_file(&home, b"shared").exists());
    assert_eq!(names(&home.json(["attachments"])), ["shared.png"]);
}

#[test]
fn a_deleted_page_keeps_its_files_for_72_hours() {
    let dir = tempfile::tempdir().unwrap();
    let clock = MockClock::at("2126-11-21T10:00:00Z");
    let brain = clock.open_brain(dir.path(), 7);
    let caller = brain_base::caller::Caller::local(0);
    let slug = Slug::parse("p").unwrap();
    let page = PageRef { source: None, slug: slug.clone() };
    let answer =
        |request: Request| brain.answer(&caller, request, &brain_core::NoProgress).unwrap();
    let put = brain_protocol::Put {
        page: page.clone(),
        content: b"words\n".to_vec(),
        origin: brain_protocol::Origin::Stdin,
        allow_empty: false,
        expect: None,
    };
    answer(put.into());
    answer(Attach { page: page.clone(), name: "x.png".into(), content: b"x".to_vec() }.into());
    let hash = hash(b"x");
    let path = dir.path().join("home/attachments").join(&hash[..2]).join(&hash);
    answer(brain_protocol::Delete { page: page.clone(), expect: None }.into());
    clock.advance(72 * HOUR - 1);
    brain.pages.purge_due().unwrap();
    assert!(path.exists());
    answer(brain_protocol::Restore { page: page.clone() }.into());
    let get = AttachmentGet { page: page.clone(), name: "x.png".into() };
    assert!(matches!(answer(get.into()), Reply::AttachmentContent(it) if it.content == b"x"));
    answer(brain_protocol::Delete { page, expect: None }.into());
    clock.advance(72 * HOUR);
    brain.pages.purge_due().unwrap();
    assert!(!path.exists());
}

#[test]
fn orphans_are_removed_after_an_hour_and_files_of_others_never() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("p", "words\n");
    attach(&home, "p", "x.png", b"kept");
    let old = SystemTime::now() - Duration::from_secs(61 * 60);
    let write_old_file = |path: &Path| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
        fs::File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
    };
    // The files that a kill between the two steps of an attach leaves.
    let (orphan, young) = (stored_file(&home, b"orphan"), stored_file(&home, b"young"));
    let dir = home.path().join("attachments");
    let unfinished = dir.join("00/.4711-3.new");
    let foreign = [dir.join("mine.png"), dir.join("00/mine.png"), dir.join("zz").join(hash(b"z"))];
    for path in foreign.iter().chain([&orphan, &unfinished]) {
        write_old_file(path);
    }
    fs::create_dir_all(young.parent().unwrap()).unwrap();
    fs::write(&young, "young").unwrap();
    let attached = fs::File::options().write(true).open(stored_file(&home, b"kept")).unwrap();
    attached.set_modified(old).unwrap();
    home.brain(["doctor", "--fix"]);
    assert!(!orphan.exists() && !unfinished.exists());
    assert!(young.exists() && stored_file(&home, b"kept").exists());
    for path in foreign {
        assert!(path.exists(), "{} belongs to the owner", path.display());
    }
}

#[test]
fn acknowledged_files_survive_sigkill() {
    let home = TestHome::new();
    let content = |round: usize, writer: usize, n: usize| {
        let text = format!("{round} {writer} {n} ");
        text.repeat(1 + n * 997 % 20_000).into_bytes()
    };
    let page =
        |writer: usize| PageRef { source: None, slug: Slug::parse(format!("w{writer}")).unwrap() };
    // Writer, name and content of each acknowledged file.
    let mut acknowledged: Vec<(usize, String, Vec<u8>)> = Vec::new();
    for round in 0..8_usize {
        let daemon = home.daemon();
        if round == 0 {
            for writer in 0..3 {
                home.put(&format!("w{writer}"), "words\n");
            }
        }
        let count = &AtomicUsize::new(0);
        acknowledged.extend(std::thread::scope(|scope| -> Vec<_> {
            let writers: Vec<_> = (0..3)
                .map(|writer| {
                    let mut client = home.connect().expect("no answer of the daemon");
                    scope.spawn(move || {
                        let mut done = Vec::new();
                        for n in 0.. {
                            let (name, content) =
                                (format!("{round}-{n}.bin"), content(round, writer, n));
                            let request = Attach {
                                page: page(writer),
                                name: name.clone(),
                                content: content.clone(),
                            };
                            match client.try_ask(&request.into()) {
                                Some(Ok(Reply::Attach(_))) => done.push((writer, name, content)),
                                None => break,
                                other => panic!("{other:?}"),
                            }
                            count.fetch_add(1, Ordering::Relaxed);
                        }
                        done
                    })
                })
                .collect();
            while count.load(Ordering::Relaxed) < 3 && !writers[0].is_finished() {
                std::thread::sleep(Duration::from_millis(2));
            }
            std::thread::sleep(Duration::from_millis(40 + 37 * round as u64));
            daemon.kill();
            writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
        }));
    }
    let _daemon = home.daemon();
    let mut client = home.connect().unwrap();
    assert!(acknowledged.len() > 20, "only {} files", acknowledged.len());
    for (writer, name, content) in &acknowledged {
        let get = AttachmentGet { page: page(*writer), name: name.clone() };
        match client.ask(&get.into()) {
            Ok(Reply::AttachmentContent(found)) => assert_eq!(&found.content, content, "{name}"),
            other => panic!("{name} of w{writer}: {other:?}"),
        }
    }
    let checks = home.json(["doctor"])["checks"].clone();
    let check = checks.as_array().unwrap().iter().find(|it| it["name"] == "attachments").unwrap();
    assert_eq!(check["status"], "ok", "{check}");
}

#[test]
fn an_export_has_the_files_beside_their_pages() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for (slug, bytes) in [("t/a", &b"one"[..]), ("t/b", b"one"), ("u/c", b"two")] {
        home.put(slug, "![[x.png]]\n");
        attach(&home, slug, "x.png", bytes);
    }
    let target = home.outside().join("export");
    let reply = home.json(["export", target.to_str().unwrap()]);
    assert_eq!((&reply["status"], &reply["attachments"]), (&json!("done"), &json!(2)));
    assert_eq!(fs::read(target.join("t/x.png")).unwrap(), b"one");
    assert_eq!(fs::read(target.join("u/x.png")).unwrap(), b"two");
    assert!(fs::read_to_string(target.join("u/c.md")).unwrap().contains("x.png"));

    // Two files of one name in one directory: both are written, and the export says so.
    home.put("t/d", "![[x.png]]\n");
    attach(&home, "t/d", "x.png", b"three");
    let target = home.outside().join("again");
    let run = home.brain(["export", target.to_str().unwrap(), "--json"]).expect(1);
    let reply: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&reply["status"], &reply["failed_total"]), (&json!("partial"), &json!(1)));
    assert!(reply["failed"][0]["reason"].as_str().unwrap().contains("another file"), "{reply}");
    assert_eq!(fs::read(target.join("attachments/t/d/x.png")).unwrap(), b"three");
    assert_eq!(fs::read(target.join("t/x.png")).unwrap(), b"one");
}

#[test]
fn an_import_takes_exported_files_back() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let large: Vec<u8> = (0..3_000_000_u32).map(|n| (n / 7 % 251) as u8).collect();
    let files: [(&str, &str, &[u8]); 5] = [
        ("t/a", "x.png", b"one"),
        ("t/b", "x.png", b"two"),
        ("t/b", "\u{dc}bung 1.bin", b"\0\xff\r\n"),
        ("u/c", "large.bin", &large),
        ("plain", "page.html", b"<p>"),
    ];
    for (slug, name, bytes) in files {
        if home.brain(["get", slug]).code != 0 {
            home.put(slug, &format!("# {slug}\n\nwords\n"));
        }
        attach(&home, slug, name, bytes);
    }
    let target = home.outside().join("export");
    home.brain(["export", target.to_str().unwrap()]).expect(1);
    // A file that no page lists, and a symbolic link out of the directory.
    fs::write(target.join("t/other.png"), "other").unwrap();
    fs::write(home.outside().join("secret"), "secret").unwrap();
    fs::write(target.join("t/d.md"), "---\nattachments: [secret, none.png]\n---\nx\n").unwrap();
    std::os::unix::fs::symlink(home.outside().join("secret"), target.join("t/secret")).unwrap();

    let other = TestHome::new();
    let _other = other.daemon();
    let reply = other.json(["import", target.to_str().unwrap(), "--dry-run"]);
    assert_eq!((&reply["created"], &reply["failed_total"]), (&json!(5), &json!(0)), "{reply}");
    assert!(names(&other.json(["attachments"])).is_empty());
    for _ in 0..2 {
        let reply = other.json(["import", target.to_str().unwrap()]);
        assert_eq!((&reply["status"], &reply["failed_total"]), (&json!("done"), &json!(0)));
        for (slug, name, bytes) in files {
            let copy = other.outside().join(format!("copy-{}-{name}", slug.replace('/', "-")));
            let _ = fs::remove_file(&copy);
            let to = copy.to_str().unwrap();
            other.json(["attachments", slug, "--get", name, "--to", to]);
            assert!(fs::read(&copy).unwrap() == bytes, "{slug} {name}");
        }
        assert_eq!(names(&other.json(["attachments"])).len(), files.len());
        assert!(names(&other.json(["attachments", "t/d"])).is_empty());
    }
    // The file that the directory has now replaces the former one.
    fs::write(target.join("u/large.bin"), "changed").unwrap();
    other.json(["import", target.to_str().unwrap()]);
    let files = other.json(["attachments", "u/c"]);
    assert_eq!(files["attachments"][0]["bytes"], 7, "{files}");
}

#[test]
fn a_restored_backup_has_the_files() {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("p", "![[x.png]]\n");
    let large: Vec<u8> = (0..3_000_000_u32).map(|n| (n / 7 % 251) as u8).collect();
    attach(&home, "p", "x.png", b"picture");
    attach(&home, "p", "large.bin", &large);
    let backup = home.outside().join("b.redb");
    let backup = backup.to_str().unwrap();
    let reply = home.json(["backup", backup]);
    assert_eq!((&reply["attachments"], &reply["warnings"]), (&json!(2), &json!([])));
    let reply = home.json(["backup", "verify", backup]);
    assert_eq!((&reply["status"], &reply["attachments"]), (&json!("sound"), &json!(2)));
    daemon.terminate();

    let mut other = TestHome::new();
    other.env.retain(|(name, _)| name != "BRAIN_NO_START");
    other.json(["backup", "restore", backup]);
    let _daemon = other.daemon();
    assert_eq!(names(&other.json(["attachments", "p"])), ["large.bin", "x.png"]);
    let target = other.outside().join("l.bin");
    let target = target.to_str().unwrap();
    other.json(["attachments", "p", "--get", "large.bin", "--to", target]);
    assert_eq!(fs::read(target).unwrap(), large);
    assert_eq!(fs::read(stored_file(&other, b"picture")).unwrap(), b"picture");
    // A backup of the restored store contains the files, too.
    let bytes = fs::metadata(other.path().join("brain.redb")).unwrap().len();
    let again = other.outside().join("again.redb");
    other.json(["backup", again.to_str().unwrap()]);
    assert!(fs::metadata(&again).unwrap().len() > 3_000_000, "the store has {bytes} bytes");
}

#[test]
fn a_damaged_file_is_reported_and_the_rest_is_backed_up() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("p", "words\n");
    for (name, bytes) in [("a.png", b"aaa"), ("b.png", b"bbb"), ("c.png", b"ccc")] {
        attach(&home, "p", name, bytes);
    }
    fs::write(stored_file(&home, b"aaa"), "xxx").unwrap();
    fs::remove_file(stored_file(&home, b"bbb")).unwrap();
    let run = home.brain(["doctor", "--json"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == "attachments").unwrap();
    assert_eq!(check["status"], "fail", "{check}");
    let message = check["message"].as_str().unwrap();
    assert!(message.contains("a.png of") && message.contains("b.png of"), "{message}");
    assert!(!message.contains("c.png"), "{message}");
    assert!(check["hint"].as_str().unwrap().contains("brain attach"), "{check}");
    for name in ["a.png", "b.png"] {
        let error = home.fault(["attachments", "p", "--get", name], 1);
        assert_eq!(error["code"], "attachment_damaged", "{error}");
    }
    let backup = home.outside().join("b.redb");
    let backup = backup.to_str().unwrap();
    for reply in [home.json(["backup", backup]), home.json(["backup", "verify", backup])] {
        assert_eq!(reply["attachments"], 1);
        assert!(reply["warnings"][0].as_str().unwrap().contains("2 files"), "{reply}");
    }
    // The same file again repairs it.
    for (name, bytes) in [("a.png", b"aaa"), ("b.png", b"bbb")] {
        assert_eq!(attach(&home, "p", name, bytes)["status"], "unchanged");
    }
    let checks = home.json(["doctor"])["checks"].clone();
    let check = checks.as_array().unwrap().iter().find(|it| it["name"] == "attachments").unwrap();
    assert_eq!(check["status"], "ok", "{check}");
}

#[test]
fn a_restricted_client_learns_nothing_of_hidden_files() {
    let home = TestHome::new();
    let work = home.outside().join("work");
    fs::create_dir_all(&work).unwrap();
    let _daemon = home.daemon();
    home.json(["sources", "add", "work", "--path", work.to_str().unwrap()]);
    home.put("secret-page", "words\n");
    home.put("work:open", "words\n");
    attach(&home, "secret-page", "hidden-name.png", b"same");
    attach(&home, "work:open", "open-name.png", b"same");
    let text = fs::read_to_string(work.join("open.md")).unwrap();
    assert!(text.contains("open-name.png"), "{text}");
    let client = mcp(&home, &home.token("t", "read write", &["work"]));
    let all = mcp(&home, &home.token("all", "read", &[])).call("list_pages", json!({}));
    assert!(all.to_string().contains("secret-page"), "{all}");
    for (tool, arguments) in [
        ("list_pages", json!({})),
        ("query", json!({"query": "name"})),
        ("get_page", json!({"slug": "work:open"})),
        ("brain_status", json!({})),
    ] {
        let answer = client.call(tool, arguments).to_string();
        for hidden in ["hidden-name", "secret-page", &hash(b"same")] {
            assert!(!answer.contains(hidden), "{tool}: {answer}");
        }
    }
    assert_eq!(names(&home.json(["attachments"])).len(), 2);
    assert_eq!(names(&home.json(["attachments", "--source", "work"])), ["open-name.png"]);
}
