//! A search with its filters, as URLs contain it.

use brain_base::clock::rfc3339;
use brain_protocol::{Fault, FaultCode, SourceId};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The periods of the date filter: value, name and days.
pub(crate) const PERIODS: [(&str, &str, i64); 4] = [
    ("day", "Past day", 1),
    ("week", "Past week", 7),
    ("month", "Past month", 30),
    ("year", "Past year", 365),
];

/// A search with its filters, as the URL contains it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SearchQuery {
    pub(crate) text: String,
    pub(crate) page_type: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) tags: Vec<String>,
    /// A value of [`PERIODS`].
    pub(crate) period: Option<String>,
    /// The first day, `YYYY-MM-DD`. It replaces the period.
    pub(crate) since: Option<String>,
    /// The last day, `YYYY-MM-DD`.
    pub(crate) until: Option<String>,
    /// Whether the results have scores.
    pub(crate) explain: bool,
    /// Whether the text is still being typed.
    pub(crate) is_typing: bool,
}

impl SearchQuery {
    /// Parses the query of a URL. Unknown fields are ignored.
    pub(crate) fn parse(query: &str) -> Self {
        let mut question = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let value = value.trim().to_owned();
            match &*name {
                "q" => question.text = value,
                _ if value.is_empty() => {}
                "type" => question.page_type = Some(value),
                "source" => question.source = Some(value),
                "tag" if !question.tags.contains(&value) => question.tags.push(value),
                "when" => question.period = Some(value),
                "since" => question.since = Some(value),
                "until" => question.until = Some(value),
                "explain" => question.explain = true,
                "typing" => question.is_typing = true,
                _ => {}
            }
        }
        question
    }

    /// Returns the fields and values, apart from the text.
    pub(crate) fn filters(&self) -> Vec<(&'static str, &str)> {
        let mut filters: Vec<(&'static str, &str)> = Vec::new();
        filters.extend(self.page_type.iter().map(|value| ("type", value.as_str())));
        filters.extend(self.source.iter().map(|value| ("source", value.as_str())));
        filters.extend(self.tags.iter().map(|value| ("tag", value.as_str())));
        filters.extend(self.period.iter().map(|value| ("when", value.as_str())));
        filters.extend(self.since.iter().map(|value| ("since", value.as_str())));
        filters.extend(self.until.iter().map(|value| ("until", value.as_str())));
        filters.extend(self.explain.then_some(("explain", "1")));
        filters
    }

    /// Returns the URL of this search.
    pub(crate) fn path(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if !self.text.is_empty() {
            query.append_pair("q", &self.text);
        }
        query.extend_pairs(self.filters());
        match query.finish() {
            empty if empty.is_empty() => "/".to_owned(),
            query => format!("/?{query}"),
        }
    }

    /// Returns the first day, or else the start of the period.
    pub(crate) fn start_time(&self, now: i64) -> Option<String> {
        if self.since.is_some() {
            return self.since.clone();
        }
        let period = self.period.as_deref()?;
        let (_, _, days) = PERIODS.iter().find(|(value, _, _)| *value == period)?;
        Some(rfc3339(now - days * DAY_MS))
    }

    pub(crate) fn source_id(&self) -> Result<Option<SourceId>, Fault> {
        let parse = |text: &String| {
            SourceId::parse(text)
                .map_err(|error| Fault::new(FaultCode::InvalidSource, error.message))
        };
        self.source.as_ref().map(parse).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_round_trips_through_its_url() {
        let query = "q=a%26b&type=person&tag=x&tag=x&tag=y&source=work&when=week&other=1\
            &typing=1&since=2026-01-02&until=";
        let question = SearchQuery::parse(query);
        assert_eq!((question.text.as_str(), question.tags.len()), ("a&b", 2));
        let path = question.path();
        let again = SearchQuery::parse(path.strip_prefix("/?").unwrap_or_default());
        assert_eq!(again, SearchQuery { is_typing: false, ..question });
        assert_eq!(SearchQuery::default().path(), "/");
    }
}
