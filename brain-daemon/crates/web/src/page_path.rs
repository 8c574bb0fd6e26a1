//! URLs of pages in the web interface.

use brain_protocol::{Fault, FaultCode, PageRef, Slug, SourceId};

/// The route of the reader.
pub(crate) const ROUTE: &str = "/page/{*name}";

/// Returns the path at which the page `name`, a `slug` or `source:slug`, is shown.
pub(crate) fn page_path(name: &str) -> String {
    encoded_path("/page/", name)
}

/// Returns `prefix` followed by the encoded name of a page or a file.
pub(crate) fn encoded_path(prefix: &str, name: &str) -> String {
    let encoded: String = form_urlencoded::byte_serialize(name.as_bytes()).collect();
    format!("{prefix}{}", encoded.replace("%2F", "/").replace("%3A", ":").replace('+', "%20"))
}

/// Parses `slug` or `source:slug`.
///
/// # Errors
/// If the name is invalid: the page with the nearest valid slug, which may not exist. `None` if
/// there is no such slug, or the source is invalid.
pub(crate) fn parse_page_name(name: &str) -> Result<PageRef, Option<PageRef>> {
    let (source, slug) = match name.split_once(':') {
        Some((source, slug)) => (Some(SourceId::parse(source).map_err(|_| None)?), slug),
        None => (None, name),
    };
    match Slug::parse(slug) {
        Ok(slug) => Ok(PageRef { source, slug }),
        Err(error) => {
            let nearest = error.suggestion.and_then(|slug| Slug::parse(slug).ok());
            Err(nearest.map(|slug| PageRef { source, slug }))
        }
    }
}

/// Parses the name of a page in a URL.
///
/// # Errors
/// `invalid_slug` if it is not the name of a page.
pub(crate) fn parse_page(name: &str) -> Result<PageRef, Fault> {
    parse_page_name(name).map_err(|_| {
        Fault::new(FaultCode::InvalidSlug, format!("\"{name}\" is not the name of a page"))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn paths_parse_to_their_pages() {
        let read = |name: &str| {
            parse_page_name(name)
                .map(|it| (it.source.map(|it| it.to_string()), it.slug.to_string()))
        };
        assert_eq!(read("people/ada"), Ok((None, "people/ada".into())));
        assert_eq!(read("work:people/ada"), Ok((Some("work".into()), "people/ada".into())));
        assert_eq!(
            read("People/Ada Lovelace").unwrap_err().map(|near| near.to_string()),
            Some("people/ada-lovelace".into())
        );
        assert_eq!(read("No Source:a"), Err(None));
        assert_eq!(page_path("work:notes/日本 x"), "/page/work:notes/%E6%97%A5%E6%9C%AC%20x");
    }
}
