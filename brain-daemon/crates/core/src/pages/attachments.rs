//! `attach` and `attachments`: files that belong to pages.
//!
//! A file is durable before the row that names it is committed. The text of the page decides
//! whether the page has the file: `attach` and `detach` change the list in its frontmatter.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use brain_protocol::{
    Attach, AttachReply, Attachment, AttachmentContent, AttachmentGet, AttachmentList, Attachments,
    Detach, Fault, FaultCode, PageRef, SourceId,
};

use crate::health::{Finding, fail, ok};
use crate::pages::fields::check_plain;
use crate::provenance::author_of_change;
use crate::write_page::{stored_document, written_page};
use crate::{Caller, PageService, no_page, page_argument};
use brain_base::caller::Visibility;
use brain_base::clock::rfc3339;
use brain_page::{
    self as page, ATTACHMENTS, Document, Frontmatter, attachment_media_type, attachment_name, hex,
    listed_name, lists_attachment, names_attachment,
};
use brain_store::{
    Attached, AttachmentRecord, Draft, Hash, NewPage, PageEntry, PageRecord, Reader, StoreError,
};

/// How long the check of `doctor` compares files with their hashes.
const CHECK_TIME: Duration = Duration::from_millis(1500);
/// Files that the check names.
const MAX_NAMED: usize = 5;

/// The result of a change to a page's attachments.
struct AttachmentChange {
    status: &'static str,
    page: PageRecord,
    record: AttachmentRecord,
}

impl PageService {
    pub(crate) fn attach(&self, caller: &Caller, request: Attach) -> Result<AttachReply, Fault> {
        let Attach { page, name, content } = request;
        let name = checked_name(&name)?;
        self.check_attachment_size(&name, content.len())?;
        let (source, record) =
            self.active(caller, &self.store.read(caller.visibility())?, &page)?;
        // Fails early for a page that cannot name the file. The writer checks again.
        let content_now = self.store.read(caller.visibility())?.content(&record)?;
        check_plain(&stored_document(&content_now)?, ATTACHMENTS)?;
        let kept = self.store.attachments().keep();
        let hash = self.store.write_attachment(&content)?;
        let written = self.attach_file(caller, &source, &page, &name, (hash, content.len() as u64));
        drop(kept);
        if written.is_err()
            && let Err(error) = self.store.purge_attachments(&[hash])
        {
            tracing::warn!(%error, "a file that was not attached is left");
        }
        self.attach_reply(caller, &source, page, &name, &written?)
    }

    /// Stores the row of a file that is durable.
    fn attach_file(
        &self,
        caller: &Caller,
        source: &SourceId,
        page: &PageRef,
        name: &str,
        (hash, bytes): (Hash, u64),
    ) -> Result<AttachmentChange, Fault> {
        let now = self.clock.now();
        let (name, argument) = (name.to_owned(), page_argument(page));
        self.change(caller, source, page, move |draft, record, document| {
            let former = draft.attachment(record.id, &name)?;
            let is_listed = lists_attachment(&document.frontmatter, &name);
            match &former {
                Some(own) if own.removed_at.is_none() && own.hash != hash => {
                    let message = format!("\"{}\" has another file \"{name}\"", argument);
                    return Err(Fault::new(FaultCode::Conflict, message)
                        .hint(format!(
                            "attach it with another name: `--name NAME`; or remove the other one: \
                             `brain attachments {argument} --remove {name}`"
                        ))
                        .into());
                }
                Some(own) if own.removed_at.is_none() && is_listed => {
                    return Ok(("unchanged", own.clone(), false));
                }
                _ => {}
            }
            let attached_at = former.filter(|own| own.hash == hash).map(|own| own.attached_at);
            let attached_at = attached_at.unwrap_or(now);
            let new = AttachmentRecord { hash, bytes, attached_at, removed_at: None };
            if !is_listed {
                let mut names = document.frontmatter.list(ATTACHMENTS);
                names.push(name.clone());
                document.frontmatter.set_list(ATTACHMENTS, &names);
            }
            draft.put_attachment(record.id, &name, &new, now)?;
            Ok(("attached", new, !is_listed))
        })
    }

    pub(crate) fn detach(&self, caller: &Caller, request: Detach) -> Result<AttachReply, Fault> {
        let Detach { page, name } = request;
        let name = checked_name(&name)?;
        let (source, _) = self.active(caller, &self.store.read(caller.visibility())?, &page)?;
        let (removed, argument) = (name.clone(), page_argument(&page));
        let changed = self.change(caller, &source, &page, move |draft, record, document| {
            let own = draft.attachment(record.id, &removed)?;
            let Some(own) = own.filter(|own| own.removed_at.is_none()) else {
                return Err(no_attachment(&argument, &removed).into());
            };
            if names_attachment(&Frontmatter::empty(), &document.body, &removed) {
                let message = format!("the text of \"{argument}\" names the file \"{removed}\"");
                return Err(Fault::new(FaultCode::Conflict, message)
                    .hint(format!("take it out of the text first: `brain edit {argument}`"))
                    .into());
            }
            let mut names = document.frontmatter.list(ATTACHMENTS);
            names.retain(|value| listed_name(value) != removed);
            match names.is_empty() {
                true => document.frontmatter.remove(ATTACHMENTS),
                false => document.frontmatter.set_list(ATTACHMENTS, &names),
            }
            Ok(("removed", own, true))
        })?;
        self.attach_reply(caller, &source, page, &name, &changed)
    }

