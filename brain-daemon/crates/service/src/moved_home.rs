//! Detects a home that was moved, removed or replaced while the daemon runs, to refuse writes.
//!
//! The store's file stays open when its directory is moved. Without this check, the daemon would
//! write into the moved store, and create all other files again at the old path.

use brain_base::home::Home;
use brain_protocol::{Command, Fault, FaultCode, Hint, hint};
use brain_store::Store;

/// Checks that the home is still at its path.
///
/// # Errors
/// [`FaultCode::ReadOnly`] if the home was moved, removed or replaced.
pub fn check_home(home: &Home) -> Result<(), Fault> {
    if !home.has_moved() {
        return Ok(());
    }
    Err(Fault::new(FaultCode::ReadOnly, moved_home_message(home)).hint(move_back_hint()))
}

/// Returns the hint for a moved home.
pub fn move_back_hint() -> String {
    format!(
        "move it back, or end this daemon with `kill {}` and start it again with BRAIN_HOME set to \
         the new place",
        std::process::id()
    )
}

/// Returns the message for a moved home.
pub fn moved_home_message(home: &Home) -> String {
    format!(
        "the home {} was moved, removed or replaced while the daemon ran; nothing is written there",
        home.root().display()
    )
}

/// Returns the message and the hint for a store whose path has another file or none, while the home
/// is at its place.
pub fn replaced_store(home: &Home, store: &Store) -> Option<(String, Hint)> {
    if home.has_moved() || !store.is_replaced() {
        return None;
    }
    let path = store.path();
    let now_at_path = match path.exists() {
        true => "another file is there",
        false => "no file is there",
    };
    let message = format!(
        "{} was moved, removed or replaced while the daemon ran, and {now_at_path}: writes are \
         refused",
        path.display()
    );
    let hint = match (store.current_path(), path.exists()) {
        (Some(former), true) => hint!(
            "this daemon's store is {} now; to go on with it: `mv {} {}.other`, then `mv {} {}`; \
             to use the file at {}: {}, which also takes in the files in pages/",
            former.display().to_string(),
            path.display().to_string(),
            path.display().to_string(),
            former.display().to_string(),
            path.display().to_string(),
            path.display().to_string(),
            Command::Restart
        ),
        (Some(former), false) => {
            format!("move it back: `mv {} {}`", former.display(), path.display()).into()
        }
        (None, is_there) => {
            let then = match is_there {
                true => {
                    hint!("{} uses the file at {}", Command::Restart, path.display().to_string())
                }
                false => {
                    hint!("{} and move that file to {}", Command::Stop, path.display().to_string())
                }
            };
            hint!(
                "this daemon's store has no name any more: save it with {}; then {}",
                Command::BackupCreate { file: None },
                then
            )
        }
    };
    Some((message, hint))
}
