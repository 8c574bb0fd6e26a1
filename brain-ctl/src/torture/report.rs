//! The result of a torture: which layers were tested, which were not, and what was lost.

use brain_protocol::Exit;
use serde::Serialize;

use crate::output::{Show, Text};

/// The result of a layer, or of all tested ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// Every promise that was tested was kept.
    Kept,
    /// A promise was broken.
    Broken,
    /// No promise was tested.
    NotTested,
}

impl Verdict {
    fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Broken => "broken",
            Self::NotTested => "not tested",
        }
    }

    /// Returns the verdict about a number of losses.
    pub(super) fn of(losses: &[String]) -> Self {
        if losses.is_empty() { Self::Kept } else { Self::Broken }
    }
}

/// A layer between the program and the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Layer {
    /// Its name.
    pub(super) name: &'static str,
    /// The result.
    pub(super) verdict: Verdict,
    /// How it was tested, or why it was not.
    pub(super) message: String,
}

/// What was tested, and with which result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct TortureReport {
    /// The verdict about the tested layers.
    pub(super) status: Verdict,
    /// The directory of the test.
    pub(super) dir: String,
    /// The file system, such as `ext4 on /dev/sda1`, if it is known.
    pub(super) file_system: Option<String>,
    /// The number of times that the daemon was killed.
    pub(super) kills: u32,
    /// The number of acknowledged writes.
    pub(super) writes: u64,
    /// The layers, from the program to the disk.
    pub(super) layers: Vec<Layer>,
    /// The number of broken promises.
    pub(super) lost: u64,
    /// The first of them, in words.
    pub(super) losses: Vec<String>,
    /// What to do next.
    pub(super) hint: Option<String>,
}

/// Maximum number of broken promises in a report.
const MAX_LOSSES: usize = 20;

impl TortureReport {
    /// Sets the losses, and the status that follows from the layers.
    pub(super) fn with_losses(mut self, mut losses: Vec<String>) -> Self {
        self.lost = losses.len() as u64;
        losses.truncate(MAX_LOSSES);
        self.losses = losses;
        let has = |verdict| self.layers.iter().any(|layer| layer.verdict == verdict);
        self.status = match () {
            () if self.lost > 0 || has(Verdict::Broken) => Verdict::Broken,
            () if has(Verdict::Kept) => Verdict::Kept,
            () => Verdict::NotTested,
        };
        self
    }
}

impl Show for TortureReport {
    fn text(&self, t: &mut Text) {
        let on = self.file_system.as_ref().map(|system| format!(", {system}"));
        t.line(&format!("{}{}", self.dir, on.unwrap_or_default()));
        t.line(&format!("{} acknowledged writes, {} kills", self.writes, self.kills));
        let name_width = self.layers.iter().map(|layer| layer.name.len()).max().unwrap_or(0);
        for layer in &self.layers {
            let word = format!("{:<10}", layer.verdict.as_str());
            let verdict = match layer.verdict {
                Verdict::Kept => t.paint.green(&word),
                Verdict::Broken => t.paint.red(&word),
                Verdict::NotTested => t.paint.yellow(&word),
            };
            let lead = format!("{verdict}  {:<name_width$}  ", layer.name);
            t.prose(&lead, name_width + 14, &layer.message);
        }
        for loss in &self.losses {
            t.prose("  ", 2, loss);
        }
        if self.lost > self.losses.len() as u64 {
            t.line(&format!("  and {} more", self.lost - self.losses.len() as u64));
        }
        if let Some(hint) = &self.hint {
            t.prose("", 0, hint);
        }
    }

    fn quiet(&self, t: &mut Text) {
        t.line(self.status.as_str());
    }

    fn exit(&self) -> Exit {
        if self.status == Verdict::Broken { Exit::Failed } else { Exit::Done }
    }
}
