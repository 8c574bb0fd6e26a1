//! Web pages at addresses that strangers name, by the rules of `document.rs`. A page may say that it is elsewhere; that is another
//! stranger's address, and held to the same.

use std::time::{Duration, Instant};

use url::Url;

use super::document::{Rules, check};
use super::way::{Bounds, Way};
use super::{Answer, Call, Trouble, WebPage};

/// The largest page, in bytes.
const MOST: usize = 2 * 1024 * 1024;
/// How long all of it may take, with every redirect.
const WITHIN: Duration = Duration::from_secs(15);
/// How often it may be elsewhere.
const REDIRECTS: usize = 3;

/// Reads the page at `text`.
///
/// # Errors
/// Why there is none; [`Trouble::Status`] of the redirect that was one too many.
pub(super) fn read(way: &Way, rules: &Rules, text: &str) -> Result<WebPage, Trouble> {
    let deadline = Instant::now() + WITHIN;
    let mut url = check(rules, text)?;
    for left in (0..=REDIRECTS).rev() {
        url.set_fragment(None);
        let answer = ask(way, rules, &url, deadline)?;
        match elsewhere(&answer, &url) {
            Some(next) if left > 0 => url = check(rules, next.as_str())?,
            _ if answer.status != 200 => return Err(Trouble::Status(answer.status)),
            _ => return page(url, answer),
        }
    }
    Err(Trouble::Address("the address leads on and on"))
}

fn ask(way: &Way, rules: &Rules, url: &Url, deadline: Instant) -> Result<Answer, Trouble> {
    let call = Call {
        url,
        body: None,
        headers: &[
            ("accept", "text/html, text/plain;q=0.9, */*;q=0.1"),
            ("accept-encoding", "identity"),
        ],
        authorization: None,
        public: true,
        // Nothing is read of what is refused anyhow.
        enough: |answer| answer.status != 200,
    };
    let within = deadline.saturating_duration_since(Instant::now());
    let answer = way.exchange(&call, &Bounds { admits: Some(rules.admits), most: MOST, within });
    answer.map_err(|trouble| match trouble {
        Trouble::Slow(_) => Trouble::Slow(WITHIN.as_secs()),
        other => other,
    })
}

/// Where the page is, if the answer says that it is elsewhere (RFC 9110 section 15.4).
pub(super) fn elsewhere(answer: &Answer, from: &Url) -> Option<Url> {
    let moved = matches!(answer.status, 301 | 302 | 303 | 307 | 308);
    from.join(answer.header("location").filter(|_| moved)?).ok()
}

fn page(url: Url, answer: Answer) -> Result<WebPage, Trouble> {
    let packed =
        answer.header("content-encoding").is_some_and(|how| !how.eq_ignore_ascii_case("identity"));
    if packed {
        return Err(Trouble::Broken("the answer is compressed, which was not asked for".into()));
    }
    let content_type =
        answer.header("content-type").unwrap_or_default().trim().to_ascii_lowercase();
    Ok(WebPage { url: url.into(), content_type, body: answer.body })
}
