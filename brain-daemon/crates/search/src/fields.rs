//! Fields of pages in questions: `status:active` is a filter if a page that the caller can see has
//! this value, and else words.

use std::sync::Arc;

use brain_protocol::SourceId;

use super::{
    Index, IndexError,
    encoding::{field_value, hashed_key, key},
    plan::{PageCondition, Plan},
    query::Query,
};

/// Maximum words `key:value` of a question that are looked up: a pasted log has many.
const MAX_FIELDS: usize = 8;

impl Index {
    /// Parses a question of a caller who can see `sources`; `None` means all sources.
    ///
    /// # Errors
    /// As [`Index::search`].
    pub fn parse(
        &self,
        text: &str,
        sources: Option<&[SourceId]>,
    ) -> Result<Arc<Query>, IndexError> {
        let (mut failure, mut left) = (None, MAX_FIELDS);
        let query = Query::parse_with_fields(text, &mut |name, value| {
            if left == 0 {
                return false;
            }
            left -= 1;
            let found = self.has_field(name, value, sources);
            found.unwrap_or_else(|error| {
                failure.get_or_insert(error);
                false
            })
        });
        failure.map_or(Ok(query), Err)
    }

    /// Returns whether a visible page has a field with this value, or with this word in its value.
    fn has_field(
        &self,
        name: &str,
        value: &str,
        sources: Option<&[SourceId]>,
    ) -> Result<bool, IndexError> {
        let key = hashed_key(key::FIELD, &field_value(name, value));
        let required = vec![PageCondition::Keys(vec![key])];
        let plan = Plan { required, ..Plan::default() };
        self.with_view(sources, |view, visible, _, _| self.has_match(view, &plan, visible))
    }
}
