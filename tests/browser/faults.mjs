// Faults while a page is open: the daemon restarts, the session ends, two tabs write, the network
// is slow. Unless a test says so, nobody uses the page meanwhile.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { Brain, until } from './brain.mjs'
import { complaints, isChromium, launch, open, shows, signIn, signedIn } from './browsers.mjs'

let browser, brain, page

before(async () => {
  brain = await Brain.start('faults')
  browser = await launch()
  page = await signedIn(browser, brain)
})

after(async () => {
  await browser?.close()
  await brain?.remove()
})

beforeEach(async () => {
  await page.bringToFront()
  await signIn(page, brain)
  await complaints(page, brain)
})

const SIGNED_OUT = 'You are signed out'
const text = (tab) => tab.$eval('main', (it) => it.innerText)

/** Signs in again in another tab of the same browser, as `brain open` does. */
async function signInBeside() {
  const tab = await signIn(await open(page.browserContext()), brain)
  await tab.close()
  await page.bringToFront()
}

/** Waits until the message above the screen is gone. */
function waitForNoMessage(tab) {
  return tab.waitForFunction(() => document.getElementById('message').textContent === '',
    { polling: 50 })
}

/** Captures a thought with the capture box of the current screen. */
async function capture(tab, thought) {
  await tab.bringToFront()
  await tab.$eval('#capture', (it) => { it.open = true })
  await tab.$eval('#capture-text', (it, value) => { it.value = value }, thought)
  await Promise.all([tab.waitForNavigation(), tab.click('#capture form button')])
}

test('an open page works after a restart of the daemon and a new sign-in', async () => {
  await brain.put('plan', '# Plan\n\nfirst\n')
  await page.goto(`${brain.url}/page/plan`)
  await brain.end()
  await page.waitForFunction(() => /stopped|does not answer/.test(
    document.getElementById('message').textContent), { polling: 50 })
  await brain.begin()
  await shows(page, '#message', SIGNED_OUT)
  await signInBeside()
  await brain.put('plan', '# Plan\n\nsecond\n')
  await shows(page, 'article', 'second')
  // The form on the screen has the token of the new session.
  await capture(page, 'A thought after the restart')
  assert.match(await text(page), /A thought after the restart/)
  page.problems.length = 0
})

test('an open page with a revoked session reads and writes nothing', async () => {
  await brain.put('secret', '# Secret\n\nbefore\n')
  await page.goto(`${brain.url}/page/secret`)
  await brain.run(['open', '--sign-out'])
  await shows(page, '#message', SIGNED_OUT)
  await brain.put('secret', '# Secret\n\nafter\n')
  await capture(page, 'A thought of nobody')
  assert.match(await text(page), /not signed in/)
  assert.doesNotMatch(await text(page), /before|after/)
  assert.doesNotMatch(await brain.run(['list']), /nobody/)
  await signIn(page, brain)
  await page.goto(`${brain.url}/page/secret`)
  assert.match(await text(page), /after/)
  page.problems.length = 0
})

test('an open page shows changes again after a new sign-in', async () => {
  await brain.put('again', '# Again\n\nfirst\n')
  await page.goto(`${brain.url}/page/again`)
  await brain.run(['open', '--sign-out'])
  await shows(page, '#message', SIGNED_OUT)
  await signInBeside()
  await waitForNoMessage(page)
  await brain.put('again', '# Again\n\nsecond\n')
  await shows(page, 'article', 'second')
  page.problems.length = 0
})

test('another tab shows new pages and the sign-out of this tab', async () => {
  const tab = await open(page.browserContext())
  await tab.goto(brain.url)
  await capture(tab, 'A thought of the other tab')
  await page.bringToFront()
  await shows(page, '#results a.title', 'A thought of the other tab')
  // A sign-out in one tab ends the session of both.
  await tab.bringToFront()
  await Promise.all([tab.waitForNavigation(), tab.click('#sign-out button')])
  await tab.close()
  await page.bringToFront()
  await shows(page, '#message', SIGNED_OUT)
  page.problems.length = 0
})

test('a form that is sent twice writes once', async () => {
  await page.$eval('#capture', (it) => { it.open = true })
  await page.type('#capture-text', 'Pressed twice')
  const before = (await brain.json('list', '--limit', '100')).pages.length
  await Promise.all([page.waitForNavigation(), page.$eval('#capture form button', (it) => {
    it.click()
    it.click()
  })])
  assert.match(await text(page), /Pressed twice/)
  const pages = (await brain.json('list', '--limit', '100')).pages
  assert.equal(pages.length, before + 1)
})

// Firefox cannot be slowed down over WebDriver BiDi.
if (isChromium) {
  test('search works over a slow network', async () => {
    await brain.put('people/ada', '# Ada Lovelace\n\nShe wrote lanternfish.\n')
    const fast = { download: -1, upload: -1, latency: 0 }
    await page.emulateNetworkConditions({ download: 20_000, upload: 10_000, latency: 800 })
    await page.goto(`${brain.url}/?q=Lovelace`, { waitUntil: 'domcontentloaded' })
    // The results are in the first answer, before any script.
    assert.match(await text(page), /Ada Lovelace/)
    await page.waitForSelector('#q')
    await page.focus('#q')
    await page.$eval('#q', (it) => it.select())
    await page.keyboard.type('lanternfish')
    await shows(page, '#results mark', 'lanternfish')
    assert.equal(await page.$eval('#q', (it) => it.value), 'lanternfish')
    assert.equal(await page.$eval('#message', (it) => it.textContent), '')
    await page.emulateNetworkConditions(fast)
    assert.deepEqual(await complaints(page, brain), [])
  })

  test('search works again after the network failed', async () => {
    await page.setOfflineMode(true)
    await page.keyboard.type('Lovelace')
    await shows(page, '#message', 'brain does not answer')
    await page.setOfflineMode(false)
    await shows(page, '#results a.title', 'Ada Lovelace')
    await until('the message is gone', () => page.$eval('#message', (it) => !it.textContent))
    page.problems.length = 0
  })
}
