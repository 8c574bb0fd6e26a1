//! A person who changes notes at random, with brain and with other programs.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::Side;
use super::check::files;
use crate::crash::Rng;

/// Names of the notes. Few, so that both sides often change the same one.
const NAMES: u64 = 16;

/// What a person did.
#[derive(Default)]
pub(crate) struct Log {
    /// The lines that must be found, each with the operation that wrote it.
    pub(crate) lines: Vec<(String, &'static str)>,
    /// The error codes of the refused operations.
    pub(crate) refused: Vec<String>,
    /// Every operation, with the moment of its end.
    pub(crate) history: Vec<(SystemTime, String)>,
}

fn slug(n: u64) -> String {
    if n.is_multiple_of(3) { format!("box/note-{n}") } else { format!("note-{n}") }
}

/// Creates a directory with half of the notes.
pub(crate) fn write_first_notes(dir: &Path) {
    fs::create_dir_all(dir.join("box")).unwrap();
    for slug in (0..NAMES / 2).map(slug) {
        fs::write(dir.join(format!("{slug}.md")), format!("# {slug}\n\nFirst text.\n")).unwrap();
    }
}

pub(crate) struct Person<'a> {
    side: &'a Side,
    name: &'static str,
    rng: Rng,
    written: usize,
    pub(crate) log: Log,
}

impl<'a> Person<'a> {
    pub(crate) fn new(side: &'a Side, name: &'static str, rng: Rng) -> Self {
        Self { side, name, rng, written: 0, log: Log::default() }
    }

    pub(crate) fn change_something(&mut self) {
        std::thread::sleep(Duration::from_millis(self.rng.below(150)));
        let slug = self.some_note();
        let line = self.new_line();
        let page = format!("# {slug}\n\n{line}\n");
        let action = self.rng.below(24);
        match action {
            0..6 => self.brain("append", &["append", &slug, &line], b"", Some(line.clone())),
            6..8 => self.edit(&slug, line),
            8..10 => self.brain("put", &["put", &slug], page.as_bytes(), Some(line)),
            10 => self.brain("mv", &["mv", &slug, &self.free_name()], b"", None),
            11 => self.brain("delete", &["delete", &slug], b"", None),
            12 => self.brain("restore", &["restore", &slug], b"", None),
            13 => self.brain("sync", &["sync"], b"", None),
            _ => {
                let _no_program_runs = self.side.saving.lock().unwrap();
                match action {
                    14..18 => self.save_in_place(&slug, line),
                    18..22 => self.save_beside(&slug, line),
                    22 => self.rename_file(&slug),
                    _ => self.remove_file(&slug),
                }
            }
        }
        let text = format!("{} {slug} action {action} line {}", self.name, self.written);
        self.log.history.push((SystemTime::now(), text));
    }

    fn new_line(&mut self) -> String {
        self.written += 1;
        format!("Line {} of the {} side.", self.written, self.name)
    }

    /// Returns the slug of a note: mostly of one that is there.
    fn some_note(&mut self) -> String {
        let there: Vec<String> = files(&self.side.notes).into_keys().collect();
        if there.is_empty() || self.rng.one_in(8) {
            return slug(self.rng.below(NAMES));
        }
        let path = &there[self.rng.below(there.len() as u64) as usize];
        let found = path.trim_end_matches(".md");
        if found.contains(['.', ' ']) { slug(self.rng.below(NAMES)) } else { found.into() }
    }

    /// Returns the slug of a note that nobody had before.
    fn free_name(&self) -> String {
        format!("moved/{}-{}", self.name, self.written)
    }

    /// Runs a command of brain. Remembers `line` if it was acknowledged.
    fn brain(&mut self, kind: &'static str, args: &[&str], stdin: &[u8], line: Option<String>) {
        let args = ["--json"].iter().chain(args).chain(&["--source", "notes"]);
        let run = self.side.home.brain_with(args, stdin);
        if run.code == 0 {
            self.log.lines.extend(line.map(|line| (line, kind)));
        } else {
            self.refuse(kind, &run);
        }
    }

    fn refuse(&mut self, kind: &str, run: &brain_tests::Run) {
        let reply = run.json();
        if reply["status"] == "partial" {
            let failed = reply["sources"][0]["failed"].as_array().unwrap().iter();
            let mut reasons = failed.map(|file| file["reason"].as_str().unwrap());
            assert!(reasons.all(|reason| reason.contains("conflict")), "{run:?}");
            self.log.refused.push("sync partial".into());
            return;
        }
        let code = reply["error"]["code"].as_str().unwrap_or("none").to_owned();
        assert!(
            !matches!(code.as_str(), "internal" | "damaged" | "unavailable" | "none"),
            "{run:?}"
        );
        self.log.refused.push(format!("{kind} {code}"));
    }

    fn edit(&mut self, slug: &str, line: String) {
        let mut command = self.side.home.command("brain");
        command
            .env("EDITOR", format!("sed -i -e '/^# /a {line}'"))
            .args(["--json", "edit", slug, "--source", "notes"]);
        let run = brain_tests::run(command, b"");
        if run.code == 0 {
            self.log.lines.push((line, "edit"));
        } else {
            self.refuse("edit", &run);
        }
    }

    /// Adds a line at the end of a file by writing the whole file again.
    fn save_in_place(&mut self, slug: &str, line: String) {
        let path = self.side.notes.join(format!("{slug}.md"));
        let text = fs::read_to_string(&path).unwrap_or_else(|_| format!("# {slug}\n\n"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if fs::write(&path, format!("{text}{line}\n")).is_ok() {
            self.log.lines.push((line, "save in place"));
        }
    }

    /// Adds a line below the heading, with a new file that replaces the former one.
    fn save_beside(&mut self, slug: &str, line: String) {
        let path = self.side.notes.join(format!("{slug}.md"));
        let text = fs::read_to_string(&path).unwrap_or_else(|_| format!("# {slug}\n\n"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let temporary = path.with_extension("md~");
        let heading = text.lines().find(|line| line.starts_with("# ")).unwrap_or_default();
        let text = text.replacen(heading, &format!("{heading}\n{line}"), 1);
        if fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, &path)).is_ok() {
            self.log.lines.push((line, "save by rename"));
        }
    }

    fn rename_file(&self, slug: &str) {
        let target = self.side.notes.join(format!("{}.md", self.free_name()));
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        let path = self.side.notes.join(format!("{slug}.md"));
        let _ = renameat_with(CWD, path, CWD, target, RenameFlags::NOREPLACE);
    }

    /// Removes a file. Lines that only this person saved in it may be gone: no brain and no sync
    /// program may have read them.
    fn remove_file(&mut self, slug: &str) {
        let path = self.side.notes.join(format!("{slug}.md"));
        let Ok(text) = fs::read_to_string(&path) else { return };
        if fs::remove_file(&path).is_ok() {
            self.log.lines.retain(|(line, kind)| {
                !(kind.starts_with("save") && text.lines().any(|found| found == line))
            });
        }
    }
}
