//! A home that is removed when its daemon ends, for `brain demo`.

use std::fs;
use std::io::ErrorKind;
use std::time::Duration;

use brain_base::home::Home;
use brain_protocol::{Command, Fault, FaultCode, TEMPORARY_HOME_MARKER, hint};

/// Maximum number of attempts to remove the home. Threads that outlast the shutdown can still write
/// a file.
const MAX_ATTEMPTS: u32 = 40;
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// Runs `serve`, then removes the home, whatever `serve` returns.
///
/// # Errors
/// [`FaultCode::Usage`] if the home is not marked as temporary or has a store: it is neither served
/// nor removed. Else the fault of `serve`, or [`FaultCode::Io`] if the home cannot be removed.
pub fn run(home: &Home, serve: impl FnOnce() -> Result<(), Fault>) -> Result<(), Fault> {
    let root = home.root().display();
    if !home.root().join(TEMPORARY_HOME_MARKER).is_file() {
        let message = format!("{root} is not a temporary home, so --temporary does not serve it");
        return Err(
            Fault::new(FaultCode::Usage, message).hint(hint!("try brain out: {}", Command::Demo))
        );
    }
    if home.store().exists() {
        let message = format!("{root} has a store already, so --temporary does not serve it");
        return Err(
            Fault::new(FaultCode::Usage, message).hint(hint!("try brain out: {}", Command::Demo))
        );
    }
    let served = serve();
    let removed = remove(home);
    served.and(removed)
}

/// Removes the home with everything in it.
fn remove(home: &Home) -> Result<(), Fault> {
    for attempt in 1.. {
        match fs::remove_dir_all(home.root()) {
            Ok(()) => break,
            Err(error) if error.kind() == ErrorKind::NotFound && !home.root().exists() => break,
            Err(error) if attempt == MAX_ATTEMPTS => {
                let message = format!("cannot remove {}: {error}", home.root().display());
                return Err(Fault::new(FaultCode::Io, message).hint("remove it by hand"));
            }
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_a_marked_home_without_a_store_is_served_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("home"));
        fs::create_dir(home.root()).unwrap();
        let serve = || -> Result<(), Fault> { panic!("this home must not be served") };
        assert_eq!(run(&home, serve).unwrap_err().code, FaultCode::Usage);
        fs::write(home.root().join(TEMPORARY_HOME_MARKER), "").unwrap();
        fs::write(home.store(), "").unwrap();
        assert_eq!(run(&home, serve).unwrap_err().code, FaultCode::Usage);
        assert!(home.store().exists());
        fs::remove_file(home.store()).unwrap();
        let fault = Fault::new(FaultCode::Internal, "it failed");
        assert_eq!(run(&home, || Err(fault.clone())), Err(fault));
        assert!(!home.root().exists(), "a failed start leaves nothing behind, too");
    }
}
