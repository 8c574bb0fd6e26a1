//! A home that another program copied while the daemon wrote: the copy starts, or one named command
//! restores it, with every page whose file is there, and none twice.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use brain_tests::{Need, TestHome, capture, has_program, skip, wait_for};

/// Returns the time at which the kept copy was made, and its pages; `None` if there is none.
fn kept(home: &TestHome) -> Option<(String, u64)> {
    let path = home.path().join("kept/brain.redb");
    let verified = home.brain(["--json", "backup", "verify", path.to_str().unwrap()]);
    let reply = (verified.code == 0).then(|| verified.json())?;
    Some((reply["made_at"].as_str()?.to_owned(), reply["pages"].as_u64()?))
}

/// Creates a home whose daemon keeps a copy within seconds.
fn home_with_copies() -> TestHome {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_BACKUP_KEPT_EVERY".into(), "1s".into()));
    home
}

/// Returns the markdown files below `dir` by their paths, except those in hidden directories.
fn texts(dir: &Path) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(next) = dirs.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let entry = entry.unwrap();
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                dirs.push(entry.path());
            } else {
                let path = entry.path().strip_prefix(dir).unwrap().display().to_string();
                out.insert(path, fs::read_to_string(entry.path()).unwrap());
            }
        }
    }
    out
}

/// Checks that the pages of the brain are the files of its home, each once.
fn check_whole(home: &TestHome, what: &str) {
    let export = home.outside().join("export");
    home.brain(["export", export.to_str().unwrap()]).expect(0);
    let (pages, files) = (texts(&export), texts(&home.path().join("pages")));
    assert_eq!(
        pages.keys().collect::<Vec<_>>(),
        files.keys().collect::<Vec<_>>(),
        "{what}: pages and files differ"
    );
    for (path, page) in &pages {
        assert_eq!(page, &files[path], "{what}: {path}");
    }
    let mut notes: Vec<&str> = pages.values().filter_map(|text| text.lines().last()).collect();
    let all = notes.len();
    notes.sort_unstable();
    notes.dedup();
    assert_eq!(notes.len(), all, "{what}: a text is there twice");
    home.brain(["backup", "create", home.outside().join("after.redb").to_str().unwrap()]).expect(0);
}

/// Copies `from` to `to` with one of the backup programs. `scratch` is for its repository.
fn copy_with(program: &str, from: &Path, to: &Path, scratch: &Path) {
    let (source, target) = (from.display(), to.display());
    let (repository, out) = (scratch.join("repository"), scratch.join("out"));
    let (repository, out) = (repository.display(), out.display());
    let script = match program {
        "cp" => format!("cp -a {source} {target}"),
        "tar" => format!("mkdir {target}; tar -C {source} -cf - . | tar -C {target} -xf -"),
        "rsync" => format!("rsync -a {source}/ {target}/"),
        "restic" => format!(
            "export RESTIC_PASSWORD=x; test -d {repository} || restic -q init -r {repository}; \
             restic -q -r {repository} backup {source}; \
             restic -q -r {repository} restore latest --target {out}; mv {out}{source} {target}"
        ),
        "borg" => format!(
            "test -d {repository} || borg init -e none {repository}; \
             borg create {repository}::$$ {source}; mkdir {out}; cd {out}; \
             borg extract {repository}::$$; mv {out}{source} {target}"
        ),
        _ => format!(
            "rdiff-backup {source} {repository}; rdiff-backup -r now {repository} {target}; true"
        ),
    };
    // These programs exit with an error if a file vanished while they copied.
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{script}; test -d {target}")).stdin(Stdio::null());
    command.env("BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK", "yes").env("HOME", scratch);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    let _ = fs::remove_dir_all(scratch.join("out"));
}

