//! Files at public addresses, which may be large: written to the disk as they come, gone on with where they were cut, and followed where
//! they are kept. Every step on the way is held to the same rules; nothing that proves who we are is sent to any of them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use reqwest::Response;
use tokio::runtime::Runtime;
use tokio::time::timeout;
use url::Url;

use super::document::{Rules, check};
use super::trouble::of_reqwest;
use super::way::{self, Way};
use super::web::elsewhere;
use super::{Call, DownloadTrouble, Trouble};

/// The largest file, in bytes.
pub(super) const MOST: u64 = 4 * 1024 * 1024 * 1024;
/// How often it may be elsewhere.
const REDIRECTS: usize = 5;
/// How long a connection may take, TLS included, and a name.
const CONNECT: Duration = Duration::from_secs(10);
/// How long nothing may come.
const SILENCE: Duration = Duration::from_secs(60);
/// Whoever waits is asked this often.
const ASK: Duration = Duration::from_secs(1);

/// Hears how many bytes are there, and of how many; `false` ends it.
pub(super) type Heard<'a> = &'a mut dyn FnMut(u64, Option<u64>) -> bool;

/// Brings the file at `text` to `to`, which may have its beginning from an earlier time.
///
/// # Errors
/// Why it is not there, or not all of it: what has come stays in `to`.
pub(super) fn fetch(
    way: &Way,
    rules: &Rules,
    text: &str,
    to: &Path,
    most: u64,
    on: Heard<'_>,
) -> Result<u64, DownloadTrouble> {
    let url = check(rules, text)?;
    let runtime = way::runtime()?;
    let mut part = Part::find(to, url.as_str())?;
    let fetched = Fetch { way, rules, runtime: &runtime, most }.go(&url, &mut part, on);
    // The resolver may still wait for a name server: nobody waits for it.
    runtime.shutdown_background();
    fetched
}

/// What is there of a file, and what proves that the rest is of the same one.
struct Part {
    path: PathBuf,
    /// Where it comes from.
    url: String,
    bytes: u64,
    /// The strong entity tag (RFC 9110 section 8.8.3) of what is there.
    tag: Option<String>,
}

impl Part {
    /// What an earlier time left. Without a tag, or from another address, it counts for nothing.
    fn find(path: &Path, url: &str) -> io::Result<Self> {
        let mut part = Self { path: path.to_owned(), url: url.to_owned(), bytes: 0, tag: None };
        let told = fs::read_to_string(part.told()).unwrap_or_default();
        let tag = told.split_once('\n').filter(|(from, _)| *from == url).map(|(_, tag)| tag.trim());
        if let (Some(tag), Ok(meta)) = (tag.filter(|tag| is_strong(tag)), fs::metadata(path)) {
            (part.bytes, part.tag) = (meta.len(), Some(tag.to_owned()));
        }
        Ok(part)
    }

    /// The file beside it that says where it comes from.
    fn told(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".from");
        name.into()
    }

    /// Begins anew with what has this tag.
    fn begin(&mut self, tag: Option<&str>) -> io::Result<File> {
        (self.bytes, self.tag) = (0, tag.filter(|tag| is_strong(tag)).map(str::to_owned));
        let file = File::create(&self.path)?;
        match &self.tag {
            Some(tag) => fs::write(self.told(), format!("{}\n{tag}\n", self.url))?,
            None => self.forget()?,
        }
        Ok(file)
    }

    fn go_on(&self) -> io::Result<File> {
        OpenOptions::new().append(true).open(&self.path)
    }

    /// It is whole, or worth nothing: where it came from is not needed any more.
    fn forget(&self) -> io::Result<()> {
        match fs::remove_file(self.told()) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }
}

/// Whether an entity tag stands for the bytes themselves.
fn is_strong(tag: &str) -> bool {
    tag.len() > 2
        && tag.starts_with('"')
        && tag.ends_with('"')
        && tag.bytes().all(|b| (0x21..0x7f).contains(&b))
}

/// From which byte on an answer goes, and how long the whole is: `bytes 100-199/200`.
fn range(text: &str) -> Option<(u64, u64)> {
    let (span, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    Some((span.split_once('-')?.0.parse().ok()?, total.parse().ok()?))
}

struct Fetch<'a> {
    way: &'a Way,
    rules: &'a Rules,
    runtime: &'a Runtime,
    most: u64,
}

