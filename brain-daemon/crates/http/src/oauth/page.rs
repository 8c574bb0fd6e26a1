//! The page on which the owner agrees, and the one that says why nobody is asked. Values in, HTML out: whatever came from outside
//! is escaped here, and no script, no picture and nothing from elsewhere is on a page.

use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brain_protocol::{Scope, Scopes};
use sha2::{Digest, Sha256};

use crate::document::{self, Style};
use crate::escape;
use brain_access::Consent;

const STYLE: &str = include_str!("page.css");

/// Only this style acts, and nobody may frame the page (Content Security Policy Level 3). `form-action` is left out: browsers hold
/// it against the address that the client is answered at, and against wherever that leads.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let digest = STANDARD.encode(Sha256::digest(STYLE));
    let text = format!(
        "default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; frame-ancestors 'none'"
    );
    HeaderValue::from_str(&text)
        .unwrap_or(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"))
});

/// What the consent page shows besides the consent.
pub(super) struct Shown<'a> {
    /// What is asked for, as one text of plain ASCII.
    pub(super) request: &'a str,
    /// What the owner is asked.
    pub(super) consent: &'a Consent,
    /// Binds the form to this browser and this request.
    pub(super) seal: &'a str,
    /// Whether the owner is known already.
    pub(super) signed_in: bool,
    /// What went wrong with the last try.
    pub(super) problem: Option<&'a str>,
}

