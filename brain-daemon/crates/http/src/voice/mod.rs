//! `/voice`: webhooks of the telephony provider.
//!
//! A handler verifies the signature, passes the turn to the brain, and returns its reply as markup.
//! The state of a call is not stored between two turns: it is in the URL that the provider calls
//! next, which the signature covers. If a turn fails, the answer has status 200 and an apology as
//! markup, so that the caller does not hear an error of the provider.

mod signed_request;
mod upstream;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use brain_protocol::{VoiceEvent, VoiceReply, VoiceTurn};
use utoipa::openapi::{Content, RefOr, ResponseBuilder};
use utoipa::{OpenApi, PartialSchema as _, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::http_error::ErrorBody;
use super::openapi::{self, FORM, JSON, Responses, error_responses};
use super::{AppState, HttpError};
use brain_core::Door;
use brain_voice::twiml::{VoiceStyle, twiml};

use signed_request::{SignedRequest, verify};
use upstream::WebSocketPermits;

/// The path of a call's first request.
const PATH: &str = "/voice";
/// All paths below [`PATH`], for `voice.upstream`.
const SUBPATHS: &str = "/voice/{*rest}";
/// The time for a reply of the brain. The provider waits 15 seconds, including the network.
const DEADLINE: Duration = Duration::from_secs(9);
/// The maximum count of turns, and of silences, that is read from a URL.
const MAX_COUNT: u32 = 10_000;

/// The state of telephone calls, for both listeners.
#[derive(Default)]
pub(super) struct Telephone {
    websockets: WebSocketPermits,
    /// Whether a missing setting was logged.
    has_logged_missing: AtomicBool,
    /// Whether an invalid signature was logged.
    has_logged_invalid: AtomicBool,
}

impl Telephone {
    /// Logs which setting is missing. Only once, because any request can cause it.
    fn log_missing(&self, missing: &str) {
        if !self.has_logged_missing.swap(true, Ordering::Relaxed) {
            tracing::error!("a call over /voice was refused: {missing}");
        }
    }

    /// Logs the expected address of an invalid signature, once. With a wrong configuration, even
    /// the provider's signatures are invalid.
    fn log_invalid(&self, public: &str) {
        if !self.has_logged_invalid.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "a request to /voice was refused: it is not signed with the telephony account's \
                    auth token for an address that begins with {public}; if calls end with an \
                    error of the provider's, compare both with its console; this is logged once"
            );
        }
    }
}

pub(super) fn routes(brain: &Door) -> OpenApiRouter<AppState> {
    let routes = match brain.config().voice() {
        None => OpenApiRouter::new(),
        Some(voice) if voice.upstream.is_some() => OpenApiRouter::with_openapi(Upstream::openapi())
            .route(PATH, any(passed_on))
            .route(SUBPATHS, any(passed_on)),
        Some(_) => OpenApiRouter::new()
            .routes(routes!(incoming, incoming_by_get))
            .routes(routes!(turn))
            .routes(routes!(recording))
            .routes(routes!(transcription))
            .routes(routes!(status)),
    };
    openapi::group("voice", None, routes)
}

/// Returns the pattern of the paths that are passed to an upstream, if there is one, for the
/// counters.
pub(super) fn subpaths(brain: &Door) -> Option<&'static str> {
    brain.config().voice().filter(|voice| voice.upstream.is_some()).map(|_| SUBPATHS)
}

/// The OpenAPI document of an upstream.
#[derive(OpenApi)]
#[openapi(paths(passed_on))]
struct Upstream;

/// The form that the provider sends. Its other parameters matter only for the signature.
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[expect(dead_code, reason = "it is the schema of a form whose parameters are read one by one")]
struct CallForm {
    /// The call's id.
    call_sid: String,
    /// The number that calls.
    from: String,
    /// The typed digits.
    #[schema(required = false)]
    digits: String,
    /// The recognized speech.
    #[schema(required = false)]
    speech_result: String,
}

error_responses! {
    CallErrors: ErrorBody, JSON => {
        "403": "`invalid_signature`: the telephony provider did not sign this for this address",
        "413": "The body is too large",
        "429": "`rate_limited`: too many wrong signatures",
        "503": "`not_set_up`: the token or the public address is missing",
    }
}

/// The responses of `/voice`, for the OpenAPI document.
struct VoiceResponses;

impl utoipa::IntoResponses for VoiceResponses {
    fn responses() -> Responses {
        let mut responses = CallErrors::responses();
        let markup = Content::builder().schema(Some(String::schema())).build();
        let success = ResponseBuilder::new()
            .description("Markup for the provider")
            .content("text/xml", markup);
        responses.insert("200".to_owned(), RefOr::T(success.build()));
        // A setting stays missing: the answer has no `Retry-After`.
        if let Some(RefOr::T(not_set_up)) = responses.get_mut("503") {
            not_set_up.headers.clear();
        }
        responses
    }
}

