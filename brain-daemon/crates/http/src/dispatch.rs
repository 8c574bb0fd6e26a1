//! Dispatches a request to the router, then logs, audits and counts it.
//!
//! No content of a request is recorded: no value of a header or query, and no body. Of parameters,
//! only names and sizes are recorded.
//!
//! The path is matched here as well as in axum's router. axum's `MatchedPath` exists only inside a
//! route, and requests that the guard refuses never reach a route; but they are counted by path.

use std::cell::OnceCell;
use std::net::IpAddr;
use std::time::Instant;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use brain_protocol::{JobId, TunnelRequest};
use tower::ServiceExt as _;

use super::guard::{CorsDecision, allow_origin};
use super::serve::ConnectionInfo;
use super::{
    AppState, Application, HttpError, Side, client_address, failure_limiter, internal_error,
    json_escape,
};
use brain_base::clock::rfc3339;
use brain_store::AuditRecord;
use brain_tunnel::PROBE_HEADER;
use brain_web::BrowserCaller;

/// The route of requests that match no path.
const UNMATCHED: &str = "(none)";
/// Routes that are not audited, because monitoring calls them all the time.
const UNAUDITED: [&str; 2] = ["/health", "/metrics"];
/// Maximum number of parameters of one call that the audit names.
const MAX_PARAMETERS: usize = 20;
/// Maximum length of a parameter's name, in bytes.
const MAX_NAME_BYTES: usize = 40;
/// The name for the total size of further parameters, and of those with unusual names.
const OTHER: &str = "other";

tokio::task_local! {
    /// Details of the request that this task answers.
    static DETAILS: RequestDetails;
}

/// Details of a request, which handlers record.
#[derive(Debug, Clone, Default)]
struct RequestDetails {
    /// The name of the caller.
    caller: OnceCell<String>,
    /// The MCP tool that the request calls.
    tool: OnceCell<String>,
    /// The ingest job that the request created.
    job: OnceCell<JobId>,
}

/// Records the caller of the current request: `token:<name>`, a client's id, or `admin`.
pub(crate) fn set_caller(name: &str) {
    // Fails only outside of a request, where nothing is recorded.
    let _ = DETAILS.try_with(|details| details.caller.set(name.to_owned()));
}

/// Records the tool that the current request calls. Anything but a plain name is left out.
pub(crate) fn set_tool(tool: &str) {
    if is_plain_name(tool) {
        let _ = DETAILS.try_with(|details| details.tool.set(tool.to_owned()));
    }
}

/// Records the ingest job that the current request created.
pub(crate) fn set_job(job: JobId) {
    let _ = DETAILS.try_with(|details| details.job.set(job));
}

impl Application {
    /// Returns the hash by which connections of one address are counted together.
    pub(crate) fn hash_of(&self, address: IpAddr) -> u64 {
        self.app.shared.limits.hash_of(failure_limiter::address_prefix(address))
    }

    /// Returns the URI without the slash at the end of its path, if only that is a known path.
    fn without_last_slash(&self, uri: &Uri) -> Option<Uri> {
        let path = uri.path().strip_suffix('/')?;
        if self.paths.at(uri.path()).is_ok() || self.paths.at(path).is_err() {
            return None;
        }
        let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = format!("{path}{query}").parse().ok();
        Uri::from_parts(parts).ok()
    }

