//! The watcher: search finds the saves of other programs, for the common ways of saving.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use brain_tests::{Daemon, TEST_TIMEOUT, TestHome};
use rustix::process::{Pid, Signal, kill_process};

/// Returns a home whose daemon watches its sources, and the directory of the source `notes`.
fn watched_source() -> (TestHome, Daemon, std::path::PathBuf) {
    watched_source_of(TestHome::new())
}

fn watched_source_of(home: TestHome) -> (TestHome, Daemon, std::path::PathBuf) {
    fs::create_dir_all(home.path()).unwrap();
    fs::write(home.path().join("config.toml"), "[sources]\nwatch = true\n").unwrap();
    let daemon = home.daemon();
    let notes = home.outside().join("notes");
    fs::create_dir_all(&notes).unwrap();
    home.json(["sources", "add", "notes", "--path", notes.to_str().unwrap()]);
    (home, daemon, notes)
}

/// Waits until `query` finds exactly `slugs`.
pub(crate) fn wait_for(home: &TestHome, query: &str, slugs: &[&str]) {
    let deadline = Instant::now() + TEST_TIMEOUT;
    loop {
        let mut found = home.search(query);
        found.sort();
        if found == slugs {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "{query} finds {found:?}, not {slugs:?}\n{}",
            home.log()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn save_beside_and_rename(file_path: &Path, text: &str) {
    let temporary = file_path.with_extension("md.swp~");
    fs::write(&temporary, text).unwrap();
    fs::rename(&temporary, file_path).unwrap();
}

#[test]
fn the_common_ways_of_saving_are_detected() {
    let (home, _daemon, notes) = watched_source();
    let file_path = notes.join("Harbour Plan.md");
    // A new file that is written in two steps.
    fs::write(&file_path, "").unwrap();
    fs::write(&file_path, "# Harbour\n\nThe word is quartz.\n").unwrap();
    wait_for(&home, "quartz", &["harbour-plan"]);
    // A file that is overwritten in place.
    fs::write(&file_path, "# Harbour\n\nThe word is basalt.\n").unwrap();
    wait_for(&home, "basalt", &["harbour-plan"]);
    wait_for(&home, "quartz", &[]);
    // A temporary file that is renamed.
    save_beside_and_rename(&file_path, "# Harbour\n\nThe word is gneiss.\n");
    wait_for(&home, "gneiss", &["harbour-plan"]);
    // The old file becomes a backup, and a new file replaces it.
    fs::rename(&file_path, notes.join("Harbour Plan.md~")).unwrap();
    fs::write(&file_path, "# Harbour\n\nThe word is schist.\n").unwrap();
    wait_for(&home, "schist", &["harbour-plan"]);
    // The file is removed and written again.
    fs::remove_file(&file_path).unwrap();
    fs::write(&file_path, "# Harbour\n\nThe word is marl.\n").unwrap();
    wait_for(&home, "marl", &["harbour-plan"]);
    // Text is appended.
    let mut file = fs::File::options().append(true).open(&file_path).unwrap();
    std::io::Write::write_all(&mut file, b"And loess.\n").unwrap();
    wait_for(&home, "loess", &["harbour-plan"]);
    // The file is removed.
    fs::remove_file(&file_path).unwrap();
    wait_for(&home, "loess", &[]);
    assert_eq!(home.fault(["get", "harbour-plan", "--source", "notes"], 4)["code"], "not_found");
}

#[test]
fn added_moved_and_removed_directories_are_detected() {
    let (home, _daemon, notes) = watched_source();
    let new_directory = home.outside().join("made");
    fs::create_dir_all(new_directory.join("deep/er")).unwrap();
    fs::write(new_directory.join("deep/er/one.md"), "olivine\n").unwrap();
    fs::rename(&new_directory, notes.join("moved")).unwrap();
    wait_for(&home, "olivine", &["moved/deep/er/one"]);
    fs::write(notes.join("moved/deep/er/two.md"), "olivine too\n").unwrap();
    wait_for(&home, "olivine", &["moved/deep/er/one", "moved/deep/er/two"]);
    fs::rename(notes.join("moved"), notes.join("kept")).unwrap();
    wait_for(&home, "olivine", &["kept/deep/er/one", "kept/deep/er/two"]);
    fs::write(notes.join("kept/deep/three.md"), "olivine three\n").unwrap();
    wait_for(&home, "olivine", &["kept/deep/er/one", "kept/deep/er/two", "kept/deep/three"]);
    fs::remove_dir_all(notes.join("kept/deep/er")).unwrap();
    wait_for(&home, "olivine", &["kept/deep/three"]);
    // Hidden directories are ignored.
    fs::create_dir_all(notes.join(".obsidian")).unwrap();
    fs::write(notes.join(".obsidian/four.md"), "olivine four\n").unwrap();
    fs::write(notes.join("five.md"), "dunite\n").unwrap();
    wait_for(&home, "dunite", &["five"]);
    assert_eq!(home.search("olivine"), ["kept/deep/three"]);
}

#[test]
fn a_directory_that_replaces_another_is_watched() {
    let (home, daemon, notes) = watched_source();
    let deep = notes.join("a/deep");
    let make = |word: &str| {
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("page.md"), format!("{word}\n")).unwrap();
    };
    make("tuff");
    wait_for(&home, "tuff", &["a/deep/page"]);
    let pid = Pid::from_raw(daemon.pid() as i32).unwrap();
    let move_away = || fs::rename(notes.join("a"), notes.join("b")).unwrap();
    let remove = || fs::remove_dir_all(notes.join("a")).unwrap();
    for (word, take_away) in [("chert", &remove as &dyn Fn()), ("jasper", &move_away)] {
        // As in a switch of branches, both changes happen before the daemon can react.
        kill_process(pid, Signal::STOP).unwrap();
        take_away();
        make(word);
        kill_process(pid, Signal::CONT).unwrap();
        wait_for(&home, word, &["a/deep/page"]);
        let later_name = format!("{word}later");
        fs::write(deep.join(format!("{later_name}.md")), format!("{later_name}\n")).unwrap();
        wait_for(&home, &later_name, &[&format!("a/deep/{later_name}")]);
    }
}

#[test]
fn the_daemons_own_writes_cause_no_loop() {
    let (home, _daemon, notes) = watched_source();
    home.put("own/page", "peridotite one\n");
    let put = ["put", "there", "--source", "notes"];
    home.json_with(put, b"peridotite two\n");
    fs::write(notes.join("theirs.md"), "---\ntitle: Theirs\n---\nperidotite three\r\n").unwrap();
    wait_for(&home, "peridotite", &["own/page", "theirs", "there"]);
    let modified = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    let files = [home.page_file("own/page"), notes.join("there.md"), notes.join("theirs.md")];
    let before: Vec<_> = files.iter().map(|file| modified(file)).collect();
    // Long enough for several rounds of a possible loop.
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(files.iter().map(|file| modified(file)).collect::<Vec<_>>(), before);
    for (slug, source) in [("own/page", "default"), ("there", "notes"), ("theirs", "notes")] {
        let history = home.json(["history", slug, "--source", source]);
        assert_eq!(history["versions"].as_array().unwrap().len(), 1, "{history}");
    }
    assert_eq!(fs::read(&files[2]).unwrap(), b"---\ntitle: Theirs\n---\nperidotite three\r\n");
}

#[test]
fn a_linked_directory_of_pages_is_watched() {
    let home = TestHome::new();
    let elsewhere = home.outside().join("elsewhere");
    fs::create_dir_all(home.path()).unwrap();
    fs::create_dir_all(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, home.path().join("pages")).unwrap();
    fs::write(home.path().join("config.toml"), "[sources]\nwatch = true\n").unwrap();
    let _daemon = home.daemon();
    fs::write(elsewhere.join("one.md"), "diorite\n").unwrap();
    wait_for(&home, "diorite", &["one"]);
    fs::write(elsewhere.join("two.md"), "gabbro\n").unwrap();
    wait_for(&home, "gabbro", &["two"]);
}

#[test]
fn an_unreadable_directory_does_not_stop_the_watcher() {
    let Some(home) = TestHome::that_obeys_modes() else { return };
    let (home, _daemon, notes) = watched_source_of(home);
    for name in ["a", "lost+found", "z"] {
        fs::create_dir(notes.join(name)).unwrap();
    }
    fs::write(notes.join("z/one.md"), "dolerite\n").unwrap();
    wait_for(&home, "dolerite", &["z/one"]);
    let closed = notes.join("lost+found");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    // Adding another source restarts the watcher.
    let other = home.outside().join("other");
    fs::create_dir(&other).unwrap();
    home.json(["sources", "add", "other", "--path", other.to_str().unwrap()]);
    for (name, word) in [("a", "breccia"), ("z", "phyllite")] {
        fs::write(notes.join(name).join("page.md"), format!("{word}\n")).unwrap();
        wait_for(&home, word, &[&format!("{name}/page")]);
    }
    // The directory is watched as soon as it is readable.
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(closed.join("found.md"), "gypsum\n").unwrap();
    wait_for(&home, "gypsum", &["lostfound/found"]);
}

#[test]
fn an_overflow_of_the_kernels_queue_starts_a_full_sync() {
    let (home, daemon, notes) = watched_source();
    fs::write(notes.join("first.md"), "kimberlite\n").unwrap();
    wait_for(&home, "kimberlite", &["first"]);
    let limit: usize = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events")
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let pid = Pid::from_raw(daemon.pid() as i32).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    // Each pair of renames causes four events that the kernel cannot merge.
    let names = [notes.join("to.txt"), notes.join("fro.txt")];
    fs::write(&names[0], "").unwrap();
    for _ in 0..limit / 4 + 1000 {
        fs::rename(&names[0], &names[1]).unwrap();
        fs::rename(&names[1], &names[0]).unwrap();
    }
    fs::write(notes.join("late.md"), "kimberlite, late\n").unwrap();
    fs::remove_file(notes.join("first.md")).unwrap();
    kill_process(pid, Signal::CONT).unwrap();
    wait_for(&home, "kimberlite", &["late"]);
}

#[test]
fn changes_during_a_stop_are_detected_at_the_start() {
    let (home, daemon, notes) = watched_source();
    fs::write(notes.join("kept.md"), "obsidian\n").unwrap();
    wait_for(&home, "obsidian", &["kept"]);
    assert!(daemon.terminate().0.success());
    fs::rename(notes.join("kept.md"), notes.join("renamed.md")).unwrap();
    fs::write(notes.join("new.md"), "obsidian as well\n").unwrap();
    let _daemon = home.daemon();
    wait_for(&home, "obsidian", &["new", "renamed"]);
}

#[test]
fn the_watcher_is_off_by_default() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let notes = home.outside().join("notes");
    fs::create_dir_all(&notes).unwrap();
    home.json(["sources", "add", "notes", "--path", notes.to_str().unwrap()]);
    fs::write(notes.join("a.md"), "andesite\n").unwrap();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(home.search("andesite"), Vec::<String>::new());
    home.json(["sync", "--source", "notes"]);
    assert_eq!(home.search("andesite"), ["a"]);
}

#[test]
fn an_error_of_the_watcher_is_shown_until_it_is_resolved() {
    let (home, _daemon, notes) = watched_source();
    let file_path = |n: usize| notes.join(format!("{n}.md"));
    for n in 0..60 {
        fs::write(file_path(n), format!("pumice {n}\n")).unwrap();
    }
    let deadline = Instant::now() + TEST_TIMEOUT;
    let wait_until = |condition: &str, is_met: &dyn Fn() -> bool| {
        while !is_met() {
            assert!(Instant::now() < deadline, "never: {condition}\n{}", home.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let sources_status = || {
        let doctor = home.brain(["doctor", "--json"]).json();
        let checks = doctor["checks"].as_array().unwrap();
        checks.iter().find(|c| c["name"] == "sources").unwrap()["status"].clone()
    };
    let page_count = || {
        home.json(["list", "--source", "notes", "--limit", "100"])["pages"]
            .as_array()
            .unwrap()
            .len()
    };
    wait_until("each file is a page", &|| page_count() == 60);
    let texts: Vec<Vec<u8>> = (0..40).map(|n| fs::read(file_path(n)).unwrap()).collect();
    (0..40).for_each(|n| fs::remove_file(file_path(n)).unwrap());
    wait_until("doctor reports the removals that are held back", &|| sources_status() == "warn");
    texts.iter().enumerate().for_each(|(n, text)| fs::write(file_path(n), text).unwrap());
    wait_until("doctor reports no removal", &|| sources_status() == "ok");
    assert_eq!(page_count(), 60);
    fs::write(file_path(7), "---\ntitle: [x\n---\n").unwrap();
    wait_until("doctor reports the file that failed", &|| sources_status() == "warn");
    fs::write(file_path(7), "pumice, repaired\n").unwrap();
    wait_until("doctor reports no file", &|| sources_status() == "ok");
}
