//! Fields: their usual other names, and which of them hold one value.

/// Other names of a field, with its usual one. A field that is not here has one name.
const SYNONYMS: [(&str, &[&str]); 35] = [
    ("lead", &["leader", "head", "project lead", "project leader", "team lead", "led by"]),
    ("manager", &["managed by", "project manager", "run by"]),
    ("ceo", &["chief executive", "chief executive officer"]),
    ("cto", &["chief technology officer", "chief technical officer"]),
    ("cfo", &["chief financial officer", "chief finance officer"]),
    ("chair", &["chairman", "chairwoman", "chairperson", "chaired by", "chair person"]),
    ("captain", &["skipper", "captained by", "skippered by", "master"]),
    ("coach", &["trainer", "head coach", "coached by", "trained by"]),
    ("director", &["directed by", "managing director"]),
    ("owner", &["owned by", "proprietor", "belongs to"]),
    ("spouse", &["husband", "wife", "married to"]),
    (
        "birth",
        &[
            "born",
            "born on",
            "born in",
            "birthday",
            "birth date",
            "birthdate",
            "dob",
            "date of birth",
            "year of birth",
            "born at",
        ],
    ),
    ("birth place", &["birthplace", "place of birth", "birth city", "home town", "hometown"]),
    ("death", &["died", "died on", "died in", "death date", "date of death", "day of death"]),
    (
        "founding",
        &[
            "founded",
            "founded in",
            "founded on",
            "founding date",
            "founding year",
            "established",
            "established in",
            "year founded",
            "foundation date",
            "date founded",
            "foundation",
            "year of foundation",
            "founding day",
        ],
    ),
    (
        "construction",
        &[
            "built",
            "built in",
            "year built",
            "constructed in",
            "completed in",
            "construction year",
            "year of construction",
        ],
    ),
    ("deadline", &["due", "due date", "due on", "due by", "deadline date"]),
    (
        "start",
        &[
            "start date",
            "starts",
            "starts on",
            "begins",
            "begins on",
            "kickoff",
            "kick-off",
            "starting date",
            "start day",
        ],
    ),
    ("end", &["end date", "ends", "ends on", "finishes on", "end day"]),
    (
        "release",
        &[
            "release date",
            "launch",
            "launch date",
            "launches on",
            "released on",
            "ships on",
            "go-live",
            "go-live date",
            "launch day",
        ],
    ),
    ("opening", &["opened", "opened in", "opened on", "opens on", "opening date", "opening day"]),
    (
        "headquarters",
        &[
            "hq",
            "head office",
            "based in",
            "headquartered in",
            "seat",
            "registered office",
            "main office",
        ],
    ),
    (
        "location",
        &[
            "located in",
            "located at",
            "situated in",
            "venue",
            "place",
            "held in",
            "held at",
            "takes place in",
            "takes place at",
            "meeting place",
        ],
    ),
    ("height", &["tall", "high"]),
    ("length", &["long"]),
    ("width", &["wide", "beam"]),
    ("depth", &["deep", "draught"]),
    ("weight", &["weighs", "mass", "heavy"]),
    ("price", &["cost", "costs", "priced at", "entrance fee", "fee"]),
    ("maker", &["made by", "manufacturer", "manufactured by", "built by", "builder", "producer"]),
    ("publisher", &["published by"]),
    ("licence", &["license", "licensed under"]),
    ("colour", &["color"]),
    ("time zone", &["timezone"]),
    ("harbour master", &["harbor master", "harbourmaster", "harbormaster"]),
];

/// Fields besides [`ROLES`] that hold one value at a time, without further signs.
const SINGLE: [&str; 39] = [
    "spouse",
    "birth",
    "birth place",
    "death",
    "founding",
    "construction",
    "deadline",
    "start",
    "end",
    "release",
    "opening",
    "headquarters",
    "height",
    "length",
    "width",
    "depth",
    "weight",
    "maker",
    "publisher",
    "capital",
    "population",
    "capacity",
    "area",
    "altitude",
    "elevation",
    "budget",
    "blood type",
    "blood group",
    "licence",
    "colour",
    "currency",
    "time zone",
    "diet",
    "handedness",
    "obligation",
    "acquired by",
    "mother",
    "father",
    "location",
];

