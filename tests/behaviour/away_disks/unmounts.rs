//! Unmounts at random moments of appends, puts, renames, deletions, syncs, restarts and saves.
//!
//! `BRAIN_UNMOUNTS` is the number of unmounts of each disk (3; the full run has 10 of each of 20
//! disks). `BRAIN_UNMOUNT_SEED` repeats the choices of a run, except for their moments.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use brain_tests::mounts::DiskKind;
use brain_tests::{TestHome, report, slugs};

use super::{World, names};
use crate::crash::Rng;
use crate::sync_programs::check::files;

/// A person and the pages that must be there.
struct Person {
    rng: Rng,
    /// The acknowledged lines of each active page that was changed, by slug.
    lines: BTreeMap<String, Vec<String>>,
    /// The slugs of all active pages.
    pages: Vec<String>,
    /// Pages with a save that brain may not have seen.
    saved: BTreeSet<String>,
    /// Such pages that were moved or deleted meanwhile: what was saved can be a page again.
    possible: BTreeSet<String>,
    written: usize,
}

impl Person {
    fn new(pages: usize, rng: Rng) -> Self {
        let pages = (0..pages).map(|n| format!("n{n}")).collect();
        let (saved, possible) = (BTreeSet::new(), BTreeSet::new());
        Self { rng, lines: BTreeMap::new(), pages, saved, possible, written: 0 }
    }

    /// Does something with brain, or saves a file while the disk is mounted.
    fn change_something(&mut self, world: &World) {
        let home = &world.home;
        std::thread::sleep(Duration::from_millis(self.rng.below(60)));
        self.written += 1;
        let line = format!("Line {} of zircon.", self.written);
        let choice = self.rng.below(20);
        let some = (!self.pages.is_empty())
            .then(|| self.pages[self.rng.below(self.pages.len() as u64) as usize].clone());
        match (choice, some) {
            (0..8, Some(slug)) => {
                home.json(["append", &format!("notes:{slug}"), "--", &line]);
                self.lines.entry(slug).or_default().push(line);
            }
            (8..12, Some(slug)) => self.save(world, slug, line),
            (12..14, Some(slug)) => {
                let target = format!("moved/m{}", self.written);
                home.json(["mv", &format!("notes:{slug}"), &format!("notes:{target}")]);
                self.leave(&slug);
                self.pages.push(target.clone());
                let lines = self.lines.remove(&slug).unwrap_or_default();
                self.lines.insert(target, lines);
            }
            (14, Some(slug)) if self.pages.len() > 1 => {
                home.json(["delete", &format!("notes:{slug}")]);
                self.leave(&slug);
                self.lines.remove(&slug);
            }
            (15 | 16, _) => {
                // It is refused while the disk is away. It never removes a page.
                let sync = home.brain(["sync", "notes", "--json"]).json();
                assert_eq!(sync["sources"][0]["removed"], 0, "{sync}");
            }
            (17, _) => drop(home.json(["restart"])),
            _ => {
                let slug = format!("new/p{}", self.written);
                let text = format!("# {slug}\n\n{line}\n");
                home.json_with(["put", &slug, "--source", "notes"], text.as_bytes());
                self.pages.push(slug.clone());
                self.lines.insert(slug, vec![line]);
            }
        }
    }

    /// Forgets a page that was moved or deleted.
    fn leave(&mut self, slug: &str) {
        self.pages.retain(|page| page != slug);
        self.possible.extend(self.saved.take(slug));
    }

    /// Adds a line below the first one of a file, as another program does.
    fn save(&mut self, world: &World, slug: String, line: String) {
        let mounted = world.mounted.lock().unwrap();
        let path = world.at.join(format!("{slug}.md"));
        if mounted.is_none() {
            return;
        }
        let Ok(text) = fs::read_to_string(&path) else { return };
        let text = match text.split_once('\n') {
            Some((first, rest)) => format!("{first}\n{line}\n{rest}"),
            None => format!("{text}\n{line}\n"),
        };
        fs::write(&path, text).unwrap();
        self.saved.insert(slug.clone());
        self.lines.entry(slug).or_default().push(line);
    }

