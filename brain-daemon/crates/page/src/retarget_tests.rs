#![allow(clippy::unwrap_used)]

use super::*;

fn slug(text: &str) -> Slug {
    Slug::parse(text).unwrap()
}

/// Moves `people/ada` to `persons/lovelace` and returns the text of a page that links to it.
fn rewritten(own: &str, text: &str) -> String {
    rewritten_to("persons/lovelace.md", Some("lovelace"), own, text)
}

fn rewritten_to(path: &str, name: Option<&str>, own: &str, text: &str) -> String {
    let (old, new) = (slug("people/ada"), path.to_owned());
    let document = Document::parse(text).unwrap();
    let (own, path) = (slug(own), format!("{own}.md"));
    let file = MovedFile { old_slug: &own, old_path: &path, new_path: &path, folders: &[] };
    let done = retarget_links(
        &document,
        file,
        |_| false,
        |link| {
            let leads_there = match &link.target {
                LinkTarget::Slug { slug, alternative, .. } => {
                    *slug == old || alternative.as_ref() == Some(&old)
                }
                LinkTarget::Name(name) => name == "ada",
            };
            let name = name.map(str::to_owned);
            leads_there.then(|| NewTarget { old_slug: old.clone(), path: new.clone(), name })
        },
    );
    assert_eq!(done.not_updated, Vec::<String>::new(), "{text}");
    done.document.render()
}

#[test]
fn a_link_keeps_its_form() {
    for (text, expected) in [
        ("[[people/ada]]", "[[persons/lovelace]]"),
        ("[[people/ada#Life|Ada]] x", "[[persons/lovelace#Life|Ada]] x"),
        ("![[people/ada.md]]", "![[persons/lovelace.md]]"),
        ("[[ada]] [[Ada|her]]", "[[lovelace]] [[lovelace|her]]"),
        ("[[work:people/ada]]", "[[work:persons/lovelace]]"),
        ("[a [b]](people/ada.md#x \"t\")", "[a [b]](persons/lovelace.md#x \"t\")"),
        ("[a](/people/ada)", "[a](/persons/lovelace)"),
        ("[a](../people/ada.md)", "[a](../persons/lovelace.md)"),
        ("[a][1]\n\n[1]: people/ada.md 'T'\n", "[a][1]\n\n[1]: persons/lovelace.md 'T'\n"),
        ("`[[people/ada]]` [[people/adam]]", "`[[people/ada]]` [[people/adam]]"),
        ("%%[[people/ada]]%%", "%%[[people/ada]]%%"),
    ] {
        assert_eq!(rewritten("notes/x", text), expected);
    }
    assert_eq!(rewritten("people/x", "[a](ada.md)"), "[a](../persons/lovelace.md)");
    assert_eq!(rewritten("x", "[a](./people/ada)"), "[a](./persons/lovelace)");
}

#[test]
fn a_wiki_link_to_a_name_with_signs_of_links_has_the_slug() {
    for (text, expected) in [
        ("[[people/ada]] [[ada#Life|her]]", "[[tips/c-tips]] [[tips/c-tips#Life|her]]"),
        ("[a](people/ada.md)", "[a](tips/C%23%20tips.md)"),
    ] {
        assert_eq!(rewritten_to("tips/C# tips.md", None, "x", text), expected);
    }
}

#[test]
fn links_in_frontmatter_are_rewritten() {
    let text = "---\ntitle: x\nrelated:\n  - \"[[people/ada]]\"\n  - '[[people/bob|Bob]]'\n---\n";
    let expected = text.replace("people/ada", "persons/lovelace");
    assert_eq!(rewritten("x", text), expected);
    assert_eq!(
        rewritten("x", "---\nperson: people/ada\n---\n"),
        "---\nperson: persons/lovelace\n---\n"
    );
}

/// Moves a page whose links lead to files of `exists`.
fn moved(from: &str, to: &str, exists: &[&str], text: &str) -> RewrittenDocument {
    let slug = Slug::from_path(from).unwrap();
    let file = MovedFile { old_slug: &slug, old_path: from, new_path: to, folders: &[] };
    let document = Document::parse(text).unwrap();
    retarget_links(&document, file, |path| exists.contains(&path), |_| None)
}

#[test]
fn paths_of_a_moved_page_lead_to_the_same_files() {
    let done = moved("a/x.md", "b/c/x.md", &[], "![](./img/a.png) [b](../b.pdf) ![](c.png)");
    assert_eq!(done.document.body, "![](../../a/img/a.png) [b](../../b.pdf) ![](c.png)");
    assert_eq!(done.rewritten_count, 2);
    let files = ["My Folder/Pics/a.png", "My Folder/Other Note.md", "My Folder/Note One.md"];
    for (text, expected) in [
        ("[o](Other%20Note.md#P)", "[o](../My%20Folder/Other%20Note.md#P)"),
        ("[o](<Other Note.md#P> 't')", "[o](<../My Folder/Other Note.md#P> 't')"),
        ("[o](./Other%20Note.md)", "[o](../My%20Folder/Other%20Note.md)"),
        (
            "![p](./Pics/a.png) ![q](Pics/a.png)",
            "![p](../My%20Folder/Pics/a.png) ![q](../My%20Folder/Pics/a.png)",
        ),
        ("![p][1]\n\n[1]: <Pics/a.png>\n", "![p][1]\n\n[1]: <../My Folder/Pics/a.png>\n"),
        ("[me](Note%20One.md)", "[me](y.md)"),
        (
            "<img src=\"Pics/a.png\"> <a href='../b.html#c'>x</a>",
            "<img src=\"../My%20Folder/Pics/a.png\"> <a href='../b.html#c'>x</a>",
        ),
        ("[up](../../out/c%28d%29.pdf)", "[up](../../out/c%28d%29.pdf)"),
        (
            "[web](https://a.example/b) [a](#x) [r](/Pics/a.png) [n](none.pdf)",
            "[web](https://a.example/b) [a](#x) [r](/Pics/a.png) [n](none.pdf)",
        ),
        ("`[o](./x.md)`", "`[o](./x.md)`"),
    ] {
        let done = moved("My Folder/Note One.md", "x/y.md", &files, text);
        assert_eq!((done.document.body.as_str(), done.not_updated), (expected, vec![]), "{text}");
    }
}
