// Import in the browser: a file is chosen or dropped, looked at, imported and taken back. With
// PICTURES, writes a PNG file of each step to that directory.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Brain, programs } from './brain.mjs'
import { complaints, inaccessible, launch, shows, signedIn } from './browsers.mjs'

const fixtures = process.env.FIXTURES ?? 'tests/fixtures/import'
const ENEX = join(fixtures, 'evernote/export/Harbour.enex')
let browser, brain, page

before(async () => {
  brain = await Brain.start('import', programs)
  browser = await launch()
  page = await signedIn(browser, brain)
})

after(async () => {
  await browser?.close()
  await brain?.remove()
})

const text = () => page.$eval('main', (it) => it.innerText)

async function picture(name) {
  if (!process.env.PICTURES) return
  await page.screenshot({ path: join(process.env.PICTURES, `${name}.png`), fullPage: true })
}

async function press(selector) {
  await Promise.all([page.waitForNavigation(), page.click(selector)])
}

/** Drops a file on the screen, as a person does. */
function drop(name, type, content) {
  return page.evaluate((file) => {
    const dataTransfer = new DataTransfer()
    dataTransfer.items.add(new File([file.content], file.name, { type: file.type }))
    for (const event of ['dragover', 'drop']) {
      document.body.dispatchEvent(
        new DragEvent(event, { bubbles: true, cancelable: true, dataTransfer }))
    }
  }, { name, type, content })
}

test('a chosen export is looked at, imported and taken back', async () => {
  await page.setViewport({ width: 390, height: 844 })
  await page.goto(`${brain.url}/web/import`)
  await complaints(page, brain)
  assert.deepEqual(await inaccessible(page), [])
  await picture('start')
  const field = await page.$('#import-file')
  await field.uploadFile(ENEX)
  // The keyboard alone: from the field to the button.
  await page.focus('#import-file')
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Look at it')
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
  assert.match(await text(), /It is .*Evernote/)
  assert.match(await text(), /pages?: new/)
  assert.deepEqual(await inaccessible(page), [])
  await picture('preview')
  assert.equal((await brain.json('list')).pages.length, 0)
  await press('form[action="/web/import/run"] button')
  assert.match(await text(), /Import \S+, began/)
  assert.ok((await brain.json('list')).pages.length > 0)
  assert.deepEqual(await inaccessible(page), [])
  await picture('report')
  const width = await page.evaluate(() => document.documentElement.scrollWidth)
  assert.ok(width <= 390, `${width} px`)
  await page.click('details.danger summary')
  await press('form[action="/web/import/undo"] button')
  assert.match(await text(), /The import is taken back/)
  assert.equal((await brain.json('list')).pages.length, 0)
  await picture('undone')
  assert.deepEqual(await complaints(page, brain), [])
})

test('a dropped archive is sent in parts', async () => {
  await page.setViewport({ width: 1100, height: 800 })
  await page.goto(brain.url)
  await complaints(page, brain)
  // A blank tail makes the file longer than a part; the reader ignores it.
  const long = readFileSync(ENEX, 'utf8') + ' '.repeat(9_000_000)
  const moved = page.waitForNavigation()
  await drop('Long.enex', '', long)
  await moved
  assert.match(await text(), /Long\.enex/)
  assert.match(await text(), /9\.\d MB/)
  await picture('wide')
  await press('form[action="/web/import/discard"] button')
  assert.deepEqual(await complaints(page, brain), [])
})

test('a file in no format is named', async () => {
  await page.goto(`${brain.url}/web/import`)
  const moved = page.waitForNavigation()
  await drop('strange.bin', 'application/octet-stream', '\u0001\u0002')
  await moved
  assert.match(await text(), /is in no format that brain reads/)
  page.problems.length = 0
  await page.goto(`${brain.url}/web/import`)
  await drop('note.md', 'text/markdown', '# A note')
  await shows(page, '#message', 'belongs to a markdown file')
})
