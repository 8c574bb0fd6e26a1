//! What an import could not bring, by name.

use brain_protocol::ImportFailure;

/// Maximum number of lost things that are named, and of the bytes of their names and reasons.
const MAX_NAMED: usize = 10_000;
const MAX_BYTES: usize = 4 << 20;

/// Things that are in no page, or only in part.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// The first of them.
    pub(super) named: Vec<ImportFailure>,
    bytes: usize,
    /// The number of all of them.
    pub(super) total: u64,
}

impl Losses {
    pub(super) fn add(&mut self, path: String, reason: String) {
        self.total += 1;
        self.bytes += path.len() + reason.len();
        if self.named.len() < MAX_NAMED && self.bytes <= MAX_BYTES {
            self.named.push(ImportFailure { path, reason });
        }
    }

    /// Adds those of another list.
    pub(super) fn merge(&mut self, other: Self) {
        let unnamed = other.total - other.named.len() as u64;
        for ImportFailure { path, reason } in other.named {
            self.add(path, reason);
        }
        self.total += unnamed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_limited_and_all_are_counted() {
        let mut losses = Losses::default();
        for n in 0..10_005 {
            losses.add(n.to_string(), "x".to_owned());
        }
        assert_eq!((losses.named.len(), losses.total), (10_000, 10_005));
        let mut all = Losses::default();
        all.add("long".to_owned(), "x".repeat(MAX_BYTES));
        all.merge(losses);
        assert_eq!((all.named.len(), all.total), (0, 10_006));
    }
}
