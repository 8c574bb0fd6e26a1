//! Edit distance between words: the number of letters that are wrong, missing, added, or exchanged
//! with their neighbour. The search for mistyped words and all suggestions use it.

/// The maximum distance that [`EditDistance`] can measure.
pub const MAX_EDITS: usize = 8;

/// Number of costs in a row: one for each prefix of the word whose length differs from the number
/// of letters read by at most [`MAX_EDITS`].
const BAND: usize = 2 * MAX_EDITS + 1;
/// A cost above every maximum.
const TOO_FAR: u8 = 100;

/// Compares one word with other words.
#[derive(Debug, Clone)]
pub struct EditDistance {
    letters: Vec<char>,
    max: usize,
}

/// A row of the distance table: the state after some letters of the other word.
#[derive(Debug, Clone, Copy)]
pub struct EditRow {
    letters_read: usize,
    last_letter: Option<char>,
    /// The distances between the letters read so far and prefixes of the word. The middle cost is
    /// that of the prefix with as many letters as were read.
    costs: [u8; BAND],
    /// The `costs` of the row before the last letter.
    previous_costs: [u8; BAND],
}

impl EditDistance {
    /// Prepares `word` for comparisons up to the distance `max`, at most [`MAX_EDITS`].
    #[must_use]
    pub fn new(word: &str, max: usize) -> Self {
        Self { letters: word.chars().collect(), max: max.min(MAX_EDITS) }
    }

    /// Returns the distance to `other`; `None` if it is greater than the maximum.
    #[must_use]
    pub fn to(&self, other: &str) -> Option<usize> {
        let mut row = self.start();
        for letter in other.chars() {
            row = self.read(&row, letter);
            if !self.can_match(&row) {
                return None;
            }
        }
        self.at_end(&row)
    }

    /// Returns the row before the first letter.
    #[must_use]
    pub fn start(&self) -> EditRow {
        let mut costs = [TOO_FAR; BAND];
        let prefixes = (0..=self.max.min(self.letters.len())).zip(&mut costs[MAX_EDITS..]);
        prefixes.for_each(|(length, cost)| *cost = length as u8);
        EditRow { letters_read: 0, last_letter: None, costs, previous_costs: [TOO_FAR; BAND] }
    }

    /// Returns the row that follows `row` after one more letter.
    #[must_use]
    pub fn read(&self, row: &EditRow, letter: char) -> EditRow {
        let letters_read = row.letters_read + 1;
        let mut costs = [TOO_FAR; BAND];
        for slot in MAX_EDITS - self.max..=MAX_EDITS + self.max {
            let Some(length) = (letters_read + slot).checked_sub(MAX_EDITS) else { continue };
            if length > self.letters.len() {
                break;
            }
            let added = row.costs.get(slot + 1).map_or(TOO_FAR, |cost| cost + 1);
            let missing = slot.checked_sub(1).map_or(TOO_FAR, |shorter| costs[shorter] + 1);
            let mut cost = added.min(missing);
            if let Some(index) = length.checked_sub(1) {
                let is_wrong = self.letters[index] != letter;
                cost = cost.min(row.costs[slot] + u8::from(is_wrong));
                let is_exchanged = index > 0
                    && row.last_letter == Some(self.letters[index])
                    && self.letters[index - 1] == letter;
                if is_exchanged {
                    cost = cost.min(row.previous_costs[slot] + 1);
                }
            }
            costs[slot] = cost.min(TOO_FAR);
        }
        EditRow { letters_read, last_letter: Some(letter), costs, previous_costs: row.costs }
    }

    /// Returns whether more letters can lead to a distance within the maximum.
    #[must_use]
    pub fn can_match(&self, row: &EditRow) -> bool {
        row.costs.iter().any(|cost| usize::from(*cost) <= self.max)
    }

    /// Returns the distance if no more letters follow; `None` if it is greater than the maximum.
    #[must_use]
    pub fn at_end(&self, row: &EditRow) -> Option<usize> {
        let slot = (self.letters.len() + MAX_EDITS).checked_sub(row.letters_read)?;
        let cost = usize::from(*row.costs.get(slot)?);
        (cost <= self.max).then_some(cost)
    }
}

/// Returns the name with the smallest edit distance to `given`, ignoring case.
///
/// The distance is at most a third of the letters of `given`, rounded up, and at most
/// [`MAX_EDITS`]. If no name is so near and `given` has more than two bytes, returns the shortest
/// name that begins with `given`.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_lowercase();
    let max = given.chars().count().div_ceil(3);
    let distance = EditDistance::new(&given, max);
    let rank = |name: &str| {
        let name = name.to_lowercase();
        let prefix_rank = || (given.len() > 2 && name.starts_with(&given)).then_some(name.len());
        distance.to(&name).or_else(prefix_rank)
    };
    let candidates = names.into_iter().filter_map(|name| Some((rank(name)?, name)));
    candidates.min_by_key(|(rank, _)| *rank).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_error_counts_once() {
        let word = EditDistance::new("lovelace", 3);
        for (other, distance) in [
            ("lovelace", Some(0)),
            ("lovelaec", Some(1)),
            ("lovlace", Some(1)),
            ("lovellace", Some(1)),
            ("lovelage", Some(1)),
            ("olvelaec", Some(2)),
            ("ace", None),
            ("love", None),
            ("lovelaces", Some(1)),
            ("", None),
        ] {
            assert_eq!(word.to(other), distance, "{other}");
        }
        assert_eq!(EditDistance::new("Straße", 1).to("Strasse"), None);
        assert_eq!(EditDistance::new("Воробьёва", 2).to("Ворбьёав"), Some(2));
        assert_eq!(EditDistance::new("", 2).to("ab"), Some(2));
        assert_eq!(EditDistance::new("abcdefghij", 99).to(""), None);
    }

    /// Returns the distance, computed with the complete table instead of a band.
    fn reference_distance(a: &str, b: &str) -> usize {
        let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                table[i][j] = if i == 0 || j == 0 {
                    i + j
                } else {
                    let wrong = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                    let mut cost = wrong.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                    if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                        cost = cost.min(table[i - 2][j - 2] + 1);
                    }
                    cost
                };
            }
        }
        table[a.len()][b.len()]
    }

    #[test]
    fn distances_equal_those_of_the_complete_table() {
        let mut words = vec![String::new()];
        let mut seed = 7_u32;
        for _ in 0..120 {
            let mut word = String::new();
            for _ in 0..seed % 9 {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                word.push(['a', 'b', 'c', 'ж'][(seed >> 24) as usize % 4]);
            }
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            words.push(word);
        }
        for a in &words {
            for b in &words {
                let distance = reference_distance(a, b);
                for max in [0, 1, 2, 5] {
                    let expected = (distance <= max).then_some(distance);
                    assert_eq!(EditDistance::new(a, max).to(b), expected, "{a} {b} {max}");
                }
            }
        }
    }

    #[test]
    fn only_a_similar_name_is_suggested() {
        let names = ["http.local", "http.public", "search.language"];
        assert_eq!(nearest("http.locla", names), Some("http.local"));
        assert_eq!(nearest("HTTP.Public", names), Some("http.public"));
        assert_eq!(nearest("zebra", names), None);
    }
}
