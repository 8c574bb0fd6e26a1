//! Files of pages: shows, attaches and removes them.
//!
//! The browser shows pictures that cannot contain scripts, and saves all other files. The extension
//! decides whether a file is such a picture. The content security policy of each response is a
//! sandbox that loads nothing.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::header::{
    ACCEPT, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::response::{IntoResponse as _, Response};
use brain_core::{Door, NoProgress};
use brain_page::{is_picture, listed_name};
use brain_protocol::{
    Attach, Attachment, AttachmentContent, AttachmentGet, AttachmentList, Detach, Fault, FaultCode,
    Get, MAX_ATTACHMENT, PageRef,
};
use maud::{Markup, html};
use serde::Serialize;

use crate::extract::{FormPost, Upload};
use crate::layout::{self, csrf, see_other};
use crate::page_path::{encoded_path, page_path, parse_page};
use crate::session::Session;
use crate::text::{Name, Text};

/// The route of a file: `{*file}` is `source:slug/name`.
pub(crate) const FILE: &str = "/web/attachment/{*file}";
/// The route that attaches a file.
pub(crate) const ATTACH: &str = "/web/attach/{*name}";
/// The route that removes a file from a page.
pub(crate) const DETACH: &str = "/web/detach/{*name}";
/// The largest form with a file, in bytes: the file, and 64 KiB for the other fields.
pub(crate) const MAX_UPLOAD: usize = MAX_ATTACHMENT + 64 * 1024;

const POLICY: &str = "sandbox; default-src 'none'; frame-ancestors 'none'";

/// The files of a shown page.
#[derive(Default)]
pub(crate) struct PageFiles {
    /// The page as `source:slug`.
    page: String,
    files: BTreeMap<String, Attachment>,
    /// The largest file that can be attached, in MB.
    max_mb: usize,
}

impl PageFiles {
    /// Reads the files of a page. Blocks.
    pub(crate) fn read(brain: &Door, session: &Session, page: &PageRef) -> Result<Self, Fault> {
        let list = AttachmentList { page: Some(page.clone()), source: None };
        let found = brain.run(&session.caller, list, &NoProgress)?.attachments;
        let files = found.into_iter().map(|file| (file.name.clone(), file)).collect();
        let max_mb = brain.config().pages.max_attachment_mb;
        Ok(Self { page: page.to_string(), files, max_mb })
    }

    /// Returns the URL of the file that the target of a link or a picture names; `None` if the page
    /// has no such file.
    pub(crate) fn url(&self, target: &str) -> Option<String> {
        if self.files.is_empty() || target.contains("://") {
            return None;
        }
        let decoded = percent_decoded(target);
        let names = [target.to_owned(), listed_name(&decoded), decoded];
        names.iter().find(|name| self.files.contains_key(*name)).map(|name| self.path(name))
    }

    /// Returns the URL of the file that `target` names, if it is a picture that browsers show.
    pub(crate) fn picture(&self, target: &str) -> Option<String> {
        self.url(target).filter(|_| is_picture(&percent_decoded(target)))
    }

    fn path(&self, name: &str) -> String {
        encoded_path("/web/attachment/", &format!("{}/{name}", self.page))
    }

    /// Lists the files, and shows the form that attaches one.
    pub(crate) fn section(&self, session: &Session) -> Markup {
        html! {
            section aria-labelledby="files" {
                h2 id="files" { "Files" }
                @if !self.files.is_empty() {
                    ul {
                        @for (name, file) in &self.files {
                            li {
                                a href=(Text(&self.path(name))) { bdi { (Name(name)) } }
                                " " span class="facts" { (size(file.bytes)) }
                                (self.removal(session, name))
                            }
                        }
                    }
                }
                details {
                    summary { "Attach a file" }
                    form method="post" enctype="multipart/form-data"
                        action=(Text(&encoded_path("/web/attach/", &self.page))) {
                        (csrf(session))
                        label for="file" { "File, at most " (self.max_mb) " MB" }
                        input id="file" type="file" name="file" required;
                        button { "Attach" }
                    }
                }
            }
        }
    }
}

