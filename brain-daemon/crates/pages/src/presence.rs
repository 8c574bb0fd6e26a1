//! Whether the directories of the sources are there, or *away*: on a disk that is not mounted, or
//! covered by another file system or another directory.
//!
//! `places.json` in the home has the place of each source's directory, and of the file systems that
//! are mounted below it, at the last check. A place that cannot be recognised counts as the same
//! one only if the files of its pages are there. Nothing of a part that is away is read, written or
//! deleted. A brain on several machines has such a file on each.

mod evidence;
mod record;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use brain_protocol::{Command, Hint, SourceId, hint};
use parking_lot::Mutex;

use self::evidence::Evidence;
use self::record::{PlaceRecord, Records};
use brain_base::caller::Visibility;
use brain_base::home::Home;
use brain_files::{
    AwayPart, DirId, Likeness, MountEvents, MountTable, OpenRoot, Parts, Place, PresentPart,
    RootDir, away_error, is_away,
};
use brain_store::{Reader, Store};

/// How thoroughly a directory is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckDepth {
    /// Nothing is checked again while the directory and the mounted file systems stay the same.
    Usual,
    /// A directory that was away is checked again: its files may be there now.
    Again,
    /// The owner says that it is the right directory.
    Accept,
}

/// The places of the sources of this machine.
pub struct Presence {
    home: Home,
    store: Arc<Store>,
    events: MountEvents,
    records: Records,
    states: Mutex<HashMap<SourceId, Arc<Mutex<Facts>>>>,
    /// Counts changes of what is there.
    changes: AtomicU64,
    /// What [`Presence::must_check`] saw last.
    seen_generation: Mutex<Option<Option<u64>>>,
}

/// What is known about a source since the start.
#[derive(Debug, Default)]
struct Facts {
    checked: Option<Checked>,
    /// Why the source, or parts of it, are away.
    away: Option<String>,
}

/// The result of a check. It holds while the directory and the mounted file systems are the same.
#[derive(Debug, Clone)]
struct Checked {
    dir: PathBuf,
    root: DirId,
    generation: Option<u64>,
    /// Why the whole directory is away.
    away: Option<String>,
    parts: Vec<(String, DirId)>,
    away_parts: Vec<AwayPart>,
}

impl fmt::Debug for Presence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Presence").finish_non_exhaustive()
    }
}

impl Presence {
    /// Creates the check of the directories of sources.
    pub fn new(home: Home, store: Arc<Store>) -> Self {
        Self {
            records: Records::new(home.clone()),
            home,
            store,
            events: MountEvents::new(),
            states: Mutex::default(),
            changes: AtomicU64::new(0),
            seen_generation: Mutex::default(),
        }
    }

