//! `purge`: a secret that was captured by accident is gone, except from backups, which are named.

use std::fs;
use std::path::{Path, PathBuf};

use brain_tests::mcp::mcp;
use brain_tests::{TestHome, http, wait_for};
use serde_json::{Value, json};

use crate::faults::fill;
use crate::purge_crash::purge_check;
use crate::terminal::on_a_terminal_with_input;

const SECRET: &str = "hunter2-correct-horse";

/// Returns the files below `dir` that contain [`SECRET`].
fn files_with_secret(dir: &Path) -> Vec<PathBuf> {
    files_with(dir, SECRET)
}

/// Returns the files below `dir` that contain `secret` in their text or name.
pub(crate) fn files_with(dir: &Path, secret: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files_with(&path, secret));
        } else if kind.is_file() {
            let bytes = fs::read(&path).unwrap_or_default();
            let is_named = entry.file_name().to_string_lossy().contains(secret);
            if is_named || bytes.windows(secret.len()).any(|part| part == secret.as_bytes()) {
                found.push(path);
            }
        }
    }
    found
}

fn texts_of(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_purged_page_is_gone_from_the_whole_home() {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("other", "kept\n");
    home.put("notes/key", &format!("first {SECRET}\n"));
    home.put("notes/key", &format!("second {SECRET}\n"));
    let token = home.token("phone", "write", &[]);
    let _ = http::ingest(home.http_local(), &token, "an ordinary text").expect(202);
    assert!(!files_with_secret(&home.path()).is_empty());
    let reply = home.json(["purge", "notes/key", "--now", "--yes"]);
    assert_eq!((&reply["status"], &reply["versions"]), (&json!("purged"), &json!(2)));
    assert_eq!((&reply["backups"], &reply["warnings"]), (&json!([]), &json!([])));
    assert_eq!(home.fault(["get", "notes/key"], 4)["code"], "not_found");
    assert_eq!(home.fault(["restore", "notes/key"], 4)["code"], "not_found");
    assert!(home.search("hunter2").is_empty());
    assert_eq!(files_with_secret(&home.path()), Vec::<PathBuf>::new());
    home.put("notes/key", "another\n");
    assert_eq!(home.get("other")["body"], "kept\n");
    daemon.terminate();
    assert_eq!(files_with_secret(&home.path()), Vec::<PathBuf>::new());
    let _daemon = home.daemon();
    assert_eq!(home.get("notes/key")["version"], 1);
    assert_eq!(home.search("kept"), ["other"]);
}

#[test]
fn a_deleted_page_is_purged_from_the_trash() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("key", &format!("{SECRET}\n"));
    home.json(["delete", "key"]);
    let trash = home.path().join("pages/.trash");
    assert_eq!(files_with_secret(&trash), [trash.join("key.md")]);
    home.json(["purge", "key", "--now", "--yes"]);
    assert_eq!(files_with_secret(&home.path()), Vec::<PathBuf>::new());
}

#[test]
fn one_version_is_purged_and_the_page_stays() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("key", &format!("with {SECRET}\n"));
    home.put("key", "without\n");
    let error = home.fault(["purge", "key", "--version", "2", "--now", "--yes"], 1);
    assert_eq!(error["code"], "conflict");
    let reply = home.json(["purge", "key", "--version", "1", "--now", "--yes"]);
    assert_eq!((&reply["version"], &reply["versions"]), (&json!(1), &json!(1)));
    assert_eq!(home.get("key")["body"], "without\n");
    assert_eq!(home.search("without"), ["key"]);
    assert_eq!(home.fault(["get", "key", "--version", "1"], 4)["code"], "unknown_version");
    assert_eq!(files_with_secret(&home.path()), Vec::<PathBuf>::new());
    let error = home.fault(["purge", "key", "--version", "1", "--now", "--yes"], 4);
    assert_eq!(error["code"], "unknown_version");
}

