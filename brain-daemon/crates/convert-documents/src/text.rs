//! Reads plain text, line by line.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Sample, decode_text, literal_text};
use brain_protocol::MAX_CONTENT;

use crate::decode::is_text;
use crate::draft::Draft;
use crate::facts::file_time;
use crate::locked;
use crate::model::Block;

pub(crate) const FORMAT: Format =
    Format { name: "text", title: "plain text", is_by_others: false, recognise, convert };

fn recognise(sample: &Sample) -> bool {
    sample.path().is_file()
        && locked::has_extension(sample.path(), &["txt", "text", "log"])
        && is_text(sample.head())
}

/// The page has the text itself, so the file is not kept beside it.
fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let mut draft = Draft::new(path);
    draft.facts.created = file_time(path);
    draft.facts.updated = draft.facts.created;
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(ConvertError::read(path))?;
    let max = MAX_CONTENT as u64 + 1;
    file.take(max).read_to_end(&mut bytes).map_err(ConvertError::read(path))?;
    if bytes.len() > MAX_CONTENT {
        draft.lost(format!("only its first {MAX_CONTENT} bytes are read"));
        bytes.truncate(MAX_CONTENT);
        end_at_character(&mut bytes);
    }
    let text = decode_text(&bytes);
    let shown = draft.fitted(literal_text(&text));
    draft.write(path, None, &[Block::Markdown(shown)], out)
}

/// Removes the beginning of a character of UTF-8 that is cut at the end.
fn end_at_character(bytes: &mut Vec<u8>) {
    if let Err(error) = std::str::from_utf8(bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use brain_convert_testing::Converted;

    use super::*;
    use crate::FORMATS;

    fn converted(name: &str, bytes: &[u8]) -> Converted {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        Converted::of(&FORMATS, &path)
    }

    #[test]
    fn text_is_shown_line_by_line() {
        let converted =
            converted("Shopping list.txt", b"# milk\r\n- eggs\r\n\r\n\r\nM\xfcller *\n");
        let page = converted.page("Shopping list");
        assert!(page.contains("title: \"Shopping list\"\ncreated: "), "{page}");
        assert!(page.ends_with("---\n\n\\# milk  \n\\- eggs\n\n\nMüller \\*\n"), "{page}");
        assert!(converted.files().is_empty() && converted.lost().is_empty());
    }

    #[test]
    fn an_empty_text_is_an_empty_page() {
        let converted = converted("a.txt", b"");
        assert!(converted.page("a").ends_with("---\n\n\n"), "{}", converted.page("a"));
        assert_eq!(converted.error, None);
    }

    #[test]
    fn a_line_longer_than_a_page_is_cut() {
        let converted = converted("a.txt", "word ".repeat(1_100_000).as_bytes());
        let page = converted.page("a");
        assert!(page.len() > 4_800_000 && page.ends_with("word word\n"), "{}", page.len());
        let lost = converted.lost();
        assert_eq!(lost.len(), 2, "{lost:?}");
        assert_eq!(lost[0], "a.txt: only its first 5000000 bytes are read");
        assert!(lost[1].starts_with("a.txt: only the first 4868"), "{lost:?}");
    }

    #[test]
    fn a_cut_character_is_left_out() {
        for (bytes, expected) in [(&b"a\xc3"[..], &b"a"[..]), (b"\xe4a", b"\xe4a"), (b"", b"")] {
            let mut cut = bytes.to_vec();
            end_at_character(&mut cut);
            assert_eq!(cut, expected);
        }
    }

    #[test]
    fn other_files_are_no_text() {
        let directory = tempfile::tempdir().unwrap();
        for (name, bytes) in [("a.txt", &b"PK\x03\x04\0"[..]), ("a.md", b"x"), ("a", b"x")] {
            let path = directory.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            assert!(brain_convert_base::recognise(&FORMATS, &path).unwrap().is_none(), "{name}");
        }
        let folder = directory.path().join("folder.txt");
        std::fs::create_dir(&folder).unwrap();
        assert!(brain_convert_base::recognise(&FORMATS, &folder).unwrap().is_none());
    }
}
