//! Vectors from an endpoint of the `openai` shape: `POST {base}/embeddings`, as OpenAI, Voyage, Ollama, llama.cpp, vLLM and others have it.
//!
//! `answer` reads what comes, `fault` says what is to be done when it is not what it should be; both pure. The key goes into the head of a
//! request and nowhere else. What the endpoint says is repeated nowhere, but for the name that it gives a problem.

mod answer;
mod fault;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use brain_protocol::Secret;
use serde_json::{Value, json};
use url::Url;

use super::{EmbedFault, EmbedWhy, Embedder, Purpose, Space};
use brain_costs::{CostFault, Ledger, Price};
use brain_net::{Call, Link, Outgoing, Part, Trouble};

use answer::Vectors;
use fault::{Named, Then};

/// Where OpenAI's own service is.
const OPENAI: &str = "https://api.openai.com/v1";
/// Whose service wants to be told what a vector is for.
const VOYAGE: &str = "voyageai.com";
/// The most texts in a request.
const COUNT: usize = 64;
/// The most bytes of texts in a request: some services count tokens, at most one a byte.
const BYTES: usize = 96 * 1024;
/// A text longer than this is cut, in bytes: no model holds more.
const LONGEST: usize = 32 * 1024;
/// A text shorter than this is not cut any more when it is refused for its length, in bytes.
const SHORTEST: usize = 64;
/// The longest answer, in bytes: 64 vectors of 8192 numbers, written out.
const MOST: usize = 16 * 1024 * 1024;
/// What the endpoint is asked when only the length of its vectors is wanted.
const PROBE: &str = "brain";

/// How patient it is.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// How long nothing may come.
    silence: Duration,
    /// How long one request may take, with all its repetitions.
    within: Duration,
    /// How often a request is repeated.
    again: u32,
    /// The first pause; each further one is twice as long.
    pause: Duration,
}

impl Patience {
    /// For a question somebody waits for.
    const QUERY: Self = Self {
        silence: Duration::from_secs(2),
        within: Duration::from_secs(3),
        again: 1,
        pause: Duration::from_millis(100),
    };
    /// For pages, which nobody waits for. A model on a small machine takes its time.
    const DOCUMENT: Self = Self {
        silence: Duration::from_secs(60),
        within: Duration::from_secs(180),
        again: 5,
        pause: Duration::from_secs(1),
    };
    /// The longest pause.
    const LONGEST_PAUSE: Duration = Duration::from_secs(30);
}

/// Finds the key, at each use: a new one needs no restart.
pub type FindKey = Box<dyn Fn() -> Result<Option<Secret>, EmbedFault> + Send + Sync>;

/// What is configured of an endpoint; see [`super::Settings::Endpoint`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointSettings {
    /// Where it is; `None`: OpenAI's own service.
    pub base: Option<Url>,
    /// The model's name there.
    pub model: String,
    /// What goes before a question.
    pub query_prefix: String,
    /// What goes before a window of a page.
    pub document_prefix: String,
    /// How long its vectors are to be; `None`: the model's own length.
    pub dimensions: Option<u32>,
}

/// An endpoint, and the way to it.
pub struct Endpoint {
    settings: EndpointSettings,
    url: Url,
    link: Box<dyn Link>,
    key: FindKey,
    price: Price,
    ledger: Arc<Ledger>,
    /// Learnt from its first answer, and held to.
    dimensions: OnceLock<usize>,
    patience: [Patience; 2],
}

impl Endpoint {
    /// The endpoint that is configured. Sends nothing yet.
    ///
    /// # Errors
    /// [`EmbedWhy::Model`] when no model is named or the address cannot be called.
    pub fn open(
        settings: EndpointSettings,
        net: &dyn Outgoing,
        key: FindKey,
        price: Price,
        ledger: Arc<Ledger>,
    ) -> Result<Self, EmbedFault> {
        let wrong = |message: String, hint: &str| EmbedFault {
            why: EmbedWhy::Model,
            message,
            hint: Some(hint.to_owned()),
        };
        if settings.model.is_empty() {
            let message = "no embedding model is named".to_owned();
            return Err(wrong(message, "set embedding.model, for example to \"nomic-embed-text\""));
        }
        let base = settings.base.as_ref().map_or(OPENAI, Url::as_str).trim_end_matches('/');
        let address = |why: String| {
            wrong(
                format!("the embedding model at {base} cannot be called: {why}"),
                "check embedding.base_url",
            )
        };
        let url = Url::parse(&format!("{base}/embeddings")).map_err(|e| address(e.to_string()))?;
        let link = net.link(&url).map_err(|trouble| address(trouble.to_string()))?;
        let dimensions = OnceLock::new();
        if let Some(length) = settings.dimensions {
            // It is held to what is configured from the beginning.
            let _ = dimensions.set(length as usize);
        }
        let patience = [Patience::QUERY, Patience::DOCUMENT];
        Ok(Self { settings, url, link, key, price, ledger, dimensions, patience })
    }

