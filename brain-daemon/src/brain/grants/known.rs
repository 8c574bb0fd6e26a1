//! Clients that name themselves by the address of a document about them (Client ID Metadata Documents), with copies of the
//! documents of those that people use. The copies stand here rather than being fetched: some of the originals lie behind checks
//! that only a browser passes, and a service that fetches addresses on a stranger's word can be sent anywhere.

use brain_protocol::{GrantType, Scopes};

use super::clients::TOKEN_TTL;
use crate::store::ClientRecord;

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
        redirect_uris: &["http://127.0.0.1/", "http://127.0.0.1:33418/", "https://vscode.dev/redirect"],
    },
];

/// The client that this document is about; it is none of ours before the owner agrees.
pub(super) fn client(id: &str, now: i64) -> Option<ClientRecord> {
    let document = DOCUMENTS.iter().find(|document| document.id == id)?;
    Some(ClientRecord {
        name: document.name.into(),
        secret: None,
        // What it may ask for. What it gets, the owner says each time.
        scopes: Scopes::READ_WRITE,
        sources: Vec::new(),
        grant_types: vec![GrantType::AuthorizationCode, GrantType::RefreshToken],
        redirect_uris: document.redirect_uris.iter().map(|&uri| uri.into()).collect(),
        token_ttl: TOKEN_TTL,
        registered_by: "metadata".into(),
        created_at: now,
        last_used_at: None,
        revoked_at: None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::brain::grants::redirect;

    #[test]
    fn every_copy_could_be_registered() {
        for document in DOCUMENTS {
            let client = client(document.id, 7).unwrap();
            assert!(!client.redirect_uris.is_empty(), "{}", document.id);
            for uri in &client.redirect_uris {
                assert_eq!(redirect::check(uri), Ok(()), "{uri}");
            }
            assert!(client.secret.is_none() && client.scopes == Scopes::READ_WRITE);
        }
        assert!(client("https://claude.ai/oauth/other", 7).is_none());
    }
}
