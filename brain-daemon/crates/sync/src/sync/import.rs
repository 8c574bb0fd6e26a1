//! `import`: stores a directory of markdown files, or the export of another program, once.
//!
//! Files are read and parsed on all cores while the previous batch is stored in one commit. The
//! files of the stored pages are written after that commit. A file that fails is reported, and the
//! others are imported. If the import ends early, stored pages stay. The next import continues from
//! there, because it does not write unchanged pages.

use std::path::Path;
use std::thread::ScopedJoinHandle;
use std::time::Instant;

use brain_protocol::{
    Command, Fault, FaultCode, Import, ImportFailure, ImportReply, MAX_CONTENT, Slug, SourceId,
    SyncStatus, WriteStatus, hint,
};

use super::beside::links_warning;
use crate::sync::SyncService;
use crate::sync::import_attachments::PageWithFiles;
use crate::sync::import_input::ImportInput;
use brain_base::caller::{Caller, Visibility};
use brain_page::{Frontmatter, NoteDates, assign_slugs};
use brain_pages::files::read::file_times;
use brain_pages::pages::put::{WriteEffect, write_effect};
use brain_pages::provenance::{IMPORT, has_claims, move_unverified_provenance};
use brain_pages::sources::do_overlap;
use brain_pages::write_page::{build_new_page, read_document};
use brain_service::Progress;
use brain_service::batch::{Failures, in_batches, map_in_parallel};

use brain_files::{CommitTimes, MarkdownFile};
use brain_store::{LineChange, NewPage, PageRecord, Provenance, StoreError, WrittenPage};

/// The maximum number of warnings in a reply.
const MAX_WARNINGS: usize = 20;

/// A file to import, and its slug.
type FileWithSlug = (MarkdownFile, Slug);

/// A page to store.
struct ImportPage {
    path: String,
    slug: Slug,
    /// The frontmatter of the file.
    frontmatter: Frontmatter,
    /// The same, with unverified provenance keys moved to `received`.
    verified_frontmatter: Frontmatter,
    page: NewPage,
}

impl ImportPage {
    fn with_files(&self) -> Option<PageWithFiles> {
        PageWithFiles::of(&self.path, &self.slug, &self.frontmatter)
    }
}

/// The counts and failures of an import.
#[derive(Default)]
struct ImportTally {
    created: u64,
    updated: u64,
    restored: u64,
    unchanged: u64,
    failures: Failures,
    warnings: Vec<String>,
}

impl ImportTally {
    /// Returns the page, or records the failure of its file.
    fn accept(&mut self, file: Result<ImportPage, ImportFailure>) -> Option<ImportPage> {
        file.map_err(|ImportFailure { path, reason }| self.failures.add(path, reason)).ok()
    }

    fn refuse_blank(&mut self, path: String) {
        self.failures.add(path, "it is empty, and would blank the page of that slug");
    }

    /// Waits for a thread that writes files, and adds its problems.
    fn warn(&mut self, writer: Option<ScopedJoinHandle<'_, Vec<String>>>) {
        let Some(writer) = writer else { return };
        let problems = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let max_new = MAX_WARNINGS.saturating_sub(self.warnings.len());
        self.warnings.extend(
            problems.into_iter().take(max_new).map(|p| format!("stored, but its file is not: {p}")),
        );
    }

    fn count(&mut self, status: WriteStatus) {
        match status {
            WriteStatus::Created => self.created += 1,
            WriteStatus::Updated => self.updated += 1,
            WriteStatus::Restored => self.restored += 1,
            WriteStatus::Unchanged | WriteStatus::Queued => self.unchanged += 1,
        }
    }
}

/// An import in progress.
struct ImportRun<'a> {
    service: &'a SyncService,
    progress: &'a dyn Progress,
    input: &'a ImportInput<'a>,
    source: &'a SourceId,
    dry_run: bool,
    tally: ImportTally,
    /// Stored pages with attachments.
    with_files: Vec<PageWithFiles>,
    /// The number of files that are done.
    done: u64,
    /// The number of all files.
    total: u64,
}