/// The consent page.
pub(super) fn consent(status: StatusCode, shown: &Shown<'_>) -> Response {
    let consent = shown.consent;
    let name = format!("<bdi>{}</bdi>", escape::name(&consent.client_name));
    // Anybody may call themselves anything in a document of their own; where it is, they cannot choose.
    let who = match &consent.client_host {
        Some(host) => format!("{name} of <strong>{}</strong>", escape::name(host)),
        None => name,
    };
    let mut html = format!("<h1>May {who} use your brain?</h1>\n");
    if let Some(problem) = shown.problem {
        let _ = writeln!(html, r#"<p class="told" role="alert">{}</p>"#, escape::name(problem));
    }
    html.push_str("<dl>\n");
    for (term, what) in facts(consent) {
        let _ = writeln!(html, "<dt>{term}</dt><dd>{what}</dd>");
    }
    html.push_str("</dl>\n");
    if consent.loopback {
        html.push_str(
            "<p class=\"told\">You are led to a program on the computer you sit at. Any program there could be the one \
             that listens. Go on only if you started this yourself, just now.</p>\n",
        );
    } else if consent.client_host.as_ref().is_some_and(|host| *host != consent.redirect_host) {
        html.push_str(
            "<p class=\"told\">You are led to another host than the one that asks. Go on only if you know both.</p>\n",
        );
    }
    html.push_str("<form method=\"post\" action=\"/authorize\" autocomplete=\"off\">\n");
    for (name, value) in [("request", shown.request), ("seal", shown.seal)] {
        let _ = writeln!(
            html,
            r#"<input type="hidden" name="{name}" value="{}">"#,
            escape::name(value)
        );
    }
    html.push_str("<fieldset><legend>It may</legend>\n");
    for (n, (value, words)) in choices(consent.scopes).into_iter().enumerate() {
        let checked = if n == 0 { " checked" } else { "" };
        let _ = writeln!(
            html,
            r#"<label><input type="radio" name="grant" value="{value}"{checked}><span>{words}</span></label>"#
        );
    }
    html.push_str("</fieldset>\n");
    if shown.signed_in {
        html.push_str("<p>You are signed in as the owner.</p>\n");
    } else {
        html.push_str(
            "<label class=\"owner\" for=\"owner\">Admin token</label>\n<input id=\"owner\" type=\"password\" \
             name=\"admin_token\" required autocomplete=\"current-password\" aria-describedby=\"how\">\n<p id=\"how\">On \
             the machine where your brain is, <code>brain token admin</code> shows it.</p>\n",
        );
    }
    html.push_str(
        "<div class=\"do\">\n<button class=\"yes\" name=\"decision\" value=\"approve\">Allow</button>\n<button \
         name=\"decision\" value=\"deny\" formnovalidate>Refuse</button>\n",
    );
    if shown.signed_in {
        html.push_str(
            "<button class=\"quiet\" name=\"decision\" value=\"sign_out\" formnovalidate>Sign out</button>\n",
        );
    }
    html.push_str("</div>\n</form>\n");
    // The form must say where it comes from, which `no-referrer` would have browsers leave out; nobody else is told.
    page(status, "A client asks for your brain", &html, "same-origin")
}

/// The page for a person whom nobody can be asked for.
pub(super) fn refusal(status: StatusCode, error: &str, description: &str) -> Response {
    let html = format!(
        "<h1>This cannot go on</h1>\n<p class=\"told\" role=\"alert\">{}</p>\n<p>You were not sent back to the program that \
         brought you here, because brain cannot tell whether it is the right one. Close this page and begin again there.\
         </p>\n<p><code>{}</code></p>\n",
        escape::name(description),
        escape::name(error)
    );
    page(status, "This cannot go on", &html, "no-referrer")
}

fn page(status: StatusCode, title: &str, inner: &str, referrer: &'static str) -> Response {
    let looks = Style { style: STYLE, policy: POLICY.clone() };
    document::document(status, looks, title, "", inner, referrer)
}

/// What the owner must know, escaped.
fn facts(consent: &Consent) -> Vec<(&'static str, String)> {
    let known = match consent.registered_by.as_str() {
        "admin" => "registered by you",
        "metadata" => "known by the address of its document; the name is its own word",
        _ => "registered itself: nobody has checked its name",
    };
    let sources = if consent.sources.is_empty() {
        "all of them".into()
    } else {
        consent.sources.iter().map(|source| escape::name(source)).collect::<Vec<_>>().join(", ")
    };
    let mut facts = vec![
        (
            "Who asks",
            format!(
                "<bdi>{}</bdi>, {known}<br><code>{}</code>",
                escape::name(&consent.client_name),
                escape::name(&consent.client_id)
            ),
        ),
        ("You go on to", format!("<strong>{}</strong>", escape::name(&consent.redirect_host))),
        ("Sources that it sees", sources),
    ];
    if let Some(resource) = &consent.resource {
        facts.push(("For", format!("<code>{}</code>", escape::name(resource))));
    }
    facts
}

/// What the owner may choose: all that is asked for, or less.
fn choices(asked: Scopes) -> Vec<(&'static str, &'static str)> {
    let words = |scope| match scope {
        Scope::Read => "read and search all it sees",
        Scope::Write => "read and search, and also write, change and delete pages",
        Scope::Admin => {
            "do everything: read, write, and administer this brain with its clients and tokens"
        }
    };
    let less = Scope::ALL.into_iter().rev().filter(|scope| *scope < asked.highest());
    let all = ("all", words(asked.highest()));
    std::iter::once(all).chain(less.map(|scope| (scope.as_str(), words(scope)))).collect()
}

/// The scopes that a choice of [`choices`] stands for; `None` when it was none.
pub(super) fn chosen(asked: Scopes, choice: Option<&str>) -> Option<Scopes> {
    match choice {
        None | Some("all") => Some(asked),
        Some(choice) => {
            let scope = Scope::ALL.into_iter().find(|scope| scope.as_str() == choice)?;
            (scope < asked.highest()).then(|| scope.into())
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn asked() -> Consent {
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

    async fn text(consent: &Consent, signed_in: bool) -> String {
        let shown =
            Shown { request: "a=b&c", seal: "s", consent, signed_in, problem: Some("no & no") };
        let body = super::consent(StatusCode::OK, &shown).into_body();
        String::from_utf8(axum::body::to_bytes(body, usize::MAX).await.unwrap().to_vec()).unwrap()
    }

    #[tokio::test]
    async fn whatever_came_from_outside_is_text() {
        let html = text(&asked(), false).await;
        assert!(!html.contains("<script"), "{html}");
        for told in [
            "&lt;script&gt;alert(1)&lt;/script&gt;",
            "local&quot;host",
            "https://a.example/&lt;mcp&gt;",
            "no &amp; no",
            "value=\"a=b&amp;c\"",
            "nobody has checked its name",
            "the computer you sit at",
            "type=\"password\"",
        ] {
            assert!(html.contains(told), "{told}");
        }
        let signed_in = text(&Consent { loopback: false, ..asked() }, true).await;
        assert!(!signed_in.contains("type=\"password\"") && signed_in.contains("sign_out"));
        assert!(!signed_in.contains("the computer you sit at"));
    }

    #[tokio::test]
    async fn a_client_with_a_document_is_known_by_its_host() {
        let claimed = Consent {
            client_id: "https://evil.example/client.json".into(),
            client_host: Some("evil.example".into()),
            client_name: "Claude".into(),
            registered_by: "metadata".into(),
            redirect_host: "elsewhere.example".into(),
            loopback: false,
            ..asked()
        };
        let html = text(&claimed, false).await;
        for told in [
            "<h1>May <bdi>Claude</bdi> of <strong>evil.example</strong> use your brain?</h1>",
            "the name is its own word",
            "<code>https://evil.example/client.json</code>",
            "<strong>elsewhere.example</strong>",
            "another host than the one that asks",
        ] {
            assert!(html.contains(told), "{told} in {html}");
        }
        let own =
            text(&Consent { redirect_host: "evil.example".into(), ..claimed.clone() }, false).await;
        assert!(!own.contains("another host"));
        let program =
            text(&Consent { redirect_host: "localhost".into(), loopback: true, ..claimed }, false)
                .await;
        assert!(program.contains("the computer you sit at") && !program.contains("another host"));
    }

    #[test]
    fn a_name_cannot_turn_round_what_follows() {
        assert_eq!(escape::name("a\u{202E}b\u{0}c\u{200B}d'"), "a\u{FFFD}b\u{FFFD}c\u{FFFD}d&#39;");
        assert_eq!(escape::name("Ünïcode 日本"), "Ünïcode 日本");
    }

    #[test]
    fn the_owner_grants_what_was_asked_for_or_less() {
        let grants = |asked: &str, choice: Option<&str>| {
            chosen(Scopes::parse(asked).unwrap(), choice).map(|scopes| scopes.to_string())
        };
        assert_eq!(grants("read write", None).as_deref(), Some("read write"));
        assert_eq!(grants("read write", Some("all")).as_deref(), Some("read write"));
        assert_eq!(grants("read write", Some("read")).as_deref(), Some("read"));
        assert_eq!(grants("write", Some("read")).as_deref(), Some("read"));
        for (asked, choice) in
            [("read", "write"), ("read write", "admin"), ("read write", "write"), ("read", "owner")]
        {
            assert_eq!(grants(asked, Some(choice)), None, "{asked} → {choice}");
        }
        let values: Vec<&str> =
            choices(Scopes::ADMIN).into_iter().map(|(value, _)| value).collect();
        assert_eq!(values, ["all", "write", "read"]);
        assert_eq!(choices(Scope::Read.into()).len(), 1);
    }
}
