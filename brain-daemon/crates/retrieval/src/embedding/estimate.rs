//! Estimates how long a model needs for the pages of this brain.

use super::EmbeddingService;
use brain_base::caller::Visibility;
use brain_embed::models::known_models::{KnownModel, find_known};
use brain_store::StoreError;

/// Average bytes by which a window extends beyond the previous window: 60 words.
const WINDOW_BYTES: u64 = 360;

impl EmbeddingService {
    /// Estimates how many windows all pages have.
    pub(super) fn estimate_windows(&self) -> Result<u64, StoreError> {
        let mut windows = 0;
        self.store.read(Visibility::All)?.pages_in_order(("", ""), |(_, _, record)| {
            windows += record.bytes / WINDOW_BYTES + 1;
            Ok(true)
        })?;
        Ok(windows)
    }

    /// Estimates how long a model needs for this number of windows, in seconds.
    pub(super) fn estimate_seconds(&self, model: &KnownModel, windows: u64) -> u64 {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = self.env.config.threads.min(cores).max(1) as u64;
        (windows.saturating_mul(model.window_ms) / threads).div_ceil(1000)
    }

    /// Estimates how long the model of this name needs for `pages` average pages, in seconds.
    /// `None` for a model whose speed is not known, or if the store cannot be read.
    pub(super) fn estimate_pages(&self, model: &str, pages: u64) -> Option<u64> {
        let model = find_known(model)?;
        let active = self.store.read(Visibility::All).ok()?.counts().ok()?.active.max(1);
        let windows = self.estimate_windows().ok()?.saturating_mul(pages) / active;
        Some(self.estimate_seconds(model, windows))
    }
}

/// Formats a time approximately, for example `about 3 minutes`.
pub(super) fn approximate_time(seconds: u64) -> String {
    match seconds {
        0..=1 => "about a second".into(),
        2..=90 => format!("about {seconds} seconds"),
        91..=5400 => format!("about {} minutes", seconds.div_ceil(60)),
        _ => format!("about {} hours", seconds.div_ceil(3600)),
    }
}

#[cfg(test)]
mod tests {
    use super::approximate_time;

    #[test]
    fn times_are_rounded_to_a_readable_unit() {
        let cases = [(0, "a second"), (40, "40 seconds"), (95, "2 minutes"), (9000, "3 hours")];
        for (seconds, text) in cases {
            assert_eq!(approximate_time(seconds), format!("about {text}"));
        }
    }
}
