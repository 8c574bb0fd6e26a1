//! A fake starter of child processes.

use std::io::{Error, ErrorKind, Result};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brain_tunnel::{Child, Launch, Starter};

#[derive(Default)]
struct ProgramsState {
    is_missing: bool,
    launches: Vec<Launch>,
    stop_count: usize,
    /// The exit reason of the last started program, or `None` while it runs.
    exit_reason: Option<String>,
    /// Unread output of the last started program.
    lines: Vec<String>,
    /// The exit reason and the output of programs that exit at once.
    early_exit: Option<(String, Vec<String>)>,
}

/// Records started programs. Clones share one state.
#[derive(Clone, Default)]
pub struct FakePrograms(Arc<Mutex<ProgramsState>>);

impl FakePrograms {
    /// Returns the command lines of the started programs, in order.
    #[must_use]
    pub fn started(&self) -> Vec<String> {
        self.0.lock().unwrap().launches.iter().map(|launch| launch.command.join(" ")).collect()
    }

    /// Returns the environment variables of the last started program.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, String)> {
        let state = self.0.lock().unwrap();
        let variables =
            state.launches.last().map(|launch| launch.variables.clone()).unwrap_or_default();
        variables.into_iter().map(|(name, value)| (name, value.expose().to_owned())).collect()
    }

    /// Returns how often a program was stopped.
    #[must_use]
    pub fn stopped(&self) -> usize {
        self.0.lock().unwrap().stop_count
    }

    /// Sets whether each program is missing.
    pub fn set_missing(&self, is_missing: bool) {
        self.0.lock().unwrap().is_missing = is_missing;
    }

    /// Makes programs that start from now on print these lines and exit with this reason. With
    /// `None`, they keep running.
    pub fn exit_at_once(&self, early_exit: Option<(&str, &[&str])>) {
        let early_exit = early_exit.map(|(reason, lines)| {
            (reason.to_owned(), lines.iter().map(|line| (*line).to_owned()).collect())
        });
        self.0.lock().unwrap().early_exit = early_exit;
    }
}

impl Starter for FakePrograms {
    fn find(&self, program: &str) -> Option<PathBuf> {
        (!self.0.lock().unwrap().is_missing).then(|| PathBuf::from("/usr/bin").join(program))
    }

    fn start(&self, launch: &Launch) -> Result<Box<dyn Child>> {
        let mut state = self.0.lock().unwrap();
        if state.is_missing {
            return Err(Error::new(ErrorKind::NotFound, "the program is missing"));
        }
        state.launches.push(launch.clone());
        let (exit_reason, lines) = state
            .early_exit
            .clone()
            .map_or((None, Vec::new()), |(reason, lines)| (Some(reason), lines));
        (state.exit_reason, state.lines) = (exit_reason, lines);
        drop(state);
        Ok(Box::new(self.clone()))
    }

    fn run(&self, _: &[String], _: Duration) -> Result<(i32, String)> {
        Ok((0, "ngrok version 3.22.1\n".into()))
    }
}

impl Child for FakePrograms {
    fn exit_description(&self) -> Option<String> {
        self.0.lock().unwrap().exit_reason.clone()
    }

    fn lines(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().lines)
    }

    fn stop(&self) {
        self.0.lock().unwrap().stop_count += 1;
    }
}
