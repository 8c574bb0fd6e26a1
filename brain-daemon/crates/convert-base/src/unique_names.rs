//! Gives each name once: equal ones get a number.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Names that were given. Two names that differ only in case are equal.
#[derive(Debug, Default)]
pub(crate) struct UniqueNames {
    /// The names in lower case. Each has the number with which the search for the next equal name
    /// begins, so that many equal names take linear time.
    taken: HashMap<String, usize>,
}

impl UniqueNames {
    /// Returns the first of the names `form(1)`, `form(2)`, … that is not taken, and takes it.
    pub(crate) fn add(&mut self, form: impl Fn(usize) -> String) -> String {
        let first = form(1);
        let key = first.to_lowercase();
        let Some(mut number) = self.taken.get(&key).copied() else {
            self.taken.insert(key, 2);
            return first;
        };
        let name = loop {
            let name = form(number);
            number += 1;
            if let Entry::Vacant(free) = self.taken.entry(name.to_lowercase()) {
                free.insert(2);
                break name;
            }
        };
        self.taken.insert(key, number);
        name
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn equal_names_get_numbers_in_linear_time() {
        let mut names = UniqueNames::default();
        let attempts = Cell::new(0);
        let mut add = |name: &str| {
            names.add(|number| {
                attempts.set(attempts.get() + 1);
                match number {
                    1 => name.to_owned(),
                    number => format!("{name} {number}"),
                }
            })
        };
        assert_eq!(
            ["a", "A", "a 3", "a", "a 3"].map(&mut add),
            ["a", "A 2", "a 3", "a 4", "a 3 2"]
        );
        attempts.set(0);
        let last = (0..20_000).map(|_| add("b")).last();
        assert_eq!(last.as_deref(), Some("b 20000"));
        assert!(attempts.get() <= 2 * 20_000, "{}", attempts.get());
    }
}
