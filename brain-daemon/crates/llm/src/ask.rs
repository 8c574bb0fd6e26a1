//! Asks a question: enters it into the ledger, sends it, reads the answer, and retries.
//!
//! A question is retried only before any part of an answer has arrived.

use std::time::{Duration, Instant};

use super::stream::{End, ResponseReader};
use super::{
    Model, ModelError, ModelErrorKind, ModelQuestion, ModelReply, Provider, UnsupportedOptions,
    anthropic, error, openai,
};
use brain_base::backoff::Backoff;
use brain_costs::{Budget, OpenCall};
use brain_net::{Error as NetError, HttpRequest, HttpResponse, Reason, StreamEvent};
use brain_protocol::Spending;
use parking_lot::MutexGuard;

/// Maximum number of requests for one question, each with fewer options.
const MAX_OPTION_TRIES: usize = 5;
/// Maximum number of retries on an overloaded service.
const MAX_RETRIES: u32 = 4;
/// Pauses before retries, unless the service names one.
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
/// Time limit for a whole answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// Interval at which a wait for a retry checks for cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Usual maximum of tokens per image. Some small models count more.
const IMAGE_TOKENS: u64 = 3000;
/// Tokens of a request besides its texts.
const ENVELOPE_TOKENS: u64 = 50;

impl ModelQuestion<'_> {
    /// Returns the estimated maximum of input tokens, for the ledger. A token has at least two
    /// bytes in most languages. Text of rare symbols may have more tokens.
    #[must_use]
    pub fn max_input_tokens(&self) -> u64 {
        let text = (self.system.len() + self.text.len()).div_ceil(2) as u64;
        text + self.images.len() as u64 * IMAGE_TOKENS + ENVELOPE_TOKENS
    }
}

/// The outcome of one request.
enum RequestOutcome {
    /// The service responded with another status than 200.
    ErrorStatus(HttpResponse),
    /// The response was read to its end, or as far as needed.
    Complete,
    /// The connection failed.
    Failed(NetError),
    /// The time limit was exceeded.
    TimedOut,
    /// The caller cancelled the question.
    Cancelled,
}

impl Model {
    /// Returns what a question can cost at most, by the estimate of the ledger. Sends nothing.
    #[must_use]
    pub fn max_cost(&self, question: &ModelQuestion<'_>) -> Spending {
        let (tokens_in, tokens_out) = (question.max_input_tokens(), u64::from(question.max_tokens));
        let estimated = self.meter.price.cost(tokens_in, tokens_out);
        Spending { estimated, ..Spending::default() }
    }

    /// Asks a question and waits for the whole answer. Blocks, possibly for minutes.
    ///
    /// `should_continue` is called about every second; `false` cancels the question. Each request
    /// is in the ledger before it is sent.
    ///
    /// # Errors
    /// [`ModelErrorKind::Budget`] or [`ModelErrorKind::Ledger`] when a request must not be sent;
    /// the other kinds when the question is cancelled, or the service fails.
    pub fn ask(
        &self,
        question: &ModelQuestion<'_>,
        budget: Option<&Budget>,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<ModelReply, ModelError> {
        self.ask_with_retries(question, budget, None, should_continue)
    }

    /// Asks a question and passes the answer to `on_text` as it arrives.
    ///
    /// There is no retry after the first piece. The error of an interrupted stream holds the
    /// partial text.
    ///
    /// # Errors
    /// As for [`Model::ask`].
    pub fn stream(
        &self,
        question: &ModelQuestion<'_>,
        budget: Option<&Budget>,
        on_text: &mut dyn FnMut(&str),
        should_continue: &dyn Fn() -> bool,
    ) -> Result<ModelReply, ModelError> {
        self.ask_with_retries(question, budget, Some(on_text), should_continue)
    }

    fn ask_with_retries(
        &self,
        question: &ModelQuestion<'_>,
        budget: Option<&Budget>,
        mut on_text: Option<&mut dyn FnMut(&str)>,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<ModelReply, ModelError> {
        let (mut option_tries, mut retries) = (1, 0);
        let mut waited = Duration::ZERO;
        let reason = Reason::with_pages(question.purpose, question.pages.to_vec());
        loop {
            if !should_continue() {
                return Err(ModelError::cancelled());
            }
            let entry = self.enter(question, budget)?;
            let unsupported = *self.unsupported();
            // Reborrowed, so that the next attempt can borrow it again.
            let on_text = on_text.as_mut().map(|on_text| &mut **on_text as &mut dyn FnMut(&str));
            let mut reader = ResponseReader::new(self.provider, on_text);
            let options = (unsupported, &reason);
            let answer = match self.send(question, options, &mut reader, should_continue) {
                RequestOutcome::ErrorStatus(answer) => answer,
                outcome => return self.finish(outcome, reader, entry),
            };
            // 502 and 504 are of a gateway, behind which the model may have processed the question:
            // the dropped entry costs its maximum.
            match answer.status {
                502 | 504 => drop(entry),
                _ => entry.cancel(),
            }
            if option_tries < MAX_OPTION_TRIES
                && let Some(more) = error::rejected_options(&answer, unsupported, question)
            {
                *self.unsupported() = more;
                option_tries += 1;
                continue;
            }
            let error = ModelError::from_status(&self.url, &self.name, &answer, self.key.as_ref());
            let wait = match error.kind {
                ModelErrorKind::RateLimited(_)
                | ModelErrorKind::Overloaded
                | ModelErrorKind::ServerError => {
                    let requested =
                        answer.header("retry-after").and_then(|text| text.trim().parse().ok());
                    requested.map_or(BACKOFF.pause(retries), Duration::from_secs)
                }
                _ => return Err(error),
            };
            retries += 1;
            if retries > MAX_RETRIES
                || question.max_retry_wait.is_zero()
                || waited.saturating_add(wait) > question.max_retry_wait
            {
                return Err(error);
            }
            tracing::debug!(model = self.name, seconds = wait.as_secs(), kind = ?error.kind,
                "retrying later");
            wait_for(wait, should_continue)?;
            waited += wait;
        }
    }

    /// Enters a request into the ledger.
    fn enter<'b>(
        &'b self,
        question: &ModelQuestion<'_>,
        budget: Option<&'b Budget>,
    ) -> Result<OpenCall<'b>, ModelError> {
        let (tokens_in, tokens_out) = (question.max_input_tokens(), u64::from(question.max_tokens));
        self.meter
            .ledger
            .enter(question.purpose, &self.name, self.meter.price, budget, tokens_in, tokens_out)
            .map_err(|error| ModelError::from_cost(&error))
    }