/// Roles that one person has at a time. Two persons with another role are no contradiction.
const ROLES: [&str; 23] = [
    "lead",
    "manager",
    "ceo",
    "cto",
    "cfo",
    "chair",
    "captain",
    "coach",
    "director",
    "owner",
    "president",
    "mayor",
    "treasurer",
    "secretary",
    "principal",
    "harbour master",
    "editor in chief",
    "chancellor",
    "king",
    "queen",
    "pope",
    "landlord",
    "supervisor",
];

/// Such roles, too; their fields alone do not say that there is one value.
const SHARED_ROLES: [&str; 2] = ["conductor", "curator"];

/// The last words of fields that can hold many values.
const MANY: [&str; 79] = [
    "address",
    "email",
    "mail",
    "e-mail",
    "phone",
    "mobile",
    "telephone",
    "fax",
    "website",
    "url",
    "link",
    "homepage",
    "member",
    "author",
    "tag",
    "topic",
    "language",
    "child",
    "son",
    "daughter",
    "brother",
    "sister",
    "sibling",
    "friend",
    "colleague",
    "partner",
    "sponsor",
    "supplier",
    "customer",
    "client",
    "contact",
    "employee",
    "nickname",
    "alias",
    "name",
    "hobby",
    "skill",
    "interest",
    "note",
    "comment",
    "source",
    "reference",
    "task",
    "todo",
    "step",
    "goal",
    "idea",
    "example",
    "part",
    "feature",
    "id",
    "isbn",
    "doi",
    "ticket",
    "issue",
    "order",
    "invoice",
    "version",
    "build",
    "commit",
    "hash",
    "revision",
    "edition",
    "account",
    "username",
    "handle",
    "password",
    "key",
    "code",
    "event",
    "visit",
    "trip",
    "problem",
    "reason",
    "number",
    "year",
    "chapter",
    "model",
    "index",
];

/// Fields whose value changes from day to day. Only values of the same day are compared.
const CHANGING: [&str; 24] = [
    "status",
    "state",
    "progress",
    "price",
    "mood",
    "temperature",
    "score",
    "rating",
    "balance",
    "stock",
    "weather",
    "priority",
    "stage",
    "phase",
    "rank",
    "level",
    "count",
    "total",
    "speed",
    "depth of water",
    "water level",
    "reading",
    "next step",
    "plan",
];

/// Singular words that end in an s.
const SINGULAR: [&str; 5] = ["headquarters", "status", "address", "boss", "progress"];

/// How many values a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Values {
    /// One at a time.
    One,
    /// One on a day; it changes often.
    OneADay,
    /// Perhaps one: a definite article says so.
    Unknown,
    /// Many.
    Many,
}

/// Returns the usual name of a field: lower case, without articles and words like "current".
pub(crate) fn usual_name(words: &str) -> String {
    let words = words.to_lowercase().replace(['_', '-'], " ").replace("go live", "go-live");
    let drop = |word: &&str| {
        !matches!(*word, "the" | "a" | "an" | "current" | "official" | "new" | "its" | "their")
    };
    let name = words.split_whitespace().filter(drop).collect::<Vec<_>>().join(" ");
    let found = SYNONYMS.iter().find(|(_, others)| others.contains(&name.as_str()));
    found.map_or(name, |(usual, _)| (*usual).to_owned())
}

/// Returns how many values a field holds. `name` is its usual name.
pub(crate) fn values_of(name: &str) -> Values {
    let last = name.rsplit(' ').next().unwrap_or(name);
    if name.starts_with("state of ") || CHANGING.contains(&name) || CHANGING.contains(&last) {
        return Values::OneADay;
    }
    if SINGLE.contains(&name) || ROLES.contains(&name) {
        return Values::One;
    }
    let is_plural = last.ends_with('s') && !last.ends_with("ss") && !SINGULAR.contains(&last);
    if is_plural || MANY.contains(&last) || MANY.contains(&name) || name.is_empty() {
        return Values::Many;
    }
    Values::Unknown
}

