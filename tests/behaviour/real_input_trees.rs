//! Directories as people have them: a vault of Obsidian, sites of Hugo and Jekyll, a repository
//! with five years of history, and a project.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use brain_tests::{run, vault};

use crate::sync::write;

/// The time of all files, 2024-06-01T08:00:00Z, in seconds since 1970.
const FILE_TIME: u64 = 1_717_228_800;

/// Writes a vault of Obsidian: [`vault`], a daily note, an empty note, and what is no note.
pub(crate) fn write_obsidian_vault(dir: &Path) {
    vault::write(dir);
    for (path, content) in [
        (
            "Daily/2025-01-15.md",
            "[[Amara Böhm]] at [[Amber & Sons|the boats]], then [[1:1 Amara Böhm + Felix \
             Castell]].\n\n\
             See [[Ferry Pricing#Timeline]], ![[chart.png]] and [[Not Yet Written]].\n",
        ),
        ("Scratch.md", ""),
        ("Attachments/chart.png", "not really"),
        (".obsidian/app.json", "{}"),
        (".obsidian/workspace.json", "{\"main\":{}}"),
        (".obsidian/plugins/calendar/README.md", "# A plugin\n\n[[Amara Böhm]]\n"),
        (".trash/Old.md", "[[nowhere]]\n"),
    ] {
        write(dir, path, content);
    }
    set_times(dir);
}

/// Writes a Hugo site with the output of `hugo`.
pub(crate) fn write_hugo_site(dir: &Path) {
    for (path, content) in [
        ("hugo.toml", "baseURL = 'https://example.org/'\ntitle = 'A Site'\n"),
        (".gitignore", "/public/\n/resources/_gen/\n.hugo_build.lock\n"),
        (
            "content/posts/first-light.md",
            "+++\ntitle = 'First Light'\ndate = 2021-03-04T10:20:30+01:00\nlastmod = 2022-05-06\n\
             draft = false\ntags = ['Sea', 'night']\naliases = ['/old/light/']\n\n\
             [params]\nauthor = 'Ann'\n+++\n\nThe lamp was lit. See [the walk](harbour-walk.md).\n",
        ),
        (
            "content/posts/harbour-walk.md",
            "---\ntitle: \"Harbour: a walk\"\ndate: 2023-07-08T09:00:00Z\ndraft: true\n---\n\n\
             After [the light]({{< relref \"first-light.md\" >}}), see [the map](lost-map.md).\n",
        ),
        ("content/posts/storm/index.md", "+++\ndate = '2020-11-12'\n+++\nWind, in a bundle.\n"),
        ("content/about.md", "---\ntitle: About\nlastmod: 2025-02-03 10:00:00 +0200\n---\n\nUs.\n"),
        ("layouts/_default/single.html", "{{ .Content }}\n"),
        ("public/posts/first-light/index.html", "<h1>First Light</h1>\n"),
        ("public/posts/first-light/index.md", "# First Light\n\nbuilt\n"),
        ("resources/_gen/assets/style.md", "built\n"),
    ] {
        write(dir, path, content);
    }
    set_times(dir);
}

/// Writes a Jekyll site with the output of `jekyll build`.
pub(crate) fn write_jekyll_site(dir: &Path) {
    for (path, content) in [
        ("_config.yml", "title: A Blog\n"),
        (".gitignore", "_site\n.jekyll-cache\n.sass-cache\nvendor\n"),
        (
            "_posts/2024-03-05-first-post.md",
            "---\nlayout: post\ntitle: \"First post\"\ncategories: [news]\n---\n\nHello.\n",
        ),
        (
            "_posts/2024-03-07-second.markdown",
            "---\nlayout: post\ndate: 2024-03-07 10:15:00 +0100\n---\n\n\
             After [the first](2024-03-05-first-post.md) and \
             [again]({% post_url 2024-03-05-first-post %}).\n",
        ),
        ("_drafts/an-idea.md", "---\nlayout: post\n---\n\n# An idea\n\nNot [ready](never.md).\n"),
        ("index.md", "---\nlayout: home\n---\n"),
        ("_site/2024/03/05/first-post.md", "built\n"),
        ("_site/index.html", "built\n"),
        (".jekyll-cache/x.md", "built\n"),
        ("vendor/bundle/gem/README.md", "# A gem\n"),
    ] {
        write(dir, path, content);
    }
    set_times(dir);
}

