#!/usr/bin/env python3
"""Compares what brain-convert writes for documents with `pandoc -t plain`, word by word.

Usage: words_in_order.py BRAIN-CONVERT FILE...

For each file: the part of pandoc's words that the page has in the same order, and the part of the
page's words that pandoc has. Footnotes stand at the end in both. docs/import-documents.md says
what the figures were.
"""

import json
import re
import subprocess
import sys
import unicodedata


def words(text):
    # pandoc writes raised and lowered digits as characters of their own.
    text = unicodedata.normalize("NFKC", text)
    return re.findall(r"[^\W_]+", text)


def page(program, path):
    done = subprocess.run([program, path], capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip() or f"exit code {done.returncode}"
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    pages = [line["markdown"] for line in lines if line["type"] == "page"]
    body = "\n".join(text.split("\n---\n", 1)[1] for text in pages)
    # What is markup: names of files, addresses, marks and labels of notes, comments, rules, `<br>`.
    body = re.sub(r"(?ms)^\[\^\d+\]: \*\*Comment.*?(?=^\S|\Z)", " ", body)
    body = re.sub(r"!\[\[[^\]]*\]\]", " ", body)
    body = re.sub(r"\]\([^()\s]*\)", "] ", body)
    body = re.sub(r"\[\[#[^\]|]*\|", " ", body)
    body = re.sub(r"(?m)^(\s*)\d+[.)] ", r"\1", body)
    body = re.sub(r"\[\^\d+\]:?|<br>", " ", body)
    body = re.sub(r"(?<!\\)(\*+|~~)", "", body).replace("\\", "")
    return words(body), None


def plain(path):
    command = ["pandoc", "-t", "plain-fancy_lists", "--wrap=none", "--columns=10000", path]
    text = subprocess.run(command, capture_output=True, text=True).stdout
    text = re.sub(r"\[\d+\]", " ", text)
    text = re.sub(r"(?m)^(\s*)\d+\. ", r"\1", text)
    return words(text.replace("\u00ad", ""))


def common(one, two):
    """The length of the longest common subsequence, by the greedy algorithm of Myers."""
    if len(one) > len(two):
        one, two = two, one
    furthest = {1: 0}
    total = len(one) + len(two)
    for distance in range(total + 1):
        for k in range(-distance, distance + 1, 2):
            down = k == -distance or (k != distance and furthest[k - 1] < furthest[k + 1])
            x = furthest[k + 1] if down else furthest[k - 1] + 1
            y = x - k
            while x < len(one) and y < len(two) and one[x] == two[y]:
                x, y = x + 1, y + 1
            furthest[k] = x
            if x >= len(one) and y >= len(two):
                return (total - distance) // 2
        if distance > 6000:
            return None
    return 0


def main():
    program, files = sys.argv[1], sys.argv[2:]
    print("kept   extra  words  file")
    ratios = []
    for path in files:
        ours, error = page(program, path)
        theirs = plain(path)
        if error or not theirs:
            print(f"       {len(theirs):12}  {path}: {error or 'pandoc gives no words'}")
            continue
        same = common(ours, theirs)
        if same is None:
            print(f"very different        {path}")
            continue
        ratios.append(same / len(theirs))
        extra = 1 - same / len(ours) if ours else 0
        print(f"{same / len(theirs):.4f} {extra:.4f} {len(theirs):6} {path}")
    if ratios:
        mean = sum(ratios) / len(ratios)
        print(f"{len(ratios)} files, mean {mean:.4f}, least {min(ratios):.4f}")


main()
