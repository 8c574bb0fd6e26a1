//! Export: the files of all pages at one moment, written only inside the target directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use brain_tests::TestHome;
use redb::{Database, ReadableTable, TableDefinition};

use crate::backup::{Writers, files_below};

fn path_str(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Returns the page files below a directory.
fn page_files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = files_below(dir);
    files.retain(|path, _| !path.starts_with(".trash"));
    files
}

#[test]
fn exports_contain_the_files_of_all_active_pages() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("people/ann", "---\ntitle: Ann\n# a comment\ntags: [friend]\n---\nold\n");
    home.put("people/ann", "---\ntitle: Ann\n# a comment\ntags: [friend]\n---\nnew\r\nlines\r\n");
    home.put(".hidden/x", "begins with a dot\n");
    home.put("ding/übung", "---\n---\nno frontmatter\n");
    home.put("long/".repeat(20).trim_end_matches('/'), "x\n");
    home.put(&format!("n/{}", "é".repeat(200)), "a long name\n");
    home.json(["capture", "a thought"]);
    home.put("old/gone", "deleted\n");
    home.json(["delete", "old/gone"]);
    let out = home.outside().join("made/anew");
    let exported = home.json(["export", path_str(&out)]);
    let written = page_files(&out);
    assert_eq!(written, page_files(&home.path().join("pages")));
    assert_eq!((&exported["status"], &exported["files"]), (&"done".into(), &written.len().into()));
    assert_eq!(exported["bytes"], written.values().map(Vec::len).sum::<usize>());
    assert_eq!(
        (&exported["path"], &exported["failed"]),
        (&path_str(&out).into(), &serde_json::json!([]))
    );
    // An empty directory is accepted. A relative path starts at the client's directory.
    fs::create_dir(home.outside().join("empty")).unwrap();
    let mut command = home.command("brain");
    command.args(["export", "empty"]).current_dir(home.outside());
    let output = brain_tests::run(command, b"").expect(0);
    assert!(output.stdout.contains("wrote 6 pages"), "{output:?}");
    assert_eq!(files_below(&home.outside().join("empty")), files_below(&out));
    // An export can be imported, and the pages are the same.
    let other = TestHome::new();
    let _other = other.daemon();
    assert_eq!(other.json(["import", path_str(&out)])["created"], 6);
    assert_eq!(other.get("people/ann")["body"], home.get("people/ann")["body"]);
}

#[test]
fn unsuitable_directories_are_rejected_unchanged() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "mine\n");
    let out = home.outside().join("out");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("a.md"), "somebody's\n").unwrap();
    let error = home.fault(["export", path_str(&out)], 1);
    assert_eq!(error["code"], "conflict", "{error}");
    assert!(error["message"].as_str().unwrap().contains(path_str(&out)), "{error}");
    let file = out.join("a.md");
    assert_eq!(home.fault(["export", path_str(&file)], 1)["code"], "conflict");
    assert_eq!(files_below(&out), BTreeMap::from([("a.md".into(), b"somebody's\n".to_vec())]));
    // In directories that brain reads, copies would become pages.
    for own in [home.path(), home.path().join("pages"), home.path().join("pages/deep/er")] {
        let error = home.fault(["export", path_str(&own)], 2);
        assert!(error["message"].as_str().unwrap().contains(path_str(&home.path())), "{error}");
    }
    std::os::unix::fs::symlink(home.path(), home.outside().join("link")).unwrap();
    assert_eq!(
        home.fault(["export", path_str(&home.outside().join("link/x"))], 2)["code"],
        "usage"
    );
    assert_eq!(
        home.fault(["export", "/tmp/x", "--source", "nowhere"], 4)["code"],
        "unknown_source"
    );
    assert!(!home.path().join("pages/deep").exists());
}

