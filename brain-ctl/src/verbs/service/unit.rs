//! Renders the unit files in `systemd/user` with the paths of an installation.

use std::path::Path;

use brain_protocol::{Fault, FaultCode};

/// The beginning of the first line of each file that `install` writes. A unit file without it is
/// changed only with `--force`.
pub(super) const MARKER: &str = "# Written by `brain service install`";

/// The rest of the introduction, after [`MARKER`].
const NOTICE: &str = ", which overwrites it. Put your own settings into a drop-in: \
    `systemctl --user edit brain-daemon`.";

const SERVICE: &str = include_str!("../../../../systemd/user/brain-daemon.service");
const PRIVATE_USERS: &str = include_str!("../../../../systemd/user/examples/private-users.conf");
const SOCKET: &str = include_str!("../../../../systemd/user/brain-daemon.socket");

/// The file name of the drop-in with further restrictions.
pub(super) const RESTRICTIONS_FILE: &str = "private-users.conf";

/// Maximum length of a socket path in bytes.
const MAX_SOCKET_PATH: usize = 107;

/// The paths of an installation that its units contain.
pub(super) struct Paths<'a> {
    /// The daemon's program.
    pub(super) program: &'a Path,
    /// The home, if it is not the default.
    pub(super) home: Option<&'a Path>,
    /// The control socket.
    pub(super) socket: &'a Path,
}

/// Renders the service unit.
///
/// # Errors
/// `usage` if a path cannot be written into a unit.
pub(super) fn service(paths: &Paths<'_>) -> Result<String, Fault> {
    let mut lines = vec![format!("ExecStart={}", quote(paths.program)?)];
    if let Some(home) = paths.home {
        let home = quote(home)?;
        // The opening quotation mark belongs before the name of the variable.
        lines.push(format!("Environment=\"BRAIN_HOME={}", &home[1..]));
    }
    Ok(render(SERVICE, "ExecStart=", &lines))
}

/// Renders the socket unit.
///
/// # Errors
/// `usage` if the path cannot be written into a unit, or is too long for a socket.
pub(super) fn socket(paths: &Paths<'_>) -> Result<String, Fault> {
    let path = unit_text(paths.socket)?;
    if path.len() > MAX_SOCKET_PATH {
        return Err(Fault::new(
            FaultCode::Usage,
            format!(
                "{path} is too long for a socket: {} bytes, at most {MAX_SOCKET_PATH}",
                path.len()
            ),
        )
        .hint("set BRAIN_SOCKET to a shorter path"));
    }
    Ok(render(SOCKET, "ListenStream=", &[format!("ListenStream={}", path.replace('%', "%%"))]))
}

/// Returns the settings of the drop-in with the restrictions that need user namespaces.
pub(super) fn restriction_settings() -> impl Iterator<Item = &'static str> {
    PRIVATE_USERS.lines().filter(|line| !line.starts_with('#') && line.contains('='))
}

/// Renders the drop-in with the restrictions that need user namespaces.
pub(super) fn restrictions() -> String {
    // No line begins with a line feed, so no line is replaced.
    render(PRIVATE_USERS, "\n", &[])
}

/// Replaces the introduction of `template` with brain's, and each line that begins with `key` with
/// `lines`.
fn render(template: &str, key: &str, lines: &[String]) -> String {
    let mut text = format!("{MARKER}{NOTICE}\n");
    for line in template.lines().skip_while(|line| line.starts_with('#')) {
        if line.starts_with(key) {
            for line in lines {
                text.push_str(line);
                text.push('\n');
            }
        } else {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// Quotes a path for systemd.
fn quote(path: &Path) -> Result<String, Fault> {
    let text = unit_text(path)?.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    Ok(format!("\"{text}\""))
}

/// Returns the path as text if a unit can contain it.
fn unit_text(path: &Path) -> Result<&str, Fault> {
    path.to_str()
        .filter(|text| !text.chars().any(char::is_control) && !text.ends_with(['\\', ' ']))
        .ok_or_else(|| {
            Fault::new(
                FaultCode::Usage,
                format!("{} cannot be written into a unit", path.display()),
            )
            .hint("move it to a path without special characters")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths<'a>(program: &'a str, home: Option<&'a str>, socket: &'a str) -> Paths<'a> {
        Paths { program: Path::new(program), home: home.map(Path::new), socket: Path::new(socket) }
    }

    #[test]
    fn units_contain_the_paths_of_the_installation() {
        let paths =
            paths("/opt/my \"b\"/100%/brain-daemon", Some("/data/a\\b"), "/data/100%/brain.sock");
        let service = service(&paths).expect("service");
        assert!(service.starts_with(MARKER));
        let exec: Vec<&str> =
            service.lines().filter(|line| line.starts_with("ExecStart=")).collect();
        assert_eq!(exec, [r#"ExecStart="/opt/my \"b\"/100%%/brain-daemon""#]);
        assert!(service.contains("\nEnvironment=\"BRAIN_HOME=/data/a\\\\b\"\n"), "{service}");
        assert!(
            service.contains("\nType=notify\n") && service.contains("\n[Install]\n"),
            "{service}"
        );
        let socket = socket(&paths).expect("socket");
        let listen: Vec<&str> =
            socket.lines().filter(|line| line.starts_with("ListenStream=")).collect();
        assert_eq!(listen, ["ListenStream=/data/100%%/brain.sock"]);
        assert!(socket.contains("\nFileDescriptorName=control\n"), "{socket}");
    }

    #[test]
    fn the_default_home_is_not_in_the_unit() {
        let service =
            service(&paths("/usr/bin/brain-daemon", None, "/h/run/brain.sock")).expect("service");
        assert!(!service.contains("BRAIN_HOME="), "{service}");
    }

    #[test]
    fn paths_that_would_change_the_unit_are_refused() {
        for program in ["/a\nExecStartPre=/bin/rm", "/a\\", "/a "] {
            assert!(service(&paths(program, None, "/s")).is_err(), "{program:?}");
            assert!(socket(&paths("/p", None, program)).is_err(), "{program:?}");
        }
        let long = format!("/{}", "x".repeat(MAX_SOCKET_PATH));
        let fault = socket(&paths("/p", None, &long)).expect_err("too long");
        assert!(fault.hint.is_some_and(|hint| hint.to_string().contains("BRAIN_SOCKET")));
    }
}
