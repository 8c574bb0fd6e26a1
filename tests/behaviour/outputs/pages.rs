//! Transcripts of commands that write pages: captures, edits, versions, tags, attachments.

use super::transcript::Transcript;

#[test]
fn writing() {
    let mut user = Transcript::new();
    user.write("ada.md", ADA);
    user.write("page.html", "<html><head><title>On engines</title></head><p>A <b>wheel</b>.");
    user.write("notes.md", "More about wheels.\n");
    user.run(
        r#"
        # capture
        brain capture "A first thought"
        brain capture "A first thought"
        brain capture --file ada.md --slug people/ada --type person --tag history
        echo "Soup with leek" | brain capture --stdin --slug food/soup --title Soup
        brain capture --file page.html --slug web/engines
        # put
        echo "See [[people/ada]]." | brain put projects/engine
        echo "See [[people/ada]]." | brain put projects/engine
        echo "Seen [[people/ada]] again." | brain put projects/engine --expect 1
        echo "Too late." | brain put projects/engine --expect 1
        brain put projects/engine
        # append, add
        brain append projects/engine "A new line"
        brain add projects/engine --section Log "First run"
        brain add projects/engine --section Log "Second run"
        brain append projects/engine --file notes.md
        brain append notes/new "The page is new"
        # edit
        EDITOR="sed -i s/wheels/gears/" brain edit projects/engine
        EDITOR=true brain edit projects/engine
        EDITOR="cp notes.md" brain edit notes/wheels --new
        EDITOR=true brain edit notes/empty --new
        EDITOR=false brain edit projects/engine
        # get
        brain get projects/engine
        brain get people/ada
        brain show food/soup
        brain get projects/engine --version 1
        # tags
        brain tags people/ada
        brain tags people/ada --add engines --remove history
        brain tags food/soup
        # trust
        brain trust people/ada
        "#,
    );
    user.compare("writing");
}

#[test]
fn history_and_removal() {
    let mut user = Transcript::new();
    user.run(
        r#"
        echo "One" | brain put notes/door
        echo "Two" | brain put notes/door
        echo "See [the door](door.md)." | brain put notes/house
        # versions
        brain history notes/door
        brain history notes/house --format md
        # why
        brain why notes/door
        brain why notes/house --line door
        brain why notes/nowhere
        brain diff notes/door
        brain diff notes/door 1 2
        brain diff notes/house
        brain revert notes/door 1
        brain revert notes/door 1
        # other slugs
        brain mv notes/door notes/gate
        brain get notes/house
        echo "Three" | brain put notes/fence
        brain merge notes/fence notes/gate
        brain get notes/gate
        # deleted pages
        brain delete notes/gate
        brain delete notes/gate
        brain get notes/gate
        brain list --deleted
        brain restore notes/gate
        brain restore notes/gate
        # purge
        brain purge notes/gate --version 1
        brain purge notes/gate --version 1 --now --yes
        brain purge notes/gate --yes
        brain purge notes/house --now --yes
        brain list
        "#,
    );
    user.compare("history_and_removal");
}

#[test]
fn undo() {
    let mut user = Transcript::new();
    user.run(
        r#"
        echo "One" | brain put notes/door
        echo "Two" | brain put notes/door
        echo "See [[notes/door]]." | brain put notes/house
        # undo
        brain undo notes/door --dry-run
        brain undo notes/door
        brain undo
        brain undo
        brain undo
        # redo
        brain redo --dry-run
        brain redo
        brain redo
        brain redo
        brain redo
        # clients and runs
        brain undo --client nobody
        brain undo --run sync-1 --yes
        brain undo --since today
        brain undo notes/none
        # purge
        brain purge notes/house --now --yes
        brain undo
        "#,
    );
    user.compare("undo");
}

#[test]
fn attachments() {
    let mut user = Transcript::new();
    user.write("chart.png", "a chart");
    user.write("report.pdf", "a report");
    user.run(
        r#"
        echo "Latency" | brain put projects/latency
        brain attachments
        brain attachments projects/latency
        brain attach projects/latency chart.png report.pdf
        brain attach projects/latency chart.png
        brain attach projects/latency chart.png --name "my chart.png"
        brain attachments projects/latency
        brain attachments
        brain attachments projects/latency --get report.pdf --to copy.pdf
        brain attachments projects/latency --get report.pdf
        brain attachments projects/latency --get none.pdf
        brain attachments projects/latency --remove report.pdf
        brain attachments projects/latency --remove report.pdf
        brain attach projects/latency none.png
        brain attach projects/none chart.png
        "#,
    );
    user.compare("attachments");
}

const ADA: &str = "\
---
title: Ada Lovelace
tags: [mathematics]
---
# Work

Wrote the first program for the engine.

- 1815-12-10 | born in London
";
