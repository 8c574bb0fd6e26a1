//! `ask`: answers a question from the pages, with citations; and `costs`.
//!
//! Reads what `search` finds for the same caller. `passages` builds the prompt, `sieve`
//! processes the answer, `model` opens the language model.

mod model;
mod passages;
mod sieve;

use std::sync::Arc;
use std::time::Duration;

use brain_protocol::{
    Ask, AskReply, Citation, Costs, CostsReply, Fault, FaultCode, Hit, Search, Spending, usd,
};

use self::model::model_fault;
use self::passages::{Passage, SYSTEM};
use self::sieve::Sieve;
use crate::search::instant;
use crate::{Caller, Environment, Progress, SearchService};
use brain_costs::{Budget, CostError};
use brain_llm::{Finish, Model, ModelError, ModelErrorKind, Question, Reply};
use brain_store::Store;

pub use model::LanguageModels;

/// Maximum number of pages read for a question.
const MAX_LIMIT: u32 = 50;
/// Maximum tokens of an answer, with room for models that think first.
const TOKENS: u32 = 4000;
/// Maximum time to wait for an overloaded service.
const BUSY: Duration = Duration::from_secs(30);
/// Maximum number of calls that `costs` lists.
const MAX_CALLS: u32 = 1000;

/// Answers to questions, with citations.
pub struct AskService {
    pub(crate) env: Environment,
    pub(crate) store: Arc<Store>,
    pub(crate) search: Arc<SearchService>,
    pub(crate) models: Arc<LanguageModels>,
}

impl AskService {
    /// Creates the service.
    pub(crate) fn new(
        env: Environment,
        store: Arc<Store>,
        search: Arc<SearchService>,
        models: Arc<LanguageModels>,
    ) -> Self {
        Self { env, store, search, models }
    }

    pub(crate) fn ask(
        &self,
        caller: &Caller,
        request: &Ask,
        progress: &dyn Progress,
    ) -> Result<AskReply, Fault> {
        if request.question.trim().is_empty() {
            return Err(Fault::new(FaultCode::Usage, "there is no question")
                .hint("give one: `brain ask \"who runs the analytical engine?\"`"));
        }
        let found = self.search.search(
            caller,
            Search {
                query: request.question.clone(),
                limit: request.limit.clamp(1, MAX_LIMIT),
                source: request.source.clone(),
                page_type: None,
                tags: Vec::new(),
                since: None,
                until: None,
                explain: false,
            },
        )?;
        let asked = AskReply {
            question: request.question.clone(),
            answer: None,
            partial: false,
            citations: Vec::new(),
            unknown: None,
            passages: Vec::new(),
            hint: None,
            model: None,
            cost: Spending::default(),
            degraded: found.degraded,
        };
        // Without passages no call is made.
        if found.hits.is_empty() {
            return Ok(AskReply { hint: Some(NOTHING.into()), ..asked });
        }
        let Some(model) = self.models.language_model(request.model.as_deref())? else {
            let hint = "no language model is configured, so these are the passages; with llm.provider and llm.model set in the \
                        configuration (`brain config path`) they become an answer";
            return Ok(AskReply { passages: found.hits, hint: Some(hint.into()), ..asked });
        };
        let passages = self.passages(caller, found.hits)?;
        if passages.is_empty() {
            return Ok(AskReply { hint: Some(NOTHING.into()), ..asked });
        }
        let budget = Budget::new(
            request.max_cost.unwrap_or_else(|| self.env.config.llm.max_cost.millionths()),
        );
        let said = self.say(&model, &request.question, &passages, &budget, progress)?;
        let citations =
            said.used.iter().filter_map(|number| citation(*number, &passages)).collect();
        let is_uncited = said.used.is_empty() && !said.text.is_empty();
        let hint = said.problem.or_else(|| is_uncited.then(|| UNCITED.into()));
        Ok(AskReply {
            answer: Some(said.text),
            partial: said.is_partial,
            citations,
            unknown: said.unknown,
            passages: passages.into_iter().map(|passage| passage.hit).collect(),
            hint,
            model: Some(model.name().to_owned()),
            cost: budget.spent(),
            ..asked
        })
    }

