//! Disks that come and go: what is on a disk that is away is never deleted, and nothing is written
//! beneath it.

mod unmounts;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use brain_tests::mounts::{Disk, DiskKind, MountedDisk};
use brain_tests::{Daemon, TestHome};

/// How soon a disk that comes or goes is noticed. A busy test machine gets some more.
const NOTICED: Duration = Duration::from_secs(15);

/// A home whose source `notes` is at a mount point.
struct World {
    // The daemon first: it must not hold the disk.
    _daemon: Daemon,
    mounted: Mutex<Option<MountedDisk>>,
    disk: Disk,
    home: TestHome,
    at: PathBuf,
    pages: usize,
}

impl World {
    /// Mounts a disk with so many notes in `dir` of it, and syncs them.
    fn new(kind: DiskKind, pages: usize, dir: &str, watch: bool) -> Option<Self> {
        let home = TestHome::new();
        fs::create_dir_all(home.path()).unwrap();
        fs::write(home.path().join("config.toml"), format!("[sources]\nwatch = {watch}\n"))
            .unwrap();
        let disk = Disk::new(kind)?;
        let at = home.outside().join("stick");
        let mounted = Mutex::new(Some(disk.mount(&at)?));
        let notes = at.join(dir);
        fs::create_dir_all(&notes).unwrap();
        for n in 0..pages {
            fs::write(notes.join(format!("n{n}.md")), format!("walrus number {n}\n")).unwrap();
        }
        let daemon = home.daemon();
        home.json(["sources", "add", "notes", "--path", notes.to_str().unwrap()]);
        home.json(["sync", "notes"]);
        let world = Self { _daemon: daemon, mounted, disk, home, at, pages };
        assert_eq!(world.active(), pages);
        Some(world)
    }

    /// Returns the number of pages that the source has.
    fn active(&self) -> usize {
        let sources = self.home.json(["sources", "list"]);
        let all = sources["sources"].as_array().unwrap();
        let notes = all.iter().find(|source| source["source_id"] == "notes").unwrap();
        notes["pages"].as_u64().unwrap() as usize
    }

    /// Returns why the source is away.
    fn problem(&self) -> String {
        let sources = self.home.json(["sources", "list"]);
        let all = sources["sources"].as_array().unwrap();
        let notes = all.iter().find(|source| source["source_id"] == "notes").unwrap();
        notes["problem"].as_str().unwrap_or_default().to_owned()
    }

    /// Unmounts the disk, as a person does: again and again while it is in use. Returns how long
    /// it was.
    fn unmount(&self) -> Duration {
        let begin = Instant::now();
        loop {
            let mut mounted = self.mounted.lock().unwrap();
            match mounted.take().expect("a mounted disk").unmount() {
                Ok(()) => return begin.elapsed(),
                Err((still, why)) => {
                    assert!(begin.elapsed() < NOTICED, "{why}");
                    *mounted = Some(still);
                }
            }
            drop(mounted);
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Pulls the disk out: its directory is gone at once, even if it is in use.
    fn pull_out(&self) {
        drop(self.mounted.lock().unwrap().take());
    }

    fn mount(&self) {
        *self.mounted.lock().unwrap() = Some(self.disk.mount(&self.at).expect("mounted before"));
    }

    /// Waits until `is_true`.
    fn wait(&self, what: &str, is_true: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + NOTICED;
        while !is_true(self) {
            assert!(Instant::now() < deadline, "{what}: {}\n{}", self.problem(), self.home.log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Checks that the source is away with this reason, and that all pages are there.
    fn assert_away(&self, reason: &str) {
        self.wait("away", |world| world.problem().contains(reason));
        let sync = self.home.brain(["sync", "notes", "--json"]).expect(1).json();
        assert_eq!(sync["status"], "away", "{sync}");
        assert_eq!(sync["sources"][0]["removed"], 0, "{sync}");
        assert_eq!(self.active(), self.pages);
        assert_eq!(self.home.search("walrus number 0").first().unwrap(), "n0");
        let doctor = self.home.brain(["doctor", "--json"]).json();
        let checks = doctor["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == "sources").unwrap();
        assert_eq!(check["status"], "fail", "{check}");
        assert!(check["message"].as_str().unwrap().contains(reason), "{check}");
    }

    fn assert_back(&self) {
        self.wait("back", |world| world.problem().is_empty());
        let sync = self.home.json(["sync", "notes"]);
        assert_eq!((&sync["status"], &sync["sources"][0]["removed"]), (&"done".into(), &0.into()));
        assert_eq!(self.active(), self.pages, "{sync}");
    }
}

/// Returns the names in a directory.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Unmounts the disk, changes pages, and mounts it again.
fn comes_and_goes(kind: DiskKind, pages: usize, dir: &str) {
    let Some(mut world) = World::new(kind, pages, dir, true) else { return };
    let home = &world.home;
    home.brain_with(["append", "notes:n0", "--", "before"], b"").expect(0);
    world.unmount();
    world.assert_away("nothing is mounted at");
    // Changes are stored, and not written beneath.
    let home = &world.home;
    let appended = home.json(["append", "notes:n0", "--", "while away"]);
    assert_eq!(appended["written"], false, "{appended}");
    let put = home.json_with(["put", "new/page", "--source", "notes"], b"walrus of the night\n");
    assert_eq!(put["written"], false, "{put}");
    world.pages += 1;
    if pages > 1 {
        world.home.brain(["delete", "notes:n1"]).expect(0);
        world.pages -= 1;
    }
    world.home.json(["restart"]);
    world.assert_away("nothing is mounted at");
    assert_eq!(names(&world.at), Vec::<String>::new(), "nothing is written beneath");
    world.mount();
    let notes = world.at.join(dir);
    world.wait("written", |_| notes.join("new/page.md").exists());
    world.assert_back();
    let text = fs::read_to_string(notes.join("n0.md")).unwrap();
    assert!(text.contains("before") && text.contains("while away"), "{text}");
    assert!(!notes.join("n1.md").exists());
    // The watch is on the disk that is mounted now.
    fs::write(notes.join("n0.md"), "walrus number 0, from elsewhere: zircon\n").unwrap();
    world.wait("watched", |world| world.home.search("zircon") == ["n0"]);
    let doctor = world.home.brain(["doctor"]).stdout;
    let is_fuse = matches!(kind, DiskKind::Gocryptfs | DiskKind::Sshfs);
    assert_eq!(doctor.contains("notes can change without an event"), is_fuse, "{doctor}");
}

#[test]
fn disks_come_and_go() {
    use DiskKind::{Btrfs, Ext4, Gocryptfs, Ntfs, Sshfs};
    for (kind, pages) in [(Ext4, 1), (Btrfs, 15), (Ntfs, 15), (Gocryptfs, 15), (Sshfs, 21)] {
        comes_and_goes(kind, pages, "");
    }
}

#[test]
fn a_bound_directory_and_a_directory_on_a_disk_come_and_go() {
    comes_and_goes(DiskKind::Bind, 20, "");
    comes_and_goes(DiskKind::Ext4, 20, "vault");
}
