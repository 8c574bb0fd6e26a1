//! A link to one server: a runtime and a client that last, so that connections are used again and certificates are read once.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reqwest::Response;
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tower::util::MapRequestLayer;
use url::Url;

use super::trouble::{is_ended, of_reqwest};
use super::way::{self, Way};
use super::{Answer, Call, Link, Part, Trouble, address};

/// How much of an answer is read, in bytes.
const MOST: usize = 8 * 1024 * 1024;
/// How long an answer may take.
const WITHIN: Duration = Duration::from_secs(30);
/// How long a connection may take, TLS included.
const CONNECT: Duration = Duration::from_secs(10);
/// A connection without use is kept this long. Common servers of models close theirs after 5
/// seconds.
const IDLE: Duration = Duration::from_secs(4);
/// A kept connection that the server has closed fails this soon; one that fails later may have been
/// at work.
const AT_ONCE: Duration = Duration::from_secs(2);
/// How often a request is sent again: once for each kept connection that has just ended, and there
/// are few.
const MAX_AGAIN: u32 = 4;
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
    /// Counts the connections that were begun, so that a kept one can be told from a new one.
    begun: Arc<AtomicU64>,
    /// Which addresses the host had.
    addresses: Vec<IpAddr>,
}

impl Ready {
    fn runtime(&self) -> Result<&Runtime, Trouble> {
        self.runtime.as_ref().ok_or_else(|| Trouble::Setup("the link is being closed".into()))
    }

    /// Sends a request, and gives the head of its answer. A server may close a kept connection
    /// while the next request is on its way (RFC 9112 section 9.3.1). Such a request was not
    /// processed, so it is sent again. On a new connection nobody knows; only a request that reads
    /// is sent once more then.
    async fn send(&self, call: &Call<'_>) -> Result<Response, Trouble> {
        notice_ends().await;
        let mut again = 0;
        loop {
            let (began, begun) = (Instant::now(), self.begun.load(Ordering::SeqCst));
            let error = match way::request(&self.client, call)?.send().await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            // Another call may have begun one meanwhile: then this counts as new.
            let is_kept = begun == self.begun.load(Ordering::SeqCst) && began.elapsed() < AT_ONCE;
            let is_ended = is_ended(&error);
            let trouble = of_reqwest(error);
            let reads = call.body.is_none() && again == 0 && matches!(trouble, Trouble::Broken(_));
            if again == MAX_AGAIN || !(reads || is_kept && is_ended) {
                return Err(trouble);
            }
            again += 1;
        }
    }
}

/// Lets the runtime take note of kept connections that have ended: it stands still between calls.
/// The first turn asks the system, the second lets each connection read that it is at its end.
async fn notice_ends() {
    for _ in 0..3 {
        tokio::task::yield_now().await;
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
            return Err(Trouble::Address(
                "the address must begin with https:// or http://, and name a host",
            ));
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
            && (call.url.scheme() != "https"
                || !ready.addresses.iter().copied().all(address::is_public))
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
            let begun = Arc::new(AtomicU64::new(0));
            let count = Arc::clone(&begun);
            let counting = MapRequestLayer::new(move |to| {
                count.fetch_add(1, Ordering::SeqCst);
                to
            });
            let builder =
                builder.connect_timeout(CONNECT).pool_idle_timeout(IDLE).connector_layer(counting);
            Ok((way::build(builder)?, begun, addresses))
        });
        match made {
            Ok((client, begun, addresses)) => {
                let ready = Arc::new(Ready { runtime: Some(runtime), client, begun, addresses });
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
            let going = async { way::read(ready.send(call).await?, call, MOST).await };
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
        let followed = Following { runtime: ready.runtime()?, silence }.go(&ready, call, part);
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
        ready: &Ready,
        call: &Call<'_>,
        part: &mut dyn FnMut(Part<'_>) -> bool,
    ) -> Result<Answer, Trouble> {
        let mut sending = Box::pin(ready.send(call));
        let Some(response) = self.wait(part, |limit| {
            self.runtime.block_on(async { timeout(limit, &mut sending).await.ok() })
        })?
        else {
            // It was not waited for to the end: nothing is known of it.
            return Ok(Answer { status: 200, headers: Vec::new(), body: Vec::new(), from: None });
        };
        let mut response = response?;
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
