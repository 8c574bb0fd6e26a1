//! Predicts the work and the time of embedding from what was measured so far. No I/O.
//!
//! The unit of work is a byte of window text, because a model's time grows with the tokens. The
//! number and length of windows are predicted from the sizes of pages, and corrected by the pages
//! that were read. The speed is the recent one, because the load of the machine changes.

use std::time::Duration;

use brain_page::Window;
use brain_store::PageRecord;

/// Work for each window besides its text: the tokens that begin and end it.
const WINDOW_OVERHEAD: u64 = 40;
/// Work of a typical window: 75 words and a title.
pub(super) const TYPICAL_WINDOW: f64 = 560.0;
/// Length of a window's text in an average page, in bytes: 75 words.
const WINDOW_BYTES: u64 = 450;
/// Bytes by which a window extends beyond the previous one: 60 words.
const WINDOW_STEP: u64 = 360;
/// After this much time of embedding, a measurement counts half.
const HALF_LIFE: f64 = 5.0;

/// What was measured while pages were embedded.
#[derive(Debug, Default)]
pub(super) struct Forecast {
    /// Recent work, and the seconds that it took.
    recent_work: f64,
    recent_seconds: f64,
    /// All work, and the windows that it was for.
    work: f64,
    windows: f64,
    /// Predicted and actual work of the pages that were read.
    predicted: f64,
    actual: f64,
    /// The model that was installed last, and its speed then, in work per second.
    pub(super) installed: Option<(String, f64)>,
}

/// Returns the work for a text.
pub(super) fn work_of(text: &str) -> u64 {
    text.len() as u64 + WINDOW_OVERHEAD
}

/// Predicts the work for a page with a body and a title of these lengths, in bytes.
pub(super) fn predicted_work(body: u64, title: u64) -> u64 {
    let windows = body.saturating_sub(WINDOW_BYTES).div_ceil(WINDOW_STEP) + 1;
    let shared = (windows - 1) * (WINDOW_BYTES - WINDOW_STEP);
    body + shared + windows * (title + WINDOW_OVERHEAD)
}

impl Forecast {
    /// Records the actual windows of a page.
    pub(super) fn record_page(&mut self, page: &PageRecord, windows: &[Window]) {
        let actual: u64 = windows.iter().map(|window| work_of(&window.text)).sum();
        self.predicted += predicted_work(page.bytes, page.title.len() as u64) as f64;
        self.actual += actual as f64;
    }

    /// Records that texts were embedded in this time.
    pub(super) fn record_batch(&mut self, texts: &[String], time: Duration) {
        self.work += self.record_sample(texts, time);
        self.windows += texts.len() as f64;
    }

    /// As [`Forecast::record_batch`], for texts that are no windows of pages. Returns their work.
    pub(super) fn record_sample(&mut self, texts: &[String], time: Duration) -> f64 {
        let work = texts.iter().map(|text| work_of(text)).sum::<u64>() as f64;
        let seconds = time.as_secs_f64();
        let kept = 0.5_f64.powf(seconds / HALF_LIFE);
        self.recent_work = self.recent_work * kept + work;
        self.recent_seconds = self.recent_seconds * kept + seconds;
        work
    }

    /// Forgets the speed, because another model is used now.
    pub(super) fn forget_speed(&mut self) {
        (self.recent_work, self.recent_seconds) = (0.0, 0.0);
    }

    /// Returns the recent work per second; `None` if nothing was embedded.
    pub(super) fn speed(&self) -> Option<f64> {
        (self.recent_seconds > 0.0).then(|| self.recent_work / self.recent_seconds)
    }

    /// Corrects predicted work by the pages that were read.
    pub(super) fn corrected(&self, predicted: f64) -> f64 {
        match self.predicted > 0.0 {
            true => predicted * self.actual / self.predicted,
            false => predicted,
        }
    }

    /// Returns the approximate number of windows for this work.
    pub(super) fn windows(&self, work: f64) -> u64 {
        let each = if self.windows > 0.0 { self.work / self.windows } else { TYPICAL_WINDOW };
        (work / each).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64, share: f64) -> bool {
        (value - expected).abs() <= expected * share
    }

    #[test]
    fn prediction_is_close_for_prose_of_any_length() {
        for words in [1_usize, 40, 75, 91, 400, 5000] {
            let body = vec!["beside"; words].join(" ").replace("beside beside", "beside sea");
            let windows = brain_page::windows("A title", &body);
            let actual: u64 = windows.iter().map(|window| work_of(&window.text)).sum();
            let predicted = predicted_work(body.len() as u64, 7);
            assert!(
                near(predicted as f64, actual as f64, 0.2),
                "{words} words: {predicted} instead of {actual}"
            );
        }
    }

    #[test]
    fn speed_follows_the_load_of_the_machine() {
        let mut forecast = Forecast::default();
        assert_eq!((forecast.speed(), forecast.windows(5600.0)), (None, 10));
        let batch = vec!["x".repeat(460); 8];
        for _ in 0..8 {
            forecast.record_batch(&batch, Duration::from_millis(250));
        }
        assert!(near(forecast.speed().unwrap_or_default(), 16_000.0, 0.01));
        assert_eq!(forecast.windows(5000.0), 10);
        // The machine becomes four times slower. After 15 seconds, the old speed counts little.
        for _ in 0..15 {
            forecast.record_batch(&batch, Duration::from_secs(1));
        }
        assert!(near(forecast.speed().unwrap_or_default(), 4000.0, 0.3), "{forecast:?}");
        forecast.forget_speed();
        assert_eq!(forecast.speed(), None);
    }
}
