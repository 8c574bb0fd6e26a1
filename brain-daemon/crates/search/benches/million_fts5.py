"""Asks SQLite FTS5 the questions of the benchmark `million`, over the same notes.

    python3 million_fts5.py DIR

DIR has notes.tsv and questions.tsv (`cargo bench --workspace --bench million -- DIR PAGES
--notes`). Stems (porter), bm25, and a snippet of each of ten hits; in process, in processor time.
FTS5 corrects no words: mistyped ones are left out.
"""

import re
import sqlite3
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path

HITS = 10
ROUNDS = 3
SELECT = """
SELECT rowid, snippet(notes, 1, '[', ']', '...', 32) FROM notes
WHERE notes MATCH ? ORDER BY bm25(notes, 1.4, 1.0, 0.3) LIMIT ?
"""


def open_index(directory):
    """Opens the index of the notes; makes it at the first run."""
    path = directory / "fts5.db"
    exists = path.exists()
    db = sqlite3.connect(path)
    if exists:
        return db
    db.execute("PRAGMA synchronous = OFF")
    db.execute(
        "CREATE VIRTUAL TABLE notes USING fts5(title, body, tags, tokenize = 'porter unicode61')"
    )
    began = time.monotonic()
    with db, open(directory / "notes.tsv", encoding="utf-8") as notes:
        rows = (line.rstrip("\n").split("\t") for line in notes)
        db.executemany("INSERT INTO notes VALUES (?, ?, ?)", rows)
    with db:
        db.execute("INSERT INTO notes(notes) VALUES ('optimize')")
    size = path.stat().st_size / 1e6
    print(f"index made in {time.monotonic() - began:.0f} s, {size:.0f} MB", file=sys.stderr)
    return db


def expression(kind, question):
    """Returns a question in the language of FTS5."""
    tag = re.search(r"tag:(\S+)", question)
    words = re.findall(r"\w+", question.replace(tag.group(0), "") if tag else question)
    either = " OR ".join(f'"{word.lower()}"' for word in words)
    if tag:
        return f'({either}) AND tags : "{tag.group(1)}"'
    return either.replace(" OR ", " AND ") if "required" in kind else either


def main():
    directory = Path(sys.argv[1])
    db = open_index(directory)
    times = defaultdict(list)
    with open(directory / "questions.tsv", encoding="utf-8") as questions:
        asked = [line.rstrip("\n").split("\t") for line in questions]
    for _ in range(ROUNDS):
        for kind, question in asked:
            if "mistyped" in kind:
                continue
            began = time.thread_time()
            db.execute(SELECT, (expression(kind, question), HITS)).fetchall()
            times[kind].append((time.thread_time() - began) * 1000)
    print("| question | median | p95 |\n|---|---|---|")
    for kind, all_times in times.items():
        last = statistics.quantiles(all_times, n=20)[18]
        print(f"| {kind} | {statistics.median(all_times):.2f} ms | {last:.2f} ms |")


main()
