//! `ask` answers a question from the pages, with citations. `costs` lists paid model calls.
//!
//! An answer uses only pages that `search` finds for the same caller. `passages` builds the
//! prompt, `answer_filter` processes the answer, and `model` opens the language model.

mod answer_filter;
mod direct;
mod passages;

use std::sync::Arc;
use std::time::Duration;

use brain_protocol::{
    Ask, AskReply, Citation, Command, Costs, CostsReply, Fault, FaultCode, Hint, Hit, Hits, Search,
    Spending, hint, usd,
};

use self::answer_filter::AnswerFilter;
use self::passages::{Passage, SYSTEM};
use brain_base::caller::Caller;
use brain_base::clock::{end_instant_argument, instant_argument};
use brain_costs::{Budget, CostError};
use brain_llm::{
    Finish, LanguageModels, Model, ModelError, ModelErrorKind, ModelQuestion, ModelReply,
    model_fault,
};
use brain_retrieval::search::{DirectAnswer, ParsedQuestion, SearchService};
use brain_service::Progress;
use brain_store::Store;
use tokio_util::sync::CancellationToken;

/// Maximum number of pages read for a question.
const MAX_PAGES: u32 = 50;
/// Maximum tokens of an answer, with room for models that think first.
const MAX_ANSWER_TOKENS: u32 = 4000;
/// Maximum time to wait for an overloaded service.
const MAX_BUSY_WAIT: Duration = Duration::from_secs(30);
/// Maximum number of calls that `costs` lists.
const MAX_LISTED_CALLS: u32 = 1000;

/// Answers to questions, with citations.
pub struct AskService {
    pub(crate) store: Arc<Store>,
    pub(crate) search: Arc<SearchService>,
    pub(crate) models: Arc<LanguageModels>,
    stop: CancellationToken,
}

impl AskService {
    /// Creates the service. `stop` ends answers early.
    pub fn new(
        store: Arc<Store>,
        search: Arc<SearchService>,
        models: Arc<LanguageModels>,
        stop: CancellationToken,
    ) -> Self {
        Self { store, search, models, stop }
    }

    /// Answers a question from the pages that its caller can see.
    ///
    /// # Errors
    /// For an empty question; the fault of the search, of the model or of its budget.
    pub fn ask(
        &self,
        caller: &Caller,
        request: &Ask,
        progress: &dyn Progress,
    ) -> Result<AskReply, Fault> {
        if request.question.trim().is_empty() {
            return Err(Fault::new(FaultCode::Usage, "the question is empty").hint(hint!(
                "give one: {}",
                Command::Ask { question: Some("who runs the analytical engine?".into()) }
            )));
        }
        let question = self.search.parse(&request.question);
        let results = self.find_passages(caller, request, question.clone())?;
        let unanswered = AskReply {
            question: request.question.clone(),
            answer: None,
            partial: false,
            citations: Vec::new(),
            unknown: None,
            passages: Vec::new(),
            hint: None,
            model: None,
            cost: Spending::default(),
            degraded: results.degraded,
        };
        let model = match results.hits.is_empty() {
            // Without passages, the model is not asked.
            true => None,
            false => self.models.language_model(request.model.as_deref())?,
        };
        let Some(model) = model else {
            let source = request.source.as_ref();
            let direct = self.search.answer_directly(caller, &question, source)?;
            return Ok(answer_without_model(direct, results.hits, unanswered));
        };
        let passages = self.passages(caller, results.hits)?;
        if passages.is_empty() {
            return Ok(AskReply { hint: Some(no_pages_hint()), ..unanswered });
        }
        if request.estimate {
            return Ok(estimate(&model, passages, unanswered));
        }
        let budget = Budget::new(
            request.max_cost.unwrap_or_else(|| self.models.config.max_cost.millionths()),
        );
        let answer = self.stream_answer(&model, &request.question, &passages, &budget, progress)?;
        let citations =
            answer.cited.iter().filter_map(|number| citation(*number, &passages)).collect();
        let is_uncited = answer.cited.is_empty() && !answer.text.is_empty();
        let hint =
            answer.problem.map(Hint::from).or_else(|| is_uncited.then(|| UNCITED_HINT.into()));
        Ok(AskReply {
            answer: Some(answer.text),
            partial: answer.is_partial,
            citations,
            unknown: answer.unknown,
            passages: passages.into_iter().map(|passage| passage.hit).collect(),
            hint,
            model: Some(model.name().to_owned()),
            cost: budget.spent(),
            ..unanswered
        })
    }

    /// Searches the pages for the question.
    fn find_passages(
        &self,
        caller: &Caller,
        request: &Ask,
        question: ParsedQuestion,
    ) -> Result<Hits, Fault> {
        let search = Search {
            query: request.question.clone(),
            limit: request.limit.clamp(1, MAX_PAGES),
            source: request.source.clone(),
            ..Search::default()
        };
        self.search.search_parsed(caller, search, question)
    }

