//! Power cuts on real file systems: unflushed data is lost, and every acknowledged write survives.
//!
//! A home is on a loop device with ext4 or XFS. At a random moment under load the file system is
//! shut down without a flush of its log, so data and names that were only in memory are lost.
//! Before that, the test writes out parts of random files, as a kernel might: this tears files.
//! Then the daemon is killed, the file system is mounted again, and a new daemon starts.
//!
//! `BRAIN_POWER_CUTS` sets the number of cuts (default 2; `.ci/power-cuts` uses 100). The test
//! needs root, loop devices, `mkfs.ext4` or `mkfs.xfs`, and python3.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use brain_tests::{Need, TestHome, has_program, skip};
use rustix::fs::{Advice, fadvise};

use crate::crash::{Check, Rng, Run, WriteLog, check_everything, settle};

/// The number of concurrent writers.
const WRITERS: usize = 6;
/// The size of the sparse image file, in bytes.
const IMAGE_BYTES: u64 = 1 << 30;

/// A file system's name, the command that creates it, and its mount options.
const FILE_SYSTEMS: [(&str, &[&str], &str); 3] = [
    ("ext4", &["mkfs.ext4", "-q", "-F"], "loop"),
    (
        "ext4 with delayed metadata",
        &["mkfs.ext4", "-q", "-F"],
        "loop,data=writeback,nobarrier,commit=300",
    ),
    ("XFS", &["mkfs.xfs", "-q", "-f"], "loop"),
];

/// A disk whose power can be cut.
struct Disk {
    image: PathBuf,
    mount_point: PathBuf,
    /// The mount options.
    options: &'static str,
}

impl Disk {
    /// Creates a file system and mounts it at the home. Returns `None` and prints a notice if this
    /// machine does not allow that.
    fn new(home: &TestHome, (name, make, options): (&str, &[&str], &'static str)) -> Option<Self> {
        let disk = Self { image: home.outside().join("image"), mount_point: home.path(), options };
        File::create(&disk.image).unwrap().set_len(IMAGE_BYTES).unwrap();
        fs::create_dir_all(&disk.mount_point).unwrap();
        let made =
            Command::new(make[0]).args(&make[1..]).arg(&disk.image).stdout(Stdio::null()).status();
        if !made.is_ok_and(|status| status.success()) || !disk.mount() {
            skip(Need::Root(format!("power cuts on {name}")));
            return None;
        }
        Some(disk)
    }

    fn mount(&self) -> bool {
        let mut mount = Command::new("mount");
        mount
            .args(["-o", self.options])
            .args([&self.image, &self.mount_point])
            .stderr(Stdio::null());
        mount.status().is_ok_and(|status| status.success())
    }

    fn unmount(&self) {
        for _ in 0..100 {
            let unmounted =
                Command::new("umount").arg(&self.mount_point).stderr(Stdio::null()).status();
            if unmounted.is_ok_and(|status| status.success()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{} is in use", self.mount_point.display());
    }

    /// Starts the helper process that cuts the power on request.
    fn power_switch(&self) -> PowerSwitch {
        // EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN have the same number; 2 means: do not flush the
        // log.
        const CUT: &str = "import fcntl,os,sys\nfd=os.open(sys.argv[1],os.O_RDONLY)\n\
                           print(flush=True)\nsys.stdin.read(1)\n\
                           fcntl.ioctl(fd,0x8004587D,(2).to_bytes(4,'little'))";
        let mut child = Command::new("python3")
            .args(["-c", CUT])
            .arg(&self.mount_point)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 does not start");
        let mut ready = [0; 1];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready)
            .expect("the helper process does not start");
        PowerSwitch(child)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ =
            Command::new("umount").arg("-l").arg(&self.mount_point).stderr(Stdio::null()).status();
    }
}

struct PowerSwitch(Child);

impl PowerSwitch {
    fn cut(mut self) {
        self.0.stdin.take().unwrap().write_all(b"!").unwrap();
        assert!(self.0.wait().unwrap().success(), "the file system was not shut down");
    }
}

/// Writes parts of random page files to the disk until `should_stop` is set.
fn write_out(home: &Path, mut rng: Rng, should_stop: &AtomicBool) {
    while !should_stop.load(Ordering::Relaxed) {
        let mut files = Vec::new();
        let mut dirs = vec![home.join("pages")];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => dirs.push(entry.path()),
                    Ok(kind) if kind.is_file() => files.push(entry.path()),
                    _ => {}
                }
            }
        }
        for _ in 0..20.min(files.len()) {
            let index = rng.below(files.len() as u64) as usize;
            let Ok(file) = File::open(&files[index]) else { continue };
            let pages = file.metadata().map_or(0, |meta| meta.len().div_ceil(4096));
            let from = rng.below(pages) * 4096;
            // The kernel does not drop dirty pages; it writes them out.
            let _ = fadvise(&file, from, std::num::NonZeroU64::new(4096), Advice::DontNeed);
        }
        std::thread::sleep(Duration::from_millis(10 + rng.below(100)));
    }
}

