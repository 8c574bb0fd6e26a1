//! `brainstorm` and `lsd`: what is close to a question crossed with what is far from it, and the children judged.
//!
//! `profile` tells the two apart, `estimate` says before what it will cost, `close` chooses the pages (`far` is the domain bank), `run` walks the
//! phases: `cross` and `judge` ask (`mind` is who is asked, `prompt` has the words, `parse` reads the answers), `kept` keeps each step as a file,
//! `saved` makes a page of the result, `reply` says what came of it.
//!
//! What a page or a model says is data here: it never decides which page is read, what is asked, or what is spent.

mod close;
mod cross;
mod estimate;
mod far;
mod judge;
mod kept;
mod mind;
mod parse;
mod profile;
mod prompt;
mod reply;
mod run;
mod saved;
mod state;
mod work;

use brain_protocol::{CostCall, Fault, FaultCode, IdeaRuns, Ideas, IdeasReply};

use self::kept::{Shelf, no_run, run_id};
use self::profile::Profile;
use self::state::{Run, State};
use super::{Brain, Caller, Progress};
use brain_base::random;

pub(super) use kept::AtWork;

/// The longest question, in characters.
const QUESTION: usize = 2000;
/// The most pages of either set, and ideas of an answer.
const MOST_CLOSE: u32 = 12;
const MOST_FAR: u32 = 24;
const MOST_IDEAS: u32 = 200;
/// The longest time between two steps of a run, in milliseconds, tries again included: calls of it that were entered later are none.
const STEP_MS: i64 = 60 * 60 * 1000;

impl Brain {
    pub(super) fn ideas(
        &self,
        caller: &Caller,
        request: &Ideas,
        progress: &dyn Progress,
    ) -> Result<IdeasReply, Fault> {
        check(request)?;
        let shelf = Shelf::at(self.home.ideas());
        let Some(id) = &request.resume else {
            let run = self.new_run(caller, request)?;
            let _held = self.idea_making.take(&run.run_id).ok_or_else(|| at_work(&run.run_id))?;
            return self.make_ideas(caller, request, run, &shelf, progress);
        };
        let _held = self.idea_making.take(id).ok_or_else(|| at_work(id))?;
        let mut run = shelf.run(id)?;
        if !sees(caller, &run) {
            return Err(no_run(id));
        }
        if run.profile != request.profile {
            let name = run.profile.as_str();
            let message = format!("the run \"{id}\" is a run of {name}");
            return Err(
                Fault::new(FaultCode::Usage, message).hint(format!("brain {name} --resume {id}"))
            );
        }
        self.count_open(&mut run);
        self.make_ideas(caller, request, run, &shelf, progress)
    }

    pub(super) fn idea_runs(&self, caller: &Caller) -> Result<IdeaRuns, Fault> {
        let (runs, damaged) = Shelf::at(self.home.ideas()).all()?;
        let seen = runs.iter().filter(|run| sees(caller, run));
        let runs = seen.map(|run| run.row(self.idea_making.has(&run.run_id))).collect();
        Ok(IdeaRuns { runs, damaged })
    }

    /// Counts what a run that was killed had entered into the ledger after its file was written: those calls went out, so they count, at their worst, as the ledger has them.
    /// Those of another run of the same command that was killed in that time may be among them: a budget is rather too strict.
    fn count_open(&self, run: &mut Run) {
        if run.state != State::Running {
            return;
        }
        let until = run.changed_at.saturating_add(STEP_MS);
        match self.ledger.read(Some(run.changed_at), Some(until), usize::MAX) {
            Ok(costs) => {
                let ours =
                    |call: &&CostCall| call.state == "open" && call.purpose == run.profile.as_str();
                for CostCall { spent, .. } in costs.calls.iter().filter(ours) {
                    run.cost.actual = run.cost.actual.saturating_add(spent.actual);
                    run.cost.tokens_in = run.cost.tokens_in.saturating_add(spent.tokens_in);
                    run.cost.tokens_out = run.cost.tokens_out.saturating_add(spent.tokens_out);
                    run.cost.calls = run.cost.calls.saturating_add(spent.calls);
                }
            }
            // Without it nothing that has a price is asked either.
            Err(error) => {
                tracing::warn!(%error, run = run.run_id, "what a killed run had asked last is not known");
            }
        }
    }

    /// A run with its pages chosen. Nothing is spent for it, and it is not kept yet.
    fn new_run(&self, caller: &Caller, request: &Ideas) -> Result<Run, Fault> {
        let profile = Profile::of(request.profile);
        let id = run_id(random::number(&*self.grants.random)?);
        let mut run = Run::new(id, profile.kind, request.question.trim(), self.clock.now());
        let close = request.close.map_or(profile.close, |n| n as usize);
        let far = request.far.map_or(profile.far, |n| n as usize);
        match self.choose(caller, profile, &mut run, close, far) {
            // Without pages nothing is asked, which is what it costs; the run itself says what is
            // missing.
            Err(fault) if request.estimate && fault.code == FaultCode::NotFound => {}
            chosen => chosen?,
        }
        run.cross();
        Ok(run)
    }
}

/// Refuses what no run can be made of.
fn check(request: &Ideas) -> Result<(), Fault> {
    let name = request.profile.as_str();
    if request.resume.is_none() {
        let question = request.question.trim();
        if question.is_empty() {
            return Err(Fault::new(FaultCode::Usage, "there is no question").hint(format!(
                "brain {name} \"how could …?\"; `brain {name} --list-runs` shows former ones"
            )));
        }
        let length = question.chars().count();
        if length > QUESTION {
            let message = format!("the question has {length} characters, more than {QUESTION}");
            return Err(Fault::new(FaultCode::Usage, message)
                .hint("put the matter into a page, and ask about it in a few sentences"));
        }
    }
    let bounds = [
        ("close", request.close, MOST_CLOSE),
        ("far", request.far, MOST_FAR),
        ("limit", request.limit, MOST_IDEAS),
    ];
    for (name, value, most) in bounds {
        if value.is_some_and(|value| !(1..=most).contains(&value)) {
            return Err(Fault::new(FaultCode::Usage, format!("{name} is not from 1 to {most}")));
        }
    }
    Ok(())
}

/// Whether the caller may see the sources of all pages of a run: its ideas are made of them.
fn sees(caller: &Caller, run: &Run) -> bool {
    let view = caller.view();
    let mut pages =
        run.close.iter().map(|pick| &pick.page).chain(run.far.iter().map(|pick| &pick.page));
    pages.all(|page| view.shows(page.source.as_str()))
}

fn at_work(run_id: &str) -> Fault {
    Fault::new(
        FaultCode::Conflict,
        format!("the run \"{}\" is under way already", run_id.escape_debug()),
    )
    .hint("wait for its end, or end the command that began it")
}
