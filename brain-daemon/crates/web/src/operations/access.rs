//! The screen of access: tokens, clients and browsers. It creates and revokes them; a new token is
//! shown once.

use axum::extract::State;
use axum::response::Response;
use brain_core::Door;
use brain_protocol::{
    BrowserOpen, Client, ClientList, ClientRevoke, Fault, Scope, Scopes, TokenCreate,
    TokenCreateReply, TokenInfo, TokenList, TokenRevoke,
};
use maud::{Markup, html};

use super::respond;
use crate::extract::FormPost;
use crate::layout::{self, csrf, see_other};
use crate::session::Session;
use crate::table::{optional_time, table, time};
use crate::text::{Name, Text};

const PATH: &str = "/web/access";

/// `GET /web/access`
pub(crate) async fn show(State(brain): State<Door>, session: Session) -> Response {
    respond(&session, PATH, screen(&brain, &session, None).await)
}

/// `POST /web/access/token`: creates a token, and shows it once.
pub(crate) async fn create_token(State(brain): State<Door>, form_post: FormPost) -> Response {
    let scopes = match form_post.field("scope") {
        "write" => Scopes::WRITE,
        "read write" => Scopes::READ_WRITE,
        _ => Scope::Read.into(),
    };
    let name = form_post.field("name").trim().to_owned();
    let create = TokenCreate { name, scopes, sources: Vec::new(), expires_in: None };
    let work = async {
        let reply = form_post.session.run(&brain, create).await?;
        screen(&brain, &form_post.session, Some(reply)).await
    };
    let body = work.await;
    respond(&form_post.session, PATH, body)
}

/// `POST /web/access/revoke`: revokes a token or a client permanently.
pub(crate) async fn revoke(State(brain): State<Door>, form_post: FormPost) -> Response {
    let result = match (form_post.field("token"), form_post.field("client")) {
        ("", client) => {
            let revoke = ClientRevoke { client: client.to_owned(), yes: true };
            form_post.session.run(&brain, revoke).await.map(|_| ())
        }
        (token, _) => {
            let revoke = TokenRevoke { token: token.to_owned() };
            form_post.session.run(&brain, revoke).await.map(|_| ())
        }
    };
    finish(&form_post, result)
}

/// `POST /web/access/browsers`: signs all browsers out, this one too.
pub(crate) async fn sign_out_all(State(brain): State<Door>, form_post: FormPost) -> Response {
    let request = BrowserOpen { page: None, sign_out: true };
    let result = form_post.session.run(&brain, request).await.map(|_| ());
    finish(&form_post, result)
}

/// Redirects to the screen, or shows the fault.
fn finish(form_post: &FormPost, result: Result<(), Fault>) -> Response {
    match result {
        Ok(()) => see_other(PATH),
        Err(fault) => layout::fault(&form_post.session, &fault),
    }
}

async fn screen(
    brain: &Door,
    session: &Session,
    created_token: Option<TokenCreateReply>,
) -> Result<Markup, Fault> {
    let tokens = session.run(brain, TokenList { all: false }).await?.tokens;
    let clients = session.run(brain, ClientList { all: false }).await?.clients;
    let browsers = brain.access().browser_sessions();
    let token_rows: Vec<Vec<Markup>> = tokens.iter().map(|it| token_row(session, it)).collect();
    let client_rows: Vec<Vec<Markup>> = clients.iter().map(|it| client_row(session, it)).collect();
    let opened = browsers.iter().map(|it| brain_base::clock::rfc3339(it.opened_at));
    let browser_rows: Vec<Vec<Markup>> = opened
        .zip(browsers.iter().map(|it| brain_base::clock::rfc3339(it.expires_at)))
        .map(|(opened, ends)| vec![time(&opened), time(&ends)])
        .collect();
    Ok(html! {
        @if let Some(reply) = &created_token {
            div class="notice good" role="status" {
                p { "The token of " strong { (Name(&reply.info.name)) } ", shown only now:" }
                pre { code { (reply.token.expose()) } }
            }
        }
        h2 { "Tokens of programs and devices" }
        (table(
            "Tokens",
            &["Name", "Scope", "Sources", "Created", "Expires", ""],
            &token_rows,
            "No program or device has a token. Make one for each, so that you can revoke it alone.",
        ))
        (new_token(session))
        h2 { "Clients" }
        p { "Programs with a name and a secret of their own, or that asked you for consent." }
        (table(
            "Clients",
            &["Name", "Scope", "Sources", "Registered", "Last used", ""],
            &client_rows,
            "No client is registered. AI clients register themselves when you connect them.",
        ))
        h2 { "Browsers" }
        (table("Browsers", &["Signed in", "Until"], &browser_rows, "None."))
        form method="post" action="/web/access/browsers" {
            (csrf(session))
            p { button class="button" { "Sign all browsers out" } }
        }
    })
}

fn new_token(session: &Session) -> Markup {
    html! {
        details class="form" {
            summary { "New token" }
            form method="post" action="/web/access/token" {
                (csrf(session))
                label for="token-name" { "Name of the program or device" }
                input id="token-name" name="name" required maxlength="120" autocomplete="off";
                label for="token-scope" { "It may" }
                select id="token-scope" name="scope" {
                    option value="read" { "read" }
                    option value="write" { "write, for example capture" }
                    option value="read write" { "read and write" }
                }
                p class="facts" {
                    "The token expires after 90 days. " code { "brain token create --help" }
                    " shows how to choose another time."
                }
                button { "Make the token" }
            }
        }
    }
}

fn token_row(session: &Session, token: &TokenInfo) -> Vec<Markup> {
    vec![
        html! { bdi { (Name(&token.name)) } },
        html! { (Text(&token.scope)) },
        sources(&token.sources),
        time(&token.created_at),
        optional_time(token.expires_at.as_deref()),
        revoke_form(session, "token", &token.id, &token.name),
    ]
}

fn client_row(session: &Session, client: &Client) -> Vec<Markup> {
    vec![
        html! { bdi { (Name(&client.client_name)) } },
        html! { (Text(&client.scope)) },
        sources(&client.sources),
        time(&client.created_at),
        optional_time(client.last_used_at.as_deref()),
        revoke_form(session, "client", &client.client_id, &client.client_name),
    ]
}

fn sources(sources: &[String]) -> Markup {
    html! { @if sources.is_empty() { "all" } @else { (Text(&sources.join(", "))) } }
}

/// The button is in a collapsed element, because a revocation is permanent.
fn revoke_form(session: &Session, field: &str, id: &str, name: &str) -> Markup {
    html! {
        details class="danger" {
            summary { "Revoke" span class="hidden" { " " (Name(name)) } }
            form method="post" action="/web/access/revoke" {
                (csrf(session))
                input type="hidden" name=(field) value=(Text(id));
                button { "Revoke for ever" }
            }
        }
    }
}
