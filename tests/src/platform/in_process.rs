//! The platform behind the daemon's own trait for what goes out: no socket, so nothing depends on
//! the machine's speed.

use std::time::{Duration, Instant};

use brain_net::{
    Error as NetError, HttpClient, HttpRequest, HttpResponse, RetryingClient, StreamEvent,
};
use url::Url;

use super::{Manner, Platform, Request, Response, Told};

/// What goes out, to a platform and nowhere else.
#[derive(Clone)]
pub struct InProcess(pub Platform);

impl InProcess {
    fn ask(&self, call: &HttpRequest<'_>) -> Result<Response, NetError> {
        let answer = self.0.answer(&Request {
            method: if call.body.is_some() { "POST" } else { "GET" },
            path: call.url.path(),
            query: call.url.query().unwrap_or_default(),
            authorization: call.authorization.map(brain_protocol::Secret::expose),
            body: call.body.unwrap_or_default(),
        });
        match answer.manner {
            Manner::Usual => Ok(answer),
            Manner::Silence | Manner::Slow(_) => Err(NetError::Timeout(30)),
            Manner::Close | Manner::Cut(_) => {
                Err(NetError::ConnectionBroken("unexpected end of file".into()))
            }
        }
    }
}

fn whole(answer: Response) -> HttpResponse {
    HttpResponse { status: answer.status, headers: answer.headers, body: answer.body, from: None }
}

impl RetryingClient for InProcess {
    fn call(&self, call: &HttpRequest<'_>) -> Result<HttpResponse, NetError> {
        let answer = self.ask(call)?;
        if answer.body.len() > 8 * 1024 * 1024 {
            return Err(NetError::TooLarge(8 * 1024 * 1024));
        }
        Ok(whole(answer))
    }

    fn stream(
        &self,
        call: &HttpRequest<'_>,
        silence: Duration,
        part: &mut dyn FnMut(StreamEvent<'_>) -> bool,
    ) -> Result<HttpResponse, NetError> {
        let mut answer = self.ask(call)?;
        let Some(subscription) = answer.stream.take() else { return Ok(whole(answer)) };
        let mut last = Instant::now();
        let mut goes_on = part(StreamEvent::Head);
        while goes_on {
            match subscription.next(Duration::from_millis(100)) {
                Told::Bytes(bytes) => {
                    last = Instant::now();
                    goes_on = part(StreamEvent::Bytes(&bytes));
                }
                Told::Nothing if last.elapsed() >= silence => {
                    return Err(NetError::Timeout(silence.as_secs()));
                }
                Told::Nothing => goes_on = part(StreamEvent::Idle),
                Told::End => break,
                Told::Cut => {
                    return Err(NetError::ConnectionBroken("unexpected end of file".into()));
                }
            }
        }
        Ok(whole(answer))
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
