//! `export`: writes all active pages as markdown files, and their attachments beside them, from one
//! consistent state.
//!
//! One short read lists the pages with their version numbers. Later short reads fetch the texts. If
//! a page has changed meanwhile, its listed version is read from its history. So the export is as
//! consistent as one long snapshot, but no snapshot is open while a slow disk is written.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

use brain_protocol::{
    Export, ExportReply, Fault, FaultCode, ImportFailure, SIZE_LIMIT_HINT, Slug, SourceId,
    SyncStatus,
};

use crate::backup::scheduled_backup::BackupService;
use crate::backup::{absolute, target_fault};
use crate::sync::export_dir::export_dir;
use brain_base::caller::Caller;
use brain_page as page;
use brain_service::Progress;
use brain_store::{Content, NamedAttachment, PageEntry, Reader, StoreError};

/// The maximum number of pages in one read.
const BATCH: usize = 200;
/// The number of bytes after which a read ends.
const BATCH_BYTES: usize = 8_000_000;
/// The maximum number of failures in a reply.
const MAX_FAILURES: usize = 1000;

/// A page to export, in the version that it had when the export began.
struct PageVersion {
    id: u64,
    version: u32,
    source: SourceId,
    slug: Slug,
    path: String,
}

impl BackupService {
    /// Writes the pages of a source as files into a directory.
    pub fn export(
        &self,
        caller: &Caller,
        request: &Export,
        progress: &dyn Progress,
    ) -> Result<ExportReply, Fault> {
        let dir = absolute(&request.path)?;
        let reader = self.store.read(caller.visibility())?;
        let sources = reader.sources()?;
        let only_source = match &request.source {
            Some(named) => Some(brain_pages::sources::resolve(caller, &reader, Some(named))?.0),
            None => None,
        };
        let pages = self.page_versions(&reader, only_source.as_ref())?;
        let attached = reader.attachments()?;
        drop(reader);
        let has_source_dirs = only_source.is_none() && sources.len() > 1;
        let own_dirs =
            sources.iter().filter_map(|(_, record)| record.path.as_deref()).map(Path::new);
        self.refuse_own_dirs(&dir, own_dirs)?;
        let mut target = ExportTarget::new(dir)?;
        let mut remaining = pages.as_slice();
        let total = pages.len() as u64;
        while !remaining.is_empty() {
            let done = total - remaining.len() as u64;
            if !progress.at(done, total) || self.stop.is_cancelled() {
                let message = format!("the export ended early, after {done} of {total} pages");
                return Err(Fault::new(FaultCode::Cancelled, message)
                    .hint(format!("empty {} and export again", target.root.display())));
            }
            let texts = self.texts(caller, remaining)?;
            for (listed, text) in remaining.iter().zip(&texts) {
                let source_dir = has_source_dirs.then(|| listed.source.as_str());
                let result = text.as_ref().map_err(ToString::to_string).and_then(|text| {
                    target
                        .write_page(source_dir, listed, text)
                        .or_else(|e| target.check_fatal(&e, done, total))
                });
                if let Err(reason) = result {
                    target.record_failure(&listed.source, &listed.slug, reason);
                }
                if let Some(fault) = target.fatal_fault.take() {
                    return Err(fault);
                }
            }
            remaining = &remaining[texts.len()..];
        }
        self.export_attachments(&mut target, only_source.as_ref(), has_source_dirs, attached)?;
        target.flush()?;
        progress.at(total, total);
        Ok(target.reply)
    }

    /// Lists the pages of a source, or of all sources.
    fn page_versions(
        &self,
        reader: &Reader,
        only_source: Option<&SourceId>,
    ) -> Result<Vec<PageVersion>, Fault> {
        let mut pages = Vec::new();
        self.store.with_damage_report(|| {
            reader.pages_in_order(
                (only_source.map_or("", SourceId::as_str), ""),
                |(source, slug, record)| {
                    let is_exported = only_source.is_none_or(|only| *only == source);
                    if is_exported {
                        let (id, version, path) = (record.id, record.version, record.source_path);
                        pages.push(PageVersion { id, version, source, slug, path });
                    }
                    Ok(is_exported || only_source.is_none())
                },
            )
        })?;
        Ok(pages)
    }

    /// Writes the attachments into the directories of their pages. With `has_source_dirs`, each
    /// source has a directory of its own.
    fn export_attachments(
        &self,
        target: &mut ExportTarget,
        only_source: Option<&SourceId>,
        has_source_dirs: bool,
        attached: Vec<(PageEntry, NamedAttachment)>,
    ) -> Result<(), Fault> {
        for ((source, slug, page), (name, record)) in attached {
            if only_source.is_some_and(|only| *only != source) {
                continue;
            }
            let source_dir = has_source_dirs.then(|| source.as_str());
            let content = self.store.read_attachment(&record.hash).map_err(|e| e.to_string());
            let result = content.and_then(|content| {
                let result =
                    target.write_attachment(source_dir, &page.source_path, &name, &content);
                result.or_else(|e| target.check_fatal(&e, target.reply.files, target.reply.files))
            });
            if let Err(reason) = result {
                target.record_failure(&source, &slug, format!("{name}: {reason}"));
            }
            if let Some(fault) = target.fatal_fault.take() {
                return Err(fault);
            }
        }
        Ok(())
    }