#[test]
fn a_purge_names_the_backups_that_contain_the_page() {
    let mut home = TestHome::new();
    let backups = home.outside().join("backups");
    fs::create_dir_all(&backups).unwrap();
    let dir = backups.display().to_string();
    home.env.push(("BRAIN_BACKUP_DIR".into(), dir));
    let _daemon = home.daemon();
    home.put("other", "x\n");
    home.json(["backup", backups.join("before.redb").to_str().unwrap()]);
    home.put("key", &format!("{SECRET}\n"));
    let backup_with_page = backups.join("with.redb");
    home.json(["backup", backup_with_page.to_str().unwrap()]);
    let reply = home.json(["purge", "key", "--now", "--yes"]);
    // A scheduled backup may have been made meanwhile.
    let backup_list = reply["backups"].to_string();
    assert!(backup_list.contains(&backup_with_page.display().to_string()), "{backup_list}");
    assert!(!backup_list.contains("before.redb"), "{backup_list}");
}

#[test]
fn names_and_ingest_jobs_of_a_purged_page_are_gone() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let token = home.token("phone", "write", &[]);
    let slug = format!("notes/{SECRET}");
    let sent = http::call(
        home.http_local(),
        "POST",
        "/ingest",
        &[
            ("Authorization", &format!("Bearer {token}")),
            ("Content-Type", "text/plain"),
            ("X-Brain-Slug", &slug),
            ("X-Brain-Title", &format!("Title {SECRET}")),
            ("X-Brain-Source-Uri", &format!("https://e.example/{SECRET}")),
        ],
        b"an ordinary text",
    );
    let job = sent.expect(202).json()["job_id"].clone();
    wait_for("no page", || home.page_file(&slug).exists());
    home.json(["tags", &slug, "--add", "x"]);
    home.put("other", "an [[alias]] of nothing\n");
    home.json(["purge", &slug, "--now", "--yes"]);
    assert_eq!(files_with_secret(&home.path()), Vec::<PathBuf>::new());
    let job = job.to_string().trim_matches('"').to_owned();
    assert_eq!(home.fault(["jobs", "show", &job], 4)["code"], "unknown_job");
    assert_eq!(purge_check(&home)["status"], "ok");
}

#[test]
fn a_purge_on_a_full_disk_is_finished_later() {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_STORE_MIN_FREE_MB".into(), "20".into()));
    let path = home.path();
    if !home.mount(&path, "size=90m,mode=700") {
        return;
    }
    let daemon = home.daemon();
    home.put("key", &format!("{SECRET}\n"));
    let filler = fill(&home.path(), 15_000_000);
    let reply = home.json(["purge", "key", "--now", "--yes"]);
    assert_eq!(reply["status"], "unfinished", "{reply}");
    assert!(reply["warnings"].to_string().contains("until the purge is finished"), "{reply}");
    let check = purge_check(&home);
    assert_eq!(check["status"], "warn", "{check}");
    assert!(check["message"].as_str().unwrap().contains("1 purge is not finished"), "{check}");
    // Asking again says the same; the page is gone.
    let again = home.json(["purge", "key", "--now", "--yes"]);
    assert_eq!((&again["status"], &again["versions"]), (&json!("unfinished"), &json!(0)));
    assert_eq!(home.fault(["get", "key"], 4)["code"], "not_found");
    // The next start finishes it once there is space.
    daemon.terminate();
    fs::remove_file(filler).unwrap();
    let _daemon = home.daemon();
    wait_for("the purge is not finished", || purge_check(&home)["status"] == "ok");
    assert_eq!(files_with_secret(&home.path()), Vec::<PathBuf>::new());
    assert_eq!(home.json(["purge", "key", "--now", "--yes"])["status"], "purged");
    assert_eq!(home.fault(["purge", "other", "--now", "--yes"], 4)["code"], "not_found");
}

#[test]
fn a_purge_names_former_stores_and_failed_edits() {
    let mut home = TestHome::new();
    let temporary = home.outside().join("tmp");
    let edit = temporary.join("brain-edit-1-0");
    fs::create_dir_all(&edit).unwrap();
    home.env.push(("TMPDIR".into(), temporary.display().to_string()));
    home.put("key", &format!("{SECRET}\n"));
    home.json(["stop"]);
    let dir = home.path();
    let torn = dir.join("brain.redb.torn-20261129T030000Z");
    let sharing = dir.join("brain.redb.before-sharing-1");
    fs::copy(dir.join("brain.redb"), &sharing).unwrap();
    fs::write(&torn, "half a store").unwrap();
    let pages = dir.join("pages.before-joining-1");
    fs::create_dir(&pages).unwrap();
    fs::write(pages.join("key.md"), SECRET).unwrap();
    fs::write(edit.join("key.md"), SECRET).unwrap();
    fs::write(edit.join("other.md"), SECRET).unwrap();
    let _daemon = home.daemon();
    let reply = home.json(["purge", "key", "--now", "--yes"]);
    let named: Vec<PathBuf> = texts_of(&reply["backups"]).into_iter().map(PathBuf::from).collect();
    let expected = [sharing, torn, pages.join("key.md"), edit.join("key.md")];
    assert_eq!(named, expected, "{reply}");
}