impl PageFiles {
    /// Shows the form that removes a file from the page.
    fn removal(&self, session: &Session, name: &str) -> Markup {
        html! {
            details class="danger" {
                summary { "Remove" span class="hidden" { " " (Name(name)) } }
                form method="post" action=(Text(&encoded_path("/web/detach/", &self.page))) {
                    (csrf(session))
                    input type="hidden" name="file" value=(name);
                    p {
                        "The file stays on the disk for 72 hours. To bring it back in this time, "
                        "restore a version of the page that names the file."
                    }
                    button { "Remove " bdi { (Name(name)) } }
                }
            }
        }
    }
}

/// `POST /web/detach/{name}`: removes the file that the field `file` names from a page, and shows
/// the page.
pub(crate) async fn detach(
    State(brain): State<Door>,
    Path(name): Path<String>,
    form_post: FormPost,
) -> Response {
    let work = async {
        let request = Detach { page: parse_page(&name)?, name: form_post.field("file").to_owned() };
        form_post.session.run(&brain, request).await
    };
    match work.await {
        Ok(done) => see_other(&page_path(&PageRef::new(&done.source_id, &done.slug).to_string())),
        Err(fault) => layout::fault(&form_post.session, &fault),
    }
}

/// `GET /web/attachment/{page}/{name}`: a file of a page.
pub(crate) async fn show(
    State(brain): State<Door>,
    Path(file): Path<String>,
    session: Session,
) -> Response {
    let work = async {
        let (page, name) = file.rsplit_once('/').ok_or_else(|| {
            Fault::new(FaultCode::NotFound, format!("\"{file}\" does not name a file of a page"))
        })?;
        let request = AttachmentGet { page: parse_page(page)?, name: name.to_owned() };
        session.run(&brain, request).await
    };
    match work.await {
        Ok(found) => file_response(found),
        Err(fault) => layout::fault(&session, &fault),
    }
}

/// Sends a file: a picture to be shown, anything else to be saved.
fn file_response(found: AttachmentContent) -> Response {
    let AttachmentContent { attachment, content } = found;
    let name = encoded_path("", &attachment.name).replace('\'', "%27");
    let (media_type, disposition) = match is_picture(&attachment.name) {
        true => (attachment.media_type.as_str(), "inline"),
        false => ("application/octet-stream", "attachment"),
    };
    let headers = [
        (CONTENT_TYPE, media_type.to_owned()),
        (CONTENT_DISPOSITION, format!("{disposition}; filename*=UTF-8''{name}")),
        (CONTENT_SECURITY_POLICY, POLICY.to_owned()),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (X_FRAME_OPTIONS, "DENY".to_owned()),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin".to_owned()),
    ];
    (headers, content).into_response()
}

/// The reply that `assets/attach.js` needs to continue an edit.
#[derive(Serialize)]
struct ScriptReply {
    /// The version of the page, which now names the file.
    version: u32,
    /// The text above the body of the page.
    head: String,
    /// The link to the file.
    link: String,
}

/// `POST /web/attach/{name}`: attaches a file to a page, and shows the page. A script that accepts
/// JSON receives a [`ScriptReply`] instead, or the message and hint of a fault.
pub(crate) async fn attach(
    State(brain): State<Door>,
    Path(name): Path<String>,
    upload: Upload,
) -> Response {
    let session = upload.session.clone();
    let is_script = upload.headers.get(ACCEPT).is_some_and(|kind| kind == "application/json");
    let work = async {
        let page = parse_page(&name)?;
        let (file_name, content) = upload.file.ok_or_else(|| {
            Fault::new(FaultCode::InvalidRequest, "the form has no file")
                .hint("choose a file, then attach it")
        })?;
        let request = Attach { page: page.clone(), name: file_name, content };
        let attached = session.run(&brain, request).await?;
        let page = PageRef::new(&attached.source_id, &attached.slug);
        let current = session.run(&brain, Get { page: page.clone(), version: None }).await?;
        let head = current.content.strip_suffix(&current.body).unwrap_or_default().to_owned();
        let link = link_to(&attached.attachment.name);
        Ok::<_, Fault>((page, ScriptReply { version: current.version, head, link }))
    };
    match work.await {
        Ok((_, reply)) if is_script => Json(reply).into_response(),
        Ok((page, _)) => see_other(&page_path(&page.to_string())),
        Err(fault) if is_script => {
            let status = layout::status_of(&fault);
            (status, Json([fault.message, fault.hint.unwrap_or_default().to_string()]))
                .into_response()
        }
        Err(fault) => layout::fault(&session, &fault),
    }
}

