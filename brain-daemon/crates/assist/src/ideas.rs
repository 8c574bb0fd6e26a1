//! `brainstorm` and `lsd`: ask a model for ideas about pairs of pages, and judge the ideas.
//!
//! A cross is one question to the model about a pair: a page near the user's question and a distant
//! page.
//!
//! `profile` has the differences between both commands, and `estimate` calculates the expected
//! cost. `near_pages` and `distant_pages` select pages, `page_features` compares them without
//! vectors. `execute` runs the phases (`phases`, `cross`, `judge`). `prompt` builds questions,
//! `parse` reads answers, `run_store` saves each step. `save_page` and `reply` present the result.
//!
//! Text of pages and models is data: it decides neither reads nor questions nor costs.

mod cross;
mod distant_pages;
mod estimate;
mod execute;
mod idea_model;
mod judge;
mod near_pages;
mod page_features;
mod parse;
mod phases;
mod profile;
mod prompt;
mod reply;
mod run_state;
mod run_store;
mod save_page;

use std::path::PathBuf;
use std::sync::Arc;

use brain_protocol::{
    CallState, Command, CostCall, Fault, FaultCode, IdeaRunsReply, IdeaStatus, Ideas, IdeasReply,
    hint,
};

use self::profile::Profile;
use self::run_state::IdeaRun;
use self::run_store::{RunStore, no_run, run_id};
use brain_base::caller::Caller;
use brain_base::clock::Clock;
use brain_base::random::{self, RandomSource};
use brain_llm::LanguageModels;
use brain_pages::pages::PageService;
use brain_retrieval::embedding::EmbeddingService;
use brain_retrieval::search::SearchService;
use brain_service::Progress;
use brain_store::Store;
use tokio_util::sync::CancellationToken;

pub(crate) use run_store::ActiveRuns;

/// Maximum length of a question, in characters.
const MAX_QUESTION_CHARS: usize = 2000;
/// Maximum number of pages near the question.
const MAX_CLOSE: u32 = 12;
/// Maximum number of distant pages.
const MAX_FAR: u32 = 24;
/// Maximum number of ideas in a reply.
const MAX_IDEAS: u32 = 200;
/// Maximum time from one save of a run to the next, in milliseconds, including retries. Later
/// ledger entries belong to other runs.
const MAX_STEP_MS: i64 = 60 * 60 * 1000;

/// What [`IdeaService`] uses besides other services.
pub struct IdeaEnvironment {
    /// The directory of runs.
    pub dir: PathBuf,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of ids, delimiters and choices.
    pub random: Arc<dyn RandomSource>,
    /// Cancelled when runs should end after their next step.
    pub stop: CancellationToken,
}

/// Makes ideas: `brainstorm` and `lsd`.
pub struct IdeaService {
    pub(crate) env: IdeaEnvironment,
    pub(crate) store: Arc<Store>,
    pub(crate) pages: Arc<PageService>,
    pub(crate) search: Arc<SearchService>,
    pub(crate) embedding: Arc<EmbeddingService>,
    pub(crate) models: Arc<LanguageModels>,
    pub(crate) active_idea_runs: ActiveRuns,
}

impl IdeaService {
    /// Creates the service.
    pub fn new(
        env: IdeaEnvironment,
        store: Arc<Store>,
        pages: Arc<PageService>,
        search: Arc<SearchService>,
        embedding: Arc<EmbeddingService>,
        models: Arc<LanguageModels>,
    ) -> Self {
        Self {
            env,
            store,
            pages,
            search,
            embedding,
            models,
            active_idea_runs: ActiveRuns::default(),
        }
    }

    /// Makes the ideas of a new run, or resumes a run.
    ///
    /// # Errors
    /// `usage` for an invalid request; `conflict` if the run is already running; the fault of
    /// `no_run` if the caller cannot see the run; otherwise the fault of the run.
    pub fn ideas(
        &self,
        caller: &Caller,
        request: &Ideas,
        progress: &dyn Progress,
    ) -> Result<IdeasReply, Fault> {
        check(request)?;
        let store = RunStore::at(self.env.dir.clone());
        let Some(id) = &request.resume else {
            let run = self.new_run(caller, request)?;
            let _guard = self
                .active_idea_runs
                .lock(&run.run_id)
                .ok_or_else(|| already_running(&run.run_id))?;
            return self.make_ideas(caller, request, run, &store, progress);
        };
        let _guard = self.active_idea_runs.lock(id).ok_or_else(|| already_running(id))?;
        let mut run = store.load(id)?;
        if !is_visible(caller, &run) {
            return Err(no_run(id));
        }
        if run.profile != request.profile {
            let name = run.profile.as_str();
            let message = format!("the run \"{id}\" is a run of {name}");
            let (profile, run) = (Some(name.into()), Some(id.clone()));
            return Err(
                Fault::new(FaultCode::Usage, message).hint(Command::IdeasResume { profile, run })
            );
        }
        self.add_open_calls(&mut run);
        self.make_ideas(caller, request, run, &store, progress)
    }

