//! `import`: a directory of markdown, once.
//!
//! Files are read and worked out on all cores while the batch before is stored in one commit, and
//! written below `pages/` after their commit. A file that fails is reported and the rest goes on.
//! What was stored stays when the import ends early, and importing again goes on from there,
//! because a page that is there just so is left alone.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::thread::ScopedJoinHandle;
use std::time::Instant;

use brain_protocol::{
    Fault, FaultCode, Import, ImportFailure, ImportReply, MAX_CONTENT, Slug, SourceId, WriteStatus,
};

use crate::batch::{Failures, in_batches, meets, on_all_cores};
use crate::pages::put::{Effect, effect};
use crate::provenance::{IMPORT, has_claims, receive_claims};
use crate::sources::overlap;
use crate::write_page::{read_document, written_page};
use crate::{Caller, Progress, SyncService};
use brain_base::caller::Visibility;
use brain_page::Frontmatter;
use brain_store::files::{self, MarkdownFile};
use brain_store::{NewPage, PageRecord, Provenance, StoreError, WrittenPage};

/// How many files that could not be written a reply names.
const MAX_WARNINGS: usize = 20;

/// A file to import, and the slug it gets.
type Source = (MarkdownFile, Slug);

/// A file that can be stored.
struct Ready {
    path: String,
    slug: Slug,
    /// What the file says, and what of it stands in the page: without claims that are not so.
    frontmatters: [Frontmatter; 2],
    page: NewPage,
}

/// Counts of what happened, and the failures.
#[derive(Default)]
struct Tally {
    created: u64,
    updated: u64,
    restored: u64,
    unchanged: u64,
    failures: Failures,
    warnings: Vec<String>,
}

impl Tally {
    /// The file, if it can be stored.
    fn keep(&mut self, file: Result<Ready, ImportFailure>) -> Option<Ready> {
        file.map_err(|ImportFailure { path, reason }| self.failures.add(path, reason)).ok()
    }

    fn blank(&mut self, path: String) {
        self.failures.add(path, "it is empty, and would blank the page of that slug");
    }

    /// Takes the problems of a thread that wrote files.
    fn warn(&mut self, written: Option<ScopedJoinHandle<'_, Vec<String>>>) {
        let Some(written) = written else { return };
        let problems = written.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let room = MAX_WARNINGS.saturating_sub(self.warnings.len());
        self.warnings.extend(
            problems.into_iter().take(room).map(|p| format!("stored, but its file is not: {p}")),
        );
    }

    fn count(&mut self, status: WriteStatus) {
        match status {
            WriteStatus::Created => self.created += 1,
            WriteStatus::Updated => self.updated += 1,
            WriteStatus::Restored => self.restored += 1,
            WriteStatus::Unchanged => self.unchanged += 1,
        }
    }
}