/// Returns whether one person at a time has the role.
pub(crate) fn is_role(name: &str) -> bool {
    ROLES.contains(&name) || SHARED_ROLES.contains(&name)
}

/// Returns whether the value never changes, so that a fact in the past tense still holds.
pub(crate) fn is_lasting(name: &str) -> bool {
    matches!(
        name,
        "birth"
            | "birth place"
            | "death"
            | "founding"
            | "construction"
            | "mother"
            | "father"
            | "maker"
            | "opening"
    )
}

/// Verbs: words after the subject, the field, and whether the subject is the value ("Oda leads
/// Tide").
pub(crate) const VERBS: [(&[&str], &str, bool); 58] = [
    (&["leads"], "lead", true),
    (&["heads"], "lead", true),
    (&["manages"], "manager", true),
    (&["chairs"], "chair", true),
    (&["captains"], "captain", true),
    (&["skippers"], "captain", true),
    (&["directs"], "director", true),
    (&["coaches"], "coach", true),
    (&["trains"], "coach", true),
    (&["owns"], "owner", true),
    (&["led", "by"], "lead", false),
    (&["headed", "by"], "lead", false),
    (&["managed", "by"], "manager", false),
    (&["run", "by"], "manager", false),
    (&["chaired", "by"], "chair", false),
    (&["captained", "by"], "captain", false),
    (&["skippered", "by"], "captain", false),
    (&["directed", "by"], "director", false),
    (&["coached", "by"], "coach", false),
    (&["owned", "by"], "owner", false),
    (&["belongs", "to"], "owner", false),
    (&["made", "by"], "maker", false),
    (&["built", "by"], "maker", false),
    (&["manufactured", "by"], "maker", false),
    (&["published", "by"], "publisher", false),
    (&["married", "to"], "spouse", false),
    (&["reports", "to"], "supervisor", false),
    (&["born"], "birth", false),
    (&["died"], "death", false),
    (&["founded", "by"], "founders", false),
    (&["founded"], "founding", false),
    (&["established"], "founding", false),
    (&["built"], "construction", false),
    (&["opened"], "opening", false),
    (&["opens"], "opening", false),
    (&["due"], "deadline", false),
    (&["starts"], "start", false),
    (&["begins"], "start", false),
    (&["ends"], "end", false),
    (&["launches"], "release", false),
    (&["headquartered"], "headquarters", false),
    (&["based"], "headquarters", false),
    (&["located"], "location", false),
    (&["situated"], "location", false),
    (&["weighs"], "weight", false),
    (&["costs"], "price", false),
    (&["painted"], "colour", false),
    (&["acquired", "by"], "acquired by", false),
    (&["acquired"], "acquired by", true),
    (&["licensed", "under"], "licence", false),
    (&["takes", "place"], "location", false),
    (&["in", "charge", "of"], "lead", true),
    (&["responsible", "for"], "lead", true),
    (&["has", "led"], "lead", true),
    (&["been", "running"], "lead", true),
    (&["been", "leading"], "lead", true),
    (&["runs"], "lead", true),
    (&["is", "leading"], "lead", true),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_usual_names_and_numbers_of_values() {
        for (text, name, values) in [
            ("Project_Lead", "lead", Values::One),
            ("the new head", "lead", Values::One),
            ("date-of-birth", "birth", Values::One),
            ("e-mail", "e mail", Values::Many),
            ("members", "members", Values::Many),
            ("second address", "second address", Values::Many),
            ("order number", "order number", Values::Many),
            ("flagship", "flagship", Values::Unknown),
            ("head office", "headquarters", Values::One),
        ] {
            assert_eq!((usual_name(text).as_str(), values_of(name)), (name, values), "{text}");
        }
    }
}