    /// Returns the options that the model has rejected so far.
    pub(super) fn unsupported(&self) -> MutexGuard<'_, UnsupportedOptions> {
        self.unsupported.lock()
    }

    /// Sends one request, and passes the response to `reader`.
    fn send(
        &self,
        question: &ModelQuestion<'_>,
        (unsupported, reason): (UnsupportedOptions, &Reason),
        reader: &mut ResponseReader<'_>,
        should_continue: &dyn Fn() -> bool,
    ) -> RequestOutcome {
        let is_stream = reader.is_stream();
        let body = match self.provider {
            Provider::OpenAi => openai::body(&self.name, question, unsupported, is_stream),
            Provider::Anthropic => anthropic::body(&self.name, question, unsupported, is_stream),
        };
        let body = body.to_string();
        let accept = if is_stream { "text/event-stream" } else { "application/json" };
        let mut headers = vec![("content-type", "application/json"), ("accept", accept)];
        if self.provider == Provider::Anthropic {
            headers.push(("anthropic-version", anthropic::VERSION));
            headers.extend(self.key.as_ref().map(|key| ("x-api-key", key.expose())));
        }
        let call = HttpRequest {
            url: &self.url,
            body: Some(body.as_bytes()),
            headers: &headers,
            authorization: self.key.as_ref().filter(|_| self.provider == Provider::OpenAi),
            must_be_public: false,
            reason,
            is_complete: |_| false,
        };
        let (began, mut is_cancelled, mut is_late) = (Instant::now(), false, false);
        let answer = self.client.stream(&call, self.idle_timeout, &mut |event| {
            let wants_more = match event {
                StreamEvent::Bytes(bytes) => reader.push(bytes),
                StreamEvent::Idle | StreamEvent::Head => true,
            };
            is_cancelled = !should_continue();
            is_late = began.elapsed() > ANSWER_TIMEOUT;
            wants_more && !is_cancelled && !is_late
        });
        match answer {
            Err(error) => RequestOutcome::Failed(error),
            Ok(answer) if answer.status != 200 => RequestOutcome::ErrorStatus(answer),
            // A complete answer counts even if the caller has cancelled meanwhile.
            Ok(_) if reader.is_finished() => RequestOutcome::Complete,
            Ok(_) if is_cancelled => RequestOutcome::Cancelled,
            Ok(_) if is_late => RequestOutcome::TimedOut,
            Ok(_) => RequestOutcome::Complete,
        }
    }

    /// Turns an outcome into a reply, and settles the ledger entry. A dropped entry counts at its
    /// maximum.
    fn finish(
        &self,
        outcome: RequestOutcome,
        reader: ResponseReader<'_>,
        entry: OpenCall<'_>,
    ) -> Result<ModelReply, ModelError> {
        let (text, end, tokens) = reader.end();
        let error = match (outcome, end) {
            // A failure after the end of an answer does not matter.
            (_, End::Complete(finish)) => {
                let (tokens_in, tokens_out) = entry.settle(tokens.0, tokens.1);
                return Ok(ModelReply { text, tokens_in, tokens_out, finish });
            }
            (RequestOutcome::Failed(error), _) => {
                if was_not_sent(&error) {
                    entry.cancel();
                }
                ModelError::from_net(&self.url, &error)
            }
            (RequestOutcome::Cancelled, _) => ModelError::cancelled(),
            (RequestOutcome::TimedOut, _) => {
                ModelError::timeout(&self.url, ANSWER_TIMEOUT.as_secs())
            }
            (_, End::Refused) => {
                entry.settle(tokens.0, tokens.1);
                ModelError::refused(&self.name)
            }
            (_, End::Failed { code, message }) => {
                ModelError::from_stream(&self.url, &code, &message, self.key.as_ref())
            }
            (_, End::Invalid) => ModelError::invalid_response(&self.url),
            (_, End::Incomplete) => ModelError::interrupted(&self.url),
        };
        Err(error.with_partial_text(text))
    }
}

/// Returns whether the request cannot have reached the service.
fn was_not_sent(error: &NetError) -> bool {
    match error {
        NetError::InvalidAddress(_)
        | NetError::NameNotFound(_)
        | NetError::NotPublic
        | NetError::ConnectionRefused
        | NetError::Unreachable(_)
        | NetError::ConnectTimeout
        | NetError::Tls(_)
        | NetError::Setup(_) => true,
        // After a time-out it is unknown whether the request arrived.
        NetError::Timeout(_)
        | NetError::TooLarge(_)
        | NetError::Status(_)
        | NetError::NotJson
        | NetError::ConnectionBroken(_) => false,
    }
}

/// Waits for `time` unless the caller cancels.
fn wait_for(time: Duration, should_continue: &dyn Fn() -> bool) -> Result<(), ModelError> {
    let until = Instant::now() + time;
    loop {
        if !should_continue() {
            return Err(ModelError::cancelled());
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(POLL_INTERVAL));
    }
}