impl SyncService {
    pub(crate) fn import(
        &self,
        caller: &Caller,
        request: &Import,
        progress: &dyn Progress,
    ) -> Result<ImportReply, Fault> {
        let began = Instant::now();
        let own =
            self.env.home.root().canonicalize().unwrap_or_else(|_| self.env.home.root().to_owned());
        let dir = directory(&request.path, &own)?;
        let (source, record) = crate::sources::resolve(
            caller,
            &self.store.read(caller.visibility())?,
            request.source.as_ref(),
        )?;
        if record.path.as_ref().is_some_and(|own| overlap(&dir, Path::new(own))) {
            let message =
                format!("{} has the files of the source \"{source}\" itself", request.path);
            return Err(Fault::new(FaultCode::Usage, message)
                .hint(format!("they are read where they are: `brain sync --source {source}`")));
        }
        let found = files::markdown_files(&dir, "", Some(&own));
        let mut tally = Tally::default();
        for (path, reason) in found.unreadable {
            tally.failures.add(if path.is_empty() { request.path.clone() } else { path }, reason);
        }
        let all = found.files.len();
        let total = all as u64;
        let files = one_slug_each(found.files, &mut tally);
        let mut done = total - files.len() as u64;
        let now = self.env.clock.now();
        let _settled = self.index.settle_at_end();
        std::thread::scope(|scope| -> Result<(), Fault> {
            // While a batch is stored the next one is read, and the files of the one before are
            // written.
            let mut writing: Option<ScopedJoinHandle<'_, Vec<String>>> = None;
            let known = |slug: &Slug| {
                let page = self.store.read(Visibility::All)?.page_even_deleted(&source, slug)?;
                Ok(page.map(|record| record.provenance))
            };
            let read = |(file, slug): &Source| ready(&dir, &file.path, slug, now, &known);
            in_batches(
                &files,
                |(file, _)| file.stat.size,
                read,
                |batch| {
                    if !progress.at(done, total) || self.env.stop.is_cancelled() {
                        let message =
                            format!("the import ended early, after {done} of {total} files");
                        return Err(Fault::new(FaultCode::Cancelled, message)
                            .hint("what was imported stays; import the directory again to go on"));
                    }
                    let count = batch.len() as u64;
                    let ready = batch.into_iter().filter_map(|file| tally.keep(file)).collect();
                    let stored = self.store_batch(&source, ready, request.dry_run, &mut tally);
                    let changed = stored.map_err(|fault| Fault {
                        message: format!(
                            "{}; {done} of {total} files were imported before that",
                            fault.message
                        ),
                        ..fault
                    })?;
                    let source = &source;
                    let written =
                        writing.replace(scope.spawn(move || self.write_files(source, &changed)));
                    tally.warn(written);
                    self.index.wait();
                    done += count;
                    Ok(())
                },
            )?;
            tally.warn(writing);
            Ok(())
        })?;
        progress.at(total, total);
        Ok(ImportReply {
            status: if tally.failures.total == 0 { "done" } else { "partial" }.into(),
            dry_run: request.dry_run,
            files: total,
            created: tally.created,
            updated: tally.updated,
            restored: tally.restored,
            unchanged: tally.unchanged,
            skipped: found.skipped,
            failed: tally.failures.named,
            failed_total: tally.failures.total,
            warnings: tally.warnings,
            took_ms: began.elapsed().as_millis() as u64,
        })
    }

    /// Stores a batch in one commit; the pages whose files are to be written.
    fn store_batch(
        &self,
        source: &SourceId,
        ready: Vec<Ready>,
        dry_run: bool,
        tally: &mut Tally,
    ) -> Result<Vec<PageRecord>, Fault> {
        let now = self.env.clock.now();
        let place = source.clone();
        if dry_run {
            return self.compare(source, &ready, tally).map(|()| Vec::new());
        }
        let paths: Vec<String> = ready.iter().map(|r| r.path.clone()).collect();
        let applied = self.store.write(move |draft| {
            draft.in_bulk();
            let mut out = Vec::with_capacity(ready.len());
            for Ready { slug, frontmatters, page, .. } in &ready {
                let existing = draft.page(&place, slug)?;
                let effect = effect(
                    existing,
                    |page| draft.content(page),
                    &frontmatters.each_ref(),
                    &page.content.body,
                )?;
                out.push(match effect {
                    Effect::Nothing(record) => {
                        Some(WrittenPage { status: WriteStatus::Unchanged, record: *record })
                    }
                    Effect::Blanks => None,
                    Effect::Writes(_) => Some(draft.write_page(&place, slug, page.clone(), now)?),
                });
            }
            Ok(out)
        })?;
        let mut changed: Vec<PageRecord> = Vec::with_capacity(applied.len());
        for (path, applied) in paths.into_iter().zip(applied) {
            match applied {
                Some(WrittenPage { status: WriteStatus::Unchanged, .. }) => {
                    tally.count(WriteStatus::Unchanged);
                }
                Some(WrittenPage { status, record }) => {
                    tally.count(status);
                    changed.push(record);
                }
                None => tally.blank(path),
            }
        }
        Ok(changed)
    }

