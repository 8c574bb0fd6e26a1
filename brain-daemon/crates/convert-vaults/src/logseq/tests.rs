use brain_convert_testing::{Converted, directory};

use crate::FORMATS;

const ID: &str = "6502a3f1-0000-4000-8000-0123456789ab";

fn converted(files: &[(&str, &str)]) -> Converted {
    let mut all = vec![("logseq/config.edn", "{:meta/version 1}")];
    all.extend(files);
    Converted::of(&FORMATS, directory(&all).path())
}

#[test]
fn im17_names_of_all_versions_lead_to_their_pages() {
    let converted = converted(&[
        ("pages/Tools___Saws.md", "- rip saw"),
        ("pages/Tools%2FPlanes.md", "- jack"),
        ("pages/Tools.Rasps, files.md", "title:: \"Tools/Rasps, files\"\n\n- fine"),
        ("pages/v1.2 notes.md", "- [[Tools/Saws]] [[tools/planes]] [[Tools/Rasps, files]]"),
    ]);
    assert_eq!(converted.format, "logseq");
    assert_eq!(
        converted.paths(),
        ["Tools/Planes", "Tools/Rasps, files", "Tools/Saws", "v1.2 notes"]
    );
    assert_eq!(
        converted.page("Tools/Rasps, files"),
        "---\ntitle: \"Tools/Rasps, files\"\n---\n\n- fine\n"
    );
    assert_eq!(
        converted.page("v1.2 notes"),
        "---\ntitle: \"v1.2 notes\"\n---\n\n- [[Tools/Saws|Tools/Saws]] [[Tools/Planes|tools/planes]] \
         [[Tools/Rasps, files|Tools/Rasps, files]]\n"
    );
}

#[test]
fn journals_are_days_and_links_find_them() {
    let converted = converted(&[
        ("journals/2023_09_08.md", "- TODO oil\n- x"),
        ("pages/A.md", "- see [[Sep 8th, 2023]] and [[Sep 9th, 2023]]"),
    ]);
    assert_eq!(converted.paths(), ["journals/2023-09-08", "A"]);
    let day = converted.page("journals/2023-09-08");
    assert!(day.starts_with("---\ntitle: \"Sep 8th, 2023\"\n---\n\n- [ ] oil\n"), "{day}");
    let page = converted.page("A");
    assert!(page.contains("[[journals/2023-09-08|Sep 8th, 2023]] and [[Sep 9th, 2023]]"), "{page}");
}

#[test]
fn tasks_have_their_states() {
    let text = "- TODO [#A] a\n  SCHEDULED: <2023-09-08 Fri>\n- DONE b\n\t- DOING c\n- LATER d\n- NOW \
                e\n- CANCELED f\n- TODOX g";
    let page = converted(&[("pages/A.md", text)]);
    assert!(
        page.page("A").ends_with(
            "- [ ] [#A] a\n  SCHEDULED: 2023-09-08 Fri\n- [x] b\n\t- [ ] DOING c\n- [ ] LATER d\n- [ ] \
             NOW e\n- CANCELED f\n- TODOX g\n"
        ),
        "{}",
        page.page("A")
    );
}

#[test]
fn links_to_the_file_of_a_page_lead_to_the_page() {
    let converted = converted(&[
        ("pages/A.md", "- [x](X%20y.md) [b](<../pages/X y.md>)"),
        ("pages/X y.md", "- hello"),
    ]);
    assert!(converted.page("A").ends_with("- [[X y|x]] [[X y|b]]\n"), "{}", converted.page("A"));
    assert_eq!(converted.lost().len(), 1, "{:?}", converted.lost());
}

