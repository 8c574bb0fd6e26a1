//! Finds the tiddlers of a wiki in one file, and of an export as JSON.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::rc::Rc;

use super::entry::{Found, Location, MAX_ENTRY, Part, load, object};
use super::tiddler::Tiddler;
use brain_convert_base::ConvertError;

/// Maximum length of a tag, in bytes. Fields of an old store are attributes.
const MAX_TAG: usize = 4 * 1024 * 1024;

/// Reads bytes and counts them.
struct Bytes {
    inner: BufReader<File>,
    at: u64,
}

impl Bytes {
    fn next(&mut self) -> io::Result<Option<u8>> {
        let byte = self.inner.fill_buf()?.first().copied();
        if byte.is_some() {
            self.inner.consume(1);
            self.at += 1;
        }
        Ok(byte)
    }

    /// Reads to the next tag. Returns its offset and what stands between `<` and `>`.
    fn tag(&mut self) -> io::Result<Option<(u64, String)>> {
        let mut tag: Option<(u64, Vec<u8>)> = None;
        while let Some(byte) = self.next()? {
            match (&mut tag, byte) {
                (_, b'<') => tag = Some((self.at - 1, Vec::new())),
                (Some((offset, content)), b'>') => {
                    return Ok(Some((*offset, String::from_utf8_lossy(content).into_owned())));
                }
                (Some((_, content)), byte) if content.len() < MAX_TAG => content.push(byte),
                (Some(_), _) => tag = None,
                (None, _) => {}
            }
        }
        Ok(None)
    }

    /// Reads to the end of the object that began with the last byte. Returns its bytes if there
    /// are not too many, or an error at the end of the file.
    fn object(&mut self) -> io::Result<Option<Vec<u8>>> {
        let (mut depth, mut in_string, mut is_escaped) = (1usize, false, false);
        let (mut bytes, mut length) = (vec![b'{'], 1);
        while depth > 0 {
            let byte = self.next()?.ok_or(io::ErrorKind::UnexpectedEof)?;
            length += 1;
            if length <= MAX_ENTRY {
                bytes.push(byte);
            }
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if in_string => is_escaped = true,
                b'"' => in_string = !in_string,
                b'{' if !in_string => depth += 1,
                b'}' if !in_string => depth -= 1,
                _ => {}
            }
        }
        Ok((length <= MAX_ENTRY).then_some(bytes))
    }
}

/// Calls `found` for each tiddler of a JSON export or of a wiki in one file.
pub(super) fn scan(path: &Path, name: &str, found: &mut dyn Found) -> Result<(), ConvertError> {
    let file = File::open(path).map_err(ConvertError::read(path))?;
    let mut bytes = Bytes { inner: BufReader::with_capacity(1 << 16, file), at: 0 };
    let file = Rc::new(path.to_owned());
    let mut scan = Scan { bytes: &mut bytes, file: &file, name, found };
    let result = match scan.first() {
        Ok(Some(b'[')) => scan.array(),
        Ok(Some(b'{')) => scan.one_object(),
        Ok(_) => scan.html(),
        Err(error) => Err(error),
    };
    result.map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => malformed(name, "the file ends in the middle of a tiddler"),
        io::ErrorKind::InvalidData => malformed(name, &error.to_string()),
        _ => ConvertError::read(path)(error),
    })
}

fn malformed(name: &str, reason: &str) -> ConvertError {
    ConvertError::Malformed { from: name.to_owned(), reason: reason.to_owned() }
}

struct Scan<'a> {
    bytes: &'a mut Bytes,
    file: &'a Rc<std::path::PathBuf>,
    name: &'a str,
    found: &'a mut dyn Found,
}

impl Scan<'_> {
    /// Reads the first byte that is neither white space nor a byte order mark.
    fn first(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.bytes.next()? {
                Some(byte) if byte.is_ascii_whitespace() || b"\xEF\xBB\xBF".contains(&byte) => {}
                byte => return Ok(byte),
            }
        }
    }

    /// Reads the objects of an array to its end.
    fn array(&mut self) -> io::Result<()> {
        loop {
            match self.bytes.next()?.ok_or(io::ErrorKind::UnexpectedEof)? {
                b'{' => self.one_object()?,
                b']' => return Ok(()),
                _ => {}
            }
        }
    }

    fn one_object(&mut self) -> io::Result<()> {
        let start = self.bytes.at - 1;
        let tiddler = match self.bytes.object()? {
            Some(bytes) => object(&bytes),
            None => Err(format!("it is larger than {MAX_ENTRY} bytes")),
        };
        let part = Part::Object(start, self.bytes.at - start);
        match tiddler {
            Ok(tiddler) => self.tiddler(part, &tiddler),
            Err(reason) => {
                self.found.lost(format!("{}, entry at byte {start}", self.name), &reason);
            }
        }
        Ok(())
    }

    fn tiddler(&mut self, part: Part, tiddler: &Tiddler) {
        let location = Location { file: Rc::clone(self.file), part };
        self.found.tiddler(self.name, location, tiddler);
    }

    fn html(&mut self) -> io::Result<()> {
        // How many elements are open in a store of version 5.1.
        let mut depth: Option<usize> = None;
        let mut tiddler_start = 0;
        while let Some((offset, tag)) = self.bytes.tag()? {
            let name = tag.split_ascii_whitespace().next().unwrap_or_default();
            match (name, depth) {
                ("script", _)
                    if tag.contains("tiddlywiki-tiddler-store") && self.first()? == Some(b'[') =>
                {
                    self.array()?;
                }
                // Version 5.3 no longer makes links of CamelCase.
                ("meta", None) if tag.contains("tiddlywiki-version") => {
                    let is_old = ["\"5.0.", "\"5.1.", "\"5.2."].iter().any(|it| tag.contains(it));
                    if is_old {
                        self.found.wiki_words();
                    }
                }
                ("pre", None) if tag.contains("encryptedStoreArea") => {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        "the wiki is encrypted; save it without a password first",
                    ));
                }
                ("div", None) if tag.contains("\"storeArea\"") => depth = Some(0),
                ("div", Some(open)) => {
                    if open == 0 {
                        tiddler_start = offset;
                    }
                    depth = Some(open + 1);
                }
                ("/div", Some(0)) => depth = None,
                ("/div", Some(open)) => {
                    depth = Some(open - 1);
                    if open == 1 {
                        self.div(tiddler_start);
                    }
                }
                _ => {}
            }
        }
        match depth {
            Some(_) => Err(io::ErrorKind::UnexpectedEof.into()),
            None => Ok(()),
        }
    }

    fn div(&mut self, start: u64) {
        let part = Part::Div(start, self.bytes.at - start);
        match load(&Location { file: Rc::clone(self.file), part }) {
            Ok(tiddler) => self.tiddler(part, &tiddler),
            Err(reason) => {
                self.found.lost(format!("{}, entry at byte {start}", self.name), &reason);
            }
        }
    }
}
