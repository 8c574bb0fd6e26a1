//! `brain setup --undo`: disconnects the AI clients, and removes the service that setup installed.

use brain_protocol::Fault;

use super::{Record, SetupPart, SetupReply, message_of, run_brain};
use crate::{
    ai_clients::AiClient,
    context::Context,
    fail,
    home::Home,
    output::{Outcome, clean},
};

/// Undoes the setup of a home. Disconnects the clients in `names`; without names, disconnects all
/// clients and removes the service.
pub(super) fn run(context: &Context, home: &Home, names: &[String]) -> Result<Outcome, Fault> {
    if let Some(unknown) = names.iter().find(|name| AiClient::find(name).is_none()) {
        let message = format!("\"{}\" is no client that brain knows", clean(unknown));
        return Err(fail::usage(message).hint("see the names: brain setup --help"));
    }
    let mut record = Record::load(home)?;
    let mut parts = Vec::new();
    let is_chosen = |client: &str| names.is_empty() || names.iter().any(|name| name == client);
    let mut remaining = Vec::new();
    // The newest change is undone first, so that each file still is as that change left it.
    for connection in std::mem::take(&mut record.connections).into_iter().rev() {
        let client = AiClient::find(&connection.client).filter(|client| is_chosen(client.name));
        let Some(client) = client else {
            remaining.push(connection);
            continue;
        };
        match client.disconnect(&connection) {
            Ok(()) => parts.push(part(
                client.name,
                "undone",
                format!("{} is disconnected ({})", client.label, connection.path.display()),
            )),
            Err(fault) => {
                parts.push(part(client.name, "failed", message_of(&fault)));
                remaining.push(connection);
            }
        }
    }
    remaining.reverse();
    record.connections = remaining;
    parts.dedup_by(|a: &mut SetupPart, b| a.name == b.name && a.status == b.status);
    if names.is_empty() && record.service {
        match run_brain(context, home, &["service", "uninstall"]) {
            Ok(_) => {
                record.service = false;
                parts.push(part("service", "undone", "the service is removed".into()));
            }
            Err(fault) => parts.push(part("service", "failed", message_of(&fault))),
        }
    }
    record.save(home)?;
    let reply = SetupReply {
        status: match () {
            () if parts.is_empty() => "nothing_to_undo",
            () if parts.iter().any(|part| part.status == "failed") => "partial",
            () => "undone",
        },
        home: home.dir().display().to_string(),
        parts,
        notes: vec![format!(
            "pages, sources and models stay; your data is in {}",
            home.dir().display()
        )],
    };
    context.show(&reply)
}

fn part(name: &str, status: &'static str, message: String) -> SetupPart {
    SetupPart { name: name.to_owned(), status, message, changes: Vec::new() }
}
