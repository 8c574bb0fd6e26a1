//! `GET /page/{name}`: a page for the owner's browser, on the local listener only.
//!
//! It requires the owner's session, and shows a form that opens one. Pages run no script and load
//! nothing, because their text may be from outside.

mod markdown;
mod templates;

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::header::{LOCATION, RETRY_AFTER, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use brain_protocol::{Fault, FaultCode, Get, Links, Page, PageRef, Secret, Slug, SourceId};

use super::session_store::Purpose;
use super::{AppState, HttpError, body, client_address, dispatch, session};
use brain_base::caller::Caller;
use brain_core::{Brain, NoProgress, SimilarPage};

/// The path.
pub(super) const PATH: &str = "/page/{*name}";
/// The query of a URL that was reloaded, so that it is reloaded only once.
const RELOADED_QUERY: &str = "again";

/// Returns the routes. The OpenAPI document leaves out pages for browsers.
pub(super) fn routes() -> Router<AppState> {
    Router::new().route(PATH, get(show_page).post(sign_in))
}

async fn show_page(
    State(app): State<AppState>,
    Path(name): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let Some(caller) = session::session_owner(&app, &headers) else {
        // Browsers send the session's cookie with links of this page, not with links of other
        // sites.
        let from_elsewhere = headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site");
        return Ok(match from_elsewhere && uri.query().is_none() {
            true => templates::reload(&format!("{}?{RELOADED_QUERY}", page_path(&name))),
            false => templates::sign_in(StatusCode::UNAUTHORIZED, &page_path(&name), None),
        });
    };
    app.block(move |brain| page_response(brain, &caller, &name)).await?.map_err(HttpError::from)
}

/// Opens a session with the admin token and redirects to the page.
async fn sign_in(
    State(app): State<AppState>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response, HttpError> {
    let from = client_address::of_request(&app, &request);
    if !session::is_same_origin(&app, request.headers()) {
        return Err(session::csrf_error("open the page itself"));
    }
    let (parts, content) = request.into_parts();
    let retry =
        |status, problem: &str| templates::sign_in(status, &page_path(&name), Some(problem));
    let is_form =
        body::media_type(&parts.headers).as_deref() == Some("application/x-www-form-urlencoded");
    let Some(bytes) = body::read(content).await.ok().filter(|_| is_form) else {
        return Ok(retry(StatusCode::BAD_REQUEST, "The form could not be read. Try again."));
    };
    let field = url::form_urlencoded::parse(&bytes).find(|(name, _)| name == "admin_token");
    let token = Secret::new(field.map(|(_, token)| token.trim().to_owned()).unwrap_or_default());
    let now = app.brain.now();
    if !app.brain.access.is_admin_token(token.expose()) {
        return Ok(match app.failures.logins.count(from, "", now) {
            Ok(()) => retry(StatusCode::UNAUTHORIZED, "This is not the admin token of this brain."),
            Err(seconds) => {
                let problem = format!("Too many wrong tokens. Try again in {seconds} seconds.");
                let mut response = retry(StatusCode::TOO_MANY_REQUESTS, &problem);
                response.headers_mut().insert(RETRY_AFTER, seconds.into());
                response
            }
        });
    }
    dispatch::set_caller("admin");
    let session_id = app.sessions.open(Purpose::Admin, &token, now)?;
    let mut response = (StatusCode::SEE_OTHER, [(LOCATION, page_path(&name))]).into_response();
    if let Some(cookie) = session::set_cookie(&app, Purpose::Admin, &session_id) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Returns the page, or a message that it does not exist. Blocks.
fn page_response(brain: &Arc<Brain>, caller: &Caller, name: &str) -> Result<Response, Fault> {
    let page_ref = match parse(name) {
        Ok(page_ref) => page_ref,
        Err(nearest) => {
            let message = format!("\"{name}\" is not the name of a page.");
            let near = match nearest {
                Some(near) => suggestions(brain, caller, &near)?,
                None => Vec::new(),
            };
            return Ok(templates::missing(StatusCode::NOT_FOUND, &message, &near));
        }
    };
    match brain.run(caller, Get { page: page_ref.clone(), version: None }, &NoProgress) {
        Ok(page) => {
            let links = links(brain, caller, &page)?;
            let _permit = brain.text_permit(page.body.len());
            Ok(templates::page(&page, |target| resolve(&page, &links, target)))
        }
        Err(fault)
            if matches!(
                fault.code,
                FaultCode::NotFound | FaultCode::UnknownSource | FaultCode::AmbiguousSlug
            ) =>
        {
            let message = match fault.code {
                FaultCode::AmbiguousSlug => format!("Several pages are called \"{name}\"."),
                _ => format!("There is no page \"{name}\"."),
            };
            Ok(templates::missing(
                StatusCode::NOT_FOUND,
                &message,
                &suggestions(brain, caller, &page_ref)?,
            ))
        }
        Err(fault) => Err(fault),
    }
}

/// Parses `slug` or `source:slug`.
///
/// # Errors
/// The page with the nearest valid slug, if there is one. It may not exist.
fn parse(name: &str) -> Result<PageRef, Option<PageRef>> {
    let (source, slug) = match name.split_once(':') {
        Some((source, slug)) => (Some(SourceId::parse(source).map_err(|_| None)?), slug),
        None => (None, name),
    };
    match Slug::parse(slug) {
        Ok(slug) => Ok(PageRef { source, slug }),
        Err(error) => {
            let nearest = error.suggestion.and_then(|slug| Slug::parse(slug).ok());
            Err(nearest.map(|slug| PageRef { source, slug }))
        }
    }
}

/// Returns the path at which the page `name` is shown.
fn page_path(name: &str) -> String {
    let encoded: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
    format!("/page/{}", encoded.replace("%2F", "/").replace("%3A", ":").replace('+', "%20"))
}

/// Returns the URLs of a page's links, by the links' targets.
fn links(
    brain: &Arc<Brain>,
    caller: &Caller,
    page: &Page,
) -> Result<HashMap<String, String>, Fault> {
    let this = PageRef { source: Some(page.source_id.clone()), slug: page.slug.clone() };
    let found = brain.run(caller, Links { page: this }, &NoProgress)?;
    let urls = found.links.into_iter().filter_map(|link| {
        let (source, slug) = (link.source_id?, link.slug?);
        Some((link.target, page_path(&format!("{source}:{slug}"))))
    });
    Ok(urls.collect())
}

/// Returns the URL of a link's page, even if the page does not exist yet.
fn resolve(page: &Page, links: &HashMap<String, String>, target: &str) -> Option<String> {
    if let Some(address) = links.get(target) {
        return Some(address.clone());
    }
    let path = target.split(['#', '?']).next().unwrap_or_default();
    let path = path.strip_suffix(".md").unwrap_or(path);
    let slug = Slug::parse(path).ok()?;
    Some(page_path(&format!("{}:{slug}", page.source_id)))
}

/// Returns URLs and names of the pages that the name may mean, and of similar ones.
fn suggestions(
    brain: &Arc<Brain>,
    caller: &Caller,
    page_ref: &PageRef,
) -> Result<Vec<(String, String)>, Fault> {
    let similar = brain.pages.similar(caller, &page_ref.slug)?;
    let named = |page: SimilarPage| {
        let path = page_path(&format!("{}:{}", page.source, page.slug));
        (path, format!("{} ({})", page.title, page.slug))
    };
    Ok(similar.into_iter().map(named).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn paths_parse_to_their_pages() {
        let read = |name: &str| {
            parse(name).map(|it| (it.source.map(|it| it.to_string()), it.slug.to_string()))
        };
        assert_eq!(read("people/ada"), Ok((None, "people/ada".into())));
        assert_eq!(read("work:people/ada"), Ok((Some("work".into()), "people/ada".into())));
        assert_eq!(
            read("People/Ada Lovelace").unwrap_err().map(|near| near.to_string()),
            Some("people/ada-lovelace".into())
        );
        assert_eq!(read("No Source:a"), Err(None));
        assert_eq!(page_path("work:notes/日本 x"), "/page/work:notes/%E6%97%A5%E6%9C%AC%20x");
    }
}
