//! Documents in the queue: keeps the file, and makes a page of its text.
//!
//! The bytes are an attachment before the job is acknowledged; the hash of the job names them. The
//! program `brain-convert`, or one of the owner's, reads the text. Page, attachments and the job's
//! new state are one transaction.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brain_base::home::create_private_dir;
use brain_base::outgoing::{OpenRequest, OutgoingLog};
use brain_converter::{Converter, Converters, Ending, invalid};
use brain_page::{
    ATTACHMENTS, ConvertedLine, Document, DocumentType, Frontmatter, attachment_name, hex,
    names_attachment, single_line,
};
use brain_pages::write_page::read_document;
use brain_protocol::{Fault, FaultCode, JobId};
use brain_service::NumberCipher;
use brain_store::{
    AttachmentRecord, Hash, JobKind, JobRecord, StoreError, Transaction, WrittenPage,
    waited_for_log,
};
use tokio_util::sync::CancellationToken;

use crate::IngestService;
use crate::page::{PreparedPage, prepare, write};
use crate::process::{InProgressGuard, StoredJob, actor, finished, record_failure};

/// How many waiting documents are looked through for one whose file is on this machine.
const MAX_EXAMINED: usize = 1000;
/// Maximum length of a name that is made of a title, in bytes.
const MAX_STEM: usize = 100;
/// Maximum number of reasons why a page lacks something, in the job.
const MAX_LOST: usize = 20;
/// The code of the job of a page that lacks something of its document.
const INCOMPLETE: &str = "incomplete";

/// What the queue needs to read documents.
pub struct DocumentSettings {
    /// Whether documents are accepted: `ingest.documents`.
    pub is_on: bool,
    /// Maximum size of a document in bytes.
    pub max_bytes: usize,
    /// The programs that read documents.
    pub converters: Arc<Converters>,
    /// The log of outgoing requests, for the starts of programs.
    pub outgoing: Arc<dyn OutgoingLog>,
    /// The directory for the file that is being read.
    pub scratch: PathBuf,
    /// Cancelled when the daemon stops.
    pub stop: CancellationToken,
}

impl DocumentSettings {
    /// Checks that a document is accepted.
    ///
    /// # Errors
    /// `unsupported_content_type` if documents are not accepted, `empty_body`, `too_large`.
    pub(crate) fn check(&self, body: &[u8]) -> Result<(), Fault> {
        let max = self.max_bytes;
        if !self.is_on {
            let message = "documents are not accepted: ingest.documents is off";
            return Err(Fault::new(FaultCode::UnsupportedContentType, message));
        }
        if body.is_empty() {
            return Err(Fault::new(FaultCode::EmptyBody, "the document has no bytes"));
        }
        if body.len() > max {
            let message = format!("the document has more than {max} bytes");
            return Err(Fault::new(FaultCode::TooLarge, message)
                .hint("raise pages.max_attachment_mb, or import it on the machine of the brain"));
        }
        Ok(())
    }
}

/// A document as markdown.
#[derive(Debug)]
struct ConvertedDocument {
    document: Document,
    /// Names and bytes of the files that its text names. The original is one of them.
    files: Vec<(String, Vec<u8>)>,
    /// What is in no page, or only in part.
    lost: Vec<String>,
}

/// The lines of a document's program.
#[derive(Default)]
struct Lines {
    /// Path and text of the page.
    page: Option<(String, String)>,
    files: Vec<(String, Vec<u8>)>,
    lost: Vec<String>,
}

/// A directory that is removed with this value.
struct ScratchDir(PathBuf);

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // The next document has the same directory, and removes what stays.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A converted document that is ready to be stored.
struct DocumentToStore {
    id: u64,
    /// The job as it is in the queue.
    job: JobRecord,
    /// The job with the text of the document.
    converted: JobRecord,
    page: PreparedPage,
    /// Name, hash and length of each file.
    files: Vec<(String, Hash, u64)>,
    lost: Vec<String>,
}

