//! Recognises copies that sync programs make of a file: by their names alone.
//!
//! Only names that a program makes and a person hardly chooses are recognised.

/// A copy that a sync program made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramCopy {
    /// The path of the file of which it is a copy.
    pub original: String,
    /// The program.
    pub program: CopyProgram,
}

/// A program that makes copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CopyProgram {
    /// `note.sync-conflict-20261128-211825-ABCDEFG.md`
    Syncthing,
    /// `note (conflict_on_2026-11-28).md`, `note (conflict #1_on_2026-11-28_was_deleted).md`, and
    /// the backup `.bak.0.note.md`
    Unison,
    /// `note.md..path1`: the file itself is gone
    Rclone,
    /// `note.variant-ab12.md`: the file itself is gone
    GitAnnex,
    /// `note (conflicted copy 2026-11-28 211825).md`, `note_conflict-20261128-211825.md`
    Nextcloud,
    /// `note (Ann's conflicted copy 2026-11-28).md`
    Dropbox,
    /// `note (SFConflict ann@example.org 2026-11-28-21-18-25).md`
    Seafile,
    /// `note (Conflicted copy MyMacBook2 202411281430).md`
    ObsidianSync,
    /// `note-laptop-safeBackup-0001.md`, of the client for Linux. That of Microsoft adds the name of
    /// the computer alone, as a person may do.
    OneDrive,
}

impl CopyProgram {
    /// Returns the name of the program.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Syncthing => "Syncthing",
            Self::Unison => "Unison",
            Self::Rclone => "rclone",
            Self::GitAnnex => "git-annex",
            Self::Nextcloud => "Nextcloud",
            Self::Dropbox => "Dropbox",
            Self::Seafile => "Seafile",
            Self::ObsidianSync => "Obsidian Sync",
            Self::OneDrive => "OneDrive",
        }
    }

    /// Returns whether the program removes the file when it makes copies of both versions.
    #[must_use]
    pub fn removes_original(self) -> bool {
        matches!(self, Self::Rclone | Self::GitAnnex)
    }
}

/// Returns what the file at `path` is a copy of. `None` if its name is not that of a copy. Does not
/// say whether there is such an original.
#[must_use]
pub fn program_copy(path: &str) -> Option<ProgramCopy> {
    let (dir, name) = match path.rsplit_once('/') {
        Some((dir, name)) => (Some(dir), name),
        None => (None, path),
    };
    let (original, program) = copy_of_name(name)?;
    let original = dir.map_or_else(|| original.clone(), |dir| format!("{dir}/{original}"));
    Some(ProgramCopy { original, program })
}

fn copy_of_name(name: &str) -> Option<(String, CopyProgram)> {
    if let Some((original, _)) = name.split_once("..path") {
        let ends = name.strip_prefix(original)?.split("..path").skip(1);
        let is_copy = !original.is_empty() && ends.into_iter().all(|end| is_digits(end, 1..=2));
        return is_copy.then(|| (original.to_owned(), CopyProgram::Rclone));
    }
    if let Some((number, original)) = name.strip_prefix(".bak.").and_then(|it| it.split_once('.')) {
        let is_copy = is_digits(number, 1..=4) && !original.is_empty();
        return is_copy.then(|| (original.to_owned(), CopyProgram::Unison));
    }
    let (stem, extension) = name.rsplit_once('.')?;
    let (stem, program) = copy_of_stem(stem)?;
    (!stem.is_empty()).then(|| (format!("{stem}.{extension}"), program))
}

/// Returns the name without its extension of which `stem` is a copy.
fn copy_of_stem(stem: &str) -> Option<(&str, CopyProgram)> {
    if let Some((original, end)) = stem.rsplit_once(".sync-conflict-") {
        let mut parts = end.split('-');
        let is_copy = parts.next().is_some_and(|date| is_digits(date, 8..=8))
            && parts.next().is_some_and(|time| is_digits(time, 6..=6))
            && parts.next().is_some_and(|device| {
                device.len() == 7
                    && device.bytes().all(|b| b.is_ascii_uppercase() || (b'2'..=b'7').contains(&b))
            })
            && parts.next().is_none();
        return is_copy.then_some((original, CopyProgram::Syncthing));
    }
    if let Some((original, key)) = stem.rsplit_once(".variant-") {
        let is_copy =
            key.len() == 4 && key.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        return is_copy.then_some((original, CopyProgram::GitAnnex));
    }
    if let Some((original, end)) = stem.rsplit_once("_conflict-") {
        let is_copy = end
            .split_once('-')
            .is_some_and(|(date, time)| is_digits(date, 8..=8) && is_digits(time, 6..=6));
        return is_copy.then_some((original, CopyProgram::Nextcloud));
    }
    if let Some((named, number)) = stem.rsplit_once("-safeBackup-") {
        // The computer's name can have hyphens, too: then the original is not found.
        let (original, computer) = named.rsplit_once('-')?;
        let is_copy = !computer.is_empty() && is_digits(number, 4..=4);
        return is_copy.then_some((original, CopyProgram::OneDrive));
    }
    let (original, inside) = stem.strip_suffix(')')?.rsplit_once(" (")?;
    copy_in_parentheses(inside).map(|program| (original, program))
}

