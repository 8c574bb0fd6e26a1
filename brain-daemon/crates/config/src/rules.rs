//! Rules of values: how their texts are parsed, and why a text is refused. No I/O.
//!
//! The comment of a function that returns a rule says which texts the rule accepts. "Empty: none"
//! means that the value of an empty text is `None`.

use std::net::SocketAddr;
use std::time::Duration;

use brain_base::clock::{format_day, parse_day};
use brain_protocol::{Slug, parse_usd};
use url::{Host, Url};

use super::spans::{format_span, parse_span};
use super::values::{Dollars, HomePath, HttpUrl, Processor, Rate, Retention, parse_handle};

/// The maximum period of a rate, in seconds.
const DAY_S: u64 = 24 * 60 * 60;
/// The maximum number of calls of a rate.
const MAX_CALLS: u32 = 1_000_000;
/// The maximum amount of money, in millionths of a US dollar.
const MAX_MILLIONTHS: u64 = 100_000_000_000;

/// The TOML types that a key accepts besides strings, whole numbers and booleans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueForm {
    /// No other type.
    Scalar,
    /// Floating-point numbers.
    Decimal,
    /// An array; its text is JSON.
    Texts,
    /// An array; its text is a list with commas.
    Numbers,
}

impl ValueForm {
    /// Returns the text of a value in the file, or `None` for a TOML type that the key refuses.
    pub(super) fn text_of(self, value: &toml::Value) -> Option<String> {
        Some(match value {
            toml::Value::String(text) => text.clone(),
            toml::Value::Integer(n) => n.to_string(),
            toml::Value::Boolean(b) => b.to_string(),
            toml::Value::Float(n) if self == Self::Decimal => n.to_string(),
            // The rule refuses the empty text of values that cannot be JSON.
            toml::Value::Array(texts) if self == Self::Texts => {
                serde_json::to_string(texts).unwrap_or_default()
            }
            toml::Value::Array(numbers) if self == Self::Numbers => {
                let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
                numbers.join(", ")
            }
            _ => return None,
        })
    }

    /// Returns the value in a file that has this text: a number, boolean or array if there is one,
    /// else a string.
    pub(super) fn value_of(self, text: &str) -> toml::Value {
        let value = text.parse().ok().filter(|value| self.text_of(value).as_deref() == Some(text));
        value.unwrap_or_else(|| text.into())
    }
}

/// The rule of a key. `parse` returns the value, or the reason for a refusal as the end of a
/// sentence.
pub(super) struct Rule<F> {
    pub(super) form: ValueForm,
    pub(super) parse: F,
}

/// Creates a rule for strings, whole numbers and booleans.
fn scalar<T, F: Fn(&str) -> Result<T, String>>(parse: F) -> Rule<F> {
    Rule { form: ValueForm::Scalar, parse }
}

/// Any text, unchanged.
pub(super) fn text() -> Rule<impl Fn(&str) -> Result<String, String>> {
    scalar(|text| Ok(text.to_owned()))
}

/// Any text without surrounding white space.
pub(super) fn trimmed() -> Rule<impl Fn(&str) -> Result<String, String>> {
    scalar(|text| Ok(text.trim().to_owned()))
}

/// Any text without surrounding white space; empty: none.
pub(super) fn optional() -> Rule<impl Fn(&str) -> Result<Option<String>, String>> {
    scalar(|text| Ok(non_empty(text).map(str::to_owned)))
}

/// A slug with the specifiers of strftime for a day.
pub(super) fn day_pattern() -> Rule<impl Fn(&str) -> Result<String, String>> {
    scalar(|text| {
        let text = text.trim();
        let slug = |day| format_day(parse_day(day)?, text).map(|slug| slug.to_lowercase());
        let slugs = ["2024-02-29", "2026-11-21"].map(slug);
        let valid = slugs.iter().flatten().filter(|slug| Slug::parse(slug.as_str()).is_ok());
        if valid.count() == slugs.len() && slugs[0] != slugs[1] {
            return Ok(text.to_owned());
        }
        Err("is not a slug with a day, such as daily/%Y-%m-%d".to_owned())
    })
}

