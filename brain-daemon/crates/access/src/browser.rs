//! Sessions of the owner's browsers on this machine.
//!
//! `brain open` asks for a code over the control socket, whose peer is checked. The code opens one
//! session and is valid for one minute. The browser has the id of the session; this process has the
//! SHA-256 of the id. Sessions are in memory only. They end after 12 hours, at sign-out, when the
//! admin token is replaced, and when the daemon stops.

use std::net::{IpAddr, Ipv4Addr};

use brain_protocol::{
    BrowserOpen, BrowserOpenReply, Command, Fault, FaultCode, PageRef, Secret, hint,
};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::Access;
use crate::grant_table::digest;
use brain_base::random;
use brain_store::Hash;

/// How long a code is valid, in milliseconds.
const CODE_MS: i64 = 60 * 1000;
/// How long a session lasts, in milliseconds.
const SESSION_MS: i64 = 12 * 60 * 60 * 1000;
/// Maximum number of codes. A new one replaces the oldest.
const MAX_CODES: usize = 16;
/// Maximum number of sessions. A new one replaces the oldest.
const MAX_SESSIONS: usize = 32;

/// A browser in which the owner is signed in.
#[derive(Debug, Clone)]
pub struct BrowserSession {
    /// The CSRF token. Every change must have it; only brain's own pages contain it.
    pub csrf_token: Secret,
    /// When the session was opened, in Unix milliseconds.
    pub opened_at: i64,
    /// When the session ends, in Unix milliseconds.
    pub expires_at: i64,
}

/// The codes and sessions of one daemon.
pub(crate) struct BrowserSessions {
    inner: Mutex<Inner>,
    /// Notifies the subscribers when sessions end.
    end_notifier: watch::Sender<()>,
}

impl Default for BrowserSessions {
    fn default() -> Self {
        Self { inner: Mutex::default(), end_notifier: watch::Sender::new(()) }
    }
}

#[derive(Default)]
struct Inner {
    /// Oldest first.
    codes: Vec<Code>,
    /// Each session with the digest of its id, oldest first.
    sessions: Vec<(Hash, BrowserSession)>,
}

struct Code {
    hash: Hash,
    page: Option<PageRef>,
    expires_at: i64,
}

impl Inner {
    fn forget_expired(&mut self, now: i64) {
        self.codes.retain(|code| now < code.expires_at);
        self.sessions.retain(|(_, session)| now < session.expires_at);
    }
}

impl BrowserSessions {
    /// Ends all sessions and codes, and returns the number of sessions.
    pub(crate) fn close_all(&self) -> usize {
        let mut inner = self.inner.lock();
        inner.codes.clear();
        let closed = std::mem::take(&mut inner.sessions).len();
        drop(inner);
        self.end_notifier.send_replace(());
        closed
    }
}

impl Access {
    /// Returns an address that signs one browser in, or ends all sessions of browsers.
    ///
    /// # Errors
    /// [`FaultCode::NotSetUp`] if there is no local listener; [`FaultCode::Internal`] when the
    /// system has no randomness.
    pub fn browser_open(&self, request: &BrowserOpen) -> Result<BrowserOpenReply, Fault> {
        if request.sign_out {
            let signed_out = self.browsers.close_all() as u32;
            return Ok(BrowserOpenReply { url: None, valid_seconds: 0, signed_out });
        }
        let Some(mut address) = self.http_addresses().local else {
            let message = "the local HTTP listener is not open, so there is no web interface to \
                           open";
            return Err(Fault::new(FaultCode::NotSetUp, message).hint(hint!(
                "set http.local in the configuration; {} shows the listeners",
                Command::Status
            )));
        };
        if address.ip().is_unspecified() {
            address.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
        let code = random::text::<32>(&*self.random)?;
        let now = self.clock.now();
        let mut inner = self.browsers.inner.lock();
        inner.forget_expired(now);
        if inner.codes.len() >= MAX_CODES {
            inner.codes.remove(0);
        }
        let (hash, page) = (digest(&code), request.page.clone());
        inner.codes.push(Code { hash, page, expires_at: now + CODE_MS });
        let url = Some(Secret::new(format!("http://{address}/open/{code}")));
        Ok(BrowserOpenReply { url, valid_seconds: (CODE_MS / 1000) as u32, signed_out: 0 })
    }

    /// Opens a session with a code of [`Self::browser_open`], and returns the session's id and the
    /// page to show. `None` if the code is unknown, used or expired.
    ///
    /// # Errors
    /// [`FaultCode::Internal`] when the system has no randomness. The code is used up.
    pub fn browser_sign_in(&self, code: &str) -> Result<Option<(String, Option<PageRef>)>, Fault> {
        let now = self.clock.now();
        let mut inner = self.browsers.inner.lock();
        inner.forget_expired(now);
        // Digests are compared, so the time of the look-up reveals nothing about existing codes.
        let hash = digest(code);
        let Some(at) = inner.codes.iter().position(|code| code.hash == hash) else {
            return Ok(None);
        };
        let code = inner.codes.remove(at);
        let id = random::text::<32>(&*self.random)?;
        let csrf_token = Secret::new(random::text::<32>(&*self.random)?);
        if inner.sessions.len() >= MAX_SESSIONS {
            inner.sessions.remove(0);
            self.browsers.end_notifier.send_replace(());
        }
        let session = BrowserSession { csrf_token, opened_at: now, expires_at: now + SESSION_MS };
        inner.sessions.push((digest(&id), session));
        Ok(Some((id, code.page)))
    }

    /// Returns the session with this id, if it exists.
    #[must_use]
    pub fn browser_session(&self, id: &str) -> Option<BrowserSession> {
        let (hash, now) = (digest(id), self.clock.now());
        let inner = self.browsers.inner.lock();
        let (_, session) = inner.sessions.iter().find(|(known, _)| *known == hash)?;
        Some(session.clone()).filter(|session| now < session.expires_at)
    }

    /// Returns all sessions, oldest first.
    #[must_use]
    pub fn browser_sessions(&self) -> Vec<BrowserSession> {
        let now = self.clock.now();
        let mut inner = self.browsers.inner.lock();
        inner.forget_expired(now);
        inner.sessions.iter().map(|(_, session)| session.clone()).collect()
    }

    /// Ends a session.
    pub fn browser_sign_out(&self, id: &str) {
        let hash = digest(id);
        self.browsers.inner.lock().sessions.retain(|(known, _)| *known != hash);
        self.browsers.end_notifier.send_replace(());
    }

    /// Returns a receiver that changes when sessions end, except by their age.
    #[must_use]
    pub fn browser_sessions_ended(&self) -> watch::Receiver<()> {
        self.browsers.end_notifier.subscribe()
    }
}