/// A call begins.
#[utoipa::path(
    post,
    path = "/voice",
    params(("X-Twilio-Signature" = String, Header, description = "The provider's signature")),
    request_body(content = CallForm, content_type = FORM, description = "At most 64 KiB."),
    responses(VoiceResponses)
)]
async fn incoming(State(app): State<AppState>, request: Request) -> Result<Response, HttpError> {
    begin_call(&app, request).await
}

/// A call begins, for a provider that is set to GET.
#[utoipa::path(
    get,
    path = "/voice",
    params(
        ("X-Twilio-Signature" = String, Header, description = "The provider's signature"),
        ("CallSid" = inline(Option<String>), Query, description = "The call's id"),
        ("From" = inline(Option<String>), Query, description = "The number that calls")
    ),
    responses(VoiceResponses)
)]
async fn incoming_by_get(
    State(app): State<AppState>,
    request: Request,
) -> Result<Response, HttpError> {
    begin_call(&app, request).await
}

/// Verifies the first request of a call, and answers it.
async fn begin_call(app: &AppState, request: Request) -> Result<Response, HttpError> {
    let call = verify(app, request).await?;
    Ok(answer_turn(app, &call, VoiceEvent::Incoming).await)
}

/// The caller said or typed something.
#[utoipa::path(
    post,
    path = "/voice/turn",
    params(("X-Twilio-Signature" = String, Header, description = "The provider's signature")),
    request_body(content = CallForm, content_type = FORM, description = "At most 64 KiB."),
    responses(VoiceResponses)
)]
async fn turn(State(app): State<AppState>, request: Request) -> Result<Response, HttpError> {
    let call = verify(&app, request).await?;
    let (digits, speech) = (call.parameter("Digits").trim(), call.parameter("SpeechResult").trim());
    let event = if !digits.is_empty() {
        VoiceEvent::Digits(digits.into())
    } else if speech.is_empty() {
        VoiceEvent::Silence
    } else {
        VoiceEvent::Speech {
            text: speech.into(),
            confidence: percent(call.parameter("Confidence")),
        }
    };
    Ok(answer_turn(&app, &call, event).await)
}

/// The caller left a message.
#[utoipa::path(
    post,
    path = "/voice/recording",
    params(("X-Twilio-Signature" = String, Header, description = "The provider's signature")),
    request_body(content = CallForm, content_type = FORM, description = "At most 64 KiB."),
    responses(VoiceResponses)
)]
async fn recording(State(app): State<AppState>, request: Request) -> Result<Response, HttpError> {
    let call = verify(&app, request).await?;
    let event = match (call.parameter("RecordingSid"), call.parameter("RecordingUrl")) {
        ("", _) | (_, "") => VoiceEvent::Silence,
        (id, url) => VoiceEvent::Recording {
            id: id.into(),
            url: url.into(),
            seconds: call.parameter("RecordingDuration").parse().unwrap_or_default(),
        },
    };
    Ok(answer_turn(&app, &call, event).await)
}

/// The transcription of a message is ready.
#[utoipa::path(
    post,
    path = "/voice/transcription",
    params(("X-Twilio-Signature" = String, Header, description = "The provider's signature")),
    request_body(content = CallForm, content_type = FORM, description = "At most 64 KiB."),
    responses(VoiceResponses)
)]
async fn transcription(
    State(app): State<AppState>,
    request: Request,
) -> Result<Response, HttpError> {
    let call = verify(&app, request).await?;
    let event = VoiceEvent::Transcription {
        id: call.parameter("RecordingSid").into(),
        text: call.parameter("TranscriptionText").into(),
    };
    Ok(answer_turn(&app, &call, event).await)
}

/// A call ended.
#[utoipa::path(
    post,
    path = "/voice/status",
    params(("X-Twilio-Signature" = String, Header, description = "The provider's signature")),
    request_body(content = CallForm, content_type = FORM, description = "At most 64 KiB."),
    responses(VoiceResponses)
)]
async fn status(State(app): State<AppState>, request: Request) -> Result<Response, HttpError> {
    let call = verify(&app, request).await?;
    let event = VoiceEvent::Ended(call.parameter("CallStatus").into());
    Ok(answer_turn(&app, &call, event).await)
}

