//! Verifies `X-Twilio-Signature`: whether a request comes from the provider. No I/O.
//!
//! The provider signs the address it called, followed by names and values of the form. For a JSON
//! body, the query of the address has its digest (`bodySHA256`). A second header names the key and
//! the algorithm if they are not the usual ones.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brain_protocol::Secret;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The query parameter with the SHA-256 of a JSON body, in hexadecimal.
const BODY_DIGEST: &str = "bodySHA256";

/// A parsed signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    algorithm: Algorithm,
    bytes: Vec<u8>,
}

/// The hash algorithm of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    Sha1,
    Sha256,
}

impl Signature {
    /// Parses `X-Twilio-Signature` and, if present, `X-Twilio-Webhooks-Signature-Settings`. `None`
    /// when they are invalid, or name an unknown algorithm.
    #[must_use]
    pub fn parse(signature: &str, settings: Option<&str>) -> Option<Self> {
        let name = settings.map(|text| {
            let mut pairs = text.split(',').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| name.trim() == "algorithm").map_or("", |(_, value)| value.trim())
        });
        let algorithm = match name {
            None | Some("HMAC_SHA1") => Algorithm::Sha1,
            Some("HMAC_SHA256") => Algorithm::Sha256,
            Some(_) => return None,
        };
        let bytes = STANDARD.decode(signature.trim()).ok()?;
        Some(Self { algorithm, bytes })
    }

    /// Returns whether this is the signature of `text`. Compares in constant time.
    fn matches(&self, token: &Secret, text: &[u8]) -> bool {
        let key = token.expose().as_bytes();
        let expected = match self.algorithm {
            Algorithm::Sha1 => hmac::<Hmac<Sha1>>(key, text),
            Algorithm::Sha256 => hmac::<Hmac<Sha256>>(key, text),
        };
        expected.is_some_and(|expected| expected.ct_eq(&self.bytes).into())
    }
}

/// Returns the HMAC of `text`; `None` if the algorithm refuses the key.
fn hmac<M: Mac + KeyInit>(key: &[u8], text: &[u8]) -> Option<Vec<u8>> {
    let mut code = <M as KeyInit>::new_from_slice(key).ok()?;
    code.update(text);
    Some(code.finalize().into_bytes().to_vec())
}

/// Returns whether `signature` is valid for a request to `url`.
///
/// `url` is the public address that the provider called, with its query. `form` has the form
/// parameters. `body` is a body that is no form; then the query must have its `bodySHA256`. The
/// address is tried with and without its port, as the provider's own libraries do.
#[must_use]
pub fn is_valid(
    token: &Secret,
    signature: &Signature,
    url: &str,
    form: &[(String, String)],
    body: Option<&[u8]>,
) -> bool {
    if token.expose().is_empty() || body.is_some_and(|body| !has_digest(url, body)) {
        return false;
    }
    // The provider signs a repeated value once.
    let sorted: BTreeSet<_> =
        form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let tail: String = sorted.into_iter().flat_map(|(name, value)| [name, value]).collect();
    port_variants(url)
        .into_iter()
        .fold(false, |is_valid, url| signature.matches(token, (url + &tail).as_bytes()) | is_valid)
}

/// Returns whether the query of `url` has the digest of `body`.
fn has_digest(url: &str, body: &[u8]) -> bool {
    let (_, query) = url.split_once('?').unwrap_or_default();
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    let Some((_, digest)) = pairs.find(|(name, _)| name == BODY_DIGEST) else { return false };
    let expected: String = Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
    expected.as_bytes().ct_eq(digest.to_ascii_lowercase().as_bytes()).into()
}