#[test]
fn references_lead_to_the_pages_of_blocks() {
    let converted = converted(&[
        (
            "pages/A.md",
            &format!("- TODO Oil the **hinge** of [[B]]\n  id:: {ID}\n  collapsed:: true\n- x"),
        ),
        (
            "pages/B.md",
            &format!(
                "- see (({ID})) [this]((({ID})))\n- {{{{embed (({ID}))}}}} {{{{embed [[A]]}}}}\n- ((plain)) \
                 ((00000000-0000-4000-8000-000000000000))"
            ),
        ),
    ]);
    assert!(converted.page("A").ends_with("- [ ] Oil the **hinge** of [[B]]\n- x\n"));
    assert!(
        converted.page("B").ends_with(
            "- see [[A|TODO Oil the hinge of B]] [[A|this]]\n- [[A|TODO Oil the hinge of B]] ![[A]]\n- \
             ((plain)) ((00000000-0000-4000-8000-000000000000))\n"
        ),
        "{}",
        converted.page("B")
    );
    assert_eq!(converted.lost().len(), 2, "{:?}", converted.lost());
}

#[test]
fn properties_tags_and_files_are_kept() {
    let converted = converted(&[
        (
            "pages/A.md",
            "tags:: one, [[two words]]\nalias:: Alpha\nauthor:: [[Ida]], [[Ole]]\nurl:: https://a.example\n\
             created-at:: 1700000000000\n\n- ![x](../assets/p_1.png){:height 10, :width 20} #[[three \
             words]] #four\n  kind:: plan\n- [a](../assets/gone.pdf)",
        ),
        ("pages/Ida.md", "- [[alpha]]"),
        ("assets/p_1.png", "png"),
        ("assets/left.png", "png"),
        ("logseq/bak/pages/A/1.md", "- old"),
        ("pages/o.org", "* x"),
    ]);
    let page = converted.page("A");
    for part in [
        "created: 2023-11-14T22:13:20Z\n",
        "tags: [\"one\", \"two words\", \"three words\"]\n",
        "aliases: [\"Alpha\"]\n",
        "author: [\"[[Ida]]\", \"[[Ole]]\"]\n",
        "url: \"https://a.example\"\n",
        "- ![[p_1.png]] [[three words]] #four\n  kind:: plan\n",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(converted.page("Ida").contains("[[A|alpha]]"));
    assert_eq!(converted.files(), [("A", "p_1.png", b"png".to_vec())]);
    // The settings, the old version, the Org file, the file that is left, and the dead link.
    assert_eq!(converted.lost().len(), 5, "{:?}", converted.lost());
}

#[test]
fn macros_and_marked_blocks_are_text_or_code() {
    let text = "- {{query (todo now)}}\n- {{video https://v.example}} {{cloze x}}\n- #+BEGIN_QUOTE\n  a\n  \
                b\n  #+END_QUOTE\n- #+BEGIN_TIP\n  t\n  #+END_TIP\n- `{{query x}}`";
    let converted = converted(&[("pages/A.md", text)]);
    assert!(
        converted.page("A").ends_with(
            "- `{{query (todo now)}}`\n- https://v.example x\n- > a\n  > b\n- > [!tip]\n  > t\n- `{{query \
             x}}`\n"
        ),
        "{}",
        converted.page("A")
    );
    assert_eq!(converted.lost().len(), 2);
}

#[test]
fn hard_input_gives_pages_or_reasons() {
    let deep: String = (0..2000).map(|n| format!("{}- x\n", "\t".repeat(n))).collect();
    let converted = converted(&[
        ("pages/deep.md", &deep),
        ("pages/Deep.md", "- other"),
        ("pages/empty.md", ""),
        ("pages/.md", "- hidden"),
        ("pages/open.md", "- [[ (( {{ ``` #[[\n- x:: "),
        ("journals/1601_01_01.md", "- old"),
        ("journals/2262_12_31.md", "- far"),
        ("journals/2023_99_99.md", "- no day"),
        (&format!("pages/{}.md", "x".repeat(240)), "- long"),
    ]);
    assert!(converted.error.is_none());
    assert_eq!(converted.paths().len(), 8, "{:?}", converted.paths());
}

#[test]
fn a_property_that_links_to_a_day_is_that_day() {
    let converted = converted(&[
        ("journals/2023_09_08.md", "- x"),
        ("pages/A.md", "created:: [[Sep 8th, 2023]]\ndate:: later\n\n- y"),
    ]);
    let page = converted.page("A");
    assert!(page.contains("created: \"2023-09-08\"\ndate: \"later\"\n"), "{page}");
}