    /// What a dry run says: the same decisions, from a snapshot.
    fn compare(&self, source: &SourceId, ready: &[Ready], tally: &mut Tally) -> Result<(), Fault> {
        let reader = self.store.read(Visibility::All)?;
        for Ready { path, slug, frontmatters, page } in ready {
            let existing = reader.page_even_deleted(source, slug)?;
            let content = |page: &PageRecord| reader.content(page);
            match effect(existing, content, &frontmatters.each_ref(), &page.content.body)? {
                Effect::Nothing(_) => tally.count(WriteStatus::Unchanged),
                Effect::Blanks => tally.blank(path.clone()),
                Effect::Writes(status) => tally.count(status),
            }
        }
        Ok(())
    }

    /// Writes the files of stored pages; what went wrong.
    fn write_files(&self, source: &SourceId, changed: &[PageRecord]) -> Vec<String> {
        let problems = on_all_cores(changed, |record| self.files.agree(source, record).problem);
        problems.into_iter().flatten().collect()
    }
}

/// The directory to import: there, readable, and not in brain's `own` home.
fn directory(path: &str, own: &Path) -> Result<PathBuf, Fault> {
    let shown = Path::new(path);
    let dir = shown.canonicalize().map_err(|e| {
        let code = if e.kind() == std::io::ErrorKind::NotFound {
            FaultCode::NotFound
        } else {
            FaultCode::Io
        };
        Fault::new(code, format!("cannot import {path}: {e}"))
            .hint("give a directory that the daemon can read")
    })?;
    if !dir.is_dir() {
        let message = format!("{path} is not a directory");
        return Err(Fault::new(FaultCode::Usage, message)
            .hint(format!("for one file: `brain capture --file {path}`")));
    }
    if dir.starts_with(own) {
        let message = format!("{path} is inside brain's own home");
        return Err(Fault::new(FaultCode::Usage, message)
            .hint("import the directory that your notes came from; to take in the files of a lost store, move its pages/ elsewhere first"));
    }
    Ok(dir)
}

/// One file as a page. `known` finds the provenance of the page that has a slug.
fn ready(
    dir: &Path,
    path: &str,
    slug: &Slug,
    now: i64,
    known: &impl Fn(&Slug) -> Result<Option<Provenance>, StoreError>,
) -> Result<Ready, ImportFailure> {
    let place = dir.join(path);
    let page = || {
        let size = std::fs::metadata(&place).map_err(|e| e.to_string())?.len();
        if size > MAX_CONTENT as u64 {
            return Err(format!("it has {size} bytes, more than the limit of {MAX_CONTENT}"));
        }
        let bytes = std::fs::read(&place).map_err(|e| e.to_string())?;
        let document = read_document(&bytes, path).map_err(|fault| fault.message)?;
        let uri = format!("file://{}", place.display());
        let known = match has_claims(&document.frontmatter) {
            true => known(slug).map_err(|error| error.to_string())?,
            false => None,
        };
        let provenance = IMPORT.of_file(&document.frontmatter, uri, now, known.as_ref());
        let mut frontmatters = [document.frontmatter.clone(), document.frontmatter.clone()];
        receive_claims(&mut frontmatters[1], &provenance, None);
        let page =
            written_page(slug, document, provenance, None, false).map_err(|fault| fault.message)?;
        Ok(Ready { path: path.to_owned(), slug: slug.clone(), frontmatters, page })
    };
    page().map_err(|reason| ImportFailure { path: path.to_owned(), reason })
}

/// Gives each file its slug. Files that meet on one slug are reported, all of them, and none is
/// taken.
fn one_slug_each(files: Vec<MarkdownFile>, tally: &mut Tally) -> Vec<Source> {
    let mut named = Vec::with_capacity(files.len());
    for file in files {
        match Slug::from_path(&file.path) {
            Ok(slug) => named.push((file, slug)),
            Err(e) => tally.failures.add(file.path, e.to_string()),
        }
    }
    let mut by_slug: HashMap<&Slug, Vec<&str>> = HashMap::new();
    for (file, slug) in &named {
        by_slug.entry(slug).or_default().push(&file.path);
    }
    let met: Vec<Option<String>> =
        named.iter().map(|(file, slug)| meets(&file.path, slug, &by_slug[slug])).collect();
    let mut met = met.into_iter();
    named.retain(|(file, _)| match met.next().flatten() {
        None => true,
        Some(reason) => {
            tally.failures.add(file.path.clone(), reason);
            false
        }
    });
    named
}
