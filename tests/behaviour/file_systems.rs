//! A home, a source and a backup on each file system that can be mounted here: everything works, or
//! is refused with its cause before anything is touched. `docs/store.md` has the table.

use std::fs;
use std::path::Path;

use brain_tests::mounts::{Disk, DiskKind, MountedDisk};
use brain_tests::{TestHome, report};
use rustix::process::{Pid, Signal, kill_process};

use crate::sync_programs::check::files;

/// Number of captures before the kill.
const CAPTURES: usize = 20;

/// A home and a directory of notes on one disk.
struct World {
    home: TestHome,
    /// Where the disk is mounted.
    at: std::path::PathBuf,
}

impl World {
    fn kill(&self) {
        let pid = self.home.json(["status"])["pid"].as_i64().unwrap();
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        while rustix::process::test_kill_process(pid).is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// Returns the text of a note's file.
    fn note(&self, path: &str) -> String {
        fs::read_to_string(self.at.join("vault").join(path)).unwrap()
    }

    /// Checks that every page is the text of its file, and every file a page.
    fn assert_whole(&self) {
        let export = self.home.outside().join("export");
        self.home.json(["export", export.to_str().unwrap(), "--source", "default"]);
        let of_pages = files(&self.home.path().join("pages"));
        assert_eq!(files(&export), of_pages);
        assert_eq!(of_pages.len(), CAPTURES);
        fs::remove_dir_all(&export).unwrap();
    }
}

/// Does everything that writes files, with a kill between.
fn everything_works(kind: DiskKind) {
    let Some(disk) = Disk::new(kind) else { return };
    let mut home = TestHome::new();
    // Where the socket is if the file system has none.
    let runtime = home.outside().join("runtime");
    fs::create_dir(&runtime).unwrap();
    fs::set_permissions(&runtime, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    home.env.push(("XDG_RUNTIME_DIR".into(), runtime.to_str().unwrap().into()));
    home.env.push(("EDITOR".into(), "sed -i -e s/walrus/otter/".into()));
    let at = home.outside().join("disk");
    let Some(_mounted) = disk.mount(&at) else { return };
    for dir in ["home", "vault", "backups"] {
        fs::create_dir(at.join(dir)).unwrap();
    }
    let Some(_home_on_disk) = MountedDisk::bind(&at.join("home"), &home.path()) else { return };
    for n in 0..4 {
        fs::write(at.join(format!("vault/n{n}.md")), format!("walrus number {n}\n")).unwrap();
    }
    let world = World { home, at };
    let home = &world.home;
    home.json(["sources", "add", "notes", "--path", world.at.join("vault").to_str().unwrap()]);
    home.json(["sync", "notes"]);
    // The person's own files.
    home.json(["append", "notes:n0", "--", "appended"]);
    home.json(["edit", "notes:n1"]);
    home.json(["mv", "notes:n2", "notes:moved/n2"]);
    home.json(["delete", "notes:n3"]);
    home.json_with(["put", "n4", "--source", "notes"], b"new\n");
    assert!(world.note("n0.md").contains("number 0\n\nappended"), "{}", world.note("n0.md"));
    assert_eq!(world.note("n1.md"), "otter number 1\n");
    let names: Vec<String> = files(&world.at.join("vault")).into_keys().collect();
    assert_eq!(names, ["moved/n2.md", "n0.md", "n1.md", "n4.md"]);
    for n in 0..CAPTURES {
        home.json([
            "put",
            &format!("captured/c{n}"),
            "--file",
            text_file(home, n).to_str().unwrap(),
        ]);
    }
    world.kill();
    world.assert_whole();
    let backup = world.at.join("backups/one.redb");
    home.json(["backup", "create", backup.to_str().unwrap()]);
    let restored = world.at.join("restored");
    let in_restored = |args: &[&str]| {
        let mut command = home.command("brain");
        command.env("BRAIN_HOME", &restored).arg("--json").args(args);
        brain_tests::run(command, b"").expect(0).json()
    };
    in_restored(&["backup", "restore", backup.to_str().unwrap()]);
    assert_eq!(in_restored(&["get", "captured/c0"])["body"], "text 0\n");
    assert_eq!(files(&restored.join("pages")), files(&home.path().join("pages")));
    in_restored(&["stop"]);
    let sync = home.json(["sync", "notes"]);
    assert_eq!(sync["sources"][0]["removed"], 0, "{sync}");
    let doctor = home.brain(["doctor", "--json"]).json();
    let failed = doctor["checks"].as_array().unwrap().iter();
    let mut failed = failed.filter(|check| check["status"] == "fail");
    // Where modes cannot be changed, doctor names the option of the mount.
    assert!(failed.all(|it| it["hint"].as_str().unwrap().contains("umask=077")), "{doctor}");
    assert_no_leftovers(&world.at);
    report(&format!("{kind:?}: everything works"));
}

/// Writes the text of a page to a file.
fn text_file(home: &TestHome, n: usize) -> std::path::PathBuf {
    let path = home.outside().join("text.md");
    fs::write(&path, format!("text {n}\n")).unwrap();
    path
}

/// Checks that no temporary file of brain is left beside the notes.
fn assert_no_leftovers(at: &Path) {
    let entries = fs::read_dir(at.join("vault")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    // libfuse renames a removed file that is still open; the deleted note is in the trash.
    let is_expected = |name: &str| name.starts_with(".fuse_hidden") || name == ".trash";
    let left: Vec<_> = names.filter(|name| name.starts_with('.') && !is_expected(name)).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn everything_works_on_file_systems_of_the_kernel() {
    use DiskKind::{Btrfs, Exfat, Ext4, F2fs, Tmpfs, Vfat, Xfs};
    [Ext4, Xfs, Btrfs, F2fs, Vfat, Exfat, Tmpfs].into_iter().for_each(everything_works);
}

#[test]
fn everything_works_on_file_systems_of_programs() {
    use DiskKind::{Bindfs, ExfatFuse, FuseOverlayfs, Mergerfs, Ntfs, Unionfs};
    [ExfatFuse, Ntfs, Bindfs, Mergerfs, Unionfs, FuseOverlayfs]
        .into_iter()
        .for_each(everything_works);
}

#[test]
fn everything_works_in_encrypted_and_distant_directories() {
    use DiskKind::{Cryfs, Encfs, Gocryptfs, Rclone, Sshfs};
    [Gocryptfs, Encfs, Cryfs, Sshfs, Rclone].into_iter().for_each(everything_works);
}
