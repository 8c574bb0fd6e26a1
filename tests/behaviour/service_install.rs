//! `brain service`: the units that it writes, its calls to the service manager, and the files that
//! it leaves alone. The manager is a script that records its calls.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use brain_tests::{Run, TestHome, program, run};

/// A user with a home directory and a fake service manager.
struct User {
    brain: TestHome,
}

impl User {
    /// Creates a user whose `systemctl` records its arguments and then runs the shell code
    /// `manager`.
    fn new(manager: &str) -> Self {
        let user = Self { brain: TestHome::new() };
        let bin = user.dir("bin");
        let log = user.dir("").join("systemctl.log");
        let script =
            format!("#!/bin/sh\nprintf '%s\\n' \"$*\" >> '{}'\n{manager}\nexit 0\n", log.display());
        fs::write(bin.join("systemctl"), script).unwrap();
        fs::write(bin.join("loginctl"), "#!/bin/sh\necho no\n").unwrap();
        for name in ["systemctl", "loginctl"] {
            fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        user
    }

    /// Sets whether the manager can run a service with private users: `systemd-run` records its
    /// arguments, and succeeds or fails.
    fn allow_private_users(&self, is_allowed: bool) {
        let run = self.dir("bin").join("systemd-run");
        let script = format!(
            "#!/bin/sh\nprintf '%s\\n' \"$*\" >> '{}'\nexit {}\n",
            self.dir("").join("systemd-run.log").display(),
            u8::from(!is_allowed)
        );
        fs::write(&run, script).unwrap();
        fs::set_permissions(run, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Returns the directory `name` beside the home; creates it if it is missing.
    fn dir(&self, name: &str) -> PathBuf {
        let dir = self.brain.outside().join(name);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.brain.command("brain");
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.dir("bin").display()));
        command.env("HOME", self.dir("user")).args(args);
        command
    }

    fn run(&self, args: &[&str]) -> Run {
        run(self.command(args), b"")
    }

    fn json(&self, args: &[&str]) -> serde_json::Value {
        let mut command = self.command(args);
        command.arg("--json");
        run(command, b"").expect(0).json()
    }

    fn unit(&self, kind: &str) -> PathBuf {
        self.brain.outside().join("user/.config/systemd/user").join(format!("brain-daemon.{kind}"))
    }

    /// Returns the arguments of `systemctl`, one line for each call since the last `calls`.
    fn calls(&self) -> Vec<String> {
        let log = self.brain.outside().join("systemctl.log");
        let text = fs::read_to_string(&log).unwrap_or_default();
        let _ = fs::remove_file(log);
        text.lines()
            .map(|line| line.strip_prefix("--user ").expect("a call without --user").to_owned())
            .collect()
    }
}

/// Returns the calls that are not queries.
fn actions(calls: &[String]) -> Vec<&str> {
    calls.iter().map(String::as_str).filter(|call| !call.starts_with("show")).collect()
}

#[test]
fn install_starts_the_service_and_a_repeat_restarts_it() {
    let user = User::new("case \"$*\" in *show*service*) echo MainPID=4242;; esac");
    let installed = user.json(&["service", "install"]);
    assert_eq!((&installed["status"], &installed["pid"]), (&"installed".into(), &4242.into()));
    assert_eq!(
        actions(&user.calls()),
        ["daemon-reload", "enable --now brain-daemon.socket brain-daemon.service"]
    );
    let service = fs::read_to_string(user.unit("service")).unwrap();
    assert!(
        service.contains(&format!("\nExecStart=\"{}\"\n", program("brain-daemon").display())),
        "{service}"
    );
    let home = format!("\nEnvironment=\"BRAIN_HOME={}\"\n", user.brain.path().display());
    assert!(service.contains(&home), "the unit has the custom home: {service}");
    let socket = fs::read_to_string(user.unit("socket")).unwrap();
    assert!(
        socket.contains(&format!("\nListenStream={}\n", user.brain.socket().display())),
        "{socket}"
    );
    assert_eq!(fs::metadata(user.unit("service")).unwrap().permissions().mode() & 0o777, 0o644);

    // Installing again restarts the service for a new program; the socket stays.
    assert_eq!(user.json(&["service", "install"])["status"], "updated");
    assert_eq!(actions(&user.calls())[2..], ["restart brain-daemon.service"]);
    // The socket's path changed, so the socket is started again.
    fs::create_dir_all(user.brain.path()).unwrap();
    fs::write(user.brain.path().join("config.toml"), "[daemon]\nsocket = \"run/other.sock\"\n")
        .unwrap();
    user.run(&["service", "install"]).expect(0);
    assert_eq!(actions(&user.calls())[2..], ["restart brain-daemon.socket brain-daemon.service"]);
    let socket = fs::read_to_string(user.unit("socket")).unwrap();
    assert!(socket.contains(&format!(
        "\nListenStream={}\n",
        user.brain.path().join("run/other.sock").display()
    )));
}

#[test]
fn install_restricts_the_service_as_far_as_the_system_allows() {
    let user = User::new("");
    let drop_in = user.unit("service.d").join("private-users.conf");
    user.allow_private_users(false);
    user.run(&["service", "install"]).expect(0);
    assert!(!drop_in.exists(), "the service would not start");
    let test_run = fs::read_to_string(user.dir("").join("systemd-run.log")).unwrap();
    assert!(test_run.contains("--user") && test_run.contains("PrivateUsers=yes"), "{test_run}");

    user.allow_private_users(true);
    let files = user.json(&["service", "install"])["files"].to_string();
    assert!(files.contains("private-users.conf"), "{files}");
    let text = fs::read_to_string(&drop_in).unwrap();
    assert!(text.starts_with("# Written by `brain service install`"), "{text}");
    for line in ["[Service]", "PrivateUsers=yes", "CapabilityBoundingSet="] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    // The system no longer allows private users.
    user.allow_private_users(false);
    user.run(&["service", "install"]).expect(0);
    assert!(!drop_in.exists());

    user.allow_private_users(true);
    user.run(&["service", "install"]).expect(0);
    user.run(&["service", "uninstall"]).expect(0);
    assert!(!drop_in.parent().unwrap().exists(), "nothing is left");

    // A drop-in that the owner wrote stays.
    fs::create_dir_all(drop_in.parent().unwrap()).unwrap();
    fs::write(&drop_in, "[Service]\nPrivateUsers=no\n").unwrap();
    user.run(&["service", "install"]).expect(0);
    user.run(&["service", "uninstall"]).expect(0);
    assert_eq!(fs::read_to_string(&drop_in).unwrap(), "[Service]\nPrivateUsers=no\n");
}

#[test]
fn the_written_units_pass_systemds_own_check() {
    let user = User::new("");
    user.run(&["service", "install"]).expect(0);
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no"]).arg(user.unit("socket")).arg(user.unit("service"));
    if !brain_tests::has_program("systemd-analyze") {
        return;
    }
    let output = verify.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    // systemd also reads the units of other packages, and names the file of each in its notices.
    let is_of_others = |line: &str| line.starts_with("/lib/systemd/system/");
    let is_ours = |line: &&str| !line.is_empty() && !is_of_others(line);
    let notices: Vec<&str> = stderr.lines().filter(is_ours).collect();
    assert!(notices.is_empty() && output.status.success(), "{stderr}");
}

#[test]
fn the_default_home_is_in_no_unit_and_xdg_moves_the_units() {
    let user = User::new("");
    let config = user.dir("xdg");
    let mut command = user.command(&["service", "install", "--no-start"]);
    command.env_remove("BRAIN_HOME").env("XDG_CONFIG_HOME", &config);
    run(command, b"").expect(0);
    let service = fs::read_to_string(config.join("systemd/user/brain-daemon.service")).unwrap();
    assert!(!service.contains("BRAIN_HOME="), "{service}");
    assert!(!user.unit("service").exists());
}

#[test]
fn no_start_writes_the_units_and_calls_no_manager() {
    let user = User::new("exit 1");
    let written = user.run(&["service", "install", "--no-start"]).expect(0);
    assert!(written.stderr.contains("systemctl --user enable --now"), "{written:?}");
    assert!(user.unit("service").exists() && user.unit("socket").exists());
    assert_eq!(user.calls(), Vec::<String>::new());
    let wants = user.unit("service").parent().unwrap().join("default.target.wants");
    fs::create_dir(&wants).unwrap();
    std::os::unix::fs::symlink(user.unit("service"), wants.join("brain-daemon.service")).unwrap();
    user.run(&["service", "uninstall", "--no-start"]).expect(0);
    assert!(!user.unit("service").exists() && !user.unit("socket").exists());
    assert!(fs::read_dir(&wants).unwrap().next().is_none(), "no dangling link is left");
    assert_eq!(user.calls(), Vec::<String>::new());
}

#[test]
fn without_a_manager_nothing_is_written_and_a_hint_is_shown() {
    let user = User::new("echo 'Failed to connect to bus: No medium found' >&2; exit 1");
    let refused = user.run(&["service", "install"]).expect(6);
    for word in ["No medium found", "loginctl enable-linger", "XDG_RUNTIME_DIR", "--no-start"] {
        assert!(refused.stderr.contains(word), "{word}: {refused:?}");
    }
    assert!(!user.unit("service").exists());
    // systemd is not installed.
    let mut command = user.command(&["service", "install", "--json"]);
    command.env("PATH", "/nonexistent");
    let refused = run(command, b"").expect(6).json();
    assert!(
        refused["error"]["message"].as_str().unwrap().contains("systemctl does not exist"),
        "{refused}"
    );
}

#[test]
fn units_of_another_author_are_left_alone() {
    let user = User::new("");
    fs::create_dir_all(user.unit("service").parent().unwrap()).unwrap();
    fs::write(user.unit("service"), "[Service]\nExecStart=/mine\n").unwrap();
    for action in ["install", "uninstall"] {
        let refused = user.run(&["service", action]).expect(1);
        assert!(refused.stderr.contains("was not written by"), "{refused:?}");
    }
    assert_eq!(user.json(&["service", "status"])["status"], "foreign");
    assert_eq!(fs::read_to_string(user.unit("service")).unwrap(), "[Service]\nExecStart=/mine\n");
    assert!(!user.unit("socket").exists(), "the socket unit is not written either");
    assert_eq!(user.calls(), Vec::<String>::new());
    assert_eq!(user.run(&["service", "status", "--force"]).code, 2);
    user.run(&["service", "install", "--force"]).expect(0);
    assert!(
        fs::read_to_string(user.unit("service"))
            .unwrap()
            .starts_with("# Written by `brain service install`")
    );
    let calls = user.calls();
    assert!(
        actions(&calls).contains(&"restart brain-daemon.socket brain-daemon.service"),
        "{calls:?}"
    );
}

#[test]
fn a_daemon_that_a_command_started_is_stopped_first() {
    let user = User::new("");
    user.brain.json(["capture", "before the service"]);
    let pid = user.brain.json(["status"])["pid"].clone();
    let installed = user.json(&["service", "install"]);
    assert_eq!(installed["stopped"], pid);
    assert!(user.brain.connect().is_none(), "the daemon has exited");
    // A daemon of the manager is restarted instead.
    let user =
        User::new("case \"$*\" in *show*service*) echo MainPID=$(cat \"$BRAIN_HOME/pid\");; esac");
    let daemon = user.brain.daemon();
    fs::write(user.brain.path().join("pid"), daemon.pid().to_string()).unwrap();
    let installed = user.json(&["service", "install"]);
    assert_eq!(
        (&installed["stopped"], &installed["pid"]),
        (&serde_json::Value::Null, &daemon.pid().into())
    );
    assert!(user.brain.connect().is_some());
}

#[test]
fn an_invalid_configuration_is_reported_before_any_write() {
    let user = User::new("");
    fs::create_dir_all(user.brain.path()).unwrap();
    fs::write(user.brain.path().join("config.toml"), "[daemon]\nsockt = \"x\"\n").unwrap();
    let refused = user.run(&["service", "install"]).expect(1);
    assert!(
        refused.stderr.contains("sockt") && refused.stderr.contains("\"socket\""),
        "{refused:?}"
    );
    assert!(!user.unit("service").exists());
}

#[test]
fn a_failed_start_is_reported_in_systemds_words() {
    let user = User::new(
        "case \"$*\" in *enable*) echo 'Job for brain-daemon.service failed.' >&2; exit 1;; esac",
    );
    let failed = user.run(&["service", "install"]).expect(1);
    assert!(failed.stderr.contains("Job for brain-daemon.service failed."), "{failed:?}");
    assert!(failed.stderr.contains("journalctl --user -u brain-daemon"), "{failed:?}");
}

#[test]
fn a_refused_uninstall_is_an_error_with_a_hint() {
    let user =
        User::new("case \"$*\" in *disable*) echo 'Unit file does not exist.' >&2; exit 1;; esac");
    user.run(&["service", "install"]).expect(0);
    fs::remove_file(user.unit("socket")).unwrap();
    let failed = user.run(&["service", "uninstall"]).expect(1);
    assert!(failed.stderr.contains("brain service uninstall --no-start"), "{failed:?}");
    user.run(&["service", "uninstall", "--no-start"]).expect(0);
    assert!(!user.unit("service").exists());
}

#[test]
fn without_a_home_variable_nothing_is_written() {
    let user = User::new("");
    let mut command = user.command(&["service", "install", "--no-start"]);
    command.env("HOME", "").env_remove("XDG_CONFIG_HOME").current_dir(user.dir("here"));
    let refused = run(command, b"").expect(1);
    assert!(refused.stderr.contains("nor HOME is set"), "{refused:?}");
    assert!(!user.dir("here").join(".config").exists());
}

#[test]
fn status_reports_the_service_and_uninstall_removes_it() {
    let states = "case \"$*\" in
        *show*service*) printf 'ActiveState=active\\nUnitFileState=enabled\\nMainPID=77\\n\
        StatusText=serving 3 pages\\n';;
        *show*socket*) echo ActiveState=active;;
    esac";
    let user = User::new(states);
    assert_eq!(user.json(&["service", "status"])["status"], "not_installed");
    assert_eq!(user.json(&["service", "uninstall"])["status"], "not_installed");
    user.run(&["service", "install"]).expect(0);
    let status = user.json(&["service", "status"]);
    assert_eq!(
        (&status["status"], &status["enabled"], &status["pid"]),
        (&"running".into(), &true.into(), &77.into())
    );
    assert_eq!(status["said"], "serving 3 pages");
    assert_eq!(status["program"], program("brain-daemon").to_str().unwrap());
    assert!(user.run(&["service", "status"]).expect(0).stdout.contains("running service"));
    user.calls();
    let removed = user.json(&["service", "uninstall"]);
    assert_eq!((&removed["status"], &removed["stopped"]), (&"uninstalled".into(), &77.into()));
    assert_eq!(
        actions(&user.calls()),
        ["disable --now brain-daemon.socket brain-daemon.service", "daemon-reload"]
    );
    assert!(!user.unit("service").exists() && !user.unit("socket").exists());
}
