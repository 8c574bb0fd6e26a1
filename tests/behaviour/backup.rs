//! Backups: made under load, verified, restored. Damaged backups are rejected, and nothing is
//! overwritten.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use brain_protocol::{Origin, PageRef, Put, Reply, Request, Slug};
use brain_tests::{Client, Run, TEST_TIMEOUT, TestHome, run, slugs};
use redb::{Database, TableDefinition};

/// Writers that run until they are stopped: writer `w` puts `w<w>/p<n>` and then `w<w>/count` with
/// the text `n`, for n = 0, 1, 2 …
pub(crate) struct Writers {
    acknowledged: Vec<AtomicUsize>,
    stop: AtomicBool,
}

impl Writers {
    /// Creates writers that have not written yet.
    pub(crate) fn new(count: usize) -> Self {
        let acknowledged = (0..count).map(|_| AtomicUsize::new(0)).collect();
        Self { acknowledged, stop: AtomicBool::new(false) }
    }

    /// Runs `work` while the writers write to this home.
    pub(crate) fn during<T>(&self, home: &TestHome, work: impl FnOnce() -> T) -> T {
        self.stop.store(false, Ordering::SeqCst);
        std::thread::scope(|scope| {
            for writer in 0..self.acknowledged.len() {
                let socket = home.socket();
                scope.spawn(move || self.write(writer, &socket));
            }
            let result = work();
            self.stop.store(true, Ordering::SeqCst);
            result
        })
    }

    fn write(&self, writer: usize, socket: &Path) {
        let mut client = Client::connect(socket).expect("no answer of the daemon");
        let acknowledged = &self.acknowledged[writer];
        while !self.stop.load(Ordering::SeqCst) {
            let n = acknowledged.load(Ordering::SeqCst);
            let (slug, text) = match n % 2 {
                0 => (format!("w{writer}/p{}", n / 2), page(writer, n / 2)),
                _ => (format!("w{writer}/count"), format!("{}\n", n / 2)),
            };
            let page = PageRef { source: None, slug: Slug::parse(slug).unwrap() };
            let put = Put {
                page,
                content: text.into(),
                origin: Origin::Stdin,
                allow_empty: false,
                expect: None,
            };
            match client.ask(&Request::Put(put)) {
                Ok(Reply::Write(_)) => acknowledged.store(n + 1, Ordering::SeqCst),
                other => panic!("{other:?}"),
            }
        }
    }

    /// Returns the number of acknowledged writes of each writer.
    pub(crate) fn acknowledged(&self) -> Vec<usize> {
        self.acknowledged.iter().map(|n| n.load(Ordering::SeqCst)).collect()
    }

    /// Checks that `pages` (body by slug) are the result of the first m writes of each writer,
    /// where m is at least the number acknowledged before and at most the number that may have been
    /// sent after.
    pub(crate) fn check(
        &self,
        pages: &BTreeMap<String, String>,
        before: &[usize],
        after: &[usize],
    ) {
        let mut expected = BTreeMap::new();
        for (writer, (&low, &high)) in before.iter().zip(after).enumerate() {
            let page_count =
                (0..).take_while(|n| pages.contains_key(&format!("w{writer}/p{n}"))).count();
            let count = pages
                .get(&format!("w{writer}/count"))
                .map(|text| text.trim().parse::<usize>().unwrap());
            let writes = match count {
                Some(count) if count + 1 == page_count => 2 * page_count,
                Some(count) if count + 2 == page_count => 2 * page_count - 1,
                None if page_count < 2 => page_count,
                other => panic!("writer {writer}: {page_count} pages and the count is {other:?}"),
            };
            assert!(
                (low..=high + 1).contains(&writes),
                "writer {writer}: {low} <= {writes} <= {high} + 1"
            );
            let numbers = 0..page_count;
            expected.extend(numbers.map(|n| (format!("w{writer}/p{n}"), page(writer, n))));
            expected.extend(count.map(|n| (format!("w{writer}/count"), format!("{n}\n"))));
        }
        assert!(*pages == expected, "the backup has exactly the pages that were written");
    }
}

fn page(writer: usize, n: usize) -> String {
    format!("Page {n} of writer {writer}.\n\n{}\n", "Words about pumps and tides. ".repeat(n % 60))
}