impl IngestService {
    /// Makes a page of the next due document whose file is on this machine. Returns whether there
    /// was one. Blocks while its program runs.
    ///
    /// # Errors
    /// If the store fails. The document stays in the queue then.
    pub fn process_document(&self) -> Result<bool, Fault> {
        let _converting = self.queue.converting.lock();
        let now = self.clock.now();
        let Some(due) = self.due_documents(now)? else { return Ok(false) };
        let is_here = |job: &JobRecord| {
            // Another machine of a shared brain may have accepted it, and reads it.
            !self.store.is_shared() || self.store.attachments().length(&job.content_hash).is_some()
        };
        let Some((id, job)) = due.into_iter().find(|(_, job)| is_here(job)) else {
            return Ok(false);
        };
        let _in_progress = InProgressGuard::new(&self.queue, [id].into());
        match self.store_document(id, &job) {
            Ok(stored) => self.publish(stored.as_slice()),
            // The daemon stops; the next one continues.
            Err(fault) if fault.code == FaultCode::Cancelled => return Ok(false),
            Err(fault) => {
                let fault = for_client(fault, JobId(id));
                let waiting = self.store.write(move |transaction| {
                    record_failure(transaction, id, &job, &fault, now)?;
                    Ok(transaction.waiting_jobs())
                })?;
                self.queue.record_processed(waiting);
            }
        }
        Ok(true)
    }

    /// Returns the documents that are due at `now`; `None` if no document waits at all.
    fn due_documents(&self, now: i64) -> Result<Option<Vec<(u64, JobRecord)>>, Fault> {
        self.look_for_document(|| {
            let reader = self.store.read_queue()?;
            let due = reader.due_jobs(JobKind::Document, now, MAX_EXAMINED, usize::MAX)?;
            let waits = !due.is_empty() || reader.next_due_job(JobKind::Document, now)?.is_some();
            Ok(waits.then_some(due))
        })
    }

    /// Calls `look` if a document may wait: its rows are looked for among those of all texts.
    pub(super) fn look_for_document<T>(
        &self,
        look: impl FnOnce() -> Result<Option<T>, Fault>,
    ) -> Result<Option<T>, Fault> {
        // Documents of a shared brain become visible later, with the log.
        if self.store.is_shared() { look() } else { self.queue.look_for_document(look) }
    }

    /// Reads a document and stores its page. Returns `None` if its job does not wait any more.
    fn store_document(&self, id: u64, job: &JobRecord) -> Result<Option<StoredJob>, Fault> {
        let _permit = self.text.take(usize::try_from(job.bytes).unwrap_or(usize::MAX));
        let ConvertedDocument { mut document, files, lost } = self.convert_document(job)?;
        // The program states it for imports; here the way in decides.
        document.frontmatter.remove("source_kind");
        let mut options = job.options.clone();
        options.title = options.title.or_else(|| document.frontmatter.get("title"));
        let content_hash = document.body.digest();
        let converted =
            JobRecord { content_hash, options, content: document.into(), ..job.clone() };
        // Readers of the page see the job's id, which must not reveal the number of jobs.
        let public_id = JobId(NumberCipher::of(self.store.number_key()).encrypt(id));
        // A page with this text may have another file, so it does not count as the same.
        let page = prepare(public_id, waited_for_log(id), &converted, || None)?;
        let _files_guard = self.store.attachments().block_removal();
        let files = files
            .into_iter()
            .map(|(name, bytes)| {
                Ok((name, self.store.write_attachment(&bytes)?, bytes.len() as u64))
            })
            .collect::<Result<_, StoreError>>()?;
        let to_store = DocumentToStore { id, job: job.clone(), converted, page, files, lost };
        let now = self.clock.now();
        let (stored, waiting) = self.store.write(move |transaction| {
            Ok((to_store.store(transaction, now)?, transaction.waiting_jobs()))
        })?;
        self.queue.record_processed(waiting);
        Ok(stored)
    }

