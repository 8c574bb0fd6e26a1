//! The program `brain-daemon`.

use std::io::Write;
use std::process::ExitCode;

use brain_base::home::Home;
use brain_config::Config;
use brain_daemon::{cli, daemon, daemon::DaemonEnd, temporary_home};
use brain_embed::probe;
use brain_protocol::{Fault, FaultCode, SIZE_LIMIT_HINT};
use brain_tunnel::child_supervisor;

/// Returns memory to the system after an import; the default allocator keeps most of it.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    if let Err(error) = brain_daemon::signals::survive_size_limits() {
        let _ =
            writeln!(std::io::stderr(), "brain-daemon: warning: no handler for SIGXFSZ: {error}");
    }
    // Files of a brain are private, whatever the mode of their directory.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    // The daemon starts itself as a helper: these arguments select the supervisor of a child, or
    // the check of a tokenizer.
    if let Some(code) = child_supervisor::run_if_requested(std::env::args_os())
        .or_else(|| probe::run_if_requested(std::env::args_os()))
    {
        return code;
    }
    match cli::parse() {
        Ok(command) => run(command),
        Err(error) => {
            let _ = error.print();
            ExitCode::from(error.exit_code() as u8)
        }
    }
}

fn run(command: cli::Command) -> ExitCode {
    let Some(home) = Home::from_environment() else {
        return print_error(
            &Fault::new(FaultCode::InvalidConfig, "no home directory").hint("set BRAIN_HOME"),
            false,
        );
    };
    match command {
        cli::Command::Config { action, json } => {
            print_result(cli::config(&home, &action, json), json)
        }
        cli::Command::Verify { file, json } => print_result(cli::verify(&file, json), json),
        cli::Command::Restore { file, write_sources, json } => {
            let restored =
                Config::load(&home.config(), |name| std::env::var(name).ok()).and_then(|config| {
                    cli::start_log(config.daemon.log);
                    cli::restore(home, config, &file, &write_sources, json)
                });
            print_result(restored, json)
        }
        cli::Command::RestoreFromHome { json } => {
            let restored =
                Config::load(&home.config(), |name| std::env::var(name).ok()).and_then(|config| {
                    cli::start_log(config.daemon.log);
                    cli::restore_from_home(&home, config, json)
                });
            print_result(restored, json)
        }
        cli::Command::Serve { temporary } => {
            let result = match temporary {
                true => {
                    temporary_home::run(&home, || serve(home.clone(), DaemonEnd::StandardInput))
                }
                false => serve(home, DaemonEnd::Request),
            };
            match result {
                Ok(()) => ExitCode::SUCCESS,
                Err(fault) => print_error(&fault, false),
            }
        }
    }
}

/// Serves the brain at `home` in the foreground.
fn serve(home: Home, end: DaemonEnd) -> Result<(), Fault> {
    let config = Config::load(&home.config(), |name| std::env::var(name).ok())?;
    cli::start_log(config.daemon.log);
    daemon::run(home, config, end)
}

/// Prints a text, or the error.
fn print_result(result: Result<String, Fault>, json: bool) -> ExitCode {
    match result {
        Ok(text) => match std::io::stdout().write_all(text.as_bytes()) {
            Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
                let fault =
                    Fault::new(FaultCode::Io, format!("cannot write to standard output: {e}"));
                match e.kind() {
                    std::io::ErrorKind::FileTooLarge => {
                        print_error(&fault.hint(SIZE_LIMIT_HINT), false)
                    }
                    _ => print_error(&fault, false),
                }
            }
            _ => ExitCode::SUCCESS,
        },
        Err(fault) => print_error(&fault, json),
    }
}

/// Returns the name of the program that was called: `brain config` runs this program as `brain`.
fn program_name() -> &'static str {
    match std::env::args_os().next() {
        Some(name) if name == "brain" => "brain",
        _ => "brain-daemon",
    }
}

/// Prints an error with its hint, as JSON to standard output or as text to standard error. Returns
/// the exit code.
fn print_error(fault: &Fault, json: bool) -> ExitCode {
    if json {
        let value = serde_json::json!({
            "error": { "code": fault.code.as_str(), "message": fault.message, "hint": fault.hint }
        });
        let _ = writeln!(std::io::stdout(), "{value}");
    } else {
        let mut out = std::io::stderr().lock();
        let _ = writeln!(out, "{}: error: {}", program_name(), fault.message);
        if let Some(hint) = &fault.hint {
            let _ = writeln!(out, "  hint: {hint}");
        }
    }
    ExitCode::from(fault.code.exit() as u8)
}
