//! Changes to a page's frontmatter: tags and typed links.

use brain_protocol::{
    ChangeStatus, Command, Fault, FaultCode, Link, LinkReply, PageRef, PageTags, Slug, SourceId,
    TagCount, TagCounts, Tags, TagsReply, hint,
};

use crate::pages::{PageService, no_page};
use crate::provenance::{INGEST_KEYS, author_of_change};
use crate::write_page::{build_new_page, clean_tags, stored_document};
use brain_base::caller::Caller;
use brain_page::{self as page, Document, is_link_key};
use brain_store::{PageRecord, StoreError, WrittenPage};

impl PageService {
    /// Lists all tags, or adds and removes tags of a page.
    pub fn tags(&self, caller: &Caller, request: Tags) -> Result<TagsReply, Fault> {
        let Some(slug) = request.slug else {
            return self.all_tags(caller, &request).map(TagsReply::All);
        };
        let (add, remove) = (clean_tags(&request.add)?, clean_tags(&request.remove)?);
        let page = PageRef { source: request.source, slug };
        if add.is_empty() && remove.is_empty() {
            let reader = self.store.read(caller.visibility())?;
            let (source_id, slug, record) = self.find(caller, &reader, &page)?;
            let (tags, warnings) = (record.tags, Vec::new());
            let reply = PageTags { slug, source_id, tags, changed: false, warnings };
            return Ok(TagsReply::OfPage(reply));
        }
        let slug = page.slug.clone();
        let change = TagChange { add, remove, slug: slug.clone(), argument: page.to_string() };
        let (source, update) = self.edit(caller, &page, move |document| change.apply(document))?;
        let warnings = match &update {
            Some(applied) => self
                .files
                .update_file(&source, &applied.record, applied.content.as_ref())
                .warnings(),
            None => Vec::new(),
        };
        let tags = match &update {
            Some(applied) => applied.record.tags.clone(),
            None => self.active(caller, &self.store.read(caller.visibility())?, &page)?.1.tags,
        };
        Ok(TagsReply::OfPage(PageTags {
            slug,
            source_id: source,
            tags,
            changed: update.is_some(),
            warnings,
        }))
    }

    /// Counts the pages of each tag. Refuses a change of tags, which needs a page.
    fn all_tags(&self, caller: &Caller, request: &Tags) -> Result<TagCounts, Fault> {
        if !request.add.is_empty() || !request.remove.is_empty() {
            return Err(Fault::new(
                FaultCode::Usage,
                "--add and --remove need the slug of one page",
            )
            .hint(hint!(
                "name it: {}",
                Command::TagsAdd { page: None, tag: Some("work".into()) }
            )));
        }
        let reader = self.store.read(caller.visibility())?;
        let source = match &request.source {
            Some(_) => Some(crate::sources::resolve(caller, &reader, request.source.as_ref())?.0),
            None => None,
        };
        let counts = reader.tag_counts(source.as_ref())?;
        let mut tags: Vec<TagCount> =
            counts.into_iter().map(|(tag, pages)| TagCount { tag, pages }).collect();
        tags.sort_by(|a, b| b.pages.cmp(&a.pages).then_with(|| a.tag.cmp(&b.tag)));
        Ok(TagCounts { tags })
    }

    /// Adds a typed link to a page, or removes it.
    pub fn link(&self, caller: &Caller, request: Link) -> Result<LinkReply, Fault> {
        check_kind(&request.kind)?;
        let Link { from, to, kind, remove, to_source } = request;
        let reader = self.store.read(caller.visibility())?;
        let (own_source, _) = self.active(caller, &reader, &from)?;
        if let Some(source) = &to_source {
            crate::sources::resolve(caller, &reader, Some(source))?;
        }
        drop(reader);
        let to_source = to_source.filter(|source| *source != own_source);
        let from = PageRef { source: Some(own_source), slug: from.slug };
        let to = PageRef { source: to_source, slug: to };
        let (target, key) = (to.clone(), kind.clone());
        let (source, update) = self.edit(caller, &from, move |document| {
            check_plain(document, &key)?;
            let before = document.frontmatter.list(&key);
            let mut values: Vec<String> =
                before.iter().filter(|v| !is_link_to(v, &target)).cloned().collect();
            if !remove {
                if values.len() < before.len() {
                    return Ok(());
                }
                values.push(format!("[[{target}]]"));
            }
            if values != before {
                document.frontmatter.set_list(&key, &values);
            }
            Ok(())
        })?;
        let warnings = match &update {
            Some(applied) => self
                .files
                .update_file(&source, &applied.record, applied.content.as_ref())
                .warnings(),
            None => Vec::new(),
        };
        let status = match (&update, remove) {
            (None, _) => ChangeStatus::Unchanged,
            (Some(_), true) => ChangeStatus::Removed,
            (Some(_), false) => ChangeStatus::Added,
        };
        let reader = self.store.read(caller.visibility())?;
        let target_source = to.source.as_ref().unwrap_or(&source);
        let target_exists = reader.page(target_source, &to.slug)?.is_some();
        Ok(LinkReply { from: from.slug, to: to.slug, kind, status, target_exists, warnings })
    }

