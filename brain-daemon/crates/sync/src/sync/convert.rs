//! Converts exports of other programs, and documents, to markdown files, which are then imported.
//!
//! The program `brain-convert` reads them. It may read nothing else and write no file; it sends its
//! pages as lines (`docs/import.md`). This module checks each line and writes the files.

use std::cell::Cell;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brain_base::home::create_private_dir;
use brain_base::outgoing::OpenRequest;
use brain_converter::{Ending, convert, invalid};
use brain_page::{ConvertedLine, attachment_name};
use brain_protocol::{Command, Fault, FaultCode};
use brain_service::Progress;
use serde_json::Value;

use super::SyncService;
use super::export_dir::export_dir;
use super::exported_posts::ExportedPosts;
use super::import_scrub::NameScrubber;
use super::losses::Losses;

/// A directory that is removed with this value.
struct ScratchDir(PathBuf);

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // What stays is removed before the first conversion of the next daemon.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Converted pages, as files in a directory.
pub(super) struct ConvertedPages {
    /// The directory with a markdown file for each page.
    dir: ScratchDir,
    /// The things that are in no page, or only in part.
    pub(super) lost: Losses,
    /// The posts of an account.
    pub(super) posts: Option<ExportedPosts>,
    /// The entry of the export, or the document, for each path below `dir`.
    origins: HashMap<String, String>,
    /// Removes secrets from the names of pages, if the import asks for that.
    scrubber: Option<NameScrubber>,
}

/// A converted export.
pub(super) struct ConvertedExport {
    pub(super) pages: ConvertedPages,
    /// What the export is, for people.
    pub(super) format: String,
    /// Why the conversion ended early. The pages before that are there.
    pub(super) problem: Option<String>,
}

impl ConvertedPages {
    fn new(dir: ScratchDir, should_scrub: bool) -> Self {
        Self {
            dir,
            lost: Losses::default(),
            posts: None,
            origins: HashMap::new(),
            scrubber: should_scrub.then(NameScrubber::default),
        }
    }

    /// Returns the directory with a markdown file for each page.
    pub(super) fn dir(&self) -> &Path {
        &self.dir.0
    }

    /// Returns the entry of the export, or the document, from which the file at `path` was made.
    pub(super) fn origin<'p>(&'p self, path: &'p str) -> &'p str {
        self.origins.get(path).map_or(path, String::as_str)
    }

    /// Writes the file of a line, or records what was lost.
    pub(super) fn accept(&mut self, line: ConvertedLine) -> Result<(), Fault> {
        let line = match &mut self.scrubber {
            Some(scrubber) => scrubber.scrub(line),
            None => line,
        };
        match line {
            ConvertedLine::Page { from, path, markdown } => {
                let file_path = format!("{path}.md");
                if !is_plain(&file_path) || self.origins.contains_key(&file_path) {
                    return Err(invalid(&format!("a page has the path {path:?}")));
                }
                match write(&self.dir().join(&file_path), markdown.as_bytes()) {
                    Err(error) if is_wrong_name(&error) => {
                        self.lost.add(from, format!("no file can have its path: {error}"));
                    }
                    written => {
                        written.map_err(|error| file_fault(self.dir(), &error))?;
                        self.origins.insert(file_path, from);
                    }
                }
            }
            ConvertedLine::File { page, name, base64 } => {
                let page_path = format!("{page}.md");
                if attachment_name(&name).is_err() {
                    return Err(invalid(&format!("a file has the name {name:?}")));
                }
                if !self.origins.contains_key(&page_path) {
                    return Err(invalid(&format!("the file {name:?} is of no page")));
                }
                let bytes = STANDARD.decode(base64).map_err(|error| invalid(&error.to_string()))?;
                let path = self.dir().join(export_dir(Path::new(&page_path))).join(name);
                write(&path, &bytes).map_err(|error| file_fault(&path, &error))?;
            }
            ConvertedLine::Post { account, post } => self.accept_post(&account, &post)?,
            ConvertedLine::Lost { from, reason } => self.lost.add(from, reason),
            ConvertedLine::End { .. } | ConvertedLine::Format { .. } => {}
        }
        Ok(())
    }

    /// Keeps a post until the pages are stored.
    fn accept_post(&mut self, account: &str, post: &Value) -> Result<(), Fault> {
        let fault = |error: io::Error| file_fault(&self.dir.0, &error);
        if self.posts.is_none() {
            self.posts = Some(ExportedPosts::begin(&self.dir.0, account).map_err(fault)?);
        }
        match &mut self.posts {
            Some(posts) if posts.account() == account => posts.add(post).map_err(fault),
            _ => Err(invalid("its posts are of two accounts")),
        }
    }
}

