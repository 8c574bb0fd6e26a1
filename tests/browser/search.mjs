// The search as its owner uses it: results while typing, and the keys.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { Brain, until } from './brain.mjs'
import {
  complaints, inaccessible, launch, open, showSearch, shows, signIn, signedIn, type,
} from './browsers.mjs'
import { generatedPages } from './content.mjs'

const PAGES = Number(process.env.PAGES ?? 2000)
let browser, brain, page

before(async () => {
  brain = await Brain.start('search')
  await brain.run(['import', generatedPages(brain.dir, PAGES)])
  const ada = '---\ntitle: Ada Lovelace\ntype: person\n---\nShe wrote lanternfish.\n'
  await brain.put('people/ada', ada)
  browser = await launch()
  page = await signedIn(browser, brain)
})

after(async () => {
  await browser?.close()
  await brain?.remove()
})

beforeEach(async () => {
  await showSearch(page, brain)
  await complaints(page, brain)
})

/** Returns the queries that the page requested since the last `complaints`. */
const requestedQueries = () => page.loaded.map((url) => new URL(url))
  .filter((url) => url.pathname === '/web/results').map((url) => url.searchParams.get('q'))

/** Waits until the address matches. The page updates it when the typing pauses. */
const waitForAddress = (pattern) => page.waitForFunction((source) => (
  new RegExp(source).test(location.href)), { polling: 50 }, pattern.source)

/** Returns the text of the focused element, or its id. */
const focusedText = () => page.evaluate(() => document.activeElement.textContent
  || document.activeElement.id)

test('each keystroke gets results', async () => {
  assert.equal(await focusedText(), 'q')
  for (const text of ['l', 'la', 'lan', 'lant', 'lanternfish']) {
    await page.keyboard.type(text.slice((await page.$eval('#q', (it) => it.value)).length))
    await page.waitForFunction((q) => document.title.startsWith(`${q} `), { polling: 50 }, text)
  }
  assert.deepEqual(requestedQueries().slice(0, 5), ['l', 'la', 'lan', 'lant', 'lante'])
  await shows(page, '#results a.title', 'Ada Lovelace')
  assert.equal(await page.$eval('#results mark', (it) => it.textContent), 'lanternfish')
  await waitForAddress(/\/\?q=lanternfish$/)
  assert.deepEqual(await complaints(page, brain), [])
})

test('a text typed before the scripts are loaded gets results', async () => {
  const delayed = []
  const slow = (request) => {
    if (request.url().includes('/search.js')) delayed.push(request)
    else request.continue()
  }
  page.on('request', slow)
  await page.setRequestInterception(true)
  const loaded = page.goto(brain.url)
  await until('the script is requested', () => delayed.length > 0)
  await page.waitForFunction(() => document.activeElement.id === 'q', { polling: 50 })
  await page.keyboard.type('lanternfish')
  await delayed[0].continue()
  await loaded
  await shows(page, '#results .count', '1 page')
  page.off('request', slow)
  await page.setRequestInterception(false)
})

test('an older answer never replaces a newer one', async () => {
  const delayed = []
  const slow = (request) => {
    const isFirst = new URL(request.url()).searchParams.get('q') === 'l'
    if (isFirst) delayed.push(request)
    else request.continue()
  }
  await page.setRequestInterception(true)
  page.on('request', slow)
  await page.keyboard.type('l')
  await until('the first question is asked', () => delayed.length > 0)
  await page.keyboard.type('anternfish')
  await shows(page, '#results .count', '1 page')
  assert.equal(delayed.length, 1)
  await delayed[0].continue().catch(() => {}) // The page may have cancelled it.
  // A later request has its answer, so the delayed answer has arrived, too.
  await page.evaluate(() => fetch('/web/results?q=late').then((answer) => answer.text()))
  assert.match(await page.$eval('#results .count', (it) => it.textContent), /^1 page/)
  page.off('request', slow)
  await page.setRequestInterception(false)
})

