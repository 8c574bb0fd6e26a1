//! A fake network with one service, for tests of clients of paid services; a [`Proxy`] that cuts
//! connections to a real server; and a commit log in memory, [`MemoryLog`].
//!
//! The network records streamed requests, and checks that their `Debug` output does not contain the
//! key. A body with status 200 arrives in two parts, with an idle event between them.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod memory_log;
mod proxy;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use brain_net::{Error, HttpClient, HttpRequest, HttpResponse, RetryingClient, StreamEvent};
use serde_json::Value;
use url::Url;

pub use memory_log::{AppendFault, MemoryLog};
pub use proxy::{Chunk, Decision, Direction, Proxy};

/// The key that must not appear in `Debug` output.
pub const KEY: &str = "sk-very-secret-key";

/// A recorded request.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    /// Position in the order of requests, from 0.
    pub index: usize,
    /// The address.
    pub url: String,
    /// The additional headers.
    pub headers: Vec<(String, String)>,
    /// The value of `Authorization`.
    pub authorization: Option<String>,
    /// The body.
    pub body: Value,
}

/// Returns the response to a request.
type Responder = Box<dyn Fn(&RecordedRequest) -> Result<HttpResponse, Error> + Send + Sync>;

struct Service {
    requests: Mutex<Vec<RecordedRequest>>,
    respond: Responder,
}

/// The fake network.
#[derive(Clone)]
pub struct FakeNetwork(Arc<Service>);

impl FakeNetwork {
    /// Creates a network whose service answers with `respond`. A response header `then` makes the
    /// stream fail after the body: the value `broken` breaks the connection, and `silent` is a
    /// timeout.
    pub fn new(
        respond: impl Fn(&RecordedRequest) -> Result<HttpResponse, Error> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Service { requests: Mutex::default(), respond: Box::new(respond) }))
    }

    /// Returns all recorded requests in order.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.0.requests.lock().unwrap().clone()
    }
}

impl HttpClient for FakeNetwork {
    fn retrying_client(&self, _: &Url) -> Result<Box<dyn RetryingClient>, Error> {
        Ok(Box::new(self.clone()))
    }
}

impl RetryingClient for FakeNetwork {
    fn call(&self, _: &HttpRequest<'_>) -> Result<HttpResponse, Error> {
        Err(Error::ConnectionRefused)
    }

    fn stream(
        &self,
        call: &HttpRequest<'_>,
        _: Duration,
        on_event: &mut dyn FnMut(StreamEvent<'_>) -> bool,
    ) -> Result<HttpResponse, Error> {
        let debug_output = format!("{call:?}");
        assert!(!debug_output.contains(KEY), "{debug_output}");
        let request = {
            let mut all = self.0.requests.lock().unwrap();
            let request = RecordedRequest {
                index: all.len(),
                url: call.url.to_string(),
                headers: call
                    .headers
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                    .collect(),
                authorization: call.authorization.map(|secret| secret.expose().to_owned()),
                body: serde_json::from_slice(call.body.unwrap()).unwrap(),
            };
            all.push(request.clone());
            request
        };
        let response = (self.0.respond)(&request)?;
        if response.status != 200 {
            return Ok(response);
        }
        let (first, second) = response.body.split_at(response.body.len() / 2);
        let wants_more = [
            StreamEvent::Head,
            StreamEvent::Bytes(first),
            StreamEvent::Idle,
            StreamEvent::Bytes(second),
        ]
        .into_iter()
        .all(on_event);
        match response.header("then") {
            Some("broken") if wants_more => Err(Error::ConnectionBroken("reset".into())),
            Some("silent") if wants_more => Err(Error::Timeout(180)),
            _ => Ok(HttpResponse { body: Vec::new(), ..response }),
        }
    }
}
