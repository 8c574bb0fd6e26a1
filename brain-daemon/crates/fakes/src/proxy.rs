//! A proxy that cuts a connection after a number of bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// A direction through the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server.
    ToServer,
    /// From the server to the client.
    ToClient,
}

/// Bytes that the proxy is about to forward.
#[derive(Debug, Clone, Copy)]
pub struct Chunk {
    /// The direction.
    pub direction: Direction,
    /// Whether the connection was opened after the rule was set.
    pub is_new: bool,
    /// Bytes to the server on this connection since the rule was set, with this chunk.
    pub to_server: usize,
    /// Bytes to the client on this connection since the rule was set, with this chunk.
    pub to_client: usize,
}

/// What a rule does with a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The chunk is forwarded.
    Forward,
    /// This many of its bytes are forwarded, then the connection is cut.
    Cut(usize),
    /// As `Cut`; then all connections are cut, and new ones are refused.
    CutAndClose(usize),
}

/// Decides about each chunk. It may block: then the chunk waits.
type Rule = Arc<dyn Fn(&Chunk) -> Decision + Send + Sync>;

/// Forwards connections from a port of loopback to another one. It counts the bytes of all
/// connections together, and cuts the connection on which a limit is reached, once.
pub struct Proxy {
    port: u16,
    state: Arc<State>,
}

struct State {
    target: u16,
    is_closed: AtomicBool,
    is_refusing: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
    /// Bytes since the last reset: to the server, and to the client.
    counts: [AtomicI64; 2],
    /// After how many bytes a connection is cut; negative for never.
    limits: [AtomicI64; 2],
    /// The rule, and how many rules were set before it.
    rule: Mutex<(Option<Rule>, u64)>,
}

/// The bytes of one connection since a rule was set.
struct ConnectionBytes {
    /// The number of the rule.
    rule: u64,
    is_new: bool,
    bytes: [usize; 2],
}

