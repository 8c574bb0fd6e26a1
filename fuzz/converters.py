#!/usr/bin/env python3
"""Runs the fuzz targets of the converters, one format after the other.

Usage: fuzz/converters.py SECONDS [FORMAT...]

`convert` reads a file, `convert_directory` a directory or archive. Each format begins with files of
its program from tests/fixtures/import, or with the short ones in fuzz/seeds. Needs a nightly
compiler and cargo-fuzz. The code has no `unsafe`, so no sanitizer is used. Prints a line for each
run. The input of a crash stays in fuzz/artifacts; it ends the run, and the others go on.
"""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

FUZZ = Path(__file__).resolve().parent
FIXTURES = FUZZ.parent / "tests/fixtures/import"
SEEDS = FUZZ / "seeds"
# A conversion that takes longer, or more memory, counts as a crash.
LIMITS = ["-timeout=20", "-rss_limit_mb=1200"]


def files_in(directory):
    """Returns the paths of the fixtures in a directory."""
    return sorted(f"{directory}/{path.name}" for path in (FIXTURES / directory).iterdir())


# Where the fixtures of a format are.
REAL = {
    "bookmarks": ["bookmarks/Bookmarks", "bookmarks/firefox.html", "bookmarks/firefox.json"],
    "cherrytree": ["cherrytree/notes.ctd"],
    "csv": ["dokuwiki/notes/data/media/stray.csv"],
    "dendron": ["dendron/workspace"],
    "docx": ["documents/libreoffice.docx", "documents/pandoc.docx"],
    "dokuwiki": ["dokuwiki/notes"],
    "epub": ["documents/pandoc.epub"],
    "evernote": ["evernote/export/Harbour.enex", "evernote/export"],
    "gnote": ["gnote/notes"],
    "ics": ["ics/khal", *files_in("ics/khal/boat")],
    "joplin": ["joplin/garden.jex", "joplin/terminal.jex"],
    "joplin-markdown": ["joplin-markdown/export"],
    "jrnl": ["jrnl/j.txt", "jrnl/j.json", "jrnl/folder"],
    "mbox": ["mail/crew.mbox"],
    "odt": ["documents/libreoffice.odt"],
    "org": ["org/notes"],
    "pdf": [path for path in files_in("pdf") if path.endswith(".pdf")],
    "rednotebook": ["rednotebook/notes"],
    "tiddlywiki": ["tiddlywiki/folder", "tiddlywiki/wiki-5.1.html", "tiddlywiki/wiki-5.4.html"],
    "vcard": ["vcard/khard", *files_in("vcard/khard")],
    "zim": ["zim/notes"],
}


def packed(first, files):
    """An input of convert_directory."""
    parts = [name.encode() + b"\n" + content for name, content in files.items()]
    return bytes([first]) + b"\xff\xfe".join(parts)


def below(directory):
    paths = sorted(path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in paths}


def seeds(name):
    """Returns the inputs of each target to begin with."""
    found = {"convert": [], "convert_directory": []}
    for path in [*(FIXTURES / it for it in REAL.get(name, [])), *(SEEDS / name).glob("*")]:
        if path.is_dir():
            found["convert_directory"] += [packed(first, below(path)) for first in (0, 128)]
        elif zipfile.is_zipfile(path):
            archive = zipfile.ZipFile(path)
            files = {it: archive.read(it) for it in archive.namelist() if not it.endswith("/")}
            found["convert_directory"].append(packed(128, files))
        else:
            first = b"\x80" if path.suffix == ".tid" else b"\x00"
            found["convert"].append(first + path.read_bytes())
    return {target: inputs for target, inputs in found.items() if inputs}


def run(target, name, inputs, seconds):
    """Runs a target with a format. Returns whether it found nothing."""
    corpus = FUZZ / "corpus" / target / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(inputs):
        (corpus / f"seed-{number}").write_bytes(content)
    command = ["cargo", "+nightly", "fuzz", "run", "-s", "none", target, corpus, "--", *LIMITS]
    environment = dict(os.environ, BRAIN_FUZZ_FORMAT=name)
    done = subprocess.run([*command, f"-max_total_time={seconds}"], cwd=FUZZ, env=environment,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = done.stderr.decode(errors="replace")
    runs = re.search(r"Done (\d+) runs", said)
    if done.returncode or not runs:
        print(f"{target} {name}: failed\n{said[-6000:]}", flush=True)
        return False
    print(f"{target} {name}: {int(runs[1]):,} runs in {seconds} s", flush=True)
    return True


def main():
    if len(sys.argv) < 2 or not sys.argv[1].isdigit():
        sys.exit(__doc__)
    names = sys.argv[2:] or sorted({*REAL, *(path.name for path in SEEDS.iterdir())})
    results = [run(target, name, inputs, int(sys.argv[1]))
               for name in names for target, inputs in seeds(name).items()]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