impl Fetch<'_> {
    fn go(&self, url: &Url, part: &mut Part, on: Heard<'_>) -> Result<u64, DownloadTrouble> {
        let mut response = self.find(url, part, on)?;
        // What is there is longer than the file is now.
        if response.status().as_u16() == 416 && part.tag.take().is_some() {
            part.bytes = 0;
            response = self.find(url, part, on)?;
        }
        let head = way::head(&response);
        if head.header("content-encoding").is_some_and(|how| !how.eq_ignore_ascii_case("identity"))
        {
            return Err(Trouble::Broken(
                "the file comes compressed, which was not asked for".into(),
            )
            .into());
        }
        let (mut file, total) = match head.status {
            206 => match head.header("content-range").and_then(range) {
                Some((from, total)) if from == part.bytes && part.tag.is_some() => {
                    (part.go_on()?, Some(total))
                }
                _ => {
                    return Err(
                        Trouble::Broken("another part came than was asked for".into()).into()
                    );
                }
            },
            200 => {
                let file = part.begin(head.header("etag"))?;
                (file, response.content_length())
            }
            other => return Err(Trouble::Status(other).into()),
        };
        if total.is_some_and(|total| total > self.most) {
            return Err(Trouble::Large(self.most as usize).into());
        }
        if !on(part.bytes, total) {
            return Err(DownloadTrouble::Stopped);
        }
        while let Some(bytes) = self.next(&mut response, part.bytes, total, on)? {
            part.bytes += bytes.len() as u64;
            if part.bytes > self.most {
                return Err(Trouble::Large(self.most as usize).into());
            }
            file.write_all(&bytes)?;
            if !on(part.bytes, total) {
                return Err(DownloadTrouble::Stopped);
            }
        }
        if let Some(total) = total.filter(|total| *total != part.bytes) {
            let why = format!("the file ends after {} of {total} bytes", part.bytes);
            return Err(Trouble::Broken(why).into());
        }
        file.sync_all()?;
        part.forget()?;
        Ok(part.bytes)
    }

    /// The answer of whoever has the file, without its body.
    fn find(&self, url: &Url, part: &Part, on: Heard<'_>) -> Result<Response, DownloadTrouble> {
        let mut url = url.clone();
        for left in (0..=REDIRECTS).rev() {
            url.set_fragment(None);
            let response = self.ask(&url, part, on)?;
            match elsewhere(&way::head(&response), &url) {
                Some(next) if left > 0 => url = check(self.rules, next.as_str())?,
                _ => return Ok(response),
            }
        }
        Err(Trouble::Address("the address leads on and on").into())
    }

    fn ask(&self, url: &Url, part: &Part, on: Heard<'_>) -> Result<Response, DownloadTrouble> {
        let looking = async { timeout(CONNECT, self.way.look_up(url)).await };
        let addresses =
            self.runtime.block_on(looking).unwrap_or(Err(Trouble::Slow(CONNECT.as_secs())))?;
        if !addresses.iter().copied().all(self.rules.admits) {
            return Err(Trouble::NotPublic.into());
        }
        let builder =
            self.way.builder(url, &addresses).pool_max_idle_per_host(0).connect_timeout(CONNECT);
        let client = way::build(builder)?;
        let span = format!("bytes={}-", part.bytes);
        let mut headers = vec![("accept", "*/*"), ("accept-encoding", "identity")];
        if let Some(tag) = &part.tag {
            headers.extend([("range", span.as_str()), ("if-range", tag.as_str())]);
        }
        let call = Call {
            url,
            body: None,
            headers: &headers,
            authorization: None,
            public: true,
            enough: |_| false,
        };
        let mut sending = Box::pin(way::request(&client, &call)?.send());
        let sent = self.wait(&mut || on(part.bytes, None), |limit| {
            self.runtime.block_on(async { timeout(limit, &mut sending).await.ok() })
        })?;
        Ok(sent.map_err(of_reqwest)?)
    }

    /// The next bytes; `None` at the end.
    fn next(
        &self,
        response: &mut Response,
        bytes: u64,
        total: Option<u64>,
        on: Heard<'_>,
    ) -> Result<Option<impl std::ops::Deref<Target = [u8]> + use<>>, DownloadTrouble> {
        let next = self.wait(&mut || on(bytes, total), |limit| {
            self.runtime.block_on(async { timeout(limit, response.chunk()).await.ok() })
        })?;
        Ok(next.map_err(of_reqwest)?)
    }

    /// What `step` waits for, asking `goes_on` each second meanwhile.
    fn wait<T>(
        &self,
        goes_on: &mut dyn FnMut() -> bool,
        mut step: impl FnMut(Duration) -> Option<T>,
    ) -> Result<T, DownloadTrouble> {
        let deadline = Instant::now() + SILENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if let Some(come) = step(left.min(ASK)) {
                return Ok(come);
            }
            if Instant::now() >= deadline {
                return Err(Trouble::Slow(SILENCE.as_secs()).into());
            }
            if !goes_on() {
                return Err(DownloadTrouble::Stopped);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_ranges_are_read_strictly() {
        for good in ["\"abc\"", "\"5d41-1\""] {
            assert!(is_strong(good), "{good}");
        }
        for bad in ["", "\"\"", "abc", "W/\"abc\"", "\"a b\"", "\"a\nb\"", "\"ab"] {
            assert!(!is_strong(bad), "{bad}");
        }
        assert_eq!(range("bytes 100-199/200"), Some((100, 200)));
        for bad in ["", "bytes */200", "bytes 100-199/*", "100-199/200", "bytes -1-2/3"] {
            assert_eq!(range(bad), None, "{bad}");
        }
    }
}
