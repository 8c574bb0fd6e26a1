//! Measures a brain on one machine in pairs with the programs of another version.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use brain_tests::{TEST_TIMEOUT, TestHome, target_dir};

use crate::Bench;
use crate::report::{Goal, Samples, short};

/// Number of captures with each version.
const CAPTURES: usize = 300;
/// Number of imports with each version.
const IMPORTS: usize = 5;

/// A home that is used with the programs in a directory.
struct Version<'d> {
    home: TestHome,
    programs: &'d Path,
    daemon: Option<Child>,
}

impl<'d> Version<'d> {
    fn new(programs: &'d Path) -> Self {
        let mut version = Self { home: TestHome::new(), programs, daemon: None };
        let mut daemon = version.command("brain-daemon");
        let daemon = daemon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        version.daemon = Some(daemon.spawn().unwrap());
        let deadline = Instant::now() + TEST_TIMEOUT;
        while version.home.connect().is_none() {
            assert!(Instant::now() < deadline, "the daemon does not answer");
            std::thread::sleep(Duration::from_millis(2));
        }
        version
    }

    /// Returns a command as [`TestHome::command`] does, with a program of this version.
    fn command(&self, name: &str) -> Command {
        let template = self.home.command(name);
        let mut command = Command::new(self.programs.join(name));
        command.env_clear();
        command.envs(template.get_envs().filter_map(|(key, value)| Some((key, value?))));
        command
    }

    /// Runs `brain` and returns how long the process took.
    fn time(&self, args: &[&str]) -> Duration {
        let mut command = self.command("brain");
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let began = Instant::now();
        let status = command.status().unwrap();
        let took = began.elapsed();
        assert!(status.success(), "{args:?}");
        took
    }
}

impl Drop for Version<'_> {
    fn drop(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

impl Bench {
    /// Measures captures and imports with these programs and with those of `former`, in turns.
    pub(super) fn one_machine(&mut self, former: &Path) {
        let present = target_dir();
        let versions = [former, &present].map(Version::new);
        let mut captures = [Samples::default(), Samples::default()];
        for n in 0..CAPTURES {
            let thought = format!("A thought, number {n}: {}", self.notes.question(n));
            for turn in 0..2 {
                let at = (turn + n) % 2;
                captures[at].time(versions[at].time(&["capture", &thought]));
            }
        }
        drop(versions);
        self.version_row("`brain capture`, whole process", &captures, "ms");
        let count = self.scale.few;
        let dir = self.notes.write(&self.dir.path().join("versions"), 0..count).unwrap();
        let path = dir.display().to_string();
        let mut imports = [Samples::default(), Samples::default()];
        let mut homes = Vec::new();
        for round in 0..IMPORTS {
            for turn in 0..2 {
                let at = (turn + round) % 2;
                let version = Version::new([former, &present][at]);
                imports[at].push(version.time(&["import", &path]).as_secs_f64());
                // Files of homes are removed at the end: that would slow the next import.
                homes.push(version);
            }
        }
        self.version_row("`brain import` of 10,000 notes, whole process", &imports, "s");
        drop(homes);
    }

    fn version_row(&mut self, what: &str, [before, after]: &[Samples; 2], unit: &'static str) {
        self.machine_row(
            &format!("a brain on one machine: {what}"),
            Goal::Below(before.quantile(0.9).max(1.1 * before.median()), unit),
            after.median(),
            after.text(unit),
            Some((Some(before.median()), format!("{}: the version before", before.text(unit)))),
        );
        let ratio = after.median() / before.median();
        eprintln!("  {what}: {} times the former version", short(ratio));
    }
}