    /// Opens the directory `dir` of a source. Its files are refused if they are in other file
    /// systems than those of the source.
    ///
    /// # Errors
    /// An error of [`is_away`] if the directory is away. `NotFound` if that of the default source
    /// does not exist. Otherwise the error of the file system.
    pub fn open(&self, source: &SourceId, dir: &Path, how: CheckDepth) -> io::Result<RootDir> {
        let is_default = source.as_str() == SourceId::DEFAULT;
        // The owner may link `pages/`. The directory of another source was none when it was added.
        let opened = if is_default { RootDir::open(dir) } else { RootDir::open_unlinked(dir) };
        let opened = opened.and_then(|root| Ok((DirId::of(&root)?, root)));
        let state = Arc::clone(self.states.lock().entry(source.clone()).or_default());
        let mut state = state.lock();
        let (id, root) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                let Some(reason) = self.reason_of_error(source, dir, &error) else {
                    return Err(error);
                };
                state.checked = None;
                self.report(source, dir, &mut state, Some(reason.clone()));
                return Err(away_error(&reason));
            }
        };
        // Taken before the list of mounts is read, so that a later change is noticed.
        let generation = self.events.generation();
        let known = state.checked.as_ref().filter(|checked| {
            checked.dir == dir && checked.root == id && checked.generation == generation
        });
        let is_known = |checked: &&Checked| match how {
            CheckDepth::Usual => true,
            CheckDepth::Again => checked.away.is_none() && checked.away_parts.is_empty(),
            CheckDepth::Accept => false,
        };
        if let Some(checked) = known.filter(is_known)
            && let Some(parts) = checked.open_parts(&root)
        {
            return match &checked.away {
                Some(reason) => Err(away_error(reason)),
                None => Ok(root.with_parts(parts)),
            };
        }
        let former = state.checked.take();
        let checked = self.check(source, (dir, &root, id), generation, former.as_ref(), how)?;
        let away = checked.summary();
        let is_other = former.is_none_or(|former| {
            (former.root, former.parts) != (checked.root, checked.parts.clone())
        });
        if is_other {
            self.changes.fetch_add(1, Ordering::AcqRel);
        }
        self.report(source, dir, &mut state, away);
        let parts = checked.open_parts(&root);
        let reason = checked.away.clone();
        state.checked = Some(checked);
        match (reason, parts) {
            (Some(reason), _) => Err(away_error(&reason)),
            (None, Some(parts)) => Ok(root.with_parts(parts)),
            (None, None) => Err(away_error("a disk was mounted or unmounted meanwhile")),
        }
    }

    /// Returns a number that changes when a source comes, goes, or gets another place.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Returns whether disks came or went since the last call, or a source is away.
    pub(crate) fn must_check(&self) -> bool {
        let generation = self.events.generation();
        let is_changed = *self.seen_generation.lock() != Some(generation);
        *self.seen_generation.lock() = Some(generation);
        let states: Vec<_> = self.states.lock().values().cloned().collect();
        // A source that is being checked counts as away.
        is_changed || states.iter().any(|state| state.try_lock().is_none_or(|s| s.away.is_some()))
    }

    /// Forgets the place of a source that is not registered any more.
    pub(crate) fn forget(&self, source: &SourceId) {
        self.states.lock().remove(source);
        self.records.remove(source);
    }

    /// Returns why the source is away, if its directory cannot be opened for this reason.
    fn reason_of_error(&self, source: &SourceId, dir: &Path, error: &io::Error) -> Option<String> {
        let is_default = source.as_str() == SourceId::DEFAULT;
        if error.kind() == io::ErrorKind::NotFound {
            let reason = self.reason_of_missing(source, dir);
            let may_be_new = is_default && std::fs::symlink_metadata(dir).is_err();
            return (!may_be_new).then_some(reason);
        }
        (!is_default && dir.is_symlink()).then(|| {
            format!(
                "{} is a symbolic link now, and was a directory; if it leads to the right one: \
                 `{}`",
                dir.display(),
                add_again(source, dir)
            )
        })
    }

    fn reason_of_missing(&self, source: &SourceId, dir: &Path) -> String {
        match self.records.get(source, dir) {
            Some(record) => record.root.reason(None, dir, &MountTable::read()),
            None => format!("{} is not there", dir.display()),
        }
    }

    /// Compares a directory with its record, and records its place if it is the right one.
    fn check(
        &self,
        source: &SourceId,
        (dir, root, id): (&Path, &RootDir, DirId),
        generation: Option<u64>,
        former: Option<&Checked>,
        how: CheckDepth,
    ) -> io::Result<Checked> {
        let reader = self.store.read(Visibility::All).map_err(io::Error::other)?;
        let record = self.records.get(source, dir).filter(|_| how != CheckDepth::Accept);
        let former = former.filter(|former| former.away.is_none() && former.dir == dir);
        let mounts = MountTable::read();
        let mounted = mounted_parts(dir, root, id, &mounts)?;
        let mut borders: Vec<String> = mounted.iter().map(|part| part.path.clone()).collect();
        borders.extend(record.iter().flat_map(|record| record.parts.keys().cloned()));
        let check = PartCheck { reader: &reader, source, root, borders: &borders, how };
        let mut checked = Checked {
            dir: dir.to_owned(),
            root: id,
            generation,
            away: None,
            parts: Vec::new(),
            away_parts: Vec::new(),
        };
        let now = Place::of(root, &mounts)?;
        let is_same = former.is_some_and(|former| former.root == id && id.is_unique());
        let recorded = record.as_ref().map(|record| &record.root);
        // `pages/` is there whenever the home is, and also in a copy of the home.
        let is_of_home = recorded.is_none() && self.is_in_home(source, &id);
        if !is_of_home && !check.is_right("", recorded, &now, is_same)? {
            checked.away = Some(match recorded {
                Some(recorded) => recorded.reason(Some(&now), dir, &mounts),
                None if now.is_automount() => now.reason(Some(&now), dir, &mounts),
                None => format!("{} has none of the files of its pages", dir.display()),
            });
            return Ok(checked);
        }
        let mut accepted = PlaceRecord::new(dir, now);
        let (record, mounts, mounted) = (record.as_ref(), &mounts, mounted.as_slice());
        let comparison = PartComparison { check, dir, record, former, mounts, mounted };
        comparison.check_mounted(&mut checked, &mut accepted)?;
        comparison.check_unmounted(&mut checked, &mut accepted)?;
        if !is_of_home || !accepted.parts.is_empty() {
            self.records.put(source, accepted);
        }
        Ok(checked)
    }

    /// Returns whether this is the directory of the default source, on the disk of the home.
    fn is_in_home(&self, source: &SourceId, id: &DirId) -> bool {
        source.as_str() == SourceId::DEFAULT && self.is_on_disk_of_home(id).unwrap_or(false)
    }

    fn is_on_disk_of_home(&self, id: &DirId) -> io::Result<bool> {
        let home = DirId::of(&RootDir::open(self.home.root())?)?;
        Ok(id.is_in_mount_of(&home))
    }

    /// Remembers whether the source is away, and logs a change once.
    fn report(&self, source: &SourceId, dir: &Path, state: &mut Facts, away: Option<String>) {
        if state.away == away {
            return;
        }
        self.changes.fetch_add(1, Ordering::AcqRel);
        let dir = dir.display();
        match &away {
            Some(reason) => {
                tracing::warn!(%source, %dir, reason, "source away; its pages stay as they are");
                // A disk that was pulled out may have lost what was not flushed.
                if let Err(error) = self.store.write_files_again(source) {
                    tracing::warn!(%source, %error, "unflushed files are not written again");
                }
            }
            None => tracing::info!(%source, %dir, "source is there again"),
        }
        state.away = away;
    }
}

