//! The judge: ideas in batches no larger than its answer can hold, small numbers for ids. Ideas that it says nothing of stay, without scores.
//! Knows neither pages nor files.

use super::mind::{Because, Lost, Mind};
use super::parse::{self, Verdict};
use super::prompt::Prompt;

/// How many ideas one question is about.
pub(super) const BATCH: usize = 12;
/// How many when some were left out of the first answers.
const AGAIN: usize = 6;

/// What the phase needs to know.
pub(super) struct Phase<'a> {
    /// Who is asked.
    pub(super) mind: &'a dyn Mind,
    /// The question about these ideas.
    pub(super) prompt: &'a dyn Fn(&[usize]) -> Result<Prompt, Lost>,
    /// Whether anybody still waits.
    pub(super) goes_on: &'a dyn Fn() -> bool,
    /// Keeps what was said of ideas: each with its verdict, whose number means nothing any more.
    pub(super) keep: &'a mut dyn FnMut(Vec<(usize, Verdict)>) -> Result<(), Lost>,
}

impl Phase<'_> {
    /// Has `ideas` judged. Why it ended before its end, if it did; an answer that makes no sense does not end it.
    pub(super) fn run(&mut self, ideas: &[usize]) -> Option<Lost> {
        self.rounds(ideas).err()
    }

    fn rounds(&mut self, ideas: &[usize]) -> Result<(), Lost> {
        let left = self.round(ideas, BATCH)?;
        // A judge that said nothing of any is not asked again.
        if !left.is_empty() && left.len() < ideas.len() {
            self.round(&left, AGAIN)?;
        }
        Ok(())
    }

    /// Those that nothing was said of.
    fn round(&mut self, ideas: &[usize], size: usize) -> Result<Vec<usize>, Lost> {
        let mut left = Vec::new();
        for batch in ideas.chunks(size) {
            let prompt = (self.prompt)(batch)?;
            let verdicts = match self.mind.ask(&prompt, self.goes_on) {
                Ok(answer) => parse::verdicts(&answer, batch.len()),
                Err(lost) if lost.because == Because::Question => {
                    tracing::info!(message = lost.message, "the judge says nothing of some ideas");
                    Vec::new()
                }
                Err(lost) => return Err(lost),
            };
            let mut said = Vec::with_capacity(verdicts.len());
            for (at, idea) in batch.iter().enumerate() {
                match verdicts.iter().find(|verdict| verdict.number == at + 1) {
                    Some(verdict) => said.push((*idea, verdict.clone())),
                    None => left.push(*idea),
                }
            }
            // Also when nothing was said: it was paid.
            (self.keep)(said)?;
        }
        Ok(left)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Says what the list has, in turn.
    struct Fake(Mutex<Vec<Result<String, Lost>>>);

    impl Mind for Fake {
        fn ask(&self, _: &Prompt, _: &dyn Fn() -> bool) -> Result<String, Lost> {
            self.0.lock().unwrap().remove(0)
        }
    }

    fn verdict(number: usize) -> String {
        format!(
            r#"{{"id": {number}, "originality": 3, "resistance": 3, "thesis": 3, "grounding": 3, "load_bearing": 3}}"#
        )
    }

    fn all(numbers: std::ops::RangeInclusive<usize>) -> String {
        format!("{{\"scores\": [{}]}}", numbers.map(verdict).collect::<Vec<_>>().join(","))
    }

    fn lost(because: Because) -> Lost {
        Lost { because, message: "no".into(), hint: String::new() }
    }

    /// The ideas that were judged, in order, the batches that were asked about, and why it ended.
    fn run(
        ideas: usize,
        says: Vec<Result<String, Lost>>,
    ) -> (Vec<usize>, Vec<usize>, Option<Lost>) {
        let mind = Fake(Mutex::new(says));
        let (mut judged, batches) = (Vec::new(), Mutex::new(Vec::new()));
        let prompt = |batch: &[usize]| {
            batches.lock().unwrap().push(batch.len());
            Ok(Prompt {
                system: String::new(),
                text: String::new(),
                temperature: 0.0,
                max_tokens: 1,
            })
        };
        let mut keep = |said: Vec<(usize, Verdict)>| {
            judged.extend(said.into_iter().map(|(idea, _)| idea));
            Ok(())
        };
        // Ideas have numbers of their own, which the judge never sees.
        let numbers: Vec<usize> = (100..100 + ideas).collect();
        let ended = Phase { mind: &mind, prompt: &prompt, goes_on: &|| true, keep: &mut keep }
            .run(&numbers);
        (judged, batches.into_inner().unwrap(), ended)
    }

    #[test]
    fn each_idea_gets_its_own_verdict() {
        let (judged, batches, ended) = run(15, vec![Ok(all(1..=12)), Ok(all(1..=3))]);
        assert_eq!(judged, (100..115).collect::<Vec<_>>());
        assert_eq!((batches, ended), (vec![12, 3], None));
    }

    #[test]
    fn of_a_cut_answer_the_whole_part_counts_and_the_rest_is_asked_again() {
        let cut = all(1..=12);
        let cut = &cut[..cut.find("\"id\": 8").unwrap()];
        let (judged, batches, ended) = run(12, vec![Ok(cut.into()), Ok(all(1..=5))]);
        assert_eq!(judged, (100..112).collect::<Vec<_>>());
        assert_eq!((batches, ended), (vec![12, 5], None));
    }

    #[test]
    fn a_judge_that_makes_no_sense_is_not_paid_twice() {
        let nonsense = || Ok("These are all wonderful!".to_owned());
        assert_eq!(run(13, vec![nonsense(), nonsense()]), (vec![], vec![12, 1], None));
    }

    #[test]
    fn one_batch_may_fail_and_a_service_that_fails_ends_it() {
        let failing =
            vec![Err(lost(Because::Question)), Ok(all(1..=1)), Ok(all(1..=6)), Ok(all(1..=6))];
        let (judged, batches, ended) = run(13, failing);
        assert_eq!((judged.len(), batches, ended), (13, vec![12, 1, 6, 6], None));

        let (judged, _, ended) = run(24, vec![Ok(all(1..=12)), Err(lost(Because::Service))]);
        assert_eq!((judged.len(), ended.unwrap().because), (12, Because::Service));
    }
}
