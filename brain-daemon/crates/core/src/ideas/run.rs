//! A run from its pages to its end: what it would cost, who is asked, the phases, the page, and what to say when a phase fails.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

use brain_protocol::{Fault, IdeaPrompt, Ideas, IdeasReply, Spent, usd};

use super::estimate::estimate;
use super::judge::BATCH;
use super::kept::Shelf;
use super::mind::{Because, Lost};
use super::profile::Profile;
use super::prompt;
use super::reply::{self, Said};
use super::state::{Pick, Run, Saved, State};
use super::work::{JUDGE, Means, Work, cross_prompt};
use crate::{Brain, Caller, Progress};
use brain_base::random;
use brain_costs::{Budget, Price};

/// How often a mark is thrown again that happens to stand in a text.
const MARKS: usize = 8;

impl Brain {
    /// Makes ideas for a run as far as it has none, or says what that would cost.
    ///
    /// # Errors
    /// Before anything is spent: when a model or a file cannot be used. What fails later is told in the reply.
    pub(super) fn make_ideas(
        &self,
        caller: &Caller,
        request: &Ideas,
        mut run: Run,
        shelf: &Shelf,
        progress: &dyn Progress,
    ) -> Result<IdeasReply, Fault> {
        let profile = Profile::of(run.profile);
        let (open, unjudged) = (run.open().len(), run.unjudged());
        let means = match open + unjudged {
            0 => None,
            _ => self.means(request, &run)?,
        };
        let price = means.as_ref().map_or_else(Price::default, |means| means.price);
        let expected = estimate(price, open as u64, u64::from(profile.ideas), unjudged as u64);
        let mut said =
            Said { crosses: open as u32, estimated: expected, before: run.cost, ..Said::default() };
        if request.estimate {
            if let Some(means) = &means {
                said.notes = self.before(means, expected, &run);
            }
            said.status = match (open + unjudged, means.is_some()) {
                (0, _) => "done",
                (_, true) => "estimated",
                (_, false) => "prompts",
            };
            if request.resume.is_none() {
                run.run_id.clear();
            }
            return Ok(reply::of(&run, request, said));
        }
        let Some(means) = means else {
            return self.without_asking(caller, request, run, shelf, open + unjudged == 0, said);
        };
        if run.cost.calls == 0 {
            run.cost.estimated = expected;
        }
        run.state = State::Running;
        run.problem = None;
        run.changed_at = self.clock.now();
        shelf.prune(self.clock.now(), &self.idea_making);
        shelf.keep(&run)?;
        let steps = open + (open * profile.ideas as usize + unjudged).div_ceil(BATCH);
        let work = Work {
            brain: self,
            profile,
            close: self.page_texts(caller, run.close.iter().map(|pick| &pick.page))?,
            far: self.page_texts(caller, run.far.iter().map(|pick| &pick.page))?,
            run: Mutex::new(run),
            shelf,
            progress,
            done: AtomicU64::new(0),
            total: steps as u64,
        };
        let ended = work.phases(&means);
        let mut run = work.run.into_inner().unwrap_or_else(PoisonError::into_inner);
        run.cost = Spent { estimated: run.cost.estimated, ..means.budget.spent() };
        run.changed_at = self.clock.now();
        run.state = if ended.is_some() { State::Stopped } else { State::Done };
        said.status = if ended.is_some() { "stopped" } else { "done" };
        said.judge_failed = ended.as_ref().is_none_or(|(phase, _)| *phase == JUDGE)
            && run.children().next().is_some()
            && run.children().all(|(_, _, child)| child.judge.is_none());
        run.problem = ended.map(|(phase, lost)| self.problem(phase, &lost, &run, price));
        self.save_run(caller, request, &mut run, &mut said);
        if let Err(fault) = shelf.keep(&run) {
            said.notes.push(format!("the run is not kept as it is now: {}", fault.message));
        }
        Ok(reply::of(&run, request, said))
    }

    /// A run that is through, or that there is no model for.
    fn without_asking(
        &self,
        caller: &Caller,
        request: &Ideas,
        mut run: Run,
        shelf: &Shelf,
        through: bool,
        mut said: Said,
    ) -> Result<IdeasReply, Fault> {
        said.status = "done";
        if !through {
            said.status = "prompts";
            said.prompts = self.prompts(caller, &run)?;
            said.notes.push(self.no_model());
            if run.children().next().is_none() {
                run.state = State::Prompts;
            }
            shelf.prune(self.clock.now(), &self.idea_making);
        }
        run.changed_at = self.clock.now();
        self.save_run(caller, request, &mut run, &mut said);
        shelf.keep(&run)?;
        Ok(reply::of(&run, request, said))
    }

    /// Who is asked, when somebody can be.
    fn means(&self, request: &Ideas, run: &Run) -> Result<Option<Means>, Fault> {
        let Some(ideas) = self.language_model(request.model.as_deref())? else { return Ok(None) };
        let judge = request.judge_model.clone().or_else(|| self.config.judge_model());
        let judge = judge.unwrap_or_else(|| ideas.name().to_owned());
        let Some(judge) = self.language_model(Some(&judge))? else { return Ok(None) };
        let most = request.max_cost.unwrap_or_else(|| self.config.llm_max_cost());
        let price = self.config.llm_price();
        Ok(Some(Means { ideas, judge, price, budget: Budget::resumed(most, run.cost), most }))
    }

