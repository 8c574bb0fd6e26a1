//! Extractors for JSON bodies and queries. An error names the unknown or invalid field.

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use brain_protocol::{Fault, FaultCode};
use serde::de::value::{Error as ValueError, MapDeserializer};
use serde::de::{DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde_json::{Map, Value};

use super::{AppState, HttpError};

/// The size limit of forms and JSON objects, in bytes. Ingest has another limit.
pub(super) const MAX_BYTES: usize = 64 * 1024;

/// Why a body could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyError {
    /// It has more than [`MAX_BYTES`].
    TooLarge,
    /// It ended early, timed out, or was evicted.
    Incomplete,
}

impl BodyError {
    /// Returns the message for people.
    pub(super) fn message(self) -> String {
        match self {
            Self::TooLarge => format!("the body is larger than {MAX_BYTES} bytes"),
            Self::Incomplete => "the body is incomplete".into(),
        }
    }

    /// Returns the HTTP status.
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Incomplete => StatusCode::BAD_REQUEST,
        }
    }
}

/// Reads a body of at most [`MAX_BYTES`] bytes.
///
/// # Errors
/// [`BodyError::TooLarge`] if it is longer, [`BodyError::Incomplete`] if its end does not arrive.
pub(super) async fn read(body: Body) -> Result<Bytes, BodyError> {
    axum::body::to_bytes(body, MAX_BYTES).await.map_err(|error| {
        let source = std::error::Error::source(&error);
        if source.is_some_and(<dyn std::error::Error>::is::<http_body_util::LengthLimitError>) {
            BodyError::TooLarge
        } else {
            BodyError::Incomplete
        }
    })
}

/// Returns the media type in lower case, without parameters. `None` if it is missing or repeated.
pub(super) fn media_type(headers: &HeaderMap) -> Option<String> {
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let (first, None) = (types.next()?, types.next()) else { return None };
    let text = first.to_str().ok()?;
    Some(text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

/// Extracts a JSON object as `T`. An optional member that is `null` counts as absent. An empty body
/// without a `Content-Type`, or `null` alone, counts as an empty object.
pub(super) struct JsonObject<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<AppState> for JsonObject<T> {
    type Rejection = HttpError;

    async fn from_request(request: Request, _: &AppState) -> Result<Self, HttpError> {
        let (parts, body) = request.into_parts();
        let is_json = media_type(&parts.headers)
            .is_some_and(|kind| kind == "application/json" || kind.ends_with("+json"));
        let bytes = read(body).await.map_err(|error| match error {
            BodyError::TooLarge => HttpError::new(error.status(), "too_large", error.message()),
            BodyError::Incomplete => invalid(error.message()),
        })?;
        if bytes.is_empty() && !parts.headers.contains_key(header::CONTENT_TYPE) {
            return from_members(Map::new()).map(Self).map_err(invalid);
        }
        if !is_json {
            return Err(HttpError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_content_type",
                "the body must be JSON; send `Content-Type: application/json`",
            ));
        }
        let members = object(&bytes).map_err(|error| match error {
            ObjectError::Syntax(error) => not_json(&error),
            ObjectError::Shape => invalid(error.to_string()),
        });
        let members = match members {
            Err(_) if bytes.trim_ascii() == b"null" => Map::new(),
            members => members?,
        };
        from_members(members).map(Self).map_err(invalid)
    }
}

/// Returns 400 for a body that is not JSON.
pub(super) fn not_json(error: &serde_json::Error) -> HttpError {
    let message = format!("the body is not JSON: {error}");
    HttpError::new(StatusCode::BAD_REQUEST, "invalid_json", message)
}

/// Why a body is not a JSON object.
#[derive(Debug)]
pub(super) enum ObjectError {
    /// It is not JSON.
    Syntax(serde_json::Error),
    /// It is another kind of JSON value.
    Shape,
}

impl std::fmt::Display for ObjectError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Syntax(error) => write!(f, "the body is not JSON: {error}"),
            Self::Shape => f.write_str("the body must be a JSON object"),
        }
    }
}

