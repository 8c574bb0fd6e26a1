"""Searches for known manual pages with brain, SQLite FTS5 and ripgrep, over the same text files.

    python3 tests/benches/known_items.py PROGRAMS

PROGRAMS is the directory of brain's programs. Needs Debian's packages manpages and manpages-dev
of the version VERSION, man-db, bsdextrautils and ripgrep. Prints the table of
docs/comparison.md. Nobody here wrote the pages, nor the descriptions and sentences that are sought:

- description: the line with which the authors describe a page. It is removed from the page.
- sentence: a sentence of the page from which one word is left out.
- mistyped name: the page's name with two letters exchanged.
"""

import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGES = ["manpages", "manpages-dev"]
VERSION = "6.03-2"
QUESTIONS = 200
HITS = 10
# Words that FTS5 and ripgrep should not look for.
STOP_WORDS = set(
    "a an and are as at be been by can do does for from has have if in into is it its may no not of"
    " on or that the then there these this to was were when which will with you your".split()
)


def main():
    programs = Path(sys.argv[1]).resolve()
    for package in PACKAGES:
        version = output("dpkg-query", "--show", "--showformat=${Version}", package)
        assert version == VERSION, f"{package} {version} is installed, not {VERSION}"
    with tempfile.TemporaryDirectory() as directory:
        notes = Path(directory) / "notes"
        notes.mkdir()
        pages = write_pages(notes)
        asked = questions(pages)
        engines = {
            "brain": Brain(programs, notes, Path(directory) / "home"),
            "SQLite FTS5": Fts5(pages),
            "ripgrep": Ripgrep(notes),
        }
        print(f"{len(pages)} pages\n")
        print("| question | number | program | first | in the first five | in the first ten |")
        print("|---|---:|---|---:|---:|---:|")
        for kind, items in asked.items():
            for name, engine in engines.items():
                print_row(kind, items, name, engine)
        engines["brain"].stop()


def print_row(kind, items, name, engine):
    """Asks all questions of a kind, and prints which share of their pages was found."""
    ranks = []
    for question, wanted in items:
        # Slugs have no capitals.
        wanted, found = wanted.lower(), [id.lower() for id in engine.search(question)[:HITS]]
        ranks.append(found.index(wanted) if wanted in found else HITS)
    shares = [sum(rank < limit for rank in ranks) / len(ranks) for limit in (1, 5, HITS)]
    cells = " | ".join(f"{share:.3f}" for share in shares)
    print(f"| {kind} | {len(items)} | {name} | {cells} |", flush=True)


class Page:
    """A manual page: `id` is `fopen.3`."""

    def __init__(self, id, names, description, text):
        self.id, self.names, self.description, self.text = id, names, description, text
        self.title = f"{id.rsplit('.', 1)[0]}({id.rsplit('.', 1)[1]})"


def write_pages(notes):
    """Writes each page that is no link to another one as a markdown file. Returns the pages."""
    pages = []
    files = output("dpkg-query", "--listfiles", *PACKAGES).split()
    for path in sorted(set(files)):
        match = re.fullmatch(r"/usr/share/man/man[2-8]/(.+)\.gz", path)
        if not match or os.path.islink(path):
            continue
        page = read_page(match[1], path)
        if page:
            pages.append(page)
            text = f"# {page.title}\n\n{page.text}\n"
            (notes / f"{page.id}.md").write_text(text, encoding="utf-8")
    return pages


def read_page(id, path):
    """Returns a page without its description; None for a link."""
    env = {**os.environ, "MANWIDTH": "100", "MAN_KEEP_FORMATTING": "", "LC_ALL": "C.UTF-8"}
    man = subprocess.run(
        ["man", "--no-hyphenation", "--no-justification", "--pager=col -bx", path],
        env=env, capture_output=True, text=True, check=True,
    )
    # The first and last line name the page and the collection.
    lines = man.stdout.strip().split("\n")[1:-1]
    sections = re.split(r"^(?=\S)", "\n".join(lines), flags=re.MULTILINE)
    name = next((it for it in sections if it.startswith("NAME\n")), None)
    if name is None or " - " not in name:
        return None
    names, description = " ".join(name.split("\n")[1:]).split(" - ", 1)
    parts = [f"## NAME\n\n{' '.join(names.split())}"]
    for section in sections:
        heading, _, body = section.partition("\n")
        if section is not name and body.strip():
            paragraphs = re.split(r"\n\s*\n", body.strip())
            body = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
            parts.append(f"## {heading.strip()}\n\n{body}")
    if id.rsplit(".", 1)[0] not in names:
        return None
    return Page(id, names, " ".join(description.split()), "\n\n".join(parts))


