//! Copies of the metadata documents of widely used clients (Client ID Metadata Documents).
//!
//! These documents are never fetched: some of the originals are served to browsers only, and the
//! copies work without internet access. `client_documents` fetches all others.

use brain_protocol::GrantType;

use crate::client_documents::DocumentMetadata;

/// The metadata of a known client.
struct KnownClient {
    /// The address of the document, which is the client's id.
    id: &'static str,
    /// `client_name`.
    name: &'static str,
    redirect_uris: &'static [&'static str],
}

const KNOWN_CLIENTS: &[KnownClient] = &[
    KnownClient {
        id: "https://claude.ai/oauth/mcp-oauth-client-metadata",
        name: "Claude",
        redirect_uris: &[
            "https://claude.ai/api/mcp/auth_callback",
            "https://claude.com/api/mcp/auth_callback",
        ],
    },
    KnownClient {
        id: "https://claude.ai/oauth/claude-code-client-metadata",
        name: "Claude Code",
        redirect_uris: &["http://localhost/callback", "http://127.0.0.1/callback"],
    },
    KnownClient {
        id: "https://chatgpt.com/oauth/client.json",
        name: "ChatGPT",
        redirect_uris: &["https://chatgpt.com/connector_platform_oauth_redirect"],
    },
    KnownClient {
        id: "https://chatgpt.com/oauth/codex/client.json",
        name: "Codex",
        redirect_uris: &["http://127.0.0.1/callback", "http://localhost/callback"],
    },
    KnownClient {
        id: "https://vscode.dev/oauth/client-metadata.json",
        name: "Visual Studio Code",
        redirect_uris: &[
            "http://127.0.0.1/",
            "http://127.0.0.1:33418/",
            "https://vscode.dev/redirect",
        ],
    },
];

/// Returns the metadata of a known client.
pub(crate) fn metadata(id: &str) -> Option<DocumentMetadata> {
    let known = KNOWN_CLIENTS.iter().find(|client| client.id == id)?;
    Some(DocumentMetadata {
        name: known.name.into(),
        redirect_uris: known.redirect_uris.iter().map(|&uri| uri.into()).collect(),
        grant_types: vec![GrantType::AuthorizationCode, GrantType::RefreshToken],
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::redirect_uri;

    #[test]
    fn every_known_client_has_valid_addresses() {
        for known in KNOWN_CLIENTS {
            let client = metadata(known.id).unwrap();
            assert!(!client.redirect_uris.is_empty(), "{}", known.id);
            for uri in &client.redirect_uris {
                assert_eq!(redirect_uri::check(uri), Ok(()), "{uri}");
            }
        }
        assert!(metadata("https://claude.ai/oauth/other").is_none());
    }
}