impl SyncService {
    /// Converts the export at `path`. Returns `None` if it is none: a directory of markdown, or an
    /// unknown file. `format` is the name of its format, if the user gave one. `should_scrub` says
    /// whether secrets are removed from names.
    ///
    /// # Errors
    /// `usage` for an unknown name of a format, `cancelled`, or `io`.
    pub(super) fn convert(
        &self,
        path: &Path,
        format: Option<&str>,
        should_scrub: bool,
        progress: &dyn Progress,
    ) -> Result<Option<ConvertedExport>, Fault> {
        let mut program = self.env.converters.own_command();
        program.extend(format.into_iter().flat_map(|name| ["--as".to_owned(), name.to_owned()]));
        let mut export: Option<ConvertedExport> = None;
        let count = Cell::new(0);
        let should_continue = || progress.at(0, count.get()) && !self.env.stop.is_cancelled();
        let _program = OpenRequest::of_program(
            &self.env.outgoing,
            program.first().map_or("", String::as_str),
            "import",
        );
        let ending = convert(&program, path, &should_continue, &mut |line| {
            if let ConvertedLine::Format { title, .. } = line {
                let pages = ConvertedPages::new(self.scratch_dir()?, should_scrub);
                export = Some(ConvertedExport { pages, format: title, problem: None });
            } else if let Some(export) = &mut export {
                export.pages.accept(line)?;
                count.set(export.pages.origins.len() as u64);
            }
            Ok(())
        })?;
        let problem = match ending {
            Ending::Whole => return Ok(export),
            Ending::UnknownFormat => return Ok(None),
            Ending::Usage(said) => {
                return Err(Fault::new(FaultCode::Usage, said)
                    .hint("markdown is one; the others: brain-convert --help"));
            }
            Ending::Failed(problem) => problem,
        };
        let Some(export) = export.filter(|export| !export.pages.origins.is_empty()) else {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
            let message = match problem.contains(&*name) {
                true => problem,
                false => format!("cannot import {}: {problem}", path.display()),
            };
            return Err(Fault::new(FaultCode::Io, message)
                .hint("nothing was imported; mend what the message names, or export it again"));
        };
        Ok(Some(ConvertedExport { problem: Some(problem), ..export }))
    }

    /// Returns a warning if the directory of a source is an export of another program, which a
    /// sync would read as markdown.
    pub fn export_warning(&self, path: &Path) -> Option<String> {
        let program = self.env.converters.own_command();
        let mut format = None;
        // The first line says enough, and the fault ends the program.
        let _ = convert(&program, path, &|| true, &mut |line| {
            if let ConvertedLine::Format { title, .. } = line {
                format = Some(title);
            }
            Err(invalid("the format is known"))
        });
        let path = path.display().to_string();
        format.map(|format| {
            format!(
                "{path} is {format}, and a sync reads only its markdown; import it: {}",
                Command::ImportPath { path: Some(path.clone()) }
            )
        })
    }

    /// Returns an empty directory for converted pages. `should_scrub` says whether secrets are
    /// removed from their names.
    ///
    /// # Errors
    /// If it cannot be made.
    pub(super) fn converted_pages(&self, should_scrub: bool) -> Result<ConvertedPages, Fault> {
        Ok(ConvertedPages::new(self.scratch_dir()?, should_scrub))
    }

    /// Makes the empty directory for a conversion.
    fn scratch_dir(&self) -> Result<ScratchDir, Fault> {
        let all = self.env.home.run().join("converted");
        let mut count = self.conversions.lock();
        if *count == 0 {
            // A former daemon may have left some.
            match fs::remove_dir_all(&all) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(file_fault(&all, &error));
                }
                _ => {}
            }
        }
        *count += 1;
        let dir = ScratchDir(all.join(count.to_string()));
        create_private_dir(&dir.0).map_err(|error| file_fault(&dir.0, &error))?;
        Ok(dir)
    }
}

/// Returns whether a path stays below its directory and names a file that is not hidden.
fn is_plain(path: &str) -> bool {
    let is_name = |part| matches!(part, Component::Normal(_));
    !path.contains('\0')
        && Path::new(path).components().all(is_name)
        && path.split('/').all(|name| !name.is_empty() && !name.starts_with('.'))
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create_private_dir(path.parent().unwrap_or(path)).and_then(|()| fs::write(path, bytes))
}

/// Returns whether a file cannot be written because of its name alone.
fn is_wrong_name(error: &io::Error) -> bool {
    use io::ErrorKind as K;
    matches!(error.kind(), K::InvalidFilename | K::NotADirectory | K::IsADirectory)
}

fn file_fault(path: &Path, error: &io::Error) -> Fault {
    let message = format!("cannot write {}: {error}", path.display());
    Fault::new(brain_base::write_code(error), message)
        .hint("free space or mend the permissions, then import it again")
}