/// A path; empty: none.
pub(super) fn path() -> Rule<impl Fn(&str) -> Result<Option<HomePath>, String>> {
    scalar(|text| Ok(non_empty(text).map(|text| HomePath(text.to_owned()))))
}

/// Returns a text without surrounding white space, or `None` if nothing is left.
fn non_empty(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

/// A whole number from `low` to `high`.
pub(super) fn number<T: TryFrom<u64>>(
    low: u64,
    high: u64,
) -> Rule<impl Fn(&str) -> Result<T, String>> {
    scalar(move |text| parse_number(text, low, high))
}

/// A whole number from 0 to `high`; the value of 0 is `None`.
pub(super) fn limit<T: TryFrom<u64> + Default + PartialEq>(
    high: u64,
) -> Rule<impl Fn(&str) -> Result<Option<T>, String>> {
    scalar(move |text| Ok(Some(parse_number(text, 0, high)?).filter(|n| *n != T::default())))
}

fn parse_number<T: TryFrom<u64>>(text: &str, low: u64, high: u64) -> Result<T, String> {
    let number = text.parse().ok().filter(|n| (low..=high).contains(n));
    number
        .and_then(|n: u64| T::try_from(n).ok())
        .ok_or_else(|| format!("\"{text}\" is not a whole number from {low} to {high}"))
}

/// One of these words.
pub(super) fn word<T: Copy>(
    words: &'static [(&'static str, T)],
) -> Rule<impl Fn(&str) -> Result<T, String>> {
    scalar(move |text| {
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            format!("\"{text}\" is not one of {}", words.join(", "))
        })
    })
}

/// `true` or `false`.
pub(super) fn boolean() -> Rule<impl Fn(&str) -> Result<bool, String>> {
    word(&[("true", true), ("false", false)])
}

/// A time span such as `90s`, `30m`, `24h` or `7d`, from `low` to `high` seconds.
pub(super) fn span(low: u64, high: u64) -> Rule<impl Fn(&str) -> Result<Duration, String>> {
    scalar(move |text| match parse_span(text) {
        Some(n) if (low..=high).contains(&n) => Ok(Duration::from_secs(n)),
        Some(_) => {
            let (low, high) = (format_span(low), format_span(high));
            Err(format!("\"{text}\" is not between {low} and {high}"))
        }
        None => Err(format!("\"{text}\" is not a time such as 90s, 30m, 24h or 7d")),
    })
}

/// `forever` (`None`), or a number of days or years from a day to a century. A year has 365 days.
pub(super) fn age_of_versions() -> Rule<impl Fn(&str) -> Result<Option<Duration>, String>> {
    scalar(|text| {
        if text == "forever" {
            return Ok(None);
        }
        let days = match text.strip_suffix('y') {
            Some(years) => parse_span(&format!("{years}d")).and_then(|s| s.checked_mul(365)),
            None => Some(text).filter(|text| text.ends_with('d')).and_then(parse_span),
        };
        match days {
            Some(seconds) if (DAY_S..=100 * 365 * DAY_S).contains(&seconds) => {
                Ok(Some(Duration::from_secs(seconds)))
            }
            Some(_) => Err(format!("\"{text}\" is not between 1d and 100y")),
            None => Err(format!("\"{text}\" is neither forever nor a time such as 90d or 2y")),
        }
    })
}

/// `off`, `forever`, or a time span of at least a minute.
pub(super) fn retention() -> Rule<impl Fn(&str) -> Result<Retention, String>> {
    scalar(|text| match (text, parse_span(text)) {
        ("off", _) => Ok(Retention::Off),
        ("forever", _) => Ok(Retention::Forever),
        (_, Some(seconds)) if seconds >= 60 => Ok(Retention::For(Duration::from_secs(seconds))),
        _ => Err(format!("\"{text}\" is none of off, forever, and a time such as 90d")),
    })
}

