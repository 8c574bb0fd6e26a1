//! Records in the log of outgoing requests when an agent runs, because it sends by itself.

use std::io::Result;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use brain_base::outgoing::{OpenRequest, OutgoingLog};

use crate::{Child, Launch, Starter};

/// A starter that records the agents that it starts.
pub struct RecordingStarter {
    starter: Arc<dyn Starter>,
    log: Arc<dyn OutgoingLog>,
}

impl RecordingStarter {
    /// Creates a starter that starts agents with `starter`.
    #[must_use]
    pub fn new(starter: Arc<dyn Starter>, log: Arc<dyn OutgoingLog>) -> Self {
        Self { starter, log }
    }

    fn record(&self, command: &[String]) -> Option<OpenRequest> {
        OpenRequest::of_program(&self.log, command.first()?, "tunnel")
    }
}

impl Starter for RecordingStarter {
    fn find(&self, program: &str) -> Option<PathBuf> {
        self.starter.find(program)
    }

    fn start(&self, launch: &Launch) -> Result<Box<dyn Child>> {
        let record = self.record(&launch.command);
        let child = self.starter.start(launch)?;
        Ok(Box::new(RecordedAgent { child, _record: record }))
    }

    fn run(&self, command: &[String], timeout: Duration) -> Result<(i32, String)> {
        let _record = self.record(command);
        self.starter.run(command, timeout)
    }
}

/// A running agent, and the record that ends with it.
struct RecordedAgent {
    child: Box<dyn Child>,
    _record: Option<OpenRequest>,
}

impl Child for RecordedAgent {
    fn exit_description(&self) -> Option<String> {
        self.child.exit_description()
    }

    fn lines(&self) -> Vec<String> {
        self.child.lines()
    }

    fn stop(&self) {
        self.child.stop();
    }
}
