//! A server for the official conformance suite of MCP, behind the daemon's router and middleware.
//! `.ci/clients` runs it. It has all features that the suite tests, so a failure is a fault of the
//! router, the middleware, the SDK or this server. The server prints its address and a token, and
//! runs until it is killed. The router serves the brain at `BRAIN_HOME`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::too_many_lines)]
// Sampling, roots and logging are deprecated in the protocol, but the suite tests them.
#![allow(deprecated)]

mod ask;
mod fixture;
mod legacy;
mod prompts;
mod resources;
mod rounds;
mod tasks;
mod tools;

use std::sync::Arc;

use brain_base::caller::Caller;
use brain_base::clock::SystemClock;
use brain_base::home::Home;
use brain_config::Config;
use brain_core::{Brain, Door, NoProgress};
use brain_http::Listeners;
use brain_mcp::{Mode, http_service};
use brain_protocol::{Reply, Request, Scopes, TokenCreate};
use tokio_util::sync::CancellationToken;

#[tokio::main(worker_threads = 2)]
async fn main() {
    let home = Home::from_environment().expect("BRAIN_HOME");
    let config = Config::load(&home.config(), |name| std::env::var(name).ok()).unwrap();
    let brain = Brain::open(home, config, Arc::new(SystemClock), 1).unwrap();
    let brain = Door::new(Arc::new(brain));
    let token = TokenCreate {
        name: "suite".into(),
        scopes: Scopes::parse("read write").unwrap(),
        sources: Vec::new(),
        expires_in: None,
    };
    let owner = Caller::local(rustix::process::getuid().as_raw());
    let Ok(Reply::TokenCreate(reply)) =
        brain.answer(&owner, Request::TokenCreate(token), &NoProgress)
    else {
        panic!("no token");
    };
    let listeners = Listeners::open(brain.config(), None, None).unwrap();
    let address = listeners.addresses().local.expect("no local HTTP listener");
    println!("{address} {}", reply.token.expose());

    let (fixture, stop) = (fixture::Fixture::new(), CancellationToken::new());
    let mcp_service = http_service(move || fixture.clone(), Mode::Sessions, &stop);
    listeners.serve_with(brain, mcp_service, stop).await;
}
