//! The HTTP client of the daemon, with the limits of each kind of request.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use brain_base::outgoing::OutgoingLog;
use url::Url;

use super::document::{self, Rules};
use super::request::{Connector, Limits};
use super::retrying_client::PooledClient;
use super::{
    DownloadError, Error, FetchedDocument, HttpClient, HttpRequest, HttpResponse, RetryingClient,
    SystemResolver, WebPage, address, download, web_page,
};

/// Maximum size of a response from a configured address, in bytes.
const MAX_BYTES: usize = 1024 * 1024;
/// Time limit for a response from a configured address.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The HTTP client of the daemon.
pub struct Client {
    connector: Connector,
    /// Rules for untrusted addresses of JSON documents.
    documents: Rules,
    /// Rules for untrusted addresses of web pages.
    pages: Rules,
    /// Rules for untrusted addresses of files.
    files: Rules,
}

impl Client {
    /// Creates a client with the system's resolver and certificates. No I/O.
    #[must_use]
    pub fn new() -> Self {
        let connector = Connector::new(Arc::new(SystemResolver), Vec::new());
        Self { connector, documents: Rules::STRICT, pages: Rules::PAGES, files: Rules::FILES }
    }

    /// Creates a client with `rules` for documents.
    #[cfg(test)]
    pub(super) fn with_documents(
        resolver: Arc<dyn super::Resolver>,
        roots: Vec<reqwest::Certificate>,
        rules: Rules,
    ) -> Self {
        Self { connector: Connector::new(resolver, roots), documents: rules, ..Self::new() }
    }

    /// Creates a client with `rules` for web pages.
    #[cfg(test)]
    pub(super) fn with_pages(resolver: Arc<dyn super::Resolver>, rules: Rules) -> Self {
        Self { connector: Connector::new(resolver, Vec::new()), pages: rules, ..Self::new() }
    }

    /// Creates a client with `rules` for files.
    #[cfg(test)]
    pub(super) fn with_files(resolver: Arc<dyn super::Resolver>, rules: Rules) -> Self {
        Self { connector: Connector::new(resolver, Vec::new()), files: rules, ..Self::new() }
    }
}

impl Default for Client {
    fn default() -> Self {
        Self::new()
    }
}

impl HttpClient for Client {
    fn set_log(&self, log: Arc<dyn OutgoingLog>) {
        self.connector.recorder.set(log);
    }

    fn document(&self, url: &str) -> Result<FetchedDocument, Error> {
        document::read(&self.connector, &self.documents, url)
    }

    fn call(&self, call: &HttpRequest<'_>) -> Result<HttpResponse, Error> {
        match (call.url.scheme(), call.must_be_public) {
            ("https", _) | ("http", false) => {}
            _ => return Err(Error::InvalidAddress("the address must begin with https://")),
        }
        let is_allowed: Option<fn(_) -> _> =
            if call.must_be_public { Some(address::is_public) } else { None };
        self.connector
            .exchange(call, &Limits { is_allowed, max_bytes: MAX_BYTES, timeout: TIMEOUT })
    }

    fn web_page(&self, url: &str) -> Result<WebPage, Error> {
        web_page::read(&self.connector, &self.pages, url)
    }

    fn download(
        &self,
        url: &str,
        to: &Path,
        on_progress: &mut dyn FnMut(u64, Option<u64>) -> bool,
    ) -> Result<u64, DownloadError> {
        download::fetch(&self.connector, &self.files, url, to, download::MAX_BYTES, on_progress)
    }

    fn retrying_client(&self, base: &Url) -> Result<Box<dyn RetryingClient>, Error> {
        Ok(Box::new(PooledClient::new(self.connector.clone(), base)?))
    }
}
