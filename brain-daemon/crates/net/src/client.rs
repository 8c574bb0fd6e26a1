//! What goes out, for real: the bounds of each kind of call.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use url::Url;

use super::document::{self, Rules};
use super::link::Wire;
use super::way::{Bounds, Way};
use super::{
    Answer, Call, Document, DownloadTrouble, Link, Outgoing, SystemResolver, Trouble, WebPage,
    address, download, web,
};

/// How much of an answer is read for the owner, in bytes.
const MOST: usize = 1024 * 1024;
/// How long an answer may take for the owner.
const WITHIN: Duration = Duration::from_secs(10);

/// What goes out, for real.
pub struct Client {
    way: Way,
    /// What a stranger's address must be, of a document, of a web page and of a file.
    documents: Rules,
    pages: Rules,
    files: Rules,
}

impl Client {
    /// With the system's resolver and its certificates. Does nothing yet.
    #[must_use]
    pub fn new() -> Self {
        let way = Way { resolver: Arc::new(SystemResolver), roots: Vec::new() };
        Self { way, documents: Rules::STRICT, pages: Rules::PAGES, files: Rules::FILES }
    }

    /// With these in their place; `rules` for documents.
    #[cfg(test)]
    pub(super) fn with(
        resolver: Arc<dyn super::Resolver>,
        roots: Vec<reqwest::Certificate>,
        rules: Rules,
    ) -> Self {
        Self { way: Way { resolver, roots }, documents: rules, ..Self::new() }
    }

    /// With these in their place; `rules` for web pages.
    #[cfg(test)]
    pub(super) fn with_pages(resolver: Arc<dyn super::Resolver>, rules: Rules) -> Self {
        Self { way: Way { resolver, roots: Vec::new() }, pages: rules, ..Self::new() }
    }

    /// With these in their place; `rules` for files.
    #[cfg(test)]
    pub(super) fn with_files(resolver: Arc<dyn super::Resolver>, rules: Rules) -> Self {
        Self { way: Way { resolver, roots: Vec::new() }, files: rules, ..Self::new() }
    }
}

impl Default for Client {
    fn default() -> Self {
        Self::new()
    }
}

impl Outgoing for Client {
    fn document(&self, url: &str) -> Result<Document, Trouble> {
        document::read(&self.way, &self.documents, url)
    }

    fn call(&self, call: &Call<'_>) -> Result<Answer, Trouble> {
        match (call.url.scheme(), call.public) {
            ("https", _) | ("http", false) => {}
            _ => return Err(Trouble::Address("the address must begin with https://")),
        }
        let admits: Option<fn(_) -> _> = if call.public { Some(address::is_public) } else { None };
        self.way.exchange(call, &Bounds { admits, most: MOST, within: WITHIN })
    }

    fn web_page(&self, url: &str) -> Result<WebPage, Trouble> {
        web::read(&self.way, &self.pages, url)
    }

    fn download(
        &self,
        url: &str,
        to: &Path,
        on: &mut dyn FnMut(u64, Option<u64>) -> bool,
    ) -> Result<u64, DownloadTrouble> {
        download::fetch(&self.way, &self.files, url, to, download::MOST, on)
    }

    fn link(&self, base: &Url) -> Result<Box<dyn Link>, Trouble> {
        Ok(Box::new(Wire::new(self.way.clone(), base)?))
    }
}