    /// Reads the document of a job.
    fn convert_document(&self, job: &JobRecord) -> Result<ConvertedDocument, Fault> {
        let bytes = self.store.read_attachment(&job.content_hash)?;
        let Some(kind) = DocumentType::of_media_type(&job.content_type) else {
            return Err(unreadable(&job.content_type, "it is no document"));
        };
        let name = file_name(job, kind);
        let converters = &self.documents.converters;
        if kind.is_image() && converters.processor(&name).is_none() {
            return Ok(page_of_image(job, name, bytes));
        }
        let scratch = ScratchDir(self.documents.scratch.clone());
        let path = scratch.0.join(&name);
        write_scratch(&path, &bytes)?;
        let should_continue = || !self.documents.stop.is_cancelled();
        let program = converters.command(&name);
        let named = program.first().map_or("", String::as_str);
        let _program = OpenRequest::of_program(&self.documents.outgoing, named, "ingest");
        let (ending, lines) = read_lines(&program, &path, &should_continue)?;
        match ending {
            Ending::Whole => lines.into_document(&name, bytes),
            Ending::UnknownFormat => {
                let reason = format!("it is not what its type {} says", kind.media_type);
                Err(unreadable(&name, &reason))
            }
            Ending::Usage(reason) | Ending::Failed(reason) => {
                // The program may name the file with its directory.
                let dir = format!("{}/", scratch.0.display());
                Err(unreadable(&name, &reason.replace(&dir, "")))
            }
        }
    }
}

/// Runs the program that reads the document at `path`.
///
/// # Errors
/// `io` if it cannot be started, which may be otherwise later; `unsupported_content_type` if it
/// hangs, or writes wrong lines, as it would again; `cancelled`.
fn read_lines(
    program: &[String],
    path: &Path,
    should_continue: &dyn Fn() -> bool,
) -> Result<(Ending, Lines), Fault> {
    let mut lines = Lines::default();
    let converter = Converter::start(program, path)?;
    let ending = converter.run(should_continue, &mut |line| lines.accept(line));
    match ending {
        Ok(ending) => Ok((ending, lines)),
        Err(fault) if fault.code == FaultCode::Io => {
            Err(Fault { code: FaultCode::UnsupportedContentType, ..fault })
        }
        Err(fault) => Err(fault),
    }
}

/// Returns the fault as the client that sent the document may see it. Faults of the disk and of the
/// start of a program name paths of this machine, which only the log has.
fn for_client(fault: Fault, job: JobId) -> Fault {
    use FaultCode::{AttachmentDamaged, DiskFull, Io, ReadOnly, StoreDamaged};
    match fault.code {
        code @ (AttachmentDamaged | DiskFull | Io | ReadOnly | StoreDamaged) => {
            tracing::warn!(%job, %fault, "document not read");
            Fault::new(code, "this brain cannot read the document now; its log says why")
        }
        _ => fault,
    }
}

impl Lines {
    fn accept(&mut self, line: ConvertedLine) -> Result<(), Fault> {
        match line {
            ConvertedLine::Page { path, markdown, .. } if self.page.is_none() => {
                self.page = Some((path, markdown));
            }
            ConvertedLine::Page { .. } => {
                let reason = "it becomes several pages; import it on the machine of this brain";
                return Err(unreadable("the document", reason));
            }
            ConvertedLine::File { page, name, base64 } => {
                let is_of_page = self.page.as_ref().is_some_and(|(path, _)| *path == page);
                let name = attachment_name(&name).ok().filter(|_| is_of_page);
                let name = name.ok_or_else(|| invalid("it writes a file that is of no page"))?;
                let bytes = STANDARD.decode(base64).map_err(|error| invalid(&error.to_string()))?;
                self.files.push((name, bytes));
            }
            ConvertedLine::Lost { reason, .. } if self.lost.len() < MAX_LOST => {
                self.lost.push(reason);
            }
            ConvertedLine::Lost { .. }
            | ConvertedLine::Post { .. }
            | ConvertedLine::Format { .. }
            | ConvertedLine::End { .. } => {}
        }
        Ok(())
    }

