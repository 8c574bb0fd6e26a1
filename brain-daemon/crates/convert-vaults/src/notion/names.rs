//! Names of files and folders of an export.

/// Length of an id, in hexadecimal digits.
const ID: usize = 32;

/// The parts of a name: `Tasks 0123…_all.csv` has the title `Tasks`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stem<'a> {
    /// The name without its extension.
    pub(super) whole: &'a str,
    /// The name without id and extension.
    pub(super) title: &'a str,
    pub(super) id: Option<u128>,
    /// Whether it ends with `_all`, as the CSV file with all entries of a database.
    pub(super) is_all: bool,
}

impl<'a> Stem<'a> {
    /// Splits the name of a file.
    pub(super) fn of(name: &'a str) -> Self {
        let whole = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let (bare, is_all) = whole.strip_suffix("_all").map_or((whole, false), |it| (it, true));
        match split_id(bare) {
            (title, Some(id)) => Self { whole: bare, title, id: Some(id), is_all },
            (_, None) => Self { whole, title: whole, id: None, is_all: false },
        }
    }
}

/// Splits a name without extension into its title and its id.
pub(super) fn split_id(name: &str) -> (&str, Option<u128>) {
    let id = name.len().checked_sub(ID).and_then(|at| name.split_at_checked(at));
    let Some((title, digits)) = id else { return (name, None) };
    let is_apart = title.is_empty() || title.ends_with(' ');
    let id = parse_id(digits).filter(|_| is_apart);
    (if id.is_some() { title.trim_end() } else { name }, id)
}

/// Returns whether a folder is the one that Notion puts around an export: `Export-<UUID>`.
pub(super) fn is_wrapper(folder: &str) -> bool {
    let uuid = folder.strip_prefix("Export-").or_else(|| folder.strip_prefix("ExportBlock-"));
    uuid.is_some_and(|uuid| {
        uuid.len() >= ID && uuid.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
    })
}

fn parse_id(digits: &str) -> Option<u128> {
    let is_digit = |b: u8| b.is_ascii_digit() || matches!(b, b'a'..=b'f');
    let is_id = digits.len() == ID && digits.bytes().all(is_digit);
    is_id.then(|| u128::from_str_radix(digits, 16).ok()).flatten()
}

/// Returns the id in an address of Notion's website.
pub(super) fn id_in_address(address: &str) -> Option<u128> {
    let rest = address.strip_prefix("https://")?;
    let (host, path) = rest.split_once('/')?;
    let is_notion = ["notion.so", "notion.site", "notion.com"]
        .iter()
        .any(|known| host == *known || host.ends_with(&format!(".{known}")));
    let path = path.split(['?', '#']).next().filter(|_| is_notion)?;
    let name: String = path.rsplit('/').next()?.chars().filter(|c| *c != '-').collect();
    parse_id(name.get(name.len().checked_sub(ID)?..)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_splits_into_title_and_id() {
        let hex = "0123456789abcdef0123456789abcdef";
        let id = Some(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
        let whole = format!("Tasks {hex}");
        for (name, title, id, is_all) in [
            (format!("Tasks {hex}.md"), "Tasks", id, false),
            (format!("Tasks {hex}_all.csv"), "Tasks", id, true),
            (format!("{hex}.md"), "", id, false),
            ("Tasks.md".to_owned(), "Tasks", None, false),
            ("all_all.csv".to_owned(), "all_all", None, false),
            (format!("x{hex}.md"), &whole.replace("Tasks ", "x"), None, false),
        ] {
            let stem = Stem::of(&name);
            assert_eq!((stem.title, stem.id, stem.is_all), (title, id, is_all), "{name}");
        }
    }

    #[test]
    fn an_address_of_the_website_has_an_id() {
        for address in [
            "https://www.notion.so/Greedy-0123456789abcdef0123456789abcdef?pvs=21",
            "https://www.notion.so/0123456789abcdef0123456789abcdef",
            "https://app.notion.com/p/ws/01234567-89ab-cdef-0123-456789abcdef#1",
        ] {
            assert!(id_in_address(address).is_some(), "{address}");
        }
        assert_eq!(id_in_address("https://a.example/0123456789abcdef0123456789abcdef"), None);
    }
}
