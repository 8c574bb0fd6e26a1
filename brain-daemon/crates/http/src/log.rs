//! Around every request: the guard, then the handler, then one line in the log, one record in the audit, and the counters.
//!
//! What was sent is never written down: no header, no query, no body; parameters are known by their names and sizes.

use std::cell::OnceCell;
use std::net::IpAddr;
use std::time::Instant;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use brain_protocol::JobId;
use tower::ServiceExt as _;

use super::guard::{Pass, share};
use super::serve::Here;
use super::{Desk, Refusal, Side, Site, defect, peer, tries};
use brain_core::PublicRequest;
use brain_store::AuditRecord;
use brain_tunnel::PROBE_HEADER;

/// Where nothing is served.
const NOWHERE: &str = "(none)";
/// Calls that are too many and say too little for the audit.
const UNAUDITED: [&str; 2] = ["/health", "/metrics"];
/// The most parameters of one call in the audit, and the longest name, in characters.
const PARAMETERS: usize = 20;
const NAME: usize = 40;
/// What the sizes of further parameters are added up under, and of those whose names are somebody's text.
const OTHER: &str = "other";

tokio::task_local! {
    /// What is known of the request that this task answers.
    static KNOWN: Known;
}

/// What a handler finds out about a request.
#[derive(Debug, Clone, Default)]
struct Known {
    /// Who sends it.
    caller: OnceCell<String>,
    /// What of the route it is about: a tool.
    about: OnceCell<String>,
    /// The item of the queue that it became.
    item: OnceCell<JobId>,
}

/// Takes note of who sends the request that this task answers: `token:<name>`, a client's id, `admin`.
pub(crate) fn called_by(name: &str) {
    // Outside of a request nobody wants to know.
    let _ = KNOWN.try_with(|known| known.caller.set(name.to_owned()));
}

/// Takes note of which tool the request calls that this task answers. A name that is none is somebody's text, and left out.
pub(crate) fn about(tool: &str) {
    if is_plain_name(tool) {
        let _ = KNOWN.try_with(|known| known.about.set(tool.to_owned()));
    }
}

/// Takes note of which item of the queue the request became that this task answers.
pub(crate) fn became(item: JobId) {
    let _ = KNOWN.try_with(|known| known.item.set(item));
}

impl Site {
    /// The hash by which connections of one address are counted together.
    pub(crate) fn hash_of(&self, address: IpAddr) -> u64 {
        self.desk.room.limits.hash_of(tries::group(address))
    }