    /// Lists the runs that the caller can see.
    pub fn idea_runs(&self, caller: &Caller) -> Result<IdeaRunsReply, Fault> {
        let (runs, damaged) = RunStore::at(self.env.dir.clone()).load_all()?;
        let visible = runs.iter().filter(|run| is_visible(caller, run));
        let runs =
            visible.map(|run| run.row(self.active_idea_runs.contains(&run.run_id))).collect();
        Ok(IdeaRunsReply { runs, damaged })
    }

    /// Adds open ledger entries of a killed run to its cost, at their maximum: the calls that were
    /// sent after its last save. If entries of another killed run are included, the budget is too
    /// strict.
    fn add_open_calls(&self, run: &mut IdeaRun) {
        if run.state != IdeaStatus::Running {
            return;
        }
        let until = run.changed_at.saturating_add(MAX_STEP_MS);
        match self.models.ledger.read(Some(run.changed_at), Some(until), usize::MAX) {
            Ok(costs) => {
                let may_belong_to_run = |call: &&CostCall| {
                    call.state == CallState::Open && call.purpose == run.profile.as_str()
                };
                for CostCall { spent, .. } in costs.calls.iter().filter(may_belong_to_run) {
                    run.cost.actual = run.cost.actual.saturating_add(spent.actual);
                    run.cost.tokens_in = run.cost.tokens_in.saturating_add(spent.tokens_in);
                    run.cost.tokens_out = run.cost.tokens_out.saturating_add(spent.tokens_out);
                    run.cost.calls = run.cost.calls.saturating_add(spent.calls);
                }
            }
            // Without the ledger, paid calls are refused as well.
            Err(error) => {
                tracing::warn!(%error, run = run.run_id, "cannot read the open calls of a killed \
                                        run");
            }
        }
    }

    /// Creates a run: selects its pages and pairs them. Spends and saves nothing.
    fn new_run(&self, caller: &Caller, request: &Ideas) -> Result<IdeaRun, Fault> {
        let profile = Profile::of(request.profile);
        let id = run_id(random::number(&*self.env.random)?);
        let mut run = IdeaRun::new(id, profile.kind, request.question.trim(), self.env.clock.now());
        let close = request.close.map_or(profile.close, |n| n as usize);
        let far = request.far.map_or(profile.far, |n| n as usize);
        match self.select_pages(caller, profile, &mut run, close, far) {
            // Without pages the model is not asked, so the estimate is zero. The run reports why.
            Err(fault) if request.estimate && fault.code == FaultCode::NotFound => {}
            result => result?,
        }
        run.cross();
        Ok(run)
    }
}

/// Validates the request.
///
/// # Errors
/// `usage` for a question or number that is out of range.
fn check(request: &Ideas) -> Result<(), Fault> {
    let name = request.profile.as_str();
    if request.resume.is_none() {
        let question = request.question.trim();
        if question.is_empty() {
            return Err(Fault::new(FaultCode::Usage, "the question is empty").hint(hint!(
                "{}; {} lists former runs",
                Command::Ideas { profile: Some(name.into()) },
                Command::IdeasRuns { profile: Some(name.into()) }
            )));
        }
        let length = question.chars().count();
        if length > MAX_QUESTION_CHARS {
            let message =
                format!("the question has {length} characters, more than {MAX_QUESTION_CHARS}");
            return Err(Fault::new(FaultCode::Usage, message)
                .hint("write the details to a page, and ask about it in a few sentences"));
        }
    }
    let bounds = [
        ("close", request.close, MAX_CLOSE),
        ("far", request.far, MAX_FAR),
        ("limit", request.limit, MAX_IDEAS),
    ];
    for (name, value, max) in bounds {
        if value.is_some_and(|value| !(1..=max).contains(&value)) {
            return Err(Fault::new(FaultCode::Usage, format!("{name} must be from 1 to {max}")));
        }
    }
    Ok(())
}

/// Returns whether the caller may see the sources of all pages of a run.
fn is_visible(caller: &Caller, run: &IdeaRun) -> bool {
    let visibility = caller.visibility();
    let mut pages =
        run.close.iter().map(|pick| &pick.page).chain(run.far.iter().map(|pick| &pick.page));
    pages.all(|page| visibility.shows(page.source.as_str()))
}

fn already_running(run_id: &str) -> Fault {
    Fault::new(
        FaultCode::Conflict,
        format!("the run \"{}\" is already running", run_id.escape_debug()),
    )
    .hint("wait until it ends, or stop the command that started it")
}
