//! Lists in JSON: `"read write"`, `"read,write"` or `["read","write"]`.

use brain_protocol::{Fault, FaultCode, GrantType, Scopes, SourceId};
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, Type};
use utoipa::openapi::{RefOr, Schema};

/// A list of words: a string with words separated by spaces or commas, or an array of strings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StringList(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for StringList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StringListVisitor;

        impl<'de> Visitor<'de> for StringListVisitor {
            type Value = StringList;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string, or an array of strings")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<StringList, E> {
                let words = text.split([' ', ',', '\t']).filter(|word| !word.is_empty());
                Ok(StringList(words.map(str::to_owned).collect()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<StringList, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = values.next_element::<String>()? {
                    words.push(word);
                }
                Ok(StringList(words))
            }
        }

        deserializer.deserialize_any(StringListVisitor)
    }
}

/// Returns the schema of a list of at least `min` words that match the pattern `word`.
fn list_schema(word: &str, min: usize) -> RefOr<Schema> {
    let text =
        |pattern: String| ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern));
    let words = format!("{word}([ ,\\t]+{word})*[ ,\\t]*");
    let joined =
        if min == 0 { format!("^[ ,\\t]*({words})?$") } else { format!("^[ ,\\t]*{words}$") };
    OneOfBuilder::new()
        .item(text(joined).description(Some("Separated by spaces or commas.")))
        .item(ArrayBuilder::new().items(text(format!("^{word}$"))).min_items(Some(min)))
        .into()
}

/// Defines the schema of a list.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident: $word:expr, $min:expr;)*) => {$(
        $(#[$doc])*
        pub(super) struct $name;

        impl utoipa::PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                list_schema($word, $min)
            }
        }

        impl utoipa::ToSchema for $name {}
    )*};
}

words! {
    /// Scopes.
    ScopeList: "(read|write|admin)", 1;
    /// Ids of sources.
    SourceList: "[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?", 0;
    /// Grant types.
    GrantTypeList: "(authorization_code|client_credentials|refresh_token)", 0;
}

/// Parses the requested scopes, which can be in the member `scope` or `scopes`.
///
/// # Errors
/// [`FaultCode::InvalidRequest`] if both members are present and differ,
/// [`FaultCode::InvalidScope`] if a list is empty or a scope does not exist.
pub(super) fn scopes(
    scope: Option<&StringList>,
    scopes: Option<&StringList>,
) -> Result<Option<Scopes>, Fault> {
    let parse = |words: &StringList| {
        // In an array, "read write" is not a scope.
        for word in &words.0 {
            if word.contains([' ', ',', '\t']) || word.is_empty() {
                return Err(invalid_scope(format!(
                    "{:?} is not a scope: the scopes are read, write and admin",
                    shorten(word)
                )));
            }
        }
        Scopes::parse(&words.0.join(" ")).map_err(invalid_scope)
    };
    match (scope.map(parse).transpose()?, scopes.map(parse).transpose()?) {
        (Some(first), Some(second)) if first != second => Err(Fault::new(
            FaultCode::InvalidRequest,
            format!("\"scope\" is \"{first}\" and \"scopes\" is \"{second}\""),
        )
        .hint("send one of them")),
        (first, second) => Ok(first.or(second)),
    }
}

/// Parses the requested scopes, which are required.
///
/// # Errors
/// As for [`scopes`], and [`FaultCode::InvalidScope`] if both members are absent.
pub(super) fn required_scopes(
    scope: Option<&StringList>,
    alias: Option<&StringList>,
) -> Result<Scopes, Fault> {
    scopes(scope, alias)?.ok_or_else(|| {
        Fault::new(FaultCode::InvalidScope, "\"scope\" is missing")
            .hint("the scopes are read, write and admin")
    })
}

/// Parses a list of sources.
///
/// # Errors
/// [`FaultCode::InvalidSource`] if an id is not valid.
pub(super) fn sources(words: Option<StringList>) -> Result<Option<Vec<SourceId>>, Fault> {
    let Some(StringList(words)) = words else { return Ok(None) };
    let parse = |word: String| {
        SourceId::parse(&word)
            .map_err(|e| Fault::new(FaultCode::InvalidSource, format!("\"sources\": {e}")))
    };
    words.into_iter().map(parse).collect::<Result<_, _>>().map(Some)
}

/// Parses a list of grant types.
///
/// # Errors
/// [`FaultCode::InvalidRequest`] if a grant type does not exist.
pub(super) fn grant_types(words: Option<StringList>) -> Result<Vec<GrantType>, Fault> {
    let parse = |word: String| {
        GrantType::parse(&word).ok_or_else(|| {
            let names: Vec<&str> = GrantType::ALL.iter().map(|kind| kind.as_str()).collect();
            Fault::new(
                FaultCode::InvalidRequest,
                format!("\"grant_types\": {:?} is not a grant type", shorten(&word)),
            )
            .hint(format!("the grant types are {}", names.join(", ")))
        })
    };
    words.map_or_else(Vec::new, |words| words.0).into_iter().map(parse).collect()
}

fn invalid_scope(message: String) -> Fault {
    Fault::new(FaultCode::InvalidScope, message)
}

/// Returns the first 40 characters of a word, for a message.
fn shorten(word: &str) -> String {
    word.chars().take(40).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn words(json: &str) -> StringList {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn scopes_are_parsed_from_strings_and_arrays() {
        for json in
            [r#""read write""#, r#""read,write""#, r#"" write, read ""#, r#"["read","write"]"#]
        {
            assert_eq!(
                scopes(Some(&words(json)), None).unwrap(),
                Some(Scopes::READ_WRITE),
                "{json}"
            );
            assert_eq!(
                scopes(None, Some(&words(json))).unwrap(),
                Some(Scopes::READ_WRITE),
                "{json}"
            );
        }
        assert_eq!(scopes(None, None).unwrap(), None);
        let both = scopes(Some(&words(r#""read write""#)), Some(&words(r#"["write","read"]"#)));
        assert_eq!(both.unwrap(), Some(Scopes::READ_WRITE), "two members with the same scopes");
        let differ = scopes(Some(&words(r#""read""#)), Some(&words(r#"["write"]"#))).unwrap_err();
        assert_eq!(differ.code, FaultCode::InvalidRequest);
        for json in
            [r#""""#, "[]", r#""read owner""#, r#"["read write"]"#, r#"["read",""]"#, r#"["READ"]"#]
        {
            let fault = scopes(Some(&words(json)), None).unwrap_err();
            assert_eq!(fault.code, FaultCode::InvalidScope, "{json}");
        }
        for json in ["1", "null", "{}", "[1]", "[[]]", "true"] {
            assert!(serde_json::from_str::<StringList>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn unknown_sources_and_grant_types_are_refused() {
        assert_eq!(sources(None).unwrap(), None);
        assert_eq!(sources(Some(words(r#""work, home""#))).unwrap().unwrap().len(), 2);
        assert_eq!(sources(Some(words(r#"["../x"]"#))).unwrap_err().code, FaultCode::InvalidSource);
        assert_eq!(grant_types(None).unwrap(), []);
        let kinds = grant_types(Some(words(r#"["authorization_code","refresh_token"]"#))).unwrap();
        assert_eq!(kinds, [GrantType::AuthorizationCode, GrantType::RefreshToken]);
        assert_eq!(
            grant_types(Some(words(r#""password""#))).unwrap_err().code,
            FaultCode::InvalidRequest
        );
    }
}