/// Runs `brain-daemon --restore` for this home.
pub(crate) fn restore(home: &TestHome, file: &Path) -> Run {
    let mut command = home.command("brain-daemon");
    command.arg("--restore").arg(file).arg("--json");
    run(command, b"")
}

/// Returns the body of every active page by slug, read over the socket.
pub(crate) fn bodies_by_slug(home: &TestHome) -> BTreeMap<String, String> {
    let all = home.json(["list", "--all"]);
    let slugs = slugs(&all["pages"]);
    slugs
        .into_iter()
        .map(|slug| {
            let body = home.get(&slug)["body"].as_str().unwrap().to_owned();
            (slug, body)
        })
        .collect()
}

/// Returns all files below a directory, including hidden ones, with their bytes.
pub(crate) fn files_below(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(root: &Path, dir: &Path, out: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(dir).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(root, &path, out);
            } else if path.is_file() {
                out.insert(path.strip_prefix(root).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    let mut out = BTreeMap::new();
    walk(dir, dir, &mut out);
    out
}

/// Returns the sorted names in a directory.
pub(crate) fn file_names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn backups_under_load_contain_a_prefix_of_every_writers_work() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let writers = Writers::new(6);
    let mut backups = Vec::new();
    writers.during(&home, || {
        for n in 0..4 {
            std::thread::sleep(Duration::from_millis(150));
            let file = home.outside().join(format!("{n}.redb"));
            let before = writers.acknowledged();
            let made = home.json(["backup", file.to_str().unwrap()]);
            let after = writers.acknowledged();
            assert_eq!(made["status"], "written", "{made}");
            assert!(
                before.iter().zip(&after).any(|(b, a)| a > b),
                "the writers continue during the backup"
            );
            backups.push((file, before, after));
        }
    });
    for (file, before, after) in backups {
        let verified = home.json(["backup", "verify", file.to_str().unwrap()]);
        assert_eq!(verified["status"], "sound");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let fresh = TestHome::new();
        let restored = restore(&fresh, &file).expect(0).json();
        assert_eq!(
            (&restored["status"], &restored["pages"]),
            (&"restored".into(), &verified["pages"])
        );
        let _daemon = fresh.daemon();
        let pages = bodies_by_slug(&fresh);
        writers.check(&pages, &before, &after);
        for slug in pages.keys() {
            assert!(fresh.page_file(slug).exists(), "{slug} has its file");
        }
    }
    assert_eq!(
        file_names(&home.outside()),
        ["0.redb", "1.redb", "2.redb", "3.redb"],
        "nothing else is left"
    );
}

#[test]
fn damaged_backups_are_reported_and_not_restored() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for n in 0..20 {
        home.put(&format!("p/{n}"), &format!("page {n} {}\n", "words ".repeat(500)));
    }
    let good = home.outside().join("good.redb");
    home.json(["backup", good.to_str().unwrap()]);
    let bytes = fs::read(&good).unwrap();
    let words = bytes.windows(6).position(|w| w == b"words ").unwrap();
    let mut flipped = bytes.clone();
    flipped[words + 1] ^= 0x20;
    let newer = home.outside().join("newer.redb");
    fs::copy(&good, &newer).unwrap();
    set_schema(&newer, 4711);
    let theirs = home.outside().join("theirs.redb");
    let db = Database::create(&theirs).unwrap();
    let txn = db.begin_write().unwrap();
    txn.open_table(TableDefinition::<&str, u64>::new("theirs")).unwrap().insert("x", 1).unwrap();
    txn.commit().unwrap();
    drop(db);
    let cases: &[(&str, Option<&[u8]>, &str, &str)] = &[
        ("flipped.redb", Some(&flipped), "store_damaged", "corrupted"),
        ("half.redb", Some(&bytes[..bytes.len() / 2]), "store_damaged", "truncated"),
        ("empty.redb", Some(b""), "store_damaged", "is empty"),
        ("text.redb", Some(b"# not a store at all\n"), "store_damaged", "is not a brain store"),
        ("zeros.redb", Some(&[0; 100_000]), "store_damaged", "is not a brain store"),
        ("theirs.redb", None, "store_damaged", "is not a brain store"),
        ("newer.redb", None, "store_newer", "4711"),
    ];
    for (name, content, code, words) in cases {
        let path = home.outside().join(name);
        if let Some(content) = content {
            fs::write(&path, content).unwrap();
        }
        let before = fs::read(&path).unwrap();
        let error = home.fault(["backup", "verify", path.to_str().unwrap()], 1);
        let fresh = TestHome::new();
        let refused = restore(&fresh, &path).expect(1).json();
        for error in [&error, &refused["error"]] {
            let message = error["message"].as_str().unwrap();
            assert_eq!(error["code"], *code, "{name}: {error}");
            assert!(message.contains(name) && message.contains(words), "{name}: {error}");
            assert!(error["hint"].is_string(), "{error}");
        }
        assert!(!fresh.path().join("brain.redb").exists(), "{name}");
        assert!(fs::read(&path).unwrap() == before, "{name} is left as it is");
        // The home is unchanged.
        restore(&fresh, &good).expect(0);
    }
    let pipe = home.outside().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    let error = home.fault(["backup", "verify", pipe.to_str().unwrap()], 1);
    assert!(error["message"].as_str().unwrap().ends_with("pipe is not a file"), "{error}");
    let missing = home.fault(["backup", "verify", "/no/such/file"], 1);
    assert!(missing["message"].as_str().unwrap().contains("ENOENT"), "{missing}");
    let own = home.path().join("brain.redb");
    let locked = home.fault(["backup", "verify", own.to_str().unwrap()], 1);
    assert_eq!(locked["code"], "store_locked", "{locked}");
    assert_eq!(home.fault(["backup", "verify"], 2)["code"], "usage");
    assert_eq!(home.fault(["backup", "one", "two"], 2)["code"], "usage");
    let nowhere = restore(&TestHome::new(), Path::new("/no/such/file")).expect(1).json();
    assert!(nowhere["error"]["message"].as_str().unwrap().contains("/no/such/file"), "{nowhere}");
    assert!(!home.log().contains("panicked"), "{}", home.log());
}

