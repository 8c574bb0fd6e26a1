//! `attach`, `detach` and `attachments`: files that belong to pages.
//!
//! A file is durable before the row that names it is committed. The text of the page decides
//! whether the page has the file: `attach` and `detach` change the list in its frontmatter.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use brain_protocol::{
    Attach, AttachReply, Attachment, AttachmentContent, AttachmentGet, AttachmentList, Attachments,
    ChangeStatus, Command, Detach, Fault, FaultCode, PageRef, SourceId, hint,
};

use crate::pages::fields::check_plain;
use crate::pages::{PageService, no_page};
use crate::provenance::author_of_change;
use crate::write_page::{build_new_page, stored_document};
use brain_base::caller::{Caller, Visibility};
use brain_base::clock::rfc3339;
use brain_page::{
    self as page, ATTACHMENTS, Document, Frontmatter, attachment_media_type, attachment_name, hex,
    listed_name, lists_attachment, names_attachment,
};
use brain_service::health::{Finding, fail, ok};
use brain_store::{
    AttachmentRecord, Hash, MAX_SHARED_ATTACHMENT, NamedAttachment, PageEntry, PageRecord, Reader,
    StoreError, Transaction,
};

/// Maximum time in which the check of `doctor` compares files with their hashes.
const CHECK_TIME: Duration = Duration::from_millis(1500);
/// Maximum number of damaged files that the check names.
const MAX_NAMED: usize = 5;

/// How a file is attached.
#[derive(Debug, Clone, Copy)]
enum AttachMode {
    /// Its name is added to the list of the page. Another file of that name is a conflict.
    AddToList,
    /// The text names it. It replaces another file of that name, which is kept for 72 hours.
    NamedByText,
}

impl AttachMode {
    /// Returns whether the text need not change.
    fn is_named(self, document: &Document, name: &str) -> bool {
        match self {
            Self::AddToList => lists_attachment(&document.frontmatter, name),
            Self::NamedByText => names_attachment(&document.frontmatter, &document.body, name),
        }
    }
}

/// The result of a change to a page's attachments.
struct AttachmentChange {
    status: ChangeStatus,
    page: PageRecord,
    record: AttachmentRecord,
}

impl PageService {
    /// Adds a file to a page, and its name to the frontmatter of the page.
    pub fn attach(&self, caller: &Caller, request: Attach) -> Result<AttachReply, Fault> {
        self.attach_with(caller, request, AttachMode::AddToList)
    }

    /// Adds a file that the text of a page names. The text stays as it is. Another file of that name
    /// is replaced.
    pub fn attach_named(&self, caller: &Caller, request: Attach) -> Result<AttachReply, Fault> {
        self.attach_with(caller, request, AttachMode::NamedByText)
    }

    fn attach_with(
        &self,
        caller: &Caller,
        request: Attach,
        mode: AttachMode,
    ) -> Result<AttachReply, Fault> {
        let Attach { page, name, content } = request;
        let name = checked_name(&name)?;
        self.check_attachment_size(&name, content.len())?;
        let (source, record) =
            self.active(caller, &self.store.read(caller.visibility())?, &page)?;
        // Fails early for a page that cannot name the file. The writer checks again.
        let current = self.store.read(caller.visibility())?.content(&record)?;
        let document = stored_document(&current)?;
        check_plain(&document, ATTACHMENTS)?;
        let own = self.store.read(caller.visibility())?.attachments_of(record.id, false)?;
        if let Some((_, own)) = own.into_iter().find(|(known, _)| *known == name)
            && own.hash == brain_files::digest(&content)
            && mode.is_named(&document, &name)
        {
            let status = ChangeStatus::Unchanged;
            let change = AttachmentChange { status, page: record, record: own };
            return self.attach_reply(caller, &source, page, &name, &change);
        }
        let files_guard = self.store.attachments().block_removal();
        let hash = self.store.write_attachment(&content)?;
        let file = (hash, content.len() as u64);
        let change = self.attach_file(caller, &source, &page, &name, file, mode);
        drop(files_guard);
        if change.is_err()
            && let Err(error) = self.store.purge_attachments(&[hash])
        {
            tracing::warn!(%error, "cannot remove a file that was not attached");
        }
        self.attach_reply(caller, &source, page, &name, &change?)
    }

