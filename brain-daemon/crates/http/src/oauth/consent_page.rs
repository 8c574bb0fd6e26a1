//! The page on which the owner grants access, and the page for requests that are refused.
//!
//! Pages contain no script and no image, and load nothing from elsewhere.

use std::sync::LazyLock;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use brain_protocol::{Scope, Scopes};
use maud::{Markup, html};

use crate::html::{self, Name, Style};
use brain_access::Consent;

/// `form-action` is left out: browsers apply it to the redirect to the client, too.
static STYLE: LazyLock<Style> = LazyLock::new(|| Style::new(include_str!("consent_page.css"), ""));

/// The content of the consent page.
pub(super) struct ConsentPage<'a> {
    /// The client's request, as one ASCII text.
    pub(super) request: &'a str,
    /// The request for the owner's consent.
    pub(super) consent: &'a Consent,
    /// The CSRF token that binds the form to this browser and this request.
    pub(super) csrf_token: &'a str,
    /// Whether the browser has a session of the owner.
    pub(super) is_signed_in: bool,
    /// Why the last attempt failed.
    pub(super) problem: Option<&'a str>,
}

pub(super) fn consent(status: StatusCode, page: &ConsentPage<'_>) -> Response {
    let consent = page.consent;
    let choices = choices(consent.scopes);
    let body = html! {
        h1 {
            "May " bdi { (Name(&consent.client_name)) }
            // Clients choose their names, but not the hosts of their documents.
            @if let Some(host) = &consent.client_host { " of " strong { (Name(host)) } }
            " use your brain?"
        }
        @if let Some(problem) = page.problem { p class="notice" role="alert" { (Name(problem)) } }
        dl { @for (term, value) in facts(consent) { dt { (term) } dd { (value) } } }
        (redirect_notice(consent))
        form method="post" action="/authorize" autocomplete="off" {
            input type="hidden" name="request" value=(Name(page.request));
            input type="hidden" name="seal" value=(Name(page.csrf_token));
            fieldset {
                legend { "It may" }
                @for (at, (value, label)) in choices.iter().enumerate() {
                    label {
                        // The least access is preselected, so that more access is a deliberate
                        // choice.
                        input type="radio" name="grant" value=(value)
                            checked[at + 1 == choices.len()];
                        span { (label) }
                    }
                }
            }
            (revocation(consent))
            (token_field(page.is_signed_in))
            div class="buttons" {
                button class="yes" name="decision" value="approve" { "Allow" }
                button name="decision" value="deny" formnovalidate { "Refuse" }
                @if page.is_signed_in {
                    button class="quiet" name="decision" value="sign_out" formnovalidate {
                        "Sign out"
                    }
                }
            }
        }
    };
    // The form must send its origin, which browsers leave out with `no-referrer`.
    respond(status, "A client requests access", body, "same-origin")
}

/// Warns of a redirect to a local program, or to a host that is not the client's.
fn redirect_notice(consent: &Consent) -> Markup {
    let is_other_host =
        consent.client_host.as_ref().is_some_and(|host| *host != consent.redirect_host);
    html! {
        @if consent.loopback {
            p class="notice" {
                "You will be redirected to a program on this computer. Any program on it could "
                "receive the access. Continue only if you started this yourself just now."
            }
        } @else if is_other_host {
            p class="notice" {
                "You will be redirected to another host than the client's. Continue only if you "
                "know both."
            }
        }
    }
}

/// Tells how to revoke the access. The owner copies the command into a shell, and a client can
/// choose an address as its id. So the command contains only plain ids.
fn revocation(consent: &Consent) -> Markup {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    html! {
        p {
            "You can take this back at any time: "
            @if consent.client_id.bytes().all(is_plain) {
                code { "brain clients revoke " (Name(&consent.client_id)) }
            } @else {
                code { "brain clients revoke ID" } ", with the id that "
                code { "brain clients list" } " shows"
            }
        }
    }
}

/// Asks for the admin token, unless the browser has a session.
fn token_field(signed_in: bool) -> Markup {
    html! {
        @if signed_in {
            p { "You are signed in as the owner." }
        } @else {
            label class="owner" for="owner" { "Admin token" }
            input id="owner" type="password" name="admin_token" required
                autocomplete="current-password" aria-describedby="how";
            p id="how" {
                "On the machine where your brain is, " code { "brain token admin" } " shows it."
            }
        }
    }
}

