//! The layout of every screen, and the security headers of its response.
//!
//! A screen loads only files of this origin, runs no inline script or style, sends forms only to
//! this origin, and cannot be framed. With Trusted Types, scripts can write HTML only through the
//! policy `brain`, which accepts only responses of this daemon (`assets/html.js`).

use axum::Json;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, LOCATION, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use brain_protocol::{Fault, FaultCode};
use maud::{DOCTYPE, Markup, html};

use crate::session::{CSRF_FIELD, Session};
use crate::text::Text;
use crate::{assets, navigation};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types brain";

/// The header fields of every HTML response. With the referrer policy `no-referrer`, browsers
/// would send forms with `Origin: null`.
const HEADERS: [(HeaderName, &str); 8] = [
    (CONTENT_TYPE, "text/html; charset=utf-8"),
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_FRAME_OPTIONS, "DENY"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "same-origin"),
    (CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The keyboard shortcuts of the scripts, as the list of shortcuts shows them.
const KEYS: [(&str, &str); 13] = [
    ("/", "Search"),
    ("Ctrl K", "Go to a page or an action"),
    ("↓ ↑", "Go through the results"),
    ("Enter", "Open a result"),
    ("c", "Capture a thought"),
    ("n", "New page"),
    ("a", "Ask a question"),
    ("e", "Edit this page"),
    ("h", "Versions of this page"),
    ("Ctrl S", "Save the text"),
    ("[[", "Complete the link to a page"),
    ("Esc", "Leave a field or close this list"),
    ("?", "This list"),
];

/// A screen for a signed-in browser.
pub(crate) struct Screen<'a> {
    pub(crate) session: &'a Session,
    pub(crate) status: StatusCode,
    pub(crate) title: &'a str,
    /// The path of its entry in the navigation; empty without an entry.
    pub(crate) path: &'a str,
    pub(crate) body: Markup,
}

impl<'a> Screen<'a> {
    /// Creates a screen that is not in the navigation.
    pub(crate) fn new(session: &'a Session, title: &'a str, body: Markup) -> Self {
        Self { session, status: StatusCode::OK, title, path: "", body }
    }

    pub(crate) fn respond(self) -> Response {
        let Self { session, status, title, path, body } = self;
        let frame = html! {
            a class="skip" href="#main" { "Skip to content" }
            header class="top" {
                a class="brand" href="/" { "brain" }
                (navigation::links(path))
                @if path != "/" {
                    form class="find" role="search" action="/" {
                        input type="search" name="q" placeholder="Search" aria-label="Search"
                            autocomplete="off" spellcheck="false";
                    }
                }
                (capture_box(session))
                button type="button" class="menu" popovertarget="menu" { "Menu" }
            }
            main id="main" tabindex="-1" data-change-count=(session.change_count) { (body) }
            footer {
                form id="sign-out" method="post" action="/web/sign-out" {
                    (csrf(session))
                    button class="plain" { "Sign out" }
                }
                span class="keys" { kbd { "?" } " shows the keys" }
            }
            div id="message" role="status" aria-live="polite" {}
            (key_list())
            (navigation::palette())
        };
        html_response(status, &document(title, &html! {}, &frame, true))
    }
}

/// The capture form, on every screen.
fn capture_box(session: &Session) -> Markup {
    html! {
        details class="capture" id="capture" {
            summary { span aria-hidden="true" { "+" } span class="word" { " Capture" } }
            form method="post" action="/web/capture" {
                (csrf(session))
                label for="capture-text" { "A thought, or a page in markdown" }
                textarea id="capture-text" name="text" rows="5" required dir="auto" {}
                label for="capture-tags" { "Tags" }
                input id="capture-tags" name="tags" autocomplete="off" spellcheck="false";
                button { "Keep" }
            }
        }
    }
}

fn key_list() -> Markup {
    html! {
        dialog id="keys" aria-labelledby="keys-title" {
            h2 id="keys-title" { "Keys" }
            dl {
                @for (key, action) in KEYS { dt { kbd { (key) } } dd { (action) } }
            }
            form method="dialog" { button { "Close" } }
        }
    }
}