    /// Returns the document, with the original among its files.
    fn into_document(self, name: &str, bytes: Vec<u8>) -> Result<ConvertedDocument, Fault> {
        let Self { page, mut files, lost } = self;
        let (_, markdown) = page.ok_or_else(|| unreadable(name, "it has no text"))?;
        let mut document = read_document(markdown.as_bytes(), name)?;
        if !files.iter().any(|(_, other)| *other == bytes) {
            let mut own_name = name.to_owned();
            while files.iter().any(|(other, _)| *other == own_name) {
                own_name.insert_str(0, "original ");
            }
            add_attachment(&mut document.frontmatter, &own_name);
            files.push((own_name, bytes));
        }
        Ok(ConvertedDocument { document, files, lost })
    }
}

impl DocumentToStore {
    /// Writes the page with its files, and finishes the job; runs in the writer.
    fn store(
        &self,
        transaction: &mut Transaction<'_>,
        now: i64,
    ) -> Result<Option<StoredJob>, StoreError> {
        if !transaction.job_waits(self.id, self.job.due_at)? {
            return Ok(None);
        }
        transaction.set_actor(actor(&self.job.client));
        let (slug, page) = write(transaction, &self.converted, &self.page, now)?;
        self.attach(transaction, &page, now)?;
        let error = (!self.lost.is_empty())
            .then(|| (INCOMPLETE.to_owned(), format!("not in the page: {}", self.lost.join("; "))));
        let done = JobRecord { error, ..finished(&self.job, &slug, now) };
        transaction.change_job(self.id, &self.job, &done)?;
        let (source, is_automatic) = (self.job.source.clone(), false);
        Ok(Some(StoredJob { source, slug, is_automatic, page }))
    }

    /// Gives the page those of the files that its text names.
    fn attach(
        &self,
        transaction: &mut Transaction<'_>,
        page: &WrittenPage,
        now: i64,
    ) -> Result<(), StoreError> {
        let content = transaction.content(&page.record)?;
        let Ok(frontmatter) = content.frontmatter.parsed() else { return Ok(()) };
        for (name, hash, bytes) in &self.files {
            if names_attachment(frontmatter, &content.body, name) {
                let record = AttachmentRecord {
                    hash: *hash,
                    bytes: *bytes,
                    attached_at: now,
                    removed_at: None,
                };
                transaction.put_attachment(page.record.id, name, &record, now)?;
            }
        }
        Ok(())
    }
}

/// Returns the page of an image that no program reads: it shows the image.
fn page_of_image(job: &JobRecord, name: String, bytes: Vec<u8>) -> ConvertedDocument {
    let mut frontmatter = Frontmatter::empty();
    let title = job.options.title.clone().unwrap_or_else(|| name.clone());
    frontmatter.set("title", &single_line(&title));
    add_attachment(&mut frontmatter, &name);
    let document = Document { frontmatter, body: format!("![[{name}]]\n").into() };
    ConvertedDocument { document, files: vec![(name, bytes)], lost: Vec::new() }
}

fn add_attachment(frontmatter: &mut Frontmatter, name: &str) {
    let mut names = frontmatter.list(ATTACHMENTS);
    names.push(name.to_owned());
    frontmatter.set_list(ATTACHMENTS, &names);
}

/// Returns the name of a document's file: its title, or a part of its hash, with the extension of
/// its type.
fn file_name(job: &JobRecord, kind: &DocumentType) -> String {
    let extension = kind.extension;
    let of_title = |title: &String| {
        let plain = title.replace(['/', '\\', '[', ']', '|', '#', '^', ':'], "-");
        let plain = plain.trim_start_matches('.').trim();
        let stem = plain[..plain.floor_char_boundary(MAX_STEM)].trim_end();
        let stem = stem.strip_suffix(&format!(".{extension}")).unwrap_or(stem);
        attachment_name(&format!("{stem}.{extension}")).ok().filter(|_| !stem.is_empty())
    };
    let of_hash = || format!("document-{}.{extension}", &hex(&job.content_hash)[..8]);
    job.options.title.as_ref().and_then(of_title).unwrap_or_else(of_hash)
}