/// Counts the page files that a cut has torn: they are empty or contain zeros.
fn torn_files(dir: &Path) -> usize {
    let mut torn = 0;
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            torn += torn_files(&path);
        } else {
            let bytes = fs::read(&path).unwrap_or_default();
            torn += usize::from(bytes.is_empty() || bytes.contains(&0));
        }
    }
    torn
}

/// Cuts the power under load and starts a new daemon. Returns the number of acknowledged writes,
/// the number of torn files, and the daemon.
fn cut_and_restart(
    home: &TestHome,
    disk: &Disk,
    logs: &mut [WriteLog],
    rng: &mut Rng,
    round: usize,
) -> (usize, usize, brain_tests::Daemon) {
    let daemon = home.daemon();
    settle(home);
    let socket = home.socket();
    // Most cuts happen within the first second, some after the daemon has flushed its files.
    let delay = if rng.one_in(15) {
        Duration::from_millis(10_000 + rng.below(1500))
    } else {
        Duration::from_millis((4 << rng.below(9)) + rng.below(50))
    };
    let (power_switch, should_stop) = (disk.power_switch(), AtomicBool::new(false));
    let written = std::thread::scope(|scope| {
        let writers: Vec<_> = logs
            .iter_mut()
            .map(|log| {
                let (socket, rng) = (&socket, rng.split());
                scope.spawn(move || log.write_until_killed(socket, rng, round))
            })
            .collect();
        let (pages, rng, should_stop) = (home.path(), rng.split(), &should_stop);
        scope.spawn(move || write_out(&pages, rng, should_stop));
        std::thread::sleep(delay);
        power_switch.cut();
        daemon.kill();
        should_stop.store(true, Ordering::Relaxed);
        writers
            .into_iter()
            .map(|writer| writer.join().expect("a writer found a fault; see above"))
            .sum()
    });
    disk.unmount();
    assert!(disk.mount(), "the file system cannot be mounted again");
    let torn = torn_files(&home.path().join("pages"));
    (written, torn, home.daemon())
}