/// Returns the address as it is, and with its default port added or its port removed.
fn port_variants(url: &str) -> Vec<String> {
    let mut all = vec![url.to_owned()];
    let Some((scheme, rest)) = url.split_once("://") else { return all };
    let (host, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let port = host.rfind(':').filter(|at| host[at + 1..].bytes().all(|b| b.is_ascii_digit()));
    match port {
        Some(at) => all.push(format!("{scheme}://{}{path}", &host[..at])),
        None => {
            let default = if matches!(scheme, "http" | "ws") { 80 } else { 443 };
            all.push(format!("{scheme}://{host}:{default}{path}"));
        }
    }
    all
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The example of the provider's documentation.
    const URL: &str = "https://mycompany.com/myapp.php?foo=1&bar=2";
    const SIGNATURE: &str = "RSOYDt4T1cUTdK1PDd93/VVr8B8=";

    fn form() -> Vec<(String, String)> {
        [
            ("Digits", "1234"),
            ("CallSid", "CA1234567890ABCDE"),
            ("To", "+18005551212"),
            ("Caller", "+14158675309"),
            ("From", "+14158675309"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    }

    fn verify(
        token: &str,
        signature: &str,
        url: &str,
        form: &[(String, String)],
        body: Option<&[u8]>,
    ) -> bool {
        let signature = Signature::parse(signature, None).unwrap();
        is_valid(&Secret::new(token), &signature, url, form, body)
    }

    #[test]
    fn only_the_documented_example_is_valid() {
        assert!(verify("12345", SIGNATURE, URL, &form(), None));
        assert!(
            verify("12345", SIGNATURE, &URL.replace(".com/", ".com:443/"), &form(), None),
            "with the port"
        );
        let verify_changed = |change: fn(&mut Vec<(String, String)>)| {
            let mut form = form();
            change(&mut form);
            verify("12345", SIGNATURE, URL, &form, None)
        };
        assert!(
            verify_changed(|form| form.push(("To".into(), "+18005551212".into()))),
            "the same value twice"
        );
        assert!(!verify_changed(|form| form.push(("To".into(), "+1".into()))));
        assert!(!verify_changed(|form| form[0].1 = "1235".into()));
        assert!(!verify_changed(|form| drop(form.pop())));
        assert!(!verify("12346", SIGNATURE, URL, &form(), None));
        assert!(!verify("", SIGNATURE, URL, &form(), None));
        for url in [
            "http://mycompany.com/myapp.php?foo=1&bar=2",
            "https://mycompany.com/myapp.php?bar=2&foo=1",
            "",
            "://",
        ] {
            assert!(!verify("12345", SIGNATURE, url, &form(), None), "{url}");
        }
        assert!(!verify("12345", "", URL, &form(), None));
        assert!(!verify("12345", &SIGNATURE[..24], URL, &form(), None));
    }

    #[test]
    fn an_unknown_signature_format_is_rejected() {
        for (text, settings) in [
            ("not base64!", None),
            (SIGNATURE, Some("key=webhooks_x,algorithm=HMAC_MD5")),
            (SIGNATURE, Some("key=webhooks_x")),
            (SIGNATURE, Some("")),
        ] {
            assert_eq!(Signature::parse(text, settings), None, "{text} {settings:?}");
        }
        let sha256 = Signature::parse(SIGNATURE, Some("key=x, algorithm=HMAC_SHA256")).unwrap();
        assert!(!is_valid(&Secret::new("12345"), &sha256, URL, &form(), None), "another digest");
    }

    #[test]
    fn a_body_needs_its_digest_in_the_signed_address() {
        let digest = "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862";
        let url = format!("https://mycompany.com/voice?bodySHA256={digest}");
        let signature = "wdTMUxhjnplMrjZp91vtTRAoOis=";
        assert!(verify("12345", signature, &url, &[], Some(br#"{"a":1}"#)));
        assert!(!verify("12345", signature, &url, &[], Some(br#"{"a":2}"#)));
        let bare = "EYkT19xS6ZiskSv5FGRRRG286gI=";
        assert!(verify("12345", bare, "https://mycompany.com/voice?x=1", &[], None));
        assert!(
            !verify("12345", bare, "https://mycompany.com/voice?x=1", &[], Some(b"{}")),
            "an unsigned body"
        );
    }

    #[test]
    fn both_port_variants_are_tried() {
        for (url, other) in [
            ("https://a.org/x", "https://a.org:443/x"),
            ("https://a.org", "https://a.org:443"),
            ("https://a.org?x=1:2", "https://a.org:443?x=1:2"),
            ("http://a.org/x", "http://a.org:80/x"),
            ("wss://a.org/x", "wss://a.org:443/x"),
            ("https://a.org:8443/x:1", "https://a.org/x:1"),
            ("https://[2001:db8::1]:443/x", "https://[2001:db8::1]/x"),
            ("https://[2001:db8::1]/x", "https://[2001:db8::1]:443/x"),
        ] {
            assert_eq!(port_variants(url), [url, other]);
        }
    }
}
