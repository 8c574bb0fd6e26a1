//! Transcripts of commands for the daemon, the configuration and the programs.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use brain_tests::TestHome;

use super::transcript::Transcript;

/// Writes a program of the user.
fn add_program(user: &Transcript, name: &str, script: &str) {
    user.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
    let path = user.directory().join("bin").join(name);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A service manager whose units are active.
const SYSTEMCTL: &str = r"case $* in
*show*service*) printf 'ActiveState=active\nUnitFileState=enabled\nMainPID=77\nStatusText=ready\n';;
*show*socket*) echo ActiveState=active;;
esac";

#[test]
fn daemon() {
    let mut user = Transcript::without_daemon(TestHome::new());
    user.run(
        r#"
        # no daemon
        brain status
        brain stop
        brain logs
        brain get a --no-start
        # a daemon
        echo "One" | brain put a
        brain status
        brain
        brain logs | sed -n 1p
        brain restart
        brain doctor
        brain stop
        "#,
    );
    user.compare("daemon");
}

#[test]
fn configuration_and_installation() {
    let mut user = Transcript::without_daemon(TestHome::new());
    add_program(&user, "systemctl", SYSTEMCTL);
    add_program(&user, "systemd-run", "exit 0");
    add_program(&user, "loginctl", "echo no");
    user.write(".cursor/mcp.json", "{}\n");
    user.run(
        r#"
        # config
        brain config path
        brain config show
        brain config check
        brain config set sources.watch true
        brain config set sources.watch perhaps
        brain config set none.none 1
        cat home/config.toml
        brain config check
        echo "sources = 1" > wrong.toml
        brain config check wrong.toml
        # setup
        brain setup
        brain setup --yes --service=no --notes none --connect cursor --model none
        cat .cursor/mcp.json
        brain setup --yes --service=no
        brain setup --undo
        # programs
        brain --version
        brain completions bash --install
        brain completions bash | sed -n 1,3p
        brain man --out man
        ls man | sed -n 1,3p
        brain skill | sed -n 1,4p
        brain skill show | grep -c .
        brain skill install
        brain skill install
        brain skill install --dir skills
        # service
        brain service status
        brain service install --no-start
        brain service install
        brain service status
        brain service uninstall
        # demo
        brain demo --no-wait 2>/dev/null | grep -E '^(This|Your|[1-9] of|\$|That|Begin)'
        "#,
    );
    user.compare("configuration_and_installation");
}
