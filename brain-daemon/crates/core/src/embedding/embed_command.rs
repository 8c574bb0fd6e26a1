//! `brain embed`: makes missing vectors while the caller waits.

use std::sync::atomic::{AtomicBool, Ordering};

use brain_protocol::{Embed, EmbedReply, Fault, FaultCode};

use super::{EmbeddingService, Progress};
use brain_embed::{EmbedError, EmbedErrorKind};

impl EmbeddingService {
    /// Makes the missing vectors.
    pub(crate) fn embed(
        &self,
        request: &Embed,
        progress: &dyn Progress,
    ) -> Result<EmbedReply, Fault> {
        let before = self.meaning_status();
        let Some(model) = before.model.clone() else { return Err(nothing(before.problem)) };
        let wanted = if request.all { before.pages + before.missing } else { before.missing };
        let mut made = EmbedReply {
            provider: before.provider,
            model,
            pages: 0,
            windows: 0,
            missing: before.missing,
            dry_run: request.dry_run,
        };
        if request.dry_run {
            made.pages = wanted;
            return Ok(made);
        }
        let (gone, mut first) = (AtomicBool::new(false), request.all);
        loop {
            let done = made.pages;
            let should_continue = || {
                let should_continue =
                    progress.at(done, wanted.max(done)) && !self.env.stop.is_cancelled();
                gone.fetch_or(!should_continue, Ordering::Relaxed);
                !gone.load(Ordering::Relaxed)
            };
            if !should_continue() {
                return Err(cut(self.env.stop.is_cancelled()));
            }
            let round = match self.embed_round(std::mem::take(&mut first), &should_continue) {
                Ok(round) => round,
                Err(fault) if fault.kind == EmbedErrorKind::Stopped => {
                    return Err(cut(self.env.stop.is_cancelled()));
                }
                Err(fault) => return Err(unmade(&fault, made.pages)),
            };
            if round.pages == 0 {
                break;
            }
            made.pages += round.pages;
            made.windows += round.windows;
        }
        made.missing = self.meaning_status().missing;
        Ok(made)
    }
}

/// Returns the fault for a missing model.
fn nothing(problem: Option<(String, Option<String>)>) -> Fault {
    let (message, hint) = problem.unwrap_or_else(|| ("no embedding model is there".into(), None));
    let way = "install one, `brain model install all-minilm-l6-v2`, or set embedding.provider; see docs/meaning.md";
    Fault::new(FaultCode::NotFound, message).hint(hint.unwrap_or_else(|| way.into()))
}

/// Returns the fault for a run that ended early.
fn cut(stopping: bool) -> Fault {
    let (code, why) = match stopping {
        true => (FaultCode::Stopping, "brain is stopping"),
        false => (FaultCode::Cancelled, "nobody waits for it any more"),
    };
    Fault::new(code, format!("not all vectors were made: {why}"))
        .hint("what was made is kept, and the rest is made in the background")
}

fn unmade(fault: &EmbedError, pages: u64) -> Fault {
    let code = match fault.kind {
        EmbedErrorKind::Model => FaultCode::NotFound,
        EmbedErrorKind::Later(_) => FaultCode::Timeout,
        EmbedErrorKind::Refused => FaultCode::Forbidden,
        EmbedErrorKind::Text
        | EmbedErrorKind::Stopped
        | EmbedErrorKind::Budget
        | EmbedErrorKind::Changed => FaultCode::Io,
    };
    let message = format!("{pages} pages got their vectors, then: {}", fault.message);
    let hint = fault
        .hint
        .clone()
        .unwrap_or_else(|| "`brain model list` shows how search by meaning is".into());
    Fault::new(code, message).hint(hint)
}