    /// Answers a request, and records it in the log, the audit and the counters.
    pub(crate) async fn answer<B>(
        &self,
        request: axum::http::Request<B>,
        info: &ConnectionInfo,
    ) -> Response
    where
        B: axum::body::HttpBody<Data = axum::body::Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let began = Instant::now();
        let app = &self.app;
        let mut request = request.map(Body::new);
        // Some clients add a slash to the URL that a person typed.
        if let Some(uri) = self.without_last_slash(request.uri()) {
            *request.uri_mut() = uri;
        }
        info.state.set_address(self.hash_of(client_address::of_request(app, &request)));
        let route: &str =
            self.paths.at(request.uri().path()).map_or(UNMATCHED, |found| found.value);
        let is_audited = !UNAUDITED.contains(&route);
        let method = request.method().clone();
        let (at, parameters) =
            if is_audited { (app.brain.now(), parameters(&request)) } else { (0, Vec::new()) };
        if app.side == Side::Public
            && let Some(answer) = answer_probe(app, route, &request)
        {
            return answer;
        }
        let is_listed = app.side == Side::Public && is_inspected(route, &request);
        let call = Call { app, route, method, at, parameters, is_audited, is_listed, began };
        let (mut response, details) = self.guarded_answer(request, info).await;
        if !response.status().is_success()
            && let Some(error) = body_error(info)
        {
            response = error.into_response();
        }
        call.record(&response, &details, info.state.body_bytes());
        response
    }

    /// Answers a request that the guard lets through. Returns the details that handlers recorded.
    async fn guarded_answer(
        &self,
        request: Request,
        info: &ConnectionInfo,
    ) -> (Response, RequestDetails) {
        let app = &self.app;
        // The tunnel leads to the public listener only.
        let tunnel = || (app.side == Side::Public).then(|| app.brain.public_address()).flatten();
        let decision = app.shared.guard.check(
            request.method(),
            request.uri(),
            request.headers(),
            info.address,
            &info.address_text,
            &tunnel,
        );
        match decision {
            Err(refusal) => (refusal.into_response(), RequestDetails::default()),
            Ok(CorsDecision::Preflight(answer)) => (answer, RequestDetails::default()),
            Ok(decision) => {
                let answering = async {
                    let response = call_router(self.router.clone(), request).await;
                    (response, DETAILS.with(RequestDetails::clone))
                };
                let (response, details) = DETAILS.scope(RequestDetails::default(), answering).await;
                let mut response = json_escape::escape(to_json_error(response)).await;
                if let CorsDecision::Allow(origin) = decision {
                    allow_origin(response.headers_mut(), origin);
                }
                (response, details)
            }
        }
    }
}

/// Returns the error of a request whose body was not read to its end.
fn body_error(info: &ConnectionInfo) -> Option<HttpError> {
    if info.state.is_evicted() {
        let message =
            "too many requests are sending their bodies at the same time; send yours again";
        let error = HttpError::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message);
        return Some(error.with_header(header::RETRY_AFTER, HeaderValue::from_static("1")));
    }
    let message = "the body of this request timed out; send it again";
    info.state
        .is_timed_out()
        .then(|| HttpError::new(StatusCode::REQUEST_TIMEOUT, "request_timeout", message))
}

/// What is recorded of a request before it is answered.
struct Call<'a> {
    app: &'a AppState,
    route: &'a str,
    method: Method,
    /// When the request came, in Unix milliseconds; 0 if it is not audited.
    at: i64,
    /// The names and sizes of its parameters.
    parameters: Vec<(String, u64)>,
    is_audited: bool,
    /// Whether it is listed for the owner.
    is_listed: bool,
    began: Instant,
}

impl Call<'_> {
    /// Records the answered request in the counters, the log, the list of the owner and the audit.
    fn record(self, response: &Response, details: &RequestDetails, received: u64) {
        let Self { app, route, ref method, at, is_audited, .. } = self;
        let (status, took) = (response.status().as_u16(), self.began.elapsed());
        app.shared.counters.record(route, status, took);
        if received > 0 {
            app.shared.counters.bytes_in.add(received);
        }
        let signed_in = response.extensions().get::<BrowserCaller>().map(|caller| caller.0.clone());
        let caller = details.caller.get().or(signed_in.as_ref());
        let client = caller.map_or(AuditRecord::UNKNOWN, String::as_str);
        let took_us = took.as_micros() as u64;
        let side = app.side;
        if status >= 500 {
            tracing::info!(%method, route, status, took_us, client, ?side, "answered over HTTP");
        } else {
            tracing::debug!(%method, route, status, took_us, client, ?side, "answered over HTTP");
        }
        if self.is_listed {
            app.brain.record_tunnel_request(TunnelRequest {
                at: rfc3339(if is_audited { at } else { app.brain.now() }),
                method: method_name(method).to_owned(),
                path: route.to_owned(),
                status,
                took_us,
                client: client.to_owned(),
                bytes: received,
                job_id: details.job.get().copied(),
            });
        }
        if status >= 400
            && route == "/mcp"
            && let Some(client) = caller
        {
            app.brain.seen().record_refused(client, status);
        }
        if is_audited {
            let operation = match details.tool.get() {
                Some(tool) => format!("{method} {route} {tool}"),
                None => format!("{method} {route}"),
            };
            let mut parameters = self.parameters;
            if caller.is_none() {
                // Unauthenticated clients could fill the audit with invented names.
                parameters.clear();
            } else if received > 0 {
                parameters.push(("body".into(), received));
            }
            let client = client.into();
            app.brain.audit().record(AuditRecord {
                at,
                client,
                operation,
                status,
                took_us,
                parameters,
            });
        }
    }
}

