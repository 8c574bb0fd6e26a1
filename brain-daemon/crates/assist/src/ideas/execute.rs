//! Executes a run: estimates it, runs its phases, saves its page, and describes a failure.

use std::sync::atomic::AtomicU64;

use brain_protocol::{Command, Fault, IdeaPrompt, IdeaStatus, Ideas, IdeasReply, Spending, usd};
use parking_lot::Mutex;

use super::estimate::estimate;
use super::idea_model::{FailureReason, IdeaError};
use super::judge::BATCH_SIZE;
use super::phases::{JUDGE, PageText, RunExecution, RunModels, cross_prompt};
use super::profile::Profile;
use super::prompt;
use super::reply::{self, ReplyContext};
use super::run_state::{IdeaRun, RunPage, SavedPage};
use super::run_store::RunStore;
use crate::ideas::IdeaService;
use brain_base::caller::Caller;
use brain_base::random;
use brain_costs::{Budget, Price};
use brain_service::Progress;

/// Maximum number of attempts to find an unused delimiter.
const MAX_DELIMITER_ATTEMPTS: usize = 8;

impl IdeaService {
    /// Makes the missing ideas of a run and judges them. Without a model, returns the prompts. With
    /// `request.estimate`, only estimates the cost.
    ///
    /// # Errors
    /// Only before anything is spent: if a model cannot be used, or the store or the run's file
    /// fails. Later failures are part of the reply.
    pub(super) fn make_ideas(
        &self,
        caller: &Caller,
        request: &Ideas,
        mut run: IdeaRun,
        store: &RunStore,
        progress: &dyn Progress,
    ) -> Result<IdeasReply, Fault> {
        let profile = Profile::of(run.profile);
        let (open, unjudged) = (run.open_crosses().len(), run.unjudged_count());
        let models = match open + unjudged {
            0 => None,
            _ if request.prompts_only => None,
            _ => self.select_models(request, &run)?,
        };
        let price = models.as_ref().map_or_else(Price::default, |models| models.price);
        let expected = estimate(price, open as u64, u64::from(profile.ideas), unjudged as u64);
        let mut reply_context = ReplyContext {
            crosses: open as u32,
            estimated: expected,
            cost_before: run.cost,
            ..ReplyContext::default()
        };
        if request.estimate {
            return Ok(self.estimate_reply(request, run, models.as_ref(), reply_context));
        }
        let Some(models) = models else {
            return self.finish_without_model(
                caller,
                request,
                run,
                store,
                open + unjudged == 0,
                reply_context,
            );
        };
        self.start(&mut run, expected, store)?;
        let steps = open + (open * profile.ideas as usize + unjudged).div_ceil(BATCH_SIZE);
        let execution = RunExecution {
            service: self,
            profile,
            close_texts: self.page_texts(caller, run.close.iter().map(|pick| &pick.page))?,
            far_texts: self.page_texts(caller, run.far.iter().map(|pick| &pick.page))?,
            run: Mutex::new(run),
            store,
            progress,
            done: AtomicU64::new(0),
            total: steps as u64,
        };
        let failure = execution.run_phases(&models);
        let mut run = execution.run.into_inner();
        self.end(&mut run, failure, &models, &mut reply_context);
        self.save_run(caller, request, &mut run, &mut reply_context);
        if let Err(fault) = store.save(&run) {
            reply_context
                .notes
                .push(format!("the last state of the run could not be saved: {}", fault.message));
        }
        Ok(reply::build(&run, request, reply_context))
    }

    /// Replies what the run would cost, and begins nothing.
    fn estimate_reply(
        &self,
        request: &Ideas,
        mut run: IdeaRun,
        models: Option<&RunModels>,
        mut reply_context: ReplyContext,
    ) -> IdeasReply {
        if let Some(models) = models {
            reply_context.notes = self.cost_notes(models, reply_context.estimated, &run);
        }
        let is_complete = run.open_crosses().is_empty() && run.unjudged_count() == 0;
        reply_context.status = match (is_complete, models.is_some()) {
            (true, _) => IdeaStatus::Done,
            (false, true) => IdeaStatus::Estimated,
            (false, false) => IdeaStatus::Prompts,
        };
        if request.resume.is_none() {
            run.run_id.clear();
        }
        reply::build(&run, request, reply_context)
    }

    /// Records that a run begins, or continues.
    fn start(&self, run: &mut IdeaRun, expected: u64, store: &RunStore) -> Result<(), Fault> {
        if run.cost.calls == 0 {
            run.cost.estimated = expected;
        }
        run.state = IdeaStatus::Running;
        run.problem = None;
        run.changed_at = self.env.clock.now();
        store.prune(self.env.clock.now(), &self.active_idea_runs);
        store.save(run)
    }

