"""Compares `brain lsp` with `iwes` on the same notes, in one run.

    measure.py BRAIN IWES NOTES...

Makes notes of 80 words. Starts each server over standard input, and measures the time from the start of
the process to the first completion of `see [[Ba`, the next 300 completions as a person types them with
the number of their items, and the highest memory of the server. Then renames a page with 1,000 linking notes, three of them open. The
daemon of brain runs before, with the notes synchronised; its time for that is printed.
"""

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

WORDS = [a + b for a in "ba be bi bo bu da de di do du ka ke ki ko ku ma me mi mo mu".split()
         for b in "lon ran tis mor gar pel vin dus".split()]


KEYS = 300


class Server:
    """A language server over standard input and output."""

    def __init__(self, command, env, root):
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=env, cwd=root)
        self.id = 0
        capabilities = {"workspace": {"workspaceEdit": {"documentChanges": True}}}
        self.ask("initialize", {"processId": os.getpid(), "rootUri": "file://" + root,
                                "workspaceFolders": [{"uri": "file://" + root, "name": "n"}],
                                "capabilities": capabilities})
        self.notify("initialized", {})

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def read(self):
        length = 0
        while (line := self.process.stdout.readline().strip()):
            name, value = line.split(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return length, json.loads(self.process.stdout.read(length))

    def notify(self, method, params):
        self.send({"method": method, "params": params})

    def ask(self, method, params):
        self.id += 1
        self.send({"id": self.id, "method": method, "params": params})
        while True:
            length, message = self.read()
            if message.get("id") == self.id and "method" not in message:
                assert "error" not in message, message
                return length, message["result"]
            if "id" in message:
                self.send({"id": message["id"], "result": None})

    def open(self, path, text):
        self.notify("textDocument/didOpen", {"textDocument": {
            "uri": "file://" + path, "languageId": "markdown", "version": 1, "text": text}})

    def change(self, path, version, text):
        self.notify("textDocument/didChange", {
            "textDocument": {"uri": "file://" + path, "version": version},
            "contentChanges": [{"text": text}]})

    def complete(self, path, line, character):
        began = time.monotonic()
        length, result = self.ask("textDocument/completion", {
            "textDocument": {"uri": "file://" + path},
            "position": {"line": line, "character": character}})
        items = result if isinstance(result, list) else result["items"]
        return time.monotonic() - began, len(items), length

    def memory(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            peak = next(line for line in status if line.startswith("VmHWM"))
        return int(peak.split()[1]) / 1024

    def end(self):
        self.process.stdin.close()
        self.process.wait(20)


def notes(root, count):
    """Writes notes; every one links to another, and 1,000 to the page `target`."""
    chance = random.Random(count)
    for n in range(count):
        folder = os.path.join(root, f"f{n % 100:02}")
        os.makedirs(folder, exist_ok=True)
        title = " ".join(chance.choice(WORDS) for _ in range(3)).capitalize()
        words = " ".join(chance.choice(WORDS) for _ in range(80))
        link = "[[target]]" if n < 1000 else f"[[n{chance.randrange(count)}]]"
        with open(os.path.join(folder, f"n{n}.md"), "w") as note:
            note.write(f"# {title}\n\n{words} {link}\n")
    with open(os.path.join(root, "target.md"), "w") as note:
        note.write("# Target\n\nx\n")


def measure(command, env, root):
    server = Server(command, env, root)
    path = os.path.join(root, "open.md")
    text = "# Open\n\nsee [[Ba"
    server.open(path, text)
    server.complete(path, 2, 8)
    first = time.monotonic() - server.started
    lists = []
    chance = random.Random(7)
    for n in range(KEYS):
        typed = chance.choice(WORDS)[:1 + n % 4].capitalize()
        server.change(path, 2 + n, f"# Open\n\nsee [[{typed}")
        lists.append(server.complete(path, 2, 6 + len(typed)))
    times = sorted(took for took, _, _ in lists)
    items = statistics.mean(items for _, items, _ in lists)
    row = (first, statistics.median(times), times[KEYS * 99 // 100], items, server.memory())
    server.end()
    return row


def rename(command, env, root):
    """Renames `target`, and waits until all closed notes have the new name."""
    server = Server(command, env, root)
    opened = [os.path.join(root, f"f{n:02}", f"n{n}.md") for n in range(3)]
    texts = [open(path).read() for path in opened]
    for path, text in zip(opened, texts):
        server.open(path, text + "unsaved\n")
    line = 2
    at = texts[0].split("\n")[line].index("[[") + 3
    began = time.monotonic()
    _, edit = server.ask("textDocument/rename", {
        "textDocument": {"uri": "file://" + opened[0]},
        "position": {"line": line, "character": at}, "newName": "goal"})
    for n, (path, text) in enumerate(zip(opened, texts)):
        server.change(path, 2, text.replace("[[target]]", "[[goal]]") + "unsaved\n")
    closed = [os.path.join(root, f"f{n % 100:02}", f"n{n}.md") for n in range(3, 1000)]
    while not all("[[goal]]" in open(path).read() for path in closed[-1:] + closed[:1]):
        time.sleep(0.005)
    while not all("[[goal]]" in open(path).read() for path in closed):
        time.sleep(0.005)
    took = time.monotonic() - began
    # The editor is killed without saving.
    server.end()
    while not all("[[goal]]" in open(path).read() for path in opened):
        time.sleep(0.005)
    assert os.path.exists(os.path.join(root, "goal.md"))
    return took


def main():
    brain, iwes, counts = sys.argv[1], sys.argv[2], [int(count) for count in sys.argv[3:]]
    print("| notes | server | first completion | next, p50 | p99 | items, mean | memory |")
    print("|---|---|---|---|---|---|---|")
    for count in counts:
        work = tempfile.mkdtemp(prefix="editors-")
        try:
            root = os.path.join(work, "notes")
            os.makedirs(root)
            notes(root, count)
            env = dict(os.environ, BRAIN_HOME=os.path.join(work, "home"),
                       BRAIN_HTTP_LOCAL="127.0.0.1:0", BRAIN_HTTP_PUBLIC="off")
            run = lambda *words: subprocess.run([brain, *words], env=env, check=True,
                                                stdout=subprocess.DEVNULL)
            began = time.monotonic()
            run("sources", "add", "notes", "--path", root)
            run("sync", "notes", "--no-embed")
            synced = time.monotonic() - began
            # The index is committed and merged in the background.
            status = lambda: json.loads(subprocess.check_output([brain, "--json", "status"], env=env))
            while status()["index_behind"]:
                time.sleep(0.1)
            time.sleep(10)
            rows = {"brain": measure([brain, "lsp"], env, root)}
            if os.path.exists(iwes):
                os.makedirs(os.path.join(root, ".iwe"))
                with open(os.path.join(root, ".iwe", "config.toml"), "w") as config:
                    config.write("[library]\npath = \"\"\n")
                rows["iwes"] = measure([iwes], os.environ, root)
            for name, (first, p50, p99, items, memory) in rows.items():
                print(f"| {count:,} | {name} | {first * 1000:,.0f} ms | {p50 * 1000:,.1f} ms "
                      f"| {p99 * 1000:,.1f} ms | {items:,.0f} | {memory:,.1f} MB |",
                      flush=True)
            took = rename([brain, "lsp"], env, root)
            print(f"{count:,} notes: synchronised in {synced:.1f} s; rename with 1,000 linking "
                  f"notes, three open: {took:.2f} s", file=sys.stderr, flush=True)
            run("stop")
        finally:
            shutil.rmtree(work, ignore_errors=True)


main()
