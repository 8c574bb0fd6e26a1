//! The pages of a graph that a URL selects.

use brain_protocol::{Fault, FaultCode, GraphLayout, SourceId};

use crate::page_path::parse_page;

/// The depth, if the URL has none.
const DEPTH: u32 = 2;
const MAX_DEPTH: u32 = 3;

/// A selection, as the URL contains it. Empty fields select all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Selection {
    /// The page in the centre.
    pub(super) page: String,
    /// Maximum number of links from the page in the centre, 1 to [`MAX_DEPTH`].
    pub(super) depth: u32,
    pub(super) source: String,
    pub(super) page_type: String,
    pub(super) tag: String,
    /// The last day of creation, `YYYY-MM-DD`.
    pub(super) until: String,
    /// The part of the table, from 1.
    pub(super) part: u32,
}

impl Selection {
    /// Parses the query of a URL. Unknown fields are ignored.
    pub(super) fn parse(query: &str) -> Self {
        let mut selection = Self::around("");
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let value = value.trim().to_owned();
            match &*name {
                "page" => selection.page = value,
                "depth" => selection.depth = value.parse().unwrap_or(DEPTH).clamp(1, MAX_DEPTH),
                "source" => selection.source = value,
                "type" => selection.page_type = value,
                "tag" => selection.tag = value.trim_start_matches('#').to_owned(),
                "until" => selection.until = value,
                "part" => selection.part = value.parse::<u32>().unwrap_or(1).clamp(1, 1_000_000),
                _ => {}
            }
        }
        selection
    }

    /// Returns the selection of the pages around a page.
    pub(super) fn around(page: &str) -> Self {
        Self {
            page: page.to_owned(),
            depth: DEPTH,
            source: String::new(),
            page_type: String::new(),
            tag: String::new(),
            until: String::new(),
            part: 1,
        }
    }

    /// Returns the URL of a part of this selection.
    pub(super) fn path(&self, path: &str, part: u32) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let fields = [
            ("page", &self.page),
            ("source", &self.source),
            ("type", &self.page_type),
            ("tag", &self.tag),
            ("until", &self.until),
        ];
        query.extend_pairs(fields.into_iter().filter(|(_, value)| !value.is_empty()));
        if !self.page.is_empty() && self.depth != DEPTH {
            query.append_pair("depth", &self.depth.to_string());
        }
        if part > 1 {
            query.append_pair("part", &part.to_string());
        }
        match query.finish() {
            empty if empty.is_empty() => path.to_owned(),
            query => format!("{path}?{query}"),
        }
    }

    /// Returns the operation that reads all pages of this selection.
    ///
    /// # Errors
    /// `invalid_slug` if the name of the page is invalid; `invalid_source` if the source is.
    pub(super) fn request(&self) -> Result<GraphLayout, Fault> {
        let non_empty = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let source = non_empty(&self.source).map(|text| {
            SourceId::parse(&text)
                .map_err(|error| Fault::new(FaultCode::InvalidSource, error.message))
        });
        Ok(GraphLayout {
            page: non_empty(&self.page).map(|page| parse_page(&page)).transpose()?,
            depth: self.depth,
            source: source.transpose()?,
            page_type: non_empty(&self.page_type),
            tag: non_empty(&self.tag),
            until: non_empty(&self.until),
            limit: None,
            skip: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_round_trips_through_its_url() {
        let query = "page=work:a%2Fb&depth=9&source=work&type=a+b&tag=%23x&until=2026-01-01&part=0";
        let selection = Selection::parse(query);
        assert_eq!((selection.depth, selection.part, selection.tag.as_str()), (3, 1, "x"));
        let path = selection.path("/web/graph", 4);
        let again = Selection::parse(path.split_once('?').unwrap_or_default().1);
        assert_eq!(again, Selection { part: 4, ..selection });
        assert_eq!(Selection::parse("").path("/web/graph", 1), "/web/graph");
        assert!(Selection::parse("source=No%20Such").request().is_err());
        assert!(Selection::parse("page=No%20Such:x").request().is_err());
    }
}
