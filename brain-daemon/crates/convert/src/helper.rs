//! Another program that reads the input first and prints its text, as a child process.
//!
//! It runs before this process gives up its last rights, and ends before this process reads the
//! input. It has the rights that [`confine_to`] leaves, and tighter limits. Its output goes to a
//! file in memory, so it can neither block nor be blocked.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::confine::{ConfineError, confine_to};

/// Maximum time, also of the processor. The daemon waits for the first page for two minutes, and a
/// file can be read twice.
const MAX_TIME: Duration = Duration::from_secs(30);
/// Maximum length of the text, in bytes.
const MAX_TEXT: u64 = 64 << 20;
/// How often the end is checked.
const POLL: Duration = Duration::from_millis(2);

/// A program that reads files of one kind.
#[derive(Debug, Clone)]
pub struct Helper<'a> {
    /// The program.
    pub program: &'a Path,
    /// The directories of its data, which it may read.
    pub data: &'a [&'a str],
}

impl Helper<'_> {
    /// Confines this process to what the program needs. Returns whether the kernel enforces this:
    /// the program may not run otherwise.
    ///
    /// # Errors
    /// See [`ConfineError`].
    pub fn confine(&self, input: &Path) -> Result<bool, ConfineError> {
        confine_to(input, self.program, self.data)
    }

    /// Runs the program. Returns what it prints, or `None` if it fails.
    pub fn run(&self, arguments: &[OsString]) -> Option<String> {
        let mut out = File::from(memfd_create(c"text", MemfdFlags::CLOEXEC).ok()?);
        let child = Command::new(self.program)
            .args(arguments)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(out.try_clone().ok()?)
            .stderr(Stdio::null())
            .spawn();
        let status = Running(child.ok()?).end().ok()?;
        let mut bytes = Vec::new();
        out.rewind().and_then(|()| out.take(MAX_TEXT).read_to_end(&mut bytes)).ok()?;
        status.success().then(|| String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The running program. It is ended with this value.
struct Running(Child);

impl Running {
    /// Limits the program, and waits for its end.
    fn end(mut self) -> io::Result<ExitStatus> {
        let start = Instant::now();
        // The program still loads its libraries.
        let limits = [
            (Resource::Nproc, 0),
            (Resource::Fsize, MAX_TEXT),
            (Resource::Cpu, MAX_TIME.as_secs()),
        ];
        for (resource, max) in limits {
            let limit = Rlimit { current: Some(max), maximum: Some(max) };
            prlimit(Some(Pid::from_child(&self.0)), resource, limit)?;
        }
        while start.elapsed() < MAX_TIME {
            if let Some(status) = self.0.try_wait()? {
                return Ok(status);
            }
            sleep(POLL);
        }
        Err(io::ErrorKind::TimedOut.into())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, or nobody needs it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(program: &str, arguments: &[&str]) -> Option<String> {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        Helper { program: Path::new(program), data: &[] }.run(&arguments)
    }

    #[test]
    fn text_of_a_program_that_fails_is_none() {
        assert_eq!(run("/bin/sh", &["-c", "echo a"]), Some("a\n".to_owned()));
        assert_eq!(run("/bin/sh", &["-c", "echo a; exit 3"]), None);
        assert_eq!(run("/bin/none", &[]), None);
    }

    #[test]
    fn a_program_that_prints_without_end_is_ended() {
        assert_eq!(run("/usr/bin/yes", &[]), None);
    }

    #[test]
    fn a_program_has_no_input_and_no_environment() {
        assert_eq!(run("/bin/sh", &["-c", "read -r line; echo \"$line$HOME\""]), Some("\n".into()));
    }
}
