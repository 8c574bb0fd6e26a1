//! A second user of the same machine, who tries to read the owner's page in the browser.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use brain_tests::{Run, can_change_user, has_program, program, run};

use crate::web::Site;

/// Runs a program as the user 65534, who owns no files, with no environment but a `PATH`.
fn as_other_user(arguments: &[&str]) -> Run {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).args(arguments);
    command.env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
    run(command, b"")
}

/// Requests a path with a cookie, as another user; returns the answer.
fn get(address: &str, path: &str, cookie: &str) -> String {
    let (host, port) = address.rsplit_once(':').unwrap();
    // Bash connects by itself, so the other user need not be able to read a program of brain.
    let script = r#"exec 3<>"/dev/tcp/$1/$2" || exit 9
        printf 'GET %s HTTP/1.1\r\nHost: %s:%s\r\nCookie: %s\r\nConnection: close\r\n\r\n' \
            "$3" "$1" "$2" "$4" >&3
        cat <&3"#;
    let output = as_other_user(&["bash", "-c", script, "get", host, port, path, cookie]);
    assert!(output.stdout.starts_with("HTTP/1.1 "), "{output:?}");
    output.stdout
}

#[test]
fn another_user_of_the_machine_sees_nothing() {
    if !can_change_user() || !has_program("bash") {
        return;
    }
    assert_eq!(as_other_user(&["bash", "-c", "echo $UID"]).stdout.trim(), "65534");
    let site = Site::new();
    site.home.put("diary", "# Diary\n\nsecret otter\n");
    let browser = site.open();
    let (name, value) = browser.cookies[0].clone();

    // Everyone can connect to the port, but requests without a session are refused.
    let reversed: String = value.chars().rev().collect();
    for cookie in ["", "x=y", &format!("{name}="), &format!("{name}={reversed}")] {
        for path in ["/page/diary", "/web/results?q=otter", "/web/edit/diary", "/web/events"] {
            let answer = get(&site.local, path, cookie);
            assert!(answer.starts_with("HTTP/1.1 401 "), "{path} {cookie}: {answer}");
            assert!(!answer.contains("otter") && !answer.contains("csrf"), "{answer}");
            assert!(!answer.to_lowercase().contains("set-cookie"), "{answer}");
        }
    }
    for code in ["x", &reversed, &value] {
        let answer = get(&site.local, &format!("/open/{code}"), "");
        assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    }

    // `brain open` gives the browser a file with the address. The other user cannot read the file,
    // even if the directories are open to everyone.
    let run_dir = site.home.path().join("run");
    let mut open = site.home.command("brain");
    open.arg("open").env("BROWSER", "/bin/true");
    assert_eq!(run(open, b"").code, 0);
    let is_html =
        |path: &std::path::Path| path.extension().is_some_and(|extension| extension == "html");
    let files = fs::read_dir(&run_dir).unwrap().map(|entry| entry.unwrap().path());
    let file = { files }.find(|path| is_html(path)).unwrap();
    let address = fs::read_to_string(&file).unwrap();
    assert!(address.contains("/open/"), "{address}");
    let cat = |path: &std::path::Path| as_other_user(&["cat", path.to_str().unwrap()]);
    assert!(cat(&file).stdout.is_empty() && cat(&file).code != 0);
    let home = site.home.path().to_owned();
    for dir in [home.parent().unwrap(), &home, &run_dir] {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let read = cat(&file);
    assert!(read.code != 0 && read.stdout.is_empty(), "{read:?}");

    // The control socket gives no address, even if its file is open to everyone.
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let brain = dir.path().join("brain");
    fs::copy(program("brain"), &brain).unwrap();
    fs::set_permissions(site.home.socket(), fs::Permissions::from_mode(0o666)).unwrap();
    let home = format!("BRAIN_HOME={}", home.display());
    let output =
        as_other_user(&["env", &home, brain.to_str().unwrap(), "open", "--print", "--no-start"]);
    assert!(output.code != 0 && !output.stdout.contains("/open/"), "{output:?}");
    assert!(site.home.log().contains("another user was refused"), "{}", site.home.log());
    let mut browser = browser;
    let page = crate::web::HttpRequest::get("/page/diary");
    assert!(browser.send(&site.local, page).expect(200).body.contains("otter"));
}
