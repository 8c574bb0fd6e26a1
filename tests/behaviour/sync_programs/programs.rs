//! Real sync programs between two directories of this machine.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use brain_tests::run;
use rustix::process::{Pid, Signal, kill_process};

use super::Side;

/// A program that keeps two directories equal.
pub(crate) trait SyncProgram: Send {
    const NAME: &'static str;

    /// Runs the program once, or gives it time if it runs by itself.
    fn synchronise(&mut self);

    /// Makes the next run compare all files, if the program can forget a difference.
    fn compare_all(&mut self) {}
}

/// Pause between two runs of a program that does not run by itself.
const PAUSE: Duration = Duration::from_millis(700);

/// Unison. In a conflict the newer file wins, and the other becomes a copy.
pub(crate) struct Unison {
    roots: [PathBuf; 2],
    archives: PathBuf,
}

impl Unison {
    pub(crate) fn start(left: &Side, right: &Side) -> Self {
        let archives = left.home.outside().join("unison");
        fs::create_dir_all(&archives).unwrap();
        Self { roots: [left.notes.clone(), right.notes.clone()], archives }
    }
}

impl SyncProgram for Unison {
    const NAME: &'static str = "unison";

    fn synchronise(&mut self) {
        std::thread::sleep(PAUSE);
        let mut command = Command::new("unison");
        command.args(&self.roots).env("UNISON", &self.archives).env("HOME", &self.archives);
        command.args(["-ui", "text", "-batch", "-prefer", "newer", "-copyonconflict", "-times"]);
        command.args(["-confirmbigdel=false"]);
        let result = run(command, b"");
        // 1: files that changed meanwhile were skipped, 2: some failed. The next run tries again.
        assert!((0..=2).contains(&result.code), "{result:?}");
    }
}

/// rclone bisync. In a conflict both files are renamed.
pub(crate) struct Bisync<'a> {
    sides: [&'a Side; 2],
    dir: PathBuf,
    needs_resync: bool,
}

impl<'a> Bisync<'a> {
    pub(crate) fn start(left: &'a Side, right: &'a Side) -> Self {
        let dir = left.home.outside().join("bisync");
        fs::create_dir_all(&dir).unwrap();
        Self { sides: [left, right], dir, needs_resync: true }
    }
}

impl SyncProgram for Bisync<'_> {
    const NAME: &'static str = "rclone bisync";

    fn synchronise(&mut self) {
        std::thread::sleep(PAUSE);
        // It overwrites files that were saved after it looked at them.
        let _pauses = self.sides.map(|side| side.saving.lock().unwrap());
        if self.needs_resync {
            // A resync overwrites the files of the second side. The brains have read them by then.
            std::thread::sleep(Duration::from_secs(2));
        }
        let mut command = Command::new("rclone");
        command.arg("bisync").args(self.sides.map(|side| &side.notes)).env("HOME", &self.dir);
        command
            .arg("--workdir")
            .arg(self.dir.join("state"))
            .args(["--force", "--remove-empty-dirs"]);
        command.args(self.needs_resync.then_some("--resync"));
        let result = run(command, b"");
        self.needs_resync = result.code != 0;
    }

    /// The state that it keeps can have a change that was made while it ran, and that it did not
    /// copy.
    fn compare_all(&mut self) {
        self.needs_resync = true;
    }
}

/// Two instances of Syncthing that know only each other.
pub(crate) struct Syncthing {
    instances: [Child; 2],
}

impl Syncthing {
    pub(crate) fn start(left: &Side, right: &Side) -> Self {
        let sides = [left, right];
        let homes = sides.map(|side| side.home.outside().join("syncthing"));
        let ids = homes.each_ref().map(|home| generate(home));
        let ports = [free_port(), free_port()];
        let instances = std::array::from_fn(|n| {
            let config = config(&sides[n].notes, &ids, ports, ports[n]);
            fs::write(homes[n].join("config.xml"), config).unwrap();
            let log = fs::File::create(homes[n].join("log")).unwrap();
            fs::create_dir_all(sides[n].notes.join(".stfolder")).unwrap();
            syncthing(&homes[n], &["serve", "--no-browser", "--no-upgrade"])
                .stdout(log)
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        });
        Self { instances }
    }
}

impl SyncProgram for Syncthing {
    const NAME: &'static str = "syncthing";

    fn synchronise(&mut self) {
        for instance in &mut self.instances {
            assert!(instance.try_wait().unwrap().is_none(), "syncthing ended");
        }
        std::thread::sleep(PAUSE);
    }
}

impl Drop for Syncthing {
    fn drop(&mut self) {
        for instance in &mut self.instances {
            let _ = kill_process(Pid::from_child(instance), Signal::TERM);
            let _ = instance.wait();
        }
    }
}

fn syncthing(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("syncthing");
    command.args(args).arg("--home").arg(home);
    // Without a second process that restarts the first one.
    command.env("HOME", home).env("STNORESTART", "1").stdin(Stdio::null());
    command
}

/// Makes keys. Returns the device's id.
fn generate(home: &Path) -> String {
    run(syncthing(home, &["generate", "--no-default-folder"]), b"").expect(0);
    run(syncthing(home, &["--device-id"]), b"").expect(0).stdout.trim().to_owned()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Returns a configuration without discovery, relays, reports and upgrades.
fn config(folder: &Path, ids: &[String; 2], ports: [u16; 2], port: u16) -> String {
    let gui_port = free_port();
    let devices: String = ids
        .iter()
        .zip(ports)
        .map(|(id, at)| {
            format!(
                "<device id=\"{id}\" name=\"{at}\"><address>tcp://127.0.0.1:{at}</address>\
                 </device>"
            )
        })
        .collect();
    let members: String = ids.iter().map(|id| format!("<device id=\"{id}\"></device>")).collect();
    let folder = folder.display();
    format!(
        "<configuration version=\"36\">\
         <folder id=\"notes\" path=\"{folder}\" type=\"sendreceive\" rescanIntervalS=\"5\" \
         fsWatcherEnabled=\"true\" fsWatcherDelayS=\"1\"><maxConflicts>10</maxConflicts>\
         {members}</folder>{devices}\
         <gui enabled=\"true\"><address>127.0.0.1:{gui_port}</address><apikey>key</apikey></gui>\
         <options><listenAddress>tcp://127.0.0.1:{port}</listenAddress>\
         <globalAnnounceEnabled>false</globalAnnounceEnabled>\
         <localAnnounceEnabled>false</localAnnounceEnabled><relaysEnabled>false</relaysEnabled>\
         <natEnabled>false</natEnabled><urAccepted>-1</urAccepted>\
         <autoUpgradeIntervalH>0</autoUpgradeIntervalH><reconnectionIntervalS>1\
         </reconnectionIntervalS><crashReportingEnabled>false</crashReportingEnabled>\
         <announceLANAddresses>false</announceLANAddresses></options></configuration>"
    )
}
