//! Tests of the reader of Org.

use std::path::Path;

use crate::FORMATS;
use brain_convert_testing::{Converted, directory};

const FIXTURE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/import/org/notes");

fn converted(files: &[(&str, &str)]) -> Converted {
    Converted::of(&FORMATS, directory(files).path())
}

/// Returns the text of a page without its frontmatter.
fn body(text: &str) -> String {
    let done = converted(&[("a.org", &format!("#+title: A\n{text}"))]);
    let page = done.page("A").splitn(3, "---\n").nth(2).unwrap_or_default().trim();
    page.to_owned()
}

#[test]
fn notes_of_org_roam_are_pages() {
    let done = Converted::of(&FORMATS, Path::new(FIXTURE));
    assert_eq!(done.format, "org");
    assert_eq!(done.paths(), ["The weir at Grünau", "Key box", "Hinge oil"]);
    assert_eq!(
        done.page("Hinge oil"),
        "---\ntitle: \"Hinge oil\"\ntags: [\"weir\", \"boats\"]\ncreated: \"2026-11-30T08:34:23\"\n\
         aliases: [\"grease for hinges\"]\nrefs: [\"https://oil.example/a_b\"]\norg_id: \
         \"fe462678-d107-4260-b1d1-a0cb501f22b2\"\n---\n\nLinseed oil keeps `a_b` and \
         snake_case_name quiet.\n"
    );
    assert_eq!(done.files(), [("Key box", "key.txt", b"A picture".to_vec())]);
    assert_eq!(done.lost(), Vec::<String>::new());
}

#[test]
fn a_heading_with_an_id_is_a_page_with_its_tags() {
    let done = Converted::of(&FORMATS, Path::new(FIXTURE));
    let weir = done.page("The weir at Grünau");
    assert!(weir.contains("\n[[Key box]]\n") && !weir.contains("The key is in the box"), "{weir}");
    let key = done.page("Key box");
    assert!(key.contains("tags: [\"weir\", \"boats\"]"), "{key}");
    assert!(key.ends_with("The key is in the box. [[key.txt|list]]\n"), "{key}");
}

#[test]
fn tasks_have_their_dates_and_are_found() {
    let done = Converted::of(&FORMATS, Path::new(FIXTURE));
    let weir = done.page("The weir at Grünau");
    let todos = brain_page::todos(weir);
    let shown: Vec<(&str, bool)> =
        todos.iter().map(|todo| (todo.text.as_str(), todo.is_done)).collect();
    assert_eq!(
        shown,
        [
            ("Shut the gate (NEXT; due 2026-11-05 10:00; scheduled 2026-11-02)", false),
            ("Oil the hinges (closed 2026-11-30 08:34)", true),
            ("rope", false),
            ("nails (begun)", false),
            ("long", true),
            ("short", false),
        ]
    );
    assert!(weir.contains("LOGBOOK:\n\n- CLOCK: "), "{weir}");
}

#[test]
fn tasks_without_text_are_a_list() {
    let text = "#+TODO: TODO WAIT | DONE CUT\n* TODO One :@home:\n* WAIT [#A] Two :b:\n\
                DEADLINE: <2026-11-05 Thu +1w -2d>\n* CUT Three\n* Four\ntext\n* TODO Five";
    assert_eq!(
        body(text),
        "- [ ] One :@home:\n- [ ] Two (WAIT; due 2026-11-05 repeats +1w warning 2d; priority A) \
         #b\n- [x] Three (CUT)\n\n# Four\n\ntext\n\n# Five\n\n- [ ] Five"
    );
}

#[test]
fn emphasis_follows_the_rules_of_org() {
    assert_eq!(
        body(
            "*bold* /it/ _u_ +s+ =a=b= ~c*d~ a_b x_{1} y^{2} 2*3*4 *no\n\n(*in*), \\alpha\\nbsp{}\\\\\n\
             <b> #tag [[x y]]"
        ),
        "**bold** *it* <u>u</u> ~~s~~ `a=b` `c*d` a_b x<sub>1</sub> y<sup>2</sup> 2\\*3\\*4 \\*no\n\n\
         (**in**), α\u{a0}\\\n\\<b> \\#tag x y"
    );
}

#[test]
fn links_lead_to_pages_places_and_the_web() {
    let done = converted(&[
        (
            "a.org",
            "#+title: A\n[[file:sub/b.org][bee]] [[file:sub/b.org::*Two *][two]] [[id:x-1]] [[id:no]]\n\
             [[https://x.example/a_b][*Web*]] [[*Place]] [[#c1][cust]] [[elisp:(x)][run]] <https://y.example>\n\
             [[file:p%20q.png]] [[./none.pdf][none]] [[doi:10.1/x]] [[https://z.example][a [b]]]\n* Place\n:PROPERTIES:\n\
             :CUSTOM_ID: c1\n:END:\n",
        ),
        ("sub/b.org", "#+title: B\n* Two [[id:x-1][n]]\n* N\n:PROPERTIES:\n:ID: X-1\n:END:\n"),
        ("p q.png", "PNG"),
    ]);
    let page = done.page("A").splitn(3, "---\n").nth(2).unwrap();
    assert_eq!(
        page.trim(),
        "[[sub/B|bee]] [[sub/B#Two *|two]] [[sub/N|N]] `id:no`\n[**Web**](https://x.example/a_b) \
         [[A#Place|Place]] [[A#Place|cust]] run (`elisp:(x)`) <https://y.example>\n![[p q.png]] none \
         (`./none.pdf`) [doi:10.1/x](https://doi.org/10.1/x) [a \\[b\\]](https://z.example)\n\n# Place\n\n- CUSTOM\\_ID: c1"
            .replace("CUSTOM\\_ID", "CUSTOM_ID")
    );
    assert_eq!(
        done.lost(),
        [
            "a.org: its file ./none.pdf is not in the import",
            "a.org: a link is for a program; it is code",
            "a.org: a link leads to an ID of no note",
        ]
    );
}