    /// What there is to know before anything is spent.
    fn before(&self, means: &Means, expected: u64, run: &Run) -> Vec<String> {
        let mut notes = Vec::new();
        let far = self.config.llm().is_some_and(|models| !models.is_near());
        if means.price.is_free() && far {
            notes.push(
                "no price is configured, so neither an estimate nor a budget can be right: set llm.price_in and llm.price_out"
                    .into(),
            );
        }
        if run.cost.actual.saturating_add(expected) > means.most {
            notes.push(format!(
                "this may be more than the budget of ${} for the run: it stops before that is exceeded; --max-cost allows more",
                usd(means.most)
            ));
        }
        notes
    }

    fn no_model(&self) -> String {
        let lacking = match self.config.llm() {
            None => "no language model is configured (llm.provider is none)",
            Some(_) => "no language model is named (llm.model is empty)",
        };
        format!(
            "{lacking}, so the crosses are here as prompts: give them to a model of your own, or configure one and use --resume"
        )
    }

    /// The open crosses as prompts.
    fn prompts(&self, caller: &Caller, run: &Run) -> Result<Vec<IdeaPrompt>, Fault> {
        let close = self.page_texts(caller, run.close.iter().map(|pick| &pick.page))?;
        let far = self.page_texts(caller, run.far.iter().map(|pick| &pick.page))?;
        let mark = self.mark(&close.iter().chain(&far).flatten().map(String::as_str))?;
        let mut prompts = Vec::new();
        for number in run.open() {
            let Some(prompt) = cross_prompt(run, number, &close, &far, &mark) else { continue };
            let Some((near, wide)) = run.pages(number) else { continue };
            prompts.push(IdeaPrompt {
                close_slug: near.page.slug.clone(),
                far_slug: wide.page.slug.clone(),
                text: prompt::as_one(&prompt),
            });
        }
        Ok(prompts)
    }

    /// The texts of pages as the caller may see them now, as much of each as is asked with.
    fn page_texts<'p>(
        &self,
        caller: &Caller,
        pages: impl Iterator<Item = &'p Pick>,
    ) -> Result<Vec<Option<String>>, Fault> {
        let reader = self.store.read(caller.view())?;
        let text = |page: &Pick| {
            let record = reader.page(&page.source, &page.slug)?;
            let content = record.map(|record| reader.content(&record)).transpose()?;
            Ok(content.map(|content| prompt::beginning(&content.body).to_owned()))
        };
        pages.map(text).collect()
    }

    /// A mark that nobody can know, and that stands in none of these texts.
    pub(super) fn mark<'t>(
        &self,
        texts: &(impl Iterator<Item = &'t str> + Clone),
    ) -> Result<String, Fault> {
        for _ in 1..MARKS {
            let mark = format!("{:016x}", random::number(&*self.grants.random)?);
            if prompt::parts(&mark, texts.clone()) {
                return Ok(mark);
            }
        }
        Ok(format!(
            "{:016x}{:016x}",
            random::number(&*self.grants.random)?,
            random::number(&*self.grants.random)?
        ))
    }

    /// Saves a run as a page when that is wanted and there is something new in it.
    fn save_run(&self, caller: &Caller, request: &Ideas, run: &mut Run, said: &mut Said) {
        let profile = Profile::of(run.profile);
        let now = (run.children().count(), run.children().count() - run.unjudged());
        let usual = profile.saves && said.status == "done" && now.0 > 0;
        let known = run.saved.as_ref().is_some_and(|saved| (saved.ideas, saved.judged) == now);
        // A page that was deleted meanwhile comes back only by order.
        let stands = known && (request.save != Some(true) || self.has_saved(caller, run));
        if stands || !request.save.unwrap_or(usual) {
            return;
        }
        let ideas = reply::ideas(run, request.limit);
        match self.save_ideas(caller, run, &ideas) {
            Ok(slug) => run.saved = Some(Saved { slug, ideas: now.0, judged: now.1 }),
            Err(fault) => {
                let hint = fault.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
                said.save_problem = Some(format!(
                    "it could not be saved as a page: {}{hint}; then: brain {} --resume {} --save",
                    fault.message,
                    run.profile.as_str(),
                    run.run_id
                ));
            }
        }
    }

    /// Whether the page that a run was saved as is still there.
    fn has_saved(&self, caller: &Caller, run: &Run) -> bool {
        let Ok(reader) = self.store.read(caller.view()) else { return true };
        let Ok((source, ..)) = self.source(caller, &reader, None) else { return true };
        run.saved
            .as_ref()
            .is_some_and(|saved| reader.page(&source, &saved.slug).is_ok_and(|page| page.is_some()))
    }

    /// Which phase failed, why, what was spent, and how to go on.
    fn problem(&self, phase: &str, lost: &Lost, run: &Run, price: Price) -> String {
        let (all, open) = (run.crosses.len(), run.open().len());
        let name = run.profile.as_str();
        let rest = estimate(
            price,
            open as u64,
            u64::from(Profile::of(run.profile).ideas),
            run.unjudged() as u64,
        );
        // The worst of what is left has to fit, and that is more than what is to be expected; to the next cent.
        let more = match lost.because {
            Because::Budget => {
                let enough =
                    run.cost.actual.saturating_add(rest.saturating_mul(2)).div_ceil(10_000)
                        * 10_000;
                format!(" --max-cost {}", usd(enough))
            }
            _ => String::new(),
        };
        let hint = match lost.hint.is_empty() {
            true => String::new(),
            false => format!("; {}", lost.hint),
        };
        format!(
            "{phase}: {}{hint}; {} of {all} crosses are done and ${} was spent; go on: brain {name} --resume {}{more}",
            lost.message,
            all - open,
            usd(run.cost.actual),
            run.run_id
        )
    }
}
