//! Crosses: four at a time, each asked once. One that fails is counted and left out; a service that fails ends the phase. Knows neither
//! pages nor files.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::mind::{Because, Lost, Mind};
use super::parse;
use super::prompt::Prompt;

/// How many are asked at a time.
const AT_A_TIME: usize = 4;
/// After so many failures of a passing kind without an answer between them, the service is the reason.
const IN_A_ROW: u32 = 4;

/// What became of a cross.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Came {
    /// These ideas, one at least.
    Ideas(Vec<String>),
    /// None, and why.
    Failed(String),
}

/// What the phase needs to know.
pub(super) struct Phase<'a> {
    /// Who is asked.
    pub(super) mind: &'a dyn Mind,
    /// The most ideas of a cross.
    pub(super) each: usize,
    /// Whether one more cross can be paid, and the judge's word on all ideas after it; else why not.
    pub(super) affords: &'a (dyn Fn() -> Result<(), Lost> + Sync),
    /// Whether anybody still waits.
    pub(super) goes_on: &'a (dyn Fn() -> bool + Sync),
    /// Keeps what became of a cross. One call at a time.
    pub(super) keep: &'a (dyn Fn(usize, Came) -> Result<(), Lost> + Sync),
}

/// What those at work share.
struct Work {
    waiting: VecDeque<(usize, Prompt)>,
    under_way: usize,
    /// How many answers came, of whatever kind.
    answered: u64,
    failed_in_a_row: u32,
    ended: Option<Lost>,
}

impl Phase<'_> {
    /// Asks for the ideas of `crosses`, each with its number. Why it ended before its end, if it did.
    pub(super) fn run(&self, crosses: Vec<(usize, Prompt)>) -> Option<Lost> {
        let workers = crosses.len().min(AT_A_TIME);
        let work = Work {
            waiting: crosses.into(),
            under_way: 0,
            answered: 0,
            failed_in_a_row: 0,
            ended: None,
        };
        let (work, turn) = (Mutex::new(work), Condvar::new());
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| self.work(&work, &turn));
            }
        });
        work.into_inner().unwrap_or_else(PoisonError::into_inner).ended
    }

    fn work(&self, work: &Mutex<Work>, turn: &Condvar) {
        while let Some((number, prompt, before)) = self.next(work, turn) {
            let answer = self.mind.ask(&prompt, &self.goes_on);
            let mut now = lock(work);
            let others = now.answered > before || now.under_way > 1;
            now.under_way -= 1;
            now.answered += 1;
            match answer {
                Ok(text) => {
                    now.failed_in_a_row = 0;
                    let ideas = parse::ideas(&text, self.each);
                    let came = match ideas.is_empty() {
                        true => Came::Failed("the model's answer has no ideas in it".into()),
                        false => Came::Ideas(ideas),
                    };
                    self.kept(&mut now, number, came);
                }
                // Others that were under way meanwhile were counted at their worst, and as a rule they cost less.
                Err(lost) if lost.because == Because::Budget && others => {
                    now.waiting.push_front((number, prompt));
                    now.answered -= 1;
                    if now.under_way > 0 {
                        now = turn.wait(now).unwrap_or_else(PoisonError::into_inner);
                    }
                }
                Err(lost) => self.failed(&mut now, number, lost),
            }
            drop(now);
            turn.notify_all();
        }
    }

    /// The next cross, when there is one and it can be paid, and how many were answered before it.
    fn next(&self, work: &Mutex<Work>, turn: &Condvar) -> Option<(usize, Prompt, u64)> {
        let mut now = lock(work);
        loop {
            if now.ended.is_some() || now.waiting.is_empty() {
                return None;
            }
            match (self.affords)() {
                Ok(()) => break,
                Err(_) if now.under_way > 0 => {
                    now = turn.wait(now).unwrap_or_else(PoisonError::into_inner)
                }
                Err(lost) => {
                    now.ended = Some(lost);
                    return None;
                }
            }
        }
        now.under_way += 1;
        let answered = now.answered;
        now.waiting.pop_front().map(|(number, prompt)| (number, prompt, answered))
    }

    fn failed(&self, now: &mut Work, number: usize, lost: Lost) {
        match lost.because {
            // It is no fault of this cross: it waits.
            Because::Budget | Because::Stopped | Because::Service => {
                now.ended.get_or_insert(lost);
            }
            Because::Passing | Because::Question => {
                tracing::info!(cross = number, message = lost.message, "a cross failed");
                self.kept(now, number, Came::Failed(lost.message.clone()));
                if lost.because == Because::Passing {
                    now.failed_in_a_row += 1;
                }
                if now.failed_in_a_row >= IN_A_ROW {
                    now.ended.get_or_insert(lost);
                }
            }
        }
    }

    /// What cannot be kept would be paid again.
    fn kept(&self, now: &mut Work, number: usize, came: Came) {
        if let Err(lost) = (self.keep)(number, came) {
            now.ended.get_or_insert(lost);
        }
    }
}

