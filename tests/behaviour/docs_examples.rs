//! Runs the examples of all documents with a real daemon. Every command must work as documented,
//! every answer must have the documented shape, and every configuration must be valid.
//!
//! Addresses, tokens and example names are replaced by the test's values. Commands within sentences
//! are not run, but their names and options must exist. `exceptions.rs` has the reason for each
//! example that is not run, so a new example is run or fails.

mod exceptions;
mod parse;
mod reader;

use std::process::Command;

use brain_tests::embedding::FakeEmbedding;
use brain_tests::has_program;
use brain_tests::mcp::mcp;
use brain_tests::platform::{APP_TOKEN, Platform, PlatformServer, Time};
use serde_json::json;

use exceptions::{FAILS, NOT_RUN, begins_with, is_not_run};
use parse::{Example, document, documents, examples};
use reader::Reader;

/// Defines a test for each document: its name, its path, and the reader that runs it.
macro_rules! run_documents {
    ($($test:ident: $name:literal, $reader:expr;)*) => {
        /// The documents whose examples are run.
        const DOCUMENTS: &[&str] = &[$($name),*];
        $(
            #[test]
            fn $test() {
                if has_programs() {
                    let mut reader: Reader = $reader;
                    reader.run_document($name);
                }
            }
        )*
    };
}

