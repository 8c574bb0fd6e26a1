//! Detects a home that was moved, removed or replaced while the daemon runs, to refuse writes.
//!
//! The store's file stays open when its directory is moved. Without this check, the daemon would
//! write into the moved store, and create all other files again at the old path.

use brain_base::home::Home;
use brain_protocol::{Fault, FaultCode};
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
pub fn replaced_store(home: &Home, store: &Store) -> Option<(String, String)> {
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
        (Some(former), true) => format!(
            "this daemon's store is {0} now; to go on with it: `mv {1} {1}.other`, then `mv {0} \
             {1}`; to use the file at {1}: `brain restart`, which also takes in the files in pages/",
            former.display(),
            path.display()
        ),
        (Some(former), false) => {
            format!("move it back: `mv {} {}`", former.display(), path.display())
        }
        (None, is_there) => {
            let then = match is_there {
                true => format!("`brain restart` uses the file at {}", path.display()),
                false => format!("`brain stop` and move that file to {}", path.display()),
            };
            format!(
                "this daemon's store has no name any more: save it with `brain backup create \
                 FILE`; then {then}"
            )
        }
    };
    Some((message, hint))
}
