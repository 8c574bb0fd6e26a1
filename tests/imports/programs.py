#!/usr/bin/env python3
"""Imports what programs write now, and compares the pages with what they hold.

Usage: programs.py BRAIN NODE_MODULES

BRAIN is the program `brain`, beside `brain-daemon` and `brain-convert`; NODE_MODULES has TiddlyWiki
and Joplin.
Each program makes an input from the same text. The pages must have its title, its tags, its links,
and its words in their order. A program that is missing is named. Exits with 1 after a difference.
"""

import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unicodedata

BRAIN, MODULES = (os.path.abspath(path) for path in sys.argv[1:3])
# The least part of the words that must be there in order.
LEAST = {"pdf": 0.95}
LEAST_OF_OTHERS = 0.98
SECONDS = 120

TITLE = "Grüße vom Wehr & Co"
TAGS = ["boats", "river"]
LINK = "https://weirs.example/a_b"
SOURCE = f"""---
title: {TITLE}
author: Ida Strand
date: 2026-03-04
keywords: [{", ".join(TAGS)}]
---

# Repairs

Ask **Ann**, *Bo* and the others about `rope_1`, see [the weir]({LINK}).

- Tar and rope
- Nails: 2 < 3

| Boat | Metres |
|------|--------|
| Ferry | 12 |
| Barge | 30 |

## Later

The ferry runs again in March, says Çelik.[^1]

> Nobody asked.

[^1]: Who should know.
"""

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "ingest.md"

problems = []


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, timeout=SECONDS, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} fails: {done.stderr.decode(errors='replace')[-500:]}")
    return done.stdout


def words(text):
    # The number of a note can be a digit of its own: ¹.
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())


def in_order(expected, found):
    """Returns the part of the expected words that the found ones have, in the same order."""
    expected, found = words(expected), words(found)
    matcher = difflib.SequenceMatcher(a=expected, b=found, autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks()) / max(len(expected), 1)


class Home:
    """A brain of its own, with the pages of one import."""

    def __init__(self, work):
        self.env = {**os.environ, "BRAIN_HOME": str(work), "BRAIN_HTTP_LOCAL": "off",
                    "BRAIN_HTTP_PUBLIC": "off"}

    def brain(self, *arguments):
        return json.loads(run(BRAIN, "--json", *arguments, env=self.env))

    def pages(self):
        slugs = [page["slug"] for page in self.brain("list", "--limit", "1000")["pages"]]
        return {slug: self.brain("get", slug) for slug in slugs}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run([BRAIN, "stop"], env=self.env, capture_output=True, timeout=SECONDS)


def imported(path, check):
    """Imports a path into a brain of its own, and hands it to `check`."""
    with tempfile.TemporaryDirectory() as work, Home(pathlib.Path(work) / "home") as home:
        reply = home.brain("import", str(path))
        if reply["failed_total"]:
            problems.append(f"{path.name}: {reply['failed']}")
        check(home, home.pages())


def report(name, expected, found):
    if expected != found:
        problems.append(f"{name}: {found!r}, not {expected!r}")


def check_document(path, plain):
    """Checks the page of a document."""

    def check(_, pages):
        report(f"{path.name}, pages", 1, len(pages))
        for page in pages.values():
            kind = path.suffix[1:]
            part = in_order(plain, page["body"])
            print(f"{path.name}: {100 * part:.1f} % of {len(words(plain))} words in order")
            if part < LEAST.get(kind, LEAST_OF_OTHERS):
                problems.append(f"{path.name}: only {100 * part:.1f} % of the words")
            report(f"{path.name}, title", TITLE, page["title"])
            missing = set(TAGS) - set(page["tags"])
            # LibreOffice and calibre do not write the keywords of every format.
            if missing and path.name.startswith("pandoc"):
                problems.append(f"{path.name}: lacks the tags {missing}")
            if LINK not in page["body"]:
                problems.append(f"{path.name}: lacks the link")

    imported(path, check)


def documents(work):
    source = work / "source.md"
    # A guide of brain makes the text longer.
    source.write_text(SOURCE + "\n" + GUIDE.read_text())
    plain = run("pandoc", source, "-t", "plain", "--wrap=none", "--columns=1000").decode()
    # pandoc writes keywords into all of these but EPUB.
    subjects = [f"--metadata=subject:{tag}" for tag in TAGS]
    made = []
    for kind in ["docx", "odt", "epub", "html"]:
        made.append(work / f"pandoc.{kind}")
        run("pandoc", source, "-s", "-o", made[-1], *(subjects if kind == "epub" else []))
    if shutil.which("soffice"):
        profile = f"-env:UserInstallation=file://{work}/profile"
        for name, kind in [("odt", "docx"), ("docx", "odt"), ("odt", "pdf")]:
            out = work / f"to-{kind}"
            run("soffice", profile, "--headless", "--convert-to", kind, "--outdir", out,
                work / f"pandoc.{name}", env={**os.environ, "HOME": str(work)})
            made.append(work / f"libreoffice.{kind}")
            (out / f"pandoc.{kind}").rename(made[-1])
    else:
        print("without LibreOffice")
    if shutil.which("ebook-convert"):
        made.append(work / "calibre.epub")
        run("ebook-convert", work / "pandoc.html", made[-1],
            env={**os.environ, "HOME": str(work), "QT_QPA_PLATFORM": "offscreen"})
    else:
        print("without calibre")
    for path in made:
        check_document(path, plain)


