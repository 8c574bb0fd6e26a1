#!/usr/bin/env python3
"""Compares the words that brain-convert reads from PDF files with those of pdftotext.

Usage: pdf_words.py BRAIN_CONVERT DIRECTORY

For each PDF below the directory it prints the part of the words that are in the order of
pdftotext, of the better one of `pdftotext` and `pdftotext -raw`; the processor seconds; and the
peak memory in MB. Poppler must be installed.

Words are compared without hyphens, ligatures, marks of direction, vowel points and case. In
Chinese, Japanese and Thai each character counts as a word, as there are no blanks. The order is
compared by the longest matching blocks (difflib) of each page's words, a page at a time. A change
between digits, letters from left to right and letters from right to left ends a word, as programs
differ in the blanks there.
"""

import difflib
import json
import os
import re
import resource
import subprocess
import sys
import unicodedata
from pathlib import Path

MARKS = re.compile(
    "[\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\u0640\u0591-\u05c7\u064b-\u065f\u0670]"
)
HYPHEN_AT_END = re.compile(r"[-\u00ad\u2010][ \t]*\n[ \t]*")
WORD = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff]"
    r"|\d+|(?:(?=[\u0590-\u08ff])[^\W\d_])+|[^\W\d_\u0590-\u08ff]+"
)
HEADING = re.compile(r"^## Page .*$", re.MULTILINE)
ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


def words(text):
    text = HYPHEN_AT_END.sub("", text.replace("\f", "\n"))
    text = re.sub("[-\u00ad\u2010\u2011]", "", text)
    text = MARKS.sub("", unicodedata.normalize("NFKC", text))
    return WORD.findall(text.casefold())


def run(command, env=None):
    """Returns the output, the processor seconds and the peak memory in MB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    if os.path.exists("/usr/bin/time"):
        command = ["/usr/bin/time", "-f", "%M", *command]
    done = subprocess.run(command, capture_output=True, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = re.search(rb"(\d+)\s*\Z", done.stderr)
    return done, seconds, int(peak.group(1)) // 1024 if peak else 0


def reference(path, options):
    done, seconds, _ = run(["pdftotext", *options, str(path), "-"])
    return done.stdout.decode("utf-8", "replace"), seconds


def converted(program, path):
    """Returns the text of the page, the seconds, the memory, and what was lost."""
    done, seconds, peak = run([program, "--as", "pdf", str(path)], env={})
    text, lost = [], []
    for line in done.stdout.decode().splitlines():
        line = json.loads(line)
        if line["type"] == "page":
            text.append(line["markdown"].split("\n---\n", 1)[1])
        elif line["type"] == "lost":
            lost.append(line["reason"])
    return "\n".join(text), seconds, peak, lost, done.returncode


def plain(markdown):
    """Removes what the page adds to the text of the file."""
    text = HEADING.sub("", markdown)
    text = re.sub(r"^(Links: .*|!\[\[.*\]\]|\[\[.*\]\])$", "", text, flags=re.MULTILINE)
    return ESCAPE.sub(r"\1", text)


def in_order(expected, found):
    """Returns the part of the expected words that are found in their order."""
    if not expected:
        return 1.0
    matcher = difflib.SequenceMatcher(None, expected, found, autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks()) / len(expected)


def by_page(pages, text):
    """Compares page by page where that is possible, which is faster than all at once."""
    headings = list(HEADING.finditer(text))
    parts = [text[h.end():n.start()] for h, n in zip(headings, headings[1:])]
    parts += [text[headings[-1].end():]] if headings else []
    pages = [page for page in pages if page.strip()]
    if len(parts) != len(pages):
        parts, pages = ["\n".join(parts)], ["\n".join(pages)]
    right = total = 0
    for page, part in zip(pages, parts):
        expected = words(page)
        right += in_order(expected, words(plain(part))) * len(expected)
        total += len(expected)
    return (right / total if total else 1.0), total


def main():
    program, directory = sys.argv[1:]
    ratios, all_seconds, all_reference, worst_peak, all_pages = [], 0.0, 0.0, 0, 0
    for path in sorted(Path(directory).rglob("*.pdf")):
        texts = [reference(path, option) for option in ([], ["-raw"])]
        text, seconds, peak, lost, code = converted(program, path)
        results = [by_page(reference_text.split("\f"), text) for reference_text, _ in texts]
        ratio, count = max(results)
        pages = texts[0][0].count("\f")
        ratios.append(ratio)
        all_seconds += seconds
        all_reference += texts[1][1]
        all_pages += pages
        worst_peak = max(worst_peak, peak)
        which = "raw" if results[1] > results[0] else "   "
        print(f"{ratio:.3f} {which} {pages:5} pages {count:7} words {seconds:6.2f} s "
              f"(pdftotext {texts[1][1]:5.2f}) {peak:4} MB exit {code} {path.name} {lost}",
              flush=True)
    print(f"mean {sum(ratios) / len(ratios):.4f}, least {min(ratios):.4f}, {len(ratios)} files, "
          f"{all_pages} pages, {all_seconds:.1f} s (pdftotext -raw {all_reference:.1f} s), "
          f"at most {worst_peak} MB")


if __name__ == "__main__":
    main()