    fn is_voyage(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default();
        host.strip_suffix(VOYAGE).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    }

    fn body(&self, texts: &[&str], purpose: Purpose) -> Value {
        let mut body = json!({ "model": self.settings.model, "input": texts });
        if self.is_voyage() {
            body["input_type"] = match purpose {
                Purpose::Query => "query".into(),
                Purpose::Document => "document".into(),
            };
            if let Some(length) = self.settings.dimensions {
                body["output_dimension"] = length.into();
            }
        } else {
            body["encoding_format"] = "float".into();
            if let Some(length) = self.settings.dimensions {
                body["dimensions"] = length.into();
            }
        }
        body
    }

    /// Vectors of these texts; what is too much at once is asked for in halves.
    fn batch(&self, texts: &[&str], at: &Asking<'_>) -> Result<Vec<Vec<f32>>, EmbedFault> {
        match self.patiently(texts, at) {
            Err(Then::Less(fault)) => match texts {
                [text] if text.len() < SHORTEST => Err(fault),
                [text] => self.batch(&[cut(text, text.len() / 2)], at),
                _ => {
                    let (one, two) = texts.split_at(texts.len() / 2);
                    let mut vectors = self.batch(one, at)?;
                    vectors.extend(self.batch(two, at)?);
                    Ok(vectors)
                }
            },
            Err(Then::Again(_, fault) | Then::Fail(fault)) => Err(fault),
            Ok(vectors) => Ok(vectors),
        }
    }

    /// One request, repeated where that may help.
    fn patiently(&self, texts: &[&str], at: &Asking<'_>) -> Result<Vec<Vec<f32>>, Then> {
        let begun = Instant::now();
        let mut pause = at.patience.pause;
        for left in (0..=at.patience.again).rev() {
            let (wait, fault) = match self.ask(texts, at, begun + at.patience.within) {
                Err(Then::Again(wait, fault)) if left > 0 => (wait, fault),
                other => return other,
            };
            let wait = wait.map_or(pause, Duration::from_secs).max(pause);
            if begun.elapsed() + wait >= at.patience.within {
                return Err(Then::Fail(fault));
            }
            self.rest_for(wait, at)?;
            pause = (pause * 2).min(Patience::LONGEST_PAUSE);
        }
        Err(Then::Fail(at.named.late(at.patience.within.as_secs())))
    }

    /// Waits, unless it is told to stop.
    fn rest_for(&self, wait: Duration, at: &Asking<'_>) -> Result<(), Then> {
        let until = Instant::now() + wait;
        loop {
            if !(at.goes_on)() {
                return Err(Then::Fail(at.named.stopped()));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(Duration::from_millis(200)));
        }
    }

    /// One request.
    fn ask(
        &self,
        texts: &[&str],
        at: &Asking<'_>,
        deadline: Instant,
    ) -> Result<Vec<Vec<f32>>, Then> {
        if !(at.goes_on)() {
            return Err(Then::Fail(at.named.stopped()));
        }
        let entry = match self.price.input {
            0 => None,
            _ => {
                let worst: usize = texts.iter().map(|text| text.len() / 2 + 8).sum();
                let entered = self.ledger.enter(
                    "embedding",
                    &self.settings.model,
                    self.price,
                    None,
                    worst as u64,
                    0,
                );
                Some(entered.map_err(|fault| Then::Fail(unpaid(&fault)))?)
            }
        };
        let body = self.body(texts, at.purpose).to_string();
        let headers = [("content-type", "application/json"), ("accept", "application/json")];
        let call = Call {
            url: &self.url,
            body: Some(body.as_bytes()),
            headers: &headers,
            authorization: at.bearer.as_ref(),
            public: false,
            enough: |_| false,
        };
        let (mut come, mut end) = (Vec::new(), None);
        let answer = self.link.follow(&call, at.patience.silence, &mut |part| {
            if let Part::Bytes(bytes) = part {
                come.extend_from_slice(bytes);
            }
            end = if !(at.goes_on)() {
                Some(End::Stopped)
            } else if Instant::now() >= deadline {
                Some(End::Late)
            } else if come.len() > MOST {
                Some(End::Large)
            } else {
                None
            };
            end.is_none()
        });
        match (answer, end) {
            // The service may have worked: an entry that is dropped counts at its worst.
            (_, Some(End::Stopped)) => Err(Then::Fail(at.named.stopped())),
            (_, Some(End::Late)) => Err(Then::Fail(at.named.late(at.patience.within.as_secs()))),
            (_, Some(End::Large)) => Err(Then::Fail(at.named.nonsense("is too long"))),
            (Err(trouble), None) => {
                if let Some(entry) = entry.filter(|_| is_unsent(&trouble)) {
                    entry.free();
                }
                Err(at.named.trouble(&trouble))
            }
            (Ok(answer), None) if answer.status != 200 => {
                if let Some(entry) = entry.filter(|_| answer.status < 500) {
                    entry.free();
                }
                Err(at.named.refusal(&answer))
            }
            (Ok(_), None) => {
                let read = answer::read(&come, texts.len(), self.dimensions.get().copied());
                let Vectors { vectors, tokens } =
                    read.map_err(|what| Then::Fail(at.named.nonsense(&what)))?;
                if let Some(entry) = entry {
                    entry.settle(tokens, 0);
                }
                self.hold(&vectors, at)?;
                Ok(vectors)
            }
        }
    }

