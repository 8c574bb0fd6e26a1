//! `packaging/install.sh`: installation from an unpacked archive, upgrade and removal.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use brain_tests::{HTTP_ON_FREE_PORT, Run, program, run};
use tempfile::TempDir;

/// A user with an unpacked archive. The daemon of the user's brain is ended with it.
struct User {
    dir: TempDir,
}

impl User {
    fn new() -> Self {
        let user = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir_all(user.home()).unwrap();
        for name in ["brain", "brain-convert", "brain-daemon"] {
            let path = user.path("archive/bin").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::copy(program(name), path).unwrap();
        }
        for file in [
            "bash-completion/completions/brain",
            "zsh/site-functions/_brain",
            "fish/vendor_completions.d/brain.fish",
            "man/man1/brain.1",
            "doc/brain/README.md",
            "doc/brain/copyright",
            "doc/brain/docs/packages.md",
        ] {
            let path = user.path("archive/share").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let script = fs::read_to_string(root.join("packaging/install.sh")).unwrap();
        let script = script.replace("@VERSION@", "9.9").replace("@SHA256_X86_64@", "0");
        let script = script.replace("@SHA256_AARCH64@", "1");
        let script = script.replace("@RELEASE_URL@", "https://127.0.0.1:9/brain");
        fs::write(user.path("archive/install.sh"), &script).unwrap();
        fs::write(user.path("install.sh"), script).unwrap();
        user
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn home(&self) -> PathBuf {
        self.path("home")
    }

    fn run(&self, program: impl AsRef<Path>, args: &[&str]) -> Run {
        let mut command = Command::new(program.as_ref());
        command.env_clear().envs(HTTP_ON_FREE_PORT).env("HOME", self.home());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).args(args);
        run(command, b"")
    }

    /// Runs the script in the archive.
    fn install(&self, args: &[&str]) -> Run {
        let script = self.path("archive/install.sh").display().to_string();
        self.run("sh", &[&[&*script], args].concat())
    }

    /// Runs the installed `brain`.
    fn brain(&self, args: &[&str]) -> Run {
        self.run(self.home().join(".local/bin/brain"), args)
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let brain = self.path("archive/bin/brain");
        self.run(brain, &["stop"]);
    }
}

#[test]
fn uninstall_disconnects_ai_clients() {
    let user = User::new();
    user.install(&[]).expect(0);
    let settings = user.home().join(".cursor/mcp.json");
    fs::create_dir(settings.parent().unwrap()).unwrap();
    user.brain(&["setup", "--yes", "--service=no", "--connect", "cursor"]).expect(0);
    assert!(fs::read_to_string(&settings).unwrap().contains(".local/bin/brain"));
    let removed = user.install(&["--uninstall"]).expect(0);
    let left = fs::read_to_string(&settings).unwrap_or_default();
    assert!(!left.contains(".local/bin/brain"), "{left}: {removed:?}");
    assert!(!user.home().join(".local/bin/brain").exists());
}

#[test]
fn uninstall_continues_if_a_client_stays_connected() {
    let user = User::new();
    user.install(&[]).expect(0);
    fs::create_dir_all(user.home().join(".brain")).unwrap();
    fs::write(user.home().join(".brain/setup.json"), "damaged").unwrap();
    let removed = user.install(&["--uninstall"]).expect(0);
    assert!(removed.stdout.contains("remove its entry \"brain\""), "{removed:?}");
    assert!(!user.home().join(".local/bin/brain").exists());
}

#[test]
fn a_failed_download_is_one_sentence_with_the_way_out() {
    let user = User::new();
    let script = user.path("install.sh");
    let text = fs::read_to_string(&script).unwrap();
    // The first address is that of scripts made without the address of a release.
    for (base, reason) in [
        ("https://example.invalid/brain/9.9", "there is no published release"),
        ("https://127.0.0.1:9/brain", "cannot be downloaded"),
    ] {
        fs::write(&script, text.replace("https://127.0.0.1:9/brain", base)).unwrap();
        let failed = user.run("sh", &[&script.display().to_string()]).expect(1);
        assert!(failed.stderr.contains(reason), "{failed:?}");
        assert!(failed.stderr.contains("--from ARCHIVE"), "{failed:?}");
        assert_eq!(failed.stderr.lines().count(), 1, "{failed:?}");
    }
}

#[test]
fn each_architecture_gets_its_archive() {
    let user = User::new();
    let script = user.path("install.sh").display().to_string();
    let uname = user.path("bin/uname");
    fs::create_dir(uname.parent().unwrap()).unwrap();
    let path = format!("{}:/usr/bin:/bin", uname.parent().unwrap().display());
    let run_on = |architecture: &str, args: &[&str]| {
        let text = format!("#!/bin/sh\n[ $1 = -m ] && echo {architecture} || echo Linux\n");
        fs::write(&uname, text).unwrap();
        fs::set_permissions(&uname, fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = Command::new("sh");
        command.env_clear().env("HOME", user.home()).env("PATH", &path);
        command.arg(&script).args(args);
        run(command, b"").expect(1).stderr
    };
    for (architecture, hash) in [("x86_64", "not 0;"), ("aarch64", "not 1;")] {
        let failed = run_on(architecture, &[]);
        assert!(failed.contains(&format!("brain-9.9-{architecture}-linux.tar.gz")), "{failed}");
        // An archive of the user must have the hash of the architecture.
        let failed = run_on(architecture, &["--from", &script]);
        assert!(failed.contains(hash), "{failed}");
    }
    let failed = run_on("riscv64", &[]);
    assert!(failed.contains("no archive for Linux on riscv64"), "{failed}");
    // A release may lack an architecture.
    let text =
        fs::read_to_string(&script).unwrap().replace("sha256_aarch64='1'", "sha256_aarch64=''");
    fs::write(&script, text).unwrap();
    let failed = run_on("aarch64", &[]);
    assert!(failed.contains("no archive for aarch64 in this release"), "{failed}");
}

#[test]
fn programs_of_another_architecture_are_not_installed() {
    let user = User::new();
    // What a shell prints for such a program.
    let text = "#!/bin/sh\necho 'brain: cannot execute: Exec format error' >&2\nexit 126\n";
    fs::write(user.path("archive/bin/brain"), text).unwrap();
    let failed = user.install(&[]).expect(1);
    assert!(failed.stderr.contains("check that the archive is for"), "{failed:?}");
    assert_eq!(failed.stderr.lines().count(), 1, "{failed:?}");
    assert!(!user.home().join(".local/bin/brain-daemon").exists());
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let user = User::new();
    // A file in the place of a directory also stops root.
    fs::write(user.home().join(".local"), "").unwrap();
    let failed = user.install(&[]).expect(1);
    assert!(failed.stderr.starts_with("install.sh: error: "), "{failed:?}");
    assert!(failed.stderr.contains("home/.local"), "{failed:?}");
    assert!(failed.stderr.contains("BRAIN_BIN"), "{failed:?}");
    assert_eq!(failed.stderr.lines().count(), 1, "{failed:?}");
}

#[test]
fn only_a_daemon_of_another_program_is_named() {
    let user = User::new();
    user.install(&[]).expect(0);
    user.brain(&["capture", "A first thought"]).expect(0);
    let status = user.brain(&["status", "--json"]).expect(0).json();
    let same = user.install(&[]).expect(0);
    assert!(!same.stdout.contains("restart"), "{same:?}");
    // A byte after the program's end makes another program that runs.
    let program = user.path("archive/bin/brain-daemon");
    let mut bytes = fs::read(&program).unwrap();
    bytes.push(0);
    fs::write(&program, bytes).unwrap();
    let other = user.install(&[]).expect(0);
    let line = format!("process {} still runs the former brain-daemon", status["pid"]);
    assert!(other.stdout.contains(&line), "{other:?}");
    assert!(other.stdout.contains("brain restart"), "{other:?}");
    user.brain(&["restart"]).expect(0);
    let same = user.install(&[]).expect(0);
    assert!(!same.stdout.contains("restart"), "{same:?}");
    let removed = user.install(&["--uninstall"]).expect(0);
    assert!(removed.stdout.contains("stopped brain-daemon"), "{removed:?}");
    assert!(user.home().join(".brain/brain.redb").exists());
}

/// Returns the paths of all files and directories below a directory, sorted.
fn paths(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(paths(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}

#[test]
fn uninstall_removes_the_directories_that_it_created() {
    let user = User::new();
    let own = user.home().join(".local/share/man");
    fs::create_dir_all(&own).unwrap();
    let before = paths(&user.home());
    user.install(&[]).expect(0);
    // The second installation keeps the list of directories. One file is no longer in the archive.
    fs::remove_file(user.path("archive/share/doc/brain/docs/packages.md")).unwrap();
    fs::write(user.path("archive/share/doc/brain/docs/other.md"), "").unwrap();
    user.install(&[]).expect(0);
    assert!(!user.home().join(".local/share/doc/brain/docs/packages.md").exists());
    let foreign = user.home().join(".config/fish/config.fish");
    fs::write(&foreign, "").unwrap();
    user.install(&["--uninstall"]).expect(0);
    let foreign_dir = foreign.parent().unwrap();
    assert!(foreign.exists());
    assert_eq!(paths(foreign_dir), [&*foreign], "only the file of another program is left there");
    fs::remove_dir_all(user.home().join(".config")).unwrap();
    assert_eq!(paths(&user.home()), before);
}
