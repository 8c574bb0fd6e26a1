//! The web address of a page.

use super::Frontmatter;

/// Maximum length of a URL, in bytes.
const MAX_LENGTH: usize = 2_000;

/// Returns the web address of a page: the `url` of its frontmatter, else the URL of its origin;
/// `None` when neither is `http` or `https`. `frontmatter` is the text between the `---` lines.
#[must_use]
pub fn page_url(frontmatter: &str, source_uri: Option<&str>) -> Option<String> {
    // Most pages have no address, and callers ask for many pages at once.
    let named = if frontmatter.contains("url") {
        Frontmatter::parse(frontmatter).ok().and_then(|frontmatter| frontmatter.get("url"))
    } else {
        None
    };
    [named.as_deref(), source_uri].into_iter().flatten().find_map(web_address)
}

fn web_address(text: &str) -> Option<String> {
    let url = url::Url::parse(text.trim()).ok()?;
    let fits = matches!(url.scheme(), "http" | "https") && url.as_str().len() <= MAX_LENGTH;
    fits.then(|| url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_addresses_are_returned() {
        assert_eq!(
            web_address(" https://x.example/ä b ").as_deref(),
            Some("https://x.example/%C3%A4%20b")
        );
        assert_eq!(web_address("http://x").as_deref(), Some("http://x/"));
        let long = format!("https://x/{}", "a".repeat(MAX_LENGTH));
        for other in
            ["", "x", "javascript:alert(1)", "file:///etc/passwd", "webhook:c:1", "https://", &long]
        {
            assert_eq!(web_address(other), None, "{other}");
        }
    }

    #[test]
    fn the_frontmatter_url_precedes_the_origin() {
        let from = Some("https://from.example/");
        assert_eq!(
            page_url("title: x\nurl: https://x.example/a\n", from).as_deref(),
            Some("https://x.example/a")
        );
        assert_eq!(page_url("url: javascript:1\n", from).as_deref(), from);
        assert_eq!(page_url("", Some("cli:argument")), None);
        assert_eq!(page_url("url: [", None), None, "invalid frontmatter");
    }
}