    /// Answers a request that came in `here`, and takes note of it.
    pub(crate) async fn answer<B>(&self, request: axum::http::Request<B>, here: &Here) -> Response
    where
        B: axum::body::HttpBody<Data = axum::body::Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let began = Instant::now();
        let desk = &self.desk;
        let request = request.map(Body::new);
        here.pulse.set_address(self.hash_of(peer::address(desk, &request)));
        let route: &str = self.paths.at(request.uri().path()).map_or(NOWHERE, |found| found.value);
        let audited = !UNAUDITED.contains(&route);
        let method = request.method().clone();
        let (at, mut parameters) =
            if audited { (desk.brain.now(), parameters(&request)) } else { (0, Vec::new()) };
        if desk.side == Side::Public
            && let Some(proof) = proof(desk, route, &request)
        {
            return proof;
        }
        let inspected = desk.side == Side::Public && is_inspected(route, &request);
        // Nobody gets to the local listener by the tunnel.
        let tunnel = || (desk.side == Side::Public).then(|| desk.brain.public_address()).flatten();
        let passed = desk.room.guard.check(
            &method,
            request.uri(),
            request.headers(),
            here.address,
            &here.text,
            &tunnel,
        );
        let (mut response, known) = match passed {
            Err(refusal) => (refusal.into_response(), Known::default()),
            Ok(Pass::Preflight(answer)) => (answer, Known::default()),
            Ok(pass) => {
                let answering = async {
                    let response = served(self.router.clone(), request).await;
                    (response, KNOWN.with(Known::clone))
                };
                let (response, known) = KNOWN.scope(Known::default(), answering).await;
                let mut response = in_json(response);
                if let Pass::Shared(origin) = pass {
                    share(response.headers_mut(), origin);
                }
                (response, known)
            }
        };
        if here.pulse.is_evicted() && !response.status().is_success() {
            let message =
                "too many requests are sending their bodies at the same time; send it again";
            response = Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
                .with(header::RETRY_AFTER, HeaderValue::from_static("1"))
                .into_response();
        } else if here.pulse.is_late() && !response.status().is_success() {
            let message = "the body of this request did not come in time; send it again";
            response = Refusal::new(StatusCode::REQUEST_TIMEOUT, "request_timeout", message)
                .into_response();
        }
        let (status, took) = (response.status().as_u16(), began.elapsed());
        let received = here.pulse.received();
        desk.room.counts.answered(route, status, took);
        if received > 0 {
            desk.room.counts.bytes_in.add(received);
        }
        let caller = known.caller.get();
        let client = caller.map_or(AuditRecord::UNKNOWN, String::as_str);
        let took_us = took.as_micros() as u64;
        if status >= 500 {
            tracing::info!(%method, route, status, took_us, client, side = ?desk.side, "answered over HTTP");
        } else {
            tracing::debug!(%method, route, status, took_us, client, side = ?desk.side, "answered over HTTP");
        }
        if inspected {
            desk.brain.record_public_request(PublicRequest {
                at: if audited { at } else { desk.brain.now() },
                method: known_method(&method).to_owned(),
                path: route.to_owned(),
                status,
                took_us,
                client: client.to_owned(),
                bytes: received,
                job_id: known.item.get().copied(),
            });
        }
        if audited {
            if caller.is_none() {
                // Anybody can make up names.
                parameters.clear();
            } else if received > 0 {
                parameters.push(("body".into(), received));
            }
            let operation = match known.about.get() {
                Some(tool) => format!("{method} {route} {tool}"),
                None => format!("{method} {route}"),
            };
            desk.brain.note_call(AuditRecord {
                at,
                client: client.into(),
                operation,
                status,
                took_us,
                parameters,
            });
        }
        response
    }
}

/// Answers the watchdog, which asks through a public address whose name is not accepted before it
/// is proved.
fn proof(desk: &Desk, route: &str, request: &Request) -> Option<Response> {
    let field = |name: &str| request.headers().get(name)?.to_str().ok();
    let question = field(PROBE_HEADER.0).filter(|_| route == "/health")?;
    let proof = desk.brain.tunnel_proof(field("host")?, question)?;
    Some(axum::Json(serde_json::json!({ "status": "ok", "proof": proof })).into_response())
}

/// Whether the owner wants to see that this came in: from outside, and not the watchdog's own look.
fn is_inspected(route: &str, request: &Request) -> bool {
    let probe = route == "/health"
        && request.headers().get(PROBE_HEADER.0).is_some_and(|value| value == PROBE_HEADER.1);
    !probe && peer::is_from_outside(request.extensions(), request.headers())
}

/// A method's name; one that nobody knows is somebody's text, and left out.
fn known_method(method: &Method) -> &str {
    let known = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
    ];
    if known.contains(method) { method.as_str() } else { "(other)" }
}

/// What the router answers. A handler that panics has answered, too.
async fn served(router: Router, request: Request) -> Response {
    let mut answering = pin!(router.oneshot(request));
    std::future::poll_fn(|context| {
        match catch_unwind(AssertUnwindSafe(|| answering.as_mut().poll(context))) {
            Ok(Poll::Ready(Ok(response))) => Poll::Ready(response),
            Ok(Poll::Ready(Err(never))) => match never {},
            Ok(Poll::Pending) => Poll::Pending,
            // What it said stands in the daemon's log.
            Err(_) => Poll::Ready(defect().into_response()),
        }
    })
    .await
}

/// What comes with a request besides its body: names, and sizes in bytes.
fn parameters(request: &Request) -> Vec<(String, u64)> {
    let query = request.uri().query().unwrap_or_default();
    let asked = form_urlencoded::parse(query.as_bytes())
        .map(|(name, value)| (name.into_owned(), value.len()));
    let ours = |name: &str| name.starts_with("x-brain-") || name == "idempotency-key";
    let fields = request.headers().iter().filter(|(name, _)| ours(name.as_str()));
    let fields = fields.map(|(name, value)| (name.as_str().to_owned(), value.len()));
    let (mut told, mut other) = (Vec::new(), None::<u64>);
    for (name, size) in asked.chain(fields) {
        if told.len() < PARAMETERS && is_plain_name(&name) {
            told.push((name, size as u64));
        } else {
            *other.get_or_insert(0) += (name.len() + size) as u64;
        }
    }
    told.extend(other.map(|size| (OTHER.to_owned(), size)));
    told
}

