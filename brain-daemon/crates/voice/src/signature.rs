//! `X-Twilio-Signature`: whether a request comes from the provider. Pure.
//!
//! The provider signs the address as it called it, followed by the names and values of the form; of a JSON body the address has the digest
//! (`bodySHA256`). Which key and digest it took is the provider's word in a second field, absent for the usual one.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brain_protocol::Secret;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The parameter of the query that has the SHA-256 of a JSON body, in hexadecimal digits.
const BODY: &str = "bodySHA256";

/// How a request is signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    digest: Digested,
    bytes: Vec<u8>,
}

/// What the signature is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Digested {
    Sha1,
    Sha256,
}

impl Signature {
    /// Reads the field `X-Twilio-Signature`, and `X-Twilio-Webhooks-Signature-Settings` where there is one; `None` when there is nothing in
    /// them that could be compared.
    #[must_use]
    pub fn read(signature: &str, settings: Option<&str>) -> Option<Self> {
        let algorithm = settings.map(|text| {
            let mut pairs = text.split(',').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| name.trim() == "algorithm").map_or("", |(_, value)| value.trim())
        });
        let digest = match algorithm {
            None | Some("HMAC_SHA1") => Digested::Sha1,
            Some("HMAC_SHA256") => Digested::Sha256,
            Some(_) => return None,
        };
        let bytes = STANDARD.decode(signature.trim()).ok()?;
        Some(Self { digest, bytes })
    }

    /// Whether it is the signature of `text`; compared in constant time.
    fn is_of(&self, token: &Secret, text: &[u8]) -> bool {
        let key = token.expose().as_bytes();
        let made = match self.digest {
            Digested::Sha1 => made::<Hmac<Sha1>>(key, text),
            Digested::Sha256 => made::<Hmac<Sha256>>(key, text),
        };
        made.is_some_and(|made| made.ct_eq(&self.bytes).into())
    }
}

/// The authentication code of `text`.
fn made<M: Mac + KeyInit>(key: &[u8], text: &[u8]) -> Option<Vec<u8>> {
    let mut code = <M as KeyInit>::new_from_slice(key).ok()?;
    code.update(text);
    Some(code.finalize().into_bytes().to_vec())
}

/// Whether `signature` is what the provider would have made of a request to `url` (as it called it, query included, with the public scheme
/// and host) with these form parameters, or with this body where it is no form (then the query has its `bodySHA256`). With and without the
/// port in the address, as the provider's own libraries take it.
#[must_use]
pub fn holds(
    token: &Secret,
    signature: &Signature,
    url: &str,
    form: &[(String, String)],
    body: Option<&[u8]>,
) -> bool {
    if token.expose().is_empty() || body.is_some_and(|body| !is_digested(url, body)) {
        return false;
    }
    // A value that comes twice counts once.
    let sorted: BTreeSet<_> =
        form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let tail: String = sorted.into_iter().flat_map(|(name, value)| [name, value]).collect();
    addresses(url)
        .into_iter()
        .fold(false, |held, url| signature.is_of(token, (url + &tail).as_bytes()) | held)
}

/// Whether the query of `url` has the digest of `body`.
fn is_digested(url: &str, body: &[u8]) -> bool {
    let (_, query) = url.split_once('?').unwrap_or_default();
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    let Some((_, digest)) = pairs.find(|(name, _)| name == BODY) else { return false };
    let made: String = Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
    made.as_bytes().ct_eq(digest.to_ascii_lowercase().as_bytes()).into()
}

/// The address as it is, without its port, and with the usual one.
fn addresses(url: &str) -> Vec<String> {
    let mut all = vec![url.to_owned()];
    let Some((scheme, rest)) = url.split_once("://") else { return all };
    let (host, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let port = host.rfind(':').filter(|at| host[at + 1..].bytes().all(|b| b.is_ascii_digit()));
    match port {
        Some(at) => all.push(format!("{scheme}://{}{path}", &host[..at])),
        None => {
            let usual = if matches!(scheme, "http" | "ws") { 80 } else { 443 };
            all.push(format!("{scheme}://{host}:{usual}{path}"));
        }
    }
    all
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The example of the provider's documents.
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

    fn held(
        token: &str,
        signature: &str,
        url: &str,
        form: &[(String, String)],
        body: Option<&[u8]>,
    ) -> bool {
        let signature = Signature::read(signature, None).unwrap();
        holds(&Secret::new(token), &signature, url, form, body)
    }

    #[test]
    fn the_example_of_the_documents_holds_and_nothing_like_it() {
        assert!(held("12345", SIGNATURE, URL, &form(), None));
        assert!(
            held("12345", SIGNATURE, &URL.replace(".com/", ".com:443/"), &form(), None),
            "with the port"
        );
        let other = |change: fn(&mut Vec<(String, String)>)| {
            let mut form = form();
            change(&mut form);
            held("12345", SIGNATURE, URL, &form, None)
        };
        assert!(
            other(|form| form.push(("To".into(), "+18005551212".into()))),
            "the same value twice"
        );
        assert!(!other(|form| form.push(("To".into(), "+1".into()))));
        assert!(!other(|form| form[0].1 = "1235".into()));
        assert!(!other(|form| drop(form.pop())));
        assert!(!held("12346", SIGNATURE, URL, &form(), None));
        assert!(!held("", SIGNATURE, URL, &form(), None));
        for url in [
            "http://mycompany.com/myapp.php?foo=1&bar=2",
            "https://mycompany.com/myapp.php?bar=2&foo=1",
            "",
            "://",
        ] {
            assert!(!held("12345", SIGNATURE, url, &form(), None), "{url}");
        }
        assert!(!held("12345", "", URL, &form(), None));
        assert!(!held("12345", &SIGNATURE[..24], URL, &form(), None));
    }

    #[test]
    fn a_signature_that_cannot_be_compared_is_none() {
        for (text, settings) in [
            ("not base64!", None),
            (SIGNATURE, Some("key=webhooks_x,algorithm=HMAC_MD5")),
            (SIGNATURE, Some("key=webhooks_x")),
            (SIGNATURE, Some("")),
        ] {
            assert_eq!(Signature::read(text, settings), None, "{text} {settings:?}");
        }
        let shared = Signature::read(SIGNATURE, Some("key=x, algorithm=HMAC_SHA256")).unwrap();
        assert!(!holds(&Secret::new("12345"), &shared, URL, &form(), None), "another digest");
    }

    #[test]
    fn a_body_counts_only_with_its_digest_in_the_signed_address() {
        let digest = "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862";
        let url = format!("https://mycompany.com/voice?bodySHA256={digest}");
        let signature = "wdTMUxhjnplMrjZp91vtTRAoOis=";
        assert!(held("12345", signature, &url, &[], Some(br#"{"a":1}"#)));
        assert!(!held("12345", signature, &url, &[], Some(br#"{"a":2}"#)));
        let bare = "EYkT19xS6ZiskSv5FGRRRG286gI=";
        assert!(held("12345", bare, "https://mycompany.com/voice?x=1", &[], None));
        assert!(
            !held("12345", bare, "https://mycompany.com/voice?x=1", &[], Some(b"{}")),
            "an unsigned body"
        );
    }

    #[test]
    fn a_port_is_left_out_or_put_in() {
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
            assert_eq!(addresses(url), [url, other]);
        }
    }
}
