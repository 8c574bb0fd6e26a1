//! Writes pages: a new one, or an edit of the version that was read.
//!
//! A save names that version. If the page changed meanwhile, nothing is overwritten: changes of
//! different lines are merged for the owner to check, and otherwise both texts are shown.

use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use brain_core::{Door, INGEST_KEYS};
use brain_page::{Document, LongText};
use brain_protocol::{
    Capture, Fault, FaultCode, Get, MarkedLines, Origin, Page, PageRef, Precondition, Put, Slug,
};
use diffy::MergeOptions;
use maud::{Markup, html};

use crate::attachments::PageFiles;
use crate::extract::FormPost;
use crate::layout::{self, Screen, csrf, see_other};
use crate::page_path::{page_path, parse_page};
use crate::reader::marked_lines;
use crate::session::{Session, block};
use crate::text::{Text, direction};
use crate::{fields, markdown};

/// A text that is being written.
#[derive(Default)]
struct Draft {
    /// The page as `source:slug`; empty for a new page.
    name: String,
    /// The slug of a new page, as typed.
    slug: String,
    /// The version that was read; `None` for a new page.
    version: Option<u32>,
    text: String,
    /// Why the text is not saved.
    problem: Option<Markup>,
    /// The version and the text of the current page, if both changed the same lines.
    theirs: Option<(u32, String)>,
    /// Whether the preview was requested.
    has_preview: bool,
    /// The files of the page, for the preview.
    files: PageFiles,
    /// The lines of others, in the text of the version that was read.
    marks: Vec<MarkedLines>,
    /// That text, if it has lines of others.
    marked_text: String,
}

/// `GET /web/new?slug=…`: an empty page.
pub(crate) async fn new(uri: Uri, session: Session) -> Response {
    let query = uri.query().unwrap_or_default();
    let slug = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "slug");
    let slug = slug.map(|(_, value)| value.into_owned()).unwrap_or_default();
    screen(&session, StatusCode::OK, &Draft { slug, ..Draft::default() })
}

/// `GET /web/edit/{name}`: the page as it is.
pub(crate) async fn edit(
    State(brain): State<Door>,
    Path(name): Path<String>,
    session: Session,
) -> Response {
    let work = async { session.run(&brain, Get { page: parse_page(&name)?, version: None }).await };
    match work.await {
        Ok(page) => {
            let mut draft = Draft::of(&page);
            draft.files = files(&brain, &session, &draft.name).await;
            screen(&session, StatusCode::OK, &draft)
        }
        Err(fault) => layout::fault(&session, &fault),
    }
}

/// `POST /web/preview`: the preview of the text, for `assets/write.js`.
pub(crate) async fn preview(State(brain): State<Door>, form_post: FormPost) -> Response {
    let files = files(&brain, &form_post.session, form_post.field("name")).await;
    layout::fragment(&preview_html(form_post.field("text"), &files))
}

/// Returns the files of a page; none of a new page. Without them, the preview has no pictures.
async fn files(brain: &Door, session: &Session, name: &str) -> PageFiles {
    let Ok(page) = parse_page(name) else { return PageFiles::default() };
    let reader = session.clone();
    let found = block(brain, move |brain| PageFiles::read(brain, &reader, &page)).await;
    found.and_then(|found| found).unwrap_or_default()
}