/// Returns the markdown of a link to a file. A picture is embedded.
fn link_to(name: &str) -> String {
    let mark = if is_picture(name) { "!" } else { "" };
    match name.contains(['[', ']', '|', '#', '^']) {
        false => format!("{mark}[[{name}]]"),
        true => {
            format!("{mark}[]({})", encoded_path("", name).replace('(', "%28").replace(')', "%29"))
        }
    }
}

/// Returns a readable size.
fn size(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        0..1000 => format!("{bytes} bytes"),
        1000..1_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}

/// Returns the target of a link without percent-encoding.
fn percent_decoded(target: &str) -> String {
    // The decoder is for forms: it takes `+` for a space, and `&` for the end of the value.
    let text = format!("={}", target.replace('+', "%2B").replace('&', "%26"));
    let decoded = form_urlencoded::parse(text.as_bytes()).next();
    decoded.map_or_else(|| target.to_owned(), |(_, value)| value.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> PageFiles {
        let file = |name: &&str| Attachment {
            name: (*name).to_owned(),
            bytes: 1,
            media_type: "x".into(),
            hash: "x".into(),
            attached_at: "x".into(),
            pages: Vec::new(),
        };
        let files = names.iter().map(|name| ((*name).to_owned(), file(name))).collect();
        PageFiles { page: "default:p".into(), files, max_mb: 16 }
    }

    #[test]
    fn targets_name_only_files_of_the_page() {
        let files = files(&["a b.png", "a+b.svg", "x&y=z.png"]);
        for target in ["a b.png", "a%20b.png", "files/a b.png", "./a%20b.png"] {
            let url = files.url(target);
            assert_eq!(url.as_deref(), Some("/web/attachment/default:p/a%20b.png"), "{target}");
            assert!(files.picture(target).is_some());
        }
        assert!(files.url("a+b.svg").is_some() && files.picture("a+b.svg").is_none());
        assert!(files.picture("x&y=z.png").is_some());
        for target in ["", "b.png", "https://evil.example/a b.png", "//evil.example", "a b.png/"] {
            assert_eq!(files.url(target), None, "{target}");
        }
    }

    #[test]
    fn links_lead_back_to_their_files() {
        for name in ["a b.png", "a[1].png", "a#b|c.pdf", "x(1)[2].png", "50%[x].png"] {
            let link = link_to(name);
            let target = link.trim_start_matches('!').trim_start_matches("[]");
            let target = target.trim_matches(['[', ']', '(', ')']);
            assert!(files(&[name]).url(target).is_some(), "{link}");
        }
    }

    #[test]
    fn only_pictures_without_scripts_are_shown() {
        for (name, media_type, disposition_start) in [
            ("a.png", "image/png", "inline; filename*=UTF-8''a.png"),
            ("ü '\".png", "image/png", "inline; filename*=UTF-8''%C3%BC%20%27%22.png"),
            ("a.svg", "application/octet-stream", "attachment"),
            ("a.html", "application/octet-stream", "attachment"),
            ("a.pdf", "application/octet-stream", "attachment"),
            ("a", "application/octet-stream", "attachment"),
        ] {
            let attachment = files(&[name]).files.remove(name);
            let Some(mut attachment) = attachment else { panic!("{name}") };
            attachment.media_type = brain_page::attachment_media_type(name).to_owned();
            let response = file_response(AttachmentContent { attachment, content: b"x".to_vec() });
            let header = |name: HeaderName| {
                response.headers().get(name).and_then(|it| it.to_str().ok()).unwrap_or("")
            };
            assert_eq!(header(CONTENT_TYPE), media_type, "{name}");
            assert!(header(CONTENT_DISPOSITION).starts_with(disposition_start), "{name}");
            assert_eq!(header(X_CONTENT_TYPE_OPTIONS), "nosniff");
            assert!(header(CONTENT_SECURITY_POLICY).starts_with("sandbox; default-src 'none'"));
        }
    }
}
