//! One value of every reply about access and jobs, in wire order.

use brain_protocol::*;

use crate::wire_replies::texts;

pub(crate) fn replies() -> Vec<(&'static str, Reply)> {
    vec![
        ("clients", Reply::Clients(Clients { clients: vec![client()] })),
        (
            "client_registered",
            Reply::ClientRegister(ClientRegisterReply {
                client_id: "brain_cl_x".into(),
                client_secret: Some(Secret::new("brain_cs_x")),
                client_name: "Phone".into(),
                scope: "read write".into(),
                sources: texts(&["work"]),
                grant_types: texts(&["client_credentials"]),
                redirect_uris: texts(&["https://e.org/cb"]),
                token_ttl: 3600,
            }),
        ),
        (
            "client_changed",
            Reply::Client(ClientReply {
                status: GrantChange::Revoked,
                client: client(),
                tokens_revoked: 300,
            }),
        ),
        ("tokens", Reply::Tokens(Tokens { tokens: vec![token()] })),
        (
            "token_made",
            Reply::TokenCreate(TokenCreateReply {
                token: Secret::new("brain_pt_x"),
                info: token(),
            }),
        ),
        (
            "token_revoked",
            Reply::TokenRevoke(TokenRevokeReply { status: GrantChange::Revoked, info: token() }),
        ),
        (
            "admin_token",
            Reply::AdminToken(AdminTokenReply {
                token: Secret::new("brain_pt_y"),
                path: "/h/secrets/admin-token".into(),
                rotated: true,
            }),
        ),
        (
            "audit",
            Reply::Audit(Audit {
                calls: vec![AuditCall {
                    at: "2026-11-21T10:30:45.123Z".into(),
                    client: "token:phone".into(),
                    operation: "POST /ingest".into(),
                    status: 401,
                    took_us: 300,
                    parameters: texts(&["body 12"]),
                }],
                truncated: true,
            }),
        ),
        (
            "jobs",
            Reply::Jobs(Jobs {
                jobs: JobState::ALL.map(job).to_vec(),
                counts: JobCounts { waiting: 1, failed: 2, stored: 3 },
                next: Some(JobId(251)),
            }),
        ),
        ("job", Reply::Job(job(JobState::Failed))),
        ("jobs_retried", Reply::JobRetry(JobRetryReply { retried: 4 })),
        ("mcp", Reply::Mcp(McpReply)),
        (
            "connect_test",
            Reply::ConnectTest(ConnectReport {
                url: "https://e.org/mcp".into(),
                status: StepStatus::Failed,
                steps: vec![Step {
                    name: "challenge".into(),
                    status: StepStatus::Failed,
                    message: "no WWW-Authenticate".into(),
                    hint: Some("h".into()),
                    took_ms: 70_000,
                }],
            }),
        ),
    ]
}

fn client() -> Client {
    Client {
        client_id: "brain_cl_x".into(),
        client_name: "Phone".into(),
        scope: "read write".into(),
        sources: texts(&["work"]),
        grant_types: texts(&["authorization_code", "refresh_token"]),
        redirect_uris: texts(&["https://e.org/cb"]),
        token_ttl: 3600,
        public: true,
        registered_by: "dynamic".into(),
        created_at: "2026-11-21T10:00:00.000Z".into(),
        last_used_at: Some("2026-11-21T11:00:00.000Z".into()),
        revoked_at: None,
    }
}

fn token() -> TokenInfo {
    TokenInfo {
        id: "ab12".into(),
        kind: TokenKind::Access,
        name: "Phone".into(),
        client_id: Some("brain_cl_x".into()),
        scope: "write".into(),
        sources: Vec::new(),
        created_at: "2026-11-21T10:00:00.000Z".into(),
        expires_at: Some("2026-11-21T11:00:00.000Z".into()),
        revoked_at: None,
    }
}

fn job(status: JobState) -> IngestJob {
    let failed = status == JobState::Failed;
    let some = |text: &str| Some(text.to_owned());
    IngestJob {
        job_id: JobId(17),
        status,
        content_hash: "ab".repeat(32),
        source_id: "default".into(),
        client: "brain_cl_x".into(),
        content_type: "text/html".into(),
        bytes: 70_000,
        received_at: "2026-11-21T10:00:00.000Z".into(),
        finished_at: failed.then(|| "2026-11-21T10:00:07.000Z".into()),
        attempts: 3,
        retry_at: if failed { None } else { some("2026-11-21T10:00:01.000Z") },
        slug: if failed { None } else { some("inbox/2026-11-21-abababab") },
        error: failed.then(|| JobError { code: "disk_full".into(), message: "m".into() }),
    }
}
