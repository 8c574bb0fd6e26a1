//! The caller of an operation: its name, its scopes, and the sources it can see.

use brain_protocol::SourceId;

pub use brain_protocol::{Scope, Scopes};

/// The name of the collector as a caller. No client has this id.
pub const COLLECTOR: &str = "collector";

/// The name of jobs that keep the owner's captures while the server of a shared brain is away. No
/// client has this id.
pub const CAPTURE: &str = "capture";

/// The name of jobs that keep notes from the telephone at such times. No client has this id.
pub const VOICE: &str = "voice";

/// The name of the owner's browsers as callers. No client has this id.
pub const BROWSER: &str = "browser";

/// The sources that a caller can see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Visibility {
    /// All sources.
    All,
    /// Only these sources.
    Only(Vec<SourceId>),
}

impl Visibility {
    /// Returns whether pages of this source are visible.
    #[must_use]
    pub fn shows(&self, source: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(sources) => sources.iter().any(|s| s.as_str() == source),
        }
    }

    /// Returns the visible sources; `None` for all.
    #[must_use]
    pub fn sources(self) -> Option<Vec<SourceId>> {
        match self {
            Self::All => None,
            Self::Only(sources) => Some(sources),
        }
    }
}

/// The caller of an operation.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The name in logs and audit: `uid 1000`, a client's id, `token:<name>`, `admin`.
    pub name: String,
    scopes: Scopes,
    visibility: Visibility,
    is_model: bool,
    agent: Option<String>,
    origins: Vec<String>,
}

impl Caller {
    /// Returns the owner on this machine, identified by the socket's peer credentials. May do
    /// everything.
    #[must_use]
    pub fn local(uid: u32) -> Self {
        Self {
            name: format!("uid {uid}"),
            scopes: Scopes::ADMIN,
            visibility: Visibility::All,
            is_model: false,
            agent: None,
            origins: Vec::new(),
        }
    }

    /// Returns the owner in a browser that `brain open` signed in. May do everything.
    #[must_use]
    pub fn browser() -> Self {
        Self::granted(BROWSER, Scopes::ADMIN, Visibility::All)
    }

    /// Returns a caller with a grant.
    #[must_use]
    pub fn granted(name: impl Into<String>, scopes: Scopes, visibility: Visibility) -> Self {
        let (is_model, agent, origins) = (false, None, Vec::new());
        Self { name: name.into(), scopes, visibility, is_model, agent, origins }
    }

    /// Returns a caller for a model that acts for this caller. It has the same scopes, but the text
    /// that it writes counts as text from outside.
    #[must_use]
    pub fn as_model(self) -> Self {
        Self { is_model: true, ..self }
    }

    /// Returns this caller with the name by which a program that acts for it calls itself. It
    /// tells programs of one caller apart, and permits nothing.
    #[must_use]
    pub fn with_agent(self, name: impl Into<String>) -> Self {
        Self { agent: Some(name.into()), ..self }
    }

    /// Returns this caller with what it says that its text is made from: pages and addresses.
    #[must_use]
    pub fn with_origins(self, origins: Vec<String>) -> Self {
        Self { origins, ..self }
    }

    /// Returns what the caller says that its text is made from.
    #[must_use]
    pub fn origins(&self) -> &[String] {
        &self.origins
    }

    /// Returns the name for lists of who did what: that of the program that acts for the caller, if
    /// it has one, else the caller's.
    #[must_use]
    pub fn acting_name(&self) -> &str {
        self.agent.as_deref().unwrap_or(&self.name)
    }

    /// Returns whether a model acts for the caller.
    #[must_use]
    pub fn is_model(&self) -> bool {
        self.is_model
    }

    /// Returns the sources that the caller can see.
    #[must_use]
    pub fn visibility(&self) -> Visibility {
        self.visibility.clone()
    }

    /// Returns whether the caller can see all sources.
    #[must_use]
    pub fn sees_all(&self) -> bool {
        matches!(self.visibility, Visibility::All)
    }

    /// Returns the granted scopes.
    #[must_use]
    pub fn scopes(&self) -> Scopes {
        self.scopes
    }

    /// Returns whether the caller can use pages of this source.
    #[must_use]
    pub fn may_use(&self, source: &SourceId) -> bool {
        self.visibility.shows(source.as_str())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn caller_uses_only_its_sources() {
        let (work, home) = (SourceId::parse("work").unwrap(), SourceId::parse("home").unwrap());
        let client = |visibility| Caller::granted("client", Scopes::ADMIN, visibility);
        let limited = client(Visibility::Only(vec![work.clone()]));
        assert!(limited.may_use(&work) && !limited.may_use(&home) && !limited.sees_all());
        assert_eq!(limited.visibility().sources(), Some(vec![work.clone()]));
        let everything = client(Visibility::All);
        assert!(everything.may_use(&work) && everything.sees_all());
        assert_eq!(everything.visibility().sources(), None);
        assert!(!client(Visibility::Only(vec![])).may_use(&work));
    }

    #[test]
    fn model_keeps_the_rights_of_its_caller() {
        let caller = Caller::granted("client", Scopes::WRITE, Visibility::Only(vec![]));
        assert!(!caller.is_model());
        let model = caller.clone().as_model();
        assert!(model.is_model());
        assert_eq!(
            (&model.name, model.scopes(), model.visibility()),
            (&caller.name, caller.scopes(), caller.visibility())
        );
    }
}