/// Copies a home under load and starts the copy, several times. The environment variable
/// `COPIED_HOME_ROUNDS` sets the number.
fn copy_under_load(program: &str, tool: &str) {
    if !has_program(tool) {
        return;
    }
    let rounds = std::env::var("COPIED_HOME_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(2);
    let home = home_with_copies();
    let _daemon = home.daemon();
    let seed = home.outside().join("seed");
    fs::create_dir(&seed).unwrap();
    for n in 0..300 {
        let text: String = (0..60).map(|word| format!("word{} ", n * word)).collect();
        fs::write(seed.join(format!("s{n}.md")), format!("{text}\n\nseed {n}\n")).unwrap();
    }
    home.brain(["import", seed.to_str().unwrap()]).expect(0);
    wait_for("no kept copy", || kept(&home).is_some());
    // The load runs during each copy only: with each round more, the home would be much larger.
    let (is_over, is_copying) = (AtomicBool::new(false), AtomicBool::new(false));
    let (mut by_themselves, mut restored) = (0, 0);
    // Returns whether to write once more.
    let goes_on = || {
        while !is_over.load(Ordering::Relaxed) {
            if is_copying.load(Ordering::Relaxed) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    };
    std::thread::scope(|scope| {
        let (home, goes_on) = (&home, &goes_on);
        scope.spawn(move || {
            for n in 0.. {
                if !goes_on() {
                    break;
                }
                home.brain(["append", &format!("s{}", n % 9), &format!("line {n}")]).expect(0);
            }
        });
        for thread in 0..2 {
            scope.spawn(move || {
                let mut client = home.connect().unwrap();
                for n in 0.. {
                    if !goes_on() {
                        break;
                    }
                    let filler = format!("{n} ").repeat(400);
                    client.ask(&capture(format!("{filler}\n\nnote {thread} {n}\n"))).unwrap();
                    std::thread::sleep(Duration::from_millis(10));
                }
            });
        }
        let scratch = home.outside();
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for round in 0..rounds {
                let copy = TestHome::new();
                is_copying.store(true, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(200));
                copy_with(program, &home.path(), &copy.path(), &scratch);
                is_copying.store(false, Ordering::Relaxed);
                let started = copy.brain(["list", "--limit", "1"]);
                if started.code == 0 {
                    by_themselves += 1;
                } else {
                    let command = "`brain backup restore --from-home`";
                    assert!(started.stderr.contains("brain.redb"), "{}", started.stderr);
                    assert!(started.stderr.contains(command), "{}", started.stderr);
                    copy.brain(["backup", "restore", "--from-home"]).expect(0);
                    restored += 1;
                }
                check_whole(&copy, &format!("{program}, round {round}"));
            }
        }));
        is_over.store(true, Ordering::Relaxed);
        if let Err(panic) = ended {
            std::panic::resume_unwind(panic);
        }
    });
    println!("{program}: {by_themselves} of {rounds} started, {restored} by the command");
}

#[test]
fn a_home_copied_by_cp_tar_or_rsync_is_whole() {
    for program in ["cp", "tar", "rsync"] {
        copy_under_load(program, program);
    }
}

#[test]
fn a_home_copied_by_restic_is_whole() {
    copy_under_load("restic", "restic");
}

#[test]
fn a_home_copied_by_borg_is_whole() {
    copy_under_load("borg", "borg");
}

#[test]
fn a_home_copied_by_rdiff_backup_is_whole() {
    copy_under_load("rdiff-backup", "rdiff-backup");
}

/// Writes other bytes into every block of the store after its header, as a torn copy can have.
fn tear(store: &Path) {
    let file = fs::File::options().read(true).write(true).open(store).unwrap();
    let length = file.metadata().unwrap().len();
    for block in (4096..length).step_by(4096) {
        file.write_all_at(&[0x5a; 64], block + 512).unwrap();
    }
}

