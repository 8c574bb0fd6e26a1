//! The bar of long work: on standard error, on a terminal, and only once it takes longer than a second.

use std::{
    io::{self, IsTerminal},
    time::{Duration, Instant},
};

use brain_protocol::Event;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shorter work needs no bar.
const QUIET: Duration = Duration::from_secs(1);

/// A bar that may never appear.
pub(crate) struct Progress {
    begun: Instant,
    wanted: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// A bar for work that begins now; never shown when `quiet`.
    pub(crate) fn new(quiet: bool) -> Self {
        Self { begun: Instant::now(), wanted: !quiet, bar: None }
    }

    /// Shows how far the work is; a line, or the next piece of prose, goes to `on_text`, with the bar out of its way.
    pub(crate) fn event(&mut self, event: &Event, on_text: &mut dyn FnMut(&str)) {
        let (done, total) = match event {
            Event::Progress { done, total } => (*done, *total),
            Event::Line(text) | Event::Text(text) => {
                return match &self.bar {
                    Some(bar) => bar.suspend(|| on_text(text)),
                    None => on_text(text),
                };
            }
        };
        // Without a total it only says that the work goes on.
        if !self.wanted || total == 0 || self.begun.elapsed() < QUIET {
            return;
        }
        if self.bar.is_none() {
            if !io::stderr().is_terminal() {
                self.wanted = false;
                return;
            }
            let bar =
                ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(10));
            if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} {eta}") {
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

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