fn lock(work: &Mutex<Work>) -> MutexGuard<'_, Work> {
    work.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use super::*;

    /// Answers by the prompt's text, and counts.
    struct Fake<F> {
        says: F,
        asked: AtomicUsize,
        at_once: AtomicUsize,
        most_at_once: AtomicUsize,
    }

    impl<F: Fn(&str) -> Result<String, Lost> + Sync> Mind for Fake<F> {
        fn ask(&self, prompt: &Prompt, _: &dyn Fn() -> bool) -> Result<String, Lost> {
            self.asked.fetch_add(1, SeqCst);
            let now = self.at_once.fetch_add(1, SeqCst) + 1;
            self.most_at_once.fetch_max(now, SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(5));
            let said = (self.says)(&prompt.text);
            self.at_once.fetch_sub(1, SeqCst);
            said
        }
    }

    fn fake<F: Fn(&str) -> Result<String, Lost> + Sync>(says: F) -> Fake<F> {
        Fake { says, asked: 0.into(), at_once: 0.into(), most_at_once: 0.into() }
    }

    fn lost(because: Because) -> Lost {
        Lost { because, message: format!("{because:?}"), hint: String::new() }
    }

    fn crosses(n: usize) -> Vec<(usize, Prompt)> {
        let prompt =
            |text: String| Prompt { system: String::new(), text, temperature: 0.0, max_tokens: 1 };
        (0..n).map(|number| (number, prompt(number.to_string()))).collect()
    }

    /// What came of each, and why it ended.
    fn run(
        mind: &dyn Mind,
        n: usize,
        affords: &(dyn Fn() -> Result<(), Lost> + Sync),
    ) -> (BTreeMap<usize, Came>, Option<Lost>) {
        let came = Mutex::new(BTreeMap::new());
        let keep = |number, one| {
            assert!(came.lock().unwrap().insert(number, one).is_none(), "{number} was asked twice");
            Ok(())
        };
        let phase = Phase { mind, each: 3, affords, goes_on: &|| true, keep: &keep };
        let ended = phase.run(crosses(n));
        (came.into_inner().unwrap(), ended)
    }

    fn good(text: &str) -> Result<String, Lost> {
        Ok(format!("{{\"ideas\": [\"of {text}\"]}}"))
    }

    #[test]
    fn each_is_asked_once_and_never_more_than_four_at_a_time() {
        let mind = fake(good);
        let (came, ended) = run(&mind, 24, &|| Ok(()));
        assert_eq!((came.len(), ended), (24, None));
        assert_eq!(came[&7], Came::Ideas(vec!["of 7".into()]));
        assert_eq!(mind.asked.load(SeqCst), 24);
        assert!((2..=4).contains(&mind.most_at_once.load(SeqCst)));
    }

    #[test]
    fn one_that_fails_is_left_out() {
        let mind = fake(|text: &str| match text {
            "3" => Err(lost(Because::Question)),
            "5" => Ok("No.".into()),
            "9" => Err(lost(Because::Passing)),
            _ => good(text),
        });
        let (came, ended) = run(&mind, 12, &|| Ok(()));
        assert_eq!((came.len(), ended), (12, None));
        let failed: Vec<_> =
            came.iter().filter(|(_, came)| matches!(came, Came::Failed(_))).collect();
        assert_eq!(failed.iter().map(|(number, _)| **number).collect::<Vec<_>>(), [3, 5, 9]);
    }

    #[test]
    fn a_service_that_fails_ends_the_phase_and_costs_the_others_nothing() {
        let mind = fake(|_: &str| Err(lost(Because::Service)));
        let (came, ended) = run(&mind, 24, &|| Ok(()));
        assert!(came.is_empty(), "they wait for another time: {came:?}");
        assert_eq!(ended.unwrap().because, Because::Service);
        assert!(mind.asked.load(SeqCst) <= AT_A_TIME);

        let mind = fake(|_: &str| Err(lost(Because::Passing)));
        let (_, ended) = run(&mind, 24, &|| Ok(()));
        assert_eq!(ended.unwrap().because, Because::Passing);
        assert!(mind.asked.load(SeqCst) <= IN_A_ROW as usize + AT_A_TIME);
    }

    #[test]
    fn what_cannot_be_paid_is_not_asked() {
        let paid = AtomicUsize::new(0);
        let affords = || match paid.fetch_add(1, SeqCst) {
            0..5 => Ok(()),
            _ => Err(lost(Because::Budget)),
        };
        let mind = fake(good);
        let (came, ended) = run(&mind, 24, &affords);
        assert_eq!((came.len(), mind.asked.load(SeqCst)), (5, 5));
        assert_eq!(ended.unwrap().because, Because::Budget);
    }

    #[test]
    fn a_refusal_of_the_budget_waits_for_those_under_way() {
        // The budget has room for one at a time.
        let room = AtomicUsize::new(1);
        let mind = fake(|text: &str| {
            if room.fetch_update(SeqCst, SeqCst, |room| room.checked_sub(1)).is_err() {
                return Err(lost(Because::Budget));
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
            room.fetch_add(1, SeqCst);
            good(text)
        });
        let (came, ended) = run(&mind, 8, &|| Ok(()));
        assert_eq!((came.len(), ended), (8, None));
    }
}
