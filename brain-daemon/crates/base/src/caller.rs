//! The caller of an operation: its name, its scopes, and the sources that it may see.

use brain_protocol::{Fault, FaultCode, SourceId};

pub use brain_protocol::{Scope, Scopes};

/// The collector, where it takes something in. No client has such an id.
pub const COLLECTOR: &str = "collector";

/// Which sources a caller may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Visibility {
    /// Every source.
    All,
    /// These.
    Only(Vec<SourceId>),
}

impl Visibility {
    /// Whether pages of this source may be seen.
    #[must_use]
    pub fn shows(&self, source: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(sources) => sources.iter().any(|s| s.as_str() == source),
        }
    }
}

/// Who asks, what they may do, and what they may see.
#[derive(Debug, Clone)]
pub struct Caller {
    /// For the log and the audit: `uid 1000`, a client's id, `token:<name>`, `admin`.
    pub name: String,
    scopes: Scopes,
    view: Visibility,
}

impl Caller {
    /// The owner at the machine's own keyboard, known by the socket's peer credentials: may do everything.
    #[must_use]
    pub fn local(uid: u32) -> Self {
        Self { name: format!("uid {uid}"), scopes: Scopes::ADMIN, view: Visibility::All }
    }

    /// Somebody with a grant.
    #[must_use]
    pub fn granted(name: impl Into<String>, scopes: Scopes, view: Visibility) -> Self {
        Self { name: name.into(), scopes, view }
    }

    /// What the caller may see.
    #[must_use]
    pub fn view(&self) -> Visibility {
        self.view.clone()
    }

    /// Whether every source is the caller's to see.
    #[must_use]
    pub fn sees_all(&self) -> bool {
        matches!(self.view, Visibility::All)
    }

    /// What the caller was granted.
    #[must_use]
    pub fn scopes(&self) -> Scopes {
        self.scopes
    }

    /// Whether pages of this source are the caller's to see and write.
    #[must_use]
    pub fn may_use(&self, source: &SourceId) -> bool {
        self.view.shows(source.as_str())
    }

    /// Refuses a caller without `scope`.
    ///
    /// # Errors
    /// [`FaultCode::Forbidden`], naming the scope that is needed.
    pub fn require(&self, scope: Scope, what: &str) -> Result<(), Fault> {
        if self.scopes.most() >= scope {
            return Ok(());
        }
        Err(Fault::new(
            FaultCode::Forbidden,
            format!("{what} needs the scope \"{}\"", scope.as_str()),
        )
        .hint(format!("ask the owner of this brain for a grant with \"{}\"", scope.as_str())))
    }
}
