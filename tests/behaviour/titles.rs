//! Titles: the one that a note states, else the name of its file. Only a captured text is shown
//! with its first sentence as its title.

use std::fs;
use std::path::Path;

use brain_tests::TestHome;

/// Files of a vault, a Hugo site, a Jekyll site and a project: path, text, slug, and title of the
/// page.
const FILES: [(&str, &str, &str, &str); 14] = [
    ("Projects/Big Idea.md", "Some loose text about it.\n", "projects/big-idea", "Big Idea"),
    ("What's up? (draft).md", "- [ ] a task\n", "whats-up-draft", "What's up? (draft)"),
    ("Empty.md", "", "empty", "Empty"),
    ("Daily/2024-03-05.md", "Rain.\n\n# Later\n", "daily/2024-03-05", "2024-03-05"),
    ("People/Ann Lee.md", "---\naliases: [Countess]\n---\nx\n", "people/ann-lee", "Ann Lee"),
    ("said.md", "---\ntitle: What it says\n---\n# Heading\n", "said", "What it says"),
    ("headed.md", "# A *great* heading\n\ntext\n", "headed", "A great heading"),
    ("second.md", "## Second level\n\ntext\n", "second", "second"),
    (
        "tool/README.md",
        "<!-- logo -->\n<picture>\n<source media=\"(dark)\" srcset=\"a.png\">\n</picture>\n\n\
         [![Build](b.svg)](c)\n\n# The Tool\n\nIt works.\n",
        "tool/readme",
        "The Tool",
    ),
    (
        "html/README.md",
        "<style>\nh1 { color: red }\n</style>\n<h1 align=\"center\">Shouting</h1>\n\ntext\n",
        "html/readme",
        "README",
    ),
    (
        "content/post/lighthouse.md",
        "---\ntitle: \"A Lighthouse\"\ndraft: false\n---\nLight.\n",
        "content/post/lighthouse",
        "A Lighthouse",
    ),
    (
        "_posts/2021-03-04-harbour-walk.markdown",
        "---\nlayout: post\n---\nWe walked.\n",
        "_posts/2021-03-04-harbour-walk",
        "2021-03-04-harbour-walk",
    ),
    ("Posts/Big Storm/index.md", "Wind.\n", "posts/big-storm/index", "Big Storm"),
    ("日本語 メモ.md", "本文。\n", "日本語-メモ", "日本語 メモ"),
];

fn write(dir: &Path, name: &str, content: &str) {
    let file_path = dir.join(name);
    fs::create_dir_all(file_path.parent().unwrap()).unwrap();
    fs::write(file_path, content).unwrap();
}

/// Writes `FILES` into a new directory. Returns its path.
fn write_vault(home: &TestHome) -> std::path::PathBuf {
    let dir = home.outside().join("Vault");
    for (path, content, ..) in FILES {
        write(&dir, path, content);
    }
    dir
}

#[test]
fn notes_have_the_names_of_their_files() {
    let home = TestHome::new();
    let dir = write_vault(&home);
    home.json(["import", dir.to_str().unwrap()]);
    for (path, _, slug, title) in FILES {
        assert_eq!(home.get(slug)["title"], title, "{path}");
    }
    // Adding a tag does not change the title, and adds no title to the frontmatter.
    home.json(["tags", "projects/big-idea", "--add", "work"]);
    assert_eq!(home.get("projects/big-idea")["title"], "Big Idea");
    assert!(!home.get("projects/big-idea")["frontmatter"].to_string().contains("title"));
}

#[test]
fn a_renamed_file_renames_its_note() {
    let home = TestHome::new();
    let dir = write_vault(&home);
    home.json(["sources", "add", "vault", "--path", dir.to_str().unwrap()]);
    home.json(["sync", "--source", "vault"]);
    let page = |slug: &str| home.json(["get", slug, "--source", "vault"]);
    for (path, _, slug, title) in FILES {
        assert_eq!(page(slug)["title"], title, "{path}");
    }
    fs::rename(dir.join("Projects/Big Idea.md"), dir.join("Projects/Better Idea.md")).unwrap();
    fs::rename(dir.join("headed.md"), dir.join("beheaded.md")).unwrap();
    let sync = home.json(["sync", "--source", "vault"]);
    assert_eq!(sync["sources"][0]["renamed"], 2, "{sync}");
    assert_eq!(page("projects/better-idea")["title"], "Better Idea");
    assert_eq!(page("beheaded")["title"], "A great heading");
}

#[test]
fn a_file_name_finds_its_note_first() {
    let home = TestHome::new();
    let dir = write_vault(&home);
    write(&dir, "Logs/lantern.md", "# Notes of a keeper\n\nwick and oil\n");
    for n in 0..5 {
        write(&dir, &format!("Logs/{n}.md"), "lantern, lantern and again a lantern\n");
    }
    home.json(["import", dir.to_str().unwrap()]);
    assert_eq!(home.search("lantern")[0], "logs/lantern");
    assert_eq!(home.search("logs/lantern")[0], "logs/lantern");
    assert_eq!(home.search("What's up? (draft)")[0], "whats-up-draft");
    // The beginning of the text is not its title.
    assert_eq!(home.search("title:loose"), [""; 0]);
    assert_eq!(home.search("title:idea"), ["projects/big-idea"]);
}

#[test]
fn a_captured_sentence_is_shown_and_not_scored_as_a_title() {
    let home = TestHome::new();
    let slug = |reply: &serde_json::Value| reply["slug"].as_str().unwrap().to_owned();
    let thought = slug(&home.json(["capture", "The quokka naps at noon."]));
    let headed = slug(&home.json(["capture", "# Wombat burrows\n\nThey are deep."]));
    assert_eq!(home.get(&thought)["title"], "The quokka naps at noon.");
    assert_eq!(home.search("title:quokka"), [""; 0]);
    assert_eq!(home.search("title:wombat"), [headed]);
    let hit = &home.json(["search", "quokka naps"])["hits"][0];
    assert_eq!(hit["slug"], thought.as_str());
    assert!(!hit["matched"].to_string().contains("title"), "{hit}");
    // A captured file has its file name as its title.
    let file = home.outside().join("Field Trip.md");
    fs::write(&file, "We went out early.\n").unwrap();
    let trip = slug(&home.json(["capture", "--file", file.to_str().unwrap()]));
    assert_eq!(home.get(&trip)["title"], "Field Trip");
}
