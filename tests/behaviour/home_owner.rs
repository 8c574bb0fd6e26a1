//! Root in the home of another user, and that user in a home that root made.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use brain_tests::{Run, TestHome, can_change_user, program, run};

const USER: u32 = 65533;

/// Runs `brain capture` as [`USER`] with that home.
fn capture_as_user(programs: &Path, home: &Path) -> Run {
    let mut command = Command::new("setpriv");
    command.args([&format!("--reuid={USER}"), "--regid=65534", "--clear-groups"]);
    command.arg(programs.join("brain")).args(["capture", "a thought"]);
    command.env_clear().envs(brain_tests::HTTP_ON_FREE_PORT).env("BRAIN_HOME", home);
    command.env("PATH", "/usr/bin:/bin").current_dir("/");
    run(command, b"")
}

#[test]
fn root_makes_no_files_in_the_home_of_a_user() {
    if !can_change_user() {
        return;
    }
    let home = TestHome::new();
    let user = home.outside().join("user");
    fs::create_dir(&user).unwrap();
    chown(&user, Some(USER), None).unwrap();
    let mut command = home.command("brain");
    command.args(["capture", "a thought"]).env("BRAIN_HOME", user.join(".brain"));
    let refused = run(command, b"");
    assert_ne!(refused.code, 0, "{refused:?}");
    for part in [format!("the user with the number {USER}"), "without `sudo`".into()] {
        assert!(refused.stderr.contains(&part), "{part}: {}", refused.stderr);
    }
    assert_eq!(fs::read_dir(&user).unwrap().count(), 0, "nothing is made");
}

#[test]
fn a_user_whose_home_root_made_is_told_the_way_out() {
    if !can_change_user() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["brain", "brain-daemon"] {
        fs::copy(program(name), dir.path().join(name)).unwrap();
    }
    let home = dir.path().join("home");
    fs::create_dir(&home).unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
    let way_out = format!("`sudo chown -R \"$(id -un)\" {}`", home.display());
    let refused = capture_as_user(dir.path(), &home);
    assert!(refused.stderr.contains(&way_out), "{}", refused.stderr);
    // Only the store belongs to root.
    chown(&home, Some(USER), None).unwrap();
    let store = home.join("brain.redb");
    fs::write(&store, "of root").unwrap();
    fs::set_permissions(&store, fs::Permissions::from_mode(0o600)).unwrap();
    let refused = capture_as_user(dir.path(), &home);
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains(&way_out), "{}", refused.stderr);
    assert!(refused.stderr.contains("brain.redb cannot be used: it belongs to root"));
    assert_eq!(fs::read(&store).unwrap(), b"of root");
}
