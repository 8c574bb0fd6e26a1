//! Who asks. Every door says so once, and [`crate::brain::Brain`] checks it once.

use brain_protocol::{Fault, FaultCode};

use crate::store::Visibility;

/// What a caller may do. Each one includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Look.
    Read,
    /// Change pages.
    Write,
    /// Change the installation.
    Admin,
}

impl Scope {
    /// The scope as it is written in grants.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}

/// Who asks, what they may do, and what they may see.
#[derive(Debug, Clone)]
pub struct Caller {
    /// For the log, for example `uid 1000`.
    pub name: String,
    scope: Scope,
    view: Visibility,
}

impl Caller {
    /// The owner at the machine's own keyboard, known by the socket's peer credentials: may do everything.
    #[must_use]
    pub fn local(uid: u32) -> Self {
        Self { name: format!("uid {uid}"), scope: Scope::Admin, view: Visibility::All }
    }

    /// Somebody with a grant.
    #[must_use]
    pub fn granted(name: impl Into<String>, scope: Scope, view: Visibility) -> Self {
        Self { name: name.into(), scope, view }
    }

    /// What the caller may see.
    #[must_use]
    pub fn view(&self) -> Visibility {
        self.view.clone()
    }

    /// Refuses a caller without `scope`.
    ///
    /// # Errors
    /// [`FaultCode::Forbidden`], naming the scope that is needed.
    pub fn require(&self, scope: Scope, what: &str) -> Result<(), Fault> {
        if self.scope >= scope {
            return Ok(());
        }
        Err(Fault::new(FaultCode::Forbidden, format!("{what} needs the scope \"{}\"", scope.as_str()))
            .hint(format!("ask the owner of this brain for a grant with \"{}\"", scope.as_str())))
    }
}