#[test]
fn acknowledged_writes_survive_power_cuts() {
    let requested_cuts =
        std::env::var("BRAIN_POWER_CUTS").ok().map(|n| n.parse::<usize>().expect("not a number"));
    let cuts = requested_cuts.unwrap_or(2);
    let run = Run::new(1);
    let mut rng = run.rng();
    for (n, kind) in FILE_SYSTEMS.into_iter().enumerate() {
        let cuts_here = cuts / FILE_SYSTEMS.len() + usize::from(n < cuts % FILE_SYSTEMS.len());
        if cuts_here == 0 {
            continue;
        }
        let mut home = TestHome::new();
        home.env.push(("BRAIN_SOURCES_WATCH".into(), "true".into()));
        let home = home;
        let Some(disk) = Disk::new(&home, kind) else {
            assert!(
                requested_cuts.is_none(),
                "the requested file system {} is not available",
                kind.0
            );
            continue;
        };
        let mut logs: Vec<WriteLog> = (0..WRITERS).map(WriteLog::new).collect();
        logs.iter_mut().for_each(|log| log.disk_fails = true);
        let (mut written, mut torn) = (0, 0);
        for round in 1..=cuts_here {
            let (new_writes, new_torn, daemon) =
                cut_and_restart(&home, &disk, &mut logs, &mut rng, round);
            (written, torn) = (written + new_writes, torn + new_torn);
            settle(&home);
            let mut check = Check::new(&home);
            for log in &mut logs {
                check.resolve_pending(log);
                for entry in log.sample(&mut rng, round) {
                    check.check_entry(entry);
                }
            }
            let doctor = home.brain(["doctor", "--json"]).json();
            for check in doctor["checks"].as_array().unwrap() {
                let must_be_ok = ["store integrity", "index", "outbox", "spool"]
                    .contains(&check["name"].as_str().unwrap());
                assert!(!must_be_ok || check["status"] == "ok", "{check}");
            }
            // About half of the daemons end cleanly before the next cut.
            if rng.one_in(2) {
                assert!(daemon.terminate().0.success(), "{}", home.log());
            }
        }
        let daemon = home.daemon();
        settle(&home);
        check_everything(&home, &logs);
        // A single cut can come before the first acknowledgement.
        assert!(written > 0 || cuts_here < 5, "no write was acknowledged");
        run.report(&format!(
            "{}: {cuts_here} power cuts, {written} acknowledged writes, {torn} torn files \
                repaired, {:.0?}",
            kind.0,
            run.started_at.elapsed()
        ));
        drop((daemon, disk));
    }
}

/// Tests the harness itself: if flushes do nothing, the test finds losses.
#[test]
fn power_cuts_lose_data_when_nothing_is_flushed() {
    const NO_FLUSH: &str = "int fsync(int f){return 0;} int fdatasync(int f){return 0;}\n";
    let mut home = TestHome::new();
    let shim = home.outside().join("shim.so");
    let source = home.outside().join("shim.c");
    fs::write(&source, NO_FLUSH).unwrap();
    if !has_program("gcc") {
        return;
    }
    let compiled =
        Command::new("gcc").args(["-shared", "-fPIC", "-o"]).args([&shim, &source]).status();
    assert!(compiled.unwrap().success());
    home.env.push(("LD_PRELOAD".into(), shim.display().to_string()));
    let home = home;
    let Some(disk) = Disk::new(&home, FILE_SYSTEMS[2]) else { return };
    let mut logs: Vec<WriteLog> = (0..WRITERS).map(WriteLog::new).collect();
    logs.iter_mut().for_each(|log| log.disk_fails = true);
    let mut rng = Run::new(1).rng();
    // The panic message describes the loss.
    let result = std::thread::scope(|scope| {
        let checker = scope.spawn(|| {
            // A cut can come before the first acknowledgement.
            let cut = |round| cut_and_restart(&home, &disk, &mut logs, &mut rng, round);
            let mut cuts = (1..=20).map(cut);
            let cut = cuts.find(|(written, ..)| *written > 0);
            let _daemon = cut.expect("nothing was written in 20 rounds").2;
            settle(&home);
            let mut check = Check::new(&home);
            logs.iter_mut().for_each(|log| check.resolve_pending(log));
            logs.iter().flat_map(|log| &log.entries).for_each(|entry| check.check_entry(entry));
        });
        checker.join()
    });
    let message = result.expect_err("acknowledged writes were lost, and no check failed");
    let message = message.downcast_ref::<String>().cloned().unwrap_or_default();
    assert!(
        ["lost:", "neither the old nor the new state", "not in the trash", "the daemon ended"]
            .iter()
            .any(|sign| message.contains(sign)),
        "{message}"
    );
}
