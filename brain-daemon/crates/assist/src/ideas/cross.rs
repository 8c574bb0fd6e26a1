//! The cross phase. A cross is one question to the model about a near and a distant page. At most
//! four crosses run at a time.
//!
//! A failed cross is counted and skipped; an unavailable service ends the phase. This module knows
//! neither pages nor files.

use std::collections::VecDeque;

use parking_lot::{Condvar, Mutex};

use super::idea_model::{FailureReason, IdeaError, IdeaModel};
use super::parse;
use super::prompt::Prompt;

/// Maximum number of concurrent questions.
const MAX_CONCURRENT: usize = 4;
/// After this many transient failures without an answer in between, the service counts as
/// unavailable.
const MAX_CONSECUTIVE_FAILURES: u32 = 4;

/// The outcome of one cross.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CrossOutcome {
    /// The ideas, at least one.
    Ideas(Vec<String>),
    /// The reason why there is no idea.
    Failed(String),
}

/// The inputs of the phase.
pub(super) struct CrossPhase<'a> {
    /// The model that is asked.
    pub(super) model: &'a dyn IdeaModel,
    /// Maximum number of ideas per cross.
    pub(super) ideas_per_cross: usize,
    /// Fails unless the budget covers one more cross and the judging of all ideas so far.
    pub(super) check_budget: &'a (dyn Fn() -> Result<(), IdeaError> + Sync),
    /// Returns whether the caller is still waiting.
    pub(super) should_continue: &'a (dyn Fn() -> bool + Sync),
    /// Saves the outcome of the cross with this number. Calls do not overlap.
    pub(super) save: &'a (dyn Fn(usize, CrossOutcome) -> Result<(), IdeaError> + Sync),
}

/// State shared by the workers.
struct SharedWork {
    /// Numbers and prompts of the crosses to ask.
    queue: VecDeque<(usize, Prompt)>,
    /// Number of calls in progress.
    in_flight: usize,
    /// Number of answers and failures, without those that are retried.
    answered: u64,
    /// Number of transient failures since the last answer.
    consecutive_failures: u32,
    /// The error that ends the phase.
    fatal_error: Option<IdeaError>,
}

