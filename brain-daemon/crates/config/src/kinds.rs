//! What a value may be: how it is written, and how it is read. Pure.

use std::net::SocketAddr;

/// What a key holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// A whole number between two bounds, both included.
    Number(u64, u64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A span of time such as `90s`, `30m`, `24h` or `7d`, between two bounds in seconds, both included.
    Span(u64, u64),
    /// User ids, with commas or spaces between them; in the file also an array of numbers.
    Ids,
    /// An address to listen on, with its port, or `off`.
    Address,
    /// `http://` or `https://`, a host and nothing behind it but a port; or empty.
    BaseUrl,
    /// As `BaseUrl`, never empty, and `http://` only on this machine: a token is sent there.
    SafeUrl,
    /// As `BaseUrl`, but without TLS: a service on this machine or beside it; or empty.
    PlainUrl,
    /// `http://` or `https://`, a host and perhaps a path; or empty.
    Endpoint,
    /// How often in a span of time, such as `100/10s`, or `off`.
    Rate,
    /// A list of texts: in the file an array, in the environment a JSON array. Kept as JSON.
    Texts,
    /// A handle of the social platform, with or without `@`; or empty.
    Handle,
    /// A number of up to 19 digits, kept as text; or empty.
    Digits,
    /// US dollars with at most six digits behind the point, such as `3` or `0.15`, at most 100000.
    Dollars,
}

impl Kind {
    /// Whether `value` is one; why not, as the end of a sentence.
    pub(super) fn check(self, value: &str) -> Result<(), String> {
        match self {
            Self::Text => Ok(()),
            Self::Number(low, high) => match value.parse::<u64>() {
                Ok(n) if (low..=high).contains(&n) => Ok(()),
                _ => Err(format!("\"{value}\" is not a whole number from {low} to {high}")),
            },
            Self::Word(words) if words.contains(&value) => Ok(()),
            Self::Word(words) => Err(format!("\"{value}\" is none of {}", words.join(", "))),
            Self::Span(low, high) => match span(value) {
                Some(n) if (low..=high).contains(&n) => Ok(()),
                Some(_) => {
                    Err(format!("\"{value}\" is not between {} and {}", shown(low), shown(high)))
                }
                None => Err(format!("\"{value}\" is not a time such as 90s, 30m, 24h or 7d")),
            },
            Self::Address if value == "off" || value.parse::<SocketAddr>().is_ok() => Ok(()),
            Self::Address => {
                Err(format!("\"{value}\" is neither an address such as 127.0.0.1:3131 nor \"off\""))
            }
            Self::SafeUrl if value.is_empty() => Err("it is empty".into()),
            Self::SafeUrl if !is_safe(value) => Err(format!(
                "\"{value}\" would get a token that anybody on the way can read; write https://"
            )),
            Self::BaseUrl | Self::PlainUrl if value.is_empty() => Ok(()),
            Self::PlainUrl if !value.starts_with("http://") => {
                Err(format!("\"{value}\" is not an http:// address such as http://127.0.0.1:5050"))
            }
            Self::BaseUrl | Self::SafeUrl | Self::PlainUrl => match base_url(value) {
                // Clients compare it to the letter, and so do we.
                Some(canonical) if canonical == value.strip_suffix('/').unwrap_or(value) => Ok(()),
                Some(canonical) => Err(format!("\"{value}\" must be written as {canonical}")),
                None => Err(format!(
                    "\"{value}\" is not the address of a service, such as https://brain.example.org"
                )),
            },
            Self::Endpoint if value.is_empty() || endpoint(value).is_some() => Ok(()),
            // What stands there may be a key in the wrong place.
            Self::Endpoint => Err(
                "it is not an address such as http://127.0.0.1:11434/v1, without user, `?` and `#`"
                    .into(),
            ),
            Self::Rate if rate(value).is_some() => Ok(()),
            Self::Rate => Err(format!("\"{value}\" is neither a rate such as 100/10s nor \"off\"")),
            Self::Texts if texts(value).is_some() => Ok(()),
            Self::Texts => {
                Err(format!("\"{value}\" is not a list of texts such as [\"one\", \"two\"]"))
            }
            Self::Handle if value.is_empty() || handle(value).is_some() => Ok(()),
            Self::Handle => {
                Err(format!("\"{value}\" is not a handle: 1 to 15 letters, digits and _"))
            }
            Self::Digits if value.len() <= 19 && value.bytes().all(|b| b.is_ascii_digit()) => {
                Ok(())
            }
            Self::Digits => Err(format!("\"{value}\" is not a number of up to 19 digits")),
            Self::Dollars if dollars(value).is_some() => Ok(()),
            Self::Dollars => {
                Err(format!("\"{value}\" is not an amount of US dollars such as 0.15"))
            }
            Self::Ids if ids(value).is_some() => Ok(()),
            Self::Ids => Err(format!("\"{value}\" is not a list of user ids such as 1000, 1001")),
        }
    }
}