#[test]
fn a_torn_store_is_refused_and_restored_with_newer_files() {
    let home = home_with_copies();
    let daemon = home.daemon();
    for slug in ["stays", "edited", "deleted", "moved", "lost"] {
        home.put(slug, &format!("text of {slug}\n"));
    }
    wait_for("no kept copy", || kept(&home).is_some_and(|(_, pages)| pages == 5));
    // The daemon is stopped and started without copies, so that these changes are not in the copy.
    assert!(daemon.terminate().0.success());
    let mut home = home;
    home.env = vec![("BRAIN_BACKUP_KEPT_EVERY".into(), "1d".into())];
    let daemon = home.daemon();
    home.put("edited", "another text\n");
    home.put("new", "text of new\n");
    home.brain(["delete", "deleted"]).expect(0);
    home.brain(["mv", "moved", "there/moved"]).expect(0);
    daemon.kill();
    fs::remove_file(home.page_file("lost")).unwrap();
    let store = home.path().join("brain.redb");
    tear(&store);
    let torn = fs::read(&store).unwrap();
    for _ in 0..2 {
        let refused = home.brain(["list"]);
        assert_ne!(refused.code, 0, "{refused:?}");
        for part in [
            &format!("{} is torn: it was copied while a daemon wrote it", store.display()),
            "`brain backup restore --from-home` restores the copy of 2",
            "with 5 pages",
            "what the 4 files in",
        ] {
            assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
        }
        assert_eq!(fs::read(&store).unwrap(), torn, "a refused start changes nothing");
    }
    let restored = home.json(["backup", "restore", "--from-home"]);
    assert_eq!(restored["pages"], 5, "{restored}");
    let slugs = home.json(["list"])["pages"].clone();
    let mut slugs: Vec<&str> =
        slugs.as_array().unwrap().iter().map(|page| page["slug"].as_str().unwrap()).collect();
    slugs.sort_unstable();
    assert_eq!(slugs, ["edited", "lost", "new", "stays", "there/moved"]);
    assert_eq!(home.get("edited")["body"], "another text\n");
    let history = home.json(["history", "edited"]);
    assert_eq!(history["versions"].as_array().unwrap().len(), 2, "{history}");
    check_whole(&home, "restored");
    let aside: Vec<_> = fs::read_dir(home.path())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("brain.redb.torn-"))
        .collect();
    assert_eq!(aside.len(), 1);
    assert_eq!(fs::read(aside[0].path()).unwrap(), torn, "the torn store is kept");
    // An intact store is not replaced.
    home.brain(["stop"]).expect(0);
    let refused = home.fault(["backup", "restore", "--from-home"], 1);
    assert!(refused["message"].as_str().unwrap().contains("is intact, with 5 pages"), "{refused}");
}

/// Copies a directory with its times.
fn copy_dir(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
}

#[test]
fn a_copied_store_that_is_newer_than_its_files_writes_them() {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("stays", "text of stays\n");
    home.put("edited", "line 1\n");
    // A program that copies the home reads `pages/` first and the store at the end.
    let former_pages = home.outside().join("pages");
    copy_dir(&home.path().join("pages"), &former_pages);
    home.brain(["append", "edited", "line 2"]).expect(0);
    home.put("new", "text of new\n");
    // The outbox is empty when all files are flushed.
    home.brain(["doctor", "--fix"]).expect(0);
    daemon.kill();
    for has_run_directory in [true, false] {
        let copy = TestHome::new();
        copy_dir(&home.path(), &copy.path());
        fs::remove_dir_all(copy.path().join("pages")).unwrap();
        copy_dir(&former_pages, &copy.path().join("pages"));
        // A save by the owner is newer than the page.
        fs::write(copy.page_file("stays"), "saved later\n").unwrap();
        if !has_run_directory {
            fs::remove_dir_all(copy.path().join("run")).unwrap();
        }
        copy.brain(["sync", "--yes"]).expect(0);
        assert_eq!(copy.json(["list"])["pages"].as_array().unwrap().len(), 3);
        let edited = copy.get("edited");
        assert_eq!(edited["body"], "line 1\n\nline 2\n");
        assert_eq!(copy.get("stays")["body"], "saved later\n");
        check_whole(&copy, &format!("directory run: {has_run_directory}"));
    }
}