    /// Changes an active page and its attachments. `work` returns the status, the attachment, and
    /// whether it changed the document. It must not write to the draft before it returns an error.
    fn change(
        &self,
        caller: &Caller,
        source: &SourceId,
        page: &PageRef,
        work: impl Fn(
            &mut Draft<'_>,
            &PageRecord,
            &mut Document,
        ) -> Result<(&'static str, AttachmentRecord, bool), StoreError>
        + Send
        + 'static,
    ) -> Result<AttachmentChange, Fault> {
        let now = self.clock.now();
        let (source, slug) = (source.clone(), page.slug.clone());
        let (author, lines) = author_of_change(caller);
        Ok(self.store.write(move |draft| {
            let page = draft.page(&source, &slug)?.filter(|it| it.deleted_at.is_none());
            let page = page.ok_or_else(|| StoreError::from(no_page(&source, &slug)))?;
            let mut document = stored_document(&draft.content(&page)?)?;
            check_plain(&document, ATTACHMENTS)?;
            let (status, record, has_text) = work(draft, &page, &mut document)?;
            if !has_text {
                return Ok(AttachmentChange { status, page, record });
            }
            let new = written_page(&slug, document, page.provenance.clone(), None, false)?;
            let new = NewPage { author: Some(author.clone()), lines: lines.clone(), ..new };
            let page = draft.write_page(&source, &slug, new, now)?.record;
            Ok(AttachmentChange { status, page, record })
        })?)
    }

    fn attach_reply(
        &self,
        caller: &Caller,
        source: &SourceId,
        page: PageRef,
        name: &str,
        changed: &AttachmentChange,
    ) -> Result<AttachReply, Fault> {
        let warnings = match changed.status {
            "unchanged" => Vec::new(),
            _ => self.files.update_file(source, &changed.page).warnings(),
        };
        let reader = self.store.read(caller.visibility())?;
        Ok(AttachReply {
            status: changed.status.into(),
            slug: page.slug,
            source_id: source.clone(),
            version: changed.page.version,
            attachment: attachment(&reader, name.to_owned(), &changed.record)?,
            warnings,
        })
    }

    pub(crate) fn attachments(
        &self,
        caller: &Caller,
        request: &AttachmentList,
    ) -> Result<Attachments, Fault> {
        let reader = self.store.read(caller.visibility())?;
        if let Some(page) = &request.page {
            let (_, _, record) = self.find(caller, &reader, page)?;
            let own = reader.attachments_of(record.id, false)?;
            let attachments =
                own.into_iter().map(|(name, record)| attachment(&reader, name, &record));
            return Ok(Attachments { attachments: attachments.collect::<Result<_, _>>()? });
        }
        let only = match &request.source {
            Some(_) => Some(crate::sources::resolve(caller, &reader, request.source.as_ref())?.0),
            None => None,
        };
        let mut files: BTreeMap<(String, Hash), (AttachmentRecord, Vec<PageRef>)> = BTreeMap::new();
        for ((source, slug, _), (name, record)) in reader.attachments()? {
            if only.as_ref().is_none_or(|only| *only == source) {
                let file = files.entry((name, record.hash)).or_insert((record, Vec::new()));
                file.1.push(PageRef::new(&source, &slug));
            }
        }
        let attachments = files
            .into_iter()
            .map(|((name, _), (record, pages))| attachment_of(name, &record, pages));
        Ok(Attachments { attachments: attachments.collect() })
    }

    pub(crate) fn attachment_content(
        &self,
        caller: &Caller,
        request: &AttachmentGet,
    ) -> Result<AttachmentContent, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let (_, _, page) = self.find(caller, &reader, &request.page)?;
        let wanted = checked_name(&request.name)?;
        let own = reader.attachments_of(page.id, false)?;
        let Some((name, record)) = own.into_iter().find(|(name, _)| *name == wanted) else {
            return Err(no_attachment(&page_argument(&request.page), &wanted));
        };
        let content = self.store.read_attachment(&record.hash)?;
        Ok(AttachmentContent { attachment: attachment(&reader, name, &record)?, content })
    }

