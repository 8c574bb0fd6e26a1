//! What an import reads: a directory of markdown, or the converted export of another program.

use std::collections::HashSet;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use brain_base::caller::Caller;
use brain_base::home::Home;
use brain_converter::Converters;
use brain_files::{IgnoreRules, ScanReport};
use brain_machines::KEPT_PAGES;
use brain_page::{ForeignFormat, embedded_files, is_html};
use brain_pages::file_input::unread_format;
use brain_pages::files::read::uri;
use brain_pages::provenance::{IMPORT, IngestRoute};
use brain_pages::sources::do_overlap;
use brain_protocol::{Command, Fault, FaultCode, Import, ImportFailure, SourceId, hint};
use brain_service::Progress;
use rustix::fs::OFlags;

use super::convert::{ConvertedExport, ConvertedPages};
use super::import_documents::Document;
use super::local_files::LocalFiles;
use crate::sync::SyncService;

/// The name for `--as` of a directory of markdown files.
const MARKDOWN: &str = "markdown";

/// The beginning of the address of a file that a browser sent.
const UPLOAD: &str = "upload:";

/// What an import reads.
pub(super) struct ImportInput {
    /// The path that the user gave, resolved.
    pub(super) path: PathBuf,
    /// Its address. Of a file that a browser sent only the name is known.
    pub(super) address: String,
    pub(super) kind: InputKind,
    /// The route by which its pages are added.
    pub(super) route: &'static IngestRoute,
    /// Why an export is not recognised.
    pub(super) warning: Option<String>,
    /// Whether secrets are removed from the texts.
    pub(super) should_scrub: bool,
}

pub(super) enum InputKind {
    /// A directory of markdown, and the other files in it.
    Markdown(LocalFiles),
    /// An export of another program.
    Export(ConvertedExport),
    /// Documents in a directory of markdown.
    Documents(ConvertedPages),
}

impl ImportInput {
    fn converted(&self) -> Option<&ConvertedPages> {
        match &self.kind {
            InputKind::Markdown(_) => None,
            InputKind::Export(export) => Some(&export.pages),
            InputKind::Documents(pages) => Some(pages),
        }
    }

    /// Returns whether the files were made from others, so that their times say nothing.
    pub(super) fn is_converted(&self) -> bool {
        self.converted().is_some()
    }

    /// Returns the directory with the markdown files.
    pub(super) fn dir(&self) -> &Path {
        self.converted().map_or(&self.path, ConvertedPages::dir)
    }

    /// Returns the paths of the files that the body of the note at `path` names.
    pub(super) fn named_files(&self, path: &str, body: &str) -> Vec<String> {
        let InputKind::Markdown(files) = &self.kind else { return Vec::new() };
        let targets = embedded_files(body);
        let mut found: Vec<String> =
            targets.iter().filter_map(|it| files.find(path, it)).map(str::to_owned).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the path of the request for people: of a file that a browser sent, its name.
    pub(super) fn shown_path<'p>(&'p self, request: &'p Import) -> &'p str {
        self.address.strip_prefix(UPLOAD).unwrap_or(&request.path)
    }

    /// Returns the name of the file at `path` for people: the entry of an export, or the document.
    pub(super) fn name<'p>(&'p self, path: &'p str) -> &'p str {
        self.converted().map_or(path, |pages| pages.origin(path))
    }

    /// Returns the address of the origin of the file at `path`.
    pub(super) fn uri(&self, path: &str) -> String {
        match &self.kind {
            InputKind::Export(export) => {
                format!("{}#{}", self.address, export.pages.origin(path))
            }
            InputKind::Markdown(_) => format!("{}/{path}", self.address),
            InputKind::Documents(pages) => format!("{}/{}", self.address, pages.origin(path)),
        }
    }
}

impl SyncService {
    /// Finds out what is at the path of the request, and converts an export.
    pub(super) fn import_input(
        &self,
        request: &Import,
        home: &Path,
        progress: &dyn Progress,
    ) -> Result<ImportInput, Fault> {
        let path = import_path(&request.path, home)?;
        let mut warning = None;
        let export = match request.format.as_deref() {
            Some(MARKDOWN) => None,
            None if !self.env.converters.has_own() => {
                let program = self.env.converters.own().display();
                warning = Some(format!(
                    "{program} is missing, so exports of other programs are not recognised; \
                     install brain again"
                ));
                None
            }
            format => self.convert(&path, format, request.scrub, progress)?,
        };
        let kind = match export {
            Some(export) => InputKind::Export(export),
            None if path.is_dir() => InputKind::Markdown(LocalFiles::of(&[])),
            None => return Err(unknown_file(&request.path, &path)),
        };
        let address = match uploaded_name(&path, home) {
            Some(name) => format!("{UPLOAD}{name}"),
            None => uri(&path),
        };
        let should_scrub = request.scrub;
        Ok(ImportInput { path, address, kind, route: &IMPORT, warning, should_scrub })
    }

    /// Lists the markdown files of an import.
    pub(super) fn import_files(
        &self,
        input: &ImportInput,
        home: &Path,
    ) -> Result<ScanReport, Fault> {
        let rules = match input.is_converted() {
            true => Arc::new(IgnoreRules::default()),
            false => self.sources.rules_of(&input.path, None, Vec::new(), Vec::new())?,
        };
        let except = (!input.is_converted()).then_some(home);
        Ok(brain_files::markdown_files(input.dir(), "", &rules, except))
    }