    /// Records what a run cost and why it stopped, if it did. `failure` has the phase that failed.
    fn end(
        &self,
        run: &mut IdeaRun,
        failure: Option<(&'static str, IdeaError)>,
        models: &RunModels,
        reply_context: &mut ReplyContext,
    ) {
        run.cost = Spending { estimated: run.cost.estimated, ..models.budget.spent() };
        run.changed_at = self.env.clock.now();
        run.state = if failure.is_some() { IdeaStatus::Stopped } else { IdeaStatus::Done };
        reply_context.status = run.state;
        reply_context.judge_failed = failure.as_ref().is_none_or(|(phase, _)| *phase == JUDGE)
            && run.ideas().next().is_some()
            && run.ideas().all(|(_, _, idea)| idea.judge.is_none());
        run.problem = failure.map(|(phase, error)| self.problem(phase, &error, run, models.price));
    }

    /// Finishes a run without calling a model: the run is complete, no model is configured, or the
    /// caller requested prompts only.
    fn finish_without_model(
        &self,
        caller: &Caller,
        request: &Ideas,
        mut run: IdeaRun,
        store: &RunStore,
        is_complete: bool,
        mut reply_context: ReplyContext,
    ) -> Result<IdeasReply, Fault> {
        reply_context.status = IdeaStatus::Done;
        if !is_complete {
            reply_context.status = IdeaStatus::Prompts;
            reply_context.prompts = self.prompts(caller, &run)?;
            if !request.prompts_only {
                reply_context.notes.push(self.no_model_note());
            }
            if run.ideas().next().is_none() {
                run.state = IdeaStatus::Prompts;
            }
            store.prune(self.env.clock.now(), &self.active_idea_runs);
        }
        run.changed_at = self.env.clock.now();
        self.save_run(caller, request, &mut run, &mut reply_context);
        store.save(&run)?;
        Ok(reply::build(&run, request, reply_context))
    }

    /// Selects the models and the budget. Returns `None` if no model is configured.
    fn select_models(&self, request: &Ideas, run: &IdeaRun) -> Result<Option<RunModels>, Fault> {
        let Some(ideas) = self.models.language_model(request.model.as_deref())? else {
            return Ok(None);
        };
        let judge = request.judge_model.clone().or_else(|| self.models.config.judge_model.clone());
        let judge = judge.unwrap_or_else(|| ideas.name().to_owned());
        let Some(judge) = self.models.language_model(Some(&judge))? else { return Ok(None) };
        let max_cost = request.max_cost.unwrap_or_else(|| self.models.config.max_cost.millionths());
        let price = brain_llm::price(&self.models.config);
        Ok(Some(RunModels {
            ideas,
            judge,
            price,
            budget: Budget::resumed(max_cost, run.cost),
            max_cost,
        }))
    }

    /// Returns notes about a missing price and a small budget.
    fn cost_notes(&self, models: &RunModels, expected: u64, run: &IdeaRun) -> Vec<String> {
        let mut notes = Vec::new();
        let is_remote = brain_llm::ModelSettings::from_config(&self.models.config)
            .is_some_and(|models| !models.is_local());
        if models.price.is_free() && is_remote {
            notes.push(
                "no price is configured, so estimate and budget have no effect: set llm.price_in \
                 and llm.price_out"
                    .into(),
            );
        }
        if run.cost.actual.saturating_add(expected) > models.max_cost {
            notes.push(format!(
                "the run may cost more than its budget of ${}, and then stops early; \
                 --max-cost raises the budget",
                usd(models.max_cost)
            ));
        }
        notes
    }

    fn no_model_note(&self) -> String {
        let problem = match brain_llm::ModelSettings::from_config(&self.models.config) {
            None => "no language model is configured (llm.provider is none)",
            Some(_) => "no language model is named (llm.model is empty)",
        };
        format!(
            "{problem}, so the crosses are shown as prompts: give them to another model, or \
             configure one and use --resume"
        )
    }

    /// Returns the prompts of the open crosses. Omits crosses with a deleted page.
    fn prompts(&self, caller: &Caller, run: &IdeaRun) -> Result<Vec<IdeaPrompt>, Fault> {
        let close = self.page_texts(caller, run.close.iter().map(|pick| &pick.page))?;
        let far = self.page_texts(caller, run.far.iter().map(|pick| &pick.page))?;
        let delimiter =
            self.delimiter(&close.iter().chain(&far).flatten().map(PageText::as_str))?;
        let mut prompts = Vec::new();
        for number in run.open_crosses() {
            let Some(prompt) = cross_prompt(run, number, &close, &far, &delimiter) else {
                continue;
            };
            let (Some(cross), Some((close_page, far_page))) =
                (run.crosses.get(number), run.pages(number))
            else {
                continue;
            };
            prompts.push(IdeaPrompt {
                close_slug: close_page.page.slug.clone(),
                far_slug: far_page.page.slug.clone(),
                text: prompt::combined_text(&prompt),
                close_source_id: close_page.page.source.clone(),
                far_source_id: far_page.page.source.clone(),
                distance: far_page.distance_to(cross.close),
            });
        }
        Ok(prompts)
    }

    /// Returns the texts of the pages, cut to the length that a prompt uses. The text of a deleted
    /// or hidden page is `None`.
    fn page_texts<'p>(
        &self,
        caller: &Caller,
        pages: impl Iterator<Item = &'p RunPage>,
    ) -> Result<Vec<Option<PageText>>, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let text = |page: &RunPage| {
            let Some(record) = reader.page(&page.source, &page.slug)? else { return Ok(None) };
            let text = prompt::beginning(&reader.content(&record)?.body).to_owned();
            Ok(Some(PageText { id: record.id, text }))
        };
        pages.map(text).collect()
    }

    /// Returns a random delimiter that does not occur in the texts. The last attempt is twice as
    /// long and is not compared with the texts.
    pub(super) fn delimiter<'t>(
        &self,
        texts: &(impl Iterator<Item = &'t str> + Clone),
    ) -> Result<String, Fault> {
        for _ in 1..MAX_DELIMITER_ATTEMPTS {
            let delimiter = format!("{:016x}", random::number(&*self.env.random)?);
            if prompt::is_unique_delimiter(&delimiter, texts.clone()) {
                return Ok(delimiter);
            }
        }
        Ok(format!(
            "{:016x}{:016x}",
            random::number(&*self.env.random)?,
            random::number(&*self.env.random)?
        ))
    }

    /// Saves a run as a page if the request or the profile's default says so, unless its last page
    /// has all ideas and verdicts.
    fn save_run(
        &self,
        caller: &Caller,
        request: &Ideas,
        run: &mut IdeaRun,
        reply_context: &mut ReplyContext,
    ) {
        let profile = Profile::of(run.profile);
        let idea_count = run.ideas().count();
        let judged_count = idea_count - run.unjudged_count();
        let saves_by_default =
            profile.should_save && reply_context.status == IdeaStatus::Done && idea_count > 0;
        let is_saved = run
            .saved
            .as_ref()
            .is_some_and(|saved| saved.ideas == idea_count && saved.judged == judged_count);
        // A deleted page is saved again only on request.
        let is_current =
            is_saved && (request.save != Some(true) || self.saved_page_exists(caller, run));
        if is_current || !request.save.unwrap_or(saves_by_default) {
            return;
        }
        let ideas = reply::ideas(run, request.limit);
        match self.save_ideas(caller, run, &ideas) {
            Ok(slug) => {
                run.saved = Some(SavedPage { slug, ideas: idea_count, judged: judged_count });
            }
            Err(fault) => {
                let hint = fault.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
                reply_context.save_problem = Some(format!(
                    "the ideas could not be saved as a page: {}{hint}; to try again: {}",
                    fault.message,
                    Command::IdeasSave {
                        profile: Some(run.profile.as_str().into()),
                        run: Some(run.run_id.clone())
                    }
                ));
            }
        }
    }

    /// Returns whether the run's saved page still exists, or `true` if the store cannot tell.
    fn saved_page_exists(&self, caller: &Caller, run: &IdeaRun) -> bool {
        let Ok(reader) = self.store.read(caller.visibility()) else { return true };
        let Ok((source, ..)) = brain_pages::sources::resolve(caller, &reader, None) else {
            return true;
        };
        run.saved
            .as_ref()
            .is_some_and(|saved| reader.page(&source, &saved.slug).is_ok_and(|page| page.is_some()))
    }

    /// Describes which phase failed, why, what was spent and how to continue.
    fn problem(&self, phase: &str, error: &IdeaError, run: &IdeaRun, price: Price) -> String {
        let (all, open) = (run.crosses.len(), run.open_crosses().len());
        let remaining_cost = estimate(
            price,
            open as u64,
            u64::from(Profile::of(run.profile).ideas),
            run.unjudged_count() as u64,
        );
        // The new budget covers twice the estimate of the remaining work, rounded up to a cent:
        // each call reserves its maximum cost.
        let (profile, run_id) = (Some(run.profile.as_str().into()), Some(run.run_id.clone()));
        let command = match error.reason {
            FailureReason::Budget => {
                let needed = run
                    .cost
                    .actual
                    .saturating_add(remaining_cost.saturating_mul(2))
                    .div_ceil(10_000)
                    * 10_000;
                let max_cost = Some(usd(needed));
                Command::IdeasResumeWithin { profile, run: run_id, max_cost }
            }
            _ => Command::IdeasResume { profile, run: run_id },
        };
        let hint = match error.hint.is_empty() {
            true => String::new(),
            false => format!("; {}", error.hint),
        };
        format!(
            "{phase}: {}{hint}; {} of {all} crosses are done and ${} was spent; to continue: \
             {command}",
            error.message,
            all - open,
            usd(run.cost.actual)
        )
    }
}
