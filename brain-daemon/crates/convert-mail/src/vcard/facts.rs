//! The facts of a contact as lines of a list.

use std::collections::HashMap;

use brain_convert_base::literal_line;

use super::birthday::shown_date;
use super::files::binary;
use super::people::People;
use crate::content_line::{Component, Line};

/// Properties and what they are called.
const NAMES: [(&str, &str); 26] = [
    ("EMAIL", "Email"),
    ("TEL", "Phone"),
    ("IMPP", "Chat"),
    ("ADR", "Address"),
    ("LABEL", "Address label"),
    ("BDAY", "Birthday"),
    ("ANNIVERSARY", "Anniversary"),
    ("X-ANNIVERSARY", "Anniversary"),
    ("X-ABDATE", "Date"),
    ("DEATHDATE", "Died"),
    ("BIRTHPLACE", "Place of birth"),
    ("DEATHPLACE", "Place of death"),
    ("ORG", "Company"),
    ("TITLE", "Title"),
    ("ROLE", "Role"),
    ("URL", "Website"),
    ("X-SOCIALPROFILE", "Profile"),
    ("SOCIALPROFILE", "Profile"),
    ("RELATED", "Related"),
    ("X-ABRELATEDNAMES", "Related"),
    ("GENDER", "Gender"),
    ("LANG", "Language"),
    ("TZ", "Time zone"),
    ("GEO", "Position"),
    ("MEMBER", "Member"),
    ("X-ADDRESSBOOKSERVER-MEMBER", "Member"),
];
/// Properties that are elsewhere in the page, and those of programs only.
const OTHERS: [&str; 22] = [
    "ANDROID-PLACEHOLDER",
    "CATEGORIES",
    "CREATED",
    "FN",
    "KEY",
    "KIND",
    "LOGO",
    "N",
    "NICKNAME",
    "NOTE",
    "PHOTO",
    "PRODID",
    "REV",
    "SORT-STRING",
    "SOUND",
    "SOURCE",
    "UID",
    "VERSION",
    "X-ABADR",
    "X-ABLABEL",
    "X-ABSHOWAS",
    "X-ADDRESSBOOKSERVER-KIND",
];
/// Types that say nothing for people, in lower case.
const DULL_TYPES: [&str; 4] = ["internet", "pref", "voice", "x-internet"];

/// Returns a line for each fact, in the order of [`NAMES`]; unknown properties are last.
pub(super) fn facts(card: &Component, people: &People) -> Vec<String> {
    let labels: HashMap<&str, String> = card
        .all("X-ABLABEL")
        .filter(|line| !line.group.is_empty())
        .map(|line| (line.group.as_str(), plain_label(&line.text())))
        .collect();
    let mut facts = Vec::new();
    let known = NAMES.iter().flat_map(|(name, shown)| card.all(name).map(move |it| (*shown, it)));
    let is_unknown = |line: &&Line| {
        !OTHERS.contains(&line.name.as_str())
            && !NAMES.iter().any(|(name, _)| *name == line.name)
            && binary(line).is_none()
    };
    let unknown = card.lines.iter().filter(is_unknown).map(|line| (line.name.as_str(), line));
    for (name, line) in known.chain(unknown) {
        let value = value(line);
        let member = people.link(&value).filter(|_| name == "Member");
        if let Some(member) = member {
            facts.push(format!("{name}: {member}"));
        } else if !value.is_empty() {
            let kinds = kinds(line, labels.get(line.group.as_str()));
            let kinds = if kinds.is_empty() { kinds } else { format!(" ({kinds})") };
            facts.push(literal_line(&format!("{name}: {value}{kinds}")));
        }
    }
    facts
}

/// Returns the value of a property on one line.
pub(super) fn value(line: &Line) -> String {
    let joined = |separator: u8| {
        let parts = line.texts(separator).into_iter().filter(|part| !part.is_empty());
        brain_page::single_line(&parts.collect::<Vec<_>>().join(", "))
    };
    match line.name.as_str() {
        "ADR" | "ORG" | "GENDER" => joined(b';'),
        "BDAY" | "ANNIVERSARY" | "X-ANNIVERSARY" | "X-ABDATE" | "DEATHDATE" => {
            shown_date(&line.text())
        }
        _ => {
            let text = brain_page::single_line(&line.text());
            let schemes = ["tel:", "mailto:", "geo:"];
            let bare = schemes.iter().find_map(|scheme| text.strip_prefix(scheme));
            bare.map(str::to_owned).unwrap_or(text)
        }
    }
}

/// Returns the kinds of a property: its own label, or its types.
fn kinds(line: &Line, label: Option<&String>) -> String {
    if let Some(label) = label.filter(|label| !label.is_empty()) {
        return label.clone();
    }
    let mut kinds: Vec<String> = Vec::new();
    for kind in line.params("TYPE") {
        let kind = kind.to_lowercase();
        let kind = kind.strip_prefix("x-").unwrap_or(&kind).to_owned();
        if !DULL_TYPES.contains(&kind.as_str()) && !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.join(", ")
}

/// Returns a label without the marks of Apple: `_$!<Mobile>!$_` is `Mobile`.
fn plain_label(label: &str) -> String {
    label.replace("_$!<", "").replace(">!$_", "")
}