    /// Edits an active page with `change`. Returns its source, and the written page if it changed.
    fn edit(
        &self,
        caller: &Caller,
        page: &PageRef,
        change: impl Fn(&mut Document) -> Result<(), Fault> + Send + 'static,
    ) -> Result<(SourceId, Option<WrittenPage>), Fault> {
        let now = self.clock.now();
        let (source, _) = self.active(caller, &self.store.read(caller.visibility())?, page)?;
        let (source_id, slug) = (source.clone(), page.slug.clone());
        let author = author_of_change(caller);
        let applied = self.files.write_page((&source, &page.slug), move |transaction| {
            let record = transaction.page(&source_id, &slug)?.filter(|r| r.deleted_at.is_none());
            let record: PageRecord =
                record.ok_or_else(|| StoreError::from(no_page(&source_id, &slug)))?;
            let content = transaction.content(&record)?;
            let mut document = stored_document(&content)?;
            change(&mut document)?;
            if content.frontmatter == document.frontmatter.raw() && document.body == content.body {
                return Ok(None);
            }
            let page = build_new_page(&slug, document, record.provenance, None, author.clone())?;
            transaction.write_page(&source_id, &slug, &page, now).map(Some)
        })?;
        Ok((source, applied))
    }
}

/// A change of the tags of a page.
struct TagChange {
    add: Vec<String>,
    remove: Vec<String>,
    slug: Slug,
    /// The arguments that name the page in a command.
    argument: String,
}

impl TagChange {
    /// Changes the tags in the frontmatter. Refuses to remove a tag that is in the text.
    fn apply(&self, document: &mut Document) -> Result<(), Fault> {
        check_plain(document, "tags")?;
        check_plain(document, "tag")?;
        let Self { add, remove, slug, argument } = self;
        let text_tags = page::body_tags(&document.body);
        if let Some(tag) = text_tags.iter().find(|tag| remove.contains(&page::normalize_tag(tag))) {
            let message = format!(
                "the tag \"{}\" is in the text of \"{slug}\", as #{tag}",
                page::normalize_tag(tag)
            );
            return Err(Fault::new(FaultCode::Conflict, message).hint(hint!(
                "take it out of the text: {}, edit, and {}",
                Command::Get { page: Some(argument.clone()) },
                Command::Put { page: Some(argument.clone()) }
            )));
        }
        let before = document.frontmatter.tags();
        let mut tags: Vec<String> =
            before.iter().filter(|t| !remove.contains(t)).cloned().collect();
        for tag in add {
            if !tags.contains(tag) {
                tags.push(tag.clone());
            }
        }
        if tags != before {
            // Both keys are read, but only `tags` is written.
            document.frontmatter.remove("tag");
            document.frontmatter.set_list("tags", &tags);
        }
        Ok(())
    }
}

/// Returns whether a value of a typed link names the page `to`.
fn is_link_to(value: &str, to: &PageRef) -> bool {
    let inner = value.trim().trim_start_matches("[[").trim_end_matches("]]");
    inner.split('|').next().unwrap_or(inner).trim() == to.to_string()
}

/// Refuses to set a key that has more than a list of words: setting it would lose the rest.
pub(crate) fn check_plain(document: &Document, key: &str) -> Result<(), Fault> {
    if document.frontmatter.is_plain(key) {
        return Ok(());
    }
    Err(Fault::new(
        FaultCode::Conflict,
        format!("\"{key}\" in this page's frontmatter is more than a list of words"),
    )
    .hint(hint!(
        "change it by hand: {}, edit, and {}",
        Command::Get { page: None },
        Command::Put { page: None }
    )))
}

/// Refuses a kind of link that is not one lower-case word of up to 64 bytes, or that is a
/// frontmatter key with another meaning.
fn check_kind(kind: &str) -> Result<(), Fault> {
    let is_word = !kind.is_empty()
        && kind.len() <= 64
        && kind
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-');
    let is_reserved = INGEST_KEYS.contains(&kind) || ["date", "url"].contains(&kind);
    if is_word && is_link_key(kind) && !is_reserved {
        return Ok(());
    }
    Err(Fault::new(FaultCode::Usage, format!("\"{}\" is not a kind of link", kind.escape_debug()))
        .hint("use one lower-case word, for example related, company or attendees"))
}