/// `POST /web/save`: saves the text, or shows its preview.
pub(crate) async fn save(State(brain): State<Door>, form_post: FormPost) -> Response {
    let mut draft = Draft::read(&form_post);
    match fields::merged_text(&form_post) {
        Ok(text) => draft.text = text,
        Err(problem) => {
            draft.problem = Some(html! { p { bdi { (Text(&problem)) } } });
            return screen(&form_post.session, StatusCode::UNPROCESSABLE_ENTITY, &draft);
        }
    }
    if form_post.field("action") == "preview" {
        draft.has_preview = true;
        draft.files = files(&brain, &form_post.session, &draft.name).await;
        return screen(&form_post.session, StatusCode::OK, &draft);
    }
    match store(&brain, &form_post.session, &draft).await {
        Ok(name) => see_other(&page_path(&name)),
        Err(fault) if fault.code == FaultCode::Conflict => {
            conflict(&brain, &form_post.session, draft, &fault).await
        }
        Err(fault) => {
            draft.problem = Some(html! {
                p { bdi { (Text(&fault.message)) } }
                @if let Some(hint) = &fault.hint { p { bdi { (Text(&hint.to_string())) } } }
            });
            screen(&form_post.session, StatusCode::UNPROCESSABLE_ENTITY, &draft)
        }
    }
}

/// Stores the text, and returns the name of its page.
async fn store(brain: &Door, session: &Session, draft: &Draft) -> Result<String, Fault> {
    let page = draft.page()?;
    let Some(page) = page else {
        let capture = Capture {
            content: draft.text.clone().into_bytes(),
            origin: Origin::Browser,
            source: None,
            slug: None,
            page_type: None,
            title: None,
            tags: Vec::new(),
        };
        let captured = session.run(brain, capture).await?;
        return Ok(format!("{}:{}", captured.source_id, captured.slug));
    };
    let mut text = draft.text.clone();
    if draft.version.is_some() {
        // The draft has LF line ends; a page with CRLF keeps CRLF.
        let current = session.run(brain, Get { page: page.clone(), version: None }).await;
        if current.is_ok_and(|current| current.body.contains("\r\n")) {
            text = text.replace('\n', "\r\n");
        }
    }
    let put = Put {
        page,
        content: text.into_bytes(),
        origin: Origin::Browser,
        allow_empty: false,
        expect: Some(draft.version.map_or(Precondition::Absent, Precondition::Version)),
    };
    let written = session.run(brain, put).await?;
    Ok(format!("{}:{}", written.source_id, written.slug))
}

/// Shows a draft whose page changed since it was read: both changes merged, or both texts.
async fn conflict(brain: &Door, session: &Session, draft: Draft, fault: &Fault) -> Response {
    let read = async |version: Option<u32>| {
        let page = draft.page()?.ok_or_else(|| fault.clone())?;
        session.run(brain, Get { page, version }).await
    };
    let current = match read(None).await {
        Ok(current) => current,
        Err(fault) => return layout::fault(session, &fault),
    };
    let base = match draft.version {
        Some(version) => read(Some(version)).await.ok(),
        None => None,
    };
    screen(session, StatusCode::CONFLICT, &draft.merge_with(base.as_ref(), &current))
}

impl Draft {
    /// Returns the draft of an edit of a page.
    fn of(page: &Page) -> Self {
        Self {
            name: format!("{}:{}", page.source_id, page.slug),
            version: Some(page.version),
            text: page.content.replace("\r\n", "\n"),
            ..Self::default()
        }
        .with_marks_of(page)
    }

    /// Adds the lines of others.
    fn with_marks_of(mut self, page: &Page) -> Self {
        self.marks.clone_from(&page.outside_lines);
        if !self.marks.is_empty() {
            self.marked_text.clone_from(&page.content);
        }
        self
    }

    fn read(form_post: &FormPost) -> Self {
        Self {
            name: form_post.field("name").to_owned(),
            slug: form_post.field("slug").trim().to_owned(),
            version: form_post.field("version").parse().ok(),
            text: form_post.field("text").replace("\r\n", "\n"),
            ..Self::default()
        }
    }