#[test]
fn each_source_gets_its_own_directory() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let work = home.outside().join("work");
    fs::create_dir_all(work.join("deep")).unwrap();
    home.json(["sources", "add", "work", "--path", path_str(&work)]);
    home.put("same", "of the default source\n");
    home.json_with(["put", "same", "--source", "work"], b"of work\n");
    home.json_with(["put", "deep/er", "--source", "work"], b"deeper\n");
    let all = home.outside().join("all");
    assert_eq!(home.json(["export", path_str(&all)])["files"], 3);
    let names: Vec<_> = files_below(&all).into_keys().collect();
    let expected = ["default/same.md", "work/deep/er.md", "work/same.md"].map(PathBuf::from);
    assert_eq!(names, expected);
    assert_eq!(
        fs::read(all.join("work/same.md")).unwrap(),
        fs::read(work.join("same.md")).unwrap()
    );
    let one = home.outside().join("one");
    assert_eq!(home.json(["export", path_str(&one), "--source", "work"])["files"], 2);
    assert_eq!(
        files_below(&one).into_keys().collect::<Vec<_>>(),
        ["deep/er.md", "same.md"].map(PathBuf::from)
    );
    let error = home.fault(["export", path_str(&work.join("copies"))], 2);
    assert!(error["message"].as_str().unwrap().contains(path_str(&work)), "{error}");
}

#[test]
fn exports_under_load_are_consistent() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let writers = Writers::new(4);
    let mut exported = Vec::new();
    writers.during(&home, || {
        for n in 0..4 {
            std::thread::sleep(Duration::from_millis(150));
            let out = home.outside().join(format!("{n}"));
            let before = writers.acknowledged();
            home.json(["export", path_str(&out)]);
            exported.push((out, before, writers.acknowledged()));
        }
    });
    for (out, before, after) in exported {
        let bodies = files_below(&out).into_iter().map(|(path, bytes)| {
            let text = String::from_utf8(bytes).unwrap();
            let body =
                text.split_once("\n---\n\n").expect("the file has no frontmatter").1.to_owned();
            (path.with_extension("").to_str().unwrap().to_owned(), body)
        });
        writers.check(&bodies.collect(), &before, &after);
    }
}

const PAGES: TableDefinition<(&str, &str), &[u8]> = TableDefinition::new("pages");
const CONTENTS: TableDefinition<u64, &[u8]> = TableDefinition::new("contents");

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xEDB8_8320 * (sum & 1)))
    })
}

#[test]
fn stored_paths_of_pages_cannot_leave_the_directory() {
    let home = TestHome::new();
    let daemon = home.daemon();
    let hostile_paths =
        ["../../../../etc/evil.md", "/absolute/evil/path.md.", "sub/../../../../../x.md"];
    for (n, hostile_path) in hostile_paths.iter().enumerate() {
        // A path of the same length can replace the stored bytes.
        let slug = format!("{n}{}", "y".repeat(hostile_path.len() - ".md".len() - 1));
        home.put(&slug, &format!("page {n}\n"));
    }
    home.put("plain", "plain\n");
    assert!(daemon.terminate().0.success());
    let db = Database::open(home.path().join("brain.redb")).unwrap();
    let txn = db.begin_write().unwrap();
    {
        let mut pages = txn.open_table(PAGES).unwrap();
        for (n, hostile_path) in hostile_paths.iter().enumerate() {
            let slug = format!("{n}{}", "y".repeat(hostile_path.len() - ".md".len() - 1));
            let mut bytes =
                pages.get(("default", slug.as_str())).unwrap().unwrap().value().to_vec();
            let path = format!("{slug}.md");
            let at = bytes.windows(path.len()).position(|w| w == path.as_bytes()).unwrap();
            bytes[at..at + path.len()].copy_from_slice(hostile_path.as_bytes());
            // An attacker can compute the checksum.
            let checksum_at = bytes.len() - 4;
            let forged = crc32(&bytes[..checksum_at]).to_le_bytes();
            bytes[checksum_at..].copy_from_slice(&forged);
            pages.insert(("default", slug.as_str()), bytes.as_slice()).unwrap();
        }
    }
    txn.commit().unwrap();
    drop(db);
    let _daemon = home.daemon();
    let before = files_below(&home.path().join("pages"));
    let out = home.outside().join("out");
    let exported = home.json(["export", path_str(&out)]);
    assert_eq!(
        (&exported["status"], &exported["files"]),
        (&"done".into(), &4.into()),
        "{exported}"
    );
    let files = files_below(&out);
    assert_eq!(files.len(), 4);
    for n in 0..hostile_paths.len() {
        let (_, bytes) =
            files.iter().find(|(path, _)| path_str(path).starts_with(&n.to_string())).unwrap();
        assert!(String::from_utf8_lossy(bytes).ends_with(&format!("page {n}\n")));
    }
    assert_eq!(
        files_below(&home.path().join("pages")),
        before,
        "nothing is written outside the target"
    );
    let beside: Vec<_> =
        files_below(&home.outside()).into_keys().filter(|path| !path.starts_with("out")).collect();
    assert_eq!(beside, Vec::<PathBuf>::new());
    let above: Vec<_> = fs::read_dir(home.outside().parent().unwrap())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert!(
        above
            .iter()
            .all(|name| ["home", "outside", "daemon.log"].contains(&name.to_str().unwrap())),
        "{above:?}"
    );
    assert!(!Path::new("/etc/evil.md").exists() && !Path::new("/absolute/evil").exists());
}

