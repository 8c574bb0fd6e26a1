// Pages for the tests: the vault of all tests, pages of random words, and one with all content.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Writes the vault of 240 notes that other tests use, too. Returns its directory. */
export function vault(brain) {
  const target = join(brain.dir, 'vault')
  execFileSync(join(brain.programs, 'examples/brain-vault'), [target])
  return target
}

const WORDS = ('river stone market garden winter letter engine summer harbour music paper bridge '
  + 'valley copper lantern orchard signal thunder window yellow canvas desert island jacket '
  + 'kitchen ladder mirror needle ocean pepper quartz ribbon saddle tunnel velvet wagon').split(' ')
const TYPES = ['note', 'person', 'company', 'concept', 'meeting']
const TAGS = ['work', 'home', 'idea', 'later', 'reading', 'project']

/** Returns a generator of pseudo-random integers from 0 to `below - 1`, equal on every run. */
function randomIntegers(seed) {
  let state = seed
  return (below) => {
    state = (state * 1664525 + 1013904223) % 2 ** 32
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Writes `count` pages of about 1.2 KB with types, tags, dates, links. Returns the directory. */
export function generatedPages(dir, count) {
  const target = join(dir, 'generated')
  const pick = randomIntegers(count)
  const words = (many) => Array.from({ length: many }, () => WORDS[pick(WORDS.length)]).join(' ')
  for (let n = 0; n < count; n++) {
    const folder = join(target, TYPES[n % TYPES.length])
    if (n < TYPES.length) mkdirSync(folder, { recursive: true })
    const link = () => {
      const number = pick(count)
      return `[[${TYPES[number % TYPES.length]}/page-${number}]]`
    }
    const day = `20${10 + pick(15)}-${String(1 + pick(12)).padStart(2, '0')}-1${pick(10)}`
    const paragraphs = Array.from({ length: 5 }, () => `${words(30)} ${link()}.`).join('\n\n')
    const tags = `${TAGS[pick(TAGS.length)]}, ${TAGS[pick(TAGS.length)]}`
    writeFileSync(join(folder, `page-${n}.md`), `---\ntype: ${TYPES[n % TYPES.length]}\n`
      + `tags: [${tags}]\ntitle: "Page ${n} of ${words(2)}"\n---\n\n${paragraphs}\n\n`
      + `## Timeline\n\n- ${day} | ${words(6)}\n`)
  }
  return target
}

/** A page with all kinds of content that the reader shows. */
export const RICH = `---
type: concept
title: Everything at once
tags: [idea, reading]
aliases: [All of it]
---

A paragraph with *emphasis*, **strength**, \`code\`, ~~a mistake~~, a [[people/ada|link]], a link
to [[a page that nobody wrote]], and https://example.org/.

## A table

| name | number |
|------|-------:|
| one  | 1 |
| two  | 2 |

## Lists

- one
  - one and a half
- [ ] open
- [x] done

1. first
2. second

### Code

\`\`\`rust
fn main() { println!("a line of code that is wider than the screen of a telephone, by far"); }
\`\`\`

> A quotation.

> [!NOTE]
> A note.

> [!WARNING]
> A warning.

A footnote.[^1] Math: $a^2 + b^2$. ![A picture](picture.png)

[^1]: Its text.

#### A small heading

---

averylongwordwithoutanyspace${'andmore'.repeat(40)}

## Timeline

- 2025-01-02 | It began [Source: a letter]
- 2025-03-04 | It went on
`

/** Creates pages, a deleted one and an ingested one; tokens, a client, and some audit entries. */
export async function usualPages(brain) {
  await brain.put('people/ada', '---\ntype: person\ntags: [idea]\n---\n# Ada\n\nOf [[all]].\n')
  await brain.put('all', RICH)
  await brain.put('all', RICH.replace('A quotation.', 'Another quotation.'))
  await brain.put('gone', '# Gone\n\nA page that is deleted.\n')
  await brain.run(['delete', 'gone'])
  await brain.put('rtl', '# שלום עולם\n\nמילים בעברית עם English באמצע.\n')
  await brain.json('token', 'create', 'A program', '--scope', 'read')
  await brain.json('clients', 'register', 'A client', '--scope', 'read write')
  const { token } = await brain.json('token', 'create', 'phone', '--scope', 'read write')
  const ingest = (headers, body) => fetch(`${brain.url}/ingest`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, ...headers },
    body,
  })
  await ingest({ 'Content-Type': 'text/markdown' }, '# From outside\n\nA text of the web.\n')
  await ingest({ 'Content-Type': 'application/json' }, '{')
  await fetch(`${brain.url}/search?q=ada`, { headers: { Authorization: `Bearer ${token}` } })
  await fetch(`${brain.url}/search?q=ada`, { headers: { Authorization: 'Bearer wrong' } })
}
