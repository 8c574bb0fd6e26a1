//! Passes the socket on standard input to a program, as systemd does: `brain-activate NAMES PROGRAM
//! [ARGUMENT…]`.
//!
//! `NAMES` are names of sockets, separated by `:`. Each gets a duplicate of the same socket.

use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

/// The number of the first descriptor that systemd passes.
const FIRST_DESCRIPTOR: i32 = 3;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(names), Some(program)) = (arguments.next(), arguments.next()) else {
        return ExitCode::from(2);
    };
    let count = names.to_string_lossy().split(':').count();
    let mut sockets = Vec::new();
    for index in 0..count {
        // A duplicate gets the lowest free number and stays open in the program.
        match rustix::io::dup(std::io::stdin()) {
            Ok(socket) if socket.as_raw_fd() == FIRST_DESCRIPTOR + index as i32 => {
                sockets.push(socket);
            }
            _ => return ExitCode::from(3),
        }
    }
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    command.env("LISTEN_PID", std::process::id().to_string());
    command.env("LISTEN_FDS", count.to_string());
    command.env("LISTEN_FDNAMES", names);
    // `exec` returns only if it fails. Until then `sockets` must stay open.
    let _ = command.exec();
    drop(sockets);
    ExitCode::from(4)
}