impl ImportRun<'_> {
    /// Reads the files and stores their pages, in batches. While one batch is stored, the next one
    /// is read, and the files of the previous one are written.
    fn store_files(&mut self, files: Vec<MarkdownFile>) -> Result<(), Fault> {
        let files = files_with_slugs(files, &mut self.tally);
        self.done = self.total - files.len() as u64;
        let (service, input, source) = (self.service, self.input, self.source);
        let commits = match input.export {
            Some(_) => CommitTimes::default(),
            None => {
                let dir = input.dir();
                service.git_history.commit_times(dir, None, &|| self.should_continue())
            }
        };
        let now = service.env.clock.now();
        let stored_provenance = |slug: &Slug| {
            let page = service.store.read(Visibility::All)?.page_even_deleted(source, slug)?;
            Ok(page.map(|record| record.provenance))
        };
        let read = |(file, slug): &FileWithSlug| {
            read_page(input, &file.path, slug, now, &commits, &stored_provenance)
        };
        std::thread::scope(|scope| -> Result<(), Fault> {
            let mut writer: Option<ScopedJoinHandle<'_, Vec<String>>> = None;
            in_batches(
                &files,
                |(file, _)| file.stat.size,
                read,
                |batch| {
                    let count = batch.len() as u64;
                    let changed = self.accept_batch(batch)?;
                    let former_writer =
                        writer.replace(scope.spawn(move || service.write_files(source, &changed)));
                    self.tally.warn(former_writer);
                    service.index.wait_for_backlog();
                    self.done += count;
                    Ok(())
                },
            )?;
            self.tally.warn(writer);
            Ok(())
        })
    }

    /// Reports the progress. Returns whether the import should continue.
    fn should_continue(&self) -> bool {
        self.progress.at(self.done, self.total) && !self.service.env.stop.is_cancelled()
    }

    /// Stores a batch of files that were read. Returns the pages whose files must be written.
    fn accept_batch(
        &mut self,
        batch: Vec<Result<ImportPage, ImportFailure>>,
    ) -> Result<Vec<WrittenPage>, Fault> {
        let (done, total) = (self.done, self.total);
        if !self.should_continue() {
            let message = format!("the import ended early, after {done} of {total} files");
            return Err(Fault::new(FaultCode::Cancelled, message)
                .hint("imported pages stay; import the directory again to continue"));
        }
        let pages: Vec<ImportPage> =
            batch.into_iter().filter_map(|file| self.tally.accept(file)).collect();
        self.with_files.extend(pages.iter().filter_map(ImportPage::with_files));
        let stored = self.service.store_batch(self.source, pages, self.dry_run, &mut self.tally);
        stored.map_err(|fault| Fault {
            message: format!(
                "{}; {done} of {total} files were imported before that",
                fault.message
            ),
            ..fault
        })
    }
}