    /// Stores the row of a durable file, and adds the file's name to the page's list.
    fn attach_file(
        &self,
        caller: &Caller,
        source: &SourceId,
        page: &PageRef,
        name: &str,
        (hash, bytes): (Hash, u64),
        mode: AttachMode,
    ) -> Result<AttachmentChange, Fault> {
        let now = self.clock.now();
        let (name, argument) = (name.to_owned(), page.to_string());
        self.change(caller, source, page, move |transaction, record, document| {
            let existing = transaction.attachment(record.id, &name)?;
            let is_listed = mode.is_named(document, &name);
            let replaces = matches!(mode, AttachMode::NamedByText);
            match &existing {
                Some(own) if own.removed_at.is_none() && own.hash != hash && !replaces => {
                    let message = format!("\"{argument}\" has another file \"{name}\"");
                    return Err(Fault::new(FaultCode::Conflict, message)
                        .hint(hint!(
                            "attach it with another name: `--name NAME`; or remove the other file: \
                             {}",
                            Command::AttachmentsRemove {
                                page: Some(argument.clone()),
                                name: Some(name.to_string())
                            }
                        ))
                        .into());
                }
                Some(own) if own.removed_at.is_none() && own.hash == hash && is_listed => {
                    return Ok((ChangeStatus::Unchanged, own.clone(), false));
                }
                _ => {}
            }
            let attached_at = existing.filter(|own| own.hash == hash).map(|own| own.attached_at);
            let attached_at = attached_at.unwrap_or(now);
            let new = AttachmentRecord { hash, bytes, attached_at, removed_at: None };
            if !is_listed {
                let mut names = document.frontmatter.list(ATTACHMENTS);
                names.push(name.clone());
                document.frontmatter.set_list(ATTACHMENTS, &names);
            }
            transaction.put_attachment(record.id, &name, &new, now)?;
            Ok((ChangeStatus::Attached, new, !is_listed))
        })
    }

    /// Removes an attachment from a page.
    pub fn detach(&self, caller: &Caller, request: Detach) -> Result<AttachReply, Fault> {
        let Detach { page, name } = request;
        let name = checked_name(&name)?;
        let (source, _) = self.active(caller, &self.store.read(caller.visibility())?, &page)?;
        let (removed, argument) = (name.clone(), page.to_string());
        let change =
            self.change(caller, &source, &page, move |transaction, record, document| {
                let own = transaction.attachment(record.id, &removed)?;
                let Some(own) = own.filter(|own| own.removed_at.is_none()) else {
                    return Err(no_attachment(&argument, &removed).into());
                };
                if names_attachment(&Frontmatter::empty(), &document.body, &removed) {
                    let message =
                        format!("the text of \"{argument}\" names the file \"{removed}\"");
                    return Err(Fault::new(FaultCode::Conflict, message)
                        .hint(hint!(
                            "take it out of the text first: {}",
                            Command::Edit { page: Some(argument.clone()) }
                        ))
                        .into());
                }
                let mut names = document.frontmatter.list(ATTACHMENTS);
                names.retain(|value| listed_name(value) != removed);
                match names.is_empty() {
                    true => document.frontmatter.remove(ATTACHMENTS),
                    false => document.frontmatter.set_list(ATTACHMENTS, &names),
                }
                Ok((ChangeStatus::Removed, own, true))
            })?;
        self.attach_reply(caller, &source, page, &name, &change)
    }

    /// Changes an active page and its attachments. `edit` returns the status, the attachment, and
    /// whether it changed the document. `edit` must not write to the transaction before it fails.
    fn change(
        &self,
        caller: &Caller,
        source: &SourceId,
        page: &PageRef,
        edit: impl Fn(
            &mut Transaction<'_>,
            &PageRecord,
            &mut Document,
        ) -> Result<(ChangeStatus, AttachmentRecord, bool), StoreError>
        + Send
        + 'static,
    ) -> Result<AttachmentChange, Fault> {
        let now = self.clock.now();
        let (source_id, slug) = (source.clone(), page.slug.clone());
        let change = author_of_change(caller);
        Ok(self.files.write_page((source, &page.slug), move |transaction| {
            let page =
                transaction.page(&source_id, &slug)?.filter(|page| page.deleted_at.is_none());
            let page = page.ok_or_else(|| StoreError::from(no_page(&source_id, &slug)))?;
            let mut document = stored_document(&transaction.content(&page)?)?;
            check_plain(&document, ATTACHMENTS)?;
            let (status, record, is_document_changed) = edit(transaction, &page, &mut document)?;
            if !is_document_changed {
                return Ok(AttachmentChange { status, page, record });
            }
            let provenance = page.provenance;
            let new = build_new_page(&slug, document, provenance, None, change.clone())?;
            let page = transaction.write_page(&source_id, &slug, &new, now)?.record;
            Ok(AttachmentChange { status, page, record })
        })?)
    }