    /// Reads the texts of the first pages of `remaining`, at least one, in their listed versions.
    fn texts(
        &self,
        caller: &Caller,
        remaining: &[PageVersion],
    ) -> Result<Vec<Result<String, StoreError>>, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let (mut out, mut bytes) = (Vec::new(), 0);
        for listed in remaining.iter().take(BATCH) {
            if bytes > BATCH_BYTES {
                break;
            }
            let text = self
                .store
                .with_damage_report(|| content_of_version(&reader, listed))
                .map(|content| content.file_text());
            bytes += text.as_ref().map_or(0, String::len);
            out.push(text);
        }
        Ok(out)
    }

    /// Refuses a directory inside of the home or of `own_dirs`, the directories of sources: a sync
    /// would store the exported copies as pages.
    fn refuse_own_dirs<'a>(
        &'a self,
        dir: &Path,
        own_dirs: impl Iterator<Item = &'a Path>,
    ) -> Result<(), Fault> {
        let nearest = dir.ancestors().find_map(|d| Some((d, d.canonicalize().ok()?)));
        let target_path = nearest.map_or_else(
            || dir.to_owned(),
            |(existing, real)| real.join(dir.strip_prefix(existing).unwrap_or(Path::new(""))),
        );
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let mut own_dirs =
            own_dirs.map(Path::to_owned).filter(|own| target_path.starts_with(real(own)));
        // The home may have been moved since the start.
        let home = || target_path.ancestors().find(|dir| self.home.is_at(dir)).map(Path::to_owned);
        let Some(own) = own_dirs.next().or_else(home) else { return Ok(()) };
        let message =
            format!("{} is inside {}, which is brain's own", dir.display(), own.display());
        Err(Fault::new(FaultCode::Usage, message)
            .hint("export to a directory outside of the home and of every source"))
    }
}

fn content_of_version(reader: &Reader, listed: &PageVersion) -> Result<Content, StoreError> {
    let current = reader.by_id_including_deleted(listed.id)?;
    if let Some((_, _, record)) = current
        && record.version == listed.version
    {
        return reader.content(&record);
    }
    let former = reader.version(listed.id, listed.version)?;
    former.map(|former| former.content).ok_or_else(|| {
        StoreError::Damaged(format!("version {} does not exist any more", listed.version))
    })
}

/// The target directory, and the reply so far.
struct ExportTarget {
    root: PathBuf,
    /// Directories that the export created.
    created_dirs: HashSet<PathBuf>,
    reply: ExportReply,
    /// The fault that ends the export, because each further page would fail too.
    fatal_fault: Option<Fault>,
}

impl ExportTarget {
    /// Creates the directory, or accepts an empty one.
    ///
    /// # Errors
    /// `conflict` if the directory is not empty or `root` is another file; faults of the disk.
    fn new(root: PathBuf) -> Result<Self, Fault> {
        let dir_path = root.display().to_string();
        let io = |e: io::Error| target_fault(StoreError::from_io(&e, &dir_path));
        match fs::read_dir(&root) {
            Ok(mut entries) => {
                if entries.next().is_some() {
                    let message = format!("{dir_path} is not empty: nothing was written");
                    return Err(Fault::new(FaultCode::Conflict, message).hint(
                        "export to a new directory: an export never changes existing files",
                    ));
                }
            }
            Err(e) if e.kind() == ErrorKind::NotFound => make_dir(&root).map_err(io)?,
            Err(e) if e.kind() == ErrorKind::NotADirectory => {
                let message = format!("{dir_path} is not a directory");
                return Err(Fault::new(FaultCode::Conflict, message).hint("name a new directory"));
            }
            Err(e) => return Err(io(e)),
        }
        let reply = ExportReply {
            status: SyncStatus::Done,
            path: dir_path,
            files: 0,
            bytes: 0,
            failed: Vec::new(),
            failed_total: 0,
            attachments: 0,
        };
        Ok(Self { root, created_dirs: HashSet::new(), reply, fatal_fault: None })
    }

    /// Writes the file of a page to its own path. If that path is invalid or in use, writes to the
    /// path of the slug, then to that path with the page's id.
    fn write_page(
        &mut self,
        source_dir: Option<&str>,
        listed: &PageVersion,
        text: &str,
    ) -> io::Result<()> {
        let root = source_dir.map_or_else(|| self.root.clone(), |dir| self.root.join(dir));
        let slug_path = page::file_path(&listed.slug);
        let id_path = format!("{}~{}.md", slug_path.trim_end_matches(".md"), listed.id);
        let candidates = [inside(&listed.path), inside(&slug_path), inside(&id_path)];
        let mut last_error = None;
        for path in candidates.into_iter().flatten() {
            match self.write_file(&root.join(path), text.as_bytes()) {
                // Two pages may have the same path on a file system that ignores case.
                Err(e)
                    if matches!(
                        e.kind(),
                        ErrorKind::AlreadyExists
                            | ErrorKind::NotADirectory
                            | ErrorKind::InvalidFilename
                    ) =>
                {
                    last_error = Some(e);
                }
                Ok(()) => {
                    self.reply.files += 1;
                    return Ok(());
                }
                error => return error,
            }
        }
        Err(last_error.unwrap_or_else(|| io::Error::other("it has no path")))
    }