impl Checked {
    /// Returns the parts with their handles. `None` if one of them is another one meanwhile.
    fn open_parts(&self, root: &RootDir) -> Option<Parts> {
        let mut present = Vec::with_capacity(self.parts.len());
        for (path, id) in &self.parts {
            let handle = root.open_path(Path::new(path)).ok()?.into();
            if DirId::of(&handle).ok()? != *id {
                return None;
            }
            present.push(PresentPart { path: path.clone(), id: *id, handle });
        }
        Some(Parts::new(self.root, present, self.away_parts.clone()))
    }

    /// Returns why the directory or parts of it are away.
    fn summary(&self) -> Option<String> {
        let reasons = self.away.iter().chain(self.away_parts.iter().map(|part| &part.reason));
        let reasons: Vec<&str> = reasons.map(String::as_str).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    fn is_in_away_part(&self, path: &str) -> bool {
        self.away_parts.iter().any(|part| Path::new(path).starts_with(&part.path))
    }
}

/// A file system that is mounted below a directory.
struct MountedPart {
    path: String,
    id: DirId,
    place: Place,
}

impl MountedPart {
    fn name(&self) -> (String, DirId) {
        (self.path.clone(), self.id)
    }
}

/// Returns the file systems that are mounted below the directory, outer ones first.
fn mounted_parts(
    dir: &Path,
    root: &RootDir,
    id: DirId,
    mounts: &MountTable,
) -> io::Result<Vec<MountedPart>> {
    let mut parts: Vec<MountedPart> = Vec::new();
    for path in mounts.below(&dir.canonicalize()?) {
        // A hidden mount, or one that does not answer.
        let Ok(handle) = root.open_path(Path::new(&path)) else { continue };
        let part_id = DirId::of(&handle)?;
        let above = parts.iter().filter(|part| Path::new(&path).starts_with(&part.path));
        let above = above.max_by_key(|part| part.path.len()).map_or(id, |part| part.id);
        if !part_id.is_in_mount_of(&above) {
            let place = Place::of(&handle, mounts)?;
            parts.push(MountedPart { path, id: part_id, place });
        }
    }
    Ok(parts)
}

/// Decides whether a part of a source's directory is the right one.
struct PartCheck<'a> {
    reader: &'a Reader,
    source: &'a SourceId,
    /// The directory, opened without a check of its parts.
    root: &'a RootDir,
    /// The paths of all parts below the directory.
    borders: &'a [String],
    how: CheckDepth,
}

impl PartCheck<'_> {
    /// Returns whether the part at `path` is the recorded one. `is_same` says that it is the same
    /// mount as at the last check.
    fn is_right(
        &self,
        path: &str,
        recorded: Option<&Place>,
        now: &Place,
        is_same: bool,
    ) -> io::Result<bool> {
        if now.is_automount() {
            return Ok(false);
        }
        if is_same || self.how == CheckDepth::Accept {
            return Ok(true);
        }
        let Some(recorded) = recorded else {
            // The first check, for example after an upgrade.
            let evidence = Evidence::gather(self, path, |evidence| evidence.present > 0)?;
            return Ok(evidence.pages == 0 || evidence.present > 0);
        };
        Ok(match recorded.compare(now) {
            Likeness::Same => true,
            Likeness::Similar => {
                let evidence = Evidence::gather(self, path, |evidence| evidence.unchanged > 0)?;
                evidence.unchanged > 0 || evidence.present == evidence.pages
            }
            Likeness::Different => {
                let evidence = Evidence::gather(self, path, Evidence::is_incomplete)?;
                match evidence.pages {
                    0 => recorded.is_on_mount_of(now),
                    _ => evidence.is_restored(),
                }
            }
        })
    }

    /// Returns whether a file system that is mounted at `path` since the last check hides no page.
    fn may_be_new(&self, path: &str, now: &Place) -> io::Result<bool> {
        let evidence = Evidence::gather(self, path, Evidence::is_incomplete)?;
        Ok(!now.is_automount() && (evidence.pages == 0 || evidence.is_restored()))
    }
}