#[test]
fn a_purge_removes_the_file_in_a_directory() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let vault = home.outside().join("vault");
    fs::create_dir_all(&vault).unwrap();
    fs::write(vault.join("key.md"), format!("{SECRET}\r\n")).unwrap();
    home.json(["sources", "add", "vault", "--path", vault.to_str().unwrap()]);
    home.json(["sync", "--source", "vault"]);
    home.json(["purge", "key", "--source", "vault", "--now", "--yes"]);
    assert!(!vault.join("key.md").exists());
    assert_eq!(files_with_secret(&vault), Vec::<PathBuf>::new());
    home.json(["sync", "--source", "vault"]);
    assert_eq!(home.fault(["get", "key", "--source", "vault"], 4)["code"], "not_found");
}

#[test]
fn a_purge_finds_the_only_page_with_its_slug() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for source in ["work", "attic"] {
        let dir = home.outside().join(source);
        fs::create_dir_all(&dir).unwrap();
        home.json(["sources", "add", source, dir.to_str().unwrap()]);
    }
    for page in ["shared", "work:shared", "work:plan", "work:both", "attic:both"] {
        home.brain_with(["put", page], b"x\n").expect(0);
    }
    let purge = |page| ["purge", page, "--now", "--yes"];
    let output = home.brain(purge("plan")).expect(0).stdout;
    assert!(output.starts_with("purged work:plan (1 version)"), "{output}");
    // The page of the default source comes first.
    assert_eq!(home.json(purge("shared"))["source_id"], "default");
    assert_eq!(home.json(purge("work:shared"))["source_id"], "work");
    // An ambiguous slug and the beginning of a slug purge nothing.
    assert_eq!(home.fault(purge("both"), 4)["code"], "ambiguous_slug");
    home.json(["delete", "attic:both"]);
    let several = home.fault(purge("both"), 4);
    assert_eq!(several["code"], "ambiguous_slug");
    let message = several["message"].as_str().unwrap();
    assert!(message.contains("work:both") && message.contains("attic:both"), "{message}");
    home.json(purge("work:both"));
    assert_eq!(home.json(purge("both"))["source_id"], "attic", "a deleted page is purged, too");
    home.put("people/ada-lovelace", "x\n");
    let short = home.fault(purge("people/ada"), 4);
    assert_eq!(short["code"], "not_found");
    assert!(short["hint"].as_str().unwrap().contains("people/ada-lovelace"), "{short}");
    assert_eq!(home.get("people/ada-lovelace")["body"], "x\n");
}

#[test]
fn a_purge_needs_a_confirmation() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("key", "x\n");
    assert_eq!(home.fault(["purge", "key"], 2)["code"], "usage");
    assert_eq!(home.fault(["purge", "key", "--now"], 5)["code"], "confirmation_needed");
    let purge = &["purge", "key", "--now"];
    let Some((code, output)) = on_a_terminal_with_input(&home, 80, "n\n", &[], purge) else {
        return;
    };
    assert_eq!(code, 5, "{output}");
    assert_eq!(home.get("key")["body"], "x\n");
    let Some((code, output)) = on_a_terminal_with_input(&home, 80, "y\n", &[], purge) else {
        return;
    };
    assert_eq!(code, 0, "{output}");
    assert_eq!(home.fault(["get", "key"], 4)["code"], "not_found");
}

#[test]
fn a_purge_names_the_pages_that_were_made_from_it() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("key", "The secret.\n");
    let helm = mcp(&home, &home.token("helm", "read write", &[]));
    let page = json!({ "slug": "sum", "content": "Of the secret.\n", "made_from": ["key"] });
    let _ = helm.call("put_page", page);
    let done = home.json(["purge", "key", "--now", "--yes"]);
    let made = "made from it, so they may have its text: default:sum";
    assert!(texts_of(&done["warnings"]).iter().any(|it| it == made), "{done}");
}
