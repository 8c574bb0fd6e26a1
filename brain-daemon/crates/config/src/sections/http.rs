//! `[http]` and `[ingest]`.

use std::net::SocketAddr;
use std::time::Duration;

use crate::rules::{address, base_url, boolean, limit, list, number, path, rate, span, word};
use crate::values::{HomePath, Rate};

/// The upper limit of `ingest.max_bytes`, in bytes.
pub const MAX_BODY: u64 = 5_000_000;

/// The handling of clients whose id is the URL of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientDocuments {
    /// The document is fetched.
    Fetch,
    /// Only the built-in copies are accepted.
    Known,
}

section! {
    /// The HTTP listeners.
    HttpConfig [http]

    local: Option<SocketAddr> = address(), "127.0.0.1:3131",
        "address of the local listener, which serves everything; or \"off\"";
    public: Option<SocketAddr> = address(), "127.0.0.1:8765",
        "address of the public listener, for a tunnel: no administration, no metrics; or \"off\"";
    base_url: Option<String> = base_url(), "",
        "public address, for example https://brain.example.org: the OAuth issuer; empty: the local \
         listener's";
    allowed_hosts: Vec<String> = list(), "",
        "further host names that requests can use, separated by commas";
    allowed_origins: Vec<String> = list(), "",
        "origins whose web pages can call brain, for example https://claude.ai, separated by \
         commas; empty: none";
    admin_token_file: Option<HomePath> = path(), "",
        "file with the admin token: absolute, below ~/, or in brain's home; empty: \
         secrets/admin-token";
    connections: usize = number(1, 100_000), "512",
        "maximum number of connections of each listener; beyond it, idle connections are closed";
    timeout: Duration = span(1, 60 * 60), "10s",
        "time limit for the head of a request, and for a pause in its body; the whole body may \
         take six times as long";
    idle_timeout: Duration = span(1, 24 * 60 * 60), "60s",
        "how long a connection is kept between two requests";
    dynamic_registration: bool = boolean(), "false",
        "whether clients can register themselves (RFC 7591); they still need consent";
    client_documents: ClientDocuments = word(&[
            ("fetch", ClientDocuments::Fetch),
            ("known", ClientDocuments::Known),
        ]), "fetch",
        "clients whose id is the URL of a document: fetch it, or accept only the built-in copies \
         (known)";
}

section! {
    /// Writing over HTTP.
    IngestConfig [ingest]

    rate: Option<Rate> = rate(), "100/10s",
        "maximum writing calls of one client over HTTP in a period, or \"off\"";
    daily_pages: Option<u64> = limit(1_000_000_000), "50000",
        "maximum pages that one client writes over HTTP in a day (UTC); 0: no limit";
    daily_bytes: Option<u64> = limit(1_000_000_000_000), "1073741824",
        "maximum bytes that one client writes over HTTP in a day (UTC); 0: no limit";
    max_bytes: usize = number(1, MAX_BODY), "1048576",
        "maximum size of a body in bytes";
    documents: bool = boolean(), "false",
        "whether /ingest accepts PDF files, office documents, mail and images, keeps each and makes \
         a page of its text; they can have pages.max_attachment_mb";
    queue: u64 = number(1, 100_000_000), "100000",
        "maximum number of jobs in the queue; further items are refused";
}
