//! Runs programs of the workspace until they exit.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Returns the directory of the built programs, from the path of the running test.
#[must_use]
pub fn target_dir() -> PathBuf {
    let mut dir = std::env::current_exe().expect("a running test has a path");
    dir.pop();
    if dir.ends_with("deps") {
        dir.pop();
    }
    dir
}

/// Returns the path of a program of the workspace.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    let path = target_dir().join(name);
    assert!(
        path.exists(),
        "{} is not built: run `cargo build --workspace --bins` first",
        path.display()
    );
    path
}

/// The result of a finished program.
#[derive(Debug)]
pub struct Run {
    /// The exit status, or -1 if a signal ended the program.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Run {
    /// Parses standard output as JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("not one JSON value ({e}): {self:?}"))
    }

    /// Asserts that the exit status is `code`.
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }
}

/// Runs a program until it exits.
pub fn run(mut command: Command, stdin: &[u8]) -> Run {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program cannot be started");
    let mut pipe = child.stdin.take().unwrap();
    let input = stdin.to_vec();
    // The program may exit without reading all of its input.
    let writer = std::thread::spawn(move || drop(pipe.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).expect("output is UTF-8"),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
