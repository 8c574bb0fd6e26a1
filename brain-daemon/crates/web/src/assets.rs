//! The style sheet, the scripts and the icon, from the binary.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use sha2::{Digest as _, Sha256};

/// The route of all files.
pub(crate) const ROUTE: &str = "/web/assets/{file}";

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

/// The entity tags of [`ASSETS`], in their order.
static TAGS: LazyLock<Vec<HeaderValue>> = LazyLock::new(|| {
    let tag = |asset: &Asset| {
        let hash: [u8; 32] = Sha256::digest(asset.text).into();
        let hex: String = hash[..12].iter().map(|byte| format!("{byte:02x}")).collect();
        HeaderValue::from_str(&format!("\"{hex}\"")).unwrap_or(HeaderValue::from_static("\"\""))
    };
    ASSETS.iter().map(tag).collect()
});

/// `GET /web/assets/{file}`: needs no session, because the files are the same for everyone.
pub(crate) async fn serve(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let Some(at) = ASSETS.iter().position(|asset| asset.name == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let (asset, tag) = (&ASSETS[at], TAGS[at].clone());
    // The browser asks each time, so an update of brain is never mixed with older scripts.
    let common = [(ETAG, tag.clone()), (CACHE_CONTROL, HeaderValue::from_static("no-cache"))];
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
    async fn a_file_is_sent_again_only_when_it_changed() {
        let first = serve(Path("style.css".into()), HeaderMap::new()).await;
        assert_eq!(first.status(), StatusCode::OK);
        let mut headers = HeaderMap::new();
        headers.insert(IF_NONE_MATCH, first.headers()[ETAG].clone());
        let again = serve(Path("style.css".into()), headers.clone()).await;
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        assert_eq!(serve(Path("page.js".into()), headers).await.status(), StatusCode::OK);
        let none = serve(Path("../lib.rs".into()), HeaderMap::new()).await;
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
