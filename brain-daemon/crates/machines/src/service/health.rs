//! The check of the shared brain for `doctor`.

use brain_protocol::{Command, hint};
use std::sync::Arc;

use crate::Condition;

use super::plan::durability_warnings;
use super::{MachineService, Membership};
use brain_service::health::{Finding, Health, HealthCheck, fail, ok, warn};

/// A difference of clocks above this, in milliseconds, is a problem: dates of pages are wrong.
const MAX_CLOCK_DIFFERENCE_MS: i64 = 60_000;

impl Health for MachineService {
    fn checks(self: Arc<Self>) -> Vec<HealthCheck> {
        vec![HealthCheck::new("machines", &self, Self::health)]
    }
}

impl MachineService {
    fn health(&self) -> Finding {
        let replica = match self.state() {
            Membership::Alone => return ok("this brain is on this machine only"),
            Membership::Unusable(fault) => {
                return fail(fault.message, fault.hint.unwrap_or_default());
            }
            Membership::Member(replica) => replica,
        };
        let engine = replica.log().engine();
        let server = engine.address();
        match replica.log().condition() {
            Condition::Starting => return ok(format!("{server} was not called yet")),
            Condition::Away { reason, .. } => {
                return warn(
                    format!("the server is away: {reason}"),
                    hint!(
                        "check the server and the network; {} has details",
                        Command::MachinesStatus
                    ),
                );
            }
            Condition::Stopped { stop, .. } => {
                let hint = stop.fault.hint.unwrap_or_default();
                return fail(format!("{}: {}", stop.state, stop.fault.message), hint);
            }
            Condition::Ready => {}
        }
        if let Some(problem) = replica.problem() {
            return fail(problem, Command::MachinesStatus);
        }
        if let Some((head, seen_at)) = replica.log().last_head() {
            let ahead = seen_at - head.clock_ms;
            if ahead.abs() > MAX_CLOCK_DIFFERENCE_MS {
                let direction = if ahead > 0 { "ahead of" } else { "behind" };
                let message = format!(
                    "the clock of this machine is {} s {direction} that of the server",
                    ahead.abs() / 1000
                );
                return warn(message, "timedatectl set-ntp true");
            }
        }
        match engine.durability() {
            Ok(durability) => match durability_warnings(durability.as_ref()).into_iter().next() {
                Some(warning) => warn(warning, "correct the server's settings: docs/machines.md"),
                None => ok(format!("follows {server}")),
            },
            Err(error) => warn(error.to_string(), Command::MachinesStatus),
        }
    }
}
