//! Runs the cross and judge phases. Each result is saved as soon as it arrives.

use std::sync::atomic::{AtomicU64, Ordering};

use brain_protocol::{Fault, Hint, Judgement, Spending, usd};
use parking_lot::{Mutex, MutexGuard};

use super::cross::{self, CrossOutcome};
use super::estimate::estimate;
use super::idea_model::{BudgetedModel, FailureReason, IdeaError};
use super::judge;
use super::parse::IdeaScores;
use super::profile::Profile;
use super::prompt::{self, IdeaToJudge, Prompt, PromptPage};
use super::run_state::{CrossState, IdeaRun, RunIdea, RunPage};
use super::run_store::RunStore;
use crate::ideas::IdeaService;
use brain_costs::{Budget, Price};
use brain_llm::Model;
use brain_service::Progress;

/// An active run and its inputs.
pub(super) struct RunExecution<'a> {
    pub(super) service: &'a IdeaService,
    pub(super) profile: &'static Profile,
    pub(super) run: Mutex<IdeaRun>,
    pub(super) store: &'a RunStore,
    /// Texts of the close pages; `None` for a deleted or hidden page.
    pub(super) close_texts: Vec<Option<PageText>>,
    /// Texts of the far pages; `None` for a deleted or hidden page.
    pub(super) far_texts: Vec<Option<PageText>>,
    pub(super) progress: &'a dyn Progress,
    /// Number of questions that were answered or failed.
    pub(super) done: AtomicU64,
    /// Expected number of questions.
    pub(super) total: u64,
}

/// The models and the budget.
pub(super) struct RunModels {
    pub(super) ideas: Model,
    pub(super) judge: Model,
    /// The price of both models.
    pub(super) price: Price,
    pub(super) budget: Budget,
    /// The size of the budget, in millionths of a US dollar.
    pub(super) max_cost: u64,
}

/// The name of the cross phase.
const CROSSES: &str = "crosses";
/// The name of the judge phase.
pub(super) const JUDGE: &str = "judge";

