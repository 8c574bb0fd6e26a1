//! Runs the daemon: opens sockets and store, serves with listeners and workers, and shuts down.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use brain_protocol::{Fault, FaultCode, HELLO_LEN, Hello, WorkerState};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::activation::{self, PassedSocket, Sockets};
use crate::ipc;
use crate::workers;
use brain_base::clock::SystemClock;
use brain_base::home::Home;
use brain_config::Config;
use brain_core::{Brain, Door};
use brain_http as http;
use brain_tunnel::SystemStarter;

/// The time for requests and workers in progress at shutdown. The whole shutdown takes less than
/// 5 seconds.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(3500);
/// How often a long start, such as a migration, extends the start timeout of the service manager.
const START_NOTICE_INTERVAL: Duration = Duration::from_secs(10);
/// Maximum number of threads for blocking work. It limits concurrent commits and searches.
const BLOCKING_THREADS: usize = 128;

/// The events that end the daemon, besides SIGTERM and SIGINT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DaemonEnd {
    /// A `stop` request.
    Request,
    /// A `stop` request, or the end of standard input: the process at its other end is gone.
    StandardInput,
}

/// Serves the brain at `home` until SIGTERM, SIGINT or an event of `end`.
///
/// # Errors
/// The reason why the daemon cannot start, with a hint.
pub fn run(home: Home, config: Config, end: DaemonEnd) -> Result<(), Fault> {
    // Must come before this process opens files.
    let sockets = activation::take()?;
    raise_file_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_stack_size(1024 * 1024)
        .enable_all()
        .build()
        .map_err(|e| Fault::new(FaultCode::Internal, format!("no runtime: {e}")))?;
    let result = runtime.block_on(serve(home, config, sockets, end));
    runtime.shutdown_timeout(Duration::from_millis(500));
    result
}

async fn serve(home: Home, config: Config, sockets: Sockets, end: DaemonEnd) -> Result<(), Fault> {
    let config = with_usable_socket(&home, config, &sockets)?;
    let path = config.socket(&home);
    let brain = open(&home, &config).await?;
    let listener = control_listener(sockets.control, &config, &path)?;
    let listeners = http::Listeners::open(brain.config(), sockets.http_local, sockets.http_public)?;
    let addresses = listeners.addresses();
    brain.access.set_http_addresses(addresses.clone());
    brain.files.set_socket(path.clone());
    brain.files.record_socket_path();
    let mut terminate = listen_for(SignalKind::terminate())?;
    let mut interrupt = listen_for(SignalKind::interrupt())?;
    // Closing the terminal must not end the daemon.
    let _hangup = listen_for(SignalKind::hangup())?;

    let (stop, tracker) = (CancellationToken::new(), TaskTracker::new());
    if end == DaemonEnd::StandardInput {
        stop_with_standard_input(stop.clone())?;
    }
    // Must come before a request can start an agent.
    let weak_brain = Arc::downgrade(&brain);
    let on_agent_exit = move || {
        if let Some(brain) = weak_brain.upgrade() {
            brain.tunnel.wake_tunnel_watchdog();
        }
    };
    brain
        .tunnel
        .set_starter(Arc::new(SystemStarter::supervised().on_exit(Arc::new(on_agent_exit))));
    let door = Door::new(Arc::clone(&brain));
    door.seen().set_renderer(brain_mcp::renderer());
    tracker.spawn(ipc::serve(listener, door.clone(), tracker.clone(), stop.clone()));
    tracker.spawn(listeners.serve(door, stop.clone()));
    let runner = workers::Runner {
        tracker: tracker.clone(),
        stop: stop.clone(),
        states: Arc::clone(&brain.workers),
        clock: Arc::new(SystemClock),
    };
    workers::start(&brain, &runner);
    tracing::info!(
        version = brain_protocol::VERSION,
        home = %home.root().display(),
        socket = %path.display(),
        http_local = addresses.local.map(tracing::field::display),
        http_public = addresses.public.map(tracing::field::display),
        "ready"
    );
    notify(&[sd_notify::NotifyState::Ready]);

    let reason = tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
        () = stop.cancelled() => "stop",
    };
    tracing::info!(reason, "stopping");
    notify(&[sd_notify::NotifyState::Stopping, sd_notify::NotifyState::Status("stopping")]);
    stop.cancel();
    shut_down(brain, &tracker).await;
    Ok(())
}

/// Stops the daemon when standard input ends.
fn stop_with_standard_input(stop: CancellationToken) -> Result<(), Fault> {
    let wait = move || {
        // An error means the same as the end: nobody is at the other end any more.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        stop.cancel();
    };
    let thread = std::thread::Builder::new().name("standard-input".into()).spawn(wait);
    thread.map(drop).map_err(|e| Fault::new(FaultCode::Internal, format!("no thread: {e}")))
}

