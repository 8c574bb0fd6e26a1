// Writing in the browser: captures, drops, links, conflicts, drafts, deletes.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { Brain, until } from './brain.mjs'
import {
  complaints, inaccessible, launch, open, shows, signIn, signedIn, type,
} from './browsers.mjs'

let browser, brain, page

before(async () => {
  brain = await Brain.start('write')
  await brain.put('people/ada', '# Ada Lovelace\n\nShe wrote notes.\n')
  browser = await launch()
  page = await signedIn(browser, brain)
})

after(async () => {
  await browser?.close()
  await brain?.remove()
})

beforeEach(async () => {
  await page.bringToFront()
  await page.goto(brain.url)
  await page.evaluate(() => localStorage.clear())
  await complaints(page, brain)
})

// Brings the tab to the front, because a click in a background tab waits until it is drawn.
async function press(tab, selector) {
  await tab.bringToFront()
  await Promise.all([tab.waitForNavigation(), tab.click(selector)])
}

const heading = (tab) => tab.$eval('main h1', (it) => it.textContent)
const text = (tab) => tab.$eval('main', (it) => it.innerText)
const SAVE = '#editor button[value=save]'

async function edit(tab, slug, content) {
  await tab.bringToFront()
  await tab.goto(`${brain.url}/web/edit/${slug}`)
  await type(tab, '#text', content)
}