#[test]
fn without_a_kept_copy_the_store_is_made_from_files() {
    let mut home = home_with_copies();
    home.env.push(("BRAIN_BACKUP_KEPT_MAX_MB".into(), "0".into()));
    let daemon = home.daemon();
    home.put("one", "text of one\n");
    home.put("dir/two", "text of two\n");
    // In this time, a daemon without the limit makes its copy.
    let other = home_with_copies();
    let _other_daemon = other.daemon();
    other.put("one", "text of one\n");
    wait_for("no kept copy", || kept(&other).is_some());
    daemon.kill();
    tear(&home.path().join("brain.redb"));
    let refused = home.brain(["list"]);
    assert!(refused.stderr.contains("makes a new store from the 2 files"), "{}", refused.stderr);
    home.brain(["backup", "restore", "--from-home"]).expect(0);
    check_whole(&home, "from files");
    assert!(!home.path().join("kept").exists());
}

#[test]
fn a_home_without_its_store_offers_the_kept_copy() {
    let home = home_with_copies();
    let daemon = home.daemon();
    home.put("one", "text of one\n");
    wait_for("no kept copy", || kept(&home).is_some_and(|(_, pages)| pages == 1));
    assert!(daemon.terminate().0.success());
    let store = home.path().join("brain.redb");
    fs::rename(&store, home.outside().join("gone.redb")).unwrap();
    let refused = home.brain(["list"]);
    assert_ne!(refused.code, 0);
    let message = format!("{} is not there, but a copy of it is", store.display());
    assert!(refused.stderr.contains(&message), "{}", refused.stderr);
    assert!(!store.exists());
    home.brain(["backup", "restore", "--from-home"]).expect(0);
    check_whole(&home, "without its store");
}

#[test]
fn the_kept_copy_is_whole_after_kills_and_follows_changes() {
    let home = home_with_copies();
    let mut daemon = home.daemon();
    for n in 0..200 {
        home.connect().unwrap().ask(&capture(format!("note {n}\n"))).unwrap();
    }
    wait_for("no kept copy", || kept(&home).is_some());
    for round in 0..8 {
        home.put(&format!("round{round}"), &format!("walrus{round}\n"));
        std::thread::sleep(Duration::from_millis(900 + 40 * round));
        daemon.kill();
        assert!(kept(&home).is_some(), "round {round}");
        daemon = home.daemon();
    }
    wait_for("the copy lacks pages", || kept(&home).is_some_and(|(_, pages)| pages == 208));
    // A copy of the same state is not made again.
    let made_at = kept(&home).unwrap().0;
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(kept(&home).unwrap().0, made_at);
    // A purged text is not in the copy.
    home.brain(["purge", "round3", "--now", "--yes"]).expect(0);
    let bytes = fs::read(home.path().join("kept/brain.redb")).unwrap();
    assert!(!bytes.windows(7).any(|window| window == b"walrus3"), "the kept copy has the text");
}