#[test]
fn blocks_tables_and_comments_are_kept() {
    let text = "#+begin_src sh :tangle x\n  ,* no heading\n    ls\n#+end_src\n#+begin_quote\nq *b*\n\
                #+end_quote\n: fixed\n# a comment\n#+begin_comment\nhidden\n#+end_comment\n\
                #+name: t\n|a|b|\n|-+-|\n|1|x_y|\n|<l>| |\n#+TBLFM: $1=2\n-----\n- t :: d\n  more\n\
                1. [@3] three\n:DRAWER:\ninside\n:END:\n#+begin_verse\na\nb\n#+end_verse\n";
    assert_eq!(
        body(text),
        "```sh :tangle x\n* no heading\n  ls\n```\n\n> q **b**\n\n```\nfixed\n```\n\n%% a comment \
         %%\n\n%% hidden %%\n\n%% #+name: t %%\n\n| a | b |\n| --- | --- |\n| 1 | x_y |\n\n%% \
         #+TBLFM: $1=2 %%\n\n---\n\n- **t**: d\n  more\n3. three\n\nDRAWER:\n\ninside\n\na  \nb"
    );
}

#[test]
fn text_below_archive_and_comment_is_kept() {
    assert_eq!(
        body("* Old :ARCHIVE:\nkept\n* COMMENT Draft\nalso"),
        "# Old #ARCHIVE\n\nkept\n\n# COMMENT Draft\n\nalso"
    );
}

#[test]
fn footnotes_follow_the_pages_that_name_them() {
    let done = converted(&[(
        "a.org",
        "#+title: A\nx[fn:1] y[fn:: in *line*]\n* N[fn:b]\n:PROPERTIES:\n:ID: n\n:END:\n* Footnotes\n\
         [fn:1] One\n  two\n\n[fn:b] Bee\n",
    )]);
    assert!(
        done.page("A").ends_with(
            "x[^1] y[^inline-1]\n\n[[N-fn-b-|N fn:b]]\n\n[^1]: One\n    two\n\n[^b]: Bee\n\n\
             [^inline-1]: in **line**\n"
        ),
        "{}",
        done.page("A")
    );
}

#[test]
fn a_file_of_ids_alone_has_no_page() {
    let done = converted(&[("a.org", "* One\n:PROPERTIES:\n:ID: 1\n:END:\n** Sub\ntext\n")]);
    assert_eq!(done.paths(), ["One"]);
    assert!(done.page("One").ends_with("# Sub\n\ntext\n"));
}

#[test]
fn other_files_are_named_and_hidden_ones_counted() {
    let done = converted(&[
        ("a.org", "* A\n"),
        ("b.org", "* B\n"),
        ("b.org.gpg", "x"),
        ("c.csv", "x"),
        (".git/x", "1"),
        (".git/y", "2"),
    ]);
    assert_eq!(
        done.lost(),
        [
            "b.org.gpg: it is encrypted",
            "c.csv: no note refers to it",
            ".git: it is hidden, 2 files",
        ]
    );
}

#[test]
fn properties_and_keywords_are_fields() {
    let done = converted(&[(
        "a.org",
        ":PROPERTIES:\n:ID: i\n:CREATED: [2020-01-02 Thu 3:04]\n:SCORE: 7\n:END:\n#+title: A\n\
         #+author: Ida\n#+date: <2021-05-06 Thu>\n#+startup: overview\n#+startup: indent\ntext",
    )]);
    assert_eq!(
        done.page("A"),
        "---\ntitle: \"A\"\ncreated: \"2020-01-02T03:04\"\ndate: \"2021-05-06\"\nauthor: \"Ida\"\n\
         startup: [\"overview\", \"indent\"]\norg_id: \"i\"\nscore: \"7\"\n---\n\ntext\n"
    );
}

#[test]
fn a_directory_of_markdown_is_not_org() {
    let files = directory(&[("a.org", "* A\n"), ("a.md", "a"), ("b.md", "b")]);
    let sample = brain_convert_base::Sample::of(files.path()).unwrap();
    assert!(!(super::FORMAT.recognise)(&sample));
}

#[test]
fn a_readme_beside_notes_is_a_page() {
    let files = directory(&[
        ("a.org", "#+title: A\n\nSee [[file:b.org]]\n"),
        ("b.org", "* Head\n"),
        ("README.md", "---\nkind: notes\n---\n\n# My notes\n"),
    ]);
    let done = Converted::of(&FORMATS, files.path());
    assert_eq!((done.format, done.paths()), ("org", vec!["A", "b", "README"]));
    assert_eq!(done.page("README"), "---\nkind: notes\n---\n\n# My notes\n");
    assert!(done.page("A").contains("[[b"), "{}", done.page("A"));
    let other = directory(&[("a.org", "* A\n"), ("README.md", "x"), ("note.md", "y")]);
    assert!(brain_convert_base::recognise(&FORMATS, other.path()).unwrap().is_none());
}