test('arrows go through the results, and Enter opens one', async () => {
  await page.keyboard.type('lantern')
  await page.waitForFunction(() => document.title.startsWith('lantern '), { polling: 50 })
  const titles = await page.$$eval('#results a.title', (all) => all.map((it) => it.textContent))
  assert.ok(titles.length > 2, String(titles.length))
  await page.keyboard.press('ArrowDown')
  assert.equal(await focusedText(), titles[0])
  await page.keyboard.press('ArrowDown')
  assert.equal(await focusedText(), titles[1])
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('ArrowUp')
  assert.equal(await focusedText(), 'q')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await shows(page, 'article h1', titles[1])
  // Back shows the search as before.
  await page.goBack()
  await page.waitForSelector('#results .hits')
  assert.equal(await page.$eval('#q', (it) => it.value), 'lantern')
})

test('Enter in the field opens the first result', async () => {
  await page.keyboard.type('lanternfish')
  // Before the answer to the whole text, Enter would send the form.
  await waitForAddress(/q=lanternfish$/)
  await page.keyboard.press('Enter')
  await waitForAddress(/\/page\/people\/ada$/)
})

test('the keys lead to fields and screens', async () => {
  await page.goto(`${brain.url}/page/people/ada`)
  await page.keyboard.press('/')
  assert.equal(await page.evaluate(() => document.activeElement.name), 'q')
  // In a field, a key is a letter.
  await page.keyboard.type('n?')
  assert.equal(await page.$eval('.find input', (it) => it.value), 'n?')
  await page.keyboard.press('Escape')
  await page.keyboard.type('?')
  await page.waitForSelector('#keys[open]')
  assert.deepEqual(await inaccessible(page), [])
  await page.keyboard.press('Escape')
  await page.waitForSelector('#keys:not([open])')
  for (const [key, path] of [['e', '/web/edit/'], ['h', '/web/history/'], ['n', '/web/new']]) {
    await page.goto(`${brain.url}/page/people/ada`)
    await Promise.all([page.waitForNavigation(), page.keyboard.press(key)])
    assert.ok(new URL(page.url()).pathname.startsWith(path), page.url())
  }
  assert.deepEqual(await complaints(page, brain), [])
})

test('a text in Hebrew begins at the right', async () => {
  await brain.put('hebrew', '# A title\n\nמילים בעברית עם English באמצע.\n')
  for (const [slug, direction] of [['hebrew', 'rtl'], ['people/ada', 'ltr']]) {
    await page.goto(`${brain.url}/page/${slug}`)
    assert.equal(await page.$eval('article', (it) => getComputedStyle(it).direction), direction)
  }
})

test('filters and reasons work as links', async () => {
  await page.goto(`${brain.url}/?q=lantern`)
  await page.waitForSelector('.chips .chip')
  const press = async (text) => {
    const path = `//a[contains(@class, "chip")][contains(., "${text}")]`
    await (await page.waitForSelector(`::-p-xpath(${path})`)).click()
  }
  await press('person')
  await waitForAddress(/type=person/)
  await press('Why these?')
  await page.waitForSelector('table.scores')
  // A new query keeps the filters.
  await type(page, '#q', 'lanternfish')
  await shows(page, '#results .count', '1 page')
  await waitForAddress(/q=lanternfish&type=person&explain=1/)
  await press('type: person')
  await waitForAddress(/\?q=lanternfish&explain=1$/)
})

test('a signed-out page says so, and searches again after a new sign-in', async () => {
  const tab = await open(page.browserContext())
  await signIn(tab, brain)
  await brain.run(['open', '--sign-out'])
  await page.bringToFront()
  await page.keyboard.type('lantern')
  await shows(page, '#message', 'You are signed out')
  assert.deepEqual(await inaccessible(page), [])
  await signIn(tab, brain)
  await page.bringToFront()
  await page.keyboard.type('fish')
  await shows(page, '#results a.title', 'Ada Lovelace')
  await page.waitForFunction(() => document.getElementById('message').textContent === '')
  await tab.close()
})

test('an open page searches again after a restart of the daemon', async () => {
  await brain.end()
  await page.keyboard.type('lantern')
  await shows(page, '#message', 'brain does not answer')
  await brain.begin()
  // Sessions end with the daemon; the page connects to the new daemon by itself.
  await shows(page, '#message', 'You are signed out')
  const tab = await signIn(await open(page.browserContext()), brain)
  await page.bringToFront()
  await page.keyboard.type('fish')
  await shows(page, '#results a.title', 'Ada Lovelace')
  await tab.close()
  page.problems.length = 0
})
