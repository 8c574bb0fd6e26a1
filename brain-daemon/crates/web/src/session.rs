//! Decides who is signed in.
//!
//! The session's cookie is named after the listener's port, because browsers send cookies to every
//! port of a host. It is `Strict`, so browsers do not send it when a link of another site is
//! opened.

use axum::extract::{Request, State};
use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use brain_base::caller::Caller;
use brain_core::{Door, NoProgress, Progress};
use brain_protocol::{Fault, FaultCode, Operation, Secret};

/// The field of forms with the CSRF token.
pub(crate) const CSRF_FIELD: &str = "csrf";
/// The lifetime of the cookie.
const COOKIE_SECONDS: u32 = 12 * 60 * 60;

/// An extension of responses to signed-in browsers: the name of the caller, for the audit.
#[derive(Debug, Clone)]
pub struct BrowserCaller(pub String);

/// The session of the browser that sent a request. As an extractor, only for requests that change
/// nothing.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) caller: Caller,
    pub(crate) csrf_token: Secret,
    /// The id, which the cookie has.
    pub(crate) id: Secret,
    /// The number of changes before the request; see [`brain_core::ChangeFeed`].
    pub(crate) change_count: u64,
}

impl Session {
    /// Runs an operation for this browser on a thread that may block.
    ///
    /// # Errors
    /// The fault of the operation; `internal` if it panics.
    pub(crate) async fn run<O: Operation + Send + 'static>(
        &self,
        brain: &Door,
        operation: O,
    ) -> Result<O::Reply, Fault>
    where
        O::Reply: Send + 'static,
    {
        self.run_with_progress(brain, operation, NoProgress).await
    }

    /// Runs an operation as [`Self::run`] does, and reports its progress.
    ///
    /// # Errors
    /// The same as for [`Self::run`].
    pub(crate) async fn run_with_progress<O: Operation + Send + 'static>(
        &self,
        brain: &Door,
        operation: O,
        progress: impl Progress + Send + 'static,
    ) -> Result<O::Reply, Fault>
    where
        O::Reply: Send + 'static,
    {
        let caller = self.caller.clone();
        block(brain, move |brain| brain.run(&caller, operation, &progress)).await?
    }
}

/// Runs `work` on a thread that may block.
///
/// # Errors
/// `internal` if it panics.
pub(crate) async fn block<T: Send + 'static>(
    brain: &Door,
    work: impl FnOnce(&Door) -> T + Send + 'static,
) -> Result<T, Fault> {
    let brain = brain.clone();
    tokio::task::spawn_blocking(move || work(&brain)).await.map_err(|_| {
        Fault::new(FaultCode::Internal, "a defect in brain ended this request")
            .hint("the log of the daemon has the details; please report it")
    })
}

/// Finds the session of a request for the extractors, and adds its caller to the response for the
/// audit.
pub(crate) async fn authenticate(
    State(brain): State<Door>,
    mut request: Request,
    next: Next,
) -> Response {
    let found = session_of(&brain, request.headers());
    let caller = found.as_ref().map(|session| BrowserCaller(session.caller.name.clone()));
    if let Some(session) = found {
        request.extensions_mut().insert(session);
    }
    let mut response = next.run(request).await;
    if let Some(caller) = caller {
        response.extensions_mut().insert(caller);
    }
    response
}

/// Returns the session of a request with these headers.
fn session_of(brain: &Door, headers: &HeaderMap) -> Option<Session> {
    let id = cookie(headers, &cookie_name(brain))?;
    let session = brain.access().browser_session(id)?;
    let (csrf_token, id) = (session.csrf_token, Secret::new(id));
    Some(Session {
        caller: Caller::browser(),
        csrf_token,
        id,
        change_count: brain.changes().current(),
    })
}

/// Returns the caller if a browser that is signed in sent a request with these headers. Such a
/// request may have a large body.
#[must_use]
pub fn signed_in(brain: &Door, headers: &HeaderMap) -> Option<BrowserCaller> {
    session_of(brain, headers).map(|session| BrowserCaller(session.caller.name))
}

/// Returns the `Set-Cookie` value that keeps the session `id`. An empty id deletes the cookie.
pub(crate) fn set_cookie(brain: &Door, id: &str) -> Option<HeaderValue> {
    let seconds = if id.is_empty() { 0 } else { COOKIE_SECONDS };
    let name = cookie_name(brain);
    format!("{name}={id}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}").parse().ok()
}

fn cookie_name(brain: &Door) -> String {
    let port = brain.access().http_addresses().local.map_or(0, |address| address.port());
    format!("brain-page-{port}")
}

/// Returns the value of a cookie. `None` if it is missing, empty or repeated.
fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|it| it.trim().split_once('='));
    let mut values = pairs.filter(|(key, _)| *key == name).map(|(_, value)| value);
    let (first, None) = (values.next()?, values.next()) else { return None };
    Some(first).filter(|value| !value.is_empty())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_or_empty_cookie_is_ignored() {
        let read = |lines: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(COOKIE, HeaderValue::from_static(line));
            }
            cookie(&headers, "brain-page-3131").map(str::to_owned)
        };
        assert_eq!(read(&["a=1; brain-page-3131=x; b=2"]).as_deref(), Some("x"));
        assert_eq!(read(&["brain-page-3132=x"]), None);
        assert_eq!(read(&["brain-page-3131=x; brain-page-3131=x"]), None);
        assert_eq!(read(&["brain-page-3131="]), None);
    }
}
