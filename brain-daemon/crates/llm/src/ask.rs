//! A question is put: entered into the ledger, sent, and heard; and put again to a service that had too much to do, as long as nothing of an answer had come.

use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::stream::{End, Hearing};
use super::{Model, ModelFault, Provider, Question, Reply, Why, Without, anthropic, fault, openai};
use brain_costs::{Budget, Entry};
use brain_net::{Answer, Call, Part, Trouble};

/// What a question may be asked without, one after the other.
const TRIES: usize = 5;
/// How often a service that has too much to do is asked again.
const AGAIN: u32 = 4;
/// The longest that an answer may take in all, however steadily it comes.
const WITHIN: Duration = Duration::from_secs(15 * 60);
/// While a service rests, it is looked this often whether anybody still waits.
const LOOK: Duration = Duration::from_millis(100);
/// What a picture costs at most as a rule, in tokens. Some small models count more.
const PICTURE: u64 = 3000;
/// What the request has besides its texts, in tokens.
const FRAME: u64 = 50;

impl Question<'_> {
    /// The most tokens that it has, for the ledger: a token has two bytes at least as a rule, whatever the language. Text of rare symbols may have more.
    #[must_use]
    pub fn worst_tokens(&self) -> u64 {
        let text = (self.system.len() + self.text.len()).div_ceil(2) as u64;
        text + self.images.len() as u64 * PICTURE + FRAME
    }
}

/// What came of sending a question.
enum Sent {
    /// An answer that is none: its status is not 200.
    Refused(Answer),
    /// It was heard to its end.
    Through,
    /// The link broke.
    Broke(Trouble),
    /// It took too long.
    Late,
    /// Nobody waits any more.
    Stopped,
}

