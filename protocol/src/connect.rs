//! `brain connect test`: the way of an AI client to a tool endpoint, step by step.

use serde::{Deserialize, Serialize};

use crate::{Secret, Step};

/// Walk to the tool endpoint at `url` as an AI client would.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectTest {
    /// The endpoint as it is typed into a client, for example `https://brain.example.org/mcp`.
    pub url: String,
    /// How to be let in.
    pub credentials: Credentials,
}

/// How a client is let in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Credentials {
    /// By a token for reading that the daemon makes for the test, when the endpoint is its own.
    Own,
    /// By this token.
    Token(Secret),
    /// By client credentials (RFC 6749 section 4.4).
    Client {
        /// The client's id.
        id: String,
        /// Its secret.
        secret: Secret,
    },
}

/// What the walk met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectReport {
    /// The endpoint.
    pub url: String,
    /// `passed`, or `failed` with the last step being the one that failed.
    pub status: String,
    /// In the order of the way; those after a failure are missing.
    pub steps: Vec<Step>,
}
