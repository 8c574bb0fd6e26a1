//! Which program reads a document.

use std::path::{Path, PathBuf};

use brain_config::Processor;

/// The extensions of files that `brain-convert` may be able to read as a document. The content of
/// a file decides.
const EXTENSIONS: [&str; 22] = [
    "csv", "ctb", "ctd", "ctx", "ctz", "docx", "eml", "enex", "epub", "htm", "html", "ics", "mbox",
    "note", "odt", "org", "pdf", "tid", "txt", "vcf", "vcs", "xhtml",
];

/// The programs that read documents: brain's own, and the owner's for some extensions.
#[derive(Debug)]
pub struct Converters {
    own: PathBuf,
    processors: Vec<Processor>,
}

impl Converters {
    /// `own` is the path of `brain-convert`, `processors` are the owner's programs.
    #[must_use]
    pub fn new(own: PathBuf, processors: Vec<Processor>) -> Self {
        Self { own, processors }
    }

    /// Returns the path of `brain-convert`.
    #[must_use]
    pub fn own(&self) -> &Path {
        &self.own
    }

    /// Returns whether `brain-convert` is installed.
    #[must_use]
    pub fn has_own(&self) -> bool {
        self.own.exists()
    }

    /// Returns the command that starts `brain-convert`.
    #[must_use]
    pub fn own_command(&self) -> Vec<String> {
        vec![self.own.display().to_string()]
    }

    /// Returns the owner's program for a file with this path: of two, the one with the longer
    /// extension.
    #[must_use]
    pub fn processor(&self, path: &str) -> Option<&Processor> {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        let has_extension = |processor: &&Processor| {
            let stem = name.strip_suffix(&processor.extension).and_then(|it| it.strip_suffix('.'));
            stem.is_some_and(|stem| !stem.is_empty())
        };
        let fitting = self.processors.iter().filter(has_extension);
        fitting.max_by_key(|processor| processor.extension.len())
    }

    /// Returns the path of a document without its extension, and the extension, which can have
    /// several parts if the owner's program has it: `tar.gz`.
    #[must_use]
    pub fn split_path<'p>(&self, path: &'p str) -> (&'p str, &'p str) {
        let split = self.processor(path).and_then(|processor| {
            let at = path.len().checked_sub(processor.extension.len())?;
            Some((path.get(..at)?.strip_suffix('.')?, path.get(at..)?))
        });
        split.unwrap_or_else(|| split_extension(path))
    }

    /// Returns the command that reads a file with this path: the owner's, or `brain-convert`.
    #[must_use]
    pub fn command(&self, path: &str) -> Vec<String> {
        self.processor(path)
            .map_or_else(|| self.own_command(), |processor| processor.program.clone())
    }

    /// Returns whether a file with this path may be a document that can be read. `has_own` tells
    /// whether `brain-convert` is installed.
    #[must_use]
    pub fn is_document(&self, path: &str, has_own: bool) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let extension = split_extension(path).1.to_lowercase();
        let is_known = has_own && EXTENSIONS.contains(&extension.as_str());
        let is_known = is_known || self.processor(path).is_some();
        // macOS leaves files `._NAME` on other systems' disks.
        is_known && !name.starts_with('.')
    }
}

/// Returns the path without the extension, and the extension.
#[must_use]
pub fn split_extension(path: &str) -> (&str, &str) {
    let name_at = path.rfind('/').map_or(0, |at| at + 1);
    match path[name_at..].rfind('.') {
        Some(dot) if dot > 0 => (&path[..name_at + dot], &path[name_at + dot + 1..]),
        _ => (path, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owners_program_reads_documents_of_its_extension() {
        let program = vec!["/bin/srt".to_owned(), "--plain".to_owned()];
        let processor = Processor { extension: "srt".to_owned(), program: program.clone() };
        let converters = Converters::new("/opt/brain-convert".into(), vec![processor]);
        assert_eq!(converters.command("films/Talk.SRT"), program);
        assert_eq!(converters.command("a.pdf"), ["/opt/brain-convert"]);
        assert_eq!(converters.split_path("films/Talk.SRT"), ("films/Talk", "SRT"));
        for (path, has_own, expected) in [
            ("a/b.PDF", true, true),
            ("a/b.pdf", false, false),
            ("a.srt", false, true),
            ("a/._b.pdf", true, false),
            ("pdf", true, false),
            ("a.md", true, false),
        ] {
            assert_eq!(converters.is_document(path, has_own), expected, "{path}");
        }
    }
}
