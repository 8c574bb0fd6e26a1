//! `/voice`: the telephony provider's webhooks. Checks whose they are, makes a turn of what came, and says the answer in the provider's markup.
//!
//! Nothing is kept between two turns: what was asked and how often nobody answered stands in the address that the provider calls next, and
//! is signed with it. Once the signature held, the answer is always 200 with markup: a caller never hears of an error.

mod signed;
mod upstream;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use brain_protocol::{VoiceEvent, VoiceReply, VoiceTurn};
use utoipa::openapi::{Content, Ref, RefOr, ResponseBuilder};
use utoipa::{OpenApi, PartialSchema as _, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{AppState, HttpError};
use brain_core::Brain;
use brain_voice::twiml::{VoiceStyle, twiml};

use signed::{Signed, signed};
use upstream::Tunnels;

/// Where a call begins.
const FIRST: &str = "/voice";
/// Everything below, where somebody else answers.
const BELOW: &str = "/voice/{*rest}";
/// How long the brain may take: the provider waits 15 seconds, its network and the tunnel's included.
const DEADLINE: Duration = Duration::from_secs(9);
/// No call has more turns.
const TURNS: u32 = 10_000;

/// What the door remembers of the telephone, for both listeners.
#[derive(Default)]
pub(super) struct Telephone {
    tunnels: Tunnels,
    complained: AtomicBool,
    doubted: AtomicBool,
}

impl Telephone {
    /// Says in the log what is missing; once, as anybody may ask.
    fn complain(&self, missing: &str) {
        if !self.complained.swap(true, Ordering::Relaxed) {
            tracing::error!("a call over /voice was refused: {missing}");
        }
    }

    /// Says in the log, once, what a signature was checked with that did not hold: a stranger's never does, and the provider's does not
    /// when this is wrong.
    fn doubt(&self, public: &str) {
        if !self.doubted.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "a request to /voice was refused: it is not signed with the telephony account's auth token for an address that begins \
                 with {public}; if calls end with an error of the provider's, compare both with its console; this is said once"
            );
        }
    }
}

/// What is served, and what of it the OpenAPI document says.
pub(super) fn routes(brain: &Brain) -> OpenApiRouter<AppState> {
    match brain.config().voice() {
        None => OpenApiRouter::new(),
        Some(voice) if voice.upstream.is_some() => OpenApiRouter::with_openapi(Upstream::openapi())
            .route(FIRST, any(passed_on))
            .route(BELOW, any(passed_on)),
        Some(_) => OpenApiRouter::new()
            .routes(routes!(incoming, incoming_by_get))
            .routes(routes!(turn))
            .routes(routes!(recording))
            .routes(routes!(transcription))
            .routes(routes!(status)),
    }
}

/// What an upstream answers below `/voice`, for those who count requests by their path.
pub(super) fn below(brain: &Brain) -> Option<&'static str> {
    brain.config().voice().filter(|voice| voice.upstream.is_some()).map(|_| BELOW)
}

/// The document of what an upstream answers.
#[derive(OpenApi)]
#[openapi(paths(passed_on))]
struct Upstream;

/// What the telephony provider sends. It sends more, which only counts for the signature.
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[expect(dead_code, reason = "it is the schema of a form whose parameters are read one by one")]
struct CallForm {
    /// The call's id.
    call_sid: String,
    /// The number that calls.
    from: String,
    /// What was typed.
    #[schema(required = false)]
    digits: String,
    /// What was said.
    #[schema(required = false)]
    speech_result: String,
}

/// How `/voice` answers, for the document.
struct Answers;

impl utoipa::IntoResponses for Answers {
    fn responses() -> BTreeMap<String, RefOr<utoipa::openapi::Response>> {
        let refused = [
            (
                "403",
                "`invalid_signature`: the telephony provider did not sign this for this address",
            ),
            ("413", "The body is too large"),
            ("429", "`rate_limited`: too many wrong signatures"),
            ("503", "`not_set_up`: there is nothing to check signatures with"),
        ];
        let markup = Content::builder().schema(Some(String::schema())).build();
        let spoken = ResponseBuilder::new()
            .description("Markup for the provider")
            .content("text/xml", markup);
        let refused = refused.map(|(status, what)| {
            let body = Content::builder().schema(Some(Ref::from_schema_name("ErrorBody"))).build();
            let response =
                ResponseBuilder::new().description(what).content("application/json", body);
            (status.to_owned(), RefOr::T(response.build()))
        });
        [("200".to_owned(), RefOr::T(spoken.build()))].into_iter().chain(refused).collect()
    }
}