/// Returns the configuration with the path of a socket that can be used.
fn with_usable_socket(home: &Home, config: Config, sockets: &Sockets) -> Result<Config, Fault> {
    match &sockets.control {
        Some(passed) => Ok(config.with_passed_socket(passed.path().to_owned())),
        None if home.is_read_only() || !home.holds_sockets() => {
            home.socket_outside().map(|path| config.with_socket_outside(path)).map_err(|e| {
                let message = format!("{} cannot hold a socket: {e}", home.root().display());
                Fault::new(FaultCode::ReadOnly, message)
                    .hint("set XDG_RUNTIME_DIR or BRAIN_SOCKET to a writable path")
            })
        }
        None => Ok(config),
    }
}

/// Opens the brain. Extends the start timeout of the service manager while this takes long.
async fn open(home: &Home, config: &Config) -> Result<Arc<Brain>, Fault> {
    let mut opening = {
        let (home, config) = (home.clone(), config.clone());
        // The standard library's hasher has random keys, so two stores get different ids.
        let new_store_id = RandomState::new().hash_one(std::process::id());
        tokio::task::spawn_blocking(move || {
            Brain::open(home, config, Arc::new(SystemClock), new_store_id)
        })
    };
    let opened = loop {
        tokio::select! {
            opened = &mut opening => break opened,
            () = tokio::time::sleep(START_NOTICE_INTERVAL) => notify(&[
                sd_notify::NotifyState::Status("opening the store"),
                sd_notify::NotifyState::ExtendTimeoutUsec(
                    3 * START_NOTICE_INTERVAL.as_micros() as u32),
            ]),
        }
    };
    let opened = opened
        .map_err(|e| Fault::new(FaultCode::Internal, format!("opening the brain failed: {e}")))?;
    opened.map(Arc::new).map_err(|fault| match fault.code {
        FaultCode::StoreLocked => with_owner_pid(fault, home, config),
        _ => fault,
    })
}

/// Returns the listener of the control socket.
fn control_listener(
    passed: Option<PassedSocket>,
    config: &Config,
    path: &Path,
) -> Result<ipc::Listener, Fault> {
    if let Some(passed) = passed {
        return ipc::Listener::adopt(passed, config);
    }
    if !config.daemon.allow_uids.is_empty() || config.daemon.allow_group.is_some() {
        tracing::warn!(
            "daemon.allow_uids and daemon.allow_group ignored: they need a socket from systemd"
        );
    }
    // This process holds the store's lock, so an existing socket file is stale.
    ipc::Listener::bind(path)
}

/// Stops the brain: waits for requests and workers in progress, then flushes derived data to disk.
async fn shut_down(brain: Arc<Brain>, tracker: &TaskTracker) {
    brain.begin_stop();
    let stopping = Arc::clone(&brain);
    // Waits for a check in progress. If that outlasts the shutdown, the agent ends with the
    // process.
    tracker.spawn_blocking(move || stopping.tunnel.stop_tunnel_agent());
    let stopping = Arc::clone(&brain);
    tracker.spawn_blocking(move || stopping.stop_following());
    tracker.close();
    if tokio::time::timeout(DRAIN_TIMEOUT, tracker.wait()).await.is_err() {
        let workers = brain.workers.list().into_iter();
        let busy: Vec<String> =
            workers.filter(|it| it.state == WorkerState::Running).map(|it| it.name).collect();
        tracing::warn!(
            busy_workers = busy.join(", "),
            "requests or workers not finished before shutdown; acknowledged writes are safe"
        );
    }
    let flush = tokio::task::spawn_blocking(move || brain.flush());
    if tokio::time::timeout(Duration::from_millis(800), flush).await.is_err() {
        tracing::warn!("index not committed before shutdown; the next start catches up");
    }
}

/// Raises the limit of open files to its maximum. Each connection is an open file.
fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        limit.current = limit.maximum;
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            tracing::debug!(%error, "limit of open files not raised");
        }
    }
}

fn listen_for(kind: SignalKind) -> Result<tokio::signal::unix::Signal, Fault> {
    signal(kind).map_err(|e| Fault::new(FaultCode::Internal, format!("no signal handler: {e}")))
}

fn notify(state: &[sd_notify::NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!(%error, "service manager not notified");
    }
}

/// Adds the id of the process that holds the store to the message, if that process answers.
fn with_owner_pid(fault: Fault, home: &Home, config: &Config) -> Fault {
    use std::io::{Read, Write};
    let greet = |socket: &Path| -> std::io::Result<Hello> {
        let mut stream = std::os::unix::net::UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(&Hello::of_this_build(std::process::id()).to_bytes())?;
        let mut bytes = [0_u8; HELLO_LEN];
        stream.read_exact(&mut bytes)?;
        Hello::from_bytes(&bytes).map_err(std::io::Error::other)
    };
    // The process that holds the store recorded the path of its socket, which may differ from ours.
    // Skips a socket from systemd, which leads to this process.
    let recorded = std::fs::read_to_string(home.run().join("socket")).unwrap_or_default();
    let ours = config.socket(home);
    let paths = [ours.clone(), recorded.trim().into(), home.default_socket()];
    let mut paths = paths.iter().filter(|path| !(config.socket_is_passed() && **path == ours));
    match paths.find_map(|path| greet(path).ok()) {
        Some(hello) => {
            Fault { message: format!("{} (process {})", fault.message, hello.pid), ..fault }
        }
        None => fault,
    }
}
