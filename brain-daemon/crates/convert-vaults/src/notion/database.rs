//! The rows of a database, and which of them are pages.

use std::collections::{HashMap, VecDeque};

use super::csv;

/// The rows of a database.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// The names of the properties.
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
    /// The column with the titles.
    pub(super) title: usize,
}

/// An entry of a database that is a page: its title, and the properties that its file states.
pub(super) struct EntryPage {
    pub(super) title: String,
    pub(super) properties: Vec<(String, String)>,
}

impl EntryPage {
    fn values(&self) -> impl Iterator<Item = (&str, &str)> {
        self.properties.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl Table {
    /// Reads the CSV with all entries, or that of the view if there is no other. The rows of the
    /// view come first, in its order.
    pub(super) fn read(all: Option<&str>, view: Option<&str>) -> Self {
        let mut table = Self::parse(all.or(view).unwrap_or_default());
        if let (Some(_), Some(view)) = (all, view) {
            table.order_as(&Self::parse(view));
        }
        table
    }

    fn parse(text: &str) -> Self {
        let mut rows = csv::rows(text.trim_start_matches('\u{feff}'));
        if rows.is_empty() {
            return Self::default();
        }
        let columns: Vec<String> = rows.remove(0);
        for row in &mut rows {
            row.resize(row.len().max(columns.len()), String::new());
        }
        Self { columns, rows, title: 0 }
    }

    pub(super) fn title<'a>(&self, row: &'a [String]) -> &'a str {
        row.get(self.title).map_or("", |title| title.trim())
    }

    fn order_as(&mut self, view: &Self) {
        let common: Vec<(usize, usize)> = (0..view.columns.len())
            .filter_map(|at| {
                let name = view.columns.get(at)?;
                Some((at, self.columns.iter().position(|column| column == name)?))
            })
            .collect();
        let key = |row: &[String], columns: &mut dyn Iterator<Item = usize>| -> String {
            columns.map(|at| row.get(at).map_or("", String::as_str)).collect::<Vec<_>>().join("\0")
        };
        let mut places: HashMap<String, VecDeque<usize>> = HashMap::new();
        for (number, row) in self.rows.iter().enumerate() {
            let key = key(row, &mut common.iter().map(|(_, at)| *at));
            places.entry(key).or_default().push_back(number);
        }
        let mut order = Vec::with_capacity(self.rows.len());
        let mut is_taken = vec![false; self.rows.len()];
        for row in &view.rows {
            let key = key(row, &mut common.iter().map(|(at, _)| *at));
            if let Some(number) = places.get_mut(&key).and_then(VecDeque::pop_front)
                && let Some(is_taken) = is_taken.get_mut(number)
            {
                *is_taken = true;
                order.push(number);
            }
        }
        order.extend((0..self.rows.len()).filter(|at| is_taken.get(*at) == Some(&false)));
        let take = |at: usize| self.rows.get_mut(at).map(std::mem::take);
        self.rows = order.into_iter().filter_map(take).collect();
    }

