//! Wire types of `brain connect test`, which tests an MCP endpoint step by step.

use serde::{Deserialize, Serialize};

use crate::{Secret, Step, StepStatus};

/// `brain connect test`: tests an MCP endpoint as an AI client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectTest {
    /// The endpoint as it is typed into a client, for example `https://brain.example.org/mcp`.
    pub url: String,
    /// The credentials to use.
    pub credentials: Credentials,
}

/// The credentials of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Credentials {
    /// A read token that the daemon creates for the test of its own endpoint.
    Own,
    /// This token.
    Token(Secret),
    /// Client credentials (RFC 6749 section 4.4).
    Client {
        /// The client's id.
        id: String,
        /// Its secret.
        secret: Secret,
    },
}

/// The result of a connection test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectReport {
    /// The endpoint.
    pub url: String,
    /// Whether all steps passed.
    pub status: StepStatus,
    /// The steps in order; those after a failure are missing.
    pub steps: Vec<Step>,
}