/// Returns the program that adds these words in parentheses to a name.
fn copy_in_parentheses(words: &str) -> Option<CopyProgram> {
    if let Some(end) = words.strip_prefix("conflicted copy ") {
        let is_copy = match end.split_once(' ') {
            Some((date, time)) => is_date(date) && is_digits(time, 6..=6),
            None => false,
        };
        return is_copy.then_some(CopyProgram::Nextcloud);
    }
    if let Some(end) = words.strip_prefix("conflict") {
        let date = match end.strip_prefix(" #") {
            Some(numbered) => {
                let (number, date) = numbered.split_once("_on_")?;
                is_digits(number, 1..=4).then_some(date)?
            }
            None => end.strip_prefix("_on_")?,
        };
        return is_date(date.strip_suffix("_was_deleted").unwrap_or(date))
            .then_some(CopyProgram::Unison);
    }
    if let Some((owner, date)) = words.rsplit_once("'s conflicted copy ") {
        return (!owner.is_empty() && is_date(date)).then_some(CopyProgram::Dropbox);
    }
    if let Some((device, time)) =
        words.strip_prefix("Conflicted copy ").and_then(|end| end.rsplit_once(' '))
    {
        return (!device.is_empty() && is_digits(time, 12..=12))
            .then_some(CopyProgram::ObsidianSync);
    }
    let (owner, time) = words.strip_prefix("SFConflict ")?.rsplit_once(' ')?;
    let (date, clock) = (time.get(..10)?, time.get(10..)?);
    let is_clock = clock.len() == 9
        && clock.split('-').skip(1).all(|part| is_digits(part, 2..=2))
        && clock.starts_with('-');
    (owner.contains('@') && is_date(date) && is_clock).then_some(CopyProgram::Seafile)
}

/// Returns whether `text` is a date such as `2026-11-28`.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    matches!(parts.as_slice(), [year, month, day]
        if is_digits(year, 4..=4) && is_digits(month, 2..=2) && is_digits(day, 2..=2))
}

fn is_digits(text: &str, len: std::ops::RangeInclusive<usize>) -> bool {
    len.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unison 2.52.1 and git-annex 10 made these names when this was written. Those of Syncthing,
    /// rclone and Nextcloud follow reports of runs. That of Obsidian Sync is in its help, and that of
    /// OneDrive in the source of its client for Linux (`safeBackup` in `src/util.d`). The others were
    /// not seen.
    #[test]
    fn names_that_programs_make_are_recognised() {
        use CopyProgram::*;
        for (copy, original, program) in [
            ("note.sync-conflict-20261128-211825-ABCDEFG.md", "note.md", Syncthing),
            ("a/b/note.x.sync-conflict-20261128-211825-A2C3D7G.md", "a/b/note.x.md", Syncthing),
            ("note (conflict_on_2026-11-28).md", "note.md", Unison),
            ("note (conflict #1_on_2026-11-29).md", "note.md", Unison),
            ("note (conflict_on_2026-11-28_was_deleted).md", "note.md", Unison),
            ("a/.bak.0.note.md", "a/note.md", Unison),
            ("note.md..path1", "note.md", Rclone),
            ("a/note.md..path2", "a/note.md", Rclone),
            ("note.md..path1..path1", "note.md", Rclone),
            ("note.variant-d457.md", "note.md", GitAnnex),
            ("note (conflicted copy 2026-11-28 211825).md", "note.md", Nextcloud),
            ("note_conflict-20261128-211825.md", "note.md", Nextcloud),
            ("note (Ann's conflicted copy 2026-11-28).md", "note.md", Dropbox),
            (
                "my (old) note (Ann Lee's conflicted copy 2026-11-28).md",
                "my (old) note.md",
                Dropbox,
            ),
            ("note (SFConflict ann@example.org 2026-11-28-21-18-25).md", "note.md", Seafile),
            (
                "Meeting notes (Conflicted copy MyMacBook2 202411281430).md",
                "Meeting notes.md",
                ObsidianSync,
            ),
            ("note (Conflicted copy Ann's phone 202411281430).md", "note.md", ObsidianSync),
            ("a/my-note-laptop-safeBackup-0001.md", "a/my-note.md", OneDrive),
        ] {
            let found = program_copy(copy);
            assert_eq!(found, Some(ProgramCopy { original: original.into(), program }), "{copy}");
        }
    }

    #[test]
    fn names_that_a_person_may_choose_are_no_copies() {
        for name in [
            "note.md",
            "note (conflict).md",
            "note (conflict on Monday).md",
            "note (conflicted copy).md",
            "note (copy 2026-11-28).md",
            "note (2026-11-28).md",
            "note (Ann's copy).md",
            "sync-conflict.md",
            ".sync-conflict-20261128-211825-ABCDEFG.md",
            "note.sync-conflict-20261128-211825-abcdefg.md",
            "note.variant-a.md",
            "note.variant-blue.md",
            "note_conflict-monday.md",
            "note.md..pathology",
            "..path1",
            ".bak.note.md",
            "the conflict (conflict_on_both_sides).md",
            "note-DESKTOP.md",
            "note (Conflicted copy 202411281430).md",
            "note (Conflicted copy of Monday).md",
            "note-safeBackup-0001.md",
            "note-laptop-safeBackup-1.md",
            " (conflict_on_2026-11-28)",
            "",
        ] {
            assert_eq!(program_copy(name), None, "{name}");
        }
    }
}
