//! `append`: adds text to the end of a page or of a section.

use brain_protocol::{Append, Command, Fault, FaultCode, MAX_CONTENT, WriteReply, hint};

use crate::pages::capture::PageWrite;
use crate::pages::{PageService, no_page};
use crate::provenance::PUT_PAGE;
use crate::write_page::{
    build_new_page, check_origin, origin_label, origin_route, origin_uri, stored_document,
};
use brain_base::caller::Caller;
use brain_page::{self as page, EditError};
use brain_store::LineChange;

impl PageService {
    /// Adds text to a page, in one transaction. The page keeps its provenance. Lines from an AI
    /// client are marked.
    pub fn append(&self, caller: &Caller, request: Append) -> Result<WriteReply, Fault> {
        let now = self.clock.now();
        check_origin(&request.origin)?;
        let uri = origin_uri(&request.origin, caller);
        let route = origin_route(&request.origin, &PUT_PAGE);
        let text = appended_text(&request)?;
        let Append { page, section, .. } = request;
        let (source, _) = self.active(caller, &self.store.read(caller.visibility())?, &page)?;
        let (source_id, slug) = (source.clone(), page.slug.clone());
        let outcome = self.files.write_page((&source, &page.slug), move |transaction| {
            let record =
                transaction.page(&source_id, &slug)?.filter(|page| page.deleted_at.is_none());
            let record = record.ok_or_else(|| no_page(&source_id, &slug))?;
            let mut document = stored_document(&transaction.content(&record)?)?;
            document.body = page::append(&document.body, section.as_deref(), &text)
                .map_err(|error| append_fault(&error))?
                .into();
            check_size(document.body.len(), slug.as_str())?;
            let captured_at = document.frontmatter.get("captured_at");
            let provenance = record.provenance;
            // A line that the owner adds does not remove the marks of other lines.
            let line_change = match route.line_change() {
                LineChange::ByPageAuthor => LineChange::SameMarks,
                change => change,
            };
            let (own, change) = (provenance.clone(), (route.author(uri.clone()), line_change));
            let page = build_new_page(&slug, document, own, Some(&provenance), change)?;
            let write = transaction.write_page(&source_id, &slug, &page, now)?;
            Ok(PageWrite { slug: slug.clone(), write, captured_at })
        })?;
        Ok(self.write_reply(source, outcome, Vec::new()))
    }
}

/// Returns the text of the request.
///
/// # Errors
/// `too_large`, `binary_content`, or `empty_content` if the text has only white space.
fn appended_text(request: &Append) -> Result<String, Fault> {
    let label = origin_label(&request.origin);
    check_size(request.content.len(), &label)?;
    let text = page::decode_text(&request.content).map_err(|e| {
        Fault::new(FaultCode::BinaryContent, format!("{label} is not text: {e}"))
            .hint("brain keeps UTF-8 text; convert it first")
    })?;
    if text.trim().is_empty() {
        return Err(Fault::new(FaultCode::EmptyContent, "there is nothing to append")
            .hint("give the text as an argument or on standard input"));
    }
    Ok(text.into())
}

/// Refuses more than [`MAX_CONTENT`] bytes with `too_large`. `label` names the page or the input.
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
        EditError::HeadingNotFound { existing, .. } if existing.is_empty() => {
            fault(FaultCode::NotFound).hint("append the section with its heading")
        }
        EditError::HeadingNotFound { .. } => fault(FaultCode::NotFound)
            .hint("name one of these headings, or append the new section with its heading"),
        EditError::HeadingAmbiguous { .. } => {
            fault(FaultCode::InvalidRequest).hint("give one of these addresses as the section")
        }
        _ => fault(FaultCode::InvalidRequest)
            .hint(hint!("{} changes any part of a page", Command::Edit { page: None })),
    }
}
