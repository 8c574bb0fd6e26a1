//! The endpoints of the authorization server: forms, headers, redirects and the consent page.
//!
//! The crate `access` decides what is granted.

mod answer;
mod authorize;
mod consent_page;
mod form;
mod metadata;
mod register;
mod token;

use utoipa_axum::router::OpenApiRouter;

use super::AppState;
use super::openapi;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    let routes = OpenApiRouter::new()
        .merge(metadata::routes())
        .merge(authorize::routes())
        .merge(token::routes())
        .merge(register::routes());
    openapi::group("oauth", None, routes)
}