/// The units of a span of time, in seconds.
const UNITS: [(char, u64); 4] = [('d', 24 * 60 * 60), ('h', 60 * 60), ('m', 60), ('s', 1)];

/// The seconds that `text` means: digits and one unit. `None` when it means none.
#[must_use]
pub fn span(text: &str) -> Option<u64> {
    let unit = text.chars().next_back()?;
    let digits = &text[..text.len() - unit.len_utf8()];
    let (_, seconds) = UNITS.iter().find(|(known, _)| *known == unit)?;
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse::<u64>().ok()?.checked_mul(*seconds)).flatten()
}

/// Seconds in the largest unit that they are a whole number of.
fn shown(seconds: u64) -> String {
    let whole = UNITS.iter().find(|(_, unit)| seconds.is_multiple_of(*unit));
    whole.map_or_else(|| format!("{seconds}s"), |(name, unit)| format!("{}{name}", seconds / unit))
}

/// The millionths of a US dollar that `text` means: digits, perhaps a point and one to six more.
pub(super) fn dollars(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str, most| {
        (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
    };
    if !digits(whole, 6) || !digits(part, 6) {
        return None;
    }
    let millionths: u64 = format!("{part:0<6}").parse().ok()?;
    let all = whole.parse::<u64>().ok()? * 1_000_000 + millionths;
    (all <= 100_000_000_000).then_some(all)
}

/// The parts of a list with commas between them.
pub(super) fn listed(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// How often in how many seconds; `None` inside when there is no limit, outside when the text means nothing.
pub(super) fn rate(text: &str) -> Option<Option<(u32, u64)>> {
    if text == "off" {
        return Some(None);
    }
    let (count, time) = text.split_once('/')?;
    let count = count.parse().ok().filter(|n| (1..=1_000_000).contains(n))?;
    let seconds = span(time).filter(|n| (1..=24 * 60 * 60).contains(n))?;
    Some(Some((count, seconds)))
}

/// Whether what is sent to an address can be read by nobody on the way.
fn is_safe(text: &str) -> bool {
    url::Url::parse(text).is_ok_and(|url| match url.host() {
        _ if url.scheme() == "https" => true,
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    })
}

/// What `text` is called by everybody: `http` or `https`, a host, perhaps a port. `None` when there is anything else in it.
fn base_url(text: &str) -> Option<String> {
    let url = url::Url::parse(text).ok().filter(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && !text.contains(char::is_whitespace)
    })?;
    Some(url.origin().ascii_serialization())
}

/// The address of an API: `http` or `https`, a host, perhaps a path. `None` when there is anything else in it.
#[must_use]
pub fn endpoint(text: &str) -> Option<url::Url> {
    url::Url::parse(text).ok().filter(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
            && !text.contains(char::is_whitespace)
    })
}

/// The texts in a JSON array, without white space around them; `None` when something else or nothing is in one.
#[must_use]
pub fn texts(text: &str) -> Option<Vec<String>> {
    let texts: Vec<String> = serde_json::from_str(text).ok()?;
    texts
        .iter()
        .map(|text| {
            Some(text.trim()).filter(|text| !text.is_empty() && !text.contains(char::is_control))
        })
        .map(|text| text.map(str::to_owned))
        .collect()
}

/// A handle without its `@` (`^[A-Za-z0-9_]{1,15}$` in the platform's OpenAPI document).
#[must_use]
pub fn handle(text: &str) -> Option<&str> {
    let name = text.strip_prefix('@').unwrap_or(text);
    let fits = (1..=15).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    fits.then_some(name)
}

/// The numbers in a list; `None` when something else is in it.
pub(super) fn ids(text: &str) -> Option<Vec<u32>> {
    let parts = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|part| !part.is_empty());
    parts.map(|part| part.parse().ok()).collect()
}
