//! `/voice`: the telephony provider's webhooks. Checks whose they are, makes a turn of what came, and says the answer in the provider's markup.
//!
//! Nothing is kept between two turns: what was asked and how often nobody answered stands in the address that the provider calls next, and
//! is signed with it. Once the signature held, the answer is always 200 with markup: a caller never hears of an error.

mod signed;
mod upstream;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use brain_protocol::{Reply, Spoken, VoiceEvent, VoiceTurn};

use super::{Desk, Refusal};
use crate::brain::Brain;
use crate::telephony::twiml::{Manner, twiml};

use signed::{Signed, signed};
use upstream::Tunnels;

/// Where a call begins.
const FIRST: &str = "/voice";
/// The paths of what follows.
const TURN: &str = "/voice/turn";
const RECORDING: &str = "/voice/recording";
const TRANSCRIPTION: &str = "/voice/transcription";
const STATUS: &str = "/voice/status";
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

/// The paths that are served, for who counts; none when the telephone is not switched on.
pub(super) fn paths(brain: &Brain) -> &'static [&'static str] {
    match brain.config().voice() {
        None => &[],
        Some(voice) if voice.upstream.is_some() => &[FIRST, BELOW],
        Some(_) => &[FIRST, TURN, RECORDING, TRANSCRIPTION, STATUS],
    }
}

/// What is served. No interface for clients: the OpenAPI document leaves it out.
pub(super) fn routes(brain: &Brain) -> Router<Desk> {
    let router = Router::new();
    match brain.config().voice() {
        None => router,
        Some(voice) if voice.upstream.is_some() => {
            router.route(FIRST, any(passed_on)).route(BELOW, any(passed_on))
        }
        Some(_) => router
            .route(FIRST, get(incoming).post(incoming))
            .route(TURN, post(turn))
            .route(RECORDING, post(recording))
            .route(TRANSCRIPTION, post(transcription))
            .route(STATUS, post(status)),
    }
}

async fn incoming(State(desk): State<Desk>, request: Request) -> Result<Response, Refusal> {
    let call = signed(&desk, request).await?;
    Ok(answered(&desk, &call, VoiceEvent::Incoming).await)
}

async fn turn(State(desk): State<Desk>, request: Request) -> Result<Response, Refusal> {
    let call = signed(&desk, request).await?;
    let (digits, speech) = (call.get("Digits").trim(), call.get("SpeechResult").trim());
    let event = if !digits.is_empty() {
        VoiceEvent::Digits(digits.into())
    } else if speech.is_empty() {
        VoiceEvent::Silence
    } else {
        VoiceEvent::Speech { text: speech.into(), confidence: percent(call.get("Confidence")) }
    };
    Ok(answered(&desk, &call, event).await)
}

async fn recording(State(desk): State<Desk>, request: Request) -> Result<Response, Refusal> {
    let call = signed(&desk, request).await?;
    let event = match (call.get("RecordingSid"), call.get("RecordingUrl")) {
        ("", _) | (_, "") => VoiceEvent::Silence,
        (id, url) => VoiceEvent::Recording {
            id: id.into(),
            url: url.into(),
            seconds: call.get("RecordingDuration").parse().unwrap_or_default(),
        },
    };
    Ok(answered(&desk, &call, event).await)
}

async fn transcription(State(desk): State<Desk>, request: Request) -> Result<Response, Refusal> {
    let call = signed(&desk, request).await?;
    let event = VoiceEvent::Transcription {
        id: call.get("RecordingSid").into(),
        text: call.get("TranscriptionText").into(),
    };
    Ok(answered(&desk, &call, event).await)
}

async fn status(State(desk): State<Desk>, request: Request) -> Result<Response, Refusal> {
    let call = signed(&desk, request).await?;
    let event = VoiceEvent::Ended(call.get("CallStatus").into());
    Ok(answered(&desk, &call, event).await)
}

async fn passed_on(State(desk): State<Desk>, mut request: Request) -> Result<Response, Refusal> {
    let upgrade = hyper::upgrade::on(&mut request);
    let call = signed(&desk, request).await?;
    match upstream::pass_on(&desk, &call, upgrade).await? {
        Some(response) => Ok(response),
        // Nobody answers there: the caller is told so, not the provider.
        None => Ok(markup(&desk, &desk.brain.apology(None), 0)),
    }
}

/// Lets the brain work a turn off, and says what it says; or that it cannot.
async fn answered(desk: &Desk, call: &Signed, event: VoiceEvent) -> Response {
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
    let asking = desk.block(move |brain| {
        let caller = brain.telephone_caller(&turn.from)?;
        brain.answer(&caller, brain_protocol::Request::Voice(turn), &crate::brain::Silent)
    });
    let spoken = in_time(DEADLINE, asking).await.unwrap_or_else(|why| {
        tracing::error!("a turn of a call could not be worked off: {why}");
        desk.brain.apology(Some(&again))
    });
    markup(desk, &spoken, again.turn + 1)
}

/// What the brain says within `deadline`; else why not.
async fn in_time(
    deadline: Duration,
    asking: impl Future<Output = Result<Result<Reply, brain_protocol::Fault>, Refusal>>,
) -> Result<Spoken, String> {
    match tokio::time::timeout(deadline, asking).await {
        Ok(Ok(Ok(Reply::Spoken(spoken)))) => Ok(spoken),
        Ok(Ok(Ok(_))) => Err("the brain answered something else".into()),
        Ok(Ok(Err(fault))) => Err(fault.to_string()),
        Ok(Err(refusal)) => Err(refusal.message().into()),
        Err(_) => Err(format!("it took longer than {} seconds", deadline.as_secs())),
    }
}

/// An answer as the provider reads it.
fn markup(desk: &Desk, spoken: &Spoken, next: u32) -> Response {
    let voice = desk.brain.config().voice();
    let manner = Manner {
        language: voice.as_ref().map_or("en-US", |voice| &voice.language),
        voice: voice.as_ref().and_then(|voice| voice.voice.as_deref()),
        base: FIRST,
        next,
    };
    ([(header::CONTENT_TYPE, "text/xml; charset=utf-8")], twiml(spoken, &manner)).into_response()
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
        let spoken = Spoken { say: vec!["x".into()], then: brain_protocol::VoiceThen::HangUp };
        // A panic comes as a refusal.
        assert!(
            in_time(DEADLINE, async { Err(super::super::defect()) })
                .await
                .is_err_and(|why| why.contains("defect"))
        );
        let fault = brain_protocol::Fault::new(brain_protocol::FaultCode::DiskFull, "the disk is full");
        let told = in_time(DEADLINE, async { Ok(Err(fault)) }).await;
        assert!(told.is_err_and(|why| why.contains("the disk is full")));
        let soon = async {
            tokio::task::yield_now().await;
            Ok(Ok(Reply::Spoken(spoken.clone())))
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
