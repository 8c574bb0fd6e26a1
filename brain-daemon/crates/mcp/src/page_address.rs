//! Addresses of pages in tool calls: `slug` or `source:slug`, with `#Heading` for a section.
//!
//! The source is left out if it is the caller's default. Answers and arguments use the same form,
//! so a model can pass an address on.

use brain_protocol::{Fault, FaultCode, PageRef, Slug, SourceId};

use super::answer::shorten;
use super::{MAX_QUOTED, ToolContext};

/// The scheme of pages as resources.
pub(super) const SCHEME: &str = "brain://page/";

/// The address of a page, or of one of its sections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageAddress {
    pub(super) page: PageRef,
    /// The heading of the section.
    pub(super) section: Option<String>,
}

/// Parses `slug` or `source:slug`, with an optional `#Heading` and an optional [`SCHEME`].
///
/// # Errors
/// `invalid_slug` or `invalid_source` if that part of the text is invalid.
pub(super) fn parse(text: &str) -> Result<PageAddress, Fault> {
    let text = text.trim();
    let text = text.strip_prefix(SCHEME).unwrap_or(text);
    let (name, section) = match text.split_once('#') {
        Some((name, section)) => {
            (name, Some(section.trim().to_owned()).filter(|it| !it.is_empty()))
        }
        None => (text, None),
    };
    let (source, slug) = match name.split_once(':') {
        Some((source, slug)) => (Some(parse_source(source)?), slug),
        None => (None, name),
    };
    let slug = Slug::parse(slug).map_err(|error| {
        Fault::new(FaultCode::InvalidSlug, error.message).hint(
            "a slug looks like people/ada-lovelace; `query` and `list_pages` find existing pages",
        )
    })?;
    Ok(PageAddress { page: PageRef { source, slug }, section })
}

/// Parses the address of a whole page.
///
/// # Errors
/// Like [`parse`], and `invalid_request` if the address names a section.
pub(super) fn parse_page(text: &str) -> Result<PageRef, Fault> {
    whole_page(parse(text)?)
}

/// Returns the page of an address.
///
/// # Errors
/// `invalid_request` if the address names a section.
pub(super) fn whole_page(address: PageAddress) -> Result<PageRef, Fault> {
    let PageAddress { page, section } = address;
    match section {
        None => Ok(page),
        Some(section) => Err(Fault::new(
            FaultCode::InvalidRequest,
            format!(
                "\"#{}\" names a section, but this needs a whole page",
                shorten(&section, MAX_QUOTED).escape_debug()
            ),
        )
        .hint("leave out # and the section")),
    }
}

/// Parses the id of a source.
///
/// # Errors
/// `invalid_source` if the text is not an id.
pub(super) fn parse_source(text: &str) -> Result<SourceId, Fault> {
    SourceId::parse(text.trim())
        .map_err(|error| Fault::new(FaultCode::InvalidSource, error.message))
}

impl ToolContext {
    /// Returns the address of a page, which [`parse`] turns back into this page.
    pub(super) fn page_name(&self, source: &SourceId, slug: &Slug) -> Result<String, Fault> {
        Ok(if source == self.default_source()? {
            slug.to_string()
        } else {
            format!("{source}:{slug}")
        })
    }

    /// Returns the URL at which a person can open the page whose address is `name`: on the daemon's
    /// local listener. Returns the URI of the resource if there is no listener.
    pub(super) fn web_address(&self, name: &str) -> String {
        match self.local_address() {
            Some(address) => format!("http://{address}/page/{}", percent_encode(name)),
            None => uri(name),
        }
    }
}

/// Returns the URI of the page whose address is `name`, as a resource.
pub(super) fn uri(name: &str) -> String {
    format!("{SCHEME}{}", percent_encode(name))
}

/// Percent-encodes a name for a URI (RFC 3986 section 2.1).
fn percent_encode(name: &str) -> String {
    let encoded: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
    encoded.replace("%2F", "/").replace("%3A", ":").replace('+', "%20")
}

/// Parses a URI that begins with [`SCHEME`].
///
/// # Errors
/// Like [`parse`], and `invalid_slug` if the URI has another scheme.
pub(super) fn parse_uri(uri: &str) -> Result<PageAddress, Fault> {
    let invalid = || {
        let message =
            format!("\"{}\" is not the address of a page", shorten(uri, MAX_QUOTED).escape_debug());
        Fault::new(FaultCode::InvalidSlug, message)
            .hint("an address looks like brain://page/people/ada-lovelace")
    };
    let name = uri.strip_prefix(SCHEME).ok_or_else(invalid)?;
    parse(&percent_decode(name).ok_or_else(invalid)?)
}

/// Decodes percent-encoding. Returns `None` if it is invalid.
fn percent_decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        out.push(if byte == b'%' { u8::try_from(digit()? * 16 + digit()?).ok()? } else { byte });
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed() {
        let read = |text: &str| {
            let address = parse(text)?;
            let source = address.page.source.map(|source| source.to_string());
            Ok::<_, Fault>((source, address.page.slug.to_string(), address.section))
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(read("people/ada").unwrap(), (None, "people/ada".into(), None));
        assert_eq!(read(" work:people/ada ").unwrap(), (some("work"), "people/ada".into(), None));
        assert_eq!(
            read("people/ada#Early life").unwrap(),
            (None, "people/ada".into(), some("Early life"))
        );
        assert_eq!(read("brain://page/work:a#").unwrap(), (some("work"), "a".into(), None));
        for (bad, code) in [
            ("", FaultCode::InvalidSlug),
            ("a//b", FaultCode::InvalidSlug),
            ("../etc/passwd", FaultCode::InvalidSlug),
            ("No Such:a", FaultCode::InvalidSource),
            (":a", FaultCode::InvalidSource),
        ] {
            assert_eq!(read(bad).unwrap_err().code, code, "{bad}");
        }
        assert_eq!(parse_page("a#b").unwrap_err().code, FaultCode::InvalidRequest);
    }

    #[test]
    fn a_uri_parses_to_its_page() {
        for name in ["people/ada", "work:people/ada", "notes/日本", "a.b_c-d"] {
            let address = parse_uri(&uri(name)).unwrap();
            assert_eq!(address, parse(name).unwrap(), "{name}");
            assert!(uri(name).is_ascii());
        }
        assert_eq!(
            parse_uri("brain://page/people%2fada#Early%20life").unwrap().section.as_deref(),
            Some("Early life")
        );
        for bad in [
            "people/ada",
            "https://page/a",
            "brain://page/",
            "brain://page/%",
            "brain://page/%zz",
            "brain://page/%ff",
        ] {
            assert!(parse_uri(bad).is_err(), "{bad}");
        }
    }
}
