//! Downloads large files from public addresses to the disk, and resumes interrupted downloads.
//!
//! The target of each redirect is checked by the same rules. No credentials are sent.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use reqwest::Response;
use tokio::runtime::Runtime;
use tokio::time::timeout;
use url::Url;

use super::document::{Rules, check};
use super::error::from_reqwest;
use super::recording::OpenExchange;
use super::request::{self, Connector};
use super::web_page::redirect_target;
use super::{DownloadError, Error, HttpRequest, Reason};

/// Maximum size of a file in bytes.
pub(super) const MAX_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// Maximum number of redirects.
const MAX_REDIRECTS: usize = 5;
/// Time limit for a connection, TLS included, and for a name lookup.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit between two chunks.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Interval at which the progress listener is called while no data arrives.
const POLL: Duration = Duration::from_secs(1);

/// Receives the number of bytes received so far and the total, if known. Returns `false` to stop.
pub(super) type DownloadProgress<'a> = &'a mut dyn FnMut(u64, Option<u64>) -> bool;

/// Downloads the file at `text` to `to`, which may hold an interrupted download.
///
/// # Errors
/// [`DownloadError`] when the request or the disk fails, or the listener stops the download. The
/// bytes received so far stay in `to`.
pub(super) fn fetch(
    connector: &Connector,
    rules: &Rules,
    text: &str,
    to: &Path,
    max_bytes: u64,
    on_progress: DownloadProgress<'_>,
) -> Result<u64, DownloadError> {
    let url = check(rules, text)?;
    let runtime = request::runtime()?;
    let mut part = PartialFile::load(to, url.as_str())?;
    let reason = Reason::new("download");
    let download = Download { connector, rules, runtime: &runtime, max_bytes, reason: &reason };
    let result = download.run(&url, &mut part, on_progress);
    // The resolver may still be blocked on a name server.
    runtime.shutdown_background();
    result
}

/// The received part of a file, with the entity tag that identifies its version.
struct PartialFile {
    path: PathBuf,
    /// The address of the whole file.
    url: String,
    /// The length of the received part.
    bytes: u64,
    /// The strong entity tag (RFC 9110 section 8.8.3) of the received part.
    etag: Option<String>,
}

impl PartialFile {
    /// Reads the state of an interrupted download. The received part counts as empty unless it is
    /// of the same address and has a strong entity tag.
    fn load(path: &Path, url: &str) -> io::Result<Self> {
        let mut part = Self { path: path.to_owned(), url: url.to_owned(), bytes: 0, etag: None };
        let source = fs::read_to_string(part.source_path()).unwrap_or_default();
        let etag =
            source.split_once('\n').filter(|(from, _)| *from == url).map(|(_, etag)| etag.trim());
        if let (Some(etag), Ok(meta)) = (etag.filter(|etag| is_strong(etag)), fs::metadata(path)) {
            (part.bytes, part.etag) = (meta.len(), Some(etag.to_owned()));
        }
        Ok(part)
    }

    /// Returns the path of the file that holds the address and the entity tag.
    fn source_path(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".from");
        name.into()
    }

    /// Truncates the file and records the entity tag of the new version.
    fn restart(&mut self, etag: Option<&str>) -> io::Result<File> {
        (self.bytes, self.etag) = (0, etag.filter(|etag| is_strong(etag)).map(str::to_owned));
        let file = File::create(&self.path)?;
        match &self.etag {
            Some(etag) => fs::write(self.source_path(), format!("{}\n{etag}\n", self.url))?,
            None => self.remove_source()?,
        }
        Ok(file)
    }

    fn append(&self) -> io::Result<File> {
        OpenOptions::new().append(true).open(&self.path)
    }

    /// Removes the file with the source address: the download is complete, or cannot be resumed.
    fn remove_source(&self) -> io::Result<()> {
        match fs::remove_file(self.source_path()) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }
}

/// Returns whether an entity tag is strong, so that it identifies the exact bytes.
fn is_strong(etag: &str) -> bool {
    etag.len() > 2
        && etag.starts_with('"')
        && etag.ends_with('"')
        && etag.bytes().all(|b| (0x21..0x7f).contains(&b))
}

/// Parses `bytes 100-199/200` into the first byte and the total length.
fn content_range(text: &str) -> Option<(u64, u64)> {
    let (span, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    Some((span.split_once('-')?.0.parse().ok()?, total.parse().ok()?))
}

struct Download<'a> {
    connector: &'a Connector,
    rules: &'a Rules,
    runtime: &'a Runtime,
    max_bytes: u64,
    reason: &'a Reason,
}

