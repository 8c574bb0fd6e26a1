// Drives `brain lsp` with the library that VS Code's extensions use, and lets VS Code's own code filter
// and order the completions and symbols: what it drops, a user of VS Code does not see.
// Environment: BRAIN is the program, VAULT a registered source with the files of `.ci/clients`.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import protocol from "vscode-languageserver-protocol/node";
import { fuzzyScore } from "monaco-editor/esm/vs/base/common/filters.js";
import {
    CompletionModel, LineContext,
} from "monaco-editor/esm/vs/editor/contrib/suggest/browser/completionModel.js";

const vault = process.env.VAULT;
const server = spawn(process.env.BRAIN, ["lsp"], { stdio: ["pipe", "pipe", "inherit"] });
const connection = protocol.createMessageConnection(
    new protocol.StreamMessageReader(server.stdout), new protocol.StreamMessageWriter(server.stdin));
connection.listen();

const texts = new Map();
const diagnostics = new Map();
connection.onNotification("textDocument/publishDiagnostics", it => {
    diagnostics.set(it.uri, it.diagnostics);
});
const apply = edit => {
    for (const part of edit.documentChanges ?? []) {
        if (part.kind === "rename") {
            const [from, to] = [part.oldUri, part.newUri].map(uri => new URL(uri));
            fs.renameSync(from, to);
            continue;
        }
        const document = texts.get(part.textDocument.uri);
        assert.equal(part.textDocument.version, document.version);
        const starts = document.text.split("\n").map(line => line.length + 1);
        const at = ({ line, character }) =>
            starts.slice(0, line).reduce((a, b) => a + b, 0) + character;
        const edits = [...part.edits].sort((a, b) => at(b.range.start) - at(a.range.start));
        let text = document.text;
        for (const it of edits) {
            text = text.slice(0, at(it.range.start)) + it.newText + text.slice(at(it.range.end));
        }
        change(part.textDocument.uri, text);
    }
};
connection.onRequest("workspace/applyEdit", it => {
    apply(it.edit);
    return { applied: true };
});

const uriOf = name => pathToFileURL(path.join(vault, name)).href;
const open = (name, text) => {
    const uri = uriOf(name);
    texts.set(uri, { version: 1, text });
    const textDocument = { uri, languageId: "markdown", version: 1, text };
    connection.sendNotification("textDocument/didOpen", { textDocument });
    return uri;
};
const change = (uri, text) => {
    const version = texts.get(uri).version + 1;
    texts.set(uri, { version, text });
    const params = { textDocument: { uri, version }, contentChanges: [{ text }] };
    connection.sendNotification("textDocument/didChange", params);
};
const request = (method, uri, line, character, more = {}) => connection.sendRequest(method, {
    textDocument: { uri }, position: { line, character }, ...more,
});
const wait = async (what, condition) => {
    for (let n = 0; n < 400; n++) {
        if (condition()) return;
        await new Promise(done => setTimeout(done, 50));
    }
    assert.fail(what);
};

// What VS Code's list shows for the text before the cursor, in its order.
const shown = async (uri, before, after = "") => {
    change(uri, before + after);
    const list = await request("textDocument/completion", uri, 0, before.length);
    assert.equal(list.isIncomplete, true);
    const position = { lineNumber: 1, column: before.length + 1 };
    const items = list.items
        .sort((a, b) => a.sortText < b.sortText ? -1 : 1)
        .map(it => ({
            completion: { ...it, kind: 17 }, position, provider: 1, container: { incomplete: true },
            editStart: { lineNumber: 1, column: it.textEdit.range.start.character + 1 },
            textLabel: it.label, labelLow: it.label.toLowerCase(),
            filterTextLow: it.filterText?.toLowerCase(), isInvalid: false,
        }));
    const options = { filterGraceful: true };
    const model = new CompletionModel(items, position.column, new LineContext(before, 0),
        { distance: () => 0 }, options, "inline");
    return model.items.map(it => it.completion);
};
const labels = async (...args) => (await shown(...args)).map(it => it.label);

