//! The slugs of new files. Files whose names differ only in signs, case or spaces each get one.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use brain_protocol::{NameError, Slug};
use sha2::{Digest, Sha256};

use super::file::file_path;

/// Returns the slug of a new file at `path` if no other file needs it: that of its name, or one with
/// a hash for a name of signs alone.
///
/// # Errors
/// [`NameError`] if the path is too long.
pub fn plain_slug(path: &str) -> Result<Slug, NameError> {
    // In a name of this system, a backslash divides nothing.
    let plain = path.replace('\\', "-");
    let (folder, name) = plain.rsplit_once('/').unwrap_or(("", &plain));
    match Slug::from_path(name) {
        Ok(_) => Slug::from_path(&plain),
        // Without its name, the file would have the slug of its folder.
        Err(_) => Slug::from_path(&format!("{folder}/page-{}.md", short_hash(path))),
    }
}

/// Returns a slug that depends on the exact path, for a file whose plain slug another file has.
///
/// # Errors
/// [`NameError`] if the path is too long.
pub fn distinct_slug(path: &str) -> Result<Slug, NameError> {
    Slug::from_path(&format!("{}-{}.md", plain_slug(path)?, short_hash(path)))
}

/// Returns the slugs of new files, in their order; see [`NewSlugs`]. `is_taken` returns whether
/// another file has a slug already.
pub fn assign_slugs(
    paths: &[&str],
    is_taken: impl Fn(&Slug) -> bool,
) -> Vec<Result<Slug, NameError>> {
    let mut slugs = NewSlugs::of(paths);
    paths.iter().map(|path| slugs.next(path, &is_taken)).collect()
}

/// Gives new files their slugs, one after the other. Of several files with the same plain slug, one
/// keeps it: the one whose name lost the fewest characters, then the first by path.
///
/// A new source can have a million files, so this has hashes instead of slugs: two slugs with one
/// hash are taken for the same.
#[derive(Debug, Default)]
pub struct NewSlugs {
    /// By the hash of each slug: the number of lost characters, and the index of the path.
    holders: HashMap<u64, (u32, u32), BuildHasherDefault<DefaultHasher>>,
    /// The index of the next path.
    next: u32,
}

impl NewSlugs {
    /// Compares the paths of all new files.
    #[must_use]
    pub fn of(paths: &[&str]) -> Self {
        let mut new = Self::default();
        for (at, path) in (0..).zip(paths) {
            let Ok(slug) = plain_slug(path) else { continue };
            let lost = lost_characters(path, &slug);
            let known = new.holders.entry(hash(&slug)).or_insert((lost, at));
            if (lost, *path) < (known.0, paths[known.1 as usize]) {
                *known = (lost, at);
            }
        }
        new
    }

    /// Returns the slug of the next path. `is_taken` returns whether another file has a slug
    /// already.
    ///
    /// # Errors
    /// [`NameError`] if the path is too long.
    pub fn next(
        &mut self,
        path: &str,
        is_taken: impl Fn(&Slug) -> bool,
    ) -> Result<Slug, NameError> {
        let at = self.next;
        self.next += 1;
        let slug = plain_slug(path)?;
        match self.holders.get(&hash(&slug)) {
            Some(&(_, holder)) if holder != at || is_taken(&slug) => distinct_slug(path),
            _ => Ok(slug),
        }
    }
}

fn hash(slug: &Slug) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(slug)
}

/// Returns how much a slug differs from its path: 0 for the path of the slug's own file, then the
/// number of lost characters and one.
fn lost_characters(path: &str, slug: &Slug) -> u32 {
    let own = file_path(slug);
    let lost = path.chars().count().saturating_sub(own.chars().count());
    if own == path { 0 } else { 1 + lost as u32 }
}

fn short_hash(path: &str) -> String {
    Sha256::digest(path).iter().take(3).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn slugs(paths: &[&str]) -> Vec<String> {
        let slugs = assign_slugs(paths, |_| false);
        slugs.into_iter().map(|slug| slug.unwrap().to_string()).collect()
    }

    #[test]
    fn each_name_gets_a_slug() {
        let names = [
            "C.md",
            "C++.md",
            "C#.md",
            "AT&T.md",
            "ATT.md",
            "100%.md",
            "100.md",
            "I'm.md",
            "Im.md",
            "a b.md",
            "A-B.md",
            "+.md",
            "\u{1f680}.md",
            "x/?.md",
            "x.md",
            "-- y.md",
            "c/+/a.md",
        ];
        let found = slugs(&names);
        let distinct: std::collections::HashSet<&String> = found.iter().collect();
        assert_eq!(distinct.len(), names.len(), "{found:?}");
        for (name, slug) in [("C.md", "c"), ("ATT.md", "att"), ("100.md", "100"), ("x.md", "x")] {
            let at = names.iter().position(|it| *it == name).unwrap();
            assert_eq!(found[at], slug);
        }
        assert_eq!(slugs(&["back\\slash.md"]), ["back-slash"]);
        assert!(found.iter().all(|slug| !slug.starts_with('-')), "{found:?}");
        assert!(found[1].starts_with("c-") && found[13].starts_with("x/page-"), "{found:?}");
    }

    #[test]
    fn slugs_do_not_depend_on_the_order_of_files() {
        let names = ["C.md", "C++.md", "C#.md", "c?.md"];
        let mut sorted: Vec<_> = names.into_iter().zip(slugs(&names)).collect();
        let reversed: Vec<&str> = names.into_iter().rev().collect();
        let mut again: Vec<_> = reversed.iter().copied().zip(slugs(&reversed)).collect();
        sorted.sort();
        again.sort();
        assert_eq!(sorted, again);
        assert_eq!(slugs(&["C++.md"]), ["c"], "no other file needs it");
        let taken = assign_slugs(&["C.md"], |slug| slug.as_str() == "c");
        assert!(taken[0].as_ref().unwrap().as_str().starts_with("c-"));
    }
}