/// The hidden field with the CSRF token, which every `POST` form needs.
pub(crate) fn csrf(session: &Session) -> Markup {
    html! { input type="hidden" name=(CSRF_FIELD) value=(session.csrf_token.expose()); }
}

/// Returns the HTTP status of a fault.
pub(crate) fn status_of(fault: &Fault) -> StatusCode {
    match fault.code {
        FaultCode::NotFound
        | FaultCode::UnknownSource
        | FaultCode::UnknownVersion
        | FaultCode::Purged
        | FaultCode::UnknownClient
        | FaultCode::UnknownToken
        | FaultCode::UnknownJob
        | FaultCode::UnknownPost => StatusCode::NOT_FOUND,
        FaultCode::Conflict | FaultCode::AlreadyActive | FaultCode::AlreadySoftDeleted => {
            StatusCode::CONFLICT
        }
        FaultCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        FaultCode::Internal | FaultCode::Io | FaultCode::AttachmentDamaged => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
        FaultCode::DiskFull | FaultCode::Busy | FaultCode::Stopping => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        _ => StatusCode::BAD_REQUEST,
    }
}

/// Returns the screen for a fault.
pub(crate) fn fault(session: &Session, fault: &Fault) -> Response {
    let status = status_of(fault);
    let body = html! {
        h1 { "That did not work" }
        div class="notice bad" role="alert" {
            p { bdi { (Text(&fault.message)) } }
            @if let Some(hint) = &fault.hint { p { bdi { (Text(&hint.to_string())) } } }
        }
        p { a href="/" { "Back to the search" } }
    };
    Screen { status, ..Screen::new(session, "Error", body) }.respond()
}

/// Returns the screen for a request that is refused.
pub(crate) fn problem(
    session: &Session,
    status: StatusCode,
    title: &str,
    message: &str,
) -> Response {
    let body = html! {
        h1 { (Text(title)) }
        p class="notice bad" role="alert" { (Text(message)) }
    };
    Screen { status, ..Screen::new(session, title, body) }.respond()
}

/// Returns a document without navigation, for browsers that are not signed in.
pub(crate) fn bare(status: StatusCode, title: &str, head: &Markup, body: &Markup) -> Response {
    html_response(status, &document(title, head, &html! { main id="main" { (body) } }, false))
}

/// Returns a document with one message, for requests without a session.
pub(crate) fn plain(status: StatusCode, title: &str, message: &str) -> Response {
    let body = html! {
        h1 { (Text(title)) }
        p class="notice bad" role="alert" { (Text(message)) }
        p { a href="/" { "Go to the start" } }
    };
    bare(status, title, &html! {}, &body)
}

/// Returns a part of a screen, for our own scripts.
pub(crate) fn fragment(content: &Markup) -> Response {
    html_response(StatusCode::OK, content)
}

/// Returns binary data for our own scripts.
pub(crate) fn binary(content: Vec<u8>) -> Response {
    let mut response = (StatusCode::OK, HEADERS, content).into_response();
    let media_type = HeaderValue::from_static("application/octet-stream");
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

/// Returns JSON for our own scripts.
pub(crate) fn json(content: &impl serde::Serialize) -> Response {
    let mut response = (HEADERS, Json(content)).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn document(title: &str, head: &Markup, body: &Markup, has_script: bool) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                (head)
                title { (Text(title)) " · brain" }
                link rel="icon" href=(assets::address("icon.svg"));
                link rel="manifest" href=(crate::install::MANIFEST);
                meta name="theme-color" content="#ffffff" media="(prefers-color-scheme: light)";
                meta name="theme-color" content="#1f2124" media="(prefers-color-scheme: dark)";
                link rel="stylesheet" href=(assets::address("style.css"));
                @if has_script { script type="module" src=(assets::address("page.js")) {} }
            }
            body { (body) }
        }
    }
}

fn html_response(status: StatusCode, content: &Markup) -> Response {
    (status, HEADERS, content.0.clone()).into_response()
}

/// Redirects to a screen. The browser sends the URL of the form's screen as the referrer, which
/// `assets/write.js` needs.
pub(crate) fn see_other(path: &str) -> Response {
    let fields = [(LOCATION, path.to_owned()), (REFERRER_POLICY, "same-origin".to_owned())];
    (StatusCode::SEE_OTHER, fields).into_response()
}