impl SyncService {
    /// Creates pages from the markdown files of a directory.
    pub fn import(
        &self,
        caller: &Caller,
        request: &Import,
        progress: &dyn Progress,
    ) -> Result<ImportReply, Fault> {
        let began = Instant::now();
        let home =
            self.env.home.root().canonicalize().unwrap_or_else(|_| self.env.home.root().to_owned());
        let input = self.import_input(request, &home, progress)?;
        let source = self.target_source(caller, request, &input.path)?;
        let mut found = self.import_files(&input, &home)?;
        let mut run = ImportRun {
            service: self,
            progress,
            input: &input,
            source: &source,
            dry_run: request.dry_run,
            tally: ImportTally::default(),
            with_files: Vec::new(),
            done: 0,
            total: found.files.len() as u64,
        };
        run.tally.warnings.extend(input.warning.clone());
        let problem = input.export.as_ref().and_then(|export| export.problem.clone());
        if let Some(problem) = problem {
            run.tally.failures.add(request.path.clone(), problem);
        }
        for (path, reason) in std::mem::take(&mut found.unreadable) {
            let path = if path.is_empty() { request.path.clone() } else { path };
            run.tally.failures.add(path, reason);
        }
        let _refresh = self.index.refresh_on_drop();
        run.store_files(std::mem::take(&mut found.files))?;
        let ImportRun { mut tally, with_files, total, .. } = run;
        if !request.dry_run {
            self.attach_exported(caller, input.dir(), &source, &with_files, &mut tally.failures)?;
        }
        for failure in &mut tally.failures.named {
            failure.path = input.name(&failure.path).to_owned();
        }
        progress.at(total, total);
        let format = input.export.as_ref().map(|export| export.format.clone());
        let (not_imported, skipped) = input.not_imported(&mut found);
        Ok(ImportReply {
            status: match tally.failures.total {
                0 => SyncStatus::Done,
                _ => SyncStatus::Partial,
            },
            dry_run: request.dry_run,
            format,
            files: total,
            created: tally.created,
            updated: tally.updated,
            restored: tally.restored,
            unchanged: tally.unchanged,
            skipped,
            failed: tally.failures.named,
            failed_total: tally.failures.total,
            warnings: links_warning(&found.links).into_iter().chain(tally.warnings).collect(),
            took_ms: began.elapsed().as_millis() as u64,
            not_imported,
            left_out: found.ignored,
        })
    }

    /// Returns the source that gets the pages. Refuses one whose directory overlaps `dir`.
    fn target_source(
        &self,
        caller: &Caller,
        request: &Import,
        dir: &Path,
    ) -> Result<SourceId, Fault> {
        let (source, record) = brain_pages::sources::resolve(
            caller,
            &self.store.read(caller.visibility())?,
            request.source.as_ref(),
        )?;
        if record.path.as_ref().is_some_and(|own| do_overlap(dir, Path::new(own))) {
            let message = format!("{} overlaps the directory of source \"{source}\"", request.path);
            return Err(Fault::new(FaultCode::Usage, message).hint(hint!(
                "sync it instead: {}",
                Command::SyncSource { source: Some(source.to_string()) }
            )));
        }
        Ok(source)
    }

    /// Stores a batch in one commit. Returns the pages whose files must be written.
    fn store_batch(
        &self,
        source: &SourceId,
        pages: Vec<ImportPage>,
        dry_run: bool,
        tally: &mut ImportTally,
    ) -> Result<Vec<WrittenPage>, Fault> {
        let now = self.env.clock.now();
        let id = source.clone();
        if dry_run {
            return self.compare(source, &pages, tally).map(|()| Vec::new());
        }
        let paths: Vec<String> = pages.iter().map(|r| r.path.clone()).collect();
        let applied = self.store.write(move |transaction| {
            transaction.mark_as_bulk();
            let mut out = Vec::with_capacity(pages.len());
            for ImportPage { slug, frontmatter, verified_frontmatter, page, .. } in &pages {
                let existing = transaction.page(&id, slug)?;
                let effect = write_effect(
                    existing,
                    |page| transaction.content(page),
                    &[frontmatter, verified_frontmatter],
                    &page.content.body,
                )?;
                out.push(match effect {
                    WriteEffect::Unchanged(record) => Some(WrittenPage::unchanged(*record)),
                    WriteEffect::Blank => None,
                    WriteEffect::Write(_) => Some(transaction.write_page(&id, slug, page, now)?),
                });
            }
            Ok(out)
        })?;
        let mut changed = Vec::with_capacity(applied.len());
        for (path, applied) in paths.into_iter().zip(applied) {
            match applied {
                Some(WrittenPage { status: WriteStatus::Unchanged, .. }) => {
                    tally.count(WriteStatus::Unchanged);
                }
                Some(page) => {
                    tally.count(page.status);
                    changed.push(page);
                }
                None => tally.refuse_blank(path),
            }
        }
        Ok(changed)
    }

