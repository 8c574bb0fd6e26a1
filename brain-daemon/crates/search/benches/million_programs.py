"""Asks the programs of brain the questions of the benchmark `million`, over the same notes.

    python3 million_programs.py DIR PROGRAMS

DIR has notes.tsv and questions.tsv (`cargo bench --workspace --bench million -- DIR PAGES
--notes`), PROGRAMS is the directory of brain's programs. The notes become files, and a new brain in
DIR/home reads them. Prints the time of whole processes, and the memory of the daemon.
"""

import os
import resource
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

FILES_OF_FOLDER = 1000
ROUNDS = 3
# Number of segments of an index whose merges are done.
MAX_SEGMENTS = 8
MAX_MERGE_SECONDS = 1800


class Brain:
    def __init__(self, directory, programs):
        self.home = directory / "home"
        self.programs = programs
        self.env = {**os.environ, "BRAIN_HOME": str(self.home)}
        self.env["PATH"] = f"{programs}:{os.environ['PATH']}"

    def run(self, *arguments):
        """Runs the client; returns its time, and the processor time of client and daemon, in
        milliseconds."""
        used, began = self.used_processor_ms(), time.monotonic()
        command = [self.programs / "brain", *arguments]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True)
        elapsed = (time.monotonic() - began) * 1000
        # A finding of `doctor` is no failure of this measurement.
        assert done.returncode == 0 or arguments == ("doctor",), f"{arguments}: {done.stderr}"
        return elapsed, self.used_processor_ms() - used

    def used_processor_ms(self):
        """Returns the processor time of the daemon's threads and of all ended clients."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        total = (ended.ru_utime + ended.ru_stime) * 1000
        for task in Path(f"/proc/{self.daemon.pid}/task").glob("*/schedstat"):
            total += int(task.read_text().split()[0]) / 1e6
        return total

    def start(self):
        """Starts the daemon and waits for its first answer."""
        self.daemon = subprocess.Popen(
            [self.programs / "brain-daemon"], env=self.env,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        for _ in range(3000):
            command = [self.programs / "brain", "status"]
            if subprocess.run(command, env=self.env, capture_output=True).returncode == 0:
                return
            time.sleep(0.01)
        raise SystemExit("the daemon does not answer")

    def stop(self):
        self.run("stop")
        self.daemon.wait()

    def memory(self, key):
        """Returns a number of /proc/PID/status in MB."""
        status = Path(f"/proc/{self.daemon.pid}/status").read_text()
        line = next(it for it in status.splitlines() if it.startswith(f"{key}:"))
        return int(line.split()[1]) * 1024 / 1e6

    def segments(self):
        return (self.home / "index/meta.json").read_text().count("segment_id")


def write_notes(directory):
    """Writes the notes as files, unless they are there. Returns their folder and number."""
    folder = directory / "notes"
    count = 0
    with open(directory / "notes.tsv", encoding="utf-8") as notes:
        for count, line in enumerate(notes, 1):
            title, body, tag = line.rstrip("\n").split("\t")
            name = f"{title.replace(' ', '-')}-{count}.md"
            path = folder / f"{count // FILES_OF_FOLDER:04}" / name
            if count % FILES_OF_FOLDER in (0, 1):
                path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                path.write_text(f"---\ntitle: {title}\ntags: [{tag}]\n---\n\n{body}\n", "utf-8")
    return folder, count


def load(brain, folder):
    """Reads all notes, and waits until the idle index is merged."""
    brain.run("sources", "add", "notes", "--path", str(folder))
    elapsed, used = brain.run("sync", "--source", "notes")
    print(
        f"sync: {elapsed / 1000:.1f} s, {used / 1000:.1f} s of processor time,"
        f" peak {brain.memory('VmHWM'):.0f} MB"
        f" (without mapped files now {brain.memory('RssAnon'):.0f} MB)",
        flush=True,
    )
    began = time.monotonic()
    while brain.segments() > MAX_SEGMENTS and time.monotonic() - began < MAX_MERGE_SECONDS:
        time.sleep(1)
    print(
        f"merged after {time.monotonic() - began:.0f} s to {brain.segments()} segments, peak"
        f" {brain.memory('VmHWM'):.0f} MB, now {brain.memory('VmRSS'):.0f} MB",
        flush=True,
    )


def measure(brain, directory):
    times = defaultdict(list)
    with open(directory / "questions.tsv", encoding="utf-8") as questions:
        asked = [line.rstrip("\n").split("\t") for line in questions]
    # After a restart: the first question of each kind.
    brain.stop()
    brain.start()
    first = {}
    for kind, question in asked:
        if kind not in first:
            first[kind] = brain.run("search", "--limit", "10", question)
    for _ in range(ROUNDS):
        for kind, question in asked:
            times[kind].append(brain.run("search", "--limit", "10", question))
    for number in range(30):
        times["capture"].append(brain.run("capture", f"A thought {number} about {time.time()}"))
        times["list"].append(brain.run("list", "--limit", "20"))
        times["version"].append(brain.run("--version"))
    for _ in range(5):
        times["doctor"].append(brain.run("doctor"))
    print("| question | processor time | p95 | elapsed | p95 | maximum | first after a restart |")
    print("|---|---|---|---|---|---|---|")
    for kind, pairs in times.items():
        elapsed, used = zip(*pairs)
        cells = [statistics.median(used), last(used), statistics.median(elapsed), last(elapsed)]
        cells += [max(elapsed), *first.get(kind, ())]
        print(f"| {kind} | " + " | ".join(f"{cell:.1f} ms" for cell in cells) + " |")


def last(times):
    """Returns the 95th percentile."""
    return statistics.quantiles(times, n=20)[18]


def main():
    directory, programs = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    brain = Brain(directory, programs)
    is_new = not brain.home.exists()
    brain.home.mkdir(exist_ok=True)
    (brain.home / "config.toml").write_text('[embedding]\nprovider = "none"\n')
    brain.start()
    try:
        if is_new:
            folder, count = write_notes(directory)
            print(f"{count} notes", flush=True)
            load(brain, folder)
        measure(brain, directory)
    finally:
        brain.stop()


main()