def questions(pages):
    """Returns for each kind its questions, each with the id of the only page that it is about."""
    chance = random.Random(42)
    by_description, by_sentence, by_name = [], [], []
    counts = {}
    for page in pages:
        counts[page.description] = counts.get(page.description, 0) + 1
    all_text = "\n".join(page.text for page in pages)
    base_names = [page.id.rsplit(".", 1)[0] for page in pages]
    for page in chance.sample(pages, len(pages)):
        if counts[page.description] == 1 and len(page.description.split()) >= 3:
            by_description.append((page.description, page.id))
        sentences = re.findall(r"(?<=[.] )[A-Z][^.()\n]{60,160}[.](?= )", page.text)
        sentences = [it for it in sentences if all_text.count(it) == 1]
        if sentences:
            words = chance.choice(sentences).rstrip(".").split()
            del words[chance.randrange(2, len(words) - 2)]
            by_sentence.append((" ".join(words), page.id))
        name = page.id.rsplit(".", 1)[0]
        if re.fullmatch(r"[a-z]{7,}", name) and base_names.count(name) == 1:
            at = chance.randrange(1, len(name) - 2)
            mistyped = name[:at] + name[at + 1] + name[at] + name[at + 2:]
            if mistyped not in all_text:
                by_name.append((mistyped, page.id))
    kinds = {"description": by_description, "sentence": by_sentence, "mistyped name": by_name}
    return {kind: items[:QUESTIONS] for kind, items in kinds.items()}


def content_words(question):
    """Returns the words of a question that FTS5 and ripgrep look for."""
    words = re.findall(r"\w+", question.lower())
    return [word for word in words if word not in STOP_WORDS] or words


class Brain:
    def __init__(self, programs, notes, home):
        self.brain = programs / "brain"
        path = f"{programs}:{os.environ['PATH']}"
        self.env = {**os.environ, "BRAIN_HOME": str(home), "PATH": path}
        self.run("sources", "add", "notes", "--path", str(notes))
        self.run("sync", "--source", "notes")

    def run(self, *arguments):
        command = [self.brain, *arguments]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True)
        assert done.returncode == 0, f"brain {arguments}: {done.stderr}"
        return done.stdout

    def search(self, question):
        answer = json.loads(self.run("search", question, "--limit", str(HITS), "--json"))
        return [hit["slug"].rsplit("/", 1)[-1] for hit in answer["hits"]]

    def stop(self):
        self.run("stop")


class Fts5:
    """Stems, bm25 with weights for names and titles, any of the words."""

    def __init__(self, pages):
        self.db = sqlite3.connect(":memory:")
        self.db.execute(
            "CREATE VIRTUAL TABLE pages USING fts5(id UNINDEXED, title, body,"
            " tokenize = 'porter unicode61')"
        )
        rows = [(page.id, page.title, page.text) for page in pages]
        self.db.executemany("INSERT INTO pages VALUES (?, ?, ?)", rows)

    def search(self, question):
        words = " OR ".join(f'"{word}"' for word in content_words(question))
        found = self.db.execute(
            "SELECT id FROM pages WHERE pages MATCH ? ORDER BY bm25(pages, 0, 1.4, 1) LIMIT ?",
            (words, HITS),
        )
        return [id for (id,) in found]


class Ripgrep:
    """The files with most of the words, then those with most lines of them."""

    def __init__(self, notes):
        self.notes = notes

    def search(self, question):
        counts = {}
        for word in dict.fromkeys(content_words(question)):
            done = subprocess.run(
                ["rg", "--count", "--ignore-case", "--fixed-strings", "--", word, "."],
                cwd=self.notes, capture_output=True, text=True,
            )
            for line in done.stdout.splitlines():
                path, count = line.rsplit(":", 1)
                words, lines = counts.get(path, (0, 0))
                counts[path] = (words + 1, lines + int(count))
        best = sorted(counts, key=lambda path: (*(-n for n in counts[path]), path))
        return [Path(path).name.removesuffix(".md") for path in best]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


main()