def tiddlywiki(work):
    program = os.path.join(MODULES, "tiddlywiki", "tiddlywiki.js")
    if not os.path.exists(program):
        return print("without TiddlyWiki")
    tiddlers = [
        {"title": TITLE, "tags": "boats [[two words]]", "created": "20260304050607000",
         "text": f"! Repairs\n\nAsk ''Ann'' about [[the boat|Red rowboat]] and {LINK}\n\n* Tar\n* Rope"},
        {"title": "Red rowboat", "tags": "", "text": "It needs tar, says Çelik."},
    ]
    (work / "tiddlers.json").write_text(json.dumps(tiddlers))
    wiki, folder = work / "wiki", work / "folder"
    run("node", program, wiki, "--init", "empty")
    run("node", program, wiki, "--load", work / "tiddlers.json", "--savewikifolder", folder,
        "--render", "$:/core/save/all", work / "wiki.html", "text/plain")

    def check(home, pages):
        by_title = {page["title"]: page for page in pages.values()}
        report("TiddlyWiki, titles", {TITLE, "Red rowboat"}, set(by_title))
        page = by_title.get(TITLE)
        if page:
            report("TiddlyWiki, tags", ["boats", "two words"], page["tags"])
            report("TiddlyWiki, created", True, page["created_at"].startswith("2026-03-04T05:06:07"))
            part = in_order("Repairs Ask Ann about the boat and Tar Rope", page["body"])
            report("TiddlyWiki, words", 1.0, part)
            links = home.brain("links", page["slug"])["links"]
            report("TiddlyWiki, links", ["red-rowboat"], [link["slug"] for link in links])

    for path in [folder, work / "wiki.html"]:
        imported(path, check)
        print(f"TiddlyWiki, {path.name}: compared")


def joplin(work):
    program = os.path.join(MODULES, "joplin", "main.js")
    if not os.path.exists(program):
        return print("without Joplin")

    def joplin(*arguments):
        run("node", program, "--profile", work / "joplin", *arguments,
            env={**os.environ, "HOME": str(work)})

    joplin("mkbook", "Garden")
    joplin("use", "Garden")
    joplin("mknote", TITLE)
    joplin("set", TITLE, "body", f"Ask **Ann** about [the weir]({LINK}), says Çelik.")
    joplin("tag", "add", "two words", TITLE)
    joplin("mktodo", "Mend the oar")
    joplin("export", "--format", "jex", work / "notes.jex")
    joplin("export", "--format", "raw", work / "raw")

    def check(_, pages):
        by_title = {page["title"]: page for page in pages.values()}
        report("Joplin, titles", {TITLE, "Mend the oar"}, set(by_title))
        if len(by_title) == 2:
            report("Joplin, tags", ["two words"], by_title[TITLE]["tags"])
            report("Joplin, link", True, LINK in by_title[TITLE]["body"])
            report("Joplin, task", "- [ ] Mend the oar", by_title["Mend the oar"]["body"].strip())
            part = in_order("Ask Ann about the weir says Çelik", by_title[TITLE]["body"])
            report("Joplin, words", 1.0, part)
            report("Joplin, folders", True, all(slug.startswith("garden/") for slug in pages))

    for path in [work / "notes.jex", work / "raw"]:
        imported(path, check)
        print(f"Joplin, {path.name}: compared")


ORG = """(progn
  (require 'org) (require 'org-id)
  (find-file "boats.org")
  (insert "#+title: {title}\\n#+filetags: :boats:river:\\n\\nAsk about [[{link}][the weir]].\\n")
  (org-mode)
  (goto-char (point-max))
  (org-insert-heading nil nil t) (insert "Mend the oar")
  (org-todo "TODO") (org-set-tags "tar")
  (org-schedule nil "2026-03-04")
  (goto-char (point-max))
  (org-insert-heading nil nil t) (insert "The ferry")
  (org-entry-put nil "ID" "ferry-1")
  (goto-char (point-max)) (insert "\\nIt runs in March.\\n")
  (save-buffer)
  (find-file "log.org")
  (insert "#+title: Log\\n\\nSee [[id:ferry-1][the ferry]].\\n")
  (save-buffer))"""


def org(work):
    if not shutil.which("emacs"):
        return print("without Emacs")
    folder = work / "org"
    folder.mkdir()
    run("emacs", "--batch", "-Q", "--eval", ORG.format(title=TITLE, link=LINK), cwd=folder,
        env={**os.environ, "HOME": str(work)})
    (folder / "README.md").write_text("# About these notes\n")

    def check(home, pages):
        by_title = {page["title"]: page for page in pages.values()}
        expected = {TITLE, "The ferry", "Log", "About these notes"}
        report("Org, titles", expected, set(by_title))
        if expected <= set(by_title):
            report("Org, tags", [*TAGS, "tar"], by_title[TITLE]["tags"])
            body = by_title[TITLE]["body"]
            report("Org, task", True, "- [ ] Mend the oar" in body and "2026-03-04" in body)
            report("Org, link", True, LINK in body)
            links = home.brain("links", by_title["Log"]["slug"])["links"]
            report("Org, links", [by_title["The ferry"]["slug"]], [it["slug"] for it in links])
            part = in_order("It runs in March", by_title["The ferry"]["body"])
            report("Org, words", 1.0, part)

    imported(folder, check)
    print("Org: compared")


def main():
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        documents(work)
        tiddlywiki(work)
        joplin(work)
        org(work)
    for problem in problems:
        print(f"difference: {problem}", file=sys.stderr)
    sys.exit(1 if problems else 0)


main()