    /// Checks that the pages are those that must be there, each with its lines. Settles the
    /// conflicts.
    fn check(&mut self, world: &World) {
        let home = &world.home;
        let export = home.outside().join("export");
        home.json(["export", export.to_str().unwrap(), "--source", "notes"]);
        let texts = files(&export);
        let exported: BTreeSet<String> = texts.keys().map(|path| path.replace(".md", "")).collect();
        self.possible.retain(|slug| exported.contains(slug));
        self.pages.extend(std::mem::take(&mut self.possible));
        assert_eq!(exported, self.pages.iter().cloned().collect(), "{}", home.log());
        fs::remove_dir_all(&export).unwrap();
        let conflicts = home.json(["conflicts"])["conflicts"].clone();
        let conflicts = slugs(&conflicts);
        for (slug, lines) in &self.lines {
            let text = home.json(["get", &format!("notes:{slug}")])["body"].clone();
            let text = text.as_str().unwrap();
            let file = || fs::read_to_string(world.at.join(format!("{slug}.md")));
            let is_conflict = conflicts.contains(slug);
            if !is_conflict {
                world.wait(slug, |_| file().is_ok_and(|file| file.contains(text.trim())));
            }
            let mut found = text.to_owned();
            if is_conflict {
                found.push_str(&file().unwrap());
            }
            for line in lines {
                let is_in_a_page =
                    || texts.values().any(|text| String::from_utf8_lossy(text).contains(line));
                let is_there =
                    found.contains(line) || is_in_a_page() || versions(home, slug).contains(line);
                assert!(is_there, "{slug}: {line}\n{found}\n{}", home.log());
            }
        }
        for slug in conflicts {
            home.json(["keep", &format!("notes:{slug}"), "page"]);
        }
        self.saved.clear();
    }
}

/// Returns the texts of all former versions of a page.
fn versions(home: &TestHome, slug: &str) -> String {
    let page = format!("notes:{slug}");
    let history = home.json(["history", &page]);
    let rows = history["versions"].as_array().unwrap();
    let text = |row: &serde_json::Value| {
        let version = row["version"].to_string();
        let former = home.json(["get", &page, "--version", &version]);
        former["body"].as_str().unwrap().to_owned()
    };
    rows.iter().map(text).collect()
}

/// What was measured, in the worst case.
#[derive(Default)]
struct Worst {
    busy: Duration,
    away: Duration,
    back: Duration,
}

/// Unmounts one disk `times` times. Returns `None` if such a disk cannot be made here.
fn unmount_at_random(kind: DiskKind, pages: usize, times: u64, rng: &mut Rng) -> Option<Worst> {
    let world = World::new(kind, pages, "", true)?;
    let mut person = Person::new(pages, rng.split());
    let mut worst = Worst::default();
    for _ in 0..times {
        let delay = Duration::from_millis(rng.below(1200));
        let is_pulled = rng.one_in(2);
        std::thread::scope(|scope| {
            let works = scope.spawn(|| (0..16).for_each(|_| person.change_something(&world)));
            std::thread::sleep(delay);
            if is_pulled {
                world.pull_out();
            } else {
                worst.busy = worst.busy.max(world.unmount());
            }
            let begin = Instant::now();
            world.wait("away", |world| !world.problem().is_empty());
            worst.away = worst.away.max(begin.elapsed());
            works.join().unwrap();
        });
        assert_eq!(names(&world.at), Vec::<String>::new(), "written beneath");
        if is_pulled {
            // The disk cannot be mounted again while a program still has files of it.
            std::thread::sleep(Duration::from_secs(3));
        }
        world.mount();
        let begin = Instant::now();
        world.wait("back", |world| world.problem().is_empty());
        worst.back = worst.back.max(begin.elapsed());
        (0..4).for_each(|_| person.change_something(&world));
        let sync = world.home.brain(["sync", "notes", "--json"]).json();
        assert_eq!(sync["sources"][0]["removed"], 0, "{sync}");
        person.check(&world);
    }
    Some(worst)
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().expect("not a number"))
}

/// Unmounts a disk of this kind with each number of notes.
fn unmount_each(kind: DiskKind, sizes: &[usize]) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = setting("BRAIN_UNMOUNT_SEED", now);
    let times = setting("BRAIN_UNMOUNTS", 3);
    for &pages in sizes {
        let what = format!("{kind:?} with {pages} notes");
        report(&format!("{what}: BRAIN_UNMOUNT_SEED={seed}"));
        let mut rng = Rng::from_seed(seed);
        let Some(worst) = unmount_at_random(kind, pages, times, &mut rng) else { return };
        report(&format!(
            "{what}: {times} unmounts; in use for {:?}, noticed in {:?}, back in {:?} at most",
            worst.busy, worst.away, worst.back
        ));
    }
}

/// Returns the numbers of notes to try: `few`, or all of them in the full run.
fn sizes(few: &'static [usize]) -> &'static [usize] {
    if setting("BRAIN_UNMOUNTS", 3) > 3 { &[1, 15, 20, 21, 1000] } else { few }
}

#[test]
fn a_stick_is_unmounted_at_random_moments() {
    unmount_each(DiskKind::Ext4, sizes(&[15]));
}

#[test]
fn a_gocryptfs_directory_is_unmounted_at_random_moments() {
    unmount_each(DiskKind::Gocryptfs, sizes(&[1]));
}

#[test]
fn an_sshfs_directory_is_unmounted_at_random_moments() {
    unmount_each(DiskKind::Sshfs, sizes(&[21]));
}

#[test]
fn a_bound_directory_is_unmounted_at_random_moments() {
    unmount_each(DiskKind::Bind, sizes(&[20]));
}
