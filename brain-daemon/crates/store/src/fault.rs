//! Converts errors of the store to the wire's [`Fault`].
//!
//! The only file of this crate that chooses codes of the wire and names commands of the client. It
//! is not in `core`, because Rust allows `impl From` only in a crate that defines one of the types.

use brain_protocol::{Command, Fault, FaultCode, Hint, SIZE_LIMIT_HINT, SourceId, hint};

use super::StoreError;
use super::damaged_page::{BackupSearch, DamagedPage};
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

fn damaged_store_hint() -> Hint {
    hint!(
        "move brain.redb away, and brain.redb.spool if it is there, and restore a backup: {}; the \
         pages are also markdown files: move pages/ out of the home, and {} imports them again",
        Command::BackupRestore { file: None },
        Command::Import
    )
}

fn damaged_attachment_hint() -> Hint {
    hint!(
        "attach the same file again, {}, or take it from a backup: {}, then {}",
        Command::Attach { page: None },
        Command::BackupRestore { file: None }.in_other_home(),
        Command::AttachmentsGet { page: None }.in_other_home()
    )
}

/// Returns what the user can do about the error.
fn hint(error: &StoreError) -> Option<Hint> {
    use StoreError as E;
    Some(match error {
        E::DiskFull(_) => "no stored data is lost; free space on that disk and try again".into(),
        E::SizeLimit(_) => SIZE_LIMIT_HINT.into(),
        E::ReadOnly(failure) if failure.to_string().ends_with(REPLACED) => {
            hint!("{} says where the file is now, and how to go on", Command::Doctor)
        }
        E::ReadOnly(_) => READ_ONLY_HINT.into(),
        E::Unreadable(_) => {
            "check the owner and mode of the file and of its directories: the daemon's user must \
             be able to read it"
                .into()
        }
        E::Io(_) => hint!("run {}", Command::Doctor),
        E::Damaged(_)
        | E::Torn(_)
        | E::DamagedPage(_)
        | E::DamagedText { .. }
        | E::DamagedAttachment { .. }
        | E::DamagedSpool { .. }
        | E::LostJobs { .. } => return damage_hint(error),
        E::UnequalCopy(_) => {
            "the store is unchanged, and the copy was removed; back up again, or to another disk"
                .into()
        }
        E::Locked(_) => {
            hint!("one daemon serves one home; {} shows the one that runs", Command::Status)
        }
        E::Newer { .. } => {
            "install the version of brain that wrote it, or a newer one: an older version would \
             lose data"
                .into()
        }
        E::UnknownTable(_) => "please report it".into(),
        E::TargetExists(target) if target.is_dir() => {
            let file = target.join("brain.redb").display().to_string();
            hint!("name a file in it: {}", Command::BackupCreate { file: Some(file) })
        }
        E::TargetExists(_) => "a backup never replaces a file: choose another name".into(),
        E::NoFileName(_) => hint!("name a file: {}", Command::BackupCreate { file: None }),
        E::NoDirectory { dir, .. } => format!("mkdir -p {dir}").into(),
        E::Cancelled(_) => "no file was left; run the command again".into(),
        E::UnknownSource(id) => {
            hint!(
                "register it again: {}",
                Command::SourcesAdd { source: Some(id.to_string()), path: None }
            )
        }
        E::QueueFull(_) => "try again in a moment".into(),
        E::Away(_) => {
            hint!(
                "repeat the write when {} says ready; reads, captures and ingest go on meanwhile",
                Command::MachinesStatus
            )
        }
        E::Defect => "the log of the daemon has the details; please report it".into(),
        E::Closed => "try again; the next command starts the daemon again".into(),
        E::Refused(fault) => return fault.hint.clone(),
        E::BackupSource(error) => return hint(error),
    })
}

/// Returns what the user can do about damage.
fn damage_hint(error: &StoreError) -> Option<Hint> {
    use StoreError as E;
    Some(match error {
        E::Damaged(_) | E::Torn(_) => damaged_store_hint(),
        E::DamagedPage(page) => hint_for_page(page),
        E::DamagedText { .. } => {
            hint!(
                "{} names a backup with an intact copy; {} replaces the page",
                Command::Get { page: None },
                Command::PutFile { page: None, file: None }
            )
        }
        E::DamagedAttachment { .. } => damaged_attachment_hint(),
        E::DamagedSpool { .. } => {
            "move the spool away and keep it: the store is intact, but lacks the items in the spool"
                .into()
        }
        E::LostJobs { .. } => {
            hint!(
                "restore the file; or run {}: the next start continues without these jobs",
                Command::Stop
            )
        }
        _ => return None,
    })
}

fn hint_for_page(page: &DamagedPage) -> Hint {
    let named = match page.source_id.as_str() {
        SourceId::DEFAULT => page.slug.clone(),
        other => format!("{other}:{}", page.slug),
    };
    let shown = match page.version {
        Some(number) => {
            Command::GetVersion { page: Some(named.clone()), version: Some(number.to_string()) }
        }
        None => Command::Get { page: Some(named.clone()) },
    };
    let repair = match (page.version, page.is_text) {
        (Some(_), _) => hint!(
            "the page itself, and each version that is not damaged, can still be read: {}, {}",
            Command::Get { page: Some(named.clone()) },
            Command::GetVersion { page: Some(named), version: None }
        ),
        (None, true) => hint!(
            "{} replaces the page with its file, if that is intact",
            Command::PutFile { page: Some(named), file: None }
        ),
        (None, false) => {
            hint!(
                "the page's file may still be intact, and {} writes all other pages",
                Command::Export
            )
        }
    };
    match &page.backup {
        BackupSearch::NotSearched => repair,
        BackupSearch::NotFound => {
            hint!(
                "{}; or restore a backup that you made: {}",
                repair,
                Command::BackupRestore { file: None }
            )
        }
        BackupSearch::Found { path, .. } => hint!(
            "{}; from the backup: {} restores a separate home in DIR, and {} shows the page",
            repair,
            Command::BackupRestore { file: Some(path.display().to_string()) }.in_other_home(),
            shown.in_other_home()
        ),
    }
}
