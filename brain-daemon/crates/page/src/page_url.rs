//! A page's own address in the web.

use super::Frontmatter;

/// The longest address, in bytes.
const LONGEST: usize = 2_000;

/// Where a page stands in the web: the `url` of its frontmatter, else the address that it came from; `None` when neither is `http` or
/// `https`. `frontmatter` is the text between its `---` lines.
#[must_use]
pub fn page_url(frontmatter: &str, source_uri: Option<&str>) -> Option<String> {
    // Most pages have none, and many are asked at once.
    let named = if frontmatter.contains("url") {
        Frontmatter::parse(frontmatter).ok().and_then(|frontmatter| frontmatter.get("url"))
    } else {
        None
    };
    [named.as_deref(), source_uri].into_iter().flatten().find_map(web_address)
}

fn web_address(text: &str) -> Option<String> {
    let url = url::Url::parse(text.trim()).ok()?;
    let fits = matches!(url.scheme(), "http" | "https") && url.as_str().len() <= LONGEST;
    fits.then(|| url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_web_are_passed_on() {
        assert_eq!(
            web_address(" https://x.example/ä b ").as_deref(),
            Some("https://x.example/%C3%A4%20b")
        );
        assert_eq!(web_address("http://x").as_deref(), Some("http://x/"));
        let long = format!("https://x/{}", "a".repeat(LONGEST));
        for other in
            ["", "x", "javascript:alert(1)", "file:///etc/passwd", "webhook:c:1", "https://", &long]
        {
            assert_eq!(web_address(other), None, "{other}");
        }
    }

    #[test]
    fn what_the_page_says_counts_more_than_where_it_came_from() {
        let from = Some("https://from.example/");
        assert_eq!(
            page_url("title: x\nurl: https://x.example/a\n", from).as_deref(),
            Some("https://x.example/a")
        );
        assert_eq!(page_url("url: javascript:1\n", from).as_deref(), from);
        assert_eq!(page_url("", Some("cli:argument")), None);
        assert_eq!(page_url("url: [", None), None, "frontmatter that is none");
    }
}