/// A maximum number of calls in a period of at most a day, such as `100/10s`; `off`: none.
pub(super) fn rate() -> Rule<impl Fn(&str) -> Result<Option<Rate>, String>> {
    scalar(|text| match text {
        "off" => Ok(None),
        _ => parse_rate(text)
            .map(Some)
            .ok_or_else(|| format!("\"{text}\" is neither a rate such as 100/10s nor \"off\"")),
    })
}

fn parse_rate(text: &str) -> Option<Rate> {
    let (calls, period) = text.split_once('/')?;
    let calls = calls.parse().ok().filter(|n| (1..=MAX_CALLS).contains(n))?;
    let seconds = parse_span(period).filter(|n| (1..=DAY_S).contains(n))?;
    Some(Rate { calls, seconds })
}

/// US dollars with up to six decimals, such as `3` or `0.15`.
pub(super) fn dollars() -> Rule<impl Fn(&str) -> Result<Dollars, String>> {
    let parse = |text: &str| {
        parse_millionths(text)
            .map(Dollars)
            .ok_or_else(|| format!("\"{text}\" is not an amount of US dollars such as 0.15"))
    };
    Rule { form: ValueForm::Decimal, parse }
}

fn parse_millionths(text: &str) -> Option<u64> {
    parse_usd(text).filter(|millionths| *millionths <= MAX_MILLIONTHS)
}

/// An address to listen on, with its port; `off`: none.
pub(super) fn address() -> Rule<impl Fn(&str) -> Result<Option<SocketAddr>, String>> {
    scalar(|text| match text {
        "off" => Ok(None),
        _ => text.parse().map(Some).map_err(|_| {
            format!("\"{text}\" is neither an address such as 127.0.0.1:3131 nor \"off\"")
        }),
    })
}

/// `http://` or `https://`, a host and at most a port; empty: none. Without a trailing slash.
pub(super) fn base_url() -> Rule<impl Fn(&str) -> Result<Option<String>, String>> {
    scalar(|text| match text {
        "" => Ok(None),
        _ => parse_base_url(text).map(Some),
    })
}

/// A base URL to which a secret is sent: `https://`, or on this machine.
pub(super) fn safe_url() -> Rule<impl Fn(&str) -> Result<String, String>> {
    scalar(|text| match text {
        "" => Err("it is empty".into()),
        _ if !is_safe(text) => {
            Err(format!("\"{text}\" would receive a token without encryption; write https://"))
        }
        _ => parse_base_url(text),
    })
}

/// A base URL without TLS, for a service on this machine or in its network; empty: none.
pub(super) fn http_url() -> Rule<impl Fn(&str) -> Result<Option<HttpUrl>, String>> {
    scalar(|text| match text {
        "" => Ok(None),
        _ if !text.starts_with("http://") => {
            Err(format!("\"{text}\" is not an http:// address such as http://127.0.0.1:5050"))
        }
        _ => parse_base_url(text).map(|url| Some(HttpUrl(url))),
    })
}

/// Returns whether requests to an address are encrypted, or stay on this machine.
fn is_safe(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| match url.host() {
        _ if url.scheme() == "https" => true,
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    })
}

/// Returns a base URL without its trailing slash.
fn parse_base_url(text: &str) -> Result<String, String> {
    let url = parse_url(text).filter(|url| url.path() == "/").ok_or_else(|| {
        format!("\"{text}\" is not the address of a service, such as https://brain.example.org")
    })?;
    let canonical = url.origin().ascii_serialization();
    // Clients compare addresses literally, so only the canonical form is accepted.
    match text.strip_suffix('/').unwrap_or(text) == canonical {
        true => Ok(canonical),
        false => Err(format!("\"{text}\" must be written as {canonical}")),
    }
}

