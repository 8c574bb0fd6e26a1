//! Files written into plain text: uuencoded ones, and text that PGP encrypted.

/// How encrypted text begins and ends.
const PGP: (&str, &str) = ("-----BEGIN PGP MESSAGE-----", "-----END PGP MESSAGE-----");

/// A file that was in a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Embedded {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    pub(super) is_encrypted: bool,
}

/// Returns the text without the files in it, and these.
pub(super) fn without_files(text: &str) -> (String, Vec<Embedded>) {
    let mut files = Vec::new();
    if !text.contains("begin ") && !text.contains(PGP.0) {
        return (text.to_owned(), files);
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    // Without a further end there is no further file.
    let last = |end: &str| lines.iter().rposition(|line| line.trim_end() == end);
    let (last_end, last_pgp) = (last("end"), last(PGP.1));
    while let Some(line) = lines.get(at) {
        let rest = lines.get(at..).unwrap_or_default();
        let found = if line.trim_end() == PGP.0 && last_pgp.is_some_and(|last| last > at) {
            encrypted(rest)
        } else if line.starts_with("begin ") && last_end.is_some_and(|last| last > at) {
            uuencoded(rest)
        } else {
            None
        };
        match found {
            Some((file, len)) => {
                files.push(file);
                at += len;
            }
            None => {
                out.push_str(line);
                out.push('\n');
                at += 1;
            }
        }
    }
    (out, files)
}

/// Returns the encrypted text at the beginning of lines, and their number.
fn encrypted(lines: &[&str]) -> Option<(Embedded, usize)> {
    let len = lines.iter().position(|line| line.trim_end() == PGP.1)? + 1;
    let bytes = lines.get(..len)?.join("\n").into_bytes();
    Some((Embedded { name: "encrypted.asc".to_owned(), bytes, is_encrypted: true }, len))
}

/// Returns the file at the beginning of lines, and their number: `begin 644 name`, lines of data,
/// `end`.
fn uuencoded(lines: &[&str]) -> Option<(Embedded, usize)> {
    let mut words = lines.first()?.trim_end().splitn(3, ' ').skip(1);
    let mode = words.next()?;
    let name = words.next()?.to_owned();
    if !(3..=4).contains(&mode.len()) || !mode.bytes().all(|byte| matches!(byte, b'0'..=b'7')) {
        return None;
    }
    let mut bytes = Vec::new();
    for (n, line) in lines.iter().enumerate().skip(1) {
        let line = line.trim_end_matches('\r');
        if line == "end" {
            return Some((Embedded { name, bytes, is_encrypted: false }, n + 1));
        }
        decode_line(line, &mut bytes)?;
    }
    None
}

/// Decodes a line: its length, then four characters for three bytes.
fn decode_line(line: &str, out: &mut Vec<u8>) -> Option<()> {
    let value = |c: u8| (b' '..=b'`').contains(&c).then_some((c - b' ') & 63);
    let (first, data) = match line.as_bytes().split_first() {
        Some((first, data)) => (value(*first)?, data),
        None => (0, &[][..]),
    };
    let end = out.len() + usize::from(first);
    for group in data.chunks(4) {
        let mut bits = 0_u32;
        for n in 0..4 {
            bits = bits << 6 | u32::from(value(group.get(n).copied().unwrap_or(b' '))?);
        }
        let [_, bytes @ ..] = bits.to_be_bytes();
        out.extend(bytes);
    }
    // Some programs leave out blanks at the end of a line.
    out.resize(end, 0);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuencoded_file_is_taken_out_of_the_text() {
        let text = "See:\r\nbegin 644 a b.txt\r\n#0V%T\r\n`\r\nend\r\nBye\r\n";
        let (rest, files) = without_files(text);
        assert_eq!(rest, "See:\nBye\n");
        let file = Embedded { name: "a b.txt".into(), bytes: b"Cat".to_vec(), is_encrypted: false };
        assert_eq!(files, [file]);
    }

    #[test]
    fn text_that_begins_like_a_file_stays() {
        for text in [
            "begin 644 a.txt\nno data \u{fc}\nend\n",
            "begin with me\nend\n",
            "begin 644 a.txt\n#0V%T\n",
            "-----BEGIN PGP MESSAGE-----\nx\n",
        ] {
            assert_eq!(without_files(text), (text.to_owned(), Vec::new()));
        }
        without_files(&"begin 644 a\n".repeat(100_000));
    }

    #[test]
    fn encrypted_text_is_taken_out() {
        let block = "-----BEGIN PGP MESSAGE-----\n\nabc\n-----END PGP MESSAGE-----";
        let (rest, files) = without_files(&format!("Hi\n{block}\nBye\n"));
        assert_eq!(rest, "Hi\nBye\n");
        assert_eq!(files.first().map(|it| it.bytes.clone()), Some(block.as_bytes().to_vec()));
    }
}