#[test]
fn an_existing_file_is_never_overwritten_by_a_backup() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "x\n");
    let outside = home.outside();
    let file = outside.join("there");
    fs::write(&file, "somebody's").unwrap();
    std::os::unix::fs::symlink(outside.join("nowhere"), outside.join("link")).unwrap();
    fs::create_dir(outside.join("dir")).unwrap();
    let own = home.path().join("brain.redb");
    for path in [&file, &outside.join("link"), &outside.join("dir"), &own] {
        let error = home.fault(["backup", path.to_str().unwrap()], 1);
        assert_eq!(error["code"], "conflict", "{error}");
        assert!(error["message"].as_str().unwrap().contains(path.to_str().unwrap()), "{error}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "somebody's");
    assert!(!outside.join("nowhere").exists());
    let error = home.fault(["backup", outside.join("no/dir.redb").to_str().unwrap()], 1);
    assert!(error["hint"].as_str().unwrap().starts_with("mkdir -p "), "{error}");
    assert_eq!(file_names(&outside), ["dir", "link", "there"]);
    // Two concurrent backups to one path: one is written completely, the other fails.
    let target = outside.join("both.redb");
    let outcomes: Vec<i32> = std::thread::scope(|scope| {
        let both: Vec<_> = (0..2)
            .map(|_| scope.spawn(|| home.brain(["backup", target.to_str().unwrap()]).code))
            .collect();
        both.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(
        outcomes.contains(&0) && outcomes.iter().all(|code| [0, 1].contains(code)),
        "{outcomes:?}"
    );
    home.json(["backup", "verify", target.to_str().unwrap()]);
    assert_eq!(file_names(&outside), ["both.redb", "dir", "link", "there"]);
    // A relative path is relative to the client.
    let mut command = home.command("brain");
    command.args(["backup", "here.redb", "-q"]).current_dir(&outside);
    assert_eq!(
        run(command, b"").expect(0).stdout,
        format!("{}\n", outside.join("here.redb").display())
    );
}

#[test]
fn backups_to_full_or_read_only_disks_fail_without_leftovers() {
    let mut home = TestHome::new();
    let disk = home.outside().join("disk");
    if !home.mount(&disk, "size=300k") {
        return;
    }
    let _daemon = home.daemon();
    for n in 0..20 {
        home.put(&format!("p/{n}"), &format!("page {n} {}\n", "words ".repeat(5000)));
    }
    let file = disk.join("a.redb");
    let error = home.fault(["backup", file.to_str().unwrap()], 1);
    assert_eq!(error["code"], "disk_full", "{error}");
    assert!(error["message"].as_str().unwrap().contains(file.to_str().unwrap()), "{error}");
    assert_eq!(file_names(&disk), Vec::<String>::new());
    assert_eq!(
        home.put("p/0", "writing goes on\n")["status"],
        "updated",
        "the failed backup does not affect writes"
    );
    // A restore into a home on a full disk leaves nothing there.
    let good = home.outside().join("good.redb");
    home.json(["backup", good.to_str().unwrap()]);
    let mut command = home.command("brain-daemon");
    command.args(["--json", "--restore"]).arg(&good).env("BRAIN_HOME", disk.join("home"));
    let refused = run(command, b"").expect(1).json();
    assert_eq!(refused["error"]["code"], "disk_full", "{refused}");
    assert_eq!(file_names(&disk), Vec::<String>::new());
    home.remount("ro");
    let error = home.fault(["backup", file.to_str().unwrap()], 1);
    assert_eq!(error["code"], "read_only", "{error}");
    assert!(error["message"].as_str().unwrap().contains(file.to_str().unwrap()), "{error}");
}

#[test]
fn killing_the_daemon_leaves_no_partial_backup() {
    let home = TestHome::new();
    let backups = home.outside().join("backups");
    fs::create_dir_all(&backups).unwrap();
    let first = home.daemon();
    for n in 0..60 {
        home.put(&format!("p/{n}"), &format!("page {n} {}\n", "words ".repeat(5000)));
    }
    let start = std::time::Instant::now();
    home.json(["backup", backups.join("whole.redb").to_str().unwrap()]);
    let usual_duration = start.elapsed();
    first.kill();
    let mut killed_in_time = 0;
    for round in 0_u32..8 {
        let daemon = home.daemon();
        let target = backups.join(format!("{round}.redb"));
        std::thread::scope(|scope| {
            let client =
                scope.spawn(|| home.brain(["--no-start", "backup", target.to_str().unwrap()]).code);
            std::thread::sleep(usual_duration * round / 8);
            daemon.kill();
            killed_in_time += usize::from(client.join().unwrap() != 0);
        });
        let _daemon = home.daemon();
        if target.exists() {
            home.json(["backup", "verify", target.to_str().unwrap()]);
        } else {
            home.json(["backup", target.to_str().unwrap()]);
        }
        let leftovers: Vec<_> = file_names(&backups)
            .into_iter()
            .filter(|name| name.starts_with(&format!(".{round}")))
            .collect();
        assert_eq!(
            leftovers,
            Vec::<String>::new(),
            "the next backup removes the files of the killed one"
        );
    }
    assert!(killed_in_time > 0, "at least one was killed in the middle");
}

#[test]
fn the_daemon_makes_scheduled_backups() {
    let home = TestHome::new();
    fs::create_dir_all(home.path()).unwrap();
    fs::write(
        home.path().join("config.toml"),
        "[backup]\ndir = \"kept\"\nevery = \"12h\"\nkeep = 3\n",
    )
    .unwrap();
    let _daemon = home.daemon();
    home.put("a", "walrus\n");
    let dir = home.path().join("kept");
    // If another job occupies the first minute, the backup is made in a later one.
    let deadline = std::time::Instant::now() + 2 * TEST_TIMEOUT;
    let made = loop {
        let found = names_or_none(&dir).into_iter().find(|name| !name.starts_with('.'));
        if let Some(name) = found {
            break dir.join(name);
        }
        assert!(std::time::Instant::now() < deadline, "no backup is made: {}", home.log());
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(home.json(["backup", "verify", made.to_str().unwrap()])["pages"], 1);
    let doctor = home.json(["doctor"]);
    let check =
        doctor["checks"].as_array().unwrap().iter().find(|c| c["name"] == "backup").unwrap();
    assert_eq!(check["status"], "ok", "{check}");
    assert!(check["message"].as_str().unwrap().contains("the last one is of"), "{check}");
}

fn names_or_none(dir: &Path) -> Vec<String> {
    if dir.is_dir() { file_names(dir) } else { Vec::new() }
}

fn set_schema(store: &Path, number: u64) {
    let db = Database::open(store).unwrap();
    let txn = db.begin_write().unwrap();
    txn.open_table(TableDefinition::<&str, u64>::new("meta"))
        .unwrap()
        .insert("schema", number)
        .unwrap();
    txn.commit().unwrap();
}
