//! Programs that are started without there being any.

use std::io::{Error, ErrorKind, Result};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brain_tunnel::{Child, Launch, Starter};

#[derive(Default)]
struct Noted {
    missing: bool,
    started: Vec<Launch>,
    stopped: usize,
    ended: Option<String>,
    lines: Vec<String>,
    /// What the next one does at once.
    fate: Option<(String, Vec<String>)>,
}

/// Notes what is started. Whoever has a copy sees the same.
#[derive(Clone, Default)]
pub struct Programs(Arc<Mutex<Noted>>);

impl Programs {
    /// Commands that were started, as typed.
    #[must_use]
    pub fn started(&self) -> Vec<String> {
        self.0.lock().unwrap().started.iter().map(|launch| launch.command.join(" ")).collect()
    }

    /// Names and values of the variables of the last one.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, String)> {
        let noted = self.0.lock().unwrap();
        let variables =
            noted.started.last().map(|launch| launch.variables.clone()).unwrap_or_default();
        variables.into_iter().map(|(name, value)| (name, value.expose().to_owned())).collect()
    }

    /// How many were ended.
    #[must_use]
    pub fn stopped(&self) -> usize {
        self.0.lock().unwrap().stopped
    }

    /// Whether there is such a program at all.
    pub fn missing(&self, missing: bool) {
        self.0.lock().unwrap().missing = missing;
    }

    /// Those that are started from now on say this, and end; with `None` they run.
    pub fn fate(&self, fate: Option<(&str, &[&str])>) {
        let fate = fate.map(|(how, lines)| {
            (how.to_owned(), lines.iter().map(|line| (*line).to_owned()).collect())
        });
        self.0.lock().unwrap().fate = fate;
    }
}

impl Starter for Programs {
    fn find(&self, program: &str) -> Option<PathBuf> {
        (!self.0.lock().unwrap().missing).then(|| PathBuf::from("/usr/bin").join(program))
    }

    fn start(&self, launch: &Launch) -> Result<Box<dyn Child>> {
        let mut noted = self.0.lock().unwrap();
        if noted.missing {
            return Err(Error::new(ErrorKind::NotFound, "there is none"));
        }
        noted.started.push(launch.clone());
        let (ended, lines) =
            noted.fate.clone().map_or((None, Vec::new()), |(how, lines)| (Some(how), lines));
        (noted.ended, noted.lines) = (ended, lines);
        drop(noted);
        Ok(Box::new(self.clone()))
    }

    fn run(&self, _: &[String], _: Duration) -> Result<(i32, String)> {
        Ok((0, "ngrok version 3.22.1\n".into()))
    }
}

impl Child for Programs {
    fn ended(&self) -> Option<String> {
        self.0.lock().unwrap().ended.clone()
    }

    fn lines(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().lines)
    }

    fn stop(&self) {
        self.0.lock().unwrap().stopped += 1;
    }
}
