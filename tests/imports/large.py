#!/usr/bin/env python3
"""Makes large exports, imports each into a brain of its own, and prints rates and memory.

Usage: large.py PROGRAMS WORK [INPUT...]

PROGRAMS is the directory of `brain`, `brain-daemon` and `brain-convert`, of the profile `release`.
WORK keeps the inputs (4 GB) and the homes. The inputs, all by default and in this order:

markdown   a directory of 10,000 notes of 1.2 KB
jex        the same notes as Joplin exports them
pictures   the same notes as markdown, 2,000 of them with a picture of 0.5 MB
notion     those as a ZIP archive of Notion, 1 GB
chatgpt    conversations.json of 500 MB
mbox       a mailbox of 1 GB, half of it attachments

Prints for each: pages, seconds until `brain import` ends, pages per second, processor seconds of the
daemon and brain-convert, the peak memory of both (VmHWM, mapped files included), and that of the
daemon without mapped files (RssAnon).
"""

import base64
import io
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from pathlib import Path

NOTES, PICTURES = 10_000, 2_000
PICTURE = 500_000
CONVERSATIONS_BYTES, MAILBOX_BYTES = 500_000_000, 1_000_000_000
TAGS = ["boats", "river", "garden", "kitchen", "letters"]
# An import that takes longer has failed.
SECONDS = 600
TICKS = os.sysconf("SC_CLK_TCK")

chance = random.Random(41)
SYLLABLES = [a + b for a in "bdfgklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er", "ing")]
WORDS = ["".join(chance.choices(SYLLABLES, k=1 + chance.randrange(3))) for _ in range(6000)]
# Few words are frequent and most are rare, as in a language.
WEIGHTS = list(itertools.accumulate(1 / (rank + 2) for rank in range(len(WORDS))))


def prose(size):
    """Returns about this many characters in lines of a paragraph."""
    words = chance.choices(WORDS, cum_weights=WEIGHTS, k=size // 5)
    return "\n".join(" ".join(words[at:at + 14]) for at in range(0, len(words), 14))[:size]


def hexadecimal():
    return f"{chance.getrandbits(128):032x}"


def notes():
    """Returns the title, the tag, the text and the link of each note."""
    titles = [f"{chance.choice(WORDS).capitalize()} {number}" for number in range(NOTES)]
    return [(title, chance.choice(TAGS), prose(1200), chance.choice(titles)) for title in titles]


def picture():
    return b"\x89PNG\r\n\x1a\n" + chance.randbytes(PICTURE)


def has_picture(number):
    return number % (NOTES // PICTURES) == 0


def markdown(path, with_pictures=False):
    path.mkdir()
    for number, (title, tag, text, link) in enumerate(notes()):
        body = f"{text}\n\nSee [[{link}]].\n"
        if with_pictures and has_picture(number):
            (path / f"{number}.png").write_bytes(picture())
            body += f"\n![[{number}.png]]\n"
        (path / f"{title}.md").write_text(f"---\ntitle: {title}\ntags: [{tag}]\n"
                                          f"created: 2026-03-04T05:06:07Z\n---\n\n{body}")


def jex(path):
    times = "".join(f"{it}: 2026-03-04T05:06:07.000Z\n" for it in
                    ["created_time", "updated_time", "user_created_time", "user_updated_time"])
    folder, tags = hexadecimal(), {tag: hexadecimal() for tag in TAGS}
    made = notes()
    ids = {title: hexadecimal() for title, *_ in made}
    with tarfile.open(path, "w") as archive:
        def add(name, text):
            entry = tarfile.TarInfo(f"{name}.md")
            content = text.encode()
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))

        add(folder, f"Notes\n\nid: {folder}\n{times}parent_id: \ntype_: 2")
        for tag, name in tags.items():
            add(name, f"{tag}\n\nid: {name}\n{times}parent_id: \ntype_: 5")
        for title, tag, text, link in made:
            name, tie = ids[title], hexadecimal()
            add(name, f"{title}\n\n{text}\n\nSee [{link}](:/{ids[link]}).\n\nid: {name}\n"
                      f"parent_id: {folder}\n{times}markup_language: 1\nis_todo: 0\ntype_: 1")
            add(tie, f"id: {tie}\nnote_id: {name}\ntag_id: {tags[tag]}\n{times}type_: 6")


def notion(path):
    made = notes()
    ids = {title: hexadecimal() for title, *_ in made}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, (title, tag, text, link) in enumerate(made):
            # Notion writes a blank as %20 in a link.
            target = f"{link} {ids[link]}.md".replace(" ", "%20")
            body = f"{text}\n\nSee [{link}]({target}).\n"
            if has_picture(number):
                folder = f"{title} {ids[title]}"
                archive.writestr(f"{folder}/picture.png", picture(), zipfile.ZIP_STORED)
                body += f"\n![picture.png]({folder.replace(' ', '%20')}/picture.png)\n"
            archive.writestr(f"{title} {ids[title]}.md", f"# {title}\n\nTags: {tag}\n"
                             f"Created: March 4, 2026 5:06 AM\n\n{body}")


def chatgpt(path):
    with path.open("w") as file:
        file.write("[")
        number = 0
        while file.tell() < CONVERSATIONS_BYTES:
            file.write("," if number else "")
            json.dump(conversation(number), file)
            number += 1
        file.write("]")