impl Model {
    /// Asks. `goes_on` is looked at each second; `false` ends the call. Blocks, for minutes at the worst. Each request is in the ledger before it goes out.
    ///
    /// # Errors
    /// Why there is no answer; [`Why::Budget`] and [`Why::Ledger`] before anything was sent.
    pub fn ask(
        &self,
        question: &Question<'_>,
        budget: Option<&Budget>,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Reply, ModelFault> {
        self.put(question, budget, None, goes_on)
    }

    /// The same, and hands over the answer's text piece by piece as it comes. After the first piece it is not asked again: a stream that breaks off is a fault that has what came.
    ///
    /// # Errors
    /// As [`Model::ask`].
    pub fn stream(
        &self,
        question: &Question<'_>,
        budget: Option<&Budget>,
        on_text: &mut dyn FnMut(&str),
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Reply, ModelFault> {
        self.put(question, budget, Some(on_text), goes_on)
    }

    fn put(
        &self,
        question: &Question<'_>,
        budget: Option<&Budget>,
        mut on_text: Option<&mut dyn FnMut(&str)>,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Reply, ModelFault> {
        let (mut tries, mut rested, mut pause) = (1, Duration::ZERO, Duration::from_secs(1));
        let mut again = 0;
        loop {
            if !goes_on() {
                return Err(ModelFault::stopped());
            }
            let entry = self.enter(question, budget)?;
            let without = *self.without();
            // The borrow must end before the next round.
            let on_text = on_text.as_mut().map(|on_text| &mut **on_text as &mut dyn FnMut(&str));
            let mut hearing = Hearing::new(self.provider, on_text);
            let answer = match self.send(question, without, &mut hearing, goes_on) {
                Sent::Refused(answer) => answer,
                sent => return self.heard(sent, hearing, entry),
            };
            // A gateway may say so although the model behind it worked.
            match answer.status {
                502 | 504 => drop(entry),
                _ => entry.free(),
            }
            if tries < TRIES
                && let Some(more) = fault::declined(&answer, without, question)
            {
                *self.without() = more;
                tries += 1;
                continue;
            }
            let fault = ModelFault::refusal(&self.url, &self.name, &answer, self.key.as_ref());
            let rest = match fault.why {
                Why::RateLimited(_) | Why::Overloaded | Why::ServerError => {
                    let asked =
                        answer.header("retry-after").and_then(|text| text.trim().parse().ok());
                    asked.map_or(pause, Duration::from_secs)
                }
                _ => return Err(fault),
            };
            again += 1;
            if again > AGAIN
                || question.busy.is_zero()
                || rested.saturating_add(rest) > question.busy
            {
                return Err(fault);
            }
            tracing::debug!(model = self.name, seconds = rest.as_secs(), why = ?fault.why, "asked again later");
            rest_for(rest, goes_on)?;
            rested += rest;
            pause *= 2;
        }
    }

    fn enter<'b>(
        &'b self,
        question: &Question<'_>,
        budget: Option<&'b Budget>,
    ) -> Result<Entry<'b>, ModelFault> {
        let (tokens_in, tokens_out) = (question.worst_tokens(), u64::from(question.max_tokens));
        self.till
            .ledger
            .enter(question.purpose, &self.name, self.till.price, budget, tokens_in, tokens_out)
            .map_err(|fault| ModelFault::cost(&fault))
    }

    pub(super) fn without(&self) -> MutexGuard<'_, Without> {
        self.without.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(
        &self,
        question: &Question<'_>,
        without: Without,
        hearing: &mut Hearing<'_>,
        goes_on: &dyn Fn() -> bool,
    ) -> Sent {
        let streams = hearing.is_stream();
        let body = match self.provider {
            Provider::OpenAi => openai::body(&self.name, question, without, streams),
            Provider::Anthropic => anthropic::body(&self.name, question, without, streams),
        };
        let body = body.to_string();
        let accept = if streams { "text/event-stream" } else { "application/json" };
        let mut headers = vec![("content-type", "application/json"), ("accept", accept)];
        if self.provider == Provider::Anthropic {
            headers.push(("anthropic-version", anthropic::VERSION));
            headers.extend(self.key.as_ref().map(|key| ("x-api-key", key.expose())));
        }
        let call = Call {
            url: &self.url,
            body: Some(body.as_bytes()),
            headers: &headers,
            authorization: self.key.as_ref().filter(|_| self.provider == Provider::OpenAi),
            public: false,
            enough: |_| false,
        };
        let (began, mut is_stopped, mut is_late) = (Instant::now(), false, false);
        let answer = self.link.follow(&call, self.silence, &mut |part| {
            let wants = match part {
                Part::Bytes(bytes) => hearing.push(bytes),
                Part::Nothing | Part::Head => true,
            };
            is_stopped = !goes_on();
            is_late = began.elapsed() > WITHIN;
            wants && !is_stopped && !is_late
        });
        match answer {
            Err(trouble) => Sent::Broke(trouble),
            Ok(answer) if answer.status != 200 => Sent::Refused(answer),
            // What is at its end is at its end, whoever waits for it.
            Ok(_) if hearing.is_through() => Sent::Through,
            Ok(_) if is_stopped => Sent::Stopped,
            Ok(_) if is_late => Sent::Late,
            Ok(_) => Sent::Through,
        }
    }

    /// What an answer comes to, and what it cost. An entry that is dropped counts at its worst.
    fn heard(
        &self,
        sent: Sent,
        hearing: Hearing<'_>,
        entry: Entry<'_>,
    ) -> Result<Reply, ModelFault> {
        let (text, end, tokens) = hearing.end();
        let fault = match (sent, end) {
            // Whatever came after the end of an answer.
            (_, End::Through(finish)) => {
                let (tokens_in, tokens_out) = entry.settle(tokens.0, tokens.1);
                return Ok(Reply { text, tokens_in, tokens_out, finish });
            }
            (Sent::Broke(trouble), _) => {
                if was_not_sent(&trouble) {
                    entry.free();
                }
                ModelFault::trouble(&self.url, &trouble)
            }
            (Sent::Stopped, _) => ModelFault::stopped(),
            (Sent::Late, _) => ModelFault::late(&self.url, WITHIN.as_secs()),
            (_, End::Refused) => {
                entry.settle(tokens.0, tokens.1);
                ModelFault::refused(&self.name)
            }
            (_, End::GaveUp(kind, words)) => {
                ModelFault::told(&self.url, &kind, &words, self.key.as_ref())
            }
            (_, End::Unreadable) => ModelFault::unreadable(&self.url),
            (_, End::Open) => ModelFault::broken(&self.url),
        };
        Err(fault.after(text))
    }
}

/// Whether nothing can have reached the service.
fn was_not_sent(trouble: &Trouble) -> bool {
    match trouble {
        Trouble::Address(_)
        | Trouble::Name(_)
        | Trouble::NotPublic
        | Trouble::Refused
        | Trouble::Unreachable(_)
        | Trouble::Silent
        | Trouble::Tls(_)
        | Trouble::Setup(_) => true,
        // A time-out says not how far it came.
        Trouble::Slow(_)
        | Trouble::Large(_)
        | Trouble::Status(_)
        | Trouble::Kind
        | Trouble::Broken(_) => false,
    }
}

/// Waits, as long as somebody waits for it.
fn rest_for(time: Duration, goes_on: &dyn Fn() -> bool) -> Result<(), ModelFault> {
    let until = Instant::now() + time;
    loop {
        if !goes_on() {
            return Err(ModelFault::stopped());
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(LOOK));
    }
}