/// Whether this may be the name of a parameter, and no secret that stands where a name should.
fn is_plain_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=NAME).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with("brain_")
}

/// A refusal that a library wrote as plain text, or without a word, as ours are.
fn in_json(response: Response) -> Response {
    let status = response.status();
    if !(status.is_client_error() || status.is_server_error()) || !is_plain(response.headers()) {
        return response;
    }
    let (error, message) = match status {
        StatusCode::NOT_FOUND => {
            ("not_found", "there is nothing here; /openapi.json lists what there is")
        }
        StatusCode::METHOD_NOT_ALLOWED => {
            ("method_not_allowed", "the field Allow names the methods that are served here")
        }
        StatusCode::PAYLOAD_TOO_LARGE => ("too_large", "the body is too large"),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            ("unsupported_content_type", "this content type is not taken here")
        }
        StatusCode::REQUEST_TIMEOUT => ("request_timeout", "the request did not come in time"),
        status if status.is_server_error() => {
            ("internal", "a defect in brain ended this request; please report it")
        }
        _ => ("bad_request", "this request cannot be read; /openapi.json says what is expected"),
    };
    let (mut parts, _) = response.into_parts();
    let (told, body) = Refusal::new(status, error, message).into_response().into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.extend(told.headers);
    Response::from_parts(parts, Body::new(body))
}

fn is_plain(headers: &HeaderMap) -> bool {
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
        let found = |query: &str| {
            parameters(&Request::builder().uri(format!("/x?{query}")).body(Body::empty()).unwrap())
        };
        let many: String = (0..100).map(|at| format!("n{at:02}=1&")).collect();
        let many = found(&many);
        assert_eq!(
            (many.len(), &many[19], &many[20]),
            (21, &("n19".into(), 1), &("other".into(), 80 * 4))
        );
        let long = "n".repeat(NAME);
        let text = format!("brain_pt_secret&a%20thought&{long}n&=&{long}=12");
        assert_eq!(found(&text), [(long, 2), ("other".to_owned(), 15 + 9 + 41)]);
    }

    #[tokio::test]
    async fn a_handler_that_panics_is_a_refusal_like_others() {
        let broken = || async { panic!("at a place that nobody outside is told of") };
        let router = axum::Router::<()>::new().route(
            "/",
            axum::routing::get(move || async move {
                broken().await;
            }),
        );
        let request = Request::builder().uri("/").body(Body::empty()).unwrap();
        let refused = served(router, request).await;
        assert_eq!(refused.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let body = axum::body::to_bytes(refused.into_body(), 1000).await.unwrap();
        let text = std::str::from_utf8(&body).unwrap();
        assert!(
            text.contains("\"error\":\"internal\"") && !text.contains("nobody outside"),
            "{text}"
        );
    }

    #[tokio::test]
    async fn what_a_library_refuses_is_json_and_the_rest_is_left_alone() {
        let allow = [(header::ALLOW, "GET")];
        let refused = in_json((StatusCode::METHOD_NOT_ALLOWED, allow).into_response());
        assert_eq!(refused.headers()[header::ALLOW], "GET");
        assert_eq!(refused.headers()[header::CONTENT_TYPE], "application/json");
        let body = axum::body::to_bytes(refused.into_body(), 1000).await.unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["error"], "method_not_allowed");
        let text = in_json((StatusCode::BAD_REQUEST, "Failed to parse <x>").into_response());
        assert_eq!(text.headers()[header::CONTENT_TYPE], "application/json");
        let page = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
        let page = in_json((StatusCode::BAD_REQUEST, page, "<p>").into_response());
        assert_eq!(page.headers()[header::CONTENT_TYPE], "text/html; charset=utf-8");
        let fine = in_json((StatusCode::OK, "text").into_response());
        assert_eq!(fine.headers()[header::CONTENT_TYPE], "text/plain; charset=utf-8");
    }
}