    fn attach_reply(
        &self,
        caller: &Caller,
        source: &SourceId,
        page: PageRef,
        name: &str,
        change: &AttachmentChange,
    ) -> Result<AttachReply, Fault> {
        let warnings = match change.status {
            ChangeStatus::Unchanged => Vec::new(),
            _ => self.files.update_file(source, &change.page, None).warnings(),
        };
        let reader = self.store.read(caller.visibility())?;
        Ok(AttachReply {
            status: change.status,
            slug: page.slug,
            source_id: source.clone(),
            version: change.page.version,
            attachment: attachment_with_pages(&reader, name.to_owned(), &change.record)?,
            warnings,
        })
    }

    /// Lists the attachments of a page.
    pub fn attachments(
        &self,
        caller: &Caller,
        request: &AttachmentList,
    ) -> Result<Attachments, Fault> {
        let reader = self.store.read(caller.visibility())?;
        if let Some(page) = &request.page {
            let (_, _, record) = self.find(caller, &reader, page)?;
            let own = reader.attachments_of(record.id, false)?;
            let attachments =
                own.into_iter().map(|(name, record)| attachment_with_pages(&reader, name, &record));
            return Ok(Attachments { attachments: attachments.collect::<Result<_, _>>()? });
        }
        let only_source = match &request.source {
            Some(_) => Some(crate::sources::resolve(caller, &reader, request.source.as_ref())?.0),
            None => None,
        };
        let mut files: BTreeMap<(String, Hash), (AttachmentRecord, Vec<PageRef>)> = BTreeMap::new();
        for ((source, slug, _), (name, record)) in reader.attachments()? {
            if only_source.as_ref().is_none_or(|only| *only == source) {
                let file = files.entry((name, record.hash)).or_insert((record, Vec::new()));
                file.1.push(PageRef::new(&source, &slug));
            }
        }
        let attachments = files
            .into_iter()
            .map(|((name, _), (record, pages))| attachment_reply(name, &record, pages));
        Ok(Attachments { attachments: attachments.collect() })
    }

    /// Returns the bytes of an attachment.
    pub fn attachment_content(
        &self,
        caller: &Caller,
        request: &AttachmentGet,
    ) -> Result<AttachmentContent, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let (_, _, page) = self.find(caller, &reader, &request.page)?;
        let name = checked_name(&request.name)?;
        let own = reader.attachments_of(page.id, false)?;
        let Some((name, record)) = own.into_iter().find(|(own_name, _)| *own_name == name) else {
            return Err(no_attachment(&request.page.to_string(), &name));
        };
        if self.store.is_attachment_elsewhere(&record.hash, record.bytes) {
            return Err(on_another_machine(&request.page, &name));
        }
        let content = self.store.read_attachment(&record.hash)?;
        let attachment = attachment_with_pages(&reader, name, &record)?;
        Ok(AttachmentContent { attachment, content })
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
            return Err(Fault::new(FaultCode::TooLarge, message).hint(hint!(
                "the limit is pages.max_attachment_mb, at most 16: {}, then {}",
                Command::ConfigSet {
                    key: Some("pages.max_attachment_mb".into()),
                    value: Some("16".into())
                },
                Command::Restart
            )));
        }
        Ok(())
    }

    /// Checks that the files of all attachments exist with the right length. Compares files with
    /// their hashes for at most [`CHECK_TIME`].
    pub(crate) fn check_attachments(&self) -> Finding {
        let files = self.store.read(Visibility::All)?.attached_files()?;
        if files.is_empty() {
            return ok("there are none");
        }
        let until = Instant::now() + CHECK_TIME;
        let (mut bad, mut compared, mut elsewhere) = (Vec::new(), 0, 0);
        for (hash, bytes) in &files {
            if self.store.is_attachment_elsewhere(hash, *bytes) {
                elsewhere += 1;
            } else if self.store.attachments().length(hash) != Some(*bytes) {
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
            let here = all - elsewhere;
            let checked = match compared == here {
                true => format!("{here} files, and all match their hashes"),
                false => format!("{here} files; {compared} were compared with their hashes"),
            };
            return ok(match elsewhere {
                0 => checked,
                _ => format!("{checked}; {elsewhere} large ones are on other machines"),
            });
        }
        let reader = self.store.read(Visibility::All)?;
        let mut named = Vec::new();
        for hash in bad.iter().take(MAX_NAMED) {
            named.push(damaged_name(&reader, hash)?);
        }
        fail(
            format!("{} of {all} files are missing or damaged: {}", bad.len(), named.join(", ")),
            hint!(
                "attach the same files again ({}), or take them from a backup: {}, then {}",
                Command::Attach { page: None },
                Command::BackupRestore { file: None }.in_other_home(),
                Command::AttachmentsGet { page: None }.in_other_home()
            ),
        )
    }
}