/// Writes a project with dependencies and build results.
pub(crate) fn write_project(dir: &Path) {
    for (path, content) in [
        (
            "README.md",
            "<p align=\"center\"><img src=\"logo.svg\"></p>\n\n\
             [![CI](ci.svg)](https://example.org)\n\n# The Tool\n\n\
             See [the design](docs/design.md) and [the licence](LICENSE.md).\n",
        ),
        ("docs/design.md", "## Goals\n\nSmall. Back to [the start](../README.md).\n"),
        (".gitignore", "/build/\n*.tmp.md\n"),
        ("docs/notes.tmp.md", "scratch\n"),
        ("build/report.md", "built\n"),
        ("src/main.rs", "fn main() {}\n"),
        ("node_modules/left-pad/README.md", "# left-pad\n"),
        ("web/node_modules/left-pad/README.md", "# left-pad\n"),
        ("target/doc/help.md", "# help\n"),
        (".venv/lib/python3.14/site-packages/x/README.md", "# x\n"),
        (".github/ISSUE_TEMPLATE.md", "What happened?\n"),
    ] {
        write(dir, path, content);
    }
    set_times(dir);
}

/// Makes a repository with a commit in each month of 2020 to 2024; one commit renames a file.
/// Returns `false` if git is not installed.
pub(crate) fn make_git_history(dir: &Path) -> bool {
    if !Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success()) {
        brain_tests::skip("git is not installed");
        return false;
    }
    fs::create_dir_all(dir).unwrap();
    let text = "A plan that is long enough to be found again under its new name.\n";
    git(dir, "", &["init", "-q", "-b", "main"]);
    for month in 0..60 {
        let (year, month_of_year) = (2020 + month / 12, month % 12 + 1);
        let day = format!("{year}-{month_of_year:02}-10");
        write(dir, &format!("log/{year}.md"), format!("Last entry: {day}.\n"));
        match day.as_str() {
            "2020-02-10" => write(dir, "docs/plan.md", text),
            "2020-05-10" => write(dir, "notes/old-name.md", format!("# Harbour\n\n{text}")),
            "2021-01-10" => write(dir, "stated.md", "---\ncreated: 2019-12-24\n---\n\nOlder.\n"),
            "2022-06-10" => {
                write(dir, "docs/plan.md", format!("{text}\nSee [log](../log/2022.md).\n"));
            }
            "2023-07-10" => {
                fs::rename(dir.join("notes/old-name.md"), dir.join("notes/Clear Name.md")).unwrap();
            }
            "2024-01-10" => {
                let changed = format!("# Harbour\n\n{text}\nSee [[plan]] and [[old-name]].\n");
                write(dir, "notes/Clear Name.md", changed);
            }
            _ => {}
        }
        git(dir, &day, &["add", "-A"]);
        git(dir, &day, &["commit", "-q", "-m", &format!("Notes of {day}")]);
    }
    write(dir, "new.md", "Not committed.\n");
    set_times(dir);
    true
}

/// Runs git in `dir`. Commits are made at noon of `day`, if it is not empty.
fn git(dir: &Path, day: &str, args: &[&str]) {
    let mut command = Command::new("git");
    let identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"];
    command.arg("-C").arg(dir).args(identity).args(args);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    if !day.is_empty() {
        let time = format!("{day}T12:00:00Z");
        command.env("GIT_AUTHOR_DATE", &time).env("GIT_COMMITTER_DATE", &time);
    }
    run(command, b"").expect(0);
}

/// Sets the time of all files, except those of git.
fn set_times(dir: &Path) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(FILE_TIME);
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with(".git") {
            continue;
        }
        match path.is_dir() {
            true => set_times(&path),
            false => {
                fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
            }
        }
    }
}
