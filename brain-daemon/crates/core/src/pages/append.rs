//! `append`: adds text to the end of a page or of a section.

use brain_protocol::{Append, Fault, FaultCode, MAX_CONTENT, WriteReply};

use crate::pages::capture::PageWrite;
use crate::provenance::PUT_PAGE;
use crate::write_page::{
    check_origin, origin_label, origin_route, origin_uri, stored_document, written_page,
};
use crate::{Caller, PageService, no_page};
use brain_page::{self as page, EditError};
use brain_store::{LineChange, NewPage};

impl PageService {
    /// Adds text to a page, in one transaction. Its provenance stays as it is; lines of an AI
    /// client are marked.
    pub(crate) fn append(&self, caller: &Caller, request: Append) -> Result<WriteReply, Fault> {
        let now = self.clock.now();
        check_origin(&request.origin)?;
        let uri = origin_uri(&request.origin, caller);
        let route = origin_route(&request.origin, &PUT_PAGE);
        let text = appended_text(&request)?;
        let Append { page, section, .. } = request;
        let (source, _) = self.active(caller, &self.store.read(caller.visibility())?, &page)?;
        let (id, slug) = (source.clone(), page.slug);
        let outcome = self.store.write(move |draft| {
            let record = draft.page(&id, &slug)?.filter(|record| record.deleted_at.is_none());
            let record = record.ok_or_else(|| no_page(&id, &slug))?;
            let mut document = stored_document(&draft.content(&record)?)?;
            document.body = page::append(&document.body, section.as_deref(), &text)
                .map_err(|error| append_fault(&error))?;
            check_size(document.body.len(), slug.as_str())?;
            let captured_at = document.frontmatter.get("captured_at");
            let provenance = record.provenance;
            let page = written_page(&slug, document, provenance.clone(), Some(&provenance), false)?;
            // A line that the owner adds does not make the other lines the owner's.
            let lines = match route.line_change() {
                LineChange::ByPageAuthor => LineChange::SameMarks,
                other => other,
            };
            let page = NewPage { author: Some(route.author(uri.clone())), lines, ..page };
            let applied = draft.write_page(&id, &slug, page, now)?;
            Ok(PageWrite { slug: slug.clone(), applied, captured_at })
        })?;
        Ok(self.write_reply(source, outcome, Vec::new()))
    }
}

/// Returns the text of the request.
fn appended_text(request: &Append) -> Result<String, Fault> {
    let label = origin_label(&request.origin);
    check_size(request.content.len(), &label)?;
    let text = page::decode_text(&request.content).map_err(|e| {
        Fault::new(FaultCode::BinaryContent, format!("{label} is not text: {e}"))
            .hint("brain keeps UTF-8 text; convert it first")
    })?;
    if text.trim().is_empty() {
        return Err(Fault::new(FaultCode::EmptyContent, "there is nothing to append")
            .hint("give the text as words or on standard input"));
    }
    Ok(text.into())
}

pub(crate) fn check_size(bytes: usize, label: &str) -> Result<(), Fault> {
    if bytes <= MAX_CONTENT {
        return Ok(());
    }
    let message = format!("{label} would have {bytes} bytes, more than the limit of {MAX_CONTENT}");
    Err(Fault::new(FaultCode::TooLarge, message).hint("begin a new page and link it"))
}

fn append_fault(error: &EditError) -> Fault {
    let fault = |code| Fault::new(code, error.to_string());
    match error {
        EditError::HeadingNotFound { .. } => fault(FaultCode::NotFound)
            .hint("name one of these headings, or append the new section with its heading"),
        _ => fault(FaultCode::InvalidRequest).hint("`brain edit` changes any part of a page"),
    }
}