/// Returns the fault of an attachment that is too large to be on every machine of a shared brain.
fn on_another_machine(page: &PageRef, name: &str) -> Fault {
    let message = format!(
        "\"{name}\" is on the machine where it was attached: every machine has files of up to \
         {} MB",
        MAX_SHARED_ATTACHMENT >> 20
    );
    Fault::new(FaultCode::NotFound, message).hint(hint!(
        "on that machine: {}",
        Command::AttachmentsGet { page: Some(page.to_string()) }
    ))
}

/// Describes a damaged file: by its name on the first page that has it, or by its hash if only
/// deleted pages have it.
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

/// Returns the names of the files that `from` brings to `into`. `text` is the merged page.
///
/// # Errors
/// `conflict` if both pages have different files with one name; the fault of [`check_plain`] if
/// `text` cannot list files.
pub(crate) fn check_mergeable(
    reader: &Reader,
    from: &PageEntry,
    into: &PageEntry,
    text: &Document,
) -> Result<Vec<String>, Fault> {
    let (_, from_slug, from_record) = from;
    let (_, _, into_record) = into;
    let files = reader.attachments_of(from_record.id, false)?;
    if files.is_empty() {
        return Ok(Vec::new());
    }
    check_plain(text, ATTACHMENTS)?;
    let own: BTreeMap<String, AttachmentRecord> =
        reader.attachments_of(into_record.id, false)?.into_iter().collect();
    let differs = |(name, record): &&NamedAttachment| {
        own.get(name).is_some_and(|other| other.hash != record.hash)
    };
    if let Some((name, _)) = files.iter().find(differs) {
        let message = format!("both pages have a file \"{name}\", with different bytes");
        return Err(Fault::new(FaultCode::Conflict, message).hint(hint!(
            "first attach the file of {} with another name, and remove it with this one: {}, then \
             {}",
            from_slug.to_string(),
            Command::AttachAs { page: Some(from_slug.to_string()) },
            Command::AttachmentsRemove {
                page: Some(from_slug.to_string()),
                name: Some(name.to_string())
            }
        )));
    }
    Ok(files.into_iter().map(|(name, _)| name).collect())
}

/// Returns the name in its normal form, or `invalid_request` if it cannot be an attachment's name.
fn checked_name(name: &str) -> Result<String, Fault> {
    attachment_name(name).map_err(|reason| {
        let message = format!("the name \"{}\" {reason}", name.escape_debug());
        Fault::new(FaultCode::InvalidRequest, message)
            .hint(hint!("give the file another name: {}", Command::AttachAs { page: None }))
    })
}

fn no_attachment(page: &str, name: &str) -> Fault {
    Fault::new(FaultCode::NotFound, format!("\"{page}\" has no file \"{name}\""))
        .hint(hint!("see {}", Command::Attachments { page: Some(page.to_string()) }))
}

/// Builds the reply about a file, with all its pages that the caller can see.
fn attachment_with_pages(
    reader: &Reader,
    name: String,
    record: &AttachmentRecord,
) -> Result<Attachment, Fault> {
    let pages = reader.pages_with(&record.hash)?;
    let pages = pages.iter().map(|(source, slug, _)| PageRef::new(source, slug)).collect();
    Ok(attachment_reply(name, record, pages))
}

fn attachment_reply(name: String, record: &AttachmentRecord, pages: Vec<PageRef>) -> Attachment {
    Attachment {
        media_type: attachment_media_type(&name).into(),
        name,
        bytes: record.bytes,
        hash: page::hex(&record.hash),
        attached_at: rfc3339(record.attached_at),
        pages,
    }
}
