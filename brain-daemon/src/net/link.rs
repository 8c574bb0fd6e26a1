//! A link to one server: a runtime and a client that last, so that connections are used again and certificates are read once.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::time::timeout;
use url::Url;

use super::trouble::of_reqwest;
use super::way::{self, Way};
use super::{Answer, Call, Link, Part, Trouble, address};

/// How much of an answer is read, in bytes.
const MOST: usize = 8 * 1024 * 1024;
/// How long an answer may take.
const WITHIN: Duration = Duration::from_secs(30);
/// How long a connection may take, TLS included.
const CONNECT: Duration = Duration::from_secs(10);
/// A connection without use is kept this long: less than servers do, so that it is seldom one that has just ended.
const IDLE: Duration = Duration::from_secs(15);
/// Whoever follows an answer is asked this often.
const ASK: Duration = Duration::from_secs(1);

/// The link. Nothing is built before the first call.
pub(super) struct Wire {
    way: Way,
    base: Url,
    ready: Mutex<Option<Arc<Ready>>>,
}

/// What a link keeps.
struct Ready {
    /// There until it is dropped.
    runtime: Option<Runtime>,
    client: reqwest::Client,
    /// Which addresses the host had.
    addresses: Vec<IpAddr>,
}

impl Ready {
    fn runtime(&self) -> Result<&Runtime, Trouble> {
        self.runtime.as_ref().ok_or_else(|| Trouble::Setup("the link is being closed".into()))
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        // Nobody waits for what is left in it: a name server that does not answer, connections without use.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Wire {
    /// A link to the server of `base`.
    ///
    /// # Errors
    /// [`Trouble::Address`].
    pub(super) fn new(way: Way, base: &Url) -> Result<Self, Trouble> {
        if !matches!(base.scheme(), "https" | "http") || !base.has_host() {
            return Err(Trouble::Address("the address must begin with https:// or http://, and name a host"));
        }
        Ok(Self { way, base: base.clone(), ready: Mutex::default() })
    }

    fn kept(&self) -> MutexGuard<'_, Option<Arc<Ready>>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The runtime and the client, and whether `call` may go out by them.
    fn ready(&self, call: &Call<'_>) -> Result<Arc<Ready>, Trouble> {
        // A token belongs to one server.
        if call.url.origin() != self.base.origin() {
            return Err(Trouble::Address("the address is another server's"));
        }
        let known = self.kept().clone();
        let ready = match known {
            Some(ready) => ready,
            None => self.make()?,
        };
        if call.public
            && (call.url.scheme() != "https" || !ready.addresses.iter().copied().all(address::is_public))
        {
            return Err(Trouble::NotPublic);
        }
        Ok(ready)
    }

    fn make(&self) -> Result<Arc<Ready>, Trouble> {
        let runtime = way::runtime()?;
        let made = runtime.block_on(async {
            let looking = timeout(CONNECT, self.way.look_up(&self.base));
            let addresses = looking.await.unwrap_or(Err(Trouble::Slow(CONNECT.as_secs())))?;
            let builder = self.way.builder(&self.base, &addresses);
            let client = way::build(builder.connect_timeout(CONNECT).pool_idle_timeout(IDLE))?;
            Ok((client, addresses))
        });
        match made {
            Ok((client, addresses)) => {
                let ready = Arc::new(Ready { runtime: Some(runtime), client, addresses });
                *self.kept() = Some(Arc::clone(&ready));
                Ok(ready)
            }
            Err(trouble) => {
                runtime.shutdown_background();
                Err(trouble)
            }
        }
    }

    /// What a call came to. A server that cannot be reached may have moved: its name is looked up again next time.
    fn noted<T>(&self, result: Result<T, Trouble>) -> Result<T, Trouble> {
        match result {
            Err(Trouble::Silent) => {
                *self.kept() = None;
                Err(Trouble::Slow(CONNECT.as_secs()))
            }
            Err(trouble @ (Trouble::Refused | Trouble::Unreachable(_) | Trouble::Tls(_))) => {
                *self.kept() = None;
                Err(trouble)
            }
            other => other,
        }
    }
}

impl Link for Wire {
    fn call(&self, call: &Call<'_>) -> Result<Answer, Trouble> {
        let ready = self.ready(call)?;
        let answer = ready.runtime()?.block_on(async {
            let going = async {
                let sent = || async { way::request(&ready.client, call)?.send().await.map_err(of_reqwest) };
                let answer = match sent().await {
                    // A server may end a connection that it kept while the next request is on its way; what only reads is asked
                    // once more by a new one (RFC 9112 section 9.3.1).
                    Err(Trouble::Broken(_)) if call.body.is_none() => sent().await?,
                    other => other?,
                };
                way::read(answer, call, MOST).await
            };
            timeout(WITHIN, going).await.unwrap_or(Err(Trouble::Slow(WITHIN.as_secs())))
        });
        self.noted(answer)
    }

    fn follow(
        &self,
        call: &Call<'_>,
        silence: Duration,
        part: &mut dyn FnMut(Part<'_>) -> bool,
    ) -> Result<Answer, Trouble> {
        let ready = self.ready(call)?;
        let followed = Following { runtime: ready.runtime()?, silence }.go(&ready.client, call, part);
        self.noted(followed)
    }
}

/// An answer that does not end, followed. The runtime only runs while something is waited for, so that `part` may use it too.
struct Following<'a> {
    runtime: &'a Runtime,
    silence: Duration,
}

impl Following<'_> {
    fn go(
        &self,
        client: &reqwest::Client,
        call: &Call<'_>,
        part: &mut dyn FnMut(Part<'_>) -> bool,
    ) -> Result<Answer, Trouble> {
        let mut sending = Box::pin(way::request(client, call)?.send());
        let Some(response) = self
            .wait(part, |limit| self.runtime.block_on(async { timeout(limit, &mut sending).await.ok() }))?
        else {
            // It was not waited for to the end: nothing is known of it.
            return Ok(Answer { status: 200, headers: Vec::new(), body: Vec::new(), from: None });
        };
        let mut response = response.map_err(of_reqwest)?;
        if response.status().as_u16() != 200 {
            let reading = way::read(response, call, MOST);
            return self.runtime.block_on(async {
                timeout(WITHIN, reading).await.unwrap_or(Err(Trouble::Slow(WITHIN.as_secs())))
            });
        }
        let answer = way::head(&response);
        if !part(Part::Head) {
            return Ok(answer);
        }
        loop {
            let next = self.wait(part, |limit| {
                self.runtime.block_on(async { timeout(limit, response.chunk()).await.ok() })
            })?;
            let Some(next) = next else { return Ok(answer) };
            match next.map_err(of_reqwest)? {
                Some(bytes) if bytes.is_empty() || part(Part::Bytes(&bytes)) => {}
                _ => return Ok(answer),
            }
        }
    }

    /// What `step` waits for, asking `part` each second meanwhile; `None` when it wants no more.
    fn wait<T>(
        &self,
        part: &mut dyn FnMut(Part<'_>) -> bool,
        mut step: impl FnMut(Duration) -> Option<T>,
    ) -> Result<Option<T>, Trouble> {
        let deadline = Instant::now() + self.silence;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if let Some(come) = step(left.min(ASK)) {
                return Ok(Some(come));
            }
            if Instant::now() >= deadline {
                return Err(Trouble::Slow(self.silence.as_secs()));
            }
            if !part(Part::Nothing) {
                return Ok(None);
            }
        }
    }
}