/// A call begins.
#[utoipa::path(
    post,
    path = "/voice",
    tag = "voice",
    params(("X-Twilio-Signature" = String, Header, description = "The provider's signature")),
    request_body(content = CallForm, content_type = "application/x-www-form-urlencoded", description = "At most 64 KiB."),
    responses(Answers)
)]
async fn incoming(State(app): State<AppState>, request: Request) -> Result<Response, HttpError> {
    begun(&app, request).await
}

/// A call begins, for a provider that is set to GET.
#[utoipa::path(
    get,
    path = "/voice",
    tag = "voice",
    params(
        ("X-Twilio-Signature" = String, Header, description = "The provider's signature"),
        ("CallSid" = inline(Option<String>), Query, description = "The call's id"),
        ("From" = inline(Option<String>), Query, description = "The number that calls")
    ),
    responses(Answers)
)]
async fn incoming_by_get(
    State(app): State<AppState>,
    request: Request,
) -> Result<Response, HttpError> {
    begun(&app, request).await
}

async fn begun(app: &AppState, request: Request) -> Result<Response, HttpError> {
    let call = signed(app, request).await?;
    Ok(answered(app, &call, VoiceEvent::Incoming).await)
}

/// The caller said or typed something.
#[utoipa::path(
    post,
    path = "/voice/turn",
    tag = "voice",
    params(("X-Twilio-Signature" = String, Header, description = "The provider's signature")),
    request_body(content = CallForm, content_type = "application/x-www-form-urlencoded", description = "At most 64 KiB."),
    responses(Answers)
)]
async fn turn(State(app): State<AppState>, request: Request) -> Result<Response, HttpError> {
    let call = signed(&app, request).await?;
    let (digits, speech) = (call.get("Digits").trim(), call.get("SpeechResult").trim());
    let event = if !digits.is_empty() {
        VoiceEvent::Digits(digits.into())
    } else if speech.is_empty() {
        VoiceEvent::Silence
    } else {
        VoiceEvent::Speech { text: speech.into(), confidence: percent(call.get("Confidence")) }
    };
    Ok(answered(&app, &call, event).await)
}

/// The caller left a message.
#[utoipa::path(
    post,
    path = "/voice/recording",
    tag = "voice",
    params(("X-Twilio-Signature" = String, Header, description = "The provider's signature")),
    request_body(content = CallForm, content_type = "application/x-www-form-urlencoded", description = "At most 64 KiB."),
    responses(Answers)
)]
async fn recording(State(app): State<AppState>, request: Request) -> Result<Response, HttpError> {
    let call = signed(&app, request).await?;
    let event = match (call.get("RecordingSid"), call.get("RecordingUrl")) {
        ("", _) | (_, "") => VoiceEvent::Silence,
        (id, url) => VoiceEvent::Recording {
            id: id.into(),
            url: url.into(),
            seconds: call.get("RecordingDuration").parse().unwrap_or_default(),
        },
    };
    Ok(answered(&app, &call, event).await)
}

/// The text of a message is there.
#[utoipa::path(
    post,
    path = "/voice/transcription",
    tag = "voice",
    params(("X-Twilio-Signature" = String, Header, description = "The provider's signature")),
    request_body(content = CallForm, content_type = "application/x-www-form-urlencoded", description = "At most 64 KiB."),
    responses(Answers)
)]
async fn transcription(
    State(app): State<AppState>,
    request: Request,
) -> Result<Response, HttpError> {
    let call = signed(&app, request).await?;
    let event = VoiceEvent::Transcription {
        id: call.get("RecordingSid").into(),
        text: call.get("TranscriptionText").into(),
    };
    Ok(answered(&app, &call, event).await)
}

/// A call ended.
#[utoipa::path(
    post,
    path = "/voice/status",
    tag = "voice",
    params(("X-Twilio-Signature" = String, Header, description = "The provider's signature")),
    request_body(content = CallForm, content_type = "application/x-www-form-urlencoded", description = "At most 64 KiB."),
    responses(Answers)
)]
async fn status(State(app): State<AppState>, request: Request) -> Result<Response, HttpError> {
    let call = signed(&app, request).await?;
    let event = VoiceEvent::Ended(call.get("CallStatus").into());
    Ok(answered(&app, &call, event).await)
}

