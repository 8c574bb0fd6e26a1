//! Transcripts of commands for sources and files: import, sync, conflicts, export, backup.

use std::fs;

use super::transcript::Transcript;

#[test]
fn sources_and_sync() {
    let mut user = Transcript::new();
    user.write("vault/plan.md", "# Plan\n\nSee [[people/ann]].\n");
    user.write("vault/people/ann.md", "# Ann\n");
    user.write("vault/drafts/x.md", "# X\n");
    user.write("vault/broken.md", "---\nbroken: [1, 2\n---\nx\n");
    user.run(
        r#"
        # sources
        brain sources
        brain sources add work vault --exclude drafts/
        brain sources add work vault
        brain sources add other none
        brain sources set work --include people/ --include '*.md'
        brain sources set work --include '' --provenance off
        brain sources list
        # sync
        brain sync work --dry-run
        brain sync work
        brain sync work
        brain sync --all
        brain sync none
        "#,
    );
    user.write("vault/plan.md", "# Plan\n\nNew.\n");
    user.write("vault/broken.md", "Fine.\n");
    fs::remove_file(user.directory().join("vault/people/ann.md")).unwrap();
    user.run(
        r#"
        brain sync work
        brain list --source work --sort slug
        brain get work:plan
        brain get plan --source work
        # the default source, and removal
        brain sources default
        brain sources default work
        brain sources
        brain sources default default
        brain sources remove work
        brain sources remove work --yes
        brain sources remove default --yes
        "#,
    );
    user.compare("sources_and_sync");
}

#[test]
fn import_and_export() {
    let mut user = Transcript::new();
    user.write("notes/Plan.md", "# Plan\n");
    user.write("notes/people/Ann Lee.md", "# Ann Lee\n");
    user.write("notes/bad.md", "---\nbroken: [1, 2\n---\nx\n");
    user.write("notes/picture.png", "a picture");
    user.run(
        r#"
        brain import notes --dry-run
        brain import notes
        brain import notes
        brain import none
        brain export pages
        find pages -type f | sort
        brain export pages
        brain export more --source none
        "#,
    );
    user.compare("import_and_export");
}

#[test]
fn conflicts() {
    let mut user = Transcript::new();
    user.run(
        r#"
        brain conflicts
        echo "The first text." | brain put notes/a
        echo "The text of the editor." > home/pages/notes/a.md
        echo "The text of the command." | brain put notes/a
        brain conflicts
        brain diff notes/a --file
        brain sync
        brain keep notes/a page
        brain keep notes/a page
        cat home/pages/notes/a.md
        brain history notes/a
        "#,
    );
    user.compare("conflicts");
}

#[test]
fn backup() {
    let mut user = Transcript::new();
    user.run(
        r#"
        echo "One" | brain put notes/a
        brain backup list
        brain backup create monday.redb
        brain backup create monday.redb
        brain backup verify monday.redb
        echo "No backup" > other.redb
        brain backup verify other.redb
        brain backup restore monday.redb
        BRAIN_HOME=~/new brain backup restore monday.redb
        BRAIN_HOME=~/new brain get notes/a
        BRAIN_HOME=~/new brain stop
        brain backup
        brain backup verify
        "#,
    );
    user.compare("backup");
}