/// Passes a request of a call to the agent at `voice.upstream`, and returns its response.
#[utoipa::path(
    post,
    path = "/voice",
    params(("X-Twilio-Signature" = String, Header, description = "The provider's signature")),
    request_body(content = CallForm, content_type = FORM, description = "At most 64 KiB."),
    responses(VoiceResponses)
)]
async fn passed_on(
    State(app): State<AppState>,
    mut request: Request,
) -> Result<Response, HttpError> {
    let upgrade = hyper::upgrade::on(&mut request);
    let call = verify(&app, request).await?;
    match upstream::forward(&app, &call, upgrade).await? {
        Some(response) => Ok(response),
        // The agent failed: the caller hears an apology.
        None => Ok(markup(&app, &app.brain.apology(None), 0)),
    }
}

/// Answers a turn, or apologizes.
async fn answer_turn(app: &AppState, call: &SignedRequest, event: VoiceEvent) -> Response {
    let number = |name: &str, max: u32| call.parameter(name).parse().unwrap_or(0).min(max);
    let turn = VoiceTurn {
        call: call.parameter("CallSid").into(),
        turn: number("turn", MAX_COUNT),
        from: call.parameter("From").into(),
        event,
        asked: Some(call.parameter("asked")).filter(|asked| !asked.is_empty()).map(Into::into),
        silences: number("silences", MAX_COUNT),
    };
    let failed_turn = turn.clone();
    let reply = app.block(move |brain| {
        let caller = brain.telephone_caller(&turn.from)?;
        brain.run(&caller, turn, &brain_core::NoProgress)
    });
    let reply = wait_for_reply(DEADLINE, reply).await.unwrap_or_else(|reason| {
        tracing::error!("cannot answer a turn of a call: {reason}");
        app.brain.apology(Some(&failed_turn))
    });
    markup(app, &reply, failed_turn.turn + 1)
}

/// Waits for the brain's reply until `deadline`.
///
/// # Errors
/// The reason for the log, when the brain fails or the deadline passes.
async fn wait_for_reply(
    deadline: Duration,
    reply: impl Future<Output = Result<Result<VoiceReply, brain_protocol::Fault>, HttpError>>,
) -> Result<VoiceReply, String> {
    match tokio::time::timeout(deadline, reply).await {
        Ok(Ok(Ok(reply))) => Ok(reply),
        Ok(Ok(Err(fault))) => Err(fault.to_string()),
        Ok(Err(refusal)) => Err(refusal.message().into()),
        Err(_) => Err(format!("it took longer than {} seconds", deadline.as_secs())),
    }
}

/// Returns a reply in the provider's markup; `next` is the number of the next turn.
fn markup(app: &AppState, reply: &VoiceReply, next_turn: u32) -> Response {
    let voice = app.brain.config().voice();
    let style = VoiceStyle {
        language: voice.map_or("en-US", |voice| &voice.language),
        voice: voice.and_then(|voice| voice.voice.as_deref()),
        base_path: PATH,
        next_turn,
    };
    ([(header::CONTENT_TYPE, "text/xml; charset=utf-8")], twiml(reply, &style)).into_response()
}

/// Parses a probability from 0 to 1 as a percentage.
fn percent(text: &str) -> Option<u8> {
    let value: f32 = text.parse().ok()?;
    (0.0..=1.0).contains(&value).then(|| (value * 100.0).round() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_slow_or_failed_reply_is_an_error() {
        let result = wait_for_reply(Duration::from_millis(10), std::future::pending()).await;
        assert!(
            result.is_err_and(|reason| reason.contains("took longer")),
            "the reply never arrives"
        );
        let reply = VoiceReply { say: vec!["x".into()], then: brain_protocol::VoiceAction::HangUp };
        // A panic becomes an HTTP error.
        assert!(
            wait_for_reply(DEADLINE, async { Err(super::super::internal_error()) })
                .await
                .is_err_and(|reason| reason.contains("defect"))
        );
        let fault =
            brain_protocol::Fault::new(brain_protocol::FaultCode::DiskFull, "the disk is full");
        let result = wait_for_reply(DEADLINE, async { Ok(Err(fault)) }).await;
        assert!(result.is_err_and(|reason| reason.contains("the disk is full")));
        let soon = async {
            tokio::task::yield_now().await;
            Ok(Ok(reply.clone()))
        };
        assert_eq!(wait_for_reply(DEADLINE, soon).await, Ok(reply.clone()));
    }

    #[test]
    fn probabilities_become_percentages() {
        for (text, expected) in [
            ("0.9", Some(90)),
            ("1", Some(100)),
            ("0.0", Some(0)),
            ("", None),
            ("1.1", None),
            ("NaN", None),
            ("x", None),
        ] {
            assert_eq!(percent(text), expected, "{text}");
        }
    }
}
