//! The authorization server's endpoints. Who is let in decides [`brain_access`]; here are forms, headers, redirects and
//! the page on which the owner agrees.

mod answer;
mod authorize;
mod consent_page;
mod form;
mod metadata;
mod register;
mod token;

use utoipa_axum::router::OpenApiRouter;

use super::AppState;

/// What is served.
pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .merge(metadata::routes())
        .merge(authorize::routes())
        .merge(token::routes())
        .merge(register::routes())
}