    /// Returns the page to write; `None` if brain chooses the slug.
    ///
    /// # Errors
    /// `invalid_slug` if the name or the slug is invalid.
    fn page(&self) -> Result<Option<PageRef>, Fault> {
        match (self.name.as_str(), self.slug.as_str()) {
            ("", "") => Ok(None),
            ("", slug) => match parse_page(slug) {
                Ok(page) => Ok(Some(page)),
                Err(fault) => Err(match Slug::parse(slug).err().and_then(|it| it.suggestion) {
                    Some(near) => fault.hint(format!("perhaps {near}")),
                    None => fault.hint("a slug looks like people/ada-lovelace"),
                }),
            },
            (name, _) => parse_page(name).map(Some),
        }
    }

    /// Returns this draft merged with the current page, or both texts if they conflict. `base` is
    /// the version that was read.
    fn merge_with(self, base: Option<&Page>, current: &Page) -> Self {
        let theirs = current.content.replace("\r\n", "\n");
        let before = base.map(|page| page.content.replace("\r\n", "\n")).unwrap_or_default();
        let merged =
            base.and_then(|_| MergeOptions::new().merge(&before, &self.text, &theirs).ok());
        let version = current.version;
        let (text, problem, both) = match merged {
            Some(merged) => {
                let notice = html! {
                    p {
                        "The page changed while you wrote: it is version " (version) " now. "
                        "The changes are in other lines than yours, so the text below has both. "
                        "Read it, and save again."
                    }
                };
                (merged, notice, None)
            }
            None => {
                let notice = html! {
                    p {
                        "The page changed in the same lines while you wrote: it is version "
                        (version) " now. Nothing is lost: your text is below, and beside it the "
                        "page as it is. Bring them together in your text, and save again."
                    }
                };
                let mine = with_provenance_of(&self.text, &before, &theirs);
                (mine, notice, Some((version, theirs)))
            }
        };
        Self {
            name: format!("{}:{}", current.source_id, current.slug),
            version: Some(version),
            text,
            problem: Some(problem),
            theirs: both,
            ..self
        }
        .with_marks_of(current)
    }
}

/// Returns `mine` with the lines about provenance of `theirs`, unless the owner changed them since
/// `before`. Otherwise a save would treat the lines of the version that was read as claims by the
/// owner, and move them to `received`.
fn with_provenance_of(mine: &str, before: &str, theirs: &str) -> String {
    let parsed = [mine, before, theirs].map(Document::parse);
    let [Ok(mut document), Ok(before), Ok(theirs)] = parsed else { return mine.to_owned() };
    for key in INGEST_KEYS {
        let value = document.frontmatter.get(key);
        if value != before.frontmatter.get(key) || value == theirs.frontmatter.get(key) {
            continue;
        }
        match theirs.frontmatter.get(key) {
            Some(value) => document.frontmatter.set(key, &value),
            None => document.frontmatter.remove(key),
        }
    }
    document.render()
}

/// Returns the preview of a text, or the error of its frontmatter.
fn preview_html(text: &str, files: &PageFiles) -> Markup {
    match Document::parse(text) {
        Ok(document) => preview_of(&document, files),
        Err(error) => html! {
            p class="notice bad" role="alert" {
                "Line " (error.line) " of the frontmatter: " bdi { (Text(&error.message)) }
            }
        },
    }
}

/// Shows title and text of a document, or the first part of a long text.
fn preview_of(document: &Document, files: &PageFiles) -> Markup {
    let long = LongText::new(&document.body);
    let first = long.part(1).text;
    // Links to pages are resolved only when the page is saved.
    let rendered = markdown::render_with(
        &first,
        "",
        |target| files.url(target),
        |target| files.picture(target),
        |_| None,
    );
    html! {
        @if let Some(title) = document.frontmatter.title() { h1 { bdi { (Text(&title)) } } }
        div dir=(direction(&document.body)) { (rendered.html) }
        @if long.count() > 1 {
            p class="facts" { "The preview ends here: it shows the first part of a long text." }
        }
    }
}

