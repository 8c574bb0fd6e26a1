//! Import of a file from the browser: upload, preview, import, report, undo.
//!
//! The file goes to the daemon's own directory ([`brain_core::Uploads`]), then the operations
//! `import`, `import --report` and `undo --import` do the work.

mod view;

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::header::ACCEPT;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use brain_core::{Door, UploadInUse, UploadedFile};
use brain_protocol::{
    Fault, FaultCode, Import, ImportReply, ImportReports, SourceId, SourceList, Undo,
};
use maud::Markup;
use serde::Serialize;

use crate::extract::{FormPost, Upload};
use crate::layout::{self, see_other};
use crate::live::LiveStreams;
use crate::operations::respond;
use crate::session::{Session, block};

/// The path of the screen.
pub(crate) const PATH: &str = "/web/import";
/// The route of the preview of an uploaded file.
pub(crate) const FILE: &str = "/web/import/file/{upload}";
/// The route of a report.
pub(crate) const REPORT: &str = "/web/import/report/{id}";
/// The route that takes a file, or a part of one.
pub(crate) const UPLOAD: &str = "/web/import/upload";
/// The route that imports an uploaded file.
pub(crate) const RUN: &str = "/web/import/run";
/// The route that removes an uploaded file.
pub(crate) const DISCARD: &str = "/web/import/discard";
/// The route that undoes an import.
pub(crate) const UNDO: &str = "/web/import/undo";

/// The largest file that a form without scripts can send, in MB. A script sends parts.
pub(crate) const MAX_FORM_MB: usize = 32;
/// The largest form, in bytes: the file, and 64 KiB for the other fields.
const MAX_BODY: usize = MAX_FORM_MB * 1_000_000 + 64 * 1024;

pub(crate) fn routes() -> Router<Door> {
    Router::new()
        .route(PATH, get(show))
        .route(FILE, get(preview))
        .route(REPORT, get(report))
        .route(RUN, post(run))
        .route(DISCARD, post(discard))
        .route(UNDO, post(undo))
        .route(UPLOAD, post(upload).layer(DefaultBodyLimit::max(MAX_BODY)))
}

/// What `assets/upload.js` needs to send the next part.
#[derive(Serialize)]
struct UploadReply {
    upload: String,
    bytes: u64,
}

/// `GET /web/import`: the form, and all imports.
async fn show(State(brain): State<Door>, session: Session) -> Response {
    let reports = session.run(&brain, ImportReports::default()).await;
    respond(&session, PATH, reports.map(|reports| view::start(&session, &reports.imports)))
}

/// `POST /web/import/upload`: takes a file, or the part of one that begins at `offset`. A script
/// that accepts JSON receives an [`UploadReply`], or the message and hint of a fault.
async fn upload(State(brain): State<Door>, upload: Upload) -> Response {
    let is_script = upload.headers.get(ACCEPT).is_some_and(|kind| kind == "application/json");
    let (id, offset) = (upload.field("upload").to_owned(), upload.field("offset").to_owned());
    let Upload { session, file, .. } = upload;
    let caller = session.caller.clone();
    let work = async {
        let (name, content) = file.ok_or_else(|| {
            Fault::new(FaultCode::InvalidRequest, "the form has no file")
                .hint("choose a file, then import it")
        })?;
        block(&brain, move |brain| {
            let uploads = brain.uploads(&caller)?;
            let upload = if id.is_empty() { uploads.begin(&name)? } else { id };
            let bytes = uploads.append(&upload, offset.parse().unwrap_or_default(), &content)?;
            Ok::<_, Fault>(UploadReply { upload, bytes })
        })
        .await?
    };
    match work.await {
        Ok(reply) if is_script => Json(reply).into_response(),
        Ok(reply) => see_other(&view::file_path(&reply.upload)),
        Err(fault) if is_script => {
            let status = layout::status_of(&fault);
            (status, Json([fault.message, fault.hint.unwrap_or_default().to_string()]))
                .into_response()
        }
        Err(fault) => layout::fault(&session, &fault),
    }
}

/// `GET /web/import/file/{upload}`: says what the file is, and what an import would do.
async fn preview(
    State(brain): State<Door>,
    Extension(streams): Extension<Arc<LiveStreams>>,
    Path(upload): Path<String>,
    session: Session,
) -> Response {
    let work = async {
        let in_use = open(&brain, &session, &upload)?;
        let progress = streams.show_progress("Looking at the file");
        let import = request(&in_use.file, None, true);
        let reply = session.run_with_progress(&brain, import, progress).await?;
        let sources = session.run(&brain, SourceList).await?.sources;
        Ok(view::preview(&session, &upload, &in_use.file, &reply, &sources))
    };
    let body: Result<Markup, Fault> = work.await;
    respond(&session, PATH, body)
}

/// `POST /web/import/run`: imports an uploaded file, removes it, and shows the report.
async fn run(
    State(brain): State<Door>,
    Extension(streams): Extension<Arc<LiveStreams>>,
    form_post: FormPost,
) -> Response {
    let session = &form_post.session;
    let work = async {
        let upload = form_post.field("upload");
        let source = match form_post.field("source") {
            "" => None,
            text => Some(
                SourceId::parse(text)
                    .map_err(|error| Fault::new(FaultCode::InvalidSource, error.message))?,
            ),
        };
        let in_use = open(&brain, session, upload)?;
        let progress = streams.show_progress("Importing");
        let import = request(&in_use.file, source, false);
        let reply: Result<ImportReply, Fault> =
            session.run_with_progress(&brain, import, progress).await;
        remove(&brain, session, upload);
        reply
    };
    match work.await {
        Ok(reply) => see_other(&view::report_path(&reply.id.unwrap_or_default())),
        Err(fault) => layout::fault(session, &fault),
    }
}

/// `POST /web/import/discard`: removes an uploaded file.
async fn discard(State(brain): State<Door>, form_post: FormPost) -> Response {
    remove(&brain, &form_post.session, form_post.field("upload"));
    see_other(PATH)
}

/// `GET /web/import/report/{id}`: the report of an import.
async fn report(State(brain): State<Door>, Path(id): Path<String>, session: Session) -> Response {
    let reply = session.run(&brain, ImportReports { id: Some(id) }).await;
    respond(&session, PATH, reply.map(|reply| view::report(&session, &reply)))
}

/// `POST /web/import/undo`: undoes an import, and says what became of its pages.
async fn undo(
    State(brain): State<Door>,
    Extension(streams): Extension<Arc<LiveStreams>>,
    form_post: FormPost,
) -> Response {
    let request = Undo { run: Some(form_post.field("id").to_owned()), ..Undo::default() };
    let progress = streams.show_progress("Taking the import back");
    let reply = form_post.session.run_with_progress(&brain, request, progress).await;
    respond(&form_post.session, PATH, reply.map(|reply| view::undone(&reply)))
}

fn open<'a>(brain: &'a Door, session: &Session, upload: &str) -> Result<UploadInUse<'a>, Fault> {
    brain.uploads(&session.caller)?.open(upload)
}

/// Removes an uploaded file. A caller that may not upload has none.
fn remove(brain: &Door, session: &Session, upload: &str) {
    if let Ok(uploads) = brain.uploads(&session.caller) {
        uploads.remove(upload);
    }
}

fn request(file: &UploadedFile, source: Option<SourceId>, dry_run: bool) -> Import {
    let path = file.path.display().to_string();
    Import { path, format: None, source, since: None, dry_run, scrub: false }
}
