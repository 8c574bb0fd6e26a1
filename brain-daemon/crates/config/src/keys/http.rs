//! Keys of `[http]` and `[ingest]`.

use super::{Key, MAX_BODY};
use crate::Kind;

pub(super) const KEYS: &[Key] = &[
    Key {
        section: "http",
        name: "local",
        kind: Kind::Address,
        default: "127.0.0.1:3131",
        description: "address of everything that HTTP serves, for this machine, or \"off\"",
    },
    Key {
        section: "http",
        name: "public",
        kind: Kind::Address,
        default: "127.0.0.1:8765",
        description: "address of what a tunnel forwards: no administration, no metrics; or \"off\"",
    },
    Key {
        section: "http",
        name: "base_url",
        kind: Kind::BaseUrl,
        default: "",
        description: "the public address, for example https://brain.example.org; empty: that of \
                      the local listener",
    },
    Key {
        section: "http",
        name: "allowed_hosts",
        kind: Kind::Text,
        default: "",
        description: "further names that requests may be addressed to, with commas between them",
    },
    Key {
        section: "http",
        name: "allowed_origins",
        kind: Kind::Text,
        default: "",
        description: "origins whose web pages may call, for example https://claude.ai, with \
                      commas between them; empty: none",
    },
    Key {
        section: "http",
        name: "admin_token_file",
        kind: Kind::Text,
        default: "",
        description: "file with the owner's token for the admin API: absolute, below ~/, or in \
                      the brain's home; empty: secrets/admin-token",
    },
    Key {
        section: "http",
        name: "connections",
        kind: Kind::Number(1, 100_000),
        default: "512",
        description: "connections served at once on each listener; more wait, and idle ones give \
                      way",
    },
    Key {
        section: "http",
        name: "timeout",
        kind: Kind::Span(1, 60 * 60),
        default: "10s",
        description: "how long a client may take for the head of a request, or send nothing of \
                      its body; six times that for all of it",
    },
    Key {
        section: "http",
        name: "idle_timeout",
        kind: Kind::Span(1, 24 * 60 * 60),
        default: "60s",
        description: "how long a connection is kept between two requests",
    },
    Key {
        section: "http",
        name: "dynamic_registration",
        kind: Kind::Word(&["true", "false"]),
        default: "false",
        description: "whether clients may register themselves (RFC 7591); they may only ask for \
                      consent",
    },
    Key {
        section: "http",
        name: "client_documents",
        kind: Kind::Word(&["fetch", "known"]),
        default: "fetch",
        description: "clients that name themselves by the address of a document: fetch it, or \
                      take only those known by a copy",
    },
    Key {
        section: "ingest",
        name: "rate",
        kind: Kind::Rate,
        default: "100/10s",
        description: "calls of one client to /ingest and /mcp in a span of time, or \"off\"",
    },
    Key {
        section: "ingest",
        name: "daily_pages",
        kind: Kind::Number(0, 1_000_000_000),
        default: "50000",
        description: "pages that one client may write over HTTP in a day; 0: as many as it likes",
    },
    Key {
        section: "ingest",
        name: "daily_bytes",
        kind: Kind::Number(0, 1_000_000_000_000),
        default: "1073741824",
        description: "bytes that one client may write over HTTP in a day; 0: as many as it likes",
    },
    Key {
        section: "ingest",
        name: "max_bytes",
        kind: Kind::Number(1, MAX_BODY),
        default: "1048576",
        description: "the largest body, in bytes",
    },
    Key {
        section: "ingest",
        name: "queue",
        kind: Kind::Number(1, 100_000_000),
        default: "100000",
        description: "items that may wait to be made pages; more are refused",
    },
];
