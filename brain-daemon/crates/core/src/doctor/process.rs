//! Health of the process: its home, configuration, socket, disk and clock.

use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use brain_base::caller::Visibility;
use brain_base::clock::{Clock, rfc3339};
use brain_base::file_system::instead_of_chmod;
use brain_base::home::{Home, free_bytes};
use brain_config::Config;
use brain_protocol::{Command, Fault, FaultCode, shell_word};
use brain_store::Store;

use crate::parts;
use brain_base::exposure::writable_by_others;
use brain_pages::files::FileService;
use brain_service::health::{Finding, Health, HealthCheck, fail, ok, warn};

/// Free bytes on the disk below which the check warns.
const LOW_FREE_BYTES: u64 = 500_000_000;
/// Time by which the newest page may be ahead of the clock, in milliseconds.
const MAX_CLOCK_LAG_MS: i64 = 60_000;

/// The process of the daemon, with the services that its checks read.
pub(crate) struct Process {
    pub(crate) home: Home,
    pub(crate) config: Arc<Config>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) store: Arc<Store>,
    pub(crate) files: Arc<FileService>,
    pub(crate) started: Instant,
}

impl Health for Process {
    fn checks(self: Arc<Self>) -> Vec<HealthCheck> {
        vec![
            HealthCheck::new("daemon", &self, Self::daemon),
            HealthCheck::new("home", &self, Self::home),
            HealthCheck::new("configuration", &self, Self::configuration),
            HealthCheck::new("socket permissions", &self, Self::socket),
            HealthCheck::new("disk space", &self, Self::disk),
            HealthCheck::new("clock", &self, Self::clock),
        ]
    }
}

impl Process {
    fn daemon(&self) -> Finding {
        if self.home.has_moved() {
            let message = brain_service::moved_home::moved_home_message(&self.home);
            return fail(message, brain_service::moved_home::move_back_hint());
        }
        if let Some((message, hint)) =
            brain_service::moved_home::replaced_store(&self.home, &self.store)
        {
            return fail(message, hint);
        }
        ok(format!(
            "{}, process {}, up {} s",
            parts::version(),
            std::process::id(),
            self.started.elapsed().as_secs()
        ))
    }

    fn home(&self) -> Finding {
        let root = self.home.root();
        if let Some(finding) = exposed(root) {
            return finding;
        }
        match self.home.synced_folder() {
            Some(found) => warn(found.warning(root), found.way_out(root)),
            None => ok(root.display().to_string()),
        }
    }

    fn configuration(&self) -> Finding {
        let config = &self.config;
        let path = config.file().display();
        if let Some(finding) = exposed(config.file()) {
            return finding;
        }
        if !config.has_changed_file() {
            return ok(path.to_string());
        }
        match Config::load(config.file(), |name| std::env::var(name).ok()) {
            Ok(_) => warn(format!("{path} has changed since the daemon started"), Command::Restart),
            Err(fault) => fail(
                format!("the changed configuration cannot be used: {}", fault.message),
                Command::ConfigCheck,
            ),
        }
    }

    fn socket(&self) -> Finding {
        let path = self.config.socket(&self.home);
        let is_passed_in = self.config.socket_is_passed();
        let Ok(meta) = std::fs::symlink_metadata(&path) else {
            if is_passed_in {
                // A user's systemd manager sets this variable; the system's manager does not.
                let manager =
                    if std::env::var_os("XDG_RUNTIME_DIR").is_some() { " --user" } else { "" };
                let hint = format!("systemctl{manager} restart brain-daemon.socket");
                return fail(
                    format!("{} is not there, although systemd created it", path.display()),
                    hint,
                );
            }
            return fail(
                format!("{} is not there", path.display()),
                format!("kill {}", std::process::id()),
            );
        };
        let mode = meta.permissions().mode() & 0o777;
        if is_passed_in {
            // systemd decides the mode. The daemon checks the peer of each connection.
            return ok(format!("{}, mode {mode:04o}, passed in by systemd", path.display()));
        }
        if meta.uid() == rustix::process::geteuid().as_raw() && mode & 0o077 != 0 {
            return fail(
                format!("{} has mode {mode:04o}: others can open it", path.display()),
                instead_of_chmod(&path).unwrap_or_else(|| {
                    format!("chmod 600 {}", shell_word(&path.display().to_string()))
                }),
            );
        }
        ok(format!("{}, mode {mode:04o}", path.display()))
    }

    fn disk(&self) -> Finding {
        let root = self.home.root();
        let free = free_bytes(root)
            .map_err(|e| Fault::new(FaultCode::Io, format!("{}: {e}", root.display())))?;
        let message = format!("{} MB free for {}", free / 1_000_000, root.display());
        if let Some(notice) = self.files.read_only_notice() {
            return fail(notice, "mount -o remount,rw (as root), or move the home to another disk");
        }
        let hint = format!("df -h {}", shell_word(&root.display().to_string()));
        if free < self.config.store.min_free_mb * 1_000_000 {
            fail(format!("{message}: writes are refused"), hint)
        } else if free < LOW_FREE_BYTES {
            warn(message, hint)
        } else {
            ok(message)
        }
    }

    fn clock(&self) -> Finding {
        let now = self.clock.now();
        let mut newest = None;
        self.store.read(Visibility::All)?.newest_pages(u64::MAX, |(_, _, record)| {
            newest = Some(record.written_at);
            Ok(false)
        })?;
        match newest {
            Some(at) if at > now + MAX_CLOCK_LAG_MS => warn(
                format!(
                    "the clock shows {}, but the newest page was written at {}",
                    rfc3339(now),
                    rfc3339(at)
                ),
                "date -u",
            ),
            _ => ok(rfc3339(now)),
        }
    }

    /// Restores the mode 0600 of the socket, unless systemd or another user created it.
    pub(super) fn close_socket_to_others(&self) {
        let path = self.config.socket(&self.home);
        let is_own = std::fs::symlink_metadata(&path).is_ok_and(|meta| {
            meta.file_type().is_socket() && meta.uid() == rustix::process::geteuid().as_raw()
        });
        if is_own
            && !self.config.socket_is_passed()
            && let Err(error) =
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))
        {
            tracing::warn!(%error, "mode of the socket not restored");
        }
    }
}

/// Returns the finding of a file or directory that other users can change.
fn exposed(path: &Path) -> Option<Finding> {
    let problem = writable_by_others(path)?;
    let hint = instead_of_chmod(path)
        .unwrap_or_else(|| format!("chmod go-w {}", shell_word(&path.display().to_string())));
    Some(fail(format!("{problem}; the programs that the configuration names do not run"), hint))
}
