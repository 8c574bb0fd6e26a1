#!/usr/bin/env python3
"""Runs the fuzz targets of the converters, one format after the other.

Usage: fuzz/converters.py SECONDS [FORMAT...]

`convert` reads a file, `convert_directory` a directory or archive. Each format begins with files of
its program from tests/fixtures/import, or with the short ones in fuzz/seeds. The stable compiler
counts the branches, too; a C++ compiler builds libFuzzer. The code has no `unsafe`, so no sanitizer
is used. JOBS runs are made at once, by default one. Prints a line for each run. The input of a crash
stays in fuzz/artifacts; it ends the run, and the others go on.
"""

import json
import os
import re
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FUZZ = Path(__file__).resolve().parent
FIXTURES = FUZZ.parent / "tests/fixtures/import"
SEEDS = FUZZ / "seeds"
# A conversion that takes longer, or more memory, counts as a crash.
LIMITS = ["-timeout=20", "-rss_limit_mb=1200"]
# What cargo-fuzz passes, too: libFuzzer learns which branches a run takes, and what they compare.
COVERAGE = ["-Cpasses=sancov-module", "-Cllvm-args=-sanitizer-coverage-level=4",
            "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
            "-Cllvm-args=-sanitizer-coverage-pc-table",
            "-Cllvm-args=-sanitizer-coverage-trace-compares", "-Cdebug-assertions",
            "-Ccodegen-units=1", "--cfg=fuzzing"]


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


def programs():
    """Builds the targets, and returns their programs by name."""
    said = subprocess.run(["rustc", "-vV"], capture_output=True, check=True, text=True).stdout
    host = re.search(r"host: (\S+)", said)[1]
    # With a target, cargo does not count branches in what runs in the compiler.
    command = ["cargo", "build", "--release", "--target", host, "--message-format=json",
               "--bin=convert", "--bin=convert_directory"]
    environment = dict(os.environ, CARGO_ENCODED_RUSTFLAGS="\x1f".join(COVERAGE))
    done = subprocess.run(command, cwd=FUZZ, env=environment, stdout=subprocess.PIPE, check=True)
    built = [json.loads(line) for line in done.stdout.splitlines()]
    return {it["target"]["name"]: it["executable"] for it in built if it.get("executable")}


def run(program, target, name, inputs, seconds):
    """Runs a target with a format. Returns whether it found nothing."""
    corpus = FUZZ / "corpus" / target / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(inputs):
        (corpus / f"seed-{number}").write_bytes(content)
    crashes = FUZZ / "artifacts" / target
    crashes.mkdir(parents=True, exist_ok=True)
    command = [program, corpus, *LIMITS, f"-max_total_time={seconds}", f"-artifact_prefix={crashes}/"]
    environment = dict(os.environ, BRAIN_FUZZ_FORMAT=name)
    done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE)
    said = done.stderr.decode(errors="replace")
    runs = re.search(r"Done (\d+) runs", said)
    if done.returncode or not runs:
        print(f"{target} {name}: failed\n{said[-6000:]}", flush=True)
        return False
    branches = re.findall(r"cov: (\d+)", said)
    print(f"{target} {name}: {int(runs[1]):,} runs in {seconds} s, {branches[-1]} branches", flush=True)
    return True


def main():
    if len(sys.argv) < 2 or not sys.argv[1].isdigit():
        sys.exit(__doc__)
    names = sys.argv[2:] or sorted({*REAL, *(path.name for path in SEEDS.iterdir())})
    built = programs()
    with ThreadPoolExecutor(int(os.environ.get("JOBS", "1"))) as pool:
        runs = [pool.submit(run, built[target], target, name, inputs, int(sys.argv[1]))
                for name in names for target, inputs in seeds(name).items()]
    sys.exit(not all(it.result() for it in runs))


if __name__ == "__main__":
    main()
