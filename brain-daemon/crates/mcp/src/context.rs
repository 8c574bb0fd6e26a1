//! The context of a request: where its replies come from, its caller, and what is recorded of it.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashSet, VecDeque};

use brain_base::caller::Caller;
use brain_core::{AnsweredCall, Door, NoProgress, RecordedCall, RecordedReply, answer_hash};
use brain_protocol::{
    AsOf, Fault, FaultCode, LinksReply, Operation, PastRequest, PastState, Reply, SeenOutcome,
    SourceId, escape_json,
};
use rmcp::ErrorData;
use serde::Serialize;

/// The number of the form of answers. A change of what an answer looks like raises it: calls of an
/// earlier form are then not rendered again. A test compares a digest of answers.
pub(crate) const FORM: u16 = 1;

/// Where the replies of operations come from.
enum Replies {
    /// The brain runs each operation.
    Live(Door),
    /// A recorded call has them, in order.
    Recorded(RefCell<VecDeque<Result<Reply, Fault>>>),
}

/// What an answer depends on besides the replies, once it is known.
#[derive(Default)]
struct Surroundings {
    default_source: OnceCell<SourceId>,
    local_address: OnceCell<Option<String>>,
    age: OnceCell<Option<String>>,
}

/// The context of a request.
pub(crate) struct ToolContext {
    replies: Replies,
    pub(crate) caller: Caller,
    /// What the texts that the request writes are made from.
    origins: RefCell<Vec<String>>,
    surroundings: Surroundings,
    /// What is recorded of the replies so far; `None` if nothing is.
    recorded: Option<RefCell<Vec<RecordedReply>>>,
    /// Whether the answer shows something of the next replies.
    shows: Cell<bool>,
}

/// How a call ended, for its record.
pub(crate) struct CallEnd<'a, T> {
    /// The answer.
    pub(crate) answer: &'a T,
    pub(crate) outcome: SeenOutcome,
    /// The fault with which a tool failed.
    pub(crate) fault: Option<&'a Fault>,
    /// The code of the failure, or an empty text.
    pub(crate) code: String,
}

impl ToolContext {
    /// Returns the context of a request to the brain, and of its caller.
    pub(crate) fn live(brain: Door, caller: Caller) -> Self {
        let recorded = brain.seen().is_on().then(RefCell::default);
        let surroundings = Surroundings::default();
        let shows = Cell::new(true);
        let (replies, origins) = (Replies::Live(brain), RefCell::default());
        Self { replies, caller, origins, surroundings, recorded, shows }
    }

    /// Returns the context of a recorded call, which runs no operation.
    pub(crate) fn of_record(call: &RecordedCall, caller: Caller) -> Self {
        let surroundings = Surroundings::default();
        if let Some(source) = call.default_source.clone() {
            let _ = surroundings.default_source.set(source);
        }
        let _ = surroundings.local_address.set(call.local_address.clone());
        let _ = surroundings.age.set(call.age.clone());
        let replies = RefCell::new(call.replies.iter().cloned().collect());
        let replies = Replies::Recorded(replies);
        let shows = Cell::new(true);
        let origins = RefCell::default();
        Self { replies, caller, origins, surroundings, recorded: None, shows }
    }

    /// Sets what the texts that the request writes are made from: pages and addresses.
    pub(crate) fn made_from(&self, origins: Vec<String>) {
        self.origins.replace(origins);
    }

    /// Runs an operation. Blocks.
    pub(crate) fn run<O: Operation>(&self, operation: O) -> Result<O::Reply, Fault> {
        let reply = match &self.replies {
            Replies::Live(brain) => {
                let caller = self.caller.clone().with_origins(self.origins.borrow().clone());
                brain.answer(&caller, operation.into(), &NoProgress)
            }
            Replies::Recorded(replies) => {
                replies.borrow_mut().pop_front().unwrap_or_else(|| Err(not_recorded()))
            }
        };
        if let Some(recorded) = &self.recorded {
            let reply = RecordedReply::of(&reply);
            let reply = if self.shows.get() { reply } else { reply.not_shown() };
            recorded.borrow_mut().push(reply);
        }
        reply.and_then(O::read_reply)
    }

    /// Runs an operation on what brain had recorded at the time `at`, and returns what its reply is
    /// about. Without a time, runs it on the present. Blocks.
    pub(crate) fn run_as_of<O: Operation>(
        &self,
        at: Option<&str>,
        operation: O,
    ) -> Result<(O::Reply, Option<PastState>), Fault>
    where
        PastRequest: From<O>,
    {
        let Some(at) = at else { return Ok((self.run(operation)?, None)) };
        let request = PastRequest::from(operation);
        let reply = self.run(AsOf { at: at.to_owned(), request })?;
        Ok((O::read_reply(*reply.reply)?, Some(reply.past)))
    }

    /// Notes which hits of the last search are in the answer: those from `first` to `end`, `end`
    /// excluded.
    pub(crate) fn show_hits(&self, first: usize, end: usize) {
        if let Some(recorded) = &self.recorded {
            let mut recorded = recorded.borrow_mut();
            let search = recorded.iter_mut().find(|reply| reply.has_hits());
            search.into_iter().for_each(|search| search.show_hits(first, end));
        }
    }