    /// Asks the model and streams its answer to `progress`.
    fn stream_answer(
        &self,
        model: &Model,
        question_text: &str,
        passages: &[Passage],
        budget: &Budget,
        progress: &dyn Progress,
    ) -> Result<ModelAnswer, Fault> {
        let prompt = passages::prompt(question_text, passages);
        let pages: Vec<u64> = passages.iter().map(|passage| passage.page).collect();
        let request = ModelQuestion { pages: &pages, ..question(&prompt) };
        let mut filter = AnswerFilter::new(passages.len());
        let mut text = String::new();
        let mut on_text = |piece: &str| {
            let piece = filter.push(piece);
            if !piece.is_empty() {
                progress.text(&piece);
                text.push_str(&piece);
            }
        };
        let should_continue = || progress.at(0, 0) && !self.stop.is_cancelled();
        let reply = model.stream(&request, Some(budget), &mut on_text, &should_continue);
        let tail = filter.end();
        if !tail.text.is_empty() {
            progress.text(&tail.text);
            text.push_str(&tail.text);
        }
        text.truncate(text.trim_end().len());
        let problem = match reply {
            Err(error) if text.is_empty() => return Err(ask_fault(&error, budget)),
            Err(error) => {
                Some(format!("the answer is incomplete: {}; {}", error.message, error.hint))
            }
            Ok(ModelReply { finish: Finish::Length, .. }) if text.is_empty() => {
                return Err(ask_fault(&ModelError::truncated(), budget));
            }
            Ok(ModelReply { finish: Finish::Length, .. }) => {
                Some("the answer was cut at its maximum length: ask a narrower question".into())
            }
            // A valid answer may consist of the `UNKNOWN:` line alone.
            Ok(_) if text.is_empty() && tail.unknown.is_none() => {
                return Err(ask_fault(&ModelError::empty(model.name()), budget));
            }
            Ok(_) => None,
        };
        Ok(ModelAnswer {
            is_partial: problem.is_some(),
            text,
            cited: tail.cited,
            unknown: tail.unknown,
            problem,
        })
    }

    /// Lists paid model calls of a period, newest first, at most 1,000.
    pub fn costs(&self, request: &Costs) -> Result<CostsReply, Fault> {
        let since = instant_argument(request.since.as_deref())?;
        let until = end_instant_argument(request.until.as_deref())?;
        let limit = request.limit.min(MAX_LISTED_CALLS) as usize;
        self.models.ledger.read(since, until, limit).map_err(|error| cost_fault(&error))
    }
}

/// Answers with a list that pages state, if one answers the question. Otherwise shows the passages.
fn answer_without_model(
    direct: Option<DirectAnswer>,
    passages: Vec<Hit>,
    unanswered: AskReply,
) -> AskReply {
    if let Some(direct) = direct {
        return AskReply { passages, ..direct::answer(direct, unanswered) };
    }
    if passages.is_empty() {
        return AskReply { hint: Some(no_pages_hint()), ..unanswered };
    }
    let hint = hint!(
        "no language model is configured, so only the passages are shown; to get answers, set \
         llm.provider and llm.model in the configuration ({})",
        Command::ConfigPath
    );
    AskReply { passages, hint: Some(hint), ..unanswered }
}

/// Replies what an answer from these passages would cost at most.
fn estimate(model: &Model, passages: Vec<Passage>, unanswered: AskReply) -> AskReply {
    let prompt = passages::prompt(&unanswered.question, &passages);
    let cost = model.max_cost(&question(&prompt));
    AskReply {
        passages: passages.into_iter().map(|passage| passage.hit).collect(),
        model: Some(model.name().to_owned()),
        cost,
        ..unanswered
    }
}

/// Returns the question to the model, with this prompt.
fn question(prompt: &str) -> ModelQuestion<'_> {
    ModelQuestion {
        purpose: "ask",
        system: SYSTEM,
        text: prompt,
        temperature: Some(0.2),
        max_tokens: MAX_ANSWER_TOKENS,
        max_retry_wait: MAX_BUSY_WAIT,
        ..ModelQuestion::default()
    }
}

/// The hint if no page can be read for the question.
fn no_pages_hint() -> Hint {
    hint!("no page matches the question; try other words: {}", Command::Search { words: None })
}
/// The hint if the answer has no citation.
const UNCITED_HINT: &str = "the answer cites none of your passages: it may be the model's own \
    knowledge, so compare it with the passages";

/// A model's filtered answer.
struct ModelAnswer {
    text: String,
    /// Numbers of the cited passages, ascending.
    cited: Vec<u32>,
    /// The part of the question that the passages do not answer.
    unknown: Option<String>,
    is_partial: bool,
    /// The reason why the answer is incomplete.
    problem: Option<String>,
}

/// Returns the citation of the passage with this number, from 1.
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

/// Converts a failure of the model, with hints for this command and the cost so far.
fn ask_fault(error: &ModelError, budget: &Budget) -> Fault {
    let spent = budget.spent();
    match error.kind {
        ModelErrorKind::Budget => Fault::new(
            FaultCode::OverBudget,
            match spent.actual {
                0 => format!("not asked: {}", error.message),
                // An earlier call failed at a gateway, so the model may have charged for it.
                actual => {
                    format!(
                        "not asked again: {} ({} USD may be spent already)",
                        error.message,
                        usd(actual)
                    )
                }
            },
        )
        .hint(
            "allow more with `--max-cost USD` or llm.max_cost, or read fewer pages with `--limit \
               N`",
        ),
        _ if spent.actual > 0 => {
            let mut fault = model_fault(error);
            fault
                .message
                .push_str(&format!(" (the failed call may have cost {} USD)", usd(spent.actual)));
            fault
        }
        _ => model_fault(error),
    }
}

fn cost_fault(error: &CostError) -> Fault {
    let code = match error {
        CostError::OverBudget { .. } => FaultCode::OverBudget,
        CostError::Ledger { .. } => FaultCode::Io,
    };
    Fault::new(code, error.to_string()).hint(hint!("check that file; see {}", Command::Doctor))
}