#[test]
fn unreadable_pages_are_reported_and_others_exported() {
    let home = TestHome::new();
    let daemon = home.daemon();
    for n in 0..5 {
        home.put(&format!("p/{n}"), &format!("page {n}\n"));
    }
    assert!(daemon.terminate().0.success());
    let db = Database::open(home.path().join("brain.redb")).unwrap();
    let txn = db.begin_write().unwrap();
    {
        let mut contents = txn.open_table(CONTENTS).unwrap();
        let third = contents.iter().unwrap().nth(2).unwrap().unwrap().0.value();
        contents.remove(third).unwrap();
    }
    txn.commit().unwrap();
    drop(db);
    let _daemon = home.daemon();
    let out = home.outside().join("out");
    let output = home.brain(["--json", "export", path_str(&out)]).expect(1);
    let exported = output.json();
    assert_eq!((&exported["status"], &exported["files"]), (&"partial".into(), &4.into()));
    assert_eq!(
        (&exported["failed_total"], &exported["failed"][0]["path"]),
        (&1.into(), &"p/2".into())
    );
    assert!(exported["failed"][0]["reason"].as_str().unwrap().contains("no text"), "{exported}");
    assert_eq!(files_below(&out).len(), 4);
    let failed = home.brain(["export", path_str(&home.outside().join("again"))]).expect(1);
    assert!(failed.stderr.contains("failed: p/2: "), "{failed:?}");
    // A backup of such a store fails, too.
    let file = home.outside().join("a.redb");
    let error = home.fault(["backup", path_str(&file)], 1);
    assert!(
        error["code"] == "store_damaged" && error["message"].as_str().unwrap().contains("p/2"),
        "{error}"
    );
    assert!(!file.exists());
}

#[test]
fn full_or_read_only_disks_are_reported() {
    let mut home = TestHome::new();
    let disk = home.outside().join("disk");
    if !home.mount(&disk, "size=300k") {
        return;
    }
    let _daemon = home.daemon();
    for n in 0..20 {
        home.put(&format!("p/{n}"), &format!("page {n} {}\n", "words ".repeat(5000)));
    }
    let out = disk.join("out");
    let error = home.fault(["export", path_str(&out)], 1);
    assert_eq!(error["code"], "disk_full", "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(path_str(&out)) && message.contains("of 20 pages"), "{error}");
    for (path, bytes) in files_below(&out) {
        assert_eq!(
            bytes,
            fs::read(home.path().join("pages").join(&path)).unwrap(),
            "a page is partly written: {path:?}"
        );
    }
    home.remount("ro");
    let error = home.fault(["export", path_str(&disk.join("other"))], 1);
    assert_eq!(error["code"], "read_only", "{error}");
    assert!(error["message"].as_str().unwrap().contains("other"), "{error}");
    assert_eq!(home.put("p/0", "writing goes on\n")["status"], "updated");
}