/// Answers a probe of the tunnel's watchdog. The watchdog verifies a public address before requests
/// to that host name are accepted.
fn answer_probe(app: &AppState, route: &str, request: &Request) -> Option<Response> {
    let field = |name: &str| request.headers().get(name)?.to_str().ok();
    let challenge = field(PROBE_HEADER.0).filter(|_| route == "/health")?;
    let proof = app.brain.tunnel_proof(field("host")?, challenge)?;
    Some(axum::Json(serde_json::json!({ "status": "ok", "proof": proof })).into_response())
}

/// Returns whether a request is listed for the owner: it is from outside, and is not a probe of the
/// watchdog.
fn is_inspected(route: &str, request: &Request) -> bool {
    let probe = route == "/health"
        && request.headers().get(PROBE_HEADER.0).is_some_and(|value| value == PROBE_HEADER.1);
    !probe && client_address::is_from_outside(request.extensions(), request.headers())
}

/// Returns the name of a standard method, else a placeholder.
fn method_name(method: &Method) -> &str {
    let standard = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
    ];
    if standard.contains(method) { method.as_str() } else { "(other)" }
}

/// Calls the router. A handler that panics yields a 500 response.
async fn call_router(router: Router, request: Request) -> Response {
    let mut answering = pin!(router.oneshot(request));
    std::future::poll_fn(|context| {
        match catch_unwind(AssertUnwindSafe(|| answering.as_mut().poll(context))) {
            Ok(Poll::Ready(Ok(response))) => Poll::Ready(response),
            Ok(Poll::Ready(Err(never))) => match never {},
            Ok(Poll::Pending) => Poll::Pending,
            // The panic message is in the daemon's log.
            Err(_) => Poll::Ready(internal_error().into_response()),
        }
    })
    .await
}

/// Returns the names and sizes (in bytes) of query parameters and `X-Brain-` fields.
fn parameters(request: &Request) -> Vec<(String, u64)> {
    let query = request.uri().query().unwrap_or_default();
    let query = form_urlencoded::parse(query.as_bytes())
        .map(|(name, value)| (name.into_owned(), value.len()));
    let is_recorded = |name: &str| name.starts_with("x-brain-") || name == "idempotency-key";
    let fields = request.headers().iter().filter(|(name, _)| is_recorded(name.as_str()));
    let fields = fields.map(|(name, value)| (name.as_str().to_owned(), value.len()));
    let (mut parameters, mut other) = (Vec::new(), None::<u64>);
    for (name, size) in query.chain(fields) {
        if parameters.len() < MAX_PARAMETERS && is_plain_name(&name) {
            parameters.push((name, size as u64));
        } else {
            *other.get_or_insert(0) += (name.len() + size) as u64;
        }
    }
    parameters.extend(other.map(|size| (OTHER.to_owned(), size)));
    parameters
}

/// Returns whether `name` looks like a parameter's name, and not like a token or text.
fn is_plain_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=MAX_NAME_BYTES).contains(&name.len())
        && name.bytes().all(is_plain)
        && !name.starts_with("brain_")
}