    /// Counts the effects in a dry run, with the same decisions, from a snapshot.
    fn compare(
        &self,
        source: &SourceId,
        pages: &[ImportPage],
        tally: &mut ImportTally,
    ) -> Result<(), Fault> {
        let reader = self.store.read(Visibility::All)?;
        for ImportPage { path, slug, frontmatter, verified_frontmatter, page } in pages {
            let existing = reader.page_even_deleted(source, slug)?;
            let content = |page: &PageRecord| reader.content(page);
            let frontmatters = [frontmatter, verified_frontmatter];
            match write_effect(existing, content, &frontmatters, &page.content.body)? {
                WriteEffect::Unchanged(_) => tally.count(WriteStatus::Unchanged),
                WriteEffect::Blank => tally.refuse_blank(path.clone()),
                WriteEffect::Write(status) => tally.count(status),
            }
        }
        Ok(())
    }

    /// Writes the files of stored pages. Returns the problems.
    fn write_files(&self, source: &SourceId, changed: &[WrittenPage]) -> Vec<String> {
        let write = |page: &WrittenPage| {
            self.pages.files.update_file(source, &page.record, page.content.as_ref()).problem
        };
        map_in_parallel(changed, write).into_iter().flatten().collect()
    }
}

/// Reads the file at `path` below the input's directory, and builds its page. `commits` are the commits of all
/// files, and `stored_provenance` finds the provenance of the page at a slug.
fn read_page(
    input: &ImportInput<'_>,
    path: &str,
    slug: &Slug,
    now: i64,
    commits: &CommitTimes,
    stored_provenance: &impl Fn(&Slug) -> Result<Option<Provenance>, StoreError>,
) -> Result<ImportPage, ImportFailure> {
    let file_path = input.dir().join(path);
    let page = || {
        let meta = std::fs::metadata(&file_path).map_err(|e| e.to_string())?;
        let size = meta.len();
        if size > MAX_CONTENT as u64 {
            return Err(format!("it has {size} bytes, more than the limit of {MAX_CONTENT}"));
        }
        let bytes = std::fs::read(&file_path).map_err(|e| e.to_string())?;
        let document = read_document(&bytes, path).map_err(|fault| fault.message)?;
        let uri = input.uri(path);
        let previous = match has_claims(&document.frontmatter) {
            true => stored_provenance(slug).map_err(|error| error.to_string())?,
            false => None,
        };
        // All lines get the author of the page.
        let change = (IMPORT.author(uri.clone()), LineChange::ByPageAuthor);
        let provenance =
            IMPORT.provenance_of_file(&document.frontmatter, uri, now, previous.as_ref());
        let frontmatter = document.frontmatter.clone();
        let mut verified_frontmatter = frontmatter.clone();
        move_unverified_provenance(&mut verified_frontmatter, &provenance, None);
        let page = build_new_page(slug, document, provenance, None, change)
            .map_err(|fault| fault.message)?;
        // The times of converted files say nothing.
        let file = input.export.is_none().then(|| file_times(&meta));
        let commits = commits.get(path).copied();
        let dates = NoteDates { commits, file, ..page.dates };
        let page = NewPage { dates, ..page };
        let (path, slug) = (path.to_owned(), slug.clone());
        Ok(ImportPage { path, slug, frontmatter, verified_frontmatter, page })
    };
    page().map_err(|reason| ImportFailure { path: path.to_owned(), reason })
}

/// Returns the files with their slugs.
fn files_with_slugs(files: Vec<MarkdownFile>, tally: &mut ImportTally) -> Vec<FileWithSlug> {
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let slugs = assign_slugs(&paths, |_| false);
    let mut with_slugs = Vec::with_capacity(files.len());
    for (file, slug) in files.into_iter().zip(slugs) {
        match slug {
            Ok(slug) => with_slugs.push((file, slug)),
            Err(e) => tally.failures.add(file.path, e.to_string()),
        }
    }
    with_slugs
}
