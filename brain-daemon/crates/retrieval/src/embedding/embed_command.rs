//! `brain embed`: makes missing vectors while the caller waits.

use std::sync::atomic::{AtomicBool, Ordering};

use brain_protocol::{Command, Embed, EmbedReply, Fault, FaultCode, Hint, hint};

use super::estimate::EstimatedWork;
use super::{EmbeddingService, Progress, RoundResult};
use brain_embed::{EmbedError, EmbedErrorKind};

impl EmbeddingService {
    /// Makes the missing vectors; with `request.all`, makes all vectors again.
    ///
    /// # Errors
    /// `not_found` without a model; `cancelled` or `stopping` if the work ended early; otherwise
    /// the fault of the embedder.
    pub fn embed(&self, request: &Embed, progress: &dyn Progress) -> Result<EmbedReply, Fault> {
        let before = self.meaning_status();
        let Some(model) = before.model.clone() else { return Err(no_model(before.problem)) };
        let (pages, which) = match request.all {
            true => (before.pages + before.missing, EstimatedWork::All),
            false => (before.incomplete + before.missing, EstimatedWork::Missing),
        };
        let open = self.state.shared.open_vectors();
        let predicted = self.predict_work(open.as_deref(), which)?;
        let mut reply = EmbedReply {
            provider: before.provider,
            model,
            pages: 0,
            windows: 0,
            missing: before.incomplete + before.missing,
            dry_run: request.dry_run,
            seconds: None,
        };
        if request.dry_run {
            reply.pages = pages;
            let should_continue = || progress.at(0, 0) && !self.env.stop.is_cancelled();
            // An unusable model has no speed; `brain embed` says why.
            let _ = self.measure_speed(&should_continue);
            reply.seconds = self.estimate_seconds(&reply.model, predicted);
            return Ok(reply);
        }
        let total = || {
            let forecast = self.state.forecast.lock();
            forecast.windows(forecast.corrected(predicted))
        };
        let (is_cancelled, mut remove_all) = (AtomicBool::new(false), request.all);
        loop {
            let done = reply.windows;
            let should_continue = || {
                let should_continue =
                    progress.at(done, total().max(done)) && !self.env.stop.is_cancelled();
                is_cancelled.fetch_or(!should_continue, Ordering::Relaxed);
                !is_cancelled.load(Ordering::Relaxed)
            };
            if !should_continue() {
                return Err(interrupted(self.env.stop.is_cancelled()));
            }
            let round = match self.embed_round(std::mem::take(&mut remove_all), &should_continue) {
                Ok(round) => round,
                Err(fault) if fault.kind == EmbedErrorKind::Stopped => {
                    return Err(interrupted(self.env.stop.is_cancelled()));
                }
                Err(fault) => return Err(embed_fault(&fault, reply.pages)),
            };
            if round == RoundResult::default() {
                break;
            }
            reply.pages += round.pages;
            reply.windows += round.windows;
        }
        let after = self.meaning_status();
        reply.missing = after.incomplete + after.missing;
        Ok(reply)
    }
}

/// Returns the fault for a missing model.
fn no_model(problem: Option<(String, Option<Hint>)>) -> Fault {
    let (message, hint) =
        problem.unwrap_or_else(|| ("no embedding model is installed or configured".into(), None));
    Fault::new(FaultCode::NotFound, message).hint(hint.unwrap_or_else(|| {
        hint!(
            "install one, {}, or set embedding.provider; see docs/meaning.md",
            Command::ModelInstall { model: Some("all-minilm-l6-v2".into()) }
        )
    }))
}

/// Returns the fault for work that ended early.
fn interrupted(is_stopping: bool) -> Fault {
    let (code, why) = match is_stopping {
        true => (FaultCode::Stopping, "brain is stopping"),
        false => (FaultCode::Cancelled, "the caller cancelled it"),
    };
    Fault::new(code, format!("not all vectors were made: {why}"))
        .hint("finished vectors are kept; the rest is made in the background")
}

/// Converts an error of the embedder after `pages` pages got vectors.
fn embed_fault(fault: &EmbedError, pages: u64) -> Fault {
    let code = match fault.kind {
        EmbedErrorKind::Model => FaultCode::NotFound,
        EmbedErrorKind::Retryable(_) => FaultCode::Timeout,
        EmbedErrorKind::Refused => FaultCode::Forbidden,
        EmbedErrorKind::Text
        | EmbedErrorKind::Stopped
        | EmbedErrorKind::Budget
        | EmbedErrorKind::Changed => FaultCode::Io,
    };
    let message = format!("{pages} pages got vectors before this failure: {}", fault.message);
    Fault::new(code, message).hint(
        fault.hint.clone().unwrap_or_else(|| {
            hint!("{} shows the status of search by meaning", Command::ModelList)
        }),
    )
}