run_documents! {
    // No page exists before: the commands run in this order in an empty brain.
    every_example_of_the_readme_runs: "README.md", Reader::new()
        .with_file("meeting.md", "# Meeting\n\nThe latency budget.\n")
        .with_file("ann.md", "# Ann Lee\n\nKnows about the latency budget.\n");
    every_example_of_access_runs: "docs/access.md", reader_of_access();
    every_example_of_ask_runs: "docs/ask.md", Reader::new()
        .with_page("projects/launch", "# Launch\n\nWe decided to move the launch to March.\n")
        .with_page("people/mia-brown", "---\ntype: person\n---\n# Mia Brown\n");
    every_example_of_attachments_runs: "docs/attachments.md", Reader::new()
        .that_starts_daemons()
        .with_page("projects/latency", "# Latency\n")
        .with_file("chart.png", "a chart")
        .with_file("report.pdf", "a report")
        .having_run(&["attach", "projects/latency", "chart.png"])
        .having_run(&["backup", "create", "brain-monday.redb"])
        .having_run(&["attachments", "projects/latency", "--remove", "chart.png"]);
    every_example_of_backup_runs: "docs/backup.md", Reader::new()
        .with_file("work/plan.md", "# Plan\n")
        .having_run(&["sources", "add", "work", "work"])
        .having_run(&["sync", "work"]);
    every_example_of_clients_runs: "docs/clients.md", Reader::new();
    every_example_of_the_collector_runs: "docs/collector.md", reader_of_the_collector();
    every_example_of_the_collector_for_agents_runs: "docs/collector-agents.md", Reader::new();
    every_example_of_configuration_runs: "docs/configuration.md", Reader::new()
        .replacing("/mnt/disk/brain", "~/backups");
    every_example_of_development_runs: "docs/development.md", Reader::new()
        .that_starts_daemons()
        .replacing("/tmp/brain-dev", "~/brain-dev");
    every_example_of_editing_runs: "docs/editing.md", Reader::new();
    every_example_of_editors_runs: "docs/editors.md", Reader::new()
        .with_file("notes/plan.md", "# Plan\n");
    every_example_of_errors_runs: "docs/errors.md", Reader::new();
    every_example_of_the_first_run_runs: "docs/first-run.md", Reader::new()
        .with_file(".cursor/mcp.json", "{}")
        .with_file(".codex/config.toml", "");
    every_example_of_seen_and_left_runs: "docs/seen-and-left.md", Reader::new()
        .with_page("people/ada", "# Ada Lovelace\n");
    every_example_of_the_http_api_runs: "docs/http-api.md", Reader::new()
        .with_page("people/ada-lovelace", "# Ada Lovelace\n\nWrote a program.\n");
    every_example_of_ideas_runs: "docs/ideas.md", reader_with_notes();
    every_example_of_import_runs: "docs/import.md", Reader::new()
        .with_file("notes/a.md", "# A\n")
        .with_file("Downloads/Recipes.enex", "<en-export><note><title>Soup</title></note></en-export>");
    every_example_of_import_of_documents_runs: "docs/import-documents.md", Reader::new()
        .with_fixture("Documents/contract.docx", "documents/libreoffice.docx")
        .with_fixture("Books/weirs.epub", "documents/pandoc.epub")
        .with_fixture("Downloads/harbour-rules.pdf", "pdf/labels.pdf");
    every_example_of_import_of_mail_runs: "docs/import-mail.md", Reader::new()
        .with_fixture("Mail/crew.mbox", "mail/crew.mbox")
        .with_file("Maildir/cur/1.a:2,S", "From: a@b.c\nMessage-ID: <1@b>\nSubject: x\n\nHello\n")
        .with_fixture(".calendars", "ics/khal")
        .with_file("contacts.vcf", "BEGIN:VCARD\nVERSION:3.0\nFN:Ada\nEND:VCARD\n");
    every_example_of_import_of_markup_runs: "docs/import-markup.md", Reader::new()
        .with_fixture("org", "org/notes")
        .with_fixture("Notebooks/Notes", "zim/notes")
        .with_fixture(".local/share/gnote", "gnote/notes")
        .with_fixture("Documents/notes.ctd", "cherrytree/notes.ctd")
        .with_fixture(".rednotebook/data", "rednotebook/notes")
        .with_fixture("dokuwiki", "dokuwiki/notes")
        .replacing("/var/www/dokuwiki", "~/dokuwiki")
        .with_fixture(".local/share/jrnl/journal.txt", "jrnl/j.txt");
    every_example_of_import_of_notes_runs: "docs/import-notes.md", Reader::new();
    every_example_of_import_of_records_runs: "docs/import-records.md", Reader::new()
        .with_fixture("Downloads/bookmarks.html", "bookmarks/firefox.html")
        .replacing("/media/ada/Kindle/documents", "documents")
        .with_file(
            "documents/My Clippings.txt",
            "A book (B)\n- Your Highlight on page 1 | Location 2-3 | Added on Monday, March 2, 2026 \
             9:15:02 PM\n\nwords\n==========\n",
        );
    every_example_of_import_of_vaults_runs: "docs/import-vaults.md", Reader::new()
        .with_fixture("notes/graph", "dendron/workspace");
    every_example_of_processors_is_valid: "docs/processors.md", Reader::new()
        .with_file("bin/subtitles", "")
        .with_file("films/a.md", "# A\n");
    every_example_of_ingest_runs: "docs/ingest.md", Reader::with(
        vec![("BRAIN_INGEST_DOCUMENTS".to_owned(), "true".to_owned())],
        Vec::new(),
    )
    .with_file("minutes.pdf", "%PDF-1.7\n");
    every_example_of_mcp_runs: "docs/mcp.md", Reader::new();
    every_example_of_meaning_runs: "docs/meaning.md", reader_with_a_model();
    every_example_of_models_is_valid: "docs/models.md", Reader::new();
    every_example_of_monitoring_runs: "docs/monitoring.md", Reader::new();
    every_example_of_packages_runs: "docs/packages.md", reader_with_two_sources();
    every_example_of_pages_runs: "docs/pages.md", Reader::new();
    every_example_of_the_protocol_runs: "docs/protocol.md", Reader::new();
    every_example_of_review_runs: "docs/review.md", Reader::new()
        .with_page("people/pia", "---\ntitle: Pia\n---\n[[people/pia]] leads [[proj/tide]]\n")
        .with_page("proj/tide", "---\ntitle: Tide\nlead: Oda\n---\nA project.\n");
    every_example_of_search_runs: "docs/search.md", Reader::new()
        .with_page("people/ann", "# Ann\n\nInvested in [[companies/acme]], knows about latency.\n")
        .with_page("companies/acme", "# Acme\n");
    every_example_of_sources_runs: "docs/sources.md", Reader::new()
        .with_file("vaults/work/plan.md", "# Plan\n");
    every_example_of_time_runs: "docs/time.md", Reader::new()
        .with_page("projects/latency", "# Latency budget\n\nAsk [[people/ann]] about it.\n");
    every_example_of_the_store_runs: "docs/store.md", Reader::new()
        .having_run(&["backup", "create", "brain-monday.redb"]);
    every_example_of_sync_runs: "docs/sync.md", reader_with_a_work_tree();
    every_example_of_the_terminal_runs: "docs/terminal.md", Reader::new()
        .with_page("projects/latency", "---\ntype: idea\n---\nThe latency budget\n\n- [ ] ask\n");
    every_example_of_the_tunnel_runs: "docs/tunnel.md", Reader::new();
    every_example_of_the_telephone_is_valid: "docs/voice.md", Reader::new();
    every_example_of_the_web_interface_runs: "docs/web.md", Reader::new()
        .with_page("people/ada", "# Ada\n");
}