test('the capture box stores a thought', async () => {
  await page.goto(`${brain.url}/web/timeline`)
  await page.keyboard.press('c')
  await page.waitForSelector('#capture[open]')
  assert.deepEqual(await inaccessible(page), [])
  await page.keyboard.type('A thought about c and n')
  await page.type('#capture-tags', '#idea, later')
  await press(page, '#capture form button')
  assert.match(await text(page), /A thought about c and n/)
  assert.match(await text(page), /#idea\s+#later/)
  await page.keyboard.press('c')
  await page.keyboard.press('Escape')
  await page.waitForSelector('#capture:not([open])')
  assert.deepEqual(await complaints(page, brain), [])
})

test('a dropped file becomes a page', async () => {
  const drop = (files) => page.evaluate((all) => {
    const dataTransfer = new DataTransfer()
    for (const [name, type, content] of all) {
      dataTransfer.items.add(new File([content], name, { type }))
    }
    for (const name of ['dragover', 'drop']) {
      document.body.dispatchEvent(
        new DragEvent(name, { bubbles: true, cancelable: true, dataTransfer }))
    }
  }, files)
  await Promise.all([page.waitForNavigation(), drop([['note.md', '', '# Dropped\n\nBy hand.\n']])])
  assert.equal(await heading(page), 'Dropped')
  await drop([['a.txt', 'text/plain', 'one text'], ['b.exe', 'application/x-exe', 'MZ']])
  await shows(page, '#message', '1 of 2 saved. b.exe is not a text file')
  assert.match(await brain.run(['search', 'one text']), /one text/)
})

test('a new page gets a completed link and a preview', async () => {
  await page.goto(`${brain.url}/web/new`)
  await page.type('#slug', 'texts/first')
  await page.type('#text', '# First\n\nBy [[ad')
  await page.waitForSelector('#pages:not([hidden]) li')
  assert.deepEqual(await inaccessible(page), [])
  const markedCompletion = () => page.$eval('#text', (it) => (
    document.getElementById(it.getAttribute('aria-activedescendant'))?.textContent))
  assert.match(await markedCompletion(), /people\/ada/)
  await page.keyboard.press('Enter')
  assert.equal(await page.$eval('#text', (it) => it.value), '# First\n\nBy [[people/ada]]')
  await shows(page, '#preview', 'First')
  await press(page, SAVE)
  await press(page, 'article a[href$=":people/ada"]')
  assert.equal(await heading(page), 'Ada Lovelace')
  assert.match(await text(page), /Links to this page\s+First/)
  assert.deepEqual(await complaints(page, brain), [])
})

test('a list of completions does not open after the field was left', async () => {
  await page.goto(`${brain.url}/web/new`)
  await page.setRequestInterception(true)
  const heldRequests = []
  const hold = (request) => {
    if (request.url().includes('/web/complete')) heldRequests.push(request)
    else request.continue()
  }
  page.on('request', hold)
  await page.type('#text', '[[ad')
  await page.focus('#slug')
  await until('the requests are held', () => heldRequests.length > 1)
  await page.evaluate(() => {
    window.__opened = false
    const list = document.getElementById('pages')
    new MutationObserver(() => { window.__opened ||= !list.hidden })
      .observe(list, { attributes: true, childList: true })
  })
  for (const request of heldRequests) await request.continue().catch(() => {})
  // A later request has its answer, so the held answers have arrived, too.
  await page.evaluate(() => fetch('/web/results?q=x').then((answer) => answer.text()))
  assert.equal(await page.evaluate(() => window.__opened), false)
  page.off('request', hold)
  await page.setRequestInterception(false)
})

test('changes of two tabs in different lines are merged for review', async () => {
  await brain.put('both', '# Both\n\none\n\ntwo\n\nthree\n')
  await edit(page, 'both', '# Both\n\nONE\n\ntwo\n\nthree\n')
  const tab = await open(page.browserContext())
  await edit(tab, 'both', '# Both\n\none\n\ntwo\n\nTHREE\n')
  await press(tab, SAVE)
  // The notice moves the form, so the button is pressed after the notice appears.
  await page.bringToFront()
  await shows(page, '#live-notice', 'changed while you write')
  await press(page, SAVE)
  assert.match(await text(page), /The changes are in other lines than yours/)
  assert.deepEqual(await inaccessible(page), [])
  assert.match(await page.$eval('#text', (it) => it.value), /ONE[^]*THREE/)
  await press(page, SAVE)
  assert.match(await brain.run(['get', 'both']), /ONE[^]*THREE/)
  await tab.close()
  page.problems.length = 0
})

test('changes of two tabs in the same line overwrite nothing', async () => {
  await brain.put('same', '# Same\n\none\n')
  await edit(page, 'same', '# Same\n\nmine\n')
  const tab = await open(page.browserContext())
  await edit(tab, 'same', '# Same\n\ntheirs\n')
  await press(tab, SAVE)
  // The notice moves the form, so the button is pressed after the notice appears.
  await page.bringToFront()
  await shows(page, '#live-notice', 'changed while you write')
  await press(page, SAVE)
  assert.match(await text(page), /Nothing is lost/)
  assert.deepEqual(await inaccessible(page), [])
  assert.match(await page.$eval('#text', (it) => it.value), /mine/)
  assert.match(await page.$eval('#theirs', (it) => it.value), /theirs/)
  assert.match(await brain.run(['get', 'same']), /theirs/)
  await press(page, SAVE)
  assert.match(await brain.run(['get', 'same']), /mine/)
  await tab.close()
  page.problems.length = 0
})

const TAKE_DRAFT = '::-p-xpath(//*[@id="draft"]//button)'
const drafts = (tab) => tab.evaluate(() => Object.keys(localStorage))

test('a draft survives a closed tab and ends with a save', async () => {
  await brain.put('draft', '# Draft\n\nold\n')
  const tab = await open(page.browserContext())
  await edit(tab, 'draft', '# Draft\n\nhalf a sentence')
  await shows(tab, '#draft', 'Draft kept')
  await tab.close()
  await page.bringToFront()
  await page.goto(`${brain.url}/web/edit/draft`)
  await shows(page, '#draft', 'A draft of')
  assert.deepEqual(await inaccessible(page), [])
  await page.click(TAKE_DRAFT)
  assert.equal(await page.$eval('#text', (it) => it.value), '# Draft\n\nhalf a sentence')
  await press(page, SAVE)
  assert.match(await text(page), /half a sentence/)
  assert.deepEqual(await drafts(page), [])
})

test('a draft survives a save that was refused', async () => {
  await brain.put('lost', '# Lost\n\nold\n')
  await edit(page, 'lost', '# Lost\n\na long text')
  await brain.run(['open', '--sign-out'])
  await press(page, SAVE)
  assert.match(await text(page), /not signed in/)
  await signIn(page, brain)
  await page.goto(`${brain.url}/page/lost`)
  await page.goto(`${brain.url}/web/edit/lost`)
  await page.waitForSelector(TAKE_DRAFT)
  await page.click(TAKE_DRAFT)
  assert.equal(await page.$eval('#text', (it) => it.value), '# Lost\n\na long text')
  await press(page, SAVE)
  assert.match(await text(page), /a long text/)
  assert.deepEqual(await drafts(page), [])
  page.problems.length = 0
})

test('a page is deleted and restored', async () => {
  await brain.put('away', '# Away\n\nwords\n')
  await page.goto(`${brain.url}/page/away`)
  await page.click('.danger summary')
  await press(page, '.danger button')
  assert.equal(new URL(page.url()).pathname, '/web/deleted')
  assert.match(await text(page), /Away/)
  await press(page, '.hits button')
  assert.equal(await heading(page), 'Away')
})

test('a former version becomes the current one', async () => {
  await brain.put('versions', '# Versions\n\nfirst\n')
  await brain.put('versions', '# Versions\n\nsecond\n')
  await page.goto(`${brain.url}/web/history/versions`)
  await press(page, 'td.buttons button')
  assert.match(await text(page), /first/)
  assert.match(await brain.run(['get', 'versions']), /first/)
})