    /// Asks the model and streams its answer to `progress`.
    fn say(
        &self,
        model: &Model,
        asked: &str,
        passages: &[Passage],
        budget: &Budget,
        progress: &dyn Progress,
    ) -> Result<Said, Fault> {
        let text = passages::prompt(asked, passages);
        let question = Question {
            purpose: "ask",
            system: SYSTEM,
            text: &text,
            temperature: Some(0.2),
            max_tokens: TOKENS,
            max_retry_wait: BUSY,
            ..Question::default()
        };
        let mut sieve = Sieve::new(passages.len());
        let mut text = String::new();
        let mut hear = |piece: &str| {
            let piece = sieve.push(piece);
            if !piece.is_empty() {
                progress.text(&piece);
                text.push_str(&piece);
            }
        };
        let goes_on = || progress.at(0, 0) && !self.env.stop.is_cancelled();
        let reply = model.stream(&question, Some(budget), &mut hear, &goes_on);
        let rest = sieve.end();
        if !rest.text.is_empty() {
            progress.text(&rest.text);
            text.push_str(&rest.text);
        }
        text.truncate(text.trim_end().len());
        let problem = match reply {
            Err(fault) if text.is_empty() => return Err(ask_fault(&fault, budget)),
            Err(fault) => {
                Some(format!("the answer is not whole: {}; {}", fault.message, fault.hint))
            }
            Ok(Reply { finish: Finish::Length, .. }) if text.is_empty() => {
                return Err(ask_fault(&ModelError::truncated(), budget));
            }
            Ok(Reply { finish: Finish::Length, .. }) => Some(
                "the answer was cut at its length: a narrower question has a shorter one".into(),
            ),
            // An answer with only an unknown part is valid.
            Ok(_) if text.is_empty() && rest.unknown.is_none() => {
                return Err(ask_fault(&ModelError::empty(model.name()), budget));
            }
            Ok(_) => None,
        };
        Ok(Said {
            is_partial: problem.is_some(),
            text,
            used: rest.used,
            unknown: rest.unknown,
            problem,
        })
    }

    pub(crate) fn costs(&self, request: &Costs) -> Result<CostsReply, Fault> {
        let since = instant(request.since.as_deref(), false)?;
        let until = instant(request.until.as_deref(), true)?;
        let limit = request.limit.min(MAX_CALLS) as usize;
        self.models.ledger.read(since, until, limit).map_err(|fault| cost_fault(&fault))
    }
}

const NOTHING: &str =
    "no page has anything on this; other words may find some: `brain search \"…\"`";
const UNCITED: &str = "the answer names no passage of yours for what it says: take it as the model's own words, and look at the passages";

/// A model's answer.
struct Said {
    text: String,
    /// Numbers of the cited passages, ascending.
    used: Vec<u32>,
    unknown: Option<String>,
    is_partial: bool,
    problem: Option<String>,
}

fn citation(number: u32, passages: &[Passage]) -> Option<Citation> {
    let Passage { hit, .. } = passages.get(number.checked_sub(1)? as usize)?;
    let Hit { slug, source_id, title, line, .. } = hit;
    Some(Citation {
        number,
        slug: slug.clone(),
        source_id: source_id.clone(),
        title: title.clone(),
        line: *line,
    })
}

/// Converts a model fault, with hints for this command.
fn ask_fault(fault: &ModelError, budget: &Budget) -> Fault {
    let spent = budget.spent();
    match fault.kind {
        ModelErrorKind::Budget => Fault::new(
            FaultCode::OverBudget,
            match spent.actual {
                0 => format!("not asked: {}", fault.message),
                // A gateway failed, so the model may have worked and charged.
                actual => {
                    format!("not asked again: {} ({} USD may be spent already)", fault.message, usd(actual))
                }
            },
        )
        .hint("allow more with `--max-cost USD` or llm.max_cost, or read fewer pages with `--limit N`"),
        _ if spent.actual > 0 => {
            let mut fault = model_fault(fault);
            fault.message.push_str(&format!(" (it counts as {} USD)", usd(spent.actual)));
            fault
        }
        _ => model_fault(fault),
    }
}

fn cost_fault(fault: &CostError) -> Fault {
    let code = match fault {
        CostError::OverBudget { .. } => FaultCode::OverBudget,
        CostError::Ledger { .. } => FaultCode::Io,
    };
    Fault::new(code, fault.to_string()).hint("see what is at that place; `brain doctor` checks it")
}
