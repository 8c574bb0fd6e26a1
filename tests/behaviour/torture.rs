//! `doctor --torture` on real disks, on one that lies, and with a list of promises.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use brain_tests::{Need, Run, TestHome, has_program, run, skip, target_dir};
use serde_json::Value;

const LYING_DISK: &str = include_str!("lying_disk.py");

/// Returns the verdict about a layer.
fn verdict<'a>(report: &'a Value, name: &str) -> &'a str {
    let layers = report["layers"].as_array().unwrap();
    let layer = layers.iter().find(|layer| layer["name"] == name);
    layer.unwrap_or_else(|| panic!("no layer {name}: {report}"))["verdict"].as_str().unwrap()
}

fn torture(home: &TestHome, dir: &Path, args: &[&str]) -> Run {
    let mut command = home.command("brain");
    command.args(["doctor", "--torture", "--dir"]).arg(dir).args(args);
    run(command, b"")
}

/// Returns a directory on the disk of the build: that of temporary files can be in memory.
fn directory_on_disk() -> tempfile::TempDir {
    tempfile::tempdir_in(target_dir()).unwrap()
}

#[test]
fn a_torture_of_this_disk_says_what_it_tested_and_leaves_nothing() {
    let (home, dir) = (TestHome::new(), directory_on_disk());
    let result = torture(&home, dir.path(), &["--seconds", "2"]).expect(0);
    let text = &result.stdout;
    assert!(text.contains("not tested  drive's cache"), "{text}");
    assert!(!text.to_lowercase().contains("safe"), "{text}");
    let report = torture(&home, dir.path(), &["--seconds", "2", "--json"]).expect(0).json();
    assert_eq!((verdict(&report, "process"), report["status"].as_str()), ("kept", Some("kept")));
    assert_eq!(verdict(&report, "drive's cache"), "not_tested");
    assert!(report["kills"].as_u64() >= Some(2) && report["writes"].as_u64() > Some(3), "{report}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "the scratch directory is removed");
    assert!(!home.path().exists(), "the user's own home is not touched");
}

/// A disk that confirms writes and drops them, below a loop device with ext4.
struct LyingDisk {
    server: Child,
    dir: tempfile::TempDir,
}

impl LyingDisk {
    fn new() -> Option<Self> {
        if !has_program("python3") || !has_program("mkfs.ext4") {
            return None;
        }
        let dir = directory_on_disk();
        let path = |name: &str| dir.path().join(name);
        let (image, point, mount_point) = (path("image"), path("point"), path("disk"));
        File::create(&image).unwrap().set_len(400 << 20).unwrap();
        File::create(&point).unwrap();
        fs::create_dir(&mount_point).unwrap();
        let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image).status();
        assert!(made.unwrap().success());
        let server = Command::new("python3")
            .args(["-c", LYING_DISK])
            .args([&image, &point])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let disk = Self { server, dir };
        let deadline = Instant::now() + Duration::from_secs(20);
        while fs::metadata(&point).is_ok_and(|found| found.len() == 0) {
            if Instant::now() > deadline {
                skip(Need::Root("a disk that lies, over /dev/fuse".into()));
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let mounted = Command::new("mount")
            .args(["-o", "loop"])
            .args([&point, &mount_point])
            .stderr(Stdio::null())
            .status();
        if !mounted.is_ok_and(|status| status.success()) {
            skip(Need::Root("a disk that lies, on a loop device".into()));
            return None;
        }
        Some(disk)
    }

    /// From now on, writes are confirmed and dropped.
    fn lie(&self) {
        File::create(self.dir.path().join("image.lies")).unwrap();
    }
}

impl Drop for LyingDisk {
    fn drop(&mut self) {
        // The file system may be broken by now.
        for name in ["disk", "point"] {
            let _ = Command::new("umount")
                .arg("-l")
                .arg(self.dir.path().join(name))
                .stderr(Stdio::null())
                .status();
        }
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn a_disk_that_drops_what_it_confirmed_is_found() {
    let Some(disk) = LyingDisk::new() else { return };
    let home = TestHome::new();
    let at = disk.dir.path().join("disk");
    let honest = torture(&home, &at, &["--seconds", "2", "--json"]).expect(0).json();
    assert_eq!(verdict(&honest, "kernel's cache"), "kept", "{honest}");
    disk.lie();
    let report = torture(&home, &at, &["--seconds", "60", "--json"]).expect(1).json();
    assert_eq!(report["status"], "broken", "{report}");
    // The kernel's memory hides the loss from everybody who reads as usual.
    assert_eq!(verdict(&report, "process"), "kept", "{report}");
    assert_eq!(verdict(&report, "kernel's cache"), "broken", "{report}");
    assert!(report["lost"].as_u64() > Some(0), "{report}");
}

#[test]
fn a_list_of_promises_is_verified_and_a_lost_store_is_found() {
    let (home, dir) = (TestHome::new(), directory_on_disk());
    let result = torture(&home, dir.path(), &["--promises", "--seconds", "2"]).expect(0);
    let list = home.outside().join("promises.txt");
    // The cut of the power may tear the last line.
    let torn = result.stdout.trim_end_matches('\n').trim_end_matches(|c: char| c.is_ascii_digit());
    assert!(torn.lines().count() > 2, "{result:?}");
    fs::write(&list, torn).unwrap();
    let verify = |code: i32| {
        let mut command = home.command("brain");
        command.args(["doctor", "--json", "--verify"]).arg(&list);
        run(command, b"").expect(code).json()
    };
    let report = verify(0);
    // The same start of the machine proves nothing about the drive.
    assert_eq!(
        (report["status"].as_str(), &report["losses"]),
        (Some("not_tested"), &Value::Array(vec![]))
    );
    for (other, code) in [(home.outside(), 2), (dir.path().join("away"), 4)] {
        let (list, other) = (list.display().to_string(), other.display().to_string());
        home.fault(["doctor", "--verify", &list, "--dir", &other], code);
    }
    let scratch = fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
    fs::remove_file(scratch.join("brain.redb")).unwrap();
    let report = verify(1);
    assert_eq!((report["status"].as_str(), report["lost"].as_u64()), (Some("broken"), Some(1)));
    fs::write(&list, "no list\n").unwrap();
    let fault = home.fault(["doctor", "--verify", &list.display().to_string()], 2);
    assert_eq!(fault["code"], "usage");
}