/// The parts of a source's directory at the last check and now.
struct PartComparison<'a> {
    check: PartCheck<'a>,
    dir: &'a Path,
    record: Option<&'a PlaceRecord>,
    /// The last check of the same directory.
    former: Option<&'a Checked>,
    mounts: &'a MountTable,
    mounted: &'a [MountedPart],
}

impl PartComparison<'_> {
    /// Checks each file system that is mounted now.
    fn check_mounted(&self, checked: &mut Checked, accepted: &mut PlaceRecord) -> io::Result<()> {
        for part in self.mounted {
            if checked.is_in_away_part(&part.path) {
                continue;
            }
            let recorded = self.record.and_then(|record| record.parts.get(&part.path));
            let is_same = part.id.is_unique()
                && self.former.is_some_and(|former| former.parts.contains(&part.name()));
            let is_right = match recorded {
                // A disk that is mounted over pages hides them.
                None if self.record.is_some() => self.check.may_be_new(&part.path, &part.place)?,
                recorded => self.check.is_right(&part.path, recorded, &part.place, is_same)?,
            };
            if is_right {
                checked.parts.push(part.name());
                accepted.parts.insert(part.path.clone(), part.place.clone());
                continue;
            }
            let at = self.dir.join(&part.path);
            let reason = match recorded {
                Some(recorded) => recorded.reason(Some(&part.place), &at, self.mounts),
                None => format!("another disk is mounted at {}", at.display()),
            };
            accepted.parts.extend(recorded.map(|place| (part.path.clone(), place.clone())));
            checked.away_parts.push(AwayPart { path: part.path.clone(), reason });
        }
        Ok(())
    }

    /// Checks each recorded part at which nothing is mounted now.
    fn check_unmounted(&self, checked: &mut Checked, accepted: &mut PlaceRecord) -> io::Result<()> {
        for (path, recorded) in self.record.iter().flat_map(|record| &record.parts) {
            if self.mounted.iter().any(|part| part.path == *path) || checked.is_in_away_part(path) {
                continue;
            }
            // The files may have moved from the disk to the directory.
            let evidence = Evidence::gather(&self.check, path, Evidence::is_incomplete)?;
            if evidence.pages == 0 || evidence.is_restored() {
                continue;
            }
            let reason = format!("nothing is mounted at {}", self.dir.join(path).display());
            accepted.parts.insert(path.clone(), recorded.clone());
            checked.away_parts.push(AwayPart { path: path.clone(), reason });
        }
        Ok(())
    }
}

/// Opens the directory of one source for its tree.
#[derive(Debug)]
pub(crate) struct SourceRoot {
    pub(crate) presence: Arc<Presence>,
    pub(crate) source: SourceId,
}

impl OpenRoot for SourceRoot {
    fn open(&self, root: &Path) -> io::Result<RootDir> {
        self.presence.open(&self.source, root, CheckDepth::Usual)
    }

    fn create(&self, root: &Path) -> io::Result<RootDir> {
        std::fs::create_dir(root)?;
        self.presence.open(&self.source, root, CheckDepth::Accept)
    }

    fn can_be_unmounted(&self, dir: BorrowedFd<'_>) -> bool {
        // The store is open, so the disk of the home stays mounted.
        let is_of_home = DirId::of(dir).and_then(|id| self.presence.is_on_disk_of_home(&id));
        is_of_home.is_ok_and(|is_of_home| !is_of_home)
    }
}

/// Returns the reason if an error means that a source is away.
pub fn away_reason(error: &io::Error) -> Option<String> {
    is_away(error).then(|| error.to_string())
}

/// Returns what the owner can do about a source that is away.
pub fn away_hint(source: &SourceId, dir: &Path) -> Hint {
    hint!("mount it again; if this is the right directory now: {}", add_again(source, dir))
}

fn add_again(source: &SourceId, dir: &Path) -> Command {
    let (source, path) = (Some(source.to_string()), Some(dir.display().to_string()));
    Command::SourcesAdd { source, path }
}
