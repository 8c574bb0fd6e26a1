//! Where the documents of an imported directory become pages, so that links between them work.

use std::collections::HashMap;

use brain_page::{
    Document as PageText, MovedFile, NewTarget, PageLink, percent_decode, plain_slug,
    retarget_links,
};

use super::local_files::joined;

/// The page of each document that becomes one page.
pub(super) struct DocumentPlaces(HashMap<String, String>);

impl DocumentPlaces {
    /// Takes the path of each document that becomes one page, and the path of its page.
    pub(super) fn of<'a>(documents: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let owned = |(path, place): (&str, &str)| (path.to_owned(), place.to_owned());
        Self(documents.into_iter().map(owned).collect())
    }

    /// Returns a page with links to pages for its links to documents. `document` is the path of its
    /// document, and `page` its own path.
    pub(super) fn with_links(&self, document: &str, page: &str, markdown: String) -> String {
        let file = format!("{page}.md");
        let (true, Ok(slug)) = (markdown.contains("]("), plain_slug(&file)) else {
            return markdown;
        };
        let Ok(text) = PageText::parse(&markdown) else { return markdown };
        let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
        let new_target = |link: &PageLink| {
            let address = link.raw.split(['#', '?']).next().unwrap_or_default();
            let target = joined(folder, &percent_decode(address))?;
            let path = format!("{}.md", self.0.get(&target)?);
            // The link is a path from the folder of the page, whatever it could mean else.
            Some(NewTarget { old_slug: slug.clone(), path, name: None })
        };
        let moved = MovedFile { old_slug: &slug, old_path: &file, new_path: &file, folders: &[] };
        let rewritten = retarget_links(&text, moved, |_| false, new_target);
        match rewritten.rewritten_count {
            0 => markdown,
            _ => rewritten.document.render(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(document: &str, page: &str, body: &str) -> String {
        let places = [
            ("site/index.html", "site/index"),
            ("site/Two words.html", "site/Two words"),
            ("site/deep/c.htm", "site/deep/c"),
            ("d.html", "d (html)"),
        ];
        let places = places.map(|(path, place)| (path.to_owned(), place.to_owned()));
        let text = format!("---\ntitle: T\n---\n\n{body}\n");
        let out = DocumentPlaces(HashMap::from(places)).with_links(document, page, text);
        out.rsplit_once("---\n\n").map(|(_, body)| body.trim().to_owned()).unwrap_or_default()
    }

    #[test]
    fn links_between_documents_lead_to_their_pages() {
        let index = |body: &str| rewritten("site/index.html", "site/index", body);
        for (before, after) in [
            ("[a](Two%20words.html#top)", "[a](Two%20words#top)"),
            ("[a](deep/c.htm)", "[a](deep/c)"),
            ("[a](./deep/c.htm)", "[a](./deep/c)"),
            ("[a](../d.html)", "[a](../d%20%28html%29)"),
            ("[a](index.html)", "[a](index)"),
            ("[a](none.html) [b](https://x.example/index.html)", ""),
            ("`[a](index.html)`", ""),
        ] {
            let expected = if after.is_empty() { before } else { after };
            assert_eq!(index(before), expected);
        }
        let deep = rewritten("site/deep/c.htm", "site/deep/c", "[a](../index.html)");
        assert_eq!(deep, "[a](../index)");
    }
}