const initialized = await connection.sendRequest("initialize", {
    processId: process.pid, rootUri: pathToFileURL(vault).href,
    capabilities: {
        general: { positionEncodings: ["utf-16"] },
        textDocument: { documentSymbol: { hierarchicalDocumentSymbolSupport: true } },
        workspace: {
            applyEdit: true,
            workspaceEdit: {
                documentChanges: true, resourceOperations: ["create", "rename", "delete"],
            },
            fileOperations: { willRename: true },
        },
    },
});
assert.equal(initialized.capabilities.positionEncoding, "utf-16");
connection.sendNotification("initialized", {});

// Completion: by title, by alias, with a typo, in closed brackets, in markdown links.
const note = open("n.md", "");
fs.writeFileSync(path.join(vault, "platform.md"),
    "---\ntitle: Container platform\naliases: [k8s]\n---\nRoll back with care.\n");
for (let n = 0; n < 200 && !(await labels(note, "see [[k8")).length; n++) {
    await new Promise(done => setTimeout(done, 50));
}
assert.deepEqual(await labels(note, "see [[Meet"), ["Meeting"]);
assert.deepEqual(await labels(note, "see [[meeting"), ["Meeting"]);
assert.deepEqual(await labels(note, "see [[metting"), ["Meeting"]);
assert.deepEqual(await labels(note, "see [[k8"), ["k8s"]);
assert.deepEqual(await labels(note, "see [[Meet", "ing|x]]"), ["Meeting"]);
assert.deepEqual(await labels(note, "see [x](b.md) [[Meet", "]]"), ["Meeting"]);
assert.deepEqual(await labels(note, "[x](meet"), ["meeting.md"]);
assert.deepEqual(await labels(note, "["), []);
assert.ok((await labels(note, "[[")).includes("Meeting"));

// Symbols, which VS Code filters by name.
for (const [query, count] of [["k8s", 1], ["container", 1], ["roll back", 1], ["Meeting", 1]]) {
    const symbols = await connection.sendRequest("workspace/symbol", { query });
    const low = query.toLowerCase();
    const left = symbols.filter(it =>
        fuzzyScore(query, low, 0, it.name, it.name.toLowerCase(), 0,
            { firstMatchCanBeWeak: true, boostFullMatch: true }));
    assert.equal(left.length, count, query + JSON.stringify(symbols));
}
// VS Code refuses an outline with an empty name or a range outside of its parent.
change(note, "# \n## Real\ntext\n## \n##\nSetext\n---\n");
const check = (symbols, parent) => {
    const contains = (a, b) => [[a.start, b.start], [b.end, a.end]].every(([x, y]) =>
        x.line < y.line || (x.line === y.line && x.character <= y.character));
    for (const it of symbols) {
        assert.ok(it.name && contains(it.range, it.selectionRange), JSON.stringify(it));
        assert.ok(!parent || contains(parent.range, it.range), JSON.stringify(it));
        check(it.children ?? [], it);
    }
};
check(await request("textDocument/documentSymbol", note, 0, 0));

// Rename: texts here, the file by VS Code, closed notes by brain; then all of it back.
const a = open("a.md", fs.readFileSync(path.join(vault, "a.md"), "utf8"));
apply(await request("textDocument/rename", a, 0, 5, { newName: "New" }));
assert.ok(texts.get(a).text.startsWith("a [[New]]"), texts.get(a).text);
const has = (name, text) => {
    const file = path.join(vault, name);
    return fs.existsSync(file) && fs.readFileSync(file, "utf8") === text;
};
await wait("the closed note", () => has("b.md", "[[New]]\n"));
assert.ok(fs.existsSync(path.join(vault, "New.md")) && !fs.existsSync(path.join(vault, "Old.md")));
fs.writeFileSync(path.join(vault, "a.md"), texts.get(a).text);
connection.sendNotification("textDocument/didSave", { textDocument: { uri: a } });
await connection.sendRequest("workspace/executeCommand", { command: "brain.renameBack" });
await wait("the closed note as before", () => has("b.md", "[[Old]]\n"));
await wait("the file as before", () => fs.existsSync(path.join(vault, "Old.md")));
await wait("the open note as before", () => texts.get(a).text.startsWith("a [[Old]]"));

await connection.sendRequest("shutdown");
connection.sendNotification("exit");
const status = await new Promise(done => server.on("exit", done));
assert.equal(status, 0);
console.log("vscode: completed, filtered, renamed, undone");
process.exit(0);