/// Replaces an error response of a library, which is plain text or empty, with a JSON one.
fn to_json_error(response: Response) -> Response {
    let status = response.status();
    if !(status.is_client_error() || status.is_server_error()) || !is_plain_text(response.headers())
    {
        return response;
    }
    let (error, message) = match status {
        StatusCode::NOT_FOUND => ("not_found", "no such path; /openapi.json lists the paths"),
        StatusCode::METHOD_NOT_ALLOWED => {
            ("method_not_allowed", "the field Allow names the methods that are served here")
        }
        StatusCode::PAYLOAD_TOO_LARGE => ("too_large", "the body is too large"),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            ("unsupported_content_type", "this content type is not accepted here")
        }
        StatusCode::REQUEST_TIMEOUT => ("request_timeout", "the request timed out"),
        status if status.is_server_error() => {
            ("internal", "a defect in brain ended this request; please report it")
        }
        _ => ("bad_request", "this request is not valid; /openapi.json describes valid ones"),
    };
    let (mut parts, _) = response.into_parts();
    let (error_parts, body) = HttpError::new(status, error, message).into_response().into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.extend(error_parts.headers);
    Response::from_parts(parts, Body::new(body))
}

fn is_plain_text(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_none_or(|kind| kind.as_bytes().starts_with(b"text/plain"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_names_and_sizes() {
        let request = Request::builder()
            .uri("/x?token=sec%20ret&empty")
            .header("X-Brain-Title", "private")
            .header("Authorization", "Bearer secret")
            .body(Body::empty())
            .unwrap();
        let expected = [("token", 7), ("empty", 0), ("x-brain-title", 7)];
        assert_eq!(parameters(&request), expected.map(|(name, size)| (name.to_owned(), size)));
        let parameters_of = |query: &str| {
            parameters(&Request::builder().uri(format!("/x?{query}")).body(Body::empty()).unwrap())
        };
        let many: String = (0..100).map(|at| format!("n{at:02}=1&")).collect();
        let many = parameters_of(&many);
        assert_eq!(
            (many.len(), &many[19], &many[20]),
            (21, &("n19".into(), 1), &("other".into(), 80 * 4))
        );
        let long = "n".repeat(MAX_NAME_BYTES);
        let text = format!("brain_pt_secret&a%20thought&{long}n&=&{long}=12");
        assert_eq!(parameters_of(&text), [(long, 2), ("other".to_owned(), 15 + 9 + 41)]);
    }

    #[tokio::test]
    async fn a_handler_that_panics_yields_500() {
        let broken = || async { panic!("a private message") };
        let router = axum::Router::<()>::new().route(
            "/",
            axum::routing::get(move || async move {
                broken().await;
            }),
        );
        let request = Request::builder().uri("/").body(Body::empty()).unwrap();
        let response = call_router(router, request).await;
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let body = axum::body::to_bytes(response.into_body(), 1000).await.unwrap();
        let text = std::str::from_utf8(&body).unwrap();
        assert!(
            text.contains("\"error\":\"internal\"") && !text.contains("private message"),
            "{text}"
        );
    }

    #[tokio::test]
    async fn plain_text_errors_become_json() {
        let allow = [(header::ALLOW, "GET")];
        let response = to_json_error((StatusCode::METHOD_NOT_ALLOWED, allow).into_response());
        assert_eq!(response.headers()[header::ALLOW], "GET");
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
        let body = axum::body::to_bytes(response.into_body(), 1000).await.unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["error"], "method_not_allowed");
        let text = to_json_error((StatusCode::BAD_REQUEST, "Failed to parse <x>").into_response());
        assert_eq!(text.headers()[header::CONTENT_TYPE], "application/json");
        let page = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
        let page = to_json_error((StatusCode::BAD_REQUEST, page, "<p>").into_response());
        assert_eq!(page.headers()[header::CONTENT_TYPE], "text/html; charset=utf-8");
        let fine = to_json_error((StatusCode::OK, "text").into_response());
        assert_eq!(fine.headers()[header::CONTENT_TYPE], "text/plain; charset=utf-8");
    }
}
