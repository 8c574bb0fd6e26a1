//! Estimates how long embedding takes. The only place that does: the client, doctor and the reply
//! of an installation show its results.

use std::time::{Duration, Instant};

use super::EmbeddingService;
use super::forecast::{TYPICAL_WINDOW, predicted_work, work_of};
use super::state::OpenVectors;
use brain_base::caller::Visibility;
use brain_embed::models::known_models::{KnownModel, find_known};
use brain_embed::{EmbedError, Embedder, VectorPurpose};
use brain_store::StoreError;

/// Texts that measure a model's speed: as many as a call for pages has, of a window's length.
const SAMPLE_TEXTS: usize = 8;
/// A sentence of the sample.
const SAMPLE_SENTENCE: &str = "The old harbour was full of boats that had come in before the storm \
     and would stay until the weather changed again. ";
/// Sentences of a text of the sample: 69 words.
const SAMPLE_SENTENCES: usize = 3;

/// Which vectors work is estimated for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EstimatedWork {
    /// Those that are missing.
    Missing,
    /// All of them.
    All,
}

impl EmbeddingService {
    /// Predicts the work for vectors, in the unit of [`super::forecast`], before any correction.
    /// Reads the record of each page.
    pub(super) fn predict_work(
        &self,
        open: Option<&OpenVectors>,
        which: EstimatedWork,
    ) -> Result<f64, StoreError> {
        let mut work = 0.0;
        let open = open.filter(|_| which == EstimatedWork::Missing);
        self.store.read(Visibility::All)?.pages_in_order(("", ""), |(_, _, record)| {
            let share_left = open.map_or(1.0, |open| {
                match (open.vectors.key(record.id), open.vectors.next(record.id)) {
                    (None, _) => 1.0,
                    (Some(_), None) => 0.0,
                    (Some(_), Some(next)) => {
                        1.0 - (f64::from(next) / record.bytes.max(1) as f64).min(1.0)
                    }
                }
            });
            let predicted = predicted_work(record.bytes, record.title.len() as u64);
            work += share_left * predicted as f64;
            Ok(true)
        })?;
        Ok(work)
    }

    /// Estimates how long this predicted work takes with the model of this name, in seconds. `None`
    /// if its speed is neither measured nor known.
    pub(super) fn estimate_seconds(&self, model: &str, predicted: f64) -> Option<u64> {
        let speed = self.speed_of(model)?;
        Some(self.seconds(predicted, speed))
    }

    /// Estimates how long this predicted work takes at this speed, in seconds.
    pub(super) fn seconds(&self, predicted: f64, speed: f64) -> u64 {
        (self.state.forecast.lock().corrected(predicted) / speed.max(1.0)).ceil() as u64
    }

    /// Estimates how long the missing vectors take, in seconds. `None` if none is missing, or it is
    /// not known.
    pub(super) fn seconds_left(&self) -> Option<u64> {
        let open = self.state.shared.open_vectors()?;
        let predicted = self.predict_work(Some(&open), EstimatedWork::Missing).ok()?;
        (predicted > 0.0).then(|| self.estimate_seconds(&open.space.model, predicted)).flatten()
    }

    /// Returns the speed of a model in work per second: the measured one of the model in use, or
    /// that of its installation, or that of the table, corrected by how this machine compares with
    /// the table.
    fn speed_of(&self, model: &str) -> Option<f64> {
        let (measured, installed) = {
            let forecast = self.state.forecast.lock();
            (forecast.speed(), forecast.installed.clone())
        };
        let used = self.state.shared.open_vectors().map(|open| open.space.model.clone());
        let Some((measured, used)) = measured.zip(used) else {
            let is_installed = |(name, _): &(String, f64)| name.eq_ignore_ascii_case(model);
            let installed = installed.filter(is_installed).map(|(_, speed)| speed);
            return installed.or_else(|| self.tabulated_speed(find_known(model)?));
        };
        if used.eq_ignore_ascii_case(model) {
            return Some(measured);
        }
        let machine = find_known(&used)
            .and_then(|used| self.tabulated_speed(used))
            .map_or(1.0, |tabulated| measured / tabulated);
        Some(self.tabulated_speed(find_known(model)?)? * machine)
    }

    fn tabulated_speed(&self, model: &KnownModel) -> Option<f64> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = self.env.config.threads.min(cores).max(1) as f64;
        (model.window_ms > 0).then(|| threads * TYPICAL_WINDOW * 1000.0 / model.window_ms as f64)
    }

    /// Measures the speed of the model in use with a sample, if it is local and was not measured.
    /// Takes about half a second.
    ///
    /// # Errors
    /// As [`Embedder::embed`].
    pub(super) fn measure_speed(
        &self,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<(), EmbedError> {
        let is_local = self.embedding_provider().is_some_and(|provider| provider.name == "local");
        if !is_local || self.state.forecast.lock().speed().is_some() {
            return Ok(());
        }
        if let Some(open) = self.state.shared.open_vectors() {
            let (texts, time) = run_sample(&*open.embedder, should_continue)?;
            self.state.forecast.lock().record_sample(&texts, time);
        }
        Ok(())
    }
}

/// Returns the work per second of a loaded or unloaded model.
///
/// # Errors
/// As [`Embedder::embed`].
pub(super) fn sample_speed(
    embedder: &dyn Embedder,
    should_continue: &dyn Fn() -> bool,
) -> Result<f64, EmbedError> {
    let (texts, time) = run_sample(embedder, should_continue)?;
    let work: u64 = texts.iter().map(|text| work_of(text)).sum();
    Ok(work as f64 / time.as_secs_f64().max(1e-6))
}

/// Embeds the sample twice and returns it with the time of the second run: the first one may load
/// the model.
fn run_sample(
    embedder: &dyn Embedder,
    should_continue: &dyn Fn() -> bool,
) -> Result<(Vec<String>, Duration), EmbedError> {
    let texts = vec![SAMPLE_SENTENCE.repeat(SAMPLE_SENTENCES); SAMPLE_TEXTS];
    embedder.embed(&texts[..1], VectorPurpose::Document, should_continue)?;
    let began = Instant::now();
    embedder.embed(&texts, VectorPurpose::Document, should_continue)?;
    Ok((texts, began.elapsed()))
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
