//! Changes of pages: capture, daily note, delete, restore, revert and trust.

use axum::extract::{Path, State};
use axum::response::Response;
use brain_base::clock::local_day;
use brain_core::Door;
use brain_protocol::{
    Capture, Delete, Fault, FaultCode, Origin, PageRef, Precondition, Restore, Revert, Today, Trust,
};

use crate::extract::FormPost;
use crate::layout::{self, see_other};
use crate::page_path::{page_path, parse_page};
use crate::share::SHARED_FIELD;

/// Redirects to `path`, or shows the fault.
fn finish(form_post: &FormPost, result: Result<String, Fault>) -> Response {
    match result {
        Ok(path) => see_other(&path),
        Err(fault) => layout::fault(&form_post.session, &fault),
    }
}

/// Returns the number in the field `version`.
///
/// # Errors
/// `invalid_request` if the field is missing or is no number.
pub(crate) fn version_field(form_post: &FormPost) -> Result<u32, Fault> {
    let fault = || Fault::new(FaultCode::InvalidRequest, "the form names no version of the page");
    form_post.field("version").parse().map_err(|_| fault())
}

/// `POST /web/capture`: stores a text as a new page, and shows the page.
pub(crate) async fn capture(State(brain): State<Door>, form_post: FormPost) -> Response {
    let tags =
        form_post.field("tags").split([',', ' ']).map(|tag| tag.trim().trim_start_matches('#'));
    // What another app shared counts as text from outside, as that of the bookmarklet.
    let is_shared = !form_post.field(SHARED_FIELD).is_empty();
    let capture = Capture {
        content: form_post.field("text").as_bytes().to_vec(),
        origin: if is_shared { Origin::Http } else { Origin::Browser },
        source: None,
        slug: None,
        page_type: None,
        title: Some(form_post.field("title").trim().to_owned()).filter(|title| !title.is_empty()),
        tags: tags.filter(|tag| !tag.is_empty()).map(str::to_owned).collect(),
    };
    let result = form_post.session.run(&brain, capture).await;
    let path = result.map(|written| page_path(&format!("{}:{}", written.source_id, written.slug)));
    finish(&form_post, path)
}

/// `POST /web/today`: creates the daily note, unless it exists, and shows it.
pub(crate) async fn today(State(brain): State<Door>, form_post: FormPost) -> Response {
    let today = Today { day: local_day(brain.now()), source: None };
    let result = form_post.session.run(&brain, today).await;
    let path = result.map(|note| page_path(&format!("{}:{}", note.source_id, note.slug)));
    finish(&form_post, path)
}

/// `POST /web/delete/{name}`: soft-deletes the page, if it still has the version that the owner
/// saw.
pub(crate) async fn delete(
    State(brain): State<Door>,
    Path(name): Path<String>,
    form_post: FormPost,
) -> Response {
    let work = async {
        let expect = Some(Precondition::Version(version_field(&form_post)?));
        form_post.session.run(&brain, Delete { page: parse_page(&name)?, expect }).await
    };
    let result = work.await.map(|_| "/web/deleted".to_owned());
    finish(&form_post, result)
}

/// `POST /web/restore/{name}`: undoes a delete.
pub(crate) async fn restore(
    State(brain): State<Door>,
    Path(name): Path<String>,
    form_post: FormPost,
) -> Response {
    let work = async { form_post.session.run(&brain, Restore { page: parse_page(&name)? }).await };
    let result = work.await.map(|done| page_path(&format!("{}:{}", done.source_id, done.slug)));
    finish(&form_post, result)
}

/// `POST /web/revert/{name}`: makes a former version the current one.
pub(crate) async fn revert(
    State(brain): State<Door>,
    Path(name): Path<String>,
    form_post: FormPost,
) -> Response {
    let work = async {
        let (page, version) = (parse_page(&name)?, version_field(&form_post)?);
        form_post.session.run(&brain, Revert { page, version, expect: None }).await
    };
    let result = work.await.map(|done| page_path(&format!("{}:{}", done.source_id, done.slug)));
    finish(&form_post, result)
}

/// `POST /web/trust/{name}`: marks the lines that others wrote as the owner's.
pub(crate) async fn trust(
    State(brain): State<Door>,
    Path(name): Path<String>,
    form_post: FormPost,
) -> Response {
    let work = async {
        let page: PageRef = parse_page(&name)?;
        form_post.session.run(&brain, Trust { page }).await
    };
    let result = work.await.map(|done| page_path(&format!("{}:{}", done.source_id, done.slug)));
    finish(&form_post, result)
}