fn has_programs() -> bool {
    ["bash", "curl", "git"].into_iter().all(has_program)
}

/// The table, whose commands are not run, creates the token `phone`, which an example revokes.
fn reader_of_access() -> Reader {
    let reader = Reader::new();
    let _ = reader.home.token("phone", "write", &[]);
    reader
}

/// Ada has written a post on the platform.
fn reader_of_the_collector() -> Reader {
    let platform = Platform::new(Time::System);
    let ada = platform.create_account("ada");
    let post = platform.post(&ada, "On latency");
    let server = PlatformServer::start(&platform, false);
    let variables = vec![("BRAIN_COLLECTOR_PLATFORM_API".to_owned(), server.url())];
    Reader::with(variables, vec![Box::new(platform), Box::new(server)])
        .with_file("platform-token", APP_TOKEN)
        .replacing("2124220133072175104", &post)
}

/// Two groups of notes, with the words of the questions.
fn reader_with_notes() -> Reader {
    (0..12).fold(Reader::new(), |reader, n| {
        let text = format!("# Note {n}\n\nWe hold meetings to halve the time to answer {n}.\n");
        reader.with_page(&format!("notes/n{n}"), &text)
    })
}

fn reader_with_a_model() -> Reader {
    let endpoint = FakeEmbedding::default();
    let variables = endpoint.variables("small").to_vec();
    Reader::with(variables, vec![Box::new(endpoint)]).with_page("notes/a", "# A\n\nA vessel.\n")
}

/// A page of the source `default`, and a page with an attachment of the source `work`.
fn reader_with_two_sources() -> Reader {
    Reader::new()
        .that_starts_daemons()
        .with_page("people/x", "# X\n")
        .with_file("vaults/work/plan.md", "# Plan\n")
        .with_file("chart.png", "a chart")
        .having_run(&["sources", "add", "work", "vaults/work"])
        .having_run(&["sync", "work"])
        .having_run(&["attach", "work:plan", "chart.png"])
}

/// A git work tree, and the source `notes`.
fn reader_with_a_work_tree() -> Reader {
    let reader = Reader::new()
        .with_file("vaults/work/plan.md", "# Plan\n")
        .replacing(" DIR ", " ~/vaults/work ")
        .having_run(&["sources", "add", "notes", "notes"]);
    let tree = reader.user.join("vaults/work");
    let done = Command::new("git").args(["init", "--quiet"]).current_dir(tree).status();
    assert!(done.unwrap().success());
    reader
}

#[test]
fn every_document_with_examples_is_run() {
    let mut count = 0;
    for name in documents() {
        let examples = examples(&document(&name));
        let texts: Vec<&str> = examples.iter().filter_map(Example::text).collect();
        count += texts.len();
        if !DOCUMENTS.contains(&name.as_str()) {
            let run: Vec<&&str> = texts.iter().filter(|text| !is_not_run(&name, text)).collect();
            assert!(run.is_empty(), "no test runs the examples of {name}: {run:?}");
        }
    }
    assert!(count > 150, "only {count} examples were found");
}