impl CrossPhase<'_> {
    /// Asks for the ideas of the numbered `crosses`. Returns the error if the phase ended early.
    pub(super) fn run(&self, crosses: Vec<(usize, Prompt)>) -> Option<IdeaError> {
        let workers = crosses.len().min(MAX_CONCURRENT);
        let shared = SharedWork {
            queue: crosses.into(),
            in_flight: 0,
            answered: 0,
            consecutive_failures: 0,
            fatal_error: None,
        };
        let (shared, progress_made) = (Mutex::new(shared), Condvar::new());
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| self.run_worker(&shared, &progress_made));
            }
        });
        shared.into_inner().fatal_error
    }

    /// Asks crosses until none is left or the phase ends.
    fn run_worker(&self, shared: &Mutex<SharedWork>, progress_made: &Condvar) {
        while let Some((number, prompt, answered_before)) = self.next_cross(shared, progress_made) {
            let answer = self.model.ask(&prompt, &self.should_continue);
            let mut state = shared.lock();
            let had_concurrent_calls = state.answered > answered_before || state.in_flight > 1;
            state.in_flight -= 1;
            state.answered += 1;
            match answer {
                Ok(text) => {
                    state.consecutive_failures = 0;
                    let ideas = parse::ideas(&text, self.ideas_per_cross);
                    let outcome = match ideas.is_empty() {
                        true => {
                            CrossOutcome::Failed("the model's answer has no ideas in it".into())
                        }
                        false => CrossOutcome::Ideas(ideas),
                    };
                    self.record_outcome(&mut state, number, outcome);
                }
                // Concurrent calls reserve their maximum cost and usually cost less, so retry
                // later.
                Err(error) if error.reason == FailureReason::Budget && had_concurrent_calls => {
                    state.queue.push_front((number, prompt));
                    state.answered -= 1;
                    if state.in_flight > 0 {
                        progress_made.wait(&mut state);
                    }
                }
                Err(error) => self.record_failure(&mut state, number, error),
            }
            drop(state);
            progress_made.notify_all();
        }
    }

    /// Returns number and prompt of the next cross, and the number of answers before it. Waits
    /// until the budget covers the cross. `None` if no cross is left or the phase ends.
    fn next_cross(
        &self,
        shared: &Mutex<SharedWork>,
        progress_made: &Condvar,
    ) -> Option<(usize, Prompt, u64)> {
        let mut state = shared.lock();
        loop {
            if state.fatal_error.is_some() || state.queue.is_empty() {
                return None;
            }
            match (self.check_budget)() {
                Ok(()) => break,
                Err(_) if state.in_flight > 0 => {
                    progress_made.wait(&mut state);
                }
                Err(error) => {
                    state.fatal_error = Some(error);
                    return None;
                }
            }
        }
        state.in_flight += 1;
        let answered = state.answered;
        state.queue.pop_front().map(|(number, prompt)| (number, prompt, answered))
    }

    /// Records a failed call. Ends the phase if further calls would fail as well.
    fn record_failure(&self, state: &mut SharedWork, number: usize, error: IdeaError) {
        match error.reason {
            // The cross itself did not fail, so it stays open.
            FailureReason::Budget | FailureReason::Stopped | FailureReason::Service => {
                state.fatal_error.get_or_insert(error);
            }
            FailureReason::Transient | FailureReason::Question => {
                tracing::info!(cross = number, message = error.message, "a cross failed");
                self.record_outcome(state, number, CrossOutcome::Failed(error.message.clone()));
                if error.reason == FailureReason::Transient {
                    state.consecutive_failures += 1;
                }
                if state.consecutive_failures >= MAX_CONSECUTIVE_FAILURES {
                    state.fatal_error.get_or_insert(error);
                }
            }
        }
    }

    /// Saves an outcome. Ends the phase on an error: an unsaved outcome would be paid again.
    fn record_outcome(&self, state: &mut SharedWork, number: usize, outcome: CrossOutcome) {
        if let Err(error) = (self.save)(number, outcome) {
            state.fatal_error.get_or_insert(error);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use super::*;

    /// A model that answers by a function of the prompt, and counts calls.
    struct FakeModel<F> {
        answer: F,
        calls: AtomicUsize,
        concurrent: AtomicUsize,
        max_concurrent: AtomicUsize,
    }

    impl<F: Fn(&str) -> Result<String, IdeaError> + Sync> IdeaModel for FakeModel<F> {
        fn ask(&self, prompt: &Prompt, _: &dyn Fn() -> bool) -> Result<String, IdeaError> {
            self.calls.fetch_add(1, SeqCst);
            let concurrent = self.concurrent.fetch_add(1, SeqCst) + 1;
            self.max_concurrent.fetch_max(concurrent, SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(5));
            let answer = (self.answer)(&prompt.text);
            self.concurrent.fetch_sub(1, SeqCst);
            answer
        }
    }

    fn fake_model<F: Fn(&str) -> Result<String, IdeaError> + Sync>(answer: F) -> FakeModel<F> {
        FakeModel { answer, calls: 0.into(), concurrent: 0.into(), max_concurrent: 0.into() }
    }

    fn error(reason: FailureReason) -> IdeaError {
        IdeaError { reason, message: format!("{reason:?}"), hint: brain_protocol::Hint::default() }
    }

    fn crosses(count: usize) -> Vec<(usize, Prompt)> {
        let prompt = |text: String| Prompt {
            system: String::new(),
            text,
            temperature: 0.0,
            max_tokens: 1,
            pages: Vec::new(),
        };
        (0..count).map(|number| (number, prompt(number.to_string()))).collect()
    }

    /// Returns the outcome of each cross and the error that ended the phase.
    fn run(
        model: &dyn IdeaModel,
        count: usize,
        check_budget: &(dyn Fn() -> Result<(), IdeaError> + Sync),
    ) -> (BTreeMap<usize, CrossOutcome>, Option<IdeaError>) {
        let outcomes = Mutex::new(BTreeMap::new());
        let save = |number, outcome| {
            let former = outcomes.lock().insert(number, outcome);
            assert!(former.is_none(), "{number} was saved twice");
            Ok(())
        };
        let phase = CrossPhase {
            model,
            ideas_per_cross: 3,
            check_budget,
            should_continue: &|| true,
            save: &save,
        };
        let fatal_error = phase.run(crosses(count));
        (outcomes.into_inner(), fatal_error)
    }

    fn one_idea(text: &str) -> Result<String, IdeaError> {
        Ok(format!("{{\"ideas\": [\"of {text}\"]}}"))
    }

    #[test]
    fn each_cross_is_asked_once_with_limited_concurrency() {
        let model = fake_model(one_idea);
        let (outcomes, fatal_error) = run(&model, 24, &|| Ok(()));
        assert_eq!((outcomes.len(), fatal_error), (24, None));
        assert_eq!(outcomes[&7], CrossOutcome::Ideas(vec!["of 7".into()]));
        assert_eq!(model.calls.load(SeqCst), 24);
        assert!((2..=4).contains(&model.max_concurrent.load(SeqCst)));
    }

    #[test]
    fn failed_cross_is_skipped() {
        let model = fake_model(|text: &str| match text {
            "3" => Err(error(FailureReason::Question)),
            "5" => Ok("No.".into()),
            "9" => Err(error(FailureReason::Transient)),
            _ => one_idea(text),
        });
        let (outcomes, fatal_error) = run(&model, 12, &|| Ok(()));
        assert_eq!((outcomes.len(), fatal_error), (12, None));
        let failed: Vec<_> = outcomes
            .iter()
            .filter(|(_, outcome)| matches!(outcome, CrossOutcome::Failed(_)))
            .collect();
        assert_eq!(failed.iter().map(|(number, _)| **number).collect::<Vec<_>>(), [3, 5, 9]);
    }

    #[test]
    fn unavailable_service_ends_the_phase() {
        let model = fake_model(|_: &str| Err(error(FailureReason::Service)));
        let (outcomes, fatal_error) = run(&model, 24, &|| Ok(()));
        assert!(outcomes.is_empty(), "the crosses stay open: {outcomes:?}");
        assert_eq!(fatal_error.unwrap().reason, FailureReason::Service);
        assert!(model.calls.load(SeqCst) <= MAX_CONCURRENT);

        let model = fake_model(|_: &str| Err(error(FailureReason::Transient)));
        let (_, fatal_error) = run(&model, 24, &|| Ok(()));
        assert_eq!(fatal_error.unwrap().reason, FailureReason::Transient);
        assert!(model.calls.load(SeqCst) <= MAX_CONSECUTIVE_FAILURES as usize + MAX_CONCURRENT);
    }

    #[test]
    fn crosses_beyond_the_budget_are_not_asked() {
        let checks = AtomicUsize::new(0);
        let check_budget = || match checks.fetch_add(1, SeqCst) {
            0..5 => Ok(()),
            _ => Err(error(FailureReason::Budget)),
        };
        let model = fake_model(one_idea);
        let (outcomes, fatal_error) = run(&model, 24, &check_budget);
        assert_eq!((outcomes.len(), model.calls.load(SeqCst)), (5, 5));
        assert_eq!(fatal_error.unwrap().reason, FailureReason::Budget);
    }

    #[test]
    fn budget_refusal_waits_for_calls_in_flight() {
        // The budget covers one call at a time.
        let free_calls = AtomicUsize::new(1);
        let model = fake_model(|text: &str| {
            if free_calls.fetch_update(SeqCst, SeqCst, |free| free.checked_sub(1)).is_err() {
                return Err(error(FailureReason::Budget));
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
            free_calls.fetch_add(1, SeqCst);
            one_idea(text)
        });
        let (outcomes, fatal_error) = run(&model, 8, &|| Ok(()));
        assert_eq!((outcomes.len(), fatal_error), (8, None));
    }
}
