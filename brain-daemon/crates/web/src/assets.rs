//! The style sheet, the scripts and the icon, from the binary.
//!
//! Their URLs contain a hash of all files. So browsers cache them without revalidation, and never
//! mix the files of two versions of brain.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use sha2::{Digest as _, Sha256};

/// The route of all files.
pub(crate) const ROUTE: &str = "/web/assets/{version}/{file}";

struct Asset {
    name: &'static str,
    media_type: &'static str,
    text: &'static str,
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

static ASSETS: &[Asset] = &[
    Asset {
        name: "style.css",
        media_type: "text/css; charset=utf-8",
        text: include_str!("../assets/style.css"),
    },
    Asset { name: "page.js", media_type: SCRIPT, text: include_str!("../assets/page.js") },
    Asset { name: "search.js", media_type: SCRIPT, text: include_str!("../assets/search.js") },
    Asset { name: "write.js", media_type: SCRIPT, text: include_str!("../assets/write.js") },
    Asset { name: "drop.js", media_type: SCRIPT, text: include_str!("../assets/drop.js") },
    Asset { name: "ask.js", media_type: SCRIPT, text: include_str!("../assets/ask.js") },
    Asset { name: "calendar.js", media_type: SCRIPT, text: include_str!("../assets/calendar.js") },
    Asset { name: "graph.js", media_type: SCRIPT, text: include_str!("../assets/graph.js") },
    Asset {
        name: "graph-view.js",
        media_type: SCRIPT,
        text: include_str!("../assets/graph-view.js"),
    },
    Asset { name: "complete.js", media_type: SCRIPT, text: include_str!("../assets/complete.js") },
    Asset { name: "fields.js", media_type: SCRIPT, text: include_str!("../assets/fields.js") },
    Asset { name: "live.js", media_type: SCRIPT, text: include_str!("../assets/live.js") },
    Asset { name: "palette.js", media_type: SCRIPT, text: include_str!("../assets/palette.js") },
    Asset { name: "read.js", media_type: SCRIPT, text: include_str!("../assets/read.js") },
    Asset { name: "attach.js", media_type: SCRIPT, text: include_str!("../assets/attach.js") },
    Asset { name: "upload.js", media_type: SCRIPT, text: include_str!("../assets/upload.js") },
    Asset { name: "html.js", media_type: SCRIPT, text: include_str!("../assets/html.js") },
    Asset {
        name: "icon.svg",
        media_type: "image/svg+xml",
        text: include_str!("../assets/icon.svg"),
    },
];

/// The length of the hash in a URL, in characters.
const HASH_LEN: usize = 24;
const CACHE_FOREVER: HeaderValue = HeaderValue::from_static("max-age=31536000, immutable");
const REVALIDATE: HeaderValue = HeaderValue::from_static("no-cache");

/// The hash of all files, which their URLs contain.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let all = ASSETS.iter().fold(Sha256::new(), |hash, asset| {
        hash.chain_update(asset.name).chain_update([0]).chain_update(asset.text).chain_update([0])
    });
    let hash: String = all.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    hash[..HASH_LEN].to_owned()
});

/// Returns the URL of a file.
pub(crate) fn address(name: &str) -> String {
    format!("/web/assets/{}/{name}", *VERSION)
}

/// `GET /web/assets/{version}/{file}`: needs no session, because the files are the same for
/// everyone. A URL with another version, as in the manifest or on a screen of an older brain,
/// returns the current file.
pub(crate) async fn serve(
    Path((version, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let tag = HeaderValue::from_str(&format!("\"{}\"", *VERSION)).unwrap_or(REVALIDATE);
    let policy = if version == *VERSION { CACHE_FOREVER } else { REVALIDATE };
    let cache_headers = [(ETAG, tag.clone()), (CACHE_CONTROL, policy)];
    if headers.get(IF_NONE_MATCH) == Some(&tag) {
        return (StatusCode::NOT_MODIFIED, cache_headers).into_response();
    }
    let media_type = [(CONTENT_TYPE, HeaderValue::from_static(asset.media_type))];
    (cache_headers, media_type, asset.text).into_response()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn files_are_cached_under_their_hash_and_revalidated_elsewhere() {
        let get = async |version: &str, name: &str, headers: HeaderMap| {
            serve(Path((version.into(), name.into())), headers).await
        };
        let version = address("").split('/').nth(3).unwrap().to_owned();
        assert_eq!(version.len(), HASH_LEN);
        let first = get(&version, "style.css", HeaderMap::new()).await;
        let first_policy = &first.headers()[CACHE_CONTROL];
        assert_eq!((first.status(), first_policy), (StatusCode::OK, &CACHE_FOREVER));
        let other = get("other", "style.css", HeaderMap::new()).await;
        let other_policy = &other.headers()[CACHE_CONTROL];
        assert_eq!((other.status(), other_policy), (StatusCode::OK, &REVALIDATE));
        let mut headers = HeaderMap::new();
        headers.insert(IF_NONE_MATCH, other.headers()[ETAG].clone());
        let again = get("other", "style.css", headers).await;
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        let none = get(&version, "../lib.rs", HeaderMap::new()).await;
        assert_eq!(none.status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn files_are_small_and_scripts_use_no_dangerous_function() {
        let bytes: usize = ASSETS.iter().map(|asset| asset.text.len()).sum();
        assert!(bytes < 103_000, "{bytes}");
        for asset in ASSETS.iter().filter(|asset| asset.media_type == SCRIPT) {
            for word in ["eval(", "Function(", "document.write", "outerHTML", "insertAdjacentHTML"]
            {
                assert!(!asset.text.contains(word), "{} uses {word}", asset.name);
            }
            let is_html = asset.name == "html.js";
            assert_eq!(asset.text.contains("createPolicy"), is_html, "{}", asset.name);
        }
    }
}