    /// Refuses an empty file, and one over the limit.
    fn check_attachment_size(&self, name: &str, bytes: usize) -> Result<(), Fault> {
        let max = self.config.max_attachment_mb;
        if bytes == 0 {
            return Err(Fault::new(FaultCode::EmptyContent, format!("\"{name}\" is empty"))
                .hint("attach a file with content"));
        }
        if bytes > max * 1_000_000 {
            let message = format!("\"{name}\" has {bytes} bytes, more than the limit of {max} MB");
            return Err(Fault::new(FaultCode::TooLarge, message).hint(
                "the limit is pages.max_attachment_mb, at most 16: \
                 `brain config set pages.max_attachment_mb 16`, then `brain restart`",
            ));
        }
        Ok(())
    }

    /// Checks that the files of all attachments are there, and compares as many with their hashes
    /// as there is time for.
    pub(crate) fn check_attachments(&self) -> Finding {
        let files = self.store.read(Visibility::All)?.attached_files()?;
        if files.is_empty() {
            return ok("there are none");
        }
        let until = Instant::now() + CHECK_TIME;
        let (mut bad, mut compared) = (Vec::new(), 0);
        for (hash, bytes) in &files {
            if self.store.attachments().length(hash) != Some(*bytes) {
                bad.push(hash);
            } else if Instant::now() < until {
                match self.store.read_attachment(hash) {
                    Ok(_) => compared += 1,
                    Err(_) => bad.push(hash),
                }
            }
        }
        let all = files.len();
        if bad.is_empty() {
            return ok(match compared == all {
                true => format!("{all} files, and all match their hashes"),
                false => format!("{all} files; {compared} were compared with their hashes"),
            });
        }
        let reader = self.store.read(Visibility::All)?;
        let mut named = Vec::new();
        for hash in bad.iter().take(MAX_NAMED) {
            named.push(damaged_name(&reader, hash)?);
        }
        fail(
            format!("{} of {all} files are missing or damaged: {}", bad.len(), named.join(", ")),
            "attach the same files again (`brain attach SLUG FILE`), or take them from a backup: \
             `BRAIN_HOME=DIR brain backup restore FILE`, then `BRAIN_HOME=DIR brain attachments \
             SLUG --get NAME`",
        )
    }
}

/// Returns a name for a damaged file: that of its first page, or its hash.
fn damaged_name(reader: &Reader, hash: &Hash) -> Result<String, Fault> {
    for (source, slug, record) in reader.pages_with(hash)? {
        for (name, own) in reader.attachments_of(record.id, false)? {
            if own.hash == *hash {
                return Ok(format!("{name} of {}", PageRef::new(&source, &slug)));
            }
        }
    }
    Ok(format!("{} of a deleted page", hex(hash)))
}

/// Refuses to merge pages that have different files of one name, and a page that cannot name more.
pub(crate) fn check_mergeable(
    reader: &Reader,
    from: &PageEntry,
    into: &PageEntry,
    text: &Document,
) -> Result<Vec<String>, Fault> {
    let files = reader.attachments_of(from.2.id, false)?;
    if files.is_empty() {
        return Ok(Vec::new());
    }
    check_plain(text, ATTACHMENTS)?;
    let own: BTreeMap<String, AttachmentRecord> =
        reader.attachments_of(into.2.id, false)?.into_iter().collect();
    let differs =
        |(name, record): &&Attached| own.get(name).is_some_and(|other| other.hash != record.hash);
    if let Some((name, _)) = files.iter().find(differs) {
        let message = format!("both pages have a file \"{name}\", with different bytes");
        return Err(Fault::new(FaultCode::Conflict, message).hint(format!(
            "attach the one of {} with another name first: `brain attach {} FILE --name NAME`",
            from.1, from.1
        )));
    }
    Ok(files.into_iter().map(|(name, _)| name).collect())
}

/// Returns the name of an attachment.
fn checked_name(name: &str) -> Result<String, Fault> {
    attachment_name(name).map_err(|what| {
        let message = format!("the name \"{}\" {what}", name.escape_debug());
        Fault::new(FaultCode::InvalidRequest, message)
            .hint("give the file another name: `brain attach SLUG FILE --name NAME`")
    })
}

fn no_attachment(page: &str, name: &str) -> Fault {
    Fault::new(FaultCode::NotFound, format!("\"{page}\" has no file \"{name}\""))
        .hint(format!("see `brain attachments {page}`"))
}

/// Builds the reply about a file, with the pages that the caller can see.
fn attachment(
    reader: &Reader,
    name: String,
    record: &AttachmentRecord,
) -> Result<Attachment, Fault> {
    let pages = reader.pages_with(&record.hash)?;
    let pages = pages.iter().map(|(source, slug, _)| PageRef::new(source, slug)).collect();
    Ok(attachment_of(name, record, pages))
}

fn attachment_of(name: String, record: &AttachmentRecord, pages: Vec<PageRef>) -> Attachment {
    Attachment {
        media_type: attachment_media_type(&name).into(),
        name,
        bytes: record.bytes,
        hash: page::hex(&record.hash),
        attached_at: rfc3339(record.attached_at),
        pages,
    }
}