impl RunExecution<'_> {
    /// Runs the phases. Returns the name of the phase that failed first and its error, if any.
    pub(super) fn run_phases(&self, models: &RunModels) -> Option<(&'static str, IdeaError)> {
        let failure = match self.run_crosses(models) {
            Ok(failure) => failure,
            Err(fault) => Some(service_error(&fault)),
        };
        // After a budget error, the judge still runs, because `check_budget` left its cost. After
        // any other error, the judge would fail as well.
        if let Some(error) = &failure
            && error.reason != FailureReason::Budget
        {
            return failure.map(|error| (CROSSES, error));
        }
        if self.run().ideas().next().is_none() {
            return Some((CROSSES, failure.unwrap_or_else(|| self.no_ideas_error())));
        }
        let judge_failure = self.run_judge(models);
        failure.map(|error| (CROSSES, error)).or_else(|| judge_failure.map(|error| (JUDGE, error)))
    }

    fn run_crosses(&self, models: &RunModels) -> Result<Option<IdeaError>, Fault> {
        let texts = self.close_texts.iter().chain(&self.far_texts).flatten().map(PageText::as_str);
        let delimiter = self.service.delimiter(&texts)?;
        let mut tasks = Vec::new();
        {
            let mut run = self.run();
            for number in run.open_crosses() {
                match cross_prompt(&run, number, &self.close_texts, &self.far_texts, &delimiter) {
                    Some(prompt) => tasks.push((number, prompt)),
                    None => {
                        run.crosses[number].state =
                            CrossState::Failed { why: "one of its pages was deleted".into() }
                    }
                }
            }
        }
        let model = BudgetedModel {
            model: &models.ideas,
            budget: &models.budget,
            profile: self.profile.kind,
        };
        let check_budget = || self.check_budget(models);
        let should_continue = || self.should_continue();
        let save = |number: usize, outcome: CrossOutcome| {
            let state = match outcome {
                CrossOutcome::Ideas(texts) => CrossState::Done {
                    ideas: texts.into_iter().map(|text| RunIdea { text, judge: None }).collect(),
                },
                CrossOutcome::Failed(why) => CrossState::Failed { why },
            };
            self.done.fetch_add(1, Ordering::Relaxed);
            self.save_step(models, |run| {
                if let Some(cross) = run.crosses.get_mut(number) {
                    cross.state = state;
                }
            })
        };
        let phase = cross::CrossPhase {
            model: &model,
            ideas_per_cross: self.profile.ideas as usize,
            check_budget: &check_budget,
            should_continue: &should_continue,
            save: &save,
        };
        Ok(phase.run(tasks))
    }

    /// Checks that the budget covers one more cross and judging all ideas so far.
    ///
    /// # Errors
    /// `FailureReason::Budget` if the budget does not cover them.
    fn check_budget(&self, models: &RunModels) -> Result<(), IdeaError> {
        let price = models.price;
        let unjudged = self.run().unjudged_count() as u64;
        let needed = estimate(price, 1, u64::from(self.profile.ideas), unjudged);
        let left = models.max_cost.saturating_sub(models.budget.spent().actual);
        if needed <= left {
            return Ok(());
        }
        Err(IdeaError {
            reason: FailureReason::Budget,
            message: format!(
                "one more cross and the judge would cost about ${}, but only ${} of the budget of \
                 ${} are left",
                usd(needed),
                usd(left),
                usd(models.max_cost)
            ),
            hint: Hint::default(),
        })
    }

    fn run_judge(&self, models: &RunModels) -> Option<IdeaError> {
        // A copy, so that the ideas do not change during the phase.
        let run = self.run().clone();
        let unjudged: Vec<(usize, usize, &RunIdea)> =
            run.ideas().filter(|(_, _, idea)| idea.judge.is_none()).collect();
        let model = BudgetedModel {
            model: &models.judge,
            budget: &models.budget,
            profile: self.profile.kind,
        };
        let prompt = |batch: &[usize]| {
            self.judge_prompt(&run, batch.iter().filter_map(|at| unjudged.get(*at)))
        };
        let mut save = |verdicts: Vec<(usize, IdeaScores)>| {
            self.save_step(models, |run| {
                for (at, verdict) in verdicts {
                    let idea =
                        unjudged.get(at).and_then(|(cross, at, _)| run.idea_mut(*cross, *at));
                    if let Some(idea) = idea {
                        let IdeaScores { scores, note, .. } = verdict;
                        let weighted = self.profile.weighted(&scores);
                        idea.judge = Some(Judgement { scores, weighted, note });
                    }
                }
            })?;
            self.done.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        let all: Vec<usize> = (0..unjudged.len()).collect();
        judge::JudgePhase {
            model: &model,
            prompt: &prompt,
            should_continue: &|| self.should_continue(),
            save: &mut save,
        }
        .run(&all)
    }

    /// Builds the judge's question about `ideas`. Uses a new random delimiter, because the model
    /// saw the delimiter of the crosses and may have copied it into an idea.
    fn judge_prompt<'c>(
        &self,
        run: &IdeaRun,
        ideas: impl Iterator<Item = &'c (usize, usize, &'c RunIdea)>,
    ) -> Result<Prompt, IdeaError> {
        let mut ideas_to_judge = Vec::new();
        for (number, _, idea) in ideas {
            let (Some(cross), Some((close, far))) = (run.crosses.get(*number), run.pages(*number))
            else {
                continue;
            };
            ideas_to_judge.push(IdeaToJudge {
                text: &idea.text,
                close: judged_page(&close.page, text_of(&self.close_texts, cross.close)),
                far: judged_page(&far.page, text_of(&self.far_texts, cross.far)),
            });
        }
        let texts =
            ideas_to_judge.iter().flat_map(|idea| [idea.text, idea.close.text, idea.far.text]);
        let delimiter = self.service.delimiter(&texts).map_err(|fault| service_error(&fault))?;
        Ok(prompt::judge(&run.question, &ideas_to_judge, &delimiter))
    }

    /// Changes the run and saves it with its current cost.
    fn save_step(
        &self,
        models: &RunModels,
        change: impl FnOnce(&mut IdeaRun),
    ) -> Result<(), IdeaError> {
        let mut run = self.run();
        change(&mut run);
        run.cost = Spending { estimated: run.cost.estimated, ..models.budget.spent() };
        run.changed_at = self.service.env.clock.now();
        self.store.save(&run).map_err(|fault| service_error(&fault))
    }

    fn should_continue(&self) -> bool {
        let done = self.done.load(Ordering::Relaxed).min(self.total);
        self.progress.at(done, self.total) && !self.service.env.stop.is_cancelled()
    }

    /// Returns the error for a run in which no cross has ideas.
    fn no_ideas_error(&self) -> IdeaError {
        let run = self.run();
        let why = run.crosses.iter().find_map(|cross| match &cross.state {
            CrossState::Failed { why } => Some(why.as_str()),
            _ => None,
        });
        IdeaError {
            reason: FailureReason::Question,
            message: format!("no cross gave an idea: {}", why.unwrap_or("the run has no crosses")),
            hint: "try another model: --model NAME".into(),
        }
    }

    fn run(&self) -> MutexGuard<'_, IdeaRun> {
        self.run.lock()
    }
}

/// The beginning of a page's text, and the page's id.
pub(super) struct PageText {
    pub(super) id: u64,
    pub(super) text: String,
}

impl PageText {
    /// Returns the text.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }
}

/// Builds the prompt of a cross. Returns `None` if the text of one of its pages is missing.
pub(super) fn cross_prompt(
    run: &IdeaRun,
    number: usize,
    close: &[Option<PageText>],
    far: &[Option<PageText>],
    delimiter: &str,
) -> Option<Prompt> {
    let cross = run.crosses.get(number)?;
    let (close_page, far_page) = run.pages(number)?;
    let (close_page, far_page) = (
        prompt_page(&close_page.page, text_of(close, cross.close)?),
        prompt_page(&far_page.page, text_of(far, cross.far)?),
    );
    Some(prompt::cross(Profile::of(run.profile), &run.question, close_page, far_page, delimiter))
}

fn text_of(texts: &[Option<PageText>], at: usize) -> Option<&PageText> {
    texts.get(at)?.as_ref()
}

fn prompt_page<'a>(page: &'a RunPage, text: &'a PageText) -> PromptPage<'a> {
    PromptPage { id: text.id, slug: page.slug.as_str(), title: &page.title, text: &text.text }
}

/// Returns the page for the judge's prompt. A deleted page reveals nothing, not even its title.
fn judged_page<'a>(page: &'a RunPage, text: Option<&'a PageText>) -> PromptPage<'a> {
    match text {
        Some(text) => prompt_page(page, text),
        None => PromptPage { id: 0, slug: "", title: "a page that is gone", text: "" },
    }
}

fn service_error(fault: &Fault) -> IdeaError {
    let hint = fault.hint.clone().unwrap_or_default();
    IdeaError { reason: FailureReason::Service, message: fault.message.clone(), hint }
}
