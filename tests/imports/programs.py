#!/usr/bin/env python3
"""Imports what programs write now, and compares the pages with what they hold.

Usage: programs.py BRAIN NODE_MODULES

BRAIN is the program `brain`, beside `brain-daemon` and `brain-convert`; NODE_MODULES has TiddlyWiki
and Joplin.
Each program makes an input from the same text. The pages must have its title, its tags, its links,
and its words in their order. A program that is missing is named. Exits with 1 after a difference.
"""

import ast
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


# Zim has no command that writes a page, so its own classes do. They need no display.
ZIM = """
import json, sys
from zim.newfs import LocalFolder
from zim.notebook import Notebook, Path, init_notebook
folder = LocalFolder(sys.argv[1])
init_notebook(folder, name="Boats")
notebook = Notebook.new_from_dir(folder)
for name, text in json.load(sys.stdin).items():
    page = notebook.get_page(Path(name))
    page.parse("wiki", text)
    notebook.store_page(page)
files = notebook.get_attachments_dir(Path("Ferry"))
files.touch()
files.file("plan.csv").write_binary(b"a,b\\n")
"""


def zim(work):
    if not shutil.which("zim"):
        return print("without Zim")
    env = {**os.environ, "HOME": str(work), "XDG_RUNTIME_DIR": str(work)}
    notebook, html = work / "zim", work / "zim-html"
    notes = {
        "Ferry": f"====== {TITLE} ======\n\nAsk **Ann** about [[Boats:Rowboat|the rowboat]], "
                 f"[[{LINK}|the weir]] and [[./plan.csv]], says Çelik. @boats @river\n\n"
                 "[ ] Mend the oar\n[*] Buy rope\n[x] Paint\n\n* Tar\n\t* Brush\n",
        "Boats:Rowboat": "====== Rowboat ======\n\nBack to [[Ferry]], ''rope_1'' and //more//.\n",
    }
    # Debian's Zim belongs to Debian's Python.
    run("/usr/bin/python3", "-c", ZIM, notebook, input=json.dumps(notes).encode(), env=env)
    run("zim", "--export", "--format=html", f"--output={html}", notebook, env=env)

    def check(home, pages):
        by_title = {page["title"]: page for page in pages.values()}
        # The title of a page is its name; the heading can be another one.
        report("Zim, titles", {"Ferry", "Rowboat"}, set(by_title))
        if len(by_title) != 2:
            return
        ferry, rowboat = by_title["Ferry"], by_title["Rowboat"]
        report("Zim, heading", True, f"# {TITLE}" in ferry["body"])
        report("Zim, tags", TAGS, ferry["tags"])
        report("Zim, folders", "boats/rowboat", rowboat["slug"])
        report("Zim, link", True, LINK in ferry["body"])
        report("Zim, open task", True, "- [ ] Mend the oar" in ferry["body"])
        report("Zim, done task", True, "- [x] Buy rope" in ferry["body"])
        for page, other in [(ferry, rowboat), (rowboat, ferry)]:
            links = home.brain("links", page["slug"])["links"]
            report("Zim, links", True, other["slug"] in [link["slug"] for link in links])
        report("Zim, files", True, 'attachments: ["plan.csv"]' in ferry["frontmatter"])
        for name, page in [("Ferry", ferry), ("Boats/Rowboat", rowboat)]:
            # What Zim itself shows of the page, below its line of links.
            shown = run("pandoc", html / f"{name}.html", "-t", "plain", "--wrap=none").decode()
            shown = shown.split(40 * "-")[-1].split("Backlinks")[0]
            found = f"{page['title']} {page['body']}"
            report(f"Zim, words of {name}", 1.0, in_order(shown, found))

    imported(notebook, check)
    print("Zim: compared")