    /// Runs `work`, whose replies lead to the answer and are not in it.
    pub(crate) fn without_showing<T>(&self, work: impl FnOnce() -> T) -> T {
        let showed = self.shows.replace(false);
        let result = work();
        self.shows.set(showed);
        result
    }

    /// Returns the names of linked pages, each once, and whether there are more.
    pub(crate) fn linked_names(
        &self,
        links: impl Operation<Reply = LinksReply>,
    ) -> Result<(Vec<String>, bool), Fault> {
        let found = self.run(links)?;
        let mut listed = HashSet::new();
        let mut names = Vec::new();
        for row in &found.links {
            if let (Some(source), Some(slug)) = (&row.source_id, &row.slug)
                && listed.insert((source, slug))
            {
                names.push(self.page_name(source, slug)?);
            }
        }
        Ok((names, found.truncated))
    }

    /// Returns the brain, for what is not recorded.
    ///
    /// # Errors
    /// `not_replayable` for a recorded call.
    pub(crate) fn brain(&self) -> Result<&Door, Fault> {
        match &self.replies {
            Replies::Live(brain) => Ok(brain),
            Replies::Recorded(_) => Err(not_recorded()),
        }
    }

    /// Returns the source of addresses without a source.
    pub(crate) fn default_source(&self) -> Result<&SourceId, Fault> {
        let known = &self.surroundings.default_source;
        if let Some(source) = known.get() {
            return Ok(source);
        }
        let source = self.brain()?.usual_source(&self.caller)?;
        Ok(known.get_or_init(|| source))
    }

    /// Returns the address of the daemon's listener on this machine, if there is one.
    pub(crate) fn local_address(&self) -> Option<&str> {
        let address = || {
            let brain = self.brain().ok()?;
            brain.access().http_addresses().local.map(|address| address.to_string())
        };
        self.surroundings.local_address.get_or_init(address).as_deref()
    }

    /// Describes how old reads are, while the server of several machines is away.
    pub(crate) fn age_of_reads(&self) -> Option<String> {
        self.surroundings.age.get_or_init(|| self.brain().ok()?.age_of_reads()).clone()
    }

    /// Records a call and its answer. `request` has the arguments; `None` for a call that wrote.
    pub(crate) fn record<T: Serialize>(
        &self,
        tool: &str,
        request: Option<String>,
        end: &CallEnd<'_, T>,
    ) {
        let (Replies::Live(brain), Some(recorded)) = (&self.replies, &self.recorded) else {
            return;
        };
        let Ok(answer) = answer_bytes(end.answer) else { return };
        let replies = match (&request, end.fault) {
            (_, Some(fault)) => vec![RecordedReply::of_fault(fault)],
            (Some(_), None) => recorded.take(),
            (None, None) => Vec::new(),
        };
        let Surroundings { default_source, local_address, age } = &self.surroundings;
        brain.seen().record(AnsweredCall {
            client: self.caller.acting_name().to_owned(),
            tool: tool.to_owned(),
            request,
            outcome: end.outcome,
            code: end.code.clone(),
            form: FORM,
            hash: answer_hash(&answer),
            bytes: u32::try_from(answer.len()).unwrap_or(u32::MAX),
            default_source: default_source.get().map(ToString::to_string),
            local_address: local_address.get().cloned().flatten(),
            age: age.get().cloned().flatten(),
            replies,
        });
    }

    /// Runs `work` for a request of another method than `tools/call`, and records its answer.
    pub(crate) fn recorded<T: Serialize>(
        &self,
        method: &str,
        arguments: &serde_json::Value,
        work: impl FnOnce(&Self) -> Result<T, ErrorData>,
    ) -> Result<T, ErrorData> {
        let answer = work(self);
        let request = Some(arguments.to_string());
        match &answer {
            Ok(answer) => {
                let (outcome, code) = (SeenOutcome::Answered, String::new());
                self.record(method, request, &CallEnd { answer, outcome, fault: None, code });
            }
            Err(error) => self.record_protocol_error(method, error),
        }
        answer
    }

    /// Records a request that was answered with a JSON-RPC error.
    pub(crate) fn record_protocol_error(&self, method: &str, error: &ErrorData) {
        let (outcome, code) = (SeenOutcome::ProtocolFailed, error.code.0.to_string());
        self.record(method, None, &CallEnd { answer: error, outcome, fault: None, code });
    }
}

/// Returns an answer as it is sent: JSON in which no character can deceive a reader. Without
/// `resultType`, which the transport sends to clients of the newest revision only.
pub(crate) fn answer_bytes(answer: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let text = serde_json::to_string(answer)?;
    let text = match text.strip_prefix("{\"resultType\":\"complete\",") {
        Some(rest) => format!("{{{rest}"),
        None => text,
    };
    Ok(match escape_json(&text) {
        Cow::Owned(text) => text.into_bytes(),
        Cow::Borrowed(_) => text.into_bytes(),
    })
}

/// Returns the fault of a recorded call that needs more than is recorded.
fn not_recorded() -> Fault {
    let message = "the answer cannot be rendered again: it was made from more than is recorded";
    Fault::new(FaultCode::NotReplayable, message)
}
