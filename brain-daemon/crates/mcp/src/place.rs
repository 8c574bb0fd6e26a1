//! How pages are named in this door: by slug, or `source:slug` where the source is not the one that is meant when none is named; with
//! `#Heading` behind it for a part. One text that goes from an answer into the next call.

use brain_protocol::{Fault, FaultCode, PageRef, Slug, SourceId};

use super::answer::short;
use super::{Desk, REPEATED};

/// The scheme of pages as resources.
pub(super) const SCHEME: &str = "brain://page/";

/// A page and perhaps a part of it, as a model names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The page.
    pub(super) page: PageRef,
    /// The heading of the part.
    pub(super) section: Option<String>,
}

/// Reads `slug`, `source:slug`, either with `#Heading` behind it or [`SCHEME`] before it.
///
/// # Errors
/// `invalid_slug` or `invalid_source`, with what was read.
pub(super) fn parse(text: &str) -> Result<Place, Fault> {
    let text = text.trim();
    let text = text.strip_prefix(SCHEME).unwrap_or(text);
    let (name, section) = match text.split_once('#') {
        Some((name, section)) => {
            (name, Some(section.trim().to_owned()).filter(|it| !it.is_empty()))
        }
        None => (text, None),
    };
    let (source, slug) = match name.split_once(':') {
        Some((source, slug)) => (Some(self::source(source)?), slug),
        None => (None, name),
    };
    let slug = Slug::parse(slug).map_err(|error| {
        Fault::new(FaultCode::InvalidSlug, error.message).hint(
            "a slug looks like people/ada-lovelace; `query` and `list_pages` show those there are",
        )
    })?;
    Ok(Place { page: PageRef { source, slug }, section })
}

/// The page that `text` names, without a part.
///
/// # Errors
/// As [`parse`], and when it names a part.
pub(super) fn page(text: &str) -> Result<PageRef, Fault> {
    let Place { page, section } = parse(text)?;
    match section {
        None => Ok(page),
        Some(section) => Err(Fault::new(
            FaultCode::InvalidRequest,
            format!(
                "\"#{}\" names a part; this is about a whole page",
                short(&section, REPEATED).escape_debug()
            ),
        )
        .hint("leave the part behind # away")),
    }
}

/// The source that `text` names.
///
/// # Errors
/// `invalid_source`.
pub(super) fn source(text: &str) -> Result<SourceId, Fault> {
    SourceId::parse(text.trim())
        .map_err(|error| Fault::new(FaultCode::InvalidSource, error.message))
}

impl Desk {
    /// The name of a page: what [`parse`] reads back as this page.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) fn name(&self, source: &SourceId, slug: &Slug) -> Result<String, Fault> {
        let usual = match self.usual.get() {
            Some(usual) => usual,
            None => {
                let found = self.brain.usual_source(&self.caller)?;
                self.usual.get_or_init(|| found)
            }
        };
        Ok(if source == usual { slug.to_string() } else { format!("{source}:{slug}") })
    }

    /// Where a person can open the page: the web page of the daemon on their machine, or its address as a resource when there is none.
    pub(super) fn address(&self, name: &str) -> String {
        match self.brain.http_addresses().local {
            Some(address) => format!("http://{address}/page/{}", encoded(name)),
            None => uri(name),
        }
    }
}

/// The address of a page as a resource.
pub(super) fn uri(name: &str) -> String {
    format!("{SCHEME}{}", encoded(name))
}

/// A name as it may stand in an address (RFC 3986 section 2.1).
fn encoded(name: &str) -> String {
    let encoded: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
    encoded.replace("%2F", "/").replace("%3A", ":").replace('+', "%20")
}

/// The place at an address that begins with [`SCHEME`].
///
/// # Errors
/// As [`parse`], and `invalid_slug` when the address is of another kind.
pub(super) fn of_uri(uri: &str) -> Result<Place, Fault> {
    let strange = || {
        let message =
            format!("\"{}\" is no address of a page", short(uri, REPEATED).escape_debug());
        Fault::new(FaultCode::InvalidSlug, message)
            .hint("an address looks like brain://page/people/ada-lovelace")
    };
    let name = uri.strip_prefix(SCHEME).ok_or_else(strange)?;
    parse(&decoded(name).ok_or_else(strange)?)
}

/// Takes the percent encoding back; `None` when it is broken.
fn decoded(text: &str) -> Option<String> {
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
    fn a_page_has_one_name() {
        let read = |text: &str| {
            let place = parse(text)?;
            let source = place.page.source.map(|source| source.to_string());
            Ok::<_, Fault>((source, place.page.slug.to_string(), place.section))
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
        assert_eq!(page("a#b").unwrap_err().code, FaultCode::InvalidRequest);
    }

    #[test]
    fn an_address_leads_back_to_its_page() {
        for name in ["people/ada", "work:people/ada", "notes/日本", "a.b_c-d"] {
            let place = of_uri(&uri(name)).unwrap();
            assert_eq!(place, parse(name).unwrap(), "{name}");
            assert!(uri(name).is_ascii());
        }
        assert_eq!(
            of_uri("brain://page/people%2fada#Early%20life").unwrap().section.as_deref(),
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
            assert!(of_uri(bad).is_err(), "{bad}");
        }
    }
}