impl Download<'_> {
    fn run(
        &self,
        url: &Url,
        part: &mut PartialFile,
        on_progress: DownloadProgress<'_>,
    ) -> Result<u64, DownloadError> {
        let (mut response, mut exchange) = self.follow_redirects(url, part, on_progress)?;
        // 416: the received part is longer than the server's file is now.
        if response.status().as_u16() == 416 && part.etag.take().is_some() {
            part.bytes = 0;
            (response, exchange) = self.follow_redirects(url, part, on_progress)?;
        }
        let head = request::head(&response);
        if head.header("content-encoding").is_some_and(|how| !how.eq_ignore_ascii_case("identity"))
        {
            return Err(Error::ConnectionBroken(
                "the file is compressed although that was not requested".into(),
            )
            .into());
        }
        let (mut file, total) = match head.status {
            206 => match head.header("content-range").and_then(content_range) {
                Some((from, total)) if from == part.bytes && part.etag.is_some() => {
                    (part.append()?, Some(total))
                }
                _ => {
                    return Err(Error::ConnectionBroken(
                        "the server sent another range than was requested".into(),
                    )
                    .into());
                }
            },
            200 => {
                let file = part.restart(head.header("etag"))?;
                (file, response.content_length())
            }
            other => return Err(Error::Status(other).into()),
        };
        if total.is_some_and(|total| total > self.max_bytes) {
            return Err(Error::TooLarge(self.max_bytes as usize).into());
        }
        if !on_progress(part.bytes, total) {
            return Err(DownloadError::Stopped);
        }
        while let Some(bytes) = self.next(&mut response, part.bytes, total, on_progress)? {
            part.bytes += bytes.len() as u64;
            exchange.note_received(bytes.len());
            if part.bytes > self.max_bytes {
                return Err(Error::TooLarge(self.max_bytes as usize).into());
            }
            file.write_all(&bytes)?;
            if !on_progress(part.bytes, total) {
                return Err(DownloadError::Stopped);
            }
        }
        if let Some(total) = total.filter(|total| *total != part.bytes) {
            let why = format!("the file ends after {} of {total} bytes", part.bytes);
            return Err(Error::ConnectionBroken(why).into());
        }
        exchange.finish();
        file.sync_all()?;
        part.remove_source()?;
        Ok(part.bytes)
    }

    /// Follows redirects. Returns the final response, whose body is not read yet.
    fn follow_redirects(
        &self,
        url: &Url,
        part: &PartialFile,
        on_progress: DownloadProgress<'_>,
    ) -> Result<(Response, OpenExchange), DownloadError> {
        let mut url = url.clone();
        for left in (0..=MAX_REDIRECTS).rev() {
            url.set_fragment(None);
            let (response, exchange) = self.request(&url, part, on_progress)?;
            match redirect_target(&request::head(&response), &url) {
                Some(next) if left > 0 => {
                    exchange.finish();
                    url = check(self.rules, next.as_str())?;
                }
                _ => return Ok((response, exchange)),
            }
        }
        Err(Error::InvalidAddress("the address redirects too often").into())
    }

    fn request(
        &self,
        url: &Url,
        part: &PartialFile,
        on_progress: DownloadProgress<'_>,
    ) -> Result<(Response, OpenExchange), DownloadError> {
        let lookup = async { timeout(CONNECT_TIMEOUT, self.connector.resolve(url)).await };
        let addresses = self
            .runtime
            .block_on(lookup)
            .unwrap_or(Err(Error::Timeout(CONNECT_TIMEOUT.as_secs())))?;
        if !addresses.iter().copied().all(self.rules.is_allowed) {
            return Err(Error::NotPublic.into());
        }
        let builder = self
            .connector
            .builder(url, &addresses)
            .pool_max_idle_per_host(0)
            .connect_timeout(CONNECT_TIMEOUT);
        let client = request::build(builder)?;
        let span = format!("bytes={}-", part.bytes);
        let mut headers = vec![("accept", "*/*"), ("accept-encoding", "identity")];
        if let Some(etag) = &part.etag {
            headers.extend([("range", span.as_str()), ("if-range", etag.as_str())]);
        }
        let call = HttpRequest {
            url,
            body: None,
            headers: &headers,
            authorization: None,
            must_be_public: true,
            reason: self.reason,
            is_complete: |_| false,
        };
        let request = request::prepare(&client, &call)?;
        let mut exchange = self.connector.recorder.begin(&call, url)?;
        let mut sending = Box::pin(request::send(request, &mut exchange));
        let sent = self.wait(&mut || on_progress(part.bytes, None), |limit| {
            self.runtime.block_on(async { timeout(limit, &mut sending).await.ok() })
        })?;
        drop(sending);
        let response = sent.map_err(|error| match from_reqwest(error) {
            // This time limit is longer than that of other requests.
            Error::ConnectTimeout => Error::Timeout(CONNECT_TIMEOUT.as_secs()),
            error => error,
        })?;
        Ok((response, exchange))
    }

    /// Returns the next bytes, or `None` at the end.
    fn next(
        &self,
        response: &mut Response,
        bytes: u64,
        total: Option<u64>,
        on_progress: DownloadProgress<'_>,
    ) -> Result<Option<impl std::ops::Deref<Target = [u8]> + use<>>, DownloadError> {
        let next = self.wait(&mut || on_progress(bytes, total), |limit| {
            self.runtime.block_on(async { timeout(limit, response.chunk()).await.ok() })
        })?;
        Ok(next.map_err(from_reqwest)?)
    }

    /// Waits for `step` and calls `should_continue` each second.
    ///
    /// # Errors
    /// [`Error::Timeout`] after [`IDLE_TIMEOUT`]; [`DownloadError::Stopped`] when `should_continue`
    /// returns `false`.
    fn wait<T>(
        &self,
        should_continue: &mut dyn FnMut() -> bool,
        mut step: impl FnMut(Duration) -> Option<T>,
    ) -> Result<T, DownloadError> {
        let deadline = Instant::now() + IDLE_TIMEOUT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if let Some(value) = step(left.min(POLL)) {
                return Ok(value);
            }
            if Instant::now() >= deadline {
                return Err(Error::Timeout(IDLE_TIMEOUT.as_secs()).into());
            }
            if !should_continue() {
                return Err(DownloadError::Stopped);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_ranges_are_parsed_strictly() {
        for good in ["\"abc\"", "\"5d41-1\""] {
            assert!(is_strong(good), "{good}");
        }
        for bad in ["", "\"\"", "abc", "W/\"abc\"", "\"a b\"", "\"a\nb\"", "\"ab"] {
            assert!(!is_strong(bad), "{bad}");
        }
        assert_eq!(content_range("bytes 100-199/200"), Some((100, 200)));
        for bad in ["", "bytes */200", "bytes 100-199/*", "100-199/200", "bytes -1-2/3"] {
            assert_eq!(content_range(bad), None, "{bad}");
        }
    }
}
