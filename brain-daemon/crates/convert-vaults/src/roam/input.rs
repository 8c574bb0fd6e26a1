//! Reads the pages of a graph one by one.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use brain_convert_base::{ConvertError, Entry, Output, Tree};
use serde::de::{Deserializer as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The files of a graph.
pub(super) enum Input {
    File(PathBuf),
    Tree(Tree),
}

/// Takes the name of the file, and the JSON of a page.
type EachPage<'f> = &'f mut dyn FnMut(&str, &str) -> io::Result<()>;

impl Input {
    pub(super) fn open(path: &Path) -> Result<Self, ConvertError> {
        let tree = Tree::open(path).map_err(ConvertError::read(path))?;
        Ok(tree.map_or_else(|| Self::File(path.to_owned()), Self::Tree))
    }

    pub(super) fn report_problems(&self, out: &mut Output<'_>) -> io::Result<()> {
        let Self::Tree(tree) = self else { return Ok(()) };
        tree.report_problems(out)?;
        for entry in tree.entries().iter().filter(|entry| !is_json(entry)) {
            out.lost(&entry.path, "it is no JSON")?;
        }
        Ok(())
    }

    /// Calls `each` for all pages, in order.
    ///
    /// # Errors
    /// [`ConvertError::Malformed`] behind the pages before the damage; the errors of `each`.
    pub(super) fn each(&self, each: EachPage<'_>) -> Result<(), ConvertError> {
        match self {
            Self::File(path) => {
                let file = File::open(path).map_err(ConvertError::read(path))?;
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                read(&mut BufReader::new(file), &name, each)
            }
            Self::Tree(tree) => {
                for entry in tree.entries().iter().filter(|entry| is_json(entry)) {
                    let done = tree.with_reader(entry, |reader| {
                        read(&mut BufReader::new(reader), &entry.path, each)
                    });
                    done.map_err(ConvertError::read(Path::new(&entry.path)))??;
                }
                Ok(())
            }
        }
    }
}

fn is_json(entry: &Entry) -> bool {
    entry.extension() == "json"
}

fn read(reader: &mut dyn Read, name: &str, each: EachPage<'_>) -> Result<(), ConvertError> {
    let mut pages = Pages { name, each, failure: None };
    let mut json = serde_json::Deserializer::from_reader(WithoutMark::of(reader));
    let read = json.deserialize_seq(&mut pages).and_then(|()| json.end());
    if let Some(failure) = pages.failure {
        return Err(failure.into());
    }
    read.map_err(|error| ConvertError::Malformed {
        from: name.to_owned(),
        reason: format!("the JSON is damaged: {error}"),
    })
}

/// Reads an array and passes on its elements.
struct Pages<'a> {
    name: &'a str,
    each: EachPage<'a>,
    failure: Option<io::Error>,
}

impl<'de> Visitor<'de> for &mut Pages<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array of pages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut pages: A) -> Result<(), A::Error> {
        while let Some(page) = pages.next_element::<Box<RawValue>>()? {
            if let Err(error) = (self.each)(self.name, page.get()) {
                self.failure = Some(error);
                return Err(serde::de::Error::custom("the pages cannot be written"));
            }
        }
        Ok(())
    }
}

/// A reader without the byte order mark at its beginning.
struct WithoutMark<'a> {
    reader: &'a mut dyn Read,
    /// What was read to look for the mark.
    head: Vec<u8>,
    is_checked: bool,
}

impl<'a> WithoutMark<'a> {
    fn of(reader: &'a mut dyn Read) -> Self {
        Self { reader, head: Vec::new(), is_checked: false }
    }
}

impl Read for WithoutMark<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        const MARK: &[u8] = b"\xEF\xBB\xBF";
        if !self.is_checked {
            self.is_checked = true;
            (&mut *self.reader).take(MARK.len() as u64).read_to_end(&mut self.head)?;
            if self.head == MARK {
                self.head.clear();
            }
        }
        if self.head.is_empty() {
            return self.reader.read(buffer);
        }
        let count = (&*self.head).read(buffer)?;
        self.head.drain(..count);
        Ok(count)
    }
}
