//! One value of every request and reply of the tunnel and the telephone, in wire order.

use brain_protocol::*;

fn time() -> String {
    "2026-11-21T10:30:45.123Z".into()
}

fn some_text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn turn(event: VoiceEvent) -> VoiceTurn {
    VoiceTurn {
        call: "CA1".into(),
        turn: 300,
        from: "+15550100".into(),
        event,
        asked: some_text("note"),
        silences: 2,
    }
}

/// Every event of a call.
pub(crate) fn events() -> Vec<(&'static str, VoiceEvent)> {
    let (id, url) = ("RE1".to_owned(), "https://api.example/RE1".to_owned());
    vec![
        ("incoming", VoiceEvent::Incoming),
        ("speech", VoiceEvent::Speech { text: "🦀".into(), confidence: Some(93) }),
        ("digits", VoiceEvent::Digits("12#".into())),
        ("silence", VoiceEvent::Silence),
        ("recording", VoiceEvent::Recording { id: id.clone(), url, seconds: 70 }),
        ("transcription", VoiceEvent::Transcription { id, text: "t".into() }),
        ("ended", VoiceEvent::Ended("completed".into())),
    ]
}

/// Every action of a reply to a call.
pub(crate) fn actions() -> Vec<(&'static str, VoiceAction)> {
    vec![
        ("listen", VoiceAction::Listen { asked: some_text("question"), silences: 1 }),
        ("record", VoiceAction::Record),
        ("hang_up", VoiceAction::HangUp),
        ("nothing", VoiceAction::Nothing),
    ]
}

pub(crate) fn requests() -> Vec<Request> {
    vec![
        Request::TunnelSetup(TunnelSetup),
        Request::TunnelStart(TunnelStart),
        Request::TunnelStop(TunnelStop),
        Request::TunnelStatus(TunnelStatus),
        Request::TunnelRequests(TunnelRequests { failed: true, limit: 50 }),
        Request::TunnelReplay(TunnelReplay { job_id: JobId(300) }),
        Request::VoiceTurn(turn(VoiceEvent::Incoming)),
    ]
}

pub(crate) fn replies() -> Vec<(&'static str, Reply)> {
    let step = Step {
        name: "agent".into(),
        status: "passed".into(),
        message: "m".into(),
        hint: Some("h".into()),
        took_ms: 70_000,
    };
    let status = TunnelStatusReply {
        provider: "ngrok".into(),
        state: "up".into(),
        message: "m".into(),
        hint: Some("h".into()),
        url: some_text("https://e.org"),
        up_since: Some(time()),
        checked_at: Some(time()),
        next_at: None,
        starts: 300,
        adopted: true,
        forward: 8765,
        telephone: some_text("https://e.org/voice"),
    };
    let request = TunnelRequest {
        at: time(),
        method: "POST".into(),
        path: "/ingest".into(),
        status: 202,
        took_us: 70_000,
        client: "token:phone".into(),
        bytes: 17,
        job_id: Some(JobId(300)),
    };
    vec![
        (
            "tunnel setup",
            Reply::TunnelSetup(TunnelSetupReply { status: "failed".into(), steps: vec![step] }),
        ),
        ("tunnel status", Reply::TunnelStatus(status)),
        (
            "tunnel requests",
            Reply::TunnelRequests(TunnelRequestsReply { requests: vec![request], truncated: true }),
        ),
        (
            "tunnel replay",
            Reply::TunnelReplay(TunnelReplayReply {
                job_id: JobId(300),
                new_job_id: JobId(301),
                status: "waiting".into(),
                message: "m".into(),
            }),
        ),
        ("voice", Reply::Voice(VoiceReply { say: vec!["s".into()], then: VoiceAction::HangUp })),
    ]
}
