//! The platform as an [`HttpClient`] without sockets, so that tests do not depend on the machine's
//! speed.

use std::time::{Duration, Instant};

use brain_net::{
    Error as NetError, HttpClient, HttpRequest, HttpResponse, RetryingClient, StreamEvent,
};
use url::Url;

use super::{Delivery, Platform, Request, Response, StreamItem};

/// Maximum size of a body in bytes, as in the daemon's client.
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// The deadline in seconds that the error for a slow response names.
const TIMEOUT_SECS: u64 = 30;

/// A network that reaches only the platform.
#[derive(Clone)]
pub struct InProcess(pub Platform);

impl InProcess {
    /// Returns the platform's response. A delayed response counts as a timeout.
    fn answer(&self, call: &HttpRequest<'_>) -> Result<Response, NetError> {
        let answer = self.0.answer(&Request {
            method: if call.body.is_some() { "POST" } else { "GET" },
            path: call.url.path(),
            query: call.url.query().unwrap_or_default(),
            authorization: call.authorization.map(brain_protocol::Secret::expose),
            body: call.body.unwrap_or_default(),
        });
        match answer.delivery {
            Delivery::Usual => Ok(answer),
            Delivery::Silence | Delivery::Slow(_) => Err(NetError::Timeout(TIMEOUT_SECS)),
            Delivery::Close | Delivery::Cut(_) => {
                Err(NetError::ConnectionBroken("unexpected end of file".into()))
            }
        }
    }
}

fn to_http_response(answer: Response) -> HttpResponse {
    HttpResponse {
        status: answer.status,
        headers: answer.headers,
        body: answer.body,
        server_address: None,
    }
}

impl RetryingClient for InProcess {
    fn call(&self, call: &HttpRequest<'_>) -> Result<HttpResponse, NetError> {
        let answer = self.answer(call)?;
        if answer.body.len() > MAX_BYTES {
            return Err(NetError::TooLarge(MAX_BYTES));
        }
        Ok(to_http_response(answer))
    }

    fn stream(
        &self,
        call: &HttpRequest<'_>,
        idle_timeout: Duration,
        on_event: &mut dyn FnMut(StreamEvent<'_>) -> bool,
    ) -> Result<HttpResponse, NetError> {
        let mut answer = self.answer(call)?;
        let Some(subscription) = answer.stream.take() else { return Ok(to_http_response(answer)) };
        let mut last_bytes_at = Instant::now();
        let mut should_continue = on_event(StreamEvent::Head);
        while should_continue {
            match subscription.next(Duration::from_millis(100)) {
                StreamItem::Bytes(bytes) => {
                    last_bytes_at = Instant::now();
                    should_continue = on_event(StreamEvent::Bytes(&bytes));
                }
                StreamItem::Nothing if last_bytes_at.elapsed() >= idle_timeout => {
                    return Err(NetError::Timeout(idle_timeout.as_secs()));
                }
                StreamItem::Nothing => should_continue = on_event(StreamEvent::Idle),
                StreamItem::End => break,
                StreamItem::Cut => {
                    return Err(NetError::ConnectionBroken("unexpected end of file".into()));
                }
            }
        }
        Ok(to_http_response(answer))
    }
}

impl HttpClient for InProcess {
    fn call(&self, call: &HttpRequest<'_>) -> Result<HttpResponse, NetError> {
        RetryingClient::call(self, call)
    }

    fn retrying_client(&self, _base: &Url) -> Result<Box<dyn RetryingClient>, NetError> {
        Ok(Box::new(self.clone()))
    }
}