#[test]
fn every_exception_is_an_example() {
    let not_run = NOT_RUN.iter().map(|(name, start, _)| (name, start));
    for (name, start) in not_run.chain(FAILS.iter().map(|(name, start, ..)| (name, start))) {
        let found = examples(&document(name));
        let is_there = found.iter().filter_map(Example::text).any(|text| begins_with(text, start));
        assert!(is_there, "{name} has no example that begins with {start:?}");
    }
}

#[test]
fn every_command_in_sentences_exists() {
    let reader = Reader::new();
    let mut count = 0;
    for name in documents() {
        // The changelog names commands of former versions.
        if DOCUMENTS.contains(&name.as_str()) || name == "CHANGELOG.md" {
            continue;
        }
        for example in examples(&document(&name)) {
            if let Example::Inline(command) = example {
                reader.assert_command_exists(&name, &command);
                count += 1;
            }
        }
    }
    assert!(count > 20, "only {count} commands were found");
}

#[test]
fn docs_downgrade_keeps_sources_slugs_and_attachments() {
    if !has_programs() {
        return;
    }
    let mut reader = reader_with_two_sources();
    reader.run_document("docs/packages.md");
    let old = |command: &str| {
        let done = reader.shell(&format!("BRAIN_HOME=~/.brain-old brain {command} --json"));
        serde_json::from_slice::<serde_json::Value>(&done.stdout).unwrap()
    };
    let pages = old("list")["pages"].clone();
    let mut names: Vec<String> = pages
        .as_array()
        .unwrap()
        .iter()
        .map(|page| format!("{}:{}", page["source_id"], page["slug"]).replace('"', ""))
        .collect();
    names.sort();
    assert_eq!(names, ["default:people/x", "work:plan"]);
    assert!(old("attachments work:plan").to_string().contains("chart.png"));
}

#[test]
fn docs_name_the_command_without_json() {
    assert!(document("README.md").contains("Every command\nbut `logs` takes `--json`"));
    let fault = Reader::new().home.fault(["logs"], 2);
    assert_eq!(fault["message"], "a log has no JSON form");
}

#[test]
fn the_tools_of_mcp_are_as_documented() {
    let reader = Reader::new();
    let text = document("docs/mcp.md");
    // The table of tools matches the tools and scopes that a client sees.
    let token = |name, scopes| mcp(&reader.home, &reader.home.token(name, scopes, &[]));
    let listed = |client: &brain_tests::mcp::Mcp| -> Vec<String> {
        let tools = client.result("tools/list", json!({}))["tools"].clone();
        let mut names: Vec<String> = tools
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    };
    let rows = |scopes: &[&str]| {
        let rows = text.lines().filter_map(|line| {
            let mut cells = line.split('|').map(str::trim).skip(1);
            let (name, scope) =
                (cells.next()?.strip_prefix('`')?.strip_suffix('`')?, cells.next()?);
            scopes.contains(&scope).then(|| name.to_owned())
        });
        let mut names: Vec<String> = rows.collect();
        names.sort();
        names
    };
    assert_eq!(rows(&["read"]), listed(&token("reader", "read")));
    let (writer, all) = (token("writer", "read write"), rows(&["read", "write"]));
    assert_eq!(all, listed(&writer));
    let prompts = writer.result("prompts/list", json!({}))["prompts"].clone();
    for prompt in prompts.as_array().unwrap() {
        assert!(text.contains(&format!("`{}`", prompt["name"].as_str().unwrap())), "{prompt}");
    }
    // Methods of missing capabilities do not exist.
    for method in ["resources/subscribe", "logging/setLevel", "tasks/list"] {
        let answer = writer.ask(method, json!({ "uri": "brain://page/x", "level": "info" }));
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
}