    /// Returns the documents of an imported directory, and notes which files its notes can name.
    pub(super) fn sort_other_files(
        &self,
        request: &Import,
        input: &mut ImportInput,
        found: &mut ScanReport,
    ) -> Vec<Document> {
        let InputKind::Markdown(files) = &mut input.kind else { return Vec::new() };
        let documents = match request.format {
            Some(_) => Vec::new(),
            None => take_documents(&input.path, found, &self.env.converters),
        };
        let links: HashSet<&String> = found.links.iter().collect();
        let others = found.other_paths.iter().filter(|path| !links.contains(path));
        *files = LocalFiles::of(others.chain(documents.iter().map(|document| &document.path)));
        documents
    }

    /// Returns the source that gets the pages. Refuses one whose directory overlaps `dir`.
    pub(super) fn target_source(
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
}

/// Returns whether a join of a shared brain kept this directory of pages.
fn is_kept(dir: &Path, home: &Path) -> bool {
    let first = dir.strip_prefix(home).ok().and_then(|inner| inner.iter().next());
    first.is_some_and(|name| name.to_string_lossy().starts_with(KEPT_PAGES))
}

/// Returns the name of a file that a browser sent; `None` for any other path.
fn uploaded_name(path: &Path, home: &Path) -> Option<String> {
    let is_uploaded = path.starts_with(Home::at(home.to_owned()).uploads());
    is_uploaded.then(|| path.file_name().map(|name| name.to_string_lossy().into_owned()))?
}

/// Returns the resolved path to import. Refuses a path that is missing or in the home.
fn import_path(path: &str, home: &Path) -> Result<PathBuf, Fault> {
    let resolved = Path::new(path).canonicalize().map_err(|e| {
        let code = if e.kind() == std::io::ErrorKind::NotFound {
            FaultCode::NotFound
        } else {
            FaultCode::Io
        };
        Fault::new(code, format!("cannot import {path}: {e}"))
            .hint("give a directory or an export that the daemon can read")
    })?;
    let may_be_in_home = is_kept(&resolved, home) || uploaded_name(&resolved, home).is_some();
    if resolved.starts_with(home) && !may_be_in_home {
        let message = format!("{path} is inside brain's own home");
        return Err(Fault::new(FaultCode::Usage, message).hint(
            "import the directory that your notes came from; to import the files of a lost \
                 store, move its pages/ elsewhere first",
        ));
    }
    Ok(resolved)
}

/// The error for a file in no format that brain reads.
fn unknown_file(path: &str, resolved: &Path) -> Fault {
    let fault = |message: String| Fault::new(FaultCode::UnsupportedContentType, message);
    let is_markdown = brain_page::is_markdown(resolved);
    if is_markdown {
        return fault(format!("{path} is one markdown file; an import reads a directory of them"))
            .hint(hint!("{} makes it a page", Command::Capture { file: Some(path.to_owned()) }));
    }
    if std::fs::metadata(resolved).is_ok_and(|metadata| metadata.len() == 0) {
        return fault(format!("{path} is empty")).hint("export it again");
    }
    match format_of_file(resolved) {
        Some(format) if !format.is_importable() => unread_format(path, format),
        Some(format) => fault(format!("{path} does not look like {format}"))
            .hint("state its format: `--as FORMAT`; `brain-convert --help` lists the formats"),
        None => fault(format!("{path} is in no format that brain reads")).hint(
            "`brain-convert --help` lists the formats; unpack an archive and import its \
             directory; save an office document as DOCX, ODT, PDF or CSV",
        ),
    }
}

/// Returns the documents of an imported directory, and takes them out of the files that are not
/// imported.
fn take_documents(root: &Path, found: &mut ScanReport, converters: &Converters) -> Vec<Document> {
    let has_own = converters.has_own();
    let is_taken = |path: &String| {
        let metadata = std::fs::symlink_metadata(root.join(path));
        converters.is_document(path, has_own) && metadata.is_ok_and(|metadata| metadata.is_file())
    };
    let (documents, others): (Vec<String>, _) =
        std::mem::take(&mut found.other_paths).into_iter().partition(is_taken);
    found.other_files -= documents.len() as u64;
    found.other_paths = others;
    Document::list(documents, &found.files, |path| converters.split_path(path))
}

/// Returns the files that are not imported, with the reasons. `links` are those that lead to a
/// directory or a note.
pub(super) fn reasons(dir: &Path, paths: Vec<String>, links: &[String]) -> Vec<ImportFailure> {
    let links: HashSet<&String> = links.iter().collect();
    let reason = |path: &String| {
        if links.contains(path) {
            return "a symbolic link, which is not followed".to_owned();
        }
        match format_of_file(&dir.join(path)) {
            Some(format) if !format.is_importable() => format!("{format}, which is not a page"),
            _ => "neither markdown nor a document that brain reads".to_owned(),
        }
    };
    paths.into_iter().map(|path| ImportFailure { reason: reason(&path), path }).collect()
}

/// Returns the format that brain does not read, of a file: by its name, or for HTML by its content.
fn format_of_file(path: &Path) -> Option<ForeignFormat> {
    let by_name = ForeignFormat::of_name(path);
    if by_name.is_some() || !is_html(path, b"") {
        return by_name;
    }
    let mut head = Vec::new();
    let file = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits() as i32)
        .open(path);
    file.ok()?.take(ForeignFormat::MAX_HEAD as u64).read_to_end(&mut head).ok()?;
    ForeignFormat::of_content(&head)
}
