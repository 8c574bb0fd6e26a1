// Very large pages: the browser stays responsive while it shows them.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Brain } from './brain.mjs'
import { complaints, launch, shows, signedIn } from './browsers.mjs'

/** Maximum pause between two frames. It is generous, because the machine may be busy. */
const MAX_PAUSE_MS = Number(process.env.MAX_PAUSE_MS ?? 3000)
let browser, brain, page

before(async () => {
  brain = await Brain.start('large')
  browser = await launch()
  page = await signedIn(browser, brain)
  await page.evaluateOnNewDocument(() => {
    let last = performance.now()
    window.__pause = 0
    const frame = (now) => {
      window.__pause = Math.max(window.__pause, now - last)
      last = now
      requestAnimationFrame(frame)
    }
    requestAnimationFrame(frame)
  })
})

after(async () => {
  await browser?.close()
  await brain?.remove()
})

/** Shows a page, scrolls, and types into a field; checks the longest pause between frames. */
async function usePage(path) {
  const begun = Date.now()
  await page.goto(brain.url + path)
  const loaded = Date.now() - begun
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight / 2))
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight))
  await page.keyboard.press('/')
  await page.keyboard.type('words')
  const typed = await page.evaluate(() => document.activeElement.value)
  const pause = Math.round(await page.evaluate(() => window.__pause))
  console.log(`${path}: loaded in ${loaded} ms, longest pause ${pause} ms`)
  assert.equal(typed, 'words')
  assert.ok(pause < MAX_PAUSE_MS, `${pause} ms`)
  assert.deepEqual(await complaints(page, brain), [])
}

const paragraph = 'Some words of a long text, *with* `marks` and [[a link]].\n\n'

test('the browser stays responsive with a page of 5 MB', async () => {
  await brain.put('long', `# Long\n\n${paragraph.repeat(4_900_000 / paragraph.length)}`)
  await usePage('/page/long')
})

test('the browser stays responsive with 100,000 links', async () => {
  const links = Array.from({ length: 100_000 }, (_, n) => `[[page-${n}]]`)
  await brain.put('linked', `# Linked\n\n${links.join('\n')}\n`)
  await usePage('/page/linked')
})

test('the browser stays responsive with 10,000 tags', async () => {
  const tags = Array.from({ length: 10_000 }, (_, n) => `t${n.toString(36)}`)
  await brain.put('tagged', `---\ntags: [${tags.join(',')}]\n---\n# Tagged\n\nwords\n`)
  await usePage('/page/tagged')
  await page.goto(brain.url)
  await page.keyboard.type('Tagged')
  await shows(page, '#results a.title', 'Tagged')
})