impl Proxy {
    /// Starts a proxy before this port.
    pub fn start(target: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            target,
            is_closed: AtomicBool::new(false),
            is_refusing: AtomicBool::new(false),
            open: Mutex::new(Vec::new()),
            counts: Default::default(),
            limits: [AtomicI64::new(-1), AtomicI64::new(-1)],
            rule: Mutex::new((None, 0)),
        });
        let shared = state.clone();
        thread::spawn(move || {
            for client in listener.incoming() {
                if shared.is_closed.load(Ordering::SeqCst) {
                    return;
                }
                // A refused connection is accepted and closed.
                if !shared.is_refusing.load(Ordering::SeqCst) {
                    shared.forward(&client.unwrap());
                }
            }
        });
        Self { port, state }
    }

    /// Starts a proxy before the server of a URL with the host `localhost`. Returns it with the URL
    /// that leads through it.
    pub fn before(url: &str) -> (Self, String) {
        let (start, rest) = url.split_once("@localhost:").expect("no local server");
        let (target, rest) = rest.split_once('/').expect("no database");
        let proxy = Self::start(target.parse().unwrap());
        let url = format!("{start}@localhost:{}/{rest}", proxy.port);
        (proxy, url)
    }

    /// Returns the port of the proxy.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Sets the counts to zero and cuts the next connection on which this many bytes were sent.
    pub fn cut_after(&self, direction: Direction, bytes: i64) {
        for count in &self.state.counts {
            count.store(0, Ordering::SeqCst);
        }
        self.state.limits[direction as usize].store(bytes, Ordering::SeqCst);
    }

    /// Returns how many bytes were sent since the last reset.
    pub fn count(&self, direction: Direction) -> i64 {
        self.state.counts[direction as usize].load(Ordering::SeqCst)
    }

    /// Returns whether the cut has happened.
    pub fn has_cut(&self) -> bool {
        self.state.limits.iter().all(|limit| limit.load(Ordering::SeqCst) < 0)
    }

    /// Lets a rule decide about each chunk, until [`Proxy::remove_rule`].
    pub fn set_rule(&self, rule: impl Fn(&Chunk) -> Decision + Send + Sync + 'static) {
        let mut stored = self.state.rule.lock().unwrap();
        *stored = (Some(Arc::new(rule)), stored.1 + 1);
    }

    /// Forwards all chunks from now on.
    pub fn remove_rule(&self) {
        self.state.rule.lock().unwrap().0 = None;
    }

    /// Cuts all connections that are open.
    pub fn cut_all(&self) {
        self.state.cut_all();
    }

    /// Cuts all connections and refuses new ones.
    pub fn close(&self) {
        self.refuse(true);
        self.cut_all();
    }

    /// Accepts connections again.
    pub fn open(&self) {
        self.refuse(false);
    }

    /// Closes new connections at once, or accepts them again.
    pub fn refuse(&self, is_refusing: bool) {
        self.state.is_refusing.store(is_refusing, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.is_closed.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

impl State {
    fn forward(self: &Arc<Self>, client: &TcpStream) {
        let Ok(server) = TcpStream::connect(("127.0.0.1", self.target)) else { return };
        self.open.lock().unwrap().push(client.try_clone().unwrap());
        let rule = self.rule.lock().unwrap().1;
        let counted = Arc::new(Mutex::new(ConnectionBytes { rule, is_new: true, bytes: [0; 2] }));
        for (direction, from, to) in
            [(Direction::ToServer, client, &server), (Direction::ToClient, &server, client)]
        {
            let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
            let (state, counted) = (self.clone(), counted.clone());
            thread::spawn(move || {
                state.copy(direction, &from, &to, &counted);
                drop(from.shutdown(Shutdown::Both));
                drop(to.shutdown(Shutdown::Both));
            });
        }
    }

    fn cut_all(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    /// Asks the rule about a chunk of this length.
    fn decide(
        &self,
        direction: Direction,
        length: usize,
        counted: &Mutex<ConnectionBytes>,
    ) -> Decision {
        let (Some(rule), number) = self.rule.lock().unwrap().clone() else {
            return Decision::Forward;
        };
        let chunk = {
            let mut counted = counted.lock().unwrap();
            if counted.rule != number {
                *counted = ConnectionBytes { rule: number, is_new: false, bytes: [0; 2] };
            }
            counted.bytes[direction as usize] += length;
            let [to_server, to_client] = counted.bytes;
            Chunk { direction, is_new: counted.is_new, to_server, to_client }
        };
        rule(&chunk)
    }

    /// Copies until the end of the stream, the limit, or a cut by the rule.
    fn copy(
        &self,
        direction: Direction,
        mut from: &TcpStream,
        mut to: &TcpStream,
        counted: &Mutex<ConnectionBytes>,
    ) {
        let mut bytes = [0; 4096];
        let (count, limit) = (&self.counts[direction as usize], &self.limits[direction as usize]);
        while let Ok(length @ 1..) = from.read(&mut bytes) {
            let before = count.fetch_add(i64::try_from(length).unwrap(), Ordering::SeqCst);
            let allowed = limit.load(Ordering::SeqCst);
            if allowed >= 0 && before + i64::try_from(length).unwrap() > allowed {
                let rest = usize::try_from(allowed - before).unwrap_or(0);
                drop(to.write_all(&bytes[..rest]));
                limit.store(-1, Ordering::SeqCst);
                return;
            }
            match self.decide(direction, length, counted) {
                Decision::Forward => {}
                Decision::Cut(rest) => {
                    drop(to.write_all(&bytes[..rest.min(length)]));
                    return;
                }
                Decision::CutAndClose(rest) => {
                    self.is_refusing.store(true, Ordering::SeqCst);
                    drop(to.write_all(&bytes[..rest.min(length)]));
                    self.cut_all();
                    return;
                }
            }
            if to.write_all(&bytes[..length]).is_err() {
                return;
            }
        }
    }
}
