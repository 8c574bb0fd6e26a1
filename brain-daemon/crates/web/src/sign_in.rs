//! Signs a browser in with the code of `brain open`, and out.

use axum::extract::{Path, State};
use axum::http::header::SET_COOKIE;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use brain_core::Door;
use maud::html;

use crate::extract::FormPost;
use crate::page_path::page_path;
use crate::signed_out::refresh_to;
use crate::{layout, session};

/// `GET /open/{code}`: opens a session, and loads the page that `brain open` named.
///
/// A page of ours loads the next URL. Browsers would treat a redirect as a part of the navigation
/// that another program started, and omit the cookie.
///
/// `HEAD`, which previews of links and scanners send, does not use the code up.
pub(crate) async fn open(
    method: Method,
    State(brain): State<Door>,
    Path(code): Path<String>,
) -> Response {
    if method == Method::HEAD {
        return layout::bare(StatusCode::OK, "Sign in", &html! {}, &html! {});
    }
    match brain.access().browser_sign_in(&code) {
        Ok(Some((id, page))) => {
            let next = page.map_or_else(|| "/".to_owned(), |page| page_path(&page.to_string()));
            let mut response = refresh_to(&next);
            if let Some(cookie) = session::set_cookie(&brain, &id) {
                response.headers_mut().append(SET_COOKIE, cookie);
            }
            response
        }
        Ok(None) => {
            let body = html! {
                h1 { "This address is used up" }
                p { "An address of " code { "brain open" } " signs in once, within a minute." }
                p { "Run " code { "brain open" } " again." }
            };
            layout::bare(StatusCode::UNAUTHORIZED, "Sign in", &html! {}, &body)
        }
        Err(fault) => {
            layout::plain(StatusCode::INTERNAL_SERVER_ERROR, "Not signed in", &fault.message)
        }
    }
}

/// `POST /web/sign-out`: ends the session of this browser.
pub(crate) async fn sign_out(State(brain): State<Door>, form_post: FormPost) -> Response {
    brain.access().browser_sign_out(form_post.session.id.expose());
    let mut response = (StatusCode::SEE_OTHER, [("location", "/")]).into_response();
    if let Some(cookie) = session::set_cookie(&brain, "") {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}
