//! Transcripts of commands that read pages: lists, searches, links, tasks, dates.

use super::transcript::Transcript;

/// Returns a user with a few linked pages.
fn reader() -> Transcript {
    let user = Transcript::new();
    for (slug, text) in PAGES {
        user.home.put(slug, text);
    }
    user
}

#[test]
fn finding() {
    let mut user = reader();
    user.run(
        r#"
        # list
        brain list
        brain list --type person --sort slug
        brain list --tag engines
        brain list --prefix projects/ --limit 1
        brain list --prefix projects/ --limit 1 --page 2
        brain list --since 7d
        brain list --until 2020
        brain list --format paths --prefix people/
        brain list --format md --prefix people/
        brain list --format csv --prefix people/
        # search
        brain search engine
        brain search "first program"
        brain search engine --type person
        brain search engine --limit 1
        brain search engine --explain
        brain search eng --prefix
        brain search zzz
        brain find pump
        # tags
        brain tags
        brain tags --format csv
        # random, orphans
        brain random --tag poetry
        brain random --type recipe
        brain orphans
        # open
        brain open --print
        "#,
    );
    user.compare("finding");
}

#[test]
fn links_and_graph() {
    let mut user = reader();
    user.run(
        r#"
        # links
        brain links projects/engine
        brain links food/soup
        brain links --broken
        brain backlinks people/ada
        brain backlinks food/soup
        brain link people/byron people/ada --kind father_of
        brain link people/byron people/ada --kind father_of
        brain get people/byron
        brain link people/byron people/ada --kind father_of --remove
        brain link people/byron people/ada --kind father_of --remove
        # graph
        brain graph people/ada
        brain graph people/ada --depth 2
        brain graph projects/engine --format mermaid
        brain graph projects/engine --format dot
        brain graph --all --limit 2
        brain graph food/soup
        "#,
    );
    user.compare("links_and_graph");
}

#[test]
fn the_past() {
    let mut user = reader();
    user.run(
        r#"
        echo "A new text" | brain put notes/old
        brain mv notes/old notes/new
        # as of
        brain get notes/new --as-of today
        brain get notes/old --as-of today
        brain get notes/new --as-of yesterday
        brain get notes/nothing --as-of today
        brain get notes/new --version 1 --as-of today
        brain list --prefix people/ --as-of today
        brain list --as-of yesterday
        brain search engine --limit 1 --as-of today
        brain links projects/engine --as-of today
        brain backlinks people/ada --as-of today
        brain graph people/ada --as-of today
        brain timeline people/ada --as-of today
        brain export out --as-of today
        brain get notes/new --as-of soon
        # what changed
        brain diff --since yesterday --limit 1
        brain diff --since yesterday --until yesterday
        brain diff --since tomorrow
        brain diff
        "#,
    );
    user.compare("the_past");
}

#[test]
fn every_day() {
    let mut user = reader();
    user.run(
        r#"
        # today
        brain today
        brain today 2024-02-29
        brain today 2024-02-29
        brain today someday
        # todos
        brain todos
        brain todos --done
        brain todos --prefix food/
        # timeline
        brain timeline
        brain timeline people/ada
        brain timeline --since 1840 --until 1850
        brain timeline --days
        brain timeline food/soup
        "#,
    );
    user.compare("every_day");
}

const PAGES: &[(&str, &str)] = &[
    (
        "people/ada",
        "---\ntitle: Ada Lovelace\ntype: person\ntags: [mathematics, engines]\n---\n\
         Ada wrote the first program for the [[projects/engine]].\n\n\
         - 1815-12-10 | born in London\n\
         - 1843-09-01 | published the notes [Source: letter]\n",
    ),
    (
        "people/byron",
        "---\ntitle: Lord Byron\ntype: person\ntags: [poetry]\n---\nWrote poems in Italy.\n",
    ),
    (
        "projects/engine",
        "---\ntitle: The Analytical Engine\ntags: [engines]\n---\n\
         A machine of [[people/babbage]], described by [[people/ada]].\n\n\
         - [ ] order the wheels\n- [x] draw the mill\n",
    ),
    ("projects/pump", "# A pump\n\nThe steam engine drives it.\n\n- [ ] oil it\n"),
    ("food/soup", "# Soup\n\nLeek and potato.\n"),
];