    /// Finds the column with the titles: the one with the most titles of pages; the first one if
    /// there are no pages.
    pub(super) fn find_title(&mut self, pages: &[EntryPage]) {
        let mut titles: HashMap<String, usize> = HashMap::new();
        for page in pages {
            *titles.entry(normal(&page.title)).or_default() += 1;
        }
        let hits = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells
                .filter(|cell| !cell.trim().is_empty() && titles.contains_key(&normal(cell)))
                .count()
        };
        let mut best = (0, 0);
        for column in 0..self.columns.len() {
            let hits = hits(column);
            if hits > best.1 {
                best = (column, hits);
            }
        }
        self.title = best.0;
    }

    /// Returns the number of the page of each row. Rows and pages with one title belong together if
    /// their properties are the same, else in their order. A page with another title belongs to a
    /// row if only these two have its properties: a title that is a date is "@Today" in a page.
    pub(super) fn match_pages(&self, pages: &[EntryPage]) -> Vec<Option<usize>> {
        let mut same: HashMap<(String, String), VecDeque<usize>> = HashMap::new();
        let mut named: HashMap<String, VecDeque<usize>> = HashMap::new();
        for (number, page) in pages.iter().enumerate() {
            let title = normal(&page.title);
            same.entry((title.clone(), facts(page.values()))).or_default().push_back(number);
            named.entry(title).or_default().push_back(number);
        }
        let mut is_taken = vec![false; pages.len()];
        let mut found: Vec<Option<usize>> = self
            .rows
            .iter()
            .map(|row| {
                let title = normal(self.title(row));
                let number = same.get_mut(&(title, facts(self.values(row))))?.pop_front()?;
                *is_taken.get_mut(number)? = true;
                Some(number)
            })
            .collect();
        for (row, found) in self.rows.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
            let Some(named) = named.get_mut(&normal(self.title(row))) else { continue };
            while let Some(number) = named.pop_front() {
                if let Some(is_taken) = is_taken.get_mut(number).filter(|is_taken| !**is_taken) {
                    *is_taken = true;
                    *found = Some(number);
                    break;
                }
            }
        }
        self.match_renamed(pages, &is_taken, &mut found);
        found
    }

    fn match_renamed(&self, pages: &[EntryPage], is_taken: &[bool], found: &mut [Option<usize>]) {
        let mut rows: HashMap<String, Vec<usize>> = HashMap::new();
        for (number, row) in self.rows.iter().enumerate() {
            if found.get(number) == Some(&None) {
                rows.entry(facts(self.values(row))).or_default().push(number);
            }
        }
        let mut others: HashMap<String, Vec<usize>> = HashMap::new();
        for (number, page) in pages.iter().enumerate() {
            if is_taken.get(number) == Some(&false) {
                others.entry(facts(page.values())).or_default().push(number);
            }
        }
        for (facts, pages) in others {
            if let ([page], Some([row])) = (pages.as_slice(), rows.get(&facts).map(Vec::as_slice))
                && !facts.is_empty()
                && let Some(found) = found.get_mut(*row)
            {
                *found = Some(*page);
            }
        }
    }

    /// Returns the names and values of a row, without its title.
    pub(super) fn values<'a>(
        &'a self,
        row: &'a [String],
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        let cells = self.columns.iter().zip(row).enumerate();
        let others = cells.filter(|(column, _)| *column != self.title);
        others.map(|(_, (name, value))| (name.as_str(), value.as_str()))
    }
}

/// Returns the values that are not empty as one text.
fn facts<'a>(values: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut facts: Vec<String> = values
        .filter(|(_, value)| !value.trim().is_empty())
        .map(|(name, value)| format!("{name}\0{}", normal(value)))
        .collect();
    facts.sort_unstable();
    facts.join("\n")
}

/// Returns a text with single blanks. An entry without title is "Untitled" in the name of its file.
fn normal(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text == "Untitled" { String::new() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_view_gives_the_order_and_all_gives_the_rows() {
        let all = "\u{feff}Name,Done,Cost\na,No,1\nb,No,2\nc,Yes,3\n";
        let table = Table::read(Some(all), Some("\u{feff}Name,Cost\nc,3\na,1\n"));
        let names: Vec<&str> = table.rows.iter().map(|row| table.title(row)).collect();
        assert_eq!(names, ["c", "a", "b"]);
        assert_eq!(table.columns, ["Name", "Done", "Cost"]);
    }

    #[test]
    fn pages_of_one_title_are_told_apart_by_properties() {
        let mut table = Table::read(Some("Cost,Name\n1,a\n2,a\n3,a\n4,b\n"), None);
        let page = |cost: &str| EntryPage {
            title: "a".to_owned(),
            properties: vec![("Cost".to_owned(), cost.to_owned())],
        };
        let pages = [page("3"), page("1")];
        table.find_title(&pages);
        assert_eq!(table.title, 1);
        assert_eq!(table.match_pages(&pages), [Some(1), None, Some(0), None]);
    }

    #[test]
    fn a_page_with_a_relative_date_is_found_by_its_properties() {
        let table = Table::read(Some("Date,At\n@May 4,9 AM\n@May 5,8 AM\n"), None);
        let page = EntryPage {
            title: "@Today".to_owned(),
            properties: vec![("At".to_owned(), "8 AM".to_owned())],
        };
        assert_eq!(table.match_pages(&[page]), [None, Some(0)]);
    }
}