    /// The length of the first vectors is the length of all.
    fn hold(&self, vectors: &[Vec<f32>], at: &Asking<'_>) -> Result<(), Then> {
        let Some(first) = vectors.first() else { return Ok(()) };
        let held = *self.dimensions.get_or_init(|| first.len());
        if held == first.len() {
            return Ok(());
        }
        let what = format!("has vectors of {} numbers where {held} were expected", first.len());
        Err(Then::Fail(at.named.nonsense(&what)))
    }
}

/// How an answer ended before its end.
#[derive(Debug, Clone, Copy)]
enum End {
    Stopped,
    Late,
    Large,
}

/// What one piece of work has in common.
struct Asking<'a> {
    named: Named,
    purpose: Purpose,
    patience: Patience,
    bearer: Option<Secret>,
    goes_on: &'a dyn Fn() -> bool,
}

impl Embedder for Endpoint {
    fn space(&self) -> Result<Space, EmbedFault> {
        let dimensions = match self.dimensions.get() {
            Some(length) => *length,
            None => {
                let probed = self.embed(&[PROBE.to_owned()], Purpose::Document, &|| true)?;
                probed.first().map_or(0, Vec::len)
            }
        };
        let EndpointSettings { model, query_prefix, document_prefix, .. } = &self.settings;
        let parts = ["openai", self.url.as_str(), model, query_prefix, document_prefix];
        let identity = format!("{}\n{dimensions}", parts.join("\n"));
        Ok(Space { model: model.clone(), identity, dimensions })
    }

    fn embed(
        &self,
        texts: &[String],
        purpose: Purpose,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Vec<Vec<f32>>, EmbedFault> {
        let (prefix, patience) = match purpose {
            Purpose::Query => (&self.settings.query_prefix, self.patience[0]),
            Purpose::Document => (&self.settings.document_prefix, self.patience[1]),
        };
        let key = (self.key)()?;
        let named = Named {
            url: self.url.clone(),
            model: self.settings.model.clone(),
            keyed: key.is_some(),
        };
        let bearer = key.map(|key| Secret::new(format!("Bearer {}", key.expose())));
        let at = Asking { named, purpose, patience, bearer, goes_on };
        let whole: Vec<String> = texts.iter().map(|text| format!("{prefix}{text}")).collect();
        // An empty text is refused by some; a mark stands for it.
        let whole: Vec<&str> = whole
            .iter()
            .map(|text| if text.trim().is_empty() { "-" } else { cut(text, LONGEST) })
            .collect();
        let mut vectors = Vec::with_capacity(whole.len());
        let mut rest = whole.as_slice();
        while !rest.is_empty() {
            let (batch, after) = rest.split_at(fits(rest));
            vectors.extend(self.batch(batch, &at)?);
            rest = after;
        }
        Ok(vectors)
    }

    fn rest(&self, _idle: Duration) {
        // A link without use keeps next to nothing, and lets go of its connections itself.
    }
}

/// How many of these texts go into one request: at least one.
fn fits(texts: &[&str]) -> usize {
    let mut bytes = 0;
    let more = texts.iter().take(COUNT).take_while(|text| {
        bytes += text.len();
        bytes <= BYTES
    });
    more.count().max(1)
}

/// The beginning of a text, at most `most` bytes, cut between characters.
fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// Whether nothing has reached the service.
fn is_unsent(trouble: &Trouble) -> bool {
    use Trouble::{Address, Name, NotPublic, Refused, Setup, Silent, Tls, Unreachable};
    matches!(
        trouble,
        Address(_) | Name(_) | NotPublic | Refused | Unreachable(_) | Silent | Tls(_) | Setup(_)
    )
}

/// What cannot be entered in the ledger is not paid.
fn unpaid(fault: &CostFault) -> EmbedFault {
    EmbedFault {
        why: EmbedWhy::Budget,
        message: format!("the embedding model was not asked: {fault}"),
        hint: Some("look at `brain costs`; a disk with room lets the ledger be written".into()),
    }
}
