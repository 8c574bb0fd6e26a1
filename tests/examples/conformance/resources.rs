//! The resources of the server, and their template.

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use crate::tools::PNG;

/// Returns the list of resources.
pub(crate) fn all() -> Vec<Resource> {
    vec![
        Resource::new("test://static-text", "text")
            .with_description("A text")
            .with_mime_type("text/plain"),
        Resource::new("test://static-binary", "binary")
            .with_description("A dot")
            .with_mime_type("image/png"),
        Resource::new("test://watched-resource", "watched")
            .with_description("A text that clients can subscribe to")
            .with_mime_type("text/plain"),
    ]
}

/// Returns the resource templates.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("test://template/{id}/data", "template")
            .with_description("The data of an id")
            .with_mime_type("application/json"),
    ]
}

/// Reads the resource at `uri`.
///
/// # Errors
/// When there is no resource at `uri`.
pub(crate) fn read(uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let text = |mime_type: &str, text: String| ResourceContents::TextResourceContents {
        uri: uri.to_owned(),
        mime_type: Some(mime_type.to_owned()),
        text,
        meta: None,
    };
    let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    let contents = match (uri, id) {
        ("test://static-text", _) => {
            text("text/plain", "This is the content of the static text resource.".to_owned())
        }
        ("test://watched-resource", _) => text("text/plain", "It never changes.".to_owned()),
        ("test://static-binary", _) => ResourceContents::BlobResourceContents {
            uri: uri.to_owned(),
            mime_type: Some("image/png".to_owned()),
            blob: PNG.to_owned(),
            meta: None,
        },
        (_, Some(id)) => {
            let data =
                json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            text("application/json", data.to_string())
        }
        _ => {
            let data = json!({ "uri": uri });
            return Err(ErrorData::resource_not_found(format!("there is no {uri}"), Some(data)));
        }
    };
    Ok(ReadResourceResult::new(vec![contents]))
}