/// Returns the page for a request that is refused without a redirect.
pub(super) fn refusal_page(status: StatusCode, error: &str, description: &str) -> Response {
    let body = html! {
        h1 { "The request cannot continue" }
        p class="notice" role="alert" { (Name(description)) }
        p {
            "You were not redirected to the program that opened this page, because brain cannot "
            "verify it. Close this page and begin again in that program."
        }
        p { code { (Name(error)) } }
    };
    respond(status, "The request cannot continue", body, "no-referrer")
}

fn respond(status: StatusCode, title: &str, body: Markup, referrer: &'static str) -> Response {
    html::HtmlPage { status, style: &STYLE, title, head: html! {}, body, referrer }.into_response()
}

/// Returns the facts for the owner's decision: term and value.
fn facts(consent: &Consent) -> Vec<(&'static str, Markup)> {
    let registration = match consent.registered_by.as_str() {
        "admin" => "registered by you",
        "metadata" => "identified by the address of its document, which claims this name",
        _ => "registered itself; nobody has checked its name",
    };
    let client = html! {
        bdi { (Name(&consent.client_name)) } ", " (registration) br;
        code { (Name(&consent.client_id)) }
    };
    let sources = match consent.sources.join(", ") {
        list if list.is_empty() => "all".to_owned(),
        list => list,
    };
    let mut facts = vec![
        ("Client", client),
        ("Redirects to", html! { strong { (Name(&redirect_address(consent))) } }),
        ("Sources", html! { (Name(&sources)) }),
    ];
    if let Some(resource) = &consent.resource {
        facts.push(("For", html! { code { (Name(resource)) } }));
    }
    facts
}

/// Returns the host to which the browser is redirected. If that is this machine, also returns the
/// port, which tells programs apart.
fn redirect_address(consent: &Consent) -> String {
    let url = url::Url::parse(&consent.redirect_uri).ok().filter(|_| consent.loopback);
    match url.and_then(|url| url.port_or_known_default()) {
        Some(port) => format!("{}, port {port}", consent.redirect_host),
        None => consent.redirect_host.clone(),
    }
}

/// Returns the owner's choices as values and labels: all requested scopes, or fewer.
fn choices(requested: Scopes) -> Vec<(&'static str, &'static str)> {
    let label = |scope| match scope {
        Scope::Read => "read and search pages",
        Scope::Write => "read and search, and also write, change and delete pages",
        Scope::Admin => {
            "do everything: read, write, and administer this brain with its clients and tokens"
        }
    };
    let lower = Scope::ALL.into_iter().rev().filter(|scope| *scope < requested.highest());
    let all = ("all", label(requested.highest()));
    std::iter::once(all).chain(lower.map(|scope| (scope.as_str(), label(scope)))).collect()
}

