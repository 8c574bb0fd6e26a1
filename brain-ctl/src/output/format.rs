//! Formats of lists: table, JSON, CSV, table in markdown, and paths of files.

use brain_protocol::{Fault, FaultCode};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::Value;

use super::{Outcome, Show, Text, clean, show};

/// The format of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Format {
    /// A table
    #[default]
    Table,
    /// One JSON value, as --json
    Json,
    /// Comma-separated values with a header
    Csv,
    /// A table in markdown
    Md,
    /// The paths of the pages' files
    Paths,
}

/// The option `--format`.
#[derive(Debug, Args)]
pub(crate) struct FormatOption {
    /// Format of the list
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) format: Format,
}

impl FormatOption {
    /// Returns whether the list is printed as JSON. `json` is the value of `--json`.
    pub(crate) fn is_json(&self, json: bool) -> bool {
        json || self.format == Format::Json
    }
}

/// The option `--format` of a list that has no files, so the help does not show `paths`.
#[derive(Debug, Args)]
pub(crate) struct TableFormatOption {
    /// Format of the list
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = list_format())]
    format: Format,
}

impl From<TableFormatOption> for FormatOption {
    fn from(option: TableFormatOption) -> Self {
        Self { format: option.format }
    }
}

/// Returns a parser of formats. The help hides `paths`, but the parser accepts it, so that
/// [`show_list`] can report a more specific error.
fn list_format() -> impl TypedValueParser<Value = Format> {
    let value =
        |format: &Format| Some(format.to_possible_value()?.hide(matches!(format, Format::Paths)));
    PossibleValuesParser::new(Format::value_variants().iter().filter_map(value))
        .try_map(|name| Format::from_str(&name, false))
}

/// A list that can be printed in every format.
pub(crate) trait Listing: Show {
    /// The names of the fields, as in JSON.
    const FIELDS: &'static [&'static str];

    /// Returns the values of each row, in the order of the fields.
    fn records(&self) -> Vec<Vec<String>>;

    /// Returns the paths of the files of the listed pages, or `None` for a list of other things.
    fn paths(&self) -> Option<Vec<&str>> {
        None
    }
}

/// Returns the values of these fields of each row, from the row's JSON. The values of a list are
/// separated by spaces.
pub(crate) fn json_records(rows: &[impl Serialize], fields: &[&str]) -> Vec<Vec<String>> {
    fn text(value: &Value) -> String {
        match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(" "),
            other => other.to_string(),
        }
    }
    let record = |row| {
        let row = serde_json::to_value(row).unwrap_or_default();
        fields.iter().map(|field| text(&row[field])).collect()
    };
    rows.iter().map(record).collect()
}

/// Returns the outcome that prints a list. With `json`, the option has no other format than JSON.
///
/// # Errors
/// `usage` if `json` contradicts the option, or if paths are requested for a list that has no
/// files; `internal` if the list cannot be converted to JSON.
pub(crate) fn show_list<L: Listing>(
    list: &L,
    option: &FormatOption,
    json: bool,
    quiet: bool,
) -> Result<Outcome, Fault> {
    let text = match option.format {
        // The table is the default, so it does not contradict `json`.
        Format::Table => return show(list, json, quiet),
        Format::Json => return show(list, true, false),
        _ if json => return Err(contradiction()),
        Format::Csv => lines(L::FIELDS, &list.records(), csv_line),
        Format::Md => {
            let mut text = md_line(L::FIELDS);
            text.push_str(&md_line(&vec!["---"; L::FIELDS.len()]));
            text + &list.records().iter().map(|row| md_line(row)).collect::<String>()
        }
        Format::Paths => {
            let Some(mut paths) = list.paths() else {
                return Err(Fault::new(FaultCode::Usage, "this list has no files")
                    .hint("use --format table, json, csv or md"));
            };
            paths.dedup();
            paths.iter().map(|path| format!("{path}\n")).collect()
        }
    };
    let mut out = Text::for_stdout();
    out.verbatim(&text);
    Ok(Outcome { out: out.into_bytes(), ..show(list, false, true)? })
}

/// Returns the fault that `--json` and a format other than JSON were given.
pub(crate) fn contradiction() -> Fault {
    Fault::new(FaultCode::Usage, "--json and --format contradict each other")
        .hint("leave one of them out")
}

/// Formats a header and rows with `line`, which adds the line end.
fn lines(head: &[&str], rows: &[Vec<String>], line: impl Fn(&[&str]) -> String) -> String {
    let rows = rows.iter().map(|row| line(&row.iter().map(String::as_str).collect::<Vec<_>>()));
    std::iter::once(line(head)).chain(rows).collect()
}

/// Returns a line of comma-separated values (RFC 4180, with LF).
fn csv_line(values: &[&str]) -> String {
    let quoted = |value: &&str| match value.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", value.replace('"', "\"\"")),
        false => (*value).to_owned(),
    };
    values.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n"
}

/// Returns a row of a table in markdown.
fn md_line<S: AsRef<str>>(values: &[S]) -> String {
    let cells = values.iter().map(|value| clean(value.as_ref()).replace('|', "\\|"));
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Names(Vec<&'static str>);

    impl Show for Names {
        fn text(&self, t: &mut Text) {
            t.line("text");
        }

        fn quiet(&self, t: &mut Text) {
            t.line("quiet");
        }

        fn notes(&self) -> Vec<String> {
            vec!["more exist".into()]
        }
    }

    impl Listing for Names {
        const FIELDS: &'static [&'static str] = &["name", "length"];

        fn records(&self) -> Vec<Vec<String>> {
            self.0.iter().map(|name| vec![(*name).to_owned(), name.len().to_string()]).collect()
        }
    }

    #[test]
    fn values_are_quoted_for_each_format() {
        let names = Names(vec!["a|b", "say \"x\", y", "two\nlines"]);
        let printed = |format| {
            let outcome = show_list(&names, &FormatOption { format }, false, false)?;
            assert_eq!(outcome.notes, if format == Format::Json { vec![] } else { names.notes() });
            Ok::<_, Fault>(String::from_utf8(outcome.out).expect("utf-8"))
        };
        let csv = "name,length\na|b,3\n\"say \"\"x\"\", y\",10\n\"two\nlines\",9\n";
        assert_eq!(printed(Format::Csv), Ok(csv.into()));
        let md = "| name | length |\n| --- | --- |\n| a\\|b | 3 |\n| say \"x\", y | 10 |\n\
                  | two lines | 9 |\n";
        assert_eq!(printed(Format::Md), Ok(md.into()));
        assert_eq!(printed(Format::Table), Ok("text\n".into()));
        let json = "[\"a|b\",\"say \\\"x\\\", y\",\"two\\nlines\"]\n";
        assert_eq!(printed(Format::Json), Ok(json.into()));
        assert_eq!(printed(Format::Paths).map_err(|fault| fault.code), Err(FaultCode::Usage));
    }

    #[test]
    fn json_contradicts_the_formats_of_other_programs() {
        let print = |format| show_list(&Names(vec!["a"]), &FormatOption { format }, true, false);
        for format in [Format::Table, Format::Json] {
            assert_eq!(print(format).map(|outcome| outcome.out), Ok(b"[\"a\"]\n".to_vec()));
        }
        for format in [Format::Csv, Format::Md, Format::Paths] {
            assert_eq!(print(format).err().map(|fault| fault.code), Some(FaultCode::Usage));
        }
    }
}
