//! A fake network with one service, for tests of clients of paid services.
//!
//! It records requests, checks that their `Debug` output does not contain the key, and sends each
//! response in two parts with an idle second between them.

#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use brain_net::{Error, HttpClient, HttpRequest, HttpResponse, RetryingClient, StreamEvent};
use serde_json::Value;
use url::Url;

/// The key that must not appear in `Debug` output.
pub const KEY: &str = "sk-very-secret-key";

/// A recorded request.
#[derive(Debug, Clone)]
pub struct Sent {
    /// Number of requests before it.
    pub before: usize,
    /// Its address.
    pub url: String,
    /// Its further headers.
    pub headers: Vec<(String, String)>,
    /// The value of `Authorization`.
    pub authorization: Option<String>,
    /// Its body.
    pub body: Value,
}

type Answers = Box<dyn Fn(&Sent) -> Result<HttpResponse, Error> + Send + Sync>;

struct Service {
    sent: Mutex<Vec<Sent>>,
    answers: Answers,
}

/// The fake network.
#[derive(Clone)]
pub struct Net(Arc<Service>);

impl Net {
    /// Creates a network whose service responds with `answers`. A response header `then` makes the
    /// stream fail: `broken`, `silent`.
    pub fn new(
        answers: impl Fn(&Sent) -> Result<HttpResponse, Error> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Service { sent: Mutex::default(), answers: Box::new(answers) }))
    }

    /// Returns all requests in order.
    pub fn sent(&self) -> Vec<Sent> {
        self.0.sent.lock().unwrap().clone()
    }
}

impl HttpClient for Net {
    fn retrying_client(&self, _: &Url) -> Result<Box<dyn RetryingClient>, Error> {
        Ok(Box::new(self.clone()))
    }
}

impl RetryingClient for Net {
    fn call(&self, _: &HttpRequest<'_>) -> Result<HttpResponse, Error> {
        Err(Error::ConnectionRefused)
    }

    fn stream(
        &self,
        call: &HttpRequest<'_>,
        _: Duration,
        on_event: &mut dyn FnMut(StreamEvent<'_>) -> bool,
    ) -> Result<HttpResponse, Error> {
        let shown = format!("{call:?}");
        assert!(!shown.contains(KEY), "{shown}");
        let sent = {
            let mut all = self.0.sent.lock().unwrap();
            let sent = Sent {
                before: all.len(),
                url: call.url.to_string(),
                headers: call
                    .headers
                    .iter()
                    .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
                    .collect(),
                authorization: call.authorization.map(|secret| secret.expose().to_owned()),
                body: serde_json::from_slice(call.body.unwrap()).unwrap(),
            };
            all.push(sent.clone());
            sent
        };
        let answer = (self.0.answers)(&sent)?;
        if answer.status != 200 {
            return Ok(answer);
        }
        let (one, two) = answer.body.split_at(answer.body.len() / 2);
        let heard = [
            StreamEvent::Head,
            StreamEvent::Bytes(one),
            StreamEvent::Idle,
            StreamEvent::Bytes(two),
        ]
        .into_iter()
        .all(on_event);
        match answer.header("then") {
            Some("broken") if heard => Err(Error::ConnectionBroken("reset".into())),
            Some("silent") if heard => Err(Error::Timeout(180)),
            _ => Ok(HttpResponse { body: Vec::new(), ..answer }),
        }
    }
}