/// A call, for the voice agent behind `voice.upstream`, whose answer it gets.
#[utoipa::path(
    post,
    path = "/voice",
    tag = "voice",
    params(("X-Twilio-Signature" = String, Header, description = "The provider's signature")),
    request_body(content = CallForm, content_type = "application/x-www-form-urlencoded", description = "At most 64 KiB."),
    responses(Answers)
)]
async fn passed_on(
    State(app): State<AppState>,
    mut request: Request,
) -> Result<Response, HttpError> {
    let upgrade = hyper::upgrade::on(&mut request);
    let call = signed(&app, request).await?;
    match upstream::pass_on(&app, &call, upgrade).await? {
        Some(response) => Ok(response),
        // Nobody answers there: the caller is told so, not the provider.
        None => Ok(markup(&app, &app.brain.voice.apology(None), 0)),
    }
}

/// Lets the brain work a turn off, and says what it says; or that it cannot.
async fn answered(app: &AppState, call: &Signed, event: VoiceEvent) -> Response {
    let number = |name: &str, most: u32| call.get(name).parse().unwrap_or(0).min(most);
    let turn = VoiceTurn {
        call: call.get("CallSid").into(),
        turn: number("turn", TURNS),
        from: call.get("From").into(),
        event,
        asked: Some(call.get("asked")).filter(|asked| !asked.is_empty()).map(Into::into),
        silences: number("silences", TURNS),
    };
    let again = turn.clone();
    let asking = app.block(move |brain| {
        let caller = brain.voice.telephone_caller(&turn.from)?;
        brain.run(&caller, turn, &brain_core::Silent)
    });
    let spoken = in_time(DEADLINE, asking).await.unwrap_or_else(|why| {
        tracing::error!("a turn of a call could not be worked off: {why}");
        app.brain.voice.apology(Some(&again))
    });
    markup(app, &spoken, again.turn + 1)
}

/// What the brain says within `deadline`; else why not.
async fn in_time(
    deadline: Duration,
    asking: impl Future<Output = Result<Result<VoiceReply, brain_protocol::Fault>, HttpError>>,
) -> Result<VoiceReply, String> {
    match tokio::time::timeout(deadline, asking).await {
        Ok(Ok(Ok(spoken))) => Ok(spoken),
        Ok(Ok(Err(fault))) => Err(fault.to_string()),
        Ok(Err(refusal)) => Err(refusal.message().into()),
        Err(_) => Err(format!("it took longer than {} seconds", deadline.as_secs())),
    }
}

/// An answer as the provider reads it.
fn markup(app: &AppState, spoken: &VoiceReply, next: u32) -> Response {
    let voice = app.brain.config().voice();
    let style = VoiceStyle {
        language: voice.map_or("en-US", |voice| &voice.language),
        voice: voice.and_then(|voice| voice.voice.as_deref()),
        base: FIRST,
        next,
    };
    ([(header::CONTENT_TYPE, "text/xml; charset=utf-8")], twiml(spoken, &style)).into_response()
}

/// A probability as a percentage.
fn percent(text: &str) -> Option<u8> {
    let value: f32 = text.parse().ok()?;
    (0.0..=1.0).contains(&value).then(|| (value * 100.0).round() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_brain_that_fails_or_is_too_slow_is_not_waited_for() {
        let told = in_time(Duration::from_millis(10), std::future::pending()).await;
        assert!(told.is_err_and(|why| why.contains("took longer")), "it never answers");
        let spoken =
            VoiceReply { say: vec!["x".into()], then: brain_protocol::VoiceAction::HangUp };
        // A panic comes as a refusal.
        assert!(
            in_time(DEADLINE, async { Err(super::super::defect()) })
                .await
                .is_err_and(|why| why.contains("defect"))
        );
        let fault =
            brain_protocol::Fault::new(brain_protocol::FaultCode::DiskFull, "the disk is full");
        let told = in_time(DEADLINE, async { Ok(Err(fault)) }).await;
        assert!(told.is_err_and(|why| why.contains("the disk is full")));
        let soon = async {
            tokio::task::yield_now().await;
            Ok(Ok(spoken.clone()))
        };
        assert_eq!(in_time(DEADLINE, soon).await, Ok(spoken.clone()));
    }

    #[test]
    fn a_probability_is_a_percentage() {
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
