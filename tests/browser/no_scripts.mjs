// Reading, searching, capturing, editing and revoking without JavaScript. Only in Chromium, because
// WebDriver BiDi cannot switch scripts off in Firefox.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Brain } from './brain.mjs'
import { launch, open, signIn, type } from './browsers.mjs'

let browser, brain, page

before(async () => {
  brain = await Brain.start('plain')
  await brain.put('people/ada', '# Ada Lovelace\n\nShe wrote [[notes]].\n')
  await brain.put('notes', '# Notes\n\nwords\n')
  await brain.json('token', 'create', 'phone', '--scope', 'read')
  browser = await launch()
  page = await open(await browser.createBrowserContext())
  await page.setJavaScriptEnabled(false)
  await signIn(page, brain)
})

after(async () => {
  await browser?.close()
  await brain?.remove()
})

async function press(selector) {
  await Promise.all([page.waitForNavigation(), page.click(selector)])
}

const text = () => page.$eval('main', (it) => it.innerText)
const testPlain = (name, steps) => test(`without scripts: ${name}`, steps)

testPlain('search and read', async () => {
  await page.goto(brain.url)
  assert.equal(await page.evaluate(() => typeof window.trustedTypes?.defaultPolicy), 'object')
  await page.type('#q', 'lovelace')
  await press('#search button')
  assert.match(page.url(), /q=lovelace/)
  await press('#results a.title')
  assert.match(await text(), /She wrote/)
  await press('article a[href$=":notes"]')
  assert.match(await text(), /Links to this page\s+Ada Lovelace/)
})

testPlain('capture', async () => {
  await page.click('#capture summary')
  await page.type('#capture-text', 'A plain thought')
  await press('#capture form button')
  assert.match(await text(), /A plain thought/)
})

testPlain('edit with a preview', async () => {
  await page.goto(`${brain.url}/page/notes`)
  await press('#edit')
  await type(page, '#text', '# Notes\n\nother *words*\n')
  await press('button[value=preview]')
  assert.equal(await page.$eval('#preview em', (it) => it.textContent), 'words')
  await press('button[value=save]')
  assert.match(await text(), /other words/)
  assert.match(await brain.run(['get', 'notes']), /other \*words\*/)
})

testPlain('delete and restore', async () => {
  await page.goto(`${brain.url}/page/notes`)
  await page.click('.danger summary')
  await press('.danger button')
  await press('.hits button')
  assert.match(await text(), /other words/)
})

testPlain('revoke', async () => {
  await page.goto(`${brain.url}/web/access`)
  await page.click('td .danger summary')
  await press('td .danger button')
  assert.deepEqual((await brain.json('token', 'list')).tokens, [])
})

testPlain('sign out', async () => {
  await press('footer button')
  assert.match(await text(), /not signed in/)
})
