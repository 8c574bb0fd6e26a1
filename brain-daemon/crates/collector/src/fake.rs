//! A fake HTTP client for tests. A function makes its answers.

use std::sync::Mutex;
use std::time::Duration;

use brain_net::{Error as NetError, HttpRequest, HttpResponse, RetryingClient, StreamEvent};

/// A recorded request.
#[derive(Debug, Clone)]
pub(super) struct RecordedRequest {
    /// Path and query.
    pub(super) target: String,
    /// The value of `Authorization`.
    pub(super) authorization: String,
    /// The body, if any.
    pub(super) body: Option<Vec<u8>>,
}

type Response = Result<HttpResponse, NetError>;
type FakeAnswers = dyn Fn(&RecordedRequest) -> Response + Send + Sync;

/// A client that records requests and answers them with the results of a function.
pub(super) struct FakeClient {
    answers: Box<FakeAnswers>,
    requests: Mutex<Vec<RecordedRequest>>,
}

impl FakeClient {
    pub(super) fn new(
        answers: impl Fn(&RecordedRequest) -> Response + Send + Sync + 'static,
    ) -> Self {
        Self { answers: Box::new(answers), requests: Mutex::default() }
    }

    /// Returns the requests so far.
    pub(super) fn requests(&self) -> Vec<RecordedRequest> {
        self.requests.lock().unwrap().clone()
    }
}

impl RetryingClient for FakeClient {
    fn call(&self, call: &HttpRequest<'_>) -> Result<HttpResponse, NetError> {
        let query = call.url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let request = RecordedRequest {
            target: format!("{}{query}", call.url.path()),
            authorization: call.authorization.unwrap().expose().to_owned(),
            body: call.body.map(<[u8]>::to_vec),
        };
        self.requests.lock().unwrap().push(request.clone());
        (self.answers)(&request)
    }

    fn stream(
        &self,
        _: &HttpRequest<'_>,
        _: Duration,
        _: &mut dyn FnMut(StreamEvent<'_>) -> bool,
    ) -> Result<HttpResponse, NetError> {
        unreachable!("runs open no persistent connection")
    }
}

/// Builds an answer.
pub(super) fn answer(
    status: u16,
    headers: &[(&str, &str)],
    body: impl Into<Vec<u8>>,
) -> HttpResponse {
    let headers =
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    HttpResponse { status, headers, body: body.into(), server_address: None }
}
