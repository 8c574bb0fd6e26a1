//! What every command needs: the flags that all share, the home, the daemon, and the way to show an answer.

use std::{
    os::unix::net::UnixStream,
    path::PathBuf,
    time::{Duration, Instant},
};

use brain_protocol::{Fault, FaultCode, Reply, Request, encode};
use interprocess::local_socket::Stream;

use crate::{
    connect::{self, Missed, Session},
    fail,
    home::Home,
    output::{self, Outcome, Show},
    progress::Progress,
    start,
};

/// How long the daemon may be silent over an ordinary question.
const ORDINARY: Duration = Duration::from_secs(30);

/// How long it may be silent over long work, during which it tells its progress.
const LONG: Duration = Duration::from_secs(180);

/// The flags that all commands share.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Context {
    /// One JSON value on standard output.
    pub(crate) json: bool,
    /// Only the essential.
    pub(crate) quiet: bool,
    /// Never start a daemon.
    pub(crate) no_start: bool,
}

impl Context {
    /// Asks the daemon, which is started when none runs.
    ///
    /// # Errors
    /// The daemon's own fault, or why there is no answer.
    pub(crate) fn call(&self, request: &Request) -> Result<Reply, Fault> {
        self.ask(request, !self.no_start, &mut |_| {})
    }

    /// The same, and hands over each line that the daemon tells on the way, or each piece of its prose, when it comes.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub(crate) fn follow(
        &self,
        request: &Request,
        on_line: &mut dyn FnMut(&str),
    ) -> Result<Reply, Fault> {
        self.ask(request, !self.no_start, on_line)
    }

    /// Asks the daemon that runs; starts none.
    ///
    /// # Errors
    /// As [`Self::call`]; `unreachable` when none runs.
    pub(crate) fn call_running(&self, request: &Request) -> Result<Reply, Fault> {
        self.ask(request, false, &mut |_| {})
    }

    /// A connection on which MCP is spoken from now on, to a daemon that is started when none runs.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub(crate) fn call_mcp(&self) -> Result<UnixStream, Fault> {
        let question =
            encode(&Request::Mcp).map_err(|e| Fault::new(FaultCode::Internal, e.to_string()))?;
        self.converse(&question, !self.no_start, |mut session| {
            match session.answer(ORDINARY, |_| {})? {
                Reply::Mcp => session.into_stream(),
                _ => Err(fail::unexpected("mcp")),
            }
        })
    }

    fn ask(
        &self,
        request: &Request,
        may_start: bool,
        on_line: &mut dyn FnMut(&str),
    ) -> Result<Reply, Fault> {
        let question = encode(request).map_err(|e| {
            Fault::new(FaultCode::TooLarge, format!("the question does not fit one message: {e}"))
                .hint("send less at once")
        })?;
        let patience = match request {
            Request::Import(_)
            | Request::Doctor(_)
            | Request::SourceRemove(_)
            | Request::Sync(_)
            | Request::ConnectTest(_)
            | Request::Embed(_)
            | Request::ModelInstall(_)
            | Request::CollectorSetup(_)
            | Request::CollectorCollect
            | Request::CollectorEnrich(_)
            | Request::Ask(_)
            | Request::Ideas(_) => LONG,
            _ => ORDINARY,
        };
        self.converse(&question, may_start, |mut session| {
            let mut progress = Progress::new(self.quiet);
            session.answer(patience, |event| progress.event(&event, on_line))
        })
    }

    /// Puts a question to the daemon, and takes the answer as `take` does.
    fn converse<T>(
        &self,
        question: &[u8],
        may_start: bool,
        mut take: impl FnMut(Session) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let home = Home::find()?;
        let begun = Instant::now();
        let mut fresh: Option<Stream> = None;
        loop {
            let connected = match fresh.take() {
                Some(stream) => Ok(stream),
                None => connect::open(&home.socket()),
            };
            let missed = match connected.and_then(|stream| Session::begin(stream, question)) {
                Ok(session) => match take(session) {
                    // It is draining and has not done what we asked: wait for its end, and ask the next one.
                    Err(fault) if fault.code == FaultCode::Stopping => Missed::Fault(fault),
                    answer => return answer,
                },
                Err(missed) => missed,
            };
            let over = begun.elapsed() > Duration::from_secs(10);
            match missed {
                Missed::Absent | Missed::Gone if may_start && !over => {
                    if matches!(missed, Missed::Gone) {
                        std::thread::sleep(Duration::from_millis(20));
                    }
                    fresh = Some(start::ensure(&home, self.quiet)?);
                }
                Missed::Fault(fault) if fault.code == FaultCode::Stopping && !over => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                // A daemon at its end that systemd starts anew: its socket is still there, and the next one is at it.
                Missed::Gone if !over => std::thread::sleep(Duration::from_millis(20)),
                Missed::Absent if !may_start => {
                    let fault = Missed::Absent.into_fault(&home.socket());
                    return Err(fault.hint(start_hint()));
                }
                missed => return Err(missed.into_fault(&home.socket())),
            }
        }
    }

    /// The outcome that shows `value` in the way that was asked for.
    ///
    /// # Errors
    /// `internal`, when `value` cannot be put into JSON.
    pub(crate) fn show(&self, value: &impl Show) -> Result<Outcome, Fault> {
        output::show(value, self.json, self.quiet)
    }
}

/// The command that starts a daemon.
fn start_hint() -> String {
    let program = start::program().unwrap_or_else(|| PathBuf::from("brain-daemon"));
    format!("start it with: brain serve (it runs {})", program.display())
}
