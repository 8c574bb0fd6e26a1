//! Shows a progress bar for work of more than a second, on a terminal.

use std::{
    io::{self, IsTerminal},
    time::{Duration, Instant},
};

use brain_protocol::Event;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Delay before the bar appears.
const DELAY: Duration = Duration::from_secs(1);

/// A progress bar that appears after a delay.
pub(crate) struct DelayedBar {
    started_at: Instant,
    is_enabled: bool,
    bar: Option<ProgressBar>,
}

impl DelayedBar {
    /// Returns a bar for work that starts now; it stays hidden if `quiet`.
    pub(crate) fn new(quiet: bool) -> Self {
        Self { started_at: Instant::now(), is_enabled: !quiet, bar: None }
    }

    /// Handles an event: updates the bar with progress, or passes a text to `on_text`. The bar is
    /// hidden while `on_text` runs.
    pub(crate) fn handle(&mut self, event: &Event, on_text: &mut dyn FnMut(&str)) {
        let (done, total) = match event {
            Event::Progress { done, total } => (*done, *total),
            Event::Line(text) | Event::Text(text) => {
                return match &self.bar {
                    Some(bar) => bar.suspend(|| on_text(text)),
                    None => on_text(text),
                };
            }
        };
        // An event without a total only shows that the daemon is working.
        if !self.is_enabled || total == 0 || self.started_at.elapsed() < DELAY {
            return;
        }
        if self.bar.is_none() {
            if !io::stderr().is_terminal() {
                self.is_enabled = false;
                return;
            }
            let bar =
                ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(10));
            if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len}, {eta} left") {
                bar.set_style(style);
            }
            self.bar = Some(bar);
        }
        if let Some(bar) = &self.bar {
            bar.set_length(total.max(done));
            bar.set_position(done);
        }
    }
}

impl Drop for DelayedBar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