/// Returns the scopes of a value of [`choices`], or all requested scopes without a value. `None` if
/// the value is not one of them.
pub(super) fn chosen_scopes(requested: Scopes, choice: Option<&str>) -> Option<Scopes> {
    match choice {
        None | Some("all") => Some(requested),
        Some(choice) => {
            let scope = Scope::ALL.into_iter().find(|scope| scope.as_str() == choice)?;
            (scope < requested.highest()).then(|| scope.into())
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn request() -> Consent {
        Consent {
            client_id: "brain_cl_x".into(),
            client_host: None,
            client_name: "<script>alert(1)</script>".into(),
            registered_by: "dynamic".into(),
            redirect_uri: "http://localhost:1234/cb".into(),
            redirect_host: "local\"host".into(),
            loopback: true,
            scopes: Scopes::READ_WRITE,
            sources: vec!["work".into()],
            resource: Some("https://a.example/<mcp>".into()),
        }
    }

    async fn text(consent: &Consent, is_signed_in: bool) -> String {
        let problem = Some("no & no");
        let page =
            ConsentPage { request: "a=b&c", csrf_token: "s", consent, is_signed_in, problem };
        html::body_text(super::consent(StatusCode::OK, &page)).await
    }

    #[tokio::test]
    async fn hostile_values_are_escaped() {
        let html = text(&request(), false).await;
        assert!(!html.contains("<script"), "{html}");
        for expected in [
            "&lt;script&gt;alert(1)&lt;/script&gt;",
            "local&quot;host, port 1234",
            "<code>brain clients revoke brain_cl_x</code>",
            "https://a.example/&lt;mcp&gt;",
            "no &amp; no",
            "value=\"a=b&amp;c\"",
            "nobody has checked its name",
            "a program on this computer",
            "type=\"password\"",
        ] {
            assert!(html.contains(expected), "{expected}");
        }
        let signed_in = text(&Consent { loopback: false, ..request() }, true).await;
        assert!(!signed_in.contains("type=\"password\"") && signed_in.contains("sign_out"));
        assert!(!signed_in.contains("a program on this computer"));
        assert!(!signed_in.contains("port 1234"), "a host elsewhere needs no port");
    }

    #[tokio::test]
    async fn the_least_access_is_preselected() {
        for (requested, least) in [("read write", "read"), ("admin", "read"), ("read", "all")] {
            let scopes = Scopes::parse(requested).unwrap();
            let html = text(&Consent { scopes, ..request() }, false).await;
            assert_eq!(html.matches(" checked>").count(), 1, "{html}");
            assert!(html.contains(&format!("value=\"{least}\" checked>")), "{html}");
        }
    }

    #[tokio::test]
    async fn a_hostile_refusal_is_escaped() {
        let evil = "'\"><script>alert(1)</script>";
        let html = html::body_text(refusal_page(StatusCode::BAD_REQUEST, evil, evil)).await;
        assert!(!html.contains("<script"), "{html}");
        let escaped = "&#39;&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;";
        assert_eq!(html.matches(escaped).count(), 2, "{html}");
    }

    #[tokio::test]
    async fn a_client_with_a_document_is_shown_with_its_host() {
        let described = Consent {
            client_id: "https://evil.example/client.json".into(),
            client_host: Some("evil.example".into()),
            client_name: "Claude".into(),
            registered_by: "metadata".into(),
            redirect_host: "elsewhere.example".into(),
            loopback: false,
            ..request()
        };
        let html = text(&described, false).await;
        for expected in [
            "<h1>May <bdi>Claude</bdi> of <strong>evil.example</strong> use your brain?</h1>",
            "which claims this name",
            "<code>https://evil.example/client.json</code>",
            "<strong>elsewhere.example</strong>",
            "redirected to another host",
            "<code>brain clients revoke ID</code>",
        ] {
            assert!(html.contains(expected), "{expected} in {html}");
        }
        let own =
            text(&Consent { redirect_host: "evil.example".into(), ..described.clone() }, false)
                .await;
        assert!(!own.contains("to another host"));
        let program = text(
            &Consent { redirect_host: "localhost".into(), loopback: true, ..described },
            false,
        )
        .await;
        assert!(program.contains("on this computer") && !program.contains("another host"));
    }

    #[test]
    fn the_owner_grants_what_is_requested_or_less() {
        let grants = |requested: &str, choice: Option<&str>| {
            chosen_scopes(Scopes::parse(requested).unwrap(), choice)
                .map(|scopes| scopes.to_string())
        };
        assert_eq!(grants("read write", None).as_deref(), Some("read write"));
        assert_eq!(grants("read write", Some("all")).as_deref(), Some("read write"));
        assert_eq!(grants("read write", Some("read")).as_deref(), Some("read"));
        assert_eq!(grants("write", Some("read")).as_deref(), Some("read"));
        for (requested, choice) in
            [("read", "write"), ("read write", "admin"), ("read write", "write"), ("read", "owner")]
        {
            assert_eq!(grants(requested, Some(choice)), None, "{requested} → {choice}");
        }
        let values: Vec<&str> =
            choices(Scopes::ADMIN).into_iter().map(|(value, _)| value).collect();
        assert_eq!(values, ["all", "write", "read"]);
        assert_eq!(choices(Scope::Read.into()).len(), 1);
    }
}