#[test]
fn a_full_disk_leaves_the_former_kept_copy() {
    let mut home = home_with_copies();
    let at = home.path();
    if !home.mount(&at, "size=64m") {
        return;
    }
    let _daemon = home.daemon();
    home.put("one", "text of one\n");
    wait_for("no kept copy", || kept(&home).is_some_and(|(_, pages)| pages == 1));
    home.put("two", "text of two\n");
    fs::write(home.path().join("filler"), vec![1; 27 << 20]).unwrap();
    home.put("three", "text of three\n");
    std::thread::sleep(Duration::from_secs(3));
    assert!(kept(&home).is_some());
    let left: Vec<_> = fs::read_dir(home.path().join("kept")).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_store_replaced_under_the_daemon_is_said_at_once() {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("one", "text of one\n");
    let (store, other) = (home.path().join("brain.redb"), home.outside().join("other.redb"));
    home.brain(["backup", "create", other.to_str().unwrap()]).expect(0);
    home.put("two", "text of two\n");
    let former = home.path().join("former.redb");
    fs::rename(&store, &former).unwrap();
    fs::rename(&other, &store).unwrap();
    let degraded = home.status().degraded.join("\n");
    assert!(degraded.contains("another file is there: writes are refused"), "{degraded}");
    let doctor = home.brain(["doctor"]);
    assert!(!doctor.stdout.contains("100/100"), "{}", doctor.stdout);
    for path in [&store, &former] {
        assert!(doctor.stdout.contains(&path.display().to_string()), "{}", doctor.stdout);
    }
    assert_ne!(home.brain(["put", "three", "--file", "/dev/null"]).code, 0);
    // The next start uses the other file, and takes in the page that it lacks.
    assert!(daemon.terminate().0.success());
    let _daemon = home.daemon();
    assert_eq!(home.get("two")["body"], "text of two\n");
    assert!(home.log().contains("the store is another file than before"), "{}", home.log());
}

#[test]
fn a_new_brain_and_a_synced_folder_are_said() {
    let home = TestHome::new();
    fs::create_dir_all(home.path().parent().unwrap().join(".stfolder")).unwrap();
    let first = home.brain(["list"]);
    let message = format!("made a new, empty brain in {}", home.path().display());
    assert!(first.stderr.contains(&message), "{}", first.stderr);
    assert!(!home.brain(["list"]).stderr.contains("made a new"));
    let doctor = home.brain(["doctor"]).stdout;
    assert!(doctor.contains("is in a folder that Syncthing syncs"), "{doctor}");
    let log = fs::read_to_string(home.path().join("run/daemon.log")).unwrap();
    assert_eq!(log.matches("a folder that Syncthing syncs").count(), 1, "{log}");
}

#[test]
fn no_home_is_made_under_a_disk_that_is_not_mounted() {
    let home = TestHome::new();
    let point = home.outside().join("stick");
    fs::create_dir(&point).unwrap();
    let fstab = home.outside().join("fstab");
    fs::write(&fstab, format!("/dev/sdx1 {} ext4 noauto 0 0\n", point.display())).unwrap();
    // In a namespace of its own, the daemon sees this file as /etc/fstab.
    let start = |before: &str| {
        let mut command = Command::new("unshare");
        let script = format!(
            "mount --bind {} /etc/fstab && {before} BRAIN_HOME={}/brain timeout 5 {}",
            fstab.display(),
            point.display(),
            brain_tests::program("brain-daemon").display()
        );
        command.args(["-m", "sh", "-c", &script]).envs(brain_tests::HTTP_ON_FREE_PORT);
        command.stdin(Stdio::null()).output().unwrap()
    };
    if !Path::new("/etc/fstab").exists()
        || !Command::new("unshare")
            .args(["-m", "true"])
            .output()
            .is_ok_and(|it| it.status.success())
    {
        return skip(Need::Root("mount namespaces, with an /etc/fstab".into()));
    }
    let refused = start("");
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(stderr.contains("is not mounted") && stderr.contains("touch "), "{stderr}");
    assert!(!point.join("brain").exists(), "nothing is created");
    // The owner can decide otherwise; and a mounted disk is used.
    fs::create_dir(point.join("brain")).unwrap();
    fs::write(point.join("brain/config.toml"), "").unwrap();
    let stderr = start("").stderr;
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(stderr.contains("made a new, empty brain"), "{stderr}");
    let mount = format!("mount -t tmpfs brain-test {} &&", point.display());
    let stderr = start(&mount).stderr;
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(stderr.contains("made a new, empty brain"), "{stderr}");
}