def conversation(number):
    parent, mapping = hexadecimal(), {}
    mapping[parent] = {"id": parent, "message": None, "parent": None, "children": []}
    root, at = parent, 1_700_000_000 + 600 * number
    for turn in range(2 * (1 + chance.randrange(16))):
        name = hexadecimal()
        mapping[parent]["children"].append(name)
        content = {"content_type": "text", "parts": [prose(200 if turn % 2 == 0 else 1200)]}
        message = {"id": name, "author": {"role": ["user", "assistant"][turn % 2]},
                   "create_time": at + 20 * turn, "content": content, "status": "finished_successfully",
                   "metadata": {"model_slug": "gpt"}, "recipient": "all", "weight": 1.0}
        mapping[name] = {"id": name, "message": message, "parent": parent, "children": []}
        parent = name
    return {"title": f"{chance.choice(WORDS).capitalize()} {number}", "create_time": at,
            "update_time": at + 600, "mapping": mapping, "current_node": parent,
            "conversation_id": root}


def mbox(path):
    with path.open("w") as file:
        number = 0
        while file.tell() < MAILBOX_BYTES:
            file.write(message(number))
            number += 1


def message(number):
    """Returns a message; each fourth one begins a thread, and each fifth has an attachment."""
    day = time.gmtime(1_700_000_000 + 3600 * number)
    date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", day)
    first = number - number % 4
    answers = f"In-Reply-To: <{number - 1}@x.example>\n" if number % 4 else ""
    kind, end = "text/plain; charset=utf-8", ""
    start = ""
    if number % 5 == 0:
        content = base64.encodebytes(chance.randbytes(180_000)).decode()
        kind = 'multipart/mixed; boundary="part"'
        start = "--part\nContent-Type: text/plain; charset=utf-8\n\n"
        end = ('\n--part\nContent-Type: image/png; name="plan.png"\nContent-Disposition: attachment; '
               f'filename="plan.png"\nContent-Transfer-Encoding: base64\n\n{content}--part--\n')
    return (f"From ida@x.example {time.strftime('%a %b %d %H:%M:%S %Y', day)}\n"
            f"From: Ida Strand <ida@x.example>\nTo: Bo <bo@x.example>\nDate: {date}\n"
            f"Subject: {'Re: ' if answers else ''}Boat {first}\nMessage-ID: <{number}@x.example>\n"
            f"{answers}MIME-Version: 1.0\nContent-Type: {kind}\n\n{start}{prose(20_000)}\n{end}\n")


INPUTS = {
    "markdown": (markdown, "notes"),
    "jex": (jex, "notes.jex"),
    "pictures": (lambda path: markdown(path, True), "pictures"),
    "notion": (notion, "notion.zip"),
    "chatgpt": (chatgpt, "conversations.json"),
    "mbox": (mbox, "crew.mbox"),
}


def status(pid, name):
    """Returns a figure of /proc/PID/status in MB of 1,000,000 bytes; 0 if the process has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    found = [line.split()[1] for line in lines if line.startswith(f"{name}:")]
    return int(found[0]) * 1024 / 1e6 if found else 0


def processor_seconds(pid):
    """Returns the seconds of a process and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / TICKS


class Peak(threading.Thread):
    """The peak memory of a daemon without mapped files, and of the processes that it starts."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.peak, self.own, self.is_over = pid, 0, 0, False

    def run(self):
        children = Path(f"/proc/{self.pid}/task")
        while not self.is_over:
            self.own = max(self.own, status(self.pid, "RssAnon"))
            for path in children.glob("*/children"):
                try:
                    pids = path.read_text().split()
                except (FileNotFoundError, ProcessLookupError):
                    continue
                self.peak = max([self.peak, *(status(pid, "VmHWM") for pid in pids)])
            time.sleep(0.02)


def measure(programs, work, name, path):
    home = work / f"home-{name}"
    shutil.rmtree(home, ignore_errors=True)
    env = {**os.environ, "BRAIN_HOME": str(home), "BRAIN_HTTP_LOCAL": "off",
           "BRAIN_HTTP_PUBLIC": "off", "PATH": f"{programs}:{os.environ['PATH']}"}

    def brain(*arguments):
        done = subprocess.run([programs / "brain", "--json", *arguments], env=env, timeout=SECONDS,
                              capture_output=True, text=True)
        return json.loads(done.stdout or done.stderr)

    brain("list")
    pid = brain("status")["pid"]
    peak, before = Peak(pid), processor_seconds(pid)
    peak.start()
    start = time.monotonic()
    try:
        reply = brain("import", str(path))
        seconds = time.monotonic() - start
        peak.is_over = True
        used = processor_seconds(pid) - before
        memory = status(pid, "VmHWM")
    finally:
        brain("stop")
        shutil.rmtree(home, ignore_errors=True)
    pages = reply["created"]
    print(f"{name:9} {pages:6} pages {seconds:7.2f} s {pages / seconds:7.0f} pages/s "
          f"{used:7.2f} s of processors, daemon {memory:4.0f} MB ({peak.own:.0f}), brain-convert {peak.peak:4.0f} MB",
          flush=True)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    programs, work = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    work.mkdir(exist_ok=True)
    for name in sys.argv[3:] or INPUTS:
        make, file = INPUTS[name]
        path = work / file
        if not path.exists():
            # The same notes for each format.
            chance.seed(41)
            make(path)
        measure(programs, work, name, path.resolve())


if __name__ == "__main__":
    main()
