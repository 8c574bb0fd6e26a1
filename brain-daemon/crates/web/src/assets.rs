//! The style sheet, the scripts and the icon, from the binary.
//!
//! Their addresses contain a hash of all of them, so browsers keep them without asking again, and
//! an update of brain is never mixed with older scripts.

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
    Asset { name: "html.js", media_type: SCRIPT, text: include_str!("../assets/html.js") },
    Asset {
        name: "icon.svg",
        media_type: "image/svg+xml",
        text: include_str!("../assets/icon.svg"),
    },
];

/// Characters of a hash.
const HASH: usize = 24;
const KEEP: HeaderValue = HeaderValue::from_static("max-age=31536000, immutable");
const ASK: HeaderValue = HeaderValue::from_static("no-cache");

/// The hash of all files, which their addresses contain.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let all = ASSETS.iter().fold(Sha256::new(), |hash, asset| {
        hash.chain_update(asset.name).chain_update([0]).chain_update(asset.text).chain_update([0])
    });
    all.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>()[..HASH].to_owned()
});

/// Returns the address of a file.
pub(crate) fn address(name: &str) -> String {
    format!("/web/assets/{}/{name}", *VERSION)
}

/// `GET /web/assets/{version}/{file}`: needs no session, because the files are the same for
/// everyone. A screen of an older brain, and the manifest, get the files of now.
pub(crate) async fn serve(
    Path((version, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let tag = HeaderValue::from_str(&format!("\"{}\"", *VERSION)).unwrap_or(ASK);
    let policy = if version == *VERSION { KEEP } else { ASK };
    let common = [(ETAG, tag.clone()), (CACHE_CONTROL, policy)];
    if headers.get(IF_NONE_MATCH) == Some(&tag) {
        return (StatusCode::NOT_MODIFIED, common).into_response();
    }
    let kind = [(CONTENT_TYPE, HeaderValue::from_static(asset.media_type))];
    (common, kind, asset.text).into_response()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_is_kept_under_its_hash_and_sent_again_when_it_changed() {
        let get = async |version: &str, name: &str, headers: HeaderMap| {
            serve(Path((version.into(), name.into())), headers).await
        };
        let version = address("").split('/').nth(3).unwrap().to_owned();
        assert_eq!(version.len(), HASH);
        let first = get(&version, "style.css", HeaderMap::new()).await;
        assert_eq!((first.status(), &first.headers()[CACHE_CONTROL]), (StatusCode::OK, &KEEP));
        let other = get("other", "style.css", HeaderMap::new()).await;
        assert_eq!((other.status(), &other.headers()[CACHE_CONTROL]), (StatusCode::OK, &ASK));
        let mut headers = HeaderMap::new();
        headers.insert(IF_NONE_MATCH, other.headers()[ETAG].clone());
        let again = get("other", "style.css", headers).await;
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        let none = get(&version, "../lib.rs", HeaderMap::new()).await;
        assert_eq!(none.status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn scripts_are_small_and_use_no_dangerous_function() {
        let bytes: usize = ASSETS.iter().map(|asset| asset.text.len()).sum();
        assert!(bytes < 100_000, "{bytes}");
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