    /// Writes an attachment into the directory of its page. Pages in one directory share a file
    /// with the same bytes. If a different file has its name, the attachment gets its own
    /// directory. That is a failure, because links do not find the file there; an import finds it.
    fn write_attachment(
        &mut self,
        source_dir: Option<&str>,
        page_path: &str,
        name: &str,
        content: &[u8],
    ) -> io::Result<()> {
        let root = source_dir.map_or_else(|| self.root.clone(), |dir| self.root.join(dir));
        let page_dir = inside(page_path).and_then(Path::parent);
        let dir = page_dir.map_or(root.clone(), |page_dir| root.join(page_dir));
        let Some(name) = inside(name) else { return Err(io::Error::other("it has no valid name")) };
        let path = dir.join(name);
        let result = self.write_file(&path, content);
        match &result {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(_) => return result,
            Ok(()) => {
                self.reply.attachments += 1;
                return Ok(());
            }
        }
        if fs::read(&path)? == content {
            return Ok(());
        }
        let page_path = inside(page_path).unwrap_or(Path::new(""));
        let other = root.join(export_dir(page_path)).join(name);
        self.write_file(&other, content)?;
        self.reply.attachments += 1;
        let message = format!("another file has its name; it was written to {}", other.display());
        Err(io::Error::new(ErrorKind::AlreadyExists, message))
    }

    fn write_file(&mut self, file_path: &Path, content: &[u8]) -> io::Result<()> {
        let dir = file_path.parent().unwrap_or(&self.root);
        if !self.created_dirs.contains(dir) {
            make_dir(dir)?;
            self.created_dirs.insert(dir.to_owned());
        }
        let mut file = File::options().write(true).create_new(true).open(file_path)?;
        if let Err(error) = file.write_all(content) {
            // An incomplete file must not stay.
            let _ = fs::remove_file(file_path);
            return Err(error);
        }
        self.reply.bytes += content.len() as u64;
        Ok(())
    }

    /// Returns the reason as an error if the failure concerns one page only. Otherwise records the
    /// fault that ends the export, and returns `Ok`.
    fn check_fatal(&mut self, error: &io::Error, done: u64, total: u64) -> Result<(), String> {
        use ErrorKind as K;
        if matches!(
            error.kind(),
            K::StorageFull | K::QuotaExceeded | K::FileTooLarge | K::ReadOnlyFilesystem
        ) {
            let dir_path = self.root.display().to_string();
            let fault = target_fault(StoreError::from_io(error, &dir_path));
            self.fatal_fault = Some(Fault {
                message: format!(
                    "{}; about {done} of {total} pages were written before that",
                    fault.message
                ),
                hint: Some(match error.kind() {
                    K::FileTooLarge => format!("{SIZE_LIMIT_HINT}, with {dir_path} emptied").into(),
                    _ => format!(
                        "choose another disk, or make room, empty {dir_path}, and export again"
                    )
                    .into(),
                }),
                ..fault
            });
            return Ok(());
        }
        Err(error.to_string())
    }

    fn record_failure(&mut self, source: &SourceId, slug: &Slug, reason: String) {
        self.reply.status = SyncStatus::Partial;
        self.reply.failed_total += 1;
        if self.reply.failed.len() < MAX_FAILURES {
            let path = match source.as_str() {
                SourceId::DEFAULT => slug.to_string(),
                source => format!("{source}:{slug}"),
            };
            self.reply.failed.push(ImportFailure { path, reason });
        }
    }

    /// Flushes all files and directories to disk.
    fn flush(&self) -> Result<(), Fault> {
        let result = File::open(&self.root).and_then(|root| Ok(rustix::fs::syncfs(&root)?));
        result.map_err(|e| target_fault(StoreError::from_io(&e, &self.root.display().to_string())))
    }
}

fn make_dir(dir: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Returns `path` if it is relative and leads to a file below the directory.
fn inside(path: &str) -> Option<&Path> {
    let parts = Path::new(path).components();
    let is_inside = !path.is_empty() && !path.contains('\0') && { parts }
        .all(|c| matches!(c, Component::Normal(_)));
    is_inside.then(|| Path::new(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leads_out_is_none() {
        for good in ["a.md", "a/b.md", ".hidden/a.md", "a..md", "…/x.md"] {
            assert_eq!(inside(good), Some(Path::new(good)));
        }
        for bad in ["", "/etc/passwd", "../a.md", "a/../../b.md", "a/..", "./a.md", "a\0.md"] {
            assert_eq!(inside(bad), None, "{bad:?}");
        }
    }
}