/// Parses a JSON object.
///
/// # Errors
/// [`ObjectError::Syntax`] if `bytes` are not JSON, [`ObjectError::Shape`] for other JSON values.
pub(super) fn object(bytes: &[u8]) -> Result<Map<String, Value>, ObjectError> {
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(ObjectError::Shape),
        Err(error) => Err(ObjectError::Syntax(error)),
    }
}

/// Extracts the parameters of a query as `T`; an error names the invalid parameter.
pub(super) struct StrictQuery<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequestParts<AppState> for StrictQuery<T> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, HttpError> {
        match Query::try_from_uri(&parts.uri) {
            Ok(Query(parameters)) => Ok(Self(parameters)),
            Err(rejection) => Err(invalid(rejection.body_text())),
        }
    }
}

fn invalid(message: impl Into<String>) -> HttpError {
    Fault::new(FaultCode::InvalidRequest, message).into()
}

/// Deserializes a `T` from the members of a JSON object.
///
/// # Errors
/// The message, with the name of the invalid member.
fn from_members<T: DeserializeOwned>(members: Map<String, Value>) -> Result<T, String> {
    let named = members.into_iter().map(|(name, value)| (name.clone(), Member(name, value)));
    T::deserialize(MapDeserializer::<_, ValueError>::new(named)).map_err(|error| error.to_string())
}

/// The name and value of a member. Errors of its deserialization contain the name.
struct Member(String, Value);

impl Member {
    fn error(name: &str, error: &serde_json::Error) -> ValueError {
        serde::de::Error::custom(format!("\"{name}\": {error}"))
    }
}

impl IntoDeserializer<'_, ValueError> for Member {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Member {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.1.deserialize_any(visitor).map_err(|error| Self::error(&self.0, &error))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        if self.1.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.1
            .deserialize_enum(name, variants, visitor)
            .map_err(|error| Self::error(&self.0, &error))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        name: String,
        count: Option<u32>,
        words: Option<Vec<String>>,
    }

    fn sample(text: &str) -> Result<Sample, String> {
        object(text.as_bytes()).map_err(|error| error.to_string()).and_then(from_members)
    }

    #[test]
    fn an_optional_member_that_is_null_is_absent() {
        let expected = Sample { name: "a".into(), count: None, words: None };
        assert_eq!(sample(r#"{"name":"a","count":null}"#).unwrap(), expected);
        let expected = Sample { name: "a".into(), count: Some(3), words: Some(vec!["b".into()]) };
        assert_eq!(sample(r#"{"name":"a","count":3,"words":["b"]}"#).unwrap(), expected);
    }

    #[test]
    fn a_refusal_names_the_problem() {
        for (text, expected) in [
            (r#"{"name":"a","cuont":3}"#, "unknown field `cuont`"),
            (r#"{"name":"a","count":"3"}"#, "\"count\": invalid type"),
            (r#"{"name":"a","count":-1}"#, "\"count\": invalid value"),
            (r#"{"name":"a","words":[1]}"#, "\"words\": invalid type"),
            (r#"{"name":null}"#, "\"name\": invalid type: null"),
            (r#"{"name":"a","cuont":null}"#, "unknown field `cuont`"),
            (r#"{"name":["a"]}"#, "\"name\": invalid type"),
            ("[]", "must be a JSON object"),
            ("{", "is not JSON"),
            ("", "is not JSON"),
            (&format!("{{\"name\":{}", "[".repeat(100_000)), "is not JSON"),
        ] {
            let message = sample(text).unwrap_err();
            assert!(message.contains(expected), "{text:.60} → {message}");
        }
    }

    #[test]
    fn a_media_type_is_read_without_its_parameters() {
        let media_type_of = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::CONTENT_TYPE, value.parse().unwrap());
            }
            media_type(&headers)
        };
        assert_eq!(
            media_type_of(&["Application/JSON; charset=utf-8"]).as_deref(),
            Some("application/json")
        );
        assert_eq!(media_type_of(&[]), None);
        assert_eq!(media_type_of(&["text/plain", "application/json"]), None, "a repeated field");
    }
}
