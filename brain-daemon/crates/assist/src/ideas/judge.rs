//! Judge phase: scores ideas in batches. In each question, the ideas are numbered from 1.
//!
//! Ideas that the answers skip, also in a second round, remain without scores. Knows neither pages
//! nor files.

use super::idea_model::{FailureReason, IdeaError, IdeaModel};
use super::parse::{self, IdeaScores};
use super::prompt::Prompt;

/// Ideas per question.
pub(super) const BATCH_SIZE: usize = 12;
/// Ideas per question in the second round.
const RETRY_BATCH_SIZE: usize = 6;

/// The inputs of the phase.
pub(super) struct JudgePhase<'a> {
    /// The model that is asked.
    pub(super) model: &'a dyn IdeaModel,
    /// Builds the question about the ideas with these indexes.
    pub(super) prompt: &'a dyn Fn(&[usize]) -> Result<Prompt, IdeaError>,
    /// Returns whether the caller still waits and the daemon is not stopping.
    pub(super) should_continue: &'a dyn Fn() -> bool,
    /// Saves verdicts, each with the index of its idea. Ignores the number in a verdict.
    pub(super) save: &'a mut dyn FnMut(Vec<(usize, IdeaScores)>) -> Result<(), IdeaError>,
}

impl JudgePhase<'_> {
    /// Judges the ideas with these indexes. Returns the error if the phase ended early; an unusable
    /// answer does not end the phase.
    pub(super) fn run(&mut self, ideas: &[usize]) -> Option<IdeaError> {
        self.judge_all(ideas).err()
    }

    fn judge_all(&mut self, ideas: &[usize]) -> Result<(), IdeaError> {
        let unjudged = self.round(ideas, BATCH_SIZE)?;
        // A judge that gave no verdict at all is not asked again.
        if !unjudged.is_empty() && unjudged.len() < ideas.len() {
            self.round(&unjudged, RETRY_BATCH_SIZE)?;
        }
        Ok(())
    }

    /// Asks about all `ideas` once, in batches, and returns those without a verdict.
    fn round(&mut self, ideas: &[usize], batch_size: usize) -> Result<Vec<usize>, IdeaError> {
        let mut unjudged = Vec::new();
        for batch in ideas.chunks(batch_size) {
            let prompt = (self.prompt)(batch)?;
            let verdicts = match self.model.ask(&prompt, self.should_continue) {
                Ok(answer) => parse::verdicts(&answer, batch.len()),
                Err(error) if error.reason == FailureReason::Question => {
                    tracing::info!(
                        message = error.message,
                        "a question to the judge failed; its ideas have no scores yet"
                    );
                    Vec::new()
                }
                Err(error) => return Err(error),
            };
            let mut judged = Vec::with_capacity(verdicts.len());
            for (at, idea) in batch.iter().enumerate() {
                match verdicts.iter().find(|verdict| verdict.number == at + 1) {
                    Some(verdict) => judged.push((*idea, verdict.clone())),
                    None => unjudged.push(*idea),
                }
            }
            // Saved even without verdicts, because the call was paid.
            (self.save)(judged)?;
        }
        Ok(unjudged)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// A model that returns the listed answers in order.
    struct Fake(Mutex<Vec<Result<String, IdeaError>>>);

    impl IdeaModel for Fake {
        fn ask(&self, _: &Prompt, _: &dyn Fn() -> bool) -> Result<String, IdeaError> {
            self.0.lock().unwrap().remove(0)
        }
    }

    fn verdict(number: usize) -> String {
        format!(
            "{{\"id\": {number}, \"originality\": 3, \"resistance\": 3, \"thesis\": 3, \
             \"grounding\": 3, \"load_bearing\": 3}}"
        )
    }

    fn answer_for(numbers: std::ops::RangeInclusive<usize>) -> String {
        format!("{{\"scores\": [{}]}}", numbers.map(verdict).collect::<Vec<_>>().join(","))
    }

    fn error(reason: FailureReason) -> IdeaError {
        IdeaError { reason, message: "no".into(), hint: brain_protocol::Hint::default() }
    }

    /// Returns the judged ideas, the batch sizes, and the error that ended the phase.
    fn run(
        idea_count: usize,
        answers: Vec<Result<String, IdeaError>>,
    ) -> (Vec<usize>, Vec<usize>, Option<IdeaError>) {
        let model = Fake(Mutex::new(answers));
        let (mut judged, batches) = (Vec::new(), Mutex::new(Vec::new()));
        let prompt = |batch: &[usize]| {
            batches.lock().unwrap().push(batch.len());
            Ok(Prompt {
                system: String::new(),
                text: String::new(),
                temperature: 0.0,
                max_tokens: 1,
                pages: Vec::new(),
            })
        };
        let mut save = |verdicts: Vec<(usize, IdeaScores)>| {
            judged.extend(verdicts.into_iter().map(|(idea, _)| idea));
            Ok(())
        };
        // The judge sees numbers from 1, never these indexes.
        let indexes: Vec<usize> = (100..100 + idea_count).collect();
        let ended = JudgePhase {
            model: &model,
            prompt: &prompt,
            should_continue: &|| true,
            save: &mut save,
        }
        .run(&indexes);
        (judged, batches.into_inner().unwrap(), ended)
    }

    #[test]
    fn each_idea_gets_its_verdict() {
        let (judged, batches, ended) = run(15, vec![Ok(answer_for(1..=12)), Ok(answer_for(1..=3))]);
        assert_eq!(judged, (100..115).collect::<Vec<_>>());
        assert_eq!((batches, ended), (vec![12, 3], None));
    }

    #[test]
    fn skipped_ideas_of_a_cut_answer_are_retried() {
        let cut = answer_for(1..=12);
        let cut = &cut[..cut.find("\"id\": 8").unwrap()];
        let (judged, batches, ended) = run(12, vec![Ok(cut.into()), Ok(answer_for(1..=5))]);
        assert_eq!(judged, (100..112).collect::<Vec<_>>());
        assert_eq!((batches, ended), (vec![12, 5], None));
    }

    #[test]
    fn unusable_judge_is_not_asked_again() {
        let nonsense = || Ok("These are all wonderful!".to_owned());
        assert_eq!(run(13, vec![nonsense(), nonsense()]), (vec![], vec![12, 1], None));
    }

    #[test]
    fn failed_batch_is_retried_but_failed_service_ends_the_phase() {
        let failing = vec![
            Err(error(FailureReason::Question)),
            Ok(answer_for(1..=1)),
            Ok(answer_for(1..=6)),
            Ok(answer_for(1..=6)),
        ];
        let (judged, batches, ended) = run(13, failing);
        assert_eq!((judged.len(), batches, ended), (13, vec![12, 1, 6, 6], None));

        let failing = vec![Ok(answer_for(1..=12)), Err(error(FailureReason::Service))];
        let (judged, _, ended) = run(24, failing);
        assert_eq!((judged.len(), ended.unwrap().reason), (12, FailureReason::Service));
    }
}
