//! Converts errors of the store to the wire's [`Fault`].
//!
//! The only file of this crate that chooses codes of the wire and names commands of the client. It
//! is not in `core`, because Rust allows `impl From` only in a crate that defines one of the types.

use brain_protocol::{Fault, FaultCode, SIZE_LIMIT_HINT, SourceId};

use super::StoreError;
use super::damaged_page::{Backup, DamagedPage};
use super::shared_state::REPLACED;

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        let error = match error {
            StoreError::Refused(fault) => return fault,
            StoreError::BackupSource(error) => return Self::from(*error),
            other => other,
        };
        let message = match &error {
            // The reason can name the server and its user, which not every caller may see.
            StoreError::Away(_) => "the server of this shared brain does not answer".to_owned(),
            error => error.to_string(),
        };
        Self { code: code(&error), message, hint: hint(&error) }
    }
}

fn code(error: &StoreError) -> FaultCode {
    use StoreError as E;
    match error {
        E::DiskFull(_) | E::SizeLimit(_) => FaultCode::DiskFull,
        E::ReadOnly(_) => FaultCode::ReadOnly,
        E::Unreadable(_) | E::Io(_) | E::NoDirectory { .. } => FaultCode::Io,
        E::Damaged(_)
        | E::Torn(_)
        | E::DamagedPage(_)
        | E::DamagedText { .. }
        | E::DamagedSpool { .. }
        | E::LostJobs { .. }
        | E::UnequalCopy(_) => FaultCode::StoreDamaged,
        E::DamagedAttachment { .. } => FaultCode::AttachmentDamaged,
        E::Locked(_) => FaultCode::StoreLocked,
        E::Newer { .. } => FaultCode::StoreNewer,
        E::UnknownTable(_) | E::Defect => FaultCode::Internal,
        E::TargetExists(_) => FaultCode::Conflict,
        E::NoFileName(_) => FaultCode::Usage,
        E::Cancelled(_) => FaultCode::Cancelled,
        E::UnknownSource(_) => FaultCode::UnknownSource,
        E::QueueFull(_) => FaultCode::Busy,
        E::Away(_) => FaultCode::ServerAway,
        E::Closed => FaultCode::Stopping,
        E::Refused(fault) => fault.code,
        E::BackupSource(error) => code(error),
    }
}

const READ_ONLY_HINT: &str = "check the owner and mode of the home directory, and whether its disk \
    is mounted read-only: `mount -o remount,rw`; reads continue, and writes are accepted as soon \
    as the disk is writable";

const DAMAGED_STORE_HINT: &str = "move brain.redb away, and brain.redb.spool if it is there, and \
    restore a backup: `brain backup restore FILE`; the pages are also markdown files: move pages/ \
    out of the home, and `brain import` imports them again";

const DAMAGED_ATTACHMENT_HINT: &str = "attach the same file again, `brain attach SLUG FILE`, or \
    take it from a backup: `BRAIN_HOME=DIR brain backup restore FILE`, then `BRAIN_HOME=DIR brain \
    attachments SLUG --get NAME`";

/// Returns what the user can do about the error.
fn hint(error: &StoreError) -> Option<String> {
    use StoreError as E;
    let fixed = match error {
        E::DiskFull(_) => "no stored data is lost; free space on that disk and try again",
        E::SizeLimit(_) => SIZE_LIMIT_HINT,
        E::ReadOnly(failure) if failure.to_string().ends_with(REPLACED) => {
            "`brain doctor` says where the file is now, and how to go on"
        }
        E::ReadOnly(_) => READ_ONLY_HINT,
        E::Unreadable(_) => {
            "check the owner and mode of the file and of its directories: the daemon's user must \
             be able to read it"
        }
        E::Io(_) => "run `brain doctor`",
        E::Damaged(_) | E::Torn(_) => DAMAGED_STORE_HINT,
        E::DamagedPage(page) => return Some(hint_for_page(page)),
        E::DamagedText { .. } => {
            "`brain get SLUG` names a backup with an intact copy; `brain put SLUG --file FILE` \
             replaces the page"
        }
        E::DamagedAttachment { .. } => DAMAGED_ATTACHMENT_HINT,
        E::DamagedSpool { .. } => {
            "move the spool away and keep it: the store is intact, but lacks the items in the spool"
        }
        E::LostJobs { .. } => {
            "restore the file; or run `brain stop`: the next start continues without these jobs"
        }
        E::UnequalCopy(_) => {
            "the store is unchanged, and the copy was removed; back up again, or to another disk"
        }
        E::Locked(_) => "one daemon serves one home; `brain status` shows the one that runs",
        E::Newer { .. } => {
            "install the version of brain that wrote it, or a newer one: an older version would \
             lose data"
        }
        E::UnknownTable(_) => "please report it",
        E::TargetExists(target) if target.is_dir() => {
            let dir = target.display();
            return Some(format!("name a file in it: `brain backup {dir}/brain.redb`"));
        }
        E::TargetExists(_) => "a backup never replaces a file: choose another name",
        E::NoFileName(_) => "name a file: `brain backup FILE`",
        E::NoDirectory { dir, .. } => return Some(format!("mkdir -p {dir}")),
        E::Cancelled(_) => "no file was left; run the command again",
        E::UnknownSource(id) => {
            return Some(format!("register it again: `brain sources add {id} --path <path>`"));
        }
        E::QueueFull(_) => "try again in a moment",
        E::Away(_) => {
            "repeat the write when `brain machines status` says ready; reads, captures and ingest \
             go on meanwhile"
        }
        E::Defect => "the log of the daemon has the details; please report it",
        E::Closed => "try again; the next command starts the daemon again",
        E::Refused(fault) => return fault.hint.clone(),
        E::BackupSource(error) => return hint(error),
    };
    Some(fixed.into())
}

fn hint_for_page(page: &DamagedPage) -> String {
    let named = match page.source_id.as_str() {
        SourceId::DEFAULT => page.slug.clone(),
        other => format!("{} --source {other}", page.slug),
    };
    let shown = match page.version {
        Some(number) => format!("{named} --version {number}"),
        None => named.clone(),
    };
    let repair = match (page.version, page.is_text) {
        (Some(_), _) => format!(
            "the page itself, and each version that is not damaged, can still be read: \
             `brain get {named}`, `brain get {named} --version N`"
        ),
        (None, true) => format!(
            "`brain put {named} --file FILE` replaces the page with its file, if that is intact"
        ),
        (None, false) => {
            "the page's file may still be intact, and `brain export` writes all other pages".into()
        }
    };
    match &page.backup {
        Backup::NotSearched => repair,
        Backup::NotFound => {
            format!("{repair}; or restore a backup that you made: `brain backup restore FILE`")
        }
        Backup::Found { path, .. } => format!(
            "{repair}; from the backup: `BRAIN_HOME=DIR brain backup restore {}` restores a \
             separate home in DIR, and `BRAIN_HOME=DIR brain get {shown}` shows the page",
            path.display()
        ),
    }
}
