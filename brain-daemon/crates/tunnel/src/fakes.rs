//! Fakes for tests: network, programs and child processes.

use std::collections::HashMap;
use std::io::{Error, ErrorKind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::Value;

use super::{Child, Launch, Starter};
use brain_net::{Error as NetError, HttpClient, HttpRequest, HttpResponse};

/// Answers (status and JSON) by address; other addresses refuse the connection.
#[derive(Default)]
pub(super) struct FakeNet(Mutex<HashMap<String, (u16, String)>>);

impl FakeNet {
    pub(super) fn set_answer(&self, url: &str, status: u16, body: &Value) {
        self.0.lock().unwrap().insert(url.into(), (status, body.to_string()));
    }

    pub(super) fn remove_answer(&self, url: &str) {
        self.0.lock().unwrap().remove(url);
    }
}

impl HttpClient for FakeNet {
    fn call(&self, call: &HttpRequest<'_>) -> Result<HttpResponse, NetError> {
        let answer = self.0.lock().unwrap().get(call.url.as_str()).cloned();
        let (status, body) = answer.ok_or(NetError::ConnectionRefused)?;
        Ok(HttpResponse {
            status,
            headers: Vec::new(),
            body: body.into_bytes(),
            server_address: None,
        })
    }
}

/// State shared by the fake programs.
#[derive(Default)]
pub(super) struct FakePrograms {
    /// The output of a command.
    output: String,
    pub(super) missing: bool,
    /// The commands of all started children.
    pub(super) started: Vec<Launch>,
    /// How the last child exited, in words.
    pub(super) ended: Option<String>,
    /// Output lines of the last child.
    pub(super) lines: Vec<String>,
    /// Number of calls of [`Child::stop`].
    pub(super) stopped: usize,
}

/// Starts nothing, and records the commands.
#[derive(Clone, Default)]
pub(super) struct FakeStarter(Arc<Mutex<FakePrograms>>);

impl FakeStarter {
    pub(super) fn with_output(text: &str) -> Self {
        let starter = Self::default();
        starter.0.lock().unwrap().output = text.into();
        starter
    }

    pub(super) fn programs(&self) -> MutexGuard<'_, FakePrograms> {
        self.0.lock().unwrap()
    }
}

impl Starter for FakeStarter {
    fn find(&self, program: &str) -> Option<PathBuf> {
        (!self.0.lock().unwrap().missing).then(|| program.into())
    }

    fn start(&self, launch: &Launch) -> std::io::Result<Box<dyn Child>> {
        let mut programs = self.0.lock().unwrap();
        if programs.missing {
            return Err(Error::new(ErrorKind::NotFound, "the program is missing"));
        }
        programs.started.push(launch.clone());
        (programs.ended, programs.lines) = (None, Vec::new());
        Ok(Box::new(self.clone()))
    }

    fn run(&self, _: &[String], _: Duration) -> std::io::Result<(i32, String)> {
        Ok((0, self.0.lock().unwrap().output.clone()))
    }
}

impl Child for FakeStarter {
    fn exit_description(&self) -> Option<String> {
        self.0.lock().unwrap().ended.clone()
    }

    fn lines(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().lines)
    }

    fn stop(&self) {
        self.0.lock().unwrap().stopped += 1;
    }
}