fn write_scratch(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    let dir = path.parent().unwrap_or(path);
    let _ = fs::remove_dir_all(dir);
    create_private_dir(dir).and_then(|()| fs::write(path, bytes)).map_err(|error| {
        let message = format!("cannot write {}: {error}", path.display());
        Fault::new(brain_base::write_code(&error), message)
    })
}

fn unreadable(name: &str, reason: &str) -> Fault {
    // The program may name the file itself.
    let message = match reason.contains(name) {
        true => format!("cannot read {reason}"),
        false => format!("{name} cannot be read: {reason}"),
    };
    Fault::new(FaultCode::UnsupportedContentType, message)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn page(path: &str, markdown: &str) -> ConvertedLine {
        let (path, markdown) = (path.to_owned(), markdown.to_owned());
        ConvertedLine::Page { from: "a.pdf".to_owned(), path, markdown }
    }

    fn lines(all: impl IntoIterator<Item = ConvertedLine>) -> Result<Lines, Fault> {
        let mut lines = Lines::default();
        all.into_iter().try_for_each(|line| lines.accept(line))?;
        Ok(lines)
    }

    #[test]
    fn the_original_is_a_file_of_the_page_once() {
        let alone = lines([page("a", "---\ntitle: A\n---\n\ntext\n")]).unwrap();
        let document = alone.into_document("a.pdf", b"%PDF".to_vec()).unwrap();
        assert_eq!(document.files, [("a.pdf".to_owned(), b"%PDF".to_vec())]);
        assert_eq!(document.document.frontmatter.list(ATTACHMENTS), ["a.pdf"]);

        let own = |bytes: &[u8]| ConvertedLine::File {
            page: "a".to_owned(),
            name: "a.pdf".to_owned(),
            base64: STANDARD.encode(bytes),
        };
        let kept = lines([page("a", "[[a.pdf]]\n"), own(b"%PDF")]).unwrap();
        let document = kept.into_document("a.pdf", b"%PDF".to_vec()).unwrap();
        assert_eq!(document.files.len(), 1);
        let other = lines([page("a", "[[a.pdf]]\n"), own(b"other")]).unwrap();
        let document = other.into_document("a.pdf", b"%PDF".to_vec()).unwrap();
        assert_eq!(document.document.frontmatter.list(ATTACHMENTS), ["original a.pdf"]);
    }

    #[test]
    fn a_program_that_fails_is_not_started_again() {
        let run = |program: &str| {
            let program = [program.to_owned()];
            read_lines(&program, Path::new("a.pdf"), &|| true).map(drop).unwrap_err()
        };
        // It writes a line that is not JSON.
        assert_eq!(run("/bin/echo").code, FaultCode::UnsupportedContentType);
        let not_started = run("/home/ann/none");
        assert_eq!(not_started.code, FaultCode::Io);
        let shown = for_client(not_started, JobId(1));
        assert_eq!(shown.code, FaultCode::Io);
        assert!(!shown.to_string().contains("/home") && shown.hint.is_none(), "{shown}");
    }

    #[test]
    fn wrong_lines_are_faults() {
        let two = lines([page("a", "x"), page("b", "y")]).map(drop).unwrap_err();
        assert_eq!(two.code, FaultCode::UnsupportedContentType);
        let of_no_page =
            ConvertedLine::File { page: "b".into(), name: "x".into(), base64: String::new() };
        assert_eq!(lines([of_no_page]).map(drop).unwrap_err().code, FaultCode::Io);
        let none = Lines::default().into_document("a.pdf", Vec::new()).unwrap_err();
        assert!(none.message.contains("a.pdf cannot be read"), "{}", none.message);
    }
}
