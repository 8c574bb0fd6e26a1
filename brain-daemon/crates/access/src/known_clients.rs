//! Copies of the documents of clients that people use (Client ID Metadata ClientDocuments). These are never fetched: some of the originals
//! lie behind checks that only a browser passes, and they work where nothing goes out. `documents.rs` fetches the others.

use brain_protocol::GrantType;

use crate::client_documents::ClientMetadata;

/// A copy of a document.
struct Document {
    /// Its address: the client's id.
    id: &'static str,
    /// `client_name`.
    name: &'static str,
    /// `redirect_uris`.
    redirect_uris: &'static [&'static str],
}

const DOCUMENTS: &[Document] = &[
    Document {
        id: "https://claude.ai/oauth/mcp-oauth-client-metadata",
        name: "Claude",
        redirect_uris: &[
            "https://claude.ai/api/mcp/auth_callback",
            "https://claude.com/api/mcp/auth_callback",
        ],
    },
    Document {
        id: "https://claude.ai/oauth/claude-code-client-metadata",
        name: "Claude Code",
        redirect_uris: &["http://localhost/callback", "http://127.0.0.1/callback"],
    },
    Document {
        id: "https://chatgpt.com/oauth/client.json",
        name: "ChatGPT",
        redirect_uris: &["https://chatgpt.com/connector_platform_oauth_redirect"],
    },
    Document {
        id: "https://chatgpt.com/oauth/codex/client.json",
        name: "Codex",
        redirect_uris: &["http://127.0.0.1/callback", "http://localhost/callback"],
    },
    Document {
        id: "https://vscode.dev/oauth/client-metadata.json",
        name: "Visual Studio Code",
        redirect_uris: &[
            "http://127.0.0.1/",
            "http://127.0.0.1:33418/",
            "https://vscode.dev/redirect",
        ],
    },
];

/// What the client with this id says of itself, if there is a copy of it.
pub(crate) fn introduced(id: &str) -> Option<ClientMetadata> {
    let document = DOCUMENTS.iter().find(|document| document.id == id)?;
    Some(ClientMetadata {
        name: document.name.into(),
        redirect_uris: document.redirect_uris.iter().map(|&uri| uri.into()).collect(),
        grant_types: vec![GrantType::AuthorizationCode, GrantType::RefreshToken],
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::redirect_uri;

    #[test]
    fn every_copy_could_be_registered() {
        for document in DOCUMENTS {
            let client = introduced(document.id).unwrap();
            assert!(!client.redirect_uris.is_empty(), "{}", document.id);
            for uri in &client.redirect_uris {
                assert_eq!(redirect_uri::check(uri), Ok(()), "{uri}");
            }
        }
        assert!(introduced("https://claude.ai/oauth/other").is_none());
    }
}