fn screen(session: &Session, status: StatusCode, draft: &Draft) -> Response {
    let is_new = draft.version.is_none();
    let slug = draft.name.split_once(':').map_or(draft.name.as_str(), |(_, slug)| slug);
    let title = if is_new { "New page".to_owned() } else { format!("Edit {slug}") };
    let back = if is_new { "/".to_owned() } else { page_path(&draft.name) };
    let body = html! {
        div class="full" {
            h1 { (Text(&title)) }
            @if let Some(problem) = &draft.problem {
                div class="notice" role="alert" { (problem) }
            }
            form id="editor" method="post" action="/web/save" data-name=(Text(&draft.name)) {
                (csrf(session))
                input type="hidden" name="name" value=(Text(&draft.name));
                @if let Some(version) = draft.version {
                    input type="hidden" name="version" value=(version);
                } @else {
                    label for="slug" { "Slug, for example people/ada-lovelace" }
                    input id="slug" name="slug" value=(Text(&draft.slug)) autocomplete="off"
                        spellcheck="false" aria-describedby="slug-help";
                    p id="slug-help" class="facts" {
                        "Without a slug, the page goes to the inbox."
                    }
                }
                (fields::form(&draft.text))
                div class={ "columns" @if draft.theirs.is_some() { " conflict" } } {
                    div {
                        label for="text" {
                            @if draft.theirs.is_some() { "Your text" } @else { "Text, in markdown" }
                        }
                        // Browsers drop one line end at the start. The text is escaped, but not
                        // otherwise changed: it is saved again.
                        textarea id="text" name="text" rows="24" dir="auto" {
                            "\n" (draft.text)
                        }
                    }
                    (second_column(draft))
                }
                (marked_lines::beside_editor(&draft.marks, &draft.marked_text))
                p class="row" {
                    button name="action" value="save" {
                        "Save" @if let Some(version) = draft.version { " over version " (version) }
                    }
                    button class="button" name="action" value="preview" { "Preview" }
                    a href=(Text(&back)) { "Cancel" }
                    span id="draft" class="facts" role="status" {}
                }
            }
        }
    };
    Screen {
        status,
        path: if is_new { "/web/new" } else { "" },
        ..Screen::new(session, &title, body)
    }
    .respond()
}

/// Shows the preview, or the page that changed meanwhile.
fn second_column(draft: &Draft) -> Markup {
    match &draft.theirs {
        Some((version, theirs)) => html! {
            div {
                label for="theirs" { "The page as it is, version " (version) }
                textarea id="theirs" rows="24" readonly dir="auto" { "\n" (theirs) }
            }
        },
        None => html! {
            section aria-labelledby="preview-title" {
                h2 id="preview-title" class="label" { "Preview" }
                div id="preview" {
                    @if draft.has_preview || draft.version.is_some() {
                        (preview_html(&draft.text, &draft.files))
                    }
                }
            }
        },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_provenance_follows_the_current_page() {
        let page = |at: &str, kind: &str, body: &str| {
            format!("---\ntitle: A\ningested_at: {at}\nsource_kind: {kind}\n---\n\n{body}\n")
        };
        let before = page("2026-01-01", "webhook", "one");
        let theirs = page("2026-02-02", "webhook", "two");
        let mine = page("2026-01-01", "mine", "three");
        assert_eq!(
            with_provenance_of(&mine, &before, &theirs),
            page("2026-02-02", "mine", "three")
        );
        assert_eq!(with_provenance_of("no frontmatter", &before, &theirs), "no frontmatter");
    }

    #[test]
    fn a_preview_is_inert() {
        let html = preview_html(
            "---\ntitle: <script>\n---\n# a <b>\n\n[x](javascript:alert(1))",
            &PageFiles::default(),
        )
        .0;
        assert!(html.contains("&lt;script&gt;") && html.contains("&lt;b&gt;"), "{html}");
        assert!(!html.contains("<script") && !html.contains("href"), "{html}");
        let broken = preview_html("---\ntitle: [\n---\n", &PageFiles::default()).0;
        assert!(broken.contains("Line "), "{broken}");
    }
}