def khal(work):
    if not shutil.which("khal"):
        return print("without khal")
    calendar, settings = work / "khal" / "boat", work / "khal.conf"
    calendar.mkdir(parents=True)
    settings.write_text(f"""[calendars]
[[boat]]
path = {calendar}
[locale]
local_timezone = Europe/Berlin
default_timezone = Europe/Berlin
timeformat = %H:%M
dateformat = %Y-%m-%d
longdateformat = %Y-%m-%d
datetimeformat = %Y-%m-%d %H:%M
longdatetimeformat = %Y-%m-%d %H:%M
[default]
default_calendar = boat
""")
    env = {**os.environ, **{f"XDG_{it}_HOME": str(work) for it in ["CACHE", "CONFIG", "DATA"]}}

    def khal(*arguments):
        return run("khal", "-c", settings, *arguments, env=env).decode()

    khal("new", "2026-01-07", "19:00", "20:30", "-l", "Old chapel", "-r", "weekly", "-u",
         "2026-01-22", "Choir", "::", "Bring *lamps*")
    khal("new", "2026-05-17", "Parade")
    khal("new", "2026-03-29", "03:30", "1h", "America/New_York", "-g", "boats", "Call Çelik")
    listed = khal("list", "--day-format", "", "--format",
                  "{start-date}|{start-time-full}|{title}|{location}|{description}|{categories}",
                  "2026-01-01", "365d")
    events = [line.split("|") for line in listed.splitlines() if line]

    def check(_, pages):
        by_title = {page["title"]: page for page in pages.values()}
        report("khal, titles", {event[2] for event in events}, set(by_title))
        for day, time, title, place, description, categories in events:
            page = by_title.get(title, {"body": "", "tags": []})
            report(f"khal, {title} on {day}", True, f"- {day} |" in page["body"])
            for part in [place, description.replace("*", r"\*")]:
                report(f"khal, {title}: {part}", True, part in page["body"])
            report(f"khal, {title}, tags", [it for it in [categories] if it], page["tags"])
        # khal shows the time in Berlin, and the page the one of the event's zone.
        report("khal, choir", 3, by_title["Choir"]["body"].count(" | 19:00–20:30 Europe/Berlin"))
        call = by_title["Call Çelik"]["created_at"]
        report("khal, call", "2026-03-29T07:30:00", call[:19])
        report("khal, call in Berlin", ["09:30"], [it[1] for it in events if it[2] == "Call Çelik"])

    imported(calendar.parent, check)
    print("khal: compared")


def khard(work):
    if not shutil.which("khard"):
        return print("without khard")
    contacts, settings, new = work / "khard", work / "khard.conf", work / "contact.yaml"
    contacts.mkdir()
    settings.write_text(f"[addressbooks]\n[[crew]]\npath = {contacts}\n"
                        "[general]\neditor = /bin/true\nmerge_editor = /bin/true\n")

    def khard(*arguments):
        return run("khard", "-c", settings, *arguments).decode()

    for version, name, birthday in [("4.0", "Åse", "--05-04"), ("3.0", "Bo", "1980-05-04")]:
        new.write_text(f"""First name : {name}
Last name : Çelik
Nickname : {name}-kin
Organisation : Harbour AS
Phone :
    cell : +47 900 00 000
Email :
    home : {name.lower()}@example.org
Address :
    home :
        Street : Yard 3; rear
        City : Oslo
Birthday : {birthday}
Categories : [boats, old friends]
Note : |
    Key under the pot,
    ring *twice*
""")
        khard("new", "-a", "crew", "-i", new, "--vcard-version", version)
    fields = ["name", "nicknames", "categories", "emails", "phone_numbers", "notes"]
    listed = khard("list", "--parsable", "--fields=" + ",".join(fields)).splitlines()

    def check(_, pages):
        by_title = {page["title"]: page for page in pages.values()}
        report("khard, contacts", 2, len(listed))
        report("khard, titles", {line.split("\t")[0] for line in listed}, set(by_title))
        for name, *values in [line.split("\t") for line in listed]:
            nicknames, categories, mails, phones, notes = map(ast.literal_eval, values)
            page = by_title.get(name)
            if page is None:
                continue
            report(f"khard, {name}, tags", [it.replace(" ", "-") for it in categories],
                   [it.replace(" ", "-") for it in page["tags"]])
            held = [*nicknames, *sum(mails.values(), []), *sum(phones.values(), []),
                    *notes[0].replace("*", r"\*").split("\n"), "Yard 3; rear", "Oslo"]
            for value in held:
                report(f"khard, {name}: {value}", True, value in f"{page['aliases']} {page['body']}")

    imported(contacts, check)
    print("khard: compared")


def main():
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        documents(work)
        tiddlywiki(work)
        joplin(work)
        org(work)
        zim(work)
        khal(work)
        khard(work)
    for problem in problems:
        print(f"difference: {problem}", file=sys.stderr)
    sys.exit(1 if problems else 0)


main()