/// `http://` or `https://`, a host and perhaps a path; empty: none.
pub(super) fn endpoint() -> Rule<impl Fn(&str) -> Result<Option<Url>, String>> {
    scalar(|text| match text {
        "" => Ok(None),
        // The message omits the text, which may be a key in the wrong place.
        _ => parse_url(text).map(Some).ok_or_else(|| {
            "it is not an address such as http://127.0.0.1:11434/v1, without user, `?` and `#`"
                .into()
        }),
    })
}

/// Parses an HTTP address of scheme, host, port and path only.
fn parse_url(text: &str) -> Option<Url> {
    Url::parse(text).ok().filter(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
            && !text.contains(char::is_whitespace)
    })
}

/// A list of texts, separated by commas.
pub(super) fn list() -> Rule<impl Fn(&str) -> Result<Vec<String>, String>> {
    scalar(|text| Ok(text.split(',').filter_map(non_empty).map(str::to_owned).collect()))
}

/// A list of texts: an array in the file, a JSON array in the environment. A text must not be empty
/// or have control characters.
pub(super) fn texts() -> Rule<impl Fn(&str) -> Result<Vec<String>, String>> {
    let parse = |text: &str| {
        parse_texts(text)
            .ok_or_else(|| format!("\"{text}\" is not a list of texts such as [\"one\", \"two\"]"))
    };
    Rule { form: ValueForm::Texts, parse }
}

/// A list of programs that convert documents: texts of the form `EXTENSION: PROGRAM [ARGUMENT …]`.
pub(super) fn processors() -> Rule<impl Fn(&str) -> Result<Vec<Processor>, String>> {
    let parse = |text: &str| {
        let texts = parse_texts(text).ok_or_else(|| {
            format!("\"{text}\" is not a list such as [\"djvu: /usr/local/bin/djvu-to-brain\"]")
        })?;
        let processor = |text: &String| {
            Processor::parse(text).map_err(|problem| {
                format!(
                    "\"{text}\" {problem}; write it as `djvu: /usr/local/bin/djvu-to-brain`, and a \
                     path with blanks in quotes"
                )
            })
        };
        texts.iter().map(processor).collect()
    };
    Rule { form: ValueForm::Texts, parse }
}

fn parse_texts(text: &str) -> Option<Vec<String>> {
    let texts: Vec<String> = serde_json::from_str(text).ok()?;
    let trimmed = texts.iter().map(|text| {
        let text = non_empty(text).filter(|text| !text.contains(char::is_control))?;
        Some(text.to_owned())
    });
    trimmed.collect()
}

/// User ids, separated by commas or white space; also an array of numbers in the file.
pub(super) fn user_ids() -> Rule<impl Fn(&str) -> Result<Vec<u32>, String>> {
    let parse = |text: &str| {
        let ids = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|id| !id.is_empty());
        ids.map(|id| id.parse().ok())
            .collect::<Option<_>>()
            .ok_or_else(|| format!("\"{text}\" is not a list of user ids such as 1000, 1001"))
    };
    Rule { form: ValueForm::Numbers, parse }
}

/// A handle of the social platform, with or without `@`; empty: none.
pub(super) fn handle() -> Rule<impl Fn(&str) -> Result<Option<String>, String>> {
    scalar(|text| match (text, parse_handle(text)) {
        ("", _) => Ok(None),
        (_, Some(name)) => Ok(Some(name.to_owned())),
        (_, None) => Err(format!("\"{text}\" is not a handle: 1 to 15 letters, digits and _")),
    })
}

/// A number of up to 19 digits, kept as text; empty: none.
pub(super) fn digits() -> Rule<impl Fn(&str) -> Result<Option<String>, String>> {
    scalar(|text| match text.len() <= 19 && text.bytes().all(|b| b.is_ascii_digit()) {
        true => Ok(non_empty(text).map(str::to_owned)),
        false => Err(format!("\"{text}\" is not a number of up to 19 digits")),
    })
}
